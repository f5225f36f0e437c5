"""Polynomial maps: from texts, from sympy, their description, their points."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from m2bridge import Parametrization
from m2bridge.errors import InputError, PointError, PolynomialError, UnsupportedField
from m2bridge.fields import to_fraction
from m2bridge.polynomials import make_ring

CUBIC = Parametrization.from_strings(["s", "t"], ["s^3", "s^2*t", "s*t^2", "t^3"])


def test_sizes_and_names() -> None:
    assert (CUBIC.n_parameters, CUBIC.n_coordinates) == (2, 4)
    assert CUBIC.parameters == ("s", "t")
    assert CUBIC.coordinate_names == ("y0", "y1", "y2", "y3")
    assert CUBIC.field_name == "QQ"
    assert [str(x) for x in CUBIC.coordinate_ring.symbols] == ["y0", "y1", "y2", "y3"]


# from_strings' arguments, words of the refusal
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no-coordinates": ({"coordinates": []}, "the map has no coordinates"),
    "repeated-parameter": ({"parameters": ["s", "s"]}, "parameters: the name 's' is given twice"),
    "repeated-coordinate": ({"coordinate_names": ["y", "y"]}, "coordinate_names: the name 'y' is given twice"),
    "bad-name": ({"parameters": ["s", "2t"]}, "parameters: '2t' is not a name"),
    "empty-name": ({"parameters": ["s", ""]}, "'' is not a name"),
    "hostile-name": ({"parameters": ["s", 't"; exit 1; "']}, "is not a name"),
    "number-for-name": ({"parameters": ["s", 3]}, "must be a text"),
    "names-differ-in-number": ({"coordinate_names": ["y"]}, "2 coordinates, but 1 coordinate names"),
    "undeclared": ({"coordinates": ["s", "u"]}, "coordinate y1: in 'u', the name 'u' is not declared"),
    "float": ({"coordinates": ["s", "0.5*t"]}, "coordinate y1: .* 0.5 is not exact"),
    "float-object": ({"coordinates": ["s", 0.5]}, "must be a text"),
    "quotient": ({"coordinates": ["s", "s/t"]}, "divides by t"),
    "relation": ({"relations": ["s-u"]}, "relation 1: .*'u' is not declared"),
    "field": ({"field": "GF(6)"}, "6 is not prime"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_from_strings_refuses(fault: str) -> None:
    changes, message = REFUSED[fault]
    arguments: dict[str, Any] = {"parameters": ["s", "t"], "coordinates": ["s", "t"]} | changes
    with pytest.raises(InputError, match=message):
        Parametrization.from_strings(**arguments)


def test_kinds_of_refusals() -> None:
    with pytest.raises(PolynomialError):
        Parametrization.from_strings(["s"], ["s+"])
    with pytest.raises(UnsupportedField):
        Parametrization.from_strings(["s"], ["s"], field="RR")
    with pytest.raises(ValueError, match="no coordinates"):
        Parametrization.from_strings(["s"], [])


def test_from_sympy_is_from_strings() -> None:
    s, t = sympy.symbols("s t", positive=True)
    map_ = Parametrization.from_sympy([s, t], [s**3, s**2 * t, s * t**2, t**3])
    assert map_.coordinates == CUBIC.coordinates
    assert map_.coordinate_names == CUBIC.coordinate_names
    modular = Parametrization.from_sympy([s, t], [s / 2 + t], field="GF(7)", coordinate_names=["y"])
    assert modular.coordinates == Parametrization.from_strings(["s", "t"], ["4*s+t"], field="GF(7)").coordinates


def test_from_sympy_refuses() -> None:
    s, t = sympy.symbols("s t")
    with pytest.raises(PolynomialError, match="floating-point"):
        Parametrization.from_sympy([s], [0.5 * s])
    with pytest.raises(PolynomialError, match="floating-point"):
        Parametrization.from_sympy([s], [1.5])
    with pytest.raises(PolynomialError, match="undeclared symbol t"):
        Parametrization.from_sympy([s], [s * t])
    with pytest.raises(PolynomialError, match="not a polynomial"):
        Parametrization.from_sympy([s], [sympy.exp(s)])
    with pytest.raises(InputError, match="given twice"):
        Parametrization.from_sympy([s, sympy.Symbol("s", real=True)], [s])
    with pytest.raises(InputError, match="no coordinates"):
        Parametrization.from_sympy([s], [])
    with pytest.raises(InputError, match="sympy Symbol"):
        Parametrization.from_sympy(["s"], [s])


def test_from_sympy_does_not_evaluate_texts(tmp_path: Path) -> None:
    s = sympy.Symbol("s")
    made = tmp_path / "made"
    with contextlib.suppress(Exception):
        Parametrization.from_sympy([s], [f"open({str(made)!r}, 'w').close()"])
    assert not made.exists()
    with pytest.raises(InputError):
        Parametrization.from_sympy([s], ["s^2"])


@pytest.mark.parametrize(
    "map_",
    [
        CUBIC,
        Parametrization.from_strings(
            ["α", "ideal"], ["α/3-7", "0", "ideal^2"], coordinate_names=["a", "pi", "Q[1,12]"]
        ),
        Parametrization.from_strings(["s"], ["3*s^2", "s/2"], field="GF(101)"),
        Parametrization.from_strings(["c", "s"], ["c"], relations=["c^2+s^2-1"]),
        Parametrization.from_strings([], ["3/7"]),
    ],
    ids=["cubic", "names", "modular", "relations", "constant"],
)
def test_description_is_read_back(map_: Parametrization) -> None:
    again = Parametrization.from_strings(**map_.describe())
    assert again.describe() == map_.describe()
    assert again.coordinates == map_.coordinates
    assert again.relations == map_.relations


# --- points --------------------------------------------------------------------------------------------


def test_points_in_order_and_by_name() -> None:
    third = Fraction(1, 3)
    for values in ([2, third], ("2", "1/3"), {"t": "1/3", "s": 2}, [sympy.Integer(2), sympy.Rational(1, 3)]):
        assert CUBIC.point(values) == (Fraction(2), third)
    assert [to_fraction(y) for y in CUBIC.image((Fraction(2), third))] == [8, Fraction(4, 3), Fraction(2, 9), third**3]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1], "1 entries, but 2 are needed"),
        ([1, 2, 3], "3 entries, but 2 are needed"),
        ([], "0 entries"),
        ({"s": 1}, "no value for 't'"),
        ({"s": 1, "t": 2, "u": 3}, "unknown name 'u'"),
        ([1, 0.5], "the value of t: 0.5 is not exact"),
        ([1, "0.5"], "the value of t: '0.5' is not an exact number"),
        ([1, True], "True is not exact"),
        ([1, None], "not an exact number"),
        ([1, "1/0"], "denominator 0"),
        ([1, sympy.Symbol("t")], "not an exact number"),
        ([1, sympy.Float("0.5")], "not an exact number"),
        ([1, 1j], "not an exact number"),
    ],
)
def test_point_is_refused(values: Any, message: str) -> None:
    with pytest.raises(PointError, match=message):
        CUBIC.point(values)


def test_point_modulo_p() -> None:
    map_ = Parametrization.from_strings(["s"], ["s"], field="GF(3)")
    assert map_.point(["5/2"]) == (Fraction(5, 2),)
    assert map_.image(map_.point(["5/2"])) == (map_.field(1),)
    with pytest.raises(PointError, match="no value in GF"):
        map_.point(["1/3"])


def test_random_points() -> None:
    assert CUBIC.random_point(7) == CUBIC.random_point(7)
    assert CUBIC.random_point(7) != CUBIC.random_point(8)
    assert all(x.denominator == 1 and 0 < abs(x) < 100 for seed in range(20) for x in CUBIC.random_point(seed))
    assert Parametrization.from_strings([], ["1"]).random_point() == ()


def test_named_points() -> None:
    map_ = Parametrization.from_strings(["s"], ["s"], points={"tip": {"s": "1/2"}, "any": "random", "bad": {"s": "x"}})
    assert map_.named_point("tip") == (Fraction(1, 2),)
    assert map_.named_point("any", 3) == map_.random_point(3)
    with pytest.raises(PointError, match=r"no point named 'top' \(its points: tip, any, bad\)"):
        map_.named_point("top")
    with pytest.raises(PointError, match="exact number"):
        map_.named_point("bad")


@given(st.lists(st.fractions(max_denominator=100), min_size=2, max_size=2))
@settings(deadline=None)
def test_image_lies_on_the_twisted_cubic(values: list[Fraction]) -> None:
    a, b, c, d = (to_fraction(y) for y in CUBIC.image(tuple(values)))
    assert a * d == b * c
    assert a * c == b * b
    assert b * d == c * c


def test_constructor_checks_too() -> None:
    ring = make_ring(["s"], CUBIC.field)
    with pytest.raises(InputError, match="no coordinates"):
        Parametrization(ring, (), ())
    with pytest.raises(InputError, match="1 coordinates, but 2"):
        Parametrization(ring, (ring.gens[0],), ("x", "y"))
