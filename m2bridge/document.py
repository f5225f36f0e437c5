"""Reading the JSON document that a script writes: format, key, operation, then the fields with their types."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from sympy.polys.domains.domain import Domain
from sympy.polys.rings import PolyElement, PolyRing

from m2bridge.errors import InputError, ResultError
from m2bridge.fields import element, parse_number

FORMAT = "m2bridge-document/1"

T = TypeVar("T", bound=msgspec.Struct)


class Terms(msgspec.Struct, forbid_unknown_fields=True):
    """A polynomial as Macaulay2 sends it: dense exponent vectors and decimal coefficients, same order."""

    exponents: list[list[int]]
    coefficients: list[str]

    def in_ring(self, ring: PolyRing, variables: Sequence[int] | None = None) -> PolyElement:
        """Return the polynomial in a ring; variable i of the document is variable ``variables[i]`` there.

        Raises
        ------
        ResultError
            If lengths do not fit, an exponent is negative, or a coefficient is not an exact number.
        """
        if len(self.exponents) != len(self.coefficients):
            raise ValueError("exponents and coefficients differ in number")
        width = ring.ngens if variables is None else len(variables)
        terms = {}
        coefficient_of = _reader(ring.domain)
        for exponents, text in zip(self.exponents, self.coefficients, strict=True):
            if len(exponents) != width or min(exponents, default=0) < 0:
                raise ValueError(f"an exponent vector is not one of {width} numbers >= 0: {exponents}")
            if variables is None:
                monomial = tuple(exponents)
            else:
                spread = [0] * ring.ngens
                for index, e in zip(variables, exponents, strict=True):
                    spread[index] = e
                monomial = tuple(spread)
            coefficient = coefficient_of(text)
            if not coefficient or monomial in terms:
                raise ValueError(f"a zero or repeated term at {exponents}")
            terms[monomial] = coefficient
        return ring.from_dict(terms)


_DECIMAL = re.compile(r"(-?[0-9]{1,600})(?:/([1-9][0-9]{0,599}))?")
"""What Python converts fast itself: beyond a limit, which the user may set to 640 digits, it refuses."""


def _reader(domain: Domain) -> Callable[[str], Any]:
    """Return the function that reads a coefficient; a polynomial may have 100,000 of them."""

    def read(text: str) -> Any:
        match = _DECIMAL.fullmatch(text)
        if match is None or characteristic:
            return element(domain, parse_number(text))
        denominator = match[2]
        return domain(int(match[1])) if denominator is None else domain(int(match[1]), int(denominator))

    characteristic = domain.characteristic()
    return read


class ResultDocument(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The JSON document of one finished run.

    Attributes
    ----------
    format, operation, key
        What it is, of which operation, and the hash of the script that wrote it.
    macaulay2
        Version of Macaulay2.
    seed
        Random seed that the script set.
    cpu_microseconds
        CPU time of the computation, without the start of Macaulay2.
    peak_kilobytes
        Peak resident memory at the end; null where the system does not tell.
    result
        The operation's own fields, still undecoded.
    """

    format: str
    operation: str
    key: str
    macaulay2: str
    seed: int
    cpu_microseconds: int
    peak_kilobytes: int | None
    result: msgspec.Raw


class _Envelope(msgspec.Struct):
    format: str


def read_document(path: Path, operation: str, key: str) -> ResultDocument:
    """Return the document in a file, if it is the result of this very script.

    Raises
    ------
    ResultError
        If the file is missing, cut, not JSON, of another format, of another operation, or of another script.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ResultError(f"the result cannot be read ({error.strerror})", str(path)) from None
    try:
        found = msgspec.json.decode(content, type=_Envelope).format
        if found != FORMAT:
            raise ResultError(f"the result has format {found[:60]!r}, expected {FORMAT!r}", str(path))
        document = msgspec.json.decode(content, type=ResultDocument)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ResultError(f"the result is cut or malformed: {error}", str(path)) from None
    if document.operation != operation:
        raise ResultError(f"the result is of operation {document.operation[:60]!r}, expected {operation!r}", str(path))
    if document.key != key:
        raise ResultError(f"the result is of script {document.key[:64]}, expected {key}", str(path))
    return document


def decode_result(document: ResultDocument, kind: type[T], file: Path) -> T:
    """Return the operation's fields, decoded strictly.

    Raises
    ------
    ResultError
        If a field is missing, unknown or of the wrong type; the message has the path inside the document.
    """
    try:
        return msgspec.json.decode(document.result, type=kind)
    except msgspec.DecodeError as error:
        raise ResultError(f"the result's fields are not those of {document.operation}: {error}", str(file)) from None


def read_polynomials(terms: Sequence[Terms], ring: PolyRing, file: Path, **where: Any) -> tuple[PolyElement, ...]:
    """Return polynomials of a document in a ring.

    Raises
    ------
    ResultError
        If one of them is malformed.
    """
    try:
        return tuple(t.in_ring(ring, **where) for t in terms)
    except (ValueError, InputError) as error:
        raise ResultError(f"a polynomial in the result is malformed: {error}", str(file)) from None
