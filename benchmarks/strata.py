"""Singular strata of lightning layers: this package by orbits, against minors of the Jacobian in Macaulay2.

Run as ``python -m benchmarks.strata [--quick] [--json] [--layers SIZES] [--limit SECONDS]``. The package starts from
the sizes of the layer: finding the equations is included. Macaulay2 gets the equations for nothing, in the linearly
independent coordinates and modulo a prime, which is its easiest form of the question: ``dim singularLocus``, and random
minors by its package FastMinors until the dimension of the singular locus is reached.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.measure import best_of, run
from m2bridge.networks import LightningAttention
from m2bridge.operations.closure_ideal import ClosureIdeal
from m2bridge.polynomials import format_terms
from m2bridge.strata import decide_strata, strata_dimension

ROOT = Path(__file__).resolve().parents[1]
PRIME = 32003

LAYERS = ((2, 1, 1, 2), (2, 1, 2, 2), (2, 2, 1, 2), (2, 2, 2, 2), (3, 1, 1, 2))
QUICK = LAYERS[:2]


def work(sizes: tuple[int, ...], folder: Path) -> None:
    """Find the strata of a layer, and write what was found, what it took, and the equations."""
    start_up = time.process_time()
    layer = LightningAttention(*sizes)
    map_ = layer.parametrization()
    strata, found = decide_strata(layer)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = time.process_time() - start_up + children.ru_utime + children.ru_stime
    ideal = ClosureIdeal(map_)
    names = [f"y{i}" for i in range(map_.n_coordinates)]
    equations = (ideal.restrict(f) for f in found.generators)
    document = {
        "cpu": cpu,
        "dim": strata_dimension(strata),
        "proved": all(stratum.evidence.value == "proved" for stratum in strata),
        "variables": [names[i] for i in ideal.reduction.kept],
        "equations": [format_terms(f, names) for f in equations if f],
    }
    (folder / "result.json").write_text(json.dumps(document))


def singular_locus_script(found: dict[str, Any]) -> str:
    """Return Macaulay2's ``singularLocus`` of the equations."""
    return f"""
        R = ZZ/{PRIME}[{",".join(found["variables"])}];
        I = ideal({",".join(found["equations"])});
        print dim singularLocus I;
        """


def fast_minors_script(found: dict[str, Any]) -> str:
    """Return random minors by FastMinors, until the dimension of the singular locus is at most the known one."""
    return f"""
        needsPackage "FastMinors";
        R = ZZ/{PRIME}[{",".join(found["variables"])}];
        I = ideal({",".join(found["equations"])});
        c = codim I;
        J = jacobian I;
        n = 0;
        S = I;
        while dim S > {found["dim"]} do (n = n + 20; S = S + chooseGoodMinors(20, c, J, I));
        print dim S;
        """


def measure(sizes: tuple[int, ...], folder: Path, limit: float, say: Callable[[str], None]) -> dict[str, Any]:
    """Run everything on a layer."""
    numbers = iter(range(1000))

    def fresh() -> Path:
        place = folder / f"{'-'.join(map(str, sizes))}-{next(numbers)}"
        place.mkdir()
        return place

    def product() -> dict[str, Any]:
        place = fresh()
        command = [sys.executable, "-m", "benchmarks.strata", "--work", ",".join(map(str, sizes)), str(place)]
        one = run(command, place, cpu_limit=limit, environment={"PYTHONPATH": str(ROOT)})
        if one.status != "ok":
            raise RuntimeError(one.errors)
        document: dict[str, Any] = json.loads((place / "result.json").read_text())
        return document

    found = min((product() for _ in range(3)), key=lambda document: float(document["cpu"]))
    say(f"lightning layer {sizes}: dimension {found['dim']}, proved: {found['proved']}, {found['cpu']:.3f} s")
    cells: dict[str, Any] = {"product": {"status": "ok", "seconds": found["cpu"]}}
    m2 = os.environ.get("M2BRIDGE_M2") or shutil.which("M2")
    for key, script in (("singular_locus", singular_locus_script), ("fast_minors", fast_minors_script)):
        if m2 is None:
            cells[key] = {"status": "missing"}
            continue
        idle_place = fresh()
        (idle_place / "input").write_text('needsPackage "FastMinors";' if key == "fast_minors" else "")
        idle = run([m2, "--script", "input"], idle_place, cpu_limit=60).cpu_seconds
        place = fresh()
        (place / "input").write_text(script(found))
        one = best_of([run([m2, "--script", "input"], place, cpu_limit=limit + idle)])
        seconds = max(one.cpu_seconds - idle, report.FLOOR)
        cells[key] = {"status": one.status, "seconds": seconds}
        if one.status == "ok":
            cells[key]["dim"] = int(one.output)
            cells[key]["agrees"] = int(one.output) == found["dim"]
        ratio = f"{'' if one.status == 'ok' else '>'}{seconds / found['cpu']:.3g}"
        say(f"  {key}: {one.status} {seconds:.3f} s {cells[key].get('dim', '')}, ratio {ratio}")
    return {
        "name": ",".join(map(str, sizes)),
        "dim": found["dim"],
        "proved": found["proved"],
        "n_variables": len(found["variables"]),
        "n_equations": len(found["equations"]),
        "peers": cells,
    }


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Singular strata, by this package and by Macaulay2.")
    parser.add_argument("--quick", action="store_true", help="the smallest layers, 20 s for each program")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    parser.add_argument("--layers", help="only these: sizes with commas, layers with semicolons: 2,1,1,2;2,2,2,2")
    parser.add_argument("--limit", type=float, help="CPU seconds for each program (300)")
    parser.add_argument("--no-docs", action="store_true", help="do not write the table")
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        sizes, folder = options.work
        work(tuple(map(int, sizes.split(","))), Path(folder))
        return 0
    layers: tuple[tuple[int, ...], ...] = QUICK if options.quick else LAYERS
    if options.layers:
        layers = tuple(tuple(map(int, sizes.split(","))) for sizes in options.layers.split(";"))
    limit = options.limit or (20.0 if options.quick else 300.0)

    def say(text: str) -> None:
        print(text, file=sys.stderr if options.json else sys.stdout, flush=True)

    with tempfile.TemporaryDirectory(prefix="m2bridge-benchmark-") as folder:
        records = [measure(sizes, Path(folder), limit, say) for sizes in layers]
    if not options.quick and not options.no_docs:
        report.save("strata", records)
        report.write()
    if options.json:
        print(json.dumps(records, indent=1))
    return 0 if all(cell.get("agrees", True) for record in records for cell in record["peers"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
