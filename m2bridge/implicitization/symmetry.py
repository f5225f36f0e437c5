"""Permutations of the coordinates that come from permutations of the parameters, verified, and their group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from m2bridge.parametrization import Parametrization, Symmetry

LARGEST_GROUP = 2000


def is_symmetry(parametrization: Parametrization, symmetry: Symmetry) -> bool:
    """Say whether permuting the parameters permutes the coordinates as a symmetry claims (exact, a proof).

    Then the permutation of coordinates maps the image to itself, and its ideal as well.
    """
    if sorted(symmetry.parameters) != list(range(parametrization.n_parameters)):
        return False
    if sorted(symmetry.coordinates) != sorted(symmetry.coordinates.values()):
        return False
    for i, image in symmetry.coordinates.items():
        permuted = {}
        for monomial, coefficient in parametrization.coordinates[i].items():
            exponents = [0] * len(monomial)
            for j, e in enumerate(monomial):
                exponents[symmetry.parameters[j]] = e
            permuted[tuple(exponents)] = coefficient
        if permuted != dict(parametrization.coordinates[image]):
            return False
    return True


def symmetry_group(parametrization: Parametrization, kept: Sequence[int]) -> NDArray[np.int64]:
    """Return the group that the verified symmetries of a map generate on some of its coordinates.

    A generator that would make it larger than `LARGEST_GROUP` is left out.

    Returns
    -------
    (g, len(kept))
        Permutations of positions in ``kept``, the identity first.
    """
    place = {i: position for position, i in enumerate(kept)}
    generators: list[tuple[int, ...]] = []
    group = {tuple(range(len(kept)))}
    for symmetry in parametrization.symmetries:
        if not set(kept) <= set(symmetry.coordinates) or not {symmetry.coordinates[i] for i in kept} <= set(kept):
            continue
        if not is_symmetry(parametrization, symmetry):
            continue
        generator = tuple(place[symmetry.coordinates[i]] for i in kept)
        larger = _generate([*generators, generator], len(kept))
        if larger is not None:
            generators.append(generator)
            group = larger
    return np.array(sorted(group), dtype=np.int64).reshape(len(group), len(kept))


def _generate(generators: Sequence[tuple[int, ...]], n: int) -> set[tuple[int, ...]] | None:
    identity = tuple(range(n))
    group, frontier = {identity}, [identity]
    while frontier:
        reached = []
        for element in frontier:
            for generator in generators:
                product = tuple(generator[i] for i in element)
                if product not in group:
                    group.add(product)
                    reached.append(product)
        if len(group) > LARGEST_GROUP:
            return None
        frontier = reached
    return group
