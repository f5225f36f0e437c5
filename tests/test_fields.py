"""Ground fields and exact numbers: what is read, what is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m2bridge.errors import InputError, UnsupportedField
from m2bridge.fields import element, field_name, number_text, parse_field, parse_number, to_fraction


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("QQ", "QQ"),
        (" QQ ", "QQ"),
        ("GF(2)", "GF(2)"),
        ("GF(32003)", "GF(32003)"),
        (" GF ( 7 ) ", "GF(7)"),
        ("ZZ/101", "GF(101)"),
        ("ZZ/(101)", "GF(101)"),
        ("GF(2147483647)", "GF(2147483647)"),
    ],
)
def test_field(text: str, name: str) -> None:
    field = parse_field(text)
    assert field_name(field) == name
    assert field_name(parse_field(name)) == name
    assert parse_field(field) == field


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ZZ", "ZZ is not a field"),
        ("GF(4)", "4 is not prime"),
        ("GF(1)", "1 is not prime"),
        ("GF(0)", "0 is not prime"),
        ("GF(-7)", "not supported"),
        ("GF(32003", "not supported"),
        ("GF(2147483648)", "at most 2147483647"),
        ("GF(2147483659)", "at most 2147483647"),
        ("GF(" + "9" * 5000 + ")", "at most 2147483647"),
        ("RR", "'RR' is not supported"),
        ("CC", "not supported"),
        ("QQ(i)", "not supported"),
        ("qq", "not supported"),
        ("", "not supported"),
        ("GF(2)[x]", "not supported"),
        (None, "must be a text"),
        (32003, "must be a text"),
    ],
)
def test_field_is_refused(text: object, message: str) -> None:
    with pytest.raises(UnsupportedField, match=message):
        parse_field(text)


@given(st.fractions())
def test_number_comes_back(number: Fraction) -> None:
    assert parse_number(number_text(number)) == number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", Fraction(0)),
        ("-0", Fraction(0)),
        ("+3", Fraction(3)),
        (" 6/4 ", Fraction(3, 2)),
        ("6 / -4", Fraction(-3, 2)),
        ("-1/3", Fraction(-1, 3)),
        ("0007", Fraction(7)),
    ],
)
def test_number(text: str, value: Fraction) -> None:
    assert parse_number(text) == value


@pytest.mark.parametrize(
    "text", ["", "1.5", "1e3", "½", "٣", "1/2/3", "x", "1/0", "0/0", "0x10", "1_000", "nan", "inf", "--1", "1/", "/2"]
)
def test_number_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"exact number|denominator 0"):
        parse_number(text)


def test_number_of_ten_thousand_digits() -> None:
    text = "-" + "123456789" * 1200 + "/" + "7" * 10_000
    assert number_text(parse_number(text)).startswith("-")
    assert parse_number(number_text(parse_number(text))) == parse_number(text)


@given(st.fractions(), st.sampled_from([2, 3, 101, 32003, 2147483647]))
def test_element_of_a_prime_field(number: Fraction, prime: int) -> None:
    field = parse_field(f"GF({prime})")
    if number.denominator % prime == 0:
        with pytest.raises(InputError, match="has no value"):
            element(field, number)
        return
    value = int(to_fraction(element(field, number)))
    assert (value * number.denominator - number.numerator) % prime == 0


@given(st.fractions())
def test_element_of_the_rationals(number: Fraction) -> None:
    assert to_fraction(element(parse_field("QQ"), number)) == number
