"""Singular strata by orbits: against Macaulay2's tangent dimensions, and the corrected statement."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from m2bridge import Evidence, LightningAttention, Orbit, Parametrization, WarmEngine
from m2bridge.closure import closure
from m2bridge.strata import count_minors, decide_strata, orbit_strata, point_strata, strata_dimension
from tests.data import ground_truth


@pytest.mark.parametrize("sizes", sorted({(r["d"], r["d_out"]) for r in ground_truth("tangent_dimension_lower_bound")}))
def test_lower_bounds_are_the_recorded_ones(sizes: tuple[int, int]) -> None:
    for record in ground_truth("tangent_dimension_lower_bound"):
        if (record["d"], record["d_out"]) == sizes:
            layer = LightningAttention(*sizes, record["a"], record["t"])
            orbit = Orbit(record["rk_A"], record["rk_V"], record["dim_intersection"])
            assert layer.tangent_lower_bound(orbit) == record["tangent_dim_at_least"], (layer, orbit)


@pytest.mark.parametrize("sizes", list(product(range(1, 5), range(1, 4), range(1, 5))), ids=str)
def test_proved_singular_orbits_are_those_of_the_corrected_statement(sizes: tuple[int, int, int]) -> None:
    layer = LightningAttention(*sizes, t=2)
    for stratum in orbit_strata(layer):
        # Without equations a point is never called smooth.
        assert stratum.singular in (True, None)
        if stratum.singular:
            assert stratum.expected_singular
            assert stratum.evidence is Evidence.PROVED
        # The bound is not sharp where A and V share their line and a = d' = 1.
        elif stratum.expected_singular:
            assert (layer.a, layer.d_out, stratum.orbit) == (1, 1, Orbit(1, 1, 1))


def test_the_published_statement_fails_first_at_322() -> None:
    layer = LightningAttention(3, 2, 2, 2)
    strata = {str(s.orbit): s for s in orbit_strata(layer)}
    stratum = strata["(1,2,0)"]
    assert (stratum.lower, stratum.variety_dim, stratum.singular, stratum.published_singular) == (14, 13, True, False)


@pytest.mark.slow
def test_both_bounds_meet_there() -> None:
    layer = LightningAttention(3, 2, 2, 2)
    found = closure(layer.parametrization(), strategy="interpolate", max_degree=4, budget_seconds=60)
    strata = {str(s.orbit): s for s in orbit_strata(layer, found)}
    assert (strata["(1,2,0)"].lower, strata["(1,2,0)"].upper) == (14, 14)
    assert all(strata[name].singular is False for name in ("(2,1,0)", "(2,1,1)", "(2,2,1)", "(2,2,2)"))


@pytest.mark.macaulay2
@pytest.mark.parametrize(
    "sizes",
    sorted({(r["d"], r["d_out"], r["a"], r["t"]) for r in ground_truth("tangent_dimension")}),
    ids=str,
)
def test_tangent_dimensions_are_those_of_macaulay2(sizes: tuple[int, int, int, int], warm: WarmEngine) -> None:
    layer = LightningAttention(*sizes)
    found = closure(layer.parametrization(), engine=warm)
    strata = {stratum.orbit: stratum for stratum in orbit_strata(layer, found)}
    for record in ground_truth("tangent_dimension"):
        if (record["d"], record["d_out"], record["a"], record["t"]) != sizes:
            continue
        orbit = Orbit(record["rk_A"], record["rk_V"], record["dim_intersection"])
        stratum = strata[Orbit(0, 0, 0) if orbit.is_zero else orbit]
        assert (stratum.dim, stratum.singular) == (record["tangent_dim"], record["singular"]), (layer, orbit)
        assert stratum.lower <= record["tangent_dim"]


@pytest.mark.parametrize(
    ("sizes", "dim"), [((2, 2, 2, 2), 5), ((3, 2, 2, 2), 10), ((3, 3, 1, 2), 9), ((4, 1, 2, 2), 10)], ids=str
)
def test_bounds_decide_strata_without_the_proof_that_the_equations_are_all(
    sizes: tuple[int, int, int, int], dim: int
) -> None:
    layer = LightningAttention(*sizes)
    strata, found = decide_strata(layer)
    assert not found.complete
    assert strata_dimension(strata) == dim
    for stratum in strata:
        assert (stratum.singular, stratum.evidence) == (stratum.expected_singular, Evidence.PROVED)


@pytest.mark.macaulay2
def test_the_proof_is_asked_for_where_the_bounds_do_not_meet(warm: WarmEngine) -> None:
    strata, found = decide_strata(LightningAttention(3, 1, 1, 2), engine=warm)
    assert found.complete
    assert [stratum.singular for stratum in strata] == [True, False, True]


@pytest.mark.parametrize(
    "limit", [{"max_degree": 2}, {"strategy": "linear"}, {"strategy": "interpolate", "max_degree": 3}]
)
def test_strata_that_the_options_leave_open(limit: dict[str, Any]) -> None:
    strata, _ = decide_strata(LightningAttention(3, 2, 2, 2), budget_seconds=1, **limit)
    assert None in [stratum.singular for stratum in strata]
    assert strata_dimension(strata) is None


@pytest.mark.macaulay2
@pytest.mark.parametrize(
    "record", ground_truth("singular_locus"), ids=lambda r: f"{r['d']}{r['d_out']}{r['a']}{r['t']}"
)
def test_the_dimension_of_the_singular_locus(record: dict[str, Any], warm: WarmEngine) -> None:
    layer = LightningAttention(record["d"], record["d_out"], record["a"], record["t"])
    if layer.t >= 2:
        found = closure(layer.parametrization(), engine=warm)
        assert strata_dimension(orbit_strata(layer, found)) == record["dim"]


def test_the_number_of_minors() -> None:
    cubic = Parametrization.from_strings(["s", "t"], ["s^3", "s^2*t", "s*t^2", "t^3"])
    found = closure(cubic, strategy="interpolate")
    assert count_minors(cubic, found) == 3 * 6


def test_points_of_a_map_without_a_group() -> None:
    cone = Parametrization.from_strings(["s", "t"], ["s^2", "s*t", "t^2"])
    found = closure(cone)
    apex, other = point_strata(cone, found, [("apex", [0, 0]), ("other", [1, 2])])  # type: ignore[list-item]
    assert (apex.dim, apex.singular, other.dim, other.singular) == (3, True, 2, False)
