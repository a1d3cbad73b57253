"""Pictures moved by hand in Chromium: pointer and keys move them, and the kernel hears of it."""

import json

import pytest
from playwright.sync_api import expect

from course_lib.explore import explore_gates, explore_query

HOSTILE = "<img src=x onerror=alert(1)>"
PAGE = """<!DOCTYPE html><meta charset="utf-8"><body><div id="view"></div><script type="module">
%s
const state = %s, heard = {};
globalThis.state = state;
const model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; },
  save_changes: () => {},
  on: (names, act) => { heard[names] = act; },
  off: (names) => { delete heard[names]; },
};
globalThis.heard = heard;
globalThis.away = view.render({ model, el: document.getElementById("view") });
</script>"""


@pytest.fixture
def open_touched(browser, tmp_path):
    """``open_touched(view)``: its widget on a page, with its traits as ``state``."""
    context = browser.new_context(viewport={"width": 1000, "height": 700}, offline=True)
    wrong = []

    def open_one(view, width=1000):
        widget = view.touched
        module = widget._esm.replace("export default", "const view =").replace("export ", "")
        state = {name: getattr(widget, name) for name in widget.trait_names(sync=True)}
        traits = {name: state[name] for name in state if not name.startswith("_")}
        told = json.dumps(traits, default=str).replace("<", "\\u003c")
        path = tmp_path / "view.html"
        path.write_text(PAGE % (module, told), encoding="utf-8")
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 700})
        page.on("pageerror", lambda error: wrong.append(error))
        page.goto(path.as_uri())
        return page

    yield open_one
    context.close()
    assert wrong == []


def test_each_words_gate_moves_the_state(open_touched):
    view = explore_gates(["thin", HOSTILE, "end"], [1.0, 0.0, -1.0], (0.5,))
    page = open_touched(view)
    told = page.locator("output")
    expect(told).to_have_text("At the end the state is −0.38. Of what “thin” wrote, 13 % is left.")
    for place, key in enumerate(("End", "Home", "Home")):
        page.get_by_role("slider").nth(place).press(key)
    expect(told).to_have_text("At the end the state is 1.00. Of what “thin” wrote, 100 % is left.")
    assert page.evaluate("state.z") == [1, 0, 0]
    page.get_by_role("slider", name="z at all words").press("End")
    expect(told).to_contain_text("the state is −1.00")
    assert page.locator("img").count() == 0
    page.evaluate("state.z = [0, 0, 0]; heard['change:z']()")
    expect(told).to_contain_text("the state is 0.00")
    page.evaluate("away()")
    assert page.evaluate("Object.keys(heard).length") == 0


def numbers(page, word):
    row = page.locator("tr", has_text=word)
    return [cell.inner_text() for cell in row.locator("td").all()[:4]]


def test_a_query_follows_the_pointer_and_the_sliders(open_touched):
    view = explore_query(["fine", "dull", "film"], [[2, 0], [0, 2], [0.5, 0.5]], (1.0, 0.0))
    page = open_touched(view)
    assert numbers(page, "fine") == ["2.00", "2.00", "7.39", "0.74"]
    assert numbers(page, "film") == ["0.50", "0.50", "1.65", "0.16"]
    plane = page.locator("svg").bounding_box()
    middle = [plane["x"] + plane["width"] / 2, plane["y"] + plane["height"] / 2]
    page.mouse.move(middle[0] + plane["width"] / 5.7, middle[1])
    page.mouse.down()
    page.mouse.move(middle[0], middle[1] - plane["height"] / 5.7, steps=5)
    assert page.evaluate("state.query") == [1, 0]  # the kernel hears of it at the end
    page.mouse.up()
    assert page.evaluate("state.query") == pytest.approx([0, 1], abs=0.02)
    assert numbers(page, "dull")[3] == "0.74"
    page.get_by_role("slider", name="angle").press("Home")
    assert page.evaluate("state.query") == pytest.approx([-1, 0], abs=0.02)
    page.get_by_role("slider", name="length").press("Home")
    assert {numbers(page, word)[3] for word in ("fine", "dull", "film")} == {"0.33"}
    expect(page.locator("output").first).to_contain_text("3.00 effective words")
    page.get_by_role("slider", name="length").press("End")
    page.get_by_role("slider", name="divide by T").press("End")
    assert numbers(page, "fine")[:2] == ["−5.00", "−0.63"]
    expect(page.get_by_text("8.00 = √64")).to_be_visible()
    for word in ("fine", "dull", "film"):
        page.get_by_role("checkbox", name=word).check()
    assert numbers(page, "fine")[2:] == ["0", "0.00"]
    assert page.evaluate("state.hidden") == [True] * 3


@pytest.mark.parametrize(
    "view",
    [
        lambda: explore_gates(["plot", "is", "wonderful"] * 3, [0.5] * 9, (0.5,)),
        lambda: explore_query(["fine", "dull", "film"], [[2, 0], [0, 2], [1, 1]], (1.0, 0.0)),
    ],
)
def test_on_a_phone_nothing_makes_the_page_wider(open_touched, view):
    page = open_touched(view(), width=400)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


CELL = """from course_lib.explore import explore_query
view = explore_query(["a", "b"], [[2, 0], [0, 2]], (1.0, 0.0))
view"""


def test_in_jupyterlab_the_kernel_hears_of_a_query_and_sets_it(open_notebook):
    notebook = open_notebook([CELL, "view.touched.query", "view.touched.query = [0.0, 1.0]"])
    notebook.run(0)
    notebook.cell(0).get_by_role("slider", name="angle").press("Home")
    notebook.run(1)
    notebook.says(1, "[-1")
    notebook.run(2)
    expect(notebook.cell(0).locator("output").first).to_contain_text("Query (0.00, 1.00)")
    assert notebook.watched.wrong == []
