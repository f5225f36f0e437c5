"""The reduced Gröbner basis of an ideal, with the change-of-basis matrix on request."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
from sympy.polys.orderings import MonomialOrder, ProductOrder, grevlex, lex
from sympy.polys.rings import PolyElement

from m2bridge.document import ResultDocument, Terms, decode_result, read_polynomials
from m2bridge.errors import InputError, ResultError
from m2bridge.evidence import Evidence
from m2bridge.fields import field_name
from m2bridge.ideal import Ideal
from m2bridge.job import JobFolder, Outcome
from m2bridge.operations.base import Operation, Provenance
from m2bridge.operations.closure_ideal import ClosureIdeal
from m2bridge.parametrization import Parametrization
from m2bridge.polynomials import make_ring, primitive, ring_names, to_text
from m2bridge.render import GroundField, Order, Polynomial, Variables


def monomial_order(text: str, n_variables: int) -> MonomialOrder | Any:
    """Return sympy's order for ``grevlex``, ``lex`` or ``elim:k``.

    ``elim:k`` compares the first k variables by grevlex, then the others by grevlex: it eliminates the first k.

    Raises
    ------
    InputError
        If the text is none of these, or k is not from 1 to the number of variables less 1.
    """
    if text == "grevlex":
        return grevlex
    if text == "lex":
        return lex
    match = re.fullmatch(r"elim:(\d{1,6})", text)
    if match is None:
        raise InputError(f"the order {text!r} is not one of 'grevlex', 'lex', 'elim:k'")
    k = int(match[1])
    if not 0 < k < n_variables:
        raise InputError(f"the order {text!r} needs 0 < k < {n_variables}, the number of variables")
    return ProductOrder((grevlex, lambda m: m[:k]), (grevlex, lambda m: m[k:]))


@dataclass(frozen=True)
class GroebnerBasis:
    """The reduced Gröbner basis of an ideal I of K[x_1..x_n] for a monomial order.

    Attributes
    ----------
    generators
        Its elements in the user's names, in ascending order of leading monomials. Each is the canonical multiple:
        over QQ coprime integer coefficients, over GF(p) monic; the leading coefficient is positive.
    order
        ``grevlex``, ``lex`` or ``elim:k``.
    change_of_basis
        Where asked for: for each element, its coefficients on the given generators of I, so that
        ``generators[j] = sum of change_of_basis[j][i] * given[i]``, which is verified; else None.
    evidence
        ``COMPUTED``.
    provenance
        Where it comes from.
    """

    generators: tuple[PolyElement, ...]
    order: str
    change_of_basis: tuple[tuple[PolyElement, ...], ...] | None
    evidence: Evidence
    provenance: Provenance

    def to_dict(self) -> dict[str, Any]:
        """Return the basis as plain data, as ``--json`` prints it."""
        change = self.change_of_basis
        return {
            "order": self.order,
            "generators": [to_text(g) for g in self.generators],
            "change_of_basis": None if change is None else [[to_text(c) for c in row] for row in change],
        }


class _Fields(msgspec.Struct, forbid_unknown_fields=True):
    generators: list[Terms]
    change: list[list[Terms]] | None


@dataclass(frozen=True)
class ComputeGroebnerBasis(Operation[GroebnerBasis]):
    """Compute the reduced Gröbner basis of an ideal, or of the ideal of the closure of a map's image.

    Parameters
    ----------
    ideal
        The ideal; for a map, the linear equations that are known beforehand.
    order
        ``grevlex``, ``lex`` or ``elim:k``.
    change_of_basis
        Whether to express the basis in the generators (only for an ideal given by generators).
    parametrization
        The map whose closure is meant, or None.
    """

    ideal: Ideal
    order: str = "grevlex"
    change_of_basis: bool = False
    parametrization: Parametrization | None = None
    seed: int = 0

    name = "groebner_basis"
    title = "Reduced Groebner basis of an ideal."

    def __post_init__(self) -> None:
        monomial_order(self.order, self.ideal.ring.ngens)
        if self.change_of_basis and self.parametrization is not None:
            raise InputError("a change of basis needs an ideal given by generators")

    @classmethod
    def of_closure(
        cls,
        parametrization: Parametrization,
        order: str = "grevlex",
        equations: tuple[PolyElement, ...] | None = None,
    ) -> ComputeGroebnerBasis:
        """Return the operation on the ideal of the closure of a map's image, its generators given if known."""
        if equations is not None:
            return cls(Ideal(parametrization.coordinate_ring, equations), order)
        closure = ClosureIdeal(parametrization)
        return cls(Ideal(parametrization.coordinate_ring, closure.linear_equations), order, False, parametrization)

    @cached_property
    def _closure(self) -> ClosureIdeal | None:
        return None if self.parametrization is None else ClosureIdeal(self.parametrization)

    @property
    def field_name(self) -> str:
        """Ground field, ``QQ`` or ``GF(p)``."""
        return field_name(self.ideal.ring.domain)

    def remarks(self) -> Sequence[str]:
        """Return what the script's variables stand for."""
        if self._closure is not None:
            return [*self._closure.remarks(), f"Monomial order: {self.order}."]
        names = ring_names(self.ideal.ring)
        legend = ", ".join(f"y_{i} = {name}" for i, name in enumerate(names))
        return [
            f"Ideal of {len(self.ideal.generators)} generators over {self.field_name}, order {self.order}.",
            legend,
        ]

    def context(self) -> Mapping[str, Any]:
        """Return what the template interpolates."""
        n = self.ideal.ring.ngens
        variables = Variables("y", range(n))
        context = {} if self._closure is None else self._closure.context()
        return context | {
            "closure": self._closure is not None,
            "field": GroundField(self.ideal.ring.domain),
            "variables": variables,
            "n_variables": n,
            "generators": [Polynomial(g, variables) for g in self.ideal.generators],
            "order": Order(self.order, n),
            "change": self.change_of_basis,
        }

    def parse(self, document: ResultDocument, outcome: Outcome) -> GroebnerBasis:
        """Return the typed result, scaled to canonical multiples."""
        file = JobFolder(outcome.folder).result
        fields = decode_result(document, _Fields, file)
        order = monomial_order(self.order, self.ideal.ring.ngens)
        ring = make_ring(ring_names(self.ideal.ring), self.ideal.ring.domain, order)
        found = read_polynomials(fields.generators, ring, file)
        change = None
        if fields.change is not None:
            change = [read_polynomials(row, ring, file) for row in fields.change]
            given = [ring.from_dict(dict(g)) for g in self.ideal.generators]
            if len(change) != len(found) or any(len(row) != len(given) for row in change):
                raise ResultError("the change of basis has not the size of the basis and the generators", str(file))
            for g, row in zip(found, change, strict=True):
                if sum((c * h for c, h in zip(row, given, strict=True)), ring.zero) != g:
                    raise ResultError("the change of basis does not give the basis", str(file))
        ranked = sorted(range(len(found)), key=lambda j: order(found[j].LM))
        scaled = [primitive(found[j]) for j in ranked]
        if change is not None:
            change = [
                tuple(c.mul_ground(g.LC / found[j].LC) for c in change[j]) for j, g in zip(ranked, scaled, strict=True)
            ]
        return GroebnerBasis(
            generators=tuple(scaled),
            order=self.order,
            change_of_basis=None if change is None else tuple(change),
            evidence=Evidence.COMPUTED,
            provenance=Provenance.of(document, outcome, self.field_name),
        )
