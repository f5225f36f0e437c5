"""Tangent spaces of closures: recorded values, classical singular curves and surfaces, points off the closure."""

from __future__ import annotations

import pytest

from m2bridge import ComputeTangentSpace, ComputeZariskiClosure, Evidence, Parametrization, TangentSpaces
from m2bridge.errors import InputError, PointError
from tests.recorded import RESULTS, read_recorded
from tests.runs import run
from tests.tiny import INSTANCES, NODE, point


def test_recorded_result() -> None:
    spaces: TangentSpaces = read_recorded(INSTANCES["tangent_space"], RESULTS / "tangent_space.json")
    assert [space.dim for space in spaces.spaces] == [2, 1, 1]
    assert [space.singular for space in spaces.spaces] == [True, False, False]
    assert [space.parametrization_rank for space in spaces.spaces] == [1, 1, None]
    assert [space.point for space in spaces.spaces] == [point(0, 0), point(3, 6), point(3, -6)]
    assert spaces.spaces[2].weights is None
    assert spaces.evidence is Evidence.COMPUTED
    document = spaces.to_dict()
    assert (document["dim"], document["variety_dim"], document["singular"]) == (2, 1, True)
    assert len(document["points"]) == 3


# parameters, coordinates, field, weights, tangent dimension, dimension
POINTS = {
    "cusp": (["s"], ["s^2", "s^3"], "QQ", [0], 2, 1),
    "cusp-elsewhere": (["s"], ["s^2", "s^3"], "QQ", [1], 1, 1),
    "whitney-umbrella": (["s", "t"], ["s*t", "s", "t^2"], "QQ", [0, 1], 3, 2),
    "whitney-elsewhere": (["s", "t"], ["s*t", "s", "t^2"], "QQ", [1, 1], 2, 2),
    "cone": (["s", "t"], ["s^2", "s*t", "t^2"], "QQ", [0, 0], 3, 2),
    "cone-modulo-two": (["s", "t"], ["s^2", "s*t", "t^2"], "GF(2)", [1, 1], 2, 2),
    "duplicates": (["s"], ["s^2", "s^2", "s^3", "5"], "QQ", [0], 2, 1),
    "dominant": (["s", "t"], ["s^2", "t"], "QQ", [0, 0], 2, 2),
    "constant": (["s"], ["3", "1/2"], "QQ", [4], 0, 0),
    "constant-without-parameters": ([], ["3", "1/2"], "QQ", [], 0, 0),
    "zero": (["s"], ["0", "0"], "QQ", [1], 0, 0),
}


@pytest.mark.macaulay2
@pytest.mark.parametrize("case", POINTS)
def test_classical_point(case: str) -> None:
    parameters, coordinates, field, weights, tangent_dim, dim = POINTS[case]
    map_ = Parametrization.from_strings(parameters, coordinates, field=field)
    (space,) = run(ComputeTangentSpace(map_, weights=(map_.point(weights),))).spaces
    assert (space.dim, space.variety_dim) == (tangent_dim, dim)
    assert space.singular == (tangent_dim > dim)
    assert space.parametrization_rank is not None
    assert space.parametrization_rank <= space.dim


@pytest.mark.macaulay2
def test_equations_may_be_given() -> None:
    closure = run(ComputeZariskiClosure(NODE))
    given = ComputeTangentSpace(NODE, weights=(point(1), point(2)), equations=closure.generators)
    assert "kernel" not in given.script()
    assert [space.dim for space in run(given).spaces] == [2, 1]


@pytest.mark.macaulay2
def test_point_off_the_closure_is_refused() -> None:
    with pytest.raises(PointError, match="point 1: the point is not on the closure"):
        run(ComputeTangentSpace(NODE, points=(point(1, 1),)))


def test_point_off_a_linear_equation_is_refused_before_any_run() -> None:
    map_ = Parametrization.from_strings(["s"], ["s", "2*s", "7"])
    with pytest.raises(PointError, match="linear equation"):
        ComputeTangentSpace(map_, points=(point(1, 2, 8),))


def test_relations_are_refused() -> None:
    map_ = Parametrization.from_strings(["c", "s"], ["c"], relations=["c^2+s^2-1"])
    with pytest.raises(InputError, match="relations"):
        ComputeTangentSpace(map_)
