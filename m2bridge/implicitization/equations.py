"""Equations of a closure over QQ, degree by degree: interpolated modulo primes, lifted, verified by substitution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from sympy import prevprime
from sympy.polys.rings import PolyElement

from m2bridge.exact import RANK_PRIMES
from m2bridge.fields import to_fraction
from m2bridge.implicitization.grading import finest_grading
from m2bridge.implicitization.interpolation import DegreeStep, Interpolation, ModularForm
from m2bridge.implicitization.lifting import IntegerForm, Verifier, lift, permute


class _UnluckyPrimeError(Exception):
    """A form modulo the prime comes from no equation: the prime, or the points, must be changed."""


@dataclass(frozen=True)
class EquationsOfDegree:
    """The new equations of one degree.

    Attributes
    ----------
    degree
        The degree D.
    forms
        Minimal generators of degree D: verified to vanish on the image.
    n_equations
        Dimension of the ideal's part of degree D over QQ, exactly: it is at most the number of monomials less a
        rank modulo a prime, and the verified forms with multiples of lower ones reach that number.
    """

    degree: int
    forms: tuple[IntegerForm, ...]
    n_equations: int


@cache
def _lifting_primes() -> tuple[int, ...]:
    """Return 31-bit primes, the largest first: enough for coefficients of about 300 digits."""
    primes = [RANK_PRIMES[0]]
    while len(primes) < 64:
        primes.append(int(prevprime(primes[-1])))
    return tuple(primes)


class EquationSearch:
    """Finds all equations of a cone, one degree after the other.

    Parameters
    ----------
    coordinates
        Nonzero homogeneous coordinates of the cone over QQ, for a grading in which all have degree 1.
    symmetries : (g, m)
        A group of permutations of the coordinates that maps the cone to itself, verified, the identity first.
    seed
        Seed of the random points.
    deadline
        Value of ``time.monotonic()`` at which `next_degree` raises ``OutOfTimeError``.
    primes
        Primes to use, in this order; those that divide a denominator are left out.
    """

    def __init__(
        self,
        coordinates: Sequence[PolyElement],
        *,
        symmetries: NDArray[np.int64] | None = None,
        seed: int = 0,
        deadline: float = float("inf"),
        primes: Sequence[int] | None = None,
    ) -> None:
        self._coordinates = coordinates
        self._grading = finest_grading(coordinates)
        self._symmetries = symmetries
        self._seed = seed
        self._deadline = deadline
        denominators = {to_fraction(c).denominator for f in coordinates for c in f.values()}
        self._primes = [p for p in primes or _lifting_primes() if all(d % p for d in denominators)]
        if not self._primes:
            raise ArithmeticError("every prime divides a denominator of the map")
        self._verifier = Verifier(coordinates)
        self._interpolations: dict[int, Interpolation] = {}
        self.degree = 0  # the last one that was done

    def extend(self, deadline: float) -> None:
        """Set a new deadline."""
        self._deadline = deadline
        for interpolation in self._interpolations.values():
            interpolation.deadline = deadline

    @property
    def next_is_feasible(self) -> bool:
        """Whether the monomials of the next degree can be listed."""
        return self._at(self._primes[0], self.degree).feasible(self.degree + 1)

    def next_degree(self) -> EquationsOfDegree:
        """Return the new equations of the next degree.

        Raises
        ------
        OutOfTimeError
            If the deadline passes.
        ArithmeticError
            If no prime serves: not seen except by fault injection.
        """
        degree = self.degree + 1
        while self._primes:
            step = self._at(self._primes[0], degree).steps[degree - 1]
            try:
                lifted = [self._lift(form) for form in step.minimal]
            except _UnluckyPrimeError:
                self._interpolations.pop(self._primes.pop(0))
                continue
            self.degree = degree
            return EquationsOfDegree(degree, self._with_images(step, lifted), step.n_equations)
        raise ArithmeticError(f"no prime gave equations of degree {degree} that could be lifted and verified")

    def _at(self, prime: int, degree: int) -> Interpolation:
        """Return the interpolation modulo a prime, carried to a degree."""
        if prime not in self._interpolations:
            self._interpolations[prime] = Interpolation(
                self._coordinates,
                self._grading,
                prime,
                symmetries=self._symmetries,
                seed=self._seed,
                deadline=self._deadline,
            )
        interpolation = self._interpolations[prime]
        while len(interpolation.steps) < degree:
            interpolation.next_degree()
        return interpolation

    def _lift(self, form: ModularForm) -> IntegerForm:
        """Return the verified form over QQ that reduces to a form modulo the first prime."""
        forms = [form]
        for number in range(1, len(self._primes) + 1):
            lifted = lift(forms, self._primes[:number])
            if lifted is not None and self._verifier.vanishes(lifted):
                return lifted
            if number < len(self._primes):
                other = self._at(self._primes[number], form.degree).element(int(form.codes[0]))
                if other is None:
                    break
                forms.append(other)
        raise _UnluckyPrimeError

    def _with_images(self, step: DegreeStep, lifted: list[IntegerForm]) -> tuple[IntegerForm, ...]:
        """Return all images of verified forms: a symmetry of the image maps equations to equations."""
        if self._symmetries is None:
            return tuple(lifted)
        return tuple(
            permute(form, self._symmetries[number].tolist())
            for form, numbers in zip(lifted, step.images, strict=True)
            for number in numbers
        )
