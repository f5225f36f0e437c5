"""Reading result documents: every malformed field is refused with its path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from m2bridge.document import FORMAT, ResultDocument, Terms, decode_result, read_document, read_polynomials
from m2bridge.errors import ResultError
from m2bridge.fields import parse_field
from m2bridge.polynomials import make_ring, parse_polynomial
from tests.recorded import RESULTS
from tests.tiny import INSTANCES

KEY = "ab" * 32
DOCUMENT: dict[str, Any] = {
    "format": FORMAT,
    "operation": "fibre",
    "key": KEY,
    "macaulay2": "1.21",
    "seed": 0,
    "cpu_microseconds": 17,
    "peak_kilobytes": None,
    "result": {"dim": 1, "f": {"exponents": [[2, 0], [0, 1]], "coefficients": ["1", "-2/3"]}},
}


class _Fields(msgspec.Struct, forbid_unknown_fields=True):
    dim: int
    f: Terms


def _write(folder: Path, content: object) -> Path:
    path = folder / "result.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_good_document(tmp_path: Path) -> None:
    document = read_document(_write(tmp_path, DOCUMENT), "fibre", KEY)
    assert (document.operation, document.key, document.macaulay2) == ("fibre", KEY, "1.21")
    fields = decode_result(document, _Fields, tmp_path)
    ring = make_ring(("x", "y"), parse_field("QQ"))
    assert fields.f.in_ring(ring) == parse_polynomial("x^2-2/3*y", ring)
    wide = make_ring(("a", "b", "c"), parse_field("GF(7)"))
    assert fields.f.in_ring(wide, [2, 0]) == parse_polynomial("c^2-2/3*a", wide)


@pytest.mark.parametrize("name", INSTANCES)
def test_recorded_documents_are_good(name: str) -> None:
    content = json.loads((RESULTS / f"{name}.json").read_bytes())
    document = read_document(RESULTS / f"{name}.json", name, content["key"])
    assert isinstance(document, ResultDocument)
    assert document.operation == name


# changes of the envelope, words of the refusal
ENVELOPES: dict[str, tuple[dict[str, Any], str]] = {
    "old-format": ({"format": "m2bridge-document/0"}, "format 'm2bridge-document/0', expected 'm2bridge-document/1'"),
    "no-format": ({"format": None}, r"`\$.format`"),
    "operation": ({"operation": "closure"}, "of operation 'closure', expected 'fibre'"),
    "key": ({"key": "cd" * 32}, "of script (cd){32}, expected (ab){32}"),
    "empty-key": ({"key": ""}, "of script , expected"),
    "number-for-key": ({"key": 7}, r"`\$.key`"),
    "version": ({"macaulay2": 1.21}, r"got `float` - at `\$.macaulay2`"),
    "seed": ({"seed": "0"}, r"`\$.seed`"),
    "cpu": ({"cpu_microseconds": 1.5}, r"got `float` - at `\$.cpu_microseconds`"),
    "memory": ({"peak_kilobytes": "much"}, r"`\$.peak_kilobytes`"),
    "unknown": ({"comment": ""}, "unknown field `comment`"),
}


@pytest.mark.parametrize("fault", ENVELOPES)
def test_envelope_is_refused(fault: str, tmp_path: Path) -> None:
    changes, message = ENVELOPES[fault]
    path = _write(tmp_path, DOCUMENT | changes)
    with pytest.raises(ResultError, match=message) as caught:
        read_document(path, "fibre", KEY)
    assert caught.value.file == str(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("key", DOCUMENT)
def test_missing_field_is_refused(key: str, tmp_path: Path) -> None:
    path = _write(tmp_path, {k: v for k, v in DOCUMENT.items() if k != key})
    with pytest.raises(ResultError, match=f"missing required field `{key}`"):
        read_document(path, "fibre", KEY)


def test_every_cut_is_refused(tmp_path: Path) -> None:
    text = json.dumps(DOCUMENT)
    for length in range(len(text)):
        with pytest.raises(ResultError, match="cut or malformed"):
            read_document(_write(tmp_path, text[:length]), "fibre", KEY)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="No such file"):
        read_document(tmp_path / "missing.json", "fibre", KEY)
    with pytest.raises(ResultError, match="cannot be read"):
        read_document(tmp_path, "fibre", KEY)
    (tmp_path / "bytes").write_bytes(b'{"format": "\xff\xfe"}')
    with pytest.raises(ResultError, match="cut or malformed"):
        read_document(tmp_path / "bytes", "fibre", KEY)


# the result's fields, words of the refusal
FIELDS: dict[str, tuple[Any, str]] = {
    "float": ({"dim": 1.0}, r"Expected `int`, got `float` - at `\$.dim`"),
    "text": ({"dim": "1"}, r"got `str` - at `\$.dim`"),
    "boolean": ({"dim": True}, r"got `bool` - at `\$.dim`"),
    "null": ({"dim": None}, r"got `null` - at `\$.dim`"),
    "unknown": ({"degree": 1}, "unknown field `degree`"),
    "polynomial": ({"f": "x^2"}, r"got `str` - at `\$.f`"),
    "exponents": ({"f": {"exponents": [[0.5]], "coefficients": ["1"]}}, r"`\$.f.exponents\["),
    "coefficients": ({"f": {"exponents": [[1, 0]], "coefficients": [1]}}, r"`\$.f.coefficients\["),
    "no-coefficients": ({"f": {"exponents": []}}, r"required field `coefficients` - at `\$.f`"),
}


@pytest.mark.parametrize("fault", FIELDS)
def test_field_is_refused_with_its_path(fault: str, tmp_path: Path) -> None:
    changes, message = FIELDS[fault]
    path = _write(tmp_path, DOCUMENT | {"result": DOCUMENT["result"] | changes})
    document = read_document(path, "fibre", KEY)
    with pytest.raises(ResultError, match=message):
        decode_result(document, _Fields, path)


@pytest.mark.parametrize("result", [[], 7, None, "x"])
def test_result_must_be_an_object(result: object, tmp_path: Path) -> None:
    path = _write(tmp_path, DOCUMENT | {"result": result})
    with pytest.raises(ResultError, match="Expected `object`"):
        decode_result(read_document(path, "fibre", KEY), _Fields, path)


@pytest.mark.parametrize(
    ("exponents", "coefficients", "message"),
    [
        ([[1, 0]], [], "differ in number"),
        ([[1]], ["1"], "exponent vector"),
        ([[1, 0, 0]], ["1"], "exponent vector"),
        ([[-1, 0]], ["1"], "exponent vector"),
        ([[1, 0], [1, 0]], ["1", "2"], "zero or repeated term"),
        ([[1, 0]], ["0"], "zero or repeated term"),
        ([[1, 0]], ["7"], "zero or repeated term"),
        ([[1, 0]], ["1.5"], "not an exact number"),
        ([[1, 0]], ["x"], "not an exact number"),
        ([[1, 0]], [""], "not an exact number"),
        ([[1, 0]], ["1/0"], "denominator 0"),
        ([[1, 0]], ["1/7"], "no value in GF"),
    ],
)
def test_polynomial_is_refused(exponents: list[list[int]], coefficients: list[str], message: str) -> None:
    ring = make_ring(("x", "y"), parse_field("GF(7)"))
    with pytest.raises(ResultError, match=message):
        read_polynomials([Terms(exponents, coefficients)], ring, Path("result.json"))


def test_numbers_of_any_length(tmp_path: Path) -> None:
    ring = make_ring(("x", "y"), parse_field("QQ"))
    digits = "9" * 20_000
    (f,) = read_polynomials([Terms([[1, 0]], [f"-{digits}/2"])], ring, tmp_path)
    assert f == parse_polynomial(f"-{digits}/2*x", ring)


_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)


@given(st.sampled_from(sorted(DOCUMENT)), _JSON)
@settings(deadline=None, max_examples=200)
def test_no_other_exception(tmp_path_factory: pytest.TempPathFactory, key: str, value: object) -> None:
    path = _write(tmp_path_factory.mktemp("document"), DOCUMENT | {key: value})
    try:
        decode_result(read_document(path, "fibre", KEY), _Fields, path)
    except ResultError as refusal:
        said = str(refusal)
    else:
        return
    assert str(path) in said
