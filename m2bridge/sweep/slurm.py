"""Slurm as the engine of a sweep: job arrays whose elements work on chunks and write into the store.

The records are the truth. The scheduler is asked one thing only, which elements are still alive, and by the name of the
array, which is unique: the number of a job can be given out again after the controller crashed. What an element had not
done when it went goes back to the queue.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from m2bridge.errors import SlurmError
from m2bridge.sweep.driver import Chunk, DetachedExecutor, Sweep
from m2bridge.sweep.grid import ExecutorSettings
from m2bridge.sweep.slot import GRACE_SECONDS
from m2bridge.sweep.store import Store, write_whole

ELEMENTS_AT_ONCE = 64
START_MINUTES = 2
"""What an element is granted for its own start and end."""

_TURN_SECONDS = 0.25
_COMMAND_SECONDS = 120.0
_TRANSIENT = re.compile(
    r"Unable to contact slurm controller|Socket timed out|Connection refused|Zero Bytes were transmitted"
    r"|temporarily unable|Slurm backup controller in standby|Transport endpoint|Communication connection failure",
    re.IGNORECASE,
)


class ControllerAway(SlurmError):
    """The scheduler does not answer at present; its jobs go on."""


class Wave(msgspec.Struct):
    """One job array.

    Attributes
    ----------
    name
        Of the folder and of the job.
    elements
        How many; element n works on line n of ``chunks.jsonl``.
    minutes
        What each may take.
    megabytes
        What Slurm grants each.
    """

    name: str
    elements: int
    minutes: int
    megabytes: int


def command(*words: str) -> str:
    """Run a command of Slurm's and return what it printed.

    Raises
    ------
    ControllerAway
        If the scheduler does not answer.
    SlurmError
        If the command is not there or refuses.
    """
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=_COMMAND_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        raise SlurmError(words[0], "is not on PATH: is this a machine of the cluster?") from None
    except subprocess.TimeoutExpired:
        raise ControllerAway(words[0], f"no answer in {_COMMAND_SECONDS:g} s") from None
    if done.returncode != 0:
        said = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise (ControllerAway if _TRANSIENT.search(said) else SlurmError)(words[0], said)
    return done.stdout


def batch_script(wave: Wave, folder: Path, settings: ExecutorSettings) -> str:
    """Return the script that sbatch is given."""
    options = [
        f"--job-name={wave.name}",
        f"--array=0-{wave.elements - 1}",
        f"--chdir={_quoted(str(folder))}",
        "--output=%a.log",
        "--open-mode=append",
        "--requeue",
        "--ntasks=1",
        "--cpus-per-task=1",
        f"--mem={wave.megabytes}M",
        f"--time={wave.minutes}",
        *([f"--partition={settings.partition}"] if settings.partition else []),
        *([f"--account={settings.account}"] if settings.account else []),
        *settings.options,
    ]
    work = f"{shlex.quote(sys.executable)} -m m2bridge.sweep.element {shlex.quote(str(folder))}"
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {option}" for option in options),
        f"cd {shlex.quote(os.getcwd())}",
        *([settings.prologue.rstrip()] if settings.prologue.strip() else []),
        # It becomes the work itself, so that signals to the job reach it.
        f"exec {settings.launcher} {work}" if settings.launcher else f"exec {work}",
    ]
    return "\n".join(lines) + "\n"


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def prepare(sweep: Sweep, chunks: Sequence[Chunk], folder: Path, largest: int) -> list[tuple[Wave, list[Chunk]]]:
    """Write job arrays for the chunks into a folder, and return them; those that need the same are together.

    Parameters
    ----------
    sweep
        The sweep.
    chunks
        Its chunks.
    folder
        Each array gets a folder in it.
    largest
        The scheduler's MaxArraySize.
    """
    alike: dict[tuple[int, int], list[Chunk]] = {}
    for chunk in chunks:
        # Whole minutes are what Slurm counts in. What a chunk cannot do in its time goes back to the queue.
        seconds = [attempt.time_seconds + GRACE_SECONDS for attempt in chunk.attempts]
        work = max(max(seconds), min(sum(seconds), 60 * sweep.settings.minutes))
        minutes = START_MINUTES + int(-(-work // 60))
        megabytes = max(attempt.memory_megabytes for attempt in chunk.attempts) + sweep.settings.memory_overhead
        alike.setdefault((minutes, megabytes), []).append(chunk)
    waves = []
    most = min(sweep.settings.most_elements, largest)
    for (minutes, megabytes), same in alike.items():
        for start in range(0, len(same), most):
            part = same[start : start + most]
            wave = Wave(f"m2b-{sweep.name}-{uuid.uuid4().hex[:10]}", len(part), minutes, megabytes)
            place = folder / wave.name
            place.mkdir(parents=True)
            write_whole(place / "chunks.jsonl", b"".join(msgspec.json.encode(chunk) + b"\n" for chunk in part))
            write_whole(place / "batch.sh", batch_script(wave, place, sweep.settings).encode())
            # Last: whatever has it is whole.
            write_whole(place / "wave.json", msgspec.json.encode(wave))
            waves.append((wave, part))
    return waves


def max_array_size() -> int:
    """Return how many elements the cluster takes in one array."""
    found = re.search(r"^MaxArraySize\s*=\s*(\d+)", command("scontrol", "show", "config"), re.MULTILINE)
    return max(1, int(found[1]) if found else 1001)


def waves_of(sweep: Sweep) -> list[Wave]:
    """Return the job arrays that were prepared and are not known to be over."""
    found = []
    for path in sorted((sweep.folder / "waves").glob("*/wave.json")):
        if not (path.parent / "over").exists():
            with suppress(OSError, msgspec.MsgspecError):
                found.append(msgspec.json.decode(path.read_bytes(), type=Wave))
    return found


def elements_alive(waves: Iterable[Wave]) -> dict[tuple[str, int], str]:
    """Ask the scheduler which elements wait or run, and return their states by wave and number."""
    names = [wave.name for wave in waves]
    if not names:
        return {}
    printed = command("squeue", "--noheader", "--array", "--format=%j|%K|%T|%r", f"--name={','.join(names)}")
    found = {}
    for line in printed.splitlines():
        name, number, state, reason = line.strip().split("|", 3)
        if number.isdigit():
            found[name, int(number)] = state if state != "PENDING" else f"PENDING ({reason})"
    return found


def cluster_state(sweep: Sweep) -> Counter[str]:
    """Return how many elements are in each state, as the scheduler names them."""
    return Counter(elements_alive(waves_of(sweep)).values())


def cancel_elements(sweep: Sweep) -> int:
    """Have the scheduler end all elements, and return how many there were."""
    waves = waves_of(sweep)
    alive = elements_alive(waves)
    for name in sorted({name for name, _ in alive}):
        command("scancel", f"--name={name}")
    return len(alive)


@dataclass
class _Submitted:
    wave: Wave
    futures: dict[int, Future[int]]
    vanished: int = 0


class SlurmExecutor(DetachedExecutor):
    """Hands chunks to the cluster in job arrays, one for all chunks that come together.

    Parameters
    ----------
    sweep
        The sweep whose chunks they are.
    say
        Is told what a person should know.

    Raises
    ------
    SlurmError
        If Slurm is not there, or refuses an array; the elements that it has go on.
    """

    def __init__(self, sweep: Sweep, say: Callable[[str], None] = lambda line: None) -> None:
        for program in ("sbatch", "squeue", "scontrol", "scancel"):
            if shutil.which(program) is None:
                raise SlurmError(program, "is not on PATH: is this a machine of the cluster?")
        self._sweep = sweep
        self._say = say
        self._store = Store(sweep.store.folder, create=False, only=())
        self._waiting: list[tuple[Future[int], Chunk]] = []
        self._submitted: dict[str, _Submitted] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._away = False
        self._largest = 0
        self._thread = threading.Thread(target=self._look_after, daemon=True)
        self._thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Take a chunk; what an element does with it is `run_chunk` in a process of its own."""
        future: Future[int] = Future()
        future.set_running_or_notify_cancel()  # ended by the scheduler alone
        with self._lock:
            self._waiting.append((future, args[0]))
        return future

    def adopt(self) -> dict[Future[int], list[str]]:
        """Return what an earlier process submitted and is alive, with the keys of its jobs."""
        waves = waves_of(self._sweep)
        alive: dict[tuple[str, int], str] = self._patiently(functools.partial(elements_alive, waves))
        adopted: dict[Future[int], list[str]] = {}
        for wave in waves:
            place = self._sweep.folder / "waves" / wave.name
            entry = _Submitted(wave, {n: Future() for n in range(wave.elements) if (wave.name, n) in alive})
            if not entry.futures:
                (place / "over").touch()
                continue
            lines = (place / "chunks.jsonl").read_bytes().splitlines()
            for number, future in entry.futures.items():
                chunk = msgspec.json.decode(lines[number], type=Chunk)
                adopted[future] = [attempt.key for attempt in chunk.attempts]
            with self._lock:
                self._submitted[wave.name] = entry
        return adopted

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Look after the elements no longer; they go on."""
        self._over.set()
        self._thread.join()

    # --- in the thread ---------------------------------------------------------------------------------

    def _look_after(self) -> None:
        try:
            next_question = 0.0
            cancelled = False
            while not self._over.wait(_TURN_SECONDS):
                if not cancelled and self._sweep.cancelled.exists():
                    cancelled = True
                    self._patiently(lambda: cancel_elements(self._sweep))
                if not cancelled:
                    self._send()
                self._store.refresh()
                self._note_ended()
                if self._submitted and time.monotonic() >= next_question:
                    self._note_lost()
                    poll = self._sweep.settings.poll
                    next_question = time.monotonic() + (min(poll, 2.0) if cancelled else poll)
                if cancelled and not self._submitted:
                    for future, _ in self._take_waiting():
                        future.set_result(0)
        except BaseException as error:
            with self._lock:
                futures = [f for entry in self._submitted.values() for f in entry.futures.values()]
            for future in futures + [future for future, _ in self._take_waiting()]:
                future.set_exception(error)

    def _take_waiting(self) -> list[tuple[Future[int], Chunk]]:
        with self._lock:
            taken, self._waiting = self._waiting, []
        return taken

    def _send(self) -> None:
        before = -1
        while len(self._waiting) != before:  # they come one after another
            before = len(self._waiting)
            time.sleep(0.05)
        taken = self._take_waiting()
        if not taken:
            return
        futures = {id(chunk): future for future, chunk in taken}
        folder = self._sweep.folder / "waves"
        self._largest = self._largest or self._patiently(max_array_size)
        prepared = prepare(self._sweep, [chunk for _, chunk in taken], folder, self._largest)
        for wave, chunks in prepared:
            entry = _Submitted(wave, {number: futures[id(chunk)] for number, chunk in enumerate(chunks)})
            with self._lock:
                self._submitted[wave.name] = entry
        for wave, _ in prepared:
            self._patiently(functools.partial(_submit, wave, folder / wave.name / "batch.sh"))

    def _patiently(self, ask: Callable[[], Any]) -> Any:
        """Ask until the scheduler answers; say once that it does not."""
        while True:
            try:
                answer = ask()
            except ControllerAway as away:
                if not self._away:
                    self._say(f"{away}; asking again until it answers")
                self._away = True
                if self._over.wait(2.0):
                    raise
            else:
                self._away = False
                return answer

    def _note_ended(self) -> None:
        for entry in list(self._submitted.values()):
            for number in [n for n in entry.futures if f"{entry.wave.name}/{n}" in self._store.chunks]:
                with suppress(OSError):
                    (self._sweep.folder / "waves" / entry.wave.name / f"{number}.log").unlink()
                self._end(entry, number)

    def _note_lost(self) -> None:
        entries = list(self._submitted.values())
        try:
            alive = elements_alive(entry.wave for entry in entries)
        except ControllerAway:
            return  # it is asked again; until then nothing is known
        self._store.refresh()
        self._note_ended()  # what ended between the two questions has ended well
        for entry in entries:
            for number in [n for n in entry.futures if (entry.wave.name, n) not in alive]:
                self._refuse_if_barren(entry, number)
                self._end(entry, number)

    def _refuse_if_barren(self, entry: _Submitted, number: int) -> None:
        """Raise if the first elements to go did nothing at all: the next array would do no better."""
        place = self._sweep.folder / "waves" / entry.wave.name
        if (place / "begun").exists() or self._sweep.cancelled.exists():
            return
        entry.vanished += 1
        if entry.vanished < min(3, entry.wave.elements):
            return
        (place / "over").touch()
        log = place / f"{number}.log"
        said = log.read_text(errors="replace").strip()[-500:] if log.exists() else "there is no log"
        raise SlurmError(
            f"sbatch {place / 'batch.sh'}",
            f"its elements ended, or were cancelled, before they began to work; {log}: {said}",
        )

    def _end(self, entry: _Submitted, number: int) -> None:
        future = entry.futures.pop(number)
        if not entry.futures:
            (self._sweep.folder / "waves" / entry.wave.name / "over").touch()
            with self._lock:
                del self._submitted[entry.wave.name]
        future.set_result(0)


def _submit(wave: Wave, script: Path) -> None:
    # A controller that went away while it was asked may have taken the array all the same.
    if not elements_alive([wave]):
        command("sbatch", "--parsable", str(script))
