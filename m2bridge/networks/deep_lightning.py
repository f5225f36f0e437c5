"""Deep lightning self-attention: compositions of layers, by exact ranks, since elimination is out of reach.

Source: Henry, Marchetti, Kohn, arXiv:2408.17221 (dimension formula under the bottleneck hypothesis; virtual
weights). The formula as published fails by rank-one collapse, see `DeepLightning.corrected_dimension`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from m2bridge.errors import ModelError
from m2bridge.exact import RANK_PRIMES, RankSample
from m2bridge.networks.lightning import require_sizes
from m2bridge.numeric import NumericRank, gap_rank

Array = NDArray[Any]
Product = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class DeepLightning:
    """A network of l lightning layers: layer i maps X to V_i X X^T A_i X with A_i = K_i^T Q_i.

    Attributes
    ----------
    widths
        d_0, …, d_l: V_i is d_i x d_(i-1), Q_i and K_i are a_i x d_(i-1).
    ranks
        a_1, …, a_l.
    t
        Number of tokens.
    """

    widths: tuple[int, ...]
    ranks: tuple[int, ...]
    t: int

    def __post_init__(self) -> None:
        if not self.ranks:
            raise ModelError("a network needs at least one layer")
        if len(self.widths) != len(self.ranks) + 1:
            raise ModelError(
                f"{len(self.ranks)} ranks need {len(self.ranks) + 1} widths (input, one for each layer), "
                f"but {len(self.widths)} are given"
            )
        require_sizes(
            **{f"width d_{i}": w for i, w in enumerate(self.widths)},
            **{f"rank a_{i}": a for i, a in enumerate(self.ranks, start=1)},
            t=self.t,
        )

    def __str__(self) -> str:
        widths, ranks = (",".join(map(str, sizes)) for sizes in (self.widths, self.ranks))
        return f"deep lightning self-attention, widths {widths}, ranks {ranks}, t={self.t}"

    @property
    def n_layers(self) -> int:
        """Number l of layers."""
        return len(self.ranks)

    @property
    def n_parameters(self) -> int:
        """Number of entries of all Q_i, K_i, V_i."""
        return sum(2 * a * d + d * e for a, d, e in zip(self.ranks, self.widths, self.widths[1:], strict=False))

    # --- closed formulas -----------------------------------------------------------------------------------

    @property
    def is_bottleneck(self) -> bool:
        """Whether all hidden widths are equal and at most the input and output width."""
        hidden = set(self.widths[1:-1])
        return len(hidden) <= 1 and all(h <= min(self.widths[0], self.widths[-1]) for h in hidden)

    @property
    def collapsed_layers(self) -> tuple[int, ...]:
        """Layers (from 1) whose input has rank one for all weights, so that they see only sym(A_i)."""
        return tuple(i for i in range(1, self.n_layers + 1) if min(self.t, *self.ranks[: i - 1], *self.widths[:i]) <= 1)

    def _dimension(self, collapsed: tuple[int, ...]) -> int:
        total = -self.n_layers - sum(d * d for d in self.widths[1:-1])
        for i, (a, d, e) in enumerate(zip(self.ranks, self.widths, self.widths[1:], strict=False), start=1):
            alpha = min(a, d)
            attention = 2 * alpha * d - alpha * alpha
            if i in collapsed:
                r = min(2 * a, d)
                attention = r * d - r * (r - 1) // 2
            total += attention + d * e
        return total

    @property
    def published_dimension(self) -> int | None:
        """Dimension by the published formula, for bottleneck networks; None otherwise.

        It over-counts where a layer before the last has rank 1 and a later one rank >= 2, and for t = 1.
        """
        return self._dimension(()) if self.is_bottleneck else None

    @property
    def corrected_dimension(self) -> int | None:
        """Dimension by the formula corrected for rank-one collapse, for bottleneck networks; None otherwise.

        Equal to the exact rank in every bottleneck case tested; a conjecture beyond.
        """
        return self._dimension(self.collapsed_layers) if self.is_bottleneck else None

    # --- ranks ---------------------------------------------------------------------------------------------

    @cached_property
    def _slices(self) -> list[dict[str, tuple[slice, tuple[int, int]]]]:
        """Where each matrix of each layer stands in the vector of weights: Q, K, V, row by row."""
        layers, start = [], 0
        for a, d, e in zip(self.ranks, self.widths, self.widths[1:], strict=False):
            places = {}
            for letter, shape in (("Q", (a, d)), ("K", (a, d)), ("V", (e, d))):
                stop = start + shape[0] * shape[1]
                places[letter] = (slice(start, stop), shape)
                start = stop
            layers.append(places)
        return layers

    def _matrix(self, weights: Array, layer: int, letter: str) -> Array:
        place, shape = self._slices[layer][letter]
        return weights[..., place].reshape(*weights.shape[:-1], *shape)

    def function_jacobian(self, weights: Array, inputs: Array, product: Product) -> Array:
        """Return the Jacobian of weights -> outputs at given inputs, by forward mode.

        Parameters
        ----------
        weights : (n,)
            All weights, layer by layer: Q, K, V, row by row.
        inputs : (N, d_0, t)
            Input matrices.
        product
            Matrix product over the number system of the entries (with reduction modulo p, or plain).

        Returns
        -------
        (N * d_l * t, n)
        """
        n = len(weights)
        directions = np.eye(n, dtype=weights.dtype)
        Y = inputs[:, None]  # (N, 1, d, t), and its derivatives (N, n, d, t)
        dY = np.zeros((len(inputs), n, self.widths[0], self.t), dtype=weights.dtype)
        for layer in range(self.n_layers):
            Q, K, V = (self._matrix(weights, layer, letter) for letter in "QKV")
            dQ, dK, dV = (self._matrix(directions, layer, letter) for letter in "QKV")
            k, q = product(K, Y), product(Q, Y)
            dk = product(dK, Y) + product(K, dY)
            dq = product(dQ, Y) + product(Q, dY)
            S = product(_swap(k), q)
            dS = product(_swap(dk), q) + product(_swap(k), dq)
            Z = product(Y, S)
            dZ = product(dY, S) + product(Y, dS)
            dY = product(dV, Z) + product(V, dZ)
            Y = product(V, Z)
        return np.moveaxis(dY, 1, -1).reshape(-1, n)

    def virtual_jacobian(self, weights: Array, product: Product) -> Array:
        """Return the Jacobian of weights -> virtual weights (M_1, …, M_l, L).

        L = V_l … V_1, M_i = P^T A_i P with P = V_(i-1) … V_1; for a collapsed layer M_i + M_i^T instead.

        Returns
        -------
        (l * d_0^2 + d_l * d_0, n)
        """
        n = len(weights)
        directions = np.eye(n, dtype=weights.dtype)
        P = np.eye(self.widths[0], dtype=weights.dtype)[None]
        dP = np.zeros((n, self.widths[0], self.widths[0]), dtype=weights.dtype)
        blocks = []
        for layer in range(self.n_layers):
            Q, K, V = (self._matrix(weights, layer, letter)[None] for letter in "QKV")
            dQ, dK, dV = (self._matrix(directions, layer, letter) for letter in "QKV")
            k, q = product(K, P), product(Q, P)
            dk = product(dK, P) + product(K, dP)
            dq = product(dQ, P) + product(Q, dP)
            dM = product(_swap(dk), q) + product(_swap(k), dq)
            if layer + 1 in self.collapsed_layers:
                dM = dM + _swap(dM)
            blocks.append(dM.reshape(n, -1))
            dP = product(dV, P) + product(V, dP)
            P = product(V, P)
        blocks.append(dP.reshape(n, -1))
        return np.concatenate(blocks, axis=1).T

    def native_rank(self, seed: int = 0) -> RankSample:
        """Return the rank, modulo a prime, of the Jacobian of weights -> outputs at random weights and inputs.

        A lower bound for the dimension of the neurovariety. Inputs are added until the rank no longer grows.
        """
        prime = RANK_PRIMES[0]
        rng = np.random.default_rng(seed)
        weights = rng.integers(1, prime, self.n_parameters)
        rows = self.widths[-1] * self.t
        # One generic input more adds at least one to a rank that is not yet full, so as many inputs as weights
        # always suffice; most networks need far fewer.
        count = min(self.n_parameters, 2 * -(-self.n_parameters // rows) + 2)
        inputs = rng.integers(1, prime, (count, self.widths[0], self.t))
        rank = self._rank(weights, inputs, prime)
        while count < self.n_parameters:
            more = rng.integers(1, prime, (count, self.widths[0], self.t))
            inputs = np.concatenate([inputs, more])[: self.n_parameters]
            count = len(inputs)
            larger = self._rank(weights, inputs, prime)
            if larger == rank:
                break
            rank = larger
        return RankSample(prime, 1, rank)

    def _rank(self, weights: Array, inputs: Array, prime: int) -> int:
        return _rank_modulo(self.function_jacobian(weights, inputs, _modular_product(prime)), prime)

    def virtual_rank(self, seed: int = 0) -> RankSample:
        """Return the rank, modulo a prime, of the Jacobian of weights -> virtual weights at random weights.

        Less l, it equals the dimension of the neurovariety in every case tested, bottleneck or not.
        """
        prime = RANK_PRIMES[0]
        weights = np.random.default_rng(seed).integers(1, prime, self.n_parameters)
        return RankSample(prime, 1, _rank_modulo(self.virtual_jacobian(weights, _modular_product(prime)), prime))

    def numeric_rank(self, seed: int = 0) -> NumericRank:
        """Return the float64 rank, by singular-value gap, of the Jacobian of weights -> outputs.

        Weights are normal with variance 1 / d_(i-1), inputs standard normal; there are as many inputs as weights,
        up to 64.
        """
        rng = np.random.default_rng(seed)
        weights = np.empty(self.n_parameters)
        for layer, d in enumerate(self.widths[:-1]):
            for place, shape in self._slices[layer].values():
                weights[place] = rng.standard_normal(shape[0] * shape[1]) / np.sqrt(d)
        inputs = rng.standard_normal((min(self.n_parameters, 64), self.widths[0], self.t))
        return gap_rank(self.function_jacobian(weights, inputs, np.matmul))


def _swap(matrices: Array) -> Array:
    return np.swapaxes(matrices, -1, -2)


def _modular_product(prime: int) -> Product:
    """Return the matrix product modulo a prime below 2^31, on int64 without overflow."""

    def product(left: Array, right: Array) -> Array:
        left, right = left % prime, right % prime
        # Halves of 16 bits: every sum of up to 2^15 products stays below 2^62.
        high, low = left >> 16, left & 0xFFFF
        result: Array = ((np.matmul(high, right) % prime << 16) + np.matmul(low, right)) % prime
        return result

    return product


def _rank_modulo(matrix: Array, prime: int) -> int:
    rows, columns = matrix.shape
    return int(flint.nmod_mat(rows, columns, (matrix % prime).ravel().tolist(), prime).rank())
