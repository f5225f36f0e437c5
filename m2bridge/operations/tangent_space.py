"""Tangent spaces of the Zariski closure at points: number of coordinates minus the rank of the ideal's Jacobian."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import msgspec
from sympy.polys.rings import PolyElement

from m2bridge.document import ResultDocument, decode_result
from m2bridge.errors import PointError, ResultError
from m2bridge.evidence import Evidence
from m2bridge.exact import jacobian_rank_at
from m2bridge.fields import number_text, to_fraction
from m2bridge.job import JobFolder, Outcome
from m2bridge.operations.base import Operation, Provenance
from m2bridge.operations.closure_ideal import ClosureIdeal
from m2bridge.parametrization import Parametrization
from m2bridge.polynomials import evaluate_exactly, fraction_point


@dataclass(frozen=True)
class TangentSpace:
    """The Zariski tangent space of a closure X at one point.

    Attributes
    ----------
    point
        The point of coordinate space, m exact numbers in the order of the coordinates.
    weights
        The point of parameter space that it is the image of, or None where it was given by coordinates.
    dim
        Dimension of the tangent space: m minus the rank of the Jacobian of the ideal at the point.
    variety_dim
        Dimension of X.
    singular
        Whether dim > variety_dim, so that X is singular at the point (X is irreducible).
    parametrization_rank
        Rank of the Jacobian of the map at ``weights``: the dimension of the image of its differential, which lies
        in the tangent space; None where the point was given by coordinates.
    """

    point: tuple[Fraction, ...]
    weights: tuple[Fraction, ...] | None
    dim: int
    variety_dim: int
    singular: bool
    parametrization_rank: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return the tangent space as plain data."""
        return {
            "dim": self.dim,
            "variety_dim": self.variety_dim,
            "singular": self.singular,
            "parametrization_rank": self.parametrization_rank,
            "point": [number_text(x) for x in self.point],
            "weights": None if self.weights is None else [number_text(x) for x in self.weights],
        }


@dataclass(frozen=True)
class TangentSpaces:
    """Tangent spaces at several points, in the order asked.

    Attributes
    ----------
    spaces
        One for each point: those given by weights first, then those given by coordinates.
    evidence
        ``COMPUTED``: rests on the ideal that Macaulay2 found. A generator that it missed could only make a
        tangent space smaller.
    provenance
        Where it comes from.
    """

    spaces: tuple[TangentSpace, ...]
    evidence: Evidence
    provenance: Provenance

    def to_dict(self) -> dict[str, Any]:
        """Return the first tangent space as plain data, with all of them under ``points``."""
        first = self.spaces[0].to_dict() if self.spaces else {}
        return first | {"points": [space.to_dict() for space in self.spaces]}


class _Fields(msgspec.Struct, forbid_unknown_fields=True):
    dim: int
    ranks: list[int]
    on_variety: list[bool]


@dataclass(frozen=True)
class ComputeTangentSpace(Operation[TangentSpaces]):
    """Compute tangent spaces of the closure of a map's image.

    Parameters
    ----------
    parametrization
        The map, without relations among its parameters.
    weights
        Points of parameter space, at whose images to compute.
    points
        Points of coordinate space, which must lie on the closure.
    equations
        Generators of the ideal, if known already; else they are computed in the same script.
    """

    parametrization: Parametrization
    weights: tuple[tuple[Fraction, ...], ...] = ()
    points: tuple[tuple[Fraction, ...], ...] = ()
    equations: tuple[PolyElement, ...] | None = None
    seed: int = 0

    name = "tangent_space"
    title = "Tangent spaces of the Zariski closure of the image of a polynomial map, at points."

    def __post_init__(self) -> None:
        self.parametrization.require_no_relations("the tangent space")
        for point in self.points:
            for equation in self._ideal.linear_equations:
                if evaluate_exactly(equation, fraction_point(point, self.parametrization.field)):
                    raise PointError("the point is not on the closure: a linear equation is not zero there")

    @cached_property
    def _ideal(self) -> ClosureIdeal:
        return ClosureIdeal(self.parametrization, self.equations)

    @cached_property
    def _all_points(self) -> list[tuple[Fraction, ...]]:
        images = [tuple(to_fraction(y) for y in self.parametrization.image(w)) for w in self.weights]
        return [*images, *self.points]

    @property
    def field_name(self) -> str:
        """Ground field, ``QQ`` or ``GF(p)``."""
        return self.parametrization.field_name

    def remarks(self) -> Sequence[str]:
        """Return what the script's variables stand for."""
        return self._ideal.remarks()

    def context(self) -> Mapping[str, Any]:
        """Return what the template interpolates."""
        kept = self._ideal.reduction.kept
        return self._ideal.context() | {"points": [[point[i] for i in kept] for point in self._all_points]}

    def parse(self, document: ResultDocument, outcome: Outcome) -> TangentSpaces:
        """Return the typed result.

        Raises
        ------
        PointError
            If a point given by coordinates is not on the closure.
        """
        file = JobFolder(outcome.folder).result
        fields = decode_result(document, _Fields, file)
        points = self._all_points
        if not len(points) == len(fields.ranks) == len(fields.on_variety):
            raise ResultError(f"the result has {len(fields.ranks)} ranks, expected {len(points)}", str(file))
        spaces = []
        for number, (point, rank, on) in enumerate(zip(points, fields.ranks, fields.on_variety, strict=True)):
            if not on:
                raise PointError("the point is not on the closure", f"point {number + 1}")
            weights = self.weights[number] if number < len(self.weights) else None
            dim = len(self._ideal.reduction.kept) - rank
            spaces.append(
                TangentSpace(
                    point=point,
                    weights=weights,
                    dim=dim,
                    variety_dim=fields.dim,
                    singular=dim > fields.dim,
                    parametrization_rank=None if weights is None else jacobian_rank_at(self.parametrization, weights),
                )
            )
        return TangentSpaces(
            spaces=tuple(spaces),
            evidence=Evidence.COMPUTED,
            provenance=Provenance.of(document, outcome, self.field_name),
        )
