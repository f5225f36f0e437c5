"""A rational inverse that can be read off the equations themselves: each solves for one more coordinate, linearly.

If S is a set of dim X coordinates that are algebraically independent on X, and each other coordinate y_k has an
equation h_k y_k + r_k among those found, with h_k and r_k in the coordinates before it, then where all h_k are
invertible the equations define the graph of a rational map on an open set of affine space: a domain. Determinantal
varieties, secants of Segre varieties and many polynomial networks have such equations. docs/completeness.md has the
proof.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import flint
from sympy.polys.rings import PolyElement

from m2bridge.exact import gradients_modulo, irreducible_factors, value_modulo
from m2bridge.parametrization import Chart, Parametrization

TRIALS = 8
"""Attempts to order the coordinates; the one with the fewest denominators is kept."""

_MOST_CANDIDATES = 12
"""How many coordinates are compared when one must be chosen as free."""


@dataclass(frozen=True)
class _Equation:
    """An equation, its coordinates, and those that it contains linearly."""

    polynomial: PolyElement
    coordinates: frozenset[int]
    linear: frozenset[int]


@dataclass(frozen=True)
class TriangularSection:
    """An order of the coordinates in which equations solve for all that are not free.

    Attributes
    ----------
    denominators
        The irreducible factors of all h_k.
    solves
        The pairs (equation h_k y_k + r_k, index k), in order.
    """

    denominators: tuple[PolyElement, ...]
    solves: tuple[tuple[PolyElement, int], ...]


def triangular_chart(
    parametrization: Parametrization,
    equations: Sequence[PolyElement],
    kept: Sequence[int],
    dim: int,
    prime: int,
    seed: int = 0,
) -> Chart | None:
    """Return the inverse that some of the equations give, or None; see `triangular_section`."""
    found = triangular_section(parametrization, equations, kept, dim, prime, seed)
    if found is None:
        return None
    return Chart(found.denominators, (), f"an open set of affine space of dimension {dim}, in {dim} of the coordinates")


def triangular_section(
    parametrization: Parametrization,
    equations: Sequence[PolyElement],
    kept: Sequence[int],
    dim: int,
    prime: int,
    seed: int = 0,
) -> TriangularSection | None:
    """Return the inverse that some of the equations give, or None if no order of the coordinates was found.

    Parameters
    ----------
    parametrization
        The map f over QQ.
    equations
        Equations of the closure X of its image, in the coordinate ring, in kept coordinates only.
    kept
        Indices of the linearly independent coordinates.
    dim
        Number of coordinates to be left free: the rank of the Jacobian, modulo the prime.
    prime
        One that divides no denominator of the map. Modulo it, by values at one random point, the free coordinates
        are shown to be independent on X, and no denominator to vanish there.
    seed
        Seed of the point and of the orders that are tried.
    """
    rng = random.Random(seed)  # noqa: S311 - random choices, not secrets
    n = parametrization.n_parameters
    point = [rng.randrange(1, prime) for _ in range(n)]
    rows = gradients_modulo(parametrization, prime, point)
    image = [value_modulo(f, point, prime) for f in parametrization.coordinates]

    def independent(chosen: Sequence[int]) -> bool:
        entries = [entry for i in chosen for entry in rows[i * n : (i + 1) * n]]
        return int(flint.nmod_mat(len(chosen), n, entries, prime).rank()) == len(chosen)

    search = _Search([_described(f) for f in equations], kept, dim, independent, rng)
    best: TriangularSection | None = None
    for _ in range(TRIALS):
        found = search.section()
        if (
            found is not None
            and all(value_modulo(h, image, prime) for h in found.denominators)
            and (best is None or len(found.denominators) < len(best.denominators))
        ):
            best = found
    return best


def _described(polynomial: PolyElement) -> _Equation:
    highest: dict[int, int] = {}
    for monomial in polynomial:
        for i, e in enumerate(monomial):
            if e:
                highest[i] = max(e, highest.get(i, 0))
    return _Equation(polynomial, frozenset(highest), frozenset(i for i, e in highest.items() if e == 1))


@dataclass
class _Search:
    """Orders of the coordinates in which each that is not free has an equation that solves for it."""

    table: Sequence[_Equation]
    kept: Sequence[int]
    dim: int
    independent: Callable[[Sequence[int]], bool]
    rng: random.Random
    _factored: dict[tuple[PolyElement, int], tuple[PolyElement, ...]] = field(default_factory=dict)

    def section(self) -> TriangularSection | None:
        """Return a random order, or None if it leads nowhere."""
        known: set[int] = set()
        free: list[int] = []
        used: dict[PolyElement, None] = {}
        solves: list[tuple[PolyElement, int]] = []
        while len(known) < len(self.kept):
            chosen = self._most_useful(known, free)
            if chosen is None or len(free) == self.dim:
                return None
            free.append(chosen)
            known.add(chosen)
            while (solvable := self._cheapest(known, used)) is not None:
                k, equation, factors = solvable
                known.add(k)
                solves.append((equation, k))
                used.update(dict.fromkeys(factors))
        return TriangularSection(tuple(used), tuple(solves)) if len(free) == self.dim else None

    def _most_useful(self, known: set[int], free: Sequence[int]) -> int | None:
        """Return the coordinate to be made free: one that lets many equations solve for another."""
        candidates = [k for k in self.kept if k not in known]
        self.rng.shuffle(candidates)
        worth: dict[int, float] = {}
        for k in candidates:
            if len(worth) < _MOST_CANDIDATES and self.independent([*free, k]):
                sizes = [len(f.coordinates - known) - 1 for f in self.table if k in f.coordinates]
                worth[k] = sizes.count(1) + 0.01 * sizes.count(2)
        return max(worth, key=lambda k: worth[k]) if worth else None

    def _cheapest(
        self, known: set[int], used: Mapping[PolyElement, None]
    ) -> tuple[int, PolyElement, tuple[PolyElement, ...]] | None:
        """Return a coordinate that an equation solves for, with the fewest and smallest new denominators."""
        best: tuple[tuple[int, int], int, PolyElement, tuple[PolyElement, ...]] | None = None
        for equation in self.table:
            rest = equation.coordinates - known
            if len(rest) != 1 or not rest <= equation.linear:
                continue
            (k,) = rest
            place = (equation.polynomial, k)
            if place not in self._factored:
                self._factored[place] = irreducible_factors(_coefficient(*place))
            new = [factor for factor in self._factored[place] if factor not in used]
            cost = len(new), sum(map(len, new))
            if best is None or cost < best[0]:
                best = cost, k, equation.polynomial, self._factored[place]
        return None if best is None else best[1:]


def _coefficient(polynomial: PolyElement, variable: int) -> PolyElement:
    """Return the coefficient of a variable that occurs linearly."""
    terms = {(*m[:variable], 0, *m[variable + 1 :]): c for m, c in polynomial.items() if m[variable]}
    return polynomial.ring.from_dict(terms)
