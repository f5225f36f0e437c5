"""Weights of a lightning layer from its coefficients, exactly: the fibre up to scaling, the swap included."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sympy import QQ
from sympy.polys.rings import PolyElement

from m2bridge.errors import InputError
from m2bridge.fields import element, to_fraction
from m2bridge.networks import LightningAttention
from m2bridge.networks.lightning import name_entry, rank_factors
from m2bridge.polynomials import make_ring


def recover_weights(layer: LightningAttention, value: Sequence[Fraction | int]) -> list[list[Fraction]]:
    """Return weights (Q, K, V) that give a coefficient vector: one of each class up to scaling (A, V) -> (c A, V / c).

    The function is the d' x d matrix of quadrics v_i(y) a_m(y), with linear forms v = V y and a = A^T y; so a nonzero
    entry is factored over QQ, and the rest is division. Source: the proof of the generic fibre in arXiv:2408.17221.

    Parameters
    ----------
    layer
        With t >= 2.
    value
        The coordinates in the order of the layer's parametrization.

    Returns
    -------
    Two where the factors can be swapped (rk A = rk V = 1), else one; none if no weights over QQ give the value.

    Raises
    ------
    InputError
        For t = 1, or a vector of the wrong length.
    """
    if layer.t < 2:
        raise InputError("weights are recovered from coefficients for t >= 2")
    map_ = layer.parametrization()
    if len(value) != map_.n_coordinates:
        raise InputError(f"the value has {len(value)} entries, but the map has {map_.n_coordinates} coordinates")
    given = dict(zip(map_.coordinate_names, map(to_fraction, value), strict=True))
    d, out = layer.d, layer.d_out
    ring = make_ring([f"x{p}" for p in range(d)], QQ)

    def quadric(i: int, m: int) -> PolyElement:
        total = ring.zero
        for p in range(d):
            for q in range(p, d):
                total += (ring.gens[p] * ring.gens[q]).mul_ground(element(QQ, given[name_entry("y", i, p, q, m)]))
        return total

    quadrics = [[quadric(i, m) for m in range(d)] for i in range(out)]
    entry = next(((i, m) for i in range(out) for m in range(d) if quadrics[i][m]), None)
    if entry is None:
        zero = [Fraction(0)] * map_.n_parameters
        return [zero] if not any(given.values()) else []
    i, m = entry
    constant, factors = quadrics[i][m].factor_list()
    linear = [f for f, e in factors for _ in range(e)]
    if len(linear) != 2:
        return []
    found: list[list[Fraction]] = []
    for v, other in dict.fromkeys([(linear[0], linear[1]), (linear[1], linear[0])]):
        weights = _completed(layer, quadrics, i, m, v, other.mul_ground(constant))
        if weights is not None and [to_fraction(y) for y in map_.image(weights)] == list(given.values()):
            found.append(weights)
    return found


def _completed(
    layer: LightningAttention, quadrics: list[list[PolyElement]], i: int, m: int, v: PolyElement, a: PolyElement
) -> list[Fraction] | None:
    """Return the weights whose v_i and a_m are given, if there are any."""
    try:
        forms_a = [quadrics[i][n].exquo(v) for n in range(layer.d)]
        forms_v = [quadrics[j][m].exquo(a) for j in range(layer.d_out)]
    except Exception as error:  # sympy's ExactQuotientFailed has no stable place to import it from
        if "divide" not in str(error):
            raise
        return None
    A = [[_coefficient(f, p) for f in forms_a] for p in range(layer.d)]
    V = [[_coefficient(f, p) for p in range(layer.d)] for f in forms_v]
    K, Q = rank_factors(A)
    if len(K) > layer.a:
        return None
    spare: list[Any] = [[Fraction(0)] * layer.d] * (layer.a - len(K))
    return [x for row in (*Q, *spare, *K, *spare, *V) for x in row]


def _coefficient(form: PolyElement, p: int) -> Fraction:
    return to_fraction(form.coeff(form.ring.gens[p]))
