"""The box of ``explore_text`` in JupyterLab: keys hand the text over, and reach nothing else."""

import re

import pytest

from course_lib.views.colours import contrast

CELL = """import ipywidgets as widgets
from course_lib.explore import explore_text
view = explore_text(None, "first", lambda _, text: widgets.Label(f"read {len(text)}: {text}"))
view"""


@pytest.mark.parametrize("keys", ["Control+Enter", "Meta+Enter"])
def test_keys_in_the_box_read_what_stands_in_it(open_notebook, keys):
    notebook = open_notebook([CELL, "view.text"])
    notebook.run(0)
    box = notebook.cell(0).get_by_role("textbox", name="Type a review").last
    box.click()
    box.fill("")
    box.press_sequentially("so good", delay=5)
    notebook.cell(0).get_by_text("read 5: first").wait_for()
    box.press("Enter")  # a new line, as ever
    box.press_sequentially("so", delay=5)
    box.press(keys)
    notebook.cell(0).get_by_text("read 10: so good so").wait_for()
    assert box.input_value() == "so good\nso"
    assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == 2
    style = "(box, name) => getComputedStyle(box)[name]"
    look = (box.evaluate(style, name) for name in ("color", "backgroundColor"))
    ink, ground = ([int(part) / 255 for part in re.findall(r"\d+", rgb)[:3]] for rgb in look)
    assert contrast(ink, ground) >= 4.5 and contrast(ground, "white") > 10  # JupyterLab is dark
    notebook.cell(0).get_by_role("button", name="Read it").click()
    notebook.run(1)
    notebook.says(1, r"'so good\nso'")
    assert notebook.watched.wrong == []


PRESSED = """import numpy as np
from course_lib.views.heatmap import PressableText
gone = np.zeros(3, bool)
def press(place):
    gone[place] ^= True
    text.wear(np.where(gone, 0, 1 / max(1, (~gone).sum())), gone)
text = PressableText([["so", "very"], ["good"]], np.full(3, 1 / 3), press)
text"""


def test_words_are_pressed_away_by_mouse_and_keys_and_come_back(open_notebook):
    notebook = open_notebook([PRESSED, "gone.tolist()"])
    notebook.run(0)
    words, erased = (notebook.cell(0).locator(f".{kind}") for kind in ("word", "erased"))
    words.nth(1).click()
    erased.filter(has_text="very").wait_for()
    notebook.cell(0).locator(".chip", has_text="50.0%").first.wait_for()
    words.nth(1).press("ArrowRight")
    words.nth(2).press("Enter")
    erased.filter(has_text="good").wait_for()
    words.nth(1).click()
    notebook.cell(0).locator(".erased", has_text="very").wait_for(state="detached")
    notebook.run(1)
    notebook.says(1, "[False, False, True]")
    assert notebook.watched.wrong == []
