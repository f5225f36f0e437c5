"""Interpolation: what is found is what elimination finds, and planted faults are caught."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from m2bridge import LightningAttention, Parametrization
from m2bridge.exact import RANK_PRIMES, linear_reduction, reconstruct
from m2bridge.implicitization import equations as equations_module
from m2bridge.implicitization.equations import EquationSearch
from m2bridge.implicitization.grading import finest_grading, make_grading
from m2bridge.implicitization.interpolation import Interpolation, ModularForm, OutOfTimeError
from m2bridge.implicitization.lifting import IntegerForm, Verifier, combine, lift
from m2bridge.implicitization.monomials import all_monomials, decode, encode
from m2bridge.implicitization.symmetry import is_symmetry, symmetry_group
from m2bridge.parametrization import Symmetry
from tests.data import ground_truth

TWISTED_CUBIC = Parametrization.from_strings(["s", "t"], ["s^3", "s^2*t", "s*t^2", "t^3"])
# The rank-one tensors of format 2 x 2 x 2: 9 quadrics.
SEGRE = Parametrization.from_strings(
    ["a0", "a1", "b0", "b1", "c0", "c1"], [f"a{i}*b{j}*c{k}" for i in (0, 1) for j in (0, 1) for k in (0, 1)]
)


def counts(coordinates: Sequence[Any], degree: int, **options: Any) -> dict[int, int]:
    search = EquationSearch(coordinates, **options)
    steps = [search.next_degree() for _ in range(degree)]
    return {step.degree: len(step.forms) for step in steps}


def independent(layer: LightningAttention) -> tuple[Parametrization, tuple[int, ...], list[Any]]:
    map_ = layer.parametrization()
    kept = linear_reduction(map_).kept
    assert map_.cheaper is not None
    return map_, kept, [map_.cheaper.coordinates[i] for i in kept]


# --- monomials -------------------------------------------------------------------------------------------


@given(st.integers(1, 6), st.integers(0, 4))
def test_all_monomials_once_and_codes_go_back(n: int, degree: int) -> None:
    monomials = all_monomials(n, degree)
    codes = encode(monomials, n)
    assert len(set(codes.tolist())) == len(codes) == len({tuple(sorted(m)) for m in monomials.tolist()})
    assert (decode(codes, n, degree) == monomials).all()


# --- gradings --------------------------------------------------------------------------------------------


def test_a_grading_that_is_not_there_is_refused() -> None:
    # Equations would be missed without a word: s^2 + t has two weights for (1, 1).
    map_ = Parametrization.from_strings(["s", "t"], ["s^2+t", "s*t"])
    assert make_grading(map_.coordinates, [[1, 2]]).coordinate_weights == ((2, 3),)
    with pytest.raises(ValueError, match="coordinate 0 is not homogeneous"):
        make_grading(map_.coordinates, [[1, 1]])


def test_the_finest_grading_of_a_lightning_layer() -> None:
    # GL(d)_x, GL(d)_y, GL(d')_rows give tori of rank d + d + d'; scaling x against the others is lost twice.
    for layer, rank in ((LightningAttention(2, 1, 2, 2), 3), (LightningAttention(3, 2, 3, 2), 6)):
        _, _, coordinates = independent(layer)
        degrees = np.array(finest_grading(coordinates).coordinate_weights)
        assert np.linalg.matrix_rank(degrees) == rank


def test_homogeneity_is_seen() -> None:
    assert finest_grading(TWISTED_CUBIC.coordinates).is_standard_homogeneous
    assert not finest_grading(Parametrization.from_strings(["s"], ["s", "s^2+1"]).coordinates).is_standard_homogeneous
    # Homogeneous for other weights only.
    assert not finest_grading(Parametrization.from_strings(["s"], ["s", "s^2"]).coordinates).is_standard_homogeneous


# --- generators by degree --------------------------------------------------------------------------------


def test_classical_ideals() -> None:
    assert counts(TWISTED_CUBIC.coordinates, 4) == {1: 0, 2: 3, 3: 0, 4: 0}
    assert counts(SEGRE.coordinates, 3) == {1: 0, 2: 9, 3: 0}


@pytest.mark.parametrize(
    "record",
    [r for r in ground_truth("lightning_interpolation") if r["t"] >= 2 and (r["d"], r["d_out"]) < (3, 3)],
    ids=lambda r: f"{r['d']}{r['d_out']}{r['a']}{r['t']}",
)
@pytest.mark.parametrize("use_symmetry", [True, False])
def test_numbers_of_generators(record: dict[str, Any], use_symmetry: bool) -> None:
    expected = {int(d): n for d, n in record["minimal_generators_by_degree"].items()}
    top = min(max(expected), 4 if use_symmetry else 3)
    map_, kept, coordinates = independent(LightningAttention(record["d"], record["d_out"], record["a"], record["t"]))
    group = symmetry_group(map_, kept) if use_symmetry else None
    found = counts(coordinates, top, symmetries=group)
    assert {d: n for d, n in found.items() if d in expected} == {d: n for d, n in expected.items() if d <= top}


def test_the_dimension_of_each_degree_is_the_recorded_one() -> None:
    for record in ground_truth("lightning_interpolation"):
        if record["t"] >= 2 and record["d"] == 3 and record["d_out"] == 1:
            layer = LightningAttention(record["d"], record["d_out"], record["a"], record["t"])
            _, _, coordinates = independent(layer)
            search = EquationSearch(coordinates)
            for degree in range(1, 5):
                step = search.next_degree()
                assert step.n_equations == record["dim_I_by_degree"].get(str(degree), step.n_equations)


# --- symmetry --------------------------------------------------------------------------------------------


def test_a_permutation_that_is_no_symmetry_is_left_out() -> None:
    wrong = Symmetry({0: 1, 1: 0, 2: 2, 3: 3}, {0: 1, 1: 0})
    right = Symmetry({0: 3, 1: 2, 2: 1, 3: 0}, {0: 1, 1: 0})
    assert not is_symmetry(TWISTED_CUBIC, wrong)
    assert is_symmetry(TWISTED_CUBIC, right)
    group = symmetry_group(replace(TWISTED_CUBIC, symmetries=(wrong, right)), range(4))
    assert group.tolist() == [[0, 1, 2, 3], [3, 2, 1, 0]]


def test_symmetries_of_a_layer_are_verified_and_generate_the_whole_group() -> None:
    map_, kept, _ = independent(LightningAttention(3, 2, 2, 2))
    assert all(is_symmetry(map_, symmetry) for symmetry in map_.symmetries)
    assert len(symmetry_group(map_, kept)) == 6 * 6 * 2


# --- lifting and verification ----------------------------------------------------------------------------


@given(st.integers(-30000, 30000), st.integers(1, 30000))
def test_reconstruction_gives_small_fractions_back(n: int, d: int) -> None:
    prime = RANK_PRIMES[0]
    assert reconstruct(n * pow(d, -1, prime) % prime, prime) == Fraction(n, d)


@given(st.integers(0, 2**80))
def test_residues_combine(value: int) -> None:
    primes = RANK_PRIMES[:3]
    assert combine([value % p for p in primes], primes)[0] == value


def test_several_primes_where_one_does_not_do() -> None:
    primes = RANK_PRIMES[:2]
    codes = np.array([5, 3], dtype=np.int64)
    value = Fraction(123456789, 987654321)
    residues = [[1, value.numerator * pow(value.denominator, -1, p) % p] for p in primes]
    forms = [ModularForm(2, codes, np.array(r, dtype=np.int64)) for r in residues]
    lifted = lift(forms, primes)
    assert lifted is not None
    assert Fraction(lifted.coefficients[1], lifted.coefficients[0]) == value
    assert lift(forms[:1], primes[:1]) != lifted


def test_a_planted_wrong_generator_does_not_pass() -> None:
    search = EquationSearch(TWISTED_CUBIC.coordinates)
    search.next_degree()
    (form, *_) = search.next_degree().forms
    verifier = Verifier(TWISTED_CUBIC.coordinates)
    assert verifier.vanishes(form)
    for place in range(len(form.coefficients)):
        changed = list(form.coefficients)
        changed[place] += 1
        assert not verifier.vanishes(IntegerForm(form.degree, form.codes, tuple(changed)))


def test_large_coefficients_are_lifted_from_several_primes() -> None:
    # The conic through (s^2, c s t, t^2) has the coefficient c^2, beyond one prime.
    c = 10**12 + 39
    map_ = Parametrization.from_strings(["s", "t"], ["s^2", f"{c}*s*t", "t^2"])
    search = EquationSearch(map_.coordinates)
    search.next_degree()
    (form,) = search.next_degree().forms
    assert sorted(map(abs, form.coefficients)) == [1, c * c]


def unlucky(prime: int) -> Parametrization:
    """A map of which two coordinates become proportional modulo the prime."""
    return Parametrization.from_strings(["s", "t", "u"], ["s*u", f"s*u+{prime}*t*u", "s^2", "s*t", "t^2", "u^2"])


def test_an_unlucky_prime_is_left_for_the_next() -> None:
    bad, good = RANK_PRIMES[0], RANK_PRIMES[1]
    map_ = unlucky(bad)
    assert Interpolation(map_.coordinates, finest_grading(map_.coordinates), bad).next_degree().n_equations == 1
    reference = counts(map_.coordinates, 3, primes=[good, *RANK_PRIMES[2:]])
    assert counts(map_.coordinates, 3, primes=[bad, good, *RANK_PRIMES[2:]]) == reference
    with pytest.raises(ArithmeticError, match="no prime"):
        counts(map_.coordinates, 3, primes=[bad])


def test_a_prime_that_divides_a_denominator_is_not_used() -> None:
    map_ = Parametrization.from_strings(["s", "t"], [f"s^2/{RANK_PRIMES[0]}", "s*t", "t^2"])
    assert counts(map_.coordinates, 2) == {1: 0, 2: 1}


def test_a_wrong_lift_is_caught_by_the_substitution(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(forms: Sequence[ModularForm], primes: Sequence[int]) -> IntegerForm | None:
        lifted = lift(forms, primes)
        return None if lifted is None else IntegerForm(lifted.degree, lifted.codes, (7, *lifted.coefficients[1:]))

    monkeypatch.setattr(equations_module, "lift", wrong)
    with pytest.raises(ArithmeticError, match="no prime"):
        counts(TWISTED_CUBIC.coordinates, 2)


def test_the_deadline_ends_a_degree() -> None:
    _, _, coordinates = independent(LightningAttention(3, 2, 2, 2))
    search = EquationSearch(coordinates, deadline=0.0)
    search.next_degree()
    with pytest.raises(OutOfTimeError):
        search.next_degree()


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32))
def test_the_result_does_not_depend_on_the_points(seed: int) -> None:
    assert counts(SEGRE.coordinates, 3, seed=seed) == {1: 0, 2: 9, 3: 0}
