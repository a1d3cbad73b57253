"""A copy of the project with a grid of its own: small enough to be run, killed and spoiled."""

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import yaml

from course_lib.files import REPOSITORY

SMALL = {"dataset": "toy", "preset": "small", "device": "cpu", "threads": 1}


class Project:
    """``grid`` is what ``grid.yaml`` holds; everything is written below ``folder``."""

    def __init__(self, folder: Path, grid: dict) -> None:
        self.folder = folder
        ours = shutil.ignore_patterns("__pycache__")
        folder.mkdir(parents=True)
        shutil.copy(REPOSITORY / "pyproject.toml", folder)  # by which the copy knows its root
        for package in ("course_lib", "course_kit"):
            shutil.copytree(REPOSITORY / package, folder / package, ignore=ours)
        shutil.copytree(REPOSITORY / "notebooks" / "experiments", self.experiments)
        self.write_grid(grid)
        self.environment = os.environ | {
            "PYTHONPATH": str(folder),
            "COURSE_DATA_DIR": str(folder / "data"),
        }

    @property
    def experiments(self) -> Path:
        return self.folder / "notebooks" / "experiments"

    def write_grid(self, grid: dict) -> None:
        (self.experiments / "grid.yaml").write_text(yaml.safe_dump(grid, sort_keys=False))

    def log(self) -> str:
        """What Snakemake said."""
        return (self.folder / "runs" / "snakemake.log").read_text()

    def prepare(self) -> None:
        """Write the made-up reviews, which a run would do otherwise."""
        command = "from course_lib.data.corpus import load_corpus; load_corpus('toy')"
        subprocess.run(
            [sys.executable, "-c", command],
            cwd=self.folder,
            env=self.environment,
            check=True,
            capture_output=True,
        )

    def start(self, *arguments: str) -> subprocess.Popen:
        """``attention-course grid`` in a process group of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "course_lib", "grid", *arguments],
            cwd=self.folder,
            env=self.environment,
            text=True,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def call(self, *arguments: str) -> tuple[int, str]:
        """Exit code and output of ``attention-course grid``."""
        process = self.start(*arguments)
        output = process.communicate()[0]
        return process.returncode, output


TIMES = ("seconds", "fit_seconds")


def without_times(part: dict) -> dict:
    """A part of a record without what no two runs share."""
    return {name: value for name, value in part.items() if name not in TIMES}


def records(project: Project) -> dict[str, object]:
    """What the runs of a project recorded, but for times; raises if a record is half a file. Those
    that were moved aside as stale do not count."""
    paths = sorted((project.folder / "runs").glob("*/record.json"))
    kept = (path for path in paths if ".stale-" not in path.parent.name)
    load = partial(json.loads, object_hook=without_times)
    return {path.parent.name: load(path.read_text()) for path in kept}
