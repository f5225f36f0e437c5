"""The ladder of strategies: each rung's answer is that of elimination, and says what is proved."""

from __future__ import annotations

from dataclasses import replace
from math import comb
from typing import Any

import pytest

from m2bridge import Evidence, Ideal, LightningAttention, Limits, Parametrization, ScriptEngine, WarmEngine
from m2bridge.closure import closure
from m2bridge.errors import InputError, Macaulay2NotFound, TimedOut
from m2bridge.exact import random_image_modulo, value_modulo, vanishing
from m2bridge.implicitization.triangular import triangular_chart
from m2bridge.macaulay2 import Macaulay2
from m2bridge.operations import ComputeCompleteness, ComputeGroebnerBasis, compute
from m2bridge.parametrization import Chart
from m2bridge.polynomials import parse_polynomial
from tests.data import ground_truth

TWISTED_CUBIC = Parametrization.from_strings(["s", "t"], ["s^3", "s^2*t", "s*t^2", "t^3"])


class NoEngine:
    """Fails if Macaulay2 is asked for."""

    name = "none"
    macaulay2 = Macaulay2("none", (1, 21))

    def run(self, job: Any, folder: Any) -> Any:
        raise AssertionError("Macaulay2 was asked for")

    def close(self) -> None:
        pass


class NoMacaulay2(NoEngine):
    """An engine on a machine without Macaulay2."""

    def run(self, job: Any, folder: Any) -> Any:
        raise Macaulay2NotFound(("nowhere",))


# --- without Macaulay2 -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("coordinates", "dim", "generators"),
    [
        (["s", "t"], 2, []),
        (["2", "3/7"], 0, ["y0-2", "7*y1-3"]),
        (["0", "s"], 1, ["y0"]),
        (["s", "s", "2*s+1", "t"], 2, ["y1-y0", "y2-2*y0-1"]),
        (["s^2", "s*t", "t^2"], 2, ["y1^2-y0*y2"]),
        (["s^2", "s^3"], 1, ["y0^3-y1^2"]),
        (["s", "t", "s*t+1"], 2, ["y0*y1-y2+1"]),
        (["s^4", "s^2"], 1, ["y1^2-y0"]),
    ],
)
def test_proved_here(coordinates: list[str], dim: int, generators: list[str]) -> None:
    map_ = Parametrization.from_strings(["s", "t"], coordinates)
    found = closure(map_, engine=NoEngine())
    assert (found.dim, found.complete, found.evidence) == (dim, True, Evidence.PROVED)
    expected = {parse_polynomial(text, map_.coordinate_ring) for text in generators}
    assert {g if g in expected else -g for g in found.generators} == expected
    assert found.provenance is None


def test_a_hypersurface_has_the_degree_of_its_equation() -> None:
    found = closure(LightningAttention(2, 1, 2, 2).parametrization(), engine=NoEngine())
    assert (found.degree, found.generator_degrees, found.strategy) == (4, {1: 2, 4: 1}, "interpolate")
    assert found.exact_degree == 4


def test_strategies_that_do_not_finish_say_so() -> None:
    # For one token there is no chart, so that Macaulay2 is not asked.
    map_ = LightningAttention(3, 1, 1, 1).parametrization()
    found = closure(map_, strategy="interpolate", max_degree=5, engine=NoEngine())
    assert (found.complete, found.evidence, found.generator_degrees) == (False, Evidence.LOWER_BOUND, {4: 35})
    assert (found.dim, found.dim_evidence, found.degree) == (7, Evidence.PROVED, None)
    assert "open" in found.completeness
    assert found.exact_degree == 5
    found = closure(map_, strategy="interpolate", max_degree=3, engine=NoEngine())
    assert (found.dim, found.dim_evidence, found.exact_degree) == (7, Evidence.LOWER_BOUND, 3)
    found = closure(TWISTED_CUBIC, strategy="linear", engine=NoEngine())
    assert (found.complete, found.exact_degree, found.dim) == (False, 1, 2)


def test_equations_without_a_proof_that_they_are_all() -> None:
    map_ = LightningAttention(2, 1, 1, 2).parametrization()
    whole = closure(map_, strategy="interpolate")
    assert whole.complete
    found = closure(map_, max_degree=3, equations_only=True, engine=NoEngine())
    assert found.generators == whole.generators
    assert (found.complete, found.evidence, found.exact_degree) == (False, Evidence.LOWER_BOUND, 3)
    cone = Parametrization.from_strings(["s", "t"], ["s", "s*t", "t^2 + 1", "t"])
    assert closure(cone, max_degree=2, equations_only=True, engine=NoEngine()).exact_degree == 2


def test_equations_only_is_refused_where_it_means_nothing() -> None:
    map_ = LightningAttention(2, 1, 1, 2).parametrization()
    with pytest.raises(InputError, match="elimination gives the whole ideal"):
        closure(map_, strategy="eliminate", equations_only=True)
    with pytest.raises(InputError, match="needs the field QQ"):
        closure(Parametrization.from_strings(["s", "t"], ["s^2", "s*t"], field="GF(7)"), equations_only=True)


def test_the_budget_keeps_what_was_found() -> None:
    # For one token there is no chart, so that Macaulay2 is not asked whatever was found.
    map_ = LightningAttention(4, 3, 2, 1).parametrization()
    found = closure(map_, strategy="interpolate", budget_seconds=2, engine=NoEngine())
    assert not found.complete
    assert found.exact_degree is not None
    assert "open" in found.completeness


def test_coefficients_of_a_hundred_digits() -> None:
    map_ = Parametrization.from_strings(["s", "t"], [f"{10**100 + 267}*s^2", "s*t", "t^2"])
    found = closure(map_, engine=NoEngine())
    assert (found.complete, found.generator_degrees) == (True, {2: 1})


def test_a_budget_that_ends_at_once() -> None:
    found = closure(TWISTED_CUBIC, strategy="interpolate", budget_seconds=1e-9, engine=NoEngine())
    assert (found.complete, found.exact_degree) == (False, 1)


def test_what_was_found_outlives_a_missing_macaulay2() -> None:
    found = closure(TWISTED_CUBIC, engine=NoMacaulay2())
    assert (found.complete, found.generator_degrees) == (False, {2: 3})
    assert "nowhere" in found.completeness


def test_what_does_not_apply_is_refused() -> None:
    with pytest.raises(InputError, match="strategy"):
        closure(TWISTED_CUBIC, strategy="magic")
    with pytest.raises(InputError, match="QQ"):
        closure(Parametrization.from_strings(["s"], ["s^2"], field="GF(7)"), strategy="interpolate")
    with pytest.raises(InputError, match="budget"):
        closure(TWISTED_CUBIC, budget_seconds=0)


# --- with Macaulay2 --------------------------------------------------------------------------------------

LAYERS = [(2, 1, 1, 2), (2, 2, 1, 2), (2, 2, 2, 2), (2, 3, 2, 2), (3, 1, 1, 2), (3, 1, 2, 2), (3, 1, 3, 2)]


@pytest.mark.macaulay2
@pytest.mark.parametrize("sizes", LAYERS, ids=str)
def test_the_chart_certificate_closes(sizes: tuple[int, int, int, int], warm: WarmEngine) -> None:
    layer = LightningAttention(*sizes)
    found = closure(layer.parametrization(), strategy="interpolate", engine=warm)
    assert (found.complete, found.evidence) == (True, Evidence.COMPUTED)
    assert (found.dim, found.degree) == (layer.dimension, layer.degree)
    assert "chart certificate" in found.completeness
    recorded = [r for r in ground_truth("lightning") if (r["d"], r["d_out"], r["a"], r["t"]) == sizes]
    degrees = {str(degree): count for degree, count in found.generator_degrees.items()}
    assert all(r["generator_degrees"] == degrees for r in recorded if r["status"] == "ok")


@pytest.mark.macaulay2
@pytest.mark.parametrize("sizes", [(2, 1, 1, 2), (2, 2, 2, 2), (3, 1, 1, 2)], ids=str)
def test_interpolation_and_elimination_give_the_same_ideal(sizes: tuple[int, int, int, int], warm: WarmEngine) -> None:
    map_ = LightningAttention(*sizes).parametrization()
    ideals = []
    for strategy in ("interpolate", "eliminate"):
        generators = closure(map_, strategy=strategy, engine=warm).generators
        basis = compute(ComputeGroebnerBasis(Ideal(map_.coordinate_ring, generators)), engine=warm)
        ideals.append(set(basis.generators))
    assert ideals[0] == ideals[1]


@pytest.mark.macaulay2
def test_missing_equations_are_not_called_complete(warm: WarmEngine) -> None:
    map_ = LightningAttention(3, 1, 1, 2).parametrization()
    generators = closure(map_, engine=warm).generators
    for left_out in (generators[-1], generators[len(generators) // 2]):
        some = tuple(g for g in generators if g != left_out)
        certificate = compute(ComputeCompleteness(map_, some), engine=warm)
        assert not certificate.complete
        by_kernel = compute(ComputeCompleteness(map_, some, method="kernel"), engine=warm)
        assert (by_kernel.complete, by_kernel.missing) == (False, "the kernel modulo the prime has further equations")
    assert compute(ComputeCompleteness(map_, generators, method="kernel"), engine=warm).complete


@pytest.mark.macaulay2
def test_an_embedded_component_is_seen_by_the_denominators(warm: WarmEngine) -> None:
    # Multiples of all equations by the last coordinate agree with the ideal wherever that is invertible: the
    # identities of the chart, multiplied by it, hold, but it is a zero divisor.
    map_ = LightningAttention(2, 1, 1, 2).parametrization()
    found = closure(map_, engine=warm)
    assert map_.chart is not None
    h = map_.chart.denominators[0]
    quadrics = [g for g in found.generators if sum(g.LM) == 2]
    weak_chart = Chart(map_.chart.denominators, tuple(h * f for f in map_.chart.identities), "test")
    weak = replace(map_, make_chart=lambda: weak_chart)
    certificate = compute(ComputeCompleteness(weak, tuple(h * g for g in quadrics)), engine=warm)
    assert (certificate.complete, certificate.missing) == (
        False,
        "1 denominators are zero divisors modulo the equations",
    )


@pytest.mark.macaulay2
def test_each_step_is_accounted_for(warm: WarmEngine) -> None:
    found = closure(TWISTED_CUBIC, betti=True, engine=warm)
    assert (found.complete, found.degree, found.strategy, found.evidence) == (True, 3, "interpolate", Evidence.COMPUTED)
    assert found.betti == ((0, 0, 1), (1, 2, 3), (2, 3, 2))
    assert set(found.cpu_seconds) == {"linear", "rank", "interpolate", "completeness", "betti"}


@pytest.mark.macaulay2
def test_betti_numbers_of_a_certified_ideal(warm: WarmEngine) -> None:
    found = closure(LightningAttention(2, 2, 2, 2).parametrization(), betti=True, engine=warm)
    (record,) = [
        r
        for r in ground_truth("lightning")
        if (r["d"], r["d_out"], r["a"], r["t"], r["field"]) == (2, 2, 2, 2, "QQ") and r["parametrization"] == "A,V"
    ]
    assert found.strategy == "interpolate"
    assert found.betti is not None
    assert [list(entry) for entry in found.betti] == sorted(record["betti_reduced"])


@pytest.mark.macaulay2
def test_a_time_out_is_undecided() -> None:
    map_ = LightningAttention(3, 3, 3, 2).parametrization()
    with ScriptEngine() as engine, pytest.raises(TimedOut):
        closure(map_, strategy="eliminate", engine=engine, limits=Limits(time_seconds=2))


@pytest.mark.macaulay2
@pytest.mark.slow
def test_the_full_ideal_of_a_layer_with_36_coordinates(warm: WarmEngine) -> None:
    found = closure(LightningAttention(3, 2, 1, 2).parametrization(), engine=warm)
    assert (found.complete, found.dim, found.degree) == (True, 10, 756)
    assert found.generator_degrees == {1: 14, 2: 198, 3: 40, 4: 225}


# --- inverses that the equations give ----------------------------------------------------------------------


def _matrices(rows: int, columns: int, rank: int) -> Parametrization:
    """Return the matrices of at most this rank, as products."""
    left = [f"a{i}{k}" for i in range(rows) for k in range(rank)]
    right = [f"b{k}{j}" for k in range(rank) for j in range(columns)]
    entries = ["+".join(f"a{i}{k}*b{k}{j}" for k in range(rank)) for i in range(rows) for j in range(columns)]
    return Parametrization.from_strings(left + right, entries)


@pytest.mark.macaulay2
@pytest.mark.parametrize(
    ("rows", "columns", "rank", "degree"), [(2, 3, 1, 3), (3, 3, 1, 6), (3, 4, 2, 6), (4, 4, 2, 20)]
)
def test_determinantal_varieties(rows: int, columns: int, rank: int, degree: int, warm: WarmEngine) -> None:
    """Dimension, degree and the number of minors: classical (Harris, Algebraic Geometry, lectures 9 and 19)."""
    found = closure(_matrices(rows, columns, rank), strategy="interpolate", max_degree=rank + 1, engine=warm)
    minors = comb(rows, rank + 1) * comb(columns, rank + 1)
    assert found.completeness.startswith("triangular")
    assert (found.complete, found.evidence) == (True, Evidence.COMPUTED)
    assert (found.dim, found.degree) == (rank * (rows + columns - rank), degree)
    assert found.generator_degrees == {rank + 1: minors}


def test_free_coordinates_are_as_many_as_the_dimension() -> None:
    map_ = _matrices(3, 4, 2)
    equations = closure(map_, strategy="interpolate", max_degree=3, engine=NoMacaulay2()).generators
    chart = triangular_chart(map_, equations, range(12), 10, 32003)
    assert chart is not None
    image = random_image_modulo(map_, 31991, 5)
    assert all(value_modulo(h, image, 31991) for h in chart.denominators)
    # With one equation less there is none for each coordinate, and with too large a dimension none is needed.
    assert triangular_chart(map_, equations[:1], range(12), 10, 32003) is None
    assert triangular_chart(map_, equations, range(12), 11, 32003) is None


@pytest.mark.macaulay2
def test_a_triangular_chart_does_not_make_too_few_equations_complete(warm: WarmEngine) -> None:
    """Two minors of a 2 x 3 matrix also vanish on a plane, where the denominator does as well."""
    map_ = _matrices(2, 3, 1)
    found = closure(map_, strategy="interpolate", max_degree=2, engine=warm)
    names = dict(zip(map_.coordinate_names, map_.coordinate_ring.gens, strict=True))
    first = names["y0"] * names["y4"] - names["y1"] * names["y3"], names["y0"] * names["y5"] - names["y2"] * names["y3"]
    chart = triangular_chart(map_, first, range(6), 4, 32003)
    assert chart is not None
    fewer = compute(ComputeCompleteness(map_, first, method="triangular", chart=chart), engine=warm)
    assert (fewer.complete, fewer.missing) == (False, "1 denominators are zero divisors modulo the equations")
    assert compute(ComputeCompleteness(map_, found.generators, method="triangular", chart=chart), engine=warm).complete


# --- elimination modulo a prime ----------------------------------------------------------------------------


@pytest.mark.macaulay2
def test_the_kernel_modulo_a_prime_says_how_far_to_interpolate(warm: WarmEngine) -> None:
    """A monomial curve of degree 6 on a quadric: five equations of degree 5 after two degrees with none."""
    map_ = Parametrization.from_strings(["s", "t"], ["s^6", "s^5*t", "s*t^5", "t^6"])
    found = closure(map_, strategy="interpolate", engine=warm)
    assert (found.complete, found.exact_degree, found.generator_degrees) == (False, 4, {2: 1})
    found = closure(map_, engine=warm)
    assert (found.complete, found.degree, found.generator_degrees) == (True, 6, {2: 1, 5: 5})
    assert found.strategy == "interpolate"
    assert set(found.generators) == set(closure(map_, strategy="eliminate", engine=warm).generators)
    # The user's bound holds for interpolation, so that elimination over QQ has to answer.
    found = closure(map_, max_degree=3, engine=warm)
    assert (found.complete, found.strategy, found.generator_degrees) == (True, "eliminate", {2: 1, 5: 5})


@pytest.mark.macaulay2
def test_elimination_that_does_not_end_modulo_a_prime_is_not_tried_over_the_rationals(warm: WarmEngine) -> None:
    found = closure(LightningAttention(4, 1, 1, 1).parametrization(), max_degree=4, budget_seconds=8, engine=warm)
    assert (found.complete, found.strategy, found.evidence) == (False, "interpolate", Evidence.LOWER_BOUND)
    assert "elimination: timed out" in found.completeness


# --- maps that are not homogeneous -------------------------------------------------------------------------


@pytest.mark.macaulay2
@pytest.mark.parametrize(
    ("coordinates", "how"),
    [
        (["s^2+1", "s*t", "t^2", "s"], "kernel"),
        (["s", "s^2", "s^3"], "triangular"),
        (["s^2+s", "s*t+t", "t^2", "s*t^2"], ""),
        (["5", "s^2", "s*t+1", "t^2", "s^2+t^2"], "hypersurface"),
    ],
)
def test_the_cone_over_the_projective_closure(coordinates: list[str], how: str, warm: WarmEngine) -> None:
    map_ = Parametrization.from_strings(["s", "t"], coordinates)
    found = closure(map_, engine=warm, betti=True)
    by_kernel = closure(map_, strategy="eliminate", engine=warm)
    assert found.complete
    assert found.completeness.startswith("cone over the projective closure: ")
    assert how in found.completeness
    assert (found.dim, found.codim, found.degree) == (by_kernel.dim, by_kernel.codim, by_kernel.degree)
    bases = [
        compute(ComputeGroebnerBasis(Ideal(map_.coordinate_ring, answer.generators)), engine=warm)
        for answer in (found, by_kernel)
    ]
    assert bases[0].generators == bases[1].generators
    assert all(vanishing(map_, found.generators))
