"""Whether the installation works: what was found where, which version, and a tiny job through the engine."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from m2bridge.engines import ScriptEngine
from m2bridge.errors import M2BridgeError
from m2bridge.ideal import Ideal
from m2bridge.macaulay2 import Candidate, Macaulay2, candidates, find_macaulay2
from m2bridge.operations import ComputeGroebnerBasis, compute
from m2bridge.polynomials import to_text

_INSTALL = (
    "Install Macaulay2 1.21 or newer: on Debian and Ubuntu 'apt-get install macaulay2' as root, on Fedora "
    "'dnf install Macaulay2', on macOS 'brew install macaulay2/tap/M2'; or set M2BRIDGE_M2 to an executable."
)


@dataclass
class Diagnosis:
    """What was found.

    Attributes
    ----------
    candidates
        The places looked at, in order; the first decides.
    macaulay2
        The one that is used, or None.
    start_seconds
        Wall-clock seconds of a whole run with a tiny Gröbner basis.
    problem
        Why it does not work; empty if it does.
    """

    candidates: list[Candidate]
    macaulay2: Macaulay2 | None = None
    start_seconds: float | None = None
    problem: str = ""
    notes: list[str] = field(default_factory=list)

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
            "start_seconds": self.start_seconds,
            "problem": self.problem or None,
            "candidates": [{"named_by": c.named_by, "executable": c.executable} for c in self.candidates],
        }

    def text(self) -> str:
        """Return the diagnosis in lines for a person."""
        lines = ["Looked for Macaulay2 at (the first decides):"]
        lines += [f"  {c.named_by}: {c.executable or 'nothing there'}" for c in self.candidates]
        if self.macaulay2 is not None:
            lines.append(f"Used: {self.macaulay2.executable}, version {self.macaulay2.version_text}")
        if self.start_seconds is not None:
            lines.append(f"A tiny job took {self.start_seconds:.2f} s, start included, and its answer is right.")
        if self.problem:
            lines += [f"It does not work: {self.problem}", _INSTALL]
        return "\n".join(lines)


def diagnose(executable: str | None = None) -> Diagnosis:
    """Find Macaulay2 and try it; a failure is part of the diagnosis, not an exception."""
    found = Diagnosis(candidates(executable))
    try:
        found.macaulay2 = find_macaulay2(executable)
        ideal = Ideal.from_strings(["x", "y"], ["x*y - 1", "y^2 - x"])
        start = time.monotonic()
        with ScriptEngine(found.macaulay2) as engine:
            basis = compute(ComputeGroebnerBasis(ideal, order="lex"), engine=engine)
        found.start_seconds = time.monotonic() - start
        answer = [to_text(g) for g in basis.generators]
        if answer != ["y^3-1", "x-y^2"]:
            found.problem = f"a Groebner basis came back wrong: {answer}"
    except M2BridgeError as error:
        found.problem = str(error)
    return found
