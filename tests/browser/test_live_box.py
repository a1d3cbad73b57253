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
