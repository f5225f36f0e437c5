"""Formulas of the documentation become MathML when the site is built: its pages need no scripts and no other hosts."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\(\(|\[)(.*?)\\(?:\)|\])</\1>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """Replace what the extension arithmatex marks."""

    def formula(match: re.Match[str]) -> str:
        display = "block" if match[1] == "div" else "inline"
        return str(convert(html.unescape(match[3]), display=display))

    return _FORMULA.sub(formula, content)
