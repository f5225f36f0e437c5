"""What the engines cost, and what bringing a large polynomial into Python costs, against the plain ways.

All figures come from one run on one machine, so their ratios mean more than they do themselves. CPU time counts
this process and all processes it started (the fork server and its children, too); wall time is what a clock
shows, and depends on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import sympy
from rich.console import Console
from rich.table import Table

from m2bridge.document import Terms, decode_result, read_polynomials
from m2bridge.engines import Engine, ScriptEngine, WarmEngine
from m2bridge.ideal import Ideal
from m2bridge.job import Job, JobFolder, Limits, Outcome
from m2bridge.macaulay2 import Macaulay2, find_macaulay2
from m2bridge.operations import ComputeGroebnerBasis
from m2bridge.polynomials import make_ring
from m2bridge.render import script_key

ROUNDS = 5
"""The ways take turns so often, so that what else the machine does meets all of them."""

PLAIN_SECONDS = 90.0
"""Ways with a process for each job stop after that: seconds a job do not depend on how many there are."""

N_VARIABLES = 4


@dataclass
class Spent:
    """Seconds, and what they were spent on."""

    jobs: int = 0
    wall: float = 0.0
    cpu: float = 0.0
    _start: tuple[float, float] = field(default=(0.0, 0.0), repr=False)

    def __enter__(self) -> Spent:
        self._start = time.monotonic(), cpu_seconds()
        return self

    def __exit__(self, *error: object) -> None:
        self.wall += time.monotonic() - self._start[0]
        self.cpu += cpu_seconds() - self._start[1]

    def per_job(self) -> dict[str, float]:
        """Return the figures for one job."""
        return {"jobs": self.jobs, "wall_seconds": self.wall / self.jobs, "cpu_seconds": self.cpu / self.jobs}


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of all children that have ended, with theirs."""
    both = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


# --- many small jobs -------------------------------------------------------------------------------------


def small_job(i: int) -> Job:
    """Return the i-th small job: a Gröbner basis that differs from those of all others."""
    generators = [f"x^2 + {i + 1}*y*z - 1", f"x*y - {2 * i + 3}*z^2 + x", f"y^3 - {i + 2}*x*z"]
    operation = ComputeGroebnerBasis(Ideal.from_strings(["x", "y", "z"], generators))
    return Job(operation.name, operation.script(), Limits())


def run_on(engine: Engine, job: Job, path: Path) -> None:
    """Run a job on an engine."""
    engine.run(job, JobFolder(path)).unwrap()


def run_plain(macaulay2: Macaulay2, job: Job, path: Path) -> None:
    """Run a job as one would without this package: write the script, start Macaulay2, wait."""
    path.mkdir()
    (path / "script.m2").write_text(job.script)
    command = [macaulay2.executable, "--script", str(path / "script.m2"), str(path / "result.json")]
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)


def measure_start(macaulay2: Macaulay2, folder: Path, times: int) -> dict[str, dict[str, float]]:
    """Return what a start costs: of Macaulay2 for an empty script, of each engine up to the end of its first job."""
    empty = folder / "empty.m2"
    empty.write_text("")
    plain, script, warm = Spent(), Spent(), Spent()
    for i in range(times):
        with plain:
            subprocess.run([macaulay2.executable, "--script", str(empty)], check=True, stdin=subprocess.DEVNULL)
        for spent, kind in ((script, ScriptEngine), (warm, WarmEngine)):
            with spent, kind(macaulay2) as engine:
                run_on(engine, small_job(0), folder / f"start-{engine.name}-{i}")
    plain.jobs = script.jobs = warm.jobs = times
    return {"empty script": plain.per_job(), "script": script.per_job(), "warm": warm.per_job()}


def measure_jobs(macaulay2: Macaulay2, folder: Path, n: int) -> dict[str, Any]:
    """Run n small jobs in each way, and return what one costs; the warm engine's start and end are counted."""
    jobs = [small_job(i) for i in range(n)]
    plain, script, warm = Spent(), Spent(), Spent()
    first = Spent(jobs=1)
    with script:
        script_engine = ScriptEngine(macaulay2)
    with warm:
        warm_engine = WarmEngine(macaulay2)

    def run_all(spent: Spent, name: str, run: Callable[[Job, Path], None], part: Sequence[int], limit: float) -> None:
        end = time.monotonic() + limit
        with spent:
            for i in part:
                if spent.jobs and time.monotonic() > end:
                    break
                run(jobs[i], folder / f"{name}-{i}")
                spent.jobs += 1

    for turn in range(ROUNDS):
        part = range(turn, n, ROUNDS)
        limit = PLAIN_SECONDS / ROUNDS
        run_all(plain, "plain", lambda job, path: run_plain(macaulay2, job, path), part, limit)
        run_all(script, "script", lambda job, path: run_on(script_engine, job, path), part, limit)
        if turn == 0:
            with first:
                run_on(warm_engine, jobs[0], folder / "warm-0")
            part = part[1:]
        run_all(warm, "warm", lambda job, path: run_on(warm_engine, job, path), part, float("inf"))
    after_start = warm.per_job()
    with script:
        script_engine.close()
    with warm:  # the processes of the server are counted when it ends
        warm_engine.close()
    in_all = Spent(warm.jobs + 1, warm.wall + first.wall, warm.cpu + first.cpu).per_job()
    return {
        "plain subprocess": plain.per_job(),
        "script engine": script.per_job(),
        "warm engine": in_all,
        "warm engine, after its start": {"jobs": after_start["jobs"], "wall_seconds": after_start["wall_seconds"]},
    }


# --- one large polynomial --------------------------------------------------------------------------------


def compose(body: str) -> Job:
    """Return a job that runs a few lines of Macaulay2, written as the templates of the package are."""
    encode = (files("m2scripts") / "encode.m2").read_text()
    lines = ['m2bKey = "";', 'm2bOperation = "benchmark";', "m2bSeed = 0;", "setRandomSeed m2bSeed;", encode]
    script = "\n".join([*lines, f"m2bCompute = () -> (\n{body});", "m2bWrite m2bCompute;\n"])
    script = script.replace('m2bKey = "";', f'm2bKey = "{script_key(script)}";', 1)
    return Job("benchmark", script, Limits())


def polynomial_source(n_terms: int) -> str:
    """Return Macaulay2 source that makes f, a polynomial over QQ with so many terms in 4 variables."""
    # A sum of n terms one after the other takes n^2 steps, so it is made by halves.
    return f"""
    R := QQ[y_0..y_{N_VARIABLES - 1}];
    coefficient1 := i -> (1 + (i * 7919) % 1000003) / (1 + (i * 104729) % 999983);
    monomial1 := i -> y_0^(i % 30) * y_1^((i // 30) % 30) * y_2^(i // 900) * y_3^((7 * i) % 11);
    addUp := (a, b) -> if b - a == 1 then coefficient1 a * monomial1 a
        else (c := (a + b) // 2; addUp(a, c) + addUp(c, b));
    f := addUp(0, {n_terms});
    """


class _Sent(msgspec.Struct):
    polynomial: Terms
    build: int
    encode: int


class _Printed(msgspec.Struct):
    build: int
    print: int


def run_body(macaulay2: Macaulay2, body: str, path: Path) -> Outcome:
    """Run a few lines of Macaulay2 in a process of its own."""
    with ScriptEngine(macaulay2) as engine:
        return engine.run(compose(body), JobFolder(path))


def measure_transfer(macaulay2: Macaulay2, folder: Path, n_terms: int) -> dict[str, Any]:
    """Bring one polynomial from Macaulay2 to sympy's `PolyElement`, in this package's way and in three others."""
    source = polynomial_source(n_terms)
    sent_body = f"""{source}
    t0 := cpuTime();
    coded := m2bPolynomial f;
    t1 := cpuTime();
    hashTable {{"polynomial" => coded, "build" => round(1000000 * t0), "encode" => round(1000000 * (t1 - t0))}}
    """
    whole = Spent(jobs=1)
    with whole:
        outcome = run_body(macaulay2, sent_body, folder / "sent")
        document = outcome.unwrap()
        reading = Spent(jobs=1)
        with reading:
            path = JobFolder(folder / "sent").result
            sent = decode_result(document, _Sent, path)
            ring = make_ring([f"y{i}" for i in range(N_VARIABLES)], sympy.QQ)
            (polynomial,) = read_polynomials([sent.polynomial], ring, path)
    assert len(polynomial) == n_terms
    on_warm = measure_on_warm(macaulay2, sent_body, folder)
    printed_body = f"""{source}
    t0 := cpuTime();
    text := toString f;
    t1 := cpuTime();
    scriptCommandLine#1 | ".txt" << text << close;
    hashTable {{"build" => round(1000000 * t0), "print" => round(1000000 * (t1 - t0))}}
    """
    printed_outcome = run_body(macaulay2, printed_body, folder / "printed")
    printed = decode_result(printed_outcome.unwrap(), _Printed, folder)
    text = (folder / "printed" / "result.json.txt").read_text()
    to_string = printed.print / 1e6
    slice_terms, slice_seconds = measure_sympify(text, n_terms)
    sympify_seconds = slice_seconds * n_terms / slice_terms  # at least: it grows faster than the number of terms
    encode = sent.encode / 1e6
    return {
        "terms": n_terms,
        "m2_to_polyelement": {
            "cpu_seconds_in_all": whole.cpu,
            "wall_seconds_in_all": whole.wall,
            "cpu_seconds_in_all_on_a_running_warm_engine": on_warm,
            "start_and_build_cpu_seconds": sent.build / 1e6,
            "encode_cpu_seconds": encode,
            "read_cpu_seconds": reading.cpu,
            "document_bytes": path.stat().st_size,
        },
        "to_string_cpu_seconds": to_string,
        "sympify": {
            "measured_terms": slice_terms,
            "measured_cpu_seconds": slice_seconds,
            "extrapolated_cpu_seconds": sympify_seconds,
        },
        "questions": measure_questions(macaulay2, source, n_terms),
        "to_string_over_encode": to_string / encode,
        "to_string_over_encode_and_read": to_string / (encode + reading.cpu),
        "to_string_and_sympify_over_encode_and_read": (to_string + sympify_seconds) / (encode + reading.cpu),
    }


def measure_on_warm(macaulay2: Macaulay2, body: str, folder: Path) -> float:
    """Return the CPU seconds of a transfer in all, on a warm engine that has been started before."""
    job, used = compose(body), Spent()
    with WarmEngine(macaulay2) as engine:
        run_on(engine, small_job(0), folder / "start-of-warm")
        with used:  # this process alone: the server and its child have not ended
            outcome = engine.run(job, JobFolder(folder / "sent-warm"))
            path = JobFolder(folder / "sent-warm").result
            sent = decode_result(outcome.unwrap(), _Sent, path)
            ring = make_ring([f"y{i}" for i in range(N_VARIABLES)], sympy.QQ)
            read_polynomials([sent.polynomial], ring, path)
    return used.cpu + outcome.cpu_seconds


def measure_sympify(text: str, n_terms: int) -> tuple[int, float]:
    """Return the largest slice of a polynomial's text that `sympy.sympify` reads in a few seconds, and the seconds."""
    ends = [match.start() for match in re.finditer(r"(?<!\()[+-]", text)]
    terms, seconds = min(50, n_terms - 1), 0.0
    while True:
        expression = text[: ends[terms]].replace("y_", "y").replace("^", "**")
        before = cpu_seconds()
        sympy.sympify(expression)
        seconds = cpu_seconds() - before
        if seconds > 2 or 2 * terms >= len(ends):
            return terms, seconds
        terms *= 2


def measure_questions(macaulay2: Macaulay2, source: str, n_terms: int) -> dict[str, float]:
    """Ask a running Macaulay2 for one number after the other, for a slice of the terms.

    That is the least that an expression-by-expression bridge does: a question for each exponent, each numerator and
    each denominator, through a bare pipe. Sage's interface asks about eighty a term, through a pseudo-terminal.
    """
    asked = min(500, n_terms)
    command = [macaulay2.executable, "-q", "--stop", "--silent", "--no-prompts", "--no-readline"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        questions, answers = process.stdin, process.stdout

        def ask(question: str) -> int:
            questions.write(question + "\n")
            questions.flush()
            while not (line := answers.readline()).startswith("> "):  # what is not an answer is an echo
                assert line, "Macaulay2 ended"
            return int(line[2:])

        one_line = " ".join(source.split()).replace(":=", "=")
        ask(f'{one_line} terms1 = listForm f; stdio << "> " << #terms1 << endl << flush;')
        before, start = cpu_seconds() + process_cpu(process.pid), time.monotonic()
        found = {}
        for i in range(asked):
            exponents = tuple(
                ask(f'stdio << "> " << toString terms1#{i}#0#{k} << endl << flush;') for k in range(N_VARIABLES)
            )
            above, below = (
                ask(f'stdio << "> " << toString {part} terms1#{i}#1 << endl << flush;')
                for part in ("numerator", "denominator")
            )
            found[exponents] = Fraction(above, below)
        wall = time.monotonic() - start
        cpu = cpu_seconds() + process_cpu(process.pid) - before
        questions.close()
    assert len(found) == asked
    return {
        "questions_a_term": N_VARIABLES + 2,
        "measured_terms": asked,
        "measured_wall_seconds": wall,
        "measured_cpu_seconds": cpu,
        "extrapolated_wall_seconds": wall * n_terms / asked,
        "extrapolated_cpu_seconds": cpu * n_terms / asked,
    }


def process_cpu(pid: int) -> float:
    """Return the CPU seconds of a running process, 0 where the system does not tell."""
    try:
        numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    except OSError:
        return 0.0
    return sum(map(int, numbers)) / os.sysconf("SC_CLK_TCK")


# --- memory ----------------------------------------------------------------------------------------------

_MEMORY_BODY = """
    rollup := pid -> (
        file := concatenate("/proc/", toString pid, "/smaps_rollup");
        if fileExists file then get file else "");
    number := (name, text) -> (
        found := select(concatenate(name, ":[^0-9]*([0-9]+)"), "\\\\1", text);
        if #found == 0 then null else value found#0);
    status := if fileExists "/proc/self/status" then get "/proc/self/status" else "";
    parent := number("PPid", status);
    own := rollup "self";
    above := if parent === null then "" else rollup parent;
    {number("Rss", own), number("Pss", own), number("Rss", above), number("Pss", above)}
"""


def measure_memory(macaulay2: Macaulay2, folder: Path) -> dict[str, Any] | None:
    """Return the memory of one worker of each engine in megabytes; None where the system does not tell.

    Pages that processes share are shared out among them in the proportional set size (PSS), so that those of a
    fork server and of its child add up to what the two take together.
    """
    found: dict[str, list[int | None]] = {}
    for kind in (ScriptEngine, WarmEngine):
        with kind(macaulay2) as engine:
            path = folder / f"memory-{engine.name}"
            document = engine.run(compose(_MEMORY_BODY), JobFolder(path)).unwrap()
            found[engine.name] = decode_memory(document.result)
    script, warm = found["script"], found["warm"]
    if script[1] is None or warm[1] is None or warm[3] is None:
        return None
    return {
        "script_process_rss_megabytes": (script[0] or 0) / 1024,
        "script_process_pss_megabytes": script[1] / 1024,
        "warm_child_rss_megabytes": (warm[0] or 0) / 1024,
        "warm_child_pss_megabytes": warm[1] / 1024,
        "warm_server_rss_megabytes": (warm[2] or 0) / 1024,
        "warm_server_pss_megabytes": warm[3] / 1024,
        "warm_worker_pss_megabytes": (warm[1] + warm[3]) / 1024,
    }


def decode_memory(result: msgspec.Raw) -> list[int | None]:
    """Return the four numbers of the job on memory."""
    return msgspec.json.decode(result, type=list[int | None])


# --- the report ------------------------------------------------------------------------------------------


def machine() -> str:
    """Return a line on this machine."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        found = re.search(r"^model name\s*: (.*)$", cpuinfo.read_text(), re.MULTILINE)
        name = found[1] if found else name
    return f"{name}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def measure(macaulay2: Macaulay2, jobs: int, terms: int, starts: int) -> dict[str, Any]:
    """Return all figures."""
    with tempfile.TemporaryDirectory(prefix="m2bridge-benchmark-") as name:
        folder = Path(name)
        report: dict[str, Any] = {
            "macaulay2": macaulay2.version_text,
            "machine": machine(),
            "start": measure_start(macaulay2, folder, starts),
            "jobs": measure_jobs(macaulay2, folder, jobs),
            "transfer": measure_transfer(macaulay2, folder, terms),
            "memory": measure_memory(macaulay2, folder),
        }
    each = report["jobs"]
    plain, script, warm = each["plain subprocess"], each["script engine"], each["warm engine"]
    after_start = each["warm engine, after its start"]
    ratios = {
        "warm_over_script_jobs_per_second": script["wall_seconds"] / warm["wall_seconds"],
        "warm_over_script_jobs_per_second_after_start": script["wall_seconds"] / after_start["wall_seconds"],
        "warm_over_script_jobs_per_cpu_second": script["cpu_seconds"] / warm["cpu_seconds"],
        "warm_over_plain_jobs_per_second": plain["wall_seconds"] / warm["wall_seconds"],
        "script_over_plain_jobs_per_second": plain["wall_seconds"] / script["wall_seconds"],
        "script_over_plain_jobs_per_cpu_second": plain["cpu_seconds"] / script["cpu_seconds"],
    }
    return ratios | report


def print_report(report: dict[str, Any]) -> None:
    """Print the figures as tables."""
    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    console.print(f"Macaulay2 {report['macaulay2']}; {report['machine']}")

    def show(title: str, rows: Sequence[tuple[str, ...]], *columns: str) -> None:
        table = Table(title=title, title_justify="left")
        for i, column in enumerate(columns):
            table.add_column(column, justify="right" if i else "left")
        for row in rows:
            table.add_row(*row)
        console.print(table)

    start = [(name, f"{t['wall_seconds']:.2f}", f"{t['cpu_seconds']:.2f}") for name, t in report["start"].items()]
    show("Start to end, with one job", start, "", "wall s", "CPU s")
    rows = [
        (
            name,
            str(t["jobs"]),
            f"{1000 * t['wall_seconds']:.1f}",
            f"{1000 * t['cpu_seconds']:.1f}" if "cpu_seconds" in t else "",
            f"{1 / t['wall_seconds']:.2f}",
        )
        for name, t in report["jobs"].items()
    ]
    show("Small Gröbner bases", rows, "", "jobs", "wall ms each", "CPU ms each", "jobs a second")
    ratios = [(name.replace("_", " "), f"{value:.1f}") for name, value in report.items() if "_over_" in name]
    show("Ratios", ratios, "", "times")
    t = report["transfer"]
    ours = t["m2_to_polyelement"]
    asked, sympify = t["questions"], t["sympify"]
    show(
        f"A polynomial of {t['terms']} terms, from Macaulay2 to Python",
        [
            (
                "m2bridge to PolyElement, in all, on a running warm engine",
                f"{ours['cpu_seconds_in_all_on_a_running_warm_engine']:.2f}",
            ),
            ("m2bridge to PolyElement, in all, by a process", f"{ours['cpu_seconds_in_all']:.2f}"),
            (
                "  of which the start of Macaulay2, and making the polynomial",
                f"{ours['start_and_build_cpu_seconds']:.2f}",
            ),
            ("  of which encoding it in Macaulay2", f"{ours['encode_cpu_seconds']:.3f}"),
            ("  of which reading it in Python", f"{ours['read_cpu_seconds']:.3f}"),
            ("Macaulay2's toString alone", f"{t['to_string_cpu_seconds']:.2f}"),
            (
                f"sympy.sympify of that (from {sympify['measured_terms']} terms)",
                f"{sympify['extrapolated_cpu_seconds']:.1f}",
            ),
            (
                f"{asked['questions_a_term']} questions a term (from {asked['measured_terms']} terms)",
                f"{asked['extrapolated_cpu_seconds']:.1f}",
            ),
            ("ratio: toString to encoding", f"{t['to_string_over_encode']:.1f}x"),
            ("ratio: toString to encoding and reading", f"{t['to_string_over_encode_and_read']:.1f}x"),
        ],
        "",
        "CPU s",
    )
    if report["memory"] is not None:
        memory = [
            (name.removesuffix("_megabytes").replace("_", " "), f"{m:.0f}") for name, m in report["memory"].items()
        ]
        show("Memory during a tiny job", memory, "", "MB")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--jobs", type=int, default=200, help="number of small jobs (default: 200)")
    parser.add_argument("--terms", type=int, default=20_000, help="terms of the polynomial (default: 20000)")
    parser.add_argument("--quick", action="store_true", help="a look in a minute: 20 jobs, 2000 terms")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--m2", help="Macaulay2's executable")
    options = parser.parse_args()
    if options.jobs < ROUNDS or options.terms < 200:
        parser.error(f"at least {ROUNDS} jobs and 200 terms are needed")
    jobs, terms = (20, 2000) if options.quick else (options.jobs, options.terms)
    report = measure(find_macaulay2(options.m2), jobs, terms, starts=1 if options.quick else 3)
    if options.json:
        print(json.dumps(report, indent=2, ensure_ascii=False))
    else:
        print_report(report)


if __name__ == "__main__":
    main()
