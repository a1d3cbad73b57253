"""A small grid killed, failing and spoiled; ``faults.py`` does the same at length."""

import json
import time
from contextlib import suppress

import psutil
import pytest
from project import SMALL, Project, records

TINY = {"system": "han", "limit": 60}
GOOD = SMALL | TINY | {"seeds": [0, 1], "overrides": {"epochs": 1}}
BAD = SMALL | TINY | {"overrides": {"epochs": 1, "learning_rate": 1e30, "batch_size": 5}}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return Project(tmp_path_factory.mktemp("faults") / "project", {"all": [GOOD, BAD]})


def run_folders(project):
    return sorted((project.folder / "runs").glob("han-*"))


def test_a_grid_that_is_killed_goes_on_and_one_failure_does_not_stop_it(project):
    process = project.start("run", "all")
    while process.poll() is None and not records(project):
        time.sleep(0.2)
    for victim in [*psutil.Process(process.pid).children(recursive=True), process]:
        with suppress(psutil.NoSuchProcess):
            victim.kill()
    process.communicate()
    assert len(records(project)) >= 1
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
