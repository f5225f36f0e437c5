"""Polynomials as sympy ``PolyElement``: the strict parser of polynomial strings, and their printing.

Texts come from files and the command line, so nothing here evaluates code: a lark grammar knows numbers,
declared names, ``+ - * / ^ **`` and parentheses, and refuses the rest with the column.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import comb
from typing import Any

import sympy
from flint import fmpz
from lark import Lark, Token, UnexpectedEOF, UnexpectedInput
from lark.exceptions import VisitError
from lark.visitors import Transformer_NonRecursive
from sympy.polys.domains.domain import Domain
from sympy.polys.orderings import MonomialOrder, grevlex
from sympy.polys.rings import PolyElement, PolyRing

from m2bridge.errors import ExponentTooLarge, InputError, PolynomialError
from m2bridge.fields import element, field_name, number_text, to_fraction

LARGEST_EXPONENT = 2**31 - 1
LARGEST_EXPANSION = 1_000_000
"""A product or power with more terms than this is refused instead of filling the memory."""
_MOST_BITS = 200_000_000
"""A power whose coefficients would take more bits than this in all is refused, too."""

_INDEX = r"(?:_?\{[\w,]+\}|_\([\w,]+\)|\[[\w,]+\])"
# The index first: it takes back an underscore that the word before it has swallowed.
NAME = re.compile(rf"[^\W\d](?:\w*'*{_INDEX}|\w*'*)")

_GRAMMAR = rf"""
    ?start: sum
    sum: signed (SIGN product)*
    ?signed: SIGN product -> signed
           | product
    product: power (TIMES power)*
    ?power: atom
          | atom _CARET EXPONENT -> power
    ?atom: INTEGER -> integer
         | FLOAT   -> inexact
         | NAME    -> name
         | "(" sum ")"
    SIGN: "+" | "-"
    TIMES.1: /\*(?!\*)|\//
    _CARET.2: "**" | "^"
    EXPONENT: /[0-9]+/
    INTEGER: /[0-9]+/
    FLOAT.3: /[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?|\.[0-9]+([eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+(?![\w])/
    NAME: /{NAME.pattern.replace("/", chr(92) + "/")}/
    WS: /[\s]+/
    %ignore WS
"""


def check_names(names: Sequence[object], what: str) -> tuple[str, ...]:
    """Return the names in Unicode's composed form, or refuse them.

    Raises
    ------
    InputError
        If a name is not an identifier (a letter, then letters, digits, underscores, primes, one index such
        as ``[1,2]`` or ``_{1,2}``), or occurs twice.
    """
    seen: set[str] = set()
    checked = []
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"{what}: a name must be a text, not {name!r}")
        composed = unicodedata.normalize("NFC", name)
        if not NAME.fullmatch(composed):
            raise InputError(f"{what}: {name!r} is not a name (a letter, then letters, digits or underscores)")
        if composed in seen:
            raise InputError(f"{what}: the name {composed!r} is given twice")
        seen.add(composed)
        checked.append(composed)
    return tuple(checked)


def make_ring(names: Sequence[str], field: Domain, order: MonomialOrder | Any = grevlex) -> PolyRing:
    """Return sympy's sparse polynomial ring in these names, in this order."""
    return PolyRing([sympy.Symbol(name) for name in names], field, order)


def ring_names(ring: PolyRing) -> tuple[str, ...]:
    """Return the names of the variables of a ring."""
    return tuple(str(symbol) for symbol in ring.symbols)


class _Evaluate(Transformer_NonRecursive[Token, PolyElement]):
    """Evaluate the parse tree bottom-up in one ring."""

    def __init__(self, ring: PolyRing) -> None:
        super().__init__()
        self.ring = ring
        self.variables = dict(zip(ring_names(ring), ring.gens, strict=True))

    def sum(self, items: list[Any]) -> PolyElement:
        # One dictionary, filled in place: adding PolyElements one by one is quadratic in the terms.
        terms: dict[tuple[int, ...], Any] = dict(items[0])
        zero = self.ring.domain.zero
        for sign, summand in zip(items[1::2], items[2::2], strict=True):
            for monomial, coefficient in summand.items():
                value = terms.get(monomial, zero) + (coefficient if sign == "+" else -coefficient)
                terms[monomial] = value
        return self.ring.from_dict({monomial: c for monomial, c in terms.items() if c})

    def signed(self, items: list[Any]) -> PolyElement:
        sign, value = items
        return value if sign == "+" else -value

    def product(self, items: list[Any]) -> PolyElement:
        value = items[0]
        for operator, factor in zip(items[1::2], items[2::2], strict=True):
            if operator == "*":
                if len(value) * len(factor) > LARGEST_EXPANSION:
                    raise PolynomialError(f"a product would have more than {LARGEST_EXPANSION} terms")
                value = value * factor
            else:
                if not factor.is_ground:
                    raise PolynomialError(
                        f"it divides by {to_text(factor)}, so it is not a polynomial in the parameters"
                    )
                if not factor:
                    raise PolynomialError(f"it divides by a number that is 0 in {field_name(self.ring.domain)}")
                value = value.mul_ground(self.ring.domain.one / factor.coeff(1))
        _check_degree(value)
        return value

    def power(self, items: list[Any]) -> PolyElement:
        base, digits = items
        if len(digits) > 10 or int(digits) > LARGEST_EXPONENT:
            raise ExponentTooLarge(f"the exponent {digits[:30]} is too large: the largest is {LARGEST_EXPONENT}")
        value = _power(base, int(digits))
        _check_degree(value)
        return value

    def integer(self, items: list[Token]) -> PolyElement:
        # flint reads any number of digits; int() stops at 4,300.
        return self.ring.ground_new(element(self.ring.domain, int(fmpz(str(items[0])))))

    def inexact(self, items: list[Token]) -> PolyElement:
        raise PolynomialError(f"the number {items[0]} is not exact: write a fraction such as 1/2")

    def name(self, items: list[Token]) -> PolyElement:
        name = str(items[0])
        if name not in self.variables:
            raise PolynomialError(f"the name {name!r} is not declared")
        return self.variables[name]


def _power(base: PolyElement, exponent: int) -> PolyElement:
    """Return a power, or refuse it where its terms or its coefficients would fill the memory."""
    if exponent == 0:
        return base.ring.one
    if not base:
        return base
    size = max(_bits(c) for c in base.values()) + len(base).bit_length()
    if len(base) == 1:
        # A single term: multiply exponents instead of repeated squaring.
        ((monomial, coefficient),) = base.items()
        if size > 2 and size * exponent > _MOST_BITS:
            raise ExponentTooLarge(f"a number to the power {exponent} is too large to write down")
        return base.ring.from_dict({tuple(e * exponent for e in monomial): coefficient**exponent})
    terms = comb(exponent + len(base) - 1, len(base) - 1) if exponent < LARGEST_EXPANSION else LARGEST_EXPANSION + 1
    if terms > LARGEST_EXPANSION or terms * size * exponent > _MOST_BITS:
        raise PolynomialError(f"the power {exponent} of a sum of {len(base)} terms has too many terms")
    return base**exponent


def _bits(coefficient: Any) -> int:
    number = to_fraction(coefficient)
    return max(number.numerator.bit_length(), number.denominator.bit_length())


def _check_degree(polynomial: PolyElement) -> None:
    if any(sum(monomial) > LARGEST_EXPONENT for monomial in polynomial):
        raise ExponentTooLarge(f"its degree is too large: the largest is {LARGEST_EXPONENT}")


@cache
def _grammar() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", lexer="contextual")


def parse_polynomial(text: object, ring: PolyRing, place: str = "") -> PolyElement:
    """Return the polynomial that a text denotes.

    Parameters
    ----------
    text
        Integers, fractions, the ring's names, ``+ - *``, ``/`` by a nonzero number, ``^`` or ``**`` with a
        literal exponent, parentheses. An integer is accepted in place of a text.
    ring
        Ring of the result; its variables are the declared names.
    place
        Where the text stands ("coordinate 3"), for the message.

    Raises
    ------
    PolynomialError
        If the text is not such a polynomial; the message has place and column.
    ExponentTooLarge
        If an exponent or the degree exceeds 2^31 - 1.
    """
    if isinstance(text, int) and not isinstance(text, bool):
        return ring.ground_new(element(ring.domain, text))
    if not isinstance(text, str):
        raise PolynomialError(f"a polynomial must be a text, not {text!r}", place)
    try:
        tree = _grammar().parse(unicodedata.normalize("NFC", text))
        value = _Evaluate(ring).transform(tree)
    except UnexpectedInput as error:
        at_end = isinstance(error, UnexpectedEOF) or getattr(getattr(error, "token", None), "type", "") == "$END"
        at = "at its end" if at_end or not text.strip() else f"at column {error.column}"
        raise PolynomialError(f"{_short(text)!r} is not a polynomial: unexpected text {at}", place) from None
    except VisitError as error:
        cause = error.orig_exc
        if isinstance(cause, InputError):
            kind = type(cause) if isinstance(cause, PolynomialError) else PolynomialError
            raise kind(f"in {_short(text)!r}, {cause.problem}", place) from None
        raise
    return value


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:60] + "…" + text[-15:]


def from_sympy(
    expression: Any, ring: PolyRing, place: str = "", symbols: Mapping[sympy.Symbol, sympy.Symbol] | None = None
) -> PolyElement:
    """Return a sympy expression as an element of the ring; ``symbols`` says which symbol stands for which of its own.

    Raises
    ------
    PolynomialError
        If it contains floats, undeclared symbols, or is not a polynomial in the ring's variables.
    """
    try:
        expression = sympy.sympify(expression, strict=True)
    except sympy.SympifyError:
        raise PolynomialError(f"{expression!r} is not a sympy expression", place) from None
    expression = expression.xreplace(dict(symbols or {}))
    if expression.atoms(sympy.Float):
        raise PolynomialError(f"{expression} contains a floating-point number: use sympy.Rational", place)
    unknown = expression.free_symbols - set(ring.symbols)
    if unknown:
        raise PolynomialError(f"{expression} contains the undeclared symbol {min(map(str, unknown))}", place)
    value = _from_tree(expression, ring, place)
    _check_degree(value)
    return value


def _from_tree(expression: sympy.Expr, ring: PolyRing, place: str) -> PolyElement:
    """Return an expression as polynomial, term by term: sympy.Poly would be dense."""
    if expression.is_Symbol:
        return ring.gens[ring.symbols.index(expression)]
    if expression.is_Rational:
        return ring.ground_new(element(ring.domain, Fraction(int(expression.p), int(expression.q))))
    if expression.is_Add or expression.is_Mul:
        parts = [_from_tree(part, ring, place) for part in expression.args]
        if expression.is_Add:
            return sum(parts, ring.zero)
        value = ring.one
        for part in parts:
            if len(value) * len(part) > LARGEST_EXPANSION:
                raise PolynomialError(f"a product would have more than {LARGEST_EXPANSION} terms", place)
            value = value * part
        return value
    if expression.is_Pow and expression.exp.is_Integer and expression.exp >= 0:
        if expression.exp > LARGEST_EXPONENT:
            raise ExponentTooLarge(
                f"the exponent {expression.exp} is too large: the largest is {LARGEST_EXPONENT}", place
            )
        try:
            return _power(_from_tree(expression.base, ring, place), int(expression.exp))
        except PolynomialError as error:
            raise type(error)(error.problem, place) from None
    raise PolynomialError(f"{_short(str(expression))} is not a polynomial with rational coefficients", place)


def to_text(polynomial: PolyElement) -> str:
    """Return a polynomial in its ring's names, with ``*`` and ``^``: Macaulay2, Singular and Sage read it."""
    return format_terms(polynomial, ring_names(polynomial.ring))


def format_terms(polynomial: PolyElement, names: Sequence[str]) -> str:
    """Return a polynomial as text with these names in place of its ring's, largest term first."""
    pieces: list[str] = []
    for monomial, coefficient in polynomial.terms():
        number = to_fraction(coefficient)
        factors = [n if e == 1 else f"{n}^{e}" for n, e in zip(names, monomial, strict=True) if e]
        size = number_text(abs(number))
        if factors and size == "1":
            body = "*".join(factors)
        elif "/" in size and factors:
            body = "*".join([f"({size})", *factors])
        else:
            body = "*".join([size, *factors])
        sign = "-" if number < 0 else "+"
        pieces.append(body if not pieces and sign == "+" else f"{sign}{body}")
    return "".join(pieces) or "0"


def primitive(polynomial: PolyElement) -> PolyElement:
    """Return the canonical multiple: over QQ coprime integers, over GF(p) monic, leading sign positive."""
    if not polynomial:
        return polynomial
    if polynomial.ring.domain.characteristic():
        return polynomial.monic()
    _, cleared = polynomial.clear_denoms()
    _, result = cleared.primitive()
    return -result if result.LC < 0 else result


def evaluate_exactly(polynomial: PolyElement, point: Mapping[int, Any] | Sequence[Any]) -> Any:
    """Return the value at a point given by elements of the ground field, in the order of the variables."""
    zero = polynomial.ring.domain.zero
    total = zero
    for monomial, coefficient in polynomial.items():
        term = coefficient
        for index, exponent in enumerate(monomial):
            if exponent:
                term = term * point[index] ** exponent
        total = total + term
    return total


def total_degree(polynomial: PolyElement) -> int:
    """Return the total degree; -1 for zero."""
    return max((sum(monomial) for monomial in polynomial), default=-1)


def is_homogeneous(polynomial: PolyElement) -> bool:
    """Say whether all terms have the same total degree (true for zero)."""
    return len({sum(monomial) for monomial in polynomial}) <= 1


__all__ = [
    "LARGEST_EXPONENT",
    "check_names",
    "evaluate_exactly",
    "format_terms",
    "from_sympy",
    "is_homogeneous",
    "make_ring",
    "parse_polynomial",
    "primitive",
    "ring_names",
    "to_text",
    "total_degree",
]


def fraction_point(values: Sequence[Fraction | int], field: Domain) -> tuple[Any, ...]:
    """Return exact numbers as elements of the field."""
    return tuple(element(field, value) for value in values)
