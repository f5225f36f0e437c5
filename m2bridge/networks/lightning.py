"""One layer of lightning self-attention: phi(X) = V X X^T A X with A = K^T Q, and all that is known of it.

Source: Henry, Marchetti, Kohn, *Geometry of Lightning Self-Attention: Identifiability and Dimension*,
arXiv:2408.17221. Where a published statement fails in an edge case, the docstring says so.

For t >= 2 the function is the d' x d matrix of quadrics v(y) a(y)^T, with v(y) = V y and a(y) = A^T y, so its
closure is the image of (linear forms)^d' x (d x d matrices of rank <= a). For t = 1 it is v(y) (y^T A y).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations
from math import comb, prod
from typing import Literal

from sympy import QQ
from sympy.polys.domains.domain import Domain
from sympy.polys.rings import PolyElement, PolyRing

from m2bridge.errors import ModelError
from m2bridge.parametrization import Parametrization, VectorField
from m2bridge.polynomials import make_ring

Weights = Literal["QKV", "AV"]
Matrix = list[list[PolyElement]]


def require_sizes(**sizes: object) -> None:
    """Refuse sizes that are not positive integers.

    Raises
    ------
    ModelError
        Naming the first such size.
    """
    for name, size in sizes.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ModelError(f"{name} must be a positive integer, not {size!r}")


@dataclass(frozen=True, order=True)
class Orbit:
    """An orbit of weights (A, V) under the symmetries GL(d) x GL(d') x GL(d) and rescaling, for t >= 2.

    Attributes
    ----------
    rank_A, rank_V
        Ranks of A and V.
    intersection
        Dimension of (column space of A) meet (row space of V).
    """

    rank_A: int
    rank_V: int
    intersection: int

    @property
    def is_zero(self) -> bool:
        """Whether the function is zero there."""
        return not (self.rank_A and self.rank_V)

    @property
    def published_singular(self) -> bool:
        """What the published statement says: singular exactly where rk(A) rk(V) <= 1.

        It fails for d = 1, for a = d' = 1, for 1 < a < d, and for t = 1.
        """
        return self.rank_A * self.rank_V <= 1

    def __str__(self) -> str:
        return f"({self.rank_A},{self.rank_V},{self.intersection})"


@dataclass(frozen=True)
class LightningAttention:
    """A single lightning self-attention layer.

    Attributes
    ----------
    d
        Embedding dimension: X is d x t, Q and K are a x d.
    d_out
        Output dimension d': V is d' x d.
    a
        Attention dimension: A = K^T Q has rank at most a.
    t
        Number of tokens (columns of X).
    """

    d: int
    d_out: int
    a: int
    t: int

    def __post_init__(self) -> None:
        require_sizes(d=self.d, d_out=self.d_out, a=self.a, t=self.t)

    def __str__(self) -> str:
        return f"lightning self-attention d={self.d}, d'={self.d_out}, a={self.a}, t={self.t}"

    # --- closed formulas -----------------------------------------------------------------------------------

    @property
    def n_parameters(self) -> int:
        """Number of entries of Q, K and V: 2ad + dd'."""
        return 2 * self.a * self.d + self.d * self.d_out

    @property
    def n_monomial_coefficients(self) -> int:
        """Number of coefficients of the output's monomials, repeated ones counted."""
        d, t = self.d, self.t
        if t == 1:
            return self.d_out * comb(d + 2, 3)
        return self.d_out * t * ((t - 1) * d * comb(d + 1, 2) + comb(d + 2, 3))

    @property
    def n_coordinates(self) -> int:
        """Number of distinct coefficients."""
        d = self.d
        own = comb(d + 2, 3)
        return self.d_out * (own if self.t == 1 else d * comb(d + 1, 2) + own - d)

    @property
    def n_independent_coordinates(self) -> int:
        """Number of linearly independent coefficients."""
        return self.d_out * (comb(self.d + 2, 3) if self.t == 1 else self.d * comb(self.d + 1, 2))

    @property
    def dimension(self) -> int:
        """Dimension of the neurovariety as a cone.

        For t >= 2: Corollary 3.3 of the paper. For t = 1 only the symmetric part of A is seen, of rank at most
        r = min(2a, d), and the published formula does not apply.
        """
        d, a = self.d, min(self.a, self.d)
        attention = 2 * a * d - a * a
        if self.t == 1:
            r = min(2 * self.a, d)
            attention = r * d - r * (r - 1) // 2
        return attention + d * self.d_out - 1

    @property
    def map_degree(self) -> int:
        """Number of points (A, V) modulo rescaling (for t = 1: (sym A, V)) in a generic fibre.

        1, except for products of linear forms: 2 if a = d' = 1 < d and t >= 2; 3 if d' = 1, min(2a, d) = 2
        and t = 1.
        """
        if self.t == 1:
            return 3 if self.d_out == 1 and min(2 * self.a, self.d) == 2 else 1
        return 2 if self.a == self.d_out == 1 < self.d else 1

    @property
    def degree(self) -> int:
        """Degree of the neurovariety: C(D - 1, dd' - 1) deg(Det) / e, with D the dimension and e the map degree.

        Det is the variety of d x d matrices of rank <= a, for t = 1 of symmetric ones of rank <= min(2a, d);
        the map from P(V) x P(Det) is finite and given by a base-point-free system of bidegree (1, 1).
        """
        d = self.d
        if self.t == 1:
            r = min(2 * self.a, d)
            determinantal = Fraction(
                prod(comb(d + i, d - r - i) for i in range(d - r)),
                prod(comb(2 * i + 1, i) for i in range(d - r)),
            )
        else:
            a = min(self.a, d)
            determinantal = Fraction(
                prod(comb(d + i, a) for i in range(d - a)), prod(comb(a + i, a) for i in range(d - a))
            )
        degree = comb(self.dimension - 1, d * self.d_out - 1) * determinantal / self.map_degree
        if degree.denominator != 1:
            raise ArithmeticError(f"the degree formula gave {degree} for {self}")
        return int(degree)

    def is_singular(self, orbit: Orbit) -> bool | None:
        """Say whether the neurovariety is singular at an orbit: the corrected statement, for t >= 2.

        For d >= 2 and not a = d' = 1: singular iff rk(A) rk(V) <= 1, or a < d and rk A < a. For d = 1 smooth. For
        a = d' = 1 < d singular iff the function is zero or (d >= 3) A and V share their line. For t = 1 it is
        not established for d >= 3, and None is returned.
        """
        if self.t == 1:
            return None
        if self.d == 1:
            return False
        if self.a == 1 and self.d_out == 1:
            return orbit.is_zero or (self.d >= 3 and orbit.intersection == 1)
        return orbit.published_singular or (self.a < self.d and orbit.rank_A < self.a)

    # --- the parametrization -------------------------------------------------------------------------------

    def parametrization(self, weights: Weights = "QKV", field: Domain = QQ) -> Parametrization:
        """Return the map from weights to the distinct coefficients of the layer's output.

        Parameters
        ----------
        weights
            ``"QKV"``: entries of Q (a x d), K (a x d), V (d' x d), row by row, in this order. ``"AV"``: entries of A
            (d x d) and V; for a < d with the (a+1)-minors of A as relations.
        field
            QQ or GF(p).

        Notes
        -----
        For output row i and t >= 2 the coordinates are first those of x_ps x_qs x_mr with columns s != r, named
        ``y{i}{p}{q}{m}`` (p <= q): V_ip A_qm + V_iq A_pm, or V_ip A_pm for p = q; then those of x_pr x_qr x_mr,
        named ``z{i}{p}{q}{m}`` (p <= q <= m, not all equal, since those repeat earlier ones). For t = 1 only the
        latter exist, with p = q = m as well.
        """
        if weights == "QKV":
            parametrization = self._map(self._native_ring(field), "Q, K, V", vector_fields=True)
            return replace(parametrization, cheaper=self._eliminated(field))
        ring = self._ring(field, A=(self.d, self.d), V=(self.d_out, self.d))
        parametrization = self._map(ring, "A, V", vector_fields=True)
        minors = tuple(_minors(_entries(ring, "A", self.d, self.d), self.a + 1)) if self.a < self.d else ()
        return replace(parametrization, relations=minors, cheaper=self._eliminated(field))

    def _eliminated(self, field: Domain) -> Parametrization:
        """The cheapest form for elimination: A free where a >= d, else A = [B; C B], dense in rank <= a."""
        d, a = self.d, self.a
        if a >= d:
            return self._map(self._ring(field, A=(d, d), V=(self.d_out, d)), "A, V")
        ring = self._ring(field, B=(a, d), C=(d - a, a), V=(self.d_out, d))
        # A and V have degree 1 in their first a rows and columns, 2 in the others: then the map is homogeneous.
        degrees = [1] * (a * d + (d - a) * a) + [1 if p < a else 2 for _ in range(self.d_out) for p in range(d)]
        return replace(self._map(ring, "A = [B; C B], V"), parameter_degrees=tuple(degrees))

    def _native_ring(self, field: Domain) -> PolyRing:
        return self._ring(field, Q=(self.a, self.d), K=(self.a, self.d), V=(self.d_out, self.d))

    def _ring(self, field: Domain, **shapes: tuple[int, int]) -> PolyRing:
        names = [
            name_entry(letter, row, column)
            for letter, (rows, columns) in shapes.items()
            for row in range(rows)
            for column in range(columns)
        ]
        return make_ring(names, field)

    def _map(self, ring: PolyRing, letters: str, *, vector_fields: bool = False) -> Parametrization:
        d = self.d
        V = _entries(ring, "V", self.d_out, d)
        if "Q" in letters:
            Q, K = _entries(ring, "Q", self.a, d), _entries(ring, "K", self.a, d)
            A = _product(_transpose(K), Q, ring)
        elif "B" in letters:
            B, C = _entries(ring, "B", self.a, d), _entries(ring, "C", d - self.a, self.a)
            A = B + _product(C, B, ring)
        else:
            A = _entries(ring, "A", d, d)
        names, coordinates = [], []
        for i in range(self.d_out):
            for label, coordinate in self._row(V[i], A, ring):
                names.append(name_entry(label[0], i, *label[1]))
                coordinates.append(coordinate)
        return Parametrization(
            ring=ring,
            coordinates=tuple(coordinates),
            coordinate_names=tuple(names),
            title=f"{self} in {letters}",
            vector_fields=tuple(self._vector_fields(ring, letters)) if vector_fields else (),
            expected_dimension=self.dimension,
        )

    def _row(
        self, v: list[PolyElement], A: Matrix, ring: PolyRing
    ) -> Iterator[tuple[tuple[str, tuple[int, int, int]], PolyElement]]:
        """Yield label and value of each distinct coefficient of one output row."""
        d = self.d
        if self.t >= 2:
            for p in range(d):
                for q in range(p, d):
                    for m in range(d):
                        value = v[p] * A[p][m] if p == q else v[p] * A[q][m] + v[q] * A[p][m]
                        yield ("y", (p, q, m)), value
        for triple in combinations_with_replacement(range(d), 3):
            if self.t >= 2 and len(set(triple)) == 1:
                continue  # equal to the coefficient y_{i,pp,p}
            value = ring.zero
            for u, w, x in sorted(set(permutations(triple))):
                value = value + v[u] * A[w][x]
            yield ("z", triple), value

    # --- symmetries ----------------------------------------------------------------------------------------

    def _vector_fields(self, ring: PolyRing, letters: str) -> Iterator[VectorField]:
        """Yield vector fields along which the map is constant: rescaling, and GL(a) on (Q, K).

        For t = 1 the quadratic form y^T K^T Q y is fixed by the orthogonal group of 2a linear forms that contains
        GL(a); in (A, V) with a >= d, a skew matrix may be added to A.
        """
        d, a = self.d, self.a
        index = {str(symbol): i for i, symbol in enumerate(ring.symbols)}

        def field(components: dict[str, PolyElement]) -> VectorField:
            vector = [ring.zero] * ring.ngens
            for name, component in components.items():
                vector[index[name]] = component
            return tuple(vector)

        def rows(letter: str, target: int, source: str, row: int, sign: int) -> dict[str, PolyElement]:
            """Component of the field that adds (sign times) a row of one matrix to a row of another."""
            return {
                name_entry(letter, target, m): sign * ring.gens[index[name_entry(source, row, m)]] for m in range(d)
            }

        scaled = "Q" if "Q" in letters else "A"
        scaling: dict[str, PolyElement] = {}
        for name, i in index.items():
            if name[0] == scaled:
                scaling[name] = ring.gens[i]
            elif name[0] == "V":
                scaling[name] = -ring.gens[i]
        yield field(scaling)
        if scaled == "Q":
            for i in range(a):
                for j in range(a):
                    yield field(rows("Q", i, "Q", j, 1) | rows("K", j, "K", i, -1))
            if self.t == 1:
                for i in range(a):
                    for j in range(i):
                        yield field(rows("Q", i, "K", j, 1) | rows("Q", j, "K", i, -1))
                        yield field(rows("K", i, "Q", j, 1) | rows("K", j, "Q", i, -1))
        elif self.t == 1:
            for p in range(d):
                for q in range(p):
                    yield field({name_entry("A", p, q): ring.one, name_entry("A", q, p): -ring.one})

    def orbits(self) -> list[Orbit]:
        """Return the orbits of (A, V) up to rescaling: the zero function first, as ``(0, 0, 0)``, then the others.

        One representative of each decides every statement that is invariant under the symmetries (t >= 2).
        """
        orbits = [Orbit(0, 0, 0)]
        for i in range(1, min(self.a, self.d) + 1):
            for j in range(1, min(self.d_out, self.d) + 1):
                orbits.extend(Orbit(i, j, s) for s in range(max(0, i + j - self.d), min(i, j) + 1))
        return orbits

    def random_weights(self, seed: int = 0) -> tuple[Fraction, ...]:
        """Return generic weights (A, V), in this order: A = K^T Q and V from random integers K, Q, V."""
        rng = random.Random(seed)  # noqa: S311 - random points, not secrets
        entries = [rng.choice((-1, 1)) * rng.randint(1, 99) for _ in range(self.n_parameters)]
        d, a = self.d, self.a
        Q, K = ([entries[s + k * d : s + (k + 1) * d] for k in range(a)] for s in (0, a * d))
        A = [sum(K[k][p] * Q[k][q] for k in range(a)) for p in range(d) for q in range(d)]
        return tuple(Fraction(x) for x in A + entries[2 * a * d :])

    def representative(self, orbit: Orbit, weights: Weights = "QKV") -> tuple[Fraction, ...]:
        """Return integer weights in an orbit, in the order of `parametrization`.

        A = diag(1, …, 1, 0, …), from Q = K = its first rows; V has ones at (k, i - s + k).

        Raises
        ------
        ModelError
            If the layer has no such orbit.
        """
        i, j, s = orbit.rank_A, orbit.rank_V, orbit.intersection
        d = self.d
        if not (0 <= i <= min(self.a, d) and 0 <= j <= min(self.d_out, d) and max(0, i + j - d) <= s <= min(i, j)):
            raise ModelError(f"{self} has no orbit (rk A, rk V, intersection) = {orbit}")
        V = [[int(k < j and p == i - s + k) for p in range(d)] for k in range(self.d_out)]
        if weights == "QKV":
            Q = [[int(k == p < i) for p in range(d)] for k in range(self.a)]
            blocks = [Q, Q, V]
        else:
            blocks = [[[int(p == q < i) for q in range(d)] for p in range(d)], V]
        return tuple(Fraction(x) for block in blocks for row in block for x in row)


def name_entry(letter: str, *indices: int) -> str:
    """Return the name of a matrix entry, indices from 1: ``Q12``; with a separator above 9, ``Q[1,12]``."""
    numbers = [index + 1 for index in indices]
    if max(numbers) <= 9:
        return letter + "".join(map(str, numbers))
    return f"{letter}[{','.join(map(str, numbers))}]"


def _entries(ring: PolyRing, letter: str, rows: int, columns: int) -> Matrix:
    variables = {str(symbol): x for symbol, x in zip(ring.symbols, ring.gens, strict=True)}
    return [[variables[name_entry(letter, i, j)] for j in range(columns)] for i in range(rows)]


def _transpose(matrix: Matrix) -> Matrix:
    return [list(column) for column in zip(*matrix, strict=True)]


def _product(left: Matrix, right: Matrix, ring: PolyRing) -> Matrix:
    return [
        [sum((x * y for x, y in zip(row, column, strict=True)), ring.zero) for column in zip(*right, strict=True)]
        for row in left
    ]


def _minors(matrix: Matrix, size: int) -> Iterator[PolyElement]:
    """Yield the size x size minors, by expansion along the first row."""
    n = len(matrix)
    for rows in combinations(range(n), size):
        for columns in combinations(range(n), size):
            yield _determinant([[matrix[i][j] for j in columns] for i in rows])


def _determinant(matrix: Matrix) -> PolyElement:
    if len(matrix) == 1:
        return matrix[0][0]
    total = matrix[0][0].ring.zero
    for j, entry in enumerate(matrix[0]):
        rest = [row[:j] + row[j + 1 :] for row in matrix[1:]]
        total = total + (entry if j % 2 == 0 else -entry) * _determinant(rest)
    return total
