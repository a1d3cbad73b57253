"""Figures in one theme; titles state what a figure found. Seaborn loads with the first figure."""

import re
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from IPython.display import Markdown, display
from matplotlib.figure import Figure

from course_lib.views.colours import ACCENT, INK, LINES, MUTED, TINTS
from course_lib.views.fonts import legible
from course_lib.views.panels import bar_panels, grid, legend

Interval = tuple[float, float, float]  # mean, low, high
MINUS = re.compile(r"(?<![\w.)\]-])-(?=\d)(0(?:\.0+)?(?![\d.]))?")  # and the zero of −0.0
STYLE = {
    "figure.dpi": 110,
    "savefig.bbox": "tight",
    "font.size": 11,
    "text.color": INK,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlesize": 11,
    "axes.prop_cycle": cycler(color=LINES),
    "figure.titlesize": 12,
    "figure.titleweight": "bold",
    "grid.color": ".8",
    "legend.frameon": False,
    "legend.fontsize": 10,
    "patch.edgecolor": "w",
    "patch.force_edgecolor": True,
    "xtick.color": INK,
    "ytick.color": INK,
}


def use_course_style() -> None:
    """One look for every figure: quiet axes, readable sizes, white where attention is zero."""
    plt.rcParams.update(STYLE)


def learning_curve(record: dict[str, Any], title: str = "Learning curve") -> Figure:
    """Loss and accuracy over a record's epochs, training against validation, the best marked."""
    import seaborn as sns  # with the first figure that needs it: 0.6 s

    epochs = np.arange(1, len(record["epochs"]) + 1)
    figure, axes = grid(["", ""], 2, (4.5, 3), title)
    for axis, measure in zip(axes, ("loss", "accuracy"), strict=True):
        for part, marker in (("train", "o"), ("validation", "s")):
            values = [epoch[f"{part}_{measure}"] for epoch in record["epochs"]]
            sns.lineplot(x=epochs, y=values, marker=marker, ax=axis, label=part, legend=False)
        axis.axvline(record["best_epoch"], color=MUTED, linestyle=":", label="epoch kept")
        axis.set(xlabel="epoch", ylabel=measure, xticks=epochs)
    legend(figure)
    return figure


def means_with_intervals(
    panels: dict[str, dict[str, dict[str, Interval]]],
    rows: Sequence[str],
    xlabel: str,
    title: str,
    reference: str = "",
) -> Figure:
    """Means with the ends of their intervals, a row each: ``panels`` holds, by title, by series and
    by row, ``(mean, low, high)``, or nothing for some rows. The series of a row lie one below the
    other. A dotted line goes through the first series' mean of the row ``reference``."""
    several = max(map(len, panels.values())) > 1
    size = 10 / len(panels), 1.5 + (0.42 if several or len(rows) < 8 else 0.3) * len(rows)
    figure, axes = grid(list(panels), len(panels), size, title, sharey=True)
    for axis, by_series in zip(axes, panels.values(), strict=True):
        axis.axvline(0, color=MUTED, linewidth=0.8)
        for number, (series, values) in enumerate(by_series.items()):
            shown = [row for row in rows if row in values]
            means, low, high = np.array([values[row] for row in shown]).T
            ends = np.abs([means - low, high - means])
            shift = 0.3 * (number - (len(by_series) - 1) / 2)
            at = [rows.index(row) + shift for row in shown]
            if reference in shown and not number:
                axis.axvline(values[reference][0], color=MUTED, linestyle=":", label=reference)
            look = {"color": LINES[number % 4], "fmt": "os"[number % 2], "label": series}
            axis.errorbar(means, at, xerr=ends, capsize=3, markersize=5, **look)
        axis.grid(axis="y", linewidth=0.5)
        axis.set(xlabel=xlabel, ylim=(len(rows) - 0.5, -0.5))
    axes[0].set_yticks(range(len(rows)), rows)
    legend(figure, "lower right")
    return figure


def roc_and_confusion(metrics: dict[str, Any], classes: Sequence[str]) -> Figure:
    """ROC curve with its AUC, and the confusion matrix with counts (report, Fig. 9 and 10)."""
    import seaborn as sns  # with the first figure that needs it: 0.6 s

    names = (
        f"ROC: area under the curve {metrics['auc']:.3f}",
        f"Accuracy {metrics['accuracy']:.1%}, F1 {metrics['f1']:.3f}",
    )
    figure, (left, right) = grid(names, 2, (4.5, 3.8))
    left.plot(*metrics["roc"], color=ACCENT)
    left.plot([0, 1], [0, 1], color=MUTED, linestyle=":")
    left.annotate("guessing", (0.62, 0.55), color=MUTED)
    left.set(xlabel="false positive rate", ylabel="true positive rate", aspect="equal")
    sns.heatmap(
        np.array(metrics["confusion"]),
        vmin=0,
        cmap=TINTS,
        annot=True,
        fmt=",d",
        cbar=False,
        square=True,
        linewidths=1,
        annot_kws={"color": INK},
        xticklabels=classes,
        yticklabels=classes,
        ax=right,
    )
    right.set(xlabel="predicted", ylabel="true")
    return figure


def word_bars(words: Sequence[str], weights: np.ndarray, title: str = "") -> Figure:
    """Word attention in one sentence as bars, with the line that uniform attention would give
    (report, Fig. 7)."""
    return bar_panels({"": weights}, words, "word attention", title, uniform=True)


def show(figure: Figure, alt: str) -> None:
    """Display a figure in the notebook with its description, and close it."""
    with legible(figure):
        display(figure, metadata={"image/png": {"alt": alt}})
    plt.close(figure)


def show_markdown(text: str) -> None:
    """Display a table or any other text written in markdown, its numbers with a true minus."""
    display(Markdown(MINUS.sub(lambda sign: sign[1] or "−", text)))
