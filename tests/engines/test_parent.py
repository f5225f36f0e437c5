"""When the Python process ends, however it ends, no Macaulay2 outlives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import m2bridge
from m2bridge.job import Job

pytestmark = pytest.mark.macaulay2

PROGRAM = """
import sys
from pathlib import Path
from m2bridge.engines import EnginePool, ScriptEngine, WarmEngine
from m2bridge.job import Job, JobFolder, Limits

script, folder, engine, mode = sys.argv[1:]
make = {"script": ScriptEngine, "warm": WarmEngine}[engine]
job = Job("test", Path(script).read_text(), Limits(60, 3000))
if mode == "pool":
    with EnginePool(2, make) as pool:
        for index, outcome in pool.run_all((job, JobFolder(Path(folder, str(i)))) for i in range(4)):
            print(index, outcome.status)
else:
    outcome = make().run(job, JobFolder(Path(folder)))
    print(outcome.status, outcome.reused)
"""


@pytest.fixture(params=["script", "warm"])
def start(
    request: pytest.FixtureRequest, make_job: Callable[..., Job], tmp_path: Path
) -> Callable[..., subprocess.Popen[str]]:
    """Start a Python process that runs a body on an engine."""

    def start_python(body: str, mode: str = "one") -> subprocess.Popen[str]:
        (tmp_path / "test.m2").write_text(make_job(body).script)
        arguments = [str(tmp_path / "test.m2"), str(tmp_path / "job"), request.param, mode]
        return subprocess.Popen(
            [sys.executable, "-W", "error", "-c", PROGRAM, *arguments],
            env=os.environ | {"PYTHONPATH": str(Path(m2bridge.__file__).parent.parent)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start_python


def wait_for(path: Path) -> None:
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.02)


def endless(path: Path) -> str:
    return f'"{path}" << "begun" << close; run "sleep 300 &"; while true do 1; 1'


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_python_ends_while_a_job_runs(
    start: Callable[..., subprocess.Popen[str]],
    tmp_path: Path,
    processes_left: Callable[..., list[str]],
    number: signal.Signals,
) -> None:
    python = start(endless(tmp_path / "begun"))
    wait_for(tmp_path / "begun")
    python.send_signal(number)
    _, stderr = python.communicate(timeout=20)
    assert python.returncode == -number
    assert processes_left(5) == []
    if number == signal.SIGINT:
        assert "KeyboardInterrupt" in stderr
        recorded = json.loads((tmp_path / "job" / "job.json").read_text())
        assert recorded["status"] == "interrupted"
        assert recorded["wall_seconds"] > 0


def test_ctrl_c_ends_a_pool(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path, processes_left: Callable[..., list[str]]
) -> None:
    python = start(endless(tmp_path / "begun"), "pool")
    wait_for(tmp_path / "begun")
    python.send_signal(signal.SIGINT)
    _, stderr = python.communicate(timeout=20)
    assert "KeyboardInterrupt" in stderr
    assert processes_left(5) == []
    assert json.loads((tmp_path / "job" / "0" / "job.json").read_text())["status"] == "interrupted"
    assert not (tmp_path / "job" / "2").exists()


def test_python_ends_normally_without_closing_the_engine(
    start: Callable[..., subprocess.Popen[str]], processes_left: Callable[..., list[str]]
) -> None:
    python = start("1")
    stdout, stderr = python.communicate(timeout=60)
    assert (stdout, stderr) == ("finished False\n", "")
    assert processes_left(5) == []


def test_two_python_processes_run_the_same_job(start: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    body = f'openOutAppend "{tmp_path}/runs" << "x" << close; run "sleep 1"; 3'
    pythons = [start(body), start(body)]
    answers = sorted(python.communicate(timeout=60)[0] for python in pythons)
    assert answers == ["finished False\n", "finished True\n"]
    assert (tmp_path / "runs").read_text() == "x"
