"""Learning curves of recorded runs: what a table of accuracies does not show."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from course_lib.metrics.classification import sampling_error
from course_lib.runs.records import kept_accuracy
from course_lib.views.colours import ACCENT, FOURTH, MUTED, SECOND

Record = dict[str, Any]


def curve(record: Record, figure: str) -> list[float]:
    """A figure of every epoch of a run, such as ``"train_loss"`` or ``"validation_accuracy"``."""
    return [epoch[figure] for epoch in record["epochs"]]


def losses_figure(runs: Mapping[str, Record], same_scale: bool = False) -> Figure:
    """Training and validation loss over the epochs, a panel a run under its name.

    The panels' loss begins at 0, unless they share a scale.
    """
    figure, axes = plt.subplots(
        1, len(runs), figsize=(10, 2.9), sharey=same_scale, squeeze=False, layout="constrained"
    )
    for axis, (name, record) in zip(axes[0], runs.items(), strict=True):
        both = curve(record, "train_loss"), curve(record, "validation_loss")
        axis.plot(_epochs(record), both[0], "o-", markersize=4, color=ACCENT, label="training")
        axis.plot(_epochs(record), both[1], "s--", markersize=4, color=SECOND, label="validation")
        axis.set_xlabel("epoch")
        if not same_scale:
            axis.set_ylim(0, 1.08 * max(map(max, both)))
        axis.locator_params(axis="x", integer=True, nbins=6)
        axis.set_title(name)
    axes[0, 0].set_ylabel("loss")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center", fontsize=9)
    return figure


def patience_figure(runs: Mapping[str, Record], again: Record) -> Figure:
    """Training loss and validation accuracy of runs over their epochs; ``again`` is the first of
    them with another setting, drawn in its colour and dashed.

    A bar has the length of two standard errors of a validation accuracy on either side.
    """
    figure, axes = plt.subplots(1, 2, figsize=(10, 3), layout="constrained")
    first = next(iter(runs))
    colours = [*zip(runs.items(), (SECOND, ACCENT, FOURTH)), ((f"{first}, again", again), SECOND)]
    for (name, record), colour in colours:
        look = "x--" if record is again else "o-"
        for axis, what in zip(axes, ("train_loss", "validation_accuracy"), strict=True):
            values = curve(record, what)
            axis.plot(_epochs(record), values, look, markersize=5, color=colour, label=name)
    error = sampling_error(kept_accuracy(again), again["sizes"]["validation"])
    last, low = len(again["epochs"]), min(curve(again, "validation_accuracy"))
    bar = {"fmt": "none", "ecolor": MUTED, "capsize": 4}
    axes[1].errorbar([last + 2], [low + 2 * error], [2 * error], **bar)
    axes[1].annotate(
        "± 2 standard errors", (last + 2.5, low + 2 * error), rotation=90, va="center",
        color=MUTED, fontsize=8,
    )  # fmt: skip
    axes[1].set_xlim(right=last + 4)
    for axis in axes:
        axis.locator_params(axis="x", integer=True)
    axes[0].set(xlabel="epoch", ylabel="training loss")
    axes[1].set(xlabel="epoch", ylabel="validation accuracy")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center")
    return figure


def _epochs(record: Record) -> range:
    return range(1, len(record["epochs"]) + 1)
