"""One module a computation: its inputs, the context of its template, and the parser of its result.

Each has a template of the same name in ``m2scripts``, a recorded result and a test of the same name. To add
one: these four, and its class in `OPERATIONS`.
"""

from __future__ import annotations

from m2bridge.operations.base import Operation, Provenance, compute
from m2bridge.operations.completeness import Completeness, ComputeCompleteness
from m2bridge.operations.fibre import Component, ComputeFibre, Fibre
from m2bridge.operations.groebner_basis import ComputeGroebnerBasis, GroebnerBasis
from m2bridge.operations.ideal_membership import ComputeIdealMembership, IdealMembership
from m2bridge.operations.jacobian_rank import ComputeJacobianRank, JacobianRank
from m2bridge.operations.singular_locus import ComputeSingularLocus, SingularLocus
from m2bridge.operations.tangent_space import ComputeTangentSpace, TangentSpace, TangentSpaces
from m2bridge.operations.zariski_closure import ComputeZariskiClosure, ZariskiClosure

OPERATIONS = (
    ComputeZariskiClosure,
    ComputeGroebnerBasis,
    ComputeJacobianRank,
    ComputeTangentSpace,
    ComputeSingularLocus,
    ComputeFibre,
    ComputeIdealMembership,
    ComputeCompleteness,
)

__all__ = [
    "OPERATIONS",
    "Completeness",
    "Component",
    "ComputeCompleteness",
    "ComputeFibre",
    "ComputeGroebnerBasis",
    "ComputeIdealMembership",
    "ComputeJacobianRank",
    "ComputeSingularLocus",
    "ComputeTangentSpace",
    "ComputeZariskiClosure",
    "Fibre",
    "GroebnerBasis",
    "IdealMembership",
    "JacobianRank",
    "Operation",
    "Provenance",
    "SingularLocus",
    "TangentSpace",
    "TangentSpaces",
    "ZariskiClosure",
    "compute",
]
