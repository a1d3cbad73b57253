"""SIGKILL at random moments of a grid of six runs, restarted each time, until all is done.

``python tests/cluster/faults.py --kills 20 --seed 0`` takes about half an hour on two cores. In the
end every run has its record, equal to that of an undisturbed grid but for times. Killed is, in
turns, everything at once (as when a machine loses power), the command alone, whose children live
on, and any one process below it (as by a kernel that is out of memory).
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil
from project import SIX_RUNS, Project, records

SHORT = {"limit": 200, "overrides": {"training.epochs": 3}}
GRID = {"six": [entry | SHORT if "seeds" in entry else entry for entry in SIX_RUNS]}


def kill_at_random(process: subprocess.Popen, chance: random.Random, longest: float) -> str:
    """Kill some of the command's processes after a while; what was killed, or that it had ended."""
    try:
        process.wait(chance.uniform(0.5, longest))
        return "nothing, all was done"
    except subprocess.TimeoutExpired:
        pass
    below = psutil.Process(process.pid).children(recursive=True)
    victims = {"all": [*below, process], "command": [process]}
    if below:
        victims["one"] = [chance.choice(below)]
    who = chance.choice(list(victims))
    what = " ".join(victims[who][0].cmdline()[1:4]) if who == "one" else who
    for victim in victims[who]:
        with suppress(psutil.NoSuchProcess):
            victim.kill()
    return what


def end_all(process: subprocess.Popen, seconds: float) -> None:
    """Give the command that long, then kill all there is of it."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        for victim in [*psutil.Process(process.pid).children(recursive=True), process]:
            with suppress(psutil.NoSuchProcess):
                victim.kill()
    process.wait()
    process.stdout.close()  # children that live on may hold the other end


def undisturbed(folder: Path) -> dict[str, object]:
    """The records of the grid when nothing goes wrong."""
    project = Project(folder, GRID)
    code, output = project.call("run", "six")
    assert code == 0, output + project.log()
    return records(project)


def disturbed(folder: Path, kills: int, seed: int, longest: float) -> dict[str, object]:
    """The records of the grid after that many kills and restarts."""
    project = Project(folder, GRID)
    chance = random.Random(seed)
    for number in range(1, kills + 1):
        before = set(records(project))
        process = project.start("run", "six")
        killed = kill_at_random(process, chance, longest)
        end_all(process, chance.uniform(0.5, longest))
        done = records(project)
        assert before <= set(done), "a finished run was lost"
        print(f"kill {number}: {killed}; {len(done)} of 6 records", flush=True)
        if len(done) == 6 and number < kills:  # more moments to hit: begin the last run again
            forget(project, sorted(done)[number % 6])
    code, output = project.call("run", "six")
    assert code == 0, output + project.log()
    assert not list((project.folder / "runs").glob("*/.*.*/")), "half files were left"
    return records(project)


def forget(project: Project, name: str) -> None:
    """Take a finished run away, so that there is something left to disturb."""
    gone = project.folder / "runs" / name
    gone.rename(project.folder / f"{name}.{time.time_ns()}")


def main() -> int:
    """Compare a disturbed grid with an undisturbed one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--longest", type=float, default=60.0, help="seconds before a kill")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        expected = undisturbed(Path(folder) / "undisturbed")
        found = disturbed(Path(folder) / "disturbed", chosen.kills, chosen.seed, chosen.longest)
    different = [name for name in expected if expected[name] != found.get(name)]
    print(f"{len(found)} of {len(expected)} runs done, {len(different)} differ: {different}")
    return 1 if different or found.keys() != expected.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
