"""Processes under a limit of CPU seconds, and what they used."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MEMORY_BYTES = 8 << 30

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "GC_MARKERS": "1"}
"""CPU seconds are compared, so nobody gains or loses by threads."""


@dataclass(frozen=True)
class Run:
    """One process that ended.

    Attributes
    ----------
    status
        ``ok``, ``time`` (the CPU limit, or a wall-clock limit several times as long), ``memory``, ``failed``.
    cpu_seconds, wall_seconds
        Of the process and its children, as the kernel counts them.
    peak_megabytes
        Of resident memory.
    output, errors
        Ends of what it printed.
    """

    status: str
    cpu_seconds: float
    wall_seconds: float
    peak_megabytes: float
    output: str
    errors: str


def run(command: Sequence[str], folder: Path, *, cpu_limit: float, environment: Mapping[str, str] | None = None) -> Run:
    """Run a command in a folder, in a session of its own, and return what it used.

    Parameters
    ----------
    command
        Program and arguments.
    folder
        Working folder; what it prints goes to files there.
    cpu_limit
        Seconds of CPU for each process of it; the wall-clock limit is three times that, and a minute.
    environment
        Further environment variables.
    """
    limit = max(1, round(cpu_limit))

    def restrict() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 2))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))

    start = time.monotonic()
    with (folder / "stdout").open("wb") as output, (folder / "stderr").open("wb") as errors:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env={**os.environ, **ONE_THREAD, **(environment or {})},
            start_new_session=True,
            preexec_fn=restrict,
        )
        late = threading.Event()

        def stop() -> None:
            late.set()
            # The process leads its own session, so that this ends it and its children and nobody else.
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(3 * cpu_limit + 60, stop)
        timer.start()
        # wait4 reports this process alone, unlike the totals of all children.
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    said, complained = (_end(folder / name) for name in ("stdout", "stderr"))
    cpu = usage.ru_utime + usage.ru_stime
    if process.returncode == 0:
        outcome = "ok"
    elif late.is_set() or process.returncode == -signal.SIGXCPU or cpu >= limit:
        outcome = "time"
    elif any(word in (said + complained).lower() for word in ("out of memory", "bad_alloc", "no more memory")):
        outcome = "memory"
    else:
        outcome = "failed"
    return Run(outcome, cpu, time.monotonic() - start, usage.ru_maxrss / 1024, said, complained)


def _end(path: Path) -> str:
    return path.read_bytes()[-20_000:].decode(errors="replace")


def best_of(runs: Sequence[Run]) -> Run:
    """Return the run with the least CPU time among those that ended well, else the first."""
    good = [one for one in runs if one.status == "ok"]
    return min(good, key=lambda one: one.cpu_seconds) if good else runs[0]
