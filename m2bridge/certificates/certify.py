"""Makes certificates: searches with all that this package and Macaulay2 offer, and leaves the proof to be checked."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb
from typing import Any

from sympy.polys.rings import PolyElement

from m2bridge import check as checker
from m2bridge.certificates.certificate import (
    Certificate,
    Step,
    describe_ideal,
    describe_map,
    describe_network,
    polynomial_text,
    texts,
)
from m2bridge.certificates.groebner_trace import groebner_trace
from m2bridge.certificates.recover import recover_weights
from m2bridge.closure import closure
from m2bridge.engines import Engine
from m2bridge.errors import Infeasible, InputError
from m2bridge.evidence import Evidence
from m2bridge.exact import affine_symmetries, constant_along, irreducible_factors, vanishing
from m2bridge.fields import to_fraction
from m2bridge.ideal import Ideal
from m2bridge.implicitization.triangular import triangular_section
from m2bridge.job import Limits
from m2bridge.networks import DeepLightning, LightningAttention
from m2bridge.operations import (
    ComputeGroebnerBasis,
    ComputeIdealMembership,
    ZariskiClosure,
    compute,
)
from m2bridge.operations.closure_ideal import ClosureIdeal
from m2bridge.parametrization import Parametrization
from m2bridge.polynomials import total_degree

RANK_PRIME = 2**31 - 1
"""Of ranks: large enough that random points are hardly ever unlucky."""

BASIS_PRIME = 32003
"""Of Gröbner bases: completeness modulo one prime suffices (docs/completeness.md, section 3)."""

DEFAULT_BUDGET_SECONDS = 300.0

Model = LightningAttention | DeepLightning | Parametrization
Weights = Sequence[Fraction | int]


def _infeasible(problem: str) -> Infeasible:
    return Infeasible(problem, "docs/certificates.md says what can be certified")


def certify_dimension(model: Model, *, seed: int = 0) -> Certificate:
    """Return a certificate of the dimension of the closure of a model's image.

    From below by the rank of the Jacobian at an integer point modulo a prime; from above by sizes, by symmetries that
    the checker verifies as identities of matrices (networks), by vector fields (maps), or by equations.

    Raises
    ------
    Infeasible
        If the bounds that can be certified do not meet.
    """
    if isinstance(model, Parametrization):
        claim: dict[str, Any] = {"kind": "dimension", "map": describe_map(model)}
        steps, lower, upper = _map_dimension(model, seed)
    else:
        network = _network(model)
        claim = {"kind": "dimension", "map": describe_network(network)}
        steps, lower, upper = _network_dimension(network, seed)
    if lower < upper:
        raise _infeasible(f"the dimension is between {lower} and {upper}: no certificate of either is known")
    return _certificate(claim | {"dimension": lower}, steps, seed)


def _network(model: LightningAttention | DeepLightning) -> DeepLightning:
    if isinstance(model, DeepLightning):
        return model
    return DeepLightning((model.d, model.d_out), (model.a,), model.t)


def _network_dimension(network: DeepLightning, seed: int) -> tuple[list[dict[str, Any]], int, int]:
    rng = random.Random(seed)  # noqa: S311 - random points, not secrets
    net = checker.Network(describe_network(network))
    point = [rng.randint(-999, 999) for _ in range(net.n)]
    at = {"prime": str(RANK_PRIME), "point": texts(point)}
    families = _families(network)
    weights = net.matrices([x % RANK_PRIME for x in point])
    vectors = [v for family in families for v in checker.symmetries(net, family, weights, RANK_PRIME)]
    k = checker.rank(vectors, RANK_PRIME)
    upper = net.n - k
    steps: list[dict[str, Any]] = [{"rule": "symmetries", **at, "families": families, "rank": k}]
    if net.largest < upper:
        upper, steps = net.largest, [{"rule": "sizes"}]
    outputs, tokens = network.widths[-1] * network.t, network.widths[0] * network.t
    count, lower = -(-(upper + upper // 8 + 4) // outputs), -1
    while True:
        inputs = [texts([rng.randint(-99, 99) for _ in range(tokens)]) for _ in range(count)]
        before, lower = lower, net.rank_at([x % RANK_PRIME for x in point], inputs, RANK_PRIME)
        if lower >= upper or lower == before or count > upper:
            return [{"rule": "rank", **at, "inputs": inputs, "rank": lower}, *steps], lower, upper
        count *= 2


def _families(network: DeepLightning) -> list[dict[str, Any]]:
    """Return the families of symmetries of a network, as the checker names them."""
    found = []

    def family(name: str, layer: int, head: int = 0, other: int = 0) -> None:
        found.append({"name": name, "layer": layer, "head": head, "other": other})

    for i, a in enumerate(network.ranks):
        for h in range(network.heads):
            if a < network.widths[i]:
                family("attention", i, h)
            family("scaling", i, h)
            if i + 1 in network.collapsed_layers:
                family("orthogonal", i, h)
            for other in range(network.heads if a >= network.widths[i] else 0):
                if other != h:
                    family("mixing", i, h, other)
        if i + 1 < network.n_layers and not network.skip:
            family("hidden", i)
    return found


def _map_dimension(map_: Parametrization, seed: int) -> tuple[list[dict[str, Any]], int, int]:
    steps = [_rank_step(map_, seed)]
    lower = steps[0]["rank"]
    n, m = map_.n_parameters, map_.n_coordinates
    if lower == min(n, m):
        return [*steps, {"rule": "sizes"}], lower, lower
    names = describe_map(map_)["parameters"]
    ring = checker.Map(describe_map(map_)).parameters
    point = [int(x) % RANK_PRIME for x in steps[0]["point"]]
    chosen: list[list[str]] = []
    rows: list[list[int]] = []
    fields = [*map_.vector_fields, *(affine_symmetries(map_, lower, seed) if n <= 45 else ())] if lower else []
    for field in fields:
        components = [polynomial_text(f, names) for f in field]
        row = [ring.value(ring.parse(f), point, RANK_PRIME) for f in components]
        if checker.rank([*rows, row], RANK_PRIME) > len(rows) and constant_along(map_, field):
            chosen.append(components)
            rows.append(row)
    if n - len(chosen) <= lower:
        step = {"rule": "vector-fields", "prime": str(RANK_PRIME), "point": steps[0]["point"], "fields": chosen}
        return [*steps, step], lower, n - len(chosen)
    found = closure(map_, equations_only=True, seed=seed, budget_seconds=60)
    weights = texts(map_.random_point(seed))
    tangent = {"rule": "tangent", "uses": [1], "weights": weights}
    steps += [_vanishing_step(map_, found.generators), tangent]
    return steps, lower, m - _equations_rank(map_, found.generators, weights)


def _rank_step(map_: Parametrization, seed: int) -> dict[str, Any]:
    """Return a step with the rank of the Jacobian at a random integer point."""
    subject = checker.Map(describe_map(map_))
    best: dict[str, Any] = {"rank": -1}
    for attempt in range(3):
        rng = random.Random(seed + attempt)  # noqa: S311 - random points, not secrets
        point = [rng.choice((-1, 1)) * rng.randint(1, 999) for _ in range(map_.n_parameters)]
        r = subject.rank_at([x % RANK_PRIME for x in point], [], RANK_PRIME)
        if r > best["rank"]:
            best = {"rule": "rank", "prime": str(RANK_PRIME), "point": texts(point), "inputs": [], "rank": r}
    return best


def _vanishing_step(map_: Parametrization, equations: Sequence[PolyElement]) -> dict[str, Any]:
    names = describe_map(map_)["coordinate_names"]
    return {"rule": "vanishing", "polynomials": [polynomial_text(f, names) for f in equations]}


def _equations_rank(map_: Parametrization, equations: Sequence[PolyElement], weights: Sequence[str]) -> int:
    subject = checker.Map(describe_map(map_))
    y = subject.image([checker.number(w) for w in weights])
    names = describe_map(map_)["coordinate_names"]
    parsed = [subject.target.parse(polynomial_text(f, names)) for f in equations]
    return checker.rank(subject.target.gradients(parsed, y))


# --- equations and the whole ideal ---------------------------------------------------------------------


def certify_vanishing(map_: Parametrization, polynomials: Sequence[PolyElement]) -> Certificate:
    """Return a certificate that polynomials in the coordinates vanish on the image, by exact substitution.

    Raises
    ------
    InputError
        If one does not.
    """
    for number, zero in enumerate(vanishing(map_, polynomials)):
        if not zero:
            raise InputError(f"polynomial {number} does not vanish on the image")
    step = _vanishing_step(map_, polynomials)
    return _certificate({"kind": "vanishing", "map": describe_map(map_), "polynomials": step["polynomials"]}, [step])


def certify_closure(
    model: LightningAttention | Parametrization,
    found: ZariskiClosure | None = None,
    *,
    budget_seconds: float = DEFAULT_BUDGET_SECONDS,
    seed: int = 0,
    engine: Engine | None = None,
    limits: Limits | None = None,
) -> Certificate:
    """Return a certificate of the whole ideal of the closure of a map's image.

    It trusts nothing where the closure is an affine space or a hypersurface, or where the equations have a triangular
    section whose denominators are shown to be no zero divisors by Gröbner bases modulo a prime that the checker
    verifies. Otherwise it lists as trusted what Macaulay2 said.

    Parameters
    ----------
    model
        The map.
    found
        Its closure, if it is known already.
    budget_seconds
        For the closure, and then for the Gröbner bases that the checker is to verify.

    Raises
    ------
    Infeasible
        If it is not known that the equations found are all.
    """
    map_ = model.parametrization() if isinstance(model, LightningAttention) else model
    if found is None:
        found = closure(map_, budget_seconds=budget_seconds, seed=seed, engine=engine, limits=limits)
    if not found.complete:
        raise _infeasible(f"the equations of the closure are not known to be complete ({found.completeness})")
    steps = closure_steps(map_, found, budget_seconds=budget_seconds, seed=seed)
    polynomials = steps[0]["polynomials"]
    return _certificate({"kind": "closure", "map": describe_map(map_), "polynomials": polynomials}, steps, seed)


MOST_CERTIFIED_EQUATIONS = 70
"""Gröbner bases of more equations take longer than a result should wait for its grade."""


def graded_by_certificate(
    map_: Parametrization, found: ZariskiClosure, *, budget_seconds: float, seed: int = 0
) -> ZariskiClosure:
    """Return a closure whose evidence is ``PROVED`` if a certificate is accepted that trusts nothing.

    A closure that is complete by what Macaulay2 said is tried, within the budget; others are returned as they are.
    """
    worth_trying = (
        found.complete
        and found.evidence is Evidence.COMPUTED
        and not map_.field.characteristic()
        and not map_.relations
        and len(found.generators) <= MOST_CERTIFIED_EQUATIONS
        and budget_seconds > 0
    )
    if not worth_trying:
        return found
    steps = closure_steps(map_, found, budget_seconds=budget_seconds, seed=seed)
    claim = {"kind": "closure", "map": describe_map(map_), "polynomials": steps[0]["polynomials"]}
    made = _certificate(claim, steps, seed)
    if made.trusted or made.check().exit_code:
        return found
    how = f"certificate by the rule '{steps[-1]['rule']}', accepted by the checker"
    return replace(found, evidence=Evidence.PROVED, dim_evidence=Evidence.PROVED, completeness=how)


@dataclass(frozen=True)
class _Reduced:
    """The independent coordinates, the equations in them, and (equation, coordinate) for the dependent ones."""

    kept: list[int]
    equations: list[PolyElement]
    dependent: list[list[int]]
    restrict: Callable[[PolyElement], PolyElement]


def closure_steps(
    map_: Parametrization,
    found: ZariskiClosure,
    *,
    budget_seconds: float = DEFAULT_BUDGET_SECONDS,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Return the steps that show that the equations of a complete closure generate its ideal."""
    ideal = ClosureIdeal(map_)
    linear, kept = list(ideal.linear_equations), list(ideal.reduction.kept)
    equations = [ideal.restrict(g) for g in found.generators if g not in linear]
    dependent = [[k, _solved_for(f, kept)] for k, f in enumerate(linear)]
    reduced = _Reduced(kept, equations, dependent, ideal.restrict)
    steps = [_vanishing_step(map_, [*linear, *equations]), _rank_step(map_, seed)]
    if len(equations) <= 1 and steps[1]["rank"] == len(kept) - len(equations):
        rng = random.Random(seed)  # noqa: S311 - random points, not secrets
        below = total_degree(equations[0]) - 1 if equations else 0
        count = comb(len(kept) + below, below) + 8 if equations else 0
        points = [texts([rng.randint(-99, 99) for _ in range(map_.n_parameters)]) for _ in range(count)]
        step = {"rule": "height-one", "uses": [0, 1], "dependent": dependent, "prime": str(RANK_PRIME)}
        return [*steps, step | {"points": points}]
    proof = _triangular_step(map_, reduced, found.dim, budget_seconds / 2, seed)
    if proof is None:
        proof = _section_step(map_, reduced, budget_seconds / 2, seed)
    if proof is not None:
        return [steps[0], proof]
    source = f"{found.completeness}; docs/completeness.md"
    statement = "these polynomials generate the ideal of the closure"
    return [steps[0], {"rule": "trusted", "uses": [0], "statement": statement, "source": source}]


def _solved_for(linear: PolyElement, kept: Sequence[int]) -> int:
    """Return the dependent coordinate of a linear equation."""
    (index,) = {i for monomial in linear for i, e in enumerate(monomial) if e} - set(kept)
    return index


def _triangular_step(
    map_: Parametrization, reduced: _Reduced, dim: int, budget_seconds: float, seed: int
) -> dict[str, Any] | None:
    """Return a step by equations that solve for one coordinate each, or None."""
    section = triangular_section(map_, reduced.equations, reduced.kept, dim, BASIS_PRIME, seed)
    if section is None:
        return None
    place = {f: k for k, f in enumerate(reduced.equations)}
    solves = [[place[f], i] for f, i in section.solves]
    free = [i for i in reduced.kept if i not in {i for _, i in solves}]
    step = _saturated_step(map_, reduced, section.denominators, free, budget_seconds, seed)
    return None if step is None else {"rule": "triangular", **step, "solves": solves}


def _section_step(map_: Parametrization, reduced: _Reduced, budget_seconds: float, seed: int) -> dict[str, Any] | None:
    """Return a step by the map's rational section, or None if it has none."""
    section = None if map_.make_section is None else map_.make_section()
    if section is None:
        return None
    parts = [(reduced.restrict(x.numer), reduced.restrict(x.denom)) for x in section]
    factors = list(dict.fromkeys(f for _, h in parts for f in irreducible_factors(h)))
    entries = []
    names = describe_map(map_)["coordinate_names"]
    for numerator, denominator in parts:
        exponents = []
        for f in factors:
            exponents.append(0)
            while not denominator.rem(f):
                denominator = denominator.exquo(f)
                exponents[-1] += 1
        numerator = numerator.quo_ground(denominator.LC)
        entries.append({"numerator": polynomial_text(numerator, names), "exponents": exponents})
    step = _saturated_step(map_, reduced, factors, [], budget_seconds, seed)
    return None if step is None else {"rule": "section", **step, "section": entries}


def _saturated_step(
    map_: Parametrization,
    reduced: _Reduced,
    denominators: Sequence[PolyElement],
    free: Sequence[int],
    budget_seconds: float,
    seed: int,
) -> dict[str, Any] | None:
    """Return what shows that no denominator is a zero divisor, and a point where none vanishes; or None."""
    subject, names = checker.Map(describe_map(map_)), describe_map(map_)["coordinate_names"]
    ring = checker.Ring(names, BASIS_PRIME)
    J = [ring.parse(polynomial_text(f, names)) for f in reduced.equations]
    factors: list[dict[str, Any]] = []
    for denominator in denominators:
        text = polynomial_text(denominator, names)
        basis = checker.nonzerodivisor_basis(ring, reduced.kept, J, ring.parse(text))
        try:
            trace = groebner_trace(basis, budget_seconds=budget_seconds / len(denominators))
        except Infeasible:
            return None
        if any(lead[-1] for lead in basis.leads):
            return None
        factors.append({"factor": text, "trace": trace})
    for attempt in range(20):
        rng = random.Random(seed + attempt)  # noqa: S311 - random points, not secrets
        point = [rng.randint(1, 999) for _ in range(map_.n_parameters)]
        at = [x % BASIS_PRIME for x in point]
        image = subject.image(at, BASIS_PRIME)
        gradients = subject.parameters.gradients([subject.coordinates[i] for i in free], at, BASIS_PRIME)
        nonzero = all(ring.value(ring.parse(factor["factor"]), image, BASIS_PRIME) for factor in factors)
        if nonzero and checker.rank(gradients, BASIS_PRIME) == len(free):
            return {
                "uses": [0],
                "prime": str(BASIS_PRIME),
                "point": texts(point),
                "dependent": reduced.dependent,
                "factors": factors,
            }
    return None


# --- points and fibres ---------------------------------------------------------------------------------


def certify_point(
    model: LightningAttention | Parametrization,
    weights: Weights,
    *,
    budget_seconds: float = DEFAULT_BUDGET_SECONDS,
    seed: int = 0,
    engine: Engine | None = None,
) -> Certificate:
    """Return a certificate that the closure is singular, or smooth, at the image of weights.

    Smooth: equations whose Jacobian there has rank m - dim X. Singular: arcs on the closure whose lowest terms span
    more than dim X (lightning layers, and maps at a critical point), or the whole ideal.

    Raises
    ------
    Infeasible
        If neither can be certified.
    """
    map_ = model.parametrization() if isinstance(model, LightningAttention) else model
    description = describe_map(map_)
    point = map_.point(list(weights))
    claim = {"map": description, "weights": texts(point)}
    steps, lower, upper = _map_dimension(map_, seed)
    if lower < upper:
        raise _infeasible(f"the dimension is between {lower} and {upper}: no certificate of either is known")
    arcs = _arcs(model, map_, point)
    step = {"rule": "arcs", "weights": texts(point), "arcs": arcs}
    spanned = _apply(description, step)
    if spanned > upper:
        return _certificate({"kind": "singular", **claim}, [*steps, step], seed)
    for degree in (2, 3, 4):
        found = closure(map_, equations_only=True, max_degree=degree, budget_seconds=budget_seconds, seed=seed)
        if map_.n_coordinates - _equations_rank(map_, found.generators, texts(point)) == lower:
            more = [_vanishing_step(map_, found.generators)]
            more.append({"rule": "tangent", "uses": [len(steps)], "weights": texts(point)})
            return _certificate({"kind": "smooth", **claim}, [*steps, *more], seed)
    found = closure(map_, budget_seconds=budget_seconds, seed=seed, engine=engine)
    if not found.complete:
        raise _infeasible(f"the equations of the closure are not known to be complete ({found.completeness})")
    whole = closure_steps(map_, found, budget_seconds=budget_seconds, seed=seed)
    shifted = [one | ({"uses": [k + len(steps) for k in one["uses"]]} if "uses" in one else {}) for one in whole]
    tangent = {"rule": "tangent", "uses": [len(steps) + len(whole) - 1], "weights": texts(point)}
    kind = (
        "smooth" if map_.n_coordinates - _equations_rank(map_, found.generators, texts(point)) == lower else "singular"
    )
    return _certificate({"kind": kind, **claim}, [*steps, *shifted, tangent], seed)


def _apply(description: Mapping[str, Any], step: Mapping[str, Any]) -> int:
    """Return the tangent dimension that arcs show."""
    proof = checker.Proof({"kind": "singular", "map": dict(description), "weights": step["weights"]})
    ((_, (_, spanned)),) = proof.apply(dict(step))
    return int(spanned)


def _arcs(model: LightningAttention | Parametrization, map_: Parametrization, point: Weights) -> list[list[str]]:
    """Return arcs through weights with this image: along each parameter, from each preimage that is known."""
    preimages: list[Weights] = [point]
    if isinstance(model, LightningAttention):
        preimages += model.further_preimages(point)
    arcs = []
    for at in preimages:
        for j in range(map_.n_parameters):
            arcs.append([_line(x, int(i == j)) for i, x in enumerate(at)])
    if not any(map_.image([Fraction(x) for x in point])):
        rng = random.Random(0)  # noqa: S311 - random directions, not secrets
        for _ in range(2 * map_.n_coordinates):
            arcs.append([_line(0, rng.randint(-9, 9)) for _ in range(map_.n_parameters)])
    subject = checker.Map(describe_map(map_))
    line = checker.Ring(["t"])
    chosen: list[list[str]] = []
    leading: list[list[int]] = []
    for arc in arcs:
        images = [subject.parameters.compose(f, [line.parse(x) for x in arc], line) for f in subject.coordinates]
        least = min((m for f in images for m in f if m), default=0)
        row = [checker.residue(f.get(least, 0), RANK_PRIME) for f in images]
        if least and checker.rank([*leading, row], RANK_PRIME) > len(leading):
            chosen.append(arc)
            leading.append(row)
    return chosen


def _line(value: Fraction | int, slope: int) -> str:
    terms = [f"{slope}*t"] if slope else []
    if value:
        terms.append(str(value))
    return "+".join(terms).replace("+-", "-") or "0"


def certify_fibre(model: Model, first: Weights, second: Weights, *, seed: int = 0) -> Certificate:
    """Return a certificate that two weights give the same function, or different ones.

    For a deep network: the element of the symmetry group that takes one to the other, or an input at which the outputs
    differ. For a map: the values of its coordinates.

    Parameters
    ----------
    model
        The model. Weights of a network stand layer by layer, head by head: Q, K, V, row by row.

    Raises
    ------
    Infeasible
        If the functions seem to be equal, but no element of the group was found.
    """
    if not isinstance(model, DeepLightning):
        map_ = model.parametrization() if isinstance(model, LightningAttention) else model
        pair = [map_.point(list(w)) for w in (first, second)]
        relation = "same" if map_.image(pair[0]) == map_.image(pair[1]) else "different"
        claim = {"kind": "fibre", "map": describe_map(map_), "weights": [texts(w) for w in pair], "relation": relation}
        return _certificate(claim, [{"rule": "evaluation"}], seed)
    net = checker.Network(describe_network(model))
    both = [_network_weights(model, w) for w in (first, second)]
    claim = {"kind": "fibre", "map": describe_network(model), "weights": [texts(w) for w in both]}
    rng = random.Random(seed)  # noqa: S311 - random inputs, not secrets
    for _ in range(20):
        x = texts([rng.randint(-9, 9) for _ in range(model.widths[0] * model.t)])
        (X,) = net.inputs([x])
        if net.run(net.matrices(both[0]), X)[0] != net.run(net.matrices(both[1]), X)[0]:
            return _certificate(claim | {"relation": "different"}, [{"rule": "input", "input": x}], seed)
    step = _group_step(model, net, both)
    return _certificate(claim | {"relation": "same"}, [step], seed)


def _network_weights(network: DeepLightning, weights: Weights) -> list[Any]:
    """Return weights Q, K, V as the checker orders them, with A = K^T Q where a layer's A is any matrix."""
    if len(weights) != network.n_parameters:
        raise InputError(f"the network has {network.n_parameters} weights, but {len(weights)} are given")
    found: list[Any] = []
    start = 0
    for i, a in enumerate(network.ranks):
        d, e = network.widths[i], network.widths[i + 1]
        for _ in range(network.heads):
            blocks = []
            for rows in (a, a, e):
                blocks.append([list(weights[start + r * d : start + (r + 1) * d]) for r in range(rows)])
                start += rows * d
            Q, K, V = blocks
            attention = [checker.times(checker.turned(K), Q)] if a >= d else [Q, K]
            found += [_plain(x) for matrix in (*attention, V) for row in matrix for x in row]
    return found


def _plain(x: Any) -> Any:
    fraction = Fraction(x)
    return fraction.numerator if fraction.denominator == 1 else fraction


def _group_step(network: DeepLightning, net: checker.Network, both: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Solve layer by layer for the matrices that act on the tokens, and for the scales."""
    from sympy import Matrix, Rational, eye

    if network.heads > 1 or network.skip:
        raise _infeasible("for heads and skip connections no element of the group is searched for")
    first, second = (net.matrices(w) for w in both)

    def matrix(rows: Sequence[Sequence[Any]]) -> Any:
        return Matrix([[Rational(x.numerator, x.denominator) for x in row] for row in rows])

    def attention(weights: Mapping[str, Any], i: int) -> Any:
        if f"A{i},0" in weights:
            return matrix(weights[f"A{i},0"])
        return matrix(weights[f"K{i},0"]).T * matrix(weights[f"Q{i},0"])

    layers: list[dict[str, Any]] = []
    before = eye(network.widths[0])
    for i in range(network.n_layers):
        left, right = attention(first, i), before.T * attention(second, i) * before
        entry = next((k for k, x in enumerate(left) if x), None)
        scale = right[entry] / left[entry] if entry is not None else Rational(1)
        V, W = matrix(first[f"V{i},0"]), scale * matrix(second[f"V{i},0"]) * before
        if i == network.n_layers - 1:
            after = eye(network.widths[-1])
        elif V.rank() == V.rows:
            after = W * V.T * (V * V.T).inv()
        else:
            raise _infeasible(f"V of layer {i} has not full row rank: no element of the group is searched for")
        if scale == 0 or left * scale != right or after * V != W or after.det() == 0:
            raise _infeasible(
                "the functions agree at random inputs, but no element of the group takes one to the other"
            )
        layers.append({"scale": str(scale), "hidden": [str(x) for x in after]})
        before = after
    return {"rule": "group", "layers": layers}


def certify_realizable(
    model: LightningAttention | Parametrization, value: Weights, weights: Weights | None = None
) -> Certificate:
    """Return a certificate that a coefficient vector is the value of a map at rational weights.

    Parameters
    ----------
    model
        The map.
    value
        The coordinates, in order.
    weights
        Weights with this value; for a lightning layer with t >= 2 they are recovered where none are given.

    Raises
    ------
    InputError
        If the weights have another value.
    Infeasible
        If there are no weights: not for this layer over QQ, or not known for another map.
    """
    map_ = model.parametrization() if isinstance(model, LightningAttention) else model
    if weights is None:
        if not isinstance(model, LightningAttention):
            raise InputError("the weights must be given: they are only recovered for a lightning layer")
        recovered = recover_weights(model, value)
        if not recovered:
            raise _infeasible("no rational weights of the layer give this value")
        weights = recovered[0]
    point = map_.point(list(weights))
    y = [to_fraction(x) for x in map_.image(point)]
    if y != [to_fraction(x) for x in value]:
        raise InputError("the weights give another value")
    claim = {"kind": "realizable", "map": describe_map(map_), "value": texts(y), "weights": texts(point)}
    return _certificate(claim, [])


def certify_not_realizable(
    model: LightningAttention | Parametrization,
    value: Weights,
    *,
    budget_seconds: float = DEFAULT_BUDGET_SECONDS,
    seed: int = 0,
) -> Certificate:
    """Return a certificate that a coefficient vector is not in the closure: an equation that is nonzero there.

    Raises
    ------
    Infeasible
        If all equations that were found are zero there.
    """
    map_ = model.parametrization() if isinstance(model, LightningAttention) else model
    description = describe_map(map_)
    if len(value) != map_.n_coordinates:
        raise InputError(f"the value has {len(value)} entries, but the map has {map_.n_coordinates} coordinates")
    target = checker.Ring(description["coordinate_names"])
    y = [_plain(x) for x in value]
    for degree in (1, 2, 3, 4, None):
        found = closure(map_, equations_only=True, max_degree=degree, budget_seconds=budget_seconds, seed=seed)
        step = _vanishing_step(map_, found.generators)
        for text in step["polynomials"]:
            if target.value(target.parse(text), y):
                step["polynomials"] = [text]
                claim = {"kind": "not-realizable", "map": description, "value": texts(y)}
                return _certificate(claim, [step], seed)
    raise _infeasible(f"all equations found vanish there (all of degree <= {found.exact_degree} are known)")


# --- ideals --------------------------------------------------------------------------------------------


def certify_groebner(
    ideal: Ideal,
    order: str = "grevlex",
    *,
    budget_seconds: float = DEFAULT_BUDGET_SECONDS,
    engine: Engine | None = None,
    limits: Limits | None = None,
) -> Certificate:
    """Return a certificate that Macaulay2's reduced Gröbner basis of an ideal is one.

    Raises
    ------
    Infeasible
        If the trace that the checker follows cannot be found within the budget.
    """
    basis = compute(ComputeGroebnerBasis(ideal, order), engine=engine, limits=limits)
    description = describe_ideal(ideal, order)
    claim = {
        "kind": "groebner",
        "ideal": description,
        "basis": [polynomial_text(g, description["variables"]) for g in basis.generators],
    }
    return _certificate(claim, [_groebner_step(description, budget_seconds)])


def _groebner_step(description: Mapping[str, Any], budget_seconds: float) -> dict[str, Any]:
    proof = checker.Proof({"kind": "groebner", "ideal": dict(description), "basis": []})
    trace = groebner_trace(checker.Basis(proof.subject, proof.generators), budget_seconds=budget_seconds)
    return {"rule": "groebner", "trace": trace}


def certify_membership(
    ideal: Ideal,
    polynomial: PolyElement,
    *,
    budget_seconds: float = DEFAULT_BUDGET_SECONDS,
    engine: Engine | None = None,
    limits: Limits | None = None,
) -> Certificate:
    """Return a certificate that a polynomial lies in an ideal (cofactors), or does not (a Gröbner basis).

    Raises
    ------
    Infeasible
        If it does not, and the trace that the checker follows cannot be found within the budget.
    """
    found = compute(ComputeIdealMembership(ideal, polynomial), engine=engine, limits=limits)
    description = describe_ideal(ideal)
    names = description["variables"]
    claim = {"ideal": description, "polynomial": polynomial_text(polynomial, names)}
    if found.member:
        step = {"rule": "cofactors", "cofactors": [polynomial_text(c, names) for c in found.cofactors]}
        return _certificate({"kind": "membership", **claim}, [step])
    steps = [_groebner_step(description, budget_seconds), {"rule": "normal-form", "uses": [0]}]
    return _certificate({"kind": "non-membership", **claim}, steps)


def _certificate(claim: Mapping[str, Any], steps: Sequence[Step], seed: int = 0) -> Certificate:
    from m2bridge import __version__

    return Certificate(claim, steps, {"made_by": f"m2bridge {__version__}", "seed": seed})
