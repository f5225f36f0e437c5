"""Whether the installation works: what was found where, which version, and a tiny job through the engine."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from m2bridge.engines import ScriptEngine
from m2bridge.errors import M2BridgeError, Macaulay2Broken
from m2bridge.ideal import Ideal
from m2bridge.install import Installation, install
from m2bridge.macaulay2 import Candidate, Macaulay2, candidates, find_macaulay2, inspect_executable
from m2bridge.operations import ComputeGroebnerBasis, compute
from m2bridge.polynomials import to_text

_INSTALL = (
    "Install Macaulay2 1.21 or newer: on Debian and Ubuntu 'apt-get install macaulay2' as root, on Fedora "
    "'dnf install Macaulay2', on macOS 'brew install macaulay2/tap/M2'; without root 'm2bridge doctor --install'; "
    "or set M2BRIDGE_M2 to an executable."
)


@dataclass(frozen=True)
class Examined:
    """A place that was looked at: what is there, its version, or why it is of no use."""

    place: Candidate
    macaulay2: Macaulay2 | None
    problem: str


@dataclass
class Diagnosis:
    """What was found.

    Attributes
    ----------
    examined
        The places looked at, in order.
    macaulay2
        The one that is used, or None.
    reason
        Why it is that one.
    start_seconds
        Wall-clock seconds of a whole run with a tiny Gröbner basis.
    problem
        Why it does not work; empty if it does.
    """

    examined: list[Examined] = field(default_factory=list)
    macaulay2: Macaulay2 | None = None
    reason: str = ""
    start_seconds: float | None = None
    problem: str = ""

    @property
    def works(self) -> bool:
        """Whether a job ran and gave the right answer."""
        return not self.problem

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as plain data."""
        return {
            "works": self.works,
            "executable": None if self.macaulay2 is None else self.macaulay2.executable,
            "version": None if self.macaulay2 is None else self.macaulay2.version_text,
            "reason": self.reason or None,
            "start_seconds": self.start_seconds,
            "problem": self.problem or None,
            "candidates": [
                {
                    "named_by": each.place.named_by,
                    "executable": each.place.executable,
                    "version": None if each.macaulay2 is None else each.macaulay2.version_text,
                    "problem": each.problem or None,
                }
                for each in self.examined
            ],
        }

    def text(self) -> str:
        """Return the diagnosis in lines for a person."""
        lines = ["Looked for Macaulay2 at, in this order:"]
        for each in self.examined:
            found = each.problem or each.place.executable
            if each.macaulay2 is not None:
                found = f"{found}, version {each.macaulay2.version_text}"
            lines.append(f"  {each.place.named_by}: {found}")
        if self.macaulay2 is not None:
            lines.append(f"Used: {self.macaulay2.executable}, version {self.macaulay2.version_text}: {self.reason}")
        if self.start_seconds is not None:
            lines.append(f"A tiny job took {self.start_seconds:.2f} s, start included, and its answer is right.")
        if self.problem:
            lines += [f"It does not work: {self.problem}", _INSTALL]
        return "\n".join(lines)


def diagnose(executable: str | None = None) -> Diagnosis:
    """Find Macaulay2 and try it; a failure is part of the diagnosis, not an exception."""
    found = Diagnosis([_examine(place) for place in candidates(executable)])
    try:
        found.macaulay2 = find_macaulay2(executable)
        found.reason = _reason(found.examined, found.macaulay2)
        found.start_seconds = run_tiny_job(found.macaulay2)
    except M2BridgeError as error:
        found.problem = str(error)
    return found


def _examine(place: Candidate) -> Examined:
    if place.executable is None:
        return Examined(place, None, "nothing there")
    try:
        return Examined(place, inspect_executable(place.executable), "")
    except M2BridgeError as error:
        return Examined(place, None, str(error))


def _reason(examined: list[Examined], used: Macaulay2) -> str:
    passed_over: list[str] = []
    for each in examined:
        if each.macaulay2 == used:
            return f"it is {each.place.named_by}" + "".join(f", and {problem}" for problem in passed_over)
        absent = each.place.executable is None
        passed_over.append(f"there is no {each.place.named_by}" if absent else f"{each.place.named_by} is of no use")
    return "it is the first that is of use"


def run_tiny_job(macaulay2: Macaulay2) -> float:
    """Compute a tiny Gröbner basis and return the wall-clock seconds, those of the start included.

    Raises
    ------
    M2BridgeError
        If there is no result, or a wrong one.
    """
    ideal = Ideal.from_strings(["x", "y"], ["x*y - 1", "y^2 - x"])
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="m2bridge-doctor-") as folder, ScriptEngine(macaulay2) as engine:
        basis = compute(ComputeGroebnerBasis(ideal, order="lex"), engine=engine, folder=Path(folder))
    seconds = time.monotonic() - start
    answer = [to_text(g) for g in basis.generators]
    if answer != ["y^3-1", "x-y^2"]:
        raise Macaulay2Broken(macaulay2.executable, f"a Groebner basis came back wrong: {answer}")
    return seconds


def install_macaulay2(*, release: str | None = None, say: Callable[[str], None] = lambda line: None) -> Installation:
    """Install a copy of Macaulay2 for this user, without root; see `m2bridge.install.install`.

    Raises
    ------
    InstallationFailed
        If no release works here, or none can be had.
    """

    def try_executable(executable: str) -> str:
        macaulay2 = inspect_executable(executable)
        run_tiny_job(macaulay2)
        return macaulay2.version_text

    return install(try_executable, release=release, say=say)
