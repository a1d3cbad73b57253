"""The larger figures of lessons and of their side notes; titles are the lesson's."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from course_lib.metrics.attention import uniform_diagonality
from course_lib.views.colours import ACCENT, INK, LINES, MUTED, SECOND, SIGNED
from course_lib.views.panels import grid, legend


def weighted_mean(
    words: Sequence[str], vectors: np.ndarray, query: np.ndarray, title: str = ""
) -> Figure:
    """Dot-product attention over three words in the plane, drawn: ``vectors`` ``(3, 2)`` and the
    ``query`` ``(2,)`` as arrows, the way from their plain to their weighted mean, the sums."""
    scores = vectors @ query
    powers = np.exp(scores)
    weights = powers / powers.sum()
    plain, mean = vectors.mean(0), weights @ vectors
    figure, (plane, table) = grid(["", ""], 2, (5, 3.6), title, width_ratios=[1.1, 1])
    plane.fill(*vectors.T, color=MUTED, alpha=0.15, lw=0)
    arrows = [(word, end, ACCENT) for word, end in zip(words, vectors, strict=True)]
    for name, end, colour in [*arrows, ("query", query, SECOND)]:
        look = {"arrowstyle": "-|>", "color": colour, "lw": 1.8, "shrinkA": 0, "shrinkB": 0}
        plane.annotate("", end, (0, 0), arrowprops=look)
        below = 4 if colour == ACCENT else -14
        plane.annotate(name, end, (6, below), textcoords="offset points", color=colour)
    plane.annotate("", mean, plain, arrowprops={"arrowstyle": "->", "color": INK})
    for name, end, fill in (("plain mean", plain, "none"), ("weighted mean", mean, "full")):
        plane.plot(*end, "o", color=INK, fillstyle=fill)
        plane.annotate(name, end, (6, -4), textcoords="offset points")
    room = max(1.0, np.abs(vectors).max())
    limits = {"xlim": (-0.3, 1.45 * room), "ylim": (-0.3, 1.25 * room)}
    plane.set(xlabel="first number", ylabel="second number", aspect="equal", **limits)
    rows = [
        [word, f"{score:g}", f"{power:.2f}", f"{weight:.2f}"]
        for word, score, power, weight in zip(words, scores, powers, weights, strict=True)
    ]
    rows.append(["sum", "", f"{powers.sum():.2f}", "1.00"])
    head = ["word", "score", "exp", "weight"]
    drawn = table.table(rows, colLabels=head, loc="center", cellLoc="center", edges="horizontal")
    drawn.auto_set_font_size(False)
    drawn.scale(1, 1.8)
    table.axis("off")
    return figure


def state_trace(axis: Axes, words: Sequence[str], asked: np.ndarray, z: float) -> None:
    """A state that moves by the share z towards what each word asks for, ``asked`` in [−1, 1], and
    what is left at the end of the word that asked for most."""
    state = [0.0]
    for wish in asked:
        state.append((1 - z) * state[-1] + z * wish)
    places = np.arange(1, len(words) + 1)
    axis.bar(places, asked, color=MUTED, alpha=0.35, label="candidate")
    axis.plot(np.arange(len(state)), state, "o-", color=ACCENT, markersize=4, label="state")
    axis.axhline(0, color=MUTED, linewidth=0.8)
    axis.set_xticks(places, words, rotation=45, ha="right", fontsize=9)
    axis.set(ylim=(-1.1, 1.1), ylabel="one unit")
    largest = int(np.argmax(asked))
    left = z * (1 - z) ** (len(words) - 1 - largest)
    axis.set_title(f"z = {z:g}: {left:.0%} of “{words[largest]}” is left")


def positions_panels(encoding: np.ndarray, places: Sequence[int]) -> Figure:
    """Positions ``(places, features)`` as waves, and the dot products of some ``places`` with all
    others."""
    names = ("Fast hands first, slow hands last", "Near places match best")
    figure, (left, right) = grid(names, 2, (5.2, 3.3), width_ratios=[1.5, 1])
    picture = left.imshow(encoding.T, aspect="auto", cmap="PuOr", vmin=-1, vmax=1)
    left.set(xlabel="place p", ylabel="feature")
    figure.colorbar(picture, ax=left, label="PE")
    overlap = encoding @ encoding.T
    for place in places:
        right.plot(overlap[place], label=f"place {place}")
    right.axhline(0, color=MUTED, linewidth=0.8)
    right.set(xlabel="place q", ylabel="PE(p) · PE(q)")
    right.legend()
    return figure


def beside_uniform(axis: Axes, words: int, rows: Mapping[str, Sequence[float]]) -> None:
    """Shares of attention in % within 1, 2, … words of the diagonal, a line for each row of
    ``rows``, beside that of uniform attention in a text of so many words."""
    bandwidths = np.arange(1, 1 + max(map(len, rows.values())))
    below = 0.0
    for name, shares in sorted(rows.items(), key=lambda row: row[1][-1]):
        axis.plot(bandwidths, shares, "o-", color=ACCENT, markersize=3, linewidth=1)
        below = max(shares[-1], 1.2 * below)  # names must not touch
        axis.annotate(name, (bandwidths[-1] + 0.12, below), va="center", color=ACCENT, fontsize=8)
    uniform = [uniform_diagonality(torch.tensor(words), b).item() for b in bandwidths]
    axis.plot(bandwidths, 100 * np.array(uniform), "--", color=INK, linewidth=2.5)
    axis.set(xlabel="bandwidth b", xticks=bandwidths, xlim=(0.8, bandwidths[-1] + 1.1))
    ticks = [3, 5, 10, 20, 50, 100]
    axis.set(ylabel="% of the weight", yscale="log", ylim=(2.5, 115))
    axis.set_yticks(ticks, ticks)
    axis.minorticks_off()
    axis.set_title(f"Dashed: uniform attention, {words} words", fontsize=10)


def gradient_curves(curves: Mapping[str, np.ndarray], title: str) -> Figure:
    """log₁₀ of gradients over the distance, ``(starts, distances)`` by name: the median of the
    starts and their range; a single start is dashed."""
    figure, (axis,) = grid([""], 1, (9, 4), title)
    for (name, values), colour in zip(curves.items(), (MUTED, *LINES[2::-1], INK), strict=False):
        places = np.arange(1, values.shape[1] + 1)
        style = "--" if len(values) == 1 else "-"
        axis.plot(places, np.median(values, 0), color=colour, lw=2, ls=style, label=name)
        axis.fill_between(places, values.min(0), values.max(0), color=colour, alpha=0.2, lw=0)
    axis.set(xlabel="words back", ylabel="length of the gradient, log₁₀", ylim=(-40, 2))
    axis.set_xlim(1, places[-1])
    legend(figure, "right center")
    return figure


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
