"""What a value is worth. Every typed result carries one of these grades."""

from collections.abc import Iterable
from enum import StrEnum


class Evidence(StrEnum):
    """Grade of a value: what stands behind it, and on which side it may err.

    Attributes
    ----------
    PROVED
        Proved by exact arithmetic done here, with nothing left to trust but this package.
    COMPUTED
        Computed exactly over the stated field by Macaulay2; right if Macaulay2 is right. Its ``kernel``
        has open bug reports (Macaulay2 issues 1660 and 2004), so this is not called a proof.
    LOWER_BOUND
        The true value is at least this: proved. (The rank of a Jacobian at one point, or modulo a prime.)
    UPPER_BOUND
        The true value is at most this: proved.
    MODULAR
        Computed modulo a prime, for a question over QQ.
    NUMERIC
        Floating-point arithmetic: no claim.
    CONJECTURED
        Evaluated from a formula, not computed.
    """

    PROVED = "proved"
    COMPUTED = "computed"
    LOWER_BOUND = "lower_bound"
    UPPER_BOUND = "upper_bound"
    MODULAR = "modular"
    NUMERIC = "numeric"
    CONJECTURED = "conjectured"


_FROM_WEAKEST = (
    Evidence.CONJECTURED,
    Evidence.NUMERIC,
    Evidence.MODULAR,
    Evidence.UPPER_BOUND,
    Evidence.LOWER_BOUND,
    Evidence.COMPUTED,
    Evidence.PROVED,
)


def weakest(grades: Iterable[Evidence]) -> Evidence:
    """Return the weakest of some grades: what a statement that rests on all of them is worth."""
    return min(grades, key=_FROM_WEAKEST.index, default=Evidence.PROVED)
