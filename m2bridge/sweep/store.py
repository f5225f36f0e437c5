"""The store of a sweep: append-only records, one writer a file; nothing that was computed is ever overwritten.

``records/*.jsonl`` is the truth. A record is one line, written by one system call; a line that a kill cut off has no
newline, and is passed over. Each file has one writer, which holds a lock on it: what was started in a file that nobody
writes any more is lost. Shared file systems are good enough, since nothing else is asked of them (no database, no file
with two writers).
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import socket
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec

from m2bridge.errors import StoreError

FORMAT = "m2bridge-store/1"
BEAT_SECONDS = 2.0
DEAD_SECONDS = 120.0
"""Where the file system has no locks, a writer that has not been heard of for so long is dead."""

_DISK_FULL_SECONDS = 1.0

Outcome = Literal["done", "refuted", "undecided", "failed", "crashed", "interrupted"]
FINAL: tuple[Outcome, ...] = ("done", "refuted", "failed")


class Record(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """One line of the store.

    Attributes
    ----------
    kind
        ``start`` and ``end`` of an attempt; ``chunk``, the end of a chunk; ``pardon``: what was counted against the job
        until then counts no more; ``merged``: this file replaces those named in ``message``.
    key
        The job, or the chunk.
    outcome, reason, message
        How the attempt ended. Reasons of ``undecided``: ``time``, ``memory``, ``infeasible``, ``open``; of
        ``interrupted``, where it was the machine: ``disk`` (full), ``engine`` (no Macaulay2).
    log
        Where more stands: file and line.
    time_seconds, memory_megabytes
        The limits that it had.
    wall_seconds, cpu_seconds, peak_megabytes
        What it took.
    overhead_seconds
        Wall-clock seconds around the work itself.
    at
        When the record was written, in seconds since 1970.
    document
        The result document, as the command prints it with ``--json``.
    """

    kind: Literal["start", "end", "chunk", "pardon", "merged"]
    key: str
    at: float
    outcome: Outcome | None = None
    reason: str = ""
    message: str = ""
    log: str = ""
    time_seconds: float = 0.0
    memory_megabytes: int = 0
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_megabytes: float = 0.0
    overhead_seconds: float = 0.0
    document: msgspec.Raw = msgspec.Raw(b"null")


class Beat(msgspec.Struct):
    """What a writer is busy with."""

    writer: str
    host: str
    key: str | None
    since: float
    memory_megabytes: float


class History:
    """All that is known of one job, without its documents.

    Attributes
    ----------
    final
        The first ``done``, ``refuted`` or ``failed`` record's outcome, or that of an undecided one that no higher
        limit can change; None while there is none.
    timed_out, out_of_memory
        The highest limits that were too low: seconds, megabytes.
    crashes
        How often its process died under it.
    opened
        Files in which it was started and did not end.
    """

    __slots__ = (
        *("crashes", "final", "last", "opened", "out_of_memory", "pardoned", "reason", "timed_out"),
        "wall_seconds",
    )

    def __init__(self) -> None:
        self.pardoned = 0.0
        self.final: Outcome | None = None
        self.reason = ""
        self.timed_out = 0.0
        self.out_of_memory = 0
        self.crashes = 0
        self.opened: list[str] = []
        self.last: tuple[str, int, int] | None = None
        self.wall_seconds = 0.0

    def add(self, record: Record, place: tuple[str, int, int]) -> None:
        """Take one more record into account."""
        if record.kind == "pardon":
            # Whatever was read before is older, for files of pardons are read first.
            self.__init__()  # type: ignore[misc]
            self.pardoned = record.at
            return
        if record.at <= self.pardoned:
            return
        if record.kind == "start":
            self.opened.append(place[0])
            return
        if place[0] in self.opened:
            self.opened.remove(place[0])
        if self.final is not None:
            return
        if record.outcome != "interrupted":
            self.last, self.wall_seconds = place, record.wall_seconds
        if record.outcome in FINAL:
            self.final = record.outcome
        elif record.outcome == "undecided":
            if record.reason == "time":
                self.timed_out = max(self.timed_out, record.time_seconds)
            elif record.reason == "memory":
                self.out_of_memory = max(self.out_of_memory, record.memory_megabytes)
            else:
                self.final = "undecided"
            self.reason = record.reason
        elif record.outcome == "crashed":
            self.crashes += 1


class Store:
    """A folder of records.

    Parameters
    ----------
    folder
        It is made if it is not there.
    create
        Whether it may be made.
    only
        The jobs whose histories are wanted; all, if none are named. The rest is passed over, which is fast.

    Raises
    ------
    StoreError
        If the folder is not a store, or cannot be used.
    """

    def __init__(self, folder: str | Path, *, create: bool = True, only: Iterable[str] | None = None) -> None:
        self.folder = Path(folder).absolute()
        self._only = None if only is None else frozenset(key.encode() for key in only)
        mark = self.folder / "store.json"
        try:
            if create and not self.folder.exists():
                self.folder.mkdir(parents=True, exist_ok=True)
            if create and not mark.exists() and not any(self.folder.iterdir()):
                write_whole(mark, msgspec.json.encode({"format": FORMAT}))
            found = msgspec.json.decode(mark.read_bytes(), type=dict[str, str]).get("format")
            if found != FORMAT:
                raise StoreError(f"is of format {found!r}, not {FORMAT!r}", str(self.folder))
            for name in ("records", "beats", "logs", "sweeps"):
                (self.folder / name).mkdir(exist_ok=True)
        except FileNotFoundError:
            raise StoreError("is not a store of m2bridge", str(self.folder)) from None
        except msgspec.MsgspecError as error:
            raise StoreError(f"is not a store of m2bridge: {error}", str(mark)) from None
        except OSError as error:
            raise StoreError(f"cannot be used: {error.strerror}", str(self.folder)) from None
        self._read: dict[str, int] = {}
        self._merged: set[str] = set()
        self._histories: dict[str, History] = {}
        self._chunks: set[str] = set()

    @property
    def records(self) -> Path:
        """Folder of the record files."""
        return self.folder / "records"

    # --- reading ---------------------------------------------------------------------------------------

    def refresh(self) -> dict[str, History]:
        """Read what was written since the last time, and return all histories by job."""
        while True:
            with os.scandir(self.records) as entries:
                sizes = {e.name: e.stat().st_size for e in entries if e.name.endswith(".jsonl")}
            fresh = [name for name in sizes if name.startswith("merged-") and name not in self._read]
            if fresh:
                # What it replaces was read by another name: everything is read anew, which happens rarely.
                self._read, self._merged, self._histories, self._chunks = {}, set(), {}, set()
            try:
                for name in sorted(sizes, key=_reading_order):
                    if sizes[name] > self._read.get(name, 0) and name not in self._merged:
                        self._take(name)
            except FileNotFoundError:
                continue  # merged while it was to be read
            return self._histories

    def _take(self, name: str) -> None:
        start = self._read.get(name, 0)
        with (self.records / name).open("rb") as file:
            file.seek(start)
            content = file.read()
        whole = content[: content.rfind(b"\n") + 1]
        position = start
        for line in whole.split(b"\n")[:-1]:
            # A disk that was full may have left a cut line before a whole one: the writer begins a new line then.
            with suppress(msgspec.MsgspecError):
                if self._only is not None and (job := _JOB_KEY.search(line, 0, 200)) and job[1] not in self._only:
                    position += len(line) + 1
                    continue
                record = _DECODER.decode(line)
                if record.kind == "chunk":
                    self._chunks.add(record.key)
                elif record.kind == "merged":
                    self._merged.update(record.message.split())
                else:
                    history = self._histories.get(record.key)
                    if history is None:
                        history = self._histories[record.key] = History()
                    history.add(record, (name, position, len(line)))
            position += len(line) + 1
        self._read[name] = start + len(whole)

    @property
    def histories(self) -> dict[str, History]:
        """What is known of each job, as of the last `refresh`."""
        return self._histories

    @property
    def chunks(self) -> set[str]:
        """Chunks that came to their end, as of the last `refresh`."""
        return self._chunks

    def last_records(self, keys: Iterator[str] | list[str]) -> Iterator[tuple[str, Record | None]]:
        """Yield the record that decides each job, with its document; None where there is none."""
        open_files: dict[str, BinaryIO] = {}
        try:
            for key in keys:
                history = self._histories.get(key)
                if history is None or history.last is None:
                    yield key, None
                    continue
                name, position, length = history.last
                if name not in open_files:
                    if len(open_files) > 200:
                        open_files.popitem()[1].close()
                    open_files[name] = (self.records / name).open("rb")
                open_files[name].seek(position)
                yield key, _DECODER.decode(open_files[name].read(length))
        finally:
            for file in open_files.values():
                file.close()

    def all_records(self) -> Iterator[Record]:
        """Yield every record there is."""
        self.refresh()
        for name in sorted(set(self._read) - self._merged):
            for line in (self.records / name).read_bytes().split(b"\n"):
                with suppress(msgspec.MsgspecError):
                    yield _DECODER.decode(line)

    def is_alive(self, writer: str) -> bool:
        """Say whether somebody still writes a file of records."""
        try:
            with (self.records / writer).open("rb+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
                raise
            with suppress(OSError):
                beat = self.folder / "beats" / Path(writer).with_suffix(".json").name
                return time.time() - beat.stat().st_mtime < DEAD_SECONDS
        return False

    def beats(self) -> list[Beat]:
        """Return what the writers that are alive are busy with, the longest running first."""
        found = []
        for path in (self.folder / "beats").glob("*.json"):
            with suppress(OSError, msgspec.MsgspecError):
                beat = msgspec.json.decode(path.read_bytes(), type=Beat)
                if beat.key is not None and self.is_alive(beat.writer):
                    found.append(beat)
        return sorted(found, key=lambda b: b.since)

    # --- writing ---------------------------------------------------------------------------------------

    def pardon(self, keys: list[str]) -> None:
        """Have jobs begin anew: what was counted against them counts no more. Their records stay."""
        with Writer(self, "pardon-") as writer:
            for key in keys:
                writer.write(Record("pardon", key, time.time()))

    def merge(self) -> int:
        """Put the files that nobody writes any more into one, and return how many they were."""
        with locked(self.folder / "merge.lock", "", lambda line: None):
            return self._merge()

    def _merge(self) -> int:
        self.refresh()
        files = sorted(name for name in set(self._read) - self._merged if not name.startswith("pardon-"))
        closed = [name for name in files if not self.is_alive(name)]
        if len(closed) < 2:
            return 0
        name = f"merged-{uuid.uuid4().hex[:12]}.jsonl"
        head = Record("merged", "", time.time(), message=" ".join([*closed, *self._merged]))
        part = self.records / f"{name}.part"
        with part.open("wb") as file:
            file.write(msgspec.json.encode(head) + b"\n")
            for old in closed:
                for line in (self.records / old).read_bytes().split(b"\n"):
                    with suppress(msgspec.MsgspecError):
                        if _DECODER.decode(line).kind != "merged":
                            file.write(line + b"\n")
            file.flush()
            os.fsync(file.fileno())
        part.rename(self.records / name)
        for old in closed:
            (self.records / old).unlink(missing_ok=True)
        return len(closed)


def _reading_order(name: str) -> tuple[int, str]:
    """Sort what changes the meaning of the rest before it."""
    return (0 if name.startswith("pardon-") else 1 if name.startswith("merged-") else 2), name


_DECODER = msgspec.json.Decoder(Record)
_JOB_KEY = re.compile(rb'"key":"([0-9a-f]{64})"')


class Writer:
    """The one writer of a new file of records. A full disk is waited for."""

    def __init__(self, store: Store, prefix: str = "") -> None:
        self.store = store
        self.name = f"{prefix}{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:10]}.jsonl"
        self._descriptor = -1
        self._cut = self._unsynced = False

    def _open(self) -> int:
        if self._descriptor < 0:
            path = self.store.records / self.name
            # It is locked before it has its name, so that nobody takes its writer for dead.
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            part = path.with_suffix(".new")
            descriptor = os.open(part, flags, 0o666)
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(part, path)
            self._descriptor = descriptor
        return self._descriptor

    def write(self, record: Record) -> None:
        """Append a record; wait for as long as the disk is full.

        Raises
        ------
        StoreError
            If the folder cannot be written to.
        """
        line = msgspec.json.encode(record) + b"\n"
        while True:
            try:
                written = os.write(self._open(), b"\n" + line if self._cut else line)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise StoreError(f"cannot be written: {error.strerror}", str(self.store.records)) from None
            else:
                if written >= len(line):
                    self._cut, self._unsynced = False, True
                    return
                self._cut = True
            time.sleep(_DISK_FULL_SECONDS)

    def log(self, text: str) -> str:
        """Append text to this writer's log and return its place; as much as there is room for."""
        path = self.store.folder / "logs" / f"{Path(self.name).stem}.log"
        try:
            line = path.read_bytes().count(b"\n") + 1 if path.exists() else 1
            with path.open("ab") as file:
                file.write(text.encode(errors="replace").rstrip() + b"\n")
        except OSError:
            return ""
        return f"{path.relative_to(self.store.folder)}:{line}"

    def beat(self, key: str | None, since: float, memory_megabytes: float) -> None:
        """Say what this writer is busy with."""
        self.sync()
        beat = Beat(self.name, socket.gethostname(), key, since, memory_megabytes)
        with suppress(OSError):
            write_whole(self._beat_path, msgspec.json.encode(beat), durable=False)

    def sync(self) -> None:
        """Have what was written outlast a power failure."""
        if self._unsynced and self._descriptor >= 0:
            self._unsynced = False
            with suppress(OSError):
                os.fsync(self._descriptor)

    @property
    def _beat_path(self) -> Path:
        return self.store.folder / "beats" / f"{Path(self.name).stem}.json"

    def close(self) -> None:
        """Give the file up, for good."""
        self.sync()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        with suppress(OSError):
            self._beat_path.unlink(missing_ok=True)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def write_whole(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Write a file aside and rename it, so that it is there whole or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}-{uuid.uuid4().hex[:6]}.part")
    try:
        with part.open("wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, waiting: str, say: Any) -> Iterator[None]:
    """Hold a lock file; say once that it is waited for."""
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(waiting)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def is_locked(path: Path) -> bool:
    """Say whether somebody holds a lock file."""
    try:
        with path.open("rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
