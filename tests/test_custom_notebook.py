"""The notebook for a file of one's own, on another file, by papermill's parameters."""

import shutil

import nbformat
import papermill
import pytest
from custom_files import ROWS, delimited

from course_kit.publishing import lessons
from course_lib.files import REPOSITORY

NOTEBOOK = REPOSITORY / "notebooks" / "experiments" / "your_own_text.ipynb"
NAME = "made_for_a_test.csv"


@pytest.fixture
def clean():
    yield
    for folder in (REPOSITORY / "runs").glob(f"*-{NAME}_*"):
        shutil.rmtree(folder)


@pytest.mark.full
@pytest.mark.usefixtures("own_cache", "clean")
def test_another_file_system_and_preset(tmp_path):
    path, out = tmp_path / NAME, tmp_path / "out.ipynb"
    path.write_text(delimited(ROWS, heading=("review", "stars")))
    chosen = {"path": str(path), "text": "review", "label": "stars", "overrides": {}}
    papermill.execute_notebook(
        NOTEBOOK, out, chosen | {"system": "iram", "preset": "small"}, progress_bar=False
    )
    executed = nbformat.read(out, as_version=4)
    assert lessons.errors_in(executed) == []
    outputs = [output for cell in executed.cells for output in cell.get("outputs", [])]
    told = "".join(output.get("text", "") for output in outputs)
    assert "24 texts in 3 classes (bad 8, fine 8, good 8)" in told
    assert "attention " in told and "leave-one-out " in told and "mean words in" in told
