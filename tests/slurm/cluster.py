"""A throw-away Slurm cluster on one machine: a controller and several nodes on loopback, nothing under /etc.

    python -m tests.slurm.cluster FOLDER [NODES]      starts one and prints how to use it; ends with Ctrl-C

It needs root (the daemons of Slurm do) and Debian's slurm-wlm and munge.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "sinfo")

_CONFIGURATION = """
ClusterName=sandbox
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=10
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/pid/slurmctld.pid
SlurmdPidFile={folder}/pid/slurmd-%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
SwitchType=switch/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=500
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=5,batch_sched_delay=0,sched_min_interval=0,defer_batch=0
PriorityType=priority/basic
AccountingStorageType=accounting_storage/none
ReturnToService=2
SlurmdTimeout=10
SlurmctldTimeout=10
InactiveLimit=0
KillWait=5
MinJobAge=300
MaxArraySize={max_array_size}
JobRequeue=1
"""


def missing() -> str | None:
    """Return why there can be no cluster here, or None."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    absent = [program for program in PROGRAMS if shutil.which(program, path=path) is None]
    if absent:
        return f"not installed: {', '.join(absent)} (Debian's slurm-wlm and munge)"
    return None if os.geteuid() == 0 else "the daemons of Slurm need root"


class Cluster:
    """A running cluster; its clients find it by the environment in `environment`."""

    def __init__(self, folder: Path, nodes: int = 3, *, max_array_size: int = 1001, cpus: int = 2) -> None:
        self.folder = folder
        self.nodes = [f"n{i}" for i in range(1, nodes + 1)]
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": f"{os.environ['PATH']}:/usr/sbin"}
        for name in ("state", "log", "pid"):
            (folder / name).mkdir(parents=True)
        self._start_munge()
        host = socket.gethostname().split(".")[0]
        try:
            socket.gethostbyname(host)
        except OSError:
            with Path("/etc/hosts").open("a") as hosts:
                hosts.write(f"127.0.0.1 {host}\n")
        ports = _free_ports(nodes + 1)
        lines = [_CONFIGURATION.format(host=host, port=ports[0], folder=folder, max_array_size=max_array_size)]
        for name, port in zip(self.nodes, ports[1:], strict=True):
            lines.append(
                f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory=8000\n"
            )
        lines.append(f"PartitionName=main Nodes={','.join(self.nodes)} Default=YES MaxTime=INFINITE State=UP\n")
        (folder / "slurm.conf").write_text("".join(lines))
        try:
            self.start_controller("-c")
            for name in self.nodes:
                (folder / f"spool-{name}").mkdir()
                self.start_node(name)
            self._wait_until_idle()
        except BaseException:
            self.stop()
            raise

    def _start_munge(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        self.run(
            *("munged", "--force", f"--socket={self.folder}/munge.sock", f"--key-file={key}"),
            *(f"--pid-file={self.folder}/pid/munged.pid", f"--log-file={self.folder}/log/munged.log"),
            *(f"--seed-file={self.folder}/munge.seed", "--num-threads=2"),
        )

    def run(self, *command: str, check: bool = True) -> str:
        """Run a command of Slurm's and return what it printed."""
        # Daemons keep what they inherit: a pipe would never close.
        with tempfile.TemporaryFile("w+") as output:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **self.environment},
                timeout=180,
                check=False,
            )
            output.seek(0)
            said = output.read()
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {said}")
        return said

    def start_controller(self, *options: str) -> None:
        """Start the controller; with ``-c`` it forgets all jobs."""
        self.run("slurmctld", *options)

    def stop_controller(self, signal_number: int = signal.SIGTERM) -> None:
        """End the controller; the nodes work on."""
        self._end("slurmctld", signal_number)

    def start_node(self, name: str) -> None:
        """Start the daemon of a node."""
        self.run("slurmd", "-N", name)

    def kill_node(self, name: str) -> None:
        """Kill the daemon of a node and everything that runs on it, as a power failure would."""
        mine = {int(pid) for pid in self._pids_of_steps(name)}
        self._end(f"slurmd-{name}", signal.SIGKILL)
        for pid in _with_descendants(mine):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def _pids_of_steps(self, name: str) -> list[str]:
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and (entry / "comm").read_text().strip() == "slurmstepd":
                    # The step's working folder is the spool of its node.
                    log = os.readlink(entry / "cwd")
                    if f"spool-{name}" in log or f"slurmd-{name}.log" in _open_files(entry):
                        found.append(entry.name)
        return found

    def squeue(self, *options: str) -> list[str]:
        """Return the lines of squeue."""
        return self.run("squeue", "--noheader", *options, check=False).splitlines()

    def _wait_until_idle(self) -> None:
        for _ in range(150):
            states = self.run("sinfo", "-h", "-N", "-o", "%T", check=False).split()
            if states == ["idle"] * len(self.nodes):
                return
            time.sleep(0.1)
        logs = "\n".join(path.read_text()[-2000:] for path in (self.folder / "log").glob("*.log"))
        raise RuntimeError(f"Slurm did not come up:\n{logs}")

    def _end(self, name: str, signal_number: int) -> None:
        path = self.folder / "pid" / f"{name}.pid"
        if not path.exists():
            return
        pid = int(path.read_text())
        with suppress(OSError):
            os.kill(pid, signal_number)
            for _ in range(100):
                os.kill(pid, 0)
                time.sleep(0.05)
            os.kill(pid, signal.SIGKILL)
        path.unlink(missing_ok=True)

    def stop(self) -> None:
        """Cancel all jobs and end all daemons."""
        with suppress(Exception):
            self.run("scancel", "--state=RUNNING", "--quiet", check=False)
            self.run("scancel", "--state=PENDING", "--quiet", check=False)
        for name in ("slurmctld", *(f"slurmd-{node}" for node in self.nodes), "munged"):
            self._end(name, signal.SIGTERM)


def _open_files(process: Path) -> str:
    found = []
    for entry in (process / "fd").iterdir():
        with suppress(OSError):
            found.append(os.readlink(entry))
    return " ".join(found)


def _with_descendants(pids: set[int]) -> set[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
    found = set(pids)
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return found
        found |= more


def _free_ports(count: int) -> list[int]:
    with_sockets = [socket.socket() for _ in range(count)]
    try:
        for one in with_sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in with_sockets]
    finally:
        for one in with_sockets:
            one.close()


if __name__ == "__main__":
    cluster = Cluster(Path(sys.argv[1]).absolute(), int(sys.argv[2]) if len(sys.argv) > 2 else 3)
    print(  # noqa: T201 - for a person
        f"export SLURM_CONF={cluster.environment['SLURM_CONF']} PATH=$PATH:/usr/sbin", flush=True
    )
    try:
        signal.pause()
    except KeyboardInterrupt:
        cluster.stop()
