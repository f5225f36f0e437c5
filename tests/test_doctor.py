"""Finding Macaulay2, the diagnosis, and the installation without root: from fake wheels, through the real pip."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from m2bridge import install as installation
from m2bridge.cli import run_command_line as _run
from m2bridge.doctor import diagnose, install_macaulay2
from m2bridge.errors import InstallationFailed, Macaulay2NotFound, Macaulay2TooOld
from m2bridge.install import Attempt, cache_folder, installed_executable, installed_folder
from m2bridge.macaulay2 import candidates, find_macaulay2

GOOD = f"#!{sys.executable} -IS\n" + textwrap.dedent(
    r"""
    # Answers the doctor's question and no other.
    import json, re, sys, time
    VERSION = "1.99"
    if sys.argv[1] == "--version":
        print(VERSION)
        sys.exit()
    time.sleep(SECONDS)
    text = open(sys.argv[2]).read()
    def terms(*pairs):
        return {"exponents": [e for e, _ in pairs], "coefficients": [c for _, c in pairs]}
    answer = [terms(([0, 3], "1"), ([0, 0], "-1")), terms(([1, 0], "1"), ([0, 2], "SIGN1"))]
    document = {
        "format": "m2bridge-document/1",
        "operation": "groebner_basis",
        "key": re.search('m2bKey = "(.*)"', text)[1],
        "macaulay2": VERSION,
        "seed": 0,
        "cpu_microseconds": 1,
        "peak_kilobytes": None,
        "result": {"generators": answer, "change": None},
    }
    with open(sys.argv[3], "w") as file:
        json.dump(document, file)
    """
).replace("SIGN", "-")
WRONG = GOOD.replace('"-1"', '"1"')
ILLEGAL = "#!/bin/sh\nkill -ILL $$\n"
OLD = "#!/bin/sh\necho 1.15\n"


def program(source: str, seconds: float = 0) -> str:
    return source.replace("SECONDS", str(seconds))


def make_wheel(folder: Path, release: str, source: str, *, tags: str = "py3-none-any", where: str = "bin") -> None:
    """Make a wheel whose only content is a program."""
    folder.mkdir(exist_ok=True)
    name = "passagemath_macaulay2"
    info = f"{name}-{release}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{release}-{tags}.whl", "w") as wheel:
        member = zipfile.ZipInfo(f"sage_wheels/{where}/M2-binary")
        member.external_attr = 0o100755 << 16
        wheel.writestr(member, source)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {release}\n")
        wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tags}\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, in a path that needs quoting; and no other Macaulay2."""
    monkeypatch.setenv("HOME", str(tmp_path / "a user's höme"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a user's höme" / "cache"))
    monkeypatch.delenv("M2BRIDGE_M2", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    return cache_folder()


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that stands for the package index."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def left_in(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir())


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "m2bridge", "doctor", "--install", *arguments]
    root = Path(installation.__file__).parent.parent
    environment = os.environ | {"PYTHONPATH": str(root)}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root
    )


def wait_for(condition: Callable[[], object], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


# --- which one is used -----------------------------------------------------------------------------------


@pytest.fixture
def make_program(tmp_path: Path) -> Callable[..., str]:
    def make(name: str, source: str = GOOD) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(program(source))
        path.chmod(0o755)
        return str(path)

    return make


@pytest.fixture
def copy(make_program: Callable[..., str]) -> str:
    """A copy as the installation makes it."""
    made = installed_folder() / "sage_wheels" / "bin" / "M2-binary"
    made.parent.mkdir(parents=True)
    shutil.move(make_program("copy"), made)
    return str(made)


def test_places_in_order(make_program: Callable[..., str], copy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    argument, named, on_path = make_program("argument"), make_program("named"), make_program("bin/M2")
    assert find_macaulay2().executable == copy
    monkeypatch.setenv("PATH", str(Path(on_path).parent))
    assert find_macaulay2().executable == on_path
    monkeypatch.setenv("M2BRIDGE_M2", named)
    assert find_macaulay2().executable == named
    assert find_macaulay2(argument).executable == argument
    assert [place.executable for place in candidates(argument)] == [argument, named, on_path, copy]


@pytest.mark.parametrize("way", ["argument", "environment"])
def test_named_place_is_not_replaced(way: str, copy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("M2BRIDGE_M2", "/nonexistent/M2" if way == "environment" else copy)
    with pytest.raises(Macaulay2NotFound) as raised:
        find_macaulay2("/nonexistent/M2" if way == "argument" else None)
    assert len(raised.value.tried) == 1


def test_old_one_on_path_gives_way_to_the_copy(
    make_program: Callable[..., str], copy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(Path(make_program("bin/M2", OLD)).parent))
    assert find_macaulay2().executable == copy
    found = diagnose()
    assert found.works
    assert "is Macaulay2 1.15, but 1.21 or newer is needed" in found.text()
    assert found.reason == "it is the copy of 'm2bridge doctor --install', and M2 on PATH is of no use"
    shutil.rmtree(installed_folder())
    with pytest.raises(Macaulay2TooOld):
        find_macaulay2()


def test_nothing_anywhere() -> None:
    with pytest.raises(Macaulay2NotFound, match=r"tried: M2 on PATH, the copy of .*doctor --install"):
        find_macaulay2()
    found = diagnose()
    assert not found.works
    assert found.text().count("nothing there") == 2


def test_diagnosis_tells_all_places(
    make_program: Callable[..., str], copy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = make_program("named")
    monkeypatch.setenv("M2BRIDGE_M2", named)
    found = diagnose()
    assert found.works
    assert found.reason == f"it is M2BRIDGE_M2={named}"
    assert found.start_seconds is not None
    document = found.to_dict()
    assert [place["executable"] for place in document["candidates"]] == [named, None, copy]
    assert [place["version"] for place in document["candidates"]] == ["1.99", None, "1.99"]
    assert all(text in found.text() for text in (named, copy, "nothing there", "its answer is right"))


@pytest.mark.parametrize(
    ("source", "words"),
    [(ILLEGAL, "illegal instruction"), (WRONG, "came back wrong"), ("#!/bin/sh\necho hello\n", "is it Macaulay2?")],
    ids=["illegal", "wrong", "other"],
)
def test_diagnosis_of_a_broken_one(source: str, words: str, make_program: Callable[..., str]) -> None:
    found = diagnose(make_program("M2", source))
    assert not found.works
    assert words in found.text()


# --- the installation ------------------------------------------------------------------------------------


def test_install(wheels: Path, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_wheel(wheels, "1.1", program(WRONG))
    make_wheel(wheels, "1.2", program(GOOD))
    assert _run(["doctor", "--install"]) == 0
    said = capsys.readouterr()
    assert f"installed: {installed_executable()}" in said.err
    assert f"Used: {installed_executable()}, version 1.99" in said.out
    assert left_in(cache) == ["lock", "macaulay2"]
    assert find_macaulay2().executable == installed_executable()
    # Once more: the index is not even asked.
    shutil.rmtree(wheels)
    assert _run(["doctor", "--install", "--json"]) == 0
    said = capsys.readouterr()
    assert "installed already" in said.err
    assert json.loads(said.out)["result"]["executable"] == installed_executable()


def test_next_release_where_the_newest_fails(wheels: Path, cache: Path) -> None:
    sources = {"2.5": ILLEGAL, "2.4": program(WRONG), "2.3": "#!/bin/sh\necho hello\n", "2.1": program(GOOD)}
    for release, source in sources.items():
        make_wheel(wheels, release, source)
    make_wheel(wheels, "2.2", program(GOOD), where="elsewhere")
    said: list[str] = []
    made = install_macaulay2(say=said.append)
    problems = ["illegal instruction", "came back wrong", "is it Macaulay2?", "no sage_wheels/bin/M2-binary"]
    assert [attempt.release for attempt in made.attempts] == ["2.5", "2.4", "2.3", "2.2", "2.1"]
    for attempt, problem in zip(made.attempts, problems, strict=False):
        assert problem in attempt.problem
        assert str(cache) not in attempt.problem
        assert any(attempt.release in line and problem in line for line in said)
    assert made.attempts[-1] == Attempt("2.1")
    assert left_in(cache) == ["lock", "macaulay2"]


def test_no_release_works(
    wheels: Path, cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "MOST_RELEASES", 2)
    for minor in range(4):
        make_wheel(wheels, f"3.{minor}", ILLEGAL)
    assert _run(["doctor", "--install", "--json"]) == 4
    said = capsys.readouterr()
    assert said.err.count("trying it") == 2
    assert said.err.splitlines()[-1].startswith("m2bridge: Macaulay2 was not installed: no release")
    assert json.loads(said.out)["error"]["type"] == "InstallationFailed"
    assert left_in(cache) == ["lock"]


def test_broken_copy_is_replaced_and_a_working_one_kept(wheels: Path, cache: Path, copy: str) -> None:
    Path(copy).write_text(ILLEGAL)
    with pytest.raises(InstallationFailed, match="has no wheel of passagemath-macaulay2 for this machine"):
        install_macaulay2()
    assert Path(copy).read_text() == ILLEGAL
    make_wheel(wheels, "1.1", program(GOOD))
    make_wheel(wheels, "1.2", program(GOOD))
    assert install_macaulay2().release == "1.2"
    with pytest.raises(InstallationFailed, match=r"no wheel of release 7\.7 of passagemath"):
        install_macaulay2(release="7.7")
    assert install_macaulay2().attempts == ()
    assert install_macaulay2(release="1.1").attempts == (Attempt("1.1"),)
    assert left_in(cache) == ["lock", "macaulay2"]


def test_no_wheel_for_this_platform(wheels: Path, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_wheel(wheels, "1.1", program(GOOD), tags="cp311-cp311-win_arm64")
    assert _run(["doctor", "--install"]) == 4
    said = capsys.readouterr().err
    assert "no wheel of passagemath-macaulay2 for this machine" in said
    assert said.count("\n") == 1
    assert left_in(cache) == ["lock"]


def test_no_network(
    wheels: Path, cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert _run(["doctor", "--install"]) == 4
    said = capsys.readouterr().err
    assert "the package index cannot be reached ([Errno " in said
    assert said.count("\n") == 1
    assert left_in(cache) == ["lock"]


def test_no_pip(cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(bare))
    with pytest.raises(InstallationFailed, match=r"has no pip; 'python -m ensurepip'"):
        install_macaulay2()


def test_too_little_room(wheels: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = shutil.disk_usage("/")._replace(free=3 * 2**20)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    with pytest.raises(InstallationFailed, match=r"3 MB are free in .* but 500 MB are needed"):
        install_macaulay2()
    assert left_in(cache) == ["lock"]


def test_disk_full_while_unpacking(wheels: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_wheel(wheels, "1.1", program(GOOD))

    def extract(*arguments: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "extract", extract)
    with pytest.raises(InstallationFailed, match="No space left on device"):
        install_macaulay2()
    assert left_in(cache) == ["lock"]


def test_cache_not_writable(wheels: Path, cache: Path) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_text("a file where the folder should be")
    with pytest.raises(InstallationFailed, match="File exists"):
        install_macaulay2()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_programs_forbidden(wheels: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Mounted:
        f_flag = os.ST_NOEXEC
        f_frsize, f_bavail, f_bfree, f_blocks = 4096, 2**20, 2**20, 2**20

    monkeypatch.setattr(os, "statvfs", lambda path: Mounted())
    with pytest.raises(InstallationFailed, match="mounted noexec"):
        install_macaulay2()
    assert left_in(cache) == ["lock"]


def test_damaged_wheel(wheels: Path, cache: Path) -> None:
    make_wheel(wheels, "1.1", program(GOOD))
    make_wheel(wheels, "1.2", program(GOOD))
    newest = wheels / "passagemath_macaulay2-1.2-py3-none-any.whl"
    content = bytearray(newest.read_bytes())
    content[200] ^= 1
    newest.write_bytes(content)
    made = install_macaulay2()
    assert "cannot be unpacked" in made.attempts[0].problem
    assert made.release == "1.1"


def test_killed_in_the_middle(wheels: Path, cache: Path) -> None:
    make_wheel(wheels, "1.1", program(GOOD, seconds=20))
    process = start()
    try:
        wait_for(lambda: cache.is_dir() and list(cache.glob("macaulay2-unfinished-*/copy/sage_wheels")))
    finally:
        process.kill()
        process.communicate()
    assert installed_executable() is None
    assert len(left_in(cache)) == 2
    make_wheel(wheels, "1.1", program(GOOD))
    install_macaulay2()
    assert left_in(cache) == ["lock", "macaulay2"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_in_the_middle(number: signal.Signals, wheels: Path, cache: Path) -> None:
    make_wheel(wheels, "1.1", program(GOOD, seconds=20))
    process = start()
    try:
        wait_for(lambda: cache.is_dir() and list(cache.glob("macaulay2-unfinished-*/copy/sage_wheels")))
        process.send_signal(number)
        _, said = process.communicate(timeout=15)
    finally:
        process.kill()
    assert process.returncode == 130
    assert said.splitlines()[-1] == "interrupted"
    assert left_in(cache) == ["lock"]


def test_two_at_once(wheels: Path, cache: Path) -> None:
    make_wheel(wheels, "1.1", program(GOOD, seconds=3))
    first = start()
    wait_for(lambda: cache.is_dir() and list(cache.glob("macaulay2-unfinished-*")))
    second = start()
    said = [process.communicate(timeout=60)[1] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), said
    assert "waiting for another installation to end" in said[1]
    assert "installed already" in said[1]
    assert left_in(cache) == ["lock", "macaulay2"]


def test_release_without_install_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(["doctor", "--release", "10.8.2"]) == 2


@pytest.mark.slow
def test_real_installation(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        made = install_macaulay2()
    except InstallationFailed as error:
        if "cannot be reached" in str(error):
            pytest.skip(str(error))
        raise
    assert made.executable == installed_executable()
    found = diagnose()
    assert found.works, found.text()
    assert found.macaulay2 is not None
    assert found.macaulay2.executable == made.executable
    assert left_in(cache) == ["lock", "macaulay2"]
