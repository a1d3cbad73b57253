"""Frames of static views in Chromium: their height, their width on a phone, and the dark."""

import numpy as np
import pytest
from lab import DRAWN, settle
from matplotlib.colors import to_hex, to_rgb
from probes import CORNER, PIXEL, attention, check_scan, rgb, wait_for_style, words

from course_lib.views.colours import DARK_THEME, NIGHT, PAPER, SIGNED, TINTS_HEX, contrast
from course_lib.views.heatmap import AttentionHeatmap, AttentionText

SENTENCE = "The plot is thin , but the two leads are wonderful and it is not boring at all ."
NAMES = SENTENCE.split()
COUNT = len(NAMES)
VIEWS = {
    "square": lambda: AttentionHeatmap(
        attention(COUNT, COUNT), NAMES, title="untrained: positive 0.55 " * 3
    ),
    "steps": lambda: AttentionHeatmap(
        attention(3, COUNT + 2), words(3), [*NAMES, "s1", "s2"], extra=2, title="positive 0.99"
    ),
    "layers": lambda: AttentionHeatmap(attention(9, COUNT), words(9), NAMES, transpose=True),
    "large": lambda: AttentionHeatmap(attention(200, 200), words(200), band=3),
    "sentences": lambda: AttentionText([NAMES] * 6, attention(6, COUNT), attention(6), title="P"),
    "one text": lambda: AttentionText([NAMES * 12], attention(1, 12 * COUNT), unit="text"),
    "untinted": lambda: AttentionText([NAMES] * 3, None, title="P(positive) = 0.97"),
}
HEIGHTS = "() => [...document.querySelectorAll('iframe')].map((f) => f.offsetHeight)"
DOWN = "() => document.documentElement.offsetHeight"


@pytest.mark.parametrize("width", [400, 1280])
def test_every_frame_is_as_tall_as_its_content_before_it_is_seen(browser, tmp_path, width):
    path = tmp_path / "page.html"  # with a viewport tag, as the site's are
    head = "<meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
    main = "<main style='max-width:60rem;margin:auto;padding:0 1rem'>"
    frames = "".join(make().to_html() for make in VIEWS.values())
    text = f"<!DOCTYPE html>{head}{main}<p style='height:3000px'>before</p>{frames}</main>"
    path.write_text(text, encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 800}, offline=True)
    page.goto(path.as_uri())
    settle(page)
    told = page.evaluate(HEIGHTS)
    for frame in page.locator("iframe").all():
        frame.scroll_into_view_if_needed()
        inside = frame.element_handle().content_frame()
        inside.evaluate(DRAWN)
        height = inside.evaluate(DOWN)
        assert abs(frame.bounding_box()["height"] - height) <= 1
    assert page.evaluate(HEIGHTS) == told, "nothing moves when a frame comes into view"
    page.close()


def test_a_frame_that_loads_without_a_width_has_its_height_before_it_is_seen(browser, tmp_path):
    path, frame = tmp_path / "page.html", VIEWS["square"]().to_html()
    path.write_text(f"<p style='height:3000px'>before</p><div hidden>{frame}</div>", "utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 800}, offline=True)
    page.goto(path.as_uri())
    inside = page.locator("iframe").element_handle().content_frame()
    page.evaluate("() => document.querySelector('div').hidden = false")
    inside.locator("figure").wait_for(state="attached")
    page.wait_for_function(f"height => ({HEIGHTS})()[0] === height", arg=inside.evaluate(DOWN))
    told = inside.evaluate(DOWN)
    page.locator("iframe").scroll_into_view_if_needed()
    inside.evaluate(DRAWN)
    assert page.evaluate(HEIGHTS) == [inside.evaluate(DOWN)] == [told]
    page.close()


@pytest.mark.parametrize("name", VIEWS)
def test_on_a_phone_nothing_is_wider_than_the_screen(open_static, name):
    frame = open_static(VIEWS[name](), width=400)
    edges = frame.evaluate(
        """() => [...document.querySelectorAll("figure *")]
          .filter((element) => element.checkVisibility())
          .map((element) => element.getBoundingClientRect().right - innerWidth)"""
    )
    assert max(edges) <= 0.5
    assert frame.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


STYLE = "(element, name) => getComputedStyle(element)[name]"


def test_where_the_reader_prefers_the_dark_the_map_alone_stays_light(open_static):
    weights = attention(5, 5)
    frame = open_static(AttentionHeatmap(weights, words(5)))
    figure, canvas = frame.locator("figure"), frame.locator("canvas").first
    for scheme, paper in (("light", PAPER), ("dark", DARK_THEME["paper"]), ("light", PAPER)):
        frame.page.emulate_media(color_scheme=scheme)
        wait_for_style(figure, "backgroundColor", rgb(paper))
        frame.evaluate(DRAWN)
        np.testing.assert_allclose(canvas.evaluate(CORNER), 255 * np.array(to_rgb(paper)), atol=1)
        check_scan(frame, weights, weights.max(), words(5), words(5))


@pytest.mark.parametrize("weights", [[[0.0, 0.02, 0.98]], None])
def test_words_can_be_read_in_the_dark_on_any_tint_and_without(open_static, weights):
    frame = open_static(AttentionText([["so", "very", "good"]], weights))
    frame.page.emulate_media(color_scheme="dark")
    wait_for_style(frame.locator(".word").first, "color", rgb(DARK_THEME["ink"]))
    assert frame.locator(".words").evaluate(STYLE, "backgroundColor") == "rgba(0, 0, 0, 0)"
    if weights:
        grounds = [np.array(word.evaluate(PIXEL)) / 255 for word in frame.locator(".word").all()]
        assert [contrast(DARK_THEME["ink"], ground) >= 4.5 for ground in grounds] == [True] * 3
        assert grounds[0].sum() < grounds[1].sum() < grounds[2].sum()


# of linear red, green and blue (sRGB), each row over that of white
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
TO_XYZ /= TO_XYZ.sum(1, keepdims=True)


def lab(rgb):
    """CIELAB: lightness, and two axes of colour."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    share = TO_XYZ @ linear
    x, y, z = np.where(share > (6 / 29) ** 3, np.cbrt(share), (841 / 108) * share + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_in_the_dark_weights_below_uniform_can_be_told_apart(open_static):
    times = np.array([0, 0.25, 0.5, 0.75, 1.0, 2.0, 3.0, 4.0])
    frame = open_static(AttentionText([words(len(times))], [times / len(times)]))
    frame.page.emulate_media(color_scheme="dark")
    wait_for_style(frame.locator(".word").first, "color", rgb(DARK_THEME["ink"]))
    tints = [np.array(word.evaluate(PIXEL)) / 255 for word in frame.locator(".word").all()]
    steps = np.diff([lab(tint) for tint in tints], axis=0)
    assert np.linalg.norm(steps, axis=1).min() > 4  # about 2.3 can just be seen
    assert steps[:, 0].min() > 2  # of lightness, which alone separates small spots of colour


def test_text_can_be_read_on_every_tint_of_the_night(open_static):
    frame = open_static(AttentionText([["so", "good"]], None))
    word = frame.locator(".word").first
    shades = [*TINTS_HEX, *(to_hex(SIGNED(share)) for share in np.linspace(0, 1, 61))]
    for shade in shades:
        word.evaluate("(word, colour) => { word.style.background = colour; }", NIGHT.format(shade))
        assert contrast(DARK_THEME["ink"], np.array(word.evaluate(PIXEL)) / 255) >= 4.5, shade
