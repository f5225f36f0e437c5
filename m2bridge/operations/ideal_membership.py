"""Whether a polynomial lies in an ideal: cofactors if it does, the remainder if it does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sympy.polys.rings import PolyElement

from m2bridge.document import ResultDocument, Terms, decode_result, read_polynomials
from m2bridge.errors import ResultError
from m2bridge.evidence import Evidence
from m2bridge.fields import field_name
from m2bridge.ideal import Ideal
from m2bridge.job import JobFolder, Outcome
from m2bridge.operations.base import Operation, Provenance
from m2bridge.polynomials import ring_names, to_text
from m2bridge.render import GroundField, Polynomial, Variables


@dataclass(frozen=True)
class IdealMembership:
    """The division of a polynomial f by the generators g_i of an ideal: f = sum of c_i g_i + remainder.

    The identity is verified exactly.

    Attributes
    ----------
    member
        Whether f lies in the ideal.
    cofactors
        The c_i, in the order of the generators.
    remainder
        The normal form of f modulo the ideal (graded reverse lexicographic order); zero for a member.
    evidence
        ``PROVED`` for a member; ``COMPUTED`` for a non-member, which rests on Macaulay2's Gröbner basis.
    provenance
        Where it comes from.
    """

    member: bool
    cofactors: tuple[PolyElement, ...]
    remainder: PolyElement
    evidence: Evidence
    provenance: Provenance

    def to_dict(self) -> dict[str, Any]:
        """Return the division as plain data, as ``--json`` prints it."""
        return {
            "member": self.member,
            "cofactors": [to_text(c) for c in self.cofactors],
            "remainder": to_text(self.remainder),
        }


class _Fields(msgspec.Struct, forbid_unknown_fields=True):
    cofactors: list[Terms]
    remainder: Terms


@dataclass(frozen=True)
class ComputeIdealMembership(Operation[IdealMembership]):
    """Divide a polynomial by the generators of an ideal.

    Parameters
    ----------
    ideal
        The ideal.
    polynomial
        An element of the ideal's ring.
    """

    ideal: Ideal
    polynomial: PolyElement
    seed: int = 0

    name = "ideal_membership"
    title = "Division of a polynomial by the generators of an ideal: cofactors and normal form."

    @property
    def field_name(self) -> str:
        """Ground field, ``QQ`` or ``GF(p)``."""
        return field_name(self.ideal.ring.domain)

    def remarks(self) -> Sequence[str]:
        """Return what the script's variables stand for."""
        return [", ".join(f"y_{i} = {name}" for i, name in enumerate(ring_names(self.ideal.ring)))]

    def context(self) -> Mapping[str, Any]:
        """Return what the template interpolates."""
        variables = Variables("y", range(self.ideal.ring.ngens))
        return {
            "field": GroundField(self.ideal.ring.domain),
            "variables": variables,
            "generators": [Polynomial(g, variables) for g in self.ideal.generators],
            "polynomial": Polynomial(self.polynomial, variables),
        }

    def parse(self, document: ResultDocument, outcome: Outcome) -> IdealMembership:
        """Return the typed result, after verifying the identity."""
        file = JobFolder(outcome.folder).result
        fields = decode_result(document, _Fields, file)
        ring = self.ideal.ring
        cofactors = read_polynomials(fields.cofactors, ring, file)
        (remainder,) = read_polynomials([fields.remainder], ring, file)
        if len(cofactors) != len(self.ideal.generators):
            found, expected = len(cofactors), len(self.ideal.generators)
            raise ResultError(f"the result has {found} cofactors, expected {expected}", str(file))
        total = remainder
        for c, g in zip(cofactors, self.ideal.generators, strict=True):
            total = total + c * g
        if total != self.polynomial:
            raise ResultError("Macaulay2's division is wrong: the cofactors do not give the polynomial", str(file))
        return IdealMembership(
            member=not remainder,
            cofactors=cofactors,
            remainder=remainder,
            evidence=Evidence.COMPUTED if remainder else Evidence.PROVED,
            provenance=Provenance.of(document, outcome, self.field_name),
        )
