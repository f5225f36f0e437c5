"""Checks a certificate: one file that needs the standard library, and python-flint only for speed.

Run as ``python -m m2bridge.check FILE [--pure]``, or copy this file and run ``python check.py FILE``. It uses nothing
else of m2bridge. The format, and why each rule is sound, is in data/certificate-format-1.md. Exit code 0: accepted.
1: rejected, with the step and why. 2: malformed (no certificate of this format, or too large to check).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, pairwise, product
from math import comb, gcd, prod
from pathlib import Path
from typing import Any

try:
    flint: Any = __import__("flint")
except ImportError:
    flint = None

FORMAT = "m2bridge-certificate/1"
FORMULA = (
    "Y_i = sum_h V_ih Y Y^T A_ih Y (+ Y if skip), Y = Y_(i-1); A_ih = K_ih^T Q_ih, or any matrix if a_i >= d_(i-1)"
)
MOST_BYTES, MOST_DEPTH, MOST_DIGITS, MOST_DEGREE, MOST_ITEMS, MOST_WORK = 2**26, 24, 4000, 2**12, 10**5, 2 * 10**9

NAME = re.compile(r"[^\W\d]\w{0,80}(\[\d{1,6}(,\d{1,6})*\])?")

Polynomial = dict[int, Any]  # from packed monomials to coefficients
Matrix = list[list[Any]]
Words = dict[tuple[str, ...], int]
Fact = tuple[str, Any]


class Malformed(Exception):
    """The file is no certificate of this format, or needs more work than is allowed."""


class Rejected(Exception):
    """The file is a certificate, but what it says does not follow."""


class Verdict:
    """What became of a certificate: ``exit_code`` 0, 1, 2, a line, the reasons, and what had to be trusted."""

    def __init__(self, exit_code: int, line: str, reasons: Sequence[str], trusted: Sequence[str]) -> None:
        self.exit_code, self.line, self.reasons, self.trusted = exit_code, line, list(reasons), list(trusted)


class _Machine:
    flint = flint is not None
    work = 0

    def spend(self, amount: int) -> None:
        self.work += amount
        if self.work > MOST_WORK:
            raise Malformed(f"checking takes more than {MOST_WORK} operations")


_MACHINE = _Machine()


def _require(condition: object, why: str) -> None:
    if not condition:
        raise Rejected(why)


def _well_formed(condition: object, why: str) -> None:
    if not condition:
        raise Malformed(why)


def _bound(degree: int) -> None:
    _well_formed(degree < 2**15, "a degree is too large")  # so that the digits of packed monomials never overflow


# --- strict reading ------------------------------------------------------------------------------------


def _read(data: bytes) -> dict[str, Any]:
    _well_formed(len(data) <= MOST_BYTES, f"larger than {MOST_BYTES} bytes")
    depth = most = 0
    for byte in re.sub(rb'"(?:[^"\\]|\\.)*"', b"", data):
        depth += (byte in b"[{") - (byte in b"]}")
        most = max(most, depth)
    _well_formed(most <= MOST_DEPTH, f"nested deeper than {MOST_DEPTH}")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _well_formed(len({key for key, _ in pairs}) == len(pairs), "a key stands twice in an object")
        return dict(pairs)

    def integer(text: str) -> int:
        _well_formed(re.fullmatch(r"-?\d{1,9}", text), f"{text[:20]!r}: numbers of more than nine digits are strings")
        return int(text)

    try:
        found = json.loads(
            data, object_pairs_hook=unique, parse_float=integer, parse_constant=integer, parse_int=integer
        )
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON: {error}") from None
    document = _fields(found, "the document", {"format": str, "claim": dict, "steps": list, "provenance": dict})
    _well_formed(document["format"] == FORMAT, f"the format is not {FORMAT!r}")
    return document


def _fields(value: Any, what: str, kinds: Mapping[str, type]) -> dict[str, Any]:
    keys = ", ".join(kinds)
    _well_formed(isinstance(value, dict) and value.keys() == kinds.keys(), f"{what} must have the keys {keys}")
    for key, kind in kinds.items():
        _well_formed(type(value[key]) is kind, f"{key!r} of {what} must be of type {kind.__name__}")
    found: dict[str, Any] = value
    return found


def _items(value: Any, kind: type, what: str, length: int | None = None) -> list[Any]:
    right = type(value) is list and all(type(item) is kind for item in value) and len(value) <= MOST_ITEMS
    _well_formed(right, f"{what} must be a list of type {kind.__name__}, of at most {MOST_ITEMS} items")
    _well_formed(length in (None, len(value)), f"{what} must have {length} items")
    return list(value)


def number(text: str, what: str = "a number") -> Any:
    match = re.fullmatch(r"(0|-?[1-9][0-9]*)(?:/([1-9][0-9]*))?", text)
    right = (
        match and len(text) <= MOST_DIGITS and (not match[2] or gcd(int(match[1]), int(match[2])) == 1 < int(match[2]))
    )
    if not match or not right:
        raise Malformed(f"{what} must be a string n or n/d in lowest terms, of at most {MOST_DIGITS} digits")
    return Fraction(int(match[1]), int(match[2])) if match[2] else int(match[1])


def _numbers(value: Any, length: int, what: str) -> list[Any]:
    return [number(text, what) for text in _items(value, str, what, length)]


def _prime(text: str) -> int:
    p = number(text, "the prime")
    _well_formed(isinstance(p, int) and 2 < p < 2**62 and p % 2, "the prime must be an odd number below 2^62")
    s = ((p - 1) & (1 - p)).bit_length() - 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):  # Miller and Rabin's test: no exception below 2^64
        x = pow(base, (p - 1) >> s, p)
        _require(p == base or x == 1 or p - 1 in [pow(x, 2**i, p) for i in range(s)], f"{p} is not a prime")
    return int(p)


def residue(value: Any, p: int) -> int:
    _require(value.denominator % p, f"the prime {p} divides a denominator")
    return int(value.numerator * pow(value.denominator, -1, p) % p)


# --- polynomials and matrices --------------------------------------------------------------------------


class Ring:
    """Polynomials over QQ or GF(p). Packed monomials are multiplied by addition, and compared as integers.

    In each block of variables the digits of a packed monomial are partial sums of exponents, the longest sum first:
    that is grevlex in the block. The last variable may have a degree above one.
    """

    def __init__(self, names: list[str], p: int = 0, order: str = "grevlex", last: int = 1) -> None:
        self.names = _items(names, str, "names")
        self.n, self.p, self.last = len(names), p, last
        identifiers = all(NAME.fullmatch(name) for name in names)
        _well_formed(identifiers and len(set(names)) == self.n, "names must be different identifiers")
        first = re.fullmatch(r"elim:([1-9]\d{0,3})", order)
        known = order in ("grevlex", "lex") or (first and int(first[1]) < self.n)
        _well_formed(known, f"there is no monomial order {order[:20]!r}")
        cuts = list(range(self.n + 1)) if order == "lex" else [0, *([int(first[1])] if first else []), self.n]
        self.digits = [(a, end) for a, b in pairwise(cuts) for end in range(b, a, -1)]
        places = [1 << 32 * (self.n - 1 - k) for k in range(self.n)]
        self.units = [
            sum(w for w, (a, end) in zip(places, self.digits, strict=True) if a <= i < end)
            * (last if i == self.n - 1 else 1)
            for i in range(self.n)
        ]
        self.index = dict(zip(names, self.units, strict=True))
        self._unpacked: dict[int, tuple[int, ...]] = {}

    def unpack(self, monomial: int) -> tuple[int, ...]:
        if monomial not in self._unpacked:
            sums = [monomial >> 32 * (self.n - 1 - k) & 0xFFFFFFFF for k in range(self.n)]
            exponents = [0] * self.n
            for k, (a, end) in enumerate(self.digits):
                exponents[end - 1] = sums[k] - (sums[k + 1] if end - 1 > a else 0)
            if self.n:
                exponents[-1] //= self.last
            self._unpacked[monomial] = tuple(exponents)
        return self._unpacked[monomial]

    def pack(self, exponents: Sequence[int]) -> int:
        return sum(e * unit for e, unit in zip(exponents, self.units, strict=True) if e)

    def parse(self, text: str) -> Polynomial:
        """Read a sum of different terms, without blanks or parentheses."""
        found: Polynomial = {}
        terms = [] if text == "0" else re.findall(r"[+-]?[^+-]+|[+-]", text)
        for term in terms:
            factors = term.lstrip("+-").split("*")
            coefficient = number(factors.pop(0), "a coefficient") if factors[0][:1].isdigit() else 1
            monomial = degree = 0
            for factor in factors:
                name, caret, exponent = factor.partition("^")
                power = number(exponent, "an exponent") if caret else 1
                right = name in self.index and type(power) is int and 0 < power <= MOST_DEGREE - degree
                _well_formed(right, f"{factor[:40]!r} is no power of a variable, or the degree is above {MOST_DEGREE}")
                monomial, degree = monomial + power * self.index[name], degree + power
            _well_formed(monomial not in found, f"a monomial stands twice in {text[:60]!r}")
            found[monomial] = -coefficient if term[0] == "-" else coefficient
        _well_formed(
            text == "0" or (text and text[0] != "+" and all(found.values())),
            f"{text[:60]!r} is not a sum of nonzero terms",
        )
        return self.modulo(found, self.p) if self.p else found

    def modulo(self, f: Polynomial, p: int) -> Polynomial:
        return {m: c for m, c in ((m, residue(c, p)) for m, c in f.items()) if c}

    def add(self, f: Polynomial, g: Polynomial, factor: Any = 1, shift: int = 0) -> Polynomial:
        """Return f + factor * monomial * g, made of f itself."""
        _MACHINE.spend(len(g))
        for m, c in g.items():
            value = f.get(m + shift, 0) + factor * c
            value = value % self.p if self.p else value
            if value:
                f[m + shift] = value
            else:
                f.pop(m + shift, None)
        return f

    def multiply(self, f: Polynomial, g: Polynomial) -> Polynomial:
        _bound(self.degree(f) + self.degree(g))
        total: Polynomial = {}
        for m, c in f.items():
            self.add(total, g, c, m)
        return total

    def degree(self, f: Polynomial) -> int:
        return max((sum(self.unpack(m)) for m in f), default=0)

    def derivative(self, f: Polynomial, i: int) -> Polynomial:
        terms = {m - self.units[i]: c * self.unpack(m)[i] for m, c in f.items() if self.unpack(m)[i]}
        return {m: c % self.p for m, c in terms.items() if c % self.p} if self.p else terms

    def variables(self, f: Polynomial) -> set[int]:
        return {i for m in f for i, e in enumerate(self.unpack(m)) if e}

    def value(self, f: Polynomial, point: Sequence[Any], p: int = 0) -> Any:
        total: Any = 0
        for m, c in f.items():
            _MACHINE.spend(self.n)
            term = residue(c, p) if p else c
            for x, e in zip(point, self.unpack(m), strict=True):
                if e:
                    term = term * pow(x, e, p) % p if p else term * x**e
            total += term
        return total % p if p else total

    def compose(self, f: Polynomial, images: Sequence[Polynomial], into: Ring) -> Polynomial:
        """Return f with polynomials of another ring over QQ in place of the variables."""
        _bound(self.degree(f) * max(map(into.degree, images), default=0))
        for m in f:
            _MACHINE.spend(prod(max(len(images[i]), 1) ** e for i, e in enumerate(self.unpack(m)) if e))
        if _MACHINE.flint and into.n:
            mine, theirs = (flint.fmpq_mpoly_ctx.get([f"x{i}" for i in range(r.n)], "degrevlex") for r in (self, into))

            def converted(g: Polynomial, ring: Ring, context: Any) -> Any:
                return context.from_dict({ring.unpack(m): flint.fmpq(c.numerator, c.denominator) for m, c in g.items()})

            found = converted(f, self, mine).compose(*(converted(g, into, theirs) for g in images), ctx=theirs)
            return {into.pack(m): Fraction(int(c.p), int(c.q)) for m, c in found.to_dict().items()}
        products: dict[int, Polynomial] = {0: {0: 1}}
        total: Polynomial = {}
        for m, c in f.items():
            prefix = 0
            for i in [i for i, e in enumerate(self.unpack(m)) for _ in range(e)]:
                longer = prefix + self.units[i]
                if longer not in products:
                    products[longer] = into.multiply(images[i], products[prefix])
                prefix = longer
            into.add(total, products[prefix], c)
        return total

    def gradients(self, polynomials: Sequence[Polynomial], point: Sequence[Any], p: int = 0) -> Matrix:
        return [[self.value(self.derivative(f, i), point, p) for i in range(self.n)] for f in polynomials]


def rank(rows: Matrix, p: int = 0) -> int:
    n = len(rows[0]) if rows else 0
    if not n:
        return 0
    _MACHINE.spend(len(rows) * n * min(len(rows), n) // 4)
    if _MACHINE.flint and p:
        return int(flint.nmod_mat(len(rows), n, [x % p for row in rows for x in row], p).rank())
    if _MACHINE.flint:
        return int(
            flint.fmpq_mat(len(rows), n, [flint.fmpq(x.numerator, x.denominator) for r in rows for x in r]).rank()
        )
    rows, found = [[x % p if p else x for x in row] for row in rows], 0
    for j in range(n):
        pivot = next((i for i in range(found, len(rows)) if rows[i][j]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        top = rows[found][j:]
        inverse = pow(top[0], -1, p) if p else 1 / Fraction(top[0])
        for row in rows[found + 1 :]:
            if row[j]:
                c = row[j] * inverse
                row[j:] = [(x - c * y) % p if p else x - c * y for x, y in zip(row[j:], top, strict=True)]
        found += 1
    return found


def times(A: Matrix, B: Matrix, p: int = 0) -> Matrix:
    _MACHINE.spend(len(A) * len(B) * len(B[0]))
    columns = list(zip(*B, strict=True))
    rows = [[sum(x * y for x, y in zip(row, column, strict=True)) for column in columns] for row in A]
    return [[x % p for x in row] for row in rows] if p else rows


def _plus(*terms: Matrix) -> Matrix:
    return [[sum(entries) for entries in zip(*rows, strict=True)] for rows in zip(*terms, strict=True)]


def turned(A: Matrix) -> Matrix:
    return [list(column) for column in zip(*A, strict=True)]


# --- what claims speak of ------------------------------------------------------------------------------


class Map:
    """A polynomial map over QQ, given by its coordinates."""

    def __init__(self, value: Any) -> None:
        kinds = {"field": str, "parameters": list, "coordinates": list, "coordinate_names": list}
        _well_formed(_fields(value, "the map", kinds)["field"] == "QQ", "the field of a map must be QQ")
        self.parameters, self.target = Ring(value["parameters"]), Ring(value["coordinate_names"])
        self.n, self.m = self.parameters.n, self.target.n
        texts = _items(value["coordinates"], str, "coordinates", self.m)
        self.coordinates = [self.parameters.parse(text) for text in texts]
        self.largest = min(self.n, self.m)

    def image(self, point: Sequence[Any], p: int = 0) -> list[Any]:
        return [self.parameters.value(f, point, p) for f in self.coordinates]

    def rank_at(self, point: list[int], inputs: list[Any], p: int) -> int:
        _well_formed(not inputs, "inputs are for networks")
        return rank(self.parameters.gradients(self.coordinates, point, p), p)


class Network:
    """A lightning network. Weights stand layer by layer, head by head: Q, K, V, or A, V where a_i >= d_(i-1)."""

    def __init__(self, value: Any) -> None:
        kinds = {"widths": list, "ranks": list, "t": int, "heads": int, "skip": bool, "formula": str}
        _well_formed(_fields(value, "the network", kinds)["formula"] == FORMULA, f"the formula must be {FORMULA!r}")
        self.widths, self.t = _items(value["widths"], int, "widths"), value["t"]
        self.heads, self.skip = value["heads"], value["skip"]
        self.ranks = _items(value["ranks"], int, "ranks", len(self.widths) - 1)
        sizes = [*self.widths, *self.ranks, self.t, self.heads]
        right = self.ranks and all(0 < s <= 1000 for s in sizes) and not (self.skip and len(set(self.widths)) > 1)
        _well_formed(right, "sizes must be positive and at most 1000; with skip connections all widths are equal")
        self.shapes: dict[str, tuple[int, int]] = {}
        self.starts: dict[str, int] = {}
        self.n = 0
        for i, h in product(range(len(self.ranks)), range(self.heads)):
            d, e, a = self.widths[i], self.widths[i + 1], self.ranks[i]
            for letter in "AV" if a >= d else "QKV":
                name, shape = f"{letter}{i},{h}", {"A": (d, d), "V": (e, d)}.get(letter, (a, d))
                self.shapes[name], self.starts[name] = shape, self.n
                self.n += shape[0] * shape[1]
        d, e = self.widths[:2]
        # One layer is linear in the coefficients of (d' quadrics) times (d linear forms), or of d' cubics if t = 1.
        ambient = e * comb(d + 2, 3) if self.t == 1 else e * d * comb(d + 1, 2)
        self.largest = min(self.n, ambient) if len(self.ranks) == 1 else self.n

    def matrices(self, weights: Sequence[Any]) -> dict[str, Matrix]:
        found = {}
        for name, (rows, columns) in self.shapes.items():
            start = self.starts[name]
            found[name] = [list(weights[start + r * columns : start + (r + 1) * columns]) for r in range(rows)]
        return found

    def inputs(self, value: list[Any]) -> list[Matrix]:
        d, t = self.widths[0], self.t
        flat = [_numbers(x, d * t, "an input") for x in _items(value, list, "inputs")]
        return [[x[r * t : (r + 1) * t] for r in range(d)] for x in flat]

    def run(self, weights: Mapping[str, Matrix], Y: Matrix, p: int = 0) -> tuple[Matrix, list[Any]]:
        """Return the output, and what passed through each layer and head."""
        passed = []
        for i in range(len(self.ranks)):
            heads, terms = [], [Y] if self.skip else []
            for h in range(self.heads):
                own = {letter: weights[f"{letter}{i},{h}"] for letter in "AQKV" if f"{letter}{i},{h}" in weights}
                k, q = (Y, times(own["A"], Y, p)) if "A" in own else (times(own["K"], Y, p), times(own["Q"], Y, p))
                S = times(turned(k), q, p)
                Z = times(Y, S, p)
                heads.append((own, k, q, S, Z))
                terms.append(times(own["V"], Z, p))
            passed.append((Y, heads))
            Y = [[x % p if p else x for x in row] for row in _plus(*terms)]
        return Y, passed

    def rank_at(self, point: list[int], inputs: list[Any], p: int) -> int:
        """Return the rank of the Jacobian of weights -> outputs at the inputs, made row by row backwards."""
        rows = []
        for X in self.inputs(inputs):
            Y, passed = self.run(self.matrices(point), [[residue(x, p) for x in row] for row in X], p)
            for place in product(range(len(Y)), range(self.t)):
                dY = [[int((i, j) == place) for j in range(self.t)] for i in range(len(Y))]
                row = [0] * self.n
                for i, (before, heads) in reversed(list(enumerate(passed))):
                    terms, transposed = [dY] if self.skip else [], turned(before)
                    for h, (own, k, q, S, Z) in enumerate(heads):
                        dZ = times(turned(own["V"]), dY, p)
                        dS = times(transposed, dZ, p)
                        dk, dq = times(q, turned(dS), p), times(k, dS, p)
                        gradient = {"V": times(dY, turned(Z), p)}
                        terms.append(times(dZ, turned(S), p))
                        for letter, by in (("Q", dq), ("K", dk)) if "Q" in own else (("A", dq),):
                            gradient[letter] = times(by, transposed, p)
                            terms.append(times(turned(own[letter]), by, p))
                        terms += [] if "Q" in own else [dk]
                        for letter, matrix in gradient.items():
                            flat, start = [x for line in matrix for x in line], self.starts[f"{letter}{i},{h}"]
                            row[start : start + len(flat)] = flat
                    dY = [[x % p for x in line] for line in _plus(*terms)]
                rows.append(row)
        return rank(rows, p)


# --- symmetries of networks: identities of words in matrices that do not commute -----------------------------


def _transposed(words: Words) -> Words:
    """Reverse words and transpose their letters; M is skew: its transpose is -M."""
    found: Words = {}
    for word, c in words.items():
        back = tuple(x if x == "M" else x[:-1] if x[-1] == "'" else x + "'" for x in reversed(word))
        found[back] = found.get(back, 0) + c * (-1) ** word.count("M")
    return found


def _derived(words: Words, rule: Mapping[str, Words]) -> Words:
    """Return the derivative of words, given those of some letters; the others are constant."""
    total: Words = {}
    for word, c in words.items():
        for place, letter in enumerate(word):
            base = letter.rstrip("'")
            by = rule.get(base, {}) if letter == base else _transposed(rule.get(base, {}))
            for middle, d in by.items():
                new = word[:place] + middle + word[place + 1 :]
                total[new] = total.get(new, 0) + c * d
    return {word: c for word, c in total.items() if c}


def _zero_on_rank_one(word: tuple[str, ...]) -> bool:
    """Say whether a word holds W^T M W with W = ... H, H = u w^T of rank one: w (u^T M u) w^T = 0 as M is skew."""
    right = word[word.index("M") + 1 :]
    (left,) = _transposed({right: 1})
    return right[-1:] == ("H",) and word[: word.index("M")][-len(left) :] == left


def symmetries(net: Network, family: Any, weights: dict[str, Matrix], p: int) -> Iterator[list[int]]:
    """Verify that the vector fields of a family leave the function alone, and give them at a point modulo p."""
    name, i, h, other = _fields(family, "a family", {"name": str, "layer": int, "head": int, "other": int}).values()
    _well_formed(0 <= i < len(net.ranks) and all(0 <= k < net.heads for k in (h, other)), "there is no such head")
    native, heads = f"Q{i},{h}" in net.shapes, range(net.heads)

    def layer(i: int) -> Words:
        found: Words = {("H",): 1} if net.skip else {}
        for k in heads:
            attention = (f"K{i},{k}'", f"Q{i},{k}") if f"Q{i},{k}" in net.shapes else (f"A{i},{k}",)
            found[(f"V{i},{k}", "H", "H'", *attention, "H")] = 1
        return found

    A, Q, K, V = (f"{letter}{i},{h}" for letter in "AQKV")
    free, size, moved = "", 1, [layer(i)]  # what is any matrix, its size, and what must be zero when it is derived
    rules: list[dict[str, Words]] = []
    if name == "attention" and native:
        free, size = "E", net.ranks[i]
        rules = [{Q: {("E", Q): 1}, K: {("E'", K): -1}}]
    elif name == "scaling":
        rules = [{Q: {(Q,): 1}, V: {(V,): -1}} if native else {A: {(A,): 1}, V: {(V,): -1}}]
    elif name == "mixing" and not native and h != other:
        rules = [{A: {(f"A{i},{other}",): 1}, f"V{i},{other}": {(V,): -1}}]
    elif name == "orthogonal":
        bounds = [net.t, *net.widths[: i + 1], *(net.ranks[:i] if net.heads == 1 and not net.skip else [])]
        _require(min(bounds) == 1, "the input of the layer may have a rank above one")
        free, size = "M", net.shapes[Q if native else A][0]
        rules = [{Q: {("M", K): 1}}, {K: {("M", Q): 1}}] if native else [{A: {("M",): 1}}]
    elif name == "hidden" and i + 1 < len(net.ranks) and not net.skip:
        free, size = "E", net.widths[i + 1]
        rule: dict[str, Words] = {f"V{i},{k}": {("E", f"V{i},{k}"): 1} for k in heads}
        below = _derived(layer(i), rule)
        _require(below == {("E", *word): c for word, c in layer(i).items()}, "hidden is no symmetry")
        for k in heads:
            above = {f"{letter}{i + 1},{k}" for letter in "QKV"} & net.shapes.keys()
            rule |= {x: {(x, "E"): -1} for x in above}
            if f"A{i + 1},{k}" in net.shapes:
                rule[f"A{i + 1},{k}"] = {("E'", f"A{i + 1},{k}"): -1, (f"A{i + 1},{k}", "E"): -1}
        rules, moved = [rule], [layer(i + 1)]
    _well_formed(rules, f"there is no family {name[:20]!r} with these indices")
    for rule in rules:
        for words in moved:
            changed = _derived(words, rule | ({"H": {("E", "H"): 1}} if name == "hidden" else {}))
            _require(all("M" in word and _zero_on_rank_one(word) for word in changed), f"{name} is no symmetry")
        for r, s in product(range(size), repeat=2):
            if free == "M" and s >= r:
                continue
            unit = [
                [int((x, y) == (r, s)) - int(free == "M" and (x, y) == (s, r)) for y in range(size)]
                for x in range(size)
            ]
            values = weights | {"E": unit, "M": unit}
            vector = [0] * net.n
            for letter, by in rule.items():
                for word, c in by.items():
                    factors = [turned(values[x[:-1]]) if x[-1] == "'" else values[x] for x in word]
                    total = factors[0]
                    for factor in factors[1:]:
                        total = times(total, factor, p)
                    for place, x in enumerate((x for row in total for x in row), net.starts[letter]):
                        vector[place] = (vector[place] + c * x) % p
            yield vector


# --- Groebner bases ------------------------------------------------------------------------------------


class Basis:
    """A Groebner basis that is rebuilt from a trace, and then verified by Buchberger's criterion."""

    def __init__(self, ring: Ring, generators: Sequence[Polynomial]) -> None:
        self.ring, self.generators = ring, generators
        self.elements: list[Polynomial] = []
        self.leads: list[tuple[int, ...]] = []
        self.degrees: list[int] = []

    def reduce(self, f: Polynomial) -> Polynomial:
        """Return the normal form modulo the elements so far."""
        ring, f, rest = self.ring, dict(f), {}
        while f:
            top = max(f)
            exponents = ring.unpack(top)
            _MACHINE.spend(len(self.leads))
            for g, lead, degree in zip(self.elements, self.leads, self.degrees, strict=True):
                if divides(lead, exponents):
                    _bound(sum(exponents) + degree)
                    ring.add(f, g, -f[top], top - ring.pack(lead))
                    break
            else:
                rest[top] = f.pop(top)
        return rest

    def append(self, f: Polynomial) -> None:
        """Add a polynomial that is not zero, divided by its leading coefficient."""
        inverse = pow(f[max(f)], -1, self.ring.p) if self.ring.p else 1 / Fraction(f[max(f)])
        self.elements.append(self.ring.add({}, f, inverse))
        self.leads.append(self.ring.unpack(max(f)))
        self.degrees.append(self.ring.degree(f))

    def s_polynomial(self, i: int, j: int) -> Polynomial:
        """Return the S-polynomial of two elements."""
        ring = self.ring
        both = ring.pack(tuple(map(max, self.leads[i], self.leads[j])))
        _bound(sum(ring.unpack(both)) + max(self.degrees[i], self.degrees[j]))
        f = ring.add({}, self.elements[i], 1, both - ring.pack(self.leads[i]))
        return ring.add(f, self.elements[j], -1, both - ring.pack(self.leads[j]))

    def follow(self, trace: list[Any]) -> None:
        """Rebuild the elements: [k] is the normal form of generator k, [i, j] that of an S-polynomial, in turn."""
        for entry in _items(trace, list, "the trace"):
            indices = _items(entry, int, "an entry of the trace")
            bound = len(self.generators) if len(indices) == 1 else len(self.elements)
            right = len(indices) in (1, 2) and all(0 <= k < bound for k in indices)
            _well_formed(right, "an entry of a trace must be [generator] or [earlier element, earlier element]")
            f = self.reduce(self.generators[indices[0]] if len(indices) == 1 else self.s_polynomial(*indices))
            _require(f, f"the entry {indices} of the trace reduces to zero")
            self.append(f)

    def open_pairs(self) -> Iterator[tuple[int, int]]:
        """Give the pairs that Buchberger's two criteria leave."""
        n, leads = len(self.leads), self.leads
        for i, j in combinations(range(n), 2):
            both = tuple(map(max, leads[i], leads[j]))
            _MACHINE.spend(n)
            if not any(x and y for x, y in zip(leads[i], leads[j], strict=True)):
                continue
            # (i, j) follows from (i, k) and (j, k) if they come before it: smaller lcm, or same and smaller indices.
            for k in range(n):
                if k not in (i, j) and divides(leads[k], both):
                    first, second = (tuple(map(max, leads[k], leads[x])) for x in (i, j))
                    if (first != both or k < j) and (second != both or k < i):
                        break
            else:
                yield i, j

    def verify(self) -> None:
        """Reject unless the elements are a Groebner basis of the ideal of the generators."""
        for k, f in enumerate(self.generators):
            _require(not self.reduce(f), f"generator {k} does not reduce to zero")
        for i, j in self.open_pairs():
            _require(not self.reduce(self.s_polynomial(i, j)), f"the S-polynomial of {i}, {j} does not reduce to zero")


def nonzerodivisor_basis(ring: Ring, kept: Sequence[int], J: Sequence[Polynomial], f: Polynomial) -> Basis:
    """Return J + (z - f) in some of the variables, z last: f is no zero divisor modulo J if no lead has z in it."""
    longer = Ring([*(ring.names[i] for i in kept), "z_"], ring.p, last=ring.degree(f))
    moved = [{longer.pack([*(ring.unpack(m)[i] for i in kept), 0]): c for m, c in g.items()} for g in (*J, f)]
    return Basis(longer, [*moved[:-1], longer.add(moved[-1], {longer.units[-1]: 1}, -1)])


def divides(a: Sequence[int], b: Sequence[int]) -> bool:
    """Say whether a monomial divides another."""
    return all(x <= y for x, y in zip(a, b, strict=True))


# --- rules: each turns a step into facts; the format's description has the proofs ---------------------------------

_AT = {"prime": str, "point": list}
RULES: dict[str, dict[str, type]] = {
    "rank": {**_AT, "inputs": list, "rank": int},
    "sizes": {},
    "vector-fields": {**_AT, "fields": list},
    "symmetries": {**_AT, "families": list, "rank": int},
    "vanishing": {"polynomials": list},
    "tangent": {"uses": list, "weights": list},
    "arcs": {"weights": list, "arcs": list},
    "height-one": {"uses": list, "dependent": list, "prime": str, "points": list},
    "triangular": {"uses": list, **_AT, "dependent": list, "solves": list, "factors": list},
    "section": {"uses": list, **_AT, "dependent": list, "factors": list, "section": list},
    "trusted": {"uses": list, "statement": str, "source": str},
    "groebner": {"trace": list},
    "cofactors": {"cofactors": list},
    "normal-form": {"uses": list},
    "common-zero": {"point": list},
    "evaluation": {},
    "group": {"layers": list},
    "input": {"input": list},
}


class Proof:
    def __init__(self, claim: dict[str, Any]) -> None:
        self.claim = claim
        self.facts: list[list[Fact]] = []
        self.trusted: list[str] = []
        about: Any = claim.get("map", claim.get("ideal"))
        _well_formed(isinstance(about, dict), "a claim must have a map or an ideal")
        if "widths" in about:
            self.subject: Any = Network(about)
        elif "map" in claim:
            self.subject = Map(about)
        else:
            _fields(about, "the ideal", {"field": str, "variables": list, "generators": list, "order": str})
            ground = re.fullmatch(r"QQ|GF\((\d{1,20})\)", about["field"])
            _well_formed(ground, "the field must be QQ or GF(p)")
            p = _prime(ground[1]) if ground and ground[1] else 0
            self.subject = Ring(about["variables"], p, about["order"])
            self.generators = self.polynomials(about["generators"], self.subject, "generators")

    def polynomials(self, texts: list[Any], ring: Ring, what: str, length: int | None = None) -> list[Polynomial]:
        return [ring.parse(text) for text in _items(texts, str, what, length)]

    def about(self, kind: type) -> Any:
        _well_formed(isinstance(self.subject, kind), f"this is for a {kind.__name__.strip('_').lower()}")
        return self.subject

    def used(self, step: dict[str, Any], what: str) -> Any:
        """Return what an earlier step that this one uses has established."""
        earlier = _items(step["uses"], int, "uses")
        _well_formed(all(0 <= k < len(self.facts) for k in earlier), "a step may use earlier steps only")
        found = [value for k in earlier for name, value in self.facts[k] if name == what]
        _require(found, f"no step that this one uses establishes {what!r}")
        return found[-1]

    def at(self, step: dict[str, Any], length: int) -> tuple[int, list[int]]:
        p = _prime(step["prime"])
        return p, [residue(x, p) for x in _numbers(step["point"], length, "the point")]

    def apply(self, step: Any) -> list[Fact]:
        name = step.get("rule") if isinstance(step, dict) else None
        _well_formed(isinstance(name, str) and name in RULES, f"there is no rule {str(name)[:30]!r}")
        _fields(step, f"a step {name}", {"rule": str, **RULES[str(name)]})
        found: list[Fact] = getattr(self, "rule_" + str(name).replace("-", "_"))(step)
        return found

    # Dimensions of the closure X of the image.

    def rule_rank(self, step: dict[str, Any]) -> list[Fact]:
        p, point = self.at(step, self.subject.n)
        found = self.subject.rank_at(point, step["inputs"], p)
        _require(found >= step["rank"], f"the rank of the Jacobian is {found}, below {step['rank']}")
        return [("dimension >=", step["rank"])]

    def rule_sizes(self, step: dict[str, Any]) -> list[Fact]:
        return [("dimension <=", self.subject.largest)]

    def rule_vector_fields(self, step: dict[str, Any]) -> list[Fact]:
        map_, ring = self.about(Map), self.about(Map).parameters
        p, point = self.at(step, ring.n)
        vectors = [self.polynomials(v, ring, "a field", ring.n) for v in _items(step["fields"], list, "fields")]
        for number, (vector, f) in enumerate(product(vectors, map_.coordinates)):
            total: Polynomial = {}
            for i, component in enumerate(vector):
                ring.add(total, ring.multiply(component, ring.derivative(f, i)))
            _require(not total, f"the map is not constant along a field ({number})")
        found = rank([[ring.value(f, point, p) for f in vector] for vector in vectors], p)
        _require(found == len(vectors), "the fields are dependent at the point")
        return [("dimension <=", ring.n - found)]

    def rule_symmetries(self, step: dict[str, Any]) -> list[Fact]:
        net = self.about(Network)
        p, point = self.at(step, net.n)
        families = _items(step["families"], dict, "families")
        vectors = [v for family in families for v in symmetries(net, family, net.matrices(point), p)]
        _require(rank(vectors, p) >= step["rank"], f"fewer than {step['rank']} fields are independent at the point")
        return [("dimension <=", net.n - step["rank"])]

    # Equations and tangent spaces of X.

    def rule_vanishing(self, step: dict[str, Any]) -> list[Fact]:
        map_ = self.about(Map)
        found = self.polynomials(step["polynomials"], map_.target, "polynomials")
        for number, f in enumerate(found):
            zero = not map_.target.compose(f, map_.coordinates, map_.parameters)
            _require(zero, f"polynomial {number} does not vanish on the image")
        return [("vanishing", found)]

    def rule_tangent(self, step: dict[str, Any]) -> list[Fact]:
        map_ = self.about(Map)
        y = map_.image(_numbers(step["weights"], map_.n, "the weights"))
        equations = self.used(step, "vanishing")
        found = map_.m - rank(map_.target.gradients(equations, y))
        facts: list[Fact] = [("tangent <=", (y, found)), ("dimension <=", found)]  # X is irreducible, and y is on it
        complete = ("closure", equations) in [fact for k in step["uses"] for fact in self.facts[k]]
        return [*facts, ("tangent >=", (y, found))] if complete else facts

    def rule_arcs(self, step: dict[str, Any]) -> list[Fact]:
        map_, line = self.about(Map), Ring(["t"])
        leading: Matrix = []
        y = map_.image(_numbers(step["weights"], map_.n, "the weights"))
        for arc in _items(step["arcs"], list, "arcs"):
            parsed = self.polynomials(arc, line, "an arc", map_.n)
            images = [map_.parameters.compose(f, parsed, line) for f in map_.coordinates]
            _require([f.pop(0, 0) for f in images] == y, f"arc {len(leading)} does not start over the point")
            least = min((m for f in images for m in f), default=0)
            _require(least, f"arc {len(leading)} does not move")
            leading.append([f.get(least, 0) for f in images])
        return [("tangent >=", (y, rank(leading)))]  # lowest terms of arcs lie in the tangent cone

    # The whole ideal of X.

    def independent(self, step: dict[str, Any]) -> tuple[list[int], list[Polynomial]]:
        """Return the coordinates and equations left when equations were solved for a coordinate each."""
        ring, equations = self.about(Map).target, self.used(step, "vanishing")
        solved: dict[int, int] = {}
        for pair in _items(step["dependent"], list, "dependent"):
            k, i = _items(pair, int, "a pair", 2)
            right = 0 <= k < len(equations) and 0 <= i < ring.n and k not in solved and i not in solved.values()
            _well_formed(right, "a pair must name an equation and a coordinate, each once")
            solved[k] = i
        for k, f in enumerate(equations):
            others = set(solved.values()) - {solved.get(k)}
            _require(not ring.variables(f) & others, f"equation {k} has a coordinate that another is solved for")
            own = [m for m in f if k in solved and ring.unpack(m)[solved[k]]]
            _require(own == [ring.units[solved[k]]] if k in solved else True, f"equation {k} is not solved")
        kept = [i for i in range(ring.n) if i not in solved.values()]
        return kept, [f for k, f in enumerate(equations) if k not in solved]

    def rule_height_one(self, step: dict[str, Any]) -> list[Fact]:
        map_, (kept, rest) = self.about(Map), self.independent(step)
        _require(self.used(step, "dimension >=") == len(kept) - len(rest) and len(rest) <= 1, "no hypersurface")
        _require(all(rest), "the equation left is zero")
        p = _prime(step["prime"])
        below = map_.target.degree(rest[0]) - 1 if rest else 0
        rows = []
        for point in _items(step["points"], list, "points"):
            y = map_.image([residue(x, p) for x in _numbers(point, map_.n, "a point")], p)
            values = [y[i] for i in kept]
            _MACHINE.spend(comb(len(kept) + below, below))
            monomials = (combinations_with_replacement(values, degree) for degree in range(below + 1))
            rows.append([prod(monomial) % p for degree in monomials for monomial in degree])
        # The ideal is (f), f divides the equation, and there is nothing of lower degree in it.
        full = not rest or rank(rows, p) == comb(len(kept) + below, below)
        _require(full, "there may be equations of lower degree")
        equations = self.used(step, "vanishing")
        return [("closure", equations), ("vanishing", equations)]

    def saturated(self, step: dict[str, Any]) -> tuple[int, Ring, list[int], list[Any], list[Any], list[int], Any]:
        """Show that no factor is a zero divisor modulo the equations left, and that none vanishes at a point of X."""
        map_, (kept, rest) = self.about(Map), self.independent(step)
        p, point = self.at(step, map_.n)
        ring, basis = Ring(map_.target.names, p), None
        factors: list[Polynomial] = []
        rest, image = [ring.modulo(f, p) for f in rest], map_.image(point, p)
        _require(all(len({sum(ring.unpack(m)) for m in f}) == 1 for f in rest), "an equation is not homogeneous")
        for item in _items(step["factors"], dict, "factors"):
            entry = _fields(item, "a factor", {"factor": str, "trace": list})
            f = ring.parse(entry["factor"])
            _require(ring.degree(f) and ring.value(f, image, p), f"factor {len(factors)} vanishes at the point")
            _require(ring.variables(f) <= set(kept), f"factor {len(factors)} has a coordinate that is dependent")
            basis = nonzerodivisor_basis(ring, kept, rest, f)
            basis.follow(entry["trace"])
            basis.verify()
            _require(not any(lead[-1] for lead in basis.leads), f"factor {len(factors)} may be a zero divisor")
            factors.append(f)
        return p, ring, kept, rest, factors, point, basis

    def rule_triangular(self, step: dict[str, Any]) -> list[Fact]:
        p, ring, kept, rest, factors, point, _ = self.saturated(step)
        pairs = [_items(pair, int, "a pair", 2) for pair in _items(step["solves"], list, "solves")]
        right = all(0 <= k < len(rest) and i in kept for k, i in pairs) and len({i for _, i in pairs}) == len(pairs)
        _well_formed(right, "a pair must name an equation and a coordinate of those left, the coordinate once")
        known = [i for i in kept if i not in [i for _, i in pairs]]
        gradients = self.subject.parameters.gradients([self.subject.coordinates[i] for i in known], point, p)
        _require(rank(gradients, p) == len(known), "the coordinates left free are dependent")
        for k, i in pairs:
            h = ring.derivative(rest[k], i)
            triangular = ring.variables(h) <= set(known) and ring.variables(rest[k]) <= {*known, i}
            _require(triangular, "the equations are not triangular")
            known.append(i)
            for f in factors:
                while ring.degree(h) and (quotient := _quotient(ring, f, h)):
                    h = quotient
            _require(h and not ring.degree(h), f"the denominator of coordinate {i} is no product of the factors")
        equations = self.used(step, "vanishing")
        return [("closure", equations), ("vanishing", equations)]

    def rule_section(self, step: dict[str, Any]) -> list[Fact]:
        p, ring, kept, _, factors, _, basis = self.saturated(step)
        _well_formed(basis, "a section needs a factor")
        inverse = []  # each parameter as a numerator, and the exponents of the factors in its denominator
        for item in _items(step["section"], dict, "the section"):
            entry = _fields(item, "a parameter", {"numerator": str, "exponents": list})
            exponents = _items(entry["exponents"], int, "exponents", len(factors))
            _well_formed(all(0 <= e < 100 for e in exponents), "an exponent is negative or too large")
            inverse.append((ring.parse(entry["numerator"]), exponents))
        _well_formed(len(inverse) == self.subject.n, "the section must give each parameter")
        _require(all(ring.variables(f) <= set(kept) for f, _ in inverse), "the section has a dependent coordinate")
        for i in kept:
            f, total = self.subject.coordinates[i], {ring.units[i]: p - 1}
            powers = [self.subject.parameters.unpack(m) for m in f]
            below = [
                [sum(e * w[1][k] for e, w in zip(m, inverse, strict=True)) for k in range(len(factors))] for m in powers
            ]
            most = [max(column) for column in zip(*below, strict=True)] if below else [0] * len(factors)
            terms = [(total, most)]
            for (c, m), least in zip(zip(f.values(), powers, strict=True), below, strict=True):
                term = {0: residue(c, p)}
                for e, (numerator, _) in zip(m, inverse, strict=True):
                    for _ in range(e):
                        term = ring.multiply(term, numerator)
                terms.append((term, [a - b for a, b in zip(most, least, strict=True)]))
            sum_: Polynomial = {}
            for term, missing in terms:
                for g, e in zip(factors, missing, strict=True):
                    for _ in range(e):
                        term = ring.multiply(term, g)
                ring.add(sum_, term)
            moved = {basis.ring.pack([*(ring.unpack(m)[k] for k in kept), 0]): c for m, c in sum_.items()}
            _require(not basis.reduce(moved), f"the section does not give coordinate {i} back")
        equations = self.used(step, "vanishing")
        return [("closure", equations), ("vanishing", equations)]

    def rule_trusted(self, step: dict[str, Any]) -> list[Fact]:
        equations = self.used(step, "vanishing")
        self.trusted.append(f"{step['statement']} ({step['source']})")
        return [("closure", equations), ("vanishing", equations)]

    # Ideals.

    def rule_groebner(self, step: dict[str, Any]) -> list[Fact]:
        basis = Basis(self.about(Ring), self.generators)
        basis.follow(step["trace"])
        basis.verify()
        return [("basis", basis)]

    def rule_cofactors(self, step: dict[str, Any]) -> list[Fact]:
        ring = self.about(Ring)
        total: Polynomial = {}
        cofactors = self.polynomials(step["cofactors"], ring, "cofactors", len(self.generators))
        for cofactor, generator in zip(cofactors, self.generators, strict=True):
            ring.add(total, ring.multiply(cofactor, generator))
        return [("member", total)]

    def rule_normal_form(self, step: dict[str, Any]) -> list[Fact]:
        f = self.about(Ring).parse(str(self.claim.get("polynomial")))
        _require(self.used(step, "basis").reduce(f), "the normal form is zero")
        return [("no member", f)]

    def rule_common_zero(self, step: dict[str, Any]) -> list[Fact]:
        ring, f = self.about(Ring), self.about(Ring).parse(str(self.claim.get("polynomial")))
        point = _numbers(step["point"], ring.n, "the point")
        values = [
            ring.value(g, [residue(x, ring.p) for x in point] if ring.p else point, ring.p)
            for g in (*self.generators, f)
        ]
        _require(not any(values[:-1]), "a generator does not vanish at the point")
        _require(values[-1], "the polynomial vanishes at the point")
        return [("no member", f)]

    # Fibres.

    def rule_evaluation(self, step: dict[str, Any]) -> list[Fact]:
        first, second = self.weights()
        map_ = self.about(Map)
        return [("same" if map_.image(first) == map_.image(second) else "different", True)]

    def rule_input(self, step: dict[str, Any]) -> list[Fact]:
        net = self.about(Network)
        (X,) = net.inputs([step["input"]])
        outputs = [net.run(net.matrices(weights), X)[0] for weights in self.weights()]
        _require(outputs[0] != outputs[1], "the outputs at this input are equal")
        return [("different", True)]

    def rule_group(self, step: dict[str, Any]) -> list[Fact]:
        """Take one to the other: A_i -> c G^(-T) A_i G^(-1), V_i -> G' V_i G^(-1) / c; G and G' act on the tokens."""
        net = self.about(Network)
        _well_formed(net.heads == 1 and not net.skip, "this is for networks with one head, without skip connections")
        first, second = (net.matrices(weights) for weights in self.weights())
        layers, last = _items(step["layers"], dict, "layers", len(net.ranks)), len(net.ranks) - 1
        before: Matrix = [[int(r == s) for s in range(net.widths[0])] for r in range(net.widths[0])]
        for i, item in enumerate(layers):
            entry, e = _fields(item, "a layer", {"scale": str, "hidden": list}), net.widths[i + 1]
            flat, c = _numbers(entry["hidden"], e * e, "hidden"), number(entry["scale"], "the scale")
            after = [flat[r * e : (r + 1) * e] for r in range(e)]
            _require(c and rank(after) == e, f"the matrix or the scale of layer {i} is not invertible")
            _require(
                i < last or after == [[int(r == s) for s in range(e)] for r in range(e)],
                "the last must be the identity",
            )
            A = [w.get(f"A{i},0") or times(turned(w[f"K{i},0"]), w[f"Q{i},0"]) for w in (first, second)]
            here = [[x * c for x in row] for row in A[0]] == times(times(turned(before), A[1]), before)
            V, W = first[f"V{i},0"], [[x * c for x in row] for row in second[f"V{i},0"]]
            _require(here and times(after, V) == times(W, before), f"the weights of layer {i} are not those")
            before = after
        return [("same", True)]

    def weights(self) -> list[list[Any]]:
        """Return the two weights of a claim about a fibre."""
        pair = _items(self.claim.get("weights"), list, "weights", 2)
        return [_numbers(weights, self.subject.n, "the weights") for weights in pair]

    # What follows from the facts.

    def conclude(self) -> None:
        claim, facts = self.claim, [fact for step in self.facts for fact in step]
        kind = claim.get("kind")
        keys = CLAIMS.get(kind if isinstance(kind, str) else "")
        _well_formed(keys, f"there is no claim {str(kind)[:30]!r}")
        _fields(claim, f"a claim {kind}", {"kind": str, **(keys or {})})
        lower = [value for name, value in facts if name == "dimension >="]
        upper = [value for name, value in facts if name == "dimension <="]
        if kind == "dimension":
            r = claim["dimension"]
            _require(max(lower, default=-1) >= r, "no step shows that the dimension is at least this")
            _require(r >= min(upper, default=r + 1), "no step shows that the dimension is at most this")
        elif kind in ("vanishing", "closure"):
            wanted = self.polynomials(claim["polynomials"], self.about(Map).target, "polynomials")
            _require((kind, wanted) in facts, f"no step shows this of these polynomials ({kind})")
        elif kind in ("singular", "smooth"):
            map_ = self.about(Map)
            y = map_.image(_numbers(claim["weights"], map_.n, "the weights"))
            sides = [
                value[1]
                for name, value in facts
                if name == f"tangent {'>=' if kind == 'singular' else '<='}" and value[0] == y
            ]
            if kind == "smooth":
                _require(sides and lower and min(sides) <= max(lower), "the tangent space may be larger than X")
            else:
                _require(sides and upper and max(sides) > min(upper), "the tangent space may be no larger than X")
        elif kind in ("realizable", "not-realizable"):
            map_ = self.about(Map)
            y = _numbers(claim["value"], map_.m, "the value")
            if kind == "realizable":
                _require(
                    map_.image(_numbers(claim["weights"], map_.n, "the weights")) == y, "the weights give another value"
                )
            else:
                known = [f for name, value in facts if name == "vanishing" for f in value]
                _require(any(map_.target.value(f, y) for f in known), "no equation that was shown is nonzero there")
        elif kind == "groebner":
            ring, found = self.about(Ring), [value for name, value in facts if name == "basis"]
            claimed = self.polynomials(claim["basis"], ring, "basis")
            _require(found and all(claimed), "no step shows a Groebner basis")
            _require(not any(found[0].reduce(f) for f in claimed), "an element is not in the ideal")
            leads = [ring.unpack(max(f)) for f in claimed]
            _require(all(any(divides(a, b) for a in leads) for b in found[0].leads), "a leading term is missing")
        elif kind in ("membership", "non-membership"):
            f = self.about(Ring).parse(claim["polynomial"])
            _require(("member" if kind == "membership" else "no member", f) in facts, "no step shows this")
        else:
            self.weights()
            _require((claim["relation"], True) in facts, "no step shows this relation")


CLAIMS: dict[str, dict[str, type]] = {
    "dimension": {"map": dict, "dimension": int},
    "vanishing": {"map": dict, "polynomials": list},
    "closure": {"map": dict, "polynomials": list},
    "singular": {"map": dict, "weights": list},
    "smooth": {"map": dict, "weights": list},
    "realizable": {"map": dict, "value": list, "weights": list},
    "not-realizable": {"map": dict, "value": list},
    "groebner": {"ideal": dict, "basis": list},
    "membership": {"ideal": dict, "polynomial": str},
    "non-membership": {"ideal": dict, "polynomial": str},
    "fibre": {"map": dict, "weights": list, "relation": str},
}


def _quotient(ring: Ring, f: Polynomial, h: Polynomial) -> Polynomial | None:
    """Return h / f, or None if that leaves a rest."""
    h, found, lead = dict(h), {}, max(f)
    while h:
        top = max(h)
        if not divides(ring.unpack(lead), ring.unpack(top)):
            return None
        found[top - lead] = c = h[top] * pow(f[lead], -1, ring.p) % ring.p
        ring.add(h, f, -c, top - lead)
    return found


def check(data: bytes, *, pure: bool = False) -> Verdict:
    """Return the verdict on a certificate; ``pure`` leaves python-flint aside."""
    _MACHINE.flint, _MACHINE.work = flint is not None and not pure, 0
    reasons: list[str] = []
    place = "the certificate"
    try:
        document = _read(data)
        place = "the claim"
        proof = Proof(document["claim"])
        for number, step in enumerate(document["steps"]):
            place = f"step {number}"
            proof.facts.append(proof.apply(step))
            names = ", ".join(
                name if isinstance(value, tuple | list | Basis | dict) else f"{name} {value}"
                for name, value in proof.facts[-1]
            )
            reasons.append(f"step {number}: {step['rule']}: {names}")
        place = "the claim"
        proof.conclude()
    except Malformed as error:
        return Verdict(2, f"malformed: {place}: {error}", [], [])
    except (RecursionError, MemoryError, ArithmeticError, LookupError, ValueError) as error:
        return Verdict(2, f"malformed: {place}: this cannot be carried out ({type(error).__name__})", [], [])
    except Rejected as error:
        return Verdict(1, f"rejected: {place}: {error}", reasons, [])
    line = f"accepted: {document['claim']['kind']}"
    return Verdict(
        0, line + (f", trusting {len(proof.trusted)} statement(s)" if proof.trusted else ""), reasons, proof.trusted
    )


def main(arguments: Sequence[str]) -> int:
    """Check a file, print the verdict, the reasons and what is trusted, and return the exit code."""
    names = [a for a in arguments if a != "--pure"]
    if len(names) != 1:
        sys.stderr.write("usage: check.py FILE [--pure]\n")
        return 2
    try:
        with Path(names[0]).open("rb") as file:
            verdict = check(file.read(MOST_BYTES + 1), pure="--pure" in arguments)
    except OSError as error:
        sys.stderr.write(f"{names[0]}: {error.strerror}\n")
        return 2
    print("\n".join([verdict.line, *verdict.reasons, *(f"trusted: {x}" for x in verdict.trusted)]))
    return verdict.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
