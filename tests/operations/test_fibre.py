"""Fibres: recorded values, the fibres of lightning layers, empty and multiple fibres."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from m2bridge import ComputeFibre, Fibre, LightningAttention, Parametrization
from m2bridge.errors import InputError, PointError
from tests.recorded import RESULTS, read_recorded
from tests.runs import run
from tests.tiny import INSTANCES, point


def test_recorded_result() -> None:
    fibre: Fibre = read_recorded(INSTANCES["fibre"], RESULTS / "fibre.json")
    # Two rescaling orbits, hyperbolas in (A, V): the swap of the two linear forms.
    assert (fibre.dim, fibre.degree, fibre.reduced) == (1, 4, True)
    assert [(c.dim, c.degree) for c in fibre.components] == [(1, 2), (1, 2)]


@pytest.mark.macaulay2
@pytest.mark.parametrize(
    ("d", "d_out", "a", "dim"),
    [(2, 1, 1, 2), (2, 2, 1, 2), (2, 1, 2, 5), (2, 1, 3, 2 * 3 * 2 - 4 + 1), (1, 1, 1, 2), (1, 2, 1, 2)],
)
def test_generic_fibre_dimension_in_native_weights(d: int, d_out: int, a: int, dim: int) -> None:
    layer = LightningAttention(d, d_out, a, 2)
    map_ = layer.parametrization()
    assert dim == map_.n_parameters - layer.dimension
    fibre = run(ComputeFibre(map_, point=map_.random_point(3)))
    assert fibre.dim == dim


@pytest.mark.macaulay2
@pytest.mark.parametrize(("sizes", "components"), [((2, 1, 1, 2), 2), ((2, 2, 1, 2), 1), ((2, 1, 2, 2), 1)])
def test_generic_fibre_in_attention_weights(sizes: tuple[int, int, int, int], components: int) -> None:
    layer = LightningAttention(*sizes)
    fibre = run(ComputeFibre(layer.parametrization("AV"), point=layer.random_weights(1)))
    assert [(c.dim, c.degree) for c in fibre.components] == [(1, 2)] * components
    assert components == layer.map_degree


@pytest.mark.macaulay2
def test_swapped_weights_share_a_fibre() -> None:
    layer = LightningAttention(2, 1, 1, 2)
    map_ = layer.parametrization("AV")
    first = map_.point({"A11": 10, "A12": 14, "A21": 15, "A22": 21, "V11": 11, "V12": 13})
    second = map_.point({"A11": 55, "A12": 77, "A21": 65, "A22": 91, "V11": 2, "V12": 3})
    assert map_.image(first) == map_.image(second)
    assert run(ComputeFibre(map_, point=first)).to_dict() == run(ComputeFibre(map_, point=second)).to_dict()


# parameters, coordinates, field, value, dim, degree, components, reduced
VALUES: dict[str, tuple[Any, ...]] = {
    "two-points": (["s"], ["s^2"], "QQ", [4], 0, 2, [(0, 1), (0, 1)], True),
    "irreducible-over-Q": (["s"], ["s^2"], "QQ", [2], 0, 2, [(0, 2)], True),
    "splits-modulo-7": (["s"], ["s^2"], "GF(7)", [2], 0, 2, [(0, 1), (0, 1)], True),
    "double-point": (["s"], ["s^2"], "QQ", [0], 0, 2, [(0, 1)], False),
    "two-axes": (["s", "t"], ["s*t"], "QQ", [0], 1, 2, [(1, 1), (1, 1)], True),
    "empty": (["s", "t"], ["s", "s*t"], "QQ", [0, 1], -1, 0, [], True),
    "empty-by-constant": (["s"], ["s", "3"], "QQ", [0, 4], -1, 0, [], True),
    "empty-by-duplicate": (["s"], ["s", "2*s"], "QQ", [1, 3], -1, 0, [], True),
    "everything": (["s", "t"], ["7"], "QQ", [7], 2, 1, [(2, 1)], True),
    "fraction": (["s"], ["s/3"], "QQ", [Fraction(1, 3)], 0, 1, [(0, 1)], True),
}


@pytest.mark.macaulay2
@pytest.mark.parametrize("case", VALUES)
def test_fibre_over_a_value(case: str) -> None:
    parameters, coordinates, field, value, dim, degree, components, reduced = VALUES[case]
    map_ = Parametrization.from_strings(parameters, coordinates, field=field)
    fibre = run(ComputeFibre(map_, value=point(*value)))
    assert (fibre.dim, fibre.degree, fibre.reduced) == (dim, degree, reduced)
    assert [(c.dim, c.degree) for c in fibre.components] == components
    assert fibre.value == tuple(value)


@pytest.mark.macaulay2
def test_relations_bind_the_fibre() -> None:
    circle = Parametrization.from_strings(["c", "s"], ["c"], relations=["c^2+s^2-1"])
    fibre = run(ComputeFibre(circle, value=point(Fraction(3, 5))))
    assert (fibre.dim, fibre.degree) == (0, 2)


def test_a_point_that_breaks_the_relations_is_refused() -> None:
    circle = Parametrization.from_strings(["c", "s"], ["c"], relations=["c^2+s^2-1"])
    with pytest.raises(PointError):
        ComputeFibre(circle, point=point(1, 1))
    # A of rank two in a layer with a = 1.
    with pytest.raises(PointError):
        ComputeFibre(LightningAttention(2, 1, 1, 2).parametrization("AV"), point=point(1, 2, 3, 4, 5, 6))


def test_a_point_or_a_value() -> None:
    map_ = Parametrization.from_strings(["s"], ["s"])
    with pytest.raises(InputError, match="either a point"):
        ComputeFibre(map_)
    with pytest.raises(InputError, match="either a point"):
        ComputeFibre(map_, point=point(1), value=point(1))
    with pytest.raises(InputError, match="no parameters"):
        ComputeFibre(Parametrization.from_strings([], ["1"]), value=point(1))
