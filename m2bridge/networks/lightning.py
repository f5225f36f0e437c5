"""One layer of lightning self-attention: phi(X) = V X X^T A X with A = K^T Q, and all that is known of it.

Source: Henry, Marchetti, Kohn, *Geometry of Lightning Self-Attention: Identifiability and Dimension*,
arXiv:2408.17221. Where a published statement fails in an edge case, the docstring says so.

For t >= 2 the function is the d' x d matrix of quadrics v(y) a(y)^T, with v(y) = V y and a(y) = A^T y, so its
closure is the image of (linear forms)^d' x (d x d matrices of rank <= a). For t = 1 it is v(y) (y^T A y).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations, combinations_with_replacement, permutations
from math import comb, prod
from typing import Any, Literal

from sympy import QQ
from sympy.polys.domains.domain import Domain
from sympy.polys.matrices import DomainMatrix
from sympy.polys.rings import PolyElement, PolyRing

from m2bridge.errors import ModelError
from m2bridge.exact import jacobian_at, matrix_rank
from m2bridge.parametrization import Chart, Parametrization, Symmetry, VectorField
from m2bridge.polynomials import make_ring

Weights = Literal["QKV", "AV"]
Matrix = list[list[PolyElement]]
Coordinates = Callable[[int, int, int, int], PolyElement]


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
            parametrization = self._map(self._native_ring(field), "Q, K, V", with_structure=True)
            return replace(parametrization, cheaper=self._eliminated(field))
        ring = self._ring(field, A=(self.d, self.d), V=(self.d_out, self.d))
        parametrization = self._map(ring, "A, V", with_structure=True)
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

    def _map(self, ring: PolyRing, letters: str, *, with_structure: bool = False) -> Parametrization:
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
            vector_fields=tuple(self._vector_fields(ring, letters)) if with_structure else (),
            symmetries=tuple(self._coordinate_symmetries(ring, names, letters)) if with_structure else (),
            expected_dimension=self.dimension,
            make_chart=partial(self._chart, make_ring(names, ring.domain)) if with_structure else None,
            make_section=partial(self._section, make_ring(names, ring.domain)) if letters == "Q, K, V" else None,
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

    # --- a rational inverse -----------------------------------------------------------------------------

    def _chart(self, coordinate_ring: PolyRing) -> Chart | None:
        """Return a rational inverse of (A, V) -> coordinates, for t >= 2 and d >= 2; see docs/completeness.md.

        Rows and columns are counted from 0; b = d - 1 is the base index. For a = 1 the function is a tuple of quadrics
        v_i c, times one linear form: then the inverse goes to pairs of such, and the quadrics are a map of their own.
        """
        d, b = self.d, self.d - 1
        if self.t == 1 or d == 1:
            return None
        y = _named_coordinates(coordinate_ring)
        if self.a > 1:
            domain = "d x d matrices A of rank <= a, times d' x d matrices V with one entry 1"
            chart = self._chart_of_two_rows(y, range(d)) if self.d_out > 1 else self._chart_of_one_row(y)
            return replace(chart, domain=domain)
        last = self.d_out - 1
        h = y(last, b, b, b)
        identities = [
            y(i, p, q, m) * h - y(i, p, q, b) * y(last, b, b, m)
            for i in range(self.d_out)
            for p in range(d)
            for q in range(p, d)
            for m in range(b)
        ]
        if self.d_out > 1:
            domain = "tuples of quadrics with a common linear factor, times linear forms"
            return Chart((h,), tuple(identities), domain, self._quadrics_with_common_factor(coordinate_ring.domain))
        quadric = [[y(0, p, q, b) * (2 if p == q else 1) for q in range(d)] for p in range(d)]
        identities += _minors(quadric, 3) if d >= 3 else []
        return Chart((h,), tuple(identities), "symmetric d x d matrices of rank <= 2, times linear forms")

    def _chart_of_one_row(self, y: Coordinates) -> Chart:
        """Return the inverse for d' = 1, a >= 2: V has last entry 1."""
        d, b, c = self.d, self.d - 1, self.d - 2
        others = range(b)
        delta = [y(0, q, b, b) * y(0, b, b, c) - y(0, q, b, c) * y(0, b, b, b) for q in others]
        v = [y(0, q, q, b) * y(0, b, b, c) - y(0, q, q, c) * y(0, b, b, b) for q in others]
        A = [[y(0, q, b, m) * delta[q] - v[q] * y(0, b, b, m) for m in range(d)] for q in others]
        identities = []
        for m in range(d):
            for q in others:
                identities.append(y(0, q, q, m) * delta[q] ** 2 - v[q] * A[q][m])
                identities += [y(0, q, r, m) * delta[q] * delta[r] - v[q] * A[r][m] - v[r] * A[q][m] for r in range(q)]
        identities += self._rank_conditions([*A, [y(0, b, b, m) for m in range(d)]])
        return Chart((delta[0],), tuple(f for f in identities if f), "")

    def _chart_of_two_rows(self, y: Coordinates, columns: Sequence[int]) -> Chart:
        """Return the inverse for d' >= 2 from its first and last row, on some columns, the last one included."""
        d, b, last = self.d, self.d - 1, self.d_out - 1
        others = range(b)
        h = y(last, b, b, b)
        E = [h * y(0, q, b, b) - y(0, b, b, b) * y(last, q, b, b) for q in others]
        A = [{m: h * y(0, q, q, m) - y(0, b, b, b) * y(last, q, q, m) for m in columns} for q in others]
        V = [[y(i, q, b, b) * E[q] - y(i, b, b, b) * A[q][b] for q in others] for i in range(self.d_out)]
        identities = []
        for i in range(self.d_out):
            for m in columns:
                base = y(last, b, b, m)
                identities.append(y(i, b, b, m) * h - y(i, b, b, b) * base)
                for q in others:
                    identities.append(y(i, q, b, m) * h * E[q] - V[i][q] * base - y(i, b, b, b) * h * A[q][m])
                    identities.append(y(i, q, q, m) * E[q] ** 2 - V[i][q] * A[q][m])
                    identities += [
                        y(i, q, r, m) * E[q] * E[r] - V[i][q] * A[r][m] - V[i][r] * A[q][m] for r in range(q)
                    ]
        if len(columns) == d:
            rows = [[A[q][m] for m in columns] for q in others]
            identities += self._rank_conditions([*rows, [y(last, b, b, m) for m in columns]])
        return Chart((h, E[0]), tuple(f for f in identities if f), "")

    def _section(self, coordinate_ring: PolyRing) -> list[Any] | None:
        """Return weights (Q, K, V) as rational functions of the coordinates: a section of the map, where there is one.

        For t >= 2 and d, and a or d', at least 2 (for a = d' = 1 the generic fibre has two components). The formulas
        are in docs/completeness.md, section 5; V has one entry 1, K^T are the last columns of A, or A itself.

        Returns
        -------
        Elements of the fraction field of the coordinate ring, in the order of `parametrization`, or None.
        """
        d, b, last = self.d, self.d - 1, self.d_out - 1
        if self.t == 1 or d == 1 or self.a == self.d_out == 1:
            return None
        field = coordinate_ring.to_field()
        names = _named_coordinates(coordinate_ring)

        def y(i: int, p: int, q: int, m: int) -> Any:
            return field(names(i, p, q, m))

        h = y(last, b, b, b)
        others = range(b)
        if last:
            E = [h * y(0, q, b, b) - y(0, b, b, b) * y(last, q, b, b) for q in others]
            F = [[h * y(0, q, q, m) - y(0, b, b, b) * y(last, q, q, m) for m in range(d)] for q in others]
            A = [[h * F[q][m] / E[q] for m in range(d)] for q in others]
            V = [
                [(y(i, q, b, b) * E[q] - y(i, b, b, b) * F[q][b]) / (h * E[q]) for q in others] + [y(i, b, b, b) / h]
                for i in range(self.d_out)
            ]
        else:
            c = b - 1
            delta = [y(0, q, b, b) * y(0, b, b, c) - y(0, q, b, c) * h for q in others]
            row = [(y(0, q, q, b) * y(0, b, b, c) - y(0, q, q, c) * h) / delta[q] for q in others]
            A = [[y(0, q, b, m) - row[q] * y(0, b, b, m) for m in range(d)] for q in others]
            V = [[*row, field.one]]
        A.append([y(last, b, b, m) for m in range(d)])
        a = min(self.a, d)
        # A = A_C (A_CC)^(-1) A_C', C the last a indices, if its rank is a.
        chosen = list(range(d - a, d))
        square = DomainMatrix([[A[p][q] for q in chosen] for p in chosen], (a, a), field.to_domain())
        rows = DomainMatrix([A[p] for p in chosen], (a, d), field.to_domain())
        Q = square.inv().matmul(rows).to_list()
        K = [[A[p][q] for p in range(d)] for q in chosen]
        spare = [[field.zero] * d for _ in range(self.a - a)]
        return [x for line in (*Q, *spare, *K, *spare, *V) for x in line]

    def _quadrics_with_common_factor(self, field: Domain) -> Parametrization:
        """Return the map (V, c) -> the coefficients of the quadrics v_i c, named as the last column's coordinates."""
        d, b = self.d, self.d - 1
        ring = self._ring(field, V=(self.d_out, d), c=(d, 1))
        V, c = _entries(ring, "V", self.d_out, d), _entries(ring, "c", d, 1)
        labels = [(i, p, q) for i in range(self.d_out) for p in range(d) for q in range(p, d)]
        names = [name_entry("y", i, p, q, b) for i, p, q in labels]
        scaling = [x if str(name).startswith("c") else -x for name, x in zip(ring.symbols, ring.gens, strict=True)]
        place = {label: number for number, label in enumerate(labels)}
        entry = {str(symbol): number for number, symbol in enumerate(ring.symbols)}

        def symmetry(row: dict[int, int], column: dict[int, int]) -> Symmetry:
            moved = {
                entry[name_entry("V", i, p)]: entry[name_entry("V", row.get(i, i), column.get(p, p))]
                for i in range(self.d_out)
                for p in range(d)
            }
            moved |= {entry[name_entry("c", p, 0)]: entry[name_entry("c", column.get(p, p), 0)] for p in range(d)}
            permuted = {
                number: place[(row.get(i, i), *_sorted_pair(column.get(p, p), column.get(q, q)))]
                for (i, p, q), number in place.items()
            }
            return Symmetry(permuted, moved)

        coordinate_ring = make_ring(names, field)
        return Parametrization(
            ring=ring,
            coordinates=tuple(
                V[i][p] * c[p][0] if p == q else V[i][p] * c[q][0] + V[i][q] * c[p][0] for i, p, q in labels
            ),
            coordinate_names=tuple(names),
            title=f"{self.d_out} quadrics in {d} variables with a common linear factor",
            vector_fields=(tuple(scaling),),
            symmetries=(
                *(symmetry({i: i + 1, i + 1: i}, {}) for i in range(self.d_out - 1)),
                *(symmetry({}, {p: p + 1, p + 1: p}) for p in range(d - 1)),
            ),
            expected_dimension=d * self.d_out + d - 1,
            make_chart=partial(self._chart_of_quadrics, coordinate_ring),
        )

    def _chart_of_quadrics(self, coordinate_ring: PolyRing) -> Chart:
        chart = self._chart_of_two_rows(_named_coordinates(coordinate_ring), [self.d - 1])
        return replace(chart, domain="vectors c, times d' x d matrices V with one entry 1")

    def _rank_conditions(self, rows: Matrix) -> list[PolyElement]:
        return list(_minors(rows, self.a + 1)) if self.a < self.d else []

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

    def _coordinate_symmetries(self, ring: PolyRing, names: Sequence[str], letters: str) -> Iterator[Symmetry]:
        """Yield transpositions of neighbouring rows of V, columns of V and K, columns of Q (with A = K^T Q).

        For t >= 2 the coordinates ``y`` are permuted; for t = 1, all columns at once, all coordinates.
        """
        parameters = {str(symbol): j for j, symbol in enumerate(ring.symbols)}
        coordinates = {name: i for i, name in enumerate(names)}

        def symmetry(row: dict[int, int], left: dict[int, int], right: dict[int, int]) -> Symmetry:
            moved: dict[int, int] = {}
            for i in range(self.d_out):
                for p in range(self.d):
                    moved[parameters[name_entry("V", i, p)]] = parameters[
                        name_entry("V", row.get(i, i), left.get(p, p))
                    ]
            for letter, first, second in (("Q", {}, right), ("K", {}, left), ("A", left, right)):
                if letter not in letters:
                    continue
                for p in range(self.d if letter == "A" else self.a):
                    for q in range(self.d):
                        source = parameters[name_entry(letter, p, q)]
                        moved[source] = parameters[name_entry(letter, first.get(p, p), second.get(q, q))]
            permuted: dict[int, int] = {}
            for i in range(self.d_out):
                if self.t >= 2:
                    labels = [(p, q, m) for p in range(self.d) for q in range(p, self.d) for m in range(self.d)]
                else:
                    labels = list(combinations_with_replacement(range(self.d), 3))
                for p, q, m in labels:
                    pair = sorted((left.get(p, p), left.get(q, q)))
                    image = [*pair, right.get(m, m)] if self.t >= 2 else sorted([*pair, left.get(m, m)])
                    letter = "y" if self.t >= 2 else "z"
                    source = coordinates[name_entry(letter, i, p, q, m)]
                    permuted[source] = coordinates[name_entry(letter, row.get(i, i), *image)]
            return Symmetry(permuted, moved)

        for i in range(self.d_out - 1):
            yield symmetry({i: i + 1, i + 1: i}, {}, {})
        for p in range(self.d - 1):
            swap = {p: p + 1, p + 1: p}
            if self.t == 1:
                yield symmetry({}, swap, swap)
            else:
                yield symmetry({}, swap, {})
                yield symmetry({}, {}, swap)

    def orbits(self) -> list[Orbit]:
        """Return the orbits of (A, V) up to rescaling: the zero function first, as ``(0, 0, 0)``, then the others.

        One representative of each decides every statement that is invariant under the symmetries (t >= 2).
        """
        orbits = [Orbit(0, 0, 0)]
        for i in range(1, min(self.a, self.d) + 1):
            for j in range(1, min(self.d_out, self.d) + 1):
                orbits.extend(Orbit(i, j, s) for s in range(max(0, i + j - self.d), min(i, j) + 1))
        return orbits

    def orbit_dimension(self, orbit: Orbit) -> int:
        """Return the dimension of the image of an orbit, for t >= 2: its fibres are curves, away from zero."""
        if orbit.is_zero:
            return 0
        i, j, s, d = orbit.rank_A, orbit.rank_V, orbit.intersection, self.d
        return 2 * d * i - i * i + j * (d + self.d_out - j) - s * (d - i - j + s) - 1

    def tangent_lower_bound(self, orbit: Orbit) -> int:
        """Return a proved lower bound for the tangent dimension of the neurovariety at an orbit, without equations.

        For t >= 2. At zero it is the number of independent coordinates, since the neurovariety is a cone that spans
        its space. Elsewhere it is the rank of the differential of (A, V) -> coordinates on all V' and on all A' in the
        span of the tangent cone of {rk A <= a} (all matrices, if rk A < a); for rk A = rk V = 1 the differential at
        the other preimage (m w^T, u l^T) -> (l w^T, u m^T) is added. Exact ranks of integer matrices. Tangent
        dimensions only grow under specialization, so orbits of the same ranks with smaller intersection count, too.

        Raises
        ------
        ModelError
            If the layer has no such orbit.
        """
        if orbit.is_zero:
            return self.n_independent_coordinates
        least = max(0, orbit.rank_A + orbit.rank_V - self.d)
        return max(
            self._tangent_span(Orbit(orbit.rank_A, orbit.rank_V, s)) for s in range(least, orbit.intersection + 1)
        )

    def _tangent_span(self, orbit: Orbit) -> int:
        d = self.d
        map_ = self._map(self._ring(QQ, A=(d, d), V=(self.d_out, d)), "A, V")
        weights = self.representative(orbit, "AV")
        A = [list(weights[p * d : (p + 1) * d]) for p in range(d)]
        V = [list(weights[d * d + i * d : d * d + (i + 1) * d]) for i in range(self.d_out)]
        preimages = [(A, V)]
        if orbit.rank_A == orbit.rank_V == 1:
            # The representative is A = e_1 e_1^T and V = e_1 l^T.
            line = V[0]
            swapped_A = [[line[p] * A[0][m] for m in range(d)] for p in range(d)]
            swapped_V = [
                [V[i][next(p for p in range(d) if line[p])] * Fraction(p == 0) for p in range(d)]
                for i in range(self.d_out)
            ]
            preimages.append((swapped_A, swapped_V))
        columns: list[list[Any]] = []
        for at_A, at_V in preimages:
            values = [x for row in (*at_A, *at_V) for x in row]
            jacobian = jacobian_at(map_, values)
            for p, m in ((p, m) for p in range(d) for m in range(d)):
                # On the tangent space of {rk A <= a} at a matrix of rank a, ker A goes to the image of A.
                in_image = any(at_A[p]) if orbit.rank_A < d else True
                in_coimage = any(row[m] for row in at_A)
                if orbit.rank_A < self.a or self.a >= d or in_image or in_coimage:
                    columns.append([row[p * d + m] for row in jacobian])
            columns += [[row[d * d + j] for row in jacobian] for j in range(self.d_out * d)]
        return matrix_rank(columns, QQ)

    def further_preimages(self, weights: Sequence[Fraction | int]) -> list[list[Fraction]]:
        """Return weights (Q, K, V) of the same function from which the neurovariety can be left in other directions.

        For t >= 2. Where rk A < a, a row of Q and K can be spared, Q_r = 0 and K_r any unit vector: there a derivative
        by Q_r adds any matrix of rank 1 to A. Where rk A = rk V = 1, (m w^T, u l^T) and (l w^T, u m^T) give the same
        function.

        Parameters
        ----------
        weights
            Q, K, V in the order of `parametrization`.
        """
        d, a = self.d, self.a
        rows = [list(map(Fraction, weights[k * d : (k + 1) * d])) for k in range(2 * a + self.d_out)]
        Q, K, V = rows[:a], rows[a : 2 * a], rows[2 * a :]
        A = [[sum((K[k][p] * Q[k][q] for k in range(a)), Fraction(0)) for q in range(d)] for p in range(d)]
        left, right = rank_factors(A)
        found = []

        def add(
            left: list[list[Fraction]], right: list[list[Fraction]], V: list[list[Fraction]], spare: int | None
        ) -> None:
            zero = [[Fraction(0)] * d for _ in range(a - len(left))]
            K_rows, Q_rows = [*left, *(list(row) for row in zero)], [*right, *(list(row) for row in zero)]
            if spare is not None:
                K_rows[-1][spare] = Fraction(1)
            found.append([x for row in (*Q_rows, *K_rows, *V) for x in row])

        if self.t < 2:
            return found
        forms = [(left, right, V)]
        V_left, V_right = rank_factors(V)
        if len(left) == len(V_left) == 1:
            swapped = [[u * m for m in left[0]] for u in V_left[0]]
            forms.append(([V_right[0]], right, swapped))
        for form in forms:
            for spare in range(d) if len(left) < a else (None,):
                add(*form, spare)
        return found

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


def rank_factors(matrix: list[list[Fraction]]) -> tuple[list[list[Fraction]], list[list[Fraction]]]:
    """Return (columns, rows), r = rank of each, such that the matrix is the sum of columns[k] rows[k]^T."""
    rest = [list(row) for row in matrix]
    columns, rows = [], []
    while (place := next(((p, q) for p, row in enumerate(rest) for q, x in enumerate(row) if x), None)) is not None:
        p, q = place
        row = list(rest[p])
        column = [line[q] / row[q] for line in rest]
        rest = [[x - c * y for x, y in zip(line, row, strict=True)] for line, c in zip(rest, column, strict=True)]
        columns.append(column)
        rows.append(row)
    return columns, rows


def name_entry(letter: str, *indices: int) -> str:
    """Return the name of a matrix entry, indices from 1: ``Q12``; with a separator above 9, ``Q[1,12]``."""
    numbers = [index + 1 for index in indices]
    if max(numbers) <= 9:
        return letter + "".join(map(str, numbers))
    return f"{letter}[{','.join(map(str, numbers))}]"


def _named_coordinates(ring: PolyRing) -> Coordinates:
    """Return the coordinate y_{i,pq,m} of a ring as a function of i, p, q, m, counted from 0; p and q in any order."""
    named = {str(symbol): y for symbol, y in zip(ring.symbols, ring.gens, strict=True)}

    def coordinate(i: int, p: int, q: int, m: int) -> PolyElement:
        return named[name_entry("y", i, min(p, q), max(p, q), m)]

    return coordinate


def _entries(ring: PolyRing, letter: str, rows: int, columns: int) -> Matrix:
    variables = {str(symbol): x for symbol, x in zip(ring.symbols, ring.gens, strict=True)}
    return [[variables[name_entry(letter, i, j)] for j in range(columns)] for i in range(rows)]


def _sorted_pair(p: int, q: int) -> tuple[int, int]:
    return (p, q) if p <= q else (q, p)


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
