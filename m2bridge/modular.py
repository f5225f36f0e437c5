"""Matrix products and ranks modulo a 22-bit prime, on BLAS in float64: exact, and fast for large matrices.

Entries are whole numbers in float64, at most about p / 2 in size. A product of two is below 2^42 then, so that sums
of 1024 products, and one more term, are below 2^53 and exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PRIME = 4194301
"""The largest prime below 2^22."""

_MOST_SUMMANDS = 1024
_SMALL = 24
_CACHED = 2**15
"""Entries that stay in a cache while they are reduced: several passes over a large matrix wait for memory."""

Matrix = NDArray[np.float64]


def reduce(matrix: Matrix) -> Matrix:
    """Return whole numbers below 2^53 in size modulo the prime, in place, as residues of least size."""
    if matrix.size > _CACHED and matrix.flags.c_contiguous:
        flat = matrix.reshape(-1)
        for start in range(0, len(flat), _CACHED):
            _reduce(flat[start : start + _CACHED])
        return matrix
    return _reduce(matrix)


def _reduce(matrix: Matrix) -> Matrix:
    quotient = matrix * (1.0 / PRIME)
    np.rint(quotient, out=quotient)
    quotient *= PRIME
    matrix -= quotient
    return matrix


def product(left: Matrix, right: Matrix) -> Matrix:
    """Return the product of (stacks of) matrices modulo the prime."""
    inner = left.shape[-1]
    if inner <= _MOST_SUMMANDS:
        return reduce(np.matmul(left, right))
    total: Matrix = product(left[..., :_MOST_SUMMANDS], right[..., :_MOST_SUMMANDS, :])
    for start in range(_MOST_SUMMANDS, inner, _MOST_SUMMANDS):
        stop = start + _MOST_SUMMANDS
        total += product(left[..., start:stop], right[..., start:stop, :])
    return reduce(total)


def _minus_product(A: Matrix, left: Matrix, right: Matrix) -> Matrix:
    """Return A - left right modulo the prime."""
    if left.shape[1] > _MOST_SUMMANDS:
        return reduce(A - product(left, right))
    difference = np.matmul(left, right)
    np.subtract(A, difference, out=difference)
    return reduce(difference)


def rank(matrix: NDArray[np.float64] | NDArray[np.int64]) -> int:
    """Return the rank modulo the prime of an (m, n) matrix of whole numbers.

    A rank modulo a prime never exceeds the rank over QQ of a matrix of integers that reduces to it.
    """
    work = reduce(np.array(matrix, dtype=np.float64))
    if work.shape[0] < work.shape[1]:
        work = np.ascontiguousarray(work.T)
    return _factor(work)[0]


def _factor(A: Matrix) -> tuple[int, NDArray[np.int64], Matrix]:
    """Eliminate a matrix, which is overwritten, by halves of its columns.

    Returns its rank r, the order of its rows in which the pivots come first, and the (m, r) unit lower trapezoidal
    factor L of the rows in that order: L^(-1) times the matrix is in row echelon form.
    """
    m, n = A.shape
    if n <= _SMALL:
        return _factor_small(A)
    half = n // 2
    left_rank, order, L = _factor(A[:, :half].copy())
    if not left_rank:
        right_rank, right_order, right = _factor(A[:, half:].copy())
        return right_rank, right_order, right
    B = A[order, half:]
    top = _solve_unit_lower(L[:left_rank], B[:left_rank])
    if left_rank == m:
        return left_rank, order, L
    rest = _minus_product(B[left_rank:], L[left_rank:], top)
    right_rank, right_order, right = _factor(rest)
    order = np.concatenate([order[:left_rank], order[left_rank:][right_order]])
    lower = np.zeros((m, left_rank + right_rank))
    lower[:left_rank, :left_rank] = L[:left_rank]
    lower[left_rank:, :left_rank] = L[left_rank:][right_order]
    lower[left_rank:, left_rank:] = right
    return left_rank + right_rank, order, lower


def _factor_small(A: Matrix) -> tuple[int, NDArray[np.int64], Matrix]:
    """Eliminate a narrow matrix column by column, each brought up to date only when its turn comes."""
    m, n = A.shape
    order = np.arange(m)
    L = np.zeros((m, min(m, n)))
    # The inverse of the square unit lower triangular part of L, which grows by a row with each pivot.
    inverse = np.zeros((n, n))
    found = 0
    for j in range(n):
        if found == m:
            break
        column = A[:, j].copy()
        if found:
            top = reduce(inverse[:found, :found] @ column[:found])
            column = reduce(column[found:] - L[found:, :found] @ top)
        if not column[0]:
            nonzero = np.flatnonzero(column)
            if not len(nonzero):
                continue
            pivot = int(nonzero[0])
            column[[0, pivot]] = column[[pivot, 0]]
            for array in (A, L, order):
                array[[found, found + pivot]] = array[[found + pivot, found]]
        inverse[found, :found] = -reduce(L[found, :found] @ inverse[:found, :found])
        inverse[found, found] = 1
        L[found:, found] = reduce(column * pow(int(column[0]), -1, PRIME))
        found += 1
    return found, order, L[:, :found]


def _solve_unit_lower(L: Matrix, B: Matrix) -> Matrix:
    """Return L^(-1) B for a unit lower triangular L."""
    r = len(L)
    if r <= _SMALL:
        X = B.copy()
        for row in range(1, r):
            X[row : row + 1] = _minus_product(X[row : row + 1], L[row : row + 1, :row], X[:row])
        return X
    half = r // 2
    top = _solve_unit_lower(L[:half, :half], B[:half])
    rest = _minus_product(B[half:], L[half:, :half], top)
    return np.concatenate([top, _solve_unit_lower(L[half:, half:], rest)])
