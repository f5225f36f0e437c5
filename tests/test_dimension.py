"""Dimension three ways: what is proved, what stays open, and traps for floating point and for single primes."""

from __future__ import annotations

from typing import Any

import pytest

from m2bridge import DeepLightning, Evidence, LightningAttention, Parametrization, deep_dimension, dimension
from m2bridge import errors as errors_
from m2bridge.compare import Verdict
from tests.data import case
from tests.runs import engine


def _case(name: str) -> Parametrization:
    input_ = case(name)["input"]
    return Parametrization.from_strings(input_["parameters"], input_["coordinates"], field=input_["field"])


@pytest.mark.parametrize("sizes", [(2, 1, 1, 2), (2, 2, 2, 2), (3, 1, 2, 2), (2, 2, 3, 2), (1, 2, 1, 2), (2, 2, 2, 1)])
def test_dimension_of_a_layer_is_proved(sizes: tuple[int, int, int, int]) -> None:
    layer = LightningAttention(*sizes)
    report = layer.parametrization().dimension()
    assert report.lower == report.upper == report.exact == report.formula == layer.dimension
    assert report.evidence is Evidence.PROVED
    assert report.agree is True
    assert report.n_parameters == layer.n_parameters
    assert report.n_coordinates == layer.n_coordinates


def test_bounds_that_do_not_meet_stay_a_lower_bound() -> None:
    # Defective: the dimension is 5, but neither sizes nor known symmetries prove it.
    report = dimension(_case("p03"))
    assert (report.exact, report.lower, report.upper) == (5, 5, 6)
    assert report.evidence is Evidence.LOWER_BOUND
    assert report.agree is True


@pytest.mark.parametrize(
    ("coordinates", "exact", "evidence"),
    [
        (["s", "t"], 2, Evidence.PROVED),
        (["7", "0"], 0, Evidence.PROVED),
        (["s*t", "2*s*t+1"], 1, Evidence.PROVED),
        (["s+t", "s^2+2*s*t+t^2"], 1, Evidence.PROVED),  # by the symmetry (1, -1)
        (["s*t+s", "(s*t+s)^2"], 1, Evidence.PROVED),
        (["s^2+t^2", "(s^2+t^2)^2"], 1, Evidence.PROVED),
        (["s^2+t^3", "(s^2+t^3)^2"], 1, Evidence.LOWER_BOUND),
    ],
)
def test_small_maps(coordinates: list[str], exact: int, evidence: Evidence) -> None:
    report = dimension(Parametrization.from_strings(["s", "t"], coordinates))
    assert (report.exact, report.evidence) == (exact, evidence)


def test_no_parameters() -> None:
    report = dimension(Parametrization.from_strings([], ["2", "3/7"]))
    assert (report.exact, report.evidence, report.n_parameters) == (0, Evidence.PROVED, 0)


# --- traps ---------------------------------------------------------------------------------------------


def test_t01_a_tiny_coefficient_is_not_zero() -> None:
    map_ = _case("t01")
    report = dimension(map_, at=map_.point([1, 1]))
    assert (report.exact, report.evidence, report.rank_at_point) == (2, Evidence.PROVED, 2)
    assert report.numeric is not None
    assert report.numeric.rank == case("t01")["expected"]["float64_rank"]
    # The float64 value is wrong and clear, so the disagreement is reported.
    assert report.comparison.verdict is Verdict.DISAGREE
    assert "float64" in report.comparison.reason


def test_t02_small_weights() -> None:
    map_ = _case("t02")
    report = dimension(map_, at=map_.point(["1/100000000", 0]))
    assert (report.exact, report.rank_at_point) == (2, 2)


@pytest.mark.macaulay2
def test_t04_characteristic_two() -> None:
    report = dimension(_case("t04"), engine=engine())
    assert (report.lower, report.exact) == (1, 2)
    assert report.evidence is Evidence.COMPUTED
    assert report.numeric is None
    bound = dimension(_case("t04"), eliminate=False)
    assert (bound.exact, bound.evidence) == (1, Evidence.LOWER_BOUND)
    given = dimension(_case("t04"), eliminated=2)
    assert (given.exact, given.evidence) == (2, Evidence.COMPUTED)


@pytest.mark.parametrize(("field", "exact"), [("QQ", 2), ("GF(32749)", 2)])
def test_t06_bad_prime(field: str, exact: int) -> None:
    input_ = case("t06")["input"]
    report = dimension(Parametrization.from_strings(input_["parameters"], input_["coordinates"], field=field))
    assert (report.exact, report.evidence) == (exact, Evidence.PROVED)
    assert 32003 not in [sample.prime for sample in report.samples]


@pytest.mark.macaulay2
def test_t06_modulo_the_bad_prime() -> None:
    input_ = case("t06")["input"]
    map_ = Parametrization.from_strings(input_["parameters"], input_["coordinates"], field="GF(32003)")
    assert dimension(map_, engine=engine()).exact == 1


def test_relations_are_refused() -> None:
    map_ = Parametrization.from_strings(["c", "s"], ["c"], relations=["c^2+s^2-1"])
    with pytest.raises(errors_.InputError, match="relations"):
        dimension(map_)


# --- formulas ------------------------------------------------------------------------------------------


def _with_formula(formula: int, coordinates: list[str]) -> Any:
    map_ = Parametrization.from_strings(["s", "t"], coordinates)
    return Parametrization(map_.ring, map_.coordinates, map_.coordinate_names, expected_dimension=formula)


@pytest.mark.parametrize(
    ("coordinates", "formula", "verdict"),
    [
        (["s", "t"], 2, Verdict.AGREE),
        (["s", "t"], 1, Verdict.DISAGREE),
        (["s", "t"], 3, Verdict.DISAGREE),
        # No affine symmetry bounds this from above: the exact value is only a lower bound.
        (["s^2+t^3", "(s^2+t^3)^2"], 1, Verdict.AGREE),
        (["s^2+t^3", "(s^2+t^3)^2"], 2, Verdict.UNDECIDED),
        (["s^2+t^3", "(s^2+t^3)^2"], 0, Verdict.DISAGREE),
    ],
)
def test_formula_is_judged_by_what_is_proved(coordinates: list[str], formula: int, verdict: Verdict) -> None:
    report = dimension(_with_formula(formula, coordinates))
    assert report.comparison.verdict is verdict
    assert report.agree is {"agree": True, "disagree": False, "undecided": None}[verdict.value]
    assert report.to_dict()["agree"] is report.agree


# --- deep networks -------------------------------------------------------------------------------------


def test_rank_one_collapse() -> None:
    report = deep_dimension(DeepLightning((2, 2, 2), (1, 2), 2))
    assert (report.exact, report.formula, report.published, report.virtual) == (8, 8, 9, 8)
    assert report.agree is True
    assert report.lower == report.upper == 8
    assert report.evidence is Evidence.PROVED
    assert report.n_coordinates is None


def test_no_bottleneck_has_no_formula() -> None:
    report = deep_dimension(DeepLightning((1, 2, 2), (1, 1), 2))
    assert (report.formula, report.published) == (None, None)
    assert report.exact == report.virtual == 2
    assert report.agree is True


def test_n10_enough_inputs_are_taken() -> None:
    report = deep_dimension(DeepLightning((4, 4, 4, 4), (4, 4, 4), 3))
    assert report.exact == report.formula == report.virtual == case("n10")["expected"]["affine_dim"]


def test_same_seed_same_report() -> None:
    map_ = LightningAttention(2, 1, 1, 2).parametrization()
    assert dimension(map_, seed=4) == dimension(map_, seed=4)
    network = DeepLightning((2, 2, 2), (2, 2), 2)
    assert deep_dimension(network, seed=4).to_dict() == deep_dimension(network, seed=4).to_dict()
