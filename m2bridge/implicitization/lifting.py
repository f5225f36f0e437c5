"""From forms modulo a prime to forms over QQ: rational reconstruction, and exact verification by substitution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

import flint
import numpy as np
from sympy.polys.rings import PolyElement

from m2bridge.exact import reconstruct
from m2bridge.fields import to_fraction
from m2bridge.implicitization.interpolation import ModularForm
from m2bridge.implicitization.monomials import Codes, decode, encode


@dataclass(frozen=True)
class IntegerForm:
    """A form with coprime integer coefficients: codes of its monomials, and the coefficients in their order."""

    degree: int
    codes: Codes
    coefficients: tuple[int, ...]


def combine(residues: Sequence[int], primes: Sequence[int]) -> tuple[int, int]:
    """Return the residue modulo the product of primes that has these residues modulo each."""
    value, modulus = residues[0], primes[0]
    for residue, prime in zip(residues[1:], primes[1:], strict=True):
        value += modulus * ((residue - value) * pow(modulus, -1, prime) % prime)
        modulus *= prime
    return value % modulus, modulus


def lift(forms: Sequence[ModularForm], primes: Sequence[int]) -> IntegerForm | None:
    """Return the form over QQ that has these reductions, one modulo each prime, scaled to coprime integers.

    Returns None if some coefficient has no small enough fraction: then more primes are needed. The result is a
    guess until it is verified.
    """
    if any(not np.array_equal(form.codes, forms[0].codes) for form in forms[1:]):
        return None
    seen: dict[tuple[int, ...], Fraction | None] = {}
    fractions: list[Fraction] = []
    for residues in zip(*(form.residues.tolist() for form in forms), strict=True):
        if residues not in seen:
            seen[residues] = reconstruct(*combine(residues, primes))
        fraction = seen[residues]
        if fraction is None:
            return None
        fractions.append(fraction)
    return integer_form(forms[0].degree, forms[0].codes, fractions)


def integer_form(degree: int, codes: Codes, fractions: Sequence[Fraction]) -> IntegerForm:
    """Return the multiple of a form that has coprime integer coefficients."""
    denominator = lcm(*(f.denominator for f in fractions))
    numerators = [int(f * denominator) for f in fractions]
    content = gcd(*numerators)
    return IntegerForm(degree, codes, tuple(n // content for n in numerators))


class Verifier:
    """Decides by exact substitution whether forms vanish on the image of a map.

    Products of coordinates are kept, since the monomials of one degree share most of their factors.

    Parameters
    ----------
    coordinates
        The coordinates of the map.
    """

    def __init__(self, coordinates: Sequence[PolyElement]) -> None:
        self._n = len(coordinates)
        self._context = flint.fmpq_mpoly_ctx.get(tuple(f"w{i}" for i in range(coordinates[0].ring.ngens)))
        self._products: dict[tuple[int, ...], flint.fmpq_mpoly] = {
            (i,): self._context.from_dict({m: _fmpq(to_fraction(c)) for m, c in f.items()})
            for i, f in enumerate(coordinates)
        }

    def vanishes(self, form: IntegerForm) -> bool:
        """Say whether a form vanishes identically on the image; either answer is a proof."""
        total = self._context.constant(0)
        rows = decode(form.codes, self._n, form.degree).tolist()
        for row, coefficient in zip(rows, form.coefficients, strict=True):
            total += coefficient * self._product(tuple(row))
        return not total

    def _product(self, row: tuple[int, ...]) -> flint.fmpq_mpoly:
        if row not in self._products:
            half = len(row) // 2
            self._products[row] = self._product(row[:half]) * self._product(row[half:])
        return self._products[row]


def _fmpq(number: Fraction) -> flint.fmpq:
    return flint.fmpq(number.numerator, number.denominator)


def permute(form: IntegerForm, permutation: Sequence[int]) -> IntegerForm:
    """Return the image of a form under a permutation of the n coordinates: y_i becomes y_(permutation[i])."""
    n = len(permutation)
    moved = np.sort(np.asarray(permutation, dtype=np.int64)[decode(form.codes, n, form.degree)], axis=1)
    return IntegerForm(form.degree, encode(moved, n), form.coefficients)
