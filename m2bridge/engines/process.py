"""A process in a session of its own: started under limits, measured, ended whole, never outliving Python."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from m2bridge.engines import watcher
from m2bridge.engines.watcher import kill_session, signal_session

GRACE = ((signal.SIGINT, 0.5), (signal.SIGTERM, 0.3))
"""How long each signal is given before the next; the last is SIGKILL."""

KILL_SECONDS = 5.0
"""How long a killed process may take to end: one that hangs in a system call is given up after that."""

_FIRST_SLEEP = 0.005
_LONGEST_SLEEP = 0.05

# The shell waits for a line before it becomes the program: by then its session is registered with the watcher,
# so that there is no moment at which Python can die and leave it running.
_LAUNCH = 'read -r go || exit 125; [ "$1" = unlimited ] || ulimit -v "$1" || exit 125; shift; exec "$@" </dev/null'


class _Watch:
    """The watcher process of this Python process, started on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._sessions: set[int] = set()
        # A forked Python must not hold the pipe open, and needs a watcher of its own.
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.returncode = 0  # not our child
        self._process = None
        self._sessions = set()
        self._lock = threading.Lock()

    def add(self, session: int) -> None:
        """Have the session killed when this Python process ends, however it ends."""
        with self._lock:
            self._sessions.add(session)
            self._tell(f"+{session}\n")

    def discard(self, session: int) -> None:
        """Forget a session that has ended."""
        with self._lock:
            self._sessions.discard(session)
            self._tell(f"-{session}\n")

    def _tell(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            try:
                self._process.stdin.write(line.encode())
            except BrokenPipeError:
                self._process.stdin.close()
                self._process.wait()
            else:
                return
        # A watcher that somebody killed has taken its list with it, so the new one is told everything.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", watcher.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin is not None  # noqa: S101 - for the type checker: stdin=PIPE
        self._process.stdin.write("".join(f"+{session}\n" for session in sorted(self._sessions)).encode())


_watch = _Watch()


class StopFlag:
    """A flag that one thread sets and another waits for, together with other descriptors."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        self._set = False

    def set(self) -> None:
        """Set the flag, for good."""
        if not self._set:
            self._set = True
            os.write(self._writer, b"!")

    def is_set(self) -> bool:
        """Say whether the flag is set."""
        return self._set

    def fileno(self) -> int:
        """Return a descriptor that is readable once the flag is set."""
        return self._reader

    def __del__(self) -> None:
        os.close(self._reader)
        os.close(self._writer)


def open_end(pid: int) -> int | None:
    """Return a descriptor that becomes readable when the process ends; None where the system has none."""
    if sys.platform == "linux":
        try:
            return os.pidfd_open(pid)
        except OSError:
            return None  # Linux before 5.3
    return None


def is_readable(descriptor: int) -> bool:
    """Say whether reading would not block; `select.select` cannot tell for descriptors above 1023."""
    events = select.poll()
    events.register(descriptor, select.POLLIN)
    return bool(events.poll(0))


def wait_until(
    done: Callable[[], bool],
    descriptors: Sequence[int | None],
    seconds: float,
    *,
    stop: StopFlag | None = None,
    sample: Callable[[], None] | None = None,
) -> bool:
    """Wait until something is done, at most so long; say whether it is.

    Parameters
    ----------
    done
        Asked again after each event and each pause.
    descriptors
        Become readable when it is done. None stands for one that the system does not offer: then the answer
        comes up to 0.05 s late.
    seconds
        Longest time to wait.
    stop
        Ends the waiting early.
    sample
        Called at each pause.
    """
    end = time.monotonic() + seconds
    pause = _FIRST_SLEEP
    events = select.poll()
    for descriptor in descriptors:
        if descriptor is not None:
            events.register(descriptor, select.POLLIN)
    if stop is not None:
        events.register(stop.fileno(), select.POLLIN)
    while not done():
        left = end - time.monotonic()
        if left <= 0 or (stop is not None and stop.is_set()):
            return False
        if not events.poll(1000 * min(pause, left)):
            pause = min(2 * pause, _LONGEST_SLEEP)
            if sample is not None:
                sample()
    return True


@dataclass
class Usage:
    """Resources of a process, as sampled while it runs."""

    cpu_seconds: float = 0.0
    peak_memory_megabytes: float | None = None

    def sample(self, pid: int) -> None:
        """Read the process's CPU time and peak resident set, where the system tells them (in /proc).

        A process that has ended but is not yet reaped still tells its CPU time, to the nanosecond where the
        system counts so.
        """
        try:
            status = Path(f"/proc/{pid}/status").read_text()
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return
        for line in status.splitlines():
            if line.startswith("VmHWM:"):
                self.peak_memory_megabytes = max(self.peak_memory_megabytes or 0.0, int(line.split()[1]) / 1024)
        user, system, *of_children = map(int, stat[stat.rindex(")") + 2 :].split()[11:15])
        tick = 1 / os.sysconf("SC_CLK_TCK")
        own = (user + system) * tick
        with contextlib.suppress(OSError):  # a kernel without it
            own = max(own, int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9)
        self.cpu_seconds = max(self.cpu_seconds, own + sum(of_children) * tick)


@dataclass
class SessionProcess:
    """A running process that leads its own session.

    Attributes
    ----------
    pid
        Process number; also the number of its session and process group.
    returncode
        Exit code, negative for death by a signal; None while it runs.
    usage
        Resources used so far.
    """

    pid: int
    _popen: subprocess.Popen[bytes]
    _end: int | None
    usage: Usage = field(default_factory=Usage)
    returncode: int | None = None

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        *,
        stdout: IO[bytes],
        stderr: IO[bytes],
        memory_megabytes: int | None,
        folder: Path,
        pass_descriptors: Sequence[int] = (),
    ) -> SessionProcess:
        """Start a program under an address-space limit, with its output going straight into files.

        Its standard input is empty. The limit is not enforced on macOS, which has none for address space.
        """
        limit = "unlimited"
        if memory_megabytes is not None and sys.platform != "darwin":
            limit = str(memory_megabytes * 1024)
        popen = subprocess.Popen(
            ["/bin/sh", "-c", _LAUNCH, "m2bridge", limit, *command],
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            bufsize=0,
            cwd=folder,
            start_new_session=True,
            pass_fds=pass_descriptors,
        )
        process = cls(popen.pid, popen, open_end(popen.pid))
        try:
            _watch.add(popen.pid)
            assert popen.stdin is not None  # noqa: S101 - for the type checker: stdin=PIPE
            popen.stdin.write(b"go\n")
            popen.stdin.close()
        except BaseException:
            process.kill()
            raise
        return process

    @property
    def end_descriptor(self) -> int | None:
        """A descriptor that becomes readable when the process ends; None where the system has none."""
        return self._end

    def ended(self) -> bool:
        """Say whether the process has ended; it stays unreaped, so its number is not given to another yet."""
        if self.returncode is not None:
            return True
        if sys.platform == "darwin":  # Python has no waitid there before 3.13
            self._reap(os.WNOHANG)
            return self.returncode is not None
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True  # somebody else in this Python process has reaped it

    def wait(self, seconds: float, stop: StopFlag | None = None) -> bool:
        """Wait until the process ends, at most so long; say whether it did. Samples its usage meanwhile."""
        return wait_until(self.ended, [self._end], seconds, stop=stop, sample=lambda: self.usage.sample(self.pid))

    def stop(self) -> None:
        """End every process of the session: SIGINT, then SIGTERM, then SIGKILL; then reap."""
        for number, seconds in GRACE:
            if self.ended() or not signal_session(self.pid, number) or self.wait(seconds):
                break
        self.kill()

    def kill(self) -> None:
        """Kill every process of the session that is left, and reap its leader."""
        if self.returncode is not None:
            return
        if self._popen.stdin is not None:
            self._popen.stdin.close()
        kill_session(self.pid)
        if wait_until(self.ended, [self._end], KILL_SECONDS):
            self._reap(0)
            _watch.discard(self.pid)
        else:
            # It hangs in the kernel; it is dead as soon as it comes out, and stays registered until then.
            self.returncode = self._popen.returncode = -signal.SIGKILL
        if self._end is not None:
            os.close(self._end)
            self._end = None

    def _reap(self, options: int) -> None:
        if self.returncode is not None:
            return
        try:
            pid, status, used = os.wait4(self.pid, options)
        except ChildProcessError:
            pid, status, used = self.pid, 0, None  # the exit code is lost
        if pid == 0:
            return
        self.returncode = self._popen.returncode = os.waitstatus_to_exitcode(status)
        if used is not None:
            self.usage.cpu_seconds = max(self.usage.cpu_seconds, used.ru_utime + used.ru_stime)
            if sys.platform == "darwin":  # in bytes; on Linux it may be the peak of Python before it became M2
                self.usage.peak_memory_megabytes = used.ru_maxrss / 2**20
