"""What both engines share: the folder's lock, reuse of a finished result, the record of how a run ended."""

from __future__ import annotations

import errno
import threading
import time
from abc import ABC, abstractmethod
from types import TracebackType
from typing import ClassVar, Self

from m2bridge.engines.classify import Traces, classify, failed_outcome, finished_outcome, record
from m2bridge.engines.process import StopFlag
from m2bridge.job import Job, JobFolder, Outcome, Status
from m2bridge.macaulay2 import Macaulay2, find_macaulay2

_NO_PROCESS = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)
"""Errors that say that the system has no room for one more process or open file."""

_CLOSED = "the engine is closed"


class LocalEngine(ABC):
    """An engine that runs Macaulay2 on this machine.

    Parameters
    ----------
    macaulay2
        The executable; by default the one that `find_macaulay2` finds.

    Raises
    ------
    Macaulay2Unusable
        If there is no usable Macaulay2.
    """

    name: ClassVar[str]

    def __init__(self, macaulay2: Macaulay2 | None = None) -> None:
        self.macaulay2 = macaulay2 or find_macaulay2()
        self._stop = StopFlag()
        self._running = threading.Lock()

    def run(self, job: Job, folder: JobFolder) -> Outcome:
        """Run a job in its folder and return what became of it; see `Engine.run`."""
        with self._running:
            try:
                with folder.locked(self._stop.is_set) as held:
                    if not held:
                        return failed_outcome(job, folder, Status.INTERRUPTED, _CLOSED)
                    return finished_outcome(job, folder) or self._run(job, folder)
            except OSError as error:
                # The folder cannot be made, locked or written to; faults of the run itself are values by now.
                status = Status.CRASHED if error.errno in _NO_PROCESS else Status.NOT_WRITTEN
                return failed_outcome(job, folder, status, str(error))

    def _run(self, job: Job, folder: JobFolder) -> Outcome:
        folder.prepare(job)
        start = time.monotonic()
        try:
            outcome = classify(job, folder, self._execute(job, folder))
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                message = "Ctrl-C"
                seconds = time.monotonic() - start
                record(failed_outcome(job, folder, Status.INTERRUPTED, message, seconds), job, folder)
            raise
        record(outcome, job, folder)
        return outcome

    @abstractmethod
    def _execute(self, job: Job, folder: JobFolder) -> Traces:
        """Run the script of a prepared folder; nothing of the job runs any more on return, however it comes."""

    def close(self) -> None:
        """End every process of the engine, for good; calling it twice does nothing.

        A job that another thread is running ends as interrupted, and so does every later one.
        """
        self._stop.set()
        with self._running:
            self._close()

    @abstractmethod
    def _close(self) -> None:
        """End what outlives a job."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
