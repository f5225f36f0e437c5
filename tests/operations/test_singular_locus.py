"""Singular loci by minors: recorded values, classical surfaces, refusal of too many minors."""

from __future__ import annotations

import pytest

from m2bridge import ComputeSingularLocus, Evidence, Parametrization, SingularLocus
from m2bridge.errors import Infeasible, InputError
from m2bridge.operations import Component
from tests.recorded import RESULTS, read_recorded
from tests.runs import run
from tests.tiny import INSTANCES


def test_recorded_result() -> None:
    locus: SingularLocus = read_recorded(INSTANCES["singular_locus"], RESULTS / "singular_locus.json")
    assert (locus.dim, locus.degree, locus.scheme_degree) == (0, 1, 2)
    assert locus.components == (Component(0, 1),)
    assert (locus.variety_dim, locus.n_minors) == (1, 2)


# parameters, coordinates, field, dimension and degree of the reduced locus
LOCI = {
    "node": (["s"], ["s^2-1", "s^3-s"], "QQ", 0, 1),
    "whitney-umbrella": (["s", "t"], ["s*t", "s", "t^2"], "QQ", 1, 1),
    "tangent-developable": (
        ["a", "b", "s", "t"],
        ["a^3*s", "3*a^2*b*s+a^3*t", "3*a*b^2*s+3*a^2*b*t", "b^3*s+3*a*b^2*t"],
        "QQ",
        2,
        3,
    ),
    "veronese-cone": (["s", "t"], ["s^2", "s*t", "t^2"], "GF(32003)", 0, 1),
    "smooth-parabola": (["s"], ["s", "s^2"], "QQ", -1, 0),
    "dominant": (["s", "t"], ["s^2", "t^2"], "QQ", -1, 0),
    "constant": (["s"], ["2", "3"], "QQ", -1, 0),
    "duplicates": (["s"], ["s^2", "s^3", "s^2", "1"], "QQ", 0, 1),
}


@pytest.mark.macaulay2
@pytest.mark.parametrize("case", LOCI)
def test_classical_locus(case: str) -> None:
    parameters, coordinates, field, dim, degree = LOCI[case]
    locus = run(ComputeSingularLocus(Parametrization.from_strings(parameters, coordinates, field=field)))
    assert (locus.dim, locus.degree) == (dim, degree)
    assert bool(locus.components) == (dim >= 0)


@pytest.mark.macaulay2
def test_too_many_minors_are_refused_with_their_number() -> None:
    twisted = Parametrization.from_strings(["s", "t"], ["s^3", "s^2*t", "s*t^2", "t^3"])
    # 3 equations of codimension 2 in 4 coordinates: 3 * 6 minors.
    with pytest.raises(Infeasible, match=r"needs 18 minors, more than the 17 allowed.*tangent"):
        run(ComputeSingularLocus(twisted, most_minors=17))
    assert run(ComputeSingularLocus(twisted, most_minors=18)).dim == 0


@pytest.mark.macaulay2
def test_a_sample_of_minors_gives_an_upper_bound() -> None:
    twisted = Parametrization.from_strings(["s", "t"], ["s^3", "s^2*t", "s*t^2", "t^3"])
    locus = run(ComputeSingularLocus(twisted, most_minors=17, sample=3))
    assert locus.evidence is Evidence.UPPER_BOUND
    assert (locus.degree, locus.components) == (None, None)
    assert 0 <= locus.dim <= 2
    assert locus.n_minors == 18


def test_relations_are_refused() -> None:
    map_ = Parametrization.from_strings(["c", "s"], ["c"], relations=["c^2+s^2-1"])
    with pytest.raises(InputError, match="relations"):
        ComputeSingularLocus(map_)
