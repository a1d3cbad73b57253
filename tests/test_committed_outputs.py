"""Reports and side notes, executed again at the profile of the committed outputs, say and show
what these say and show."""

import base64
import io

import nbformat
import numpy as np
import pytest
from conftest import REAL_DATA
from PIL import Image

from course_kit.publishing import lessons

pytestmark = pytest.mark.full
PATHS = [*lessons.REPORTS, *lessons.side_notes()]


def said(output):
    """The text of an output, and its picture."""
    data = output.get("data", {})
    text = "".join(output.get("text", data.get("text/markdown", data.get("text/html", ""))))
    return text.strip() or "".join(data.get("text/plain", "")).strip(), data.get("image/png")


def picture(png):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("L"), dtype=float)


@pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
def test_it_says_and_shows_what_is_committed(path, tmp_path, monkeypatch):
    if path not in lessons.REPORTS and not (REAL_DATA / "prepared").is_dir():
        pytest.skip("side notes read prepared data: make data")
    monkeypatch.setenv("COURSE_DATA_DIR", str(REAL_DATA))
    monkeypatch.setenv("COURSE_HEATMAP", "png")
    outcome = lessons.execute(path, tmp_path / path.name, "lesson")
    assert outcome.errors == []
    made = lessons.normalise(nbformat.read(tmp_path / path.name, as_version=4))
    committed = nbformat.read(path, as_version=4)
    for number, (new, old) in enumerate(zip(made.cells, committed.cells, strict=True)):
        outputs = [[said(output) for output in cell.get("outputs", [])] for cell in (new, old)]
        for (text, png), (before, drawn) in zip(*outputs, strict=True):
            assert text == before, f"cell {number}"
            assert (png is None) == (drawn is None), f"cell {number}"
            if png != drawn:
                one, two = picture(png), picture(drawn)
                assert one.shape == two.shape and abs(one - two).mean() < 1, f"cell {number}"
