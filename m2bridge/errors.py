"""All exceptions: one base class, subclasses by cause.

A message says in one sentence what happened and to what, then what was found and expected, then where to
look. Operands are attributes. Every exception can be pickled, since batch workers send them home.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m2bridge.job import Outcome


@dataclass(eq=False)
class M2BridgeError(Exception):
    """Base class of everything that m2bridge raises on purpose."""

    def __reduce__(self) -> tuple[type[M2BridgeError], tuple[Any, ...]]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))


# --- before a run: the input ---------------------------------------------------------------------------


@dataclass(eq=False)
class InputError(M2BridgeError, ValueError):
    """The input cannot be what was meant: impossible, ambiguous or malformed."""

    problem: str
    place: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}" if self.place else self.problem


class ModelError(InputError):
    """An architecture with impossible sizes."""


class UnsupportedField(InputError):
    """A ground field that is neither QQ nor GF(p) with p prime."""


class PolynomialError(InputError):
    """A text or an expression that is not a polynomial with exact coefficients in the declared variables."""


class ExponentTooLarge(PolynomialError):
    """An exponent or a degree beyond 2^31 - 1, which Macaulay2 cannot represent."""


class PointError(InputError):
    """A point with the wrong number of entries, inexact entries, or off the variety it should lie on."""


class SweepFileError(InputError):
    """A sweep file that cannot be what was meant; the place is file, line and key."""


@dataclass(eq=False)
class RenderError(M2BridgeError):
    """A value that has no Macaulay2 source (a float above all)."""

    value_type: str
    value: str

    def __str__(self) -> str:
        return f"no Macaulay2 source for a value of type {self.value_type}: {self.value}"


@dataclass(eq=False)
class Infeasible(M2BridgeError):
    """A computation refused before it starts since it could not end; the question stays undecided."""

    problem: str
    hint: str

    def __str__(self) -> str:
        return f"{self.problem}; {self.hint}"


# --- Macaulay2 itself ----------------------------------------------------------------------------------


@dataclass(eq=False)
class Macaulay2Unusable(M2BridgeError):
    """No Macaulay2 that can be used; the subclasses tell why."""


@dataclass(eq=False)
class Macaulay2NotFound(Macaulay2Unusable):
    """No executable at any of the places looked at."""

    tried: Sequence[str]

    def __str__(self) -> str:
        return (
            f"Macaulay2 was not found (tried: {', '.join(self.tried)}); install it "
            "(Debian and Ubuntu: apt-get install macaulay2; without root: 'm2bridge doctor --install') "
            "or set M2BRIDGE_M2 to its executable, then see 'm2bridge doctor'"
        )


@dataclass(eq=False)
class Macaulay2TooOld(Macaulay2Unusable):
    """The version found is below the oldest one supported."""

    executable: str
    found: str
    needed: str

    def __str__(self) -> str:
        return f"{self.executable} is Macaulay2 {self.found}, but {self.needed} or newer is needed"


@dataclass(eq=False)
class Macaulay2VersionUnreadable(Macaulay2Unusable):
    """``--version`` did not print a version."""

    executable: str
    output: str

    def __str__(self) -> str:
        return f"{self.executable} --version printed no version but {self.output!r}: is it Macaulay2?"


@dataclass(eq=False)
class Macaulay2Broken(Macaulay2Unusable):
    """The executable is there but cannot be run."""

    executable: str
    problem: str

    def __str__(self) -> str:
        return f"{self.executable} cannot be run: {self.problem}"


@dataclass(eq=False)
class InstallationFailed(Macaulay2Unusable):
    """No copy of Macaulay2 could be installed for this user."""

    problem: str

    def __str__(self) -> str:
        return f"Macaulay2 was not installed: {self.problem}"


# --- a run ---------------------------------------------------------------------------------------------


@dataclass(eq=False)
class RunError(M2BridgeError):
    """A job that gave no result; the subclasses tell how it ended."""

    outcome: Outcome

    def __str__(self) -> str:
        return self.outcome.describe()


class Macaulay2Error(RunError):
    """Macaulay2 refused the script: ``outcome.message`` and ``outcome.script_line`` say what and where."""


class Undecided(RunError):
    """A limit was reached, so the question is open: this is not a negative answer."""


class TimedOut(Undecided):
    """The wall-clock limit was reached."""


class OutOfMemory(Undecided):
    """The memory limit was reached, or the machine had no more."""


class Crashed(RunError):
    """Macaulay2 died by a signal, or ended without a result and without a message."""


class Interrupted(RunError):
    """The run was interrupted from outside (SIGINT or SIGTERM)."""


class NotWritten(RunError):
    """The result could not be written: no space left, or the folder is not writable."""


class Unreadable(RunError):
    """There is a result file, but it is cut, not JSON, of another job, or of another format."""


@dataclass(eq=False)
class ResultError(M2BridgeError):
    """A result document that is not what the operation promises."""

    problem: str
    file: str

    def __str__(self) -> str:
        return f"{self.problem}; look at {self.file}"


# --- sweeps --------------------------------------------------------------------------------------------


@dataclass(eq=False)
class StoreError(M2BridgeError):
    """A store of sweeps that cannot be read or written."""

    problem: str
    folder: str

    def __str__(self) -> str:
        return f"{self.folder}: {self.problem}"


@dataclass(eq=False)
class WorkerBroken(M2BridgeError):
    """The process that works on the jobs of a sweep does not start."""

    problem: str

    def __str__(self) -> str:
        return f"a worker did not start: {self.problem}"


@dataclass(eq=False)
class SlurmError(M2BridgeError):
    """A command of Slurm's that failed."""

    command: str
    problem: str

    def __str__(self) -> str:
        return f"{self.command}: {self.problem}"
