"""Ranks on BLAS against python-flint."""

from __future__ import annotations

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from m2bridge import modular


def flint_rank(matrix: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> int:
    rows, columns = matrix.shape
    return int(flint.nmod_mat(rows, columns, (matrix % modular.PRIME).ravel().tolist(), modular.PRIME).rank())


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 70), st.integers(1, 70), st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_rank_of_products_is_that_of_flint(m: int, n: int, r: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = rng.integers(0, modular.PRIME, (m, r)), rng.integers(0, modular.PRIME, (r, n))
    matrix = (left.astype(object) @ right.astype(object) % modular.PRIME).astype(np.int64).reshape(m, n)
    assert modular.rank(matrix) == flint_rank(matrix)


@pytest.mark.parametrize("shape", [(300, 200), (200, 300), (257, 257)])
def test_sparse_and_deficient(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(7)
    matrix = rng.integers(0, modular.PRIME, shape) * (rng.random(shape) < 0.02)
    matrix[:, 5] = matrix[:, 6]
    matrix[11] = 3 * matrix[12] % modular.PRIME
    assert modular.rank(matrix) == flint_rank(matrix)


def test_product_is_exact_beyond_the_chunk() -> None:
    rng = np.random.default_rng(1)
    left = rng.integers(-(modular.PRIME // 2), modular.PRIME // 2 + 1, (3, 5000))
    right = rng.integers(-(modular.PRIME // 2), modular.PRIME // 2 + 1, (5000, 2))
    exact = left.astype(object) @ right.astype(object) % modular.PRIME
    found = modular.product(left.astype(float), right.astype(float))
    assert (found.astype(np.int64) % modular.PRIME == exact).all()


def test_the_argument_is_not_changed() -> None:
    matrix = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert modular.rank(matrix) == 1
    assert (matrix == [[1, 2], [2, 4]]).all()
