"""The Zariski closure of the image of a polynomial map: its ideal by elimination (Macaulay2's ``kernel``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
from sympy.polys.rings import PolyElement

from m2bridge.document import ResultDocument, Terms, decode_result, read_polynomials
from m2bridge.errors import ResultError
from m2bridge.evidence import Evidence
from m2bridge.exact import vanishing
from m2bridge.job import JobFolder, Outcome
from m2bridge.operations.base import Operation, Provenance
from m2bridge.operations.closure_ideal import ClosureIdeal, by_degree, degrees_of
from m2bridge.parametrization import Parametrization
from m2bridge.polynomials import primitive, to_text


@dataclass(frozen=True)
class ZariskiClosure:
    """The Zariski closure X of the image of a polynomial map K^n -> K^m, and its ideal I.

    Attributes
    ----------
    dim
        Krull dimension of K[coordinates]/I: the dimension of X as an affine variety, which is one more than its
        projective dimension for a cone; -1 for the empty set.
    dim_evidence
        What dim is worth: if not ``complete``, it is the rank of the Jacobian, a ``LOWER_BOUND``, or ``PROVED`` where
        the equations that were found bound it from above.
    codim
        m - dim.
    degree
        Degree of X, for an inhomogeneous ideal of its projective closure; 0 for the empty set; None if not known.
    generators
        Generators of I, in the user's names: linear equations first, then minimal generators modulo them
        (over QQ coprime integer coefficients, over GF(p) monic). If not ``complete``, those that were found.
    minimal
        Whether the generators are a minimal set; False where I is not homogeneous for any degrees that were
        tried, so that the numbers by degree only say what a trimmed set looks like.
    generator_degrees
        Number of generators of each total degree, all coordinates having degree 1.
    betti
        Graded Betti numbers (homological degree, internal degree, rank) of the quotient by I in the linearly
        independent coordinates, all of degree 1, where asked for and I is homogeneous; else None.
    n_coordinates, n_independent
        Number m of coordinates; number of those that are linearly independent of each other and of 1.
    vanishing_proved
        Whether each generator was checked to vanish on the image, by exact substitution; not done for maps with
        relations among their parameters.
    complete
        Whether the generators were shown to generate I.
    completeness
        How that was shown, or what is missing, in words.
    exact_degree
        All equations of degree up to this one are known: proved. None if nothing was proved degree by degree.
    strategy
        ``linear``, ``interpolate`` or ``eliminate``: which one answered.
    cpu_seconds
        CPU seconds of each step, Macaulay2's included.
    evidence
        ``PROVED`` if complete with nothing left to trust; ``COMPUTED`` if completeness rests on Macaulay2;
        ``LOWER_BOUND`` if I contains at least what was found.
    provenance
        Where it comes from; None if Macaulay2 was not needed.
    """

    dim: int
    dim_evidence: Evidence
    codim: int
    degree: int | None
    generators: tuple[PolyElement, ...]
    minimal: bool
    generator_degrees: dict[int, int]
    betti: tuple[tuple[int, int, int], ...] | None
    n_coordinates: int
    n_independent: int
    vanishing_proved: bool
    complete: bool
    completeness: str
    exact_degree: int | None
    strategy: str
    cpu_seconds: Mapping[str, float]
    evidence: Evidence
    provenance: Provenance | None

    def to_dict(self) -> dict[str, Any]:
        """Return the closure as plain data, as ``--json`` prints it."""
        return {
            "dim": self.dim,
            "dim_evidence": self.dim_evidence.value,
            "codim": self.codim,
            "degree": self.degree,
            "generator_degrees": {str(degree): count for degree, count in self.generator_degrees.items()},
            "generators": [to_text(g) for g in self.generators],
            "minimal": self.minimal,
            "betti": None if self.betti is None else [list(entry) for entry in self.betti],
            "n_coordinates": self.n_coordinates,
            "n_independent_coordinates": self.n_independent,
            "vanishing_proved": self.vanishing_proved,
            "complete": self.complete,
            "completeness": self.completeness,
            "exact_degree": self.exact_degree,
            "strategy": self.strategy,
            "cpu_seconds": dict(self.cpu_seconds),
        }


class _Fields(msgspec.Struct, forbid_unknown_fields=True):
    dim: int
    degree: int
    minimal: bool
    generators: list[Terms]
    betti: list[tuple[int, int, int]] | None


@dataclass(frozen=True)
class ComputeZariskiClosure(Operation[ZariskiClosure]):
    """Compute the Zariski closure of the image of a polynomial map.

    Parameters
    ----------
    parametrization
        The map; relations among its parameters are allowed.
    betti
        Whether to compute the Betti numbers as well.
    equations
        Generators of the ideal, if known already: then nothing is eliminated.
    """

    parametrization: Parametrization
    betti: bool = False
    equations: tuple[PolyElement, ...] | None = None
    seed: int = 0

    name = "zariski_closure"
    title = "Zariski closure of the image of a polynomial map: ideal, dimension, degree, minimal generators."

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
        return self._ideal.context() | {"betti": self.betti}

    def parse(self, document: ResultDocument, outcome: Outcome) -> ZariskiClosure:
        """Return the typed result; each generator is checked to vanish on the image by exact substitution."""
        file = JobFolder(outcome.folder).result
        fields = decode_result(document, _Fields, file)
        ring = self.parametrization.coordinate_ring
        reduction = self._ideal.reduction
        found = read_polynomials(fields.generators, ring, file, variables=reduction.kept)
        if not self.parametrization.relations:
            for generator, vanishes in zip(found, vanishing(self.parametrization, found), strict=True):
                if not vanishes:
                    raise ResultError(
                        f"Macaulay2's kernel is wrong: {to_text(generator)[:200]} does not vanish on the image",
                        str(file),
                    )
        # The unit ideal has the single generator 1.
        empty = fields.dim < 0
        generators = (
            (ring.one,)
            if empty
            else self._ideal.linear_equations + tuple(sorted((primitive(g) for g in found), key=by_degree))
        )
        return ZariskiClosure(
            dim=fields.dim,
            dim_evidence=Evidence.COMPUTED,
            codim=self.parametrization.n_coordinates - fields.dim,
            degree=fields.degree,
            generators=generators,
            minimal=fields.minimal,
            generator_degrees=degrees_of(generators),
            betti=None if fields.betti is None else tuple(sorted(fields.betti)),
            n_coordinates=self.parametrization.n_coordinates,
            n_independent=len(reduction.kept),
            vanishing_proved=not self.parametrization.relations,
            complete=True,
            completeness="Macaulay2's kernel" if self.equations is None else "the equations were given as complete",
            exact_degree=None,
            strategy="eliminate",
            cpu_seconds={"eliminate": outcome.cpu_seconds},
            evidence=Evidence.COMPUTED,
            provenance=Provenance.of(document, outcome, self.field_name),
        )
