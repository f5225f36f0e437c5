"""Ideal membership: recorded values, cofactors that multiply out, normal forms as sympy's."""

from __future__ import annotations

import pytest

from m2bridge import ComputeIdealMembership, Evidence, Ideal, IdealMembership
from m2bridge.polynomials import parse_polynomial, to_text
from tests.recorded import RESULTS, read_recorded
from tests.runs import run
from tests.tiny import INSTANCES


def test_recorded_result() -> None:
    found: IdealMembership = read_recorded(INSTANCES["ideal_membership"], RESULTS / "ideal_membership.json")
    assert found.member
    assert found.evidence is Evidence.PROVED
    assert found.to_dict() == {"member": True, "cofactors": ["1", "y"], "remainder": "0"}


# variables, generators, field, polynomial, normal form
DIVISIONS = {
    "member": (["x", "y"], ["x^2-y", "x*y-1"], "QQ", "x^3 - 1", "0"),
    "fractions": (["x", "y"], ["2*x-3*y"], "QQ", "x^2 - 9/4*y^2", "0"),
    "not-a-member": (["x", "y"], ["x^2", "y^2"], "QQ", "x*y + 7/3", "x*y+7/3"),
    "characteristic-three": (["x", "y"], ["x^3 - y^3"], "GF(3)", "(x - y)^3", "0"),
    "unit-ideal": (["x"], ["x", "x-1"], "QQ", "x^5+1", "0"),
    "zero-ideal": (["x"], [], "QQ", "x^2-x", "x^2-x"),
    "zero-generator": (["x"], ["0", "x"], "QQ", "x^2", "0"),
    "zero-polynomial": (["x"], ["x"], "QQ", "0", "0"),
    "hostile-names": (["ideal", "α"], ["ideal-α"], "QQ", "ideal^2-α^2", "0"),
    "large": (["x"], [f"x-{7**400}"], "QQ", f"x^2-{7**800}", "0"),
}


@pytest.mark.macaulay2
@pytest.mark.parametrize("case", DIVISIONS)
def test_division(case: str) -> None:
    variables, generators, field, text, normal_form = DIVISIONS[case]
    ideal = Ideal.from_strings(variables, generators, field=field)
    f = parse_polynomial(text, ideal.ring)
    found = run(ComputeIdealMembership(ideal, f))
    assert to_text(found.remainder) == normal_form
    assert found.member == (normal_form == "0")
    assert found.evidence is (Evidence.PROVED if found.member else Evidence.COMPUTED)
    assert len(found.cofactors) == len(ideal.generators)
    total = sum((c * g for c, g in zip(found.cofactors, ideal.generators, strict=True)), found.remainder)
    assert total == f
