"""The process that answers a sweep's questions one after another: ``python -m m2bridge.sweep.worker IN OUT``.

It is a process of its own so that a question that kills it, or outgrows it, harms nobody else. Orders come as lines of
JSON by the descriptor IN, replies go out by OUT.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from typing import Any

import msgspec


class Order(msgspec.Struct):
    """A question: arguments of the command line."""

    arguments: list[str]


class Reply(msgspec.Struct):
    """Exit code of the command, what it printed, and the CPU seconds that it took (Macaulay2's are in the document)."""

    code: int
    document: msgspec.Raw = msgspec.Raw(b"null")
    messages: str = ""
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0


def main() -> None:
    """Answer until there are no more orders."""
    incoming, outgoing, executable, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]

    from m2bridge.cli import run_command_line
    from m2bridge.cli_options import SharedEngine, make_engine

    engine = SharedEngine(lambda: make_engine(executable or None, kind))
    encode = msgspec.json.encode
    os.write(outgoing, encode({"ready": os.getpid()}) + b"\n")
    with os.fdopen(incoming, "rb") as orders:
        for line in orders:
            order = msgspec.json.decode(line, type=Order)
            printed, messages = io.StringIO(), io.StringIO()
            wall, cpu = time.monotonic(), time.process_time()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(messages):
                code = run_command_line(order.arguments, engine)
            reply = Reply(
                code,
                _document(printed.getvalue()),
                messages.getvalue(),
                time.process_time() - cpu,
                time.monotonic() - wall,
            )
            content = memoryview(encode(reply) + b"\n")
            while content:
                content = content[os.write(outgoing, content) :]
    engine.end()


def _document(text: str) -> msgspec.Raw:
    try:
        document: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return msgspec.Raw(b"null")
    return msgspec.Raw(msgspec.json.encode(document))


if __name__ == "__main__":
    main()
