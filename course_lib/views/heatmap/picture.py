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

from course_lib.views.colours import ACCENT, ATTENTION, INK, MUTED, TINTS
from course_lib.views.panels import plain

CELL = 0.22  # inches, of a matrix that has room
SIDE = 6.6  # inches, of the longest picture
LINE = 0.105  # inches that a label of the smallest size takes
COLUMNS = 92  # characters in a line of text
MOST_LINES = 100  # of a text; one that is longer is cut, and its picture says so
DRAWN = 2_000  # cells of a side that are drawn one by one; of more, neighbours are averaged
FRAMED = 300  # cells of a side that have room for a frame
CLIP = 4  # times uniform attention; a word with more is no darker


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


def text(
    sentences: Sequence[Sequence[str]],
    word_attention: Sequence[np.ndarray],
    sentence_attention: np.ndarray | None = None,
    title: str = "",
) -> Figure:
    """The coloured review: each sentence's share in percent before it, words tinted by weight.

    ``word_attention`` is ``(words,)`` for each sentence, ``sentence_attention`` ``(sentences,)``. A
    word's tint is its weight times the number of words in its
    sentence, so that 1 is what uniform attention would give and long sentences do not look pale
    (report, Fig. 6 and 8). A text of more than ``MOST_LINES`` lines is cut, and its last line says
    how many words are left out.
    """
    left = -9 if sentence_attention is not None else -0.5
    every = _wrap(sentences)
    lines = every[:MOST_LINES]
    cut = sum(len(words) for *_, words in every[MOST_LINES:])
    figure, axis = plt.subplots(figsize=(9.5, 0.27 * (len(lines) + bool(cut) + 1.6)))
    axis.set(xlim=(left, COLUMNS + 2), ylim=(len(lines) + bool(cut) + 0.2, -1.1))
    axis.axis("off")
    size = 72 * figure.get_figwidth() * axis.get_position().width / (COLUMNS + 2 - left) / 0.602
    style = {"va": "center", "family": "monospace", "fontsize": min(size, 11.5)}  # 0.602: of a size
    boxes: list[tuple[float, int, float]] = []  # from a column, in a row, so wide
    tints = []
    for row, (sentence, begins, words) in enumerate(lines):
        if begins and sentence_attention is not None:
            share = float(sentence_attention[sentence])
            tint = TINTS(0.9 * share / max(float(sentence_attention.max()), 1e-9))
            boxes.append((-8.8, row, 7.6))
            tints.append(tint)
            axis.text(-1.7, row, f"{share:.1%}", **style | {"ha": "right"})
        for place, column, word in words:
            strength = float(word_attention[sentence][place]) * len(sentences[sentence])
            boxes.append((column - 0.3, row, _columns(word) + 0.6))
            tints.append(TINTS(min(strength / CLIP, 1.0)))
            axis.text(column, row, plain(word), **style)
    left, row, width = np.array(boxes).T
    low, high = row - 0.42, row + 0.42
    corners = [(left, low), (left + width, low), (left + width, high), (left, high)]
    drawn = PolyCollection(np.stack(corners).transpose(2, 0, 1), facecolors=tints, linewidths=0)
    axis.add_collection(drawn, autolim=False)  # at once: a patch each takes twice as long
    if cut:
        rest = f"… and {cut:,} more word{'s' * (cut != 1)}, left out of this picture"
        axis.text(0, len(lines), rest, **style | {"color": MUTED})
    axis.set_title(plain(title), pad=2)
    return figure


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
