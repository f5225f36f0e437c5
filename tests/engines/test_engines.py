"""Both engines give the same answers, bit for bit, in any order, and hold their folders against each other."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sympy import QQ, ring

from m2bridge.document import Terms, read_polynomials
from m2bridge.engines import Engine, ScriptEngine, WarmEngine
from m2bridge.ideal import Ideal
from m2bridge.job import Job, JobFolder, Outcome, Status
from m2bridge.macaulay2 import Macaulay2
from m2bridge.operations import ComputeGroebnerBasis, compute
from m2bridge.parametrization import Parametrization

pytestmark = pytest.mark.macaulay2

Run = Callable[..., Outcome]
MakeJob = Callable[..., Job]


class Recorder:
    """Passes jobs on to an engine and keeps the results as they came."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.name = engine.name
        self.macaulay2 = engine.macaulay2
        self.results: list[bytes] = []

    def run(self, job: Job, folder: JobFolder) -> Outcome:
        outcome = self.engine.run(job, folder)
        self.results.append(bytes(outcome.unwrap().result))
        return outcome

    def close(self) -> None:
        pass


def ask_everything(engine: Engine) -> None:
    cubic = Parametrization.from_strings(["s", "t"], ["s^3", "s^2*t", "s*t^2", "t^3"])
    cubic.closure(engine=engine)
    cubic.closure(engine=engine, betti=True)
    cubic.groebner(engine=engine, order="lex")
    cubic.tangent([1, 2], [0, 1], engine=engine)
    cubic.singular(engine=engine)
    cubic.fibre([1, 2], engine=engine)
    whitney = Parametrization.from_strings(["u", "v"], ["u*v", "v", "u^2"])
    whitney.singular(engine=engine)
    cusp = Parametrization.from_strings(["t"], ["t^2", "t^3"], field="GF(101)")
    cusp.closure(engine=engine)
    cusp.singular(engine=engine)
    ideal = Ideal.from_strings(["x", "y", "z"], ["x^2 - 1/3*y*z", "x*y - 7*z^2", "y^3 - x*z"])
    for change in (False, True):
        compute(ComputeGroebnerBasis(ideal, order="lex", change_of_basis=change), engine=engine)


def test_every_operation_gives_the_same_bytes_on_both_engines(macaulay2: Macaulay2) -> None:
    with ScriptEngine(macaulay2) as script, WarmEngine(macaulay2, jobs_before_restart=7) as warm:
        one, other = Recorder(script), Recorder(warm)
        ask_everything(one)
        ask_everything(other)
        first = list(other.results)
        ask_everything(other)
        assert len(first) == len(one.results) > 10
        assert first == one.results
        assert other.results == 2 * one.results


def test_random_numbers_depend_on_the_seed_alone(macaulay2: Macaulay2, make_job: MakeJob, tmp_path: Path) -> None:
    body = "R := ZZ/32003[vars(0..3)]; toString(random(10^9), random(2, R), random(QQ))"
    drawn: dict[int, set[bytes]] = {0: set(), 5: set()}
    with ScriptEngine(macaulay2) as script, WarmEngine(macaulay2) as warm:
        for number, (engine, seed) in enumerate(
            [(script, 0), (warm, 0), (warm, 5), (warm, 0), (warm, 5), (script, 5), (warm, 5)]
        ):
            outcome = engine.run(make_job(body, seed=seed), JobFolder(tmp_path / str(number)))
            drawn[seed].add(bytes(outcome.unwrap().result))
    assert [len(values) for values in drawn.values()] == [1, 1]
    assert drawn[0] != drawn[5]


def test_definitions_do_not_leak_into_the_next_job(run: Run, tmp_path: Path) -> None:
    spoil = """
        leaked = 5; x = 7; R = QQ[y,z]; use R;
        String#"leaked" = 5;
        printWidth = 10; gbTrace = 1; path = {};
        stdio << "unfinished line";
        #path """
    ask = """
        {instance(leaked, Symbol), x === symbol x, String#?"leaked",
            gbTrace, #path > 0} """
    before = bytes(run(ask, folder=tmp_path / "before").unwrap().result)
    assert json.loads(before)[:3] == [True, True, False]
    run(spoil, folder=tmp_path / "spoil").unwrap()
    assert bytes(run(ask, folder=tmp_path / "after").unwrap().result) == before
    assert JobFolder(tmp_path / "after").stdout.read_bytes() == b""


def test_standard_input_is_empty(run: Run) -> None:
    assert bytes(run("read stdio").unwrap().result) == b'""'


def test_finished_folder_is_reused(run: Run) -> None:
    first = run("10^20")
    again = run("10^20")
    assert not first.reused
    assert again.reused
    assert again.document == first.document


@pytest.mark.parametrize("leftover", ["", '{"format": "m2bridge-docu', "{}", "other"])
def test_unfinished_or_foreign_folder_is_redone(run: Run, tmp_path: Path, leftover: str) -> None:
    run("1" if leftover != "other" else "2")
    folder = JobFolder(tmp_path / "job")
    if leftover != "other":
        folder.result.write_text(leftover)
    (folder.path / "result.json.1.part").write_text("half")
    outcome = run("1")
    assert not outcome.reused
    assert bytes(outcome.unwrap().result) == b"1"
    assert not folder.parts()


def test_result_without_a_record_is_reused_and_recorded(run: Run, tmp_path: Path) -> None:
    run("1")
    folder = JobFolder(tmp_path / "job")
    folder.outcome.unlink()
    assert run("1").reused
    assert json.loads(folder.outcome.read_text())["status"] == "finished"


def test_failed_folder_is_redone(run: Run) -> None:
    assert run("1/0").status is Status.REFUSED
    assert not run("1/0").reused


def test_same_folder_at_the_same_time_in_two_threads(macaulay2: Macaulay2, make_job: MakeJob, tmp_path: Path) -> None:
    job = make_job('run "sleep 1"; 6')
    outcomes: list[Outcome] = []

    def work(engine: Engine) -> None:
        outcomes.append(engine.run(job, JobFolder(tmp_path / "job")))

    with ScriptEngine(macaulay2) as script, WarmEngine(macaulay2) as warm:
        threads = [threading.Thread(target=work, args=(engine,)) for engine in (script, warm, ScriptEngine(macaulay2))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(outcome.reused for outcome in outcomes) == [False, True, True]
    assert {bytes(outcome.unwrap().result) for outcome in outcomes} == {b"6"}


def test_close_from_another_thread_interrupts_the_job(
    make_engine: Callable[[], Engine], make_job: MakeJob, tmp_path: Path
) -> None:
    own = make_engine()
    threading.Timer(1.0, own.close).start()
    start = time.monotonic()
    outcome = own.run(make_job("while true do 1; 1"), JobFolder(tmp_path / "job"))
    assert outcome.status is Status.INTERRUPTED
    assert time.monotonic() - start < 10
    assert own.run(make_job("1"), JobFolder(tmp_path / "other")).status is Status.INTERRUPTED


# --- the warm engine alone ---


def test_server_is_replaced_after_a_number_of_jobs(macaulay2: Macaulay2, make_job: MakeJob, tmp_path: Path) -> None:
    # The parent process of a job is its server.
    body = 'value first select("PPid:[^0-9]*([0-9]+)", "\\\\1", get "/proc/self/status")'
    with WarmEngine(macaulay2, jobs_before_restart=2) as engine:
        parents = [bytes(engine.run(make_job(body), JobFolder(tmp_path / str(i))).unwrap().result) for i in range(5)]
    assert parents[0] == parents[1] != parents[2] == parents[3] != parents[4]


def test_server_that_dies_costs_one_job(macaulay2: Macaulay2, make_job: MakeJob, tmp_path: Path) -> None:
    kill_parent = 'pid := first select("PPid:[^0-9]*([0-9]+)", "\\\\1", get "/proc/self/status"); '
    kill_parent += 'run concatenate("kill -KILL ", pid); run "sleep 60"; 1'
    with WarmEngine(macaulay2) as engine:
        outcome = engine.run(make_job(kill_parent), JobFolder(tmp_path / "one"))
        assert outcome.status is Status.CRASHED
        assert "fork server" in outcome.message
        assert outcome.wall_seconds < 30
        assert bytes(engine.run(make_job("2"), JobFolder(tmp_path / "two")).unwrap().result) == b"2"


def test_server_lives_on_after_time_out_and_want_of_memory(
    macaulay2: Macaulay2, make_job: MakeJob, small_memory: int, tmp_path: Path
) -> None:
    body = 'value first select("PPid:[^0-9]*([0-9]+)", "\\\\1", get "/proc/self/status")'
    with WarmEngine(macaulay2) as engine:
        first = engine.run(make_job(body), JobFolder(tmp_path / "1")).unwrap().result
        endless = make_job("while true do 1; 1", seconds=0.5)
        assert engine.run(endless, JobFolder(tmp_path / "2")).status is Status.TIMED_OUT
        greedy = make_job("x := 2; while true do x = x^2; 1", megabytes=small_memory)
        assert engine.run(greedy, JobFolder(tmp_path / "3")).status is Status.OUT_OF_MEMORY
        last = engine.run(make_job(body), JobFolder(tmp_path / "4")).unwrap().result
        assert bytes(first) == bytes(last)
        # The limit of one job is not that of the next.
        big = engine.run(make_job("#(concatenate 500000000)"), JobFolder(tmp_path / "5"))
        assert big.status is Status.FINISHED


# --- transfer ---


def test_integers_of_ten_thousand_digits(run: Run) -> None:
    body = "R := QQ[x,y]; m2bPolynomials {(7^11833 * x^2 + 1/(3^20959) * y - 2^40000)}"
    outcome = run(body)
    polynomials, (x, y) = _read(outcome, "x, y")
    assert polynomials == (QQ(7**11833) * x**2 + QQ(1, 3**20959) * y - 2**40000,)


def test_a_hundred_thousand_terms(run: Run) -> None:
    body = """
    R := QQ[x,y];
    m2bPolynomials {sum(0..999, i -> (i + 1)/(i + 2) * x^i) * sum(0..99, i -> (i + 1)/(2*i + 3) * y^i)}"""
    ((polynomial,), _) = _read(run(body), "x, y")
    assert len(polynomial) == 100_000
    assert all(
        polynomial[(i, n)] == QQ(i + 1, i + 2) * QQ(n + 1, 2 * n + 3) for i in range(0, 1000, 37) for n in range(100)
    )


def test_ten_thousand_generators(run: Run) -> None:
    polynomials, (x, y) = _read(run("R := QQ[x,y]; m2bPolynomials apply(10^4, i -> x^i - i * y)"), "x, y")
    assert len(polynomials) == 10_000
    assert all(polynomials[i] == x**i - i * y for i in range(0, 10_000, 101))


def test_zero_constants_and_rings_without_variables(run: Run) -> None:
    body = "R := QQ[]; S := ZZ/7[z]; m2bPolynomials {0_R, 5_R, 0_S, 3_S, -1_S}"
    terms = msgspec.json.decode(run(body).unwrap().result, type=list[Terms])
    assert [len(t.exponents) for t in terms] == [0, 1, 0, 1, 1]
    assert terms[1].exponents == [[]]


def _read(outcome: Outcome, names: str) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    polynomial_ring, *variables = ring(names, QQ)
    document = outcome.unwrap()
    terms = msgspec.json.decode(document.result, type=list[Terms])
    return read_polynomials(terms, polynomial_ring, outcome.folder), tuple(variables)
