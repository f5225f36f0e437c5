"""What the operations on the ideal of a closure share: its linear reduction, and the template's context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sympy.polys.rings import PolyElement

from m2bridge.exact import LinearReduction, linear_reduction
from m2bridge.fields import element
from m2bridge.parametrization import Parametrization
from m2bridge.polynomials import primitive, total_degree
from m2bridge.render import GroundField, Polynomial, Variables


@dataclass(frozen=True)
class ClosureIdeal:
    """The ideal I of the Zariski closure of the image of a map, as scripts compute it.

    Scripts work in the linearly independent coordinates, ``y_i`` for each kept index i; the linear equations
    that express the others are added here, in Python.

    Attributes
    ----------
    parametrization
        The map that was asked about.
    equations
        Generators of I in the coordinate ring, if they are known already, else None; linear ones are ignored,
        since they are computed anew.
    """

    parametrization: Parametrization
    equations: tuple[PolyElement, ...] | None = None

    @cached_property
    def reduction(self) -> LinearReduction:
        """The affine-linear relations among the coordinates."""
        return linear_reduction(self.parametrization)

    @cached_property
    def linear_equations(self) -> tuple[PolyElement, ...]:
        """The equations y_i - c_0 - sum of c_k y_k of the dependent coordinates, in the coordinate ring."""
        ring = self.parametrization.coordinate_ring
        equations = []
        for i, (constant, combination) in self.reduction.dependent.items():
            equation = ring.gens[i] - element(ring.domain, constant)
            for k, c in combination.items():
                equation = equation - ring.gens[k].mul_ground(element(ring.domain, c))
            equations.append(primitive(equation))
        return tuple(equations)

    def restrict(self, polynomial: PolyElement) -> PolyElement:
        """Return a polynomial in the coordinates with the dependent ones replaced by their expressions."""
        ring = self.parametrization.coordinate_ring
        replacements = []
        for i, (constant, combination) in self.reduction.dependent.items():
            expression = ring.ground_new(element(ring.domain, constant))
            for k, c in combination.items():
                expression = expression + ring.gens[k].mul_ground(element(ring.domain, c))
            replacements.append((ring.gens[i], expression))
        return polynomial.compose(replacements) if replacements else polynomial

    def context(self) -> dict[str, Any]:
        """Return what ``closure_ideal.m2`` interpolates."""
        map_ = self.parametrization.cheaper or self.parametrization
        kept = self.reduction.kept
        n = map_.n_parameters
        context: dict[str, Any] = {
            "field": GroundField(map_.field),
            "kept": Variables("y", kept),
            "kept_indices": kept,
            "equations": None,
        }
        if self.equations is not None:
            everything = Variables("y", range(self.parametrization.n_coordinates))
            nonlinear = [self.restrict(f) for f in self.equations]
            context["equations"] = [Polynomial(f, everything) for f in nonlinear if f] if kept else None
            if not context["equations"] and kept:
                context["equations"] = [0]
            return context
        weights = map_.parameter_degrees or (1,) * n
        degrees = [_weighted_degree(map_.coordinates[i], weights) for i in kept]
        if any(degree is None for degree in degrees) or not all(
            _weighted_degree(f, weights) is not None for f in map_.relations
        ):
            # Not homogeneous: Macaulay2 then works with the degrees it gives to every ring.
            weights, degrees = (1,) * n, [1] * len(kept)
        parameters = Variables("w", range(n))
        return context | {
            "parameters": parameters,
            "parameter_degrees": list(weights),
            "coordinates": [Polynomial(map_.coordinates[i], parameters) for i in kept],
            "coordinate_degrees": degrees,
            "relations": [Polynomial(f, parameters) for f in map_.relations],
        }

    def remarks(self) -> list[str]:
        """Return what the script's variables stand for."""
        map_ = self.parametrization.cheaper or self.parametrization
        lines = [
            f"Map: {self.parametrization.title}, over {self.parametrization.field_name}.",
            "The ideal is that of the Zariski closure of its image.",
        ]
        if map_ is not self.parametrization:
            lines.append(f"Eliminated from {map_.title}: it has the same coordinates and the same closure.")
        if self.equations is not None:
            lines.append("Equations of the closure, computed before, are given.")
        elif map_.parameters:
            lines.append(f"Parameters: {_legend('w', map_.parameters)}")
        names = self.parametrization.coordinate_names
        kept = [names[i] for i in self.reduction.kept]
        if kept:
            lines.append("Coordinates: " + _legend("y", kept, self.reduction.kept))
        if self.reduction.dependent:
            lines.append(
                f"{len(self.reduction.dependent)} of {len(names)} coordinates are affine-linear in these, and left out."
            )
        return lines


def _legend(letter: str, names: Sequence[str], indices: Sequence[int] | None = None) -> str:
    return ", ".join(f"{letter}_{i} = {name}" for i, name in zip(indices or range(len(names)), names, strict=False))


def _weighted_degree(polynomial: PolyElement, weights: Sequence[int]) -> int | None:
    """Return the degree of a polynomial that is homogeneous of positive degree for the weights, else None."""
    degrees = {sum(w * e for w, e in zip(weights, monomial, strict=True)) for monomial in polynomial}
    return degrees.pop() if len(degrees) == 1 and 0 not in degrees else None


def by_degree(polynomial: PolyElement) -> tuple[int, tuple[int, ...]]:
    """Return a key that sorts by the degree of the leading monomial, then by that monomial, largest first."""
    leading = polynomial.LM
    return sum(leading), tuple(-e for e in leading)


def degrees_of(generators: Sequence[PolyElement]) -> dict[int, int]:
    """Return how many of the polynomials have each total degree (all variables in degree 1)."""
    counts: dict[int, int] = {}
    for g in generators:
        degree = total_degree(g)
        counts[degree] = counts.get(degree, 0) + 1
    return dict(sorted(counts.items()))
