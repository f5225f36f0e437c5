"""Every operation's tiny instance: its script is the golden one, its result is read without Macaulay2."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest

from m2bridge import compute
from m2bridge.errors import ResultError
from m2bridge.render import script_key
from tests.recorded import FAULTS, RESULTS, SCRIPTS, golden_script, read_recorded
from tests.runs import reference_engine
from tests.tiny import INSTANCES

CASES = [(name, fault) for name, faults in FAULTS.items() for fault in faults]


@pytest.mark.parametrize("name", INSTANCES)
def test_script_is_the_golden_one(name: str) -> None:
    assert INSTANCES[name].script() == golden_script(name), "if this is meant: python -m tests.regenerate"


@pytest.mark.parametrize("name", INSTANCES)
def test_script_names_itself(name: str) -> None:
    script = golden_script(name)
    found = re.search('^m2bKey = "([0-9a-f]{64})";$', script, re.MULTILINE)
    assert found is not None
    assert found[1] == script_key(script)


def test_there_is_a_file_for_every_fault() -> None:
    wanted = {f"{name}.json" for name in INSTANCES} | {f"{name}-{fault}.json" for name, fault in CASES}
    assert {path.name for path in RESULTS.iterdir()} == wanted
    assert {path.name for path in SCRIPTS.iterdir()} == {f"{name}.m2" for name in INSTANCES}


@pytest.mark.parametrize(("name", "fault"), CASES)
def test_spoilt_result_is_refused(name: str, fault: str) -> None:
    file = RESULTS / f"{name}-{fault}.json"
    _, message = FAULTS[name][fault]
    with pytest.raises(ResultError, match=message) as caught:
        read_recorded(INSTANCES[name], file)
    assert caught.value.file.startswith(str(RESULTS))


@pytest.mark.macaulay2
@pytest.mark.parametrize("name", INSTANCES)
def test_run_gives_the_recorded_result(name: str) -> None:
    recorded = read_recorded(INSTANCES[name], RESULTS / f"{name}.json")
    assert _without_times(compute(INSTANCES[name], engine=reference_engine())) == _without_times(recorded)


def _without_times(result: Any) -> dict[str, Any]:
    return {f.name: getattr(result, f.name) for f in fields(result) if f.name not in ("provenance", "cpu_seconds")}
