"""Every example of the documentation is executed, page by page, and prints what the page says it prints."""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sybil import Document, Example
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from sybil.typing import Parser

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def _console(example: Example) -> str | None:
    """Run the commands of a ``console`` block (``$ …``) in the page's folder and compare what they print.

    An exit code other than 0 is shown by ``$ echo $?`` in the line after the output, as in a terminal.
    """
    for session in ("\n" + str(example.parsed)).split("\n$ ")[1:]:
        command, _, wanted = session.partition("\n")
        while command.endswith("\\"):
            more, _, wanted = wanted.partition("\n")
            command = command[:-1] + more.removeprefix("> ")
        status = example.namespace.get("status", 0)
        done = subprocess.run(  # noqa: S602 (a page's own commands, as a reader would type them)
            f"(exit {status}); {command}",
            shell=True,
            cwd=example.namespace["folder"],
            env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "PATH": _path()},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            check=False,
        )
        example.namespace["status"] = done.returncode
        if not doctest.OutputChecker().check_output(wanted.strip() + "\n", done.stdout.strip() + "\n", FLAGS):
            return f"$ {command}\nprinted\n{done.stdout}\ninstead of\n{wanted}"
    return None


def _path() -> str:
    return f"{Path(sys.executable).parent}:{os.environ['PATH']}"


def _file(example: Example) -> None:
    """Write a block that begins with a comment ``file: NAME`` into the page's folder."""
    first, _, text = str(example.parsed).partition("\n")
    if "file: " in first:
        path = example.namespace["folder"] / first.split("file: ")[1].strip()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.macaulay2
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_example_prints_what_its_page_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsers: list[Parser] = [
        PythonCodeBlockParser(doctest_optionflags=FLAGS),
        CodeBlockParser("console", _console),
        *(CodeBlockParser(language, _file) for language in ("toml", "json", "jinja")),
    ]
    monkeypatch.chdir(tmp_path)
    document = Document.parse(str(page), *parsers)
    document.namespace["folder"] = tmp_path
    for example in document.examples():
        example.evaluate()
