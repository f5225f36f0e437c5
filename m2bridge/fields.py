"""Ground fields: QQ and the prime fields, as sympy domains, with exact numbers in and out."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from flint import fmpq, fmpz
from sympy import GF, QQ, isprime
from sympy.polys.domains.domain import Domain

from m2bridge.errors import InputError, UnsupportedField

LARGEST_CHARACTERISTIC = 2**31 - 1
"""Macaulay2 1.21 computes Gröbner bases over prime fields up to here in machine words."""

_PRIME_FIELD = re.compile(r"\s*(?:GF\s*\(\s*(\d+)\s*\)|ZZ\s*/\s*\(?\s*(\d+)\s*\)?)\s*")
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)


def parse_field(text: object) -> Domain:
    """Return the sympy domain of ``"QQ"``, ``"GF(p)"`` or ``"ZZ/p"``.

    Raises
    ------
    UnsupportedField
        For any other field, and where p is not prime or above `LARGEST_CHARACTERISTIC`.
    """
    if isinstance(text, Domain):
        text = field_name(text)
    if not isinstance(text, str):
        raise UnsupportedField(f"the field must be a text like 'QQ' or 'GF(32003)', not {text!r}")
    if text.strip() == "QQ":
        return QQ
    if text.strip() == "ZZ":
        raise UnsupportedField("ZZ is not a field: closures over the integers are not supported, use 'QQ'")
    match = _PRIME_FIELD.fullmatch(text)
    if match is None:
        raise UnsupportedField(f"the field {text!r} is not supported: use 'QQ' or 'GF(p)' with p prime")
    digits = match[1] or match[2]
    if len(digits) > 10 or int(digits) > LARGEST_CHARACTERISTIC:
        raise UnsupportedField(f"GF({digits[:20]}): the prime must be at most {LARGEST_CHARACTERISTIC}")
    if not isprime(int(digits)):
        raise UnsupportedField(f"GF({digits}) is not a prime field: {digits} is not prime")
    return GF(int(digits))


def field_name(field: Domain) -> str:
    """Return ``"QQ"`` or ``"GF(p)"``."""
    characteristic = field.characteristic()
    return f"GF({characteristic})" if characteristic else "QQ"


def to_fraction(element: Any) -> Fraction:
    """Return an element of QQ or GF(p) as a fraction; of GF(p) the representative that sympy prints."""
    if hasattr(element, "numerator"):
        return Fraction(int(element.numerator), int(element.denominator))
    if isinstance(element, fmpq):
        return Fraction(int(element.p), int(element.q))
    return Fraction(int(element))


def number_text(number: Fraction | int) -> str:
    """Return the decimal text ``n`` or ``n/d``, of any length."""
    # Python refuses to print integers above 4,300 digits; flint does not.
    numerator = str(fmpz(number.numerator))
    return numerator if number.denominator == 1 else f"{numerator}/{fmpz(number.denominator)}"


def parse_number(text: str) -> Fraction:
    """Return the exact number written ``n`` or ``n/d`` (decimal digits, any length).

    Raises
    ------
    InputError
        If the text is anything else, a decimal fraction above all.
    """
    numerator, slash, denominator = text.strip().partition("/")
    parts = [numerator.strip(), denominator.strip() if slash else "1"]
    if not all(_INTEGER.fullmatch(part) for part in parts):
        raise InputError(f"{text!r} is not an exact number: write an integer or a fraction n/d")
    n, d = (int(fmpz(part.removeprefix("+"))) for part in parts)
    if d == 0:
        raise InputError(f"{text!r} has the denominator 0")
    return Fraction(n, d)


def element(field: Domain, number: Fraction | int) -> Any:
    """Return a rational number as an element of the field.

    Raises
    ------
    InputError
        If the field is GF(p) and p divides the denominator.
    """
    number = Fraction(number)
    characteristic = field.characteristic()
    if not characteristic:
        return field(number.numerator, number.denominator)
    if number.denominator % characteristic == 0:
        raise InputError(f"{number_text(number)} has no value in {field_name(field)}")
    return field(number.numerator * pow(number.denominator, -1, characteristic) % characteristic)
