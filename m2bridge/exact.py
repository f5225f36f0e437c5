"""Exact linear algebra and substitution on python-flint: ranks, linear relations, vanishing, symmetries."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, isqrt
from typing import Any

import flint
from sympy.polys.domains.domain import Domain
from sympy.polys.rings import PolyElement

from m2bridge.fields import element, to_fraction
from m2bridge.parametrization import Parametrization, VectorField
from m2bridge.polynomials import fraction_point, primitive

RANK_PRIMES = (2147483647, 2147483629, 2147483587, 2147483579, 2147483563, 2147483549)
"""The largest primes below 2^31: products of two residues fit a machine word."""


# --- matrices ------------------------------------------------------------------------------------------


def matrix_rank(rows: Sequence[Sequence[Any]], field: Domain) -> int:
    """Return the rank of a matrix of elements of QQ or GF(p)."""
    if not rows or not rows[0]:
        return 0
    return int(_flint_matrix(rows, field).rank())


def _flint_matrix(rows: Sequence[Sequence[Any]], field: Domain) -> Any:
    characteristic = field.characteristic()
    entries = [to_fraction(entry) for row in rows for entry in row]
    if characteristic:
        return flint.nmod_mat(
            len(rows), len(rows[0]), [int(entry) % characteristic for entry in entries], characteristic
        )
    return flint.fmpq_mat(
        len(rows), len(rows[0]), [flint.fmpq(entry.numerator, entry.denominator) for entry in entries]
    )


@dataclass(frozen=True)
class LinearReduction:
    """Which coordinates of a map are linearly independent of the others and of 1, and how the rest depend.

    Attributes
    ----------
    kept
        Indices of coordinates that are linearly independent modulo constants, in order.
    dependent
        For each other index i: coefficients (c_0, {k: c_k}) with f_i = c_0 + sum of c_k f_k over kept k.
    """

    kept: tuple[int, ...]
    dependent: dict[int, tuple[Fraction, dict[int, Fraction]]]


def linear_reduction(parametrization: Parametrization) -> LinearReduction:
    """Return all affine-linear relations among the coordinates (relations among parameters are not used).

    Coordinates with few terms are kept first, since they make elimination cheaper. Constant, zero, repeated
    and proportional coordinates are special cases. Exact over the ground field.
    """
    coordinates = parametrization.coordinates
    constant = (0,) * parametrization.n_parameters
    by_size = sorted(range(len(coordinates)), key=lambda i: (len(coordinates[i]), i))
    monomials = sorted({m for f in coordinates for m in f if m != constant})
    index = {m: row for row, m in enumerate(monomials)}
    if not monomials:
        return LinearReduction((), {i: (_constant_term(f), {}) for i, f in enumerate(coordinates)})
    zero = parametrization.field.zero
    columns = [[zero] * len(coordinates) for _ in monomials]
    for column, i in enumerate(by_size):
        for monomial, coefficient in coordinates[i].items():
            if monomial != constant:
                columns[index[monomial]][column] = coefficient
    # In the reduced row echelon form, the pivot columns are the first independent ones and each other
    # column holds its coefficients in them.
    reduced, rank = _flint_matrix(columns, parametrization.field).rref()
    pivots: list[int] = []
    for row in range(rank):
        column = pivots[-1] + 1 if pivots else 0
        while not reduced[row, column]:
            column += 1
        pivots.append(column)
    dependent: dict[int, tuple[Fraction, dict[int, Fraction]]] = {}
    for column, i in enumerate(by_size):
        if column in pivots:
            continue
        combination = {
            by_size[pivots[row]]: to_fraction(reduced[row, column]) for row in range(rank) if reduced[row, column]
        }
        rest = coordinates[i]
        for k, c in combination.items():
            rest = rest - coordinates[k].mul_ground(element(parametrization.field, c))
        dependent[i] = (_constant_term(rest), combination)
    return LinearReduction(tuple(sorted(by_size[column] for column in pivots)), dict(sorted(dependent.items())))


def _constant_term(polynomial: PolyElement) -> Fraction:
    return to_fraction(polynomial.coeff(1))


# --- the Jacobian of a map -----------------------------------------------------------------------------


def _gradient(polynomial: PolyElement, values: Sequence[Any]) -> list[Any]:
    """Return the gradient at a point of the ground field; points with many zeros take little time."""
    field = polynomial.ring.domain
    gradient = [field.zero] * len(values)
    for monomial, coefficient in polynomial.items():
        used = [i for i, e in enumerate(monomial) if e]
        vanishing = [i for i in used if not values[i]]
        if len(vanishing) > 1:
            continue
        for i in vanishing or used:
            term = coefficient * field(monomial[i])
            for j in used:
                exponent = monomial[j] - (i == j)
                if exponent:
                    term = term * values[j] ** exponent
            gradient[i] = gradient[i] + term
    return gradient


def jacobian_at(parametrization: Parametrization, point: Sequence[Fraction]) -> list[list[Any]]:
    """Return the Jacobian (m x n) at one point of parameter space, as elements of the ground field."""
    values = fraction_point(point, parametrization.field)
    return [_gradient(f, values) for f in parametrization.coordinates]


def jacobian_rank_at(parametrization: Parametrization, point: Sequence[Fraction]) -> int:
    """Return the rank, over the ground field, of the Jacobian at one point of parameter space.

    It is a lower bound for the dimension of the closure of the image, never more.
    """
    return matrix_rank(jacobian_at(parametrization, point), parametrization.field)


def equations_rank(equations: Sequence[PolyElement], point: Sequence[Fraction], field: Domain) -> int:
    """Return the rank, over the ground field, of the Jacobian of polynomials at a point of their space."""
    values = fraction_point(point, field)
    return matrix_rank([row for row in (_gradient(f, values) for f in equations) if any(row)], field)


def value_modulo(polynomial: PolyElement, point: Sequence[int], prime: int) -> int:
    """Return the value at a point of a polynomial over QQ, modulo a prime that divides none of its denominators."""
    total = 0
    for monomial, coefficient in polynomial.items():
        number = to_fraction(coefficient)
        term = number.numerator * pow(number.denominator, -1, prime)
        for x, e in zip(point, monomial, strict=True):
            if e:
                term = term * pow(x, e, prime) % prime
        total += term
    return total % prime


def random_image_modulo(parametrization: Parametrization, prime: int, seed: int) -> list[int]:
    """Return the image modulo a prime of a random point of parameter space."""
    rng = random.Random(seed)  # noqa: S311 - random points, not secrets
    point = [rng.randrange(1, prime) for _ in range(parametrization.n_parameters)]
    return [value_modulo(f, point, prime) for f in parametrization.coordinates]


def equations_rank_modulo(
    parametrization: Parametrization, equations: Sequence[PolyElement], kept: Sequence[int], prime: int, seed: int
) -> int:
    """Return the rank modulo a prime of the Jacobian of equations, at the image of a random point.

    Parameters
    ----------
    parametrization
        The map over QQ.
    equations
        Equations of the closure X of its image, in the coordinate ring, with integer coefficients.
    kept
        The coordinates by which to differentiate; the equations contain no others.

    Returns
    -------
    int
        A number r with dim X <= (number of kept coordinates) - r.
    """
    image = random_image_modulo(parametrization, prime, seed)
    entries: list[int] = []
    for f in equations:
        gradient = [0] * len(image)
        for monomial, coefficient in f.items():
            used = [i for i, e in enumerate(monomial) if e]
            for i in used:
                term = int(to_fraction(coefficient)) * monomial[i]
                for j in used:
                    term = term * pow(image[j], monomial[j] - (i == j), prime) % prime
                gradient[i] += term
        entries.extend(gradient[i] % prime for i in kept)
    return int(flint.nmod_mat(len(equations), len(kept), entries, prime).rank())


@dataclass(frozen=True)
class RankSample:
    """Rank of a Jacobian at one random point of an extension of GF(prime).

    Attributes
    ----------
    prime
        Characteristic.
    extension_degree
        Degree of the extension; 1 for GF(prime) itself.
    rank
        The rank.
    """

    prime: int
    extension_degree: int
    rank: int


def generic_rank_samples(parametrization: Parametrization, seed: int = 0, samples: int = 2) -> tuple[RankSample, ...]:
    """Return ranks of the Jacobian at random points, each modulo another 31-bit prime.

    Over QQ each is a lower bound for the generic rank, which is the dimension of the closure: a minor that
    is nonzero modulo p is nonzero. Over GF(p) the points have coordinates in an extension with more than
    2^40 elements; the generic rank can there be below the dimension (inseparable maps).
    """
    rng = random.Random(seed)  # noqa: S311 - random points, not secrets
    if parametrization.field.characteristic():
        return tuple(_rank_in_extension(parametrization, rng) for _ in range(samples))
    denominators = {to_fraction(c).denominator for f in parametrization.coordinates for c in f.values()}
    primes = [p for p in RANK_PRIMES if all(d % p for d in denominators)]
    return tuple(_rank_modulo(parametrization, prime, rng) for prime in primes[:samples])


def _rank_modulo(parametrization: Parametrization, prime: int, rng: random.Random) -> RankSample:
    point = [rng.randrange(1, prime) for _ in range(parametrization.n_parameters)]
    if not parametrization.n_parameters:
        return RankSample(prime, 1, 0)
    entries = gradients_modulo(parametrization, prime, point)
    matrix = flint.nmod_mat(parametrization.n_coordinates, parametrization.n_parameters, entries, prime)
    return RankSample(prime, 1, int(matrix.rank()))


def gradients_modulo(parametrization: Parametrization, prime: int, point: Sequence[int]) -> list[int]:
    """Return the entries of the Jacobian, row by row, at a point modulo a prime; no entry of the point is zero."""
    inverses = [pow(x, -1, prime) for x in point]
    entries: list[int] = []
    for f in parametrization.coordinates:
        gradient = [0] * parametrization.n_parameters
        for monomial, coefficient in f.items():
            number = to_fraction(coefficient)
            value = number.numerator * pow(number.denominator, -1, prime) % prime
            for i, e in enumerate(monomial):
                if e:
                    value = value * pow(point[i], e, prime) % prime
            for i, e in enumerate(monomial):
                if e:
                    gradient[i] = (gradient[i] + value * e * inverses[i]) % prime
        entries.extend(gradient)
    return entries


def _rank_in_extension(parametrization: Parametrization, rng: random.Random) -> RankSample:
    characteristic = parametrization.field.characteristic()
    degree = 1
    while characteristic**degree < 2**40:
        degree += 1
    context = flint.fq_default_ctx(characteristic, degree)
    generator = context.gen()
    point = []
    for _ in range(parametrization.n_parameters):
        value = context.zero()
        for _ in range(degree):
            value = value * generator + rng.randrange(characteristic)
        point.append(value)
    rows = []
    for f in parametrization.coordinates:
        gradient = []
        for x in parametrization.ring.gens:
            total = context.zero()
            for monomial, coefficient in f.diff(x).items():
                term = context(int(coefficient) % characteristic)
                for value, e in zip(point, monomial, strict=True):
                    term = term * value**e
                total = total + term
            gradient.append(total)
        rows.append(gradient)
    return RankSample(characteristic, degree, _rank_by_elimination(rows))


def _rank_by_elimination(rows: list[list[Any]]) -> int:
    """Gaussian elimination over any field (python-flint has no matrices over extensions)."""
    rank = 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((r for r in range(rank, len(rows)) if rows[r][column] != 0), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for r in range(rank + 1, len(rows)):
            if rows[r][column] != 0:
                factor = rows[r][column] / rows[rank][column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[rank], strict=True)]
        rank += 1
    return rank


# --- factors and substitution --------------------------------------------------------------------------------------


def _flint_context(names: int, field: Domain) -> Any:
    labels = tuple(f"w{i}" for i in range(names))
    characteristic = field.characteristic()
    if characteristic:
        return flint.nmod_mpoly_ctx.get(labels, modulus=characteristic)
    return flint.fmpq_mpoly_ctx.get(labels)


def _to_flint(polynomial: PolyElement, context: Any) -> Any:
    if polynomial.ring.domain.characteristic():
        modulus = polynomial.ring.domain.characteristic()
        return context.from_dict({m: int(c) % modulus for m, c in polynomial.items()})
    terms = {}
    for monomial, coefficient in polynomial.items():
        number = to_fraction(coefficient)
        terms[monomial] = flint.fmpq(number.numerator, number.denominator)
    return context.from_dict(terms)


def irreducible_factors(polynomial: PolyElement) -> tuple[PolyElement, ...]:
    """Return the nonconstant irreducible factors over QQ or GF(p), each once and made primitive."""
    ring = polynomial.ring
    factored = _to_flint(polynomial, _flint_context(ring.ngens, ring.domain)).factor()[1]
    return tuple(
        primitive(ring.from_dict({m: element(ring.domain, _fraction(c)) for m, c in factor.to_dict().items()}))
        for factor, _ in factored
    )


def _fraction(number: Any) -> Fraction:
    return Fraction(int(number.p), int(number.q)) if isinstance(number, flint.fmpq) else Fraction(int(number))


def vanishing(parametrization: Parametrization, equations: Sequence[PolyElement]) -> list[bool]:
    """Say of each polynomial in the coordinates whether it vanishes identically on the image.

    Exact substitution over the ground field, so a True is a proof. The map must have no relations.
    """
    parametrization.require_no_relations("substitution of the map into its equations")
    source = _flint_context(parametrization.n_parameters, parametrization.field)
    target = _flint_context(parametrization.n_coordinates, parametrization.field)
    images = [_to_flint(f, source) for f in parametrization.coordinates]
    return [not _to_flint(equation, target).compose(*images, ctx=source) for equation in equations]


def constant_along(parametrization: Parametrization, vector_field: VectorField) -> bool:
    """Say whether the derivative of each coordinate along a vector field is identically zero (a proof)."""
    for f in parametrization.coordinates:
        derivative = parametrization.ring.zero
        for x, component in zip(parametrization.ring.gens, vector_field, strict=True):
            if component:
                derivative = derivative + f.diff(x) * component
        if derivative:
            return False
    return True


MOST_PARAMETERS_FOR_SYMMETRIES = 45
"""Affine vector fields on n-space have n^2 + n coefficients, and a matrix of that size is eliminated."""


def affine_symmetries(parametrization: Parametrization, rank: int, seed: int = 0) -> tuple[VectorField, ...]:
    """Return candidates for affine-linear vector fields on parameter space along which a map over QQ is constant.

    They are solved for at random points modulo a prime and lifted to QQ: a basis of the map's infinitesimal affine
    symmetries, with high probability. Whoever uses one verifies it.

    Parameters
    ----------
    parametrization
        The map.
    rank
        Generic rank of its Jacobian, at least 1: each point gives so many conditions.
    seed
        Seed of the points.
    """
    n, prime = parametrization.n_parameters, RANK_PRIMES[0]
    rng = random.Random(seed)  # noqa: S311 - random points, not secrets
    unknowns = n * n + n
    rows: list[int] = []
    for _ in range(-(-unknowns // rank) + 2):
        point = [rng.randrange(1, prime) for _ in range(n)]
        gradients = gradients_modulo(parametrization, prime, point)
        # So many random combinations of the coordinates' gradients span what all of them span.
        for _ in range(rank):
            gradient = [0] * n
            for i in range(parametrization.n_coordinates):
                factor = rng.randrange(prime)
                gradient = [
                    (g + factor * h) % prime for g, h in zip(gradient, gradients[i * n : i * n + n], strict=True)
                ]
            # The derivative along (sum over k of M_jk w_k + b_j) d/dw_j is linear in M and b.
            rows += [g * w % prime for g in gradient for w in (*point, 1)]
    basis, nullity = flint.nmod_mat(len(rows) // unknowns, unknowns, rows, prime).nullspace()
    if not nullity:
        return ()
    columns = [int(basis[r, c]) for c in range(nullity) for r in range(unknowns)]
    reduced, _ = flint.nmod_mat(nullity, unknowns, columns, prime).rref()
    lifted = []
    for row in range(nullity):
        numbers = [reconstruct(int(reduced[row, c]), prime) for c in range(unknowns)]
        if None not in numbers:
            lifted.append(_affine_field(parametrization, numbers))
    return tuple(lifted)


def _affine_field(parametrization: Parametrization, numbers: Sequence[Fraction | None]) -> VectorField:
    """Return the field whose component j combines the parameters and 1 by the j-th n + 1 of the numbers."""
    n, ring = parametrization.n_parameters, parametrization.ring
    components = []
    for j in range(n):
        terms = zip((*ring.gens, ring.one), numbers[j * (n + 1) : (j + 1) * (n + 1)], strict=True)
        parts = (x.mul_ground(element(parametrization.field, c)) for x, c in terms if c)
        components.append(sum(parts, ring.zero))
    return tuple(components)


def reconstruct(residue: int, modulus: int) -> Fraction | None:
    """Return the fraction n/d with |n|, d <= sqrt(modulus / 2) that has this residue, or None if there is none."""
    bound = isqrt(modulus // 2)
    r0, r1, t0, t1 = modulus, residue % modulus, 0, 1
    while r1 > bound:
        quotient = r0 // r1
        r0, r1, t0, t1 = r1, r0 - quotient * r1, t1, t0 - quotient * t1
    if t1 == 0 or abs(t1) > bound or gcd(r1, t1) != 1:
        return None
    return Fraction(r1, t1)


def symmetry_rank(parametrization: Parametrization, fields: Sequence[VectorField], seed: int = 0) -> int:
    """Return a number k of the given fields, verified and independent at a point, along which the map is constant.

    Then the dimension of the closure is at most n - k in characteristic 0: proved, since each field is
    verified identically and independence at one point modulo a prime implies generic independence.
    """
    fields = [field for field in fields if constant_along(parametrization, field)]
    if not fields or parametrization.field.characteristic():
        return 0
    rng = random.Random(seed)  # noqa: S311 - random points, not secrets
    prime = RANK_PRIMES[0]
    point = [rng.randrange(1, prime) for _ in range(parametrization.n_parameters)]
    entries: list[int] = []
    for field in fields:
        for component in field:
            value = 0
            for monomial, coefficient in component.items():
                number = to_fraction(coefficient)
                term = number.numerator * pow(number.denominator, -1, prime)
                for x, e in zip(point, monomial, strict=True):
                    term = term * pow(x, e, prime) % prime
                value = (value + term) % prime
            entries.append(value)
    return int(flint.nmod_mat(len(fields), parametrization.n_parameters, entries, prime).rank())
