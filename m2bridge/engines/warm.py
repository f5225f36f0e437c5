"""The fast engine: Macaulay2 is started once, and forks a child for each job.

The child loads the very same script as ``M2 --script`` does, so the results are the same. Differences to a
process of its own: a child starts with the memory of the server (about 85 MB resident, 300 MB of address space
for Macaulay2 1.21, as much as ``M2 --script`` has after its start), so that a memory limit counts the same; its
logs are written when it has ended; and Macaulay2 1.21 cannot change its current folder, so relative paths in a
script refer to ``/``. Macaulay2's tasks (``schedule``) do not run in a forked child.

On systems without /proc (macOS) the server is started anew after a job that had to be ended, background
processes that a job leaves are found only when the server ends, and peak memory is that of the document alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import tempfile
import time
import weakref
from importlib.resources import as_file, files
from pathlib import Path
from typing import IO

from m2bridge.engines.classify import Traces, excerpt
from m2bridge.engines.local import LocalEngine
from m2bridge.engines.process import (
    GRACE,
    KILL_SECONDS,
    SessionProcess,
    StopFlag,
    Usage,
    is_readable,
    open_end,
    wait_until,
)
from m2bridge.engines.watcher import HAS_PROC, kill_session, signal_session
from m2bridge.errors import InputError
from m2bridge.job import Job, JobFolder
from m2bridge.macaulay2 import Macaulay2, describe_signal, remove_temporary_files

_START_SECONDS = 120.0
_ANSWER_SECONDS = 30.0
_DEATH_SECONDS = 0.5
_COPY_BYTES = 2**20
_NUMBERS_SECONDS = 1.0
"""No machine starts enough processes in that time to use every process number once."""


class _ServerLost(Exception):
    """The server has ended, hangs, or talks nonsense: it is of no use any more."""


class _Child:
    """The forked child of one job."""

    def __init__(self, server: _Server, pid: int) -> None:
        self._server = server
        self.pid = pid
        self.usage = Usage()
        self._end = open_end(pid)
        if self._end is None:
            server.order("wait")

    def set_memory_limit(self, megabytes: int) -> None:
        """Bound the child's address space, before it starts on the job."""
        if sys.platform == "linux":
            import resource

            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(self.pid, resource.RLIMIT_AS, (megabytes * 2**20, megabytes * 2**20))

    def _ended(self) -> bool:
        if self._end is None:
            return self._server.has_answer()
        return is_readable(self._end)

    def wait(self, seconds: float, stop: StopFlag | None = None) -> bool:
        """Wait until the child ends, at most so long; say whether it did. Samples its usage meanwhile.

        Raises
        ------
        _ServerLost
            If the server ends before the child.
        """
        wait_until(
            lambda: self._ended() or self._server.process.ended(),
            [self._end or self._server.answers, self._server.process.end_descriptor],
            seconds,
            stop=stop,
            sample=lambda: self.usage.sample(self.pid),
        )
        if self._ended():
            return True
        if self._server.process.ended():
            raise _ServerLost("Macaulay2's fork server ended")
        return False

    def stop(self) -> None:
        """End the child and its descendants: SIGINT, then SIGTERM, then SIGKILL.

        Raises
        ------
        _ServerLost
            If the child does not die, or cannot be ended without its server.
        """
        if not HAS_PROC:
            raise _ServerLost("a job cannot be ended alone on this system")
        session = self._server.process.pid
        for number, seconds in GRACE:
            if not signal_session(session, number, spare=session) or self.wait(seconds):
                break
        kill_session(session, spare=session)
        if not self.wait(KILL_SECONDS):
            raise _ServerLost("a job could not be ended alone")

    def reap(self) -> int:
        """Return the exit code of the child that has ended, negative for death by a signal."""
        if self._end is not None:
            self.usage.sample(self.pid)
            self._server.order("wait")
        return os.waitstatus_to_exitcode(self._server.answer(_ANSWER_SECONDS))

    def close(self) -> None:
        """Give the descriptor back."""
        if self._end is not None:
            os.close(self._end)
            self._end = None


class _Server:
    """A running ``server.m2`` with its pipes and its logs."""

    def __init__(self, macaulay2: Macaulay2) -> None:
        self._owner = os.getpid()
        self.jobs = 0
        self.stdout, self.stderr = _log(), _log()
        orders, self._orders = os.pipe()
        # Kept open here as well, to take back what a child that died early has not read.
        self._unread, self._folders = os.pipe()
        self.answers, answers = os.pipe()
        given = (orders, self._unread, answers)
        try:
            with as_file(files("m2scripts") / "server.m2") as script:
                self.process = SessionProcess.start(
                    [macaulay2.executable, "--script", str(script), *map(str, given)],
                    stdout=self.stdout,
                    stderr=self.stderr,
                    memory_megabytes=None,
                    folder=Path("/"),
                    pass_descriptors=given,
                )
        except BaseException:
            self._close_files()
            raise
        finally:
            os.close(orders)
            os.close(answers)

    def is_usable(self) -> bool:
        """Say whether it still runs, and belongs to this Python process rather than to the one it forked from."""
        return self._owner == os.getpid() and not self.process.ended()

    def has_answer(self) -> bool:
        """Say whether an answer, or the end of all answers, can be read."""
        return is_readable(self.answers)

    def answer(self, seconds: float, stop: StopFlag | None = None) -> int:
        """Return the next answer.

        Raises
        ------
        _ServerLost
            If none comes in this time, or none can come.
        """
        line = b""
        while not line.endswith(b"\n"):
            came = wait_until(
                lambda: self.has_answer() or self.process.ended(),
                [self.answers, self.process.end_descriptor],
                seconds,
                stop=stop,
            )
            if not came:
                raise _ServerLost(f"Macaulay2's fork server did not answer within {seconds:g} s")
            piece = os.read(self.answers, 64) if self.has_answer() else b""
            if not piece:
                raise _ServerLost("Macaulay2's fork server ended")
            line += piece
        try:
            return int(line)
        except ValueError:
            raise _ServerLost(f"Macaulay2's fork server answered {line!r}") from None

    def order(self, word: str) -> None:
        """Send an order."""
        try:
            os.write(self._orders, f"{word}\n".encode())
        except BrokenPipeError:
            raise _ServerLost("Macaulay2's fork server ended") from None

    def send_folder(self, folder: Path) -> None:
        """Tell the child, which waits for it, where its script is."""
        codes = ",".join(map(str, os.fsencode(folder.absolute())))
        os.write(self._folders, f"{codes}\n".encode())

    def fork(self, stop: StopFlag) -> _Child:
        """Start a child, which waits for its folder.

        Raises
        ------
        _ServerLost
            If there is none, or the flag is set before.
        """
        if self.jobs == 0:
            self.answer(_START_SECONDS, stop)  # it is ready
        self.jobs += 1
        self.order("fork")
        pid = self.answer(_ANSWER_SECONDS, stop)
        if pid <= 0:
            raise _ServerLost("Macaulay2's fork server could not fork: too many processes, or too little memory")
        return _Child(self, pid)

    def kill_descendants(self, child: _Child, seconds: float) -> None:
        """Kill what a job of so many seconds has left running (on systems with /proc)."""
        # The descendants have higher numbers than the child, unless the numbers began anew meanwhile. That
        # spares a look at every process of the machine, which may be thousands, for a job of milliseconds.
        began_anew = seconds > _NUMBERS_SECONDS or _newest_process() < child.pid
        kill_session(self.process.pid, spare=self.process.pid, above=0 if began_anew else child.pid)

    def post_mortem(self, lost: _ServerLost) -> tuple[str, int | None]:
        """Return why the server was lost and its exit code if it died by itself; kill what is left of it."""
        died_itself = self.process.wait(_DEATH_SECONDS)  # its pipes close a little before
        self.process.kill()
        code = self.process.returncode
        if not died_itself or code is None:
            return str(lost), None
        ending = f"exit code {code}" if code >= 0 else describe_signal(-code)
        return f"Macaulay2's fork server ended: {ending}", code

    def move_logs(self, folder: JobFolder) -> None:
        """Move what was printed since the last time into a job's logs, as far as there is room."""
        for log, path in ((self.stdout, folder.stdout), (self.stderr, folder.stderr)):
            log.seek(0)
            with contextlib.suppress(OSError), path.open("wb") as copy:
                while piece := log.read(_COPY_BYTES):
                    copy.write(piece)
            log.truncate(0)

    def forget_folder(self) -> None:
        """Take back what the child has not read, so that the next one does not."""
        while is_readable(self._unread):
            os.read(self._unread, _COPY_BYTES)

    def close(self) -> None:
        """Kill the server and all its children; a forked Python process only gives its copies back."""
        if self._owner == os.getpid():
            self.process.kill()
        self._close_files()

    def _close_files(self) -> None:
        for descriptor in (self._orders, self._unread, self._folders, self.answers):
            os.close(descriptor)
        self.stdout.close()
        self.stderr.close()


def _newest_process() -> int:
    """Return the number of the newest process of the system; 0 where it does not tell."""
    try:
        with open("/proc/loadavg", "rb") as loads:
            return int(loads.read().split()[-1])
    except (OSError, ValueError):
        return 0


def _log() -> IO[bytes]:
    """Return a nameless file: nothing is left of it when Python is killed."""
    log = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed with its server
    # Several processes write to it, and it is cut after each job: every write goes to its end as it is then.
    fcntl.fcntl(log, fcntl.F_SETFL, fcntl.fcntl(log, fcntl.F_GETFL) | os.O_APPEND)
    return log


class WarmEngine(LocalEngine):
    """Runs each job in a forked child of one Macaulay2 process, which is started when the first job comes.

    Parameters
    ----------
    macaulay2
        The executable; by default the one that `find_macaulay2` finds.
    jobs_before_restart
        After so many jobs the process is replaced by a new one.

    Raises
    ------
    Macaulay2Unusable
        If there is no usable Macaulay2.
    InputError
        If ``jobs_before_restart`` is not positive.
    """

    name = "warm"

    def __init__(self, macaulay2: Macaulay2 | None = None, *, jobs_before_restart: int = 1000) -> None:
        if jobs_before_restart < 1:
            raise InputError(f"jobs_before_restart must be positive, not {jobs_before_restart}")
        super().__init__(macaulay2)
        self._jobs_before_restart = jobs_before_restart
        self._server: _Server | None = None
        self._finalizer: weakref.finalize[[], WarmEngine] | None = None

    def _execute(self, job: Job, folder: JobFolder) -> Traces:
        start = time.monotonic()
        server = self._running_server()
        usage, pid = Usage(), server.process.pid
        returncode = None
        timed_out = late = False
        problem = ""
        try:
            child = server.fork(self._stop)
            usage, pid = child.usage, child.pid
            start = time.monotonic()
            try:
                child.set_memory_limit(job.limits.memory_megabytes)
                usage.sample(pid)  # a job may end before the next time
                server.send_folder(folder.path)
                if not child.wait(job.limits.time_seconds, self._stop):
                    timed_out = not self._stop.is_set()
                    late = not folder.result.exists()
                    child.stop()
                server.kill_descendants(child, time.monotonic() - start)
                returncode = child.reap()
            finally:
                child.close()
        except _ServerLost as lost:
            # What is left of the job may still write something while it is being killed.
            late = late or not folder.result.exists()
            problem, returncode = server.post_mortem(lost)
        except BaseException:
            server.process.kill()
            server.move_logs(folder)
            self._drop_server()
            raise
        said = excerpt(server.stderr)
        server.move_logs(folder)
        if returncode != 0:
            remove_temporary_files(pid)
        if problem or server.jobs >= self._jobs_before_restart:
            self._drop_server()
        else:
            server.forget_folder()
        return Traces(
            returncode=returncode,
            wall_seconds=time.monotonic() - start,
            cpu_seconds=usage.cpu_seconds,
            peak_memory_megabytes=usage.peak_memory_megabytes,
            stderr=said,
            timed_out=timed_out,
            interrupted=self._stop.is_set(),
            late=late,
            engine_problem=problem,
        )

    def _running_server(self) -> _Server:
        if self._server is None or not self._server.is_usable():
            self._drop_server()
            self._server = _Server(self.macaulay2)
            # An engine that nobody closes takes its server with it.
            self._finalizer = weakref.finalize(self, self._server.close)
        return self._server

    def _drop_server(self) -> None:
        if self._finalizer is not None:
            self._finalizer()
        self._server = self._finalizer = None

    def _close(self) -> None:
        self._drop_server()
