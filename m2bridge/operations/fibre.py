"""The fibre of a map through a point of parameter space, or over a point of coordinate space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import msgspec

from m2bridge.document import ResultDocument, decode_result
from m2bridge.errors import InputError, PointError
from m2bridge.evidence import Evidence
from m2bridge.exact import LinearReduction, linear_reduction
from m2bridge.fields import element, number_text, to_fraction
from m2bridge.job import JobFolder, Outcome
from m2bridge.operations.base import Operation, Provenance
from m2bridge.parametrization import Parametrization
from m2bridge.polynomials import evaluate_exactly, fraction_point
from m2bridge.render import GroundField, Polynomial, Variables


@dataclass(frozen=True)
class Component:
    """An irreducible component over the ground field: its dimension and degree."""

    dim: int
    degree: int

    def to_dict(self) -> dict[str, int]:
        """Return the component as plain data."""
        return {"dim": self.dim, "degree": self.degree}


def read_components(pairs: Sequence[tuple[int, int]]) -> tuple[Component, ...]:
    """Return components, largest dimension first."""
    return tuple(Component(dim, degree) for dim, degree in sorted(pairs, reverse=True))


@dataclass(frozen=True)
class Fibre:
    """A fibre of a polynomial map K^n -> K^m: the zero set of f_i(w) - y_i in parameter space.

    Attributes
    ----------
    value
        The point y of coordinate space, m exact numbers.
    dim
        Dimension; -1 for the empty fibre.
    degree
        Degree of the scheme's projective closure, multiplicities included; 0 for the empty fibre.
    components
        Irreducible components over the ground field, largest dimension first. Over the algebraic closure they
        may split further.
    reduced
        Whether the scheme is reduced.
    evidence
        ``COMPUTED``.
    provenance
        Where it comes from.
    """

    value: tuple[Fraction, ...]
    dim: int
    degree: int
    components: tuple[Component, ...]
    reduced: bool
    evidence: Evidence
    provenance: Provenance

    def to_dict(self) -> dict[str, Any]:
        """Return the fibre as plain data, as ``--json`` prints it."""
        return {
            "dim": self.dim,
            "degree": self.degree,
            "components": [component.to_dict() for component in self.components],
            "reduced": self.reduced,
            "value": [number_text(y) for y in self.value],
        }


class _Fields(msgspec.Struct, forbid_unknown_fields=True):
    dim: int
    degree: int
    reduced: bool
    components: list[tuple[int, int]]


@dataclass(frozen=True)
class ComputeFibre(Operation[Fibre]):
    """Compute a fibre of a map.

    Parameters
    ----------
    parametrization
        The map; relations among its parameters are allowed.
    point
        A point of parameter space that the fibre passes through, or None.
    value
        A point of coordinate space that the fibre lies over, or None. Exactly one of the two is given.
    """

    parametrization: Parametrization
    point: tuple[Fraction, ...] | None = None
    value: tuple[Fraction, ...] | None = None
    seed: int = 0

    name = "fibre"
    title = "Fibre of a polynomial map: dimension, degree, components."

    def __post_init__(self) -> None:
        if (self.point is None) == (self.value is None):
            raise InputError("a fibre needs either a point of parameter space or a value of the map")
        if not self.parametrization.n_parameters:
            raise InputError("the map has no parameters, so it has no fibres")
        if self.point is not None:
            point = fraction_point(self.point, self.parametrization.field)
            if any(evaluate_exactly(relation, point) for relation in self.parametrization.relations):
                raise PointError("the point does not satisfy the relations among the parameters")

    @cached_property
    def _value(self) -> tuple[Fraction, ...]:
        if self.value is not None:
            return self.value
        assert self.point is not None  # noqa: S101 - for the type checker: one of the two is given
        return tuple(to_fraction(y) for y in self.parametrization.image(self.point))

    @cached_property
    def _reduction(self) -> LinearReduction:
        return linear_reduction(self.parametrization)

    @property
    def field_name(self) -> str:
        """Ground field, ``QQ`` or ``GF(p)``."""
        return self.parametrization.field_name

    def remarks(self) -> Sequence[str]:
        """Return what the script's variables stand for."""
        legend = ", ".join(f"w_{i} = {name}" for i, name in enumerate(self.parametrization.parameters))
        return [
            f"Map: {self.parametrization.title}, over {self.field_name}.",
            f"Parameters: {legend}",
            "Coordinates that are affine-linear in others are left out.",
        ]

    def context(self) -> Mapping[str, Any]:
        """Return what the template interpolates."""
        map_ = self.parametrization
        parameters = Variables("w", range(map_.n_parameters))
        equations = [map_.coordinates[i] - element(map_.field, self._value[i]) for i in self._reduction.kept]
        # What the dependent coordinates demand of the value: zero, or a constant that makes the fibre empty.
        for i, (constant, combination) in self._reduction.dependent.items():
            rest = self._value[i] - constant - sum(c * self._value[k] for k, c in combination.items())
            equations.append(map_.ring.ground_new(element(map_.field, Fraction(rest))))
        equations.extend(map_.relations)
        return {
            "field": GroundField(map_.field),
            "parameters": parameters,
            "equations": [Polynomial(f, parameters) for f in equations if f] or [0],
        }

    def parse(self, document: ResultDocument, outcome: Outcome) -> Fibre:
        """Return the typed result."""
        fields = decode_result(document, _Fields, JobFolder(outcome.folder).result)
        return Fibre(
            value=self._value,
            dim=fields.dim,
            degree=fields.degree,
            components=read_components(fields.components),
            reduced=fields.reduced,
            evidence=Evidence.COMPUTED,
            provenance=Provenance.of(document, outcome, self.field_name),
        )
