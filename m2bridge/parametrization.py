"""The polynomial map itself: ground field, parameters, coordinates; and what can be asked of it.

In the flow: a network model or a map file makes a `Parametrization`, an operation turns it into a script.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import sympy
from sympy.polys.domains.domain import Domain
from sympy.polys.rings import PolyElement, PolyRing

from m2bridge import polynomials
from m2bridge.errors import InputError, PointError
from m2bridge.fields import element, field_name, parse_field, parse_number

if TYPE_CHECKING:
    from m2bridge.dimension import DimensionReport
    from m2bridge.engines import Engine
    from m2bridge.job import Limits
    from m2bridge.operations import (
        Fibre,
        GroebnerBasis,
        SingularLocus,
        TangentSpaces,
        ZariskiClosure,
    )

VectorField = tuple[PolyElement, ...]
"""A polynomial vector field on parameter space: one component for each parameter, in their order."""


@dataclass(frozen=True)
class Symmetry:
    """A permutation of parameters that permutes some of the coordinates: f_i becomes f_(coordinates[i]).

    Attributes
    ----------
    coordinates
        Permutation of some of the coordinates' indices.
    parameters
        Permutation of the parameters' indices: parameter j is replaced by parameter ``parameters[j]``.
    """

    coordinates: Mapping[int, int]
    parameters: Mapping[int, int]


@dataclass(frozen=True)
class Chart:
    """A rational inverse of a map on an open set, as polynomials in the coordinates, for proofs of completeness.

    There are a domain B that the map factors through (its image being that of B) and a rational section from
    coordinate space to B. After clearing denominators, "the section followed by the map is the identity" and
    "the section satisfies the equations of B" become the ``identities``.

    Attributes
    ----------
    denominators
        Polynomials h that must be invertible, one of each orbit under the map's symmetries.
    identities
        Polynomials that must lie in the ideal wherever the denominators are invertible.
    domain
        What B is, in words.
    base
        A map whose closure's ideal is among the equations of B, with coordinates that bear the same names: its
        generators are further identities, once they are known to be complete. None if there is none.
    """

    denominators: tuple[PolyElement, ...]
    identities: tuple[PolyElement, ...]
    domain: str
    base: Parametrization | None = None


@dataclass(frozen=True)
class Parametrization:
    """A polynomial map from parameter space K^n to coordinate space K^m.

    Attributes
    ----------
    ring
        K[parameters], K = QQ or GF(p), in the user's names; its variables are the n parameters in order.
    coordinates
        The m coordinates of the map, elements of ``ring``, in order.
    coordinate_names
        Names of the coordinates of the target space, in the same order.
    relations
        Polynomials in the parameters that bind them; the map is taken on their zero set. Only the closure,
        Gröbner bases and fibres allow them.
    title
        One line for headings.
    points
        Named points of parameter space that came with the map.
    vector_fields
        Vector fields along which the map is expected to be constant (symmetries of a family); whoever uses
        them verifies them first.
    expected_dimension
        Dimension of the closure by a closed formula of the family, or None.
    cheaper
        Another parametrization with the same coordinates in the same order and the same closure, on which
        elimination is cheaper, or None.
    symmetries
        Permutations of parameters that are expected to permute coordinates; whoever uses them verifies them first.
    make_chart
        Returns a rational inverse in the coordinate ring, or None if the map has none; it may be large, so it is
        made on demand, by `chart`.
    make_section
        Returns the parameters as rational functions of the coordinates (elements of the fraction field of the
        coordinate ring) such that the map takes them back to the coordinates, or None if there are none.
    parameter_degrees
        Positive degrees of the parameters for which the coordinates are homogeneous, or None for all 1.
        Elimination is several times faster on a map that is homogeneous for the degrees it is told.
    """

    ring: PolyRing
    coordinates: tuple[PolyElement, ...]
    coordinate_names: tuple[str, ...]
    relations: tuple[PolyElement, ...] = ()
    title: str = "polynomial map"
    points: Mapping[str, Mapping[str, str | int] | str] = field(default_factory=dict)
    vector_fields: tuple[VectorField, ...] = ()
    expected_dimension: int | None = None
    cheaper: Parametrization | None = None
    symmetries: tuple[Symmetry, ...] = ()
    make_chart: Callable[[], Chart | None] | None = None
    make_section: Callable[[], Sequence[Any] | None] | None = None
    parameter_degrees: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not self.coordinates:
            raise InputError("the map has no coordinates")
        if len(self.coordinates) != len(self.coordinate_names):
            raise InputError(f"{len(self.coordinates)} coordinates, but {len(self.coordinate_names)} coordinate names")
        polynomials.check_names(self.parameters, "parameters")
        polynomials.check_names(self.coordinate_names, "coordinate_names")

    @classmethod
    def from_strings(
        cls,
        parameters: Sequence[str],
        coordinates: Sequence[str],
        *,
        field: str | Domain = "QQ",
        coordinate_names: Sequence[str] | None = None,
        relations: Sequence[str] = (),
        points: Mapping[str, Mapping[str, str | int] | str] | None = None,
    ) -> Parametrization:
        """Return the map with these names and polynomial strings.

        Raises
        ------
        InputError
            If the map is empty, a name is unusable or repeated, the field is not supported, or a coordinate
            is not a polynomial in the parameters with exact coefficients.

        Examples
        --------
        >>> twisted_cubic = Parametrization.from_strings(["s", "t"], ["s^3", "s^2*t", "s*t^2", "t^3"])
        >>> twisted_cubic.n_parameters, twisted_cubic.n_coordinates
        (2, 4)
        """
        ring = polynomials.make_ring(polynomials.check_names(parameters, "parameters"), parse_field(field))
        names = coordinate_names
        if names is None:
            names = [f"y{i}" for i in range(len(coordinates))]
        names = polynomials.check_names(names, "coordinate_names")
        if len(names) != len(coordinates):
            raise InputError(f"{len(coordinates)} coordinates, but {len(names)} coordinate names")
        return cls(
            ring=ring,
            coordinates=tuple(
                polynomials.parse_polynomial(text, ring, f"coordinate {name}")
                for name, text in zip(names, coordinates, strict=True)
            ),
            coordinate_names=names,
            relations=tuple(
                polynomials.parse_polynomial(text, ring, f"relation {i}") for i, text in enumerate(relations, start=1)
            ),
            points=dict(points or {}),
        )

    @classmethod
    def from_sympy(
        cls,
        parameters: Sequence[sympy.Symbol],
        coordinates: Sequence[Any],
        *,
        field: str | Domain = "QQ",
        coordinate_names: Sequence[str] | None = None,
    ) -> Parametrization:
        """Return the map given by sympy expressions in these symbols.

        Raises
        ------
        InputError
            If two symbols share a name, or an expression has floats, other symbols, or is no polynomial.

        Examples
        --------
        >>> s, t = sympy.symbols("s t")
        >>> Parametrization.from_sympy([s, t], [s**2, s*t, t**2]).n_coordinates
        3
        """
        if not all(isinstance(symbol, sympy.Symbol) for symbol in parameters):
            raise InputError("parameters: each must be a sympy Symbol")
        names = polynomials.check_names([symbol.name for symbol in parameters], "parameters")
        ring = polynomials.make_ring(names, parse_field(field))
        # Symbols with assumptions differ from the ring's plain ones of the same name.
        plain = dict(zip(parameters, ring.symbols, strict=True))
        labels = coordinate_names or [f"y{i}" for i in range(len(coordinates))]
        return cls(
            ring=ring,
            coordinates=tuple(
                polynomials.from_sympy(expression, ring, f"coordinate {i}", plain)
                for i, expression in enumerate(coordinates, start=1)
            ),
            coordinate_names=tuple(labels),
        )

    @cached_property
    def chart(self) -> Chart | None:
        """A rational inverse of the map, in the coordinate ring, or None."""
        return None if self.make_chart is None else self.make_chart()

    # --- what it is ----------------------------------------------------------------------------------------

    @property
    def field(self) -> Domain:
        """Ground field, as a sympy domain."""
        return self.ring.domain

    @property
    def field_name(self) -> str:
        """``"QQ"`` or ``"GF(p)"``."""
        return field_name(self.ring.domain)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters, in order."""
        return polynomials.ring_names(self.ring)

    @property
    def n_parameters(self) -> int:
        """Dimension n of parameter space."""
        return int(self.ring.ngens)

    @property
    def n_coordinates(self) -> int:
        """Dimension m of coordinate space."""
        return len(self.coordinates)

    @cached_property
    def coordinate_ring(self) -> PolyRing:
        """K[coordinates] in the user's names, graded reverse lexicographic: equations live here."""
        return polynomials.make_ring(self.coordinate_names, self.field)

    def point(self, values: Mapping[str, Any] | Sequence[Any]) -> tuple[Fraction, ...]:
        """Return a point of parameter space as exact numbers in the order of the parameters.

        Parameters
        ----------
        values
            Integers, fractions or texts ``n/d``: one for each parameter, in order or by name.

        Raises
        ------
        PointError
            If a value is missing, left over, or not exact.
        """
        return exact_point(values, self.parameters, self.field)

    def named_point(self, name: str, seed: int = 0) -> tuple[Fraction, ...]:
        """Return a point that came with the map; one that is described in words is drawn at random.

        Raises
        ------
        PointError
            If the map has no such point, or its values are not exact.
        """
        if name not in self.points:
            known = ", ".join(self.points) or "none"
            raise PointError(f"the map has no point named {name!r} (its points: {known})")
        values = self.points[name]
        return self.random_point(seed) if isinstance(values, str) else self.point(values)

    def random_point(self, seed: int = 0) -> tuple[Fraction, ...]:
        """Return a point with random integer entries from -99 to 99, none zero; the same for the same seed."""
        rng = random.Random(seed)  # noqa: S311 - random points, not secrets
        entries = [sign * rng.randint(1, 99) for sign in rng.choices((-1, 1), k=self.n_parameters)]
        return tuple(Fraction(entry) for entry in entries)

    def image(self, point: Sequence[Fraction]) -> tuple[Any, ...]:
        """Return the value of the map at a point: m elements of the ground field."""
        elements = polynomials.fraction_point(point, self.field)
        return tuple(polynomials.evaluate_exactly(f, elements) for f in self.coordinates)

    def describe(self) -> dict[str, Any]:
        """Return the map as plain data: a map file that `from_strings` reads back."""
        description: dict[str, Any] = {
            "field": self.field_name,
            "parameters": list(self.parameters),
            "coordinates": [polynomials.to_text(f) for f in self.coordinates],
            "coordinate_names": list(self.coordinate_names),
        }
        if self.relations:
            description["relations"] = [polynomials.to_text(f) for f in self.relations]
        return description

    # --- what can be asked: each is one call, with the modules imported on use, since they build on this one

    def dimension(self, *, at: Sequence[Any] | Mapping[str, Any] | None = None, seed: int = 0) -> DimensionReport:
        """Return the dimension of the closure of the image by formula, exact rank and float64 rank."""
        from m2bridge.dimension import dimension

        return dimension(self, at=None if at is None else self.point(at), seed=seed)

    def closure(self, **options: Any) -> ZariskiClosure:
        """Return the Zariski closure of the image: ideal, dimension, degree, minimal generators.

        The options are those of `m2bridge.closure.closure`: strategy, budget, largest degree, Betti numbers, engine.
        """
        from m2bridge.closure import closure

        return closure(self, **options)

    def groebner(
        self, *, order: str = "grevlex", engine: Engine | None = None, limits: Limits | None = None
    ) -> GroebnerBasis:
        """Return the reduced Gröbner basis, in a monomial order, of the ideal of the closure.

        Here and in `tangent` and `singular` the equations are those of `closure`; `Infeasible` is raised where it stays
        open whether they are all.
        """
        from m2bridge.closure import complete_equations
        from m2bridge.operations import ComputeGroebnerBasis, compute

        equations = complete_equations(self, engine=engine, limits=limits)
        return compute(ComputeGroebnerBasis.of_closure(self, order, equations), engine=engine, limits=limits)

    def tangent(
        self,
        *points: Sequence[Any] | Mapping[str, Any],
        engine: Engine | None = None,
        limits: Limits | None = None,
    ) -> TangentSpaces:
        """Return the tangent spaces of the closure at the images of points of parameter space."""
        from m2bridge.closure import complete_equations
        from m2bridge.operations import ComputeTangentSpace, compute

        # Points that are not usable are refused before equations are sought.
        operation = ComputeTangentSpace(self, weights=tuple(self.point(point) for point in points))
        operation = replace(operation, equations=complete_equations(self, engine=engine, limits=limits))
        return compute(operation, engine=engine, limits=limits)

    def singular(self, *, engine: Engine | None = None, limits: Limits | None = None) -> SingularLocus:
        """Return the singular locus of the closure by minors of the Jacobian of its equations."""
        from m2bridge.closure import complete_equations
        from m2bridge.operations import ComputeSingularLocus, compute

        operation = ComputeSingularLocus(self)
        operation = replace(operation, equations=complete_equations(self, engine=engine, limits=limits))
        return compute(operation, engine=engine, limits=limits)

    def fibre(
        self,
        point: Sequence[Any] | Mapping[str, Any],
        *,
        engine: Engine | None = None,
        limits: Limits | None = None,
    ) -> Fibre:
        """Return the fibre of the map through a point of parameter space."""
        from m2bridge.operations import ComputeFibre, compute

        return compute(ComputeFibre(self, point=self.point(point)), engine=engine, limits=limits)

    def require_no_relations(self, question: str) -> None:
        """Refuse a question that is only answered for unconstrained parameters.

        Raises
        ------
        InputError
            If the map has relations among its parameters.
        """
        if self.relations:
            raise InputError(f"{question} is not available for a map with relations among its parameters")


def exact_point(
    values: Mapping[str, Any] | Sequence[Any], names: Sequence[str], ground: Domain
) -> tuple[Fraction, ...]:
    """Return exact numbers in the order of the names.

    Raises
    ------
    PointError
        If a value is missing, left over, not exact, or has no meaning in the ground field.
    """
    if isinstance(values, Mapping):
        missing = [name for name in names if name not in values]
        extra = [name for name in values if name not in names]
        if missing or extra:
            said = f"no value for {missing[0]!r}" if missing else f"unknown name {extra[0]!r}"
            raise PointError(f"the point has {said}")
        values = [values[name] for name in names]
    elif len(values) != len(names):
        raise PointError(f"the point has {len(values)} entries, but {len(names)} are needed")
    numbers = []
    for name, value in zip(names, values, strict=True):
        try:
            if isinstance(value, bool | float):
                raise PointError(f"{value!r} is not exact: write an integer or a fraction n/d")
            if isinstance(value, int | Fraction):
                number = Fraction(value)
            elif isinstance(value, sympy.Rational):
                number = Fraction(int(value.p), int(value.q))
            else:
                number = parse_number(str(value))
            element(ground, number)
        except InputError as error:
            raise PointError(error.problem, f"the value of {name}") from None
        numbers.append(number)
    return tuple(numbers)
