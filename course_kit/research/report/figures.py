"""The figures of recorded runs, and the numbers behind them."""

from collections.abc import Mapping, Sequence
from statistics import fmean, mean, variance
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from course_kit.research.report.differences import recorded_chains
from course_kit.research.report.frames import (
    HOW_LONG,
    PAPERS,
    SIMPLE,
    ZHANG,
    Group,
    Record,
    Records,
    accuracy_of,
    largest_group,
    runs_of,
    seeds_of,
    single_factor_pairs,
    tidy,
    to_markdown,
    with_film_vectors,
    with_other_vectors,
)
from course_kit.research.report.tables import words_per_text
from course_lib.data.catalog import CARDS
from course_lib.metrics.attention import uniform_diagonality
from course_lib.metrics.classification import sampling_error
from course_lib.metrics.statistics import LEVEL
from course_lib.runs.records import kept_accuracy
from course_lib.views import plots
from course_lib.views.colours import ACCENT, FOURTH, MUTED, SECOND

OTHER_TEXTS = ("dataset", "limit")  # runs that differ in these answer another question
EXPERIMENTS = 4000  # simulated ones in a histogram
RULES = {"above 0.95": "", "above the median": "relaxed "}  # of AGT's selection


# Learning curves


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
        for part, look, colour in (("train", "o-", ACCENT), ("validation", "s--", SECOND)):
            label = "training" if part == "train" else part
            _plot(axis, curve(record, f"{part}_loss"), look, color=colour, label=label)
        if not same_scale:
            both = curve(record, "train_loss") + curve(record, "validation_loss")
            axis.set_ylim(0, 1.08 * max(both))
        axis.locator_params(axis="x", integer=True, nbins=6)
        axis.set(title=name, xlabel="epoch")
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
    for axis, what in zip(axes, ("train_loss", "validation_accuracy"), strict=True):
        for (name, record), colour in colours:
            look = "x--" if record is again else "o-"
            _plot(axis, curve(record, what), look, color=colour, label=name)
        axis.locator_params(axis="x", integer=True)
    error = sampling_error(kept_accuracy(again), again["sizes"]["validation"])
    last, low = len(again["epochs"]), min(curve(again, "validation_accuracy"))
    bar = {"fmt": "none", "ecolor": MUTED, "capsize": 4}
    axes[1].errorbar([last + 2], [low + 2 * error], [2 * error], **bar)
    axes[1].annotate(
        "± 2 standard errors", (last + 2.5, low + 2 * error), rotation=90, va="center",
        color=MUTED, fontsize=8,
    )  # fmt: skip
    axes[1].set_xlim(right=last + 4)
    axes[0].set(xlabel="epoch", ylabel="training loss")
    axes[1].set(xlabel="epoch", ylabel="validation accuracy")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center")
    return figure


def _plot(axis: Axes, values: Sequence[float], look: str, **style: Any) -> None:
    axis.plot(range(1, len(values) + 1), values, look, markersize=4, **style)


# What an accuracy is compared with, and its two errors


class Baselines(NamedTuple):
    """A network's mean test accuracy on a dataset with the standard error of one, beside the
    accuracy of the commonest training class and of TF-IDF; all in [0, 1]."""

    dataset: str
    network: str
    chance: float
    counted: float
    accuracy: float
    error: float


def chance_line(dataset: str) -> float:
    """Test accuracy of always answering the commonest training class, from the dataset's card."""
    train, test = CARDS[dataset].sizes["train"], CARDS[dataset].sizes["test"]
    return test[train.index(max(train))] / sum(test)


def baselines(records: Records, networks: Mapping[str, tuple[str, str]]) -> list[Baselines]:
    """For each dataset its network, a system and a preset, beside chance and counted words."""
    frame, rows = tidy(records), []
    for dataset, (system, preset) in networks.items():
        group = seeds_of(frame, system, preset, dataset)
        accuracy = fmean(map(accuracy_of, group))
        counted = max(fmean(map(accuracy_of, runs_of(frame, name, dataset))) for name in SIMPLE)
        error = sampling_error(accuracy, group[0]["sizes"]["test"])
        names = dataset, f"{system} {preset}"
        rows.append(Baselines(*names, chance_line(dataset), counted, accuracy, error))
    return rows


def baselines_table(rows: list[Baselines]) -> str:
    """These as a markdown table, in percent."""
    heads = ["dataset", "chance line", "counted words (TF-IDF)", "network", "its standard error"]
    cells = [
        [row.dataset, f"{row.chance:.1%}", f"{row.counted:.1%}",
         f"{row.accuracy:.1%} ({row.network})", f"{row.error:.1%}"]
        for row in rows
    ]  # fmt: skip
    return to_markdown(heads, cells, "lr")


def movements(records: list[Record]) -> dict[str, list[float]]:
    """How many points of validation accuracy lie between two runs that differ in one setting, by
    that setting: the seed first, then those that move most."""
    moved: dict[str, list[float]] = {}
    for address, first, second in single_factor_pairs([r for r in records if "epochs" in r]):
        if address not in OTHER_TEXTS:
            points = 100 * abs(kept_accuracy(first) - kept_accuracy(second))
            moved.setdefault(address, []).append(points)
    names = sorted(moved, key=lambda name: (name != "seed", -np.median(moved[name])))
    return {name: moved[name] for name in names}


def movements_figure(moved: Mapping[str, list[float]], limit: float, title: str) -> Figure:
    """A row of points a setting; up to ``limit`` points lie within the shade."""
    names = [f"{name} ({len(points)})" for name, points in moved.items()]
    figure, axis = _rows(names, 0.3, title)
    axis.axvspan(0, limit, color=SECOND, alpha=0.12)
    for place, (name, points) in enumerate(moved.items()):
        colour = SECOND if name == "seed" else ACCENT
        axis.plot(points, [place] * len(points), "o", color=colour, alpha=0.5)
    axis.set_xscale("symlog", linthresh=1)
    axis.set_xticks([0, 1, 2, 5, 10, 20], ["0", "1", "2", "5", "10", "20"])
    axis.set(xlabel="points of validation accuracy, either way (linear up to 1)", xlim=(-0.08, 30))
    return figure


def _rows(names: Sequence[str], height: float, title: str) -> tuple[Figure, Axes]:
    """An axis with a named row for each of some things, the first one on top."""
    size = 8.5, height * len(names) + 1.2
    figure, axis = plt.subplots(figsize=size, layout="constrained")
    axis.set_yticks(range(len(names)), names, fontsize=10)
    axis.invert_yaxis()
    axis.set_title(title)
    return figure, axis


class TwoErrors(NamedTuple):
    """Of one network on one dataset, in points: the standard deviation of its test accuracies over
    seeds, and the standard error that the test texts leave to one of them."""

    seeds: float
    texts: float


def two_errors(records: Records, least: int = 3) -> dict[str, TwoErrors]:
    """The two, for every network with test accuracies of ``least`` seeds, those with film vectors
    apart; the widest over seeds first."""
    frame, found = tidy(records), {}
    trained = frame[frame.validation.notna()]
    for network in sorted(set(zip(trained.system, trained.preset, trained.dataset, strict=True))):
        groups = seeds_of(frame, *network), with_film_vectors(frame, *network)
        for note, group in zip(("", ", film vectors"), groups, strict=True):
            if len(group) >= least:
                texts = sampling_error(fmean(map(accuracy_of, group)), group[0]["sizes"]["test"])
                name = "{} {}, {}".format(*network) + note
                found[name] = TwoErrors(pooled_deviation(group), 100 * texts)
    return dict(sorted(found.items(), key=lambda item: -item[1].seeds))


def two_errors_figure(found: Mapping[str, TwoErrors], title: str) -> Figure:
    """Both errors of each network in a row, in points on a logarithmic scale."""
    figure, axis = _rows(list(found), 0.28, title)
    places, (seeds, texts) = range(len(found)), zip(*found.values(), strict=True)
    axis.hlines(places, np.minimum(seeds, texts), np.maximum(seeds, texts), color=MUTED, lw=1)
    axis.plot(seeds, places, "o", color=SECOND, label="deviation over seeds")
    axis.plot(texts, places, "s", color=ACCENT, label="error of the test texts")
    axis.set(xscale="log", xlabel="points of test accuracy (logarithmic)")
    axis.set_xticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
    axis.minorticks_off()
    axis.legend(loc="lower right")
    return figure


def pooled_deviation(*groups: Group) -> float:
    """Standard deviation of test accuracies over seeds in points, pooled over groups of runs."""
    return 100 * fmean(variance(map(accuracy_of, group)) for group in groups) ** 0.5


def draw_experiments(axis: Axes, true: float, deviation: float, seeds: int) -> None:
    """Differences that simulated experiments measure, in points: those that a t-test at 5 % tells
    from 0 in the second colour, and in the title how many those are and what they measure."""
    from scipy.stats import ttest_ind

    random = np.random.default_rng(0)
    first, second = deviation * random.standard_normal((2, EXPERIMENTS, seeds))
    measured = first.mean(1) + true - second.mean(1)
    told = ttest_ind(first + true, second, axis=1).pvalue < LEVEL
    bins = np.linspace(-4 * deviation, 4 * deviation, 49)
    axis.hist([measured[told], measured[~told]], bins, stacked=True, color=[SECOND, MUTED],
              label=["told from 0", "not told apart"])  # fmt: skip
    axis.axvline(true, color=ACCENT, linestyle=":", label=f"true: {true:g} points")
    axis.set(xlabel="measured difference, points", yticks=[])
    found = measured[told].mean()
    axis.set_title(f"{seeds} seeds: {told.mean():.0%} told, mean {found:+.1f}")
    axis.legend(fontsize=8, loc="upper left")


def waterfall_figure(records: Records = None) -> Figure:
    """What each change of the recorded chains bought on the validation texts, as bars.

    A chain ends before its first run that is not recorded. The caveat of validation accuracies
    holds.
    """
    label = "validation accuracy of the kept epoch, % (seed 0)"
    return plots.waterfall(recorded_chains(records), label)


# SANet's band


def sizes_of_training(records: Records = None, dataset: str = "imdb") -> dict[int, Group]:
    """The base model's records with attention on test texts by number of training texts, in
    increasing order: a run's ``limit`` less the validation share. Where a size was trained with
    several settings, those with the most seeds count, so that no seed counts twice."""
    frame = tidy(records)
    asked = (frame.system == "sanet") & (frame.preset == "base") & (frame.dataset == dataset)
    read = frame.accuracy.notna() & frame.record.map(lambda record: "attention" in record)
    found = frame[asked & read & frame.changes.map(HOW_LONG.issuperset).astype(bool)]
    sizes = found.groupby(found.record.map(lambda record: record["sizes"]["train"]))
    return {size: largest_group(group) for size, group in sizes}


def band_by_size(
    records: Records = None, dataset: str = "imdb", bandwidth: int = 3
) -> dict[int, dict[str, float]]:
    """Diagonality in [0, 1] by number of training texts: trained, untrained and uniform attention
    over the same documents, means over the recorded seeds."""
    figure = f"diagonality {bandwidth}"
    lines = {"trained": ("trained", figure), "untrained": ("untrained", figure),
             "uniform": ("trained", f"uniform {figure}")}  # fmt: skip
    return {
        size: {
            line: mean(record["attention"][state][name] for record in group)
            for line, (state, name) in lines.items()
        }
        for size, group in sizes_of_training(records, dataset).items()
    }


def implied_lengths() -> dict[str, list[int]]:
    """The number of words at which uniform attention has the paper's diagonality, by dataset, for
    the bandwidths 1 to 5."""
    lengths = torch.arange(2, 2000)
    return {
        dataset: [
            int(lengths[(100 * uniform_diagonality(lengths, b) - value).abs().argmin()])
            for b, value in enumerate(figures[1:], start=1)
        ]
        for dataset, figures in PAPERS["sanet_attention"].items()
    }


def implied_figure() -> Figure:
    """``implied_lengths`` over the bandwidth, a line for each dataset with its mean length, which
    is estimated from the archives' sizes."""
    figure, axis = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
    for dataset, lengths in implied_lengths().items():
        style = {"color": SECOND if dataset.startswith(("yelp", "amazon")) else ACCENT}
        _plot(axis, lengths, "o-", **style)
        name = f"{ZHANG[dataset]}, mean about {words_per_text(dataset):.0f}"
        axis.annotate(name, (5.1, lengths[-1]), va="center", fontsize=9, **style)
    axis.set(xlabel="bandwidth b", ylabel="words", xticks=range(1, 6), xlim=(0.8, 7.2))
    axis.set(yscale="log", yticks=[6, 10, 20, 40, 60], yticklabels=[6, 10, 20, 40, 60])
    axis.minorticks_off()
    axis.set_title("The text length at which uniform attention would match the paper")
    return figure


# AGT's phrases and gates


def gate_profiles(records: Records = None) -> dict[str, dict[str, Tensor]]:
    """The mean gate by layer, ``(layers − 1,)``, of AGT's recorded runs on SST-5, by their vectors
    and by seed."""
    frame = tidy(records)
    groups = {"50-d vectors that learn": seeds_of(frame, "agt", "paper", "sst5")}
    groups |= with_other_vectors(frame, "agt", "paper", "sst5")
    return {
        vectors: {
            f"seed {record['spec']['seed']}": torch.tensor(record["attention"]["trained"]["gate"])
            for record in group
        }
        for vectors, group in groups.items()
    }


class PhraseLengths(NamedTuple):
    """Mean words of a phrase, over all layers and in a random order of the words; ``ratio``
    ``(layers,)`` is how many times as long as by chance a layer's phrases are."""

    mean: float
    by_chance: float
    ratio: Tensor


def phrase_lengths(record: Record) -> dict[str, PhraseLengths]:
    """The phrases of a recorded AGT by the rule of selection, on the texts that it was tested on;
    a rule that is not in the record is left out."""
    recorded, found = record["attention"]["trained"], {}
    for rule, prefix in RULES.items():
        if f"{prefix}selected" in recorded:
            words, runs, expected = (
                torch.tensor(recorded[f"{prefix}{name}"])
                for name in ("selected", "phrases", "phrases by chance")
            )
            # the words are the same in any order, so lengths go as one over the numbers of runs
            totals = [(words.sum() / count.sum()).item() for count in (runs, expected)]
            found[rule] = PhraseLengths(*totals, expected / runs)
    return found


def composition_figure(records: Records = None) -> Figure:
    """Words in a phrase by layer, by both rules of selection, and the mean transform gate: means
    over the seeds of AGT with film vectors on SST-5's test sentences (the paper's Fig. 3), beside
    the same words in a random order and the untrained network."""
    group = with_film_vectors(records, "agt", "paper", "sst5")
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.1), layout="constrained")

    def layers(state: str, name: str) -> Tensor:
        return torch.tensor([record["attention"][state][name] for record in group])

    for axis, (rule, prefix) in zip(axes, RULES.items()):
        for state, name, look in (
            ("trained", "phrases", "o-"),
            ("trained", "phrases by chance", "s--"),
            ("untrained", "phrases", "^:"),
        ):
            lengths = layers(state, f"{prefix}selected") / layers(state, prefix + name)
            label = "trained, words shuffled" if "chance" in name else state
            axis.plot(lengths.mean(0), look, label=label)
        axis.set(title=f"weights {rule}", xlabel="layer", ylabel="words in a phrase")
        axis.set_ylim(0.9, 2.5)
        axis.legend(loc="upper left", fontsize=9)
    for state, look in (("trained", "o-"), ("untrained", "^:")):
        gates = layers(state, "gate").mean(0)
        axes[2].plot(range(1, 1 + len(gates)), gates, look, label=state)
    axes[2].set(title="gates", xlabel="layer", ylabel="mean transform gate", ylim=(0, 1))
    axes[2].legend(loc="lower left", fontsize=9)
    return figure
