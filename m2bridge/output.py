"""The one JSON document that every sub-command prints with ``--json``; its schema is data/result-1.schema.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from m2bridge.errors import M2BridgeError, RunError
from m2bridge.evidence import Evidence
from m2bridge.operations import Provenance

FORMAT = "m2bridge-result/1"


def provenance(
    *,
    package_version: str,
    field: str,
    seed: int,
    run: Provenance | None,
    cpu_seconds: float,
    wall_seconds: float,
) -> dict[str, Any]:
    """Return where a result comes from.

    ``cpu_seconds`` and ``wall_seconds`` are those of the whole command; those of Macaulay2 stand apart.
    """
    return {
        "package": package_version,
        "field": field,
        "seed": seed,
        "macaulay2": None if run is None else run.macaulay2,
        "script_sha256": None if run is None else run.script_sha256,
        "macaulay2_cpu_seconds": None if run is None else run.cpu_seconds,
        "macaulay2_wall_seconds": None if run is None else run.wall_seconds,
        "peak_memory_megabytes": None if run is None else run.peak_memory_megabytes,
        "cpu_seconds": cpu_seconds,
        "wall_seconds": wall_seconds,
    }


def result_document(
    operation: str,
    input_: Mapping[str, Any],
    result: Mapping[str, Any] | None,
    evidence: Evidence | None,
    provenance: Mapping[str, Any],
    error: M2BridgeError | None = None,
) -> str:
    """Return the document as JSON text; ``result`` and ``evidence`` are null where there is an error."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "operation": operation,
        "input": input_,
        "result": result,
        "evidence": None if evidence is None else evidence.value,
        "provenance": provenance,
    }
    if error is not None:
        document["error"] = {"type": type(error).__name__, "message": str(error)}
        if isinstance(error, RunError):
            document["error"] |= {
                "status": error.outcome.status.value,
                "folder": str(error.outcome.folder),
                "script_line": error.outcome.script_line,
            }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
