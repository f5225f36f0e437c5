"""Monomials of one degree as sorted index vectors, and as codes that sort in graded reverse lexicographic order."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Codes = NDArray[np.int64]

MOST_MONOMIALS = 6_000_000


def encode(indices: Indices, n: int) -> Codes:
    """Return the code of each row of variable indices (sorted ascending).

    A larger code is a smaller monomial in graded reverse lexicographic order: the last variable counts most.
    """
    code = np.zeros(len(indices), dtype=np.int64)
    for column in range(indices.shape[1] - 1, -1, -1):
        code = code * n + indices[:, column]
    return code


def decode(codes: Codes, n: int, degree: int) -> Indices:
    """Return the index rows of codes."""
    indices = np.empty((len(codes), degree), dtype=np.int64)
    rest = codes.copy()
    for column in range(degree):
        indices[:, column] = rest % n
        rest //= n
    return indices


def fits(n: int, degree: int) -> bool:
    """Say whether codes of this degree fit a machine word, and whether all monomials can be listed."""
    return n**degree < 2**62 and comb(n + degree - 1, degree) <= MOST_MONOMIALS


def multiples(indices: Indices, n: int) -> Indices:
    """Return the products of each monomial with each variable that is not before its last one.

    Applied to all monomials of a degree, it gives each of the next degree once.
    """
    last = indices[:, -1] if indices.shape[1] else np.zeros(len(indices), dtype=np.int64)
    counts = n - last
    rows = np.repeat(np.arange(len(indices)), counts)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    variables = np.arange(counts.sum()) - starts + np.repeat(last, counts)
    return np.concatenate([indices[rows], variables[:, None]], axis=1)


def all_monomials(n: int, degree: int) -> Indices:
    """Return all monomials of a degree."""
    indices = np.zeros((1, 0), dtype=np.int64)
    for _ in range(degree):
        indices = multiples(indices, n)
    return indices


def contained(codes: Codes, sorted_codes: Codes) -> NDArray[np.bool_]:
    """Say of each code whether it is in a sorted array."""
    if not len(sorted_codes):
        return np.zeros(len(codes), dtype=bool)
    places = np.minimum(np.searchsorted(sorted_codes, codes), len(sorted_codes) - 1)
    found: NDArray[np.bool_] = sorted_codes[places] == codes
    return found


def divisors_all_in(indices: Indices, n: int, sorted_codes: Codes) -> NDArray[np.bool_]:
    """Say of each monomial whether all its divisors of one degree less are in a sorted array of codes."""
    good = np.ones(len(indices), dtype=bool)
    for column in range(indices.shape[1]):
        rest = np.delete(indices[good], column, axis=1)
        good[good] = contained(encode(rest, n), sorted_codes)
    return good
