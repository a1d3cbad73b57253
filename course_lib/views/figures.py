"""The figures of lessons 01 and 02 that are more than a few lines; titles are the lesson's."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib.views.colours import ACCENT, ATTENTION, INK, MUTED, SECOND


def matrices(
    named: Mapping[str, np.ndarray],
    words: Sequence[str] = (),
    title: str = "",
    most: float | None = None,
) -> Figure:
    """Attention matrices side by side on one scale, each under its name; white is zero.

    ``words`` label the rows of the first and the columns of all. ``most`` ends the scale; darker is
    not shown. Without it the largest weight does.
    """
    arrays = {name: np.asarray(matrix) for name, matrix in named.items()}
    top = most or max(matrix.max() for matrix in arrays.values())
    figure, axes = plt.subplots(
        1, len(arrays), figsize=(1.2 + (3.1 if len(words) else 2.1) * len(arrays),
                                 3.9 if len(words) else 2.8),
        squeeze=False, layout="constrained",
    )  # fmt: skip
    for place, (axis, (name, matrix)) in enumerate(zip(axes[0], arrays.items(), strict=True)):
        image = axis.imshow(matrix, cmap=ATTENTION, vmin=0, vmax=top)
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set_visible(True)
        if len(words):
            axis.set_xticks(range(len(words)), words, rotation=90, fontsize=7)
            if place == 0:
                axis.set_yticks(range(len(words)), words, fontsize=7)
        axis.tick_params(length=0)
        axis.set_title(name, fontsize=10)
    figure.colorbar(image, ax=list(axes[0]), label="weight", extend="max" if most else "neither")
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    return figure


def weighted_mean(
    words: Sequence[str], vectors: np.ndarray, query: np.ndarray, title: str = ""
) -> Figure:
    """Dot-product attention over three words in the plane, drawn: ``vectors`` ``(3, 2)`` and the
    ``query`` ``(2,)`` as arrows, the weighted mean inside their triangle, the sums beside it."""
    scores = vectors @ query
    powers = np.exp(scores)
    weights = powers / powers.sum()
    mean = weights @ vectors
    figure, (plane, table) = plt.subplots(
        1, 2, figsize=(10, 3.6), width_ratios=[1.1, 1], layout="constrained"
    )
    plane.fill(*vectors.T, color=MUTED, alpha=0.15, lw=0)
    for word, vector in zip(words, vectors, strict=True):
        _arrow(plane, vector, ACCENT)
        plane.annotate(word, vector, (6, 4), textcoords="offset points")
    _arrow(plane, query, SECOND)
    plane.annotate("query", query, (4, -14), textcoords="offset points", color=SECOND)
    plane.plot(*mean, "o", color=INK)
    plane.annotate("weighted mean", mean, (6, -4), textcoords="offset points")
    room = max(1.0, np.abs(vectors).max())
    plane.set(xlabel="first number", ylabel="second number", aspect="equal",
              xlim=(-0.3, 1.45 * room), ylim=(-0.3, 1.25 * room))  # fmt: skip
    plane.set_title(title)
    head = ["word", "score", "exp", "weight"]
    rows = [
        [word, f"{score:g}", f"{power:.2f}", f"{weight:.2f}"]
        for word, score, power, weight in zip(words, scores, powers, weights, strict=True)
    ]
    rows.append(["sum", "", f"{powers.sum():.2f}", "1.00"])
    drawn = table.table(rows, colLabels=head, loc="center", cellLoc="center", edges="horizontal")
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(11)
    drawn.scale(1, 1.8)
    table.axis("off")
    return figure


def _arrow(axis: Axes, end: np.ndarray, colour: str) -> None:
    axis.annotate(
        "", end, (0, 0), arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.8,
                                     "shrinkA": 0, "shrinkB": 0},
    )  # fmt: skip


def softmax_bars(axis: Axes, words: Sequence[str], scores: np.ndarray, temperature: float) -> None:
    """The softmax of scores divided by a temperature, as bars with the uniform line."""
    powers = np.exp((scores - scores.max()) / temperature)
    weights = powers / powers.sum()
    axis.bar(range(len(words)), weights, color=ACCENT)
    axis.axhline(1 / len(words), color=SECOND, linestyle=":", label="uniform")
    axis.set_xticks(range(len(words)), words, rotation=45, ha="right", fontsize=9)
    axis.set(ylabel="weight", ylim=(0, 1))
    axis.set_title(
        f"T = {temperature:g}: “{words[int(weights.argmax())]}” takes {weights.max():.0%}"
    )


def scale_panels(
    widths: Sequence[int],
    spread: Sequence[float],
    largest: Mapping[str, Sequence[float]],
    slope: Mapping[str, Sequence[float]],
    keys: int,
) -> Figure:
    """Over the width d of queries and keys: the spread of scores, the largest weight and the slope
    of the softmax, by name of the scaling."""
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.3), layout="constrained")
    axes[0].plot(widths, spread, "o", color=SECOND, label="measured")
    axes[0].plot(widths, np.sqrt(widths), color=MUTED, linestyle=":", label="√d")
    axes[0].set(ylim=(0, 25), ylabel="standard deviation of q · k")
    axes[0].set_title("Scores spread like √d …")
    for axis, by_name in zip(axes[1:], (largest, slope), strict=True):
        for (name, values), colour in zip(by_name.items(), (SECOND, ACCENT)):
            axis.plot(widths, values, "o-", color=colour, label=name)
        axis.set_ylim(0, 1)
    axes[1].axhline(1 / keys, color=MUTED, linestyle=":", label="uniform")
    axes[1].set_ylabel("largest weight, mean")
    axes[1].set_title("… one key takes it all …")
    axes[2].set_ylabel("Σ α (1 − α), mean")
    axes[2].set_title("… and the weights stop moving")
    for axis in axes:
        axis.set(xscale="log", xlabel="d", xticks=[4, 32, 512], xticklabels=[4, 32, 512])
        axis.minorticks_off()
    axes[1].annotate("uniform", (5, 1 / keys + 0.02), color=MUTED, fontsize=9)
    axes[0].legend(loc="upper left")
    axes[2].legend(loc="center right", bbox_to_anchor=(1, 0.62))
    return figure


def positions_panels(encoding: np.ndarray, places: Sequence[int]) -> Figure:
    """Positions ``(places, features)`` as waves, and the dot products of some ``places`` with all
    others."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10.5, 3.3), width_ratios=[1.5, 1], layout="constrained"
    )
    picture = left.imshow(encoding.T, aspect="auto", cmap="PuOr", vmin=-1, vmax=1)
    left.set(xlabel="place p", ylabel="feature")
    left.set_title("Fast hands first, slow hands last")
    figure.colorbar(picture, ax=left, label="PE")
    overlap = encoding @ encoding.T
    for place, colour in zip(places, (ACCENT, SECOND)):
        right.plot(overlap[place], color=colour, label=f"place {place}")
    right.axhline(0, color=MUTED, linewidth=0.8)
    right.set(xlabel="place q", ylabel="PE(p) · PE(q)")
    right.set_title("Near places match best")
    right.legend()
    return figure


def signed_bars(
    words: Sequence[str], rows: Mapping[str, np.ndarray], title: str = ""
) -> Figure:  # fmt: skip
    """A row of bars for each named number per word, negative ones in the second colour."""
    figure, axes = plt.subplots(
        len(rows), 1, figsize=(8.5, 1.6 * len(rows)), sharex=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axis, (name, numbers) in zip(axes[:, 0], rows.items(), strict=True):
        colours = [SECOND if number < 0 else ACCENT for number in numbers]
        axis.bar(range(len(words)), numbers, color=colours)
        axis.axhline(0, color=MUTED, linewidth=0.8)
        axis.set_ylabel(name)
    axes[0, 0].set_title(title)
    axes[-1, 0].set_xticks(range(len(words)), words, rotation=45, ha="right")
    figure.align_ylabels()
    return figure


def lines_by_length(
    lengths: Sequence[int], curves: Mapping[str, Sequence[float]],
    dots: Mapping[str, tuple[float, float]], title: str,
) -> Figure:  # fmt: skip
    """Diagonality over length, a curve each, and named dots ``(length, diagonality)``."""
    figure, axis = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
    for name, values in curves.items():
        axis.plot(lengths, values, label=name)
    for name, place in dots.items():
        axis.plot(*place, "o", color=INK)
        line = {"arrowstyle": "-", "color": MUTED}
        axis.annotate(
            name, place, (12, 62), textcoords="offset points", fontsize=9, arrowprops=line
        )
    axis.set(xlabel="length n", ylabel="diagonality", xscale="log", ylim=(0, 1))
    ticks = [2, 5, 10, 20, 50, 100, 200]
    axis.set_xticks(ticks, ticks)
    axis.minorticks_off()
    axis.set_title(title)
    axis.legend(loc="upper right")
    return figure


def histograms(panels: Mapping[str, Mapping[str, np.ndarray]], title: str) -> Figure:
    """Outlines of histograms of numbers in [0, 1], a panel each, their series over one another."""
    figure, axes = plt.subplots(1, len(panels), figsize=(9, 2.8), sharey=True, squeeze=False)
    for axis, (name, series) in zip(axes[0], panels.items(), strict=True):
        for (label, values), colour in zip(series.items(), (MUTED, ACCENT)):
            axis.hist(values, np.linspace(0, 1, 41), density=True, histtype="step", lw=1.8,
                      color=colour, label=label)  # fmt: skip
        axis.set(xlabel=name, xlim=(0, 1))
    axes[0, 0].set(ylabel="density")
    axes[0, 0].set_title(title)
    axes[0, -1].legend()
    return figure


def gradient_curves(curves: Mapping[str, np.ndarray], title: str) -> Figure:
    """log₁₀ of gradients over the distance, ``(starts, distances)`` by name: the median of the
    starts and their range; a single start is dashed."""
    figure, axis = plt.subplots(figsize=(9, 4))
    colours = (MUTED, "#7a5195", SECOND, ACCENT, INK)
    for (name, values), colour in zip(curves.items(), colours):
        places = np.arange(1, values.shape[1] + 1)
        style = "--" if len(values) == 1 else "-"
        axis.plot(places, np.median(values, 0), color=colour, lw=2, ls=style, label=name)
        axis.fill_between(places, values.min(0), values.max(0), color=colour, alpha=0.2, lw=0)
    axis.set(xlabel="words back", ylabel="length of the gradient, log₁₀", ylim=(-40, 2))
    axis.set_xlim(1, places[-1])
    axis.set_title(title)
    axis.legend(loc="lower left", fontsize=9)
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


def lines(
    x: Sequence[float], curves: Mapping[str, Sequence[float]], xlabel: str, ylabel: str, title: str,
    ylim: tuple[float, float] = (0, 1),
) -> Figure:  # fmt: skip
    """A line each over ``x``."""
    figure, axis = plt.subplots(figsize=(9, 3), layout="constrained")
    for name, values in curves.items():
        axis.plot(x, values, marker=".", label=name)
    axis.set(xlabel=xlabel, ylabel=ylabel, ylim=ylim)
    axis.set_title(title)
    axis.legend(fontsize=9)
    return figure
