"""Figures over the layers of a deep network, those of lesson 06; titles are the lesson's."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from course_lib.views.colours import ACCENT, LINES, MUTED, SECOND
from course_lib.views.panels import MARKERS, grid, heatmap_panels, legend


def layer_bars(axis: Axes, shares: ArrayLike, title: str) -> None:
    """The share of each layer in a whole, ``(layers,)``, as bars."""
    shares = np.asarray(shares)
    axis.bar(range(len(shares)), shares, color=ACCENT)
    axis.set(xlabel="layer", ylabel="share of the last y", ylim=(0, 1), title=title)
    axis.set_xticks(range(0, len(shares), 2))
    axis.yaxis.set_major_formatter("{x:.0%}")


def distances(
    paths: Mapping[str, tuple[Sequence[int], ArrayLike]], steps: Mapping[str, int], title: str
) -> Figure:
    """How far a weight has come after so many steps, both axes logarithmic: ``paths`` holds
    ``(steps, distances)`` by name; ``steps`` names places on the axis with a dotted line each."""
    figure, (axis,) = grid([""], 1, (8.5, 3.8), title)
    for name, path in paths.items():
        axis.plot(*path, label=name)
    axis.set(xscale="log", yscale="log", xlabel="steps", ylabel="distance of one weight")
    for name, place in steps.items():
        axis.axvline(place, color=MUTED, linestyle=":", linewidth=1)
        look = {"ha": "center", "fontsize": 9, "color": MUTED}
        axis.annotate(name, (place, 1.01), xycoords=("data", "axes fraction"), **look)
    legend(figure, "right center")
    return figure


def lines_over_layers(
    panels: Mapping[str, Mapping[str, ArrayLike]],
    ylabel: str,
    title: str,
    bands: Mapping[str, Mapping[str, tuple[ArrayLike, ArrayLike]]] | None = None,
    line: tuple[str, float] | None = None,
    first: int = 0,
    ylim: tuple[float, float] | None = None,
    columns: int = 2,
) -> Figure:
    """Small multiples on one scale: a panel for each setting, in it a line over the layers by name.

    ``first`` is the number of the first layer. ``bands`` holds ``(low, high)`` by panel and name,
    drawn behind the lines; ``line`` is a named height to compare with.
    """
    figure, axes = grid(list(panels), columns, (5, 2.8), title, sharex=True, sharey=True)
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
    for axis in axes[-columns:]:
        axis.set_xlabel("layer")
    figure.supylabel(ylabel, fontsize=11)
    legend(figure)
    return figure


def weight_histograms(histograms: Mapping[str, ArrayLike], title: str, most: float = 0.3) -> Figure:
    """The paper's Fig. 2: counts of words by scaled weight, ``(layers, bins)`` by network, as
    shares of each layer; shares above ``most`` are as dark as ``most``."""
    counts = {name: np.asarray(count, dtype=float) for name, count in histograms.items()}
    shares = {name: count / count.sum(1, keepdims=True) for name, count in counts.items()}
    layers, bins = next(iter(shares.values())).shape
    rows, columns = list(map(str, range(layers))), [f"{place / bins:.2g}" for place in range(bins)]
    figure = heatmap_panels(shares, rows, columns, title, "share of the words", most=most)
    figure.supxlabel("scaled weight, from", fontsize=11)
    figure.supylabel("layer", fontsize=11)
    return figure


def dictionary_panels(
    follows: Mapping[str, ArrayLike], between: Mapping[str, ArrayLike], title: str
) -> Figure:
    """By network: how each layer's scores correlate with a property of words ``(layers,)``, as
    bars, and with the scores of the other layers ``(layers, layers)``, as a matrix."""
    count = 1 + len(between)
    widths = [1.6] + [1] * len(between)
    names = ["", *between]
    figure, axes = grid(names, count, (11 / count, 3.5), title, width_ratios=widths)
    bar = 0.8 / len(follows)
    for number, ((name, values), colour) in enumerate(zip(follows.items(), (SECOND, ACCENT))):
        layers = np.arange(len(np.asarray(values)))
        at = layers + bar * (number - (len(follows) - 1) / 2)
        axes[0].bar(at, values, bar, color=colour, label=name)
    axes[0].axhline(0, color=MUTED, linewidth=0.8)
    axes[0].set(xlabel="layer", ylabel="correlation with strength", xticks=layers[::2])
    for axis, matrix in zip(axes[1:], between.values(), strict=True):
        picture = axis.imshow(matrix, cmap="PuOr", vmin=-1, vmax=1)
        axis.set(xlabel="layer", ylabel="layer", xticks=layers[::2], yticks=layers[::2])
    figure.colorbar(picture, ax=axes[-1], label="correlation of two layers")
    legend(figure)
    return figure
