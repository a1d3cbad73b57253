"""An attention heatmap as a matplotlib figure, with the colours and marks of the live one."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from course_lib.views.colours import ACCENT, ATTENTION, INK, MUTED

CELL = 0.22  # inches, of a matrix that has room
SIDE = 6.6  # inches, of the longest picture
LINE = 0.105  # inches that a label of the smallest size takes
GAP = 0.6  # cells, before the summaries
ROUND = (1, 2, 5, 10)  # steps between the numbers beside a colour scale


def heatmap(
    matrix: np.ndarray,
    spec: dict[str, Any],
    *,
    step: int,
    scale: str,
    most: float,
    normalise: bool,
    band: int | None,
) -> Figure:
    """One matrix ``(rows, columns)`` as ``spec`` of an ``AttentionHeatmap`` describes it."""
    if normalise:
        matrix = matrix / np.maximum(matrix.max(1, keepdims=True), np.finfo(np.float32).tiny)
        most = 1.0
    down, across = spec["rows"], spec["columns"]
    extra = (0, spec["extra"])
    if spec["transpose"]:
        matrix, down, across, extra = matrix.T, across, down, extra[::-1]
    cell = _cell_size(len(down), len(across))
    figure, axis = plt.subplots(figsize=(len(across) * cell[1] + 0.3, len(down) * cell[0] + 0.3))
    norm = PowerNorm(0.5 if scale == "sqrt" else 1.0, vmin=0, vmax=most or 1.0)
    places = [_places(len(names), apart) for names, apart in ((down, extra[0]), (across, extra[1]))]
    image = _draw_blocks(axis, matrix, places, extra, norm)
    _label(axis.yaxis, down, places[0], cell[0])
    _label(axis.xaxis, across, places[1], cell[1])
    if spec["outline"] is not None:
        _outline(axis, matrix > spec["outline"], places)
    if band is not None:
        _mark_band(axis, len(down), band, extra)
    _finish(figure, axis, image, spec, step, normalise)
    return figure


def _cell_size(rows: int, columns: int) -> tuple[float, float]:
    height, width = min(CELL, SIDE / rows), min(CELL * 1.3, SIDE / columns)
    return (min(height, width),) * 2 if rows == columns else (height, width)


def _places(count: int, apart: int) -> np.ndarray:
    """Where each cell begins, in cells; the last ``apart`` beyond a gap."""
    places = np.arange(count, dtype=float)
    places[count - apart :] += GAP
    return places


def _draw_blocks(
    axis: Axes, matrix: np.ndarray, places: list[np.ndarray], extra: tuple[int, int], norm: Any
) -> Any:
    cuts = [
        [slice(0, len(at) - apart)] + ([slice(len(at) - apart, None)] if apart else [])
        for at, apart in zip(places, extra)
    ]
    smooth = "nearest" if max(matrix.shape) < 500 else "antialiased"
    for rows in cuts[0]:
        for columns in cuts[1]:
            y, x = places[0][rows], places[1][columns]
            box = (x[0], x[-1] + 1, y[-1] + 1, y[0])
            image = axis.imshow(
                matrix[rows, columns], extent=box, cmap=ATTENTION, norm=norm, aspect="auto",
                interpolation=smooth,
            )  # fmt: skip
            frame = Rectangle((x[0], y[0]), x[-1] + 1 - x[0], y[-1] + 1 - y[0])
            frame.set(fill=False, edgecolor="#98a2b3", linewidth=0.8, clip_on=False)
            axis.add_patch(frame)
    axis.set(xlim=(0, places[1][-1] + 1), ylim=(places[0][-1] + 1, 0))
    return image


def _label(axis: Any, tokens: list[str], places: np.ndarray, cell: float) -> None:
    """Every token that has room, the others left out evenly."""
    every = max(1, int(np.ceil(LINE / cell)))
    names = [_shown(token) for token in tokens[::every]]
    axis.set_ticks(places[::every] + 0.5, names, fontsize=float(np.clip(cell * 55, 6.5, 9)))
    axis.set_tick_params(length=0, pad=3, labelcolor=INK)
    if axis.axis_name == "x":
        axis.tick_top()
        upright = max(map(len, names)) * 0.075 < cell
        axis.set_tick_params(labelrotation=0 if upright else 90, length=0)


def _shown(token: str, limit: int = 22) -> str:
    """A token on one line, drawn as it stands, not as a formula; what has no glyph is left out."""
    line = " ".join(token.split()) or ("(space)" if token else "(empty)")
    line = line if len(line) <= limit else line[: limit - 1] + "…"
    return line.replace("$", r"\$")


def _outline(axis: Axes, cells: np.ndarray, places: list[np.ndarray]) -> None:
    for row, column in np.argwhere(cells):
        corner = places[1][column], places[0][row]
        axis.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="white", linewidth=3))
        axis.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=INK, linewidth=1.4))


def _mark_band(axis: Axes, count: int, band: int, extra: tuple[int, int]) -> None:
    """The borders of |i − j| ≤ band, as steps along the cells."""
    cells = np.repeat(np.arange(count), 2)
    edges = np.repeat(np.arange(count + 1), 2)[1:-1]
    for side in (cells + band + 1, cells - band):
        x, y = (
            at + GAP * ((at >= count - apart) & (apart > 0))
            for at, apart in ((side, extra[1]), (edges, extra[0]))
        )
        axis.plot(x, y, color="white", linewidth=2.6)
        axis.plot(x, y, color=ACCENT, linewidth=1.4, linestyle=(0, (4, 2)))


def _finish(
    figure: Figure, axis: Axes, image: Any, spec: dict[str, Any], step: int, normalise: bool
) -> None:
    for side in axis.spines.values():
        side.set_visible(False)
    flat = figure.get_figheight() < 1.6
    bar = figure.colorbar(
        image, ax=axis, fraction=0.05, pad=0.03, shrink=1 if flat else 0.6,
        aspect=7 if flat else 18, ticks=MaxNLocator(4 if flat else 6, steps=ROUND),
    )  # fmt: skip
    bar.outline.set(edgecolor="#98a2b3", linewidth=0.8)
    bar.ax.tick_params(labelsize=7.5, length=2, colors=MUTED)
    side = "column" if spec["transpose"] else "row"
    quantity = spec["quantity"] + f" ÷ largest of its {side}" * normalise
    bar.set_label(quantity, fontsize=8, color=MUTED)
    names = [_shown(spec["title"], 90)] if spec["title"] else []
    if spec["steps"]:
        names.append(_shown(spec["steps"][step], 60))
    axis.set_title(" · ".join(names), loc="left", fontsize=10.5, fontweight="bold", color=INK)
