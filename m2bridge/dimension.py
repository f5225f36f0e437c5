"""The dimension of a closure three ways: closed formula, exact Jacobian rank, float64 Jacobian rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from m2bridge import numeric
from m2bridge.compare import Comparison, compare_dimensions
from m2bridge.engines import Engine
from m2bridge.evidence import Evidence
from m2bridge.exact import (
    MOST_PARAMETERS_FOR_SYMMETRIES,
    RankSample,
    affine_symmetries,
    generic_rank_samples,
    jacobian_rank_at,
    linear_reduction,
    symmetry_rank,
)
from m2bridge.job import Limits
from m2bridge.networks.deep_lightning import DeepLightning
from m2bridge.numeric import NumericRank
from m2bridge.operations import ComputeZariskiClosure, compute
from m2bridge.parametrization import Parametrization


@dataclass(frozen=True)
class DimensionReport:
    """Dimension of the Zariski closure of a map's image (of a cone: one more than the projective dimension).

    Attributes
    ----------
    formula
        By a closed formula of the family (``CONJECTURED`` on its own), or None.
    exact
        By exact arithmetic; worth what ``evidence`` says.
    lower, upper
        Proved bounds: the Jacobian's rank at random points modulo primes, and the smallest of the number of
        parameters, that number less the symmetries (verified vector fields along which the map is constant), and the
        number of independent coordinates.
        ``upper`` is None where none was computed.
    samples
        The points' primes and ranks.
    numeric
        Float64 rank with its singular-value gap; None over GF(p).
    n_parameters, n_coordinates
        Sizes of the map; ``n_coordinates`` is None for deep networks, whose coordinates are not expanded.
    rank_at_point
        Exact rank of the Jacobian at the point asked for, or None.
    comparison
        Whether formula, exact and numeric value agree.
    evidence
        ``PROVED`` if the bounds meet; ``COMPUTED`` if Macaulay2 eliminated (over GF(p), where ranks of Jacobians do
        not decide); else ``LOWER_BOUND``.
    virtual
        For networks: dimension by virtual weights (rank of weights -> (M, L), less the number of layers),
        ``CONJECTURED``; else None.
    published
        For networks: the published formula where its hypotheses hold, else None.
    field, seed
        Ground field; seed of the random points.
    """

    formula: int | None
    exact: int
    lower: int
    upper: int | None
    samples: tuple[RankSample, ...]
    numeric: NumericRank | None
    n_parameters: int
    n_coordinates: int | None
    rank_at_point: int | None
    comparison: Comparison
    evidence: Evidence
    virtual: int | None
    published: int | None
    field: str
    seed: int

    @property
    def agree(self) -> bool | None:
        """Whether the values agree; None where it is undecided."""
        return self.comparison.to_json()

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data, as ``--json`` prints it."""
        return {
            "formula": self.formula,
            "published_formula": self.published,
            "exact": self.exact,
            "exact_evidence": self.evidence.value,
            "lower_bound": self.lower,
            "upper_bound": self.upper,
            "primes": [sample.prime for sample in self.samples],
            "numeric": None if self.numeric is None else self.numeric.rank,
            "numeric_gap": None if self.numeric is None else _finite(self.numeric.gap),
            "numeric_clear": None if self.numeric is None else self.numeric.clear,
            "virtual": self.virtual,
            "n_parameters": self.n_parameters,
            "n_coordinates": self.n_coordinates,
            "rank_at_point": self.rank_at_point,
            "agree": self.agree,
            "reason": self.comparison.reason,
        }


def _finite(gap: float) -> float | None:
    return gap if gap < float("inf") else None


def dimension(
    parametrization: Parametrization,
    *,
    at: Sequence[Fraction] | None = None,
    seed: int = 0,
    eliminated: int | None = None,
    eliminate: bool = True,
    engine: Engine | None = None,
    limits: Limits | None = None,
) -> DimensionReport:
    """Return the dimension of the closure of a map's image.

    Over QQ no Macaulay2 is needed. Over GF(p) the rank of the Jacobian is only a lower bound, even at generic
    points; where it does not meet an upper bound, Macaulay2 eliminates, unless the dimension that it found is
    given as ``eliminated``, or ``eliminate`` is false and the lower bound has to do.

    Raises
    ------
    InputError
        If the map has relations among its parameters.
    """
    parametrization.require_no_relations("the dimension by ranks")
    samples = generic_rank_samples(parametrization, seed)
    lower = max(sample.rank for sample in samples)
    n_independent = len(linear_reduction(parametrization).kept)
    upper = min(n_independent, parametrization.n_parameters)
    n = parametrization.n_parameters
    if lower < upper and not parametrization.field.characteristic():
        upper = min(upper, n - symmetry_rank(parametrization, parametrization.vector_fields, seed))
        if 0 < lower < upper and n <= MOST_PARAMETERS_FOR_SYMMETRIES:
            fields = affine_symmetries(parametrization, lower, seed)
            upper = min(upper, n - symmetry_rank(parametrization, fields, seed))
    value, evidence = lower, Evidence.PROVED if lower == upper else Evidence.LOWER_BOUND
    if evidence is not Evidence.PROVED and parametrization.field.characteristic():
        if eliminated is None and eliminate:
            operation = ComputeZariskiClosure(parametrization)
            eliminated = compute(operation, engine=engine, limits=limits).dim
        if eliminated is not None:
            value, evidence = eliminated, Evidence.COMPUTED
    estimate = None if parametrization.field.characteristic() else numeric.numeric_rank(parametrization, seed)
    return DimensionReport(
        formula=parametrization.expected_dimension,
        exact=value,
        lower=lower,
        upper=upper,
        samples=samples,
        numeric=estimate,
        n_parameters=parametrization.n_parameters,
        n_coordinates=parametrization.n_coordinates,
        rank_at_point=None if at is None else jacobian_rank_at(parametrization, at),
        comparison=_compare(parametrization.expected_dimension, value, evidence, estimate),
        evidence=evidence,
        virtual=None,
        published=None,
        field=parametrization.field_name,
        seed=seed,
    )


def deep_dimension(network: DeepLightning, *, seed: int = 0) -> DimensionReport:
    """Return the dimension of a deep network's neurovariety by exact ranks, without expanding its coordinates."""
    sample = network.native_rank(seed)
    virtual = network.virtual_rank(seed).rank - network.n_layers if network.is_plain else None
    estimate = network.numeric_rank(seed)
    formula = network.corrected_dimension
    upper = network.dimension_upper_bound
    evidence = Evidence.PROVED if sample.rank == upper else Evidence.LOWER_BOUND
    return DimensionReport(
        formula=formula,
        exact=sample.rank,
        lower=sample.rank,
        upper=upper,
        samples=(sample,),
        numeric=estimate,
        n_parameters=network.n_parameters,
        n_coordinates=None,
        rank_at_point=None,
        comparison=_compare(virtual if formula is None else formula, sample.rank, evidence, estimate),
        evidence=evidence,
        virtual=virtual,
        published=network.published_dimension,
        field="QQ",
        seed=seed,
    )


def _compare(formula: int | None, value: int, evidence: Evidence, estimate: NumericRank | None) -> Comparison:
    return compare_dimensions(
        formula=formula,
        exact=value,
        exact_is_proved=evidence is not Evidence.LOWER_BOUND,
        numeric=None if estimate is None else estimate.rank,
        numeric_is_clear=estimate is not None and estimate.clear,
    )
