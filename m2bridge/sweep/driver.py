"""A sweep in its store: what is to be done, by whom, until every job has its outcome."""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from m2bridge.errors import StoreError
from m2bridge.sweep.grid import ExecutorSettings, SweepJob, SweepLimits
from m2bridge.sweep.slot import GRACE_SECONDS, Attempt, Interrupted, Slot
from m2bridge.sweep.store import History, Store, is_locked, locked, write_whole

State = Literal["done", "refuted", "undecided", "failed", "waiting", "running", "lost"]
STATES: tuple[State, ...] = ("done", "refuted", "undecided", "failed", "waiting", "running", "lost")
ENDED: frozenset[State] = frozenset({"done", "refuted", "undecided", "failed"})

_LARGEST_CHUNK = 50
_LARGEST_DETACHED_CHUNK = 250
_MERGED_FROM = 100
_LOOK_SECONDS = 1.0
_FULL_DISK_SECONDS = 5.0
_REREAD_SECONDS = 2.0
"""How long a worker trusts what it knows of others' work: reading costs time where there are many files."""


class Chunk(msgspec.Struct):
    """Jobs that one call of `run_chunk` runs one after another: plain data, so that it can be sent anywhere."""

    store: str
    sweep: str
    settings: ExecutorSettings
    attempts: list[Attempt]


@dataclass(frozen=True)
class JobState:
    """What is known of a job, and the limits of its next attempt."""

    state: State
    reason: str
    time_seconds: float
    memory_megabytes: int


def judge(history: History | None, limits: SweepLimits, is_alive: Callable[[str], bool]) -> JobState:
    """Return the state of a job: the one place where outcomes, retries and escalations are decided.

    Time and memory escalate apart: a job that ran out of one gets more of that one only.
    """
    factor, most = limits.escalation.factor, limits.escalation.at_most
    if history is None:
        return JobState("waiting", "", limits.time, limits.memory)
    time_level = memory_level = 0
    while time_level <= most and limits.time * factor**time_level <= history.timed_out:
        time_level += 1
    while memory_level <= most and int(limits.memory * factor**memory_level) <= history.out_of_memory:
        memory_level += 1
    seconds = limits.time * factor ** min(time_level, most)
    megabytes = int(limits.memory * factor ** min(memory_level, most))

    def found(state: State, reason: str = "") -> JobState:
        return JobState(state, reason, seconds, megabytes)

    match history.final:
        case "done" | "refuted" | "failed" | "undecided" as final:
            return found(final, history.reason)
        case _:
            pass
    if any(is_alive(name) for name in history.opened):
        return found("running")
    if time_level > most or memory_level > most:
        return found("undecided", "time" if time_level > most else "memory")
    if history.crashes >= limits.crashes:
        return found("failed", "crashed")
    if len(history.opened) >= limits.losses:
        return found("failed", "lost")
    return found("lost" if history.opened else "waiting")


@dataclass
class Sweep:
    """One sweep in a store.

    Attributes
    ----------
    store
        Where the records are.
    name
        Its folder is ``sweeps/<name>``.
    jobs
        All of them, in the order of the sweep file.
    limits, settings
        As in the sweep file.
    """

    store: Store
    name: str
    jobs: list[SweepJob]
    limits: SweepLimits
    settings: ExecutorSettings

    @classmethod
    def open(cls, store: Store, name: str | None = None) -> Sweep:
        """Return a sweep that was begun before: the only one, if none is named.

        Raises
        ------
        StoreError
            If there is none of that name, or several and none is named.
        """
        there = sorted(path.parent.name for path in (store.folder / "sweeps").glob("*/sweep.json"))
        if name is None and len(there) != 1:
            problem = f"holds the sweeps {', '.join(there)}: say which" if there else "holds no sweep"
            raise StoreError(problem, str(store.folder))
        name = name or there[0]
        if name not in there:
            raise StoreError(f"holds no sweep {name!r} (but {', '.join(there) or 'none'})", str(store.folder))
        folder = store.folder / "sweeps" / name
        try:
            head = msgspec.json.decode((folder / "sweep.json").read_bytes(), type=_Head)
            lines = (folder / head.jobs).read_bytes().splitlines()
            decoder = msgspec.json.Decoder(SweepJob)
            jobs = [decoder.decode(line) for line in lines]
        except (OSError, msgspec.MsgspecError) as error:
            raise StoreError(f"cannot be read: {error}", str(folder)) from None
        return cls(store, name, jobs, head.limits, head.settings)

    def save(self) -> None:
        """Write the sweep into its store, so that anything that sees the folder can go on with it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        content = b"".join(msgspec.json.encode(job) + b"\n" for job in self.jobs)
        name = f"jobs-{hashlib.sha256(content).hexdigest()[:12]}.jsonl"
        if not (self.folder / name).exists():
            write_whole(self.folder / name, content)
        head = _Head(name, self.limits, self.settings)
        write_whole(self.folder / "sweep.json", msgspec.json.format(msgspec.json.encode(head)) + b"\n")

    @property
    def folder(self) -> Path:
        """Its folder in the store."""
        return self.store.folder / "sweeps" / self.name

    @property
    def cancelled(self) -> Path:
        """A file that is there once the sweep was cancelled."""
        return self.folder / "cancelled"

    @property
    def is_driven(self) -> bool:
        """Whether a process hands out its jobs."""
        return is_locked(self.folder / "lock")

    def states(self) -> list[JobState]:
        """Return the state of every job, as of now."""
        histories = self.store.refresh()
        is_alive = functools.cache(self.store.is_alive)
        return [judge(histories.get(job.key), self.limits, is_alive) for job in self.jobs]

    def counts(self) -> Counter[State]:
        """Return how many jobs are in each state."""
        return Counter(state.state for state in self.states())

    def pardon(self, states: Iterable[str]) -> int:
        """Have the failed or undecided jobs begin anew; return how many they are."""
        wanted = set(states)
        keys = [job.key for job, state in zip(self.jobs, self.states(), strict=True) if state.state in wanted]
        if keys:
            self.store.pardon(keys)
        return len(keys)

    def cancel(self) -> None:
        """Have whoever works on it stop, soon; what runs is recorded as interrupted."""
        self.cancelled.touch()

    def run(
        self,
        executor: Executor,
        workers: int,
        *,
        say: Callable[[str], None] = lambda line: None,
        watch: Callable[[], None] = lambda: None,
    ) -> Counter[State]:
        """Hand out jobs until every one has its outcome, or the sweep is cancelled.

        Parameters
        ----------
        executor
            Any executor with the interface of `concurrent.futures` whose workers see the store's folder.
        workers
            How many chunks it works on at once.
        say
            Is told what a person should know.
        watch
            Is called about once a second.
        """
        detached = executor if isinstance(executor, DetachedExecutor) else None
        with locked(self.folder / "lock", f"{self.name}: another process drives this sweep; waiting for it", say):
            self.cancelled.unlink(missing_ok=True)
            pending: dict[Future[int], list[str]] = {} if detached is None else detached.adopt()
            try:
                while True:
                    states = self.states()
                    busy = {key for keys in pending.values() for key in keys}
                    for chunk in self._chunks(states, busy, workers, detached is not None):
                        keys = [attempt.key for attempt in chunk.attempts]
                        pending[executor.submit(run_chunk, chunk)] = keys
                    # What runs though nobody here handed it out belongs to a process that outlived its submitter.
                    if self.cancelled.exists() or not (pending or any(s.state == "running" for s in states)):
                        break
                    ended: set[Future[int]] = set()
                    while not ended and not self.cancelled.exists():
                        if pending:
                            ended, _ = wait(pending, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
                        else:
                            time.sleep(_LOOK_SECONDS)
                        watch()
                        if not pending:
                            break
                    for future in ended:
                        del pending[future]
                        future.result()
            finally:
                if detached is None or self.cancelled.exists():
                    self._stop(pending)
                stop_slots()
            if self.cancelled.exists():
                return self.counts()
            if len(os.listdir(self.store.records)) > _MERGED_FROM:
                self.store.merge()
            return self.counts()

    def _stop(self, pending: dict[Future[int], list[str]]) -> None:
        for future in pending:
            future.cancel()
        if pending:
            self.cancel()  # whoever still works on a chunk, here or elsewhere, sees it
            _stops.setdefault(os.getpid(), threading.Event()).set()
            wait(pending)

    def first_chunks(self, workers: int, detached: bool) -> list[Chunk]:
        """Return what `run` would hand out now."""
        return self._chunks(self.states(), set(), workers, detached)

    def _chunks(self, states: Sequence[JobState], busy: set[str], workers: int, detached: bool) -> list[Chunk]:
        """Return the jobs to be handed out now, those of like limits together; those that may be dangerous alone."""
        histories = self.store.histories
        alone: list[Attempt] = []
        others: dict[tuple[float, int], list[Attempt]] = {}
        for job, state in zip(self.jobs, states, strict=True):
            if state.state not in ("waiting", "lost") or job.key in busy:
                continue
            attempt = Attempt(
                job.key, job.question, list(job.arguments), job.label, state.time_seconds, state.memory_megabytes
            )
            history = histories.get(job.key)
            if history is not None and (len(history.opened) > 1 or history.crashes > 0):
                alone.append(attempt)
            else:
                others.setdefault((attempt.time_seconds, attempt.memory_megabytes), []).append(attempt)
        # Workers at hand take the next chunk when they are done; a cluster's elements wait in its queue all at once.
        most, rounds = (_LARGEST_DETACHED_CHUNK, 1) if detached else (_LARGEST_CHUNK, 4)
        groups = [[attempt] for attempt in alone]
        for same in others.values():
            size = self.settings.chunk or max(1, min(most, -(-len(same) // (rounds * workers))))
            groups += [same[start : start + size] for start in range(0, len(same), size)]
        return [Chunk(str(self.store.folder), self.name, self.settings, group) for group in groups]


class DetachedExecutor(Executor):
    """An executor whose work outlives the process that submits it."""

    def adopt(self) -> dict[Future[int], list[str]]:
        """Return what an earlier process submitted and is not over, with the keys of its jobs."""
        raise NotImplementedError


class _Head(msgspec.Struct):
    jobs: str
    limits: SweepLimits
    settings: ExecutorSettings


# --- in a worker's process -------------------------------------------------------------------------------

_lock = threading.Lock()
_idle: dict[tuple[int, str, bytes], list[Slot]] = {}
_stops: dict[int, threading.Event] = {}


def run_chunk(chunk: Chunk) -> int:
    """Run the jobs of a chunk that have no outcome yet, and return how many were run.

    Workers and their Macaulay2 stay up for the next chunk that this process runs.
    """
    stop = _stops.setdefault(os.getpid(), threading.Event())
    kind = (os.getpid(), chunk.store, msgspec.json.encode(chunk.settings))
    with _lock:
        slots = _idle.setdefault(kind, [])
        slot = slots.pop() if slots else Slot(Store(chunk.store, create=False), chunk.settings, stop)
    try:
        ran, _ = work(slot, chunk, stop)
    except BaseException:
        slot.close()
        raise
    with _lock:
        _idle[kind].append(slot)
    return ran


def work(
    slot: Slot,
    chunk: Chunk,
    stop: threading.Event,
    deadline: float | None = None,
    proved: Callable[[], None] = lambda: None,
) -> tuple[int, bool]:
    """Run those jobs of a chunk that have no outcome and run nowhere.

    Parameters
    ----------
    slot
        Where they run.
    chunk
        The jobs.
    stop
        Ends the work.
    deadline
        By `time.monotonic`: no job is begun whose limit is beyond it.
    proved
        Is called after each job: this machine can work.

    Returns
    -------
    How many were run, and whether the work was not stopped.
    """
    store = slot.writer.store
    cancelled = Path(chunk.store) / "sweeps" / chunk.sweep / "cancelled"
    histories = store.refresh()
    read = time.monotonic()
    ran = 0
    for attempt in chunk.attempts:
        if stop.is_set() or cancelled.exists():
            return ran, False
        if deadline is not None and time.monotonic() + attempt.time_seconds + GRACE_SECONDS > deadline:
            break
        if time.monotonic() - read > _REREAD_SECONDS:
            histories = store.refresh()
            read = time.monotonic()
        history = histories.get(attempt.key)
        if history is not None and (history.final is not None or any(map(store.is_alive, history.opened))):
            continue
        try:
            while slot.run(attempt).reason == "disk" and not stop.wait(_FULL_DISK_SECONDS):
                pass  # as records are, so are the files of a job waited for
        except Interrupted:
            return ran, False
        ran += 1
        proved()
    return ran, not stop.is_set()


def stop_slots() -> None:
    """End all workers of this process; what runs is recorded as interrupted."""
    stop = _stops.pop(os.getpid(), None)
    if stop is not None:
        stop.set()
    with _lock:
        slots: Sequence[Slot] = [slot for kind, idle in _idle.items() if kind[0] == os.getpid() for slot in idle]
        _idle.clear()
    for slot in slots:
        slot.close()


atexit.register(stop_slots)


def wait_until_ended(
    sweep: Sweep, seconds: float | None, is_queued: Callable[[], bool], watch: Callable[[], None]
) -> bool:
    """Wait until nobody drives a sweep and nothing of it runs or is queued; say whether that came in time."""
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        if sweep.is_driven or sweep.counts()["running"]:
            pause = _LOOK_SECONDS
        elif is_queued():
            pause = sweep.settings.poll
        else:
            return True
        if end is not None and time.monotonic() > end:
            return False
        watch()
        time.sleep(pause if end is None else max(0.0, min(pause, end - time.monotonic())))
