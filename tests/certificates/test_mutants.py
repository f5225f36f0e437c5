"""Every field of every certificate of the gallery changed: nothing false is accepted.

A mutant whose steps were changed, but not its claim, may be accepted: the claim is still true, and the changed steps
prove it as well (another point, another prime, an equation more). A mutant with another claim may be accepted if that
claim is true, which another way than the checker's confirms: the package's own ranks and closures, or Macaulay2.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from sympy import QQ

from m2bridge import (
    ComputeGroebnerBasis,
    ComputeIdealMembership,
    ComputeZariskiClosure,
    DeepLightning,
    Ideal,
    Parametrization,
    WarmEngine,
    ZariskiClosure,
    check,
    compute,
    deep_dimension,
    dimension,
)
from m2bridge.exact import equations_rank, vanishing
from m2bridge.fields import to_fraction
from m2bridge.polynomials import parse_polynomial
from tests.certificates.gallery import ACCEPTED, FOLDER

LARGE = {"dimension-deep-8888"}
MOST = 45
"""Mutants of one certificate: a sample where there are more, the same in each run; all with --slow."""


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Give every place in a document with what stands there."""
    yield path, value
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))


def changed(value: Any) -> Iterator[Any]:
    """Give values that differ from one, in number, sign, order, length or kind."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1, -value - 7, 999)
    elif isinstance(value, str) and re.fullmatch(r"-?\d+(/\d+)?", value):
        numerator, slash, denominator = value.partition("/")
        yield from (f"{int(numerator) + 1}{slash}{denominator}", "0", value[:-1], "1" + value.lstrip("-"))
        yield value.removeprefix("-") if value[0] == "-" else f"-{value}"
    elif isinstance(value, str):
        terms = re.findall(r"[+-]?[^+-]+", value)
        yield from (value[:-1], value + "1", "".join(terms[1:]).removeprefix("+"), "".join(terms[:-1]), "x" + value)
        yield value.replace("+", "-", 1)
        yield value.replace("-", "+", 1).removeprefix("+")
        yield re.sub(r"\d+", lambda m: str(int(m[0]) + 1), value, count=1)
        yield "1"
    elif isinstance(value, list):
        yield from (value[:-1], value[1:], value[::-1], [*value, *value[-1:]], [], value[1:2] + value[:1] + value[2:])
    elif isinstance(value, dict):
        for key in value:
            yield {k: v for k, v in value.items() if k != key}
        yield value | {"more": 1}


def mutants(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give every document that differs in one place of the claim, the steps or the format."""
    for path, value in places(document):
        if not path or path[0] == "provenance":
            continue
        for other in changed(value):
            if other == value and type(other) is type(value):
                continue
            mutant = copy.deepcopy(document)
            place: Any = mutant
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = other
            yield mutant


@cache
def _equations(about: str) -> ZariskiClosure:
    return _map({"map": json.loads(about)}).closure(equations_only=True, max_degree=4)


def _map(claim: dict[str, Any]) -> Parametrization:
    about = claim["map"]
    return Parametrization.from_strings(
        about["parameters"], about["coordinates"], coordinate_names=about["coordinate_names"]
    )


def _numbers(texts: list[str]) -> list[Any]:
    return [QQ.from_sympy(QQ.to_sympy(QQ(*map(int, text.split("/"))))) for text in texts]


def is_true(claim: dict[str, Any], warm: WarmEngine) -> bool:
    """Say whether a claim is true, without the checker."""
    kind = claim["kind"]
    if kind == "dimension" and "widths" in claim["map"]:
        about = claim["map"]
        # Ranks above the width change nothing, but their weights are many.
        ranks = tuple(map(min, about["ranks"], about["widths"]))
        sizes = (tuple(about["widths"]), ranks, about["t"], about["heads"], about["skip"])
        return bool(deep_dimension(DeepLightning(*sizes)).exact == claim["dimension"])
    if kind in ("groebner", "membership", "non-membership"):
        about = claim["ideal"]
        ideal = Ideal.from_strings(about["variables"], about["generators"], field=about["field"])
        if kind == "groebner":
            texts = claim["basis"]
            other = Ideal.from_strings(about["variables"], texts, field=about["field"])
            bases = [compute(ComputeGroebnerBasis(i, about["order"]), engine=warm).generators for i in (ideal, other)]
            given = [_leading(parse_polynomial(text, ideal.ring), about["order"]) for text in texts]
            leads = [_leading(g, about["order"]) for g in bases[0]]
            divided = all(any(all(x <= y for x, y in zip(a, b, strict=True)) for a in given) for b in leads)
            return list(map(str, bases[0])) == list(map(str, bases[1])) and divided
        polynomial = parse_polynomial(claim["polynomial"], ideal.ring)
        return bool(compute(ComputeIdealMembership(ideal, polynomial), engine=warm).member == (kind == "membership"))
    if kind == "fibre" and "widths" in claim["map"]:
        return bool(_outputs_agree(claim) == (claim["relation"] == "same"))
    map_ = _map(claim)
    if kind == "dimension":
        return bool(dimension(map_).exact == claim["dimension"])
    if kind == "fibre":
        first, second = (map_.image(map_.point(w)) for w in claim["weights"])
        return bool((first == second) == (claim["relation"] == "same"))
    if kind == "realizable":
        return bool(list(map_.image(map_.point(claim["weights"]))) == _numbers(claim["value"]))
    if kind == "vanishing":
        return all(vanishing(map_, [parse_polynomial(text, map_.coordinate_ring) for text in claim["polynomials"]]))
    if kind in ("singular", "smooth"):
        found = _equations(json.dumps(claim["map"]))
        y = [to_fraction(x) for x in map_.image(map_.point(claim["weights"]))]
        tangent = map_.n_coordinates - equations_rank(found.generators, y, map_.field)
        return bool((tangent > found.dim) == (kind == "singular"))
    if kind == "not-realizable":
        value = list(zip(map_.coordinate_ring.gens, _numbers(claim["value"]), strict=True))
        return any(g.evaluate(value) for g in _equations(json.dumps(claim["map"])).generators)
    kernel = compute(ComputeZariskiClosure(map_), engine=warm).generators
    claimed = Ideal(
        map_.coordinate_ring, tuple(parse_polynomial(f, map_.coordinate_ring) for f in claim["polynomials"])
    )
    whole = Ideal(map_.coordinate_ring, kernel)
    bases = [compute(ComputeGroebnerBasis(ideal, "grevlex"), engine=warm).generators for ideal in (claimed, whole)]
    return bool(bases[0] == bases[1])


def _leading(polynomial: Any, order: str) -> tuple[int, ...]:
    def key(exponents: tuple[int, ...]) -> Any:
        if order == "lex":
            return exponents
        cut = int(order.removeprefix("elim:")) if order.startswith("elim") else 0
        return [(sum(part), [-e for e in reversed(part)]) for part in (exponents[:cut], exponents[cut:])]

    return max(polynomial.monoms(), key=key)


def _outputs_agree(claim: dict[str, Any]) -> bool:
    """Compare the outputs of two weights at random integer inputs: equal at many is equal, for a test."""
    net = check.Network(claim["map"])
    rng = random.Random(1)
    for _ in range(50):
        X = [[rng.randint(-50, 50) for _ in range(net.t)] for _ in range(net.widths[0])]
        outputs = [net.run(net.matrices(_numbers(weights)), X)[0] for weights in claim["weights"]]
        if outputs[0] != outputs[1]:
            return False
    return True


@pytest.mark.macaulay2
@pytest.mark.parametrize("name", sorted(set(ACCEPTED) - LARGE))
def test_no_mutant_with_a_false_claim_is_accepted(name: str, warm: WarmEngine, request: pytest.FixtureRequest) -> None:
    document = json.loads((FOLDER / f"{name}.json").read_text())
    made = list(mutants(document))
    if len(made) > MOST and not request.config.getoption("--slow"):
        made = random.Random(0).sample(made, MOST)
    accepted = 0
    for mutant in made:
        verdict = check.check(json.dumps(mutant).encode())
        if verdict.exit_code:
            continue
        accepted += 1
        if mutant["claim"] != document["claim"]:
            assert is_true(mutant["claim"], warm), mutant["claim"]
    assert accepted < len(made)


def test_there_are_enough_mutants() -> None:
    counts = [
        min(MOST, sum(1 for _ in mutants(json.loads((FOLDER / f"{name}.json").read_text()))))
        for name in set(ACCEPTED) - LARGE
    ]
    assert sum(counts) >= 2000
