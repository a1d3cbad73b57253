"""How tall a static view will be, estimated, so that a page hardly moves when the frame tells it.

The sizes are those of the style sheet and of ``axes.js``, widths of letters a usual font's.
"""

from collections.abc import Iterable
from math import ceil, floor
from typing import Any

NARROW, WIDE = 400, 1000  # pixels of a page; a frame takes nine tenths of it
LETTER, WORD_LETTER = 6.6, 7.2  # pixels of labels at 12, and of words at 14 pixels
LINE, WORD_LINE = 19, 24.5
LEGEND = 50
SCALE = 274  # pixels that a colour scale is wide
EMPTY = 16  # around the figure


def css_height(narrow: float, wide: float) -> str:
    """A CSS height in proportion to the page's width, between those at ``NARROW`` and ``WIDE``."""
    slope = (wide - narrow) / (WIDE - NARROW)
    low, high = sorted((round(narrow), round(wide)))
    if low == high:
        return f"{low}px"
    start = narrow - slope * NARROW
    return f"clamp({low}px, calc({start:.0f}px + {100 * slope:.2f}vw), {high}px)"


def heatmap_height(spec: dict[str, Any]) -> str:
    """The CSS height of a heatmap, from its description."""
    return css_height(*(_heatmap(spec, 0.9 * page) for page in (NARROW, WIDE)))


def text_height(spec: dict[str, Any]) -> str:
    """The CSS height of a text, from its description."""
    return css_height(*(_text(spec, 0.9 * page) for page in (NARROW, WIDE)))


def _heatmap(spec: dict[str, Any], width: float) -> float:
    down, across, gap = spec["rows"], spec["columns"], 9 * bool(spec["extra"])
    if spec["transpose"]:
        down, across, gap = across, down, 0
    square = len(down) == len(across)
    room = width - 24
    spare = room - min(760, len(across) * (26 if square else 34) + gap) - 16
    left = 10 + min(max(150 if room > 500 else room * 0.3, min(260, spare)), _longest(down))
    cell_width = min(34, (min(760, room - left - 6) - gap) / len(across))
    cell_height = min(26, 760 / len(down), cell_width if square else 26)
    cell_height = floor(cell_height) if cell_height >= 3 else cell_height
    labels = _longest(across)
    top = 20 if labels <= cell_width - 4 else min(180, labels) + 10
    foot = LEGEND if width > 600 else LINE * 2 + LEGEND + 4
    bar = 32 * _lines(_controls(spec, square), width - 8, 14)
    plot = top + cell_height * len(down) + 10
    return EMPTY + _caption(spec, width) + bar + plot + foot


def _controls(spec: dict[str, Any], square: bool) -> list[float]:
    """The widths of what stands above a heatmap."""
    steps = [220 + _longest(spec["steps"])] if spec["steps"] else []
    return [*steps, 170, 160, *([165] if square else []), 115]


def _text(spec: dict[str, Any], width: float) -> float:
    room = min(832, width - 8)
    side = 10 + (70 if spec["shares"] else 0)
    if spec["labels"]:
        side += min(_longest(spec["labels"]) * 1.1 + 8, 208, 0.3 * width) + 8
    lines = sum(
        _lines((len(word) * WORD_LETTER + 6 for word in words), room - side, 4)
        for words in spec["sentences"]
    )
    legend = LEGEND if spec["weights"] else 0
    text = lines * WORD_LINE + 6 * len(spec["sentences"])
    beyond = LINE + 6 if spec["beyond"] else 0
    return EMPTY + _caption(spec, width) + text + beyond + legend


def _caption(spec: dict[str, Any], width: float) -> float:
    return ceil(len(spec["title"]) * 7 / (width - 8)) * LINE + 4 * bool(spec["title"])


def _longest(labels: Iterable[str]) -> float:
    return max(min(60, len(label)) for label in labels) * LETTER


def _lines(widths: Iterable[float], room: float, gap: float) -> int:
    """How many lines boxes of these widths take."""
    lines, used = 1, 0.0
    for width in widths:
        if used and used + width > room:
            lines, used = lines + 1, 0.0
        used += min(width, room) + gap
    return lines
