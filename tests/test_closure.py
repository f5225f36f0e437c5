"""The ladder of strategies: each rung's answer is that of elimination, and says what is proved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from m2bridge import Evidence, Ideal, LightningAttention, Limits, Parametrization, ScriptEngine, WarmEngine
from m2bridge.closure import closure
from m2bridge.errors import InputError, Macaulay2NotFound, TimedOut
from m2bridge.macaulay2 import Macaulay2
from m2bridge.operations import ComputeCompleteness, ComputeGroebnerBasis, compute
from m2bridge.parametrization import Chart
from m2bridge.polynomials import parse_polynomial
from tests.data import ground_truth

TWISTED_CUBIC = Parametrization.from_strings(["s", "t"], ["s^3", "s^2*t", "s*t^2", "t^3"])


class NoEngine:
    """Fails if Macaulay2 is asked for."""

    name = "none"
    macaulay2 = Macaulay2("none", (1, 21))

    def run(self, job: Any, folder: Any) -> Any:
        raise AssertionError("Macaulay2 was asked for")

    def close(self) -> None:
        pass


# --- without Macaulay2 -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("coordinates", "dim", "generators"),
    [
        (["s", "t"], 2, []),
        (["2", "3/7"], 0, ["y0-2", "7*y1-3"]),
        (["0", "s"], 1, ["y0"]),
        (["s", "s", "2*s+1", "t"], 2, ["y1-y0", "y2-2*y0-1"]),
        (["s^2", "s*t", "t^2"], 2, ["y1^2-y0*y2"]),
        (["s^2", "s^3"], 1, ["y0^3-y1^2"]),
        (["s", "t", "s*t+1"], 2, ["y0*y1-y2+1"]),
        (["s^4", "s^2"], 1, ["y1^2-y0"]),
    ],
)
def test_proved_here(coordinates: list[str], dim: int, generators: list[str]) -> None:
    map_ = Parametrization.from_strings(["s", "t"], coordinates)
    found = closure(map_, engine=NoEngine())
    assert (found.dim, found.complete, found.evidence) == (dim, True, Evidence.PROVED)
    expected = {parse_polynomial(text, map_.coordinate_ring) for text in generators}
    assert {g if g in expected else -g for g in found.generators} == expected
    assert found.provenance is None


def test_a_hypersurface_has_the_degree_of_its_equation() -> None:
    found = closure(LightningAttention(2, 1, 2, 2).parametrization(), engine=NoEngine())
    assert (found.degree, found.generator_degrees, found.strategy) == (4, {1: 2, 4: 1}, "interpolate")
    assert found.exact_degree == 4


def test_strategies_that_do_not_finish_say_so() -> None:
    found = closure(TWISTED_CUBIC, strategy="interpolate", engine=NoEngine())
    assert (found.complete, found.evidence, found.generator_degrees) == (False, Evidence.LOWER_BOUND, {2: 3})
    assert found.degree is None
    assert "open" in found.completeness
    assert found.exact_degree == 4
    found = closure(TWISTED_CUBIC, strategy="interpolate", max_degree=2, engine=NoEngine())
    assert found.exact_degree == 2
    found = closure(TWISTED_CUBIC, strategy="linear", engine=NoEngine())
    assert (found.complete, found.exact_degree, found.dim) == (False, 1, 2)


def test_the_budget_keeps_what_was_found() -> None:
    # For one token there is no chart, so that Macaulay2 is not asked whatever was found.
    map_ = LightningAttention(4, 3, 2, 1).parametrization()
    found = closure(map_, strategy="interpolate", budget_seconds=2, engine=NoEngine())
    assert not found.complete
    assert found.exact_degree is not None
    assert "open" in found.completeness


def test_coefficients_of_a_hundred_digits() -> None:
    map_ = Parametrization.from_strings(["s", "t"], [f"{10**100 + 267}*s^2", "s*t", "t^2"])
    found = closure(map_, engine=NoEngine())
    assert (found.complete, found.generator_degrees) == (True, {2: 1})


def test_a_budget_that_ends_at_once() -> None:
    found = closure(TWISTED_CUBIC, strategy="interpolate", budget_seconds=1e-9, engine=NoEngine())
    assert (found.complete, found.exact_degree) == (False, 1)


def test_what_was_found_outlives_a_missing_macaulay2() -> None:
    class Missing(NoEngine):
        def run(self, job: Any, folder: Any) -> Any:
            raise Macaulay2NotFound(("nowhere",))

    found = closure(TWISTED_CUBIC, engine=Missing())
    assert (found.complete, found.generator_degrees) == (False, {2: 3})
    assert "nowhere" in found.completeness


def test_what_does_not_apply_is_refused() -> None:
    with pytest.raises(InputError, match="strategy"):
        closure(TWISTED_CUBIC, strategy="magic")
    with pytest.raises(InputError, match="QQ"):
        closure(Parametrization.from_strings(["s"], ["s^2"], field="GF(7)"), strategy="interpolate")
    with pytest.raises(InputError, match="budget"):
        closure(TWISTED_CUBIC, budget_seconds=0)


# --- with Macaulay2 --------------------------------------------------------------------------------------

LAYERS = [(2, 1, 1, 2), (2, 2, 1, 2), (2, 2, 2, 2), (2, 3, 2, 2), (3, 1, 1, 2), (3, 1, 2, 2), (3, 1, 3, 2)]


@pytest.mark.macaulay2
@pytest.mark.parametrize("sizes", LAYERS, ids=str)
def test_the_chart_certificate_closes(sizes: tuple[int, int, int, int], warm: WarmEngine) -> None:
    layer = LightningAttention(*sizes)
    found = closure(layer.parametrization(), strategy="interpolate", engine=warm)
    assert (found.complete, found.evidence) == (True, Evidence.COMPUTED)
    assert (found.dim, found.degree) == (layer.dimension, layer.degree)
    assert "chart certificate" in found.completeness
    recorded = [r for r in ground_truth("lightning") if (r["d"], r["d_out"], r["a"], r["t"]) == sizes]
    degrees = {str(degree): count for degree, count in found.generator_degrees.items()}
    assert all(r["generator_degrees"] == degrees for r in recorded if r["status"] == "ok")


@pytest.mark.macaulay2
@pytest.mark.parametrize("sizes", [(2, 1, 1, 2), (2, 2, 2, 2), (3, 1, 1, 2)], ids=str)
def test_interpolation_and_elimination_give_the_same_ideal(sizes: tuple[int, int, int, int], warm: WarmEngine) -> None:
    map_ = LightningAttention(*sizes).parametrization()
    ideals = []
    for strategy in ("interpolate", "eliminate"):
        generators = closure(map_, strategy=strategy, engine=warm).generators
        basis = compute(ComputeGroebnerBasis(Ideal(map_.coordinate_ring, generators)), engine=warm)
        ideals.append(set(basis.generators))
    assert ideals[0] == ideals[1]


@pytest.mark.macaulay2
def test_missing_equations_are_not_called_complete(warm: WarmEngine) -> None:
    map_ = LightningAttention(3, 1, 1, 2).parametrization()
    generators = closure(map_, engine=warm).generators
    for left_out in (generators[-1], generators[len(generators) // 2]):
        some = tuple(g for g in generators if g != left_out)
        certificate = compute(ComputeCompleteness(map_, some), engine=warm)
        assert not certificate.complete
        by_kernel = compute(ComputeCompleteness(map_, some, method="kernel"), engine=warm)
        assert (by_kernel.complete, by_kernel.missing) == (False, "the kernel modulo the prime has further equations")
    assert compute(ComputeCompleteness(map_, generators, method="kernel"), engine=warm).complete


@pytest.mark.macaulay2
def test_an_embedded_component_is_seen_by_the_denominators(warm: WarmEngine) -> None:
    # Multiples of all equations by the last coordinate agree with the ideal wherever that is invertible: the
    # identities of the chart, multiplied by it, hold, but it is a zero divisor.
    map_ = LightningAttention(2, 1, 1, 2).parametrization()
    found = closure(map_, engine=warm)
    assert map_.chart is not None
    h = map_.chart.denominators[0]
    quadrics = [g for g in found.generators if sum(g.LM) == 2]
    weak_chart = Chart(map_.chart.denominators, tuple(h * f for f in map_.chart.identities), "test")
    weak = replace(map_, make_chart=lambda: weak_chart)
    certificate = compute(ComputeCompleteness(weak, tuple(h * g for g in quadrics)), engine=warm)
    assert (certificate.complete, certificate.missing) == (
        False,
        "1 denominators are zero divisors modulo the equations",
    )


@pytest.mark.macaulay2
def test_elimination_follows_where_interpolation_stays_open(warm: WarmEngine) -> None:
    found = closure(TWISTED_CUBIC, betti=True, engine=warm)
    assert (found.complete, found.degree, found.strategy, found.evidence) == (True, 3, "eliminate", Evidence.COMPUTED)
    assert found.betti == ((0, 0, 1), (1, 2, 3), (2, 3, 2))
    assert set(found.cpu_seconds) >= {"linear", "rank", "interpolate", "eliminate"}


@pytest.mark.macaulay2
def test_betti_numbers_of_a_certified_ideal(warm: WarmEngine) -> None:
    found = closure(LightningAttention(2, 2, 2, 2).parametrization(), betti=True, engine=warm)
    (record,) = [
        r
        for r in ground_truth("lightning")
        if (r["d"], r["d_out"], r["a"], r["t"], r["field"]) == (2, 2, 2, 2, "QQ") and r["parametrization"] == "A,V"
    ]
    assert found.strategy == "interpolate"
    assert found.betti is not None
    assert [list(entry) for entry in found.betti] == sorted(record["betti_reduced"])


@pytest.mark.macaulay2
def test_a_time_out_is_undecided() -> None:
    map_ = LightningAttention(3, 3, 3, 2).parametrization()
    with ScriptEngine() as engine, pytest.raises(TimedOut):
        closure(map_, strategy="eliminate", engine=engine, limits=Limits(time_seconds=2))


@pytest.mark.macaulay2
@pytest.mark.slow
def test_the_full_ideal_of_a_layer_with_36_coordinates(warm: WarmEngine) -> None:
    found = closure(LightningAttention(3, 2, 1, 2).parametrization(), engine=warm)
    assert (found.complete, found.dim, found.degree) == (True, 10, 756)
    assert found.generator_degrees == {1: 14, 2: 198, 3: 40, 4: 225}
