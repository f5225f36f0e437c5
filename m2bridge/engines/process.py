"""A process in a session of its own: started under limits, measured, ended whole, never outliving Python."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from m2bridge.engines import watcher
from m2bridge.engines.watcher import kill_session, signal_session

_LONGEST_SLEEP = 0.02
_GRACE = ((signal.SIGINT, 0.5), (signal.SIGTERM, 0.5))
"""How long each signal is given before the next; the last is SIGKILL."""

# The shell waits for a line before it becomes the program: by then its session is registered with the watcher,
# so that there is no moment at which Python can die and leave it running. It reads byte by byte, so what follows
# on the pipe belongs to the program.
_LAUNCH = 'read -r go || exit 125; [ "$1" = unlimited ] || ulimit -v "$1" || exit 125; shift; exec "$@"'


class _Watch:
    """The watcher process of this Python process, started on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        # A forked Python must not hold the pipe open, and needs a watcher of its own.
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            os.close(self._process.stdin.fileno())
            self._process.returncode = 0  # not our child
            self._process = None
        self._lock = threading.Lock()

    def tell(self, line: str) -> None:
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", watcher.__file__],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    bufsize=0,
                    start_new_session=True,
                )
            assert self._process.stdin is not None  # noqa: S101 - for the type checker: stdin=PIPE
            self._process.stdin.write(line.encode())


_watch = _Watch()


@dataclass
class Usage:
    """Resources of a process, as sampled while it runs."""

    cpu_seconds: float = 0.0
    peak_memory_megabytes: float | None = None

    def sample(self, pid: int) -> None:
        """Read the process's CPU time and peak resident set, where the system tells them."""
        try:
            status = Path(f"/proc/{pid}/status").read_text()
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return
        for line in status.splitlines():
            if line.startswith("VmHWM:"):
                self.peak_memory_megabytes = max(self.peak_memory_megabytes or 0.0, int(line.split()[1]) / 1024)
        ticks = stat[stat.rindex(")") + 2 :].split()[11:13]
        self.cpu_seconds = max(self.cpu_seconds, sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"))


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
    started: float
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
        keep_stdin: bool = False,
    ) -> SessionProcess:
        """Start a program under an address-space limit, with its output going straight into files.

        Its standard input is empty, or, if kept, the pipe `send` writes to. The limit is not enforced on macOS,
        which has none for address space.
        """
        limit = "unlimited"
        if memory_megabytes is not None and sys.platform != "darwin":
            limit = str(memory_megabytes * 1024)
        launch = _LAUNCH if keep_stdin else _LAUNCH + " </dev/null"
        popen = subprocess.Popen(
            ["/bin/sh", "-c", launch, "m2bridge", limit, *command],
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            bufsize=0,
            cwd=folder,
            start_new_session=True,
        )
        process = cls(popen.pid, popen, time.monotonic())
        try:
            _watch.tell(f"+{popen.pid}\n")
            process.send("go\n")
            if not keep_stdin:
                process._close_stdin()
        except BaseException:
            process.kill()
            raise
        return process

    def send(self, line: str) -> None:
        """Write a line to the program's standard input."""
        assert self._popen.stdin is not None  # noqa: S101 - for the type checker: stdin=PIPE
        self._popen.stdin.write(line.encode())

    def _close_stdin(self) -> None:
        if self._popen.stdin is not None:
            self._popen.stdin.close()

    def ended(self) -> bool:
        """Say whether the process has ended; it stays unreaped, so its number is not given to another yet."""
        if self.returncode is not None:
            return True
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def wait(self, seconds: float) -> bool:
        """Wait until the process ends, at most so long; say whether it did. Samples its usage meanwhile."""
        end = time.monotonic() + seconds
        sleep = 0.001
        while not self.ended():
            now = time.monotonic()
            if now >= end:
                return False
            self.usage.sample(self.pid)
            time.sleep(min(sleep, end - now))
            sleep = min(2 * sleep, _LONGEST_SLEEP)
        return True

    def stop(self) -> None:
        """End every process of the session: SIGINT, then SIGTERM, then SIGKILL; then reap."""
        for number, seconds in _GRACE:
            if self.ended() or not signal_session(self.pid, number):
                break
            if self.wait(seconds):
                break
        self.kill()

    def kill(self) -> None:
        """Kill every process of the session that is left, and reap its leader."""
        if self.returncode is not None:
            return
        self._close_stdin()
        kill_session(self.pid)
        _, status, usage = os.wait4(self.pid, 0)
        self.returncode = self._popen.returncode = os.waitstatus_to_exitcode(status)
        self.usage.cpu_seconds = max(self.usage.cpu_seconds, usage.ru_utime + usage.ru_stime)
        _watch.tell(f"-{self.pid}\n")
