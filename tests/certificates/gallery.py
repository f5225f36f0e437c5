"""The gallery of certificates in data/certificates: what is in it, and how it is made.

``python -m tests.certificates.gallery`` makes it anew; the tests compare nothing but verdicts, since the search may
find another proof of the same claim.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

from m2bridge import DeepLightning, Ideal, LightningAttention, Orbit, Parametrization
from m2bridge.certificates import (
    Certificate,
    certify_closure,
    certify_dimension,
    certify_fibre,
    certify_groebner,
    certify_membership,
    certify_not_realizable,
    certify_point,
    certify_realizable,
    certify_vanishing,
)
from m2bridge.polynomials import parse_polynomial
from tests.data import DATA

FOLDER = DATA / "certificates"

CUBIC = Parametrization.from_strings(
    ["s", "t"], ["s^3", "s^2*t", "s*t^2", "t^3"], coordinate_names=["x", "y", "z", "w"]
)
SEGRE = Parametrization.from_strings(
    ["a1", "a2", "b1", "b2", "b3"], ["a1*b1", "a1*b2", "a1*b3", "a2*b1", "a2*b2", "a2*b3"]
)
CUSP = Parametrization.from_strings(["t", "u"], ["t^3", "t^2*u", "u^3"])
IDEAL = Ideal.from_strings(["x", "y"], ["x^2 - y", "x*y - 1"])
CYCLIC = Ideal.from_strings(["x", "y", "z"], ["x + y + z", "x*y + y*z + z*x", "x*y*z - 1"])
MODULAR = Ideal.from_strings(["x", "y"], ["x^2 - 3*y", "y^2 - 1/2*x"], field="GF(101)")


def layer(*sizes: int) -> LightningAttention:
    return LightningAttention(*sizes)


def _point(sizes: tuple[int, ...], *orbit: int) -> Certificate:
    return certify_point(layer(*sizes), layer(*sizes).representative(Orbit(*orbit)))


def _member(ideal: Ideal, text: str) -> Certificate:
    return certify_membership(ideal, parse_polynomial(text, ideal.ring))


def _vanishing(map_: Parametrization, *texts: str) -> Certificate:
    return certify_vanishing(map_, [parse_polynomial(text, map_.coordinate_ring) for text in texts])


def _image(model: LightningAttention, *weights: int) -> list[Any]:
    return list(model.parametrization().image(model.parametrization().point(weights)))


def _same_deep() -> Certificate:
    """Layer 1: (A, V) -> (2 A, G V / 2); layer 2: the tokens come through G."""
    network = DeepLightning((2, 2, 1), (2, 1), 2)
    # Q, K, V of each layer. G = [[1, 1], [0, 1]], its inverse [[1, -1], [0, 1]].
    first = [1, 0, 0, 1, 1, 2, 3, 5, 2, 4, 6, 8, 1, 2, 3, 1, 1, 1]
    second = [2, 0, 0, 2, 1, 2, 3, 5, 4, 6, 3, 4, 1, 1, 3, -2, 1, 0]
    return certify_fibre(network, first, second)


ACCEPTED: dict[str, Callable[[], Certificate]] = {
    "dimension-layer-2112": lambda: certify_dimension(layer(2, 1, 1, 2)),
    "dimension-layer-3222": lambda: certify_dimension(layer(3, 2, 2, 2)),
    "dimension-layer-one-token": lambda: certify_dimension(layer(2, 2, 2, 1)),
    "dimension-deep-323": lambda: certify_dimension(DeepLightning((3, 2, 3), (2, 2), 2)),
    "dimension-deep-collapse": lambda: certify_dimension(DeepLightning((2, 2, 2, 2), (2, 1, 2), 3)),
    "dimension-deep-8888": lambda: certify_dimension(DeepLightning((8, 8, 8, 8), (4, 4, 4), 4)),
    "dimension-heads": lambda: certify_dimension(DeepLightning((3, 2), (2,), 2, heads=2)),
    "dimension-heads-mixing": lambda: certify_dimension(DeepLightning((2, 3), (2,), 2, heads=2)),
    "dimension-skip": lambda: certify_dimension(DeepLightning((2, 2, 2), (1, 2), 2, skip=True)),
    "dimension-twisted-cubic": lambda: certify_dimension(CUBIC),
    "dimension-segre": lambda: certify_dimension(SEGRE),
    "vanishing-twisted-cubic": lambda: _vanishing(CUBIC, "y^2-x*z", "x*w-y*z"),
    "vanishing-layer-2112": lambda: certify_vanishing(
        layer(2, 1, 1, 2).parametrization(), layer(2, 1, 1, 2).parametrization().closure().generators
    ),
    "vanishing-segre": lambda: _vanishing(SEGRE, "y0*y4-y1*y3", "1/2*y0*y5-1/2*y2*y3"),
    "closure-layer-2112": lambda: certify_closure(layer(2, 1, 1, 2)),
    "closure-layer-2122": lambda: certify_closure(layer(2, 1, 2, 2)),
    "closure-layer-2212": lambda: certify_closure(layer(2, 2, 1, 2)),
    "closure-layer-2222": lambda: certify_closure(layer(2, 2, 2, 2)),
    "closure-layer-3112": lambda: certify_closure(layer(3, 1, 1, 2)),
    "closure-layer-one-token": lambda: certify_closure(layer(2, 2, 1, 1)),
    "closure-line": lambda: certify_closure(layer(1, 2, 1, 2)),
    "closure-twisted-cubic": lambda: certify_closure(CUBIC),
    "closure-segre": lambda: certify_closure(SEGRE),
    "singular-layer-2222": lambda: _point((2, 2, 2, 2), 1, 1, 0),
    "singular-layer-3222": lambda: _point((3, 2, 2, 2), 1, 2, 0),
    "singular-layer-3112": lambda: _point((3, 1, 1, 2), 1, 1, 1),
    "singular-layer-zero": lambda: _point((2, 2, 2, 2), 0, 0, 0),
    "smooth-layer-2222": lambda: _point((2, 2, 2, 2), 2, 1, 1),
    "smooth-layer-2112": lambda: _point((2, 1, 1, 2), 1, 1, 0),
    "smooth-layer-3112": lambda: _point((3, 1, 1, 2), 1, 1, 0),
    "smooth-twisted-cubic": lambda: certify_point(CUBIC, [1, 2]),
    "fibre-swap": lambda: certify_fibre(layer(2, 1, 1, 2), [1, 2, 3, 4, 5, 6], [1, 2, 5, 6, 3, 4]),
    "fibre-different": lambda: certify_fibre(layer(2, 1, 1, 2), [1, 2, 3, 4, 5, 6], [1, 2, 5, 6, 3, 5]),
    "fibre-deep-group": _same_deep,
    "fibre-deep-different": lambda: certify_fibre(DeepLightning((2, 2, 1), (1, 1), 2), [1] * 14, [*[1] * 13, 2]),
    "realizable-layer-2222": lambda: certify_realizable(
        layer(2, 2, 2, 2), _image(layer(2, 2, 2, 2), 1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 10, 12)
    ),
    "realizable-layer-2112": lambda: certify_realizable(
        layer(2, 1, 1, 2), _image(layer(2, 1, 1, 2), 1, -2, 3, 4, 5, 7)
    ),
    "realizable-twisted-cubic": lambda: certify_realizable(CUBIC, [8, 12, 18, 27], [2, 3]),
    "not-realizable-layer-2222": lambda: certify_not_realizable(layer(2, 2, 2, 2), range(1, 17)),
    "not-realizable-layer-2112": lambda: certify_not_realizable(layer(2, 1, 1, 2), [1, 1, 0, 2, 0, 0, 1, 1]),
    "not-realizable-twisted-cubic": lambda: certify_not_realizable(CUBIC, [1, 2, 3, 4]),
    "groebner-grevlex": lambda: certify_groebner(IDEAL),
    "groebner-lex": lambda: certify_groebner(CYCLIC, "lex"),
    "groebner-elimination": lambda: certify_groebner(CYCLIC, "elim:1"),
    "groebner-modular": lambda: certify_groebner(MODULAR),
    "membership-cube": lambda: _member(IDEAL, "y^3-1"),
    "membership-cyclic": lambda: _member(CYCLIC, "z^3-1"),
    "membership-modular": lambda: _member(MODULAR, "x^4-9*y^2"),
    "non-membership-line": lambda: _member(IDEAL, "y-1"),
    "non-membership-cyclic": lambda: _member(CYCLIC, "z-1"),
    "non-membership-modular": lambda: _member(MODULAR, "x-y"),
}

Change = Callable[[dict[str, Any]], Any]


def _set(path: str, value: Any) -> Change:
    """Return a change of one place, written ``claim/dimension`` or ``steps/0/rank``."""

    def change(document: dict[str, Any]) -> None:
        *keys, last = [int(k) if k.isdigit() else k for k in path.split("/")]
        place: Any = document
        for key in keys:
            place = place[key]
        place[last] = value

    return change


def _drop(step: int) -> Change:
    return lambda document: document["steps"].pop(step)


REJECTED: dict[str, tuple[str, Change]] = {
    "dimension-too-large": ("dimension-layer-3222", _set("claim/dimension", 14)),
    "dimension-too-small": ("dimension-layer-3222", _set("claim/dimension", 12)),
    "dimension-without-upper-bound": ("dimension-layer-3222", _drop(1)),
    "dimension-without-lower-bound": ("dimension-layer-3222", _drop(0)),
    "rank-overstated": ("dimension-layer-2112", _set("steps/0/rank", 5)),
    "rank-at-a-special-point": ("dimension-layer-2112", _set("steps/0/point", ["0"] * 6)),
    "too-few-inputs": ("dimension-layer-3222", lambda d: d["steps"][0]["inputs"].__delitem__(slice(1, None))),
    "not-a-prime": ("dimension-layer-2112", _set("steps/0/prime", "2147483649")),
    "dependent-symmetries": ("dimension-deep-323", _set("steps/1/rank", 17)),
    "no-collapse": (
        "dimension-deep-323",
        _set("steps/1/families/1", {"name": "orthogonal", "layer": 0, "head": 0, "other": 0}),
    ),
    "no-mixing": ("dimension-heads-mixing", _set("steps/1/families/1/name", "orthogonal")),
    "field-not-constant": ("dimension-segre", _set("steps/1/fields/0/0", "a2")),
    "dependent-fields": ("dimension-segre", lambda d: d["steps"][1]["fields"].append(d["steps"][1]["fields"][0])),
    "not-vanishing": ("vanishing-twisted-cubic", _set("claim/polynomials/0", "y^2-2*x*z")),
    "not-vanishing-step": ("vanishing-twisted-cubic", _set("steps/0/polynomials/0", "y^2-2*x*z")),
    "fewer-shown-than-claimed": ("vanishing-twisted-cubic", lambda d: d["steps"][0]["polynomials"].pop()),
    "closure-lacks-an-equation": (
        "closure-layer-2122",
        lambda d: (d["claim"]["polynomials"].pop(), d["steps"][0]["polynomials"].pop()),
    ),
    "closure-without-proof": ("closure-layer-2222", _drop(1)),
    "trace-too-short": ("closure-layer-2112", lambda d: d["steps"][1]["factors"][0]["trace"].pop()),
    "trace-reduces-to-zero": ("closure-twisted-cubic", lambda d: d["steps"][1]["factors"][0]["trace"].append([0])),
    "section-wrong": ("closure-layer-2222", _set("steps/1/section/8/numerator", "y1112")),
    "factor-missing": ("closure-twisted-cubic", lambda d: d["steps"][1]["factors"].clear()),
    "hypersurface-too-few-points": (
        "closure-layer-2122",
        lambda d: d["steps"][2]["points"].__delitem__(slice(9, None)),
    ),
    "smooth-but-singular": ("singular-layer-2222", _set("claim/kind", "smooth")),
    "singular-but-smooth": ("smooth-layer-2222", _set("claim/kind", "singular")),
    "arc-elsewhere": ("singular-layer-3222", _set("claim/weights", ["1"] * 18)),
    "fibre-same-but-different": ("fibre-different", _set("claim/relation", "same")),
    "fibre-different-but-same": ("fibre-swap", _set("claim/relation", "different")),
    "group-wrong": ("fibre-deep-group", _set("steps/0/layers/0/scale", "3")),
    "weights-wrong": ("realizable-layer-2222", _set("claim/weights/0", "6")),
    "equation-zero-there": ("not-realizable-twisted-cubic", _set("claim/value", ["8", "12", "18", "27"])),
    "basis-too-small": ("groebner-lex", lambda d: d["claim"]["basis"].pop(0)),
    "basis-with-stranger": ("groebner-grevlex", lambda d: d["claim"]["basis"].append("x-1")),
    "cofactors-wrong": ("membership-cube", _set("claim/polynomial", "y^3-2")),
    "member-after-all": ("non-membership-line", _set("claim/polynomial", "y^3-1")),
}

MALFORMED: dict[str, tuple[str, Change]] = {
    "later-step-used": ("closure-twisted-cubic", _set("steps/1/uses", [1])),
    "unknown-rule": ("vanishing-twisted-cubic", _set("steps/0/rule", "believe")),
    "unknown-claim": ("vanishing-twisted-cubic", _set("claim/kind", "truth")),
    "unknown-key": ("vanishing-twisted-cubic", _set("steps/0/comment", "trust me")),
    "other-format": ("vanishing-twisted-cubic", _set("format", "m2bridge-certificate/2")),
    "float": ("dimension-twisted-cubic", _set("claim/dimension", 2.0)),
    "text-for-a-number": ("dimension-twisted-cubic", _set("claim/dimension", "2")),
    "fraction-not-in-lowest-terms": ("realizable-twisted-cubic", _set("claim/weights/0", "4/2")),
}


def rejected(name: str) -> dict[str, Any]:
    """Return a document of the gallery that is rejected or malformed: an accepted one with one change."""
    base, change = (REJECTED | MALFORMED)[name]
    document: dict[str, Any] = copy.deepcopy(json.loads((FOLDER / f"{base}.json").read_text()))
    change(document)
    return document


def main() -> None:
    """Make the gallery."""
    (FOLDER / "rejected").mkdir(parents=True, exist_ok=True)
    for name, make in ACCEPTED.items():
        made = make()
        print(name, made.check().line)  # noqa: T201
        made.write(FOLDER / f"{name}.json")
    for name in REJECTED | MALFORMED:
        (FOLDER / "rejected" / f"{name}.json").write_text(json.dumps(rejected(name), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
