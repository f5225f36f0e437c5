"""Agreement of exact and numeric values: a verdict of three kinds, which has no truth value when it is open."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """Whether values agree."""

    AGREE = "agree"
    DISAGREE = "disagree"
    UNDECIDED = "undecided"

    def __bool__(self) -> bool:
        if self is Verdict.UNDECIDED:
            raise TypeError("an undecided comparison is neither true nor false; compare it with Verdict members")
        return self is Verdict.AGREE


@dataclass(frozen=True)
class Comparison:
    """A verdict with its reason."""

    verdict: Verdict
    reason: str

    def to_json(self) -> bool | None:
        """Return true, false, or None where it is undecided."""
        return None if self.verdict is Verdict.UNDECIDED else bool(self.verdict)


def compare_dimensions(
    *, formula: int | None, exact: int, exact_is_proved: bool, numeric: int | None, numeric_is_clear: bool
) -> Comparison:
    """Compare a dimension by formula, by exact rank and by float64 rank.

    An exact value that is only a lower bound refutes what lies below it, and leaves open what lies above.
    """
    if formula is not None and formula != exact:
        if formula > exact and not exact_is_proved:
            return Comparison(Verdict.UNDECIDED, f"the formula says {formula}, the exact lower bound is {exact}")
        return Comparison(Verdict.DISAGREE, f"the formula says {formula}, the exact value is {exact}")
    if numeric is not None and not numeric_is_clear:
        return Comparison(Verdict.UNDECIDED, "the singular values show no clear gap")
    if numeric is not None and numeric > exact and not exact_is_proved:
        return Comparison(Verdict.UNDECIDED, f"the float64 rank is {numeric}, the exact lower bound is {exact}")
    if numeric is not None and numeric != exact:
        return Comparison(Verdict.DISAGREE, f"the float64 rank is {numeric}, the exact value is {exact}")
    return Comparison(Verdict.AGREE, "all values are equal")
