"""A failing case as a figure: what went in, then the learner's answer beside the expected one."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from course_kit.exercises.case_in_words import FEW, as_tensor, in_words, number, words_of
from course_lib.views.colours import ATTENTION, INK, MUTED, PAPER, SIGNED, ink_on

DRAWN = (12, 8, 5, 3)  # columns and rows of a panel, the first that lets all fit
WIDTH, HEIGHT = 10.0, 9.5  # of the figure, in inches
ROW, TITLE, TICKS, SIDE, GAP = 0.31, 0.3, 0.24, 0.45, 0.3  # inches
SWITCH = ListedColormap([PAPER, ATTENTION(0.25)], "switch")  # False, True
LABELS = ListedColormap([PAPER], "labels")  # whole numbers are names of things, not amounts


@dataclass(frozen=True)
class Panel:
    """Numbers ``(rows, columns)`` as they are written into cells, with a name for each."""

    title: str
    values: Tensor
    rows: Sequence[str]
    columns: Sequence[str]
    decimals: int = 2
    limit: float | None = None  # of the colours; the panel's own where None
    signed: bool = False
    wrong: Tensor | None = None  # as values, True where a cell is outlined

    @property
    def cells(self) -> list[list[str]]:
        """What is written into each cell."""
        return [[number(value, self.decimals) for value in row] for row in self.values.tolist()]

    @property
    def cell(self) -> float:
        """The width of a cell, in inches."""
        longest = max(map(len, [*self.columns, *(text for row in self.cells for text in row)]))
        return min(max(0.46, 0.075 * longest + 0.12), (WIDTH - 2 * SIDE) / len(self.columns))

    @property
    def size(self) -> tuple[float, float]:
        """Width and height with title and names, in inches."""
        width = max(self.cell * len(self.columns), 0.085 * len(self.title))
        return width + SIDE, ROW * len(self.rows) + TITLE + TICKS


def drawable(value: Any) -> bool:
    """Whether a value is an array of numbers with at least two cells."""
    values = as_tensor(value)
    return values is not None and values.dim() > 0 and values.numel() > 1


def case_figure(
    given: Mapping[str, Any],
    name: str = "",
    yours: Tensor | None = None,
    expected: Tensor | None = None,
    wrong: Tensor | None = None,
) -> Figure | None:
    """The inputs that have cells, then both answers on one scale; None if a sentence holds all.

    ``wrong`` is True where the answers differ; without answers the inputs stand alone. Of what is
    too large, the part that belongs to the first difference.
    """
    shape = () if expected is None else tuple(expected.shape)
    differs = wrong is not None and bool(wrong.any())
    first = wrong.nonzero()[0].tolist() if differs else [0] * len(shape)
    words = words_of(given)
    inputs = {key: as_tensor(value) for key, value in given.items() if drawable(value)}
    few = not words and all(values.numel() <= FEW for values in inputs.values())
    if expected is None and (few or not inputs):
        return None
    notes = [in_words(key, value) for key, value in given.items() if not drawable(value)]
    if differs:
        notes.append("outlined: where the answers differ")
    for most in DRAWN:
        panels = [
            _panel(f"input: {key}", values, _window(values.shape, shape, first, most), words)
            for key, values in inputs.items()
        ]
        answers = [] if expected is None else _answers(name, yours, expected, wrong, first, most)
        lines = [*_lines(panels), *_lines(answers)]
        if sum(map(_height, lines)) <= HEIGHT:
            break
    return _figure(lines, " · ".join(note for note in notes if note))


def _answers(
    name: str, yours: Tensor, expected: Tensor, wrong: Tensor | None, first: list[int], most: int
) -> list[Panel]:
    both = {"yours": yours, "expected": expected}
    values = torch.cat([part.detach().double().flatten() for part in both.values()])
    values = values[values.isfinite()]
    look = {
        "limit": max(values.abs().max().item() if len(values) else 0.0, 1e-9),
        "signed": bool((values < 0).any()),
        "decimals": _decimals(yours, expected, wrong),
    }
    windows = (_window(part.shape, tuple(expected.shape), first, most) for part in both.values())
    return [
        _panel(f"{who}: {name}", part, window, wrong=wrong, **look)
        for (who, part), window in zip(both.items(), windows, strict=True)
    ]


def _decimals(yours: Tensor, expected: Tensor, wrong: Tensor | None) -> int:
    """As many as show every difference, from 2 to 4."""
    if wrong is None or not expected.is_floating_point():
        return 2
    pairs = list(zip(yours[wrong].tolist(), expected[wrong].tolist(), strict=True))
    enough = (n for n in (2, 3) if all(number(a, n) != number(b, n) for a, b in pairs))
    return next(enough, 4)


def _panel(
    title: str,
    values: Tensor,
    window: tuple[slice, ...],
    words: Sequence[str] = (),
    wrong: Tensor | None = None,
    **look: Any,
) -> Panel:
    """The part of a tensor to draw, its leading axes as further rows."""
    part = values.detach()[window]
    places = [range(size)[cut] for size, cut in zip(values.shape, window, strict=True)]
    if part.shape != values.shape:
        title += (
            f"[{', '.join(_cut_in_words(cut, size) for cut, size in zip(window, values.shape))}]"
        )
    columns = [words[p] if len(words) == values.numel() else str(p) for p in places[-1]]
    rows = [""]
    for axis in places[:-1]:
        rows = [f"{row},{place}".strip(",") for row in rows for place in axis]
    same = wrong is not None and wrong.shape == values.shape
    marked = wrong[window].reshape(len(rows), -1) if same else None
    look = {"signed": bool(values.is_floating_point() and (part < 0).any())} | look
    return Panel(title, part.reshape(len(rows), -1), rows, columns, wrong=marked, **look)


def _window(
    size: Sequence[int], shape: tuple[int, ...], first: list[int], most: int
) -> tuple[slice, ...]:
    """At most so many rows and columns of a tensor; an axis as long as that of the answer, of this
    shape, follows its first difference."""
    places = [
        first[axis] if axis < len(shape) and shape[axis] == length else 0
        for axis, length in enumerate(size)
    ]
    cuts = [slice(max(0, place - most + 1), max(most, place + 1)) for place in places]
    if math.prod(size[:-1]) > most:  # one block of rows, the one with the difference
        cuts = [*(slice(place, place + 1) for place in places[:-2]), *cuts[-2:]]
    return tuple(slice(c.start, min(c.stop, n)) for c, n in zip(cuts, size, strict=True))


def _cut_in_words(cut: slice, size: int) -> str:
    if cut.stop - cut.start == size:
        return ":"
    return str(cut.start) if cut.stop - cut.start == 1 else f"{cut.start}:{cut.stop}"


def _lines(panels: Sequence[Panel]) -> list[list[Panel]]:
    """Panels side by side, on a new line wherever the width is used up."""
    lines: list[list[Panel]] = []
    for panel in panels:
        if not lines or _width([*lines[-1], panel]) > WIDTH:
            lines.append([])
        lines[-1].append(panel)
    return lines


def _width(line: Sequence[Panel]) -> float:
    return sum(panel.size[0] for panel in line) + GAP * (len(line) - 1)


def _height(line: Sequence[Panel]) -> float:
    return max(panel.size[1] for panel in line)


def _figure(lines: Sequence[Sequence[Panel]], note: str) -> Figure:
    wide = max([*map(_width, lines), 0.075 * len(note) + SIDE]) + GAP / 2
    high = sum(map(_height, lines)) + GAP * bool(note)
    figure = plt.figure(figsize=(wide, high))
    top = high
    for line in lines:
        left = 0.0
        for panel in line:
            width, height = panel.cell * len(panel.columns), ROW * len(panel.rows)
            corner = ((left + SIDE) / wide, (top - TITLE - height) / high)
            _draw(figure.add_axes((*corner, width / wide, height / high)), panel)
            left += panel.size[0] + GAP
        top -= _height(line)
    figure.text(SIDE / wide, 0.09 / high, note, fontsize=8.5, color=MUTED, parse_math=False)
    return figure


def _colours(panel: Panel) -> tuple[Colormap, Normalize]:
    values = panel.values
    if values.dtype == torch.bool:
        return SWITCH, Normalize(0, 1)
    if not values.is_floating_point():
        return LABELS, Normalize(0, 1)
    finite = values[values.isfinite()]
    own = max(finite.abs().max().item() if finite.numel() else 0.0, 1e-9)
    limit = panel.limit or own
    return (SIGNED, Normalize(-limit, limit)) if panel.signed else (ATTENTION, Normalize(0, limit))


def _draw(axis: Axes, panel: Panel) -> None:
    colours, scale = _colours(panel)
    values = panel.values.double()
    values = values.masked_fill(~values.isfinite(), torch.nan).numpy()  # NaN stays white
    axis.imshow(values, cmap=colours, norm=scale, aspect="auto")
    axis.set_title(panel.title, loc="left", fontsize=9.5, fontweight="bold", parse_math=False)
    axis.set(xticks=range(len(panel.columns)), yticks=range(len(panel.rows)))
    axis.set_xticklabels(panel.columns, parse_math=False)
    axis.set_yticklabels(panel.rows)
    axis.tick_params(length=0, labelsize=8, labelcolor=MUTED, pad=2)
    axis.spines[:].set_visible(False)
    for row, texts in enumerate(panel.cells):
        for column, text in enumerate(texts):
            value, corner = values[row, column], (column - 0.5, row - 0.5)
            ink = INK if np.isnan(value) else ink_on(colours(scale(value)))
            axis.add_patch(Rectangle(corner, 1, 1, fill=False, ec="#b8c0cc", lw=0.6))
            axis.text(column, row, text, ha="center", va="center", fontsize=8.5, color=ink)
    wrong = [] if panel.wrong is None else panel.wrong.nonzero().tolist()
    outline = (PAPER, 3.6), (INK, 1.6)  # dark inside light: one of the two stands out on any tint
    for (row, column), (colour, width) in product(wrong, outline):
        corner, side = (column - 0.44, row - 0.44), 0.88
        axis.add_patch(Rectangle(corner, side, side, fill=False, ec=colour, lw=width, zorder=3))
