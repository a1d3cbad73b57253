"""What the browser tests look with: hostile tokens, pixels, Chromium's accessibility tree."""

import re

import numpy as np
import torch
from matplotlib.colors import to_rgb

from course_lib.views.colours import ATTENTION_HEX
from course_lib.views.heatmap import AttentionHeatmap, AttentionText

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    '"]]>',
    "</script>",
    "</iframe><svg onload=alert(3)>",
    "שלום עולם",
    "👩‍👩‍👧‍👦🎬",
    "x" * 10_000,
    "",
    "$a_1$\n\t",
]

# For a grid of points: the cell that hover names, its weight and rank, and the colour drawn there.
SCAN = """(plot, spacing) => {
  const readout = plot.getRootNode().querySelector(".readout");
  const canvas = plot.querySelector("canvas");
  const box = plot.getBoundingClientRect();
  const scale = canvas.width / box.width;
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const found = [];
  for (let y = 1; y < box.height; y += spacing)
    for (let x = 1; x < box.width; x += spacing) {
      plot.dispatchEvent(new PointerEvent("pointermove", {clientX: box.x + x, clientY: box.y + y}));
      const at = 4 * (Math.floor(y * scale) * canvas.width + Math.floor(x * scale));
      found.push([x, y, readout.textContent, Array.from(pixels.data.slice(at, at + 3))]);
    }
  plot.dispatchEvent(new PointerEvent("pointerleave"));
  return found;
}"""
CORNER = "canvas => [...canvas.getContext('2d').getImageData(1, 1, 1, 1).data].slice(0, 3)"
PIXEL = """(element) => {
  const context = new OffscreenCanvas(1, 1).getContext("2d");
  context.fillStyle = getComputedStyle(element).backgroundColor;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
}"""
FACTS = re.compile(r"(.*) \[(\d+)\] → (.*) \[(\d+)\]weight ([\d.]+), rank (\d+) of (\d+)", re.S)


def rgb(colour):
    return "rgb({}, {}, {})".format(*(round(255 * part) for part in to_rgb(colour)))


def wait_for_style(part, name, value):
    """The page hears of another scheme some time after it was set."""
    is_so = "([element, name, value]) => getComputedStyle(element)[name] === value"
    handle = part.element_handle()
    handle.owner_frame().wait_for_function(is_so, arg=[handle, name, value])


def words(count):
    return [f"w{i}" for i in range(count)]


def attention(*shape, seed=0):
    scores = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return scores.softmax(-1).numpy()


def scan(scope, spacing=4):
    """By cell: row token, column token, weight, rank, and the median colour drawn there."""
    cells = {}
    for *_, text, colour in scope.locator(".plot").evaluate(SCAN, spacing):
        match = FACTS.match(text)
        if match:
            row, i, column, j, weight, rank, _ = match.groups()
            facts = (row, column, float(weight), int(rank))
            cells.setdefault((int(i), int(j)), (facts, []))[1].append(colour)
    return {cell: (*facts, np.median(seen, axis=0)) for cell, (facts, seen) in cells.items()}


def shade(share, colours=ATTENTION_HEX):
    return 255 * np.array(to_rgb(colours[round(share * (len(colours) - 1))]))


def check_scan(scope, weights, largest, rows, columns):
    found = scan(scope)
    assert set(found) == set(np.ndindex(weights.shape))
    for (i, j), (row, column, weight, rank, colour) in found.items():
        assert (row, column) == (rows[i], columns[j])
        assert abs(weight - weights[i, j]) <= 1e-4 * largest
        assert rank == 1 + (weights[i] > weights[i, j]).sum()
        assert np.abs(colour - shade(weights[i, j] / largest)).max() <= 4


def accessible(frame):
    """Chromium's own tree of a frame: (role, name) of all it does not ignore."""
    session = frame.page.context.new_cdp_session(frame)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    return [
        (node["role"]["value"], node.get("name", {}).get("value", ""), node)
        for node in nodes
        if not node["ignored"]
    ]


def properties(node):
    return {entry["name"]: entry["value"].get("value") for entry in node["properties"]}


def visible_form(token):
    if token == "":
        return "(empty)"
    token = re.sub(r"\s", " ", token)
    return token if len(token) <= 60 else "x" * 59 + "…"


def check_hostile_heatmap(scope):
    found = scan(scope)
    assert len(found) == len(HOSTILE) ** 2
    for (i, j), (row, column, *_) in found.items():
        assert (row, column) == (visible_form(HOSTILE[i]), visible_form(HOSTILE[j]))
    assert scope.locator(".plot").bounding_box()["width"] < 700
    assert scope.locator("figcaption").inner_text() == HOSTILE[1]


def check_hostile_text(scope):
    shown = scope.locator(".word").all_text_contents()
    for token, text in zip(HOSTILE, shown, strict=True):
        assert text == visible_form(token) or text == "x" * 79 + "…"
    figure = scope.locator("figure").last.bounding_box()
    widest = max(word.bounding_box()["width"] for word in scope.locator(".word").all())
    assert widest <= figure["width"] < 1400
    assert scope.locator("img, script:not([type]), svg, iframe").count() <= 1  # the frame's starter


def hostile_heatmap():
    """Hostile rows and columns."""
    options = {"title": HOSTILE[1], "outline": 0.5, "band": 2}
    return AttentionHeatmap(attention(10, 10), HOSTILE, **options)


def hostile_text():
    return AttentionText([HOSTILE], attention(1, 10), [1], title=HOSTILE[0])
