"""A small grid killed, failing and spoiled."""

import json
import subprocess
import time
from contextlib import suppress

import psutil
import pytest
from project import SMALL, Project, records

pytestmark = pytest.mark.full
TINY = {"system": "han", "limit": 60}
GOOD = SMALL | TINY | {"seeds": [0, 1], "overrides": {"training.epochs": 1}}
BAD = (
    SMALL
    | TINY
    | {
        "overrides": {
            "training.epochs": 1,
            "training.learning_rate": 1e30,
            "training.batch_size": 5,
        }
    }
)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = Project(tmp_path_factory.mktemp("faults") / "project", {"all": [GOOD, BAD]})
    made.prepare()
    return made


def run_folders(project):
    return sorted((project.folder / "runs").glob("han-*"))


def test_a_grid_that_is_killed_goes_on_and_one_failure_does_not_stop_it(project):
    process = project.start("run", "all")
    while process.poll() is None and not records(project):
        time.sleep(0.2)
    for victim in psutil.Process(process.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            victim.kill()
    with suppress(subprocess.TimeoutExpired):  # Snakemake removes the outputs of killed jobs
        process.wait(5)  # and no record is one
    process.kill()
    output = process.communicate()[0]
    assert len(records(project)) >= 1, output + project.log()
    code, output = project.call("run", "all")
    assert code == 1, output
    assert "of 3 runs are done" in output and "0 of 3 runs are done" not in output
    assert len(records(project)) == 2
    (failed,) = (place for place in run_folders(project) if not (place / "record.json").exists())
    assert f"{failed.name} failed: " in output and str(failed / "run.ipynb") in output
    assert "TrainingError: loss is" in output
    assert "TrainingError" in (failed / "run.ipynb").read_text()


def test_records_that_were_spoiled_are_made_again_and_say_so(project):
    project.write_grid({"all": [GOOD]})
    code, output = project.call("run", "all")
    assert (code, output) == (0, "2 of 2 runs are done\n")
    before = records(project)
    half, other = (project.folder / "runs" / name / "record.json" for name in before)
    half.write_bytes(half.read_bytes()[:-40])
    made = json.loads(other.read_text())
    other.write_text(json.dumps(made | {"data": made["data"] | {"content": "0" * 64}}))
    code, output = project.call("run", "all")
    assert code == 0, output + project.log()
    assert f"{half} is no record" in output
    assert f"{other} was made from other data than toy holds now" in output
    assert output.count("training again") == 2
    assert records(project) == before
    half.unlink()  # by hand
    code, output = project.call("run", "all")
    assert code == 0, output + project.log()
    assert records(project) == before


def test_a_full_disk_is_said_and_the_run_is_made_once_there_is_space(project, full_disk):
    project.write_grid({"all": [GOOD | {"seeds": [7]}]})
    expected = set(records(project))
    with full_disk(150_000):  # bytes: enough for the weights, too little for the optimiser's state
        code, output = project.call("run", "all")
    assert code == 1
    assert "DataError: cannot write" in output and "checkpoint-" in output, output
    assert "Nothing of it was kept. Free some space" in output
    assert set(records(project)) == expected
    (folder,) = (place for place in run_folders(project) if place.name.endswith("-s7"))
    assert not list(folder.rglob("*.tmp")) and not list(folder.rglob("checkpoint-*"))
    code, output = project.call("run", "all")
    assert code == 0, output + project.log()
    assert set(records(project)) == expected | {folder.name}
