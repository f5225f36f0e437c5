"""The tangent space of the parametrization at points: ranks of its Jacobian, by Macaulay2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import msgspec

from m2bridge.document import ResultDocument, decode_result
from m2bridge.errors import ResultError
from m2bridge.evidence import Evidence
from m2bridge.job import JobFolder, Outcome
from m2bridge.operations.base import Operation, Provenance
from m2bridge.parametrization import Parametrization
from m2bridge.render import GroundField, Polynomial, Variables


@dataclass(frozen=True)
class JacobianRank:
    """Ranks of the Jacobian (m x n) of a map K^n -> K^m at points.

    Attributes
    ----------
    points
        The points of parameter space, in the order of the parameters.
    ranks
        The rank at each: the dimension of the image of the differential. Each is a lower bound for the dimension
        of the closure of the image, never more.
    evidence
        ``LOWER_BOUND``, as a statement on the closure.
    provenance
        Where it comes from.
    """

    points: tuple[tuple[Fraction, ...], ...]
    ranks: tuple[int, ...]
    evidence: Evidence
    provenance: Provenance

    def to_dict(self) -> dict[str, Any]:
        """Return the ranks as plain data."""
        return {"points": [[str(x) for x in point] for point in self.points], "ranks": list(self.ranks)}


class _Fields(msgspec.Struct, forbid_unknown_fields=True):
    ranks: list[int]


@dataclass(frozen=True)
class ComputeJacobianRank(Operation[JacobianRank]):
    """Compute the rank of the Jacobian of a map at points of parameter space.

    Parameters
    ----------
    parametrization
        The map, without relations among its parameters.
    points
        Points of parameter space.
    """

    parametrization: Parametrization
    points: tuple[tuple[Fraction, ...], ...]
    seed: int = 0

    name = "jacobian_rank"
    title = "Ranks of the Jacobian of a polynomial map at points of parameter space."

    def __post_init__(self) -> None:
        self.parametrization.require_no_relations("the Jacobian rank")

    @property
    def field_name(self) -> str:
        """Ground field, ``QQ`` or ``GF(p)``."""
        return self.parametrization.field_name

    def remarks(self) -> Sequence[str]:
        """Return what the script's variables stand for."""
        legend = ", ".join(f"w_{i} = {name}" for i, name in enumerate(self.parametrization.parameters))
        return [f"Map: {self.parametrization.title}, over {self.field_name}.", f"Parameters: {legend}"]

    def context(self) -> Mapping[str, Any]:
        """Return what the template interpolates."""
        parameters = Variables("w", range(self.parametrization.n_parameters))
        return {
            "field": GroundField(self.parametrization.field),
            "parameters": parameters,
            "coordinates": [Polynomial(f, parameters) for f in self.parametrization.coordinates],
            "points": self.points,
        }

    def parse(self, document: ResultDocument, outcome: Outcome) -> JacobianRank:
        """Return the typed result."""
        file = JobFolder(outcome.folder).result
        fields = decode_result(document, _Fields, file)
        if len(fields.ranks) != len(self.points):
            raise ResultError(f"the result has {len(fields.ranks)} ranks, expected {len(self.points)}", str(file))
        return JacobianRank(
            points=self.points,
            ranks=tuple(fields.ranks),
            evidence=Evidence.LOWER_BOUND,
            provenance=Provenance.of(document, outcome, self.field_name),
        )
