"""The reference engine: one ``M2 --script`` for each job."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from m2bridge.engines.classify import classify, finished_outcome, record
from m2bridge.engines.process import SessionProcess
from m2bridge.job import Job, JobFolder, Outcome, Status
from m2bridge.macaulay2 import Macaulay2, find_macaulay2


class ScriptEngine:
    """Runs each job in a Macaulay2 process of its own.

    Parameters
    ----------
    macaulay2
        The executable; by default the one that `find_macaulay2` finds.

    Raises
    ------
    Macaulay2Unusable
        If there is no usable Macaulay2.
    """

    name = "script"

    def __init__(self, macaulay2: Macaulay2 | None = None) -> None:
        self.macaulay2 = macaulay2 or find_macaulay2()

    def run(self, job: Job, folder: JobFolder) -> Outcome:
        """Run a job in its folder and return what became of it; see `Engine.run`."""
        try:
            with folder.locked():
                return finished_outcome(job, folder) or self._run(job, folder)
        except OSError as error:
            return Outcome(
                status=Status.NOT_WRITTEN,
                operation=job.operation,
                folder=folder.path,
                wall_seconds=0.0,
                cpu_seconds=0.0,
                peak_memory_megabytes=None,
                returncode=None,
                message=str(error),
            )

    def _run(self, job: Job, folder: JobFolder) -> Outcome:
        folder.prepare(job)
        start = time.monotonic()
        with folder.stdout.open("wb") as stdout, folder.stderr.open("wb") as stderr:
            process = SessionProcess.start(
                [self.macaulay2.executable, "--script", folder.script.name, folder.result.name],
                stdout=stdout,
                stderr=stderr,
                memory_megabytes=job.limits.memory_megabytes,
                folder=folder.path,
            )
        try:
            in_time = process.wait(job.limits.time_seconds)
            if not in_time:
                process.stop()
        finally:
            process.kill()
        outcome = classify(
            job,
            folder,
            returncode=process.returncode,
            wall_seconds=time.monotonic() - start,
            cpu_seconds=process.usage.cpu_seconds,
            peak_memory_megabytes=process.usage.peak_memory_megabytes,
            timed_out=not in_time,
        )
        record(outcome, job, folder)
        return outcome

    def close(self) -> None:
        """Do nothing: no process outlives its job."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
