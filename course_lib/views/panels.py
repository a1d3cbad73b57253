"""Small multiples: one kind of picture for each of several settings, on one scale."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from course_lib.views.colours import ACCENT, ATTENTION, INK, MUTED, SECOND, SIGNED, ink_on

READABLE_CELLS = 20  # up to so many columns in all panels, each cell shows its number


def heatmap_panels(
    matrices: Mapping[str, ArrayLike],
    rows: Sequence[str],
    columns: Sequence[str],
    title: str = "",
    quantity: str = "attention",
    signed: bool = False,
    framed: Sequence[tuple[int, int]] = (),
) -> Figure:
    """Matrices of one shape side by side by title, on one colour scale that begins at 0; ``signed``
    values have a scale with 0 in its middle. Cells ``framed`` by row and column get an outline.

    Up to ``READABLE_CELLS`` columns in all, the numbers stand in the cells. ``ValueError`` for a
    matrix whose shape is not that of its names.
    """
    arrays = {name: np.asarray(matrix, dtype=float) for name, matrix in matrices.items()}
    for name, array in arrays.items():
        if array.shape != (len(rows), len(columns)):
            raise ValueError(
                f"matrix {name!r} has the shape {array.shape}; {len(rows)} rows and "
                f"{len(columns)} columns are named"
            )
    most = max(np.abs(array).max() for array in arrays.values())
    colours, least = (SIGNED, -most) if signed else (ATTENTION, 0)
    numbered = len(arrays) * len(columns) <= READABLE_CELLS
    cell = 0.5 if numbered else 0.24
    size = len(arrays) * (cell * len(columns) + 0.5) + 1.6, cell * len(rows) + 1.7
    figure, axes = plt.subplots(
        1, len(arrays), figsize=size, sharey=True, squeeze=False, layout="constrained"
    )
    for axis, (name, array) in zip(axes[0], arrays.items(), strict=True):
        picture = axis.pcolormesh(array, cmap=colours, vmin=least, vmax=most)
        for row, column in framed:
            axis.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor=INK, lw=2))
        if numbered:
            for (row, column), value in np.ndenumerate(array):
                ink = ink_on(colours((value - least) / (most - least)))
                number = f"{value:.1f}" if signed else f"{value:.2f}".removeprefix("0")
                axis.text(column + 0.5, row + 0.5, number, color=ink, ha="center", va="center",
                          fontsize=8)  # fmt: skip
        axis.set_xticks(np.arange(len(columns)) + 0.5, list(map(_plain, columns)), rotation=90)
        axis.set_yticks(np.arange(len(rows)) + 0.5, list(map(_plain, rows)))
        axis.tick_params(length=0, labelsize=9)
        axis.set_title(name)
    axes[0, 0].invert_yaxis()
    figure.colorbar(picture, ax=axes, label=quantity, aspect=12)
    return _titled(figure, title)


def head_grid(attention: ArrayLike, words: Sequence[str], title: str = "") -> Figure:
    """The matrices of every head ``(layers, heads, words, words)`` on one scale: a row of panels
    for each layer, the lowest layer below. ``ValueError`` for another shape."""
    weights = np.asarray(attention, dtype=float)
    if weights.ndim != 4 or weights.shape[2:] != (len(words), len(words)):
        raise ValueError(
            f"attention has the shape {weights.shape}; {len(words)} words take (layers, heads, "
            f"{len(words)}, {len(words)})"
        )
    layers, heads = weights.shape[:2]
    figure, axes = plt.subplots(
        layers, heads, figsize=(2.6 * heads + 1.2, 2.6 * layers + 0.6), squeeze=False,
        sharex=True, sharey=True, layout="constrained",
    )  # fmt: skip
    for (layer, head), axis in np.ndenumerate(axes[::-1]):
        image = axis.imshow(weights[layer, head], cmap=ATTENTION, vmin=0, vmax=weights.max())
        axis.spines[:].set_visible(True)
        axis.tick_params(length=0, labelsize=7)
        axis.set_title(f"layer {layer + 1}, head {head + 1}", fontsize=10)
    axes[0, 0].set_xticks(range(len(words)), list(map(_plain, words)))
    axes[0, 0].set_yticks(range(len(words)), list(map(_plain, words)))
    for axis in axes[-1]:
        axis.tick_params(axis="x", rotation=90)
    figure.colorbar(image, ax=axes, label="weight", aspect=25)
    return _titled(figure, title)


def histograms(
    values: Mapping[str, ArrayLike],
    bins: ArrayLike,
    xlabel: str,
    ylabel: str,
    title: str,
    lines: Mapping[str, float] | None = None,
) -> Figure:
    """Histograms by name over the same bins, one above another where they overlap, with dotted
    ``lines`` at values to compare with; what is what stands below."""
    figure, axis = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
    for (name, some), colour in zip(values.items(), cycle((SECOND, ACCENT))):
        axis.hist(some, bins=bins, color=colour, alpha=0.8, label=name)
    for name, value in (lines or {}).items():
        axis.axvline(value, color=MUTED, linestyle=":", label=name)
    axis.set(xlabel=xlabel, ylabel=ylabel)
    axis.set_title(title)
    figure.legend(loc="outside lower center", ncols=3, fontsize=9)
    return figure


def bar_panels(
    panels: Mapping[str, ArrayLike],
    labels: Sequence[str],
    ylabel: str,
    title: str = "",
    uniform: bool = False,
    marked: ArrayLike | None = None,
) -> Figure:
    """Bars under the same labels, one panel a setting, one above the other and on one scale.

    ``uniform`` draws the line that equal shares would give; the ``marked`` bars, ``(labels,)`` of
    bool, get the second colour.
    """
    places = np.arange(len(labels))
    second = np.zeros(len(labels), dtype=bool) if marked is None else np.asarray(marked)
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(max(5.0, 0.4 * len(labels)), 1.1 + 1.5 * len(panels)),
        sharex=True, sharey=True, squeeze=False, layout="constrained",
    )  # fmt: skip
    for axis, (name, values) in zip(axes[:, 0], panels.items(), strict=True):
        axis.bar(places, values, color=np.where(second, SECOND, ACCENT))
        axis.axhline(0, color=INK, linewidth=0.8)
        if uniform:
            axis.axhline(1 / len(labels), color=SECOND, linestyle=":", label="uniform")
        axis.set_title(name, fontsize=10)
    axes[-1, 0].set_xticks(places, list(map(_plain, labels)), rotation=45, ha="right")
    figure.supylabel(ylabel, fontsize=11)
    if uniform:
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower right")
    return _titled(figure, title)


def _titled(figure: Figure, title: str) -> Figure:
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    return figure


def _plain(text: str) -> str:
    """Text that matplotlib draws as it stands, not as a formula."""
    return text.replace("$", r"\$")
