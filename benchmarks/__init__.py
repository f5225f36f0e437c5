"""Benchmarks against other programs: run one as ``python -m benchmarks.NAME``."""
