"""Singular strata: tangent dimensions of a closure at points, bounded from both sides by exact arithmetic.

For a family with a group action, one representative decides a whole orbit, so that no minors are needed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

from sympy.polys.rings import PolyElement

from m2bridge.closure import DEFAULT_BUDGET_SECONDS
from m2bridge.closure import closure as find_closure
from m2bridge.evidence import Evidence
from m2bridge.exact import equations_rank
from m2bridge.fields import to_fraction
from m2bridge.networks import LightningAttention, Orbit
from m2bridge.operations import ZariskiClosure
from m2bridge.parametrization import Parametrization


@dataclass(frozen=True)
class Stratum:
    """The tangent space of a closure X at a point, and at all points of the orbit that it represents.

    Attributes
    ----------
    label
        Name of the point.
    orbit
        The orbit of weights, for lightning layers.
    upper
        Number of coordinates minus the rank of the Jacobian of known equations at the point: proved, since they
        vanish on X. None if no equations are known.
    lower
        Proved lower bound: from the tangent cone for lightning layers with t >= 2, else the dimension of X.
    variety_dim
        Dimension of X; for a map whose closure is not complete what the closure says of it, perhaps a lower bound.
    complete
        Whether the equations are known to generate the ideal, so that ``upper`` is the tangent dimension.
    orbit_dim
        Dimension of the orbit's image, where known.
    expected_singular
        What the corrected statement says of the orbit; None where there is none.
    """

    label: str
    orbit: Orbit | None
    upper: int | None
    lower: int
    variety_dim: int
    complete: bool
    orbit_dim: int | None
    expected_singular: bool | None

    @property
    def dim(self) -> int | None:
        """The tangent dimension, if it is known."""
        return self.upper if self.complete or self.upper == self.lower else None

    @property
    def singular(self) -> bool | None:
        """Whether X is singular there; None if it is open."""
        if self.lower > self.variety_dim:
            return True
        if self.upper == self.variety_dim:
            return False
        return self.dim > self.variety_dim if self.dim is not None else None

    @property
    def evidence(self) -> Evidence:
        """What the verdict is worth: ``PROVED`` if a bound decides, ``COMPUTED`` if completeness does."""
        if self.lower > self.variety_dim or self.upper == self.variety_dim or self.upper == self.lower:
            return Evidence.PROVED
        return Evidence.COMPUTED if self.complete else Evidence.UPPER_BOUND

    @property
    def published_singular(self) -> bool | None:
        """What the published statement says of the orbit."""
        return None if self.orbit is None else self.orbit.published_singular

    def to_dict(self) -> dict[str, Any]:
        """Return the stratum as plain data."""
        orbit = self.orbit
        return {
            "label": self.label,
            "rank_A": None if orbit is None else orbit.rank_A,
            "rank_V": None if orbit is None else orbit.rank_V,
            "intersection": None if orbit is None else orbit.intersection,
            "dim": self.dim,
            "lower_bound": self.lower,
            "upper_bound": self.upper,
            "variety_dim": self.variety_dim,
            "singular": self.singular,
            "evidence": self.evidence.value,
            "orbit_dim": self.orbit_dim,
            "published_singular": self.published_singular,
            "expected_singular": self.expected_singular,
        }


def orbit_strata(layer: LightningAttention, closure: ZariskiClosure | None = None) -> tuple[Stratum, ...]:
    """Return a stratum for each orbit of a single layer: for t >= 2 all points of the neurovariety.

    Parameters
    ----------
    layer
        The layer. For t = 1 the orbits do not exhaust the strata; their representatives are points like others.
    closure
        Its closure, as far as it is known; without it only lower bounds are used.
    """
    map_ = layer.parametrization()
    equations = () if closure is None else closure.generators
    strata = []
    for orbit in layer.orbits():
        strata.append(
            Stratum(
                label="zero" if orbit.is_zero else str(orbit),
                orbit=orbit,
                upper=_upper(map_, equations, layer.representative(orbit)) if equations or closure else None,
                lower=layer.tangent_lower_bound(orbit) if layer.t >= 2 else layer.dimension,
                variety_dim=layer.dimension,
                complete=closure is not None and closure.complete,
                orbit_dim=layer.orbit_dimension(orbit) if layer.t >= 2 else None,
                expected_singular=layer.is_singular(orbit),
            )
        )
    return tuple(strata)


DECIDING_DEGREE = 4
"""Equations up to this degree cut out the tangent spaces of all layers looked at, but for a few with a = 1."""


def decide_strata(
    layer: LightningAttention,
    *,
    strategy: str = "auto",
    budget_seconds: float = DEFAULT_BUDGET_SECONDS,
    max_degree: int | None = None,
    **options: Any,
) -> tuple[tuple[Stratum, ...], ZariskiClosure]:
    """Return the strata of a layer by as few equations as decide them, and these equations.

    A bound from both sides decides a stratum without the proof that the equations are all, which takes far longer than
    to find them: it is only asked for where the bounds do not meet.

    Parameters
    ----------
    layer
        The layer.
    strategy, budget_seconds, max_degree, options
        See `closure`; the budget is for all of it.

    Raises
    ------
    Undecided
        See `closure`.
    """
    map_ = layer.parametrization()
    end = time.monotonic() + budget_seconds
    if strategy in ("auto", "interpolate"):
        for degree in range(2, min(max_degree or DECIDING_DEGREE, DECIDING_DEGREE) + 1):
            left = max(end - time.monotonic(), 0.1)
            found = find_closure(map_, budget_seconds=left, max_degree=degree, equations_only=True, **options)
            strata = orbit_strata(layer, found)
            if all(stratum.singular is not None for stratum in strata):
                return strata, found
    left = max(end - time.monotonic(), 0.1)
    found = find_closure(map_, strategy=strategy, budget_seconds=left, max_degree=max_degree, **options)
    return orbit_strata(layer, found), found


def strata_dimension(strata: Sequence[Stratum]) -> int | None:
    """Return the dimension of the singular locus from the strata of all orbits; -1 if smooth, None if it is open."""
    if any(stratum.singular is None or stratum.orbit_dim is None for stratum in strata):
        return None
    return max((s.orbit_dim for s in strata if s.singular and s.orbit_dim is not None), default=-1)


def count_minors(map_: Parametrization, closure: ZariskiClosure) -> int:
    """Return the number of minors of the Jacobian of a closure's nonlinear generators, of the codimension's size."""
    nonlinear = sum(count for degree, count in closure.generator_degrees.items() if degree > 1)
    codim = closure.n_independent - closure.dim
    return comb(nonlinear, codim) * comb(closure.n_independent, codim) if codim else 1


def point_strata(
    map_: Parametrization, closure: ZariskiClosure, points: Sequence[tuple[str, Sequence[Fraction]]]
) -> tuple[Stratum, ...]:
    """Return a stratum for each of some named points of parameter space."""
    return tuple(
        Stratum(
            label=label,
            orbit=None,
            upper=_upper(map_, closure.generators, point),
            lower=closure.dim,
            variety_dim=closure.dim,
            complete=closure.complete,
            orbit_dim=None,
            expected_singular=None,
        )
        for label, point in points
    )


def _upper(map_: Parametrization, equations: Sequence[PolyElement], weights: Sequence[Fraction]) -> int:
    image = [to_fraction(y) for y in map_.image(weights)]
    return map_.n_coordinates - equations_rank(equations, image, map_.field)
