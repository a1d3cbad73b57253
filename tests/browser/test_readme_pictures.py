"""The README's pictures are drawn from a finished run of HAN, as a browser shows the real view."""

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import lab
import numpy as np
import pytest
from PIL import Image

from course_lib.runs.run import train
from course_lib.runs.spec import RunSpec

pytestmark = pytest.mark.full


def test_a_finished_run_draws_the_review_and_the_three_readers(tmp_path, missing):
    if lab.chromium() is None:
        missing("Chromium is not installed")
    import readme_pictures

    overrides = {"training.epochs": 1, "model.hidden": 2}
    train(RunSpec("han", "toy", "small", overrides, limit=50, test=False), tmp_path / "run")
    with ThreadPoolExecutor(1) as thread:  # playwright runs once a thread, and other tests run it
        thread.submit(readme_pictures.write_pictures, tmp_path / "run", tmp_path).result()
    with Image.open(tmp_path / "reading.png") as drawn:
        assert drawn.width > drawn.height > 300
        assert len(drawn.convert("RGB").getcolors(10**6)) > 20  # tints, and the scale
    kept = json.loads((tmp_path / "hero" / "readings.json").read_text(encoding="utf-8"))
    assert kept["words"][:4] == ["I", "expected", "a", "dull"]
    for reader in kept["readers"]:
        assert sum(reader["attention"]) == pytest.approx(1, abs=1e-3)
        assert sum(reader["probabilities"]) == pytest.approx(1, abs=1e-3)
    with Image.open(tmp_path / "hero" / "readers.gif") as drawn:
        frames = []
        for place in range(drawn.n_frames):
            drawn.seek(place)
            frames.append(np.asarray(drawn.convert("RGB"), int))
    assert len(frames) == 3
    assert all(np.abs(a - b).max() > 50 for a, b in pairwise(frames))
