"""The figures of recorded runs, and the numbers behind them."""

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean, variance
from typing import Any

import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from course_kit.research.report import frames
from course_kit.research.report.claims import over_seeds
from course_kit.research.report.frames import Group, Record, Records, tidy
from course_kit.research.report.named import phrase_lengths
from course_kit.research.report.tables import Groups, words_per_text
from course_lib.data.catalog import CARDS
from course_lib.metrics.attention import uniform_diagonality
from course_lib.metrics.statistics import LEVEL
from course_lib.runs.records import kept_accuracy
from course_lib.views.colours import ACCENT, MUTED, SECOND
from course_lib.views.panels import dot_panels, grid, legend, lines

EXPERIMENTS = 4000  # simulated ones in a histogram
RULES = {"above 0.95": "concise", "above the median": "relaxed"}  # of AGT's selection
PANELS = ("validation accuracy", "overlap", "cosine", "last step on summaries")


# Learning curves


def curve(record: Record, figure: str) -> list[float]:
    """A figure of every epoch of a run, such as ``"train_loss"`` or ``"validation_accuracy"``."""
    return [epoch[figure] for epoch in record["epochs"]]


def losses_figure(runs: Mapping[str, Record], floors: Sequence[float]) -> Figure:
    """Training and validation loss over the epochs, a panel a run under its name.

    ``floors`` are the losses of knowing the class shares alone, one a run.
    """
    figure, axes = grid(list(runs), len(runs), (10 / len(runs), 2.9))
    for axis, record, floor in zip(axes, runs.values(), floors, strict=True):
        training, validation = (curve(record, f"{part}_loss") for part in ("train", "validation"))
        for values, look, colour, name in (
            (training, "o-", ACCENT, "training"),
            (validation, "s--", SECOND, "validation"),
        ):
            at = range(1, len(values) + 1)
            axis.plot(at, values, look, markersize=4, color=colour, label=name)
        axis.axhline(floor, color=MUTED, linewidth=4, alpha=0.4, label="floor")
        axis.locator_params(axis="x", integer=True, nbins=6)
        axis.set(xlabel="epoch", ylim=(0, 1.15 * max(floor, *training, *validation)))
    axes[0].set_ylabel("loss")
    legend(figure, "right center")
    return figure


# What an accuracy is compared with, and its error over seeds


def baselines(records: Records, networks: Mapping[str, tuple[str, str]]) -> pd.DataFrame:
    """A row a dataset, in [0, 1]: the mean test ``accuracy`` of its network, a system and a preset,
    with half of its 95 % interval over ``seeds``, beside ``chance``, that of always answering the
    commonest training class, and ``counted``, that of TF-IDF."""
    frame, rows = tidy(records), {}
    for dataset, (system, preset) in networks.items():
        group, sizes = frames.seeds_of(frame, system, preset, dataset), CARDS[dataset].sizes
        simple = [frames.runs_of(frame, model, dataset) for model in frames.SIMPLE]
        network = over_seeds(list(map(frames.accuracy_of, group)), 0.0, {"above": 0.0})
        rows[dataset] = {
            "network": frames.SYSTEM_NAMES[system],
            "chance": sizes["test"][int(np.argmax(sizes["train"]))] / sum(sizes["test"]),
            "counted": max(fmean(map(frames.accuracy_of, of)) for of in simple),
            "accuracy": network.value,
            "seeds": network.seeds,
            "half": (network.high - network.low) / 2,
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def baselines_table(found: pd.DataFrame) -> str:
    """These as a markdown table, in percent."""
    heads = ["dataset", "chance line", "counted words (TF-IDF)", "network", "95 % over seeds"]
    rows = [
        [
            dataset,
            f"{row.chance:.1%}",
            f"{row.counted:.1%}",
            f"{row.accuracy:.1%} ({row.network}, {row.seeds} seeds)",
            f"± {100 * row.half:.1f} points",
        ]
        for dataset, row in found.iterrows()
    ]
    return frames.to_markdown(heads, rows, "lr")


def pooled_deviation(*groups: Group) -> float:
    """Standard deviation of test accuracies over seeds in points, pooled over groups of runs."""
    return 100 * fmean(variance(map(frames.accuracy_of, group)) for group in groups) ** 0.5


def draw_experiments(axis: Axes, true: float, deviation: float, seeds: int) -> None:
    """Differences that simulated experiments measure, in points: those that a t-test at 5 %
    detects in the second colour, and in the title how many those are and what they measure."""
    from scipy.stats import ttest_ind

    random = np.random.default_rng(0)
    first, second = deviation * random.standard_normal((2, EXPERIMENTS, seeds))
    measured = first.mean(1) + true - second.mean(1)
    told = ttest_ind(first + true, second, axis=1).pvalue < LEVEL
    bins = np.linspace(-4 * deviation, 4 * deviation, 49)
    axis.hist(
        [measured[told], measured[~told]],
        bins,
        stacked=True,
        color=[SECOND, MUTED],
        label=["detected", "not detected"],
    )
    axis.axvline(true, color=ACCENT, linestyle=":", label=f"true: {true:g}")
    axis.set(xlabel="measured difference, points", ylabel="experiments", yticks=[])
    found = measured[told].mean()
    axis.set_title(f"{seeds} seeds: {told.mean():.0%} detected; their mean: {found:+.1f}")
    axis.legend(fontsize=8, loc="upper left")


# IRAM's steps


def steps_panels(
    sweeps: Mapping[str, Groups],
    xlabel: str,
    title: str,
    accuracy: tuple[float, float] = (0.7, 0.9),
) -> Figure:
    """IRAM's accuracy and the figures of its steps over a setting's values, one panel a figure: a
    dot a run, a colour for each of the named ``sweeps``, dotted lines for untrained steps.

    ``accuracy`` are the ends of that panel's scale. A run of one step has accuracy alone.
    """
    dots: dict[str, Any] = {panel: defaultdict(lambda: defaultdict(list)) for panel in PANELS}
    lines = defaultdict(list)
    for name, groups in sweeps.items():
        for value, record in ((value, one) for value, group in groups.items() for one in group):
            trained = {PANELS[0]: kept_accuracy(record)} | _of_steps(record, "trained")
            for panel, figure in trained.items():
                dots[panel][name][f"{value:g}"].append(figure)
            for panel, figure in _of_steps(record, "untrained").items():
                lines[panel].append(figure)
    untrained = {panel: statistics.mean(values) for panel, values in lines.items()}
    return dot_panels(dots, xlabel, title, {PANELS[0]: accuracy}, "untrained", untrained)


def _of_steps(record: Record, state: str) -> dict[str, float]:
    """The figures of ``PANELS`` but accuracy; nothing for a single step."""
    figures = record.get("attention", {}).get(state) or {}
    last = f"summary share, step {record['settings']['model']['steps']}"
    names = zip(PANELS[1:], ("step overlap", "step cosine", last), strict=True)
    return {panel: figures[name] for panel, name in names if name in figures}


# SANet's band


def band_curve(points: Mapping[int, Mapping[str, float]], ylabel: str) -> Figure:
    """Diagonality against the number of training texts, a line each for trained, untrained and
    uniform attention; ``points`` maps sizes to shares in [0, 1] by line."""
    curves = {
        name: [100 * point[name] for point in points.values()]
        for name in ("trained", "untrained", "uniform")
    }
    top, sizes = 1.1 * max(map(max, curves.values())), list(points)
    figure = lines(sizes, curves, "training texts", ylabel, "", (0, top), (6.5, 3.4))
    figure.axes[0].set_xscale("log")
    figure.axes[0].set_xticks(sizes, [f"{size:,}" for size in sizes])
    figure.axes[0].minorticks_off()
    return figure


def band_by_size(records: Records = None, bandwidth: int = 3) -> dict[int, dict[str, float]]:
    """Diagonality in [0, 1] by number of training texts of IMDb (a run's ``limit`` less the
    validation share), in increasing order: trained, untrained and uniform attention over the same
    test texts, means over the seeds of the base model. Where a size was trained with several
    settings, those with the most seeds count, so that no seed counts twice."""
    frame, figure = tidy(records), f"diagonality {bandwidth}"
    asked = (frame.system == "sanet") & (frame.preset == "base") & (frame.dataset == "imdb")
    read = frame.accuracy.notna() & frame.record.map(lambda record: "attention" in record)
    found = frame[asked & read & frame.changes.map(frames.HOW_LONG.issuperset).astype(bool)]
    lines = {
        "trained": f"trained {figure}",
        "untrained": f"untrained {figure}",
        "uniform": f"trained uniform {figure}",
    }
    sizes = found.groupby(found.record.map(lambda record: record["sizes"]["train"]))
    best = {size: tidy(frames.largest_group(rows)) for size, rows in sizes}
    return {
        size: {line: float(rows[name].mean()) for line, name in lines.items()}
        for size, rows in best.items()
    }


def paper_shares() -> dict[str, list[float]]:
    """The paper's diagonality of SANet's attention in % for b = 1 … 5, by the name of the
    dataset."""
    return {
        frames.ZHANG[dataset]: figures[1:]
        for dataset, figures in frames.PAPERS["sanet_attention"].items()
    }


def implied_lengths() -> dict[str, list[float]]:
    """The number of words, to a tenth, at which uniform attention has the paper's diagonality, by
    dataset, for the bandwidths 1 to 5."""
    lengths = torch.arange(20, 20_000) / 10
    return {
        dataset: [
            lengths[(100 * uniform_diagonality(lengths, b) - value).abs().argmin()].item()
            for b, value in enumerate(figures[1:], start=1)
        ]
        for dataset, figures in frames.PAPERS["sanet_attention"].items()
    }


def implied_figure() -> Figure:
    """``implied_lengths`` over the bandwidth, a line for each dataset with its mean length, which
    is estimated from the archives' sizes."""
    figure, (axis,) = grid([""], 1, (7.5, 3.8))
    below = 0.0
    for dataset, lengths in sorted(implied_lengths().items(), key=lambda row: row[1][-1]):
        style = {"color": SECOND if dataset.startswith(("yelp", "amazon")) else ACCENT}
        axis.plot(range(1, 6), lengths, "o-", markersize=4, **style)
        name = f"{frames.ZHANG[dataset]}, mean about {words_per_text(dataset):.0f}"
        below = max(lengths[-1], 1.12 * below)  # names must not touch
        axis.annotate(name, (5.1, below), va="center", fontsize=9, **style)
    axis.set(xlabel="bandwidth b", ylabel="words (log scale)", xticks=range(1, 6), xlim=(0.8, 7.2))
    axis.set(yscale="log", yticks=[6, 10, 20, 40, 60], yticklabels=[6, 10, 20, 40, 60])
    axis.minorticks_off()
    axis.set_title("The text length at which uniform attention would match the paper")
    return figure


# AGT's phrases and gates


def gate_profiles(records: Records = None) -> dict[str, dict[str, Tensor]]:
    """The mean gate by layer, ``(layers − 1,)``, of AGT's recorded runs on SST-5, by their vectors
    and by seed."""
    frame = tidy(records)
    groups = {"50-d vectors that learn": frames.seeds_of(frame, "agt", "paper", "sst5")}
    groups |= frames.with_other_vectors(frame, "agt", "paper", "sst5")
    return {
        vectors: {f"seed {one['spec']['seed']}": _layers([one], "trained", "gate") for one in group}
        for vectors, group in groups.items()
    }


def _layers(group: Group, state: str, name: str) -> Tensor:
    """A recorded figure of each layer, mean over the runs."""
    return torch.tensor([record["attention"][state][name] for record in group]).mean(0)


def composition_figure(records: Records = None) -> Figure:
    """Words in a phrase by layer, by both rules of selection, and the mean transform gate (the
    paper's Figs. 2 and 3): means over the seeds of AGT with film vectors on SST-5's test sentences,
    beside the same words in a random order and the untrained network."""
    group = frames.with_film_vectors(records, "agt", "paper", "sst5")
    figure, axes = grid([*(f"weights {rule}" for rule in RULES), "gates"], 3, (11 / 3, 3.1))
    looks = {
        "trained": ("trained", "", "o-"),
        "trained, words shuffled": ("trained", " by chance", "s--"),
        "untrained": ("untrained", "", "^:"),
    }
    for axis, rule in zip(axes, RULES.values()):
        for label, (state, by, look) in looks.items():
            lengths = [phrase_lengths(record, rule, state, by) for record in group]
            axis.plot(np.mean(lengths, 0), look, label=label)
        axis.set(xlabel="layer", ylabel="words in a phrase", ylim=(0.9, 2.5))
        axis.legend(loc="upper left", fontsize=9)
    for state, look in (("trained", "o-"), ("untrained", "^:")):
        gates = _layers(group, state, "gate")
        axes[2].plot(range(1, 1 + len(gates)), gates, look, label=state)
    axes[2].set(xlabel="layer", ylabel="mean transform gate", ylim=(0, 1))
    axes[2].legend(loc="lower left", fontsize=9)
    return figure
