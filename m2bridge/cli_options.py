"""Options that the sub-commands share: which model, which point, which engine, which output."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from m2bridge.closure import DEFAULT_BUDGET_SECONDS, STRATEGIES
from m2bridge.engines import Engine, ScriptEngine, WarmEngine
from m2bridge.errors import Infeasible, InputError, PointError
from m2bridge.fields import field_name, parse_field
from m2bridge.job import DEFAULT_MEMORY_MEGABYTES, DEFAULT_TIME_SECONDS, Job, JobFolder, Limits, Outcome
from m2bridge.macaulay2 import Macaulay2, find_macaulay2
from m2bridge.map_file import read_map
from m2bridge.networks import DeepLightning, LightningAttention, Orbit
from m2bridge.networks.lightning import Weights
from m2bridge.parametrization import Parametrization
from m2bridge.study import Model

Decorated = Callable[..., Any]


class Sizes(click.ParamType[tuple[int, ...]]):
    """Integers separated by commas."""

    name = "integers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a tuple of integers."""
        if isinstance(value, tuple):
            return value
        parts = str(value).split(",")
        if not all(re.fullmatch(r"\s*\d{1,6}\s*", part) for part in parts):
            self.fail(f"{value!r} is not a list of integers like 3,2,3", param, ctx)
        return tuple(int(part) for part in parts)


@dataclass(frozen=True)
class ModelChoice:
    """The model that the command line names."""

    model: Model
    field: str
    weights: Weights | None

    def parametrization(self, question: str) -> Parametrization:
        """Return the model as a polynomial map.

        Raises
        ------
        Infeasible
            For a deep network, whose coordinates are not expanded.
        """
        if isinstance(self.model, DeepLightning):
            raise Infeasible(
                f"{question} of a deep network is not attempted: its coordinates have degree 3^l",
                "'dimension' and 'study' answer by exact ranks",
            )
        if isinstance(self.model, LightningAttention):
            return self.model.parametrization(self.weights or "QKV", parse_field(self.field))
        return self.model

    def describe(self) -> dict[str, Any]:
        """Return the model as plain data."""
        model = self.model
        if isinstance(model, LightningAttention):
            sizes = {"d": model.d, "d_out": model.d_out, "a": model.a, "t": model.t}
            description = {"family": "lightning", **sizes, "field": self.field}
            return description if self.weights is None else description | {"weights": self.weights}
        if isinstance(model, DeepLightning):
            return {
                "family": "lightning",
                "widths": list(model.widths),
                "ranks": list(model.ranks),
                "t": model.t,
                "heads": model.heads,
                "skip": model.skip,
                "field": self.field,
            }
        return model.describe()


def model_options(command: Decorated) -> Decorated:
    """Add the options that name a model."""
    for decorate in (
        click.argument("family", required=False, type=click.Choice(["lightning"])),
        click.option("--d", type=int, help="Embedding dimension of a single layer."),
        click.option("--d-out", type=int, help="Output dimension d'."),
        click.option("--a", type=int, help="Attention dimension: A = K^T Q has rank at most a."),
        click.option("--widths", type=Sizes(), help="Widths d_0,...,d_l of a deep network."),
        click.option("--ranks", type=Sizes(), help="Ranks a_1,...,a_l of a deep network."),
        click.option("--t", type=int, help="Number of tokens."),
        click.option("--heads", type=int, help="Number of heads of every layer, with --widths (default 1)."),
        click.option("--skip", is_flag=True, help="Skip connections, with --widths."),
        click.option("--field", default=None, help="Ground field of a network: QQ (default) or GF(p)."),
        click.option(
            "--weights",
            type=click.Choice(["QKV", "AV"]),
            help="Parameters of a single layer: entries of Q, K, V, or of A = K^T Q and V.",
        ),
        click.option("--map", "map_file", type=click.Path(path_type=Path), help="A polynomial map: JSON or TOML."),
    )[::-1]:
        command = decorate(command)
    return command


def choose_model(
    *,
    family: str | None,
    d: int | None,
    d_out: int | None,
    a: int | None,
    widths: tuple[int, ...] | None,
    ranks: tuple[int, ...] | None,
    t: int | None,
    heads: int | None,
    skip: bool,
    field: str | None,
    weights: Weights | None,
    map_file: Path | None,
    **_: Any,
) -> ModelChoice:
    """Return the model that the options name.

    Raises
    ------
    click.UsageError
        If they name none, or more than one, or leave a size out.
    InputError
        If the sizes are impossible or the map file is not in order.
    """
    single = {"--d": d, "--d-out": d_out, "--a": a}
    deep = {"--widths": widths, "--ranks": ranks}
    variants = {"--heads": heads, "--skip": skip or None}
    if map_file is not None:
        others = {"lightning": family, **single, **deep, **variants, "--t": t, "--field": field, "--weights": weights}
        given = [name for name, value in others.items() if value is not None]
        if given:
            raise click.UsageError(f"--map says everything about the map: leave out {', '.join(given)}")
        map_ = read_map(map_file)
        return ModelChoice(map_, map_.field_name, None)
    if family is None:
        raise click.UsageError("no model: say 'lightning' with its sizes, or --map FILE")
    ground = field_name(parse_field(field or "QQ"))
    use_deep = any(value is not None for value in deep.values())
    if use_deep and any(value is not None for value in single.values()):
        raise click.UsageError("give either --d, --d-out, --a (one layer) or --widths, --ranks (deep), not both")
    needed: Mapping[str, object] = deep if use_deep else single
    missing = [name for name, value in {**needed, "--t": t}.items() if value is None]
    if missing:
        raise click.UsageError(f"lightning needs {', '.join(missing)}")
    if not use_deep and any(value is not None for value in variants.values()):
        raise click.UsageError("--heads and --skip go with --widths and --ranks")
    if not use_deep:
        return ModelChoice(LightningAttention(d, d_out, a, t), ground, weights)  # type: ignore[arg-type] # not None
    network = DeepLightning(widths, ranks, t, 1 if heads is None else heads, skip)  # type: ignore[arg-type] # not None
    if network.n_layers == 1 and network.is_plain:
        return ModelChoice(LightningAttention(*widths, *ranks, t), ground, weights)  # type: ignore[call-arg, misc] # three numbers
    if ground != "QQ":
        raise click.UsageError("deep networks are answered over QQ: leave out --field")
    if weights is not None:
        raise click.UsageError("--weights is for single layers")
    return ModelChoice(network, ground, None)


def engine_options(command: Decorated) -> Decorated:
    """Add the options that say how Macaulay2 is run."""
    for decorate in (
        click.option("--m2", "executable", help="Macaulay2's executable (default: M2BRIDGE_M2, else M2 on PATH)."),
        click.option(
            "--engine",
            "engine_kind",
            type=click.Choice(["script", "warm"]),
            help="A Macaulay2 process for each job, or one that forks (default where several jobs are run).",
        ),
        click.option(
            "--time-limit",
            type=float,
            default=DEFAULT_TIME_SECONDS,
            show_default=True,
            help="Wall-clock seconds for each Macaulay2 run.",
        ),
        click.option(
            "--memory-limit",
            type=int,
            default=DEFAULT_MEMORY_MEGABYTES,
            show_default=True,
            help="Megabytes for each Macaulay2 run.",
        ),
        click.option(
            "--folder",
            type=click.Path(path_type=Path, file_okay=False),
            help="Keep the job's script, logs and result here, and reuse a finished one.",
        ),
    )[::-1]:
        command = decorate(command)
    return command


def closure_options(command: Decorated) -> Decorated:
    """Add the options that say how a closure is sought."""
    for decorate in (
        click.option("--strategy", type=click.Choice(STRATEGIES), default="auto", show_default=True),
        click.option(
            "--budget",
            "budget_seconds",
            type=float,
            default=DEFAULT_BUDGET_SECONDS,
            show_default=True,
            help="Wall-clock seconds for the closure in all; what is found by then is returned, graded so.",
        ),
        click.option("--max-degree", type=click.IntRange(1), help="Largest degree of equations to interpolate."),
    )[::-1]:
        command = decorate(command)
    return command


def output_options(command: Decorated) -> Decorated:
    """Add the options that say what is printed."""
    for decorate in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document (data/result-1.schema.json)."),
        click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of random points."),
    )[::-1]:
        command = decorate(command)
    return command


def make_limits(time_limit: float, memory_limit: int) -> Limits:
    """Return the limits that the options name."""
    return Limits(time_limit, memory_limit)


class LazyEngine:
    """An engine that is made on first use, so that what needs no Macaulay2 works without."""

    def __init__(self, make: Callable[[], Engine]) -> None:
        self._make = make
        self._engine: Engine | None = None

    def _made(self) -> Engine:
        if self._engine is None:
            self._engine = self._make()
        return self._engine

    @property
    def name(self) -> str:
        """Name of the engine."""
        return self._made().name

    @property
    def macaulay2(self) -> Macaulay2:
        """The executable that it uses."""
        return self._made().macaulay2

    def run(self, job: Job, folder: JobFolder) -> Outcome:
        """Run a job, see `Engine.run`."""
        return self._made().run(job, folder)

    def close(self) -> None:
        """End the engine, if it was made."""
        if self._engine is not None:
            self._engine.close()


class SharedEngine(LazyEngine):
    """The engine of a process that answers many questions; each of them closes it, which does nothing."""

    def close(self) -> None:
        """Leave the engine up."""

    def end(self) -> None:
        """End the engine."""
        super().close()


def make_engine(executable: str | None, kind: str) -> Engine:
    """Return the engine that the options name; Macaulay2 is looked for on first use."""
    engines: dict[str, type[ScriptEngine] | type[WarmEngine]] = {"script": ScriptEngine, "warm": WarmEngine}
    return LazyEngine(lambda: engines[kind](find_macaulay2(executable)))


# --- points --------------------------------------------------------------------------------------------

_BETWEEN_ENTRIES = re.compile(r",(?![^\[\]{}()]*[\]})])")


def parse_orbit(text: str) -> Orbit:
    """Return the orbit written ``i,j,s``.

    Raises
    ------
    PointError
        If it is not three numbers.
    """
    if not re.fullmatch(r"\s*\d+\s*,\s*\d+\s*,\s*\d+\s*", text):
        raise PointError(f"{text!r} is not an orbit: write rk A, rk V and the intersection's dimension as i,j,s")
    return Orbit(*(int(part) for part in text.split(",")))


def parse_values(text: str) -> Mapping[str, Any] | list[Any]:
    """Return a point written ``name=value,...``, ``value,value,...`` or as ``@file.json``.

    Raises
    ------
    PointError
        If the text or the file is none of these.
    """
    if text.startswith("@"):
        try:
            values = json.loads(Path(text[1:]).read_bytes(), parse_float=_refuse_float)
        except OSError as error:
            raise PointError(f"cannot be read: {error.strerror}", text[1:]) from None
        except ValueError as error:
            raise PointError(str(error), text[1:]) from None
        if not isinstance(values, dict | list):
            raise PointError("holds neither a list nor an object", text[1:])
        return values
    parts = [part.strip() for part in _BETWEEN_ENTRIES.split(text)]
    if not any("=" in part for part in parts):
        return parts
    point: dict[str, str] = {}
    for part in parts:
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise PointError(f"{part!r} is not of the form name=value")
        if name in point:
            raise PointError(f"the name {name!r} is given twice")
        point[name] = value
    return point


def _refuse_float(text: str) -> Any:
    raise ValueError(f"{text} is not exact: write an integer or a text such as '1/2'")


def choose_point(
    choice: ModelChoice, map_: Parametrization, at: str | None, orbit: str | None, seed: int
) -> tuple[Fraction, ...]:
    """Return the point of parameter space that ``--at`` or ``--orbit`` names; a random one by default.

    Raises
    ------
    InputError
        If the options contradict each other or name no point of the map.
    """
    if at is not None and orbit is not None:
        raise InputError("give --at or --orbit, not both")
    if orbit is not None:
        if not isinstance(choice.model, LightningAttention):
            raise InputError("--orbit is for single lightning layers")
        return choice.model.representative(parse_orbit(orbit), choice.weights or "QKV")
    if at is None or at == "random":
        if isinstance(choice.model, LightningAttention) and choice.weights == "AV":
            # A random matrix A would have rank > a; K^T Q of random K and Q has not.
            return choice.model.random_weights(seed)
        return map_.random_point(seed)
    if at in map_.points:
        return map_.named_point(at, seed)
    if "=" not in at and "," not in at and not at.startswith("@") and map_.n_parameters != 1:
        return map_.named_point(at, seed)
    return map_.point(parse_values(at))
