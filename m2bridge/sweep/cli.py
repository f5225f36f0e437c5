"""``m2bridge sweep``: run, plan, status, resume, wait, cancel, table, report."""

from __future__ import annotations

import gc
import json
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import click
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from m2bridge.errors import InputError, Macaulay2Unusable, SlurmError
from m2bridge.macaulay2 import find_macaulay2
from m2bridge.sweep import driver, slurm
from m2bridge.sweep.driver import ENDED, STATES, Sweep
from m2bridge.sweep.grid import SweepSource, read_sweep
from m2bridge.sweep.report import report
from m2bridge.sweep.store import Store, write_whole
from m2bridge.sweep.table import FORMATS, parquet, rows, text

Kind = Literal["local", "slurm"]

_LINE_SECONDS = 10.0

_store = click.option(
    "--store", "folder", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder of the records."
)
_name = click.option("--name", help="Which sweep of the store (needed if it holds several).")


@click.group("sweep")
def sweep_command() -> None:
    """One question asked of a whole grid of models; none lost, none asked twice."""
    # Looking for cycles among 100,000 records that stay would take longer than reading them.
    gc.set_threshold(200_000, 20, 20)


def _load(source: SweepSource, store: Store) -> Sweep:
    try:
        version = find_macaulay2(source.content.executor.m2).version_text
    except Macaulay2Unusable:
        # Exact ranks need none. A question that does says so itself.
        if source.content.question != "dimension":
            raise
        version = ""
    content = source.content
    return Sweep(store, content.name, source.expand(version), content.limits, content.executor)


class _Progress:
    """On a terminal a line in place with a bar; else lines on standard error, at once and then every ten seconds."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._labels = {job.key: job.label.removeprefix("m2bridge ") for job in sweep.jobs}
        self._begun = time.monotonic()
        self._next = 0.0
        self._at_first: int | None = None
        console = Console(stderr=True)
        self._live = Live(console=console, auto_refresh=False, transient=False) if console.is_terminal else None

    def __enter__(self) -> _Progress:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._next = 0.0
                self()
        finally:
            if self._live is not None:
                self._live.stop()

    def say(self, line: str) -> None:
        """Show a line that stays."""
        if self._live is not None:
            self._live.console.print(line, markup=False, highlight=False)
        else:
            click.echo(line, err=True)

    def __call__(self) -> None:
        """Show how far it is, if it is time to."""
        now = time.monotonic()
        if now < self._next:
            return
        # Counting 100,000 jobs takes a while: never more than a tenth of the time.
        lines = self._lines()
        pause = _LINE_SECONDS if self._live is None else 1.0
        self._next = time.monotonic() + max(pause, 9 * (time.monotonic() - now))
        if self._live is None:
            click.echo("; ".join(lines), err=True)
        else:
            bar = ProgressBar(total=len(self._sweep.jobs), completed=self._ended, width=60)
            self._live.update(Group(*map(Text, lines[:2]), bar, *map(Text, lines[2:])), refresh=True)

    def _lines(self) -> list[str]:
        """Return counts, rate and time left, and the slowest running jobs."""
        counts = self._sweep.counts()
        self._ended = ended = sum(counts[state] for state in ENDED)
        if self._at_first is None:
            self._at_first = ended
        said = ", ".join(f"{counts[s]} {s}" for s in STATES if counts[s])
        lines = [f"{ended} of {len(self._sweep.jobs)}: {said}"]
        seconds = time.monotonic() - self._begun
        if ended > self._at_first and seconds > 0:
            rate = (ended - self._at_first) / seconds
            lines.append(f"{rate:.1f}/s, {(len(self._sweep.jobs) - ended) / rate:.0f} s left")
        mine = [beat for beat in self._sweep.store.beats() if beat.key in self._labels]
        for beat in mine[: 2 if self._live is None else 6]:
            took = f"{time.time() - beat.since:.0f} s, {beat.memory_megabytes:.0f} MB"
            lines.append(f"{self._labels[beat.key or '']} ({took})")
        return lines


_kind = click.option(
    "--executor", "kind", type=click.Choice(["local", "slurm"]), help="Instead of what the sweep file says."
)


def _workers(sweep: Sweep) -> int:
    if sweep.settings.workers:
        return sweep.settings.workers
    if sweep.settings.kind == "slurm":
        return slurm.ELEMENTS_AT_ONCE
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _drive(sweep: Sweep) -> None:
    workers = _workers(sweep)
    with _Progress(sweep) as progress:
        if sweep.settings.kind == "slurm":
            try:
                with slurm.SlurmExecutor(sweep, progress.say) as cluster:
                    sweep.run(cluster, workers, say=progress.say, watch=progress)
            except KeyboardInterrupt:
                progress.say("the cluster works on; 'm2bridge sweep cancel' stops it, 'resume' and 'wait' watch it")
                raise
        else:
            with ThreadPoolExecutor(workers) as executor:
                sweep.run(executor, workers, say=progress.say, watch=progress)
    _exit(sweep)


def _exit(sweep: Sweep) -> None:
    """Leave with 0 if every job is done, 1 if some were refuted or failed, 3 if some are open."""
    counts = sweep.counts()
    if sum(counts[s] for s in ENDED) < len(sweep.jobs) or counts["undecided"]:
        raise click.exceptions.Exit(3)
    if counts["refuted"] or counts["failed"]:
        raise click.exceptions.Exit(1)


@sweep_command.command("run")
@click.argument("file", type=click.Path(path_type=Path))
@_store
@_kind
def run_command(file: Path, folder: Path, kind: Kind | None) -> None:
    """Run the sweep in FILE; what the store holds already is not run again."""
    sweep = _load(read_sweep(file), Store(folder))
    sweep.settings.kind = kind or sweep.settings.kind
    sweep.save()
    _drive(sweep)


@sweep_command.command("resume")
@_store
@_name
@_kind
@click.option("--again", multiple=True, type=click.Choice(["failed", "undecided"]), help="Have these begin anew, too.")
def resume_command(folder: Path, name: str | None, kind: Kind | None, again: tuple[str, ...]) -> None:
    """Go on with a sweep that was interrupted, killed or cancelled."""
    sweep = Sweep.open(Store(folder, create=False), name)
    sweep.settings.kind = kind or sweep.settings.kind
    if again:
        click.echo(f"{sweep.pardon(again)} jobs begin anew", err=True)
    _drive(sweep)


@sweep_command.command("plan")
@click.argument("file", type=click.Path(path_type=Path))
@_store
@click.option("--json", "as_json", is_flag=True)
@click.option("--list", "lists", is_flag=True, help="Also print the command of each job.")
@click.option("--dry-run", is_flag=True, help="Also write the batch scripts for Slurm, without submitting them.")
@_kind
def plan_command(file: Path, folder: Path, as_json: bool, lists: bool, dry_run: bool, kind: Kind | None) -> None:
    """What 'run' would do: how many jobs, what is done already, and how long the rest may take."""
    source = read_sweep(file)
    with ExitStack() as stack:
        exists = folder.exists() or dry_run
        place = folder if exists else Path(stack.enter_context(tempfile.TemporaryDirectory())) / "store"
        sweep = _load(source, Store(place))
        sweep.settings.kind = kind or sweep.settings.kind
        counts = sweep.counts()
        histories = sweep.store.histories
        times = [histories[j.key].wall_seconds for j in sweep.jobs if j.key in histories and histories[j.key].final]
        scripts = _dry_run(sweep) if dry_run else []
    left = counts["waiting"] + counts["lost"]
    estimate = left * sum(times) / len(times) if times else None
    if as_json:
        document: dict[str, Any] = {"jobs": len(sweep.jobs), **{s: counts[s] for s in STATES}, "seconds": estimate}
        click.echo(json.dumps(document | ({"scripts": scripts} if dry_run else {})))
        return
    click.echo(f"{sweep.name}: {len(sweep.jobs)} jobs; " + ", ".join(f"{counts[s]} {s}" for s in STATES if counts[s]))
    if estimate is not None:
        click.echo(f"about {estimate:.0f} s of work are left, if the rest is like the {len(times)} that ended")
    for script in scripts:
        click.echo(script)
    if lists:
        for job in sweep.jobs:
            click.echo(job.label)


def _dry_run(sweep: Sweep) -> list[str]:
    """Write the batch scripts of what would be submitted now, and return where they are."""
    if sweep.settings.kind != "slurm":
        raise InputError("there are batch scripts for Slurm only: say --executor slurm", "--dry-run")
    try:
        largest = slurm.max_array_size()
    except SlurmError:
        largest = sweep.settings.most_elements  # a machine without Slurm may plan, too
    place = sweep.folder / "dry-run"
    if place.exists():
        shutil.rmtree(place)
    waves = slurm.prepare(sweep, sweep.first_chunks(_workers(sweep), detached=True), place, largest)
    return [str(place / wave.name / "batch.sh") for wave, _ in waves]


@sweep_command.command("status")
@_store
@_name
@click.option("--json", "as_json", is_flag=True)
def status_command(folder: Path, name: str | None, as_json: bool) -> None:
    """How far a sweep is, what runs, and what failed."""
    sweep = Sweep.open(Store(folder, create=False), name)
    states = sweep.states()
    counts: dict[str, int] = {state: sum(s.state == state for s in states) for state in STATES}
    labels = {job.key: job.label for job in sweep.jobs}
    running = [
        {"job": labels[b.key], "host": b.host, "seconds": time.time() - b.since, "megabytes": b.memory_megabytes}
        for b in sweep.store.beats()
        if b.key in labels
    ]
    bad = [job.key for job, state in zip(sweep.jobs, states, strict=True) if state.state == "failed"]
    failures = [
        {"job": labels[key], "message": record.message, "log": record.log}
        for key, record in sweep.store.last_records(bad)
        if record is not None
    ]
    driven, cancelled, cluster = sweep.is_driven, sweep.cancelled.exists(), _cluster(sweep)
    if as_json:
        document = {"name": sweep.name, "jobs": len(sweep.jobs), **counts, "driven": driven, "cancelled": cancelled}
        document |= {"cluster": cluster}
        click.echo(json.dumps(document | {"running_jobs": running, "failures": failures}, indent=1))
        return
    said = "being worked on" if driven or cluster else "cancelled" if cancelled else "nobody works on it"
    click.echo(f"{sweep.name}: {len(sweep.jobs)} jobs, {said}")
    for state in STATES:
        if counts[state]:
            click.echo(f"  {state:<10} {counts[state]}")
    for where, count in cluster.items():
        click.echo(f"  on Slurm: {count} elements {where}")
    for job in running[:10]:
        click.echo(f"  running: {job['job']} ({job['seconds']:.0f} s, {job['megabytes']:.0f} MB, {job['host']})")
    for failure in failures[:20]:
        click.echo(f"  failed: {failure['job']}: {failure['message']} ({failure['log']})")


def _cluster(sweep: Sweep) -> dict[str, int]:
    """Return what the scheduler has of a sweep, by state; nothing if it cannot be asked from here."""
    try:
        return dict(sorted(slurm.cluster_state(sweep).items()))
    except SlurmError as error:
        click.echo(f"the scheduler cannot be asked: {error}", err=True)
        return {}


@sweep_command.command("wait")
@_store
@_name
@click.option("--timeout", type=float, help="Seconds to wait at most.")
def wait_command(folder: Path, name: str | None, timeout: float | None) -> None:
    """Wait until nobody works on a sweep any more; exit code as of 'run'."""
    sweep = Sweep.open(Store(folder, create=False), name)
    with _Progress(sweep) as progress:
        if not driver.wait_until_ended(sweep, timeout, lambda: bool(slurm.cluster_state(sweep)), progress):
            progress.say("it is still being worked on")
    _exit(sweep)


@sweep_command.command("cancel")
@_store
@_name
def cancel_command(folder: Path, name: str | None) -> None:
    """Have whoever works on a sweep stop; 'resume' goes on."""
    sweep = Sweep.open(Store(folder, create=False), name)
    sweep.cancel()
    try:
        slurm.cancel_elements(sweep)
    except SlurmError as error:
        click.echo(f"its elements on the cluster end when they see the store: {error}", err=True)
    click.echo(f"{sweep.name}: cancelled; 'm2bridge sweep resume' goes on", err=True)


@sweep_command.command("table")
@_store
@_name
@click.option("--where", default="", help="A condition in SQL on the columns, such as \"state = 'done' and d > 2\".")
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--times", is_flag=True, help="Also what each job took, and its limits.")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="A file, instead of standard output.")
def table_command(folder: Path, name: str | None, where: str, form: str, times: bool, output: Path | None) -> None:
    """The answers, one row a job, in the order of the sweep file."""
    if form == "parquet" and output is None:
        raise InputError("Parquet is not text: say --output FILE", "--format")
    sweep = Sweep.open(Store(folder, create=False), name)
    names, table = rows(sweep, where=where, times=times)
    if output is not None:
        _write(output, parquet(names, table) if form == "parquet" else "".join(text(names, table, form)).encode())
        return
    sys.stdout.writelines(text(names, table, form))


@sweep_command.command("report")
@_store
@_name
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="[default: NAME.html]")
@click.option("--across", help="Column of the table whose values run across the heat map.")
@click.option("--down", help="Column whose values run down.")
def report_command(folder: Path, name: str | None, output: Path | None, across: str | None, down: str | None) -> None:
    """A page of HTML: disagreements, the grid as a heat map, failures, time and memory by size."""
    sweep = Sweep.open(Store(folder, create=False), name)
    page = report(sweep, across=across, down=down)
    output = output or Path(f"{sweep.name}.html")
    _write(output, page.encode())
    click.echo(output)


def _write(path: Path, content: bytes) -> None:
    try:
        write_whole(path, content)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", str(path)) from None
