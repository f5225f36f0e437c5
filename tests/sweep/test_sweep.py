"""Sweeps that are run for real: outcomes, kills, retries, one writer a file, and tables."""

from __future__ import annotations

import csv
import html.parser
import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from io import StringIO
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import pytest

from m2bridge.cli import run_command_line
from m2bridge.errors import InputError
from m2bridge.macaulay2 import find_macaulay2
from m2bridge.sweep import Record, Store, Sweep, read_sweep
from m2bridge.sweep.driver import stop_slots
from m2bridge.sweep.report import report
from m2bridge.sweep.store import Writer
from m2bridge.sweep.table import rows
from tests.records import check_records

LAYERS = """
question = "dimension"
[model]
family = "lightning"
d = "1..3"
d_out = "1..2"
a = "1..3"
t = "1..2"
"""


def _sweep(folder: Path, text: str) -> Sweep:
    path = folder / "grid.toml"
    path.write_text(text)
    source = read_sweep(path)
    content = source.content
    jobs = source.expand("1.21")
    sweep = Sweep(Store(folder / "store"), content.name, jobs, content.limits, content.executor)
    sweep.save()
    return sweep


def _command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "m2bridge", "sweep", *map(str, arguments)]


def test_values_and_second_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "grid.toml").write_text(LAYERS)
    arguments = ["sweep", "run", str(tmp_path / "grid.toml"), "--store", str(tmp_path / "store")]
    assert run_command_line(arguments) == 0
    assert run_command_line(["sweep", "table", "--store", str(tmp_path / "store"), "--format", "csv"]) == 0
    table = list(csv.DictReader(StringIO(capsys.readouterr().out)))
    assert len(table) == 36
    # Theorem on single layers, t >= 2: r (2 d - r) + d d' - 1 with r = min(a, d), where d' >= 2 and r >= 2.
    (row,) = [r for r in table if (r["d"], r["d_out"], r["a"], r["t"]) == ("3", "2", "2", "2")]
    assert (row["exact"], row["evidence"], row["state"]) == ("13", "proved", "done")
    before = sum(1 for _ in Store(tmp_path / "store").all_records())
    assert run_command_line(arguments) == 0
    assert sum(1 for _ in Store(tmp_path / "store").all_records()) == before


def test_any_executor(tmp_path: Path) -> None:
    sweep = _sweep(tmp_path, LAYERS)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        counts = sweep.run(executor, 2)
    assert counts == {"done": 36}
    assert set(check_records(sweep.store).values()) == {1}


@pytest.mark.filterwarnings("ignore")  # of distributed's own
def test_dask(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    sweep = _sweep(tmp_path, LAYERS)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        counts = sweep.run(client.get_executor(pure=False), 2)
        client.run(stop_slots)
    assert counts == {"done": 36}
    assert set(check_records(sweep.store).values()) == {1}


def test_submitter_killed_again_and_again(tmp_path: Path) -> None:
    sweep = _sweep(tmp_path, LAYERS.replace('\nt = "1..2"', '\nt = "1..6"'))
    generator = random.Random(7)
    for _ in range(5):
        process = subprocess.Popen(_command("resume", "--store", sweep.store.folder), stderr=subprocess.DEVNULL)
        time.sleep(generator.uniform(0.4, 2.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
    two = [
        subprocess.Popen(_command("resume", "--store", sweep.store.folder), stderr=subprocess.DEVNULL) for _ in range(2)
    ]
    assert [process.wait(120) for process in two] == [0, 0]
    assert sweep.counts() == {"done": 108}
    assert set(check_records(sweep.store).values()) == {1}


def test_interrupt_ends_at_once_and_resumes(tmp_path: Path) -> None:
    sweep = _sweep(tmp_path, LAYERS.replace('\nt = "1..2"', '\nt = "1..6"'))
    process = subprocess.Popen(_command("resume", "--store", sweep.store.folder), stderr=subprocess.PIPE)
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode in (0, 130), said
    assert sweep.counts()["running"] == 0
    assert subprocess.run(_command("resume", "--store", sweep.store.folder), check=False).returncode == 0
    assert set(check_records(sweep.store).values()) == {1}


@pytest.mark.macaulay2
def test_time_escalates_and_stays_undecided(tmp_path: Path) -> None:
    text = """
    question = "closure"
    options = {strategy = "eliminate"}
    model = {family = "lightning", d = [2, 4], d_out = [1, 3], a = 1, t = 2, zip = [["d", "d_out"]]}
    limits = {time = 1, escalation = {factor = 2, at-most = 1}}
    """
    sweep = _sweep(tmp_path, text)
    assert subprocess.run(_command("resume", "--store", sweep.store.folder), check=False).returncode == 3
    assert [(s.state, s.reason) for s in sweep.states()] == [("done", ""), ("undecided", "time")]
    tried = [r.time_seconds for r in sweep.store.all_records() if r.kind == "end" and r.outcome == "undecided"]
    assert tried == [1.0, 2.0]
    names, table = rows(sweep, times=True)
    assert table[1][names.index("time_limit")] == 2.0


@pytest.mark.macaulay2
def test_poisoned_jobs_stop_and_harm_no_neighbour(tmp_path: Path) -> None:
    # The real Macaulay2, but for a script whose ideal has seven variables: that one kills its process.
    m2 = tmp_path / "M2"
    m2.write_text(
        "#!/bin/sh\n"
        'for a in "$@"; do case $a in *.m2) if grep -q "y_6" "$a"; then kill -9 $$; fi;; esac; done\n'
        f'exec {find_macaulay2().executable} "$@"\n'
    )
    m2.chmod(m2.stat().st_mode | stat.S_IXUSR)
    for n in (3, 4, 7):
        names = [f"x{i}" for i in range(n)]
        ideal = {
            "field": "QQ",
            "variables": names,
            "generators": [f"{a}^2 - {b}" for a, b in pairwise(names)],
        }
        (tmp_path / f"ideal{n}.json").write_text(json.dumps(ideal))
    sweep = _sweep(
        tmp_path, f'question = "groebner"\nideals = ["ideal*.json"]\nexecutor = {{engine = "script", m2 = "{m2}"}}\n'
    )
    assert subprocess.run(_command("resume", "--store", sweep.store.folder), check=False).returncode == 1
    assert [s.state for s in sweep.states()] == ["done", "done", "failed"]
    crashes = [r for r in sweep.store.all_records() if r.outcome == "crashed"]
    assert len(crashes) == 3
    file, _, line = crashes[0].log.rpartition(":")
    assert "m2bridge groebner" in (sweep.store.folder / file).read_text().splitlines()[int(line) - 1]


def test_bad_jobs_fail_with_their_place(tmp_path: Path) -> None:
    sweep = _sweep(tmp_path, LAYERS.replace('d = "1..3"', "d = [0, 1]").replace('a = "1..3"', "a = 1"))
    assert subprocess.run(_command("resume", "--store", sweep.store.folder), check=False).returncode == 1
    states = [s.state for s in sweep.states()]
    assert states == ["failed"] * 4 + ["done"] * 4


def test_torn_and_merged_records(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    for key in "abc":
        with Writer(store) as writer:
            writer.write(Record("start", key, 1.0))
            writer.write(Record("end", key, 2.0, "done"))
            torn = store.records / writer.name
        with torn.open("ab") as file:
            file.write(b'{"kind":"end","key":"z","at":3.0,"outc')
    histories = store.refresh()
    assert {key: h.final for key, h in histories.items()} == dict.fromkeys("abc", "done")
    assert store.merge() == 3
    assert len(os.listdir(store.records)) == 1
    for reader in (store, Store(tmp_path / "store")):
        assert {key: h.final for key, h in reader.refresh().items()} == dict.fromkeys("abc", "done")
    store.pardon(["a"])
    assert [Store(tmp_path / "store").refresh()[key].final for key in "ab"] == [None, "done"]


def test_table_where_and_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep = _sweep(tmp_path, LAYERS)
    assert subprocess.run(_command("resume", "--store", sweep.store.folder), check=False).returncode == 0
    base = ["sweep", "table", "--store", str(sweep.store.folder)]
    assert run_command_line([*base, "--where", "d = 3 and t = 2", "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 6
    assert run_command_line([*base, "--where", "no_such = 1"]) == 2
    assert run_command_line([*base, "--where", "1); drop table jobs; --"]) == 2
    assert run_command_line([*base, "--format", "latex"]) == 0
    assert capsys.readouterr().out.startswith(r"\begin{tabular}")
    assert run_command_line([*base, "--format", "parquet"]) == 2
    pyarrow = pytest.importorskip("pyarrow.parquet")
    assert run_command_line([*base, "--format", "parquet", "--output", str(tmp_path / "t.parquet")]) == 0
    names, table = rows(sweep)
    read = pyarrow.read_table(tmp_path / "t.parquet").to_pydict()
    assert {name: list(column) for name, column in zip(names, zip(*table, strict=True), strict=True)} == read
    assert run_command_line([*base, "--output", str(tmp_path / "none" / "t.csv"), "--format", "csv"]) == 2


def test_report(tmp_path: Path) -> None:
    # The published formula fails for two layers of equal widths, the first of rank 1; rank 0 is refused.
    deep = '[[model]]\nfamily = "lightning"\nwidths = [[2, 2, 2], [2, 2, 3]]\nranks = [[1, 2], [2, 2], [0, 2]]\nt = 2\n'
    sweep = _sweep(tmp_path, LAYERS.replace("[model]", "[[model]]") + deep)
    assert "42 waiting" in report(sweep)
    assert subprocess.run(_command("resume", "--store", sweep.store.folder), check=False).returncode == 1
    page = report(sweep, down="a")
    html.parser.HTMLParser().feed(page)
    disagreements = page[page.index("<h2>Disagreements") : page.index("<h2>The grid")]
    assert disagreements.count("<code>") == 2
    assert disagreements.count("number bad") == 2
    assert "--widths 2,2,2 --ranks 1,2" in disagreements
    failures = page[page.index("<h2>Failed") : page.index("<h2>Time")]
    assert failures.count("<code>m2bridge") == 2
    with pytest.raises(InputError, match="no_such"):
        report(sweep, across="no_such")


def test_full_disk_is_waited_for(tmp_path: Path) -> None:
    """The store and the files of jobs on a small file system: what is not written whole is written again."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=900k", "tmpfs", str(small)],  # noqa: S607
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        sweep = _sweep(small, LAYERS)
        filling = small / "filling"
        with filling.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"x" * 512)
        environment = {**os.environ, "TMPDIR": str(small)}
        command = _command("resume", "--store", sweep.store.folder)
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment)
        time.sleep(5)
        assert process.poll() is None
        assert sweep.counts()["done"] < 36
        filling.unlink()
        assert process.wait(60) == 0
        assert set(check_records(sweep.store).values()) == {1}
        assert sweep.counts() == {"done": 36}
    finally:
        subprocess.run(["umount", str(small)], check=True)  # noqa: S607


def test_not_a_store(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear reader")
    assert run_command_line(["sweep", "status", "--store", str(tmp_path)]) == 4
    assert run_command_line(["sweep", "status", "--store", str(tmp_path / "none")]) == 4
    assert (tmp_path / "letter.txt").exists()
    assert not (tmp_path / "none").exists()
