"""From the traces of a run (exit code, logs, files) to its outcome: the one place where faults are told apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec

from m2bridge import macaulay2
from m2bridge.document import read_document
from m2bridge.errors import ResultError
from m2bridge.job import Job, JobFolder, Outcome, Status

_TAIL_BYTES = 65536


def finished_outcome(job: Job, folder: JobFolder) -> Outcome | None:
    """Return the outcome of an earlier run that the folder holds, if it is the result of this very script."""
    if not folder.result.exists():
        return None
    try:
        document = read_document(folder.result, job.operation, job.key)
    except ResultError:
        return None
    return Outcome(
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


def classify(
    job: Job,
    folder: JobFolder,
    *,
    returncode: int | None,
    wall_seconds: float,
    cpu_seconds: float,
    peak_memory_megabytes: float | None,
    timed_out: bool = False,
) -> Outcome:
    """Return what became of a run that has ended."""
    ran = Outcome(
        status=Status.CRASHED,
        operation=job.operation,
        folder=folder.path,
        wall_seconds=wall_seconds,
        cpu_seconds=cpu_seconds,
        peak_memory_megabytes=peak_memory_megabytes,
        returncode=returncode,
    )
    if folder.result.exists():
        # The result is renamed into place as the very last act, so it counts whatever happened after.
        try:
            document = read_document(folder.result, job.operation, job.key)
        except ResultError as error:
            return replace(ran, status=Status.UNREADABLE, message=error.problem)
        if document.peak_kilobytes is not None:
            peak_memory_megabytes = max(peak_memory_megabytes or 0.0, document.peak_kilobytes / 1024)
        return replace(
            ran, status=Status.FINISHED, document=document, peak_memory_megabytes=peak_memory_megabytes
        )
    if timed_out:
        return replace(ran, status=Status.TIMED_OUT, message=_kept(job, folder))
    stderr = _tail(folder.stderr)
    complaint = macaulay2.find_complaint(_head(folder.stderr)) or macaulay2.find_complaint(stderr)
    if macaulay2.HEAP_SECTIONS.search(stderr):
        message = "too many heap sections: Macaulay2's garbage collector cannot manage so much memory"
        return replace(ran, status=Status.OUT_OF_MEMORY, message=message)
    if macaulay2.OUT_OF_MEMORY.search(stderr):
        limit = f"the limit is {job.limits.memory_megabytes} MB"
        return replace(ran, status=Status.OUT_OF_MEMORY, message=limit)
    if complaint is not None:
        status = Status.REFUSED
        if complaint.message.startswith("interrupted"):
            status = Status.INTERRUPTED
        elif macaulay2.NOT_WRITTEN.search(complaint.message):
            status = Status.NOT_WRITTEN
        return replace(ran, status=status, message=complaint.message, script_line=complaint.line)
    if returncode is not None and returncode < 0:
        return replace(ran, message=macaulay2.describe_signal(-returncode))
    if macaulay2.SEGMENTATION.search(stderr):
        return replace(ran, message=macaulay2.describe_signal(11))
    said = stderr.strip()[-300:]
    message = f"it ended with exit code {returncode}, without a result and without an error message"
    return replace(ran, message=message + (f"; its last words: {said!r}" if said else ""))


def _kept(job: Job, folder: JobFolder) -> str:
    written = [path.name for path in (folder.stdout, folder.stderr, *folder.parts()) if path.stat().st_size]
    limit = f"the limit is {job.limits.time_seconds:g} s"
    return limit + (f"; written by then: {', '.join(written)}" if written else "")


def _tail(path: Path) -> str:
    return _slice(path, from_end=True)


def _head(path: Path) -> str:
    return _slice(path, from_end=False)


def _slice(path: Path, *, from_end: bool) -> str:
    """Return the first or last 64 KiB of a log: a job may print megabytes."""
    try:
        with path.open("rb") as log:
            if from_end:
                log.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            return log.read(_TAIL_BYTES).decode(errors="replace")
    except OSError:
        return ""


def record(outcome: Outcome, job: Job, folder: JobFolder) -> None:
    """Write how the run ended into the job's folder."""
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
    folder.outcome.write_bytes(msgspec.json.format(msgspec.json.encode(content)) + b"\n")
