"""`Operation`: a question with its inputs; `compute`: render, run, read back, parse."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from m2bridge.document import ResultDocument
from m2bridge.engines import Engine, ScriptEngine
from m2bridge.job import Job, JobFolder, Limits, Outcome
from m2bridge.render import Remark, Word, render

R = TypeVar("R")


@dataclass(frozen=True)
class Provenance:
    """Where a result comes from.

    Attributes
    ----------
    script_sha256
        Hash of the script with its key line blank; the job's key.
    macaulay2
        Version of Macaulay2.
    seed
        Random seed that the script set.
    field
        Ground field, ``QQ`` or ``GF(p)``.
    cpu_seconds, wall_seconds
        Time of the Macaulay2 process; ``wall_seconds`` is 0 for a result that was reused.
    peak_memory_megabytes
        Its largest resident set, or None where the system does not tell.
    """

    script_sha256: str
    macaulay2: str
    seed: int
    field: str
    cpu_seconds: float
    wall_seconds: float
    peak_memory_megabytes: float | None

    @classmethod
    def of(cls, document: ResultDocument, outcome: Outcome, field: str) -> Provenance:
        """Return the provenance of a finished run."""
        return cls(
            script_sha256=document.key,
            macaulay2=document.macaulay2,
            seed=document.seed,
            field=field,
            cpu_seconds=outcome.cpu_seconds,
            wall_seconds=outcome.wall_seconds,
            peak_memory_megabytes=outcome.peak_memory_megabytes,
        )


class Operation(ABC, Generic[R]):
    """One Macaulay2 computation with its inputs; R is the type of its result."""

    name: ClassVar[str]
    """Name of the operation, of its module and of its template."""

    title: ClassVar[str]
    """What it computes, in a sentence, for the script's first line."""

    seed: int = 0

    @abstractmethod
    def context(self) -> Mapping[str, Any]:
        """Return what the template interpolates: exact values only."""

    @abstractmethod
    def parse(self, document: ResultDocument, outcome: Outcome) -> R:
        """Return the typed result of a finished run.

        Raises
        ------
        ResultError
            If the document's fields are not those of this operation.
        """

    @property
    @abstractmethod
    def field_name(self) -> str:
        """Ground field, ``QQ`` or ``GF(p)``."""

    def remarks(self) -> Sequence[str]:
        """Return lines for the script's header: what its variables stand for."""
        return ()

    def script(self) -> str:
        """Return the complete, self-contained Macaulay2 script."""
        context = {
            "title": Remark(self.title),
            "remarks": tuple(Remark(line) for line in self.remarks()),
            "operation": Word(self.name),
            "seed": self.seed,
        }
        return render(f"{self.name}.m2", context | dict(self.context()))


def compute(
    operation: Operation[R],
    *,
    engine: Engine | None = None,
    limits: Limits | None = None,
    folder: Path | None = None,
) -> R:
    """Run an operation and return its result.

    Parameters
    ----------
    operation
        The question.
    engine
        What runs it; by default a `ScriptEngine` on the Macaulay2 that is found.
    limits
        Bounds on time and memory.
    folder
        Job folder: kept, and its finished result reused if it is of the very same script. By default a
        temporary one, removed after success and kept (and named in the error) after a failure.

    Raises
    ------
    Macaulay2Unusable
        If there is no usable Macaulay2.
    RunError
        If the run gave no result; the subclass says why. `Undecided` for a limit that was reached.
    ResultError
        If the result is not what the operation promises.
    """
    job = Job(operation.name, operation.script(), limits or Limits())
    engine = engine or ScriptEngine()
    job_folder = JobFolder.temporary(operation.name) if folder is None else JobFolder(folder)
    try:
        outcome = engine.run(job, job_folder)
    except BaseException:
        if folder is None:
            shutil.rmtree(job_folder.path, ignore_errors=True)
        raise
    result = operation.parse(outcome.unwrap(), outcome)
    if folder is None:
        shutil.rmtree(job_folder.path)
    return result
