"""The checker on files that are no certificates, and as a program of its own."""

from __future__ import annotations

import ast
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from m2bridge import check
from tests.certificates.gallery import FOLDER

SOURCE = Path(check.__file__)


def document(name: str = "dimension-twisted-cubic") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


LONG = [f"s^{i}*t^{j}" for i in range(1, 41) for j in range(1, 41)]


def hostile() -> dict[str, bytes]:
    text = json.dumps(document())
    cubic = document("vanishing-twisted-cubic")

    def with_polynomial(polynomial: str) -> bytes:
        changed = json.loads(json.dumps(cubic))
        changed["steps"][0]["polynomials"] = changed["claim"]["polynomials"] = [polynomial]
        return json.dumps(changed).encode()

    def with_coordinates(polynomial: str, *coordinates: str) -> bytes:
        changed = json.loads(with_polynomial(polynomial))
        changed["claim"]["map"]["coordinates"] = list(coordinates)
        return json.dumps(changed).encode()

    def with_network(**sizes: Any) -> bytes:
        changed = document("dimension-layer-2112")
        changed["claim"]["map"] |= sizes
        return json.dumps(changed).encode()

    return {
        "empty": b"",
        "no JSON": b"certificate",
        "not UTF-8": b"\xff\xfe{}",
        "list": b"[]",
        "deep nesting": b"[" * 10**6 + b"]" * 10**6,
        "deep nesting in a step": text.replace('"steps": [', '"steps": [' + "[" * 5000 + "]" * 5000 + ",").encode(),
        "duplicate key": text.replace('"steps"', '"claim": {}, "steps"').encode(),
        "NaN": text.replace('"dimension": 2', '"dimension": NaN').encode(),
        "infinity": text.replace('"dimension": 2', '"dimension": -Infinity').encode(),
        "float": text.replace('"dimension": 2', '"dimension": 2.0').encode(),
        "boolean for a number": text.replace('"dimension": 2', '"dimension": true').encode(),
        "gigantic integer": text.replace('"dimension": 2', '"dimension": ' + "9" * 10**6).encode(),
        "gigantic exponent": text.replace('"dimension": 2', '"dimension": 1e999999999').encode(),
        "gigantic text": text.replace('"point": ["', '"point": ["' + "9" * 10**6).encode(),
        "gigantic polynomial": with_polynomial("x^4000*y^90"),
        "dense power": with_polynomial("x^2000-y"),
        "power of a sum": with_coordinates("x^2000-y", "s+t+1", "s-t", "s", "t"),
        "product of long sums": with_coordinates("x*y*z-w", *["+".join(LONG)] * 4),
        "degree too large": with_coordinates("x^4000-y", "s^4000", "s", "s", "s"),
        "gigantic network": with_network(widths=[1000, 1000], ranks=[1000]),
        "impossible network": with_network(widths=[2, -2]),
        "network without layers": with_network(widths=[2], ranks=[]),
        "a cycle": json.dumps(
            document("closure-twisted-cubic")
            | {
                "steps": [
                    step | ({"uses": [0]} if "uses" in step else {})
                    for step in document("closure-twisted-cubic")["steps"][1:]
                ]
            }
        ).encode(),
        "string for a list": text.replace('"inputs": []', '"inputs": ""').encode(),
        "null": text.replace('"inputs": []', '"inputs": null').encode(),
        "truncated": text[: len(text) // 2].encode(),
    }


FALSE = {"gigantic polynomial", "dense power"}


@pytest.mark.parametrize("name", hostile())
def test_a_hostile_file_is_malformed_in_bounded_time_and_memory(name: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    clock = time.process_time()
    for pure in (False, True):
        verdict = check.check(hostile()[name], pure=pure)
        # What is well formed but false is rejected; nothing is accepted.
        assert verdict.exit_code == (1 if name in FALSE else 2), verdict.line
    # Bounds of the work that is allowed, not of speed.
    assert time.process_time() - clock < 120
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**21


def test_too_large_a_file_is_not_read() -> None:
    verdict = check.check(b" " * (check.MOST_BYTES + 1))
    assert verdict.exit_code == 2


def test_it_imports_the_standard_library_alone() -> None:
    names = set()
    for node in ast.walk(ast.parse(SOURCE.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(str(node.module).partition(".")[0])
    assert names <= sys.stdlib_module_names
    assert SOURCE.read_text().count("__import__") == 1


@pytest.mark.parametrize(
    ("name", "code", "line"),
    [
        ("closure-layer-2222", 0, "accepted: closure"),
        ("rejected/trace-too-short", 1, "rejected: step 1: generator 2 does not reduce to zero"),
        ("rejected/float", 2, "malformed: the certificate: '2.0': numbers of more than nine digits are strings"),
    ],
)
def test_a_copy_of_the_file_runs_alone(name: str, code: int, line: str, tmp_path: Path) -> None:
    copy = tmp_path / "check.py"
    copy.write_bytes(SOURCE.read_bytes())
    # -I -S: no site packages, so neither m2bridge nor python-flint.
    command = [sys.executable, "-I", "-S", str(copy), str(FOLDER / f"{name}.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[0], done.stderr) == (code, line, "")


def test_as_a_module(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "m2bridge.check", str(FOLDER / "dimension-segre.json"), "--pure"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        ["accepted: dimension", "step 0: rank: dimension >= 4", "step 1: vector-fields: dimension <= 4"],
    )
    missing = subprocess.run([*command[:3], str(tmp_path / "none")], capture_output=True, text=True, check=False)
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "none: No such file" in missing.stderr
    assert subprocess.run(command[:3], capture_output=True, check=False).returncode == 2
