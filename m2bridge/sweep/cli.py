"""``m2bridge sweep``: run, plan, status, resume, wait, cancel, table."""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from m2bridge.errors import Macaulay2Unusable
from m2bridge.macaulay2 import find_macaulay2
from m2bridge.sweep import driver
from m2bridge.sweep.driver import ENDED, STATES, Sweep
from m2bridge.sweep.grid import SweepSource, read_sweep
from m2bridge.sweep.store import Store
from m2bridge.sweep.table import FORMATS, rows, write_table

_LINE_SECONDS = 10.0

_store = click.option(
    "--store", "folder", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder of the records."
)
_name = click.option("--name", help="Which sweep of the store (needed if it holds several).")


@click.group("sweep")
def sweep_command() -> None:
    """One question asked of a whole grid of models; none lost, none asked twice."""


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
    """Lines on standard error: at once, then every ten seconds (every second on a terminal, in place)."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._begun = time.monotonic()
        self._next = 0.0
        self._at_first: int | None = None
        self._terminal = sys.stderr.isatty()

    def __call__(self) -> None:
        """Show how far it is, if it is time to."""
        now = time.monotonic()
        if now < self._next:
            return
        # Counting 100,000 jobs takes a while: never more than a tenth of the time.
        line = self.line()
        self._next = time.monotonic() + max(1.0 if self._terminal else _LINE_SECONDS, 9 * (time.monotonic() - now))
        if self._terminal:
            click.echo(f"\r\x1b[K{line}", nl=False, err=True)
        else:
            click.echo(line, err=True)

    def line(self) -> str:
        """Return counts, rate, time left and the slowest running jobs."""
        counts = self._sweep.counts()
        ended = sum(counts[state] for state in ENDED)
        if self._at_first is None:
            self._at_first = ended
        parts = [f"{ended} of {len(self._sweep.jobs)}", *(f"{counts[s]} {s}" for s in STATES if counts[s])]
        seconds = time.monotonic() - self._begun
        if ended > self._at_first and seconds > 0:
            rate = (ended - self._at_first) / seconds
            parts.append(f"{rate:.1f}/s, {(len(self._sweep.jobs) - ended) / rate:.0f} s left")
        labels = {job.key: job.label.removeprefix("m2bridge ") for job in self._sweep.jobs}
        for beat in self._sweep.store.beats()[:2]:
            if beat.key in labels:
                parts.append(f"[{labels[beat.key]}: {time.time() - beat.since:.0f} s, {beat.memory_megabytes:.0f} MB]")
        return "; ".join(parts)

    def end(self) -> None:
        """Show the end."""
        click.echo(("\r\x1b[K" if self._terminal else "") + self.line(), err=True)


def _drive(sweep: Sweep) -> None:
    workers = sweep.settings.workers or len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    progress = _Progress(sweep)
    with ThreadPoolExecutor(workers) as executor:
        sweep.run(executor, workers, say=lambda line: click.echo(line, err=True), watch=progress)
    progress.end()
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
def run_command(file: Path, folder: Path) -> None:
    """Run the sweep in FILE; what the store holds already is not run again."""
    source = read_sweep(file)
    sweep = _load(source, Store(folder))
    sweep.save()
    _drive(sweep)


@sweep_command.command("resume")
@_store
@_name
@click.option("--again", multiple=True, type=click.Choice(["failed", "undecided"]), help="Have these begin anew, too.")
def resume_command(folder: Path, name: str | None, again: tuple[str, ...]) -> None:
    """Go on with a sweep that was interrupted, killed or cancelled."""
    sweep = Sweep.open(Store(folder, create=False), name)
    if again:
        click.echo(f"{sweep.pardon(again)} jobs begin anew", err=True)
    _drive(sweep)


@sweep_command.command("plan")
@click.argument("file", type=click.Path(path_type=Path))
@_store
@click.option("--json", "as_json", is_flag=True)
@click.option("--list", "lists", is_flag=True, help="Also print the command of each job.")
def plan_command(file: Path, folder: Path, as_json: bool, lists: bool) -> None:
    """What 'run' would do: how many jobs, what is done already, and how long the rest may take."""
    store = Store(folder) if folder.exists() else None
    source = read_sweep(file)
    if store is None:
        import tempfile

        with tempfile.TemporaryDirectory() as empty:
            sweep = _load(source, Store(Path(empty) / "store"))
            counts = sweep.counts()
            times: list[float] = []
    else:
        sweep = _load(source, store)
        counts = sweep.counts()
        histories = store.refresh()
        times = [histories[j.key].wall_seconds for j in sweep.jobs if j.key in histories and histories[j.key].final]
    left = counts["waiting"] + counts["lost"]
    estimate = left * sum(times) / len(times) if times else None
    if as_json:
        click.echo(json.dumps({"jobs": len(sweep.jobs), **{s: counts[s] for s in STATES}, "seconds": estimate}))
        return
    click.echo(f"{sweep.name}: {len(sweep.jobs)} jobs; " + ", ".join(f"{counts[s]} {s}" for s in STATES if counts[s]))
    if estimate is not None:
        click.echo(f"about {estimate:.0f} s of work are left, if the rest is like the {len(times)} that ended")
    if lists:
        for job in sweep.jobs:
            click.echo(job.label)


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
    driven, cancelled = sweep.is_driven, sweep.cancelled.exists()
    if as_json:
        document = {"name": sweep.name, "jobs": len(sweep.jobs), **counts, "driven": driven, "cancelled": cancelled}
        click.echo(json.dumps(document | {"running_jobs": running, "failures": failures}, indent=1))
        return
    said = "being worked on" if driven else "cancelled" if cancelled else "nobody works on it"
    click.echo(f"{sweep.name}: {len(sweep.jobs)} jobs, {said}")
    for state in STATES:
        if counts[state]:
            click.echo(f"  {state:<10} {counts[state]}")
    for job in running[:10]:
        click.echo(f"  running: {job['job']} ({job['seconds']:.0f} s, {job['megabytes']:.0f} MB, {job['host']})")
    for failure in failures[:20]:
        click.echo(f"  failed: {failure['job']}: {failure['message']} ({failure['log']})")


@sweep_command.command("wait")
@_store
@_name
@click.option("--timeout", type=float, help="Seconds to wait at most.")
def wait_command(folder: Path, name: str | None, timeout: float | None) -> None:
    """Wait until nobody works on a sweep any more; exit code as of 'run'."""
    sweep = Sweep.open(Store(folder, create=False), name)
    progress = _Progress(sweep)
    if not driver.wait_until_ended(sweep, timeout, progress):
        click.echo("it is still being worked on", err=True)
    progress.end()
    _exit(sweep)


@sweep_command.command("cancel")
@_store
@_name
def cancel_command(folder: Path, name: str | None) -> None:
    """Have whoever works on a sweep stop; 'resume' goes on."""
    sweep = Sweep.open(Store(folder, create=False), name)
    sweep.cancel()
    click.echo(f"{sweep.name}: cancelled; 'm2bridge sweep resume' goes on", err=True)


@sweep_command.command("table")
@_store
@_name
@click.option("--where", default="", help="A condition in SQL on the columns, such as \"state = 'done' and d > 2\".")
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--times", is_flag=True, help="Also what each job took, and its limits.")
def table_command(folder: Path, name: str | None, where: str, form: str, times: bool) -> None:
    """The answers, one row a job, in the order of the sweep file."""
    sweep = Sweep.open(Store(folder, create=False), name)
    names, table = rows(sweep, where=where, times=times)
    click.echo(write_table(names, table, form), nl=False)
