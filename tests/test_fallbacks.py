"""Where a network's files cannot be had, another takes its place, and no picture of that one tells
what was found in the first."""

import json

import matplotlib.pyplot as plt
import pytest

from course_lib.files import REPOSITORY
from course_lib.views import plots

OF_MINILM = ("72", "[CLS]", "layer 2", "layers 3", "36", "last layer")


@pytest.mark.full
@pytest.mark.parametrize("name", ["11_pretrained", "further/heads_after_fine_tuning"])
def test_a_picture_of_a_small_transformer_tells_nothing_of_minilm(name, monkeypatch):
    told = []

    def show(figure, alt):
        title = figure._suptitle.get_text() if figure._suptitle else ""
        told.append(f"{alt}; {title}; {[axis.get_title(loc='left') for axis in figure.axes]}")
        plt.close(figure)

    monkeypatch.setattr(plots, "show", show)
    monkeypatch.setenv("COURSE_PROFILE", "smoke")
    notebook = json.loads((REPOSITORY / "notebooks" / f"{name}.ipynb").read_text("utf-8"))
    names = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert len(told) >= 2
    assert not [one for one in told if any(finding in one for finding in OF_MINILM)]
