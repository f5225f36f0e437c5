"""Options of the suite: the programs that tests need can be required, slow tests can be asked for."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from m2bridge.engines import WarmEngine
from m2bridge.errors import M2BridgeError
from m2bridge.macaulay2 import Macaulay2, find_macaulay2
from tests.slurm.cluster import missing as missing_for_slurm


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--require-macaulay2", action="store_true", help="fail instead of skipping without Macaulay2")
    parser.addoption("--require-singular", action="store_true", help="fail instead of skipping without Singular")
    parser.addoption("--require-slurm", action="store_true", help="fail instead of skipping where Slurm cannot run")
    parser.addoption("--slow", action="store_true", help="run the slow tests as well")


def _macaulay2() -> Macaulay2 | str:
    try:
        return find_macaulay2()
    except M2BridgeError as error:
        return str(error)


def pytest_report_header(config: pytest.Config) -> str:
    found = _macaulay2()
    return f"Macaulay2: {found}" if isinstance(found, str) else f"Macaulay2: {found.executable} {found.version_text}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    found = _macaulay2()
    if isinstance(found, str) and config.getoption("--require-macaulay2"):
        raise pytest.UsageError(f"Macaulay2 is required: {found}")
    singular = shutil.which("Singular")
    if singular is None and config.getoption("--require-singular"):
        raise pytest.UsageError("Singular is required, but it is not on PATH")
    slurm = missing_for_slurm()
    if slurm is not None and config.getoption("--require-slurm"):
        raise pytest.UsageError(f"Slurm is required: {slurm}")
    for item in items:
        if item.get_closest_marker("slurm") and slurm is not None:
            item.add_marker(pytest.mark.skip(reason=f"no Slurm cluster: {slurm}"))
        if item.get_closest_marker("singular") and singular is None:
            item.add_marker(pytest.mark.skip(reason="Singular is not on PATH"))
        if item.get_closest_marker("macaulay2") and isinstance(found, str):
            item.add_marker(pytest.mark.skip(reason=found))
        if item.get_closest_marker("slow") and not config.getoption("--slow"):
            item.add_marker(pytest.mark.skip(reason="slow: run with --slow"))


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmEngine]:
    """One warm engine for all tests that only need answers."""
    with WarmEngine() as engine:
        yield engine
