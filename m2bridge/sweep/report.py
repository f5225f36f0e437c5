"""The page of a sweep: one HTML file without scripts, which can be sent around."""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import jinja2

from m2bridge.errors import InputError
from m2bridge.sweep.driver import STATES, Sweep
from m2bridge.sweep.table import rows

COMPARED = ("formula", "published_formula", "numeric", "virtual")
"""Columns that say the same as ``exact``, if all is well."""

_COLOURS = {
    "done": "#3b8f5a", "refuted": "#c0392b", "undecided": "#d9a127", "failed": "#7d3c98", "waiting": "#d5d8dc",
    "running": "#5dade2", "lost": "#aab7b8",
}  # fmt: skip
_MOST_POINTS = 3000
_MOST_LISTED = 200
_WIDTH, _HEIGHT, _EDGE = 640, 260, 50

Row = dict[str, Any]


def report(sweep: Sweep, *, across: str | None = None, down: str | None = None) -> str:
    """Return the page: disagreements, the grid as a heat map, failures, time and memory.

    Parameters
    ----------
    sweep
        The sweep, ended or not.
    across, down
        Columns of its table whose values span the heat map; those that take most values, unless given.

    Raises
    ------
    InputError
        If there is no such column.
    """
    names, table = rows(sweep, times=True)
    jobs = [dict(zip(names, row, strict=True)) for row in table]
    for job, entry in zip(jobs, sweep.jobs, strict=True):
        job["label"] = entry.label
    # Models that are described by different keys have no grid in common.
    alike: dict[tuple[str, ...], list[Row]] = {}
    for job, entry in zip(jobs, sweep.jobs, strict=True):
        alike.setdefault(tuple(name.replace("-", "_") for name in entry.values), []).append(job)
    for chosen in (across, down):
        if chosen is not None and chosen not in names:
            raise InputError(f"there is no column {chosen!r} (but {', '.join(names)})", "report")
    counts = Counter(job["state"] for job in jobs)
    records = dict(sweep.store.last_records([job.key for job in sweep.jobs]))
    for job, entry in zip(jobs, sweep.jobs, strict=True):
        record = records[entry.key]
        job["log"] = "" if record is None else record.log
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("m2bridge.sweep", ""), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    wrong = [job for job in jobs if job["state"] == "refuted" or disagreements(job)]
    compared = [name for name in ("exact", *COMPARED) if any(job.get(name) is not None for job in wrong)]
    undecided = [job for job in jobs if job["state"] == "undecided"]
    failed = [job for job in jobs if job["state"] == "failed"]
    return environment.get_template("report.html").render(
        sweep=sweep,
        written=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        counts=[(state, counts[state], _COLOURS[state]) for state in STATES if counts[state]],
        evidence=Counter(job["evidence"] for job in jobs if job.get("evidence")).most_common(),
        wrong=wrong[:_MOST_LISTED],
        n_wrong=len(wrong),
        compared=compared,
        disagreements=disagreements,
        grids=[_grid(group, keys, across, down) for keys, group in alike.items()],
        undecided=undecided[:_MOST_LISTED],
        n_undecided=len(undecided),
        failed=failed[:_MOST_LISTED],
        n_failed=len(failed),
        sizes=_sizes(jobs),
        plots=[
            _plot(jobs, "wall_seconds", "seconds"),
            _plot(jobs, "peak_megabytes", "megabytes"),
        ],
        slowest=sorted((j for j in jobs if j["wall_seconds"]), key=lambda j: -j["wall_seconds"])[:20],
    )


def disagreements(job: Row) -> list[str]:
    """Return the columns whose value is another than the exact one."""
    exact = job.get("exact")
    if exact is None:
        return []
    found = [name for name in COMPARED if job.get(name) is not None and job[name] != exact]
    # A rank that floating point cannot tell is no answer that could be wrong.
    return [name for name in found if name != "numeric" or job.get("numeric_clear") is not False]


def _order(value: Any) -> tuple[int, float, str]:
    if value is None:
        return (2, 0.0, "")
    return (0, float(value), "") if isinstance(value, int | float) else (1, float(len(value)), str(value))


def _grid(jobs: Sequence[Row], keys: Sequence[str], across: str | None, down: str | None) -> dict[str, Any]:
    """Return the heat map: a cell for each pair of values, with what became of the jobs there."""
    varied = sorted(keys, key=lambda key: -len({job.get(key) for job in jobs}))
    free = [key for key in varied if key not in (across, down)]
    across = across or (free.pop(0) if free else "state")
    down = down or (free.pop(0) if free else "state")
    cells: dict[tuple[Any, Any], list[Row]] = {}
    for job in jobs:
        cells.setdefault((job.get(down), job.get(across)), []).append(job)
    columns = sorted({column for _, column in cells}, key=_order)
    lines = []
    for value in sorted({row for row, _ in cells}, key=_order):
        line = [_cell(cells.get((value, column), [])) for column in columns]
        lines.append((_shown(value), line))
    return {"across": across, "down": down, "columns": [_shown(column) for column in columns], "lines": lines}


def _shown(value: Any) -> str:
    return "–" if value is None else str(value)


def _cell(jobs: Sequence[Row]) -> dict[str, str]:
    if not jobs:
        return {"style": "", "text": "", "title": ""}
    counts = Counter(job["state"] for job in jobs)
    stops, position = [], 0.0
    for state in STATES:
        if counts[state]:
            share = 100 * counts[state] / len(jobs)
            stops.append(f"{_COLOURS[state]} {position:.1f}% {position + share:.1f}%")
            position += share
    marked = "outline: 3px solid #c0392b; outline-offset: -3px;" if any(map(disagreements, jobs)) else ""
    answers = sorted({job["exact"] for job in jobs if isinstance(job.get("exact"), int)})
    span = "" if not answers else str(answers[0]) if len(answers) == 1 else f"{answers[0]}–{answers[-1]}"
    said = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    title = "\n".join([said, *(job["label"] for job in jobs[:5]), *(["…"] if len(jobs) > 5 else [])])
    style = f"background: linear-gradient(90deg, {', '.join(stops)}); {marked}"
    return {"style": style, "text": span or str(len(jobs)), "title": title}


def _size(job: Row) -> int | None:
    """Return how large a job is: its parameters."""
    size = job.get("n_parameters")
    return size if isinstance(size, int) and size > 0 else None


def _sizes(jobs: Iterable[Row]) -> list[dict[str, Any]]:
    """Return time and memory of the jobs whose numbers of parameters lie between the same powers of two."""
    classes: dict[int, list[Row]] = {}
    for job in jobs:
        size = _size(job)
        if size is not None and job["wall_seconds"]:
            classes.setdefault(size.bit_length() - 1, []).append(job)
    return [
        {
            "size": f"{2**power}–{2 ** (power + 1) - 1}",
            "jobs": len(there),
            "median": statistics.median(job["wall_seconds"] for job in there),
            "most": max(job["wall_seconds"] for job in there),
            "megabytes": max(job["peak_megabytes"] or 0 for job in there),
        }
        for power, there in sorted(classes.items())
    ]


def _plot(jobs: Sequence[Row], name: str, unit: str) -> dict[str, Any]:
    """Return the points of a plot with logarithmic axes: against the number of parameters, or else in order."""
    values = [
        (_size(job) or number, job[name], job)
        for number, job in enumerate(jobs, start=1)
        if isinstance(job[name], int | float) and job[name] > 0
    ]
    shown = sorted(values, key=lambda value: -value[1])[:_MOST_POINTS]
    if not shown:
        return {}
    is_sized = any(_size(job) for _, _, job in shown)
    left, right = _decades([size for size, _, _ in shown])
    low, high = _decades([value for _, value, _ in shown])

    def x(value: float) -> float:
        return _EDGE + (math.log10(value) - left) / (right - left) * (_WIDTH - 2 * _EDGE)

    def y(value: float) -> float:
        return _HEIGHT - _EDGE - (math.log10(value) - low) / (high - low) * (_HEIGHT - 1.5 * _EDGE)

    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "title": f"{unit}, by {'number of parameters' if is_sized else 'number of the job'}",
        "left_out": len(values) - len(shown),
        "points": [(f"{x(s):.1f}", f"{y(v):.1f}", _COLOURS[job["state"]], job["label"]) for s, v, job in shown],
        "ticks_x": [(f"{x(10.0**power):.1f}", f"{10**power:g}") for power in range(left, right + 1)],
        "ticks_y": [(f"{y(10.0**power):.1f}", f"{10.0**power:g}") for power in range(low, high + 1)],
        "edge": _EDGE,
    }


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten around the values."""
    low = math.floor(math.log10(min(values)))
    return low, max(low + 1, math.ceil(math.log10(max(values))))
