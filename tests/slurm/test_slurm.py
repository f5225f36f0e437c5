"""Sweeps on a real cluster of three nodes: the same answers as at home, and what goes wrong on clusters."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from m2bridge.cli import run_command_line
from m2bridge.macaulay2 import find_macaulay2
from m2bridge.sweep import Store, Sweep, read_sweep
from m2bridge.sweep.slurm import Wave, batch_script
from m2bridge.sweep.table import rows, text
from tests.records import check_records
from tests.slurm.cluster import Cluster

pytestmark = pytest.mark.slurm

LARGEST_ARRAY = 5

LAYERS = """
question = "dimension"
[model]
family = "lightning"
d = "1..3"
d_out = "1..2"
a = "1..3"
t = "1..6"
[executor]
kind = "slurm"
poll = 1
workers = 8
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    found = Cluster(tmp_path_factory.mktemp("slurm"), max_array_size=LARGEST_ARRAY)
    patch = pytest.MonkeyPatch()
    for name, value in found.environment.items():
        patch.setenv(name, value)
    yield found
    patch.undo()
    found.stop()


def _sweep(folder: Path, content: str, store: str = "store") -> Sweep:
    path = folder / "grid.toml"
    path.write_text(content)
    source = read_sweep(path)
    read = source.content
    sweep = Sweep(Store(folder / store), read.name, source.expand("1.21"), read.limits, read.executor)
    sweep.save()
    return sweep


def _resume(sweep: Sweep, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "m2bridge", "sweep", "resume", "--store", str(sweep.store.folder), *options]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def _resumed(sweep: Sweep) -> tuple[int, str]:
    process = _resume(sweep)
    _, said = process.communicate(timeout=180)
    return process.returncode, said


def _wait_until_queued(cluster: Cluster, sweep: Sweep) -> None:
    """Wait for a job array of this sweep; those of earlier tests may still be completing."""
    while True:
        waves = {path.name for path in sweep.store.folder.glob("sweeps/*/waves/*")}
        if waves & set(cluster.squeue("--format=%j")):
            return
        time.sleep(0.1)


def _elements(sweep: Sweep) -> list[int]:
    """Return the processes that work for a sweep's array elements."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            if b"m2bridge.sweep.element" in words and any(str(sweep.store.folder).encode() in w for w in words):
                found.append(int(entry.name))
    return found


def _assert_nothing_left(folder: Path) -> None:
    """Assert that no process names the folder: neither elements nor workers nor Macaulay2."""
    for _ in range(200):
        left = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and str(folder).encode() in (entry / "cmdline").read_bytes():
                    left.append((entry / "cmdline").read_bytes())
        if not left:
            return
        time.sleep(0.1)
    raise AssertionError(left)


def test_same_table_as_at_home_in_arrays_of_the_allowed_size(cluster: Cluster, tmp_path: Path) -> None:
    remote = _sweep(tmp_path, LAYERS)
    code, said = _resumed(remote)
    assert code == 0, said
    home = _sweep(tmp_path, LAYERS.replace('kind = "slurm"', ""), "home")
    assert _resumed(home)[0] == 0
    tables = ["".join(text(*rows(sweep), "csv")) for sweep in (remote, home)]
    assert tables[0] == tables[1]
    assert tables[0].count(",done,,proved,") == 108
    sizes = [json.loads(path.read_text())["elements"] for path in (remote.folder / "waves").glob("*/wave.json")]
    assert sum(sizes) == 8  # 14 jobs in each but the last
    assert max(sizes) == LARGEST_ARRAY
    assert set(check_records(remote.store).values()) == {1}
    _assert_nothing_left(tmp_path)


def test_submitter_may_die_and_others_wait_and_cancel(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = _sweep(tmp_path, LAYERS)
    store = ["--store", str(sweep.store.folder)]
    process = _resume(sweep)
    _wait_until_queued(cluster, sweep)
    process.kill()
    process.communicate()
    assert run_command_line(["sweep", "status", *store, "--json"]) == 0
    assert sum(json.loads(capsys.readouterr().out)["cluster"].values()) > 0
    assert run_command_line(["sweep", "wait", *store]) == 0
    assert sweep.counts() == {"done": 108}
    # Once more, but cancelled by somebody else.
    other = _sweep(tmp_path, LAYERS, "other")
    process = _resume(other)
    while not other.counts()["done"]:
        time.sleep(0.1)
    assert run_command_line(["sweep", "cancel", "--store", str(other.store.folder)]) == 0
    process.communicate(timeout=60)
    assert process.returncode == 3
    _assert_nothing_left(tmp_path)
    assert other.counts()["running"] == 0
    assert _resumed(other)[0] == 0
    assert set(check_records(other.store).values()) == {1}


def test_interrupted_submitter_leaves_the_cluster_working(cluster: Cluster, tmp_path: Path) -> None:
    sweep = _sweep(tmp_path, LAYERS)
    process = _resume(sweep)
    _wait_until_queued(cluster, sweep)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "the cluster works on" in said
    assert run_command_line(["sweep", "wait", "--store", str(sweep.store.folder)]) == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ('partition = "nowhere"', "invalid partition"),
        ('prologue = "echo no such module; exit 3"', "no such module"),
        ('options = ["--no-such-option"]', "unrecognized option"),
    ],
)
def test_what_the_cluster_refuses_is_an_error(cluster: Cluster, tmp_path: Path, settings: str, message: str) -> None:
    sweep = _sweep(tmp_path, LAYERS + settings + "\n")
    code, said = _resumed(sweep)
    assert code == 4
    assert message in said
    _assert_nothing_left(tmp_path)
    assert sweep.counts() == {"waiting": 108}


def test_dry_run_writes_what_sbatch_takes(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content = LAYERS.replace("workers = 8", "workers = 2").replace('t = "1..6"', "t = 2")
    content += 'prologue = "echo loaded > loaded.txt"\nlauncher = "nice"\n'
    sweep = _sweep(tmp_path, content)
    arguments = ["sweep", "plan", str(tmp_path / "grid.toml"), "--store", str(sweep.store.folder)]
    assert run_command_line([*arguments, "--dry-run", "--json"]) == 0
    (script,) = json.loads(capsys.readouterr().out)["scripts"]
    assert Path(script).parent.name not in cluster.squeue("--format=%j")
    cluster.run("sbatch", "--wait", script)
    assert sweep.counts() == {"done": 18}
    # The prologue runs where the sweep was planned.
    assert Path("loaded.txt").read_text() == "loaded\n"


def test_paths_with_blanks_and_quotes(cluster: Cluster, tmp_path: Path) -> None:
    folder = tmp_path / 'a "folder" 100% it\'s'
    folder.mkdir()
    sweep = _sweep(folder, LAYERS.replace('t = "1..6"', "t = 2"))
    code, said = _resumed(sweep)
    assert code == 0, said


def test_resources_go_to_sbatch(tmp_path: Path) -> None:
    sweep = _sweep(tmp_path, LAYERS + 'account = "algebra"\noptions = ["--qos=long"]\n')
    script = batch_script(Wave("w", 4, 7, 900), tmp_path, sweep.settings)
    for option in ("--array=0-3", "--time=7", "--mem=900M", "--account=algebra", "--qos=long", "--requeue"):
        assert f"#SBATCH {option}\n" in script


@pytest.mark.macaulay2
def test_everything_goes_wrong(cluster: Cluster, tmp_path: Path) -> None:
    """Submitters killed, elements killed and cancelled, a node gone, the controller away: each job gets its outcome."""
    generator = random.Random(11)
    # The real Macaulay2, but for an ideal with seven variables: that one kills its process.
    m2 = tmp_path / "M2"
    m2.write_text(
        "#!/bin/sh\n"
        'for a in "$@"; do case $a in *.m2) if grep -q "y_6" "$a" && ! grep -q "y_7" "$a"; then kill -9 $$; fi;; '
        f'esac; done\nexec {find_macaulay2().executable} "$@"\n'
    )
    m2.chmod(0o755)

    def write(name: str, variables: int, generators: list[str], field: str = "GF(32003)") -> None:
        ideal = {"field": field, "variables": [f"x{i}" for i in range(variables)], "generators": generators}
        (tmp_path / f"{name}.json").write_text(json.dumps(ideal))

    for number in range(300):
        write(f"small{number:03}", 2, [f"x0^2 - {number}*x1", "x1^2 - x0"])
    write("poison", 7, ["x0^2 - x6"])
    pairs = [f"x{i}*x{j}" for i in range(18) for j in range(i, 18)]
    quadrics = ["+".join(f"{generator.randrange(1, 32003)}*{pair}" for pair in pairs) for _ in range(18)]
    write("large", 18, quadrics)
    cyclic = [" + ".join("*".join(f"x{(i + j) % 8}" for j in range(d)) for i in range(8)) for d in range(1, 8)]
    write("long", 8, [*cyclic, "x0*x1*x2*x3*x4*x5*x6*x7 - 1"])
    sweep = _sweep(
        tmp_path,
        'question = "groebner"\nideals = ["*.json"]\nlimits = {time = 20, memory = 400}\n'
        f'executor = {{kind = "slurm", engine = "script", m2 = "{m2}", poll = 1, chunk = 6}}\n',
    )

    def kill_an_element() -> None:
        for pid in _elements(sweep)[:1]:
            os.kill(pid, signal.SIGKILL)

    def cancel_half() -> None:
        lines = cluster.squeue("--array", "--format=%A")
        for number in lines[::2]:
            cluster.run("scancel", number, check=False)

    def restart_the_controller() -> None:
        cluster.stop_controller(signal.SIGKILL)
        time.sleep(3)
        cluster.start_controller()

    faults = {
        1: kill_an_element,
        2: cancel_half,
        4: lambda: cluster.kill_node("n2"),
        6: restart_the_controller,
        8: kill_an_element,
    }
    for number in range(10):
        process = _resume(sweep)
        time.sleep(generator.uniform(1.5, 4.0))
        faults.get(number, lambda: None)()
        process.kill()
        process.communicate()
    assert 0 < sweep.counts()["done"] < 300, "the faults came too late"
    two = [_resume(sweep) for _ in range(2)]
    said = [process.communicate(timeout=500)[1] for process in two]
    assert [process.returncode for process in two] == [3, 3], said
    cluster.start_node("n2")
    _assert_nothing_left(tmp_path)
    named = {Path(job.values["ideal"]).stem: state for job, state in zip(sweep.jobs, sweep.states(), strict=True)}
    assert (named["poison"].state, named["poison"].reason) == ("failed", "crashed")
    assert (named["large"].state, named["large"].reason) == ("undecided", "memory")
    assert (named["long"].state, named["long"].reason) == ("undecided", "time")
    assert sweep.counts() == {"done": 300, "failed": 1, "undecided": 2}
    assert set(check_records(sweep.store).values()) == {1}
