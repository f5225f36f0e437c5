"""Every verified value for single lightning layers that the product computes, by the product itself."""

from __future__ import annotations

import json

import pytest

from m2bridge import ComputeFibre, ComputeSingularLocus, ComputeTangentSpace, LightningAttention, Orbit
from m2bridge.cli import run_command_line as _run
from m2bridge.dimension import dimension
from m2bridge.exact import linear_reduction
from tests.data import Record, by_instance, ground_truth, sizes
from tests.runs import lightning_closure, lightning_map, run

CLOSURES = {name: [r for r in records if r["status"] == "ok"] for name, records in by_instance("lightning").items()}
CLOSURES = {name: records for name, records in CLOSURES.items() if records}
BETTI = {name for name, records in CLOSURES.items() if "betti_reduced" in records[0]}
"""Instances with recorded Betti numbers; resolutions of the others are out of reach."""

SLOW = {"3-1-1-1-GF(32003)", "2-3-1-2-QQ", "2-3-1-2-GF(32003)"}
"""Instances above ten seconds, or of the same kind as others."""


def _closure_parameters() -> list[object]:
    # d = 1 gives linear spaces: one field is enough in the quick suite.
    return [
        pytest.param(name, marks=pytest.mark.slow if name in SLOW or (name[0] == "1" and "GF" in name) else ())
        for name in CLOSURES
    ]


@pytest.mark.macaulay2
@pytest.mark.parametrize("name", _closure_parameters())
def test_closure(name: str) -> None:
    records = CLOSURES[name]
    first = records[0]
    d, d_out, a, t = sizes(first)
    field = name.rpartition("-")[2]
    betti = name in BETTI
    closure = lightning_closure(d, d_out, a, t, field, betti=betti)
    for record in records:
        assert closure.dim == record["dim"]
        assert closure.degree == record["degree"]
        assert closure.codim == record["codim"]
        assert {str(k): v for k, v in closure.generator_degrees.items()} == record["generator_degrees"]
        assert closure.n_coordinates == record["n_coords"]
        assert closure.n_independent == record["n_independent_coords"]
        if betti:
            assert closure.betti is not None
            assert sorted(map(list, closure.betti)) == sorted(record["betti_reduced"])
    layer = LightningAttention(d, d_out, a, t)
    assert (closure.dim, closure.degree) == (layer.dimension, layer.degree)


@pytest.mark.macaulay2
@pytest.mark.parametrize("name", by_instance("tangent_dimension"))
def test_tangent_dimension(name: str) -> None:
    records = by_instance("tangent_dimension")[name]
    d, d_out, a, t = sizes(records[0])
    layer, map_ = LightningAttention(d, d_out, a, t), lightning_map(d, d_out, a, t)
    equations = lightning_closure(d, d_out, a, t, betti=name in BETTI).generators
    orbits = [Orbit(r["rk_A"], r["rk_V"], r["dim_intersection"]) for r in records]
    weights = tuple(layer.representative(orbit) for orbit in orbits)
    spaces = run(ComputeTangentSpace(map_, weights=weights, equations=equations)).spaces
    for record, orbit, space in zip(records, orbits, spaces, strict=True):
        assert (space.dim, space.variety_dim) == (record["tangent_dim"], record["dim"]), str(orbit)
        assert space.singular == record["singular"], str(orbit)
        assert layer.is_singular(orbit) in (None, record["singular"]), str(orbit)
        assert record["n_coords"] in (map_.n_coordinates, len(linear_reduction(map_).kept))


def _fibre_name(record: Record) -> str:
    return "{}-{}-{}-{}".format(*sizes(record)) + "-({rk_A},{rk_V},{dim_intersection})".format(**record)


@pytest.mark.macaulay2
@pytest.mark.parametrize("record", ground_truth("fibre"), ids=_fibre_name)
def test_fibre(record: Record) -> None:
    layer = LightningAttention(*sizes(record))
    orbit = Orbit(record["rk_A"], record["rk_V"], record["dim_intersection"])
    fibre = run(ComputeFibre(layer.parametrization("AV"), point=layer.representative(orbit, "AV")))
    assert (fibre.dim, fibre.degree, fibre.reduced) == (record["dim"], record["degree"], record["reduced"])
    assert sorted([c.dim, c.degree] for c in fibre.components) == sorted(record["components_dim_degree"])


@pytest.mark.macaulay2
@pytest.mark.parametrize("record", ground_truth("singular_locus"), ids=lambda r: "{}-{}-{}-{}".format(*sizes(r)))
def test_singular_locus(record: Record) -> None:
    map_ = lightning_map(*sizes(record))
    locus = run(ComputeSingularLocus(map_))
    assert (locus.dim, locus.degree) == (record["dim"], record["reduced_degree"])


def _is_small(record: Record) -> bool:
    return bool(record["d"] <= 3 and record["t"] <= 3 and record["d_out"] <= 2)


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(r, marks=() if _is_small(r) else pytest.mark.slow, id="{}-{}-{}-{}".format(*sizes(r)))
        for r in ground_truth("lightning_jacobian")
    ],
)
def test_jacobian_rank(record: Record) -> None:
    layer = LightningAttention(*sizes(record))
    report = dimension(layer.parametrization())
    assert report.exact == record["jacobian_rank"]
    assert report.formula == layer.dimension == record["jacobian_rank"]
    assert report.agree in (True, None)


@pytest.mark.macaulay2
@pytest.mark.parametrize("name", ["1-2-1-2-QQ", "2-1-1-3-QQ", "2-1-2-2-GF(32003)", "2-2-1-1-GF(32003)"])
def test_closure_on_the_command_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    record = CLOSURES[name][0]
    d, d_out, a, t = sizes(record)
    layer = ["lightning", "--d", f"{d}", "--d-out", f"{d_out}", "--a", f"{a}", "--t", f"{t}"]
    assert _run(["closure", *layer, "--field", name.rpartition("-")[2], "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["result"]
    for key in ("dim", "degree", "codim", "generator_degrees"):
        assert result[key] == record[key]


@pytest.mark.macaulay2
def test_tangent_spaces_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    layer = ["lightning", "--d", "2", "--d-out", "1", "--a", "2", "--t", "2"]
    assert _run(["tangent", *layer, "--orbit", "all", "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["result"]["points"]
    assert [point["dim"] for point in points] == [6, 6, 6, 5]
    assert [point["singular"] for point in points] == [True, True, True, False]


def test_deep_dimension_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = [r for r in ground_truth("deep_lightning_jacobian") if r["bottleneck"]][::40]
    assert len(chosen) > 5
    for record in chosen:
        widths, ranks = (",".join(map(str, record[key])) for key in ("dims", "a"))
        code = _run(["dimension", "lightning", "--widths", widths, "--ranks", ranks, "--t", f"{record['t']}", "--json"])
        result = json.loads(capsys.readouterr().out)["result"]
        assert code == 0
        assert result["exact"] == result["virtual"] == record["jacobian_rank"]
