"""The maps whose closures the benchmarks compute: attention, polynomial networks, tensors, statistical models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, combinations_with_replacement, product

from sympy import QQ
from sympy.polys.rings import PolyElement, PolyRing

from m2bridge.exact import LinearReduction, linear_reduction
from m2bridge.networks import LightningAttention
from m2bridge.parametrization import Parametrization
from m2bridge.polynomials import make_ring


@dataclass(frozen=True)
class Instance:
    """A map, and what is asked of it.

    Attributes
    ----------
    name, title, family
        How it is called.
    build
        Makes the map as a user would give it: this is what the product gets.
    degree
        Equations are wanted up to this degree: the largest degree of a minimal generator, where that is known.
    best
        Makes the map in the best formulation known for elimination, with coordinates of the same names, if it is
        not one that the map knows itself. The other programs get its linearly independent coordinates.
    quick, sympy
        Whether it belongs to the quick run; whether it is small enough for sympy.
    """

    name: str
    title: str
    family: str
    build: Callable[[], Parametrization]
    degree: int
    best: Callable[[], Parametrization] | None = None
    quick: bool = False
    sympy: bool = False

    @cached_property
    def map(self) -> Parametrization:
        """The map itself."""
        return self.build()

    @cached_property
    def reduction(self) -> LinearReduction:
        """Its linearly independent coordinates."""
        return linear_reduction(self.map)

    @cached_property
    def reduced(self) -> Parametrization:
        """The best formulation, with the linearly independent coordinates only, and with degrees of the parameters."""
        best = self.best() if self.best else self.map.cheaper or self.map
        place = {name: i for i, name in enumerate(best.coordinate_names)}
        kept = [place[self.map.coordinate_names[i]] for i in self.reduction.kept]
        return replace(
            best,
            coordinates=tuple(best.coordinates[i] for i in kept),
            coordinate_names=tuple(f"y{i}" for i in self.reduction.kept),
            parameter_degrees=best.parameter_degrees or (1,) * best.n_parameters,
            cheaper=None,
            symmetries=(),
            vector_fields=(),
            make_chart=None,
        )


def _map(
    title: str, ring: PolyRing, coordinates: dict[str, PolyElement], degrees: tuple[int, ...] | None = None
) -> Parametrization:
    return Parametrization(
        ring=ring,
        coordinates=tuple(coordinates.values()),
        coordinate_names=tuple(coordinates),
        title=title,
        parameter_degrees=degrees,
    )


def _variables(**shapes: Sequence[int]) -> tuple[PolyRing, dict[tuple[str, tuple[int, ...]], PolyElement]]:
    """Return a ring whose variables are the entries of arrays of these shapes, and the entries by letter and index."""
    labels = [(letter, index) for letter, shape in shapes.items() for index in product(*map(range, shape))]
    ring = make_ring([letter + "".join(str(i + 1) for i in index) for letter, index in labels], QQ)
    return ring, dict(zip(labels, ring.gens, strict=True))


# --- attention -----------------------------------------------------------------------------------------


def one_output_coordinate(d: int, a: int, t: int) -> Parametrization:
    """Return Q, K, v -> all coefficients of one entry of the output, as in arXiv:2604.15632: repeated ones included.

    The entry is v X X^T K^T Q x_1; a coefficient that equals a coordinate of a lightning layer bears its name, so that
    the layer's formulation in (A, V) serves.
    """
    ring, w = _variables(Q=(a, d), K=(a, d), v=(d,))
    A = [[sum((w["K", (k, p)] * w["Q", (k, m)] for k in range(a)), ring.zero) for m in range(d)] for p in range(d)]
    v = [w["v", (p,)] for p in range(d)]
    coordinates: dict[str, PolyElement] = {}
    for s in range(1, t):  # x_ps x_qs x_m1
        for p, q in combinations_with_replacement(range(d), 2):
            for m in range(d):
                value = v[p] * A[q][m] + (v[q] * A[p][m] if p != q else ring.zero)
                name = f"y1{p + 1}{q + 1}{m + 1}"
                coordinates[name if s == 1 else f"{name}_{s}"] = value
    for p, q, m in combinations_with_replacement(range(d), 3):  # x_p1 x_q1 x_m1
        total = ring.zero
        for i, j, k in set(product((p, q, m), repeat=3)):
            if sorted((i, j, k)) == [p, q, m]:
                total = total + v[i] * A[j][k]
        coordinates[f"z1{p + 1}{q + 1}{m + 1}"] = total
    return _map(f"one coordinate of the output of a lightning layer, d={d}, a={a}, t={t}", ring, coordinates)


# --- polynomial networks, tensors ----------------------------------------------------------------------


def square_network(inputs: int, hidden: int, outputs: int) -> Parametrization:
    """Return the coefficients of W_2 (W_1 x)^2, squares entry by entry."""
    ring, w = _variables(a=(hidden, inputs), b=(outputs, hidden))
    coordinates = {}
    for i in range(outputs):
        for p, q in combinations_with_replacement(range(inputs), 2):
            factor = 1 if p == q else 2
            coordinates[f"c{i + 1}{p + 1}{q + 1}"] = sum(
                (factor * w["b", (i, k)] * w["a", (k, p)] * w["a", (k, q)] for k in range(hidden)), ring.zero
            )
    return _map(f"polynomial network ({inputs},{hidden},{outputs}), squares", ring, coordinates)


def tensors(shape: tuple[int, ...], rank: int) -> Parametrization:
    """Return the entries of a sum of so many rank-one tensors."""
    letters = "abcd"
    ring, w = _variables(**{letters[k]: (rank, size) for k, size in enumerate(shape)})
    coordinates = {}
    for index in product(*map(range, shape)):
        total = ring.zero
        for r in range(rank):
            term = ring.one
            for k, i in enumerate(index):
                term = term * w[letters[k], (r, i)]
            total = total + term
        coordinates["t" + "".join(str(i + 1) for i in index)] = total
    return _map(f"tensors {'x'.join(map(str, shape))} of rank <= {rank}", ring, coordinates)


def twisted_cubic() -> Parametrization:
    """Return (s^3, s^2 t, s t^2, t^3)."""
    ring = make_ring(["s", "t"], QQ)
    s, t = ring.gens
    return _map("twisted cubic", ring, {f"c{k}": s ** (3 - k) * t**k for k in range(4)})


# --- statistical models --------------------------------------------------------------------------------


def factor_model(observed: int, factors: int) -> Parametrization:
    """Return the covariances of a Gaussian model with hidden factors; variances are free, and left out."""
    ring, w = _variables(l=(observed, factors))
    coordinates = {
        f"s{i + 1}{j + 1}": sum((w["l", (i, k)] * w["l", (j, k)] for k in range(factors)), ring.zero)
        for i, j in combinations(range(observed), 2)
    }
    return _map(f"factor model, {observed} observed, {factors} hidden", ring, coordinates)


def two_state_quartet() -> Parametrization:
    """Return the pattern probabilities of the two-state symmetric model on the tree 12|34, equal ones once.

    Each edge has a matrix [[a, b], [b, a]]; the root is uniform, its factor 1/2 left out.
    """
    ring, w = _variables(a=(5,), b=(5,))
    edges = [(w["a", (k,)], w["b", (k,)]) for k in range(5)]
    coordinates = {}
    for rest in product(range(2), repeat=3):
        leaves = (0, *rest)
        total = ring.zero
        for u, v in product(range(2), repeat=2):
            term = edges[4][u ^ v]
            for k, leaf in enumerate(leaves):
                term = term * edges[k][leaf ^ (u if k < 2 else v)]
            total = total + term
        coordinates["p" + "".join(map(str, leaves))] = total
    return _map("two-state symmetric model on the quartet tree, probabilities", ring, coordinates)


# --- the list ------------------------------------------------------------------------------------------


def _lightning(*sizes: int, degree: int, quick: bool = False, sympy: bool = False) -> Instance:
    layer = LightningAttention(*sizes)
    digits = "".join(map(str, sizes))
    return Instance(
        f"L{digits}", f"lightning layer {sizes}", "attention", layer.parametrization, degree, quick=quick, sympy=sympy
    )


INSTANCES = (
    Instance("cubic", "twisted cubic", "classical", twisted_cubic, 2, quick=True, sympy=True),
    Instance("segre33", "3x3 matrices of rank 1", "tensors", lambda: tensors((3, 3), 1), 2, quick=True, sympy=True),
    _lightning(2, 1, 1, 2, degree=2, quick=True, sympy=True),
    _lightning(2, 1, 2, 2, degree=4, sympy=True),
    _lightning(2, 2, 1, 2, degree=4),
    _lightning(2, 2, 2, 2, degree=4, quick=True),
    _lightning(3, 1, 1, 2, degree=3, quick=True),
    _lightning(3, 1, 1, 1, degree=4),
    _lightning(3, 1, 2, 2, degree=4),
    _lightning(3, 1, 3, 2, degree=4),
    _lightning(3, 2, 1, 2, degree=4),
    _lightning(3, 2, 2, 2, degree=4),
    _lightning(3, 3, 1, 2, degree=4),
    _lightning(4, 1, 2, 2, degree=4),
    _lightning(4, 2, 1, 2, degree=4),
    Instance(
        "output332",
        "one output coordinate, d=3, a=3, t=2 (arXiv:2604.15632)",
        "attention",
        lambda: one_output_coordinate(3, 3, 2),
        4,
        best=lambda: LightningAttention(3, 1, 3, 2).parametrization("AV"),
    ),
    Instance(
        "output322",
        "one output coordinate, d=3, a=2, t=2",
        "attention",
        lambda: one_output_coordinate(3, 2, 2),
        4,
        best=lambda: _cheaper(LightningAttention(3, 1, 2, 2)),
    ),
    Instance("pnn223", "polynomial network (2,2,3)", "networks", lambda: square_network(2, 2, 3), 3, quick=True),
    Instance("pnn322", "polynomial network (3,2,2)", "networks", lambda: square_network(3, 2, 2), 3),
    Instance("pnn323", "polynomial network (3,2,3)", "networks", lambda: square_network(3, 2, 3), 3),
    Instance("223r2", "tensors 2x2x3, rank <= 2", "tensors", lambda: tensors((2, 2, 3), 2), 3, quick=True),
    Instance("333r1", "tensors 3x3x3, rank 1", "tensors", lambda: tensors((3, 3, 3), 1), 2),
    Instance("333r2", "tensors 3x3x3, rank <= 2", "tensors", lambda: tensors((3, 3, 3), 2), 3),
    Instance("333r3", "tensors 3x3x3, rank <= 3", "tensors", lambda: tensors((3, 3, 3), 3), 4),
    Instance("pentad", "factor model, 5 variables, 2 factors", "statistics", lambda: factor_model(5, 2), 5),
    Instance("factor62", "factor model, 6 variables, 2 factors", "statistics", lambda: factor_model(6, 2), 5),
    Instance("quartet", "two-state quartet tree", "statistics", two_state_quartet, 2),
)


def _cheaper(layer: LightningAttention) -> Parametrization:
    map_ = layer.parametrization()
    return map_.cheaper or map_


def find(name: str) -> Instance:
    """Return the instance of a name.

    Raises
    ------
    KeyError
        If there is none.
    """
    return {instance.name: instance for instance in INSTANCES}[name]
