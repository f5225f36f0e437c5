"""The executable: where it is, which version, and what its error messages mean."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from m2bridge import errors
from m2bridge.install import installed_executable

OLDEST = (1, 21)
_VERSION = re.compile(r"^\s*(?:Macaulay2,? version )?(\d+)\.(\d+)(?:\.(\d+))?(?:[-+.~]\S*)?\s*$", re.MULTILINE)
_VERSION_SECONDS = 60.0
ENVIRONMENT_VARIABLE = "M2BRIDGE_M2"


@dataclass(frozen=True)
class Macaulay2:
    """An executable that was run once to ask its version."""

    executable: str
    version: tuple[int, ...]

    @property
    def version_text(self) -> str:
        """The version as ``1.21`` or ``1.25.11``."""
        return ".".join(map(str, self.version))


@dataclass(frozen=True)
class Candidate:
    """A place where Macaulay2 may be.

    Attributes
    ----------
    named_by
        What leads to it, in words.
    executable
        The executable there, or None where there is none.
    is_asked_for
        Whether the user named this place. Then it is this one or an error: nothing is silently replaced.
    """

    named_by: str
    executable: str | None
    is_asked_for: bool = False


def candidates(executable: str | None = None) -> list[Candidate]:
    """Return the places in the order in which they are looked at."""
    places = []
    if executable is not None:
        places.append(Candidate("the argument", _resolve(executable), is_asked_for=True))
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    if named:
        places.append(Candidate(f"{ENVIRONMENT_VARIABLE}={named}", _resolve(named), is_asked_for=True))
    places.append(Candidate("M2 on PATH", shutil.which("M2")))
    places.append(Candidate("the copy of 'm2bridge doctor --install'", installed_executable()))
    return places


def _resolve(executable: str) -> str | None:
    found = shutil.which(os.path.expanduser(executable))
    return None if found is None else str(Path(found).absolute())


def find_macaulay2(executable: str | None = None) -> Macaulay2:
    """Return the Macaulay2 to use.

    It is the argument, else the environment's ``M2BRIDGE_M2``, else ``M2`` on PATH, else the copy that
    ``m2bridge doctor --install`` has made. An argument or ``M2BRIDGE_M2`` that is of no use is an error; an ``M2``
    on PATH that is of no use, such as one that is too old, is passed over if there is such a copy.

    Raises
    ------
    Macaulay2NotFound, Macaulay2Broken, Macaulay2VersionUnreadable, Macaulay2TooOld
        As their names say.
    """
    places = candidates(executable)
    if places[0].is_asked_for:
        places = places[:1]
    problem: errors.Macaulay2Unusable | None = None
    for place in places:
        if place.executable is not None:
            try:
                return inspect_executable(place.executable)
            except errors.Macaulay2Unusable as error:
                problem = problem or error
    raise problem or errors.Macaulay2NotFound(tuple(place.named_by for place in places))


def inspect_executable(executable: str) -> Macaulay2:
    """Return the executable with its version, by running it with ``--version``.

    Raises
    ------
    Macaulay2Broken, Macaulay2VersionUnreadable, Macaulay2TooOld
        As their names say.
    """
    try:
        run = subprocess.run(
            [executable, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_SECONDS,
            check=False,
        )
    except OSError as error:
        raise errors.Macaulay2Broken(executable, error.strerror or str(error)) from None
    except subprocess.TimeoutExpired:
        raise errors.Macaulay2Broken(executable, f"--version did not end in {_VERSION_SECONDS:.0f} s") from None
    output = run.stdout.decode(errors="replace")
    if run.returncode < 0:
        raise errors.Macaulay2Broken(executable, describe_signal(-run.returncode))
    version = parse_version(output)
    if version is None:
        said = (output + run.stderr.decode(errors="replace")).strip()[:200]
        raise errors.Macaulay2VersionUnreadable(executable, said)
    if version < OLDEST:
        raise errors.Macaulay2TooOld(executable, ".".join(map(str, version)), ".".join(map(str, OLDEST)))
    return Macaulay2(executable, version)


def parse_version(output: str) -> tuple[int, ...] | None:
    """Return the version in the output of ``M2 --version``, or None."""
    match = _VERSION.search(output)
    return None if match is None else tuple(int(part) for part in match.groups() if part is not None)


def remove_temporary_files(pid: int) -> None:
    """Remove the temporary folder of a Macaulay2 process that ended without doing so itself."""
    folder = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 - as Macaulay2 itself chooses
    for path in Path(folder).glob(f"M2-{pid}-*"):
        shutil.rmtree(path, ignore_errors=True)


# --- what went wrong -----------------------------------------------------------------------------------

_SIGNALS = {
    2: "interrupted (SIGINT)",
    4: "illegal instruction (SIGILL): this build needs a processor with other instructions, such as AVX-512; "
    "use another build (Debian's package, or 'm2bridge doctor --install')",
    6: "it aborted (SIGABRT)",
    9: "killed (SIGKILL): by a person, or by the system for want of memory",
    11: "segmentation fault (SIGSEGV)",
    15: "terminated (SIGTERM)",
}


def describe_signal(number: int) -> str:
    """Return what death by a signal means."""
    return _SIGNALS.get(number, f"killed by signal {number}")


@dataclass(frozen=True)
class Complaint:
    """Macaulay2's first error message: its words, shortened, and the line of the file that it names."""

    message: str
    line: int | None


_PLACE = r"^(?P<file>.*?):(?P<line>\d+):(?P<column>\d+)(?::\(\d+\):?(?:\[\d+\]:?)?)?:"
_ERROR = re.compile(rf"(?:{_PLACE}|^stdio:.*?|^) ?error: (?P<message>.*)$")
_TRACE = re.compile(rf"{_PLACE} (?:error: |--back trace--)")
_LONGEST_MESSAGE = 500

OUT_OF_MEMORY = re.compile(
    r"out of memory|failed to map segment|"
    r"cannot allocate memory|GC_(?:re)?alloc|std::bad_alloc|GNU MP: Cannot (?:re)?allocate|"
    r"mmap\(PROT_NONE\) failed|Failed to expand heap|Insufficient memory",
    re.IGNORECASE,
)
HEAP_SECTIONS = re.compile(r"Too many heap sections", re.IGNORECASE)
SEGMENTATION = re.compile(r"SIGSEGV|segmentation fault", re.IGNORECASE)
INTERRUPTED = re.compile(r"^interrupted, stopping$|error: interrupted$", re.MULTILINE)
NOT_WRITTEN = re.compile(
    r"error writing|no space left|write error|output error|file system|can't open|couldn't open|moveFile|"
    r"(?:opening|closing) output file|(?:removing|moving|linking|renaming) a file failed|"
    r"failed to (?:open|move|rename|write)|Permission denied|I/O error|Read-only file system|Disk quota",
    re.IGNORECASE,
)

_ADVICE = (
    (
        re.compile(r"assignment to protected (?:global )?variable"),
        "a name of Macaulay2's own was assigned to",
    ),
    (re.compile(r"entering debugger"), "Macaulay2 stopped at its debugger: run it with --script or --stop"),
)


def find_complaint(stderr: str, script: str = "script.m2") -> Complaint | None:
    """Return the first error that Macaulay2 reported on stderr, or None; warnings are not errors.

    The line is the innermost one of the script in the trace, since errors are often raised in a library.
    """
    lines = stderr.splitlines()
    for start, text in enumerate(lines):
        match = _ERROR.search(text)
        if match is None:
            continue
        for place in lines[start:]:
            found = _TRACE.search(place)
            if found is None:
                break
            if found["file"].strip('"').endswith(script):  # 1.26 quotes file names
                return Complaint(_shorten(match["message"]), int(found["line"]))
        return Complaint(_shorten(match["message"]), None)
    return None


def _shorten(message: str) -> str:
    message = message.strip()
    if len(message) > _LONGEST_MESSAGE:
        message = message[:_LONGEST_MESSAGE] + f"… ({len(message)} characters)"
    for pattern, advice in _ADVICE:
        if pattern.search(message):
            message += f" ({advice})"
    return message
