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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from sympy import prevprime
from sympy.polys.rings import PolyElement

from m2bridge.engines import Engine
from m2bridge.errors import Infeasible, InputError, Macaulay2Unusable, RunError, Undecided
from m2bridge.evidence import Evidence
from m2bridge.exact import equations_rank_modulo, generic_rank_samples
from m2bridge.fields import element, to_fraction
from m2bridge.implicitization.equations import EquationSearch
from m2bridge.implicitization.grading import finest_grading
from m2bridge.implicitization.interpolation import OutOfTimeError
from m2bridge.implicitization.lifting import IntegerForm
from m2bridge.implicitization.monomials import decode
from m2bridge.implicitization.projective import affine_part, projective_cone
from m2bridge.implicitization.symmetry import symmetry_group
from m2bridge.implicitization.triangular import triangular_chart
from m2bridge.job import Limits
from m2bridge.operations import Completeness, ComputeCompleteness, ComputeZariskiClosure, ZariskiClosure, compute
from m2bridge.operations.base import Operation
from m2bridge.operations.closure_ideal import ClosureIdeal, by_degree, degrees_of
from m2bridge.operations.completeness import COMPLETENESS_PRIME
from m2bridge.parametrization import Chart, Parametrization
from m2bridge.polynomials import is_homogeneous, primitive

STRATEGIES = ("auto", "linear", "interpolate", "eliminate")
DEFAULT_BUDGET_SECONDS = 600.0
DEFAULT_CERTIFICATE_SECONDS = 4.0
"""How long 'closure' and 'study' look for a certificate of what they found."""

Progress = Callable[[str], None]


def closure(
    parametrization: Parametrization,
    *,
    strategy: str = "auto",
    budget_seconds: float = DEFAULT_BUDGET_SECONDS,
    max_degree: int | None = None,
    equations_only: bool = False,
    betti: bool = False,
    certificate_seconds: float = 0.0,
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
    equations_only
        Whether to leave out the proof that the equations found by interpolation are all; then Macaulay2 is not used.
    betti
        Whether to compute the Betti numbers as well (of a complete ideal).
    certificate_seconds
        How long to look for a certificate (see `m2bridge.certificates`) that makes a result ``PROVED`` that rests on
        Macaulay2 otherwise; not at all by default.
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
    if equations_only and strategy == "eliminate":
        raise InputError("elimination gives the whole ideal: equations only is a choice for interpolation")
    interpolates = not parametrization.field.characteristic() and not parametrization.relations
    if (strategy == "interpolate" or equations_only) and not interpolates:
        raise InputError("interpolation needs the field QQ and a map without relations among its parameters")
    found = _by_ladder(
        parametrization, strategy, budget_seconds, max_degree, equations_only, betti, seed, engine, limits, progress
    )
    if certificate_seconds > 0:
        from m2bridge.certificates.certify import graded_by_certificate

        progress("certificate")
        found = graded_by_certificate(parametrization, found, budget_seconds=certificate_seconds, seed=seed)
    return found


def _by_ladder(
    parametrization: Parametrization,
    strategy: str,
    budget_seconds: float,
    max_degree: int | None,
    equations_only: bool,
    betti: bool,
    seed: int,
    engine: Engine | None,
    limits: Limits | None,
    progress: Progress,
) -> ZariskiClosure:
    interpolates = not parametrization.field.characteristic() and not parametrization.relations
    ladder = _Ladder(parametrization, budget_seconds, max_degree, seed, engine, limits or Limits(), progress)
    if strategy == "linear":
        return ladder.linear()
    if strategy == "eliminate" or not interpolates:
        return replace(ladder.eliminate(betti), cpu_seconds=dict(ladder.spent))
    if ladder.is_homogeneous:
        alone = strategy == "interpolate" or equations_only
        found = ladder.interpolate(share=1.0 if alone else _INTERPOLATION_SHARE, prove=not equations_only)
        if not alone and not found.complete and ladder.is_usable:
            found = ladder.eliminate_unless_complete(found)
    else:
        found = ladder.affine_part(
            closure(
                projective_cone(ladder.cheap),
                strategy=strategy,
                budget_seconds=max(ladder.seconds_left, 0.1),
                max_degree=max_degree,
                equations_only=equations_only,
                seed=seed,
                engine=engine,
                limits=limits,
                progress=progress,
            )
        )
    if betti and found.complete and found.betti is None:
        found = ladder.with_betti(found)
    return replace(found, cpu_seconds=dict(ladder.spent))


def complete_equations(parametrization: Parametrization, **options: Any) -> tuple[PolyElement, ...]:
    """Return generators of the ideal of a closure, for questions that need all of them.

    The options are those of `closure`.

    Raises
    ------
    Infeasible
        If it stayed open whether they are all: what was found is in the closure itself.
    """
    found = closure(parametrization, **options)
    if not found.complete:
        raise Infeasible(
            f"the equations of the closure are not known to be complete ({found.completeness})",
            "a larger budget may help; 'closure' has the equations found, 'singular' what is proved by them",
        )
    return found.generators


_INTERPOLATION_SHARE = 0.5
"""How much of the budget interpolation may use before elimination gets its turn."""

_DEAR_SECONDS = 3.0
"""A further degree that is expected to take longer comes after an attempt to do without it."""


def _how_it_ended(error: Undecided) -> str:
    return error.outcome.status.value.replace("_", " ")


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
    dim: int = 0
    equations: list[PolyElement] = field(default_factory=list)
    exact_degree: int = 1
    is_usable: bool = True  # Macaulay2, as far as is known

    def __post_init__(self) -> None:
        clock = time.process_time()
        self.ideal = ClosureIdeal(self.map)
        self.kept = self.ideal.reduction.kept
        self.linear_equations = self.ideal.linear_equations
        # The cheapest form serves for values and substitution, too: the same coordinates, fewer parameters.
        self.cheap = self.map.cheaper or self.map
        self._charge("linear", time.process_time() - clock)

    @cached_property
    def is_homogeneous(self) -> bool:
        """Whether the ideal is homogeneous, all coordinates having degree 1, by the exponents of the map."""
        if not self.kept:
            return True
        return finest_grading([self.cheap.coordinates[i] for i in self.kept]).is_standard_homogeneous

    @cached_property
    def prime(self) -> int:
        """A prime for proofs of completeness, which divides no denominator of the map."""
        denominators = {
            to_fraction(c).denominator for map_ in (self.map, self.cheap) for f in map_.coordinates for c in f.values()
        }
        prime = COMPLETENESS_PRIME
        while any(d % prime == 0 for d in denominators):
            prime = prevprime(prime)
        return int(prime)

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
        with self._charged("rank"):
            self.dim = max(sample.rank for sample in generic_rank_samples(self.cheap, self.seed))
        if self.dim == len(self.kept) and not self.map.field.characteristic():
            how = "the independent coordinates are algebraically independent: proved by the rank of the Jacobian"
            return self._result(1, Evidence.PROVED, how)
        return self._result(None, None, "only affine-linear equations were looked for")

    def interpolate(self, share: float, prove: bool) -> ZariskiClosure:
        """Return the equations found degree by degree, with a proof of completeness where one is wanted and found."""
        found = self.linear()
        if found.complete:
            return found
        self.progress("equations by interpolation")
        self.dim = found.dim
        self.search = EquationSearch(
            [self.cheap.coordinates[i] for i in self.kept],
            symmetries=symmetry_group(self.map, self.kept),
            seed=self.seed,
            deadline=self.start + share * self.budget_seconds,
        )
        with self._charged("interpolate"):
            stopped = self._next_degree()  # nothing: the coordinates are linearly independent
        barren, missing = 0, ""
        seconds = [0.0, 0.0]  # of the last two degrees
        tried = True  # there is nothing yet whose completeness could be tried
        while True:
            stopped = stopped or self._reason_to_stop(barren)
            # The next degree tells most cheaply whether it is worthwhile to try, unless it is dear itself.
            dear = seconds[1] ** 2 > _DEAR_SECONDS * max(seconds[0], 0.001)
            if prove and not tried and (stopped or barren or dear):
                tried = True
                certificate, missing = self._certificate()
                if certificate is not None:
                    return self._certified(certificate)
            if stopped:
                how = f"all equations of degree <= {self.exact_degree} are known; whether there are more is open: "
                return self._result(None, None, "; ".join(filter(None, (how + stopped, missing))))
            before, begun = len(self.equations), time.process_time()
            with self._charged("interpolate"):
                stopped = self._next_degree()
            seconds = [seconds[1], time.process_time() - begun]
            if not stopped:
                new = len(self.equations) - before
                tried = tried and not new
                barren = 0 if new else barren + bool(self.equations)
            if self.dim == len(self.kept) - 1 and len(self.equations) == 1:
                how = "a hypersurface: a prime ideal of height one is generated by its form of lowest degree"
                return self._result(self.exact_degree, Evidence.PROVED, how)

    def eliminate_unless_complete(self, found: ZariskiClosure) -> ZariskiClosure:
        """Return the closure by elimination, modulo a prime first, or what was found if that does not end.

        If Macaulay2's kernel modulo a prime has no further equations, those over QQ are complete. If it has, its
        degrees tell how far to interpolate. Only if that is too far is there a reason to eliminate over QQ.
        """
        try:
            while self.equations and self.seconds_left > 1:
                self.progress("elimination in Macaulay2 modulo a prime")
                operation = ComputeCompleteness(self.map, tuple(self.equations), method="kernel", prime=self.prime)
                certificate: Completeness = self._run(operation, "eliminate")
                if certificate.complete:
                    return self._certified(certificate)
                if not self._interpolate_to(max(certificate.kernel_degrees or {0: 0})):
                    break
            return self.eliminate(betti=False) if self.seconds_left > 1 else found
        except Undecided as error:
            shutil.rmtree(error.outcome.folder, ignore_errors=True)
            return replace(found, completeness=f"{found.completeness}; elimination: {_how_it_ended(error)}")
        except (RunError, Macaulay2Unusable) as error:
            return replace(found, completeness=f"{found.completeness}; elimination failed: {error}")

    def _interpolate_to(self, degree: int) -> bool:
        """Find the equations up to a degree as well; say whether there are new ones and it was reached."""
        before = len(self.equations)
        self.search.extend(self.start + self.budget_seconds)
        self.progress(f"equations by interpolation up to degree {degree}")
        with self._charged("interpolate"):
            while self.exact_degree < degree:
                if self._reason_to_stop(barren=0) or self._next_degree():
                    return False
        return len(self.equations) > before

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

    def affine_part(self, found: ZariskiClosure) -> ZariskiClosure:
        """Return the closure of the image, given the cone over its projective closure."""
        for step, seconds in found.cpu_seconds.items():
            self._charge(step, seconds)
        parts = (self.ideal.restrict(affine_part(f, self.map.coordinate_ring)) for f in found.generators)
        equations = sorted({primitive(f) for f in parts if f}, key=by_degree)
        generators = (*self.linear_equations, *equations)
        return replace(
            found,
            dim=found.dim - 1,
            generators=generators,
            minimal=found.complete and (len(equations) <= 1 or all(is_homogeneous(f) for f in equations)),
            generator_degrees=degrees_of(generators),
            n_coordinates=self.map.n_coordinates,
            n_independent=len(self.kept),
            completeness=f"cone over the projective closure: {found.completeness}",
        )

    # --- parts -----------------------------------------------------------------------------------------

    @contextmanager
    def _charged(self, step: str) -> Iterator[None]:
        clock = time.process_time()
        try:
            yield
        finally:
            self._charge(step, time.process_time() - clock)

    def _next_degree(self) -> str:
        """Find the equations of the next degree; return why that failed, or nothing."""
        degree = self.search.degree + 1
        try:
            step = self.search.next_degree()
        except OutOfTimeError:
            return f"the budget ended in degree {degree}"
        except ArithmeticError as error:
            return str(error)
        self.exact_degree = step.degree
        self.equations += [self._polynomial(form) for form in step.forms]
        return ""

    def _run(self, operation: Operation[Any], step: str, most_seconds: float = float("inf")) -> Any:
        seconds = min(self.limits.time_seconds, max(self.seconds_left, 1.0), most_seconds)
        limits = replace(self.limits, time_seconds=seconds)
        found = compute(operation, engine=self.engine, limits=limits)
        self._charge(step, found.provenance.cpu_seconds)
        return found

    def _reason_to_stop(self, barren: int) -> str:
        if self.max_degree is not None and self.exact_degree >= self.max_degree:
            return f"degree {self.max_degree} was the largest asked for"
        if self.max_degree is None and barren == 2:
            return "two degrees brought nothing new"
        if not self.search.next_is_feasible:
            return f"degree {self.exact_degree + 1} has too many monomials"
        return ""

    def _polynomial(self, form: IntegerForm) -> PolyElement:
        """Return a form as polynomial in the user's coordinates."""
        ring = self.map.coordinate_ring
        terms: dict[tuple[int, ...], Any] = {}
        rows = decode(form.codes, len(self.kept), form.degree).tolist()
        for row, coefficient in zip(rows, form.coefficients, strict=True):
            monomial = [0] * ring.ngens
            for place in row:
                monomial[self.kept[place]] += 1
            terms[tuple(monomial)] = element(ring.domain, coefficient)
        polynomial = ring.from_dict(terms)
        return -polynomial if polynomial.LC < 0 else polynomial

    def _certificate(self) -> tuple[Completeness | None, str]:
        """Return a proof that the equations generate the ideal, or None and what is missing."""
        if len(self.equations) < len(self.kept) - self.dim or self.seconds_left <= 0:
            return None, ""
        equations = tuple(self.equations)
        if self.map.chart is not None:
            base_equations, missing = self._base_equations(self.map.chart)
            if missing:
                return None, missing
            operation = ComputeCompleteness(self.map, equations, base_equations=base_equations, prime=self.prime)
        else:
            with self._charged("completeness"):
                restricted = [self.ideal.restrict(f) for f in equations]
                chart = triangular_chart(self.cheap, restricted, self.kept, self.dim, self.prime, self.seed)
            if chart is None:
                return None, "there is no chart for a certificate of completeness"
            operation = ComputeCompleteness(self.map, equations, method="triangular", chart=chart, prime=self.prime)
        self.progress("proof of completeness in Macaulay2")
        try:
            # Equations that are not yet all can make a Gröbner basis hopeless: half of what is left is the most.
            found: Completeness = self._run(operation, "completeness", self.seconds_left / 2)
        except Undecided as error:
            # An attempt that was worth trying, no failure: its folder is of no use to anybody.
            shutil.rmtree(error.outcome.folder, ignore_errors=True)
            return None, f"{operation.method} certificate: {_how_it_ended(error)}"
        except (RunError, Macaulay2Unusable) as error:
            # What was found stands, whatever became of Macaulay2.
            self.is_usable = not isinstance(error, Macaulay2Unusable)
            return None, f"{operation.method} certificate failed: {error}"
        return (found, "") if found.complete else (None, f"{operation.method} certificate: {found.missing}")

    def _base_equations(self, chart: Chart) -> tuple[tuple[PolyElement, ...], str]:
        """Return the equations of a chart's base, or what is missing."""
        if chart.base is None:
            return (), ""
        base = closure(
            chart.base,
            strategy="interpolate",
            budget_seconds=self.seconds_left / 2,
            seed=self.seed,
            engine=self.engine,
            limits=self.limits,
            progress=self.progress,
        )
        self._charge("completeness", sum(base.cpu_seconds.values()))
        if not base.complete:
            return (), f"chart certificate: its base is open ({base.completeness})"
        return tuple(self._by_name(f) for f in base.generators), ""

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

    def _certified(self, certificate: Completeness) -> ZariskiClosure:
        m2 = certificate.provenance.macaulay2
        trusted = "Gröbner bases and kernel" if certificate.method == "kernel" else "Gröbner bases"
        how = f"{certificate.method} certificate modulo {certificate.prime}; trusted: {trusted} by Macaulay2 {m2}"
        result = self._result(certificate.degree, certificate.evidence, how, certificate.dim)
        return replace(result, provenance=replace(certificate.provenance, field=self.map.field_name))

    def _dimension_evidence(self) -> Evidence:
        """Say what the rank of the Jacobian is worth as dimension: the equations bound it from above.

        At a point of the closure X, dim X is at most the dimension of the tangent space of any equations of X.
        """
        if not self.equations:
            return Evidence.PROVED if self.dim == len(self.kept) else Evidence.LOWER_BOUND
        rank = equations_rank_modulo(self.cheap, self.equations, self.kept, self.prime, self.seed)
        return Evidence.PROVED if len(self.kept) - rank == self.dim else Evidence.LOWER_BOUND

    def _result(
        self, degree: int | None, evidence: Evidence | None, how: str, dim: int | None = None
    ) -> ZariskiClosure:
        generators = self.linear_equations + tuple(sorted(self.equations, key=by_degree))
        dim = self.dim if dim is None else dim
        return ZariskiClosure(
            dim=dim,
            dim_evidence=evidence or self._dimension_evidence(),
            codim=self.map.n_coordinates - dim,
            degree=degree,
            generators=generators,
            minimal=True,
            generator_degrees=degrees_of(generators),
            betti=None,
            n_coordinates=self.map.n_coordinates,
            n_independent=len(self.kept),
            vanishing_proved=True,
            complete=evidence is not None,
            completeness=how,
            exact_degree=self.exact_degree,
            strategy="interpolate" if self.equations else "linear",
            cpu_seconds=dict(self.spent),
            evidence=evidence or Evidence.LOWER_BOUND,
            provenance=None,
        )
