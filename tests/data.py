"""The folder ``data``: verified values for lightning layers, and public cases with known answers."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "data"
SCHEMA = DATA / "result-1.schema.json"
CASES = sorted(path.stem for path in (DATA / "cases").glob("*.json"))

Record = dict[str, Any]


@cache
def _records() -> list[Record]:
    found: list[Record] = json.loads((DATA / "ground_truth.json").read_text(encoding="utf-8"))["records"]
    return found


def ground_truth(family: str) -> list[Record]:
    """Return the records of one family of values."""
    return [record for record in _records() if record["family"] == family]


def sizes(record: Record) -> tuple[int, int, int, int]:
    """Return d, d', a, t of a single layer's record."""
    return record["d"], record["d_out"], record["a"], record["t"]


def by_instance(family: str) -> dict[str, list[Record]]:
    """Return a family's records, those of the same layer over the same field together."""
    groups: dict[str, list[Record]] = {}
    for record in ground_truth(family):
        field = record["field"].replace("ZZ/32003", "GF(32003)")
        groups.setdefault("{}-{}-{}-{}-{}".format(*sizes(record), field), []).append(record)
    return groups


@cache
def case(name: str) -> Record:
    """Return a public case."""
    found: Record = json.loads((DATA / "cases" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def cases(*kinds: str) -> list[str]:
    """Return the names of the cases of some kinds."""
    return [name for name in CASES if case(name)["kind"] in kinds]
