"""A place where one job at a time runs: a worker process under supervision, and the records of what became of it."""

from __future__ import annotations

import os
import select
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from m2bridge.engines.process import SessionProcess
from m2bridge.errors import WorkerBroken
from m2bridge.sweep.grid import ExecutorSettings
from m2bridge.sweep.store import BEAT_SECONDS, Outcome, Record, Store, Writer
from m2bridge.sweep.worker import Order, Reply

START_SECONDS = 120.0
GRACE_SECONDS = 3.0
"""Macaulay2 is ended by its own limit first, which leaves the worker up; only what hangs beyond that is killed."""

_LOOK_SECONDS = 0.25


class Attempt(msgspec.Struct):
    """A job with the limits of this time."""

    key: str
    question: str
    arguments: list[str]
    label: str
    time_seconds: float
    memory_megabytes: int

    def command(self) -> list[str]:
        """Return the arguments of the command line."""
        command = [
            self.question,
            *self.arguments,
            *("--time-limit", f"{self.time_seconds:g}", "--memory-limit", str(self.memory_megabytes), "--json"),
        ]
        if self.question in ("study", "closure", "groebner", "tangent", "singular") and "--budget" not in command:
            command += ["--budget", f"{self.time_seconds:g}"]
        return command


class _Died(Exception):
    """The worker ended before it replied."""


class _TooLong(Exception):
    pass


class _TooLarge(Exception):
    pass


class _Stopped(Exception):
    pass


class Slot:
    """Runs attempts in a worker and writes their records.

    Parameters
    ----------
    store
        Where the records go.
    settings
        Which engine.
    stop
        Ends what runs, recorded as interrupted.
    """

    def __init__(self, store: Store, settings: ExecutorSettings, stop: threading.Event) -> None:
        self.writer = Writer(store)
        self._settings = settings
        self._stop = stop
        self._process: SessionProcess | None = None
        self._descriptors: tuple[int, ...] = ()
        self._buffer = b""
        self._base = 0.0
        self._busy: tuple[str | None, float] = (None, time.time())
        self._growth = 0.0
        self._closed = threading.Event()
        self._beating = threading.Thread(target=self._beat, daemon=True)
        self._beating.start()

    def run(self, attempt: Attempt) -> Record:
        """Run a job, write its records, and return the last.

        Raises
        ------
        WorkerBroken
            If no worker can be started, or there is no Macaulay2 for it.
        """
        begun = time.monotonic()
        now = time.time()
        # Started first: a worker that does not start is not the job's fault.
        self.start()
        self._busy = (attempt.key, now)
        limits: dict[str, Any] = {
            "time_seconds": attempt.time_seconds,
            "memory_megabytes": attempt.memory_megabytes,
        }
        self.writer.write(Record("start", attempt.key, now, **limits))
        began = time.monotonic()
        reply: Reply | None = None
        outcome: Outcome
        reason = message = trace = ""
        try:
            reply = self._ask(attempt)
        except _TooLong:
            outcome, reason, message = "undecided", "time", f"the limit is {attempt.time_seconds:g} s"
        except _TooLarge:
            outcome, reason, message = "undecided", "memory", f"the limit is {attempt.memory_megabytes} MB"
        except _Stopped:
            outcome, message = "interrupted", "the sweep was interrupted"
        except _Died as death:
            outcome, message = "crashed", str(death)
        else:
            outcome, reason, message = classify(reply, attempt)
            trace = reply.messages
        wall = time.monotonic() - began
        if reply is None:
            trace = self._drop()
        peak, macaulay2_cpu = self._growth, 0.0
        if reply is not None:
            took = msgspec.json.decode(reply.document, type=_Document | None)
            if took is not None:
                peak = max(peak, took.provenance.peak_memory_megabytes or 0.0)
                macaulay2_cpu = took.provenance.macaulay2_cpu_seconds or 0.0
        log = ""
        if outcome in ("failed", "crashed"):
            log = self.writer.log(f"--- {attempt.label}\n{attempt.key}: {outcome}: {message}\n{trace}")
        record = Record(
            "end",
            attempt.key,
            time.time(),
            outcome,
            reason,
            message,
            log,
            **limits,
            wall_seconds=wall,
            cpu_seconds=macaulay2_cpu + (reply.cpu_seconds if reply else 0.0),
            peak_megabytes=round(peak, 1),
            overhead_seconds=time.monotonic() - begun - (reply.wall_seconds if reply else wall),
            document=msgspec.Raw(b"null") if reply is None else reply.document,
        )
        self.writer.write(record)
        self._busy = (None, time.time())
        if outcome == "interrupted" and reason == "engine":
            raise WorkerBroken(message)
        return record

    def close(self) -> None:
        """End the worker and give up the file of records."""
        self._closed.set()
        self._drop()
        self._beating.join()
        self.writer.close()

    # --- the worker ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Have a worker ready.

        Raises
        ------
        WorkerBroken
            If none can be started.
        """
        if self._process is not None and not self._process.ended():
            return
        self._drop()
        orders_out, orders_in = os.pipe()
        replies_out, replies_in = os.pipe()
        self._output = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed with the worker
        command = [
            *(sys.executable, "-m", "m2bridge.sweep.worker", str(orders_out), str(replies_in)),
            *(self._settings.m2 or "", self._settings.engine),
        ]
        try:
            self._process = SessionProcess.start(
                command,
                stdout=self._output,
                stderr=self._output,
                memory_megabytes=None,
                folder=Path.cwd(),
                pass_descriptors=(orders_out, replies_in),
            )
        finally:
            os.close(orders_out)
            os.close(replies_in)
        self._descriptors = (orders_in, replies_out)
        self._buffer = b""
        try:
            self._line(time.monotonic() + START_SECONDS, None)
        except (_Died, _TooLong) as death:
            said = self._drop()
            raise WorkerBroken(f"{death}; {said[-500:]}") from None
        except _Stopped:
            self._drop()
            raise Interrupted from None
        self._base = _resident(self._process.pid)

    def _ask(self, attempt: Attempt) -> Reply:
        content = msgspec.json.encode(Order(attempt.command())) + b"\n"
        self._growth = 0.0
        try:
            os.write(self._descriptors[0], content)
        except BrokenPipeError:
            raise _Died("its worker died") from None
        deadline = time.monotonic() + attempt.time_seconds + GRACE_SECONDS
        line = self._line(deadline, attempt.memory_megabytes)
        return msgspec.json.decode(line, type=Reply)

    def _line(self, deadline: float, memory_megabytes: int | None) -> bytes:
        """Return the worker's next line."""
        assert self._process is not None  # noqa: S101 - for the type checker
        reader = self._descriptors[1]
        pieces = [self._buffer]
        while b"\n" not in pieces[-1]:
            ready, _, _ = select.select([reader], [], [], _LOOK_SECONDS)
            if ready:
                piece = os.read(reader, 2**20)
                if not piece:
                    self._process.wait(1.0)
                    raise _Died(self._obituary())
                pieces.append(piece)
                continue
            if self._stop.is_set():
                raise _Stopped
            if memory_megabytes is not None:
                self._growth = max(self._growth, _resident(self._process.pid) - self._base)
                if self._growth > memory_megabytes:
                    raise _TooLarge
            if time.monotonic() > deadline:
                raise _TooLong
        line, _, self._buffer = b"".join(pieces).partition(b"\n")
        return line

    def _obituary(self) -> str:
        assert self._process is not None  # noqa: S101 - for the type checker
        self._process.kill()
        code = self._process.returncode or 0
        return f"its worker died of signal {-code}" if code < 0 else f"its worker ended with exit code {code}"

    def _drop(self) -> str:
        """End the worker with all that it started, and return its last words."""
        if self._process is None:
            return ""
        self._process.stop()
        self._process = None
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors = ()
        self._output.seek(0)
        said = self._output.read(65536).decode(errors="replace")
        self._output.close()
        return said

    def _beat(self) -> None:
        said: str | None = None
        while not self._closed.wait(BEAT_SECONDS):
            key, since = self._busy
            process = self._process
            memory = 0.0
            if process is not None and key is not None:
                with suppress(OSError):
                    memory = _resident(process.pid)
            if key is not None or said is not None:
                self.writer.beat(key, since, memory)
            else:
                self.writer.sync()
            said = key


class Interrupted(Exception):
    """The slot was told to stop before its worker was up."""


class _Provenance(msgspec.Struct):
    peak_memory_megabytes: float | None = None
    macaulay2_cpu_seconds: float | None = None


class _Error(msgspec.Struct):
    type: str
    message: str
    status: str = ""


class _Document(msgspec.Struct):
    provenance: _Provenance
    error: _Error | None = None


def classify(reply: Reply, attempt: Attempt) -> tuple[Outcome, str, str]:
    """Return outcome, reason and message of a job whose command has ended."""
    document = msgspec.json.decode(reply.document, type=_Document | None)
    error = None if document is None else document.error
    message = error.message if error is not None else ""
    if not message and reply.code not in (0, 1, 3):
        message = reply.messages.strip().splitlines()[-1] if reply.messages.strip() else ""
    if error is not None:
        message = f"{error.type}: {message}"
    match reply.code:
        case 0 | 1 if document is None:
            return "failed", "", "the command printed no document"
        case 0:
            return "done", "", ""
        case 1:
            return "refuted", "", ""
        case 3 if error is None:
            # The answer is there in part. A budget that was used up is a limit; else more time would not help.
            spent = reply.wall_seconds >= 0.8 * attempt.time_seconds
            return "undecided", "time" if spent else "open", "the answer is there in part"
        case 3:
            reasons = {"TimedOut": "time", "OutOfMemory": "memory", "Infeasible": "infeasible"}
            return "undecided", reasons.get(error.type if error else "", "open"), message
        case 130:
            return "interrupted", "", message or "interrupted"
        case _:
            if error is not None and error.type == "Crashed":
                return "crashed", "", message
            # The machine's fault, not the job's: it stays in the queue.
            machine = {"NotWritten": "disk", "Macaulay2Unusable": "engine", "Interrupted": ""}
            if error is not None and error.type in machine:
                return "interrupted", machine[error.type], message
            return "failed", "", message or f"exit code {reply.code}"


def _resident(pid: int) -> float:
    """Return the resident set of a process in megabytes, where the system tells."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (OSError, IndexError, ValueError):
        return 0.0
