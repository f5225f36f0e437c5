"""Files of maps and ideals, JSON and TOML: read strictly, refused with the place of the fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from m2bridge import read_ideal, read_map
from m2bridge.errors import InputError
from m2bridge.polynomials import to_text

MAP: dict[str, Any] = {
    "field": "QQ",
    "parameters": ["s", "α"],
    "coordinates": ["s^2", "s*α", 3],
    "coordinate_names": ["x", "ideal", "z"],
    "points": {"tip": {"s": "1/2", "α": 3}, "generic": "random integers"},
}
TOML = """
field = "QQ"  # a comment
parameters = ["s", "α"]
coordinates = ["s^2", "s*α", 3]
coordinate_names = ["x", "ideal", "z"]
[points]
generic = "random integers"
[points.tip]
s = "1/2"
"α" = 3
"""


def _write(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_json_and_toml_are_the_same(tmp_path: Path) -> None:
    maps = [read_map(_write(tmp_path, "map.json", MAP)), read_map(str(_write(tmp_path, "map.toml", TOML)))]
    assert maps[0].describe() == maps[1].describe()
    for map_ in maps:
        assert map_.parameters == ("s", "α")
        assert [to_text(f) for f in map_.coordinates] == ["s^2", "s*α", "3"]
        assert map_.named_point("tip") == map_.point({"s": "1/2", "α": 3})
        assert map_.named_point("generic") == map_.random_point(0)


def test_description_is_a_map_file(tmp_path: Path) -> None:
    first = read_map(_write(tmp_path, "map.json", MAP | {"relations": ["s^2+α^2-1"]}))
    again = read_map(_write(tmp_path, "again.json", first.describe()))
    assert again.describe() == first.describe()


# file name, content, words of the refusal
REFUSED: dict[str, tuple[str, object, str]] = {
    "not-json": ("map.json", "{field: QQ}", "is not JSON"),
    "cut": ("map.json", json.dumps(MAP)[:-5], "is not JSON"),
    "empty": ("map.json", "", "is not JSON"),
    "not-toml": ("map.toml", "field = QQ", "is not TOML"),
    "list": ("map.json", [], "Expected `object`"),
    "unknown-key": ("map.json", MAP | {"color": 1}, "unknown field `color`"),
    "unknown-key-toml": ("map.toml", TOML.replace("field", "feild", 1), "unknown field `feild`|required field `field`"),
    "missing-key": ("map.json", {"field": "QQ", "parameters": []}, "missing required field `coordinates`"),
    "text-for-list": ("map.json", MAP | {"coordinates": "s"}, r"`\$.coordinates`"),
    "null": ("map.json", MAP | {"parameters": None}, r"`\$.parameters`"),
    "float-coordinate": ("map.json", MAP | {"coordinates": [0.5, 1, 2]}, r"not exact"),
    "float-toml": ("map.toml", TOML.replace("3]", "0.5]", 1), "not exact"),
    "float-in-text": ("map.json", MAP | {"coordinates": ["0.5", "s", "s"]}, "coordinate x: .*not exact"),
    "float-point": ("map.json", MAP | {"points": {"tip": {"s": 0.5}}}, r"points.*not exact|not exact.*points"),
    "boolean": ("map.json", MAP | {"coordinates": [True, 1, 2]}, "got `bool`"),
    "field": ("map.json", MAP | {"field": "GF(9)"}, "9 is not prime"),
    "repeated-name": ("map.json", MAP | {"parameters": ["s", "s"]}, "parameters: the name 's' is given twice"),
    "undeclared": ("map.json", MAP | {"coordinates": ["s", "s", "u"]}, "coordinate z: in 'u', the name 'u'"),
    "relation": ("map.json", MAP | {"relations": ["s-"]}, "relation 1: "),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_refusal_names_the_file_and_the_place(fault: str, tmp_path: Path) -> None:
    name, content, message = REFUSED[fault]
    path = _write(tmp_path, name, content)
    with pytest.raises(InputError, match=message) as caught:
        read_map(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_map(tmp_path / "missing.json")
    with pytest.raises(InputError, match="directory"):
        read_map(tmp_path)
    for name in ("latin.json", "latin.toml"):
        path = tmp_path / name
        path.write_bytes('{"field": "é"}'.encode("latin-1"))
        with pytest.raises(InputError, match="is not"):
            read_map(path)


def test_ideal_file(tmp_path: Path) -> None:
    content = {"field": "GF(7)", "variables": ["x", "gb"], "generators": ["x*gb-2", 0], "order": "elim:1"}
    ideal, order = read_ideal(_write(tmp_path, "ideal.json", content))
    assert order == "elim:1"
    assert ideal.describe() == {"field": "GF(7)", "variables": ["x", "gb"], "generators": ["x*gb+5", "0"]}
    toml = 'field = "QQ"\nvariables = ["x"]\ngenerators = []\n'
    assert read_ideal(_write(tmp_path, "ideal.toml", toml))[1] == "grevlex"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variables": [], "generators": []}, "no variables"),
        ({"variables": ["x", "x"]}, "given twice"),
        ({"generators": ["y"]}, "generator 1: .*'y' is not declared"),
        ({"generators": [1.5]}, "not exact"),
        ({"coordinates": []}, "unknown field"),
        ({"order": 1}, r"`\$.order`"),
    ],
)
def test_ideal_file_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    content = {"field": "QQ", "variables": ["x"], "generators": ["x"]} | changes
    path = _write(tmp_path, "ideal.json", content)
    with pytest.raises(InputError, match=message):
        read_ideal(path)
