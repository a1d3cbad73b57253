"""A figure that follows a slider, live and where there is no kernel."""

import base64
import io
import re
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import pytest
from PIL import Image
from sweeping import SweepError, sweep

from course_lib.explore import explore_values
from course_lib.views.heatmap import widget

VALUES = {"low": 0.1, "middle": 1.0, "high": 10.0}


def view_of(draw, panels=("low", "high")):
    return explore_values(draw, VALUES, panels, "value", "two settings side by side")


def drawing(markup):
    """The description of an image, and the width of the vector drawing it holds."""
    alt, data = re.fullmatch(
        r"<img alt='([^']*)' style='[^']*' src='data:image/svg\+xml;base64,(.*)'>", markup
    ).groups()
    return alt, float(ElementTree.fromstring(base64.b64decode(data)).get("width")[:-2])


@pytest.mark.full
@pytest.mark.parametrize("form", ["png", "static"])
def test_the_drawing_follows_the_slider_and_without_a_kernel_panels_stand_side_by_side(
    form, monkeypatch
):
    monkeypatch.setenv("COURSE_HEATMAP", form)
    plt.close("all")  # those of other tests
    drawn = []
    view = view_of(lambda axis, value: drawn.append(value) or axis.set_title(f"<{value}>"))
    slider, picture = view.children
    before = picture.value
    slider.value = "high"
    assert drawn == [0.1, 10.0] and drawing(picture.value)[0] == "value high: &lt;10.0&gt;"
    slider.value = "low"
    assert picture.value == before and plt.get_fignums() == []
    alone = Image.open(io.BytesIO(picture.to_png()))
    bundle, metadata = view._repr_mimebundle_()
    assert drawn == [0.1, 10.0, 0.1, 0.1, 10.0]
    assert bundle["text/plain"] == metadata["image/png"]["alt"] == "two settings side by side"
    both = Image.open(io.BytesIO(base64.b64decode(bundle["image/png"])))
    assert both.width > 1.5 * alone.width
    assert ("text/html" in bundle) == (form == "static")
    if form == "static":
        alt, width = drawing(bundle["text/html"])
        assert alt == "two settings side by side" and width > 1.5 * drawing(before)[1]
    shown = []
    monkeypatch.setenv("COURSE_HEATMAP", "live")
    monkeypatch.setattr(widget, "display", lambda bundle, raw: shown.append(bundle))
    view._ipython_display_()
    assert picture.value in shown[0]["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in shown[1]


def test_a_sweep_tries_every_value_and_finds_the_one_that_breaks():
    assert sweep(view_of(lambda axis, value: None)) == len(VALUES)
    with pytest.raises(SweepError, match="ZeroDivisionError"):
        sweep(view_of(lambda axis, value: axis.set_title(str(1 / (value - 1)))))


@pytest.mark.parametrize("panels", [("low", "huge"), ()])
def test_panels_that_are_no_values_are_named(panels):
    with pytest.raises(ValueError, match=r"labels of the values, at least one.*low, middle, high"):
        view_of(lambda axis, value: None, panels)
