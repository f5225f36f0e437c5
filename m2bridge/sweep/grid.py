"""The sweep file: which question is asked of which models, under which limits, and by whom."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import click
import msgspec
import simpleeval

from m2bridge.errors import SweepFileError

QUESTIONS = ("study", "dimension", "closure", "groebner", "tangent", "singular", "fibre", "membership")

ANSWER_VERSION = 1
"""Counts up when the same question gets another answer, or an answer in another form, from the same script."""

_OWN = frozenset({"json", "time-limit", "memory-limit", "folder", "m2", "engine", "map", "ideal", "help"})
_MOST_VALUES = 1_000_000


class Escalation(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """What becomes of a job that ran out of time or memory: again with ``factor`` times as much, ``at_most`` times."""

    factor: float = 2.0
    at_most: int = 0


class SweepLimits(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """Bounds on each job.

    Attributes
    ----------
    time
        Wall-clock seconds.
    memory
        Megabytes, of Macaulay2 and of Python apart.
    escalation
        The rule for those that reached a limit.
    crashes
        After so many deaths of its process a job has failed.
    losses
        After so many losses (of its node, or of the submitting process) a job has failed.
    """

    time: float = 600.0
    memory: int = 4000
    escalation: Escalation = msgspec.field(default_factory=Escalation)
    crashes: int = 3
    losses: int = 20


class ExecutorSettings(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """Who works on the jobs.

    Attributes
    ----------
    kind
        ``local``, or ``slurm`` for the cluster whose ``sbatch`` is on PATH.
    workers
        How many jobs at once; 0 for as many as there are cores (on Slurm: for 64 elements of job arrays).
    engine
        ``warm`` or ``script``.
    m2
        Macaulay2's executable.
    chunk
        Jobs that are handed out together; 0 to have it chosen.
    partition, account
        As sbatch knows them; the cluster's own defaults unless given.
    options
        More options of sbatch, such as ``--qos=long``.
    prologue
        Lines of shell before the work begins on a node, such as ``module load macaulay2``.
    launcher
        Words before the command that does the work, such as ``apptainer exec m2.sif``.
    minutes
        How long an element of a job array may work; a job that is allowed more time gets an element for itself.
    memory_overhead
        Megabytes that Slurm is asked for on top of a job's limit: Python and an idle Macaulay2.
    most_elements
        Elements of one job array at most (and no more than the cluster's MaxArraySize allows).
    poll
        Seconds between two questions to the scheduler.
    """

    kind: Literal["local", "slurm"] = "local"
    workers: int = 0
    engine: Literal["warm", "script"] = "warm"
    m2: str | None = None
    chunk: int = 0
    partition: str = ""
    account: str = ""
    options: list[str] = []
    prologue: str = ""
    launcher: str = ""
    minutes: int = 60
    memory_overhead: int = 600
    most_elements: int = 1000
    poll: float = 20.0


class SweepFile(msgspec.Struct, forbid_unknown_fields=True):
    """A sweep file as it stands."""

    question: str
    name: str = ""
    model: dict[str, Any] | list[dict[str, Any]] = []
    maps: list[str] = []
    ideals: list[str] = []
    options: dict[str, Any] = {}
    limits: SweepLimits = msgspec.field(default_factory=SweepLimits)
    executor: ExecutorSettings = msgspec.field(default_factory=ExecutorSettings)


class SweepJob(msgspec.Struct, frozen=True):
    """One computation.

    Attributes
    ----------
    key
        SHA-256 of the question, its arguments, the contents of the files it names, the scripts, the version of
        Macaulay2 where it is asked, and `ANSWER_VERSION`. Limits and executor are no part of it.
    question
        A sub-command.
    arguments
        What stands after it on the command line, limits apart.
    values
        The same by name, for tables.
    """

    key: str
    question: str
    arguments: tuple[str, ...]
    values: dict[str, Any]

    @property
    def label(self) -> str:
        """The command that does the same by hand."""
        return " ".join(["m2bridge", self.question, *self.arguments])


@dataclass(frozen=True)
class SweepSource:
    """A sweep file with its text, so that refusals name the line."""

    path: Path
    text: str
    content: SweepFile

    def refuse(self, problem: str, *keys: str) -> SweepFileError:
        """Return the error for a key (with the tables around it)."""
        line = _line(self.text, keys)
        place = f"{self.path}:{line}" if line else str(self.path)
        return SweepFileError(problem, f"{place}: {'.'.join(keys)}" if keys else place)

    def expand(self, macaulay2_version: str) -> list[SweepJob]:
        """Return all jobs, each once, in the order of the file (the last key varies fastest).

        Raises
        ------
        SweepFileError
            If a value is none of its option, a condition cannot be decided, or a file is not there.
        """
        question = self.content.question
        allowed = _allowed(question)
        jobs: dict[str, SweepJob] = {}
        for bindings, digests in self._models(allowed):
            for option_values in self._grid(self.content.options, ("options",), allowed):
                clash = bindings.keys() & option_values.keys()
                if clash:
                    raise self.refuse("is given with the model as well", "options", sorted(clash)[0])
                values = bindings | option_values
                arguments = tuple(_arguments(values, allowed))
                uses_macaulay2 = question != "dimension" or "map" in values
                version = macaulay2_version if uses_macaulay2 else ""
                identity = [question, arguments, digests, scripts_digest(), version, ANSWER_VERSION]
                key = hashlib.sha256(msgspec.json.encode(identity)).hexdigest()
                jobs.setdefault(key, SweepJob(key, question, arguments, values))
        if not jobs:
            raise self.refuse("no job: the conditions exclude every model, or there is none")
        return list(jobs.values())

    def _models(self, allowed: dict[str, click.Parameter]) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
        content = self.content
        grids = content.model if isinstance(content.model, list) else [content.model]
        for number, grid in enumerate(grids):
            family = grid.get("family")
            keys = ("model",) if len(grids) == 1 else ("model", f"[{number}]")
            if not isinstance(family, str):
                raise self.refuse('names no family, such as "lightning"', *keys, "family")
            if "family" not in allowed:
                raise self.refuse(f"{content.question} asks no model", *keys)
            families = allowed["family"].type
            if not isinstance(families, click.Choice) or family not in families.choices:
                raise self.refuse(f"there is no family {family!r}", *keys, "family")
            rest = {k: v for k, v in grid.items() if k != "family"}
            for values in self._grid(rest, keys, allowed):
                yield {"family": family} | values, {}
        for kind, patterns in (("map", content.maps), ("ideal", content.ideals)):
            if patterns and kind not in _options_of(content.question):
                raise self.refuse(f"{content.question} takes no {kind} file", f"{kind}s")
            for pattern in patterns:
                found = sorted(self.path.parent.glob(pattern)) if not Path(pattern).is_absolute() else [Path(pattern)]
                if not found or not all(path.is_file() for path in found):
                    raise self.refuse(f"no file is named {pattern!r}", f"{kind}s")
                for path in found:
                    digest = hashlib.sha256(path.read_bytes()).hexdigest()
                    yield {kind: str(path.absolute())}, {kind: digest}

    def _grid(
        self, table: dict[str, Any], keys: Sequence[str], allowed: dict[str, click.Parameter]
    ) -> Iterator[dict[str, Any]]:
        """Yield the combinations of a table's values that fulfil its conditions."""
        table = dict(table)
        conditions = table.pop("where", [])
        zips = table.pop("zip", [])
        conditions = [conditions] if isinstance(conditions, str) else conditions
        if not isinstance(conditions, list) or not all(isinstance(c, str) for c in conditions):
            raise self.refuse("must be a text, or a list of texts", *keys, "where")
        if not isinstance(zips, list) or not all(
            isinstance(group, list) and all(isinstance(name, str) for name in group) for group in zips
        ):
            raise self.refuse("must be a list of lists of names", *keys, "zip")
        values = {name.replace("_", "-"): self._values(value, *keys, name) for name, value in table.items()}
        for name, choices in values.items():
            if name not in allowed:
                known = ", ".join(sorted(allowed.keys() - {"family"}))
                raise self.refuse(f"{self.content.question} has no option {name!r} here (it has {known})", *keys, name)
            for choice in {json.dumps(c): c for c in choices}.values():
                self._check(allowed[name], choice, *keys, name)
        axes: list[list[tuple[tuple[str, Any], ...]]] = []
        zipped: set[str] = set()
        for group in zips:
            names = [name.replace("_", "-") for name in group]
            if any(name not in values for name in names) or len({len(values[name]) for name in names}) != 1:
                raise self.refuse(f"{group} must be keys of this table with equally many values", *keys, "zip")
            if zipped & set(names):
                raise self.refuse("a key stands in two groups", *keys, "zip")
            zipped |= set(names)
            columns = [values[name] for name in names]
            axes.append([tuple(zip(names, row, strict=True)) for row in zip(*columns, strict=True)])
        axes += [[((name, choice),) for choice in choices] for name, choices in values.items() if name not in zipped]
        tests = [self._condition(text, *keys) for text in conditions]
        for combination in itertools.product(*axes):
            chosen = dict(itertools.chain.from_iterable(combination))
            if all(test({name.replace("-", "_"): value for name, value in chosen.items()}) for test in tests):
                yield {name: chosen[name] for name in values}

    def _values(self, value: Any, *keys: str) -> list[Any]:
        """Return the values that a key takes: a scalar, a list, a range ``"1..3"``, or ``{length, entries}``."""
        match value:
            case bool() | int():
                return [value]
            case float():
                raise self.refuse("a floating-point number is not exact: write a text such as '1/2'", *keys)
            case str():
                span = re.fullmatch(r"\s*(-?\d{1,9})\s*\.\.\s*(-?\d{1,9})\s*(?:by\s+(\d{1,9})\s*)?", value)
                if span is None:
                    return [value]
                step = int(span[3] or 1)
                found = range(int(span[1]), int(span[2]) + 1, step) if step else range(0)
                if not 0 < len(found) <= _MOST_VALUES:
                    raise self.refuse(f"{value!r} is an empty or endless range", *keys)
                return list(found)
            case dict():
                if value.keys() != {"length", "entries"}:
                    raise self.refuse("a list of lists is given by 'length' and 'entries'", *keys)
                entries = self._values(value["entries"], *keys)
                lengths = self._values(value["length"], *keys)
                if not all(isinstance(n, int) and 0 < n < 100 for n in lengths):
                    raise self.refuse("'length' must be positive", *keys)
                if sum(len(entries) ** n for n in lengths) > _MOST_VALUES:
                    raise self.refuse("too many lists", *keys)
                return [list(entry) for n in lengths for entry in itertools.product(entries, repeat=n)]
            case list() if value and all(isinstance(v, list) for v in value):
                return value  # widths = [[3, 2, 3], [2, 2, 2]]
            case list() if value:
                return list(itertools.chain.from_iterable(self._values(v, *keys) for v in value))
        raise self.refuse('takes a number, a text, a range such as "1..3", or a list of them', *keys)

    def _check(self, parameter: click.Parameter, value: Any, *keys: str) -> None:
        if getattr(parameter, "is_flag", False):
            if not isinstance(value, bool):
                raise self.refuse(f"{value!r} is neither true nor false", *keys)
            return
        if isinstance(value, bool):
            raise self.refuse(f"{value!r} is not a value of it", *keys)
        try:
            parameter.type.convert(_text(value), parameter, None)
        except click.UsageError as error:
            raise self.refuse(error.message, *keys) from None

    def _condition(self, text: str, *keys: str) -> Any:
        functions = {"len": len, "min": min, "max": max, "sum": sum, "abs": abs}
        evaluator = simpleeval.EvalWithCompoundTypes(functions=functions)
        try:
            parsed = evaluator.parse(text)
        except (SyntaxError, simpleeval.InvalidExpression) as error:
            raise self.refuse(f"{text!r} is not a condition: {error}", *keys, "where") from None

        def test(names: dict[str, Any]) -> bool:
            evaluator.names = names
            try:
                return bool(evaluator.eval(text, previously_parsed=parsed))
            except Exception as error:
                raise self.refuse(f"{text!r} cannot be decided: {error}", *keys, "where") from None

        return test


def read_sweep(path: str | Path) -> SweepSource:
    """Return the sweep in a TOML file.

    Raises
    ------
    SweepFileError
        If it cannot be read or is not in order; the message names line and key.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text)
    except OSError as error:
        raise SweepFileError(f"cannot be read: {error.strerror}", str(path)) from None
    except UnicodeDecodeError:
        raise SweepFileError("is not UTF-8 text", str(path)) from None
    except tomllib.TOMLDecodeError as error:
        raise SweepFileError(f"is not TOML: {error}", str(path)) from None
    try:
        content = msgspec.convert(table, SweepFile)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at `$")
        keys = [key for key in where.rstrip("`").split(".") if key]
        unknown = re.search(r"unknown field `([^`]+)`", message)
        if unknown:
            keys.append(unknown[1])
        raise SweepSource(path, text, SweepFile("")).refuse(message, *keys) from None
    source = SweepSource(path, text, content)
    if content.question not in QUESTIONS:
        raise source.refuse(f"{content.question!r} is none of {', '.join(QUESTIONS)}", "question")
    if not content.name:
        content.name = path.stem
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}", content.name):
        raise source.refuse("a name is made of letters, digits, dots, dashes and underscores", "name")
    limits, escalation = content.limits, content.limits.escalation
    bounds: tuple[tuple[bool, str, tuple[str, ...]], ...] = (
        (0 < limits.time < 1e9, "must be positive", ("limits", "time")),
        (limits.memory >= 100, "must be at least 100 (megabytes)", ("limits", "memory")),
        (limits.crashes >= 1, "must be positive", ("limits", "crashes")),
        (limits.losses >= 1, "must be positive", ("limits", "losses")),
        (1 < escalation.factor <= 100, "must be greater than 1", ("limits", "escalation", "factor")),
        (0 <= escalation.at_most <= 20, "must be 0 to 20", ("limits", "escalation", "at-most")),
        (content.executor.workers >= 0, "must not be negative", ("executor", "workers")),
        (content.executor.chunk >= 0, "must not be negative", ("executor", "chunk")),
        (content.executor.minutes >= 1, "must be positive", ("executor", "minutes")),
        (content.executor.memory_overhead >= 0, "must not be negative", ("executor", "memory-overhead")),
        (content.executor.most_elements >= 1, "must be positive", ("executor", "most-elements")),
        (content.executor.poll >= 0.5, "must be at least 0.5 (seconds)", ("executor", "poll")),
        (
            all(re.fullmatch(r"--[a-z][^\n]*", option) for option in content.executor.options),
            "each must be one of sbatch, such as '--qos=long'",
            ("executor", "options"),
        ),
    )
    for good, problem, place in bounds:
        if not good:
            raise source.refuse(problem, *place)
    return source


@functools.cache
def scripts_digest() -> str:
    """Return the SHA-256 of all Macaulay2 templates: another script is another computation."""
    digest = hashlib.sha256()
    for entry in sorted(files("m2scripts").iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".m2"):
            digest.update(entry.name.encode() + b"\0" + entry.read_bytes() + b"\0")
    return digest.hexdigest()


@functools.cache
def _options_of(question: str) -> dict[str, click.Parameter]:
    from m2bridge.cli import cli  # the commands are the one place where options are declared

    found: dict[str, click.Parameter] = {}
    for parameter in cli.commands[question].params:
        if isinstance(parameter, click.Argument):
            found[str(parameter.name)] = parameter
        for option in parameter.opts:
            if option.startswith("--"):
                found[option[2:]] = parameter
    return found


def _allowed(question: str) -> dict[str, click.Parameter]:
    return {name: parameter for name, parameter in _options_of(question).items() if name not in _OWN}


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _arguments(values: dict[str, Any], allowed: dict[str, click.Parameter]) -> Iterator[str]:
    if "family" in values:
        yield values["family"]
    for name, value in values.items():
        if name == "family":
            continue
        if getattr(allowed.get(name), "is_flag", False):
            if value:
                yield f"--{name}"
        else:
            yield from (f"--{name}", _text(value))


def _line(text: str, keys: Sequence[str]) -> int:
    """Return the number of the line in which a key stands; that of its table if it is not there; 0 if neither is."""
    wanted = [key for key in keys if not key.startswith("[")]
    index = next((int(key[1:-1]) for key in keys if re.fullmatch(r"\[\d+\]", key)), 0)
    table: list[str] = []
    best, depth, seen = 0, 0, 0
    for number, line in enumerate(text.splitlines(), start=1):
        head = re.match(r"\s*(\[\[?)\s*([^\]]+?)\s*\]", line)
        if head:
            table = [part.strip().strip("\"'") for part in head[2].split(".")]
            if head[1] == "[[":
                seen += 1
            here = table
        else:
            entry = re.match(r"\s*([A-Za-z0-9_.\"'-]+)\s*=", line)
            if not entry:
                continue
            here = [*table, *(part.strip("\"'") for part in entry[1].split("."))]
        if seen and seen != index + 1 and table[:1] == wanted[:1]:
            continue
        plain = [part.replace("_", "-") for part in here]
        common = [part.replace("_", "-") for part in wanted[: len(here)]]
        if plain == common and len(here) > depth:
            best, depth = number, len(here)
    return best
