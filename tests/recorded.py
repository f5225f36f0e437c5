"""Golden scripts and recorded results: where they lie, how they are read without Macaulay2, how they are spoilt."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from m2bridge import Job, Limits, Outcome, Status
from m2bridge.document import read_document
from m2bridge.operations import Operation

HERE = Path(__file__).parent
SCRIPTS = HERE / "scripts"
RESULTS = HERE / "results"


def golden_script(name: str) -> str:
    """Return the recorded script of a tiny instance."""
    return (SCRIPTS / f"{name}.m2").read_text(encoding="utf-8")


def read_recorded(operation: Operation[Any], path: Path) -> Any:
    """Return the typed result of a recorded document, read and parsed as after a run."""
    job = Job(operation.name, operation.script(), Limits())
    document = read_document(path, operation.name, job.key)
    outcome = Outcome(
        status=Status.FINISHED,
        operation=operation.name,
        folder=path.parent,
        wall_seconds=0.25,
        cpu_seconds=document.cpu_microseconds / 1e6,
        peak_memory_megabytes=None,
        returncode=0,
        document=document,
    )
    return operation.parse(outcome.unwrap(), outcome)


Spoil = Callable[[dict[str, Any]], None]


def _set(*path: str | int, to: object) -> Spoil:
    def spoil(document: dict[str, Any]) -> None:
        place: Any = document
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to

    return spoil


def _drop(*path: str | int) -> Spoil:
    def spoil(document: dict[str, Any]) -> None:
        place: Any = document
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return spoil


FAULTS: dict[str, dict[str, tuple[Spoil, str]]] = {
    "zariski_closure": {
        "wrong-sign": (
            _set("result", "generators", 0, "coefficients", to=["1", "1"]),
            "kernel is wrong: .* does not vanish on the image",
        ),
        "float-degree": (_set("result", "degree", to=3.0), r"Expected `int`, got `float` - at `\$.degree`"),
        "short-exponents": (_set("result", "generators", 1, "exponents", to=[[1, 1], [2, 0]]), "exponent vector"),
        "decimal-coefficient": (
            _set("result", "generators", 0, "coefficients", to=["-1", "1.0"]),
            "'1.0' is not an exact number",
        ),
        "no-betti": (_drop("result", "betti"), "missing required field `betti`"),
    },
    "groebner_basis": {
        "unequal-lengths": (_drop("result", "generators", 0, "coefficients", 0), "differ in number"),
        "negative-exponent": (_set("result", "generators", 0, "exponents", 0, to=[0, -3]), "exponent vector"),
        "short-change": (_drop("result", "change", 1), "change"),
        "wrong-change": (
            _set("result", "change", 0, to=[{"exponents": [], "coefficients": []}] * 2),
            "change",
        ),
    },
    "jacobian_rank": {
        "text-rank": (_set("result", "ranks", 0, to="2"), r"got `str` - at `\$.ranks\["),
        "short-ranks": (_drop("result", "ranks", 0), "1 ranks, expected 2"),
    },
    "tangent_space": {
        "short-ranks": (_drop("result", "ranks", 0), "2 ranks, expected 3"),
        "null-dim": (_set("result", "dim", to=None), r"got `null` - at `\$.dim`"),
    },
    "singular_locus": {
        "triple-component": (_set("result", "components", 0, to=[0, 1, 1]), "at `\\$.components"),
        "words-for-minors": (_set("result", "n_minors", to="two"), "n_minors"),
    },
    "fibre": {
        "no-reduced": (_drop("result", "reduced"), "missing required field `reduced`"),
        "unknown-field": (_set("result", "radical", to=[]), "unknown field `radical`"),
    },
    "ideal_membership": {
        "wrong-cofactor": (
            _set("result", "cofactors", 0, "coefficients", 0, to="2"),
            "division is wrong: the cofactors do not give the polynomial",
        ),
        "short-cofactors": (_drop("result", "cofactors", 1), "cofactors"),
        "zero-denominator": (_set("result", "cofactors", 0, "coefficients", 0, to="1/0"), "denominator 0"),
    },
    "completeness": {
        "number-for-boolean": (_set("result", "identities", 0, to=1), r"`\$.identities\["),
        "missing-identities": (_drop("result", "identities"), "missing required field `identities`"),
        "no-conditions": (_set("result", "identities", to=[]), "identities"),
        "no-denominators": (_set("result", "nonzerodivisors", to=[]), "denominators|nonzerodivisors"),
    },
}
"""Faults that a recorded result is given, by operation: how it is spoilt, and what the refusal says."""


def spoilt(document: dict[str, Any], spoil: Spoil) -> dict[str, Any]:
    """Return a copy of a document with a fault."""
    changed = copy.deepcopy(document)
    spoil(changed)
    return changed
