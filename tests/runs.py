"""Real runs of Macaulay2 that tests share: one engine, closures computed once, ideals compared as ideals."""

from __future__ import annotations

import atexit
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from sympy.polys.rings import PolyElement, PolyRing

from m2bridge import (
    ComputeZariskiClosure,
    Engine,
    Job,
    JobFolder,
    LightningAttention,
    Limits,
    Parametrization,
    ScriptEngine,
    ZariskiClosure,
    compute,
)
from m2bridge import render as rendering
from m2bridge.engines import WarmEngine
from m2bridge.fields import parse_field
from m2bridge.operations import Operation
from m2bridge.polynomials import parse_polynomial
from m2bridge.render import GroundField, Polynomial, Remark, Variables, Word

R = TypeVar("R")


@cache
def reference_engine() -> Engine:
    """Return the reference engine: a process for each job."""
    return ScriptEngine()


@cache
def engine() -> Engine:
    """Return the engine of all tables of a worker: a small job takes it a seventh of the time."""
    warm = WarmEngine()
    atexit.register(warm.close)
    return warm


def run(operation: Operation[R], seconds: float = 120.0) -> R:
    """Return the result of an operation."""
    return compute(operation, engine=engine(), limits=Limits(time_seconds=seconds))


@cache
def lightning_map(d: int, d_out: int, a: int, t: int, field: str = "QQ") -> Parametrization:
    """Return the map of a single layer in Q, K, V."""
    return LightningAttention(d, d_out, a, t).parametrization(field=parse_field(field))


@cache
def lightning_closure(
    d: int, d_out: int, a: int, t: int, field: str = "QQ", *, betti: bool = False, seconds: float = 300.0
) -> ZariskiClosure:
    """Return the closure of a single layer; computed once in each worker."""
    return run(ComputeZariskiClosure(lightning_map(d, d_out, a, t, field), betti=betti), seconds)


def polynomials(texts: Iterable[str], ring: PolyRing) -> list[PolyElement]:
    """Return texts as elements of a ring."""
    return [parse_polynomial(text, ring) for text in texts]


_SAME_IDEAL = """--% extends "frame.m2"
--% block compute
    S := ${ field }[${ variables }];
    use S;
    I := ideal matrix(S, ${ [first] });
    J := ideal matrix(S, ${ [second] });
    hashTable {"first_in_second" => isSubset(I, J), "second_in_first" => isSubset(J, I)}
--% endblock
"""


def same_ideal(first: Sequence[PolyElement], second: Sequence[PolyElement], ring: PolyRing) -> bool:
    """Say whether two lists of polynomials generate the same ideal, by Macaulay2's Groebner bases."""
    variables = Variables("y", range(ring.ngens))
    context: dict[str, Any] = {
        "title": Remark("Whether two ideals are the same."),
        "remarks": (),
        "operation": Word("same_ideal"),
        "seed": 0,
        "field": GroundField(ring.domain),
        "variables": variables,
        "first": [Polynomial(f, variables) for f in first] or [0],
        "second": [Polynomial(f, variables) for f in second] or [0],
    }
    # A template object stands for its own name, so the script gets its key like every other.
    template: Any = rendering._environment.from_string(_SAME_IDEAL)
    job = Job("same_ideal", rendering.render(template, context), Limits(time_seconds=120.0))
    with tempfile.TemporaryDirectory() as folder:
        document = engine().run(job, JobFolder(Path(folder))).unwrap()
    return bytes(document.result) == b'{"first_in_second":true,"second_in_first":true}'
