"""The strict parser of polynomial texts, printing, and canonical multiples."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy.polys.rings import PolyElement, PolyRing

from m2bridge.errors import ExponentTooLarge, InputError, PolynomialError
from m2bridge.fields import parse_field, to_fraction
from m2bridge.polynomials import (
    check_names,
    evaluate_exactly,
    from_sympy,
    is_homogeneous,
    make_ring,
    parse_polynomial,
    primitive,
    to_text,
    total_degree,
)

NAMES = ("x", "ideal", "pi", "x_1", "I", "e", "α", "lambda", "Q[1,12]", "y_{1,2}", "w'", "e1")
QQ = parse_field("QQ")
RING = make_ring(NAMES, QQ)


def _terms(f: PolyElement) -> dict[tuple[int, ...], Fraction]:
    return {monomial: to_fraction(c) for monomial, c in f.items()}


# the text, the same polynomial by sympy's arithmetic
TEXTS: dict[str, Callable[..., Any]] = {
    "x+pi*x": lambda x, pi: x + pi * x,
    "x+pi*x^2": lambda x, pi: x + pi * x**2,
    "-x^2": lambda x, pi: -(x**2),
    "(-x)^2": lambda x, pi: x**2,
    "- x + (- 3)": lambda x, pi: -x - 3,
    "x - pi - x": lambda x, pi: -pi,
    "x-(pi-x)": lambda x, pi: 2 * x - pi,
    "2*x**3": lambda x, pi: 2 * x**3,
    "x^2*pi^3": lambda x, pi: x**2 * pi**3,
    "x/2*pi": lambda x, pi: QQ(1, 2) * x * pi,
    "x/2/3": lambda x, pi: QQ(1, 6) * x,
    "1/2*x": lambda x, pi: QQ(1, 2) * x,
    "6/4": lambda x, pi: x.ring(QQ(3, 2)),
    "x/(1/3)": lambda x, pi: 3 * x,
    "(x+pi)^3": lambda x, pi: (x + pi) ** 3,
    "((((x))))": lambda x, pi: x,
    "x^0": lambda x, pi: x.ring.one,
    "0*x": lambda x, pi: x.ring.zero,
    "x-x": lambda x, pi: x.ring.zero,
    "+x": lambda x, pi: x,
    "x\n+\tpi": lambda x, pi: x + pi,
    "007*x": lambda x, pi: 7 * x,
    "2^10": lambda x, pi: x.ring(1024),
    "(1/2)^3": lambda x, pi: x.ring(QQ(1, 8)),
    "(x+1)*(x-1)": lambda x, pi: x**2 - 1,
}


@pytest.mark.parametrize("text", TEXTS)
def test_value(text: str) -> None:
    x, pi = RING.gens[0], RING.gens[2]
    assert parse_polynomial(text, RING) == TEXTS[text](x, pi)


@pytest.mark.parametrize("name", NAMES)
def test_name(name: str) -> None:
    index = NAMES.index(name)
    assert parse_polynomial(name, RING) == RING.gens[index]
    assert parse_polynomial(f"2*{name}^3-{name}", RING) == 2 * RING.gens[index] ** 3 - RING.gens[index]
    assert to_text(RING.gens[index]) == name


def test_composed_and_decomposed_names_are_the_same() -> None:
    ring = make_ring(check_names(["e\u0301"], "parameters"), QQ)
    assert parse_polynomial("é", ring) == parse_polynomial("e\u0301", ring) == ring.gens[0]


def test_integers_stand_for_themselves() -> None:
    assert parse_polynomial(-3, RING) == RING(-3)
    assert parse_polynomial(0, RING) == RING.zero


# the text, words of the refusal
REFUSED = {
    "": "not a polynomial",
    " ": "not a polynomial",
    "x+": "not a polynomial",
    "x y": "at column 3",
    "2x": "at column 2",
    "x*": "not a polynomial",
    "*x": "at column 1",
    "(x": "not a polynomial",
    "x)": "at column 2",
    "()": "at column 2",
    "x^": "not a polynomial",
    "x^pi": "at column 3",
    "x^-1": "at column 3",
    "x^(2)": "at column 3",
    "x^2^2": "at column 4",
    "x^1.5": "unexpected",
    "x--y": "at column 3",
    "x+-3": "at column 3",
    "x*-3": "at column 3",
    "x/pi": "divides by pi",
    "1/x": "divides by x",
    "x/(pi-pi)": "divides by a number that is 0",
    "x/0": "divides by a number that is 0",
    "0.5*x": "0.5 is not exact",
    ".5": ".5 is not exact",
    "1.": "1. is not exact",
    "1e3": "1e3 is not exact",
    "1.5e-3*x": "not exact",
    "y": "the name 'y' is not declared",
    "Pi": "'Pi' is not declared",
    "x2": "'x2' is not declared",
    "Q[1,13]": "is not declared",
    "sin(x)": "not a polynomial|not declared",
    "x = 1": "unexpected",
    "x; exit 0": "unexpected",
    "x # comment": "unexpected",
    "-- x": "at column 2",
    "${x}": "at column 1",
    "x\x00": "unexpected",
    "∞": "unexpected",
    "1_000": "unexpected|not declared",
    "x!": "unexpected",
    "√2": "unexpected",
    "x·pi": "unexpected|not declared",
    "²": "unexpected|not declared",
    "٣*x": "unexpected",
    "0x10": "unexpected|not declared",
    "x^2147483648": "the exponent 2147483648 is too large",
    "x^4294967296": "the exponent 4294967296 is too large",
    "x^2147483647*pi": "its degree is too large",
    "(x*pi)^1073741824": "its degree is too large",
    f"x^{10**50}": "the exponent .* is too large",
    "2^2000000000": "too large to write down",
    "(x+pi)^10000000": "too many terms",
    "(x+pi+e)^3000*(x+1)": "terms",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refusal(text: str) -> None:
    with pytest.raises(PolynomialError, match=REFUSED[text]) as caught:
        parse_polynomial(text, RING, "coordinate y3")
    assert str(caught.value).startswith("coordinate y3: ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert isinstance(caught.value, ExponentTooLarge) == ("too large" in REFUSED[text])


@pytest.mark.parametrize("text", ["x+", "x*", "(x", "x^", ""])
def test_refusal_at_the_end(text: str) -> None:
    with pytest.raises(PolynomialError, match="at its end"):
        parse_polynomial(text, RING)


@pytest.mark.parametrize("text", ["0^0", "(x-x)^0"])
def test_zero_to_the_power_zero(text: str) -> None:
    with contextlib.suppress(PolynomialError):
        assert parse_polynomial(text, RING) == RING.one


@pytest.mark.parametrize("name", ["z_(2,3)"])
def test_every_name_can_be_used(name: str) -> None:
    ring = make_ring(check_names([name], "parameters"), QQ)
    assert parse_polynomial(name, ring) == ring.gens[0]


@pytest.mark.parametrize("text", ["(9^999999)^999999", "((x+1)^999999)^2"])
def test_astronomic_numbers_are_refused(text: str) -> None:
    code = (
        "from m2bridge.errors import PolynomialError\n"
        "from m2bridge.fields import parse_field\n"
        "from m2bridge.polynomials import make_ring, parse_polynomial\n"
        "try:\n"
        f"    parse_polynomial({text!r}, make_ring(['x'], parse_field('QQ')))\n"
        "except PolynomialError:\n"
        "    print('refused')\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout == "refused\n"


@pytest.mark.parametrize("value", [None, 1.5, True, ["x"], b"x", sympy.Symbol("x")])
def test_only_texts_and_integers(value: object) -> None:
    with pytest.raises(PolynomialError, match="must be a text"):
        parse_polynomial(value, RING, "coordinate 1")


def test_largest_exponent_is_accepted() -> None:
    assert total_degree(parse_polynomial("x^2147483647", RING)) == 2147483647
    assert total_degree(parse_polynomial("x^2147483646*pi", RING)) == 2147483647


def test_integers_of_ten_thousand_digits() -> None:
    digits = "7" * 10_000
    f = parse_polynomial(f"{digits}*x - 1/{digits}", RING)
    text = to_text(f)
    assert digits in text
    assert parse_polynomial(text, RING) == f


@pytest.mark.parametrize("depth", [1_000, 20_000])
def test_deep_parentheses(depth: int) -> None:
    assert parse_polynomial("(" * depth + "x" + ")" * depth, RING) == RING.gens[0]
    with pytest.raises(PolynomialError):
        parse_polynomial("(" * depth + "x", RING)


def test_long_sum() -> None:
    text = "+".join(f"{i}*x^{i}*pi" for i in range(1, 5001))
    assert len(parse_polynomial(text, RING)) == 5000


def test_division_modulo_p() -> None:
    ring = make_ring(("x",), parse_field("GF(7)"))
    x = ring.gens[0]
    assert parse_polynomial("x/3", ring) == 5 * x
    assert parse_polynomial("-8*x", ring) == 6 * x
    with pytest.raises(PolynomialError, match=r"0 in GF\(7\)"):
        parse_polynomial("x/14", ring)


@given(st.text(alphabet="xpi αe1_{}[](),*/^+-. 0123456789'\"\\\n$%#;é", max_size=40))
@settings(max_examples=400, deadline=None)
def test_no_other_exception_on_garbage(text: str) -> None:
    try:
        f = parse_polynomial(text, RING)
    except InputError:
        return
    assert parse_polynomial(to_text(f), RING) == f


@given(st.text(max_size=30))
@settings(max_examples=300, deadline=None)
def test_no_other_exception_on_any_text(text: str) -> None:
    with contextlib.suppress(InputError):
        assert parse_polynomial(text, RING).ring is RING


@given(st.lists(st.one_of(st.text(max_size=8), st.integers(), st.none(), st.floats()), max_size=4))
@settings(deadline=None)
def test_names_are_checked(names: list[object]) -> None:
    try:
        checked = check_names(names, "parameters")
    except InputError:
        return
    ring = make_ring(checked, QQ)
    assert [parse_polynomial(name, ring) for name in checked] == list(ring.gens)


# --- laws ----------------------------------------------------------------------------------------------

_SMALL = make_ring(("x", "ideal", "α_1"), QQ)
_FINITE = make_ring(("x", "ideal", "α_1"), parse_field("GF(101)"))
_TWO = make_ring(("x", "ideal", "α_1"), parse_field("GF(2)"))


def polynomials_of(ring: PolyRing) -> st.SearchStrategy[PolyElement]:
    """Polynomials with up to six terms of degree up to 12."""
    monomials = st.tuples(*[st.integers(0, 4)] * ring.ngens)
    if ring.domain.characteristic():
        numbers: st.SearchStrategy[Any] = st.integers(0, ring.domain.characteristic() - 1).map(ring.domain)
    else:
        numbers = st.fractions(max_denominator=10**9).map(lambda q: ring.domain(q.numerator, q.denominator))
    return st.dictionaries(monomials, numbers, max_size=6).map(
        lambda terms: ring.from_dict({m: c for m, c in terms.items() if c})
    )


@pytest.mark.parametrize("ring", [_SMALL, _FINITE, _TWO], ids=["QQ", "GF(101)", "GF(2)"])
@given(data=st.data())
@settings(deadline=None)
def test_text_comes_back(ring: PolyRing, data: st.DataObject) -> None:
    f = data.draw(polynomials_of(ring))
    assert parse_polynomial(to_text(f), ring) == f


@pytest.mark.parametrize("ring", [_SMALL, _FINITE], ids=["QQ", "GF(101)"])
@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_parser_is_a_homomorphism(ring: PolyRing, data: st.DataObject) -> None:
    f, g = data.draw(polynomials_of(ring)), data.draw(polynomials_of(ring))
    a, b = to_text(f), to_text(g)
    assert parse_polynomial(f"({a})*({b})", ring) == f * g
    assert parse_polynomial(f"({a})-({b})", ring) == f - g
    assert parse_polynomial(f"-({a})^2", ring) == -(f**2)


@given(polynomials_of(_SMALL), st.fractions(max_denominator=1000).filter(bool))
@settings(deadline=None)
def test_primitive_is_canonical(f: PolyElement, factor: Fraction) -> None:
    canonical = primitive(f)
    assert primitive(f.mul_ground(QQ(factor.numerator, factor.denominator))) == canonical
    assert primitive(canonical) == canonical
    if f:
        numbers = list(_terms(canonical).values())
        assert all(number.denominator == 1 for number in numbers)
        assert sympy.gcd_list([int(number) for number in numbers]) == 1
        assert canonical.LC > 0
        assert canonical.mul_ground(f.LC / canonical.LC) == f


@given(polynomials_of(_FINITE))
@settings(deadline=None)
def test_primitive_modulo_p_is_monic(f: PolyElement) -> None:
    assert primitive(f) == (f.monic() if f else f)


@given(polynomials_of(_SMALL), st.lists(st.fractions(max_denominator=50), min_size=3, max_size=3))
@settings(deadline=None)
def test_evaluation_is_that_of_fractions(f: PolyElement, point: list[Fraction]) -> None:
    expected = sum(
        (c * point[0] ** m[0] * point[1] ** m[1] * point[2] ** m[2] for m, c in _terms(f).items()), Fraction(0)
    )
    assert to_fraction(evaluate_exactly(f, [QQ(x.numerator, x.denominator) for x in point])) == expected


def test_degrees() -> None:
    assert total_degree(RING.zero) == -1
    assert total_degree(RING.one) == 0
    assert is_homogeneous(RING.zero)
    assert is_homogeneous(parse_polynomial("x*pi+e^2", RING))
    assert not is_homogeneous(parse_polynomial("x*pi+e", RING))


# --- sympy ---------------------------------------------------------------------------------------------


def test_from_sympy() -> None:
    x, pi = sympy.symbols("x pi")
    assert from_sympy((x + pi) ** 2 / 3, RING) == parse_polynomial("(x+pi)^2/3", RING)
    assert from_sympy(sympy.Rational(2, 3), RING) == RING(QQ(2, 3))
    assert from_sympy(5, make_ring((), QQ)) == 5


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (sympy.Symbol("x") * 0.5, "floating-point"),
        (sympy.Symbol("u"), "undeclared symbol u"),
        (1 / sympy.Symbol("x"), "not a polynomial"),
        (sympy.sqrt(sympy.Symbol("x")), "not a polynomial"),
        (sympy.sin(sympy.Symbol("x")), "not a polynomial"),
        (sympy.sqrt(2) * sympy.Symbol("x"), "not a polynomial"),
        (sympy.pi, "not a polynomial"),
        (sympy.I, "not a polynomial"),
        (sympy.oo, "not a polynomial"),
        (sympy.nan, "not a polynomial"),
        (..., "not a sympy expression"),
    ],
    ids=str,
)
def test_from_sympy_refuses(expression: object, message: str) -> None:
    with pytest.raises(PolynomialError, match=message):
        from_sympy(expression, RING, "coordinate 1")


@pytest.mark.parametrize("exponent", [10**8, 2**31])
def test_from_sympy_is_sparse(exponent: int) -> None:
    code = (
        "import resource, sympy\n"
        "from m2bridge.errors import PolynomialError\n"
        "from m2bridge.fields import parse_field\n"
        "from m2bridge.polynomials import from_sympy, make_ring\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\n"
        "try:\n"
        f"    f = from_sympy(sympy.Symbol('x') ** {exponent}, make_ring(['x'], parse_field('QQ')))\n"
        "    print(len(f))\n"
        "except PolynomialError:\n"
        "    print('refused')\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout == ("refused\n" if exponent >= 2**31 else "1\n")
