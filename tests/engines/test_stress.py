"""500 small jobs of which a random fifth is killed, starved of memory, or broken by hand while they run."""

from __future__ import annotations

import json
import os
import random
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from m2bridge.engines import Engine, EnginePool
from m2bridge.job import Job, JobFolder, Status

pytestmark = [pytest.mark.macaulay2, pytest.mark.slow]

JOBS = 500

GOOD = "R := QQ[x,y]; m2bPolynomials flatten entries gens gb ideal(y - x^2 - NUMBER, x - NUMBER)"
# It says who it is, so that it can be found, and leaves a temporary file if it is not let go on.
WAITING = (
    'temporaryFileName() << "x" << close; (scriptCommandLine#1 | ".pid") << toString processID() << close; '
    'run "sleep 60"; ' + GOOD
)
GREEDY = "x := 2; while true do x = x^2; " + GOOD
ENDLESS = "while true do 1; " + GOOD


@dataclass(frozen=True)
class Fault:
    """What is done to a job, and what its outcome must be."""

    name: str
    body: str
    status: Status
    by_hand: Callable[[Path, int], None] | None = None
    seconds: float = 60


def kill(number: signal.Signals) -> Callable[[Path, int], None]:
    return lambda folder, pid: os.kill(pid, number)


def take_the_name_of_the_result(folder: Path, pid: int) -> None:
    (folder / "result.json").mkdir()
    end_the_sleep(pid)


def write_another_result(folder: Path, pid: int) -> None:
    (folder / "result.json").write_text('{"format": "m2bridge-document/1", "operation"')
    os.kill(pid, signal.SIGKILL)


def end_the_sleep(parent: int) -> None:
    """Kill the children of a process, so that it goes on."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            os.kill(int(entry), signal.SIGKILL)


FAULTS = [
    Fault("killed", WAITING, Status.CRASHED, kill(signal.SIGKILL)),
    Fault("segmentation fault", WAITING, Status.CRASHED, kill(signal.SIGSEGV)),
    Fault("aborted", WAITING, Status.CRASHED, kill(signal.SIGABRT)),
    Fault("terminated", WAITING, Status.INTERRUPTED, kill(signal.SIGTERM)),
    Fault("starved", GREEDY, Status.OUT_OF_MEMORY),
    Fault("endless", ENDLESS, Status.TIMED_OUT, seconds=0.7),
    Fault("not written", WAITING, Status.NOT_WRITTEN, take_the_name_of_the_result),
    Fault("half a result", WAITING, Status.UNREADABLE, write_another_result),
]


@pytest.fixture
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The system's temporary folder for this test alone."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield folder
    monkeypatch.setattr(tempfile, "tempdir", None)


def break_by_hand(folders: dict[Path, Fault], stop: threading.Event) -> None:
    """Wait for each job to say who it is, then do to it what is to be done."""
    left = dict(folders)
    while left and not stop.is_set():
        for folder, fault in list(left.items()):
            try:
                pid = int((folder / "result.json.pid").read_text())
            except (OSError, ValueError):
                continue
            assert fault.by_hand is not None
            time.sleep(0.05)  # until it sleeps
            fault.by_hand(folder, pid)
            del left[folder]
        time.sleep(0.01)


def test_a_fifth_of_500_jobs_is_broken(
    make_engine: Callable[[], Engine],
    make_job: Callable[..., Job],
    small_memory: int,
    tmp_path: Path,
    temporary_folder: Path,
    processes_left: Callable[..., list[str]],
) -> None:
    chance = random.Random(20240817)
    faults = {number: chance.choice(FAULTS) for number in chance.sample(range(JOBS), JOBS // 5)}
    folders = {number: tmp_path / "jobs" / str(number) for number in range(JOBS)}

    def job(number: int) -> Job:
        fault = faults.get(number)
        if fault is None:
            return make_job(GOOD.replace("NUMBER", str(number + 1)))
        megabytes = small_memory if fault.status is Status.OUT_OF_MEMORY else 3000
        body = fault.body.replace("NUMBER", str(number + 1))
        return make_job(body, seconds=fault.seconds, megabytes=megabytes)

    stop = threading.Event()
    by_hand = {folders[number]: fault for number, fault in faults.items() if fault.by_hand is not None}
    breaker = threading.Thread(target=break_by_hand, args=(by_hand, stop))
    breaker.start()
    start = time.monotonic()
    try:
        with EnginePool(2, make_engine) as pool:
            outcomes = dict(pool.run_all((job(i), JobFolder(folders[i])) for i in range(JOBS)))
    finally:
        stop.set()
        breaker.join()
    seconds = time.monotonic() - start

    assert len(outcomes) == JOBS
    wrong = []
    for number, outcome in outcomes.items():
        fault = faults.get(number)
        if fault is not None:
            if outcome.status is not fault.status:
                wrong.append(f"{number} ({fault.name}): {outcome.describe()}")
            continue
        terms = json.loads(bytes(outcome.unwrap().result))
        n = number + 1
        if terms != [
            {"exponents": [[0, 1], [0, 0]], "coefficients": ["1", str(-n * n - n)]},
            {"exponents": [[1, 0], [0, 0]], "coefficients": ["1", str(-n)]},
        ]:
            wrong.append(f"{number}: {terms}")
    assert wrong == []
    assert processes_left() == []
    assert list(temporary_folder.iterdir()) == []
    assert not list((tmp_path / "jobs").rglob("*.part*"))
    counts = Counter(outcome.status.value for outcome in outcomes.values())
    print(f"{JOBS} jobs in {seconds:.1f} s: {dict(counts)}")  # noqa: T201 - shown with pytest -s
