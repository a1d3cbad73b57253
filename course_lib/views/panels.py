"""Small multiples: one kind of picture for each of several settings, on one scale."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from course_lib.views.colours import ACCENT, ATTENTION, INK, MUTED, SECOND, SIGNED, ink_on

PAGE = 12.0  # inches; panels that do not fit side by side go below
READABLE_CELLS = 20  # up to so many columns in all panels, each cell shows its number


def heatmap_panels(
    matrices: Mapping[str, ArrayLike],
    rows: Sequence[str],
    columns: Sequence[str],
    title: str = "",
    quantity: str = "attention",
    signed: bool = False,
    framed: Sequence[tuple[int, int]] = (),
    stacked: bool = False,
    extra: int = 0,
) -> Figure:
    """Matrices of one shape side by side by title, on one colour scale that begins at 0; ``signed``
    values have a scale with 0 in its middle. Cells ``framed`` by row and column get an outline.

    ``stacked`` puts them one below the other; a line sets the last ``extra`` columns apart. Up to
    ``READABLE_CELLS`` columns side by side, the numbers stand in the cells. ``ValueError`` for a
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
    high, wide = (len(arrays), 1) if stacked else (1, len(arrays))
    numbered = wide * len(columns) <= READABLE_CELLS
    cell = 0.5 if numbered else 0.24
    tall = 0.3 if stacked else cell  # rows of a stack are lower, so that a page holds it
    size = wide * (cell * len(columns) + 0.5) + 1.6, high * (tall * len(rows) + 0.4) + 1.3
    figure, axes = plt.subplots(
        high, wide, figsize=size, sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for axis, (name, array) in zip(axes.flat, arrays.items(), strict=True):
        picture = axis.pcolormesh(array, cmap=colours, vmin=least, vmax=most)
        for row, column in framed:
            axis.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor=INK, lw=2))
        if numbered:
            for (row, column), value in np.ndenumerate(array):
                ink = ink_on(colours((value - least) / (most - least)))
                number = f"{value:.1f}" if signed else f"{value:.2f}".removeprefix("0")
                axis.text(column + 0.5, row + 0.5, number, color=ink, ha="center", va="center",
                          fontsize=8)  # fmt: skip
        if extra:
            axis.axvline(len(columns) - extra, color=INK, lw=1.5)
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


def dot_panels(
    panels: Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]],
    xlabel: str = "",
    title: str = "",
    limits: Mapping[str, tuple[float, float]] | None = None,
    reference: str = "",
    lines: Mapping[str, float] | None = None,
) -> Figure:
    """A dot a run over named settings, one panel a quantity and one colour a series: ``panels``
    holds values by panel, series and setting.

    Scales run from 0 to 1 but for the panels with ``limits``. A dotted line at the value that
    ``lines`` gives a panel is named ``reference`` in the legend.
    """
    every = (by_setting for series in panels.values() for by_setting in series.values())
    settings = list(dict.fromkeys(name for by_setting in every for name in by_setting))
    width = max(2.4, 0.42 * len(settings) + 0.9)
    across = min(len(panels), max(1, int(PAGE // width)))
    down = -(-len(panels) // across)
    figure, axes = plt.subplots(
        down, across, figsize=(max(7.0, across * width), down * 2.7 + 0.5), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    for axis, (panel, series) in zip(axes.flat, panels.items(), strict=False):
        apart = np.linspace(-0.15, 0.15, len(series)) if len(series) > 1 else [0]
        looks = zip(series.items(), cycle((ACCENT, SECOND, INK)), cycle("osD"), apart)
        for (name, by_setting), colour, marker, shift in looks:
            x = [settings.index(at) + shift for at, runs in by_setting.items() for _ in runs]
            y = [value for runs in by_setting.values() for value in runs]
            axis.plot(x, y, marker, color=colour, alpha=0.8, label=name)
        if panel in (lines or {}):
            axis.axhline(lines[panel], color=MUTED, linestyle=":", label=reference)
        low, high = (limits or {}).get(panel, (0, 1))
        room = 0.04 * (high - low)
        axis.set(ylim=(low - room, high + room), xlim=(-0.5, len(settings) - 0.5), xlabel=xlabel)
        turned = {"rotation": 45, "ha": "right"} if max(map(len, settings)) > 4 else {}
        axis.set_xticks(range(len(settings)), settings, fontsize=9, **turned)
        axis.set_title(panel, fontsize=10)
    labelled = {name: handle for axis in axes.flat
                for handle, name in zip(*axis.get_legend_handles_labels()) if name}  # fmt: skip
    if labelled:
        figure.legend(labelled.values(), labelled, loc="outside lower right", ncols=4, fontsize=9)
    return _titled(figure, title)


def _titled(figure: Figure, title: str) -> Figure:
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    return figure


def _plain(text: str) -> str:
    """Text that matplotlib draws as it stands, not as a formula."""
    return text.replace("$", r"\$")
