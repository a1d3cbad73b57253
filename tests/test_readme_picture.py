"""The README's picture is drawn from a finished run of HAN."""

from PIL import Image

from course_lib.experiments.run import train
from course_lib.experiments.spec import RunSpec
from course_lib.teaching.picture import write_picture


def test_a_finished_run_draws_the_review(tmp_path):
    overrides = {"training.epochs": 1, "model.hidden": 2}
    train(RunSpec("han", "toy", "small", overrides, limit=50, test=False), tmp_path / "run")
    write_picture(tmp_path / "run", tmp_path / "reading.png")
    with Image.open(tmp_path / "reading.png") as picture:
        assert picture.width > picture.height > 100
        assert len(picture.convert("RGB").getcolors(10**6)) > 50  # tints and text
