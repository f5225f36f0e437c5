"""The reference engine: one ``M2 --script`` for each job."""

from __future__ import annotations

import time

from m2bridge.engines.classify import Traces, excerpt
from m2bridge.engines.local import LocalEngine
from m2bridge.engines.process import SessionProcess
from m2bridge.job import Job, JobFolder
from m2bridge.macaulay2 import remove_temporary_files


class ScriptEngine(LocalEngine):
    """Runs each job in a Macaulay2 process of its own; parameters as for every `LocalEngine`."""

    name = "script"

    def _execute(self, job: Job, folder: JobFolder) -> Traces:
        start = time.monotonic()
        with folder.stdout.open("wb") as stdout, folder.stderr.open("wb") as stderr:
            process = SessionProcess.start(
                [self.macaulay2.executable, "--script", folder.script.name, folder.result.name],
                stdout=stdout,
                stderr=stderr,
                memory_megabytes=job.limits.memory_megabytes,
                folder=folder.path,
            )
        late = False
        try:
            ended = process.wait(job.limits.time_seconds, self._stop)
            if not ended:
                late = not folder.result.exists()
                process.stop()
        finally:
            process.kill()
        if process.returncode != 0:
            remove_temporary_files(process.pid)
        with folder.stderr.open("rb") as log:
            said = excerpt(log)
        return Traces(
            returncode=process.returncode,
            wall_seconds=time.monotonic() - start,
            cpu_seconds=process.usage.cpu_seconds,
            peak_memory_megabytes=process.usage.peak_memory_megabytes,
            stderr=said,
            timed_out=not ended and not self._stop.is_set(),
            interrupted=not ended and self._stop.is_set(),
            late=late,
        )

    def _close(self) -> None:
        """Do nothing: no process outlives its job."""
