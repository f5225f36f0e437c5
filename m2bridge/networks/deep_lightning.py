"""Deep lightning self-attention, with one or several heads, with or without skip connections, by exact ranks.

Elimination is out of reach there: the coordinates have degree 3^l.

Source: Henry, Marchetti, Kohn, arXiv:2408.17221 (dimension formula under the bottleneck hypothesis; virtual
weights). The formula as published fails by rank-one collapse, see `DeepLightning.corrected_dimension`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from m2bridge import modular
from m2bridge.errors import ModelError
from m2bridge.exact import RankSample
from m2bridge.networks.lightning import LightningAttention, require_sizes
from m2bridge.numeric import NumericRank, gap_rank

Array = NDArray[Any]
Product = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class DeepLightning:
    """A network of l lightning layers: layer i maps X to V_i X X^T A_i X with A_i = K_i^T Q_i.

    With several heads a layer is a sum of such terms, one for each head; with skip connections X is added to it.

    Attributes
    ----------
    widths
        d_0, …, d_l: V_i is d_i x d_(i-1), Q_i and K_i are a_i x d_(i-1).
    ranks
        a_1, …, a_l.
    t
        Number of tokens.
    heads
        Number of heads of every layer.
    skip
        Whether each layer has a skip connection; then all widths are equal.
    """

    widths: tuple[int, ...]
    ranks: tuple[int, ...]
    t: int
    heads: int = 1
    skip: bool = False

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
            heads=self.heads,
        )
        if self.skip and len(set(self.widths)) > 1:
            raise ModelError(f"skip connections need equal widths, not {', '.join(map(str, self.widths))}")

    def __str__(self) -> str:
        widths, ranks = (",".join(map(str, sizes)) for sizes in (self.widths, self.ranks))
        extra = f", {self.heads} heads" if self.heads > 1 else ""
        extra += ", skip connections" if self.skip else ""
        return f"deep lightning self-attention, widths {widths}, ranks {ranks}, t={self.t}{extra}"

    @property
    def is_plain(self) -> bool:
        """Whether there is one head and no skip connection, as in the paper."""
        return self.heads == 1 and not self.skip

    @property
    def n_layers(self) -> int:
        """Number l of layers."""
        return len(self.ranks)

    @property
    def n_parameters(self) -> int:
        """Number of entries of all Q_i, K_i, V_i."""
        return self.heads * sum(
            2 * a * d + d * e for a, d, e in zip(self.ranks, self.widths, self.widths[1:], strict=False)
        )

    # --- closed formulas -----------------------------------------------------------------------------------

    @property
    def is_bottleneck(self) -> bool:
        """Whether all hidden widths are equal and at most the input and output width."""
        hidden = set(self.widths[1:-1])
        return len(hidden) <= 1 and all(h <= min(self.widths[0], self.widths[-1]) for h in hidden)

    @property
    def collapsed_layers(self) -> tuple[int, ...]:
        """Layers (from 1) whose input has rank one for all weights, so that they see only sym(A_i)."""
        # Heads and skip connections add up to a larger rank than the a_i.
        ranks = self.ranks if self.is_plain else self.widths
        return tuple(i for i in range(1, self.n_layers + 1) if min(self.t, *ranks[: i - 1], *self.widths[:i]) <= 1)

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
        return self._dimension(()) if self.is_bottleneck and self.is_plain else None

    @property
    def corrected_dimension(self) -> int | None:
        """Dimension by the formula corrected for rank-one collapse, for bottleneck networks; None otherwise.

        Equal to the exact rank in every bottleneck case tested; a conjecture beyond. For skip connections with one
        head, the sum of the dimensions of the layers; for one layer of several heads, t >= 2 and d >= 2, a formula that
        accounts for heads that mix. None otherwise.
        """
        if self.is_plain:
            return self._dimension(self.collapsed_layers) if self.is_bottleneck else None
        if self.heads == 1:
            return self._skip_dimension()
        if self.skip or self.n_layers > 1 or self.t == 1 or self.widths[0] == 1:
            return None
        return self._multi_head_dimension()

    def _skip_dimension(self) -> int:
        total = 0
        for a, d in self._attention_sizes:
            alpha, r = min(a, d), min(2 * a, d)
            attention = 2 * alpha * d - alpha * alpha if self.t >= 2 else r * d - r * (r - 1) // 2
            total += attention + d * d - 1
        return total

    def _multi_head_dimension(self) -> int:
        """Dimension of one layer of several heads: beside rescaling, A_h -> sum of g_hk A_k if h > (d - a)^2 + 1.

        It is at most the number of independent coordinates; for d' = 1 and h < d all entries vanish on a common
        subspace.
        """
        d, e, h = self.widths[0], self.widths[1], self.heads
        a = min(self.ranks[0], d)
        dimension = h * (2 * a * d - a * a + d * e) - h * max(1, h - (d - a) ** 2)
        dimension = min(dimension, e * d * comb(d + 1, 2))
        if e == 1 and h < d:
            dimension = min(dimension, h * (d - h) + d * (comb(d + 1, 2) - comb(d - h + 1, 2)))
        return dimension

    # --- symmetries ----------------------------------------------------------------------------------------

    def symmetry_fields(self, weights: Array) -> Array:
        """Return, at one point, the vector fields along which the function of the network is constant.

        They come from identities of matrices: GL(a_i) acts on (Q_i, K_i) and fixes K_i^T Q_i (for a collapsed layer,
        the orthogonal group of 2 a_i linear forms fixes its symmetric part); scaling Q_i by c and V_i by 1/c fixes the
        layer; without skip connections, GL(d_i), 0 < i < l, acts on V_i from the left and on Q_(i+1), K_(i+1), V_(i+1)
        from the right by the inverse. For heads h, k of a layer with a_i >= d_(i-1), A_h may be changed by A_k if V_k
        is changed by -V_h: a rational field, given at points where the first d rows of Q_h are the identity. (For
        smaller a_i heads may mix, too, if there are many; those fields are not given.)

        Returns
        -------
        (k, n)
            Whole numbers if the weights are; k fields, which may be dependent.
        """
        fields: list[Array] = []

        def field() -> Callable[[int, str, int], Array]:
            vector = np.zeros(self.n_parameters, dtype=weights.dtype)
            fields.append(vector)
            return lambda layer, letter, head: self._matrix(vector, layer, letter, head)

        for layer in range(self.n_layers):
            for head in range(self.heads):
                Q, K, V = (self._matrix(weights, layer, letter, head) for letter in "QKV")
                for i in range(len(Q)):
                    for j in range(len(Q)):
                        part = field()
                        part(layer, "Q", head)[i] = Q[j]
                        part(layer, "K", head)[j] = -K[i]
                        if layer + 1 in self.collapsed_layers and j < i:
                            for first, second in (("Q", K), ("K", Q)):
                                part = field()
                                part(layer, first, head)[i] = second[j]
                                part(layer, first, head)[j] = -second[i]
                part = field()
                part(layer, "Q", head)[:] = Q
                part(layer, "V", head)[:] = -V
                for other in set(range(self.heads)) - {head} if len(Q) >= Q.shape[1] else set():
                    part = field()
                    K_other, Q_other = (self._matrix(weights, layer, letter, other) for letter in "KQ")
                    part(layer, "K", head)[: Q.shape[1]] = modular.product(Q_other.T, K_other)
                    part(layer, "V", other)[:] = -V
            if self.skip or layer == self.n_layers - 1:
                continue
            for i in range(self.widths[layer + 1]):
                for j in range(self.widths[layer + 1]):
                    part = field()
                    for head in range(self.heads):
                        part(layer, "V", head)[i] = self._matrix(weights, layer, "V", head)[j]
                        for letter in "QKV":
                            matrix = self._matrix(weights, layer + 1, letter, head)
                            part(layer + 1, letter, head)[:, j] = -matrix[:, i]
        return np.array(fields)

    def symmetry_rank(self, seed: int = 0) -> int:
        """Return the number k of independent fields at a random point, modulo a prime.

        The dimension of the neurovariety is at most n - k: proved, since independence modulo a prime at one point
        implies generic independence. For bottleneck widths and a_i <= d_(i-1) no rank is needed: in a combination
        that vanishes, V_1 of full row rank makes the element of gl(d_1) the scalar c_1 of the rescaling; K_1 of full
        row rank kills gl(a_1), then Q_1 kills c_1; and so on, layer after layer.
        """
        if (
            self.is_plain
            and self.is_bottleneck
            and not self.collapsed_layers
            and all(a <= d for a, d in self._attention_sizes)
        ):
            return sum(a * a for a in self.ranks) + sum(d * d for d in self.widths[1:-1]) + self.n_layers
        weights = np.random.default_rng(seed).integers(1, modular.PRIME, self.n_parameters).astype(np.float64)
        for layer, (a, d) in enumerate(self._attention_sizes):
            for head in range(self.heads if a >= d else 0):
                self._matrix(weights, layer, "Q", head)[:d] = np.eye(d)
        return modular.rank(self.symmetry_fields(weights))

    @property
    def dimension_upper_bound(self) -> int:
        """A proved upper bound for the dimension of the neurovariety.

        The number of parameters less that of independent symmetries; for one layer without skip connection also the
        number of linearly independent coefficients of the function.
        """
        bound = self.n_parameters - self.symmetry_rank()
        if self.n_layers > 1 or self.skip:
            return bound
        layer = LightningAttention(self.widths[0], self.widths[1], self.ranks[0], self.t)
        return min(bound, layer.n_independent_coordinates)

    @property
    def _attention_sizes(self) -> list[tuple[int, int]]:
        return list(zip(self.ranks, self.widths[:-1], strict=True))

    # --- ranks ---------------------------------------------------------------------------------------------

    @cached_property
    def _slices(self) -> list[dict[str, tuple[slice, tuple[int, int]]]]:
        """Where each matrix of each layer stands in the vector of weights: Q, K, V of each head, row by row."""
        layers, start = [], 0
        for a, d, e in zip(self.ranks, self.widths, self.widths[1:], strict=False):
            places = {}
            for head in range(self.heads):
                for letter, shape in (("Q", (a, d)), ("K", (a, d)), ("V", (e, d))):
                    stop = start + shape[0] * shape[1]
                    places[f"{letter}{head}"] = (slice(start, stop), shape)
                    start = stop
            layers.append(places)
        return layers

    def _matrix(self, weights: Array, layer: int, letter: str, head: int = 0) -> Array:
        place, shape = self._slices[layer][f"{letter}{head}"]
        return weights[..., place].reshape(*weights.shape[:-1], *shape)

    def _normal_form(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return random weights in a normal form under the symmetries, and which of them vary.

        The first min(a, d) rows and columns of Q_i are the identity (its other rows are zero, as are those of K_i);
        for bottleneck widths V_1 = [I *] and V_2, …, V_(l-1) are the identity. Generic weights can be brought to it,
        so that ranks there are generic ranks; in any case they are lower bounds.
        """
        weights = rng.integers(1, modular.PRIME, self.n_parameters).astype(np.float64)
        varies = np.ones(self.n_parameters, dtype=bool)
        for layer, (a, d) in enumerate(self._attention_sizes):
            r = min(a, d)
            for head in range(self.heads):
                Q, K, V = (self._matrix(weights, layer, letter, head) for letter in "QKV")
                varies_Q, varies_K, varies_V = (self._matrix(varies, layer, letter, head) for letter in "QKV")
                Q[:, :r], Q[r:], K[r:] = np.eye(a, r), 0, 0
                varies_Q[:, :r], varies_Q[r:], varies_K[r:] = False, False, False
                if self.is_plain and self.is_bottleneck and layer < self.n_layers - 1:
                    V[:, : len(V)] = np.eye(len(V))
                    varies_V[:, : len(V)] = False
        return weights, varies

    def function_jacobian(
        self, weights: Array, inputs: Array, product: Product, varies: Array | None = None, rows: int | None = None
    ) -> Array:
        """Return the Jacobian of weights -> outputs at given inputs, by forward mode.

        Parameters
        ----------
        weights : (n,)
            All weights, layer by layer: Q, K, V, row by row.
        inputs : (N, d_0, t)
            Input matrices.
        product
            Matrix product over the number system of the entries (with reduction modulo p, or plain).
        varies : (n,)
            Which weights to differentiate by; by default all.
        rows
            How many of the d_l output rows to take of each input, in turn; by default all.

        Returns
        -------
        (N * rows * t, number of weights that vary)
        """
        chosen = np.arange(len(weights)) if varies is None else np.flatnonzero(varies)
        columns = np.searchsorted(chosen, [places["Q0"][0].start for places in self._slices] + [len(weights)])
        Y = inputs[:, None]  # (N, 1, d, t), and its derivatives (N, columns so far, d, t)
        dY = np.zeros((len(inputs), 0, self.widths[0], self.t), dtype=weights.dtype)
        for layer in range(self.n_layers):
            own = chosen[columns[layer] : columns[layer + 1]]
            directions = np.zeros((len(own), len(weights)), dtype=weights.dtype)
            directions[np.arange(len(own)), own] = 1
            before, take = dY.shape[1], None
            if layer == self.n_layers - 1 and rows is not None and rows < self.widths[-1]:
                # Each input serves for a few output rows only, another few for the next input.
                take = (np.arange(len(inputs))[:, None] * rows + np.arange(rows)) % self.widths[-1]
            terms, derivatives = [], []
            for head in range(self.heads):
                Q, K, V = (self._matrix(weights, layer, letter, head) for letter in "QKV")
                dQ, dK, dV = (self._matrix(directions, layer, letter, head) for letter in "QKV")
                if take is not None:
                    V, dV = V[take][:, None], np.swapaxes(dV[:, take], 0, 1)
                k, q = product(K, Y), product(Q, Y)
                # Derivatives by weights of earlier layers come through Y, those by this layer's are new.
                dk = np.concatenate([product(K, dY), _repeat(product(dK, Y), len(inputs))], axis=1)
                dq = np.concatenate([product(Q, dY), _repeat(product(dQ, Y), len(inputs))], axis=1)
                S = product(_swap(k), q)
                dS = product(_swap(dk), q) + product(_swap(k), dq)
                Z = product(Y, S)
                dZ = product(Y, dS)
                dZ[:, :before] += product(dY, S)
                derivative = product(V, dZ)
                derivative[:, before:] += product(dV, Z)
                terms.append(product(V, Z))
                derivatives.append(derivative)
            if self.skip and take is None:
                terms.append(Y)
            if self.skip:
                derivatives[0][:, :before] += (
                    dY if take is None else np.take_along_axis(dY, take[:, None, :, None], axis=2)
                )
            Y, dY = sum(terms[1:], terms[0]), sum(derivatives[1:], derivatives[0])
        return np.moveaxis(dY, 1, -1).reshape(-1, len(chosen))

    def token_jacobian(self, weights: Array, inputs: Array, rows: int) -> Array:
        """Return the Jacobian of weights in normal form -> outputs, for bottleneck widths, modulo a prime.

        With X' = V_1 X and N_1 = X^T A_1 X, N_k = X'^T A_k X', the output is V_l X' T_l, where T_1 = N_1 and
        T_k = T_(k-1) T_(k-1)^T N_k T_(k-1): only t x t matrices and their derivatives are carried from layer to
        layer. For l = 1 it is V_1 X N_1.

        Parameters
        ----------
        weights : (n,)
            Weights in normal form (see `_normal_form`).
        inputs : (N, d_0, t)
            Inputs.
        rows
            How many of the d_l output rows to take of each input, in turn.

        Returns
        -------
        (N * rows * t, number of weights that vary)
            Columns in the order: Q_i, K_i of each layer, V_1 (if l > 1), V_l.
        """
        count, t, last = len(inputs), self.t, self.n_layers - 1
        product = modular.product
        V = [self._matrix(weights, layer, "V") for layer in range(self.n_layers)]
        reduced = inputs if last == 0 else product(V[0], inputs)  # X'
        hidden = len(reduced[0])
        n_reduction = 0 if last == 0 else hidden * (self.widths[0] - hidden)
        sizes = [min(a, d) * (d - min(a, d)) + min(a, d) * d for a, d in self._attention_sizes]
        starts = np.cumsum([0, *sizes, n_reduction])
        dT = np.zeros((count, int(starts[-1]), t, t))
        # Derivatives of X' by the free entries (i, j) of V_1: row i is row j of X.
        moving = inputs[:, hidden:] if n_reduction else inputs[:, :0]
        T = np.broadcast_to(np.eye(t), (count, t, t))
        for layer, (a, d) in enumerate(self._attention_sizes):
            r = min(a, d)
            tokens = inputs if layer == 0 else reduced
            Q, K = self._matrix(weights, layer, "Q")[:r], self._matrix(weights, layer, "K")[:r]
            q, k = product(Q, tokens), product(K, tokens)
            N = product(_swap(k), q)
            # N = k^T q: by Q_ij the derivative is k_i^T x_j, by K_ij it is x_j^T q_i.
            by_Q = (k[:, :, None, :, None] * tokens[:, None, r:, None, :]).reshape(count, -1, t, t)
            by_K = (tokens[:, None, :, :, None] * q[:, :, None, None, :]).reshape(count, -1, t, t)
            TT, NT = product(T, _swap(T)), product(N, T)
            if layer == 0:
                dT[:, starts[0] : starts[1]] = modular.reduce(np.concatenate([by_Q, by_K], axis=1))
                T = N
                continue
            U = _times(dT, _swap(T))
            carried = _times(U + _swap(U), NT) + _times(dT, product(product(T, _swap(T)), N), left=True)
            own = np.zeros_like(dT)
            own[:, starts[layer] : starts[layer + 1]] = modular.reduce(np.concatenate([by_Q, by_K], axis=1))
            if n_reduction:
                AX, AtX = product(_swap(K), q), product(_swap(Q), k)  # A X', A^T X'
                by_V = moving[:, None, :, :, None] * AX[:, :, None, None, :]
                by_V = modular.reduce(by_V) + modular.reduce(AtX[:, :, None, :, None] * moving[:, None, :, None, :])
                own[:, starts[-2] :] = by_V.reshape(count, -1, t, t)
            dT = modular.reduce(carried + _times(_times(own, TT, left=True), T))
            T = product(product(TT, N), T)
        take = (np.arange(count)[:, None] * rows + np.arange(rows)) % self.widths[-1]
        W = V[last][take]  # (N, rows, d_(l-1))
        blocks = [_times_left(product(W, reduced), dT)]
        if n_reduction:
            by_V = W[:, :, :, None, None] * product(_swap(T), _swap(moving)).swapaxes(1, 2)[:, None, None]
            blocks[0][:, :, starts[-2] :] += modular.reduce(by_V).reshape(count, rows, n_reduction, t)
        by_last = np.zeros((count, rows, self.widths[-1], len(reduced[0]), t))
        by_last[np.arange(count)[:, None], np.arange(rows), take] = product(reduced, T)[:, None]
        blocks.append(by_last.reshape(count, rows, -1, t))
        return modular.reduce(np.concatenate(blocks, axis=2)).swapaxes(2, 3).reshape(count * rows * t, -1)

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

        A lower bound for the dimension of the neurovariety. It stops at the upper bound that the symmetries give;
        below it, inputs are added until the rank no longer grows.
        """
        rng = np.random.default_rng(seed)
        weights, varies = self._normal_form(rng)
        columns = int(varies.sum())
        most = min(columns, self.dimension_upper_bound)
        rows = min(self.widths[-1], max(self.widths[0], self.t), self.t) if columns > _MANY else self.widths[-1]
        # Small Jacobians need more inputs than large ones, and cost nothing.
        enough = columns + columns // (16 if columns > _MANY else 4)
        count = max(1, -(-enough // (rows * self.t)))
        best = 0
        while True:
            inputs = rng.integers(1, modular.PRIME, (count, self.widths[0], self.t)).astype(np.float64)
            if self.is_plain and self.is_bottleneck:
                chunks = np.array_split(inputs, -(-count * columns * self.t**2 // _CHUNK))
                jacobian = np.concatenate([self.token_jacobian(weights, chunk, rows) for chunk in chunks])
            else:
                jacobian = self.function_jacobian(weights, inputs, modular.product, varies, rows)
            found = modular.rank(jacobian)
            # One generic input more adds at least one to a rank that is not yet full, so as many inputs as columns
            # always suffice; most networks need far fewer.
            if found >= most or count >= columns or (found == best and count > 1):
                return RankSample(modular.PRIME, 1, max(found, best))
            best, count, rows = max(found, best), min(2 * count, columns), self.widths[-1]

    def virtual_rank(self, seed: int = 0) -> RankSample:
        """Return the rank, modulo a prime, of the Jacobian of weights -> virtual weights at random weights.

        Less l, it equals the dimension of the neurovariety in every case tested, bottleneck or not.
        """
        weights = np.random.default_rng(seed).integers(1, modular.PRIME, self.n_parameters).astype(np.float64)
        return RankSample(modular.PRIME, 1, modular.rank(self.virtual_jacobian(weights, modular.product)))

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
        jacobian = self.function_jacobian(weights, inputs, np.matmul)
        # Outputs of degree 3^l differ much in size from input to input: each row counts the same.
        sizes = np.linalg.norm(jacobian, axis=1, keepdims=True)
        return gap_rank(jacobian / np.where(sizes > 0, sizes, 1))


_MANY = 200
"""With more columns than this, only t output rows of each input are taken: the others tell little more."""


_CHUNK = 2_000_000
"""Entries of the derivatives that are carried at once: they should fit the processor's cache."""


def _times(stack: Array, matrices: Array, *, left: bool = False) -> Array:
    """Return, modulo the prime, (N, c, t, t) times (N, t, t) from the right or the left, one large product for each."""
    if left:
        return _swap(_times(_swap(stack), _swap(matrices)))
    count, c, t, _ = stack.shape
    return modular.product(np.ascontiguousarray(stack).reshape(count, c * t, t), matrices).reshape(count, c, t, t)


def _times_left(matrices: Array, stack: Array) -> Array:
    """Return, modulo the prime, (N, r, t) times (N, c, t, t) as (N, r, c, t)."""
    count, c, t, _ = stack.shape
    wide = np.ascontiguousarray(np.moveaxis(stack, 2, 1)).reshape(count, t, c * t)
    return modular.product(matrices, wide).reshape(count, -1, c, t)


def _swap(matrices: Array) -> Array:
    return np.swapaxes(matrices, -1, -2)


def _repeat(matrices: Array, count: int) -> Array:
    """Return (N, …) of matrices that may have been computed for all N inputs at once."""
    return matrices if matrices.shape[0] == count else np.broadcast_to(matrices, (count, *matrices.shape[1:]))
