"""The README's picture is drawn from a finished run of HAN, as the site prints the real view."""

import json
from concurrent.futures import ThreadPoolExecutor

import lab
import numpy as np
import pytest
from PIL import Image

from course_lib.runs.run import train
from course_lib.runs.spec import RunSpec

pytestmark = pytest.mark.full


def test_a_finished_run_draws_three_readers_one_below_the_other(tmp_path, missing):
    if lab.chromium() is None:
        missing("Chromium is not installed")
    import readme_pictures

    overrides = {"training.epochs": 1, "model.hidden": 2}
    train(RunSpec("han", "toy", "small", overrides, limit=50, test=False), tmp_path / "run")
    with ThreadPoolExecutor(1) as thread:  # playwright runs once a thread, and other tests run it
        thread.submit(readme_pictures.write_pictures, tmp_path / "run", tmp_path).result()
    kept = json.loads((tmp_path / "hero" / "readings.json").read_text(encoding="utf-8"))
    assert kept["words"][:4] == ["I", "expected", "a", "dull"]
    for reader in kept["readers"]:
        assert sum(reader["attention"]) == pytest.approx(1, abs=1e-3)
        assert sum(reader["probabilities"]) == pytest.approx(1, abs=1e-3)
    with Image.open(tmp_path / "hero" / "readers.png") as drawn:
        pixels = np.asarray(drawn.convert("RGB"), int)
    assert 1 < pixels.shape[1] / pixels.shape[0] < 1.5  # a phone shows it at nearly its own size
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 20  # tints, and the scales
