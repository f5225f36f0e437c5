"""An element of a job array: ``python -m m2bridge.sweep.element WAVE`` works on its chunk, in the node's own time.

It ends early, with what runs recorded as interrupted, when Slurm tells it to (SIGTERM: cancelled, preempted, out of
time), when the sweep is cancelled, and when it finds that Slurm has started it anew elsewhere.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import msgspec

from m2bridge.errors import M2BridgeError
from m2bridge.sweep.driver import Chunk, work
from m2bridge.sweep.slot import Slot
from m2bridge.sweep.slurm import Wave
from m2bridge.sweep.store import Record, Store

_LOOK_SECONDS = 1.0
_END_SECONDS = 30.0


def main() -> int:
    """Work on a chunk, and return the exit code."""
    begun = time.monotonic()
    folder = Path(sys.argv[1])
    number = int(os.environ["SLURM_ARRAY_TASK_ID"])
    life = int(os.environ.get("SLURM_RESTART_COUNT", "0"))
    wave = msgspec.json.decode((folder / "wave.json").read_bytes(), type=Wave)
    chunk = msgspec.json.decode((folder / "chunks.jsonl").read_bytes().splitlines()[number], type=Chunk)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    if life:
        (folder / f"{number}.life-{life}").touch()
    threading.Thread(target=_watch, args=(stop, chunk, folder, number, life), daemon=True).start()
    store = Store(chunk.store, create=False, only=[attempt.key for attempt in chunk.attempts])
    slot = Slot(store, chunk.settings, stop)
    try:
        slot.start()
        _, whole = work(slot, chunk, stop, begun + 60 * wave.minutes - _END_SECONDS, lambda: _mark(folder))
        if whole:
            slot.writer.write(Record("chunk", f"{wave.name}/{number}", time.time()))
    finally:
        slot.close()
        if stop.is_set():
            _mark(folder)
    return 0 if whole else 128 + signal.SIGTERM


def _mark(folder: Path) -> None:
    """Tell whoever submitted the array that its elements can work."""
    if not (folder / "begun").exists():
        (folder / "begun").touch()


def _watch(stop: threading.Event, chunk: Chunk, folder: Path, number: int, life: int) -> None:
    cancelled = Path(chunk.store) / "sweeps" / chunk.sweep / "cancelled"
    successor = folder / f"{number}.life-{life + 1}"
    while not stop.wait(_LOOK_SECONDS):
        if cancelled.exists() or successor.exists():
            stop.set()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except M2BridgeError as error:
        sys.exit(f"{type(error).__name__}: {error}")
