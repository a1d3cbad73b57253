"""The figures of the papers and of the lessons, in one theme. Titles state what a figure found."""

import html
import inspect
import textwrap
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from IPython.display import Markdown, display
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib.views.colours import ACCENT, FOURTH, INK, LINES, MUTED, SECOND, THIRD, TINTS

STYLE = {
    "figure.dpi": 110,
    "savefig.bbox": "tight",
    "font.size": 12,
    "font.sans-serif": ["Arial", "DejaVu Sans", "Liberation Sans", "sans-serif"],
    "text.color": INK,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 1.25,
    "axes.labelcolor": INK,
    "axes.labelsize": 12,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlesize": 11,
    "axes.prop_cycle": cycler(color=LINES),
    "grid.color": ".8",
    "grid.linewidth": 1,
    "legend.frameon": False,
    "legend.fontsize": 11,
    "legend.title_fontsize": 12,
    "lines.solid_capstyle": "round",
    "patch.edgecolor": "w",
    "patch.force_edgecolor": True,
} | {
    f"{axis}tick.{name}": value
    for axis in "xy"
    for name, value in {
        "color": ".15", "labelsize": 11,
        "major.size": 6, "major.width": 1.25, "minor.size": 4, "minor.width": 1,
    }.items()
}  # fmt: skip


def use_course_style() -> None:
    """One look for every figure: quiet axes, readable sizes, white where attention is zero."""
    plt.rcParams.update(STYLE)


def learning_curve(record: dict[str, Any], title: str = "Learning curve") -> Figure:
    """Loss and accuracy over a record's epochs, training against validation, the best marked."""
    epochs = np.arange(1, len(record["epochs"]) + 1)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3))
    for axis, measure in zip(axes, ("loss", "accuracy"), strict=True):
        for part, marker in (("train", "o"), ("validation", "s")):
            values = [epoch[f"{part}_{measure}"] for epoch in record["epochs"]]
            axis.plot(epochs, values, marker=marker, label=part)
        axis.axvline(record["best_epoch"], color=MUTED, linestyle=":", label="epoch kept")
        axis.set(xlabel="epoch", ylabel=measure, xticks=epochs)
    axes[0].set_title(title)
    axes[1].legend()
    return figure


def band_curve(points: dict[int, dict[str, float]], ylabel: str) -> Figure:
    """Diagonality against the number of training texts, a line each for trained, untrained and
    uniform attention; ``points`` maps sizes to shares in [0, 1] by line."""
    figure, axis = plt.subplots(figsize=(6.5, 3.4))
    looks = {"trained": "o-", "untrained": "s--", "uniform": ":"}
    for line, look in looks.items():
        values = [100 * point[line] for point in points.values()]
        axis.plot(list(points), values, look, label=line)
    top = max(share for point in points.values() for share in point.values())
    axis.set(xlabel="training texts", ylabel=ylabel, xscale="log", ylim=(0, 110 * top))
    axis.set_xticks(list(points), [f"{size:,}" for size in points], rotation=30, ha="right")
    axis.minorticks_off()
    axis.legend()
    return figure


def sweep_curves(
    accuracies: dict[float, list[float]],
    figures: dict[str, dict[float, float]],
    error: float,
    xlabel: str,
    title: str = "",
    even: bool = False,
) -> Figure:
    """Accuracies in [0, 1], a point a run, beside other figures in [0, 1], over a setting's values.

    Bars show two standard errors ``error`` of one accuracy on either side of a value's mean.
    ``even`` puts the values side by side instead of to scale.
    """
    chart, axes = plt.subplots(1, 2, figsize=(10, 3.1), layout="constrained")
    at = {value: place if even else value for place, value in enumerate(accuracies)}
    for value, runs in accuracies.items():
        axes[0].plot([at[value]] * len(runs), 100 * np.array(runs), "o", color=ACCENT)
    means = [100 * np.mean(runs) for runs in accuracies.values()]
    axes[0].errorbar(list(at.values()), means, 200 * error, fmt="none", ecolor=MUTED, capsize=4)
    for (name, line), look in zip(figures.items(), cycle(("s--", "o-", "^:", "v-."))):
        axes[1].plot([at[value] for value in line], list(line.values()), look, label=name)
    for axis in axes:
        axis.set(xlabel=f"{xlabel} (not to scale)" if even else xlabel)
        axis.set_xticks(list(at.values()), [f"{value:g}" for value in at], fontsize=8)
    axes[0].set_ylabel("validation accuracy, %\n(bars: ± 2 standard errors)")
    axes[1].set_ylim(-0.03, 1.03)
    axes[1].legend(fontsize=9)
    axes[0].set_title(title)
    return chart


def waterfall(chains: dict[str, dict[str, float]], xlabel: str) -> Figure:
    """What each change adds to a figure in [0, 1], a panel a chain.

    A chain maps the words for each change to the figure after it, in order. The first bar begins at
    the axis; each other bar spans what its change gained (dark) or lost (light).
    """
    sizes = [len(chain) for chain in chains.values()]
    figure, axes = plt.subplots(
        len(chains), 1, figsize=(8.5, 0.42 * sum(sizes) + 0.75 * len(chains)), squeeze=False,
        layout="constrained", gridspec_kw={"height_ratios": [size + 1 for size in sizes]},
    )  # fmt: skip
    for axis, (title, chain) in zip(axes[:, 0], chains.items(), strict=True):
        values = 100 * np.array(list(chain.values()))
        before = np.concatenate([values[:1] * 0, values[:-1]])
        colours = [MUTED, *(ACCENT if gain >= 0 else SECOND for gain in np.diff(values))]
        axis.barh(range(len(values)), values - before, left=before, color=colours, height=0.6)
        for place, (value, gain) in enumerate(zip(values, values - before)):
            text = f"{value:.1f}" + (f"  ({gain:+.1f})" if place else "")
            axis.text(max(value, before[place]) + 0.15, place, text, va="center", fontsize=10)
        least = values.min() - 3
        axis.set(
            xlim=(least, values.max() + 0.25 * (values.max() - least)),
            ylim=(len(values) - 0.4, -0.6),
        )
        axis.set_yticks(range(len(values)), list(chain), fontsize=10)
        axis.set_title(title)
    axes[-1, 0].set_xlabel(xlabel)
    return figure


def means_with_intervals(
    panels: dict[str, dict[str, dict[str, tuple[float, float, float]]]],
    rows: Sequence[str],
    xlabel: str,
    title: str,
) -> Figure:
    """Means with the ends of their intervals, a row each: ``panels`` holds, by title, by series and
    by row, ``(mean, low, high)``. The series of a row lie one below the other."""
    figure, axes = plt.subplots(
        1, len(panels), figsize=(10, 1.5 + 0.42 * len(rows)), sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axis, (name, by_series) in zip(axes[0], panels.items(), strict=True):
        axis.axvline(0, color=MUTED, linewidth=0.8)
        looks = zip(by_series.items(), cycle(((ACCENT, "o"), (SECOND, "s"))))
        for number, ((series, values), (colour, marker)) in enumerate(looks):
            means, low, high = np.array([values[row] for row in rows]).T
            at = np.arange(len(rows)) + 0.3 * (number - (len(by_series) - 1) / 2)
            axis.errorbar(
                means, at, xerr=np.abs([means - low, high - means]), fmt=marker, color=colour,
                capsize=3, markersize=5, label=series,
            )  # fmt: skip
        axis.grid(axis="y", linewidth=0.5)
        axis.set(xlabel=xlabel, ylim=(len(rows) - 0.5, -0.5))
        axis.set_title(name)
    axes[0, 0].set_yticks(range(len(rows)), rows)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower right", ncols=2)
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    return figure


def curves_with_intervals(
    curves: dict[str, dict[float, tuple[float, float, float]]], xlabel: str, ylabel: str, title: str
) -> Figure:
    """A curve a name, through ``(mean, low, high)`` at each x; bars from low to high."""
    figure, axis = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
    looks = cycle(("o-", "s--", "^:", "v-."))
    # a little apart, so that no bar hides another
    apart = 0.006 * max(x for curve in curves.values() for x in curve)
    for number, ((name, curve), look) in enumerate(zip(curves.items(), looks)):
        means, low, high = np.array(list(curve.values())).T
        at = np.array(list(curve)) + apart * (number - (len(curves) - 1) / 2)
        axis.errorbar(
            at, means, np.abs([means - low, high - means]), fmt=look, capsize=3, label=name
        )
    axis.set(xlabel=xlabel, ylabel=ylabel)
    axis.legend()
    axis.set_title(title)
    return figure


def trade_off(
    points: dict[str, tuple[tuple[float, float, float], tuple[float, float, float]]],
    xlabel: str,
    ylabel: str,
    title: str,
) -> Figure:
    """Named points at ``(mean, low, high)`` of two figures, with bars from low to high in both."""
    figure, axis = plt.subplots(figsize=(8.5, 3.6), layout="constrained")
    looks = cycle(zip("os^vDPX*", LINES * 2))
    for (name, place), (marker, colour) in zip(points.items(), looks):
        (x, x_low, x_high), (y, y_low, y_high) = place
        axis.errorbar(
            x, y, [[abs(y - y_low)], [abs(y_high - y)]], [[abs(x - x_low)], [abs(x_high - x)]],
            fmt=marker, color=colour, capsize=3, label=name,
        )  # fmt: skip
    axis.set(xlabel=xlabel, ylabel=ylabel)
    axis.set_xlim(0)
    axis.set_ylim(0)
    figure.legend(loc="outside right center", fontsize=10)
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    return figure


def erasure_curves(
    curves: dict[str, np.ndarray],
    ylabel: str,
    title: str = "",
    by_hand: dict[int, float] | None = None,
    here: tuple[int, float] | None = None,
) -> Figure:
    """What is left of a probability when words are erased, the most important first: ``curves``
    hold, by ranking, ``(words + 1,)`` values from no word on. ``by_hand`` are values that somebody
    found, by the number of words, and ``here`` is one of them."""
    figure, axis = plt.subplots(figsize=(7.6, 2.9))
    figure.subplots_adjust(left=0.1, right=0.66, bottom=0.2, top=0.9)
    looks = cycle(((ACCENT, "-"), (THIRD, "--"), (FOURTH, "-."), (MUTED, ":")))
    for (name, values), (colour, line) in zip(curves.items(), looks):
        axis.plot(values, line, color=colour, label=name)
    if by_hand and len(by_hand) > 1:
        axis.plot(*zip(*sorted(by_hand.items())), "o", color=SECOND, label="by hand, the least")
    if here:
        axis.plot(*here, "o", color=SECOND, markersize=11, fillstyle="none", markeredgewidth=2)
    axis.set(xlabel="words erased", ylabel=ylabel, ylim=(-0.03, 1.03))
    axis.locator_params(axis="x", integer=True)
    axis.set_title(title)
    axis.legend(loc="upper left", bbox_to_anchor=(1.02, 1), fontsize=10)
    return figure


def roc_and_confusion(metrics: dict[str, Any], classes: Sequence[str]) -> Figure:
    """ROC curve with its AUC, and the confusion matrix with counts (report, Fig. 9 and 10)."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
    left.plot(*metrics["roc"], color=ACCENT)
    left.plot([0, 1], [0, 1], color=MUTED, linestyle=":")
    left.annotate("guessing", (0.62, 0.55), color=MUTED)
    left.set(xlabel="false positive rate", ylabel="true positive rate", aspect="equal")
    left.set_title(f"ROC: area under the curve {metrics['auc']:.3f}")
    matrix = np.array(metrics["confusion"])
    places = np.arange(len(classes)) + 0.5
    right.pcolormesh(matrix, cmap=TINTS, vmin=0, edgecolors="w", linewidth=1)
    for (true, predicted), count in np.ndenumerate(matrix):
        middle = places[predicted], places[true]
        right.text(*middle, f"{count:,d}", color=INK, ha="center", va="center")
    right.set(xlabel="predicted", ylabel="true", aspect="equal")
    right.set_xticks(places, classes)
    right.set_yticks(places, classes, rotation="vertical", va="center")
    right.invert_yaxis()
    right.spines[:].set_visible(False)
    right.set_title(f"Accuracy {metrics['accuracy']:.1%}, F1 {metrics['f1']:.3f}")
    return figure


def attention_text(
    sentences: Sequence[Sequence[str]],
    word_attention: Sequence[np.ndarray],
    sentence_attention: np.ndarray | None = None,
    title: str = "",
    labels: Sequence[str] | None = None,
) -> Figure:
    """The coloured review: each sentence's share in percent before it, words tinted by weight.

    ``word_attention`` is ``(words,)`` for each sentence, ``sentence_attention`` ``(sentences,)``;
    ``labels`` name the sentences. A word's tint is its weight times the number of words in its
    sentence, so that 1 is what uniform attention would give and long sentences do not look pale
    (report, Fig. 6 and 8).
    """
    width, line_height, size = 9.5, 0.27, 10
    names = [_plain(label[:24]) for label in labels] if labels else []
    edge = -9 if sentence_attention is not None else -0.5
    lines = _wrap(sentences, word_attention, columns=92)
    height = line_height * (len(lines) + 1.6)
    figure, axis = plt.subplots(figsize=(width, height))
    left = edge - max(map(len, names), default=0)
    axis.set(xlim=(left, 94), ylim=(len(lines) + 0.2, -1.1))
    axis.axis("off")
    for row, (sentence, words) in enumerate(lines):
        if sentence is not None and names:
            axis.text(edge - 0.5, row, names[sentence], ha="right", va="center", fontsize=size - 1)
        if sentence is not None and sentence_attention is not None:
            _draw_share(axis, row, sentence_attention, sentence, size - 1)
        for column, word, strength in words:
            box = Rectangle((column - 0.3, row - 0.42), len(word) + 0.6, 0.84,
                            color=TINTS(min(strength / 4, 1.0)), lw=0)  # fmt: skip
            axis.add_patch(box)
            axis.text(column, row, _plain(word), va="center", fontsize=size, family="monospace",
                      fontstretch="condensed")  # fmt: skip
    axis.set_title(_plain(title), loc="left", pad=2)
    _fit_monospace(figure, axis, size)
    return figure


def _draw_share(
    axis: Axes, row: int, sentence_attention: np.ndarray, sentence: int, size: float
) -> None:
    """A sentence's share in percent, tinted by its size next to the largest."""
    share = float(sentence_attention[sentence])
    tint = TINTS(0.9 * share / max(float(sentence_attention.max()), 1e-9))
    axis.add_patch(Rectangle((-8.8, row - 0.42), 7.6, 0.84, color=tint, lw=0))
    axis.text(-1.7, row, f"{share:.1%}", ha="right", va="center", fontsize=size)


def _wrap(
    sentences: Sequence[Sequence[str]], weights: Sequence[np.ndarray], columns: int
) -> list[tuple[int | None, list[tuple[int, str, float]]]]:
    """Lines of (sentence that starts here, [(column, word, weight × words in the sentence)])."""
    lines = []
    for sentence, words in enumerate(sentences):
        line: list[tuple[int, str, float]] = []
        column, first = 0, True
        for place, word in enumerate(words):
            word = word if len(word) <= 40 else word[:39] + "…"
            width = len(word) if len(word) > 1 else -1  # a full stop may overhang the line
            if line and column + width > columns:
                lines.append((sentence if first else None, line))
                line, column, first = [], 0, False
            line.append((column, word, float(weights[sentence][place]) * len(words)))
            column += len(word) + 1
        lines.append((sentence if first else None, line))
    return lines


def _plain(text: str) -> str:
    """Text that matplotlib draws as it stands, not as a formula."""
    return text.replace("$", r"\$")


def _fit_monospace(figure: Figure, axis: Axes, size: float) -> None:
    """Scale the font so that one character is one unit of the x axis."""
    probe = axis.text(0, 0, "m" * 40, fontsize=size, family="monospace")
    pixels = probe.get_window_extent(figure.canvas.get_renderer())
    box = pixels.transformed(axis.transData.inverted())
    probe.remove()
    scale = 40 / box.width
    for text in axis.texts:
        text.set_fontsize(text.get_fontsize() * min(scale, 1.15))


def word_bars(words: Sequence[str], weights: np.ndarray, title: str = "") -> Figure:
    """Word attention in one sentence as bars, with the line that uniform attention would give
    (report, Fig. 7)."""
    figure, axis = plt.subplots(figsize=(max(5, 0.42 * len(words)), 2.8), layout="constrained")
    places = np.arange(len(words))
    axis.bar(places, weights[: len(words)], color=ACCENT)
    axis.axhline(1 / len(words), color=SECOND, linestyle=":", label="uniform attention")
    axis.set_xticks(places, [_plain(word) for word in words], rotation=45, ha="right")
    axis.set(ylabel="word attention")
    axis.set_title(title)
    figure.legend(loc="outside lower right")
    return figure


def show(figure: Figure, alt: str) -> None:
    """Display a figure in the notebook with its description, and close it."""
    display(figure, metadata={"image/png": {"alt": alt}})
    plt.close(figure)


def show_markdown(text: str) -> None:
    """Display a table or any other text written in markdown."""
    display(Markdown(text))


def show_source(code: Callable) -> None:
    """Display the source of a class or function, as it stands in the library."""
    show_markdown(f"```python\n{textwrap.dedent(inspect.getsource(code))}```")


def show_folded(title: str, code: str, language: str) -> None:
    """Display source text behind a title that opens it."""
    show_markdown(
        f"<details><summary>{html.escape(title)}</summary>\n\n```{language}\n{code}```\n\n</details>"
    )
