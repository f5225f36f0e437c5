"""Completeness of equations: recorded values, complete and incomplete lists, by chart and by kernel."""

from __future__ import annotations

import pytest

from m2bridge import Evidence, LightningAttention, Parametrization
from m2bridge.errors import InputError
from m2bridge.operations import Completeness, ComputeCompleteness
from tests.recorded import RESULTS, read_recorded
from tests.runs import lightning_closure, lightning_map, polynomials, run
from tests.tiny import CUBIC, INSTANCES, LAYER, QUADRICS


def test_recorded_result() -> None:
    found: Completeness = read_recorded(INSTANCES["completeness"], RESULTS / "completeness.json")
    assert (found.complete, found.method, found.missing) == (True, "chart", "")
    assert (found.dim, found.degree, found.prime) == (4, 3, 32003)
    assert found.evidence is Evidence.COMPUTED
    assert found.provenance.field == "GF(32003)"


@pytest.mark.macaulay2
@pytest.mark.parametrize(
    ("texts", "complete", "dim", "degree"),
    [
        (["y0*y2-y1^2", "y1*y3-y2^2", "y0*y3-y1*y2"], True, 2, 3),
        (["y0*y2-y1^2", "y1*y3-y2^2"], False, 2, 4),
        (["y0*y3-y1*y2"], False, 3, 2),
        ([], False, 4, 1),
    ],
    ids=["all", "with-a-line", "a-quadric", "none"],
)
def test_equations_of_the_twisted_cubic(texts: list[str], complete: bool, dim: int, degree: int) -> None:
    equations = tuple(polynomials(texts, CUBIC.coordinate_ring))
    found = run(ComputeCompleteness(CUBIC, equations, method="kernel"))
    assert (found.complete, found.dim, found.degree) == (complete, dim, degree)
    assert bool(found.missing) != complete


@pytest.mark.macaulay2
@pytest.mark.parametrize("method", ["chart", "kernel"])
@pytest.mark.parametrize("left_out", [0, 1, 2])
def test_one_quadric_less_is_not_enough(method: str, left_out: int) -> None:
    fewer = tuple(f for i, f in enumerate(QUADRICS) if i != left_out)
    found = run(ComputeCompleteness(LAYER.parametrization(), fewer, method=method))
    assert not found.complete
    assert found.missing


@pytest.mark.macaulay2
@pytest.mark.parametrize("sizes", [(2, 1, 2, 2), (2, 2, 1, 2), (2, 2, 2, 2)])
def test_elimination_is_confirmed(sizes: tuple[int, int, int, int]) -> None:
    closure, layer, map_ = lightning_closure(*sizes), LightningAttention(*sizes), lightning_map(*sizes)
    found = run(ComputeCompleteness(map_, closure.generators, method="kernel"))
    assert (found.complete, found.dim, found.degree) == (True, layer.dimension, layer.degree)
    if map_.chart is not None and map_.chart.base is None:
        assert run(ComputeCompleteness(map_, closure.generators)).complete


def test_a_chart_is_needed() -> None:
    with pytest.raises(InputError, match="no chart"):
        ComputeCompleteness(CUBIC, ())


def test_the_prime_must_not_divide_a_denominator() -> None:
    map_ = Parametrization.from_strings(["s", "t"], ["s/32003", "t"])
    with pytest.raises(InputError, match="no value in GF"):
        ComputeCompleteness(map_, (), method="kernel").script()
