"""Small multiples: one kind of picture for each of several settings, on one scale."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from course_lib.views.colours import ACCENT, ATTENTION, INK, LINES, MUTED, SECOND, SIGNED, ink_on

PAGE = 12.0  # inches; panels that do not fit side by side go below
MARKERS = "os^Dv"
READABLE_CELLS = 20  # up to so many columns in all panels, each cell shows its number


def grid(
    names: Sequence[str], across: int, size: tuple[float, float], title: str = "", **options: Any
) -> tuple[Figure, list[Axes]]:
    """Small multiples: an empty panel of this ``size`` in inches under each name, so many
    ``across``; ``options`` are those of ``plt.subplots``."""
    across = min(across, len(names))
    down = -(-len(names) // across)
    figure, axes = plt.subplots(
        down,
        across,
        figsize=(across * size[0], down * size[1]),
        squeeze=False,
        layout="constrained",
        **options,
    )
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    for axis, name in zip(axes.flat, names, strict=False):
        axis.set_title(plain(name), fontsize=10)
    if title:
        figure.suptitle(title, x=0.01, ha="left")
    return figure, list(axes.flat[: len(names)])


def legend(figure: Figure, place: str = "lower center") -> None:
    """One legend outside the panels, each name in it once."""
    found = {
        name: handle
        for axis in figure.axes
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True)
        if name
    }
    columns = 1 if "center" in place and "right" in place else 4
    if found:
        figure.legend(found.values(), found, loc=f"outside {place}", ncols=columns)


def plain(text: str) -> str:
    """Text that matplotlib draws as it stands, not as a formula."""
    return text.replace("$", r"\$")


def lines(
    x: Sequence[float],
    curves: Mapping[str, ArrayLike],
    xlabel: str,
    ylabel: str,
    title: str = "",
    ylim: tuple[float, float] = (0, 1),
    size: tuple[float, float] = (9, 3),
    **options: Any,
) -> Figure:
    """A line each over ``x``; ``options`` are those of ``seaborn.lineplot``."""
    import seaborn as sns  # with the first figure that needs it: 0.6 s

    figure, (axis,) = grid([""], 1, size, title)
    for (name, values), colour, marker in zip(curves.items(), cycle((*LINES, INK)), cycle(MARKERS)):
        look = {"marker": marker, "markersize": 5, "color": colour, "label": plain(name)} | options
        sns.lineplot(x=np.asarray(x), y=np.asarray(values), ax=axis, legend=False, **look)
    axis.set(xlabel=xlabel, ylabel=ylabel, ylim=ylim)
    legend(figure)
    return figure


def lines_over_layers(
    panels: Mapping[str, Mapping[str, ArrayLike]],
    ylabel: str,
    title: str,
    bands: Mapping[str, Mapping[str, tuple[ArrayLike, ArrayLike]]] | None = None,
    line: tuple[str, float] | None = None,
    first: int = 0,
    ylim: tuple[float, float] | None = None,
) -> Figure:
    """Small multiples on one scale: a panel for each setting, in it a line over the layers by name.

    ``first`` is the number of the first layer. ``bands`` holds ``(low, high)`` by panel and name,
    drawn behind the lines; ``line`` is a named height to compare with.
    """
    figure, axes = grid(list(panels), 2, (5, 2.8), title, sharex=True, sharey=True)
    for axis, (panel, lines) in zip(axes, panels.items(), strict=True):
        if line:
            axis.axhline(line[1], color=MUTED, linestyle=":", label=line[0])
        for (name, values), colour, marker in zip(lines.items(), LINES, MARKERS, strict=False):
            at = first + np.arange(len(np.asarray(values)))
            if bands and name in bands.get(panel, {}):
                axis.fill_between(at, *bands[panel][name], color=colour, alpha=0.18, linewidth=0)
            axis.plot(at, values, f"{marker}-", color=colour, markersize=4, label=name)
            axis.set_xticks(at[first % 2 :: 2])
    axes[0].set_ylim(ylim)
    for axis in axes[-2:]:
        axis.set_xlabel("layer")
    figure.supylabel(ylabel, fontsize=11)
    legend(figure)
    return figure


def ranked_columns(
    panels: Mapping[str, Mapping[str, ArrayLike]],
    words: Mapping[str, Sequence[str]],
    size: tuple[float, float] = (5, 5),
) -> Figure:
    """Two rankings of the same words as two columns, the largest number above, with a line from
    each word to itself: two lines cross where the rankings disagree about a pair of words.

    ``panels`` holds, by title, two named rankings ``(words,)`` without ties, ``words`` their words.
    """
    figure, axes = grid(list(panels), len(panels), size)
    for axis, (title, rankings) in zip(axes, panels.items(), strict=True):
        places = [np.argsort(np.argsort(-np.asarray(values))) for values in rankings.values()]
        for word, left, right in zip(words[title], *places, strict=True):
            axis.plot([0, 1], [left, right], "o-", color=ACCENT, markersize=4, linewidth=1.2)
            for at, place, side in ((-0.06, left, "right"), (1.06, right, "left")):
                axis.text(at, place, plain(word), ha=side, va="center", color=INK)
        axis.set(xlim=(-0.6, 1.6), ylim=(len(words[title]) - 0.5, -0.5), yticks=[])
        axis.set_xticks([0, 1], list(rankings))
        axis.xaxis.tick_top()
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
    return figure


def heatmap_panels(
    matrices: Mapping[str, ArrayLike],
    rows: Sequence[str],
    columns: Sequence[str],
    title: str = "",
    quantity: str = "attention",
    signed: bool = False,
    extra: int = 0,
    most: float | None = None,
    across: int | None = None,
    numbers: str = "",
) -> Figure:
    """Matrices of one shape by title, on one colour scale that begins at 0; ``signed`` values have
    a scale with 0 in its middle.

    They stand side by side, or so many ``across``; a line sets the last ``extra`` columns apart.
    ``most`` ends the scale, by default at the largest value. Up to ``READABLE_CELLS`` columns side
    by side, the numbers stand in the cells, in the format ``numbers``. ``ValueError`` for a matrix
    whose shape is not that of its names.
    """
    arrays = {name: np.asarray(matrix, dtype=float) for name, matrix in matrices.items()}
    for name, array in arrays.items():
        if array.shape != (len(rows), len(columns)):
            raise ValueError(
                f"matrix {name!r} has the shape {array.shape}; {len(rows)} rows and "
                f"{len(columns)} columns are named"
            )
    stacked = across == 1 < len(arrays)
    across = across or len(arrays)
    numbered = across * len(columns) <= READABLE_CELLS
    cell = 0.5 if numbered else min(0.24, PAGE / (across * len(columns)))
    tall = 0.3 if stacked else cell  # rows of a stack are lower, so that a page holds it
    size = cell * len(columns) + 0.5 + 1.6 / across, tall * len(rows) + 1.0
    figure, axes = grid(list(arrays), across, size, title, sharex=True, sharey=True)
    top = most or max(np.abs(array).max() for array in arrays.values()) or 1.0
    colours, least = (SIGNED, -top) if signed else (ATTENTION, 0)
    for axis, array in zip(axes, arrays.values(), strict=True):
        image = axis.pcolormesh(array, cmap=colours, vmin=least, vmax=top)
        for (row, column), value in np.ndenumerate(array) if numbered else ():
            number = format(value, numbers or (".1f" if signed else ".2f"))
            number = number if numbers or signed else number.removeprefix("0")
            ink = ink_on(colours((value - least) / (top - least)))
            look = {"color": ink, "ha": "center", "va": "center", "fontsize": 8}
            axis.text(column + 0.5, row + 0.5, number, **look)
        if extra:
            axis.axvline(len(columns) - extra, color=INK, lw=1.5)
        axis.set_xticks(np.arange(len(columns)) + 0.5, list(map(plain, columns)), rotation=90)
        axis.set_yticks(np.arange(len(rows)) + 0.5, list(map(plain, rows)))
        axis.tick_params(length=0, labelsize=9 if cell > 0.2 else 7)
        axis.spines[:].set_visible(True)
    axes[0].invert_yaxis()
    extend = "max" if most else "neither"
    figure.colorbar(image, ax=figure.axes, label=quantity, aspect=15, extend=extend)
    return figure


def sign_panels(
    panels: Mapping[str, ArrayLike],
    rows: Sequence[str],
    columns: Sequence[str],
    wanted: ArrayLike,
    title: str = "",
    across: int | None = None,
) -> Figure:
    """Tables of signed scores by title; a cell whose sign is not the ``wanted`` one, +1 or −1, is
    framed and says so.

    ``wanted`` and every table are ``(rows, columns)``, all coloured on one scale. They stand side
    by side, or so many ``across``.
    """
    size = 1.25 * len(columns) + 0.9, 0.62 * len(rows) + 0.7
    figure, axes = grid(list(panels), across or len(panels), size, title, sharex=True, sharey=True)
    wanted, tables = np.asarray(wanted), np.stack([np.asarray(t, float) for t in panels.values()])
    most = np.abs(tables).max() or 1.0
    for axis, scores in zip(axes, tables, strict=True):
        axis.pcolormesh(scores, cmap=SIGNED, vmin=-most, vmax=most)
        for (row, column), score in np.ndenumerate(scores):
            wrong = bool(score * wanted[row, column] <= 0)
            says = f"{score:+.1f}".replace("-", "−") + "\nwrong" * wrong
            look = {"ha": "center", "va": "center", "fontsize": 10, "color": INK}
            axis.text(column + 0.5, row + 0.5, says, **look)
            if wrong:
                corner = column + 0.03, row + 0.03
                axis.add_patch(Rectangle(corner, 0.94, 0.94, fill=False, edgecolor=INK, lw=2))
        axis.set_xticks(np.arange(len(columns)) + 0.5, list(map(plain, columns)))
        axis.set_yticks(np.arange(len(rows)) + 0.5, list(map(plain, rows)))
        axis.tick_params(length=0)
        axis.spines[:].set_visible(True)
    axes[0].invert_yaxis()
    return figure


def bar_panels(
    panels: Mapping[str, ArrayLike],
    labels: Sequence[str],
    ylabel: str = "",
    title: str = "",
    uniform: bool = False,
    signed: bool = False,
) -> Figure:
    """Bars under the same labels, one panel a setting, one above the other and on one scale.

    ``uniform`` draws the line that equal shares would give. ``signed`` gives negative values the
    second colour, and each panel a scale of its own.
    """
    places = np.arange(len(labels))
    size = max(5.0, 0.42 * len(labels)), 1.5 + 1.1 / len(panels)
    figure, axes = grid(list(panels), 1, size, title, sharex=True, sharey=not signed)
    for axis, values in zip(axes, map(np.asarray, panels.values()), strict=True):
        axis.bar(places, values, color=np.where(signed & (values < 0), SECOND, ACCENT))
        axis.axhline(0, color=INK, linewidth=0.8)
        if uniform:
            axis.axhline(1 / len(labels), color=SECOND, linestyle=":", label="uniform attention")
    axes[-1].set_xticks(places, list(map(plain, labels)), rotation=45, ha="right")
    figure.supylabel(ylabel, fontsize=11)
    legend(figure, "lower right")
    return figure


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
    figure, axes = grid(list(panels), across, (max(7.0 / across, width), 2.9), title)
    turned = {"rotation": 45, "ha": "right"} if max(map(len, settings)) > 4 else {}
    for axis, (panel, series) in zip(axes, panels.items(), strict=True):
        apart = np.linspace(-0.15, 0.15, len(series)) if len(series) > 1 else [0]
        looks = zip(cycle((ACCENT, SECOND, INK)), cycle("osD"), apart)
        for (name, by_setting), (colour, marker, shift) in zip(series.items(), looks, strict=True):
            x = [settings.index(at) + shift for at, runs in by_setting.items() for _ in runs]
            y = [value for runs in by_setting.values() for value in runs]
            axis.plot(x, y, marker, color=colour, alpha=0.8, label=name)
        if panel in (lines or {}):
            axis.axhline(lines[panel], color=MUTED, linestyle=":", label=reference)
        low, high = (limits or {}).get(panel, (0, 1))
        room = 0.04 * (high - low)
        axis.set(ylim=(low - room, high + room), xlim=(-0.5, len(settings) - 0.5), xlabel=xlabel)
        axis.set_xticks(range(len(settings)), settings, fontsize=9, **turned)
    legend(figure, "lower right")
    return figure
