"""An ideal given by generators, as Gröbner bases and ideal membership take it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sympy.polys.rings import PolyElement, PolyRing

from m2bridge.errors import InputError
from m2bridge.fields import field_name, parse_field
from m2bridge.polynomials import check_names, make_ring, parse_polynomial, ring_names, to_text


@dataclass(frozen=True)
class Ideal:
    """An ideal of K[variables], K = QQ or GF(p), by generators.

    Attributes
    ----------
    ring
        The polynomial ring, in the user's names.
    generators
        Elements of ``ring``; none for the zero ideal.
    """

    ring: PolyRing
    generators: tuple[PolyElement, ...]

    def __post_init__(self) -> None:
        if not self.ring.ngens:
            raise InputError("the ring has no variables")

    @classmethod
    def from_strings(cls, variables: Sequence[str], generators: Sequence[str], *, field: str = "QQ") -> Ideal:
        """Return the ideal with these variables and generators, read by the strict parser.

        Raises
        ------
        InputError
            If a name, the field or a generator is unusable.
        """
        ring = make_ring(check_names(variables, "variables"), parse_field(field))
        return cls(
            ring,
            tuple(parse_polynomial(text, ring, f"generator {i}") for i, text in enumerate(generators, start=1)),
        )

    def describe(self) -> dict[str, Any]:
        """Return the ideal as plain data."""
        return {
            "field": field_name(self.ring.domain),
            "variables": list(ring_names(self.ring)),
            "generators": [to_text(g) for g in self.generators],
        }
