"""Heatmaps and hostile text in Chromium, static: what they show, say and answer to."""

import re

import numpy as np
import probes
import pytest
from lab import DRAWN
from probes import FACTS, SCAN, accessible, attention, check_scan, scan, words

from course_lib.views.heatmap import AttentionHeatmap


@pytest.mark.parametrize("options", [{}, {"most": 1.5}, {"transpose": True}, {"extra": 2}], ids=str)
def test_pixels_and_readout_are_the_array(open_static, options):
    weights, columns = attention(6, 9), list("abcdefghi")
    frame = open_static(AttentionHeatmap(weights, words(6), columns, **options))
    check_scan(frame, weights, options.get("most", weights.max()), words(6), columns)
    plot = frame.locator(".plot")
    plot.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        plot.press(key)
    cell = "w1 [1] → c [2]" if "transpose" in options else "w2 [2] → b [1]"
    assert cell in frame.locator(".readout").inner_text()  # the coordinates are the array's


def points(frame):
    """By place in the plot: what hovering there tells, and the colour there."""
    found = frame.locator(".plot").evaluate(SCAN, 2)
    return {(x, y): (text, colour) for x, y, text, colour in found}


def changed(before, after):
    """The cells in which points have another colour than before."""
    told = [FACTS.match(text) for at, (text, colour) in before.items() if after[at][1] != colour]
    return {tuple(map(int, match.group(2, 4))) for match in told if match}


def test_outlines_frame_the_cells_above_and_no_others(open_static):
    weights = np.array([[0.96, 0.2, 0.94], [0.1, 1, 0]])
    plain, outlined = (
        points(open_static(AttentionHeatmap(weights, words(2), words(3), outline=limit)))
        for limit in (None, 0.95)
    )
    assert changed(plain, outlined) == {(0, 0), (1, 1)}


def test_the_band_is_marked_and_its_share_told(open_static):
    weights = attention(6, 6)
    frame = open_static(AttentionHeatmap(weights, words(6), band=1))
    i, j = np.indices(weights.shape)
    bar, box = frame.locator(".bar"), frame.get_by_role("spinbutton", name="Band")
    for band in (1, 3):
        box.fill(str(band))
        share = weights[abs(i - j) <= band].sum() / weights.sum()
        assert f"holds {share:.1%}".replace("%", " %") in bar.inner_text()
    marked = points(frame)
    box.fill("")
    assert "holds" not in bar.inner_text()
    distances = {abs(row - column) for row, column in changed(marked, points(frame))}
    assert {3, 4} <= distances <= {2, 3, 4, 5}  # beside the line, and where its steps have corners


# Moves the pointer so far, and turns the wheel so long afterwards; whether the view took the turn.
TURN = """(plot, [movementX, milliseconds]) => {
  const at = (event, timeStamp) => Object.defineProperty(event, "timeStamp", { value: timeStamp });
  plot.dispatchEvent(at(new PointerEvent("pointermove", { movementX }), 10_000));
  const turn = new WheelEvent("wheel", { deltaY: -100, cancelable: true });
  return !plot.dispatchEvent(at(turn, 10_000 + milliseconds));
}"""


@pytest.mark.parametrize(
    ("move", "zooms"), [((1, 1400), True), ((1, 1600), False), ((0, 1), False)]
)
def test_a_page_scrolls_past_a_resting_pointer(open_static, move, zooms):
    frame = open_static(AttentionHeatmap(attention(16, 16), words(16)))
    assert frame.locator(".plot").evaluate(TURN, move) == zooms
    assert (len(scan(frame, 8)) < 256) == zooms


def under(frame, x, y):
    frame.page.mouse.move(x, y)
    frame.page.mouse.move(x + 1, y)
    return frame.locator(".readout").inner_text().split("\n")[0]


def test_the_wheel_zooms_about_the_pointer_and_dragging_moves(open_static):
    frame = open_static(AttentionHeatmap(attention(16, 16), words(16)))
    box = frame.locator(".plot").bounding_box()
    x, y = box["x"] + box["width"] * 0.7, box["y"] + box["height"] * 0.4
    before = under(frame, x, y)
    frame.locator(".plot").focus()  # the wheel is meant for what has the focus, whenever it turns
    for _ in range(4):
        frame.page.mouse.wheel(0, -100)
        frame.evaluate(DRAWN)
    assert under(frame, x, y) == before
    assert len(scan(frame, 8)) < 16 * 16 / 2
    frame.page.mouse.down()
    frame.page.mouse.move(x - 60, y - 60, steps=4)
    frame.page.mouse.up()
    moved = under(frame, x - 60, y - 60)
    assert moved == before
    assert "pinned" not in frame.locator(".readout").inner_text()
    frame.get_by_role("button", name="Show all").click()
    assert under(frame, x, y) == before
    assert len(scan(frame, 8)) == 256


FOCUSED = """() => {
  const element = document.activeElement;
  const ring = getComputedStyle(element).outlineStyle;
  return [element.className || element.getAttribute("aria-label") || element.type, ring];
}"""


def test_every_control_is_reached_by_tab_and_used_by_keyboard(open_static):
    weights = attention(7, 7)
    frame = open_static(AttentionHeatmap(weights, words(7)))
    keyboard, readout = frame.page.keyboard, frame.locator(".readout")
    reached = []
    for _ in range(7):
        keyboard.press("Tab")
        reached.append(frame.evaluate(FOCUSED))
    names = [name for name, _ in reached]
    assert names[:2] == ["Colour scale", "checkbox"]
    assert names[2].startswith("Band")
    assert names[3:] == ["Zoom out", "Zoom in", "Show all", "plot"]
    assert {ring for _, ring in reached} == {"solid"}

    for keys, cell in [
        ([], (0, 0)),
        (["ArrowRight", "ArrowDown", "ArrowDown", "End"], (2, 6)),
        (["PageDown", "Home", "ArrowDown", "ArrowLeft"], (6, 0)),
        (["PageUp", "ArrowRight"], (0, 1)),
    ]:
        for key in keys:
            keyboard.press(key)
        text = readout.inner_text()
        assert f"w{cell[0]} [{cell[0]}] → w{cell[1]} [{cell[1]}]" in text
        shown = float(re.search(r"weight ([\d.]+)", text)[1])
        assert shown == pytest.approx(weights[cell], abs=1e-4)
    keyboard.press("Enter")
    assert "pinned" in readout.inner_text()
    keyboard.press("Escape")
    assert "pinned" not in readout.inner_text()
    for _ in range(5):
        keyboard.press("+")
    assert len(scan(frame, 5)) < 49
    keyboard.press("0")
    assert len(scan(frame, 5)) == 49
    keyboard.press("Shift+Tab")
    assert readout.inner_text() == "Point at a cell for its weight."


def test_the_heatmap_in_the_accessibility_tree(open_static):
    frame = open_static(AttentionHeatmap(attention(4, 4), words(4), title="Who sees whom"))
    nodes = accessible(frame)
    named = {(role, name) for role, name, _ in nodes}
    assert {("checkbox", "each row ÷ its maximum"), ("group", "Who sees whom")} <= named
    [plot] = [name for role, name, _ in nodes if role == "application"]
    assert plot.startswith("Who sees whom: the weight in 4 rows by 4 columns. Arrow keys move")
    [status] = [node for role, _, node in nodes if role == "status"]
    assert probes.properties(status)["live"] == "polite"
    frame.locator(".plot").focus()
    frame.locator(".plot").press("ArrowRight")
    said = "".join(name for role, name, _ in accessible(frame) if role == "StaticText")
    assert "w0 [0] → w1 [1]" in said and "rank" in said
    frame.get_by_role("checkbox").check()
    assert "÷ largest of its row" in frame.locator(".legend").inner_text()


def test_hostile_tokens_are_text_static(open_static):
    fits = "() => document.documentElement.scrollWidth <= innerWidth"
    frame = open_static(probes.hostile_heatmap())
    probes.check_hostile_heatmap(frame)
    assert frame.evaluate(fits)
    frame = open_static(probes.hostile_text())
    probes.check_hostile_text(frame)
    assert frame.evaluate(fits)


LABELS = """() => {
  globalThis.labels = [];
  const draw = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const place = this.getTransform().transformPoint({ x, y });
    const along = this.textAlign === "right" ? "y" : "x";
    labels.push([along, place[along], parseFloat(this.font), text]);
    return draw.apply(this, arguments);
  };
}"""


@pytest.mark.parametrize(("count", "every"), [(60, 1), (200, None)])
def test_labels_never_overlap(open_static, browser, count, every):
    frame = open_static(AttentionHeatmap(attention(count, count), words(count)), width=1100)
    frame.evaluate(LABELS)
    frame.locator("select").select_option("sqrt")  # draws anew
    labels = frame.evaluate("labels")
    for side in "xy":
        places = [(place, font, text) for along, place, font, text in labels if along == side]
        gaps = np.diff([place for place, *_ in places])
        assert (gaps >= max(font for _, font, _ in places)).all()
        assert min(font for _, font, _ in places) >= 9
        if every == 1:
            assert [text for *_, text in places] == words(count)
        else:
            assert 20 < len(places) < count


def test_help_is_folded_and_speaks_of_what_the_reader_points_with(open_static):
    view = AttentionHeatmap(attention(4, 4), words(4))
    frame = open_static(view)
    sign = frame.locator("summary")
    assert "Arrow keys" not in frame.locator("figure").inner_text()
    sign.click()
    assert "Arrow keys move" in frame.locator(".help").inner_text()

    frame = open_static(view, touch=True)
    frame.locator("summary").tap()
    told = frame.locator(".help").inner_text()
    assert "Tap a cell" in told and "Arrow" not in told and "wheel" not in told
    assert frame.locator(".readout").inner_text() == "Tap a cell for its weight."


def test_what_the_help_promises_a_finger_is_true(open_static):
    frame = open_static(AttentionHeatmap(attention(5, 5), words(5)), touch=True)
    box = frame.locator(".plot").bounding_box()
    place = box["x"] + box["width"] - 20, box["y"] + 60
    frame.page.touchscreen.tap(*place)
    assert "pinned" in frame.locator(".readout").inner_text()
    frame.page.touchscreen.tap(*place)
    assert frame.locator(".readout").inner_text() == "Tap a cell for its weight."
    action = "element => getComputedStyle(element).touchAction"
    assert frame.locator(".plot").evaluate(action) == "pan-y"  # a page scrolls past it
    for _ in range(2):
        frame.get_by_role("button", name="Zoom in").tap()
    assert frame.locator(".plot").evaluate(action) == "none"  # a finger moves the picture
    assert len(scan(frame, 8)) < 25
