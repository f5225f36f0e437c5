"""The main job: all that can be said of one model, section by section, each figure with what it is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from m2bridge.closure import DEFAULT_BUDGET_SECONDS, DEFAULT_CERTIFICATE_SECONDS
from m2bridge.closure import closure as find_closure
from m2bridge.compare import Verdict
from m2bridge.dimension import DimensionReport, deep_dimension, dimension
from m2bridge.engines import Engine
from m2bridge.errors import Undecided
from m2bridge.evidence import Evidence
from m2bridge.exact import linear_reduction
from m2bridge.fields import parse_field
from m2bridge.job import Limits
from m2bridge.networks import DeepLightning, LightningAttention
from m2bridge.operations import ZariskiClosure
from m2bridge.parametrization import Parametrization
from m2bridge.strata import Stratum, orbit_strata, point_strata

Model = LightningAttention | DeepLightning | Parametrization
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Study:
    """What was found of one model.

    Attributes
    ----------
    title
        The model.
    sizes
        Numbers of parameters and coordinates: ``n_parameters``, ``n_monomial_coefficients``, ``n_coordinates``,
        ``n_independent_coordinates``, each with ``formula`` and ``counted`` (None where it was not found that way).
    dimension
        Dimension three ways.
    closure
        The Zariski closure by Macaulay2, or None with the reason in ``not_attempted`` or ``undecided``.
    degree_formula
        Degree by the family's closed formula, or None.
    strata
        Tangent spaces at representatives of the orbits (or at the map's named points and a random one).
    not_attempted
        Why sections were left out on purpose, by section.
    undecided
        Why sections have no answer although one was sought (time or memory ran out), by section.
    """

    title: str
    sizes: Mapping[str, tuple[int | None, int | None]]
    dimension: DimensionReport
    closure: ZariskiClosure | None
    degree_formula: int | None
    strata: tuple[Stratum, ...]
    not_attempted: Mapping[str, str]
    undecided: Mapping[str, str]

    @property
    def evidence(self) -> Evidence:
        """What the exact answers are worth as a whole: the weaker of closure and dimension."""
        return self.dimension.evidence if self.closure is None else self.closure.evidence

    @property
    def disagreements(self) -> list[str]:
        """Values that contradict each other: formulas, exact ranks, float64 ranks, Macaulay2."""
        found = []
        if self.dimension.comparison.verdict is Verdict.DISAGREE:
            found.append(f"dimension: {self.dimension.comparison.reason}")
        for name, (formula, counted) in self.sizes.items():
            if formula is not None and counted is not None and formula != counted:
                found.append(f"{name}: the formula says {formula}, counted were {counted}")
        if self.closure is not None and self.closure.complete:
            if self.closure.dim != self.dimension.exact:
                found.append(
                    f"dimension: Macaulay2's closure has {self.closure.dim}, the exact rank is {self.dimension.exact}"
                )
            if self.degree_formula not in (None, self.closure.degree):
                found.append(f"degree: the formula says {self.degree_formula}, Macaulay2 {self.closure.degree}")
        found.extend(
            f"tangent space at {stratum.label}: expected {'singular' if stratum.expected_singular else 'smooth'}, "
            "found the opposite"
            for stratum in self.strata
            if None not in (stratum.expected_singular, stratum.singular)
            and stratum.expected_singular != stratum.singular
        )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the study as plain data, by section, as ``--json`` prints it."""
        sizes = {name: {"formula": formula, "counted": counted} for name, (formula, counted) in self.sizes.items()}
        return {
            "title": self.title,
            "sizes": sizes,
            "dimension": self.dimension.to_dict(),
            "closure": None if self.closure is None else self.closure.to_dict(),
            "degree_formula": self.degree_formula,
            "tangent": [stratum.to_dict() for stratum in self.strata],
            "disagreements": self.disagreements,
            "not_attempted": dict(self.not_attempted),
            "undecided": dict(self.undecided),
        }


def study(
    model: Model,
    *,
    field: str = "QQ",
    strategy: str = "auto",
    budget_seconds: float = DEFAULT_BUDGET_SECONDS,
    max_degree: int | None = None,
    engine: Engine | None = None,
    limits: Limits | None = None,
    seed: int = 0,
    progress: Progress = lambda step: None,
) -> Study:
    """Return what can be found of a model within the limits.

    Parameters
    ----------
    model
        A single layer, a deep network, or any polynomial map.
    field
        Ground field for the networks.
    strategy, budget_seconds, max_degree
        How the closure is sought, see `m2bridge.closure.closure`.
    engine, limits
        What runs Macaulay2, and the bounds on each run.
    seed
        Seed of random points.
    progress
        Called with a sentence before each long step.

    Raises
    ------
    M2BridgeError
        For failures; a limit that is reached is no failure but an undecided section.
    """
    if isinstance(model, DeepLightning):
        return _study_deep(model, seed, progress)
    return _study_map(model, field, strategy, budget_seconds, max_degree, engine, limits, seed, progress)


def _study_deep(model: DeepLightning, seed: int, progress: Progress) -> Study:
    progress("exact ranks of native and virtual weights")
    reason = "the coordinates of a deep network have degree 3^l; elimination is out of reach"
    return Study(
        title=str(model),
        sizes={"n_parameters": (model.n_parameters, None)},
        dimension=deep_dimension(model, seed=seed),
        closure=None,
        degree_formula=None,
        strata=(),
        not_attempted={"closure": reason, "singular locus": reason},
        undecided={},
    )


def _study_map(
    model: LightningAttention | Parametrization,
    field: str,
    strategy: str,
    budget_seconds: float,
    max_degree: int | None,
    engine: Engine | None,
    limits: Limits | None,
    seed: int,
    progress: Progress,
) -> Study:
    layer = model if isinstance(model, LightningAttention) else None
    map_ = model if isinstance(model, Parametrization) else model.parametrization(field=parse_field(field))
    map_.require_no_relations("a study")
    closure: ZariskiClosure | None = None
    undecided: dict[str, str] = {}
    try:
        progress("Zariski closure")
        closure = find_closure(
            map_,
            strategy=strategy,
            budget_seconds=budget_seconds,
            max_degree=max_degree,
            certificate_seconds=DEFAULT_CERTIFICATE_SECONDS,
            seed=seed,
            engine=engine,
            limits=limits,
            progress=progress,
        )
        if not closure.complete:
            undecided["closure"] = closure.completeness
    except Undecided as error:
        undecided["closure"] = str(error)
    progress("tangent spaces")
    strata: tuple[Stratum, ...] = ()
    if layer is not None and not map_.field.characteristic():
        strata = orbit_strata(layer, closure)
    elif closure is not None:
        strata = point_strata(map_, closure, _points(layer, map_, seed))
    open_strata = [stratum.label for stratum in strata if stratum.singular is None]
    if open_strata:
        undecided["tangent spaces"] = f"whether singular is open at {', '.join(open_strata)}"
    progress("exact and float64 ranks of the Jacobian")
    if closure is None and map_.field.characteristic():
        # Over GF(p) the dimension needs the closure, too; the bound by ranks is all that is left.
        undecided["dimension"] = "over GF(p) it needs the closure; the value given is a lower bound"
    eliminated = None if closure is None else closure.dim
    report = dimension(map_, seed=seed, eliminated=eliminated, eliminate=False)
    return Study(
        title=str(layer or map_.title),
        sizes=_sizes(layer, map_),
        dimension=report,
        closure=closure,
        degree_formula=layer.degree if layer is not None else None,
        strata=strata,
        not_attempted={},
        undecided=undecided,
    )


def _sizes(layer: LightningAttention | None, map_: Parametrization) -> dict[str, tuple[int | None, int | None]]:
    independent = len(linear_reduction(map_).kept)
    if layer is None:
        return {
            "n_parameters": (None, map_.n_parameters),
            "n_coordinates": (None, map_.n_coordinates),
            "n_independent_coordinates": (None, independent),
        }
    return {
        "n_parameters": (layer.n_parameters, map_.n_parameters),
        "n_monomial_coefficients": (layer.n_monomial_coefficients, None),
        "n_coordinates": (layer.n_coordinates, map_.n_coordinates),
        "n_independent_coordinates": (layer.n_independent_coordinates, independent),
    }


def _points(
    layer: LightningAttention | None, map_: Parametrization, seed: int
) -> list[tuple[str, tuple[Fraction, ...]]]:
    if layer is not None:
        return [("zero" if orbit.is_zero else str(orbit), layer.representative(orbit)) for orbit in layer.orbits()]
    named = [(name, map_.named_point(name, seed)) for name in map_.points]
    return [("random point", map_.random_point(seed)), *named]
