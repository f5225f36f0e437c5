"""Several engines at once: every job is answered, in the order of completion, and errors come home."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from m2bridge import errors
from m2bridge.engines import EnginePool, WarmEngine
from m2bridge.job import Job, JobFolder, Outcome, Status
from m2bridge.macaulay2 import Macaulay2

pytestmark = pytest.mark.macaulay2

MakeJob = Callable[..., Job]


@pytest.fixture
def pool(macaulay2: Macaulay2) -> Iterator[EnginePool]:
    with EnginePool(2, lambda: WarmEngine(macaulay2)) as pool:
        yield pool


def test_every_job_is_answered_once(pool: EnginePool, make_job: MakeJob, tmp_path: Path) -> None:
    jobs = [(make_job(f"{i}^2" if i % 5 else "1/0"), JobFolder(tmp_path / str(i))) for i in range(20)]
    outcomes = dict(pool.run_all(jobs))
    assert sorted(outcomes) == list(range(20))
    for i, outcome in outcomes.items():
        if i % 5:
            assert int(bytes(outcome.unwrap().result)) == i * i
        else:
            assert outcome.status is Status.REFUSED


def test_outcomes_come_in_the_order_of_completion(pool: EnginePool, make_job: MakeJob, tmp_path: Path) -> None:
    jobs = [
        (make_job('run "sleep 2"; 1'), JobFolder(tmp_path / "slow")),
        (make_job("1"), JobFolder(tmp_path / "fast")),
    ]
    assert [index for index, _ in pool.run_all(jobs)] == [1, 0]


def test_input_is_read_as_needed_and_its_error_comes_home(pool: EnginePool, make_job: MakeJob, tmp_path: Path) -> None:
    def jobs() -> Iterator[tuple[Job, JobFolder]]:
        for i in range(3):
            yield make_job(str(i)), JobFolder(tmp_path / str(i))
        raise errors.InputError("the fourth is wrong")

    found: list[tuple[int, Outcome]] = []
    with pytest.raises(errors.InputError, match="the fourth"):
        found.extend(pool.run_all(jobs()))
    assert not (tmp_path / "3").exists()


def test_stopping_early_interrupts_what_runs(
    pool: EnginePool, make_job: MakeJob, tmp_path: Path, processes_left: Callable[..., list[str]]
) -> None:
    endless = make_job("while true do 1; 1")
    jobs = [(make_job("1"), JobFolder(tmp_path / "0"))]
    jobs += [(endless, JobFolder(tmp_path / str(i))) for i in range(1, 5)]
    outcomes = pool.run_all(jobs)
    assert next(outcomes)[0] == 0
    outcomes.close()  # type: ignore[attr-defined]
    assert processes_left() == []
    assert not (tmp_path / "4").exists()
    assert pool.engines[0].run(endless, JobFolder(tmp_path / "late")).status is Status.INTERRUPTED


def test_a_pool_needs_an_engine(macaulay2: Macaulay2) -> None:
    with pytest.raises(errors.InputError):
        EnginePool(0, lambda: WarmEngine(macaulay2))
