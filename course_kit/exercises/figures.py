"""The larger figures of lessons and of their side notes; titles are the lesson's."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from course_lib.metrics.attention import uniform_diagonality
from course_lib.views.colours import ACCENT, INK, MUTED, SECOND, SIGNED
from course_lib.views.panels import grid, legend


def beside_uniform(
    axis: Axes, words: int, rows: Mapping[str, Sequence[float]], second: Collection[str] = ()
) -> None:
    """Shares of attention in % within 1, 2, … words of the diagonal, a line for each row of
    ``rows``, those named in ``second`` in another colour, beside that of uniform attention in a
    text of so many words."""
    bandwidths = np.arange(1, 1 + max(map(len, rows.values())))
    below = 0.0
    for name, shares in sorted(rows.items(), key=lambda row: row[1][-1]):
        colour = SECOND if name in second else ACCENT
        axis.plot(bandwidths, shares, "o-", color=colour, markersize=3, linewidth=1)
        below = max(shares[-1], 1.26 * below)  # names must not touch
        axis.annotate(name, (bandwidths[-1] + 0.12, below), va="center", color=colour, fontsize=9)
    uniform = [uniform_diagonality(torch.tensor(words), b).item() for b in bandwidths]
    axis.plot(bandwidths, 100 * np.array(uniform), "--", color=INK, linewidth=2.5)
    axis.set(xlabel="bandwidth b", xticks=bandwidths, xlim=(0.8, bandwidths[-1] + 1.3))
    ticks = [3, 5, 10, 20, 50, 100]
    axis.set(ylabel="% of the weight (log scale)", yscale="log", ylim=(2.5, 130))
    axis.set_yticks(ticks, ticks)
    axis.minorticks_off()
    axis.set_title(f"Dashed: uniform attention, {words} words", fontsize=11)


def distances(
    paths: Mapping[str, tuple[Sequence[int], ArrayLike]], steps: Mapping[str, int]
) -> Figure:
    """How far a weight has come after so many steps, both axes logarithmic: ``paths`` holds
    ``(steps, distances)`` by name; ``steps`` names places on the axis with a dotted line each."""
    figure, (axis,) = grid([""], 1, (8.5, 3.8))
    for name, path in paths.items():
        axis.plot(*path, label=name)
    axis.set(xscale="log", yscale="log", xlabel="steps", ylabel="distance of one weight")
    for name, place in steps.items():
        axis.axvline(place, color=MUTED, linestyle=":", linewidth=1)
        look = {"ha": "center", "fontsize": 9, "color": MUTED}
        axis.annotate(name, (place, 1.01), xycoords=("data", "axes fraction"), **look)
    legend(figure, "right center")
    return figure


def pairs_grid(gaps: np.ndarray, p: np.ndarray, rows: str, columns: str) -> Figure:
    """Every training of one network against every one of another, ``(seeds, seeds)``: differences
    in points, a colour for each sign, with their p-values below."""
    figure, (axis,) = grid([""], 1, (6, 3.6))
    limit = float(np.abs(gaps).max())
    picture = axis.imshow(gaps, cmap=SIGNED, vmin=-limit, vmax=limit, aspect="auto")
    for (row, column), gap in np.ndenumerate(gaps):
        said = f"{gap:+.1f}\np = {p[row, column]:.3f}".replace("-", "−")
        axis.text(column, row, said, ha="center", va="center", color=INK)
    for side, name, seeds in zip((axis.yaxis, axis.xaxis), (rows, columns), gaps.shape):
        side.set_ticks(range(seeds), [f"seed {seed}" for seed in range(seeds)])
        side.set_label_text(name)
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    figure.colorbar(picture, ax=axis, label=f"{rows} − {columns}, points")
    return figure
