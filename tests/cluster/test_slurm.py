"""A small grid on a Slurm of one node, started for the test: needs root and Debian's packages."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
import yaml
from project import SMALL, Project, records

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch")
absent = [
    name for name in PROGRAMS if not shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
]
USUAL = Path("/etc/slurm/slurm.conf")  # where jobs look, whose environment names no other place
pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(bool(absent), reason=f"not installed: {', '.join(absent)}"),
    pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="needs root"),
    pytest.mark.skipif(USUAL.exists(), reason=f"{USUAL}: this machine has a Slurm of its own"),
]
CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={controller}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MailProg=/bin/true
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """A cluster of this machine, ended with the test."""
    folder = tmp_path_factory.mktemp("slurm")
    folder.chmod(0o755)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    host = socket.gethostname().partition(".")[0]
    ports = {"controller": free_port(), "node": free_port()}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 9 // 10 // 2**20
    (folder / "slurm.conf").write_text(
        CONFIGURATION.format(host=host, folder=folder, cpus=os.cpu_count(), memory=memory, **ports)
    )
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o400)
    files = {
        "socket": "munge.socket",
        "pid-file": "munge.pid",
        "log-file": "munge.log",
        "seed-file": "munge.seed",
        "key-file": "munge.key",
    }
    daemons = [
        ["munged", "--force", "--foreground", *(f"--{k}={folder / v}" for k, v in files.items())],
        ["slurmctld", "-D", "-c", "-L", str(folder / "slurmctld.log")],
        ["slurmd", "-D", "-N", host, "-L", str(folder / "slurmd.log")],
    ]
    started = []
    environment = os.environ | {"PATH": f"{os.environ['PATH']}:/usr/sbin"}
    USUAL.unlink(missing_ok=True)  # a link into nowhere, of a test that was killed
    USUAL.symlink_to(folder / "slurm.conf")
    try:
        with (folder / "daemons.log").open("w") as log:
            for command in daemons:
                output = {"stdout": log, "stderr": log}
                started.append(subprocess.Popen(command, env=environment, **output))
                while started[0].poll() is None and not (folder / "munge.socket").exists():
                    time.sleep(0.1)
        wait_until_idle(folder, started)
        yield
    finally:
        for daemon in reversed(started):
            daemon.terminate()
            daemon.wait()
        USUAL.unlink()


def wait_until_idle(folder, daemons):
    for _ in range(600):
        found = subprocess.run(
            ["sinfo", "--noheader", "--format=%T"], capture_output=True, text=True
        )
        if found.stdout.strip() == "idle":
            return
        if any(daemon.poll() is not None for daemon in daemons):
            break
        time.sleep(1)
    logs = "\n".join(path.read_text()[-2000:] for path in folder.glob("*.log"))
    pytest.fail(f"Slurm did not start: {found.stdout}{found.stderr}\n{logs}")


def test_a_grid_runs_through_slurm_and_leaves_the_records_of_one_machine(slurm, tmp_path):
    tiny = {"limit": 60, "overrides": {"training.epochs": 1}}
    grid = {"pair": [SMALL | tiny | {"system": "han", "seeds": [0, 1]}]}
    here, there = (Project(tmp_path / name, grid) for name in ("here", "there"))
    profile = there.experiments / "profiles" / "slurm" / "config.yaml"
    settings = yaml.safe_load(profile.read_text())
    profile.write_text(
        yaml.safe_dump(settings | {"latency-wait": 5, "slurm-status-command": "squeue"})
    )
    code, output = there.call(
        "run", "pair", "--on", "slurm", "--slurm-init-seconds-before-status-checks", "5"
    )
    console = there.log()
    assert code == 0, output + console
    assert "SLURM run ID" in console and console.count("submitted with SLURM jobid") == 2
    assert here.call("run", "pair")[0] == 0
    found, expected = records(there), records(here)
    assert len(found) == 2 and found == expected
