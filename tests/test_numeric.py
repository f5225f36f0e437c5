"""Floating-point ranks: the gap decides, and says when it does not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from m2bridge import LightningAttention, Parametrization
from m2bridge.numeric import CLEAR_GAP, gap_rank, numeric_rank


def _with_singular_values(values: list[float], rows: int, columns: int, seed: int = 0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    left, _ = np.linalg.qr(rng.standard_normal((rows, rows)))
    right, _ = np.linalg.qr(rng.standard_normal((columns, columns)))
    middle = np.zeros((rows, columns))
    for k, value in enumerate(values):
        middle[k, k] = value
    return np.asarray(left @ middle @ right)


@pytest.mark.parametrize(
    ("values", "rank", "clear"),
    [
        ([3.0, 2.0, 1.0], 3, True),
        ([3.0, 2.0, 0.0], 2, True),
        ([1e8, 1e8, 1e-2], 2, True),
        ([1.0, 1e-13, 1e-14], 1, True),
        ([1.0, 0.9, 1e-17], 2, True),
        ([1.0, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14], 8, False),
    ],
)
def test_constructed_matrices(values: list[float], rank: int, clear: bool) -> None:
    found = gap_rank(_with_singular_values(values, len(values) + 2, len(values)))
    assert found.clear == clear
    if clear:
        assert found.rank == rank
        assert found.gap >= CLEAR_GAP
    assert len(found.singular_values) == len(values)
    assert list(found.singular_values) == sorted(found.singular_values, reverse=True)


@given(st.integers(0, 6), st.integers(1, 8), st.integers(1, 8), st.integers(0, 1000))
@settings(deadline=None, max_examples=60)
def test_rank_of_a_product(rank: int, rows: int, columns: int, seed: int) -> None:
    rank = min(rank, rows, columns)
    found = gap_rank(_with_singular_values([1.0 + k for k in range(rank)], rows, columns, seed))
    assert (found.rank, found.clear) == (rank, True)


def test_empty_and_zero() -> None:
    for shape in ((0, 3), (3, 0), (0, 0)):
        assert gap_rank(np.zeros(shape)).rank == 0
    zero = gap_rank(np.zeros((3, 2)))
    assert (zero.rank, zero.gap, zero.clear) == (0, float("inf"), True)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_overflow_decides_nothing(bad: float) -> None:
    found = gap_rank(np.array([[1.0, bad], [0.0, 1.0]]))
    assert not found.clear


def test_layers() -> None:
    layer = LightningAttention(2, 2, 2, 2)
    found = numeric_rank(layer.parametrization())
    assert (found.rank, found.clear) == (7, True)
    assert numeric_rank(layer.parametrization(), seed=3).rank == 7
    assert numeric_rank(layer.parametrization(), seed=3) == numeric_rank(layer.parametrization(), seed=3)


def test_trap_of_a_tiny_coefficient() -> None:
    # The float64 rank is wrong, whatever the tolerance: the exact one decides.
    map_ = Parametrization.from_strings(["s", "t"], ["s", "s+t/10^17", "s^2"])
    assert numeric_rank(map_).rank == 1


def test_maps_without_parameters() -> None:
    assert numeric_rank(Parametrization.from_strings([], ["2", "3"])).rank == 0
    assert numeric_rank(Parametrization.from_strings(["s"], ["2"])).rank == 0


def test_coefficients_beyond_the_range_of_floats() -> None:
    map_ = Parametrization.from_strings(["s", "t"], ["s", f"{7**400}*t", f"{7**400}*s*t+1/{7**400}"])
    assert numeric_rank(map_).rank == 2
