"""What the benchmarks measured, kept from run to run, and the page and plots made of it."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from math import exp, log
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results.json"
PAGE = ROOT / "docs" / "benchmarks.md"

FLOOR = 0.001
"""Seconds below which a difference of two CPU times says nothing."""

FULL = ("singular", "m2", "m2p", "msolve", "msolvep")
"""The other programs on the same reduced input, those modulo a prime included."""

TITLES = {
    "singular": "Singular",
    "m2": "M2 QQ",
    "m2p": "M2 mod p",
    "msolve": "msolve QQ",
    "msolvep": "msolve mod p",
    "sympy": "sympy",
    "singularraw": "Singular, raw",
    "m2raw": "M2, raw",
}

Record = dict[str, Any]


def load() -> dict[str, dict[str, Record]]:
    """Return all records: by benchmark, then by name."""
    found: dict[str, dict[str, Record]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return found


def save(benchmark: str, records: Sequence[Record]) -> None:
    """Keep records; figures of other programs that were not run this time stay."""
    results = load()
    kept = results.setdefault(benchmark, {})
    for record in records:
        before = kept.get(record["name"], {})
        kept[record["name"]] = record | {"peers": before.get("peers", {}) | record.get("peers", {})}
    results["machine"] = {"machine": machine()}
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


def machine() -> Record:
    """Return what the figures were taken on."""
    model = platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        names = [line.split(":", 1)[1].strip() for line in information.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return {"processor": model, "system": platform.system(), "python": platform.python_version()}


# --- ratios ----------------------------------------------------------------------------------------------


def best_peer(record: Record) -> tuple[str, float, bool] | None:
    """Return the fastest peer on the reduced input, its seconds, and whether it finished; None if none was run."""
    cells = {key: record["peers"][key] for key in FULL if key in record["peers"]}
    done = {key: float(cell["seconds"]) for key, cell in cells.items() if cell["status"] == "ok"}
    if done:
        key = min(done, key=lambda k: done[k])
        return key, max(done[key], FLOOR), True
    # Nobody finished. The peer that had the longest says how long it takes at least, if the others were no faster on
    # any instance that both finished: Singular in all that were measured.
    late = {key: float(cell["seconds"]) for key, cell in cells.items() if cell["status"] in ("time", "memory")}
    if not late:
        return None
    key = "singular" if "singular" in late else max(late, key=lambda k: late[k])
    return key, late[key], False


def summary(records: Sequence[Record]) -> Record:
    """Return the ratios: the fastest peer's CPU seconds over the product's."""
    ratios: dict[str, Record] = {}
    for record in records:
        best = best_peer(record)
        if best is None or record["equations"]["status"] != "ok":
            continue
        key, seconds, finished = best
        ratios[record["name"]] = {
            "peer": key,
            "seconds": seconds,
            "finished": finished,
            "equations": seconds / max(record["equations"]["seconds"], FLOOR),
            "ideal": seconds / max(record["ideal"]["seconds"], FLOOR) if record["complete"] else None,
        }
    counted = [r for r in ratios.values() if r["seconds"] > 1]
    return {
        "ratios": ratios,
        "counted": len(counted),
        "geometric_mean": _mean([r["equations"] for r in counted]),
        "counted_finished": sum(r["finished"] for r in counted),
        "geometric_mean_finished": _mean([r["equations"] for r in counted if r["finished"]]),
        "disagreements": [f"{r['name']}: {text}" for r in records for text in r["disagreements"]],
    }


def _mean(values: Sequence[float]) -> float | None:
    return exp(sum(map(log, values)) / len(values)) if values else None


# --- the page --------------------------------------------------------------------------------------------


def write() -> None:
    """Write the page and, where matplotlib is there, the plots."""
    results = load()
    closures = [_named(r) for r in results.get("implicitization", {}).values()]
    closures.sort(key=lambda r: float(r["equations"]["seconds"]))
    networks = sorted(results.get("dimension", {}).values(), key=lambda r: int(r["n_parameters"]))
    ranks = sorted(results.get("rank", {}).values(), key=lambda r: int(r["name"]))
    strata = sorted(results.get("strata", {}).values(), key=lambda r: str(r["name"]))
    plotted = _plot(closures)
    parts = [_introduction(results.get("machine", {}).get("machine", {}))]
    if closures:
        parts.append(_closures(closures, plotted))
    if strata:
        parts.append(_strata(strata))
    if networks:
        parts.append(_networks(networks))
    if ranks:
        parts.append(_ranks(ranks))
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text("\n\n".join(parts) + "\n")


def _named(record: Record) -> Record:
    return record | {"degrees": {int(d): n for d, n in record["degrees"].items()}}


def _introduction(on: Record) -> str:
    return f"""# Benchmarks

Made by `python -m benchmarks.implicitization`, `benchmarks.strata` and `benchmarks.dimension`; the figures are in
`benchmarks/results.json`. All are CPU seconds of one process with its children on one thread, start-up not counted
(Macaulay2 needs about 0.3 s, Python with all imports about 0.6 s), the best of three where that is under 5 s.
Taken on {on.get("processor", "?")}, {on.get("system", "?")}, Python {on.get("python", "?")}, a machine with other
work on it: differences below a factor of 2 mean little."""


def _closures(records: Sequence[Record], plotted: bool) -> str:
    outcome = summary(records)
    rows = [
        "| instance | coordinates | dim | generators | equations | whole ideal | "
        + " | ".join(TITLES.values())
        + " | ratio | ideal |",
        "|---" * (len(TITLES) + 8) + "|",
    ]
    for record in records:
        ratio = outcome["ratios"].get(record["name"])
        sign = "" if ratio and ratio["finished"] else ">"
        cells = [
            f"{record['name']}: {record['title']}",
            str(record["n_independent"]),
            str(record["dim"]),
            ", ".join(f"{d}: {n}" for d, n in sorted(record["degrees"].items())) + f" (<= {record['degree']})",
            _cell(record["equations"]),
            _cell(record["ideal"]) if record["complete"] else "open",
            *(_cell(record["peers"].get(key)) for key in TITLES),
            f"{sign}{_two(ratio['equations'])}" if ratio else "",
            f"{sign}{_two(ratio['ideal'])}" if ratio and ratio["ideal"] else "",
        ]
        rows.append("| " + " | ".join(cells) + " |")
    mean = outcome["geometric_mean"]
    lines = [
        "## Equations of closures",
        """`equations`: all of them up to the degree in brackets, found, lifted to QQ and verified by substitution.
`whole ideal`: the same with the proof that there are no more, where m2bridge has one (`open` otherwise). All programs
but the last two get the same linearly independent coordinates in the best formulation known for elimination ((A, V)
with A = [B; C B] for attention), Macaulay2 and Singular with the degrees that make it homogeneous; `raw` are the map's
own parameters and all coordinates. `>` is a limit that was reached; `-` was not run.""",
        "\n".join(rows),
        """`ratio`: CPU seconds of the fastest other program on the reduced input over those for the equations;
`ideal`: over those for the whole ideal.""",
    ]
    if mean is not None:
        sentence = (
            f"Geometric mean of the ratio over the {outcome['counted']} instances where the fastest other program "
            f"needs more than 1 s: {_two(mean)} (limits that were reached count as times)"
        )
        if outcome["geometric_mean_finished"] is not None:
            finished = _two(outcome["geometric_mean_finished"])
            sentence += f"; over the {outcome['counted_finished']} that some other program finished: {finished}"
        lines.append(sentence + ".")
    compared = sum(cell.get("equal") is True for r in records for cell in r["peers"].values())
    lines.append(
        f"{compared} answers of other programs were compared modulo 32003 (ideals, degrees of minimal generators, "
        "dimension): " + ("all agree." if not outcome["disagreements"] else "; ".join(outcome["disagreements"]) + ".")
    )
    if plotted:
        lines.append("![CPU seconds for equations of closures](benchmarks-closures.png)")
    return "\n\n".join(lines)


def _strata(records: Sequence[Record]) -> str:
    rows = [
        "| (d, d', a, t) | coordinates | equations | singular dim | m2bridge | singularLocus | FastMinors | ratio |",
        "|---" * 8 + "|",
    ]
    for record in records:
        cells = record["peers"]
        others = [cell for key, cell in cells.items() if key != "product" and "seconds" in cell]
        best = min(others, key=lambda cell: (cell["status"] != "ok", cell["seconds"]), default=None)
        sign = "" if best and best["status"] == "ok" else ">"
        ratio = f"{sign}{_two(best['seconds'] / cells['product']['seconds'])}" if best else ""
        shown = " | ".join(_cell(cells.get(key)) for key in ("product", "singular_locus", "fast_minors"))
        rows.append(
            f"| {record['name']} | {record['n_variables']} | {record['n_equations']} | {record['dim']} | {shown} "
            f"| {ratio} |"
        )
    return "\n\n".join(
        [
            "## Singular strata of lightning layers",
            """`m2bridge`: one point of each orbit, equations included, proved. Macaulay2 gets the equations, in
independent coordinates modulo a prime: `dim singularLocus`, and random minors by FastMinors until the known dimension
is reached.""",
            "\n".join(rows),
        ]
    )


def _networks(records: Sequence[Record]) -> str:
    titles = {
        "product": "m2bridge",
        "report": "whole report",
        "torch": "loop, torch",
        "numpy": "loop, numpy",
        "m2": "M2",
        "sympy": "sympy",
    }
    rows = [
        "| network (l, d, a, t) | parameters | dimension | " + " | ".join(titles.values()) + " |",
        "|---" * (len(titles) + 3) + "|",
    ]
    for record in records:
        cells = record["peers"]
        exact = cells["product"].get("rank")
        shown = []
        for key in titles:
            cell = cells.get(key)
            text = _cell(cell)
            if cell and cell["status"] == "ok" and cell["rank"] != exact:
                text += f" (**{cell['rank']}**)" if cell["rank"] >= 0 else " (**overflow**)"
            shown.append(text)
        rows.append(f"| {record['name']} | {record['n_parameters']} | {exact} | " + " | ".join(shown) + " |")
    return "\n\n".join(
        [
            "## Dimensions of deep networks",
            """`m2bridge`: proved from both sides (rank modulo a prime, symmetries). `whole report`: with the virtual
weights and the float64 estimate. `loop`: one backward pass for each of twice as many outputs as parameters in float64,
then `numpy.linalg.matrix_rank`; bold where its rank is wrong. M2 and sympy expand the outputs.""",
            "\n".join(rows),
        ]
    )


def _ranks(records: Sequence[Record]) -> str:
    rows = ["| n | m2bridge | python-flint | conversion to it | ratio |", "|---|---|---|---|---|"]
    for record in records:
        cell = record["peers"]["kernels"]
        if cell["status"] != "ok":
            rows.append(f"| {record['name']} | {cell['status']} | | | |")
            continue
        times = cell["times"]
        ratio = (times["flint"] + times["conversion"]) / times["m2bridge"]
        rows.append(
            f"| {record['name']} | {_two(times['m2bridge'])} | {_two(times['flint'])} | {_two(times['conversion'])} "
            f"| {_two(ratio)} |"
        )
    return "\n\n".join(["## Ranks of n x n matrices modulo a 22-bit prime", "\n".join(rows)])


def _cell(cell: Record | None) -> str:
    if cell is None:
        return "-"
    status = cell["status"]
    if status == "ok":
        return _two(cell["seconds"])
    return f">{cell['seconds']:.0f}" if status == "time" else ("-" if status == "not run" else str(status))


def _two(value: float) -> str:
    """Return a number with two significant digits, or all before the point."""
    if value >= 10:
        return f"{value:.0f}"
    return f"{value:.2g}" if value >= 0.0095 else f"{value:.3f}"


# --- plots -----------------------------------------------------------------------------------------------


def _plot(closures: Sequence[Record]) -> bool:
    """Make the plot, and say whether there is one."""
    if not closures:
        return False
    try:
        import matplotlib
    except ImportError:
        print("no plot: matplotlib is not installed (dependency group 'benchmark')")
        return False
    matplotlib.use("Agg")
    _plot_closures(closures)
    return True


def _plot_closures(records: Sequence[Record]) -> None:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 0.34 * len(records) + 1.4))
    styles = {
        "singular": ("tab:orange", "o"),
        "m2": ("tab:red", "s"),
        "m2p": ("tab:pink", "s"),
        "msolve": ("tab:purple", "^"),
        "msolvep": ("plum", "^"),
        "singularraw": ("tab:brown", "x"),
        "m2raw": ("tab:gray", "x"),
    }
    heights = range(len(records))
    for key, (colour, marker) in styles.items():
        for finished in (True, False):
            points = [
                (max(r["peers"][key]["seconds"], FLOOR), y)
                for y, r in enumerate(records)
                if key in r["peers"] and r["peers"][key]["status"] == ("ok" if finished else "time")
            ]
            if points:
                xs, ys = zip(*points, strict=True)
                # A limit that was reached is an arrow: it would take longer.
                label = TITLES[key] if finished else None
                axes.plot(
                    xs, ys, linestyle="", color=colour, marker=marker if finished else ">", label=label, alpha=0.8
                )
    axes.plot(
        [max(r["equations"]["seconds"], FLOOR) for r in records],
        list(heights),
        linestyle="",
        color="tab:blue",
        marker="D",
        label="m2bridge, equations",
    )
    complete = [(r["ideal"]["seconds"], y) for y, r in enumerate(records) if r["complete"]]
    if complete:
        xs, ys = zip(*complete, strict=True)
        axes.plot(xs, ys, linestyle="", color="tab:blue", marker="D", fillstyle="none", label="m2bridge, whole ideal")
    axes.set_xscale("log")
    axes.set_xlabel("CPU seconds (arrow: limit reached)")
    axes.set_yticks(list(heights), [r["name"] for r in records])
    axes.grid(visible=True, axis="x", alpha=0.3)
    axes.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
    figure.tight_layout()
    figure.savefig(PAGE.parent / "benchmarks-closures.png", dpi=120)
    pyplot.close(figure)


if __name__ == "__main__":
    write()
