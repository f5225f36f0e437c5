"""Faults that the real Macaulay2 cannot be made to show: an executable that is none, or is for another machine."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from m2bridge import errors
from m2bridge.engines import ScriptEngine, WarmEngine
from m2bridge.job import Job, JobFolder, Limits, Outcome, Status
from m2bridge.macaulay2 import Macaulay2, find_macaulay2

Fake = Callable[..., Macaulay2]


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """Make an executable: a shell script that answers ``--version`` and otherwise does as it is told."""

    def make(program: str, version: str = "echo 1.21") -> Macaulay2:
        path = tmp_path / "M2"
        path.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then {version}; exit 0; fi\n{program}\n')
        path.chmod(0o755)
        return find_macaulay2(str(path))

    return make


def run(kind: type[ScriptEngine] | type[WarmEngine], macaulay2: Macaulay2, folder: Path) -> Outcome:
    with kind(macaulay2) as engine:
        return engine.run(Job("test", "1", Limits(5, 1000)), JobFolder(folder))


both = pytest.mark.parametrize("kind", [ScriptEngine, WarmEngine])


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(errors.Macaulay2NotFound, match="not found"):
        find_macaulay2(str(tmp_path / "nowhere"))


def test_too_old(fake: Fake) -> None:
    with pytest.raises(errors.Macaulay2TooOld, match=r"is Macaulay2 1\.19, but 1\.21"):
        fake("", version="echo 1.19")


@pytest.mark.parametrize("version", ["echo hello", "true", "echo Macaulay 3", "head -c 100000 /dev/zero"])
def test_version_unreadable(fake: Fake, version: str) -> None:
    with pytest.raises(errors.Macaulay2VersionUnreadable):
        fake("", version=version)


def test_illegal_instruction_at_the_version(fake: Fake) -> None:
    with pytest.raises(errors.Macaulay2Broken, match="illegal instruction"):
        fake("", version="kill -ILL $$")


def test_not_an_executable_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "M2").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(100))
    (tmp_path / "M2").chmod(0o755)
    with pytest.raises(errors.Macaulay2Broken):
        find_macaulay2(str(tmp_path / "M2"))


@both
def test_illegal_instruction(kind: type[ScriptEngine] | type[WarmEngine], fake: Fake, tmp_path: Path) -> None:
    outcome = run(kind, fake("kill -ILL $$"), tmp_path / "job")
    assert outcome.status is Status.CRASHED
    assert "AVX-512" in outcome.message
    assert outcome.returncode == -signal.SIGILL


@both
@pytest.mark.parametrize("text", ["Too many heap sections: Increase MAXHINCR or MAX_HEAP_SECTS"])
def test_too_many_heap_sections(
    kind: type[ScriptEngine] | type[WarmEngine], fake: Fake, tmp_path: Path, text: str
) -> None:
    outcome = run(kind, fake(f"echo '{text}' >&2; kill -ABRT $$"), tmp_path / "job")
    assert outcome.status is Status.OUT_OF_MEMORY
    assert "too many heap sections" in outcome.message
    with pytest.raises(errors.OutOfMemory):
        outcome.unwrap()


@both
def test_vanished_after_it_was_found(kind: type[ScriptEngine] | type[WarmEngine], fake: Fake, tmp_path: Path) -> None:
    macaulay2 = fake("true")
    Path(macaulay2.executable).unlink()
    outcome = run(kind, macaulay2, tmp_path / "job")
    assert outcome.status is Status.CRASHED
    assert outcome.returncode in (126, 127)


@both
@pytest.mark.parametrize("program", ["true", "echo nonsense", "exit 3"])
def test_ends_without_a_word(
    kind: type[ScriptEngine] | type[WarmEngine], fake: Fake, tmp_path: Path, program: str
) -> None:
    outcome = run(kind, fake(program), tmp_path / "job")
    assert outcome.status is Status.CRASHED
    assert JobFolder(outcome.folder).outcome.exists()


def test_server_that_talks_nonsense(fake: Fake, tmp_path: Path) -> None:
    outcome = run(WarmEngine, fake("""eval "echo hello >/dev/fd/$5"; sleep 60"""), tmp_path / "job")
    assert outcome.status is Status.CRASHED
    assert "b'hello\\n'" in outcome.message
    assert outcome.wall_seconds < 30
