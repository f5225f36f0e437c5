"""Both engines, jobs made from a few lines of Macaulay2, and a count of the processes that are left."""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from m2bridge import render
from m2bridge.engines import Engine, ScriptEngine, WarmEngine
from m2bridge.job import Job, JobFolder, Limits, Outcome
from m2bridge.macaulay2 import Macaulay2, find_macaulay2
from m2bridge.render import Remark, Word

ENGINES: dict[str, Callable[[Macaulay2], ScriptEngine | WarmEngine]] = {
    "script": ScriptEngine,
    "warm": WarmEngine,
}
MARK = "M2BRIDGE_TEST_MARK"


@pytest.fixture(scope="session")
def macaulay2() -> Macaulay2:
    return find_macaulay2()


@pytest.fixture(scope="session", autouse=True)
def mark() -> Iterator[str]:
    """A word in the environment of every process that the tests start, by which they are found."""
    word = uuid.uuid4().hex
    os.environ[MARK] = word
    yield word
    del os.environ[MARK]


@pytest.fixture(scope="module", params=["script", "warm"])
def engine(request: pytest.FixtureRequest, macaulay2: Macaulay2) -> Iterator[Engine]:
    """Each engine, the same one for all tests of a module: no test may spoil it for the next."""
    with ENGINES[request.param](macaulay2) as engine:
        yield engine


@pytest.fixture(params=["script", "warm"])
def make_engine(request: pytest.FixtureRequest, macaulay2: Macaulay2) -> Callable[[], Engine]:
    """Make a new engine, of each kind."""
    return lambda: ENGINES[request.param](macaulay2)


@pytest.fixture(scope="session")
def small_memory(macaulay2: Macaulay2) -> int:
    """Megabytes that are enough for a small job: the address space of this version, and a little."""
    return 400 if macaulay2.version < (1, 22) else 900


def compose(body: str, seed: int = 0) -> str:
    """Return a complete script whose result is the value of the body."""
    template = f'--% extends "frame.m2"\n--% block compute\n{body}\n--% endblock\n'
    context = {"title": Remark("A test"), "remarks": (), "operation": Word("test"), "seed": seed}
    blank = render._environment.from_string(template).render(context | {"key": Word("")})
    return blank.replace('m2bKey = "";', f'm2bKey = "{render.script_key(blank)}";', 1)


@pytest.fixture(scope="session")
def make_job() -> Callable[..., Job]:
    """Make a job of a body: ``make_job(body, seconds=60, megabytes=3000, seed=0)``."""

    def make(body: str, *, seconds: float = 60, megabytes: int = 3000, seed: int = 0) -> Job:
        return Job("test", compose(body, seed), Limits(seconds, megabytes))

    return make


@pytest.fixture
def run(engine: Engine, make_job: Callable[..., Job], tmp_path: Path) -> Callable[..., Outcome]:
    """Run a body on the engine, in ``tmp_path/job`` unless a folder is given."""

    def run_body(
        body: str, *, folder: Path | None = None, seconds: float = 60, megabytes: int = 3000, seed: int = 0
    ) -> Outcome:
        job = make_job(body, seconds=seconds, megabytes=megabytes, seed=seed)
        return engine.run(job, JobFolder(folder or tmp_path / "job"))

    return run_body


def _left(word: str) -> list[str]:
    """Return the processes that the tests have started, except the watcher and idle fork servers."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            folder = Path("/proc", entry)
            if f"{MARK}={word}".encode() not in (folder / "environ").read_bytes().split(b"\0"):
                continue
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            parent = int((folder / "stat").read_bytes().rpartition(b")")[2].split()[1])
            if "watcher.py" not in command and not ("server.m2" in command and parent == os.getpid()):
                found.append(f"{entry}: {command}")
    return found


@pytest.fixture
def processes_left(mark: str) -> Callable[..., list[str]]:
    """Wait until no process that the tests have started is left, and return those that still are."""

    def wait(seconds: float = 0.0) -> list[str]:
        end = time.monotonic() + seconds
        while (left := _left(mark)) and time.monotonic() < end:
            time.sleep(0.02)
        return left

    return wait


@pytest.fixture
def processes_running(mark: str) -> Callable[[], list[str]]:
    """Return the processes that the tests have started and that run now."""
    return lambda: _left(mark)
