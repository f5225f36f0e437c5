"""Making certificates: what is refused, what is recovered, and the commands."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from m2bridge import DeepLightning, LightningAttention, Parametrization
from m2bridge.certificates import (
    certify_closure,
    certify_dimension,
    certify_fibre,
    certify_not_realizable,
    certify_realizable,
    certify_vanishing,
    recover_weights,
)
from m2bridge.cli import run_command_line as _run
from m2bridge.errors import Infeasible, InputError
from m2bridge.polynomials import parse_polynomial
from tests.data import ground_truth

Captured = pytest.CaptureFixture[str]
CUBIC = Parametrization.from_strings(
    ["s", "t"], ["s^3", "s^2*t", "s*t^2", "t^3"], coordinate_names=["x", "y", "z", "w"]
)

LAYERS = st.sampled_from(
    [(1, 1, 1, 2), (2, 1, 1, 2), (2, 2, 1, 2), (2, 1, 2, 2), (2, 2, 3, 2), (3, 2, 1, 2), (3, 2, 2, 3)]
)


@given(sizes=LAYERS, data=st.data())
@settings(max_examples=60, deadline=None)
def test_weights_are_recovered_from_coefficients(sizes: tuple[int, int, int, int], data: st.DataObject) -> None:
    layer = LightningAttention(*sizes)
    map_ = layer.parametrization()
    numbers = st.integers(-3, 3)
    weights = data.draw(st.lists(numbers, min_size=map_.n_parameters, max_size=map_.n_parameters))
    value = map_.image(map_.point(weights))
    found = recover_weights(layer, value)
    assert found
    assert all(map_.image(map_.point(other)) == value for other in found)
    assert len(found) <= 2
    assert certify_realizable(layer, value).check().exit_code == 0


def test_values_without_rational_weights_have_none() -> None:
    layer = LightningAttention(2, 1, 2, 2)
    value = [0] * layer.parametrization().n_coordinates
    # x1^2 + x2^2 is a product over the complex numbers only.
    names = layer.parametrization().coordinate_names
    value[names.index("y1111")] = value[names.index("y1221")] = 1
    assert recover_weights(layer, value) == []
    with pytest.raises(Infeasible, match="no rational weights"):
        certify_realizable(layer, value)


@pytest.mark.parametrize(
    "record",
    [r for r in ground_truth("deep_lightning_jacobian") if max(r["dims"]) <= 3 and len(r["dims"]) <= 4][::9],
    ids=lambda r: f"{r['dims']}-{r['a']}-{r['t']}",
)
def test_certified_dimensions_are_the_recorded_ones(record: dict[str, Any]) -> None:
    network = DeepLightning(tuple(record["dims"]), tuple(record["a"]), record["t"])
    try:
        made = certify_dimension(network)
    except Infeasible:
        # The package's own bounds do not meet either.
        assert network.dimension_upper_bound > record["jacobian_rank"]
        return
    assert made.check().exit_code == 0
    assert made.claim["dimension"] == record["jacobian_rank"]


def test_what_is_false_is_not_certified() -> None:
    with pytest.raises(InputError, match="polynomial 1 does not vanish"):
        certify_vanishing(CUBIC, [parse_polynomial(f, CUBIC.coordinate_ring) for f in ("y^2-x*z", "x")])
    with pytest.raises(InputError, match="another value"):
        certify_realizable(CUBIC, [1, 2, 3, 4], [1, 1])
    with pytest.raises(Infeasible, match="vanish there"):
        certify_not_realizable(CUBIC, [8, 12, 18, 27])
    with pytest.raises(InputError, match="has 3 entries"):
        certify_not_realizable(CUBIC, [1, 2, 3])
    with pytest.raises(InputError, match="over QQ"):
        certify_dimension(Parametrization.from_strings(["s"], ["s"], field="GF(7)"))
    with pytest.raises(InputError, match="relations"):
        certify_dimension(Parametrization.from_strings(["s", "t"], ["s"], relations=["s^2+t^2-1"]))
    with pytest.raises(InputError, match="18 weights"):
        certify_fibre(DeepLightning((2, 2, 1), (2, 1), 2), [1], [1])


@pytest.mark.macaulay2
def test_a_closure_that_is_not_complete_is_not_certified() -> None:
    with pytest.raises(Infeasible, match="not known to be complete"):
        certify_closure(LightningAttention(3, 2, 2, 2), budget_seconds=0.5)


def test_any_names_are_good() -> None:
    map_ = Parametrization.from_strings(["ψ", "ideal", "x_1"], ["ψ*ideal", "x_1*ψ"], coordinate_names=["π", "gb"])
    assert certify_dimension(map_).check(pure=True).exit_code == 0


# --- the commands ----------------------------------------------------------------------------------------

LAYER = ["lightning", "--d", "2", "--d-out", "2", "--a", "2", "--t", "2"]


@pytest.mark.macaulay2
@pytest.mark.parametrize(
    ("question", "line"),
    [
        (["dimension", *LAYER], "accepted: dimension"),
        (["dimension", "lightning", "--widths", "2,1,2", "--ranks", "1,2", "--t", "2"], "accepted: dimension"),
        (["vanishing", *LAYER], "accepted: vanishing"),
        (["vanishing", *LAYER, "--max-degree", "1"], "accepted: vanishing"),
        (["closure", *LAYER], "accepted: closure"),
        (["point", *LAYER, "--orbit", "1,1,0"], "accepted: singular"),
        (["point", *LAYER], "accepted: smooth"),
        (["fibre", *LAYER, "--at", ",".join(["1"] * 12), "--other", ",".join(["2"] * 12)], "accepted: fibre"),
        (["not-realizable", *LAYER, "--value", ",".join(map(str, range(16)))], "accepted: not-realizable"),
        (["realizable", *LAYER, "--value", ",".join(["0"] * 16)], "accepted: realizable"),
        (["groebner", "--ideal", "ideal.json"], "accepted: groebner"),
        (["membership", "--ideal", "ideal.json", "--polynomial", "y^3-1"], "accepted: membership"),
        (["membership", "--ideal", "ideal.json", "--polynomial", "y"], "accepted: non-membership"),
    ],
    ids=lambda x: "-".join(x[:1]) if isinstance(x, list) else None,
)
def test_certify_writes_what_check_accepts(
    question: list[str], line: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ideal = {"field": "QQ", "variables": ["x", "y"], "generators": ["x^2-y", "x*y-1"], "order": "grevlex"}
    (tmp_path / "ideal.json").write_text(json.dumps(ideal))
    assert _run(["certify", *question, "-o", "new/c.json"]) == 0
    assert capsys.readouterr().out.splitlines() == [line, "written to new/c.json"]
    for more in ([], ["--pure"]):
        assert _run(["check", "new/c.json", *more]) == 0
        assert capsys.readouterr().out.splitlines()[0] == line


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (["dimension"], "no model"),
        (["fibre", *LAYER, "--at", "1"], "needs --at and --other"),
        (["realizable", *LAYER], "needs --value"),
        (["realizable", *LAYER, "--value", "1,2"], "2 entries"),
        (["groebner", *LAYER], "give --ideal"),
        (["membership", "--ideal", "ideal.json"], "one --polynomial"),
        (["truth", *LAYER], "is not one of"),
        (["vanishing", *LAYER, "--polynomial", "y1111"], "does not vanish"),
    ],
)
def test_certify_refuses(
    question: list[str], message: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ideal = {"field": "QQ", "variables": ["x"], "generators": ["x"], "order": "grevlex"}
    (tmp_path / "ideal.json").write_text(json.dumps(ideal))
    assert _run(["certify", *question, "-o", "c.json"]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "c.json").exists()


def test_check_says_what_is_wrong(tmp_path: Path, capsys: Captured) -> None:
    made = certify_dimension(CUBIC)
    text = made.to_json().replace('"dimension": 2', '"dimension": 3')
    (tmp_path / "c.json").write_text(text)
    assert _run(["check", str(tmp_path / "c.json")]) == 1
    assert capsys.readouterr().out.startswith("rejected: the claim: no step shows that the dimension is at least this")
    (tmp_path / "c.json").write_text("{}")
    assert _run(["check", str(tmp_path / "c.json")]) == 2
    assert capsys.readouterr().out.startswith("malformed")
    assert _run(["check", str(tmp_path / "missing.json")]) == 2


def test_exact_fractions_survive() -> None:
    value = [Fraction(1, 27), Fraction(1, 18), Fraction(1, 12), Fraction(1, 8)]
    made = certify_realizable(CUBIC, value, [Fraction(1, 3), Fraction(1, 2)])
    assert made.claim["value"] == ["1/27", "1/18", "1/12", "1/8"]
    assert made.check(pure=True).exit_code == 0
