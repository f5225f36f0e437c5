"""Lightning layers and deep networks: coordinates, symmetries, closed formulas, representatives."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from m2bridge import DeepLightning, LightningAttention, Orbit, Parametrization
from m2bridge.errors import ModelError
from m2bridge.exact import linear_reduction
from m2bridge.fields import parse_field, to_fraction
from m2bridge.networks.lightning import name_entry
from m2bridge.polynomials import make_ring
from tests.data import Record, ground_truth, sizes

SIX = [(1, 2, 2), (2, 1, 1), (2, 2, 2), (3, 1, 2), (2, 1, 3), (3, 2, 1)]
"""Sizes d, d', t for which the coordinates were compared with an expansion."""


def _name(record: Record) -> str:
    return "{}-{}-{}-{}".format(*sizes(record))


# --- coordinates ---------------------------------------------------------------------------------------


def _expansion(d: int, d_out: int, a: int, t: int, letters: str) -> set[frozenset[Any]]:
    """Return the distinct coefficients of V X X^T A X, by multiplying out."""
    shapes = {"Q": (a, d), "K": (a, d), "V": (d_out, d)} if letters == "QKV" else {"A": (d, d), "V": (d_out, d)}
    names = [f"{m}{i + 1}{j + 1}" for m, (rows, columns) in shapes.items() for i in range(rows) for j in range(columns)]
    inputs = [f"x{i}_{j}" for i in range(d) for j in range(t)]
    ring, *gens = sympy.ring([*names, *inputs], sympy.QQ)
    values = dict(zip([*names, *inputs], gens, strict=True))

    def matrix(letter: str, rows: int, columns: int) -> Any:
        return [[values[f"{letter}{i + 1}{j + 1}"] for j in range(columns)] for i in range(rows)]

    def times(left: Any, right: Any) -> Any:
        return [
            [sum((x * y for x, y in zip(row, column, strict=True)), ring.zero) for column in zip(*right, strict=True)]
            for row in left
        ]

    X = [[values[f"x{i}_{j}"] for j in range(t)] for i in range(d)]
    transpose = [list(column) for column in zip(*X, strict=True)]
    if letters == "QKV":
        A = times([list(column) for column in zip(*matrix("K", a, d), strict=True)], matrix("Q", a, d))
    else:
        A = matrix("A", d, d)
    output = times(times(times(times(matrix("V", d_out, d), X), transpose), A), X)
    found = set()
    for entry in (entry for row in output for entry in row):
        coefficients: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}
        for monomial, c in entry.items():
            inner = coefficients.setdefault(monomial[len(names) :], {})
            inner[monomial[: len(names)]] = to_fraction(c)
        found |= {frozenset(terms.items()) for terms in coefficients.values()}
    return found


@pytest.mark.parametrize("weights", ["QKV", "AV"])
@pytest.mark.parametrize("a", [1, 2])
@pytest.mark.parametrize(("d", "d_out", "t"), SIX)
def test_coordinates_are_the_distinct_coefficients(d: int, d_out: int, t: int, a: int, weights: Any) -> None:
    map_ = LightningAttention(d, d_out, a, t).parametrization(weights)
    found = [frozenset((m, to_fraction(c)) for m, c in f.items()) for f in map_.coordinates]
    assert len(set(found)) == len(found)
    assert set(found) == _expansion(d, d_out, a, t, weights)


@pytest.mark.parametrize("t", [1, 2, 3])
def test_three_tokens_bring_nothing_new(t: int) -> None:
    maps = [LightningAttention(2, 2, 1, n).parametrization() for n in (t, t + 1)]
    assert (maps[0].coordinates == maps[1].coordinates) == (t > 1)


@pytest.mark.parametrize("sizes_", [(2, 1, 1, 2), (2, 2, 1, 1), (3, 1, 2, 2), (3, 2, 1, 2), (2, 1, 3, 2), (4, 1, 2, 2)])
def test_attention_weights_give_the_same_coordinates(sizes_: tuple[int, int, int, int]) -> None:
    layer = LightningAttention(*sizes_)
    native, short = layer.parametrization(), layer.parametrization("AV")
    assert native.coordinate_names == short.coordinate_names
    Q, K = (_matrix(native, letter, layer.a, layer.d) for letter in "QK")
    values = {}
    for p, q in product(range(layer.d), repeat=2):
        values[name_entry("A", p, q)] = sum((K[k][p] * Q[k][q] for k in range(layer.a)), native.ring.zero)
    for name, x in zip(native.parameters, native.ring.gens, strict=True):
        values.setdefault(name, x)
    assert _substituted(short, values) == list(native.coordinates)
    assert all(not f for f in _compose(short.relations, short, values, native))


@pytest.mark.parametrize("weights", ["QKV", "AV"])
@pytest.mark.parametrize("sizes_", [(2, 1, 1, 2), (2, 2, 2, 2), (3, 1, 2, 2), (3, 2, 1, 1), (2, 1, 3, 2)])
def test_cheaper_form_has_the_same_coordinates(sizes_: tuple[int, int, int, int], weights: Any) -> None:
    layer = LightningAttention(*sizes_)
    cheaper, short = layer.parametrization(weights).cheaper, layer.parametrization("AV")
    assert cheaper is not None
    assert cheaper.coordinate_names == short.coordinate_names
    assert cheaper.n_parameters <= layer.n_parameters
    d, a = layer.d, min(layer.a, layer.d)
    values = dict(zip(cheaper.parameters, cheaper.ring.gens, strict=True))
    if a < d:
        # A = [B; C B] runs through a dense set of the matrices of rank at most a.
        B, C = _matrix(cheaper, "B", a, d), _matrix(cheaper, "C", d - a, a)
        for p, q in product(range(d), repeat=2):
            row = B[p][q] if p < a else sum((C[p - a][k] * B[k][q] for k in range(a)), cheaper.ring.zero)
            values[name_entry("A", p, q)] = row
    assert _substituted(short, values) == list(cheaper.coordinates)


def _matrix(map_: Parametrization, letter: str, rows: int, columns: int) -> list[list[Any]]:
    named = dict(zip(map_.parameters, map_.ring.gens, strict=True))
    return [[named[name_entry(letter, i, j)] for j in range(columns)] for i in range(rows)]


def _compose(polynomials: Any, source: Parametrization, values: dict[str, Any], target: Parametrization) -> list[Any]:
    found = []
    for f in polynomials:
        total = target.ring.zero
        for monomial, c in f.items():
            term = target.ring.ground_new(c)
            for name, e in zip(source.parameters, monomial, strict=True):
                term = term * values[name] ** e if e else term
            total = total + term
        found.append(total)
    return found


def _substituted(source: Parametrization, values: dict[str, Any]) -> list[Any]:
    ring = next(iter(values.values())).ring
    target = Parametrization(ring, (ring.one,), ("y",))
    return _compose(source.coordinates, source, values, target)


def test_long_indices_have_separators() -> None:
    assert name_entry("Q", 0, 8) == "Q19"
    assert name_entry("Q", 0, 11) == "Q[1,12]"
    names = LightningAttention(11, 1, 1, 1).parametrization().parameters
    assert len(set(names)) == len(names) == 33


# --- symmetries ----------------------------------------------------------------------------------------

_NUMBERS = st.integers(-9, 9)


def _square(n: int) -> st.SearchStrategy[sympy.Matrix]:
    return st.lists(_NUMBERS, min_size=n * n, max_size=n * n).map(lambda entries: sympy.Matrix(n, n, entries))


def _weights(layer: LightningAttention) -> st.SearchStrategy[tuple[sympy.Matrix, sympy.Matrix, sympy.Matrix]]:
    a, d, e = layer.a, layer.d, layer.d_out

    def matrices(entries: list[int]) -> tuple[sympy.Matrix, sympy.Matrix, sympy.Matrix]:
        return (
            sympy.Matrix(a, d, entries[: a * d]),
            sympy.Matrix(a, d, entries[a * d : 2 * a * d]),
            sympy.Matrix(e, d, entries[2 * a * d :]),
        )

    return st.lists(_NUMBERS, min_size=layer.n_parameters, max_size=layer.n_parameters).map(matrices)


def _value(layer: LightningAttention, *matrices: sympy.Matrix) -> tuple[Any, ...]:
    map_ = layer.parametrization("QKV" if len(matrices) == 3 else "AV")
    return map_.image(map_.point([x for matrix in matrices for x in matrix]))


@pytest.mark.parametrize("t", [1, 2])
@given(data=st.data())
@settings(deadline=None, max_examples=25)
def test_general_linear_group_acts_on_queries_and_keys(t: int, data: st.DataObject) -> None:
    layer = LightningAttention(2, 2, 2, t)
    Q, K, V = data.draw(_weights(layer))
    g = data.draw(_square(2).filter(lambda g: g.det() != 0))
    assert _value(layer, g * Q, g.inv().T * K, V) == _value(layer, Q, K, V)


@pytest.mark.parametrize("t", [1, 2])
@given(data=st.data(), c=st.fractions(min_value=-5, max_value=5, max_denominator=5).filter(bool))
@settings(deadline=None, max_examples=25)
def test_rescaling(t: int, data: st.DataObject, c: Fraction) -> None:
    layer = LightningAttention(3, 1, 1, t)
    Q, K, V = data.draw(_weights(layer))
    scale = sympy.Rational(c.numerator, c.denominator)
    assert _value(layer, scale * Q, K, V / scale) == _value(layer, Q, K, V)
    A = K.T * Q
    assert _value(layer, A, V) == _value(layer, Q, K, V) == _value(layer, A * scale, V / scale)


@given(st.lists(_NUMBERS, min_size=12, max_size=12))
@settings(deadline=None, max_examples=40)
def test_swap(entries: list[int]) -> None:
    layer = LightningAttention(3, 2, 1, 2)
    m, w, line = (sympy.Matrix(3, 1, entries[k : k + 3]) for k in (0, 3, 6))
    u = sympy.Matrix(2, 1, entries[9:11])
    assert _value(layer, m * w.T, u * line.T) == _value(layer, line * w.T, u * m.T)


@given(data=st.data())
@settings(deadline=None, max_examples=25)
def test_one_token_sees_the_symmetric_part_only(data: st.DataObject) -> None:
    layer = LightningAttention(3, 1, 3, 1)
    A, skew = data.draw(_square(3)), data.draw(_square(3))
    V = sympy.Matrix(1, 3, data.draw(st.lists(_NUMBERS, min_size=3, max_size=3)))
    assert _value(layer, A, V) == _value(layer, A + skew - skew.T, V)


@pytest.mark.parametrize("sizes_", [(2, 2, 1, 2), (3, 2, 2, 2), (3, 1, 2, 1), (2, 3, 1, 1)])
@pytest.mark.parametrize("weights", ["QKV", "AV"])
def test_coordinate_symmetries_permute_coordinates(sizes_: tuple[int, int, int, int], weights: Any) -> None:
    map_ = LightningAttention(*sizes_).parametrization(weights)
    assert map_.symmetries
    for symmetry in map_.symmetries:
        values = {name: map_.ring.gens[symmetry.parameters.get(j, j)] for j, name in enumerate(map_.parameters)}
        for i, image in symmetry.coordinates.items():
            (moved,) = _compose([map_.coordinates[i]], map_, values, map_)
            assert moved == map_.coordinates[image]


# --- representatives -----------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", ["QKV", "AV"])
@pytest.mark.parametrize("sizes_", [(1, 1, 1, 2), (2, 2, 2, 2), (3, 2, 2, 2), (3, 3, 3, 2), (2, 3, 1, 2), (4, 2, 3, 2)])
def test_representative_lies_in_its_orbit(sizes_: tuple[int, int, int, int], weights: Any) -> None:
    layer = LightningAttention(*sizes_)
    d, a, e = layer.d, layer.a, layer.d_out
    orbits = [*layer.orbits(), Orbit(0, 1, 0), Orbit(1, 0, 0)]
    for orbit in orbits:
        point = [sympy.Rational(x.numerator, x.denominator) for x in layer.representative(orbit, weights)]
        if weights == "QKV":
            Q, K = sympy.Matrix(a, d, point[: a * d]), sympy.Matrix(a, d, point[a * d : 2 * a * d])
            A, V = K.T * Q, sympy.Matrix(e, d, point[2 * a * d :])
        else:
            A, V = sympy.Matrix(d, d, point[: d * d]), sympy.Matrix(e, d, point[d * d :])
        assert (A.rank(), V.rank()) == (orbit.rank_A, orbit.rank_V)
        together = A.row_join(V.T).rank()
        assert A.rank() + V.rank() - together == orbit.intersection


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("d_out", [1, 2, 4])
@pytest.mark.parametrize("a", [1, 2, 4])
def test_list_of_orbits(d: int, d_out: int, a: int) -> None:
    orbits = LightningAttention(d, d_out, a, 2).orbits()
    expected = {Orbit(0, 0, 0)} | {
        Orbit(i, j, s)
        for i in range(1, min(a, d) + 1)
        for j in range(1, min(d_out, d) + 1)
        for s in range(min(i, j) + 1)
        if s >= i + j - d
    }
    assert set(orbits) == expected
    assert len(orbits) == len(expected)
    assert orbits[0].is_zero
    assert not any(orbit.is_zero for orbit in orbits[1:])


@pytest.mark.parametrize("orbit", [(2, 1, 1), (1, 2, 1), (1, 1, 2), (1, 1, -1), (-1, 0, 0), (0, 0, 1)])
def test_impossible_orbit_is_refused(orbit: tuple[int, int, int]) -> None:
    with pytest.raises(ModelError, match="no orbit"):
        LightningAttention(2, 1, 1, 2).representative(Orbit(*orbit))
    # Two lines in the plane of rank two meet in every line.
    with pytest.raises(ModelError, match="no orbit"):
        LightningAttention(2, 2, 2, 2).representative(Orbit(2, 1, 0))


def test_corrected_statement_on_singular_points() -> None:
    layer = LightningAttention(3, 2, 2, 2)
    # The smallest counterexample to the published wording.
    orbit = Orbit(1, 2, 1)
    assert layer.is_singular(orbit)
    assert not orbit.published_singular
    assert not LightningAttention(1, 2, 1, 2).is_singular(Orbit(0, 0, 0))
    assert not LightningAttention(2, 1, 1, 2).is_singular(Orbit(1, 1, 1))
    assert LightningAttention(3, 1, 1, 2).is_singular(Orbit(1, 1, 1))
    assert LightningAttention(3, 1, 1, 1).is_singular(Orbit(1, 1, 1)) is None


def test_proved_singular_points_are_singular() -> None:
    for record in ground_truth("tangent_dimension_lower_bound"):
        layer = LightningAttention(*sizes(record))
        orbit = Orbit(record["rk_A"], record["rk_V"], record["dim_intersection"])
        # The recorded bound is not sharp at these points, which are singular by Macaulay2.
        not_sharp = layer.d >= 3 and layer.d_out == layer.a == 1 and orbit == Orbit(1, 1, 1)
        assert layer.is_singular(orbit) == (record["proved_singular"] or not_sharp), f"{layer} {orbit}"
        assert orbit.published_singular == record["rkA_rkV_le_1"]
        assert layer.dimension == record["dim"]


# --- closed formulas -----------------------------------------------------------------------------------


@pytest.mark.parametrize("record", ground_truth("lightning_formula"), ids=_name)
def test_closed_formulas(record: Record) -> None:
    layer = LightningAttention(*sizes(record))
    assert layer.dimension == record["dim"]
    assert layer.degree == record["degree"]
    assert layer.map_degree == record["map_degree"]
    assert layer.n_coordinates == record["n_coords"]
    assert layer.n_independent_coordinates == record["n_independent"]


def test_sizes_are_counted_right() -> None:
    for record in ground_truth("lightning"):
        if record["status"] == "ok":
            layer = LightningAttention(*sizes(record))
            assert layer.n_monomial_coefficients == record["n_monomial_coefficients"]
            map_ = layer.parametrization("AV")
            assert map_.n_coordinates == record["n_coords"] == layer.n_coordinates
            assert len(linear_reduction(map_).kept) == record["n_independent_coords"]


def test_dimension_formula_on_all_ranks() -> None:
    for record in ground_truth("lightning_jacobian"):
        assert LightningAttention(*sizes(record)).dimension == record["jacobian_rank"] == record["formula"]


def test_field_of_a_layer() -> None:
    map_ = LightningAttention(2, 1, 1, 2).parametrization(field=parse_field("GF(7)"))
    assert map_.field_name == "GF(7)"
    assert make_ring(map_.parameters, map_.field) == map_.ring


@pytest.mark.parametrize("bad", [0, -1, 1.5, "2", None, True])
def test_impossible_sizes(bad: Any) -> None:
    for position in range(4):
        numbers: list[Any] = [2, 1, 1, 2]
        numbers[position] = bad
        with pytest.raises(ModelError, match="positive integer"):
            LightningAttention(*numbers)
    with pytest.raises(ModelError, match="width d_1 must be a positive integer"):
        DeepLightning((2, bad, 2), (1, 1), 2)
    with pytest.raises(ModelError, match="rank a_2"):
        DeepLightning((2, 2, 2), (1, bad), 2)


def test_impossible_networks() -> None:
    with pytest.raises(ModelError, match="2 ranks need 3 widths"):
        DeepLightning((2, 2), (1, 1), 2)
    with pytest.raises(ModelError, match="at least one layer"):
        DeepLightning((2,), (), 2)


# --- deep networks -------------------------------------------------------------------------------------

DEEP = ground_truth("deep_lightning_jacobian")


def _network(record: Record) -> DeepLightning:
    return DeepLightning(tuple(record["dims"]), tuple(record["a"]), record["t"])


def _chunks() -> Iterator[list[Record]]:
    for start in range(0, len(DEEP), 104):
        yield DEEP[start : start + 104]


@pytest.mark.parametrize("records", list(_chunks()), ids=lambda records: f"from-{DEEP.index(records[0])}")
def test_deep_ranks(records: list[Record]) -> None:
    for record in records:
        network = _network(record)
        assert network.native_rank().rank == record["jacobian_rank"], str(network)
        virtual = network.virtual_rank().rank
        if not network.collapsed_layers:
            # The records' virtual weights are not symmetrized where a layer collapses.
            assert virtual == record["virtual_weight_dim"], str(network)
        assert virtual - network.n_layers == record["jacobian_rank"], str(network)


def test_deep_formulas() -> None:
    for record in DEEP:
        network = _network(record)
        assert network.n_parameters == record["n_params"]
        assert network.is_bottleneck == record["bottleneck"]
        assert list(network.collapsed_layers) == record["rank_one_input_layers"]
        if network.is_bottleneck:
            assert network.published_dimension == record["paper_style_formula"]
            assert network.corrected_dimension == record["corrected_formula"] == record["jacobian_rank"]
            holds = network.published_dimension == record["jacobian_rank"]
            assert holds == record["paper_style_formula_holds"]
        else:
            assert network.published_dimension is None
            assert network.corrected_dimension is None


def test_one_layer_is_a_layer() -> None:
    for d, d_out, a, t in [(2, 1, 1, 2), (3, 2, 2, 2), (2, 2, 2, 1), (3, 1, 1, 1)]:
        network = DeepLightning((d, d_out), (a,), t)
        layer = LightningAttention(d, d_out, a, t)
        assert network.native_rank().rank == layer.dimension == network.corrected_dimension
        assert network.numeric_rank().rank == layer.dimension


@pytest.mark.parametrize(("widths", "ranks"), [((2, 2, 2), (1, 2)), ((3, 2, 3), (2, 2)), ((2, 2, 2, 2), (2, 1, 2))])
def test_float_rank_of_deep_networks(widths: tuple[int, ...], ranks: tuple[int, ...]) -> None:
    network = DeepLightning(widths, ranks, 2)
    found = network.numeric_rank(seed=1)
    assert found.clear
    assert found.rank == network.native_rank(seed=2).rank
