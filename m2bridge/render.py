"""The Jinja environment, and `to_m2`: the only place that writes Macaulay2 source.

Templates take exact values only. What a template interpolates passes through `to_m2`, so a float, a plain
string or a name of the user's cannot reach a script. Rings get private names: parameters are ``w_0, w_1, …``,
coordinates and other variables ``y_0, y_1, …``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jinja2
from sympy.polys.domains.domain import Domain
from sympy.polys.rings import PolyElement

from m2bridge.errors import RenderError
from m2bridge.fields import number_text
from m2bridge.polynomials import format_terms

_TERMS_IN_ONE_SUM = 400
"""Macaulay2's parser recurses along a sum, and adding n terms one by one takes n^2 steps."""


@dataclass(frozen=True)
class Word:
    """A word of lower-case letters, digits and underscores, to stand inside quotes."""

    text: str


@dataclass(frozen=True)
class Remark:
    """Text for a comment; whatever is not printable ASCII is escaped, so it stays on its line."""

    text: str


@dataclass(frozen=True)
class GroundField:
    """The coefficient field of a ring."""

    domain: Domain


@dataclass(frozen=True)
class Variables:
    """The variables ``letter_i`` with these indices."""

    letter: str
    indices: Sequence[int]


@dataclass(frozen=True)
class Polynomial:
    """A polynomial whose i-th variable is written ``letter_{indices[i]}``."""

    element: PolyElement
    variables: Variables


@dataclass(frozen=True)
class Order:
    """A monomial order on n variables: ``grevlex``, ``lex``, or ``elim:k`` (two grevlex blocks: k, then n - k)."""

    text: str
    n_variables: int


def to_m2(value: object) -> str:
    """Return the Macaulay2 source of a value.

    Raises
    ------
    RenderError
        For everything that has no exact Macaulay2 source; a float above all.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int() | Fraction():
            return number_text(value) if value >= 0 else f"({number_text(value)})"
        case Word() if re.fullmatch(r"[a-z0-9_]*", value.text):
            return value.text
        case Remark():
            return "".join(c if " " <= c <= "~" else f"\\u{ord(c):04x}" for c in value.text)
        case GroundField():
            characteristic = value.domain.characteristic()
            return f"ZZ/{characteristic}" if characteristic else "QQ"
        case Variables() if re.fullmatch(r"[wy]", value.letter):
            return ", ".join(f"{value.letter}_{i}" for i in value.indices)
        case Polynomial():
            return _polynomial(value)
        case Order():
            return _order(value)
        case list() | tuple():
            return "{" + ", ".join(map(to_m2, value)) + "}"
    raise RenderError(type(value).__name__, repr(value)[:200])


def _polynomial(value: Polynomial) -> str:
    names = [f"{value.variables.letter}_{i}" for i in value.variables.indices]
    if len(value.element) <= _TERMS_IN_ONE_SUM:
        return format_terms(value.element, names)
    terms = value.element.terms()
    ring = value.element.ring
    chunks = [
        format_terms(ring.from_dict(dict(terms[start : start + _TERMS_IN_ONE_SUM])), names)
        for start in range(0, len(terms), _TERMS_IN_ONE_SUM)
    ]
    return "sum {" + ", ".join(chunks) + "}"


def _order(value: Order) -> str:
    if value.text == "grevlex":
        return "GRevLex"
    if value.text == "lex":
        return "Lex"
    match = re.fullmatch(r"elim:(\d{1,6})", value.text)
    if match:
        k = int(match[1])
        return f"{{GRevLex => {k}, GRevLex => {value.n_variables - k}}}"
    raise RenderError("Order", value.text)


_environment = jinja2.Environment(
    loader=jinja2.PackageLoader("m2scripts", ""),
    variable_start_string="${",
    variable_end_string="}",
    block_start_string="-*%",
    block_end_string="%*-",
    line_statement_prefix="--%",
    comment_start_string="-*#",
    comment_end_string="#*-",
    undefined=jinja2.StrictUndefined,
    finalize=to_m2,
    keep_trailing_newline=True,
    trim_blocks=True,
    autoescape=False,  # noqa: S701 - Macaulay2, not HTML; to_m2 decides what may appear
)


def render(template: str, context: Mapping[str, Any]) -> str:
    """Return the script of a template, with the SHA-256 of its own text in its ``m2bKey`` line.

    The hash is that of the script with nothing between the quotes of that line; `script_key` recomputes it.
    """
    blank = _environment.get_template(template).render(dict(context) | {"key": Word("")})
    key = hashlib.sha256(blank.encode()).hexdigest()
    return blank.replace(_KEY_LINE.format(""), _KEY_LINE.format(key), 1)


_KEY_LINE = 'm2bKey = "{}";'


def script_key(script: str) -> str:
    """Return the SHA-256 that names a script: of its text with its key line blank."""
    blank = re.sub(r'^m2bKey = "[0-9a-f]*";$', _KEY_LINE.format(""), script, count=1, flags=re.MULTILINE)
    return hashlib.sha256(blank.encode()).hexdigest()


def template_names() -> list[str]:
    """Return the names of all Macaulay2 files that are shipped."""
    return sorted(_environment.list_templates(filter_func=lambda name: name.endswith(".m2")))
