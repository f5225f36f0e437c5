"""Public problems with known answers (``data/cases``), compared as ideals, never as text."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import sympy

from m2bridge import (
    ComputeFibre,
    ComputeGroebnerBasis,
    ComputeJacobianRank,
    ComputeZariskiClosure,
    DeepLightning,
    Ideal,
    LightningAttention,
    Parametrization,
    read_map,
)
from m2bridge.cli import run_command_line as _run
from m2bridge.dimension import dimension
from m2bridge.errors import ExponentTooLarge, InputError, PolynomialError, UnsupportedField
from m2bridge.exact import generic_rank_samples, jacobian_rank_at
from m2bridge.fields import to_fraction
from m2bridge.polynomials import make_ring, to_text
from tests.data import case, cases
from tests.runs import polynomials, run, same_ideal

REFUSED = {"c06", "c08", "c14"}
"""Ideals of maps that are not polynomial over QQ or GF(p): not supported, and refused."""

SLOW = {"s06", "t07", "L05", "L09"}
MAP_KEYS = ("field", "parameters", "coordinates", "coordinate_names", "relations", "points")


def _map_file(name: str, folder: Path) -> Path:
    input_ = dict(case(name)["input"])
    if "rule" in input_:
        rule = "+".join(
            f"{7 ** (340 + i + 2 * j + 3 * k) + 1}*s^{i}*t^{j}*u^{k}"
            for i in range(13)
            for j in range(13 - i)
            for k in range(13 - i - j)
        )
        input_["coordinates"] = [rule if text == "RULE" else text for text in input_["coordinates"]]
    path = folder / f"{name}.json"
    path.write_text(json.dumps({k: v for k, v in input_.items() if k in MAP_KEYS}), encoding="utf-8")
    return path


def _map(name: str, folder: Path) -> Parametrization:
    return read_map(_map_file(name, folder))


def _has_map(name: str) -> bool:
    return "coordinates" in case(name)["input"]


def _ideal_cases() -> list[Any]:
    names = [n for n in cases("ideal", "dimension", "numeric") if _has_map(n) and n not in REFUSED]
    names = [n for n in names if "degree" in case(n)["expected"]]
    return [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in names]


@pytest.mark.macaulay2
@pytest.mark.parametrize("name", _ideal_cases())
def test_ideal(name: str, tmp_path: Path) -> None:
    expected = case(name)["expected"]
    map_ = _map(name, tmp_path)
    closure = run(ComputeZariskiClosure(map_), seconds=300)
    assert closure.dim == expected["affine_dim"]
    assert closure.degree == expected["degree"]
    assert {str(k): v for k, v in closure.generator_degrees.items()} == expected["min_generator_degrees"]
    if "ideal_generators" in expected:
        ring = map_.coordinate_ring
        assert same_ideal(closure.generators, polynomials(expected["ideal_generators"], ring), ring)
    if "terms" in expected:
        assert [len(g) for g in closure.generators] == [expected["terms"]]


def _dimension_cases() -> list[Any]:
    names = [n for n in cases("ideal", "dimension", "point_rank", "numeric", "larger") if _has_map(n)]
    names = [n for n in names if n not in REFUSED and "relations" not in case(n)["input"]]
    return [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in names]


@pytest.mark.macaulay2
@pytest.mark.parametrize("name", _dimension_cases())
def test_dimension(name: str, tmp_path: Path) -> None:
    expected = case(name)["expected"]
    report = dimension(_map(name, tmp_path))
    assert report.exact == expected["affine_dim"]
    assert report.lower <= expected["affine_dim"]
    assert report.upper is not None
    assert report.upper >= expected["affine_dim"]


@pytest.mark.macaulay2
@pytest.mark.parametrize("name", cases("point_rank"))
def test_rank_at_named_points(name: str, tmp_path: Path) -> None:
    map_ = _map(name, tmp_path)
    ranks = case(name)["expected"]["ranks"]
    points = {label: map_.named_point(label) for label in map_.points}
    assert {label: jacobian_rank_at(map_, point) for label, point in points.items()} == ranks
    assert run(ComputeJacobianRank(map_, tuple(points.values()))).ranks == tuple(ranks.values())


def test_rank_at_a_named_point_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _map_file("n11", tmp_path)
    for label, rank in case("n11")["expected"]["ranks"].items():
        assert _run(["dimension", "--map", str(file), "--at", label, "--json"]) == 0
        result = json.loads(capsys.readouterr().out)["result"]
        assert (result["exact"], result["rank_at_point"]) == (7, rank)


KINDS = {
    "b05": (InputError, "the name 'a' is given twice"),
    "b10": (UnsupportedField, "ZZ is not a field"),
    "b11": (ExponentTooLarge, "too large"),
    "c06": (PolynomialError, "divides by"),
    "c08": (UnsupportedField, "is not supported"),
    "c14": (PolynomialError, "divides by|not a polynomial"),
}


@pytest.mark.parametrize("name", sorted({*cases("refuse"), *REFUSED}))
def test_refusal(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = _map_file(name, tmp_path)
    kind, message = KINDS[name]
    start = time.monotonic()
    with pytest.raises(kind, match=message):
        read_map(file)
    # Without Macaulay2 the answer is the same: it is not started.
    monkeypatch.setenv("M2BRIDGE_M2", "/nonexistent/M2")
    for question in ("closure", "dimension", "study"):
        assert _run([question, "--map", str(file)]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.count("\n") == 1
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("row", case("n08")["expected"]["rows"], ids=str)
def test_table_of_single_layers(row: list[int]) -> None:
    d, a, d_out, dim = row
    assert LightningAttention(d, d_out, a, 3).dimension == dim
    layer = LightningAttention(d, d_out, a, 2)
    samples = generic_rank_samples(layer.parametrization(), samples=1)
    assert layer.dimension == dim == samples[0].rank


def _polynomial_network(widths: list[int], r: int) -> Parametrization:
    """Return the map from weights to coefficients of x -> W_l (... (W_1 x)^r ...)^r."""
    names = [f"w{layer}_{i}_{j}" for layer, (n, m) in enumerate(pairwise(widths)) for i in range(m) for j in range(n)]
    ring, *generators = sympy.ring([*names, *(f"x{j}" for j in range(widths[0]))], sympy.QQ)
    weights, values = iter(generators), generators[len(names) :]
    for layer, (n, m) in enumerate(pairwise(widths)):
        powers = [value**r for value in values] if layer else values
        W = [[next(weights) for _ in range(n)] for _ in range(m)]
        values = [sum((w * v for w, v in zip(row, powers, strict=True)), ring.zero) for row in W]
    # One coordinate for each monomial in x of each output.
    target = make_ring(names, sympy.QQ)
    coordinates: dict[tuple[int, tuple[int, ...]], dict[tuple[int, ...], Any]] = {}
    for output, value in enumerate(values):
        for monomial, coefficient in value.items():
            terms = coordinates.setdefault((output, monomial[len(names) :]), {})
            terms[monomial[: len(names)]] = coefficient
    polynomials_ = tuple(target.from_dict(terms) for _, terms in sorted(coordinates.items()))
    return Parametrization(target, polynomials_, tuple(f"c{k}" for k in range(len(polynomials_))))


@pytest.mark.parametrize("row", case("p06")["expected"]["rows"], ids=str)
def test_polynomial_networks(row: list[Any]) -> None:
    widths, r, dim = row
    assert dimension(_polynomial_network(widths, r)).exact == dim


@pytest.mark.macaulay2
def test_resultant_by_elimination() -> None:
    input_, expected = case("c16")["input"], case("c16")["expected"]
    ideal = Ideal.from_strings(input_["parameters"] + input_["keep"], input_["relations"], field=input_["field"])
    k = len(input_["parameters"])
    basis = run(ComputeGroebnerBasis(ideal, order=f"elim:{k}"))
    free = [g.set_ring(ideal.ring) for g in basis.generators if not any(any(m[:k]) for m in g)]
    assert same_ideal(free, polynomials(expected["ideal_generators"], ideal.ring), ideal.ring)


@pytest.mark.macaulay2
def test_swap_symmetry(tmp_path: Path) -> None:
    input_, expected = case("n12")["input"], case("n12")["expected"]
    map_ = _map("n12", tmp_path)
    first, second = (map_.point(input_[key]) for key in ("weights_1", "weights_2"))
    assert [to_fraction(y) for y in map_.image(first)] == expected["common_value"]
    assert map_.image(first) == map_.image(second)
    assert run(ComputeFibre(map_, point=map_.random_point(1))).dim == expected["generic_fibre_dim"]


def test_too_few_random_inputs() -> None:
    # Five inputs give 60 rows, below the dimension 61: the product takes enough of them.
    network = DeepLightning((4, 4, 4, 4), (4, 4, 4), 3)
    assert network.native_rank().rank == case("n10")["expected"]["affine_dim"]


@pytest.mark.macaulay2
def test_closure_of_a_case_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(["closure", "--map", str(_map_file("b03", tmp_path)), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["result"]
    assert result["generators"] == ["ν^2-μ*ξ"]
    assert _run(["closure", "--map", str(_map_file("b01", tmp_path))]) == 0
    assert "map^2-use*R" in capsys.readouterr().out


@pytest.mark.macaulay2
def test_constant_map_is_right_where_macaulay2_is_wrong(tmp_path: Path) -> None:
    # Macaulay2 issue 2004: its kernel into a ring without variables is zero.
    operation = ComputeZariskiClosure(_map("b06", tmp_path))
    assert "kernel map" not in operation.script()
    assert [to_text(g) for g in run(operation).generators] == ["y0-2", "7*y1-3"]
