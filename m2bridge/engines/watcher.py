"""Ends the sessions of a Python process that dies, however it dies.

Run as a program of its own, with the standard library alone. It reads lines ``+SESSION`` and ``-SESSION`` on
its standard input, a pipe that only the Python process holds open. When the pipe closes, every process of the
sessions still registered is killed. A killed (-9) parent closes its pipes, so this needs no cooperation.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

_PROC = Path("/proc")


def session_members(session: int) -> list[int]:
    """Return the living processes of a session (on systems with /proc)."""
    members = []
    for entry in os.listdir(_PROC):
        if not entry.isdigit():
            continue
        try:
            stat = (_PROC / entry / "stat").read_bytes()
        except OSError:
            continue  # It ended while we looked.
        # The command's name stands in parentheses and may hold blanks and parentheses.
        state, _, _, member_of = stat[stat.rindex(b")") + 2 :].split()[:4]
        if int(member_of) == session and state not in (b"Z", b"X"):
            members.append(int(entry))
    return members


def signal_session(session: int, number: int) -> bool:
    """Send a signal to each process of a session; say whether there was one left."""
    if not _PROC.joinpath("self").exists():
        try:
            os.killpg(session, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True
    members = session_members(session)
    for member in members:
        try:
            os.kill(member, number)
        except ProcessLookupError:
            continue
    return bool(members)


def kill_session(session: int) -> None:
    """Kill every process of a session, those that are forked meanwhile included."""
    for _ in range(200):
        if not signal_session(session, signal.SIGKILL):
            return
        time.sleep(0.005)


def main() -> None:
    """Serve until the pipe closes, then kill what is still registered."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sessions: set[int] = set()
    for line in sys.stdin:
        session = int(line[1:])
        if line[0] == "+":
            sessions.add(session)
        else:
            sessions.discard(session)
    for session in sessions:
        kill_session(session)


if __name__ == "__main__":
    main()
