"""One tiny instance of each operation, by name: its script is golden, its result is recorded."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from m2bridge import Ideal, LightningAttention, Orbit, Parametrization
from m2bridge.operations import (
    ComputeCompleteness,
    ComputeFibre,
    ComputeGroebnerBasis,
    ComputeIdealMembership,
    ComputeJacobianRank,
    ComputeSingularLocus,
    ComputeTangentSpace,
    ComputeZariskiClosure,
    Operation,
)
from m2bridge.polynomials import parse_polynomial

LAYER = LightningAttention(d=2, d_out=1, a=1, t=2)
NODE = Parametrization.from_strings(["s"], ["s^2 - 1", "s^3 - s"], coordinate_names=["x", "y"])
CUSP = Parametrization.from_strings(["s"], ["s^2", "s^3"], coordinate_names=["x", "y"])
CUBIC = Parametrization.from_strings(["s", "t"], ["s^3", "s^2*t", "s*t^2", "t^3"])
HYPERBOLA = Ideal.from_strings(["x", "y"], ["x*y - 1", "y^2 - x"])


QUADRICS = tuple(
    parse_polynomial(text, LAYER.parametrization().coordinate_ring)
    for text in (
        "y1112*y1121-y1111*y1122",
        "y1112*y1221-y1111*y1222",
        "y1122*y1221-y1121*y1222",
    )
)
"""The equations of the layer's closure, besides linear ones: minors of a 2 x 3 matrix."""


def point(*values: int | Fraction) -> tuple[Fraction, ...]:
    """Return exact numbers."""
    return tuple(Fraction(value) for value in values)


INSTANCES: dict[str, Operation[Any]] = {
    "zariski_closure": ComputeZariskiClosure(LAYER.parametrization(), betti=True),
    "groebner_basis": ComputeGroebnerBasis(HYPERBOLA, order="lex", change_of_basis=True),
    "jacobian_rank": ComputeJacobianRank(CUBIC, (point(1, Fraction(-1, 2)), point(0, 0))),
    "tangent_space": ComputeTangentSpace(NODE, weights=(point(1), point(2)), points=(point(3, -6),)),
    "singular_locus": ComputeSingularLocus(CUSP),
    "fibre": ComputeFibre(LAYER.parametrization("AV"), point=LAYER.representative(Orbit(1, 1, 0), "AV")),
    "ideal_membership": ComputeIdealMembership(HYPERBOLA, parse_polynomial("y^3 - 1", HYPERBOLA.ring)),
    "completeness": ComputeCompleteness(LAYER.parametrization(), QUADRICS),
}
