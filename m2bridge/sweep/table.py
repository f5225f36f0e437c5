"""The table of a sweep: one row a job, queried in SQLite in memory, in several formats."""

from __future__ import annotations

import csv
import io
import itertools
import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from m2bridge.errors import InputError
from m2bridge.sweep.driver import ENDED, Sweep

FORMATS = ("table", "csv", "json", "latex", "parquet")
TIMES = ("wall_seconds", "cpu_seconds", "peak_megabytes", "time_limit", "memory_limit")


class _Answer(msgspec.Struct):
    result: dict[str, Any] | None = None
    evidence: str | None = None


def rows(sweep: Sweep, *, where: str = "", times: bool = False) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the names of the columns and the rows, in the order of the jobs.

    The columns are the job's values, its state, evidence, and those entries of the result that are numbers, texts or
    truth values; larger ones are in the records. Without ``times`` the table depends on the answers alone.

    Parameters
    ----------
    sweep
        The sweep.
    where
        A condition in SQL on the columns, such as ``state = 'done' and d > 2``.
    times
        Whether to add what each job took and the limits that it had.

    Raises
    ------
    InputError
        If the condition is not one.
    """
    states = sweep.states()
    found: list[dict[str, Any]] = []
    columns: dict[str, None] = {}
    kinds: dict[str, dict[str, None]] = {"values": {}, "results": {}}
    records = sweep.store.last_records([job.key for job in sweep.jobs])
    for job, state, (_, record) in zip(sweep.jobs, states, records, strict=True):
        values = {name.replace("-", "_"): _plain(value) for name, value in job.values.items()}
        row: dict[str, Any] = {"state": state.state, "reason": state.reason, "evidence": None, "message": ""}
        results: dict[str, Any] = {}
        if record is not None and state.state in ENDED:
            answer = msgspec.json.decode(record.document, type=_Answer | None)
            row["message"] = record.message
            if answer is not None:
                row["evidence"] = answer.evidence
                for name, value in (answer.result or {}).items():
                    if value is None or isinstance(value, bool | int | float | str):
                        results[name if name not in values and name not in row else f"result_{name}"] = value
            if times:
                row |= {
                    "wall_seconds": record.wall_seconds,
                    "cpu_seconds": record.cpu_seconds,
                    "peak_megabytes": record.peak_megabytes,
                    "time_limit": record.time_seconds,
                    "memory_limit": record.memory_megabytes,
                }
        kinds["values"] |= dict.fromkeys(values)
        kinds["results"] |= dict.fromkeys(results)
        found.append(values | row | results)
    columns = kinds["values"] | dict.fromkeys(("state", "reason", "evidence")) | kinds["results"] | {"message": None}
    if times:
        columns |= dict.fromkeys(TIMES)
    names = list(columns)
    table: list[tuple[Any, ...]] = []
    for number, row in enumerate(found):
        table.append(tuple(row.get(name) for name in names))
        found[number] = {}  # 100,000 rows twice would be a lot
    return names, _where(names, table, where) if where else table


def _plain(value: Any) -> Any:
    return ",".join(map(str, value)) if isinstance(value, list) else value


def _where(names: Sequence[str], table: Sequence[tuple[Any, ...]], where: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(":memory:") as database:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        database.execute(f"create table jobs ({quoted})")
        marks = ", ".join("?" * len(names))
        # SQLite's integers have 64 bits: larger ones are compared as texts.
        fit = ([str(v) if isinstance(v, int) and abs(v) >= 2**63 else v for v in row] for row in table)
        database.executemany(f"insert into jobs values ({marks})", fit)  # noqa: S608 - question marks only
        database.execute("pragma query_only = on")
        try:
            # rowid counts from 1 in the order of the rows, so that the values returned are the original ones.
            chosen = database.execute(f"select rowid from jobs where ({where}) order by rowid").fetchall()  # noqa: S608 - the user's own query of a copy in memory
        except sqlite3.Error as error:
            raise InputError(f"{where!r} is not a condition on {', '.join(names)}: {error}", "--where") from None
    return [table[row - 1] for (row,) in chosen]


def text(names: Sequence[str], table: Sequence[tuple[Any, ...]], form: str) -> Iterator[str]:
    """Yield the table in one of `FORMATS` that are text, piece by piece."""
    if form == "json":
        yield "["
        for number, row in enumerate(table):
            yield (",\n" if number else "\n") + json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False)
        yield "\n]\n"
    elif form == "csv":
        output = io.StringIO()
        writer = csv.writer(output, lineterminator="\n")
        for line in itertools.chain([tuple(names)], table):
            writer.writerow(line)
            yield output.getvalue()
            output.seek(0)
            output.truncate()
    elif form == "latex":
        yield rf"\begin{{tabular}}{{{'l' * len(names)}}}" + "\n\\hline\n"
        for number, row in enumerate(itertools.chain([tuple(names)], table)):
            yield " & ".join(_latex(_text(cell)) for cell in row) + r" \\" + (" \\hline\n" if number == 0 else "\n")
        yield "\\hline\n\\end{tabular}\n"
    else:
        # Columns in which nothing stands would only make the rest hard to read.
        widths = [max((len(_text(row[i])) for row in table), default=0) for i in range(len(names))]
        used = [(i, max(width, len(names[i]))) for i, width in enumerate(widths) if width]
        for line in itertools.chain([tuple(names)], table):
            yield "  ".join(_text(line[i]).ljust(width) for i, width in used).rstrip() + "\n"


def parquet(names: Sequence[str], table: Sequence[tuple[Any, ...]]) -> bytes:
    """Return the table as a Parquet file; a column of mixed types, or of integers beyond 64 bits, becomes text.

    Raises
    ------
    InputError
        If pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError("needs pyarrow: pip install 'm2bridge[parquet]'", "--format parquet") from None
    columns: dict[str, Any] = {}
    for i, name in enumerate(names):
        values = [row[i] for row in table]
        try:
            columns[name] = pyarrow.array(values)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError):
            columns[name] = pyarrow.array([None if value is None else str(value) for value in values])
    output = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), output)
    return output.getvalue()


def _text(value: Any) -> str:
    return "" if value is None else str(value)


_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "_": r"\_", "&": r"\&", "%": r"\%", "#": r"\#", "$": r"\$",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
