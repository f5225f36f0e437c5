"""The interface of the engines."""

from __future__ import annotations

from typing import Protocol

from m2bridge.job import Job, JobFolder, Outcome
from m2bridge.macaulay2 import Macaulay2


class Engine(Protocol):
    """Something that runs jobs, one at a time."""

    @property
    def name(self) -> str:
        """Its name on the command line."""
        ...

    @property
    def macaulay2(self) -> Macaulay2:
        """The executable that it uses."""
        ...

    def run(self, job: Job, folder: JobFolder) -> Outcome:
        """Run a job in its folder and return what became of it.

        A folder that holds the finished result of this very script is reused; what an unfinished run left is
        removed first. Nothing of the job runs any more when this returns or raises.

        Raises
        ------
        KeyboardInterrupt
            If the user interrupts; the job has been ended.
        """
        ...

    def close(self) -> None:
        """End every process of the engine, for good; calling it twice does nothing.

        May be called from another thread: a job that runs ends as interrupted, and so does every later one.
        """
        ...
