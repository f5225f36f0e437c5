"""The singular locus of the Zariski closure, by minors of the Jacobian of its equations, where these are few."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
from sympy.polys.rings import PolyElement

from m2bridge.document import ResultDocument, decode_result
from m2bridge.errors import Infeasible, ResultError
from m2bridge.evidence import Evidence
from m2bridge.fields import parse_number
from m2bridge.job import JobFolder, Outcome
from m2bridge.operations.base import Operation, Provenance
from m2bridge.operations.closure_ideal import ClosureIdeal
from m2bridge.operations.fibre import Component, read_components
from m2bridge.parametrization import Parametrization

MOST_MINORS = 5000
"""More minors than this are refused: beyond toy cases the number explodes (2.4 million for d = d' = a = 2)."""


@dataclass(frozen=True)
class SingularLocus:
    """The singular locus of the Zariski closure X of a map's image.

    Attributes
    ----------
    dim
        Its dimension; -1 if X is smooth.
        For a sample of minors an upper bound.
    degree
        Degree of its reduced structure (the union of its components of largest dimension); 0 if X is smooth. None
        for a sample of minors.
    scheme_degree
        Degree of the scheme that the minors define.
    components
        Its irreducible components over the ground field, largest dimension first; None for a sample of minors.
    variety_dim
        Dimension of X.
    n_minors
        Number of minors of the Jacobian, of the size of the codimension.
    evidence
        ``COMPUTED``; ``UPPER_BOUND`` for a sample of minors, which may vanish elsewhere, too.
    provenance
        Where it comes from.
    """

    dim: int
    degree: int | None
    scheme_degree: int
    components: tuple[Component, ...] | None
    variety_dim: int
    n_minors: int
    evidence: Evidence
    provenance: Provenance

    def to_dict(self) -> dict[str, Any]:
        """Return the singular locus as plain data, as ``--json`` prints it."""
        return {
            "dim": self.dim,
            "degree": self.degree,
            "scheme_degree": self.scheme_degree,
            "components": None if self.components is None else [c.to_dict() for c in self.components],
            "variety_dim": self.variety_dim,
            "n_minors": self.n_minors,
        }


class _Fields(msgspec.Struct, forbid_unknown_fields=True):
    variety_dim: int
    # Decimal text: the number of minors may have any size.
    n_minors: str
    exact: bool
    dim: int | None
    scheme_degree: int | None
    components: list[tuple[int, int]] | None


@dataclass(frozen=True)
class ComputeSingularLocus(Operation[SingularLocus]):
    """Compute the singular locus of the closure of a map's image by minors.

    Parameters
    ----------
    parametrization
        The map, without relations among its parameters (then its closure is irreducible).
    equations
        Generators of the ideal, if known already; else they are computed in the same script.
    most_minors
        The largest number of minors to be tried.
    sample
        Where there are more: how many to choose at random, for an upper bound; 0 to refuse.
    """

    parametrization: Parametrization
    equations: tuple[PolyElement, ...] | None = None
    most_minors: int = MOST_MINORS
    sample: int = 0
    seed: int = 0

    name = "singular_locus"
    title = "Singular locus of the Zariski closure of the image of a polynomial map, by minors."

    def __post_init__(self) -> None:
        self.parametrization.require_no_relations("the singular locus")

    @cached_property
    def _ideal(self) -> ClosureIdeal:
        return ClosureIdeal(self.parametrization, self.equations)

    @property
    def field_name(self) -> str:
        """Ground field, ``QQ`` or ``GF(p)``."""
        return self.parametrization.field_name

    def remarks(self) -> Sequence[str]:
        """Return what the script's variables stand for."""
        return self._ideal.remarks()

    def context(self) -> Mapping[str, Any]:
        """Return what the template interpolates."""
        return self._ideal.context() | {"most_minors": self.most_minors, "sample": self.sample}

    def parse(self, document: ResultDocument, outcome: Outcome) -> SingularLocus:
        """Return the typed result.

        Raises
        ------
        Infeasible
            If there are more minors than allowed.
        """
        file = JobFolder(outcome.folder).result
        fields = decode_result(document, _Fields, file)
        if not (fields.n_minors.isascii() and fields.n_minors.isdigit()):
            raise ResultError(
                f"the number of minors is not a number: {fields.n_minors[:60]!r} - at `$.n_minors`", str(file)
            )
        if fields.dim is None or fields.scheme_degree is None:
            raise Infeasible(
                f"the singular locus needs {fields.n_minors} minors, more than the {self.most_minors} allowed",
                "test points instead: 'tangent' at one representative of each orbit of a symmetry group "
                "(for lightning layers 'singular' does that), take some minors by --sample, or raise --most-minors",
            )
        components = None if fields.components is None else read_components(fields.components)
        degree = None if components is None else sum(c.degree for c in components if c.dim == fields.dim)
        return SingularLocus(
            dim=fields.dim,
            degree=degree,
            scheme_degree=fields.scheme_degree,
            components=components,
            variety_dim=fields.variety_dim,
            n_minors=int(parse_number(fields.n_minors)),
            evidence=Evidence.COMPUTED if fields.exact else Evidence.UPPER_BOUND,
            provenance=Provenance.of(document, outcome, self.field_name),
        )
