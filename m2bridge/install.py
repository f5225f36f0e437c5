"""A copy of Macaulay2 for a machine without root: from a wheel on the package index into the user's cache.

The wheel is that of the PyPI project passagemath-macaulay2, which carries a complete Macaulay2 with its libraries;
the Python packages that it depends on are Sage's and not needed. It is downloaded, unpacked and tried in a folder
aside, which is renamed as the last act: what is at its place works.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import platformdirs

from m2bridge import errors

PROJECT = "passagemath-macaulay2"
MOST_RELEASES = 5
"""So many releases are tried, the newest first: each is a download of 60 to 70 MB."""

_PROGRAMS = ("sage_wheels/bin/M2-binary", "sage_wheels/bin/M2")
"""Where it is in the wheel. ``M2`` is a script that calls the other and that fails in a path with blanks; the
libraries are found without it, relative to the program."""

_NEEDED_MEGABYTES = 500
"""The wheel, and what is in it unpacked (290 MB), with some room to try it."""

_ASIDE = "macaulay2-unfinished-"
_OLD = "macaulay2-replaced-"
_RELEASE_FILE = "m2bridge-release"
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)

Try = Callable[[str], str]
"""Runs an executable; gives its version, or raises an `M2BridgeError` that says why it is unusable."""


@dataclass(frozen=True)
class Attempt:
    """A release that was tried: its number, and why it is not used (empty for the one that is)."""

    release: str
    problem: str = ""


@dataclass(frozen=True)
class Installation:
    """What `install` did.

    Attributes
    ----------
    executable
        The program.
    release
        Release of the PyPI project (not the version of Macaulay2).
    attempts
        What was tried, in this order; none if a working copy was there already.
    """

    executable: str
    release: str
    attempts: tuple[Attempt, ...]


def cache_folder() -> Path:
    """Return the folder that holds the copy: in the user's cache, as the system's conventions place that."""
    return Path(platformdirs.user_cache_path("m2bridge"))


def installed_folder() -> Path:
    """Return the folder of the copy, whether there is one or not."""
    return cache_folder() / "macaulay2"


def installed_executable() -> str | None:
    """Return the program of the copy, or None where there is no copy."""
    return _program_in(installed_folder())


def _program_in(folder: Path) -> str | None:
    for program in _PROGRAMS:
        if os.access(folder / program, os.X_OK):
            return str(folder / program)
    return None


def install(
    try_executable: Try, *, release: str | None = None, say: Callable[[str], None] = lambda line: None
) -> Installation:
    """Install a copy of Macaulay2 that runs on this machine; a working one that is there already is kept.

    Parameters
    ----------
    try_executable
        Decides whether a release is usable.
    release
        Take this release and no other, in place of a working copy of another one, too. A home folder that several
        machines share may need one that runs on all of them.
    say
        Is told what is being done, and of each release that failed, a line each.

    Raises
    ------
    InstallationFailed
        If none could be installed. Nothing is left then, except the copy that was there before.
    """
    root = cache_folder()
    try:
        root.mkdir(parents=True, exist_ok=True)
        with _ended_by_signals(), _locked(root, say) as lock:
            return _kept(try_executable, release) or _install(root, lock, try_executable, release, say)
    except OSError as error:
        raise errors.InstallationFailed(f"{error.strerror or error} (in {root})") from None


def _kept(try_executable: Try, release: str | None) -> Installation | None:
    """Return the copy that is there, if it works and is the one that is wanted."""
    executable = installed_executable()
    if executable is None:
        return None
    try:
        found = (installed_folder() / _RELEASE_FILE).read_text(encoding="utf-8").strip()
        if release not in (None, found):
            return None
        try_executable(executable)
    except (OSError, errors.M2BridgeError):
        return None
    return Installation(executable, found, ())


def _install(
    root: Path, lock: int | None, try_executable: Try, release: str | None, say: Callable[[str], None]
) -> Installation:
    # The lock is ours, so whoever made these was killed.
    for leftover in (*root.glob(f"{_ASIDE}*"), *root.glob(f"{_OLD}*")):
        shutil.rmtree(leftover, ignore_errors=True)
    _check_place(root)
    releases = [release] if release is not None else _releases(lock)[:MOST_RELEASES]
    attempts: list[Attempt] = []
    for number in releases:
        aside = Path(tempfile.mkdtemp(prefix=_ASIDE, dir=root))
        try:
            say(f"release {number} of {PROJECT}: downloading (about 66 MB)")
            _unpack(_download(number, aside, lock), aside / "copy")
            program = _program_in(aside / "copy")
            if program is None:
                raise _Useless(f"its wheel has no {_PROGRAMS[0]}")
            say(f"release {number} of {PROJECT}: trying it")
            version = try_executable(program)
            (aside / "copy" / _RELEASE_FILE).write_text(f"{number}\n", encoding="utf-8")
            _put_in_place(aside / "copy", aside)
        except _Useless as useless:
            attempts.append(Attempt(number, str(useless)))
        except errors.InstallationFailed:
            raise
        except errors.M2BridgeError as error:
            # Its message names the folder aside, which nobody will find.
            problem = str(error).replace(str(aside / "copy"), f"release {number}")
            attempts.append(Attempt(number, problem.partition("; look in ")[0]))
        else:
            say(f"release {number} of {PROJECT}: it works (Macaulay2 {version})")
            return Installation(str(installed_executable()), number, (*attempts, Attempt(number)))
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        say(f"release {number} of {PROJECT}: {attempts[-1].problem}")
    tried = "; ".join(f"{attempt.release}: {attempt.problem}" for attempt in attempts)
    raise errors.InstallationFailed(f"no release of {PROJECT} works here ({tried})")


class _Useless(Exception):
    """A release that cannot be used; the next one may be."""


def _put_in_place(copy: Path, aside: Path) -> None:
    """Rename a copy that works to its place; the one that was there goes."""
    place = installed_folder()
    old = Path(tempfile.mkdtemp(prefix=_OLD, dir=aside.parent))
    try:
        # A folder cannot be renamed onto a full one. Between the two renamings there is no copy, never half of one.
        with contextlib.suppress(FileNotFoundError):
            place.rename(old / "copy")
        copy.rename(place)
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _check_place(root: Path) -> None:
    """Refuse a place where it cannot work, before anything is downloaded."""
    free = shutil.disk_usage(root).free // 2**20
    if free < _NEEDED_MEGABYTES:
        raise errors.InstallationFailed(
            f"{free} MB are free in {root}, but {_NEEDED_MEGABYTES} MB are needed; make room, or set XDG_CACHE_HOME "
            "to another folder, for good"
        )
    if sys.platform == "linux" and os.statvfs(root).f_flag & os.ST_NOEXEC:
        raise errors.InstallationFailed(
            f"programs cannot be run from {root} (it is mounted noexec); set XDG_CACHE_HOME to another folder, for good"
        )


# --- the download, by pip: it knows the user's index, proxy and certificates ---------------------------------


def _releases(lock: int | None) -> list[str]:
    """Return the releases that have a wheel for this Python and this platform, the newest first."""
    run = _pip(["index", "versions", "--only-binary=:all:", PROJECT], lock, None)
    listed = re.search(r"^Available versions: (.*)$", run.stdout, re.MULTILINE)
    if run.returncode != 0 or listed is None:
        raise errors.InstallationFailed(_reason(run.stderr))
    return [number.strip() for number in listed[1].split(",")]


def _download(release: str, aside: Path, lock: int | None) -> Path:
    """Return the wheel of a release."""
    run = _pip(
        [
            "download",
            "--no-deps",
            "--only-binary=:all:",
            "--no-cache-dir",  # it is unpacked, so a second copy would only fill the disk
            f"--dest={aside}",
            f"{PROJECT}=={release}",
        ],
        lock,
        aside,
    )
    wheels = list(aside.glob("*.whl"))
    if run.returncode != 0 or len(wheels) != 1:
        raise errors.InstallationFailed(_reason(run.stderr, release))
    return wheels[0]


def _pip(arguments: list[str], lock: int | None, folder: Path | None) -> subprocess.CompletedProcess[str]:
    # What it downloads goes first into its temporary folder: ours, so that nothing is left of it.
    temporary = {} if folder is None else {"TMPDIR": str(folder)}
    # Its own five retries of a network that is not there take a minute.
    environment = {"PIP_RETRIES": "2"} | os.environ | temporary | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    show = folder is not None and sys.__stderr__ is not None and sys.__stderr__.isatty()
    try:
        return subprocess.run(
            [sys.executable, "-m", "pip", "--no-input", *arguments],
            stdin=subprocess.DEVNULL,
            # Its progress bar, which is printed to standard output: that belongs to the command.
            stdout=sys.__stderr__ if show else subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
            errors="replace",
            check=False,
            # A pip that outlives its killed parent holds the lock until it ends.
            pass_fds=() if lock is None else (lock,),
        )
    except OSError as error:
        raise errors.InstallationFailed(f"pip cannot be run: {error.strerror or error}") from None


_NO_NETWORK = re.compile(
    r"connection broken|ConnectTimeout|ReadTimeout|timed out|NewConnectionError|NameResolution|Could not fetch URL|"
    r"ProxyError|SSLError|Network is unreachable|Max retries|HTTP error",
    re.IGNORECASE,
)
_NETWORK_PROBLEM = re.compile(r"\[Errno -?\d+\] [\w ,]+|certificate verify failed|timed out|\b[45]\d\d [A-Z][\w ]+")
_NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded", re.IGNORECASE)


def _reason(said: str, release: str = "") -> str:
    """Return what pip's messages mean."""
    what = f"release {release} of {PROJECT}" if release else PROJECT
    if _NO_SPACE.search(said):
        return f"{what} could not be downloaded: the disk is full ({cache_folder()})"
    if "No module named pip" in said:
        return (
            f"{what} could not be downloaded: {sys.executable} has no pip; "
            "'python -m ensurepip' installs it, or with uv: 'uv pip install pip'"
        )
    if _NO_NETWORK.search(said):
        problem = _NETWORK_PROBLEM.search(said)
        why = f" ({problem[0]})" if problem is not None else ""
        return f"{what} could not be downloaded: the package index cannot be reached{why}"
    if "No matching distribution found" in said:
        python = ".".join(platform.python_version_tuple()[:2])
        where = f"{platform.system()} {platform.machine()}, {platform.python_implementation()} {python}"
        return f"the package index has no wheel of {what} for this machine ({where})"
    last = said.strip().splitlines()[-1:]
    complaints = [line for line in said.splitlines() if line.startswith("ERROR: ")] or last
    reason = complaints[-1].removeprefix("ERROR: ")[:300] if complaints else "pip gave no reason"
    return f"{what} could not be downloaded: {reason}"


def _unpack(wheel: Path, folder: Path) -> None:
    """Unpack a wheel and remove it.

    Raises
    ------
    _Useless
        If it is not a whole zip file.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                path = archive.extract(member, folder)
                mode = member.external_attr >> 16 & 0o777
                if mode and not member.is_dir():
                    # The owner can always read and remove it, whatever the wheel says.
                    os.chmod(path, mode | 0o600)
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise _Useless(f"its wheel cannot be unpacked: {error}") from None
    wheel.unlink()


# --- one at a time, and nothing left ----------------------------------------------------------------------


@contextlib.contextmanager
def _locked(root: Path, say: Callable[[str], None]) -> Iterator[int | None]:
    """Hold the cache against other installations; None where the file system has no locks."""
    lock = os.open(root / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another installation to end")
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            yield None
            return
        yield lock
    finally:
        os.close(lock)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let a request to end (SIGTERM; SIGHUP of a closed terminal) do what Ctrl-C does: leave nothing half done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    # Only where nobody handles or ignores (nohup) it.
    ours = [number for number, handler in before.items() if handler is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])
