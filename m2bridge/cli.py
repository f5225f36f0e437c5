"""The command line: one sub-command for each question. Results go to stdout, progress and errors to stderr.

Exit codes: 0 done (and what was claimed holds); 1 values contradict each other; 2 usage or bad input;
3 undecided (time or memory ran out, or refused as infeasible); 4 Macaulay2 missing or broken; 70 a fault of this
program; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console, RenderableType
from sympy.polys.rings import PolyElement

from m2bridge import __version__, errors, page
from m2bridge.certificates.cli import certify_command, check_command
from m2bridge.cli_options import (
    SharedEngine,
    choose_model,
    choose_point,
    closure_options,
    engine_options,
    make_engine,
    make_limits,
    model_options,
    output_options,
    parse_values,
)
from m2bridge.closure import DEFAULT_CERTIFICATE_SECONDS, complete_equations
from m2bridge.closure import closure as find_closure
from m2bridge.compare import Verdict
from m2bridge.dimension import DimensionReport, deep_dimension, dimension
from m2bridge.doctor import diagnose, install_macaulay2
from m2bridge.engines import Engine
from m2bridge.evidence import Evidence, weakest
from m2bridge.job import Limits
from m2bridge.map_file import read_ideal
from m2bridge.networks import DeepLightning, LightningAttention
from m2bridge.operations import (
    ComputeFibre,
    ComputeGroebnerBasis,
    ComputeIdealMembership,
    ComputeJacobianRank,
    ComputeSingularLocus,
    ComputeTangentSpace,
    ComputeZariskiClosure,
    Operation,
    Provenance,
    SingularLocus,
    ZariskiClosure,
    compute,
)
from m2bridge.operations.singular_locus import MOST_MINORS
from m2bridge.output import provenance, result_document
from m2bridge.parametrization import Parametrization, exact_point
from m2bridge.polynomials import parse_polynomial
from m2bridge.strata import Stratum, count_minors, decide_strata, strata_dimension
from m2bridge.study import Study, study
from m2bridge.sweep.cli import sweep_command

DONE, REFUTED, USAGE, UNDECIDED, BROKEN, FAULT, INTERRUPTED = 0, 1, 2, 3, 4, 70, 130


@dataclass
class Answer:
    """What a sub-command prints, and its exit code."""

    result: dict[str, Any]
    evidence: Evidence | None
    page: list[RenderableType]
    run: Provenance | None = None
    exit_code: int = DONE


@dataclass
class Session:
    """One call of the command: its options, and the engine while it runs."""

    options: dict[str, Any]
    usual_engine: str = "script"
    console: Console = field(default_factory=lambda: Console(stderr=True))
    _engine: Engine | None = None

    @property
    def limits(self) -> Limits:
        """Bounds on each run."""
        return make_limits(self.options["time_limit"], self.options["memory_limit"])

    @property
    def engine(self) -> Engine:
        """What runs Macaulay2."""
        if self._engine is None:
            self._engine = click.get_current_context().find_object(SharedEngine) or make_engine(
                self.options["executable"], self.options["engine_kind"] or self.usual_engine
            )
        return self._engine

    def close(self) -> None:
        """End the engine."""
        if self._engine is not None:
            self._engine.close()

    @property
    def renders(self) -> bool:
        """Whether only the script is wanted."""
        return bool(click.get_current_context().obj == "render")

    def find_closure(
        self, map_: Parametrization, progress: Callable[[str], None], betti: bool = False, equations_only: bool = False
    ) -> ZariskiClosure:
        """Return the closure of a map as the options say."""
        return find_closure(
            map_,
            betti=betti,
            equations_only=equations_only,
            certificate_seconds=DEFAULT_CERTIFICATE_SECONDS,
            **self._closure_options(progress),
        )

    def decide_strata(
        self, layer: LightningAttention, progress: Callable[[str], None]
    ) -> tuple[tuple[Stratum, ...], ZariskiClosure]:
        """Return the strata of a layer as the options say."""
        return decide_strata(layer, **self._closure_options(progress))

    def equations(self, map_: Parametrization) -> tuple[PolyElement, ...] | None:
        """Return the equations of a closure by the ladder; None where one script is to answer, which eliminates."""
        if self.renders or self.options["folder"] is not None or self.options["strategy"] == "eliminate":
            return None
        _ = self.engine.macaulay2  # what comes after needs it anyway: if there is none, that is said at once
        with self.progress("closure") as progress:
            return complete_equations(map_, **self._closure_options(progress))

    def _closure_options(self, progress: Callable[[str], None]) -> dict[str, Any]:
        return {
            "strategy": self.options["strategy"],
            "budget_seconds": self.options["budget_seconds"],
            "max_degree": self.options["max_degree"],
            "seed": self.options["seed"],
            "engine": self.engine,
            "limits": self.limits,
            "progress": progress,
        }

    def compute(self, operation: Operation[Any], doing: str) -> Any:
        """Run an operation, with progress on a terminal; or print its script, for ``render``."""
        if self.renders:
            raise _Rendered(operation.script())
        with self.progress(doing):
            return compute(operation, engine=self.engine, limits=self.limits, folder=self.options["folder"])

    @contextmanager
    def progress(self, doing: str) -> Iterator[Callable[[str], None]]:
        """Show what is being done, on a terminal only."""
        with self.console.status(doing) as status:
            yield lambda step: status.update(step)


class _Rendered(Exception):
    def __init__(self, script: str) -> None:
        super().__init__()
        self.script = script


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="m2bridge")
def cli() -> None:
    """Exact algebra for lightning self-attention networks and other polynomial maps, by Macaulay2."""


def answer(operation: str, input_: dict[str, Any], session: Session, work: Callable[[], Answer]) -> None:
    """Do the work, print the answer as page or JSON, and leave with its exit code."""
    as_json = session.options["as_json"]
    wall, cpu = time.monotonic(), _cpu_seconds()

    def where(run: Provenance | None) -> dict[str, Any]:
        return provenance(
            package_version=__version__,
            field=input_.get("field", "QQ"),
            seed=session.options.get("seed", 0),
            run=run,
            cpu_seconds=_cpu_seconds() - cpu,
            wall_seconds=time.monotonic() - wall,
        )

    try:
        found = work()
    except errors.M2BridgeError as error:
        if as_json:
            with _output():
                click.echo(result_document(operation, input_, None, None, where(None), error))
        raise
    finally:
        session.close()
    with _output():
        if as_json:
            click.echo(result_document(operation, input_, found.result, found.evidence, where(found.run)))
        else:
            # Wide tables are not folded where the output is a file or a pipe.
            width = None if sys.stdout.isatty() else 200
            page.print_page(_Console(width=width, soft_wrap=not sys.stdout.isatty(), highlight=False), *found.page)
    if found.exit_code:
        raise click.exceptions.Exit(found.exit_code)


class _ReaderGone(Exception):
    """The reader of the output (head, less) has seen enough: no failure."""


class _Console(Console):
    """A console that leaves a closed pipe to `_output`, where rich ends the program with exit code 1."""

    def on_broken_pipe(self) -> None:
        """Raise the error that is being handled."""
        raise


@contextmanager
def _output() -> Iterator[None]:
    """Write to standard output; a closed pipe there, and only there, is no failure."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise _ReaderGone from None


def _cpu_seconds() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


# --- questions on a model ------------------------------------------------------------------------------


@cli.command("study")
@model_options
@engine_options
@output_options
@closure_options
@click.option("--generators", is_flag=True, help="Print the generators themselves as well.")
def study_command(generators: bool, **options: Any) -> None:
    """All that can be said of a model, on one page.

    Sizes, dimension three ways, the closure's equations by degree, its degree, and its tangent space at one point of
    each orbit, with what each figure is worth. Deep networks are answered by exact ranks.
    """
    choice, session = choose_model(**options), Session(options, usual_engine="warm")
    _no_folder(options, "study runs several jobs")

    def work() -> Answer:
        with session.progress("study") as progress:
            found = study(
                choice.model,
                field=choice.field,
                strategy=options["strategy"],
                budget_seconds=options["budget_seconds"],
                max_degree=options["max_degree"],
                engine=session.engine,
                limits=session.limits,
                seed=options["seed"],
                progress=progress,
            )
        return Answer(
            found.to_dict(),
            found.evidence,
            page.study_page(found, generators=generators),
            None if found.closure is None else found.closure.provenance,
            _study_code(found),
        )

    answer("study", choice.describe(), session, work)


def _no_folder(options: dict[str, Any], why: str) -> None:
    if options["folder"] is not None:
        raise click.UsageError(f"--folder holds one job, but {why}")


def _study_code(found: Study) -> int:
    if found.disagreements:
        return REFUTED
    return UNDECIDED if found.undecided else DONE


@cli.command("dimension")
@model_options
@engine_options
@output_options
@click.option("--at", help="Also give the exact Jacobian rank at a point: name=value,... or a name in the map file.")
@click.option("--orbit", help="Also give it at an orbit's representative: rk A, rk V, intersection.")
def dimension_command(at: str | None, orbit: str | None, **options: Any) -> None:
    """Dimension of the closure: closed formula, exact Jacobian rank, float64 rank with singular-value gap."""
    choice, session = choose_model(**options), Session(options)
    seed = options["seed"]
    input_ = choice.describe()

    def work() -> Answer:
        if session.renders:
            map_ = choice.parametrization("the Jacobian rank by Macaulay2")
            session.compute(ComputeJacobianRank(map_, (choose_point(choice, map_, at, orbit, seed),)), "")
        report: DimensionReport
        with session.progress("ranks of the Jacobian"):
            if isinstance(choice.model, DeepLightning):
                if at is not None or orbit is not None:
                    raise errors.InputError("--at and --orbit are not available for deep networks")
                report = deep_dimension(choice.model, seed=seed)
            else:
                map_ = choice.parametrization("the dimension")
                asked = at is not None or orbit is not None
                point = choose_point(choice, map_, at, orbit, seed) if asked else None
                report = dimension(map_, at=point, seed=seed, engine=session.engine, limits=session.limits)
        code = REFUTED if report.comparison.verdict is Verdict.DISAGREE else DONE
        return Answer(report.to_dict(), report.evidence, [page.dimension_table(report)], exit_code=code)

    answer("dimension", input_, session, work)


@cli.command("closure")
@model_options
@engine_options
@output_options
@closure_options
@click.option("--betti", is_flag=True, help="Also compute the Betti numbers.")
@click.option("--equations-only", is_flag=True, help="Leave out the proof that the equations found are all.")
@click.option("--generators/--no-generators", default=True, help="Print the generators themselves.")
def closure_command(betti: bool, equations_only: bool, generators: bool, **options: Any) -> None:
    """The Zariski closure of the image: ideal, dimension, codimension, degree, minimal generators.

    Equations are interpolated degree by degree and verified, then proved to be all where that can be done; else
    Macaulay2 eliminates. Exit code 3 if it stays open whether they are all.
    """
    choice, session = choose_model(**options), Session(options, usual_engine="warm")
    if options["strategy"] != "eliminate":
        _no_folder(options, "a closure may take several (or none, except with --strategy eliminate)")

    def work() -> Answer:
        map_ = choice.parametrization("the closure")
        if session.renders and options["strategy"] not in ("auto", "eliminate"):
            raise click.UsageError(f"the strategy {options['strategy']!r} has no script of its own: elimination has")
        if equations_only and (session.renders or options["strategy"] == "eliminate"):
            raise click.UsageError("--equations-only is for equations by interpolation: elimination gives all of them")
        if options["strategy"] == "eliminate" or session.renders:
            closure = session.compute(ComputeZariskiClosure(map_, betti=betti), "elimination in Macaulay2")
            return show(closure)
        with session.progress("closure") as progress:
            closure = session.find_closure(map_, progress, betti, equations_only)
        return show(closure)

    def show(closure: ZariskiClosure) -> Answer:
        formula = choice.model.degree if isinstance(choice.model, LightningAttention) else None
        parts: list[RenderableType] = [page.closure_table(closure, formula)]
        if generators:
            parts.append(page.generator_list(closure.generators))
        code = DONE if closure.complete else UNDECIDED
        return Answer(closure.to_dict(), closure.evidence, parts, closure.provenance, code)

    answer("closure", choice.describe(), session, work)


@cli.command("groebner")
@model_options
@engine_options
@closure_options
@output_options
@click.option("--ideal", "ideal_file", type=click.Path(path_type=Path), help="An ideal: JSON or TOML.")
@click.option("--order", help="grevlex (default), lex, or elim:k.")
@click.option("--change-of-basis", is_flag=True, help="Also express the basis in the given generators.")
def groebner_command(ideal_file: Path | None, order: str | None, change_of_basis: bool, **options: Any) -> None:
    """The reduced Groebner basis of an ideal, or of the ideal of a model's closure."""
    session = Session(options)
    if ideal_file is not None:
        if options["family"] or options["map_file"]:
            raise click.UsageError("give an ideal or a model, not both")
        ideal, named_order = read_ideal(ideal_file)
        order = order or named_order
        of_ideal = ComputeGroebnerBasis(ideal, order, change_of_basis)
        input_ = ideal.describe()

        def operation() -> ComputeGroebnerBasis:
            return of_ideal
    else:
        choice = choose_model(**options)
        if change_of_basis:
            raise click.UsageError("--change-of-basis needs --ideal")
        order = order or "grevlex"
        input_ = choice.describe()

        def operation() -> ComputeGroebnerBasis:
            map_ = choice.parametrization("a Groebner basis")
            return ComputeGroebnerBasis.of_closure(map_, order, session.equations(map_))

    input_ = input_ | {"order": order}

    def work() -> Answer:
        basis = session.compute(operation(), "Groebner basis in Macaulay2")
        return Answer(basis.to_dict(), basis.evidence, [page.groebner_page(basis)], basis.provenance)

    answer("groebner", input_, session, work)


@cli.command("tangent")
@model_options
@engine_options
@closure_options
@output_options
@click.option("--at", help="Weights: name=value,..., or values in order, or @file.json, or a name in the map file.")
@click.option("--orbit", help="Weights representing an orbit: rk A, rk V, intersection; or 'all'.")
@click.option("--point", help="A point of coordinate space on the closure, in place of weights.")
def tangent_command(at: str | None, orbit: str | None, point: str | None, **options: Any) -> None:
    """Tangent space of the closure at a point (a random one by default), and whether it is singular there."""
    choice, session = choose_model(**options), Session(options)

    def asked(map_: Parametrization) -> tuple[ComputeTangentSpace, list[str] | None]:
        if point is not None:
            if at is not None or orbit is not None:
                raise click.UsageError("give --point or weights, not both")
            values = exact_point(parse_values(point), map_.coordinate_names, map_.field)
            return ComputeTangentSpace(map_, points=(values,)), None
        if orbit == "all":
            if not isinstance(choice.model, LightningAttention) or at is not None:
                raise click.UsageError("--orbit all is for single lightning layers, without --at")
            layer = choice.model
            weights = tuple(layer.representative(o, choice.weights or "QKV") for o in layer.orbits())
            return ComputeTangentSpace(map_, weights=weights), [str(o) for o in layer.orbits()]
        return ComputeTangentSpace(map_, weights=(choose_point(choice, map_, at, orbit, options["seed"]),)), None

    def work() -> Answer:
        map_ = choice.parametrization("the tangent space")
        # A point that is not usable is refused here, before equations are sought.
        operation, labels = asked(map_)
        operation = replace(operation, equations=session.equations(map_))
        spaces = session.compute(operation, "equations and tangent spaces in Macaulay2")
        return Answer(spaces.to_dict(), spaces.evidence, [page.tangent_table(spaces, labels)], spaces.provenance)

    answer("tangent", choice.describe(), session, work)


@cli.command("singular")
@model_options
@engine_options
@closure_options
@output_options
@click.option(
    "--method",
    type=click.Choice(["auto", "orbits", "minors"]),
    default="auto",
    show_default=True,
    help="One point of each orbit (lightning layers with t >= 2, over QQ), or minors of the Jacobian.",
)
@click.option("--most-minors", type=click.IntRange(1), default=MOST_MINORS, show_default=True)
@click.option("--sample", type=click.IntRange(0), default=0, help="Where minors are too many: take so many of them.")
def singular_command(method: str, most_minors: int, sample: int, **options: Any) -> None:
    """The singular locus of the closure: its strata by orbits where a group is known, else by minors."""
    choice, session = choose_model(**options), Session(options, usual_engine="warm")
    layer = choice.model
    by_orbits = isinstance(layer, LightningAttention) and layer.t >= 2 and choice.field == "QQ"
    if method == "orbits" and not by_orbits:
        raise click.UsageError("--method orbits is for lightning layers with t >= 2, over QQ")

    def by_minors(map_: Parametrization, closure: ZariskiClosure | None = None) -> SingularLocus:
        # A map that has no singular locus here is refused before equations are sought.
        operation = ComputeSingularLocus(map_, most_minors=most_minors, sample=sample)
        operation = replace(operation, equations=session.equations(map_) if closure is None else closure.generators)
        locus: SingularLocus = session.compute(operation, "singular locus in Macaulay2")
        return locus

    def work() -> Answer:
        map_ = choice.parametrization("the singular locus")
        if method == "minors" or not isinstance(layer, LightningAttention) or not by_orbits or session.renders:
            locus = by_minors(map_)
            result = {"method": "minors", "strata": None, **locus.to_dict()}
            return Answer(result, locus.evidence, [page.singular_table(locus)], locus.provenance)
        with session.progress("closure") as progress:
            strata, closure = session.decide_strata(layer, progress)
            few_minors = method == "auto" and count_minors(map_, closure) <= most_minors
            if few_minors and not closure.complete:
                closure = session.find_closure(map_, progress)
        dim = strata_dimension(strata)
        result = {
            "method": "orbits",
            "dim": dim,
            "degree": None,
            "scheme_degree": None,
            "components": None,
            "variety_dim": layer.dimension,
            "n_minors": None,
            "strata": [stratum.to_dict() for stratum in strata],
        }
        parts: list[RenderableType] = [page.strata_table(strata), f"Dimension of the singular locus: {dim}"]
        evidence = weakest(stratum.evidence for stratum in strata)
        run = closure.provenance
        if few_minors and closure.complete and count_minors(map_, closure) <= most_minors:
            locus = by_minors(map_, closure)
            result |= {"method": "orbits and minors", **locus.to_dict()}
            parts.append(page.singular_table(locus))
            evidence, run = weakest([evidence, locus.evidence]), locus.provenance
        return Answer(result, evidence, parts, run, DONE if dim is not None else UNDECIDED)

    answer("singular", choice.describe(), session, work)


@cli.command("fibre")
@model_options
@engine_options
@output_options
@click.option("--at", help="Weights that the fibre passes through (see 'tangent').")
@click.option("--orbit", help="Weights representing an orbit: rk A, rk V, intersection.")
@click.option("--value", help="A point of coordinate space that the fibre lies over, in place of weights.")
def fibre_command(at: str | None, orbit: str | None, value: str | None, **options: Any) -> None:
    """The fibre through a point (a random one by default): dimension, degree, components.

    For a lightning layer it is the fibre of (A, V) by default, as in the paper; that of (Q, K, V) by --weights QKV.
    """
    choice, session = choose_model(**options), Session(options)
    if isinstance(choice.model, LightningAttention) and choice.weights is None:
        choice = replace(choice, weights="AV")

    def operation() -> ComputeFibre:
        map_ = choice.parametrization("the fibre")
        if value is not None:
            if at is not None or orbit is not None:
                raise click.UsageError("give --value or weights, not both")
            values = exact_point(parse_values(value), map_.coordinate_names, map_.field)
            return ComputeFibre(map_, value=values)
        return ComputeFibre(map_, point=choose_point(choice, map_, at, orbit, options["seed"]))

    def work() -> Answer:
        fibre = session.compute(operation(), "fibre in Macaulay2")
        return Answer(fibre.to_dict(), fibre.evidence, [page.fibre_table(fibre)], fibre.provenance)

    answer("fibre", choice.describe(), session, work)


@cli.command("membership")
@click.option("--ideal", "ideal_file", type=click.Path(path_type=Path), required=True, help="An ideal: JSON or TOML.")
@click.option("--polynomial", required=True, help="A polynomial in the ideal's variables.")
@engine_options
@output_options
def membership_command(ideal_file: Path, polynomial: str, **options: Any) -> None:
    """Whether a polynomial lies in an ideal, with cofactors or normal form; exit code 1 if it does not."""
    ideal, _ = read_ideal(ideal_file)
    element = parse_polynomial(polynomial, ideal.ring, "--polynomial")
    session = Session(options)

    def work() -> Answer:
        found = session.compute(ComputeIdealMembership(ideal, element), "division in Macaulay2")
        code = DONE if found.member else REFUTED
        return Answer(found.to_dict(), found.evidence, [page.membership_page(found)], found.provenance, code)

    answer("membership", ideal.describe() | {"polynomial": polynomial}, session, work)


# --- scripts and the installation ----------------------------------------------------------------------


_RENDERED = ("dimension", "closure", "groebner", "tangent", "singular", "fibre", "membership")


@cli.command(
    "render",
    context_settings={
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
        "help_option_names": [],
    },
)
@click.argument("question")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def render_command(context: click.Context, question: str, arguments: Sequence[str]) -> None:
    """Print the complete Macaulay2 script of a question, without running it.

    For example: m2bridge render closure lightning --d 2 --d-out 1 --a 1 --t 2
    """
    if question in ("-h", "--help"):
        click.echo(context.get_help())
        return
    command = cli.commands.get(question)
    if command is None or question not in _RENDERED:
        raise click.UsageError(f"no script for {question!r}: choose one of {', '.join(_RENDERED)}")
    with command.make_context(
        f"m2bridge render {question}",
        list(arguments),
        parent=context,
        obj="render",
        help_option_names=["-h", "--help"],
    ) as inner:
        try:
            command.invoke(inner)
        except _Rendered as rendered_script:
            with _output():
                click.echo(rendered_script.script, nl=False)


@cli.command("doctor")
@click.option("--m2", "executable", help="Macaulay2's executable.")
@click.option("--install", "installs", is_flag=True, help="First install a copy for this user, without root (66 MB).")
@click.option("--release", help="With --install: this release of passagemath-macaulay2, such as 10.8.2.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def doctor_command(executable: str | None, installs: bool, release: str | None, as_json: bool) -> None:
    """Which Macaulay2 is found, which version, whether it works, and how long it takes to start.

    --install fetches a wheel that carries Macaulay2 from the Python package index into the user's cache folder: the
    newest release that runs on this machine. It is used where M2BRIDGE_M2 is not set and no M2 is on PATH.
    """
    if release is not None and not installs:
        raise click.UsageError("--release is for --install")
    input_ = {"executable": executable}
    where = provenance(package_version=__version__, field="QQ", seed=0, run=None, cpu_seconds=0.0, wall_seconds=0.0)
    if installs:
        try:
            made = install_macaulay2(release=release, say=lambda line: click.echo(line, err=True))
        except errors.M2BridgeError as error:
            if as_json:
                click.echo(result_document("doctor", input_, None, None, where, error))
            raise
        click.echo(f"{'installed' if made.attempts else 'installed already'}: {made.executable}", err=True)
    found = diagnose(executable)
    if as_json:
        click.echo(result_document("doctor", input_, found.to_dict(), None, where))
    else:
        click.echo(found.text())
    if not found.works:
        raise click.exceptions.Exit(BROKEN)


for _command in (certify_command, check_command, sweep_command):
    cli.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    sys.exit(run_command_line(arguments))


def run_command_line(arguments: Sequence[str] | None, engine: SharedEngine | None = None) -> int:
    """Run the command line and return its exit code; with an engine, on that one, which is left up."""
    try:
        code = cli.main(
            None if arguments is None else list(arguments), prog_name="m2bridge", standalone_mode=False, obj=engine
        )
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except _ReaderGone:
        # Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except errors.M2BridgeError as error:
        click.echo(f"m2bridge: {error}", err=True)
        return _exit_code(error)
    except Exception:
        # A fault of the program must not look like a claim that was refuted (exit code 1).
        traceback.print_exc()
        click.echo("m2bridge: this is a fault of m2bridge, not of the input: please report it", err=True)
        return FAULT
    return code if isinstance(code, int) else DONE


def _exit_code(error: errors.M2BridgeError) -> int:
    match error:
        case errors.InputError():
            return USAGE
        case errors.Undecided() | errors.Infeasible():
            return UNDECIDED
        case errors.Interrupted():
            return INTERRUPTED
        case _:
            return BROKEN
