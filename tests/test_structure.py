"""Names that must agree, exceptions that must travel, public names that must be explained."""

from __future__ import annotations

import importlib
import inspect
import pickle
from dataclasses import fields
from pathlib import Path

import pytest

import m2bridge
from m2bridge import errors
from m2bridge.job import Outcome, Status
from m2bridge.operations import OPERATIONS, Operation
from m2bridge.render import template_names
from tests.recorded import HERE, RESULTS
from tests.tiny import INSTANCES

NAMES = {operation.name for operation in OPERATIONS}
OPERATION_MODULES = Path(m2bridge.__file__).parent / "operations"
SHARED_MODULES = {"__init__", "base", "closure_ideal"}
SHARED_TEMPLATES = {"header", "frame", "encode", "closure_ideal", "initial_ideal", "server"}


def test_every_operation_has_its_module() -> None:
    assert {path.stem for path in OPERATION_MODULES.glob("*.py")} - SHARED_MODULES == NAMES


def test_every_operation_has_its_template() -> None:
    assert {name.removesuffix(".m2") for name in template_names()} - SHARED_TEMPLATES == NAMES


def test_every_operation_has_its_test() -> None:
    found = {path.stem.removeprefix("test_") for path in (HERE / "operations").glob("test_*.py")}
    assert found - {"recorded"} == NAMES


def test_every_operation_has_its_recorded_result() -> None:
    assert {path.stem for path in RESULTS.glob("*.json") if "-" not in path.stem} == NAMES
    assert set(INSTANCES) == NAMES


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_operation_lives_in_its_module(operation: type[Operation[object]]) -> None:
    assert operation.__module__ == f"m2bridge.operations.{operation.name}"
    assert operation.title.endswith(".")
    assert inspect.getdoc(operation)


def _exceptions() -> list[type[errors.M2BridgeError]]:
    found = [value for value in vars(errors).values() if inspect.isclass(value)]
    return [value for value in found if issubclass(value, errors.M2BridgeError)]


def _operand(name: str) -> object:
    if name == "outcome":
        return Outcome(
            status=Status.REFUSED,
            operation="fibre",
            folder=Path("folder"),
            wall_seconds=1.5,
            cpu_seconds=1.0,
            peak_memory_megabytes=None,
            returncode=1,
            message="division by zero",
        )
    return ("PATH",) if name == "tried" else f"the {name}"


@pytest.mark.parametrize("kind", _exceptions(), ids=lambda kind: kind.__name__)
def test_exception_travels(kind: type[errors.M2BridgeError]) -> None:
    error = kind(*(_operand(field.name) for field in fields(kind)))
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert type(again) is kind
    assert str(again) == str(error)
    for field in fields(kind):
        assert getattr(again, field.name) == getattr(error, field.name)
    assert inspect.getdoc(kind)


@pytest.mark.parametrize("name", m2bridge.__all__)
def test_public_name_is_explained(name: str) -> None:
    value = getattr(m2bridge, name)
    assert inspect.getdoc(value)
    if inspect.isclass(value):
        public = [member for label, member in vars(value).items() if label[0] != "_" and inspect.isfunction(member)]
        assert all(inspect.getdoc(member) for member in public)


@pytest.mark.parametrize("path", sorted(Path(m2bridge.__file__).parent.rglob("*.py")), ids=lambda path: path.stem)
def test_module_says_what_it_is(path: Path) -> None:
    relative = path.relative_to(Path(m2bridge.__file__).parent.parent).with_suffix("")
    parts = [part for part in relative.parts if part != "__init__"]
    if parts[-1] != "__main__":
        assert inspect.getdoc(importlib.import_module(".".join(parts)))


def test_package_is_typed() -> None:
    assert (Path(m2bridge.__file__).parent / "py.typed").is_file()
