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

HAS_PROC = os.path.exists("/proc/self/stat")


def session_members(session: int, above: int = 0) -> list[int]:
    """Return the living processes of a session (on systems with /proc) with numbers above the one given."""
    members = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) <= above:
            continue
        try:
            descriptor = os.open(f"/proc/{entry}/stat", os.O_RDONLY)
        except OSError:
            continue  # It ended while we looked.
        try:
            stat = os.read(descriptor, 4096)
        except OSError:
            continue
        finally:
            os.close(descriptor)
        # The command's name stands in parentheses and may hold blanks and parentheses.
        state, _, _, member_of = stat[stat.rindex(b")") + 2 :].split(maxsplit=4)[:4]
        if int(member_of) == session and state not in (b"Z", b"X"):
            members.append(int(entry))
    return members


def signal_session(session: int, number: int, *, spare: int = 0, above: int = 0) -> bool:
    """Send a signal to each process of a session but one; say whether there was one left.

    Without /proc the members are not known: the signal goes to the process group, and nobody can be spared.
    """
    if not HAS_PROC:
        if spare:
            return False
        try:
            os.killpg(session, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True
    members = [member for member in session_members(session, above) if member != spare]
    for member in members:
        try:
            os.kill(member, number)
        except ProcessLookupError:
            continue
    return bool(members)


def kill_session(session: int, *, spare: int = 0, above: int = 0) -> None:
    """Kill every process of a session but one, those that are forked meanwhile included."""
    for attempt in range(200):
        if not signal_session(session, signal.SIGKILL, spare=spare, above=above):
            return
        time.sleep(0.0005 if attempt < 10 else 0.005)


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
