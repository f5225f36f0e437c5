"""Sweeps: one question asked of a whole grid of models, in a store from which nothing is lost."""

from m2bridge.sweep.driver import JobState, Sweep, run_chunk
from m2bridge.sweep.grid import SweepFile, SweepJob, read_sweep
from m2bridge.sweep.store import Record, Store

__all__ = ["JobState", "Record", "Store", "Sweep", "SweepFile", "SweepJob", "read_sweep", "run_chunk"]
