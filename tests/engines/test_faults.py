"""Whatever happens to Macaulay2, the outcome is the right answer or a typed failure, and nothing is left running."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from m2bridge import errors
from m2bridge.engines import Engine
from m2bridge.job import Job, JobFolder, Outcome, Status

pytestmark = pytest.mark.macaulay2

Run = Callable[..., Outcome]
Left = Callable[..., list[str]]

ENDLESS = "while true do 1; 1"
HOURS = "R := QQ[vars(0..8)]; degree ideal random(R^1, R^{8:-7})"


def signal_itself(name: str) -> str:
    return f'run concatenate("kill -{name} ", toString processID()); run "sleep 5"; 1'


@pytest.fixture(autouse=True)
def _nothing_is_left(engine: Engine, run: Run, processes_left: Left, tmp_path: Path) -> Iterator[None]:
    yield
    assert processes_left() == []
    if engine.name == "warm":  # the others share nothing
        outcome = run("2 + 3", folder=tmp_path / "next")
        assert bytes(outcome.unwrap().result) == b"5"
    assert not list(tmp_path.rglob("*.json.part"))


def test_syntax_error(run: Run) -> None:
    outcome = run("    x := 3;\n    y = = x")
    assert outcome.status is Status.REFUSED
    assert "syntax error" in outcome.message
    assert "y = = x" in outcome.describe()
    assert "script.m2" not in outcome.message
    with pytest.raises(errors.Macaulay2Error):
        outcome.unwrap()


def test_run_time_error(run: Run) -> None:
    outcome = run("    f := a -> (\n        a / 0);\n    f 3")
    assert outcome.status is Status.REFUSED
    assert outcome.message == "division by zero"
    assert outcome.script_line is not None
    assert "a / 0);" in outcome.describe()
    assert outcome.returncode == 1


def test_protected_symbol(run: Run) -> None:
    outcome = run("ideal = 3; 1")
    assert outcome.status is Status.REFUSED
    assert "a name of Macaulay2's own" in outcome.message


def test_exit_code_0_without_a_result_is_not_success(run: Run) -> None:
    outcome = run("exit 0")
    assert outcome.status is Status.CRASHED
    assert "exit code 0, without a result" in outcome.message


def test_error_inside_try_is_not_reported(run: Run) -> None:
    assert run("try 1/0 else 7").status is Status.FINISHED


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("KILL", Status.CRASHED, "SIGKILL"),
        ("SEGV", Status.CRASHED, "SIGSEGV"),
        ("ABRT", Status.CRASHED, "SIGABRT"),
        ("ILL", Status.CRASHED, "illegal instruction"),
        ("TERM", Status.INTERRUPTED, "SIGTERM"),
    ],
)
def test_death_by_signal(run: Run, name: str, status: Status, words: str) -> None:
    outcome = run(signal_itself(name))
    assert outcome.status is status
    assert words in outcome.message


def test_interrupted_from_outside(run: Run) -> None:
    outcome = run('run concatenate("(sleep 0.3; kill -INT ", toString processID(), ") &"); ' + ENDLESS)
    assert outcome.status is Status.INTERRUPTED
    with pytest.raises(errors.Interrupted):
        outcome.unwrap()


def test_time_out(run: Run) -> None:
    start = time.monotonic()
    outcome = run('print "begun"; stdio << flush; ' + HOURS, seconds=5)
    assert time.monotonic() - start < 7
    assert outcome.status is Status.TIMED_OUT
    assert outcome.wall_seconds >= 5
    assert outcome.cpu_seconds > 0.5
    assert outcome.peak_memory_megabytes is not None
    assert "stdout.log" in outcome.message
    assert JobFolder(outcome.folder).stdout.read_text() == "begun\n"
    with pytest.raises(errors.TimedOut):
        outcome.unwrap()


def test_time_out_ends_grandchildren(run: Run) -> None:
    start = time.monotonic()
    # The signal that ends the sleep lets the script go on: its result comes too late to be believed.
    outcome = run('run "sleep 300"; 1', seconds=1)
    assert outcome.status is Status.TIMED_OUT
    assert time.monotonic() - start < 6


def test_grandchild_in_the_background_that_holds_the_logs(run: Run) -> None:
    start = time.monotonic()
    assert run('run "sleep 300 &"; 1').status is Status.FINISHED
    assert time.monotonic() - start < 30


def test_a_job_that_ignores_signals(run: Run) -> None:
    outcome = run("""run "trap '' INT TERM; sleep 300; sleep 300"; 1""", seconds=1)
    assert outcome.status is Status.TIMED_OUT
    assert outcome.wall_seconds < 6


def test_error_message_that_takes_longer_than_the_computation(run: Run) -> None:
    body = "R := QQ[x]; M := coker random(R^300,R^300); f := method(); f List := L -> 1; f apply((0..10), i -> M)"
    outcome = run(body, seconds=5)
    assert outcome.status in (Status.TIMED_OUT, Status.REFUSED)
    assert len(outcome.describe()) < 2000


def test_long_error_message_is_cut(run: Run) -> None:
    outcome = run('error concatenate(3000000 : "long")')
    assert outcome.status is Status.REFUSED
    assert len(outcome.message) < 700


@pytest.mark.parametrize(
    "body",
    [
        "L := {}; while true do L = {L, new MutableList from 1..10000}; 1",  # the garbage collector
        "x := 2; while true do x = x^2; 1",  # GMP
    ],
)
def test_out_of_memory(run: Run, body: str, small_memory: int) -> None:
    outcome = run(body, megabytes=small_memory + 100)
    assert outcome.status is Status.OUT_OF_MEMORY
    assert f"{small_memory + 100} MB" in outcome.message
    assert outcome.peak_memory_megabytes is not None
    assert 50 < outcome.peak_memory_megabytes <= small_memory + 100
    assert outcome.wall_seconds > 0
    with pytest.raises(errors.OutOfMemory):
        outcome.unwrap()


def test_small_memory_limit_is_enough_for_a_small_job(run: Run, small_memory: int) -> None:
    assert run("R := QQ[x,y]; #gens gb ideal(x^2-y, x*y-1); 1", megabytes=small_memory).status is Status.FINISHED


def test_memory_limit_below_macaulay2_itself(run: Run) -> None:
    outcome = run("#toList(1..10^6)", megabytes=20)
    assert outcome.status in (Status.OUT_OF_MEMORY, Status.CRASHED)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.getuid() != 0:
        pytest.skip("only root can mount")
    made = subprocess.run([mount, "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], check=False)
    if made.returncode:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", folder], check=True)  # noqa: S607 - found on PATH like mount


def test_disk_full(run: Run, small_disk: Path) -> None:
    outcome = run('concatenate(400000 : "x")', folder=small_disk / "job")
    assert outcome.status is Status.NOT_WRITTEN
    assert "No space left" in outcome.message
    with pytest.raises(errors.NotWritten):
        outcome.unwrap()


def test_disk_full_before_the_run(run: Run, small_disk: Path) -> None:
    with pytest.raises(OSError, match="No space"):
        (small_disk / "ballast").write_bytes(bytes(400_000))
    assert run("1", folder=small_disk / "job").status is Status.NOT_WRITTEN


def test_folder_becomes_unwritable(run: Run, tmp_path: Path) -> None:
    # The name of the result is taken by a folder meanwhile (root may write everywhere, so no permission helps).
    outcome = run("mkdir scriptCommandLine#1; 1")
    assert outcome.status is Status.NOT_WRITTEN
    assert "directory" in outcome.message.lower()


def test_folder_vanishes(run: Run) -> None:
    outcome = run('run concatenate("rm -r ", replace("result.json", "", scriptCommandLine#1), "*"); 1')
    assert outcome.status in (Status.NOT_WRITTEN, Status.FINISHED)


def test_folder_cannot_be_made(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert run("1", folder=tmp_path / "file" / "job").status is Status.NOT_WRITTEN


def write_result(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'scriptCommandLine#1 << "{quoted}" << close; exit 0'


GOOD = {
    "format": "m2bridge-document/1",
    "operation": "test",
    "key": "0" * 64,
    "macaulay2": "1.21",
    "seed": 0,
    "cpu_microseconds": 1,
    "peak_kilobytes": 1,
    "result": 1,
}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (json.dumps(GOOD)[:80], "cut or malformed"),
        ("ideal(x)", "cut or malformed"),
        ("", "cut or malformed"),
        (json.dumps(GOOD), "of script 000"),
        (json.dumps(GOOD | {"format": "m2bridge-document/2"}), "has format 'm2bridge-document/2'"),
        (json.dumps(GOOD | {"operation": "other"}), "operation 'other'"),
    ],
    ids=["cut", "not JSON", "empty", "other job", "newer format", "other operation"],
)
def test_unreadable_result(run: Run, text: str, words: str) -> None:
    outcome = run(write_result(text))
    assert outcome.status is Status.UNREADABLE
    assert words in outcome.message
    with pytest.raises(errors.Unreadable):
        outcome.unwrap()


def test_megabytes_on_both_streams(run: Run) -> None:
    body = 'line := concatenate(1000 : "out"); for i from 1 to 2000 do (print line; stderr << line << endl); 4'
    outcome = run(body)
    assert bytes(outcome.unwrap().result) == b"4"
    folder = JobFolder(outcome.folder)
    assert folder.stdout.stat().st_size == 2000 * 3001
    # Newer versions of Macaulay2 tell the seed there.
    assert 2000 * 3001 <= folder.stderr.stat().st_size < 2000 * 3001 + 100


def test_megabytes_on_stderr_before_an_error(run: Run) -> None:
    body = 'line := concatenate(1000 : "out"); for i from 1 to 2000 do stderr << line << endl; 1/0'
    outcome = run(body)
    assert (outcome.status, outcome.message) == (Status.REFUSED, "division by zero")


def test_warnings_on_stderr_of_a_good_run(run: Run) -> None:
    outcome = run('S := QQ[x,x_1]; stderr << "-- warning: error ahead" << endl; numgens S')
    assert bytes(outcome.unwrap().result) == b"2"
    assert JobFolder(outcome.folder).stderr.read_text()


@pytest.mark.parametrize(
    "name",
    ["with blanks", "quote\"'`$(touch x)", "new\nline", "Größe-ψ-数", "back\\slash\\n", "-q", "{braces},;"],
)
def test_hostile_folder_names(run: Run, tmp_path: Path, name: str) -> None:
    outcome = run("R := QQ[x]; numgens R", folder=tmp_path / name)
    assert bytes(outcome.unwrap().result) == b"1"
    outcome = run("1/0", folder=tmp_path / name / "again")
    assert outcome.message == "division by zero"
    assert outcome.script_line is not None


def test_folder_name_that_is_not_unicode(run: Run, tmp_path: Path) -> None:
    outcome = run("7", folder=Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe")))
    assert bytes(outcome.unwrap().result) == b"7"


def test_temporary_files_of_a_killed_job_are_removed(run: Run) -> None:
    outcome = run('F := temporaryFileName(); F << "x" << close; print F; ' + signal_itself("KILL"))
    assert outcome.status is Status.CRASHED
    outcome = run('F := temporaryFileName(); F << "x" << close; print F; stdio << flush; ' + ENDLESS, seconds=6)
    assert outcome.status is Status.TIMED_OUT
    written = Path(JobFolder(outcome.folder).stdout.read_text().strip())
    assert written.name
    assert not written.parent.exists()


def test_outcome_is_recorded(run: Run, make_job: Callable[..., Job]) -> None:
    outcome = run("1/0", seconds=7)
    recorded = json.loads(JobFolder(outcome.folder).outcome.read_text())
    assert recorded["status"] == "refused"
    assert recorded["key"] == make_job("1/0").key
    assert recorded["limits"] == {"time_seconds": 7.0, "memory_megabytes": 3000}
    assert recorded["message"] == "division by zero"
