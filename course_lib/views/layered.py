"""Figures over the layers of a deep network, those of lesson 06; titles are the lesson's."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from course_lib.views.colours import ACCENT, ATTENTION, LINES, MUTED, SECOND

MARKERS = "os^D"


def layer_bars(axis: Axes, shares: ArrayLike, title: str) -> None:
    """The share of each layer in a whole, ``(layers,)``, as bars."""
    shares = np.asarray(shares)
    axis.bar(range(len(shares)), shares, color=ACCENT)
    axis.set(xlabel="layer", ylabel="share of the last y", ylim=(0, 1))
    axis.set_xticks(range(0, len(shares), 2))
    axis.yaxis.set_major_formatter("{x:.0%}")
    axis.set_title(title)


def distances(
    paths: Mapping[str, tuple[Sequence[int], ArrayLike]], steps: Mapping[str, int], title: str
) -> Figure:
    """How far a weight has come after so many steps, both axes logarithmic: ``paths`` holds
    ``(steps, distances)`` by name; ``steps`` names places on the axis with a dotted line each."""
    figure, axis = plt.subplots(figsize=(8.5, 3.6), layout="constrained")
    for (name, path), colour in zip(paths.items(), cycle(LINES)):
        axis.plot(*path, color=colour, label=name)
    axis.set(xscale="log", yscale="log", xlabel="steps", ylabel="distance of one weight")
    for name, place in steps.items():
        axis.axvline(place, color=MUTED, linestyle=":", linewidth=1)
        axis.annotate(
            name, (place, 1.01), xycoords=("data", "axes fraction"), ha="center", fontsize=9,
            color=MUTED,
        )  # fmt: skip
    axis.set_title(title, pad=18)
    figure.legend(loc="outside right center", fontsize=10)
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
    rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(
        rows, min(columns, len(panels)), figsize=(10, 0.6 + 2.6 * rows), sharex=True, sharey=True,
        squeeze=False, layout="constrained",
    )  # fmt: skip
    for axis, (panel, lines) in zip(axes.flat, panels.items()):
        if line:
            axis.axhline(line[1], color=MUTED, linestyle=":", label=line[0])
        for (name, values), colour, marker in zip(lines.items(), cycle(LINES), cycle(MARKERS)):
            at = first + np.arange(len(np.asarray(values)))
            if bands and name in bands.get(panel, {}):
                axis.fill_between(at, *bands[panel][name], color=colour, alpha=0.18, linewidth=0)
            axis.plot(at, values, f"{marker}-", color=colour, markersize=4, label=name)
            axis.set_xticks(at[first % 2 :: 2])
        axis.set_title(panel, fontsize=10)
    axes[0, 0].set_ylim(ylim)
    for axis in axes[-1]:
        axis.set_xlabel("layer")
    figure.supylabel(ylabel, fontsize=11)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=10)
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    return figure


def weight_histograms(histograms: Mapping[str, ArrayLike], title: str, most: float = 0.3) -> Figure:
    """The paper's Fig. 2: counts of words by scaled weight, ``(layers, bins)`` by network, as
    shares of each layer; shares above ``most`` are as dark as ``most``."""
    figure, axes = plt.subplots(
        1, len(histograms), figsize=(10, 3.5), sharey=True, squeeze=False, layout="constrained"
    )
    for axis, (name, counts) in zip(axes[0], histograms.items(), strict=True):
        counts = np.asarray(counts, dtype=float)
        share = counts / counts.sum(1, keepdims=True)
        picture = axis.imshow(
            share, aspect="auto", cmap=ATTENTION, vmin=0, vmax=most,
            extent=(0, 1, len(share) - 0.5, -0.5),
        )  # fmt: skip
        axis.set(xlabel="scaled weight", yticks=range(0, len(share), 2))
        axis.set_title(name, fontsize=10)
    axes[0, 0].set_ylabel("layer")
    figure.colorbar(picture, ax=axes, label="share of the words", format="{x:.0%}", extend="max")
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    return figure


def dictionary_panels(
    follows: Mapping[str, ArrayLike], between: Mapping[str, ArrayLike], title: str
) -> Figure:
    """By network: how each layer's scores correlate with a property of words ``(layers,)``, as
    bars, and with the scores of the other layers ``(layers, layers)``, as a matrix."""
    figure, axes = plt.subplots(
        1, 1 + len(between), figsize=(11, 3.3), width_ratios=[1.6] + [1] * len(between),
        layout="constrained",
    )  # fmt: skip
    width = 0.8 / len(follows)
    for number, ((name, values), colour) in enumerate(zip(follows.items(), (SECOND, ACCENT))):
        values = np.asarray(values)
        at = np.arange(len(values)) + width * (number - (len(follows) - 1) / 2)
        axes[0].bar(at, values, width, color=colour, label=name)
    axes[0].axhline(0, color=MUTED, linewidth=0.8)
    axes[0].set(xlabel="layer", ylabel="correlation with strength", xticks=range(0, len(values), 2))
    axes[0].margins(y=0.3)
    axes[0].legend(ncols=2, loc="upper left", fontsize=10)
    for axis, (name, matrix) in zip(axes[1:], between.items(), strict=True):
        picture = axis.imshow(matrix, cmap="PuOr", vmin=-1, vmax=1)
        axis.set(xlabel="layer", ylabel="layer", xticks=range(0, len(matrix), 2))
        axis.set_yticks(range(0, len(matrix), 2))
        axis.set_title(name, fontsize=10)
    figure.colorbar(picture, ax=axes[-1], label="correlation of two layers")
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    return figure
