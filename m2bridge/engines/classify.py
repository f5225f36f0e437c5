"""From the traces of a run (exit code, logs, files) to its outcome: the one place where faults are told apart."""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import msgspec

from m2bridge import macaulay2
from m2bridge.document import read_document
from m2bridge.errors import ResultError
from m2bridge.job import Job, JobFolder, Outcome, Status

_EXCERPT_BYTES = 65536


@dataclass(frozen=True, kw_only=True)
class Traces:
    """What a run that has ended left behind besides its files.

    Attributes
    ----------
    returncode
        Exit code of its process, negative for death by a signal; None if it is unknown.
    wall_seconds, cpu_seconds, peak_memory_megabytes
        As in `Outcome`.
    stderr
        The first and the last 64 KiB of what it printed as errors and warnings.
    timed_out, interrupted
        Whether the engine ended it, for the time limit or because it was told to close.
    late
        Whether the engine sent it a signal before there was a result. What it wrote after that is not believed:
        the signal may have cut a part of the computation short, such as a program that the script ran.
    engine_problem
        What went wrong in the engine itself, so that the run is not to blame; empty if nothing.
    """

    returncode: int | None
    wall_seconds: float
    cpu_seconds: float
    peak_memory_megabytes: float | None
    stderr: str = ""
    timed_out: bool = False
    interrupted: bool = False
    late: bool = False
    engine_problem: str = ""


def excerpt(log: IO[bytes]) -> str:
    """Return the first and the last 64 KiB of a log: a job may print megabytes."""
    size = log.seek(0, os.SEEK_END)
    log.seek(0)
    head = log.read(_EXCERPT_BYTES)
    log.seek(max(len(head), size - _EXCERPT_BYTES))
    return (head + log.read(_EXCERPT_BYTES)).decode(errors="replace")


def finished_outcome(job: Job, folder: JobFolder) -> Outcome | None:
    """Return the outcome of an earlier run that the folder holds, if it is the result of this very script."""
    if not folder.result.is_file():
        return None
    try:
        document = read_document(folder.result, job.operation, job.key)
    except ResultError:
        return None
    outcome = Outcome(
        status=Status.FINISHED,
        operation=job.operation,
        folder=folder.path,
        wall_seconds=0.0,
        cpu_seconds=document.cpu_microseconds / 1e6,
        peak_memory_megabytes=None if document.peak_kilobytes is None else document.peak_kilobytes / 1024,
        returncode=None,
        document=document,
        reused=True,
    )
    if not folder.outcome.exists():
        record(outcome, job, folder)  # The earlier run was killed between its result and its record.
    return outcome


def failed_outcome(job: Job, folder: JobFolder, status: Status, message: str, wall_seconds: float = 0.0) -> Outcome:
    """Return the outcome of a run of which there are no traces."""
    return Outcome(
        status=status,
        operation=job.operation,
        folder=folder.path,
        wall_seconds=wall_seconds,
        cpu_seconds=0.0,
        peak_memory_megabytes=None,
        returncode=None,
        message=message,
    )


def classify(job: Job, folder: JobFolder, traces: Traces) -> Outcome:
    """Return what became of a run that has ended; half-written results are kept for a reached limit only."""
    outcome = _classify(job, folder, traces)
    kept = outcome.status in (Status.TIMED_OUT, Status.OUT_OF_MEMORY)
    for part in folder.parts():
        if not kept or not part.stat().st_size:
            part.unlink(missing_ok=True)
    return outcome


def _classify(job: Job, folder: JobFolder, traces: Traces) -> Outcome:
    ran = Outcome(
        status=Status.CRASHED,
        operation=job.operation,
        folder=folder.path,
        wall_seconds=traces.wall_seconds,
        cpu_seconds=traces.cpu_seconds,
        peak_memory_megabytes=traces.peak_memory_megabytes,
        returncode=traces.returncode,
    )
    if traces.late:
        folder.result.unlink(missing_ok=True)
    elif folder.result.is_file():
        # The result is renamed into place as the very last act, so it counts whatever happened after.
        return _with_result(ran, job, folder)
    if traces.timed_out:
        message = f"the limit is {job.limits.time_seconds:g} s" + _kept(folder)
        return replace(ran, status=Status.TIMED_OUT, message=message)
    if traces.interrupted:
        return replace(ran, status=Status.INTERRUPTED, message="the engine was closed while the job ran")
    if macaulay2.HEAP_SECTIONS.search(traces.stderr):
        message = "too many heap sections: Macaulay2's garbage collector cannot manage so much memory"
        return replace(ran, status=Status.OUT_OF_MEMORY, message=message + _kept(folder))
    if macaulay2.OUT_OF_MEMORY.search(traces.stderr):
        message = f"the limit is {job.limits.memory_megabytes} MB" + _kept(folder)
        return replace(ran, status=Status.OUT_OF_MEMORY, message=message)
    complaint = macaulay2.find_complaint(traces.stderr)
    if macaulay2.INTERRUPTED.search(traces.stderr):
        return replace(ran, status=Status.INTERRUPTED, message=macaulay2.describe_signal(signal.SIGINT))
    if complaint is not None:
        refused = replace(ran, status=Status.REFUSED, message=complaint.message, script_line=complaint.line)
        if macaulay2.NOT_WRITTEN.search(complaint.message):
            # Macaulay2 1.21 says of a full disk "no system error indication found".
            message = "; ".join(filter(None, (complaint.message, _write_problem(folder))))
            return replace(refused, status=Status.NOT_WRITTEN, message=message)
        return refused
    if traces.engine_problem:
        return replace(ran, message=traces.engine_problem)
    code = traces.returncode
    if code is not None and code < 0:
        asked_to_end = -code in (signal.SIGINT, signal.SIGTERM)
        status = Status.INTERRUPTED if asked_to_end else Status.CRASHED
        return replace(ran, status=status, message=macaulay2.describe_signal(-code))
    if macaulay2.SEGMENTATION.search(traces.stderr):
        return replace(ran, message=macaulay2.describe_signal(signal.SIGSEGV))
    unwritable = _write_problem(folder)
    if unwritable:
        return replace(ran, status=Status.NOT_WRITTEN, message=unwritable)
    said = traces.stderr.strip()[-300:]
    message = f"it ended with exit code {code}, without a result and without an error message"
    return replace(ran, message=message + (f"; its last words: {said!r}" if said else ""))


def _with_result(ran: Outcome, job: Job, folder: JobFolder) -> Outcome:
    try:
        document = read_document(folder.result, job.operation, job.key)
    except ResultError as error:
        return replace(ran, status=Status.UNREADABLE, message=error.problem)
    peak = ran.peak_memory_megabytes
    if document.peak_kilobytes is not None:
        peak = max(peak or 0.0, document.peak_kilobytes / 1024)
    return replace(
        ran,
        status=Status.FINISHED,
        document=document,
        cpu_seconds=max(ran.cpu_seconds, document.cpu_microseconds / 1e6),
        peak_memory_megabytes=peak,
    )


def _kept(folder: JobFolder) -> str:
    names = []
    for path in (folder.stdout, folder.stderr, *folder.parts()):
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_size:
                names.append(path.name)
    return f"; written by then: {', '.join(names)}" if names else ""


def _write_problem(folder: JobFolder) -> str:
    """Return why nothing can be written into the folder; empty if something can.

    On a full disk Macaulay2's own message is lost when the log is on that disk.
    """
    probe = folder.path / "result.json.probe.part"
    try:
        probe.write_bytes(bytes(8192))
    except OSError as error:
        return f"{error.strerror}: {folder.path}"
    finally:
        with contextlib.suppress(OSError):
            probe.unlink(missing_ok=True)
    return ""


def record(outcome: Outcome, job: Job, folder: JobFolder) -> None:
    """Write how the run ended into the job's folder, as far as that can be written to."""
    content = {
        "format": "m2bridge-job/1",
        "operation": job.operation,
        "key": job.key,
        "status": outcome.status.value,
        "message": outcome.message,
        "script_line": outcome.script_line,
        "returncode": outcome.returncode,
        "wall_seconds": outcome.wall_seconds,
        "cpu_seconds": outcome.cpu_seconds,
        "peak_memory_megabytes": outcome.peak_memory_megabytes,
        "limits": {
            "time_seconds": job.limits.time_seconds,
            "memory_megabytes": job.limits.memory_megabytes,
        },
    }
    part = Path(f"{folder.outcome}.part")
    # The outcome is a value of its own; that the disk is full must not hide what it says.
    with contextlib.suppress(OSError):
        try:
            part.write_bytes(msgspec.json.format(msgspec.json.encode(content)) + b"\n")
            part.replace(folder.outcome)
        finally:
            part.unlink(missing_ok=True)
