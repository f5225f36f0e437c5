"""The Zariski closure: recorded values, degenerate maps, and ideals known from theory."""

from __future__ import annotations

from fractions import Fraction

import pytest

from m2bridge import ComputeZariskiClosure, Evidence, LightningAttention, Parametrization, ZariskiClosure
from m2bridge.polynomials import to_text
from tests.recorded import RESULTS, read_recorded
from tests.runs import polynomials, run, same_ideal
from tests.tiny import INSTANCES


def test_recorded_result() -> None:
    closure: ZariskiClosure = read_recorded(INSTANCES["zariski_closure"], RESULTS / "zariski_closure.json")
    assert (closure.dim, closure.codim, closure.degree) == (4, 4, 3)
    assert closure.generator_degrees == {1: 2, 2: 3}
    # The 2 x 2 minors of a generic 2 x 3 matrix: Eagon-Northcott.
    assert closure.betti == ((0, 0, 1), (1, 2, 3), (2, 3, 2))
    assert [to_text(g) for g in closure.generators] == [
        "y1112+y1121-z1112",
        "y1122+y1221-z1122",
        "y1112*y1121-y1111*y1122",
        "y1112*y1221-y1111*y1222",
        "y1122*y1221-y1121*y1222",
    ]
    assert closure.minimal
    assert closure.vanishing_proved
    assert closure.evidence is Evidence.COMPUTED
    assert (closure.n_coordinates, closure.n_independent) == (8, 6)
    assert closure.provenance is not None
    assert (closure.provenance.macaulay2, closure.provenance.field) == ("1.21", "QQ")
    assert closure.to_dict()["generator_degrees"] == {"1": 2, "2": 3}


# parameters, coordinates, field, relations, generators in y0, y1, ..., dim, degree
DEGENERATE = {
    "constant-without-parameters": ([], ["2", "3/7"], "QQ", [], ["y0-2", "7*y1-3"], 0, 1),
    "constant-with-parameter": (["s"], ["2", "-1/2"], "QQ", [], ["y0-2", "2*y1+1"], 0, 1),
    "constant-modulo-p": ([], ["2", "3/7"], "GF(5)", [], ["y0-2", "y1+1"], 0, 1),
    "zero": (["s", "t"], ["0", "0", "0"], "QQ", [], ["y0", "y1", "y2"], 0, 1),
    "zero-after-cancelling": (["s"], ["s-s", "s"], "QQ", [], ["y0"], 1, 1),
    "dominant": (["s", "t"], ["s", "s+t"], "QQ", [], [], 2, 1),
    "dominant-quadratic": (["s", "t"], ["s^2", "s*t+t^3"], "QQ", [], [], 2, 1),
    "one-parameter": (["s"], ["s^2", "s^3"], "QQ", [], ["y0^3-y1^2"], 1, 3),
    "one-coordinate": (["s", "t"], ["s*t"], "QQ", [], [], 1, 1),
    "duplicates": (["s"], ["s^2", "s", "s^2", "2*s"], "QQ", [], ["y0-y2", "y3-2*y1", "y0-y1^2"], 1, 2),
    "duplicate-modulo-constant": (["s"], ["s^2", "s^2+1", "s"], "QQ", [], ["y1-y0-1", "y0-y2^2"], 1, 2),
    "inhomogeneous": (["s", "t"], ["s", "t", "s*t+1"], "QQ", [], ["y2-y0*y1-1"], 2, 2),
    "mixed-degrees": (["s", "t"], ["s", "t^2", "s*t"], "QQ", [], ["y2^2-y0^2*y1"], 2, 3),
    "unused-parameter": (["s", "t", "u"], ["t^2", "t^3"], "QQ", [], ["y0^3-y1^2"], 1, 3),
    "characteristic-two": (["s", "t"], ["s^2", "s*t", "t^2"], "GF(2)", [], ["y1^2-y0*y2"], 2, 2),
    "frobenius": (["s"], ["s^3", "s^9"], "GF(3)", [], ["y1-y0^3"], 1, 3),
    "dependent-modulo-two-only": (["s", "t"], ["s+t", "s-t", "s*t"], "GF(2)", [], ["y0-y1"], 2, 1),
    "empty-source": (["s", "t"], ["s", "t", "s+t"], "QQ", ["s*t-1", "s*t-2"], ["1"], -1, 0),
    "circle": (["c", "s"], ["c^2", "s"], "QQ", ["c^2+s^2-1"], ["y0+y1^2-1"], 1, 2),
    "large-coefficients": (["s"], ["s", f"{10**60}*s^2"], "QQ", [], [f"y1-{10**60}*y0^2"], 1, 2),
    "largest-prime": (["s"], ["s", "2147483646*s^2"], "GF(2147483647)", [], ["y1+y0^2"], 1, 2),
}


@pytest.mark.macaulay2
@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_map(case: str) -> None:
    parameters, coordinates, field, relations, generators, dim, degree = DEGENERATE[case]
    map_ = Parametrization.from_strings(parameters, coordinates, field=field, relations=relations)
    closure = run(ComputeZariskiClosure(map_))
    ring = map_.coordinate_ring
    assert (closure.dim, closure.degree) == (dim, degree)
    assert closure.codim == len(coordinates) - dim
    assert len(closure.generators) == len(generators)
    assert same_ideal(closure.generators, polynomials(generators, ring), ring)


@pytest.mark.macaulay2
def test_names_come_back() -> None:
    names = ["ideal", "pi", "x_1", "I", "e", "α", "lambda", "Q[1,12]", "y_{1,2}"]
    coordinates = [f"{name}*{names[0]}" for name in names] + ["pi^2"]
    back = ["gens", "QQ", "ζ", "o1", "oo", "use", "ii", "gb", "w_0", "y_0"]
    map_ = Parametrization.from_strings(names, coordinates, coordinate_names=back)
    closure = run(ComputeZariskiClosure(map_))
    assert [to_text(g) for g in closure.generators] == ["QQ^2-gens*y_0"]
    assert str(closure.generators[0].as_expr().free_symbols) != ""


@pytest.mark.macaulay2
@pytest.mark.parametrize("field", ["QQ", "GF(32003)"])
def test_given_equations_are_not_eliminated_again(field: str) -> None:
    layer = LightningAttention(2, 1, 2, 2)
    map_ = Parametrization.from_strings(["s", "t"], ["s^3", "s^2*t", "s*t^2", "t^3"], field=field)
    first = run(ComputeZariskiClosure(map_))
    again = ComputeZariskiClosure(map_, betti=True, equations=first.generators)
    assert "kernel" not in again.script().replace("Macaulay2's kernel", "")
    second = run(again)
    assert (second.dim, second.degree, second.generator_degrees) == (2, 3, {2: 3})
    assert second.betti == ((0, 0, 1), (1, 2, 3), (2, 3, 2))
    assert layer.degree == 4


@pytest.mark.macaulay2
def test_inhomogeneous_generators_are_not_called_minimal() -> None:
    circle = Parametrization.from_strings(["s", "t"], ["s", "t", "s^2+t+1"])
    closure = run(ComputeZariskiClosure(circle, betti=True))
    assert not closure.minimal
    assert closure.betti is None
    assert closure.dim == 2


@pytest.mark.macaulay2
def test_method_of_the_map() -> None:
    veronese = Parametrization.from_strings(["s", "t"], ["s^2", "s*t", "t^2"], coordinate_names=["a", "b", "c"])
    closure = veronese.closure()
    assert [to_text(g) for g in closure.generators] == ["b^2-a*c"]
    (generator,) = closure.generators
    a, b, c = veronese.image((Fraction(2), Fraction(3)))
    assert generator.evaluate([(generator.ring.gens[i], v) for i, v in enumerate((a, b, c))]) == 0
