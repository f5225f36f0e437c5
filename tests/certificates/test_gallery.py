"""The gallery: accepted, rejected and malformed certificates, by both ways of the checker, and how they are made."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from m2bridge import check
from tests.certificates.gallery import ACCEPTED, FOLDER, MALFORMED, REJECTED, rejected

TRUSTING = {"closure-layer-one-token"}


def test_the_folder_holds_the_gallery() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(ACCEPTED)
    assert {path.stem for path in (FOLDER / "rejected").glob("*.json")} == {*REJECTED, *MALFORMED}


def test_each_claim_has_at_least_three_instances() -> None:
    kinds = Counter(json.loads((FOLDER / f"{name}.json").read_text())["claim"]["kind"] for name in ACCEPTED)
    assert kinds.keys() == check.CLAIMS.keys()
    assert min(kinds.values()) >= 3


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    data = (FOLDER / f"{name}.json").read_bytes()
    fast, pure = check.check(data), check.check(data, pure=True)
    assert (fast.exit_code, fast.line) == (pure.exit_code, pure.line) == (0, fast.line)
    assert bool(fast.trusted) == (name in TRUSTING)
    assert len(data) < 2**20


@pytest.mark.parametrize("name", REJECTED | MALFORMED)
def test_rejected(name: str) -> None:
    data = (FOLDER / "rejected" / f"{name}.json").read_bytes()
    assert json.loads(data) == rejected(name)
    fast, pure = check.check(data), check.check(data, pure=True)
    assert fast.exit_code == pure.exit_code == (1 if name in REJECTED else 2)
    assert fast.line == pure.line


@pytest.mark.macaulay2
@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_made_today_has_the_claim_of_the_gallery(name: str) -> None:
    made = ACCEPTED[name]()
    kept = json.loads((FOLDER / f"{name}.json").read_text())
    assert made.check().exit_code == 0
    assert made.claim["kind"] == kept["claim"]["kind"]
    assert (made.claim.get("map"), made.claim.get("ideal")) == (kept["claim"].get("map"), kept["claim"].get("ideal"))
    assert bool(made.trusted) == (name in TRUSTING)


def test_the_worked_example_of_the_format_is_accepted() -> None:
    text = (FOLDER.parent / "certificate-format-1.md").read_text()
    (example,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    verdict = check.check(example.encode())
    assert (verdict.exit_code, verdict.line, verdict.trusted) == (0, "accepted: closure", [])


def test_the_format_names_every_claim_and_rule() -> None:
    text = (FOLDER.parent / "certificate-format-1.md").read_text()
    assert all(f"`{name}`" in text for name in (*check.CLAIMS, *check.RULES))
    assert check.FORMULA in text
