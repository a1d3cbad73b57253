"""Both views as matplotlib figures, with the colours and marks of the live ones."""

from collections.abc import Sequence
from typing import Any
from unicodedata import east_asian_width

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from matplotlib.typing import ColorType

from course_lib.views.colours import ACCENT, ATTENTION, INK, MUTED, PAPER, TINTS_HEX
from course_lib.views.panels import plain

CELL = 0.22  # inches, of a matrix that has room
SIDE = 6.6  # inches, of the longest picture
LINE = 0.105  # inches that a label of the smallest size takes
COLUMNS = 92  # characters in a line of text
MOST_LINES = 100  # of a text; one that is longer is cut, and its picture says so
DRAWN = 2_000  # cells of a side that are drawn one by one; of more, neighbours are averaged
FRAMED = 300  # cells of a side that have room for a frame
RAMP = 26  # columns of a text that the scale of its tints takes
GROUND = "#f2f3f5"  # behind a share
ERASED = "erased"  # the mark of a word that is not read


def heatmap(
    matrix: np.ndarray,
    spec: dict[str, Any],
    *,
    scale: str,
    most: float,
    normalise: bool,
    band: int | None,
) -> Figure:
    """One matrix ``(rows, columns)`` as ``spec`` of an ``AttentionHeatmap`` describes it."""
    if normalise:
        matrix = matrix / np.maximum(matrix.max(1, keepdims=True), np.finfo(np.float32).tiny)
        most = 1.0
    down, across, side = spec["rows"], spec["columns"], "row"
    if spec["transpose"]:
        matrix, down, across, side = matrix.T, across, down, "column"
    height, width = min(CELL, SIDE / len(down)), min(CELL * 1.3, SIDE / len(across))
    if len(down) == len(across):
        height = width = min(height, width)
    figure, axis = plt.subplots(figsize=(len(across) * width + 0.3, len(down) * height + 0.3))
    norm = PowerNorm(0.5 if scale == "sqrt" else 1.0, vmin=0, vmax=most or 1.0)
    ends = (0, len(across), len(down), 0)
    smooth = "nearest" if max(matrix.shape) < 500 else "antialiased"
    look = {"extent": ends, "aspect": "auto", "interpolation": smooth}
    image = axis.imshow(_fewer(matrix), cmap=ATTENTION, norm=norm, **look)
    _label(axis.yaxis, down, height)
    _label(axis.xaxis, across, width)
    axis.tick_params(length=0, pad=3, labelcolor=INK)
    axis.spines[:].set(visible=True, edgecolor=MUTED, linewidth=0.8)
    if spec["extra"]:  # summaries, set apart
        line = axis.axhline if spec["transpose"] else axis.axvline
        line(len(spec["columns"]) - spec["extra"], color=INK, linewidth=1.5)
    if spec["outline"] is not None and max(matrix.shape) > FRAMED:
        axis.set_xlabel(f"no frames: more than {FRAMED} cells a side", fontsize=8, color=MUTED)
    elif spec["outline"] is not None:
        corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
        frames = np.argwhere(matrix > spec["outline"])[:, None, ::-1] + corners
        for colour, thick in (("white", 3), (INK, 1.4)):
            look = {"facecolor": "none", "edgecolor": colour, "linewidth": thick}
            axis.add_collection(PolyCollection(frames, **look), autolim=False)
    if band is not None:
        _mark_band(axis, len(down), band)
    flat = figure.get_figheight() < 1.6
    size = {"shrink": 1, "aspect": 7} if flat else {"shrink": 0.6, "aspect": 18}
    ticks = MaxNLocator(4 if flat else 6, steps=(1, 2, 5, 10))
    bar = figure.colorbar(image, ax=axis, fraction=0.05, pad=0.03, ticks=ticks, **size)
    bar.ax.tick_params(labelsize=7.5, length=2, colors=MUTED)
    quantity = spec["quantity"] + f" ÷ largest of its {side}" * normalise
    bar.set_label(quantity, fontsize=8, color=MUTED)
    about = shown(spec["title"], 90) if spec["title"] else ""
    axis.set_title(about, loc="left", fontsize=10.5, fontweight="bold", color=INK)
    return figure


def _fewer(matrix: np.ndarray) -> np.ndarray:
    """A matrix of at most ``DRAWN`` cells a side, each the mean of those that it stands for."""
    for side, count in enumerate(matrix.shape):
        if count > DRAWN:
            starts = np.arange(0, count, -(-count // DRAWN))
            each = np.diff([*starts, count])
            sums = np.add.reduceat(matrix, starts, axis=side)
            matrix = sums / np.expand_dims(each.astype(np.float32), 1 - side)
    return matrix


def _label(axis: Any, tokens: list[str], cell: float) -> None:
    """Every token that has room, the others left out evenly."""
    every = max(1, int(np.ceil(LINE / cell)))
    names = [shown(token) for token in tokens[::every]]
    size = float(np.clip(cell * 55, 6.5, 9))
    axis.set_ticks(np.arange(0, len(tokens), every) + 0.5, names, fontsize=size)
    if axis.axis_name == "x":
        axis.tick_top()
        upright = max(map(len, names)) * 0.075 < cell
        axis.set_tick_params(labelrotation=0 if upright else 90)


def shown(token: str, limit: int = 22) -> str:
    """A token on one line, drawn as it stands, not as a formula."""
    line = " ".join(token.split()) or ("(space)" if token else "(empty)")
    return plain(line if len(line) <= limit else line[: limit - 1] + "…")


def _mark_band(axis: Axes, count: int, band: int) -> None:
    """The borders of |i − j| ≤ band, as steps along the cells."""
    cells = np.repeat(np.arange(count), 2)
    edges = np.repeat(np.arange(count + 1), 2)[1:-1]
    for side in (cells + band + 1, cells - band):
        axis.plot(side, edges, color="white", linewidth=2.6)
        axis.plot(side, edges, color=ACCENT, linewidth=1.4, linestyle=(0, (4, 2)))
    axis.set(xlim=(0, count), ylim=(count, 0))


def text(spec: dict[str, Any]) -> Figure:
    """A text as ``spec`` of an ``AttentionText`` describes it: words tinted, before each sentence a
    bar with its share, below the text the scale of the tints.

    Where ``spec`` has a ``dress``, it says of each word its colour and whether it is erased. A text
    of more than ``MOST_LINES`` lines is cut, and its last line says how many words are left out.
    """
    sentences, shares, tinted = spec["sentences"], spec["shares"], spec["weights"] is not None
    left = -9 if shares is not None else -0.5
    every = _wrap(sentences)
    lines = every[:MOST_LINES]
    cut = sum(len(words) for *_, words in every[MOST_LINES:])
    rows = len(lines) + bool(cut)
    below = 1.9 * tinted  # rows that the scale takes
    figure, axis = plt.subplots(figsize=(9.5, 0.27 * (rows + below + 1.6)))
    axis.set(xlim=(left, COLUMNS + 2), ylim=(rows + below + 0.2, -1.1))
    axis.axis("off")
    size = 72 * figure.get_figwidth() * axis.get_position().width / (COLUMNS + 2 - left) / 0.602
    style = {"va": "center", "family": "monospace", "fontsize": min(size, 11.5)}  # 0.602: of a size
    boxes: list[tuple[float, float, float, float]] = []  # from a column, to one, above, below
    tints: list[ColorType] = []
    for row, (sentence, begins, words) in enumerate(lines):
        if begins and shares is not None:
            share, end = shares[sentence], -8.8 + 7.6 * shares[sentence] / max(*shares, 1e-9)
            for to, above, tint in ((-1.2, row - 0.42, GROUND), (end, row + 0.28, ACCENT)):
                boxes.append((-8.8, to, above, row + 0.42))
                tints.append(tint)
            axis.text(-1.7, row - 0.07, f"{share:.1%}", **style | {"ha": "right"})
        for place, column, word in words:
            tint, erased = _look(spec, sentence, place)
            end = column + _columns(word)
            boxes.append((column - 0.3, end + 0.3, row - 0.42, row + 0.42))
            tints.append(tint)
            axis.text(column, row, plain(word), **style | ({"color": MUTED} if erased else {}))
            if erased:
                axis.plot((column - 0.2, end + 0.2), (row, row), color=MUTED, linewidth=1.4)
    if tinted:
        top, width = rows - 0.1, RAMP / len(TINTS_HEX)
        for place, tint in enumerate(TINTS_HEX):
            boxes.append((place * width, (place + 1) * width, top, top + 0.5))
            tints.append(tint)
        small = {"fontsize": 8, "color": MUTED, "va": "center"}
        for place, times in enumerate(scale(spec["clip"])):
            axis.text(place * RAMP / 4, top + 1.1, times, ha="center", **small)
        name = f"times the weight of uniform attention in the {spec['over']}"
        axis.text(RAMP + 2, top + 0.25, name, **small)
    start, end, above, beneath = np.array(boxes).T
    corners = [(start, beneath), (end, beneath), (end, above), (start, above)]
    drawn = PolyCollection(np.stack(corners).transpose(2, 0, 1), facecolors=tints, linewidths=0)
    axis.add_collection(drawn, autolim=False)  # at once: a patch each takes twice as long
    if cut:
        rest = f"… and {cut:,} more word{'s' * (cut != 1)}, left out of this picture"
        axis.text(0, len(lines), rest, **style | {"color": MUTED})
    title = "; ".join(filter(None, [spec["title"], spec["beyond"]]))
    axis.set_title(plain(title), pad=2)
    return figure


def scale(clip: int) -> list[str]:
    """What stands at the quarters of a scale of tints: times uniform attention."""
    return [f"{quarter * clip / 4:g}" for quarter in range(4)] + [f"≥ {clip}"]


def tint_of(weight: float, count: int, clip: int) -> str:
    """The tint of a word whose weight is compared with uniform attention over ``count`` words."""
    return TINTS_HEX[round(min(weight * count / clip, 1.0) * (len(TINTS_HEX) - 1))]


def _look(spec: dict[str, Any], sentence: int, place: int) -> tuple[ColorType, bool]:
    """The tint of a word, and whether it is erased."""
    if "dress" in spec:
        worn = spec["dress"][sentence][place]
        return worn["colour"] or PAPER, ERASED in worn["marks"]
    if spec["weights"] is None:
        return PAPER, False
    weight, count = spec["weights"][sentence][place], spec["counts"][sentence]
    return tint_of(weight, count, spec["clip"]), False


def _columns(word: str) -> int:
    """How many columns a word takes; a Chinese character, for one, takes two."""
    return len(word) + sum(east_asian_width(character) in "WF" for character in word)


def _wrap(sentences: Sequence[Sequence[str]]) -> list[tuple[int, bool, list[tuple[int, int, str]]]]:
    """Lines of (sentence, whether it begins here, [(place, column, word)])."""
    lines = []
    for sentence, words in enumerate(sentences):
        column = COLUMNS + 1
        for place, word in enumerate(words):
            word = word if len(word) <= 40 else word[:39] + "…"
            width = _columns(word)
            if column + width > COLUMNS + (width == 1):  # a full stop may overhang
                lines.append((sentence, place == 0, []))
                column = 0
            lines[-1][2].append((place, column, word))
            column += width + 1
    return lines
