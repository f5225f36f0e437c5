"""A certificate as a value: the claim, the proof, and the verdict of the independent checker."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from sympy.polys.rings import PolyElement

from m2bridge import check as checker
from m2bridge.errors import InputError
from m2bridge.fields import field_name, number_text
from m2bridge.ideal import Ideal
from m2bridge.networks import DeepLightning
from m2bridge.parametrization import Parametrization
from m2bridge.polynomials import format_terms, ring_names

Step = Mapping[str, Any]


@dataclass(frozen=True)
class Certificate:
    """A claim with a proof that `m2bridge.check` accepts or rejects without the rest of this package.

    The format is described in data/certificate-format-1.md.

    Attributes
    ----------
    claim
        What is claimed, and of which map, network or ideal.
    steps
        The proof.
    provenance
        What made it. No part of the proof.
    """

    claim: Mapping[str, Any]
    steps: Sequence[Step]
    provenance: Mapping[str, Any]

    def to_json(self) -> str:
        """Return the certificate as JSON text, a step a line."""
        head = {"format": checker.FORMAT, "claim": self.claim}
        lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}," for key, value in head.items()]
        steps = ",\n  ".join(json.dumps(step, ensure_ascii=False) for step in self.steps)
        provenance = json.dumps(dict(self.provenance), ensure_ascii=False)
        return "{" + "\n ".join([*lines, f'"steps": [\n  {steps}],', f'"provenance": {provenance}']) + "}\n"

    def write(self, path: Path) -> None:
        """Write the certificate to a file."""
        path.write_text(self.to_json(), encoding="utf-8")

    def check(self, *, pure: bool = False) -> checker.Verdict:
        """Return the checker's verdict; ``pure`` leaves python-flint aside."""
        return checker.check(self.to_json().encode(), pure=pure)

    @property
    def trusted(self) -> list[str]:
        """What the checker has to trust."""
        return [f"{step['statement']} ({step['source']})" for step in self.steps if step["rule"] == "trusted"]


def describe_map(map_: Parametrization) -> dict[str, Any]:
    """Return a map as certificates describe it.

    Raises
    ------
    InputError
        If the map is not over QQ, or has relations among its parameters.
    """
    map_.require_no_relations("a certificate")
    if map_.field.characteristic():
        raise InputError("certificates for maps are over QQ")
    parameters = _plain_names(map_.parameters, "p")
    return {
        "field": "QQ",
        "parameters": parameters,
        "coordinates": [polynomial_text(f, parameters) for f in map_.coordinates],
        "coordinate_names": _plain_names(map_.coordinate_names, "y"),
    }


def polynomial_text(polynomial: PolyElement, names: Sequence[str]) -> str:
    """Return a polynomial as certificates write it: no parentheses."""
    return re.sub(r"\((\d+/\d+)\)", r"\1", format_terms(polynomial, names))


def _plain_names(names: Sequence[str], letter: str) -> list[str]:
    """Return names that the checker reads; numbered ones where some of the user's are not identifiers."""
    if all(checker.NAME.fullmatch(name) for name in names):
        return list(names)
    return [f"{letter}{i}" for i in range(1, len(names) + 1)]


def describe_network(network: DeepLightning) -> dict[str, Any]:
    """Return a network as certificates describe it."""
    return {
        "widths": list(network.widths),
        "ranks": list(network.ranks),
        "t": network.t,
        "heads": network.heads,
        "skip": network.skip,
        "formula": checker.FORMULA,
    }


def describe_ideal(ideal: Ideal, order: str = "grevlex") -> dict[str, Any]:
    """Return an ideal as certificates describe it."""
    names = _plain_names(ring_names(ideal.ring), "y")
    return {
        "field": field_name(ideal.ring.domain),
        "variables": names,
        "generators": [polynomial_text(g, names) for g in ideal.generators],
        "order": order,
    }


def texts(numbers: Sequence[Fraction | int]) -> list[str]:
    """Return exact numbers as certificates write them."""
    return [number_text(x) for x in numbers]
