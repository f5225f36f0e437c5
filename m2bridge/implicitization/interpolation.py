"""All equations of a closure up to a degree, by linear algebra modulo one prime, split by the multigrading.

For each degree D the values of the candidate monomials at random points are eliminated, bucket by bucket (one
bucket for each multidegree). Columns stand in ascending order, so those without a pivot are the new leading
monomials of the ideal, and the reduced row echelon form holds the elements of its reduced Gröbner basis.
Candidates are the monomials all of whose divisors of degree D - 1 are standard.

Where permutations of the coordinates are known to be symmetries of the image, one bucket of each orbit is treated
and the others are its images; they are treated one by one only if a further degree is asked for, which needs their
standard monomials.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import comb

import flint
import numpy as np
from numpy.typing import NDArray
from sympy.polys.rings import PolyElement

from m2bridge.exact import RANK_PRIMES
from m2bridge.fields import to_fraction
from m2bridge.implicitization.grading import Grading
from m2bridge.implicitization.monomials import (
    Codes,
    all_monomials,
    decode,
    divisors_all_in,
    encode,
    fits,
    multiples,
)


class OutOfTimeError(Exception):
    """The deadline came in the middle of a degree; what was found in lower degrees stands."""


_SPARE_POINTS = 8
"""Points beyond the number of columns: a column that depends on others at all of them does so by chance with
probability about p^-8, and such a false equation would fail its exact verification."""


@dataclass(frozen=True)
class ModularForm:
    """A form modulo a prime: codes of its monomials (the leading one first), and residues, that of it being 1."""

    degree: int
    codes: Codes
    residues: NDArray[np.int64]


@dataclass(frozen=True)
class DegreeStep:
    """What was found in one degree, modulo the prime.

    Attributes
    ----------
    degree
        The degree D.
    rank
        Rank of the evaluation matrix of all monomials of degree D: a lower bound for the Hilbert function of the
        coordinate ring at D, whatever the points and the prime.
    n_equations
        Number of monomials less the rank: the dimension of the ideal's part of degree D, modulo the prime.
    minimal
        Representatives of the minimal generators of degree D: together with their images under the symmetries, and
        with multiples of those of lower degree, they span that part.
    images
        For each representative the permutations (rows of the symmetry group) that give all its images, itself
        included.
    """

    degree: int
    rank: int
    n_equations: int
    minimal: tuple[ModularForm, ...]
    images: tuple[tuple[int, ...], ...]

    @property
    def n_minimal(self) -> int:
        """Number of minimal generators of this degree."""
        return sum(len(images) for images in self.images)


@dataclass(frozen=True)
class _Candidates:
    """Monomials of one degree, sorted by bucket and within it ascending in the monomial order."""

    indices: NDArray[np.int64]
    codes: Codes
    keys: NDArray[np.uint64]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def sort(cls, indices: NDArray[np.int64], codes: Codes, keys: NDArray[np.uint64]) -> _Candidates:
        # Ascending in the monomial order is descending in the code.
        order = np.lexsort((-codes, keys))
        indices, codes, keys = indices[order], codes[order], keys[order]
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
        return cls(indices, codes, keys, starts, np.diff(np.append(starts, len(keys))))

    def select(self, buckets: NDArray[np.bool_]) -> _Candidates:
        """Return some of the buckets."""
        rows = np.repeat(buckets, self.sizes)
        sizes = self.sizes[buckets]
        starts = np.cumsum(sizes) - sizes
        return _Candidates(self.indices[rows], self.codes[rows], self.keys[rows], starts, sizes)


@dataclass
class Interpolation:
    """The ideal of a closure modulo a prime, degree by degree.

    Parameters
    ----------
    coordinates
        The map's coordinates, homogeneous for a grading in which all have degree 1.
    grading
        A multigrading of the map.
    prime
        A 31-bit prime that divides no denominator of the map.
    symmetries : (g, m)
        The elements of a group of permutations of the coordinates that maps the image's ideal to itself, the
        identity first; whoever passes it has verified it.
    seed
        Seed of the points.
    deadline
        Value of ``time.monotonic()`` at which to give up.
    """

    coordinates: Sequence[PolyElement]
    grading: Grading
    prime: int = RANK_PRIMES[0]
    symmetries: NDArray[np.int64] | None = None
    seed: int = 0
    deadline: float = float("inf")
    steps: list[DegreeStep] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._n = len(self.coordinates)
        self._hashes = self.grading.hashes(self.seed)
        self._rng = np.random.default_rng(self.seed)
        self._values = np.zeros((self._n, 0), dtype=np.int64)
        self._standard: Codes = np.zeros(1, dtype=np.int64)  # the monomial 1
        self._basis: list[ModularForm] = []
        self._new: list[ModularForm] = []
        self._pending: _Candidates | None = None
        if self.symmetries is None:
            self.symmetries = np.arange(self._n, dtype=np.int64)[None]
        self._permuted_hashes = self._hashes[self.symmetries]

    def feasible(self, degree: int) -> bool:
        """Say whether the monomials of a degree can be listed."""
        return fits(self._n, degree)

    def next_degree(self) -> DegreeStep:
        """Treat the next degree and return what was found.

        Raises
        ------
        OutOfTimeError
            If the deadline passes.
        """
        self._complete()
        degree = len(self.steps) + 1
        monomials = multiples(decode(self._standard, self._n, degree - 1), self._n)
        if degree > 1:
            monomials = monomials[divisors_all_in(monomials, self._n, self._standard)]
        candidates = _Candidates.sort(monomials, encode(monomials, self._n), self._buckets(monomials))
        treated, orbit_sizes, left = self._choose(candidates)
        new, is_standard = self._eliminate(treated, degree)
        rank = int((np.repeat(orbit_sizes, treated.sizes) * is_standard).sum())
        minimal = self._minimal(new, degree)
        step = DegreeStep(
            degree=degree,
            rank=rank,
            n_equations=comb(self._n + degree - 1, degree) - rank,
            minimal=tuple(minimal),
            images=tuple(self._images(form) for form in minimal),
        )
        self.steps.append(step)
        self._standard = np.sort(treated.codes[is_standard])
        self._new, self._pending = new, left
        return step

    def _complete(self) -> None:
        """Treat the buckets of the last degree that were left to the symmetries."""
        if self._pending is None:
            return
        new, is_standard = self._eliminate(self._pending, len(self.steps))
        self._standard = np.sort(np.concatenate([self._standard, self._pending.codes[is_standard]]))
        self._basis += self._new + new
        self._pending = None

    def _check_deadline(self) -> None:
        if time.monotonic() > self.deadline:
            raise OutOfTimeError

    def element(self, leading: int) -> ModularForm | None:
        """Return the basis element of the last degree with this leading monomial, by its code."""
        return next((form for form in self._new if int(form.codes[0]) == leading), None)

    # --- symmetry --------------------------------------------------------------------------------------

    def _choose(self, candidates: _Candidates) -> tuple[_Candidates, NDArray[np.int64], _Candidates]:
        """Return the buckets to treat, the sizes of their orbits, and the buckets that are images of them."""
        first = candidates.indices[candidates.starts]
        own = candidates.keys[candidates.starts]
        smallest = own.copy()
        for hashes in self._permuted_hashes[1:]:
            np.minimum(smallest, hashes[first].sum(axis=1, dtype=np.uint64), out=smallest)
        chosen = own == smallest
        images = np.array([hashes[first[chosen]].sum(axis=1, dtype=np.uint64) for hashes in self._permuted_hashes])
        images.sort(axis=0)
        orbit_sizes = 1 + (images[1:] != images[:-1]).sum(axis=0)
        return candidates.select(chosen), orbit_sizes, candidates.select(~chosen)

    def _images(self, form: ModularForm) -> tuple[int, ...]:
        """Return numbers of symmetries that map a form to the buckets of its orbit, each once."""
        leading = decode(form.codes[:1], self._n, form.degree)[0]
        keys = self._permuted_hashes[:, leading].sum(axis=1, dtype=np.uint64)
        _, numbers = np.unique(keys, return_index=True)
        return tuple(sorted(numbers.tolist()))

    # --- elimination -----------------------------------------------------------------------------------

    def _buckets(self, indices: NDArray[np.int64]) -> NDArray[np.uint64]:
        keys: NDArray[np.uint64] = self._hashes[indices].sum(axis=1, dtype=np.uint64)
        return keys

    def _point_values(self, count: int) -> NDArray[np.int64]:
        """Return the coordinates' values at the first so many random points, (m, count)."""
        missing = count - self._values.shape[1]
        if missing > 0:
            n = self.coordinates[0].ring.ngens
            missing = max(missing, 64)
            points = self._rng.integers(1, self.prime, (n, missing))
            more = np.array([self._evaluate(f, points) for f in self.coordinates])
            self._values = np.concatenate([self._values, more.reshape(self._n, missing)], axis=1)
        return self._values[:, :count]

    def _evaluate(self, f: PolyElement, points: NDArray[np.int64]) -> NDArray[np.int64]:
        total = np.zeros(points.shape[1], dtype=np.int64)
        for monomial, coefficient in f.items():
            number = to_fraction(coefficient)
            residue = number.numerator * pow(number.denominator, -1, self.prime) % self.prime
            term = np.full(points.shape[1], residue, dtype=np.int64)
            for i, e in enumerate(monomial):
                for _ in range(e):
                    term = term * points[i] % self.prime
            total = (total + term) % self.prime
        return total

    def _monomial_values(self, indices: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """Return the monomials' values at so many points, (monomials, count)."""
        values = self._point_values(count)
        product = values[indices[:, 0]]
        for column in range(1, indices.shape[1]):
            product = product * values[indices[:, column]] % self.prime
        return product

    def _eliminate(self, candidates: _Candidates, degree: int) -> tuple[list[ModularForm], NDArray[np.bool_]]:
        """Return the new elements of the reduced Gröbner basis, and which candidates are standard."""
        new: list[ModularForm] = []
        is_standard = np.ones(len(candidates.codes), dtype=bool)
        # A monomial alone in its multidegree is standard, since no coordinate is zero.
        several = candidates.sizes > 1
        for start, size in zip(candidates.starts[several].tolist(), candidates.sizes[several].tolist(), strict=True):
            self._check_deadline()
            codes = candidates.codes[start : start + size]
            matrix = self._monomial_values(candidates.indices[start : start + size], size + _SPARE_POINTS)
            for column, pivots, residues in self._dependent_columns(matrix):
                is_standard[start + column] = False
                new.append(
                    ModularForm(
                        degree,
                        np.concatenate([codes[[column]], codes[pivots]]),
                        np.concatenate([[1], -residues % self.prime]),
                    )
                )
        return new, is_standard

    def _dependent_columns(self, values: NDArray[np.int64]) -> list[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        """Return each column without a pivot, with the pivot columns it depends on and the coefficients."""
        size, points = values.shape
        matrix = flint.nmod_mat(points, size, values.T.ravel().tolist(), self.prime)
        reduced, rank = matrix.rref()
        if rank == size:
            return []
        pivots: list[int] = []
        for row in range(rank):
            column = pivots[-1] + 1 if pivots else 0
            while int(reduced[row, column]) == 0:
                column += 1
            pivots.append(column)
        pivot_columns = np.array(pivots, dtype=np.int64)
        found = []
        for column in sorted(set(range(size)) - set(pivots)):
            residues = np.array([int(reduced[row, column]) for row in range(rank)], dtype=np.int64)
            used = np.flatnonzero(residues)
            found.append((column, pivot_columns[used], residues[used]))
        return found

    # --- minimal generators ----------------------------------------------------------------------------

    def _minimal(self, new: list[ModularForm], degree: int) -> list[ModularForm]:
        """Return new elements that complete the multiples of lower ones to the ideal's part of this degree.

        An element of the ideal is determined by its coefficients at the leading monomials of the ideal, and the
        new elements have a single one there. For each old leading monomial one multiple of a lower element is
        chosen; functionals that vanish on these and are dual to the new elements then tell, by their values on
        all other multiples, what the multiples reach.
        """
        if not new or not self._basis:
            return new
        by_bucket: dict[int, list[ModularForm]] = {}
        leading = decode(np.array([form.codes[0] for form in new]), self._n, degree)
        for form, key in zip(new, self._buckets(leading).tolist(), strict=True):
            by_bucket.setdefault(key, []).append(form)
        multiples_ = self._multiples_in(degree, np.array(sorted(by_bucket), dtype=np.uint64))
        minimal: list[ModularForm] = []
        for key, forms in by_bucket.items():
            self._check_deadline()
            reached = _reached(multiples_[key], forms, self.prime) if key in multiples_ else set()
            minimal += [form for j, form in enumerate(forms) if j not in reached]
        return minimal

    def _multiples_in(self, degree: int, wanted: NDArray[np.uint64]) -> dict[int, list[_Multiples]]:
        """Return the multiples of the lower basis elements that lie in some multidegrees."""
        found: dict[int, list[_Multiples]] = {}
        factors = {d: all_monomials(self._n, degree - d) for d in {form.degree for form in self._basis}}
        factor_keys = {d: self._buckets(monomials) for d, monomials in factors.items()}
        for form in self._basis:
            terms = decode(form.codes, self._n, form.degree)
            keys = factor_keys[form.degree] + self._buckets(terms[:1])[0]
            fitting = np.flatnonzero(_contained_unsigned(keys, wanted))
            if not len(fitting):
                continue
            fitting = fitting[np.argsort(keys[fitting], kind="stable")]
            chosen, chosen_keys = factors[form.degree][fitting], keys[fitting]
            count, length = len(chosen), len(terms)
            products = np.concatenate([np.repeat(chosen, length, axis=0), np.tile(terms, (count, 1))], axis=1)
            products.sort(axis=1)
            codes = encode(products, self._n).reshape(count, length)
            starts = np.flatnonzero(np.concatenate([[True], chosen_keys[1:] != chosen_keys[:-1]]))
            for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), count], strict=True):
                multiples_ = _Multiples(codes[start:stop], form.residues)
                found.setdefault(int(chosen_keys[start]), []).append(multiples_)
        return found


@dataclass(frozen=True)
class _Multiples:
    """Multiples of one form by several monomials: their codes, one row each, and the form's residues."""

    codes: NDArray[np.int64]
    residues: NDArray[np.int64]


def _reached(multiples_: list[_Multiples], forms: list[ModularForm], prime: int) -> set[int]:
    """Return numbers of new forms that multiples of lower ones make superfluous, as many as they reach.

    The other forms and the multiples together span what all forms and the multiples span.
    """
    k = len(forms)
    chosen: dict[int, tuple[list[int], list[int]]] = {}
    for block in multiples_:
        for row in block.codes.tolist():
            if row[0] not in chosen:
                chosen[row[0]] = (row, block.residues.tolist())
    # Functionals dual to the new forms: on their leading monomials, then upwards (descending codes).
    values: dict[int, list[int]] = {int(form.codes[0]): [int(i == j) for i in range(k)] for j, form in enumerate(forms)}
    for leading in sorted(chosen, reverse=True):
        row, residues = chosen[leading]
        total = [0] * k
        for code, residue in zip(row[1:], residues[1:], strict=True):
            value = values.get(code)
            if value is not None:
                total = [t - residue * v for t, v in zip(total, value, strict=True)]
        values[leading] = [t % prime for t in total]
    codes = np.array(sorted(values), dtype=np.int64)
    table = np.array([values[code] for code in codes.tolist()], dtype=np.int64)
    span = flint.nmod_mat(0, k, prime)
    for block in multiples_:
        places = np.minimum(np.searchsorted(codes, block.codes), len(codes) - 1)
        weights = np.where(codes[places] == block.codes, block.residues, 0)
        images = (weights[:, :, None] * table[places] % prime).sum(axis=1) % prime
        images = images[images.any(axis=1)]
        if len(images):
            rows = np.unique(images, axis=0)
            stacked = span.table() + rows.tolist()
            span, rank = flint.nmod_mat([[int(x) for x in r] for r in stacked], prime).rref()
            span = flint.nmod_mat([[int(x) for x in r] for r in span.table()[:rank]], prime)
            if rank == k:
                break
    pivots = set()
    for r in span.table():
        pivots.add(next(j for j, x in enumerate(r) if int(x)))
    return pivots


def _contained_unsigned(keys: NDArray[np.uint64], sorted_keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    places = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    found: NDArray[np.bool_] = sorted_keys[places] == keys
    return found
