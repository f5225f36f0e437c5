"""Buchberger's algorithm on the checker's own arithmetic, recorded so that the checker need not search."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from time import monotonic

from m2bridge.check import Basis, divides
from m2bridge.errors import Infeasible


def groebner_trace(basis: Basis, *, budget_seconds: float) -> list[list[int]]:
    """Return the trace of a Gröbner basis of the generators of ``basis``, whose elements it becomes.

    An entry ``[k]`` is the normal form of generator k modulo the elements before it, ``[i, j]`` that of an
    S-polynomial.

    Raises
    ------
    Infeasible
        If the budget ends before.
    """
    end = monotonic() + budget_seconds
    ring = basis.ring
    trace: list[list[int]] = []
    # Pairs and generators by degree: a basis of homogeneous generators is found degree by degree.
    queue: list[tuple[int, int, list[int]]] = []
    for k, generator in enumerate(basis.generators):
        if generator:
            heapq.heappush(queue, (_degree(basis, max(generator)), 0, [k]))
    while queue:
        if monotonic() > end:
            raise Infeasible(f"a Gröbner basis took more than {budget_seconds:g} s", "a larger budget may help")
        _, _, entry = heapq.heappop(queue)
        if len(entry) == 2 and _follows(basis.leads, *entry):
            continue
        f = basis.reduce(basis.generators[entry[0]] if len(entry) == 1 else basis.s_polynomial(*entry))
        if not f:
            continue
        basis.append(f)
        trace.append(entry)
        new = len(basis.leads) - 1
        for i in range(new):
            if any(x and y for x, y in zip(basis.leads[i], basis.leads[new], strict=True)):
                both = ring.pack(tuple(map(max, basis.leads[i], basis.leads[new])))
                heapq.heappush(queue, (_degree(basis, both), 1, [i, new]))
    return trace


def _degree(basis: Basis, monomial: int) -> int:
    exponents = basis.ring.unpack(monomial)
    return sum(exponents[:-1]) + basis.ring.last * exponents[-1]


def _follows(leads: Sequence[tuple[int, ...]], i: int, j: int) -> bool:
    """Say whether Buchberger's second criterion leaves the pair out; see `Basis.open_pairs`."""
    both = tuple(map(max, leads[i], leads[j]))
    for k, lead in enumerate(leads):
        if k not in (i, j) and divides(lead, both):
            first, second = (tuple(map(max, lead, leads[x])) for x in (i, j))
            if (first != both or k < j) and (second != both or k < i):
                return True
    return False
