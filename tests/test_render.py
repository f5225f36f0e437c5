"""What reaches Macaulay2: exact values only, private names only, scripts that name themselves."""

from __future__ import annotations

import re
import subprocess
from fractions import Fraction
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from m2bridge import ComputeZariskiClosure, Parametrization
from m2bridge.errors import InputError, RenderError
from m2bridge.fields import parse_field
from m2bridge.macaulay2 import find_macaulay2
from m2bridge.operations import (
    OPERATIONS,
    ComputeFibre,
    ComputeGroebnerBasis,
    ComputeIdealMembership,
    ComputeJacobianRank,
    ComputeSingularLocus,
    ComputeTangentSpace,
    Operation,
)
from m2bridge.polynomials import NAME, make_ring, parse_polynomial
from m2bridge.render import (
    GroundField,
    Order,
    Polynomial,
    Remark,
    Variables,
    Word,
    script_key,
    template_names,
    to_m2,
)
from tests.runs import run
from tests.tiny import HYPERBOLA, INSTANCES

RING = make_ring(("s", "ideal"), parse_field("QQ"))
W = Variables("w", range(2))


@pytest.mark.parametrize(
    ("value", "source"),
    [
        (3, "3"),
        (-3, "(-3)"),
        (0, "0"),
        (Fraction(-3, 7), "(-3/7)"),
        (Fraction(4, 2), "2"),
        (True, "true"),
        (False, "false"),
        ([1, [2, Fraction(1, 2)]], "{1, {2, 1/2}}"),
        ((), "{}"),
        (Word("zariski_closure"), "zariski_closure"),
        (Word(""), ""),
        (Remark("plain text"), "plain text"),
        (Remark('a\nb "α" \u2028\x00'), 'a\\u000ab "\\u03b1" \\u2028\\u0000'),
        (GroundField(parse_field("QQ")), "QQ"),
        (GroundField(parse_field("GF(32003)")), "ZZ/32003"),
        (Variables("y", (0, 3, 11)), "y_0, y_3, y_11"),
        (Polynomial(parse_polynomial("s^2-1/2*ideal", RING), W), "w_0^2-(1/2)*w_1"),
        (Polynomial(RING.zero, W), "0"),
        (Order("grevlex", 3), "GRevLex"),
        (Order("lex", 3), "Lex"),
        (Order("elim:1", 3), "{GRevLex => 1, GRevLex => 2}"),
    ],
)
def test_source(value: object, source: str) -> None:
    assert to_m2(value) == source


def test_source_of_a_long_number() -> None:
    assert to_m2(10**5000) == "1" + "0" * 5000


@pytest.mark.parametrize(
    "value",
    [
        0.5,
        1e300,
        float("nan"),
        float("inf"),
        1j,
        None,
        "x_1",
        b"x",
        np.float64(0.5),
        np.float32(0.5),
        np.int64(3),
        np.array([1]),
        sympy.Symbol("x"),
        sympy.Integer(3),
        sympy.Float(0.5),
        RING.gens[0],
        {1: 2},
        {1, 2},
        range(3),
        [1, 0.5],
        [[("x",)]],
        Word("Ideal"),
        Word('x"; exit 1; "'),
        Word("x\n"),
        Variables("x", (1,)),
        Variables("ww", (1,)),
        Order("elim:x", 2),
        Order('lex}]; run "true"; {', 2),
        Ellipsis,
    ],
    ids=lambda value: type(value).__name__,
)
def test_no_source(value: object) -> None:
    with pytest.raises(RenderError, match="no Macaulay2 source"):
        to_m2(value)


@given(st.one_of(st.integers(), st.fractions()))
def test_number_is_written_exactly(number: Fraction) -> None:
    assert Fraction(to_m2(number).strip("()")) == number


@given(st.text())
def test_remark_stays_on_its_line(text: str) -> None:
    written = to_m2(Remark(text))
    assert written.isascii()
    assert written.isprintable()


# --- scripts -------------------------------------------------------------------------------------------

HOSTILE = ["ideal", "pi", "ii", "x_1", "I", "e", "α", "lambda", "Q[1,12]", "kernel'", "symbol", "exit", "w_0", "y_1"]
_BACK = ["gens", "QQ", "oo", *(f"R[{i},1]" for i in range(len(HOSTILE) - 3))]


def _operations(names: list[str], back: list[str]) -> list[Operation[Any]]:
    coordinates = [f"{names[0]}^2/3", f"{names[0]}*{names[1]}-7/5", f"{names[1]}^2"]
    coordinates += [f"{a}*{b}" for a, b in pairwise(names[2:])]
    map_ = Parametrization.from_strings(names, coordinates, coordinate_names=back)
    weights = map_.random_point(3)
    ideal = ComputeGroebnerBasis.of_closure(map_).ideal
    return [
        ComputeZariskiClosure(map_),
        ComputeGroebnerBasis.of_closure(map_, "elim:2"),
        ComputeGroebnerBasis(ideal, "lex", True),
        ComputeJacobianRank(map_, (weights, tuple(x / 7 for x in weights))),
        ComputeTangentSpace(map_, weights=(weights,)),
        ComputeTangentSpace(map_, weights=(weights,), equations=(map_.coordinate_ring.gens[0],)),
        ComputeSingularLocus(map_),
        ComputeFibre(map_, point=weights),
        ComputeIdealMembership(ideal, ideal.ring.gens[3]),
    ]


_NAMED = _operations(HOSTILE, _BACK)
_PLAIN = _operations([f"a{i}" for i in range(len(HOSTILE))], [f"b{i}" for i in range(len(_BACK))])
SCRIPTS: list[Operation[Any]] = [*INSTANCES.values(), *_NAMED]


def _code(script: str) -> str:
    """Return a script without comments and without its key."""
    return re.sub(r"--.*|[0-9a-f]{64}", "", script)


def test_every_operation_is_looked_at() -> None:
    assert {type(operation) for operation in SCRIPTS} >= {type(operation) for operation in INSTANCES.values()}
    assert {operation.name for operation in SCRIPTS} <= {operation.name for operation in OPERATIONS}


@pytest.mark.parametrize("operation", SCRIPTS, ids=lambda operation: operation.name)
def test_no_float_reaches_a_script(operation: Operation[Any]) -> None:
    code = re.sub(r'"[^"\n]*"', "", _code(operation.script()))
    assert not re.search(r"\d\.\d|\.\d|\d[eEpP][-+]?\d|\binf\b|\bnan\b", code)


@pytest.mark.parametrize(
    ("named", "plain"), list(zip(_NAMED, _PLAIN, strict=True)), ids=lambda operation: operation.name
)
def test_names_of_the_user_change_comments_only(named: Operation[Any], plain: Operation[Any]) -> None:
    assert _code(named.script()) == _code(plain.script())
    assert named.script() != plain.script()
    assert named.script().isascii()


@pytest.mark.parametrize("operation", SCRIPTS, ids=lambda operation: operation.name)
def test_key_is_the_hash_of_the_script(operation: Operation[Any]) -> None:
    script = operation.script()
    (key,) = re.findall('^m2bKey = "([0-9a-f]{64})";$', script, re.MULTILINE)
    assert script_key(script) == key
    assert script_key(script.replace(key, "")) == key
    assert script_key(script.replace("setRandomSeed", "setRandomSeeds")) != key
    assert operation.script() == script


@pytest.mark.parametrize("operation", SCRIPTS, ids=lambda operation: operation.name)
def test_script_sets_its_seed_and_never_tries(operation: Operation[Any]) -> None:
    code = re.sub(r"--.*", "", operation.script())
    assert re.search(r"m2bSeed = 0;\s*setRandomSeed m2bSeed;", code)
    assert not re.search(r"\btry\b", code)
    assert "${" not in operation.script()
    assert not re.search(r"^\s*--%", operation.script(), re.MULTILINE)


def test_seed_changes_the_key() -> None:
    operation = ComputeGroebnerBasis(HYPERBOLA)
    assert script_key(operation.script()) != script_key(ComputeGroebnerBasis(HYPERBOLA, seed=1).script())


@given(st.text(min_size=1, max_size=12))
@settings(max_examples=200, deadline=None)
def test_any_name_is_harmless_or_refused(name: str) -> None:
    try:
        map_ = Parametrization.from_strings([name], ["7"], coordinate_names=[name])
    except InputError:
        return
    script = ComputeJacobianRank(map_, ((Fraction(1),),)).script()
    reference = ComputeJacobianRank(Parametrization.from_strings(["s"], ["7"]), ((Fraction(1),),)).script()
    assert _code(script) == _code(reference)
    assert NAME.fullmatch(map_.parameters[0])


@pytest.mark.macaulay2
@pytest.mark.parametrize("name", [name for name in template_names() if name not in ("encode.m2", "server.m2")])
def test_unrendered_template_does_not_run(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes((files("m2scripts") / name).read_bytes())
    ran = subprocess.run(
        [find_macaulay2().executable, "--script", name, "result.json"],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == (0 if name in ("header.m2", "initial_ideal.m2") else 1)
    assert ran.stdout == b""
    assert not (tmp_path / "result.json").exists()


# --- large polynomials ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [399, 400, 401, 1200])
def test_long_sums_are_split(n: int) -> None:
    f = RING.from_dict({(i, 1): RING.domain(i + 1) for i in range(n)})
    source = to_m2(Polynomial(f, W))
    assert source.startswith("sum {") == (n > 400)
    assert source.count("w_1") == n


@pytest.mark.macaulay2
def test_long_sums_are_right() -> None:
    # 1275 terms and coefficients of every sign; the closure is the graph of the polynomial.
    text = "+".join(
        f"({(-1) ** (i + j) * (i + 51 * j + 1)}/{i + 1})*s^{i}*t^{j}" for i in range(50) for j in range(50 - i)
    )
    map_ = Parametrization.from_strings(["s", "t"], ["s", "t", text])
    closure = run(ComputeZariskiClosure(map_))
    (generator,) = closure.generators
    assert len(generator) == 1276
    assert closure.vanishing_proved
    assert (closure.dim, closure.degree) == (2, 49)


@pytest.mark.macaulay2
def test_long_generators_are_read_back() -> None:
    ring = HYPERBOLA.ring
    f = ring.from_dict(
        {(i, j): ring.domain(i - 3 * j + 1, j + 1) for i in range(30) for j in range(30) if i != 3 * j - 1}
    )
    assert len(f) > 800
    found = run(ComputeIdealMembership(HYPERBOLA, f))
    total = sum((c * g for c, g in zip(found.cofactors, HYPERBOLA.generators, strict=True)), found.remainder)
    assert total == f
