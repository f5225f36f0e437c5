"""``python -m tests.regenerate [NAME...]``: write golden scripts and recorded results anew, with Macaulay2.

Look at the difference before you commit it: it is what a change of a template does to every user's script.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from m2bridge import Job, JobFolder, Limits, ScriptEngine
from tests.recorded import FAULTS, RESULTS, SCRIPTS, spoilt
from tests.tiny import INSTANCES


def regenerate(name: str, engine: ScriptEngine) -> None:
    """Write script and results of one operation's tiny instance."""
    job = Job(name, INSTANCES[name].script(), Limits())
    (SCRIPTS / f"{name}.m2").write_text(job.script, encoding="utf-8")
    with tempfile.TemporaryDirectory() as temporary:
        folder = JobFolder(Path(temporary) / "job")
        engine.run(job, folder).unwrap()
        document = json.loads(folder.result.read_bytes())
    # What differs from run to run would only make noise in the history.
    document |= {"cpu_microseconds": 1000, "peak_kilobytes": 65536}
    for old in RESULTS.glob(f"{name}-*.json"):
        old.unlink()
    _write(RESULTS / f"{name}.json", document)
    for fault, (spoil, _) in FAULTS[name].items():
        _write(RESULTS / f"{name}-{fault}.json", spoilt(document, spoil))


def _write(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Regenerate the operations named, or all of them."""
    SCRIPTS.mkdir(exist_ok=True)
    RESULTS.mkdir(exist_ok=True)
    with ScriptEngine() as engine:
        for name in sys.argv[1:] or INSTANCES:
            regenerate(name, engine)


if __name__ == "__main__":
    main()
