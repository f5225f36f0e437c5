"""The finest multigrading for which a polynomial map is homogeneous, from the exponents of the map alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import flint
import numpy as np
from numpy.typing import NDArray
from sympy.polys.rings import PolyElement


@dataclass(frozen=True)
class Grading:
    """A multigrading of the coordinates, coming from one of the parameters.

    Attributes
    ----------
    parameter_weights : (k, n)
        k independent integer weight vectors of the n parameters.
    coordinate_weights : (k, m)
        Weights of the m coordinates: each coordinate is homogeneous of its weight.
    """

    parameter_weights: tuple[tuple[int, ...], ...]
    coordinate_weights: tuple[tuple[int, ...], ...]

    @property
    def rank(self) -> int:
        """Rank k of the grading."""
        return len(self.parameter_weights)

    @property
    def is_standard_homogeneous(self) -> bool:
        """Whether some combination of the weights gives every coordinate degree 1.

        Then the ideal of the image is homogeneous in the ordinary sense.
        """
        m = len(self.coordinate_weights[0]) if self.rank else 0
        if not m:
            return False
        rows = [list(row) for row in self.coordinate_weights]
        return int(flint.fmpz_mat([*rows, [1] * m]).rank()) == int(flint.fmpz_mat(rows).rank())

    def hashes(self, seed: int) -> NDArray[np.uint64]:
        """Return random linear forms of the weights, one value for each coordinate, modulo 2^64.

        Monomials of equal multidegree have equal sums of hashes. Two multidegrees that collide are only treated
        together, which costs time and nothing else.
        """
        rng = np.random.default_rng(seed)
        factors = rng.integers(1, 2**63, self.rank, dtype=np.uint64)
        weights = np.array(self.coordinate_weights, dtype=np.int64).astype(np.uint64)
        hashes: NDArray[np.uint64] = (factors[:, None] * weights).sum(axis=0, dtype=np.uint64)
        return hashes


def finest_grading(coordinates: Sequence[PolyElement]) -> Grading:
    """Return the finest grading of the parameters for which each coordinate is homogeneous.

    The weight vectors are a basis of the integer vectors orthogonal to all differences of exponents of two
    terms of one coordinate.
    """
    n = coordinates[0].ring.ngens
    differences = []
    for f in coordinates:
        monomials = list(f)
        differences += [[a - b for a, b in zip(m, monomials[0], strict=True)] for m in monomials[1:]]
    if differences:
        basis, nullity = flint.fmpz_mat(differences).nullspace()
        rows = [[int(basis[i, j]) for i in range(n)] for j in range(nullity)]
    else:
        rows = [[int(i == j) for i in range(n)] for j in range(n)]
    return make_grading(coordinates, rows)


def make_grading(coordinates: Sequence[PolyElement], weights: Sequence[Sequence[int]]) -> Grading:
    """Return the grading with these weights of the parameters, after checking that the map is homogeneous.

    Raises
    ------
    ValueError
        If a coordinate has two terms of different weight: equations would be missed without a word.
    """
    coordinate_weights = []
    for row in weights:
        degrees = []
        for i, f in enumerate(coordinates):
            found = {sum(w * e for w, e in zip(row, m, strict=True)) for m in f}
            if len(found) != 1:
                raise ValueError(f"coordinate {i} is not homogeneous for the weights {tuple(row)}")
            degrees.append(found.pop())
        coordinate_weights.append(tuple(degrees))
    return Grading(tuple(tuple(row) for row in weights), tuple(coordinate_weights))
