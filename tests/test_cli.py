"""The command line: answers, exit codes, JSON documents against the published schema, scripts, interruption."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from m2bridge import LightningAttention
from m2bridge.cli import run_command_line as _run
from m2bridge.macaulay2 import find_macaulay2
from tests.data import SCHEMA, case

ROOT = Path(__file__).parent.parent
LAYER = ["lightning", "--d", "2", "--d-out", "1", "--a", "1", "--t", "2"]
DEEP = ["lightning", "--widths", "2,2,2", "--ranks", "1,2", "--t", "2"]
NOWHERE = "/nonexistent/M2"

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Map and ideal files, by name."""
    contents: dict[str, Any] = {
        "conic": {"field": "QQ", "parameters": ["α", "ideal"], "coordinates": ["α^2", "α*ideal", "ideal^2"]},
        "node": {
            "field": "QQ",
            "parameters": ["s"],
            "coordinates": ["s^2-1", "s^3-s"],
            "coordinate_names": ["x", "y"],
            "points": {"tip": {"s": "1/2"}, "anywhere": "random"},
        },
        "circle": {"field": "QQ", "parameters": ["c", "s"], "coordinates": ["c"], "relations": ["c^2+s^2-1"]},
        "squares": {"field": "GF(2)", "parameters": ["s", "t"], "coordinates": ["s^2", "s*t", "t^2"]},
        "constant": {"field": "QQ", "parameters": [], "coordinates": ["2", "3/7"]},
        "hyperbola": {"field": "QQ", "variables": ["x", "y"], "generators": ["x*y-1", "y^2-x"], "order": "lex"},
        "long": case("L01")["input"],
    }
    paths = {}
    for name, content in contents.items():
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        paths[name] = str(path)
    return paths


def _fill(arguments: list[str], files: dict[str, str]) -> list[str]:
    return [
        files.get(argument.removeprefix(":"), argument) if argument[:1] == ":" else argument for argument in arguments
    ]


def _document(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)
    return document


def _environment(**changes: str) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT)} | changes


def _process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "m2bridge", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)


# --- answers -------------------------------------------------------------------------------------------

# arguments, then what the result holds
ANSWERS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "closure": (["closure", *LAYER], {"dim": 4, "codim": 4, "degree": 3, "generator_degrees": {"1": 2, "2": 3}}),
    "closure-betti": (["closure", *LAYER, "--betti"], {"betti": [[0, 0, 1], [1, 2, 3], [2, 3, 2]]}),
    "closure-map": (["closure", "--map", ":conic"], {"dim": 2, "degree": 2, "generators": ["y1^2-y0*y2"]}),
    "closure-constant": (["closure", "--map", ":constant"], {"dim": 0, "degree": 1, "generators": ["y0-2", "7*y1-3"]}),
    "closure-relations": (["closure", "--map", ":circle"], {"dim": 1, "generators": []}),
    "dimension": (
        ["dimension", *LAYER],
        {"formula": 4, "exact": 4, "numeric": 4, "n_parameters": 6, "n_coordinates": 8, "agree": True},
    ),
    "dimension-orbit": (["dimension", *LAYER, "--orbit", "1,1,1"], {"exact": 4, "rank_at_point": 3}),
    "dimension-deep": (
        ["dimension", *DEEP],
        {"formula": 8, "published_formula": 9, "exact": 8, "virtual": 8, "n_coordinates": None, "agree": True},
    ),
    "dimension-modulo-two": (["dimension", "--map", ":squares"], {"exact": 2, "lower_bound": 1, "numeric": None}),
    "dimension-point": (["dimension", "--map", ":node", "--at", "tip"], {"exact": 1, "rank_at_point": 1}),
    "groebner": (["groebner", "--ideal", ":hyperbola"], {"order": "lex", "generators": ["y^3-1", "x-y^2"]}),
    "groebner-order": (
        ["groebner", "--ideal", ":hyperbola", "--order", "elim:1", "--change-of-basis"],
        {"order": "elim:1", "generators": ["y^3-1", "x-y^2"], "change_of_basis": [["1", "y"], ["0", "-1"]]},
    ),
    "groebner-map": (["groebner", "--map", ":conic", "--order", "lex"], {"generators": ["y0*y2-y1^2"]}),
    "tangent": (
        ["tangent", "--map", ":node", "--at", "s=1"],
        {"dim": 2, "variety_dim": 1, "singular": True, "weights": ["1"]},
    ),
    "tangent-named": (["tangent", "--map", ":node", "--at", "tip"], {"dim": 1, "point": ["-3/4", "-3/8"]}),
    "tangent-coordinates": (["tangent", "--map", ":node", "--point", "x=3,y=-6"], {"singular": False, "weights": None}),
    "tangent-orbit": (["tangent", *LAYER, "--orbit", "0,0,0"], {"dim": 6, "variety_dim": 4, "singular": True}),
    "tangent-random": (["tangent", *LAYER], {"dim": 4, "singular": False}),
    "singular": (["singular", "--map", ":node"], {"dim": 0, "degree": 1, "components": [{"dim": 0, "degree": 1}]}),
    "fibre": (
        ["fibre", *LAYER, "--orbit", "1,1,0"],
        {"dim": 1, "degree": 4, "components": [{"dim": 1, "degree": 2}] * 2, "reduced": True},
    ),
    "fibre-random": (["fibre", *LAYER, "--at", "random"], {"dim": 1, "degree": 4}),
    "fibre-native": (["fibre", *LAYER, "--weights", "QKV"], {"dim": 2}),
    "fibre-value": (["fibre", "--map", ":node", "--value", "0,0"], {"dim": 0, "degree": 2}),
    "fibre-empty": (["fibre", "--map", ":node", "--value", "0,1"], {"dim": -1, "components": []}),
    "membership": (
        ["membership", "--ideal", ":hyperbola", "--polynomial", "y^3-1"],
        {"member": True, "cofactors": ["1", "y"], "remainder": "0"},
    ),
    "study": (["study", *LAYER], {"degree_formula": 3, "disagreements": [], "undecided": {}, "not_attempted": {}}),
    "study-deep": (["study", *DEEP], {"closure": None, "tangent": [], "disagreements": []}),
    "study-map": (["study", "--map", ":node"], {"degree_formula": None, "disagreements": [], "undecided": {}}),
    "study-modulo-p": (["study", *LAYER, "--field", "GF(32003)"], {"disagreements": [], "undecided": {}}),
    "doctor": (["doctor"], {"works": True, "problem": None}),
}


@pytest.mark.macaulay2
@pytest.mark.parametrize("name", ANSWERS)
def test_answer_as_json(name: str, files: dict[str, str], capsys: Captured) -> None:
    arguments, expected = ANSWERS[name]
    assert _run([*_fill(arguments, files), "--json"]) == 0
    said = capsys.readouterr()
    document = _document(said.out)
    assert said.err == ""
    assert document["operation"] == arguments[0]
    assert {key: document["result"][key] for key in expected} == expected
    assert document["evidence"] is not None or arguments[0] == "doctor"
    assert document["provenance"]["wall_seconds"] >= 0
    if "--map" in arguments:
        assert document["input"]["field"] in ("QQ", "GF(2)")


@pytest.mark.macaulay2
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["closure", *LAYER], ["4 / 4", "degree", "2 of degree 1, 3 of degree 2", "y1112*y1121-y1111*y1122"]),
        (["dimension", *DEEP], ["published formula", "over-counts", "8"]),
        (["groebner", "--ideal", ":hyperbola"], ["order lex: 2 elements", "y^3-1"]),
        (["tangent", *LAYER, "--orbit", "all"], ["singular", "smooth"]),
        (["singular", "--map", ":node"], ["(0, 1)"]),
        (["fibre", *LAYER, "--orbit", "1,1,0"], ["(1, 2), (1, 2)"]),
        (["membership", "--ideal", ":hyperbola", "--polynomial", "y^3-1"], ["is in the ideal (proved"]),
        (["study", *LAYER], ["(1,1,0)", "(1,1,1)", "zero", "fails here", "All values found agree.", "gap"]),
        (["study", *DEEP], ["Not attempted", "closure", "singular locus", "virtual weights"]),
        (["study", "--map", ":node"], ["random point", "tip", "anywhere"]),
        (["study", "--map", ":conic", "--generators"], ["Generators", "y1^2-y0*y2"]),
        (["doctor"], ["Used:", "its answer is right"]),
    ],
    ids=lambda value: "-".join(v.strip("-:") for v in value[:2]) if value and value[0].isalpha() else None,
)
def test_answer_as_page(arguments: list[str], words: list[str], files: dict[str, str], capsys: Captured) -> None:
    assert _run(_fill(arguments, files)) == 0
    said = capsys.readouterr()
    for word in words:
        assert word in said.out
    assert said.err == ""


@pytest.mark.macaulay2
def test_main_job() -> None:
    run = _process("study", "lightning", "--d", "2", "--d-out", "2", "--a", "2", "--t", "2", env=_environment())
    assert run.returncode == 0
    assert run.stderr == ""
    for word in ("12", "16", "20", "7 / 9", "(2,2,2)", "(1,1,0)", "All values found agree."):
        assert word in run.stdout


# --- exit codes ----------------------------------------------------------------------------------------


@pytest.mark.macaulay2
def test_1_not_a_member(files: dict[str, str], capsys: Captured) -> None:
    arguments = ["membership", "--ideal", files["hyperbola"], "--polynomial", "x + 1/2", "--json"]
    assert _run(arguments) == 1
    document = _document(capsys.readouterr().out)
    assert document["result"]["member"] is False
    assert document["result"]["remainder"] == "x+1/2"


@pytest.mark.macaulay2
def test_1_values_contradict(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LightningAttention, "degree", property(lambda layer: 17))
    monkeypatch.setattr(LightningAttention, "dimension", property(lambda layer: 3))
    assert _run(["study", *LAYER, "--json"]) == 1
    result = _document(capsys.readouterr().out)["result"]
    assert any("17" in line for line in result["disagreements"])
    assert any("the formula says 3" in line for line in result["disagreements"])
    assert _run(["study", *LAYER]) == 1
    assert "DISAGREEMENTS" in capsys.readouterr().out
    assert _run(["dimension", *LAYER]) == 1


MAP = {"field": "QQ", "parameters": ["s", "t"], "coordinates": ["s^2", "s*t"]}

# what is wrong, the file, words of the message
BAD_MAPS: dict[str, tuple[dict[str, Any], str]] = {
    "empty": (MAP | {"coordinates": []}, "no coordinates"),
    "repeated-parameter": (MAP | {"parameters": ["s", "s"]}, "'s' is given twice"),
    "repeated-coordinate-name": (MAP | {"coordinate_names": ["x", "x"]}, "'x' is given twice"),
    "composed-names": (MAP | {"parameters": ["s", "t", "é", "e\u0301"]}, "is given twice"),
    "no-name": (MAP | {"parameters": ["s", "t", "2x"]}, "'2x' is not a name"),
    "too-few-names": (MAP | {"coordinate_names": ["x"]}, "2 coordinates, but 1 coordinate names"),
    "undeclared": (MAP | {"coordinates": ["s*u"]}, "'u' is not declared"),
    "float": (MAP | {"coordinates": ["0.5*s"]}, "0.5 is not exact"),
    "float-exponent": (MAP | {"coordinates": ["1e3*s"]}, "1e3 is not exact"),
    "float-entry": (MAP | {"coordinates": [0.5]}, "not exact"),
    "division-by-parameter": (MAP | {"coordinates": ["s/t"]}, "divides by t"),
    "division-by-zero": (MAP | {"coordinates": ["s/(t-t)"]}, "divides by"),
    "negative-exponent": (MAP | {"coordinates": ["s^-1"]}, "not a polynomial: unexpected text at column 3"),
    "fractional-exponent": (MAP | {"coordinates": ["s^(1/2)"]}, "not a polynomial"),
    "function": (MAP | {"coordinates": ["sin(s)"]}, "not a polynomial|not declared"),
    "code": (MAP | {"coordinates": ["__import__('os').system('true')"]}, "not a polynomial"),
    "large-exponent": (MAP | {"coordinates": ["t^2147483648"]}, "too large"),
    "large-degree": (MAP | {"coordinates": ["s^2147483647*t"]}, "too large"),
    "huge-power": (MAP | {"coordinates": ["(s+t+1)^100000"]}, "terms"),
    "composite-field": (MAP | {"field": "GF(4)"}, "4 is not prime"),
    "composite-quotient": (MAP | {"field": "ZZ/6"}, "6 is not prime"),
    "integers": (MAP | {"field": "ZZ"}, "ZZ is not a field"),
    "reals": (MAP | {"field": "RR"}, "'RR' is not supported"),
    "large-prime": (MAP | {"field": "GF(2147483659)"}, "at most"),
    "number-field": (MAP | {"field": "QQ(w), w^2+w+1=0"}, "is not supported"),
    "denominator-modulo-p": (MAP | {"field": "GF(3)", "coordinates": ["s/3"]}, "0 in GF|no value in GF"),
    "unknown-key": (MAP | {"colour": "red"}, "unknown field `colour`"),
    "no-field": ({k: v for k, v in MAP.items() if k != "field"}, "missing required field `field`"),
    "wrong-type": (MAP | {"parameters": "s,t"}, r"Expected `array`, got `str` - at `\$.parameters`"),
    "empty-text": (MAP | {"coordinates": [""]}, "not a polynomial"),
    "list": ([MAP], "Expected `object`"),  # type: ignore[dict-item] # wrong on purpose
}


@pytest.mark.parametrize("fault", BAD_MAPS)
def test_2_bad_map(fault: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("M2BRIDGE_M2", NOWHERE)
    content, message = BAD_MAPS[fault]
    path = tmp_path / "map.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    for question in ("closure", "dimension"):
        assert _run([question, "--map", str(path)]) == 2
        said = capsys.readouterr()
        assert re.search(message, said.err), said.err
        assert said.err.startswith("m2bridge: ")
        assert said.err.count("\n") == 1
        assert str(path) in said.err
        assert said.out == ""


# arguments, words of the message
BAD_USAGE: dict[str, tuple[list[str], str]] = {
    "no-model": (["closure"], "no model"),
    "unknown-family": (["closure", "softmax"], "softmax"),
    "unknown-command": (["frobnicate"], "No such command"),
    "missing-size": (["closure", "lightning", "--d", "2", "--a", "1", "--t", "2"], "needs --d-out"),
    "zero-size": (["closure", "lightning", "--d", "0", "--d-out", "1", "--a", "1", "--t", "2"], "positive integer"),
    "negative-size": (["study", "lightning", "--d", "2", "--d-out", "-1", "--a", "1", "--t", "2"], "positive integer"),
    "text-size": (["closure", "lightning", "--d", "two", "--d-out", "1", "--a", "1", "--t", "2"], "two"),
    "no-tokens": (["dimension", "lightning", "--d", "2", "--d-out", "1", "--a", "1", "--t", "0"], "positive integer"),
    "ranks-too-few": (["dimension", "lightning", "--widths", "3,2,3", "--ranks", "2", "--t", "2"], "3 are given"),
    "zero-width": (["dimension", "lightning", "--widths", "3,0,3", "--ranks", "2,2", "--t", "2"], "width d_1"),
    "single-and-deep": (["dimension", *LAYER, "--widths", "2,2"], "not both"),
    "deep-field": (["dimension", *DEEP, "--field", "GF(7)"], "over QQ"),
    "deep-weights": (["dimension", *DEEP, "--weights", "AV"], "single layers"),
    "map-and-layer": (["closure", *LAYER, "--map", ":node"], "leave out lightning"),
    "composite-field": (["closure", *LAYER, "--field", "GF(6)"], "not prime"),
    "no-file": (["closure", "--map", "/nonexistent.json"], "No such file"),
    "no-ideal-file": (["groebner", "--ideal", "/nonexistent.json"], "No such file"),
    "ideal-and-model": (["groebner", *LAYER, "--ideal", ":hyperbola"], "not both"),
    "unknown-order": (["groebner", "--ideal", ":hyperbola", "--order", "revlex"], "'revlex' is not one of"),
    "elimination-of-all": (["groebner", "--ideal", ":hyperbola", "--order", "elim:2"], "0 < k < 2"),
    "change-of-closure": (["groebner", "--map", ":node", "--change-of-basis"], "needs --ideal"),
    "float-point": (["tangent", "--map", ":node", "--at", "s=0.5"], "not an exact number"),
    "unknown-point": (["tangent", "--map", ":node", "--at", "u=1"], "no value for 's'|unknown name 'u'"),
    "named-point": (["dimension", *LAYER, "--at", "tip"], "no point named 'tip'"),
    "short-point": (["tangent", *LAYER, "--at", "1,2"], "2 entries, but 6"),
    "point-and-orbit": (["tangent", *LAYER, "--at", "1,2,3,4,5,6", "--orbit", "1,1,1"], "not both"),
    "impossible-orbit": (["tangent", *LAYER, "--orbit", "2,1,1"], "no orbit"),
    "text-orbit": (["tangent", *LAYER, "--orbit", "one"], "not an orbit"),
    "orbit-of-map": (["tangent", "--map", ":node", "--orbit", "1,1,1"], "single lightning layers"),
    "tangent-relations": (["tangent", "--map", ":circle"], "relations"),
    "singular-relations": (["singular", "--map", ":circle"], "relations"),
    "dimension-relations": (["dimension", "--map", ":circle"], "relations"),
    "undeclared-polynomial": (["membership", "--ideal", ":hyperbola", "--polynomial", "z"], "'z' is not declared"),
    "no-time": (["dimension", *LAYER, "--time-limit", "0"], "time limit must be positive"),
    "no-memory": (["dimension", *LAYER, "--memory-limit", "0"], "memory limit"),
    "no-minors": (["singular", "--map", ":node", "--most-minors", "0"], "most-minors"),
    "folder-of-study": (["study", *LAYER, "--folder", "job"], "--folder holds one job"),
    "render-study": (["render", "study", *LAYER], "no script for 'study'"),
    "fibre-of-constant": (["fibre", "--map", ":constant"], "no parameters"),
}


@pytest.mark.parametrize("fault", BAD_USAGE)
def test_2_bad_usage(fault: str, files: dict[str, str], capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("M2BRIDGE_M2", NOWHERE)
    arguments, message = BAD_USAGE[fault]
    assert _run(_fill(arguments, files)) == 2
    said = capsys.readouterr()
    assert re.search(message, said.err), said.err
    assert "Traceback" not in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["closure", *LAYER, "--time-limit", "-1"], "time limit must be positive"),
        (["groebner", "--ideal", ":hyperbola", "--memory-limit", "0"], "memory limit"),
        (["study", "--map", ":circle"], "relations"),
    ],
    ids=["time-limit", "memory-limit", "study-with-relations"],
)
def test_2_comes_before_4(
    arguments: list[str], message: str, files: dict[str, str], capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("M2BRIDGE_M2", NOWHERE)
    code = _run(_fill(arguments, files))
    assert message in capsys.readouterr().err
    assert code == 2


@pytest.mark.macaulay2
def test_3_out_of_time(files: dict[str, str], capsys: Captured) -> None:
    arguments = ["groebner", "--map", files["long"], "--strategy", "eliminate", "--time-limit", "1"]
    assert _run([*arguments, "--json"]) == 3
    said = capsys.readouterr()
    document = _document(said.out)
    assert document["result"] is None
    assert document["error"]["type"] == "TimedOut"
    assert document["error"]["status"] == "timed_out"
    assert "undecided" in said.err


@pytest.mark.macaulay2
def test_3_out_of_memory(files: dict[str, str], capsys: Captured) -> None:
    arguments = ["groebner", "--map", files["long"], "--strategy", "eliminate"]
    assert _run([*arguments, "--memory-limit", "150", "--json"]) == 3
    assert _document(capsys.readouterr().out)["error"]["status"] == "out_of_memory"


@pytest.mark.macaulay2
def test_3_no_memory_to_start(files: dict[str, str], capsys: Captured) -> None:
    assert _run(["groebner", "--ideal", files["hyperbola"], "--memory-limit", "50"]) == 3
    assert "memory" in capsys.readouterr().err


@pytest.mark.macaulay2
def test_3_infeasible(capsys: Captured) -> None:
    layer = ["lightning", "--d", "2", "--d-out", "2", "--a", "2", "--t", "2"]
    assert _run(["singular", *layer, "--method", "minors", "--json"]) == 3
    said = capsys.readouterr()
    assert _document(said.out)["error"]["type"] == "Infeasible"
    assert "minors" in said.err


@pytest.mark.parametrize("question", ["closure", "groebner", "tangent", "singular", "fibre"])
def test_3_deep_network_is_not_attempted(question: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("M2BRIDGE_M2", NOWHERE)
    assert _run([question, *DEEP]) == 3
    assert "is not attempted" in capsys.readouterr().err


@pytest.mark.parametrize(
    "question",
    [
        "closure",
        *(q for q in ("groebner", "tangent", "singular", "fibre")),
    ],
)
def test_3_deep_network_as_json(question: str, capsys: Captured) -> None:
    assert _run([question, *DEEP, "--json"]) == 3
    assert _document(capsys.readouterr().out)["error"]["type"] == "Infeasible"


def test_0_strata_are_proved_without_macaulay2(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("M2BRIDGE_M2", NOWHERE)
    assert _run(["singular", *LAYER]) == 0
    assert "Dimension of the singular locus: 0" in capsys.readouterr().out


@pytest.mark.parametrize("question", ["groebner", "tangent", "fibre"])
def test_4_no_macaulay2(question: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("M2BRIDGE_M2", NOWHERE)
    assert _run([question, *LAYER, "--json"]) == 4
    said = capsys.readouterr()
    assert _document(said.out)["error"]["type"] == "Macaulay2NotFound"
    assert "apt-get install macaulay2" in said.err
    assert said.err.count("\n") == 1


def test_4_doctor_without_macaulay2(capsys: Captured) -> None:
    assert _run(["doctor", "--m2", NOWHERE]) == 4
    assert "It does not work" in capsys.readouterr().out
    assert _run(["doctor", "--m2", NOWHERE, "--json"]) == 4
    assert _document(capsys.readouterr().out)["result"]["works"] is False


@pytest.mark.parametrize(
    "arguments", [["dimension", *LAYER], ["dimension", *DEEP], ["study", *DEEP], ["render", "closure", *LAYER]]
)
def test_0_without_macaulay2(arguments: list[str], capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("M2BRIDGE_M2", NOWHERE)
    monkeypatch.setenv("PATH", "/nonexistent")
    assert _run(arguments) == 0
    assert capsys.readouterr().err == ""


def _descendants(pid: int) -> Iterator[tuple[int, str]]:
    """Yield number and command line of each process below one."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        parent = int(text[text.rindex(")") + 2 :].split()[1])
        children.setdefault(parent, []).append(int(stat.parent.name))
    queue = list(children.get(pid, []))
    while queue:
        child = queue.pop()
        queue += children.get(child, [])
        try:
            command = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        yield child, command


def _alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


@pytest.mark.macaulay2
@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_130_interrupted_leaves_nothing(number: signal.Signals, files: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "m2bridge", "groebner", "--map", files["long"], "--strategy", "eliminate"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment(TMPDIR=str(tmp_path)),
        start_new_session=True,
    ) as process:
        found: list[int] = []
        deadline = time.monotonic() + 30
        while not found and time.monotonic() < deadline:
            time.sleep(0.05)
            found = [pid for pid, text in _descendants(process.pid) if "--script" in text and "sh -c" not in text]
        assert found
        time.sleep(0.5)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    deadline = time.monotonic() + 10
    while any(map(_alive, found)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(_alive, found))
    assert out == ""
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert err.strip() == "interrupted"


def test_70_a_fault_of_the_program_is_no_refutation(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr("m2bridge.cli.dimension", faulty)
    assert _run(["dimension", *LAYER]) == 70
    shown = capsys.readouterr()
    assert not shown.out
    assert "Traceback" in shown.err
    assert "ZeroDivisionError: a fault" in shown.err
    assert "fault of m2bridge" in shown.err


@pytest.mark.macaulay2
def test_tangent_of_all_orbits_names_the_orbits(capsys: Captured) -> None:
    assert _run(["tangent", *LAYER, "--orbit", "all"]) == 0
    out = capsys.readouterr().out
    for orbit in LightningAttention(d=2, d_out=1, a=1, t=2).orbits():
        assert str(orbit) in out


@pytest.mark.macaulay2
@pytest.mark.parametrize("question", [["tangent"], ["groebner"], ["singular", "--method", "minors"]])
def test_questions_about_a_closure_agree_however_its_equations_were_found(
    question: list[str], files: dict[str, str], capsys: Captured
) -> None:
    results = []
    for strategy in ("auto", "eliminate"):
        assert _run([*question, "--map", files["node"], "--strategy", strategy, "--json"]) == 0
        results.append(json.loads(capsys.readouterr().out)["result"])
    assert results[0] == results[1]


@pytest.mark.macaulay2
def test_3_questions_about_a_closure_need_all_of_its_equations(capsys: Captured) -> None:
    network = ["lightning", "--d", "3", "--d-out", "1", "--a", "2", "--t", "1", "--weights", "QKV"]
    assert _run(["groebner", *network, "--max-degree", "1", "--strategy", "interpolate"]) == 3
    assert "not known to be complete" in capsys.readouterr().err


_LARGE_CLOSURE = "closure lightning --d 3 --d-out 2 --a 2 --t 2 --max-degree 4 --equations-only"


@pytest.mark.parametrize(
    "question",
    ["render groebner lightning --d 4 --d-out 3 --a 3 --t 2", _LARGE_CLOSURE, f"{_LARGE_CLOSURE} --json"],
    ids=["script", "page", "document"],
)
def test_closed_pipe(question: str) -> None:
    arguments = [sys.executable, "-W", "error", "-m", "m2bridge", *question.split()]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_environment()) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1)
        process.stdout.close()
        # 3, "undecided", where all of it was written before.
        assert process.wait(timeout=60) in (0, 3)
        assert process.stderr.read() == b""


# --- scripts -------------------------------------------------------------------------------------------


@pytest.mark.macaulay2
@pytest.mark.parametrize(
    "name",
    [
        "closure",
        "closure-map",
        "closure-relations",
        "dimension-orbit",
        "groebner-order",
        "groebner-map",
        "tangent",
        "singular",
        "fibre",
        "membership",
    ],
)
def test_render_prints_a_script_that_runs_by_hand(
    name: str, files: dict[str, str], tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, expected = ANSWERS[name]
    with monkeypatch.context() as patch:
        patch.setenv("M2BRIDGE_M2", NOWHERE)
        assert _run(["render", *_fill(arguments, files)]) == 0
    script = capsys.readouterr().out
    assert re.match(r"-- [A-Z][^\n]{20,}\.\n", script)
    (tmp_path / "script.m2").write_text(script, encoding="utf-8")
    ran = _by_hand(tmp_path, "result.json")
    assert ran.returncode == 0, ran.stderr
    document = json.loads((tmp_path / "result.json").read_bytes())
    key = re.search('m2bKey = "([0-9a-f]{64})"', script)
    assert key is not None
    assert document["key"] == key[1]
    assert _run([*_fill(arguments, files), "--json"]) == 0
    answer = _document(capsys.readouterr().out)
    for word in {"dim", "degree", "reduced"} & set(document["result"]) & set(answer["result"]):
        if arguments[0] != "tangent":  # its dim is that of the variety there
            assert document["result"][word] == answer["result"][word] == expected.get(word, answer["result"][word])


def _by_hand(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [find_macaulay2().executable, "--script", "script.m2", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=60, check=False)


@pytest.mark.macaulay2
def test_script_prints_its_result_without_a_file(tmp_path: Path, files: dict[str, str], capsys: Captured) -> None:
    assert _run(["render", "groebner", "--ideal", files["hyperbola"]]) == 0
    (tmp_path / "script.m2").write_text(capsys.readouterr().out, encoding="utf-8")
    document = json.loads(_by_hand(tmp_path).stdout)
    assert document["operation"] == "groebner_basis"
    assert len(document["result"]["generators"]) == 2


@pytest.mark.macaulay2
def test_folder_keeps_the_job_and_reuses_it(files: dict[str, str], tmp_path: Path, capsys: Captured) -> None:
    folder = tmp_path / "job with 'blanks' and\nnewline"
    arguments = ["tangent", "--map", files["node"], "--at", "s=1", "--folder", str(folder), "--json"]
    assert _run(arguments) == 0
    first = _document(capsys.readouterr().out)
    assert {"script.m2", "result.json"} <= {path.name for path in folder.iterdir()}
    written = (folder / "result.json").stat().st_mtime_ns
    assert _run(arguments) == 0
    second = _document(capsys.readouterr().out)
    assert (folder / "result.json").stat().st_mtime_ns == written
    assert second["result"] == first["result"]
    assert second["provenance"]["macaulay2_wall_seconds"] == 0
    assert second["provenance"]["script_sha256"] == first["provenance"]["script_sha256"]


@pytest.mark.macaulay2
def test_same_seed_same_document(capsys: Captured) -> None:
    documents = []
    for seed in ("5", "5", "6"):
        assert _run(["tangent", *LAYER, "--seed", seed, "--json"]) == 0
        documents.append(_document(capsys.readouterr().out))
    assert documents[0]["result"] == documents[1]["result"]
    assert documents[0]["result"]["weights"] != documents[2]["result"]["weights"]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["-h"], ["render", "--help"]])
def test_help(arguments: list[str], capsys: Captured) -> None:
    assert _run(arguments) == 0
    assert "m2bridge" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", ["study", "dimension", "closure", "groebner", "tangent", "singular", "fibre", "membership", "doctor"]
)
def test_help_of_every_command(command: str, capsys: Captured) -> None:
    assert _run([command, "--help"]) == 0
    assert "--json" in capsys.readouterr().out


# --- the schema itself ---------------------------------------------------------------------------------


def test_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(SCHEMA.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "change",
    [
        {"format": "m2bridge-result/2"},
        {"operation": "closure"},
        {"result": None},
        {"evidence": "certain"},
        {"comment": "unknown"},
        {"error": {"type": "TimedOut", "message": "x"}},
        {"input": {"family": "lightning", "d": 0, "d_out": 1, "a": 1, "t": 2, "field": "QQ"}},
        {"provenance": {}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_schema_refuses(change: dict[str, Any], capsys: Captured) -> None:
    assert _run(["dimension", *LAYER, "--json"]) == 0
    document = _document(capsys.readouterr().out)
    with pytest.raises(jsonschema.ValidationError):
        _document(json.dumps(document | change))


@pytest.mark.parametrize("key", ["exact", "reason", "numeric"])
def test_schema_demands_every_field_of_a_result(key: str, capsys: Captured) -> None:
    assert _run(["dimension", *LAYER, "--json"]) == 0
    document = _document(capsys.readouterr().out)
    value = document["result"].pop(key)
    with pytest.raises(jsonschema.ValidationError):
        _document(json.dumps(document))
    document["result"] |= {key: value, "unknown": value}
    with pytest.raises(jsonschema.ValidationError):
        _document(json.dumps(document))
