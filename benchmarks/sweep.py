"""Sweeps: jobs a second at home and on a cluster, the overhead of each, and the questions to a store of 100,000 jobs.

    python benchmarks/sweep.py [--quick] [--json FILE] [--slurm]

``--slurm`` uses the cluster whose sbatch is on PATH.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from m2bridge.sweep import Record, Store, Sweep, read_sweep
from m2bridge.sweep.store import Writer


def main() -> None:
    """Run all measurements and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the jobs")
    parser.add_argument("--slurm", action="store_true", help="also on the cluster")
    parser.add_argument("--json", type=Path, help="write the figures into a file")
    chosen = parser.parse_args()
    trivial, planned = (200, 10_000) if chosen.quick else (2000, 100_000)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for kind in ("local", "slurm") if chosen.slurm else ("local",):
            figures[kind] = _trivial(place, kind, trivial)
            _say(f"{kind}: {trivial} Groebner bases", figures[kind])
        figures["store"] = _questions(place, planned)
        for name, figure in figures["store"].items():
            _say(f"{planned} jobs: {name}", figure)
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=1) + "\n")


def _say(what: str, figures: dict[str, float]) -> None:
    said = ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in figures.items())
    sys.stdout.write(f"{what}: {said}\n")


def _trivial(place: Path, kind: str, count: int) -> dict[str, float]:
    ideals = place / f"ideals-{kind}"
    ideals.mkdir()
    for number in range(count):
        ideal = {"field": "QQ", "variables": ["x", "y"], "generators": [f"x^2-{number}*y", "y^2-x"]}
        (ideals / f"{number:05}.json").write_text(json.dumps(ideal))
    sweep = place / f"{kind}.toml"
    sweep.write_text(f'question = "groebner"\nideals = ["ideals-{kind}/*.json"]\n[executor]\nworkers = 12\npoll = 5\n')
    if kind == "local":
        sweep.write_text(sweep.read_text().replace("workers = 12", "workers = 0"))
    store = place / f"store-{kind}"
    begun = time.monotonic()
    command = [sys.executable, "-m", "m2bridge", "sweep", "run", str(sweep), "--store", str(store), "--executor", kind]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    wall = time.monotonic() - begun
    ends = [r for r in Store(store).all_records() if r.kind == "end"]
    assert len(ends) == count
    overhead = [record.overhead_seconds for record in ends]
    return {
        "wall_seconds": wall,
        "jobs_a_second": count / wall,
        "overhead_ms_mean": 1000 * statistics.fmean(overhead),
        "overhead_ms_median": 1000 * statistics.median(overhead),
    }


def _questions(place: Path, count: int) -> dict[str, dict[str, float]]:
    path = place / "planned.toml"
    path.write_text(
        'question = "dimension"\n[model]\nfamily = "lightning"\nd = "1..100"\nd_out = "1..10"\na = "1..10"\n'
        f't = "1..{count // 10_000}"\n'
    )
    source = read_sweep(path)
    sweep = Sweep(
        Store(place / "planned"), "planned", source.expand(""), source.content.limits, source.content.executor
    )
    sweep.save()
    generator = random.Random(0)
    result = {f"column{i}": i for i in range(12)} | {"exact": 12, "formula": 12}
    document = msgspec.Raw(msgspec.json.encode({"result": result, "evidence": "proved", "provenance": {}}))
    for start in range(0, count, 500):
        with Writer(sweep.store) as writer:
            for job in sweep.jobs[start : start + 500]:
                limits: dict[str, Any] = {"time_seconds": 600.0, "memory_megabytes": 4000}
                writer.write(Record("start", job.key, time.time(), **limits))
                wall = generator.random()
                end = Record("end", job.key, time.time(), "done", wall_seconds=wall, document=document, **limits)
                writer.write(end)
    figures = {}
    questions = {
        "plan": ["plan", str(path)],
        "status": ["status"],
        "table as CSV": ["table", "--format", "csv"],
        "table": ["table"],
        "report": ["report", "--output", str(place / "report.html")],
    }
    for name, words in questions.items():
        command = [sys.executable, "-m", "m2bridge", "sweep", *words, "--store", str(place / "planned")]
        cpu = resource.getrusage(resource.RUSAGE_CHILDREN)
        begun = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - cpu.ru_utime - cpu.ru_stime
        figures[name] = {"wall_seconds": wall, "cpu_seconds": used}
    figures["files"] = {"count": sum(1 for _ in (place / "planned").rglob("*"))}
    return figures


if __name__ == "__main__":
    main()
