"""The cone over the projective closure of an image: how inhomogeneous maps are answered by homogeneous equations."""

from __future__ import annotations

from collections.abc import Sequence

from sympy.polys.rings import PolyElement, PolyRing

from m2bridge.parametrization import Parametrization
from m2bridge.polynomials import make_ring, primitive, total_degree


def _fresh_name(letter: str, names: Sequence[str]) -> str:
    name = letter
    while name in names:
        name += letter
    return name


def projective_cone(parametrization: Parametrization) -> Parametrization:
    """Return the map (f_1^h, ..., f_m^h, s^D) into one dimension more, homogeneous of degree D in one parameter more.

    D is the largest degree of the f_i, and f_i^h is f_i made homogeneous of degree D by s. The closure of its image
    is the cone over the projective closure of the image of f: its ideal is the homogenization of the ideal of f by
    the last coordinate, so setting that to 1 gives back the ideal of f.
    """
    degree = max(1, *(total_degree(f) for f in parametrization.coordinates if f), 1)
    ring = make_ring([*parametrization.parameters, _fresh_name("s", parametrization.parameters)], parametrization.field)
    coordinates = [
        ring.from_dict({(*m, degree - sum(m)): c for m, c in f.items()}) for f in parametrization.coordinates
    ]
    names = parametrization.coordinate_names
    return Parametrization(
        ring=ring,
        coordinates=(*coordinates, ring.gens[-1] ** degree),
        coordinate_names=(*names, _fresh_name("T", names)),
        title=f"cone over the projective closure of: {parametrization.title}",
    )


def affine_part(polynomial: PolyElement, ring: PolyRing) -> PolyElement:
    """Return an equation of the cone with the last coordinate set to 1, in the ring of the other coordinates."""
    terms: dict[tuple[int, ...], object] = {}
    for monomial, coefficient in polynomial.items():
        terms[monomial[:-1]] = terms.get(monomial[:-1], ring.domain.zero) + coefficient
    found = ring.from_dict({m: c for m, c in terms.items() if c})
    return primitive(found) if found else found
