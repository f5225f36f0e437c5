"""Exact algebra for lightning self-attention networks and other polynomial maps, computed by Macaulay2.

Public names, in reading order: from a network or a map, over an operation and an engine, to typed results.
"""

from m2bridge.networks import DeepLightning, LightningAttention, Orbit
from m2bridge.parametrization import Parametrization
from m2bridge.ideal import Ideal
from m2bridge.map_file import read_ideal, read_map
from m2bridge.operations import (
    Completeness,
    ComputeCompleteness,
    ComputeFibre,
    ComputeGroebnerBasis,
    ComputeIdealMembership,
    ComputeJacobianRank,
    ComputeSingularLocus,
    ComputeTangentSpace,
    ComputeZariskiClosure,
    Fibre,
    GroebnerBasis,
    IdealMembership,
    JacobianRank,
    SingularLocus,
    TangentSpace,
    TangentSpaces,
    ZariskiClosure,
    compute,
)
from m2bridge.job import Job, JobFolder, Limits, Outcome, Status
from m2bridge.engines import Engine, EnginePool, ScriptEngine, WarmEngine
from m2bridge.macaulay2 import Macaulay2, find_macaulay2
from m2bridge.dimension import DimensionReport, deep_dimension, dimension
from m2bridge.closure import closure
from m2bridge.strata import Stratum, orbit_strata
from m2bridge.study import Study, study
from m2bridge.evidence import Evidence
from m2bridge.errors import M2BridgeError

__version__ = "0.1.0"

__all__ = [
    "Completeness",
    "ComputeCompleteness",
    "ComputeFibre",
    "ComputeGroebnerBasis",
    "ComputeIdealMembership",
    "ComputeJacobianRank",
    "ComputeSingularLocus",
    "ComputeTangentSpace",
    "ComputeZariskiClosure",
    "DeepLightning",
    "DimensionReport",
    "Engine",
    "EnginePool",
    "Evidence",
    "Fibre",
    "GroebnerBasis",
    "Ideal",
    "IdealMembership",
    "JacobianRank",
    "Job",
    "JobFolder",
    "LightningAttention",
    "Limits",
    "M2BridgeError",
    "Macaulay2",
    "Orbit",
    "Outcome",
    "Parametrization",
    "ScriptEngine",
    "SingularLocus",
    "Status",
    "Stratum",
    "Study",
    "TangentSpace",
    "TangentSpaces",
    "WarmEngine",
    "ZariskiClosure",
    "closure",
    "compute",
    "deep_dimension",
    "dimension",
    "find_macaulay2",
    "orbit_strata",
    "read_ideal",
    "read_map",
    "study",
]
