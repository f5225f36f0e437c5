"""The sweep file: what it expands to, and what is refused, with line and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from m2bridge.errors import SweepFileError
from m2bridge.sweep import read_sweep

HEAD = 'question = "dimension"\n'
LAYER = '[model]\nfamily = "lightning"\nd = "1..3"\nd_out = 1\na = [1, 2, 3]\nt = 2\n'


def _jobs(folder: Path, text: str) -> list[tuple[str, ...]]:
    path = folder / "sweep.toml"
    path.write_text(text)
    return [job.arguments for job in read_sweep(path).expand("1.21")]


def test_grid_conditions_and_zips(tmp_path: Path) -> None:
    assert len(_jobs(tmp_path, HEAD + LAYER)) == 9
    assert len(_jobs(tmp_path, HEAD + LAYER + 'where = "a <= d"\n')) == 6
    zipped = _jobs(tmp_path, HEAD + LAYER + 'zip = [["d", "a"]]\n')
    assert [(j[2], j[6]) for j in zipped] == [("1", "1"), ("2", "2"), ("3", "3")]
    assert zipped[0] == ("lightning", "--d", "1", "--d-out", "1", "--a", "1", "--t", "2")


def test_deep_grid(tmp_path: Path) -> None:
    text = '[model]\nfamily = "lightning"\nwidths = {length = [3], entries = "1..2"}\nranks = [[1, 1]]\nt = 2\n'
    jobs = _jobs(tmp_path, HEAD + text + 'where = ["widths[0] > 1", "len(ranks) == len(widths) - 1"]\n')
    assert [j[2] for j in jobs] == ["2,1,1", "2,1,2", "2,2,1", "2,2,2"]


def test_key_depends_on_the_question_alone(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    keys = []
    for rest in ("", "[limits]\ntime = 5\n", '[executor]\nengine = "script"\n', "[options]\nseed = 1\n"):
        path.write_text(HEAD + LAYER + rest)
        keys.append([job.key for job in read_sweep(path).expand("1.21")])
    assert keys[0] == keys[1] == keys[2]
    assert not set(keys[0]) & set(keys[3])
    path.write_text(HEAD.replace("dimension", "closure") + LAYER)
    old, new = ({j.key for j in read_sweep(path).expand(v)} for v in ("1.21", "1.25"))
    assert not old & new


def test_key_depends_on_a_map_s_content(tmp_path: Path) -> None:
    map_ = tmp_path / "cubic.json"
    (tmp_path / "sweep.toml").write_text(HEAD + 'maps = ["*.json"]\n')
    keys = set()
    for coordinates in ('["s^2", "s"]', '["s^2", "s^3"]'):
        map_.write_text(f'{{"field": "QQ", "parameters": ["s"], "coordinates": {coordinates}}}')
        keys |= {job.key for job in read_sweep(tmp_path / "sweep.toml").expand("1.21")}
    assert len(keys) == 2


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ('question = "dimensions"\n', 1, "question"),
        (HEAD + "limit = 3\n", 0, "limit"),
        (HEAD + LAYER.replace("t = 2", "t = 2.5"), 7, "model.t"),
        (HEAD + LAYER.replace("t = 2", 't = "two"'), 7, "model.t"),
        (HEAD + LAYER.replace("t = 2", "tt = 2"), 7, "model.tt"),
        (HEAD + LAYER.replace("t = 2", "t = []"), 7, "model.t"),
        (HEAD + LAYER.replace("1..3", "3..1"), 4, "model.d"),
        (HEAD + LAYER.replace("lightning", "thunder"), 3, "model.family"),
        (HEAD + LAYER + 'where = "a <="\n', 8, "model.where"),
        (HEAD + LAYER + 'where = "a <= n"\n', 8, "model.where"),
        (HEAD + LAYER + "where = \"__import__('os')\"\n", 8, "model.where"),
        (HEAD + LAYER + 'zip = [["d", "t"]]\n', 8, "model.zip"),
        (HEAD + LAYER + "[limits]\ntime = -1\n", 9, "limits.time"),
        (HEAD + LAYER + '[limits]\ntime = "a day"\n', 9, "limits.time"),
        (HEAD + LAYER + "[limits.escalation]\nfactor = 1\n", 9, "limits.escalation.factor"),
        (HEAD + LAYER + "[options]\njson = true\n", 9, "options.json"),
        (HEAD + LAYER + 'where = "a > 9"\n', 0, ""),
        (HEAD + 'maps = ["none/*.json"]\n', 2, "maps"),
        ('question = "membership"\nmaps = ["*.json"]\n', 2, "maps"),
        (HEAD + "model = \n", 0, ""),
    ],
)
def test_refusals_name_line_and_key(tmp_path: Path, text: str, line: int, key: str) -> None:
    with pytest.raises(SweepFileError) as refused:
        _jobs(tmp_path, text)
    place = f"{tmp_path / 'sweep.toml'}:{line}" if line else str(tmp_path / "sweep.toml")
    assert refused.value.place.startswith(place)
    assert refused.value.place.endswith(key)
