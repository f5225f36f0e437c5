"""Ranks of Jacobians by Macaulay2: recorded values, and the same ranks by python-flint."""

from __future__ import annotations

from fractions import Fraction

import pytest

from m2bridge import ComputeJacobianRank, Evidence, JacobianRank, LightningAttention, Parametrization
from m2bridge.errors import InputError
from m2bridge.exact import jacobian_rank_at
from tests.recorded import RESULTS, read_recorded
from tests.runs import run
from tests.tiny import INSTANCES, point


def test_recorded_result() -> None:
    ranks: JacobianRank = read_recorded(INSTANCES["jacobian_rank"], RESULTS / "jacobian_rank.json")
    assert ranks.ranks == (2, 0)
    assert ranks.points == (point(1, Fraction(-1, 2)), point(0, 0))
    assert ranks.evidence is Evidence.LOWER_BOUND
    assert ranks.to_dict() == {"points": [["1", "-1/2"], ["0", "0"]], "ranks": [2, 0]}


@pytest.mark.macaulay2
@pytest.mark.parametrize("sizes", [(2, 1, 1, 2), (2, 2, 2, 2), (2, 2, 1, 1), (3, 1, 2, 2)])
def test_same_ranks_as_exact_linear_algebra(sizes: tuple[int, int, int, int]) -> None:
    layer = LightningAttention(*sizes)
    map_ = layer.parametrization()
    points = tuple(layer.representative(orbit) for orbit in layer.orbits()) + tuple(
        map_.random_point(seed) for seed in (1, 2)
    )
    found = run(ComputeJacobianRank(map_, points))
    assert list(found.ranks) == [jacobian_rank_at(map_, point) for point in points]
    assert max(found.ranks) == layer.dimension


@pytest.mark.macaulay2
@pytest.mark.parametrize(
    ("parameters", "coordinates", "field", "point", "rank"),
    [
        ([], ["2", "3/7"], "QQ", [], 0),
        (["s"], ["5"], "QQ", [1], 0),
        (["s", "t"], ["s^2", "s*t", "t^2"], "GF(2)", [1, 1], 1),
        (["s", "t"], ["s", "s+t/10^17", "s^2"], "QQ", [1, 1], 2),
        (["s", "t"], ["s", "s+32003*t", "s^2"], "QQ", [1, 1], 2),
        (["s", "t"], ["s", "s+32003*t", "s^2"], "GF(32003)", [1, 1], 1),
    ],
)
def test_trap(parameters: list[str], coordinates: list[str], field: str, point: list[int], rank: int) -> None:
    map_ = Parametrization.from_strings(parameters, coordinates, field=field)
    assert run(ComputeJacobianRank(map_, (map_.point(point),))).ranks == (rank,)


def test_relations_are_refused() -> None:
    map_ = Parametrization.from_strings(["c", "s"], ["c"], relations=["c^2+s^2-1"])
    with pytest.raises(InputError, match="relations"):
        ComputeJacobianRank(map_, ())
