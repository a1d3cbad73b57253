"""Reports and side notes, executed again at the profile of the committed outputs, say and show
what these say and show."""

import base64
import io

import nbformat
import numpy as np
import pytest
from PIL import Image

from course_kit.publishing import lessons

pytestmark = pytest.mark.full
PATHS = [*lessons.REPORTS, *lessons.side_notes()]


def said(cell):
    """The text of a cell's outputs, which may come in parts, and their pictures."""
    texts, pictures = [], []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        kinds = ("text/markdown", "text/html", "text/plain")
        texts.append(output.get("text") or next((data[kind] for kind in kinds if kind in data), ""))
        pictures += [data["image/png"]] if "image/png" in data else []
    return "".join("".join(text) for text in texts), pictures


def picture(png):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("L"), dtype=float)


@pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
def test_it_says_and_shows_what_is_committed(path, tmp_path, monkeypatch, real_data):
    if path not in lessons.REPORTS and not (real_data / "prepared").is_dir():
        pytest.skip("side notes read prepared data: make data")
    monkeypatch.setenv("COURSE_DATA_DIR", str(real_data))
    monkeypatch.setenv("COURSE_HEATMAP", "png")
    outcome = lessons.execute(path, tmp_path / path.name, "lesson")
    assert outcome.errors == []
    made = lessons.normalise(nbformat.read(tmp_path / path.name, as_version=4))
    committed = nbformat.read(path, as_version=4)
    told = [said(cell)[0] for cell in made.cells]
    if any(words in text for text in told for words in ("cannot be had", "could not get")):
        pytest.skip("a corpus that is not on any registry was replaced, as the note says")
    for number, (new, old) in enumerate(zip(made.cells, committed.cells, strict=True)):
        (text, drawn), (before, shown) = said(new), said(old)
        assert text == before, f"cell {number}"
        for one, other in zip(drawn, shown, strict=True):
            if one != other:
                mine, theirs = picture(one), picture(other)
                assert mine.shape == theirs.shape, f"cell {number}"
                assert abs(mine - theirs).mean() < 1, f"cell {number}"
