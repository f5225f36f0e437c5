"""Floating-point estimates: ranks of Jacobians by the largest gap between singular values. Never a proof."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from m2bridge.fields import to_fraction
from m2bridge.parametrization import Parametrization

CLEAR_GAP = 1e3
"""A ratio of neighbouring singular values below this decides nothing."""

_LARGEST_COEFFICIENT = 10**100


@dataclass(frozen=True)
class NumericRank:
    """The rank of a float64 matrix by its largest singular-value gap.

    Attributes
    ----------
    rank
        Number of singular values above the largest gap.
    gap
        Ratio of the neighbouring singular values at the gap (values below round-off count as round-off).
    clear
        Whether the gap is at least `CLEAR_GAP`; otherwise the rank decides nothing.
    singular_values
        All of them, largest first.
    """

    rank: int
    gap: float
    clear: bool
    singular_values: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain data."""
        return {"rank": self.rank, "gap": self.gap, "clear": self.clear}


def gap_rank(matrix: NDArray[np.float64]) -> NumericRank:
    """Return the rank of a matrix by its largest singular-value gap."""
    if 0 in matrix.shape or not np.any(matrix):
        return NumericRank(0, float("inf"), True, (0.0,) * min(matrix.shape))
    if not np.all(np.isfinite(matrix)):
        return NumericRank(0, 1.0, False, ())
    values = np.linalg.svd(matrix, compute_uv=False)
    round_off = np.finfo(np.float64).eps * max(matrix.shape) * values[0]
    # The round-off level stands for a value after the last, so that full rank can be the answer.
    floored = np.append(np.maximum(values, round_off), round_off)
    ratios = floored[:-1] / floored[1:]
    at = int(np.argmax(ratios))
    gap = float(ratios[at])
    return NumericRank(at + 1, gap, gap >= CLEAR_GAP, tuple(float(v) for v in values))


def numeric_rank(parametrization: Parametrization, seed: int = 0) -> NumericRank:
    """Return the float64 rank of a map's Jacobian (m x n) at a point with standard normal entries."""
    rng = np.random.default_rng(seed)
    point = rng.standard_normal(parametrization.n_parameters)
    jacobian = np.zeros((parametrization.n_coordinates, parametrization.n_parameters))
    for row, f in zip(jacobian, parametrization.coordinates, strict=True):
        # Coefficients may be beyond the range of float64: a coordinate that has such is scaled by its largest one.
        largest = max((abs(to_fraction(c)) for c in f.values()), default=Fraction(1))
        scale = largest if largest > _LARGEST_COEFFICIENT else Fraction(1)
        for monomial, coefficient in f.items():
            exponents = np.array(monomial, dtype=float)
            size = float(to_fraction(coefficient) / scale)
            powers = point**exponents
            for j in np.flatnonzero(exponents):
                rest = np.prod(np.delete(powers, j))
                row[j] += size * exponents[j] * point[j] ** (exponents[j] - 1) * rest
    return gap_rank(jacobian)
