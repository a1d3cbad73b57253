"""Both views in JupyterLab: linked to the kernel and to other widgets."""

import json

import numpy as np
import pytest
from lab import DRAWN
from matplotlib.colors import to_rgb
from probes import CORNER, PIXEL, attention, check_scan, rgb, scan, wait_for_style, words

from course_lib.javascript import module
from course_lib.views.colours import DARK_THEME, THEME, contrast
from course_lib.views.heatmap import AttentionText

CELLS = [
    """import pathlib, time
import numpy as np
from ipywidgets import FloatSlider, Label, VBox, jslink
from course_lib.views.heatmap import AttentionHeatmap, AttentionText
from tests.browser.probes import attention, words
heatmap = AttentionHeatmap(attention(6, 6), words(6))
heatmap""",
    """slider = FloatSlider(1, min=1, max=4, step=0.25, description="outside")
jslink((slider, "value"), (heatmap, "zoom"))
VBox([slider])""",
    "text = AttentionText([['so', 'good']], np.array([[0.75, 0.25]]), [1.0]); text",
    "while not pathlib.Path('enough').exists(): time.sleep(0.02)",
    """told = Label()
def tell(_):
    facts = heatmap.selected, heatmap.zoom > 1, heatmap.scale, text.selected
    told.value = " ".join(map(str, facts))
for view in (heatmap, text):
    view.observe(tell)
told""",
    "heatmap.selected, heatmap.zoom, heatmap.normalise = [5, 4], 1.0, True",
]


@pytest.fixture(scope="module")
def notebook(open_notebook):
    opened = open_notebook(CELLS)
    for number in range(3):
        opened.run(number)
    for number in (0, 2):
        opened.cell(number).locator("figure").wait_for()
    yield opened
    assert opened.watched.wrong == []


def test_live_pixels_and_readout_are_the_array(notebook):
    weights = attention(6, 6)
    check_scan(notebook.cell(0), weights, weights.max(), words(6), words(6))


LIGHT = "is_light => { document.body.dataset.jpThemeLight = is_light; }"  # as JupyterLab says it


def test_live_views_follow_jupyterlab_s_theme_and_not_the_system_s(notebook):
    assert notebook.page.locator("body[data-jp-theme-light=false]").count() == 1
    for is_light, theme, system in (
        ("false", DARK_THEME, "light"),
        ("true", THEME, "dark"),
        ("false", DARK_THEME, "light"),
    ):
        notebook.page.emulate_media(color_scheme=system)
        notebook.page.evaluate(LIGHT, is_light)
        for number in (0, 2):
            figure = notebook.cell(number).locator("figure")
            wait_for_style(figure, "backgroundColor", rgb(theme["paper"]))
            wait_for_style(figure, "color", rgb(theme["ink"]))
        notebook.page.evaluate(DRAWN)
        drawn = notebook.cell(0).locator("canvas").first.evaluate(CORNER)
        np.testing.assert_allclose(drawn, 255 * np.array(to_rgb(theme["paper"])), atol=1)
        for word in notebook.cell(2).locator(".word").all():
            assert contrast(theme["ink"], np.array(word.evaluate(PIXEL)) / 255) >= 4.5
    check_scan(notebook.cell(0), attention(6, 6), attention(6, 6).max(), words(6), words(6))


MARKED = """<!DOCTYPE html><html {}><meta charset="utf-8"><body {}><main></main>
<script type="module">
{}
const held = {{ spec: {}, data: new DataView(new ArrayBuffer(0)), selected: null }};
const model = {{ get: (name) => held[name], on() {{}}, off() {{}} }};
await render({{ model, el: document.querySelector("main") }});
</script>"""


@pytest.mark.parametrize(
    ("html", "body", "theme"),
    [
        ("", 'data-vscode-theme-kind="vscode-dark"', DARK_THEME),
        ("", 'data-vscode-theme-kind="vscode-high-contrast"', DARK_THEME),
        ("", 'data-vscode-theme-kind="vscode-high-contrast-light"', THEME),
        ('theme="dark"', "", DARK_THEME),  # Colab
        ("", "", THEME),  # whatever the system prefers
    ],
)
def test_a_live_view_reads_the_theme_of_vs_code_and_colab(browser, html, body, theme):
    page = browser.new_page(color_scheme="light" if theme is DARK_THEME else "dark")
    spec = json.dumps(AttentionText([["so", "good"]], [[0.25, 0.75]]).spec)
    page.set_content(MARKED.format(html, body, module(), spec))
    wait_for_style(page.locator("figure"), "backgroundColor", rgb(theme["paper"]))
    tints = [np.array(word.evaluate(PIXEL)) / 255 for word in page.locator(".word").all()]
    assert len(tints) == 2 and min(contrast(theme["ink"], tint) for tint in tints) >= 4.5
    page.close()


def test_linked_sliders_need_no_kernel(notebook):
    prompt = notebook.cell(3).locator(".jp-InputArea-prompt")
    notebook.start(3)
    prompt.filter(has_text="[*]:").wait_for()
    handle = notebook.cell(1).locator(".noUi-handle")
    handle.focus()
    readout = notebook.cell(1).locator(".widget-readout")
    for zoom in ("1.25", "1.50", "1.75"):
        handle.press("ArrowRight")
        readout.filter(has_text=zoom).wait_for()
    assert len(scan(notebook.cell(0))) < 36
    notebook.cell(0).get_by_role("button", name="Show all").click()
    readout.filter(has_text="1.00").wait_for()
    assert len(scan(notebook.cell(0))) == 36
    assert prompt.inner_text() == "[*]:"  # still busy
    (notebook.path.parent / "enough").touch()
    notebook.finish(3)


def test_live_traits_reach_the_kernel_and_come_back(notebook):
    notebook.run(4)
    plot = notebook.cell(0).locator(".plot")
    cells = notebook.page.locator(".jp-Notebook .jp-Cell").count()
    notebook.cell(0).get_by_label("Colour scale").select_option("sqrt")
    plot.focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "Enter", "+", "b", "d", "d"):
        plot.press(key)
    notebook.cell(2).locator(".word").nth(1).click()
    notebook.says(4, "[1, 2] True sqrt [0, 1]")
    assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == cells
    notebook.run(5)  # the last trait that it sets is told by the legend
    notebook.cell(0).locator(".legend").filter(has_text="÷ largest of its row").wait_for()
    assert "w5 [5] → w4 [4]" in notebook.cell(0).locator(".readout").inner_text()
    assert len(scan(notebook.cell(0))) == 36


def test_a_notebook_opened_anew_shows_its_views_and_holds_no_widget_state(notebook):
    def is_save(answer):
        """JupyterLab also puts its layout and its settings."""
        return answer.request.method == "PUT" and "/api/contents/" in answer.url

    with notebook.page.expect_response(is_save) as answer:
        notebook.page.keyboard.press("Control+s")
    assert answer.value.ok
    saved = json.loads(notebook.path.read_text())
    assert saved["cells"][0]["execution_count"]  # the file as it was opened holds none
    assert "widgets" not in saved["metadata"]
    [_, output] = saved["cells"][0]["outputs"]
    assert set(output["data"]) == {"application/vnd.jupyter.widget-view+json", "text/plain"}
    frames = notebook.page.locator("iframe")
    assert frames.count() == 2 and not any(frame.is_visible() for frame in frames.all())
    notebook.end_kernel()
    page = notebook.page.context.new_page()
    page.goto(notebook.page.url.partition("?")[0] + "?reset")
    figure = page.locator("iframe").first.content_frame.locator("figure")
    figure.get_by_role("combobox", name="Colour scale").wait_for()
    page.emulate_media(color_scheme="no-override")  # which frames could not override either
    for is_light, theme in (("false", DARK_THEME), ("true", THEME)):
        page.evaluate(LIGHT, is_light)
        wait_for_style(figure, "backgroundColor", rgb(theme["paper"]))
    cell = page.locator(".jp-Notebook .jp-Cell").first
    assert not cell.get_by_text("model not found").is_visible()
