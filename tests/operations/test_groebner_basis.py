"""Groebner bases: recorded values, and the same bases by sympy's own algorithm."""

from __future__ import annotations

import pytest
import sympy
from sympy.polys.groebnertools import is_groebner

from m2bridge import ComputeGroebnerBasis, GroebnerBasis, Ideal, Parametrization
from m2bridge.errors import InputError
from m2bridge.operations.groebner_basis import monomial_order
from m2bridge.polynomials import make_ring, primitive, ring_names, to_text
from tests.recorded import RESULTS, read_recorded
from tests.runs import polynomials, run, same_ideal
from tests.tiny import HYPERBOLA, INSTANCES


def test_recorded_result() -> None:
    basis: GroebnerBasis = read_recorded(INSTANCES["groebner_basis"], RESULTS / "groebner_basis.json")
    assert [to_text(g) for g in basis.generators] == ["y^3-1", "x-y^2"]
    assert basis.order == "lex"
    assert basis.change_of_basis is not None
    assert [[to_text(c) for c in row] for row in basis.change_of_basis] == [["1", "y"], ["0", "-1"]]


# variables, generators, field
IDEALS = {
    "hyperbola": (["x", "y"], ["x*y - 1", "y^2 - x"], "QQ"),
    "katsura-3": (
        ["x", "y", "z", "t"],
        [
            "x + 2*y + 2*z + 2*t - 1",
            "x^2 + 2*y^2 + 2*z^2 + 2*t^2 - x",
            "2*x*y + 2*y*z + 2*z*t - y",
            "y^2+2*x*z+2*y*t-z",
        ],
        "QQ",
    ),
    "cyclic-3": (["a", "b", "c"], ["a+b+c", "a*b+b*c+c*a", "a*b*c-1"], "QQ"),
    "cyclic-3-mod-7": (["a", "b", "c"], ["a+b+c", "a*b+b*c+c*a", "a*b*c-1"], "GF(7)"),
    "twisted-cubic": (["w", "x", "y", "z"], ["w*z - x*y", "x^2 - w*y", "y^2 - x*z"], "QQ"),
    "fractions": (["x", "y"], ["1/2*x^2 - 3/7*y", "x*y + 5/3"], "QQ"),
    "unit": (["x", "y"], ["x", "x + 1"], "QQ"),
    "zero": (["x", "y"], ["0"], "QQ"),
    "no-generators": (["x", "y"], [], "QQ"),
    "one-variable": (["ideal"], ["ideal^3 - 1", "ideal^2 - 1"], "GF(2)"),
    "hostile-names": (["pi", "e", "gb"], ["pi^2 - e", "e*gb - pi"], "QQ"),
}


@pytest.mark.macaulay2
@pytest.mark.parametrize("order", ["grevlex", "lex"])
@pytest.mark.parametrize("case", IDEALS)
def test_same_reduced_basis_as_sympy(case: str, order: str) -> None:
    variables, generators, field = IDEALS[case]
    ideal = Ideal.from_strings(variables, generators, field=field)
    basis = run(ComputeGroebnerBasis(ideal, order=order))
    ring = make_ring(variables, ideal.ring.domain, monomial_order(order, len(variables)))
    given = [g.set_ring(ring) for g in ideal.generators if g]
    expected = sympy.polys.groebnertools.groebner(given, ring) if given else []
    assert {to_text(g) for g in basis.generators} == {to_text(primitive(g)) for g in expected if g}


@pytest.mark.macaulay2
@pytest.mark.parametrize("order", ["grevlex", "lex", "elim:1"])
@pytest.mark.parametrize("case", ["hyperbola", "katsura-3", "cyclic-3-mod-7", "fractions", "unit"])
def test_change_of_basis_multiplies_out(case: str, order: str) -> None:
    variables, generators, field = IDEALS[case]
    ideal = Ideal.from_strings(variables, generators, field=field)
    basis = run(ComputeGroebnerBasis(ideal, order=order, change_of_basis=True))
    assert basis.change_of_basis is not None
    assert len(basis.change_of_basis) == len(basis.generators)
    for element, row in zip(basis.generators, basis.change_of_basis, strict=True):
        given = [g.set_ring(element.ring) for g in ideal.generators]
        assert sum((c * g for c, g in zip(row, given, strict=True)), element.ring.zero) == element


@pytest.mark.macaulay2
@pytest.mark.parametrize("case", ["katsura-3", "twisted-cubic"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_elimination_order_eliminates(case: str, k: int) -> None:
    variables, generators, field = IDEALS[case]
    ideal = Ideal.from_strings(variables, generators, field=field)
    basis = run(ComputeGroebnerBasis(ideal, order=f"elim:{k}"))
    (ring,) = {g.ring for g in basis.generators}
    assert is_groebner(list(basis.generators), ring)
    eliminated = [g for g in basis.generators if all(not any(m[:k]) for m in g)]
    # An element whose leading monomial is free of the first k variables is free of them altogether.
    assert eliminated == [g for g in basis.generators if not any(g.LM[:k])]
    by_lex = run(ComputeGroebnerBasis(ideal, order="lex"))
    free = [g for g in by_lex.generators if all(not any(m[:k]) for m in g)]
    target = ideal.ring
    assert same_ideal([g.set_ring(target) for g in eliminated], [g.set_ring(target) for g in free], target)


@pytest.mark.macaulay2
def test_resultant_by_elimination() -> None:
    ideal = Ideal.from_strings(["x", "a", "b", "c", "d"], ["x^2+a*x+b", "x^2+c*x+d"], field="GF(101)")
    basis = run(ComputeGroebnerBasis(ideal, order="elim:1"))
    free = [g for g in basis.generators if not any(m[0] for m in g)]
    expected = polynomials(["a*b*c-b*c^2-a^2*d+a*c*d-b^2+2*b*d-d^2"], ideal.ring)
    assert same_ideal([g.set_ring(ideal.ring) for g in free], expected, ideal.ring)


@pytest.mark.macaulay2
def test_basis_of_a_closure() -> None:
    map_ = Parametrization.from_strings(
        ["s", "t"], ["s^2", "s*t", "t^2", "s*t", "7"], coordinate_names=["a", "b", "c", "d", "k"]
    )
    operation = ComputeGroebnerBasis.of_closure(map_, order="lex")
    basis = run(operation)
    assert {to_text(g) for g in basis.generators} == {"k-7", "b-d", "a*c-d^2"}
    assert ring_names(basis.generators[0].ring) == ("a", "b", "c", "d", "k")
    assert map_.groebner(order="grevlex").order == "grevlex"


@pytest.mark.parametrize(
    "order", ["elim:0", "elim:2", "elim:3", "elim:-1", "elim:x", "degrevlex", "", "Lex", "elim:1 "]
)
def test_unknown_order_is_refused(order: str) -> None:
    with pytest.raises(InputError, match="order"):
        ComputeGroebnerBasis(HYPERBOLA, order=order)


def test_change_of_basis_needs_generators() -> None:
    map_ = Parametrization.from_strings(["s"], ["s"])
    with pytest.raises(InputError, match="change of basis"):
        ComputeGroebnerBasis(Ideal(map_.coordinate_ring, ()), "grevlex", True, map_)
