"""Exact linear algebra and substitution: what is proved, and what must not count as a proof."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from m2bridge import LightningAttention, Parametrization
from m2bridge.errors import InputError
from m2bridge.exact import (
    RANK_PRIMES,
    affine_symmetries,
    constant_along,
    generic_rank_samples,
    jacobian_rank_at,
    linear_reduction,
    matrix_rank,
    symmetry_rank,
    vanishing,
)
from m2bridge.fields import element, parse_field, to_fraction
from m2bridge.parametrization import VectorField
from m2bridge.polynomials import fraction_point, parse_polynomial
from tests.data import case


def _map(parameters: list[str], coordinates: list[Any], field: str = "QQ") -> Parametrization:
    return Parametrization.from_strings(parameters, coordinates, field=field)


# --- linear relations ----------------------------------------------------------------------------------

# coordinates in s and t, field, kept indices, dependent ones
REDUCTIONS: dict[str, tuple[list[str], str, tuple[int, ...], dict[int, tuple[Any, dict[int, Any]]]]] = {
    "independent": (["s", "t", "s*t"], "QQ", (0, 1, 2), {}),
    "constant": (["5/3", "s"], "QQ", (1,), {0: (Fraction(5, 3), {})}),
    "zero": (["0", "s"], "QQ", (1,), {0: (0, {})}),
    "all-constant": (["1", "0", "-2"], "QQ", (), {0: (1, {}), 1: (0, {}), 2: (-2, {})}),
    "repeated": (["s", "s"], "QQ", (0,), {1: (0, {0: 1})}),
    "proportional": (["2*s", "-3*s"], "QQ", (0,), {1: (0, {0: Fraction(-3, 2)})}),
    "shifted": (["s*t", "s*t+7"], "QQ", (0,), {1: (7, {0: 1})}),
    "dependent": (["s+t", "s", "t"], "QQ", (1, 2), {0: (0, {1: 1, 2: 1})}),
    "dependent-shifted": (["s+t/2-1", "s", "t+1"], "QQ", (1, 2), {0: (Fraction(-3, 2), {1: 1, 2: Fraction(1, 2)})}),
    "modulo-two": (["s+t", "s-t"], "GF(2)", (0,), {1: (0, {0: 1})}),
    "modulo-two-vanishes": (["s", "2*t+1"], "GF(2)", (0,), {1: (1, {})}),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_linear_reduction(name: str) -> None:
    coordinates, field, kept, dependent = REDUCTIONS[name]
    found = linear_reduction(_map(["s", "t"], coordinates, field))
    assert found.kept == kept
    characteristic = parse_field(field).characteristic()

    def reduced(number: Any) -> Any:
        return number % characteristic if characteristic else number

    plain = {i: (reduced(c), {k: reduced(v) for k, v in d.items()}) for i, (c, d) in found.dependent.items()}
    assert plain == dependent


_RATIONALS = st.fractions(min_value=-5, max_value=5, max_denominator=4)
_ROWS = st.lists(st.lists(_RATIONALS, min_size=5, max_size=5), min_size=1, max_size=6)


@pytest.mark.parametrize("field", ["QQ", "GF(7)", "GF(2147483647)"])
@given(rows=_ROWS)
@settings(deadline=None, max_examples=60)
def test_dependent_coordinates_equal_their_combinations(field: str, rows: list[list[Fraction]]) -> None:
    basis = ["1", "s", "t", "s*t", "s^2"]
    texts = ["+".join(f"({c})*{m}" for c, m in zip(row, basis, strict=True)) for row in rows]
    map_ = _map(["s", "t"], texts, field)
    found = linear_reduction(map_)
    assert sorted([*found.kept, *found.dependent]) == list(range(len(rows)))
    for i, (constant, combination) in found.dependent.items():
        value = map_.ring.ground_new(element(map_.field, constant))
        for k, c in combination.items():
            assert k in found.kept
            value = value + map_.coordinates[k].mul_ground(element(map_.field, c))
        assert value == map_.coordinates[i]
    nonconstant = [[element(map_.field, c) for c in row[1:]] for row in rows]
    assert len(found.kept) == matrix_rank(nonconstant, map_.field)


@given(_ROWS)
@settings(deadline=None, max_examples=60)
def test_matrix_rank_is_that_of_sympy(rows: list[list[Fraction]]) -> None:
    field = parse_field("QQ")
    expected = sympy.Matrix([[sympy.Rational(x.numerator, x.denominator) for x in row] for row in rows]).rank()
    assert matrix_rank([[element(field, x) for x in row] for row in rows], field) == expected


def test_empty_matrices_have_rank_zero() -> None:
    assert matrix_rank([], parse_field("QQ")) == 0
    assert matrix_rank([[], []], parse_field("QQ")) == 0


# --- ranks of Jacobians --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "coordinates", "field", "point", "rank"),
    [
        (["s", "t"], ["s^2", "s*t", "t^2"], "QQ", [1, 1], 2),
        (["s", "t"], ["s^2", "s*t", "t^2"], "QQ", [0, 0], 0),
        (["s", "t"], ["s^2", "s*t", "t^2"], "GF(2)", [1, 1], 1),
        (["s"], ["s^3"], "GF(3)", [1], 0),
        ([], ["2"], "QQ", [], 0),
        (["s"], ["2"], "QQ", [1], 0),
        (["s", "t"], ["s", "s+t/10^17", "s^2"], "QQ", [1, 1], 2),
        (["s", "t"], ["s", "s+32003*t", "s^2"], "QQ", [1, 1], 2),
    ],
)
def test_jacobian_rank_at(
    parameters: list[str], coordinates: list[str], field: str, point: list[int], rank: int
) -> None:
    map_ = _map(parameters, coordinates, field)
    assert jacobian_rank_at(map_, map_.point(point)) == rank


@pytest.mark.parametrize("name", ["t01", "t02", "t06"])
def test_generic_rank_survives_traps(name: str) -> None:
    input_ = case(name)["input"]
    map_ = _map(input_["parameters"], input_["coordinates"])
    samples = generic_rank_samples(map_)
    assert [sample.rank for sample in samples] == [2, 2]
    assert len({sample.prime for sample in samples}) == 2
    assert all(sample.prime > 2**30 and sympy.isprime(sample.prime) for sample in samples)


def test_generic_rank_in_characteristic_two() -> None:
    input_ = case("t04")["input"]
    map_ = _map(input_["parameters"], input_["coordinates"], input_["field"])
    samples = generic_rank_samples(map_)
    assert {sample.rank for sample in samples} == {case("t04")["expected"]["jacobian_rank"]}
    assert all(sample.prime == 2 and sample.prime**sample.extension_degree > 2**40 - 1 for sample in samples)


def test_generic_rank_modulo_a_coefficient() -> None:
    assert {s.rank for s in generic_rank_samples(_map(["s", "t"], ["s", "s+32003*t"], "GF(32003)"))} == {1}
    assert {s.rank for s in generic_rank_samples(_map(["s", "t"], ["s", "s+32003*t"], "GF(32749)"))} == {2}


def test_primes_that_divide_a_denominator_are_left_out() -> None:
    map_ = _map(["s"], [f"s/{RANK_PRIMES[0]}+s^2/{RANK_PRIMES[2]}"])
    assert [sample.prime for sample in generic_rank_samples(map_)] == [RANK_PRIMES[1], RANK_PRIMES[3]]


def test_generic_rank_over_a_small_field_needs_an_extension() -> None:
    # s^2 - s and t^2 - t have derivative -1 everywhere, s^3 - s vanishes with s^2 - s on GF(2).
    assert {s.rank for s in generic_rank_samples(_map(["s", "t"], ["s^3+s", "t^3*s"], "GF(2)"))} == {2}


@given(st.lists(st.integers(-9, 9), min_size=6, max_size=6), st.integers(0, 5))
@settings(deadline=None, max_examples=40)
def test_semicontinuity(point: list[int], seed: int) -> None:
    map_ = LightningAttention(2, 1, 1, 2).parametrization()
    (sample,) = generic_rank_samples(map_, seed, samples=1)
    assert jacobian_rank_at(map_, map_.point(point)) <= sample.rank == 4


@given(st.data())
@settings(deadline=None, max_examples=40)
def test_semicontinuity_of_random_maps(data: st.DataObject) -> None:
    monomials = ["s", "t", "u", "s*t", "t*u", "s^2", "u^3", "s*t*u"]
    chosen = data.draw(st.lists(st.lists(st.sampled_from(monomials), min_size=1, max_size=3), min_size=1, max_size=4))
    map_ = _map(["s", "t", "u"], ["+".join(terms) for terms in chosen])
    point = data.draw(st.lists(st.integers(-3, 3), min_size=3, max_size=3))
    generic = max(sample.rank for sample in generic_rank_samples(map_))
    assert jacobian_rank_at(map_, map_.point(point)) <= generic <= min(3, len(chosen))


# --- substitution --------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["QQ", "GF(101)"])
def test_a_planted_wrong_equation_is_found(field: str) -> None:
    map_ = _map(["s", "t"], ["s^3", "s^2*t", "s*t^2", "t^3"], field)
    ring = map_.coordinate_ring
    texts = ["y0*y3-y1*y2", "y1^2-y0*y2", "y2^2-y1*y3", "0", "y0*y3-2*y1*y2", "y0*y3-y1*y2+y0", "1", "y0"]
    found = vanishing(map_, [parse_polynomial(text, ring) for text in texts])
    assert found == [True] * 4 + [False] * 4


def test_vanishing_over_the_ground_field_only() -> None:
    # s^2 - s vanishes at every point of GF(2), but not identically.
    map_ = _map(["s"], ["s^2", "s"], "GF(2)")
    ring = map_.coordinate_ring
    assert vanishing(map_, [parse_polynomial("y0-y1", ring), parse_polynomial("y0-y1^2", ring)]) == [False, True]


def test_vanishing_without_parameters() -> None:
    map_ = _map([], ["2", "3/7"])
    ring = map_.coordinate_ring
    assert vanishing(map_, [parse_polynomial("y0-2", ring), parse_polynomial("7*y1-2", ring)]) == [True, False]


def test_vanishing_needs_a_map_without_relations() -> None:
    map_ = Parametrization.from_strings(["c", "s"], ["c"], relations=["c^2+s^2-1"])
    with pytest.raises(InputError, match="relations"):
        vanishing(map_, [])


# --- symmetries ----------------------------------------------------------------------------------------


def _fields(map_: Parametrization, *fields: list[str]) -> list[VectorField]:
    return [tuple(parse_polynomial(text, map_.ring) for text in field) for field in fields]


def test_a_wrong_vector_field_does_not_count() -> None:
    product = _map(["s", "t"], ["s*t"])
    right, wrong = _fields(product, ["s", "-t"], ["s", "t"])
    assert symmetry_rank(product, [right]) == 1
    assert symmetry_rank(product, [wrong]) == 0
    assert symmetry_rank(product, [right, wrong]) == 1
    assert symmetry_rank(product, [right, *_fields(product, ["2*s", "-2*t"], ["s^2", "-s*t"], ["0", "0"])]) == 1
    assert [constant_along(product, field) for field in (right, wrong)] == [True, False]


def test_vector_fields_prove_nothing_in_positive_characteristic() -> None:
    # The map is a bijection, yet its derivative vanishes.
    frobenius = _map(["s"], ["s^2"], "GF(2)")
    fields = _fields(frobenius, ["1"])
    assert constant_along(frobenius, fields[0])
    assert symmetry_rank(frobenius, fields) == 0


@pytest.mark.parametrize("sizes", [(2, 1, 1, 2), (2, 2, 2, 2), (3, 1, 2, 2), (2, 2, 3, 2), (3, 2, 1, 1), (3, 1, 2, 1)])
def test_symmetries_of_layers_are_verified(sizes: tuple[int, int, int, int]) -> None:
    layer = LightningAttention(*sizes)
    map_ = layer.parametrization()
    assert all(constant_along(map_, field) for field in map_.vector_fields)
    assert map_.n_parameters - symmetry_rank(map_, map_.vector_fields) >= layer.dimension


@pytest.mark.parametrize(
    ("coordinates", "count"),
    [
        (["s*t"], 1),
        (["s+t"], 3),  # (1, -1), times 1, s, t
        (["s", "t"], 0),
        (["s^2+t^2"], 1),
        (["s^2+t^3"], 0),
        (["s*t", "s^2*t^2+1"], 1),
        (["s"], 3),
    ],
)
def test_affine_symmetries_are_found(coordinates: list[str], count: int) -> None:
    map_ = _map(["s", "t"], coordinates)
    rank = max(sample.rank for sample in generic_rank_samples(map_))
    found = affine_symmetries(map_, rank)
    assert len(found) == count
    assert all(constant_along(map_, field) for field in found)
    assert symmetry_rank(map_, found) == min(count, 1)


@given(st.lists(st.fractions(max_denominator=9), min_size=2, max_size=2))
@settings(deadline=None)
def test_image_is_that_of_substitution(values: list[Fraction]) -> None:
    map_ = _map(["s", "t"], ["s^2-t/3", "s*t+1"])
    s, t = values
    assert [to_fraction(y) for y in map_.image((s, t))] == [s**2 - t / 3, s * t + 1]
    assert fraction_point(values, map_.field) == tuple(element(map_.field, x) for x in values)
