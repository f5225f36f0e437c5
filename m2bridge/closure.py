"""The Zariski closure of a map's image by a ladder of strategies, under one budget, saying what is proved.

1. ``linear``: affine-linear relations by exact linear algebra.
2. ``interpolate``: all equations degree by degree, modulo a prime, lifted to QQ and verified by substitution; then a
   proof that they are all, where there is one.
3. ``eliminate``: Macaulay2's kernel, in the cheapest parametrization that the map offers.

What is proved, and how, is written out in docs/completeness.md.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sympy.polys.rings import PolyElement

from m2bridge.engines import Engine
from m2bridge.errors import InputError, Macaulay2Unusable, RunError, Undecided
from m2bridge.evidence import Evidence
from m2bridge.exact import generic_rank_samples
from m2bridge.fields import element
from m2bridge.implicitization.equations import EquationSearch
from m2bridge.implicitization.grading import finest_grading
from m2bridge.implicitization.interpolation import OutOfTimeError
from m2bridge.implicitization.lifting import IntegerForm
from m2bridge.implicitization.monomials import decode
from m2bridge.implicitization.symmetry import symmetry_group
from m2bridge.job import Limits
from m2bridge.operations import Completeness, ComputeCompleteness, ComputeZariskiClosure, ZariskiClosure, compute
from m2bridge.operations.base import Operation, Provenance
from m2bridge.operations.closure_ideal import ClosureIdeal, by_degree, degrees_of
from m2bridge.parametrization import Parametrization
from m2bridge.polynomials import is_homogeneous, make_ring

STRATEGIES = ("auto", "linear", "interpolate", "eliminate")
DEFAULT_BUDGET_SECONDS = 600.0

Progress = Callable[[str], None]


def _fresh_name(names: Sequence[str]) -> str:
    name = "T"
    while name in names:
        name += "T"
    return name


def closure(
    parametrization: Parametrization,
    *,
    strategy: str = "auto",
    budget_seconds: float = DEFAULT_BUDGET_SECONDS,
    max_degree: int | None = None,
    betti: bool = False,
    seed: int = 0,
    engine: Engine | None = None,
    limits: Limits | None = None,
    progress: Progress = lambda step: None,
) -> ZariskiClosure:
    """Return the Zariski closure of a map's image.

    Parameters
    ----------
    parametrization
        The map.
    strategy
        ``linear``: only affine-linear equations. ``interpolate``: equations degree by degree over QQ, and a proof of
        completeness where one is found. ``eliminate``: Macaulay2's kernel. ``auto``: interpolation where the map
        allows it, and elimination where that does not end with all equations.
    budget_seconds
        Wall-clock seconds for all of it. What is found when it ends is returned, graded so.
    max_degree
        The largest degree of equations to look for by interpolation; by default as far as the budget goes, but no
        further than two degrees that bring nothing after one that did.
    betti
        Whether to compute the Betti numbers as well (of a complete ideal).
    seed
        Seed of the random points.
    engine, limits
        What runs Macaulay2, and the bounds on each run (the budget bounds its time, too).
    progress
        Called with a sentence before each long step.

    Raises
    ------
    InputError
        If the strategy does not apply: interpolation needs QQ and a map without relations.
    Undecided
        If elimination reached a limit and there is nothing to return.
    """
    if strategy not in STRATEGIES:
        raise InputError(f"the strategy {strategy!r} is not one of {', '.join(STRATEGIES)}")
    if not budget_seconds > 0:
        raise InputError(f"the budget must be positive, not {budget_seconds}")
    if max_degree is not None and max_degree < 1:
        raise InputError(f"the largest degree must be at least 1, not {max_degree}")
    ladder = _Ladder(parametrization, budget_seconds, max_degree, seed, engine, limits or Limits(), progress)
    interpolates = not parametrization.field.characteristic() and not parametrization.relations
    if strategy == "interpolate" and not interpolates:
        raise InputError("interpolation needs the field QQ and a map without relations among its parameters")
    if strategy == "linear":
        return ladder.linear()
    if strategy == "eliminate" or not interpolates:
        return replace(ladder.eliminate(betti), cpu_seconds=dict(ladder.spent))
    found = ladder.interpolate(share=1.0 if strategy == "interpolate" else _INTERPOLATION_SHARE)
    if strategy == "auto" and not found.complete and ladder.seconds_left > 1:
        try:
            found = ladder.eliminate(betti)
        except Undecided as error:
            shutil.rmtree(error.outcome.folder, ignore_errors=True)
            found = replace(found, completeness=f"{found.completeness}; elimination: {error.outcome.status.value}")
        except (RunError, Macaulay2Unusable) as error:
            # What was found stands, whatever became of Macaulay2.
            found = replace(found, completeness=f"{found.completeness}; elimination failed: {error}")
    if betti and found.complete and found.betti is None:
        found = ladder.with_betti(found)
    return replace(found, cpu_seconds=dict(ladder.spent))


_INTERPOLATION_SHARE = 0.5
"""How much of the budget interpolation may use before elimination gets its turn."""

_DEAR_SECONDS = 3.0
"""A further degree that is expected to take longer comes after an attempt to do without it."""


@dataclass
class _Ladder:
    """One question: the steps share the reduction, the budget, and what was spent."""

    map: Parametrization
    budget_seconds: float
    max_degree: int | None
    seed: int
    engine: Engine | None
    limits: Limits
    progress: Progress
    start: float = field(default_factory=time.monotonic)
    spent: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        clock = time.process_time()
        self.ideal = ClosureIdeal(self.map)
        self.kept = self.ideal.reduction.kept
        self.linear_equations = self.ideal.linear_equations
        # The cheapest form serves for values and substitution, too: the same coordinates, fewer parameters.
        self.cheap = self.map.cheaper or self.map
        self._charge("linear", time.process_time() - clock)

    @property
    def seconds_left(self) -> float:
        """Wall-clock seconds left of the budget."""
        return self.start + self.budget_seconds - time.monotonic()

    def _charge(self, step: str, cpu_seconds: float) -> None:
        self.spent[step] = self.spent.get(step, 0.0) + cpu_seconds

    # --- the steps -------------------------------------------------------------------------------------

    def linear(self) -> ZariskiClosure:
        """Return what the affine-linear relations say: everything, if the other coordinates are independent."""
        self.map.require_no_relations("the strategy 'linear'")
        clock = time.process_time()
        lower = max(sample.rank for sample in generic_rank_samples(self.cheap, self.seed))
        self._charge("rank", time.process_time() - clock)
        if lower == len(self.kept) and not self.map.field.characteristic():
            how = "the independent coordinates are algebraically independent: proved by the rank of the Jacobian"
            return self._result((), lower, 1, Evidence.PROVED, how, exact_degree=1)
        return self._result((), lower, None, None, "only affine-linear equations were looked for", exact_degree=1)

    def interpolate(self, share: float) -> ZariskiClosure:
        """Return the equations found degree by degree, with the proof of completeness where there is one."""
        found = self.linear()
        if found.complete:
            return found
        self.progress("equations by interpolation")
        dim = found.dim
        coordinates, homogenized = self._homogeneous_coordinates()
        clock = time.process_time()
        search = EquationSearch(
            coordinates,
            symmetries=None if homogenized else symmetry_group(self.map, self.kept),
            seed=self.seed,
            deadline=self.start + share * self.budget_seconds,
        )
        equations: list[PolyElement] = []
        exact_degree, barren, stopped, missing = 1, 0, "", ""
        try:
            search.next_degree()  # nothing: the coordinates are linearly independent
        except OutOfTimeError:
            stopped = "the budget ended in degree 1"
        except ArithmeticError as error:
            stopped = str(error)
        seconds = [0.0, 0.0]  # of the last two degrees
        tried = True  # there is nothing yet whose completeness could be tried
        while True:
            stopped = stopped or self._reason_to_stop(search, exact_degree, barren)
            # The next degree tells most cheaply whether it is worthwhile to try, unless it is dear itself.
            dear = seconds[1] ** 2 > _DEAR_SECONDS * max(seconds[0], 0.001)
            if not tried and (stopped or barren or dear) and not homogenized:
                tried = True
                self._charge("interpolate", time.process_time() - clock)
                certificate, missing = self._certificate(equations, dim)
                clock = time.process_time()
                if certificate is not None:
                    return self._certified(equations, certificate, exact_degree)
            if stopped:
                break
            begun = time.process_time()
            try:
                step = search.next_degree()
            except OutOfTimeError:
                stopped = f"the budget ended in degree {exact_degree + 1}"
                continue
            except ArithmeticError as error:
                stopped = str(error)
                continue
            seconds = [seconds[1], time.process_time() - begun]
            exact_degree = step.degree
            new = [self._polynomial(form, homogenized) for form in step.forms]
            equations += new
            tried = tried and not new
            barren = 0 if new else barren + bool(equations)
            if dim == len(self.kept) - 1 and len(equations) == 1:
                self._charge("interpolate", time.process_time() - clock)
                how = "a hypersurface: a prime ideal of height one is generated by its form of lowest degree"
                return self._result(equations, dim, step.degree, Evidence.PROVED, how, exact_degree)
        self._charge("interpolate", time.process_time() - clock)
        how = f"all equations of degree <= {exact_degree} are known; whether there are more is open: {stopped}"
        return self._result(equations, dim, None, None, how + (f"; {missing}" if missing else ""), exact_degree)

    def eliminate(self, betti: bool) -> ZariskiClosure:
        """Return the closure by Macaulay2's kernel."""
        self.progress("elimination in Macaulay2")
        found: ZariskiClosure = self._run(ComputeZariskiClosure(self.map, betti=betti), "eliminate")
        return found

    def with_betti(self, found: ZariskiClosure) -> ZariskiClosure:
        """Return a complete closure with its Betti numbers."""
        self.progress("Betti numbers in Macaulay2")
        operation = ComputeZariskiClosure(self.map, betti=True, equations=found.generators)
        return replace(found, betti=self._run(operation, "betti").betti)

    # --- parts -----------------------------------------------------------------------------------------

    def _run(self, operation: Operation[Any], step: str, most_seconds: float = float("inf")) -> Any:
        seconds = min(self.limits.time_seconds, max(self.seconds_left, 1.0), most_seconds)
        limits = replace(self.limits, time_seconds=seconds)
        found = compute(operation, engine=self.engine, limits=limits)
        self._charge(step, found.provenance.cpu_seconds)
        return found

    def _reason_to_stop(self, search: EquationSearch, exact_degree: int, barren: int) -> str:
        if self.max_degree is not None and exact_degree >= self.max_degree:
            return f"degree {self.max_degree} was the largest asked for"
        if self.max_degree is None and barren == 2:
            return "two degrees brought nothing new"
        if not search.next_is_feasible:
            return f"degree {exact_degree + 1} has too many monomials"
        return ""

    def _homogeneous_coordinates(self) -> tuple[list[PolyElement], bool]:
        """Return homogeneous coordinates of a cone over the image, and whether one had to be added.

        If the ideal is not homogeneous, T and T f_i are coordinates of the cone over the projective closure.
        """
        coordinates = [self.cheap.coordinates[i] for i in self.kept]
        if finest_grading(coordinates).is_standard_homogeneous:
            return coordinates, False
        ring = make_ring([*self.cheap.parameters, _fresh_name(self.cheap.parameters)], self.map.field)
        homogenized = [ring.from_dict({(*m, 1): c for m, c in f.items()}) for f in coordinates]
        return [*homogenized, ring.gens[-1]], True

    def _polynomial(self, form: IntegerForm, homogenized: bool) -> PolyElement:
        """Return a form as polynomial in the user's coordinates; a homogenizing coordinate becomes 1."""
        ring = self.map.coordinate_ring
        terms: dict[tuple[int, ...], Any] = {}
        rows = decode(form.codes, len(self.kept) + homogenized, form.degree).tolist()
        for row, coefficient in zip(rows, form.coefficients, strict=True):
            monomial = [0] * ring.ngens
            for place in row:
                if place < len(self.kept):
                    monomial[self.kept[place]] += 1
            terms[tuple(monomial)] = element(ring.domain, coefficient)
        polynomial = ring.from_dict(terms)
        return -polynomial if polynomial.LC < 0 else polynomial

    def _certificate(self, equations: Sequence[PolyElement], dim: int) -> tuple[Completeness | None, str]:
        """Return a proof that equations generate the ideal, or None and what is missing."""
        if self.map.chart is None:
            return None, "the map has no chart for a certificate of completeness"
        if len(equations) < len(self.kept) - dim or self.seconds_left <= 0:
            return None, ""
        base_equations: tuple[PolyElement, ...] = ()
        if self.map.chart.base is not None:
            base = closure(
                self.map.chart.base,
                strategy="interpolate",
                budget_seconds=self.seconds_left / 2,
                seed=self.seed,
                engine=self.engine,
                limits=self.limits,
                progress=self.progress,
            )
            self._charge("completeness", sum(base.cpu_seconds.values()))
            if not base.complete:
                return None, f"chart certificate: its base is open ({base.completeness})"
            base_equations = tuple(self._by_name(f) for f in base.generators)
        self.progress("proof of completeness in Macaulay2")
        try:
            # Equations that are not yet all can make a Gröbner basis hopeless: half of what is left is the most.
            found: Completeness = self._run(
                ComputeCompleteness(self.map, tuple(equations), base_equations=base_equations),
                "completeness",
                self.seconds_left / 2,
            )
        except Undecided as error:
            # An attempt that was worth trying, no failure: its folder is of no use to anybody.
            shutil.rmtree(error.outcome.folder, ignore_errors=True)
            return None, f"chart certificate: {error.outcome.status.value}"
        return (found, "") if found.complete else (None, f"chart certificate: {found.missing}")

    def _by_name(self, polynomial: PolyElement) -> PolyElement:
        """Return a polynomial in coordinates of the same names as an element of this map's coordinate ring."""
        ring = self.map.coordinate_ring
        place = {str(symbol): i for i, symbol in enumerate(ring.symbols)}
        moved = {}
        for monomial, coefficient in polynomial.items():
            exponents = [0] * ring.ngens
            for symbol, e in zip(polynomial.ring.symbols, monomial, strict=True):
                exponents[place[str(symbol)]] = e
            moved[tuple(exponents)] = coefficient
        return ring.from_dict(moved)

    def _certified(
        self, equations: Sequence[PolyElement], certificate: Completeness, exact_degree: int
    ) -> ZariskiClosure:
        m2 = certificate.provenance.macaulay2
        how = f"{certificate.method} certificate modulo {certificate.prime}; trusted: Gröbner bases by Macaulay2 {m2}"
        result = self._result(equations, certificate.dim, certificate.degree, certificate.evidence, how, exact_degree)
        return replace(result, provenance=replace(certificate.provenance, field=self.map.field_name))

    def _result(
        self,
        equations: Sequence[PolyElement],
        dim: int,
        degree: int | None,
        evidence: Evidence | None,
        how: str,
        exact_degree: int | None,
    ) -> ZariskiClosure:
        generators = self.linear_equations + tuple(sorted(equations, key=by_degree))
        provenance: Provenance | None = None
        return ZariskiClosure(
            dim=dim,
            codim=self.map.n_coordinates - dim,
            degree=degree,
            generators=generators,
            minimal=all(is_homogeneous(g) for g in equations),
            generator_degrees=degrees_of(generators),
            betti=None,
            n_coordinates=self.map.n_coordinates,
            n_independent=len(self.kept),
            vanishing_proved=not self.map.relations,
            complete=evidence is not None,
            completeness=how,
            exact_degree=exact_degree,
            strategy="interpolate" if equations else "linear",
            cpu_seconds=dict(self.spent),
            evidence=evidence or Evidence.LOWER_BOUND,
            provenance=provenance,
        )
