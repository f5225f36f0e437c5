"""One Macaulay2 computation as data: the script, its limits, the folder that holds its files, its outcome."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self

from m2bridge import errors
from m2bridge.document import ResultDocument
from m2bridge.render import script_key

_PART = re.compile(r"(?:result|job)\.json\..*part")

DEFAULT_TIME_SECONDS = 600.0
DEFAULT_MEMORY_MEGABYTES = 8192


@dataclass(frozen=True)
class Limits:
    """Bounds on one job.

    Attributes
    ----------
    time_seconds
        Wall-clock seconds.
    memory_megabytes
        Megabytes (2^20 bytes) of address space.
    """

    time_seconds: float = DEFAULT_TIME_SECONDS
    memory_megabytes: int = DEFAULT_MEMORY_MEGABYTES

    def __post_init__(self) -> None:
        if not self.time_seconds > 0:
            raise errors.InputError(f"the time limit must be positive, not {self.time_seconds}")
        if self.memory_megabytes < 1:
            raise errors.InputError(f"the memory limit must be at least 1 MB, not {self.memory_megabytes}")


@dataclass(frozen=True)
class Job:
    """A rendered script and its limits. The script decides everything that is computed; ``key`` names it."""

    operation: str
    script: str
    limits: Limits

    @property
    def key(self) -> str:
        """SHA-256 of the script with its key line blank."""
        return script_key(self.script)


class Status(StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    REFUSED = "refused"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    INTERRUPTED = "interrupted"
    NOT_WRITTEN = "not_written"
    UNREADABLE = "unreadable"


_ERRORS: dict[Status, type[errors.RunError]] = {
    Status.REFUSED: errors.Macaulay2Error,
    Status.TIMED_OUT: errors.TimedOut,
    Status.OUT_OF_MEMORY: errors.OutOfMemory,
    Status.CRASHED: errors.Crashed,
    Status.INTERRUPTED: errors.Interrupted,
    Status.NOT_WRITTEN: errors.NotWritten,
    Status.UNREADABLE: errors.Unreadable,
}

_SENTENCES = {
    Status.FINISHED: "finished",
    Status.REFUSED: "Macaulay2 refused the script",
    Status.TIMED_OUT: "the time limit was reached, so the question is undecided",
    Status.OUT_OF_MEMORY: "the memory limit was reached, so the question is undecided",
    Status.CRASHED: "Macaulay2 died",
    Status.INTERRUPTED: "the run was interrupted",
    Status.NOT_WRITTEN: "the result could not be written",
    Status.UNREADABLE: "the result file cannot be used",
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a job: a value, whatever happened.

    Attributes
    ----------
    status
        How it ended.
    operation
        Name of the operation.
    folder
        Folder that holds the script, the logs and what was written of the result.
    wall_seconds, cpu_seconds
        Time of the Macaulay2 process (or, on a warm engine, of the forked child).
    peak_memory_megabytes
        Largest resident set of that process, in units of 2^20 bytes; None where it could not be read.
    returncode
        Exit code; negative for death by that signal; None if it never started.
    message
        What went wrong, in a sentence or in Macaulay2's words; empty for a finished run.
    script_line
        Line of ``script.m2`` at which Macaulay2 stopped, where it said so.
    document
        The result, for a finished run.
    reused
        Whether the folder already held the result of this very script.
    """

    status: Status
    operation: str
    folder: Path
    wall_seconds: float
    cpu_seconds: float
    peak_memory_megabytes: float | None
    returncode: int | None
    message: str = ""
    script_line: int | None = None
    document: ResultDocument | None = None
    reused: bool = False

    def describe(self) -> str:
        """Return what happened, where in the script, and where to look, in a few sentences."""
        sentence = f"{self.operation}: {_SENTENCES[self.status]}"
        if self.status in (Status.TIMED_OUT, Status.OUT_OF_MEMORY):
            peak = self.peak_memory_megabytes
            used = f"{self.wall_seconds:.1f} s" + (f", {peak:.0f} MB" if peak is not None else "")
            sentence += f" ({used} used)"
        if self.message:
            sentence += f": {self.message}"
        if self.script_line is not None:
            sentence += f" [line {self.script_line}: {JobFolder(self.folder).quote(self.script_line)}]"
        return f"{sentence}; look in {self.folder}"

    def unwrap(self) -> ResultDocument:
        """Return the document of a finished run.

        Raises
        ------
        RunError
            The subclass that belongs to the status, for every other outcome.
        """
        if self.document is not None:
            return self.document
        raise _ERRORS[self.status](self)


@dataclass(frozen=True)
class JobFolder:
    """The one class that names the files of a job."""

    path: Path

    @classmethod
    def temporary(cls, operation: str) -> Self:
        """Return a new folder in the system's temporary folder; the caller removes it."""
        return cls(Path(tempfile.mkdtemp(prefix=f"m2bridge-{operation}-")))

    @property
    def script(self) -> Path:
        """The rendered script."""
        return self.path / "script.m2"

    @property
    def result(self) -> Path:
        """The result document; it is written aside and renamed, so it is whole or absent."""
        return self.path / "result.json"

    @property
    def stdout(self) -> Path:
        """What Macaulay2 printed."""
        return self.path / "stdout.log"

    @property
    def stderr(self) -> Path:
        """What Macaulay2 printed as errors and warnings."""
        return self.path / "stderr.log"

    @property
    def outcome(self) -> Path:
        """How the run ended, as JSON."""
        return self.path / "job.json"

    @contextmanager
    def locked(self, cancelled: Callable[[], bool] = lambda: False) -> Iterator[bool]:
        """Hold the folder against other processes (and threads) that run the same job.

        Waits for the other to end its run. Gives False, without the lock, if it is cancelled meanwhile.
        """
        descriptor = self._lock(cancelled)
        try:
            yield descriptor is not None
        finally:
            if descriptor is not None:
                # Unlocked by name: a forked Python process may hold a copy of the descriptor.
                fcntl.flock(descriptor, fcntl.LOCK_UN)
                os.close(descriptor)

    def _lock(self, cancelled: Callable[[], bool]) -> int | None:
        pause = 0.001
        while not cancelled():
            self.path.mkdir(parents=True, exist_ok=True)
            descriptor = _lock_at_once(self.path)
            if descriptor is not None:
                if _is_at(descriptor, self.path):
                    return descriptor
                os.close(descriptor)  # The other has removed the folder after its run.
                continue
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        return None

    def prepare(self, job: Job) -> None:
        """Write the script and remove what an earlier, unfinished run left."""
        for leftover in (self.result, self.stdout, self.stderr, self.outcome, *self.parts()):
            leftover.unlink(missing_ok=True)
        self.script.write_text(job.script, encoding="utf-8")

    def parts(self) -> list[Path]:
        """Return what unfinished runs wrote of a result."""
        return sorted(self.path / name for name in os.listdir(self.path) if _PART.fullmatch(name))

    def quote(self, line: int) -> str:
        """Return one line of the script, shortened to 200 characters; empty where it cannot be read."""
        try:
            with self.script.open(encoding="utf-8", errors="replace") as script:
                for number, text in enumerate(script, start=1):
                    if number == line:
                        return text.strip()[:200]
        except OSError:
            pass
        return ""


def _lock_at_once(folder: Path) -> int | None:
    """Return a descriptor that holds the lock of a folder, or None while another one does."""
    # The folder itself is locked, so that no extra file is left in it.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError as error:
        os.close(descriptor)
        if error.errno not in _NO_FOLDER_LOCKS:
            raise
    else:
        return descriptor
    # NFS locks a file only if it is open for writing, which a folder never is.
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return descriptor


_NO_FOLDER_LOCKS = (errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.EOPNOTSUPP)


def _is_at(descriptor: int, folder: Path) -> bool:
    """Say whether a locked folder (or the lock file in it) is still the one at its path."""
    held = os.fstat(descriptor)
    for path in (folder, folder / ".lock"):
        try:
            found = os.stat(path)
        except FileNotFoundError:
            continue
        if os.path.samestat(held, found):
            return True
    return False
