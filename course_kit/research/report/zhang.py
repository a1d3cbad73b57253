"""SANet on Zhang's sets: the paper's tables with ours below, and diagonality by training size."""

import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure

from course_kit.research.report.records import (
    HOW_LONG,
    SIMPLE,
    accuracy_of,
    largest_group,
    made_from,
    results_table,
    seeds_of,
    spread,
)
from course_lib.data.catalog import CARDS
from course_lib.metrics.attention import uniform_diagonality
from course_lib.runs.records import kept_accuracy, load_records
from course_lib.views.colours import ACCENT, SECOND

ZHANG = {
    "ag_news": "AG", "dbpedia": "DBP", "yahoo_answers": "Yahoo", "yelp_polarity": "Yelp P.",
    "yelp_full": "Yelp F.", "amazon_full": "Amz F.", "amazon_polarity": "Amz P.",
}  # fmt: skip
DATASETS = ZHANG | {"imdb": "IMDb"}  # not one of Zhang's: the paper has no figures for it
# Letarte et al. 2018, Table 1: test error in %, in the order of ZHANG; None where they give none.
PAPER_ERRORS: dict[str, tuple[float | None, ...]] = {
    "fastText": (7.5, 1.4, 27.7, 4.3, 36.1, 39.8, 5.4),
    "DPCNN": (6.87, 0.88, 23.90, 2.64, 30.58, 34.81, 3.32),
    "ULMFiT": (5.01, 0.80, None, 2.16, 29.98, None, None),
    "n-grams or CNN (Zhang et al.)": (7.64, 1.31, 28.26, 4.36, 37.95, 40.43, 4.98),
    "word CNN": (6.57, 0.84, 24.85, 2.90, 32.39, 36.24, 3.79),
    "HAN (HN-ATT)": (None, None, 24.2, None, None, 36.4, None),
    "VDCNN": (8.67, 1.29, 26.57, 4.28, 35.28, 37.00, 4.28),
    "SA-Embedding": (8.5, 1.7, None, 5.1, 36.6, 40.2, None),
    "DCCNN-ATT": (6.4, 0.8, None, 3.5, 34.0, 37.0, None),
    "baseline base": (7.34, 1.30, 26.87, 6.39, 39.98, 41.80, 6.38),
    "SANet base": (7.86, 1.27, 26.99, 6.26, 38.16, 40.08, 5.55),
    "baseline big": (7.20, 1.25, 25.90, 6.42, 38.92, 40.58, 5.82),
    "SANet big": (7.42, 1.28, 25.88, 4.77, 36.03, 38.67, 4.52),
}
# Letarte et al. 2018, Table 2, base model, in %: Gini, then diagonality for b = 1 … 5.
PAPER_ATTENTION = {
    "ag_news": (55.31, 7.44, 11.86, 16.21, 20.42, 24.48),
    "dbpedia": (67.94, 8.49, 13.80, 18.88, 23.74, 28.25),
    "yahoo_answers": (67.45, 6.34, 9.83, 13.28, 16.59, 19.65),
    "yelp_polarity": (65.16, 5.02, 7.89, 10.62, 13.19, 15.62),
    "yelp_full": (84.18, 23.54, 36.89, 45.49, 50.90, 54.54),
    "amazon_full": (89.50, 41.77, 62.35, 73.53, 79.49, 83.09),
    "amazon_polarity": (87.76, 40.01, 60.34, 71.43, 77.21, 80.56),
}
OUR_MODELS = {
    "baseline base": ("sanet", "baseline-base"),
    "SANet base": ("sanet", "base"),
    "baseline big": ("sanet", "baseline-big"),
    "SANet big": ("sanet", "big"),
} | SIMPLE
# megabytes of text in both halves, by the published descriptions of the archives' contents; AG News
# and Amazon Full by the ratio of text to archive of the part and of the set next to them
TEXT_MEGABYTES = {
    "ag_news": 31, "dbpedia": 201, "yahoo_answers": 793, "yelp_polarity": 442, "yelp_full": 521,
    "amazon_full": 1667, "amazon_polarity": 1783,
}  # fmt: skip
BYTES_PER_TOKEN = 5.0  # 5.4 in our part of AG News, 4.8 in that of Amazon Full


def sanet_error_table(records: list[dict[str, Any]] | None = None) -> str:
    """Test errors in % as a markdown table: the paper's Table 1, then ours with IMDb beside it.

    Ours are means ± standard deviation over the recorded seeds, "–" where a run is missing.
    """
    records = load_records() if records is None else records
    errors = {name: dict(zip(ZHANG, row, strict=True)) for name, row in PAPER_ERRORS.items()}
    return results_table("test error %", DATASETS, errors, OUR_MODELS, records, error_of)


def sanet_short_table(records: list[dict[str, Any]] | None, datasets: Sequence[str]) -> str:
    """``sanet_error_table`` of some datasets, with the base model and its baseline alone."""
    records = load_records() if records is None else records
    names = {dataset: DATASETS[dataset] for dataset in datasets}
    paper = {
        model: dict(zip(ZHANG, PAPER_ERRORS[model], strict=True))
        for model in ("baseline base", "SANet base")
    }
    ours = {model: preset for model, preset in OUR_MODELS.items() if "big" not in model}
    return results_table("test error %", names, paper, ours, records, error_of)


def error_of(record: dict[str, Any]) -> float:
    """The share of test documents that a run gets wrong."""
    return 1 - accuracy_of(record)


def sanet_attention_table(
    records: list[dict[str, Any]] | None = None, datasets: Sequence[str] = tuple(DATASETS)
) -> str:
    """Gini and diagonality of the base model in % as a markdown table (the paper's Table 2).

    Below the paper's row for each dataset come ours: trained, untrained, and uniform attention
    over the same documents; "–" where no run of ours is recorded.
    """
    records = load_records() if records is None else records
    bands = range(1, 6)
    heads = ["Gini", "Gini × n/(n−1)", *(f"b = {b}" for b in bands)]
    rows = [f"| % | {' | '.join(heads)} |", "|---" + "|---:" * len(heads) + "|"]
    for dataset in datasets:
        name = DATASETS[dataset]
        group = [r for r in seeds_of(records, "sanet", "base", dataset) if "attention" in r]
        if dataset in PAPER_ATTENTION:
            sparse, *near = (f"{value:.2f}" for value in PAPER_ATTENTION[dataset])
            rows.append(f"| {name}, paper | {' | '.join([sparse, '–', *near])} |")
        if not group:
            rows.append(f"| **{name}, ours** |{' – |' * len(heads)}")
            continue
        lines = {
            f"trained {made_from(group)}": ("trained", ""),
            "untrained": ("untrained", ""),
            "uniform attention": ("trained", "uniform "),
        }
        for what, (state, prefix) in lines.items():
            figures = [f"{prefix}diagonality {b}" for b in bands]
            sparse = ["0", "0"]
            if not prefix:
                sparse = [_attention_cell(group, state, f) for f in ("gini", "gini normalised")]
            cells = [*sparse, *(_attention_cell(group, state, figure) for figure in figures)]
            rows.append(f"| **{name}, ours**, {what} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _attention_cell(group: list[dict[str, Any]], state: str, figure: str) -> str:
    values = [record["attention"][state][figure] for record in group]
    if figure.startswith("uniform"):
        return f"{100 * values[0]:.1f}"  # every seed has the same documents
    return spread(values, 100)


def sizes_of_training(
    records: list[dict[str, Any]] | None = None, dataset: str = "imdb"
) -> dict[int, list[dict[str, Any]]]:
    """The base model's records with attention on test texts by number of training texts, in
    increasing order: a run's ``limit`` less the validation share. Where a size was trained with
    several settings, those with the most seeds count, so that no seed counts twice."""
    records = load_records() if records is None else records
    sizes = defaultdict(list)
    for record in records:
        spec = record["spec"]
        fits = (spec["system"], spec["preset"], spec["dataset"]) == ("sanet", "base", dataset)
        read = {"attention", "test"} <= record.keys()
        if fits and read and set(spec["overrides"]) <= HOW_LONG:
            sizes[record["sizes"]["train"]].append(record)
    return {size: largest_group(sizes[size]) for size in sorted(sizes)}


def band_by_size(
    records: list[dict[str, Any]] | None = None, dataset: str = "imdb", bandwidth: int = 3
) -> dict[int, dict[str, float]]:
    """Diagonality in [0, 1] by number of training texts: trained, untrained and uniform attention
    over the same documents, means over the recorded seeds."""
    figure = f"diagonality {bandwidth}"
    points = {}
    for size, group in sizes_of_training(records, dataset).items():
        lines = {"trained": ("trained", figure), "untrained": ("untrained", figure),
                 "uniform": ("trained", f"uniform {figure}")}  # fmt: skip
        points[size] = {
            line: statistics.mean(record["attention"][state][name] for record in group)
            for line, (state, name) in lines.items()
        }
    return points


def attention_lines_table(records: dict[str, dict[str, Any]]) -> str:
    """Validation accuracy, Gini and diagonality in % of single runs by name, as a markdown table:
    trained, untrained and uniform attention, a line each."""
    bands = (1, 3, 5)
    heads = ["Gini", *(f"b = {b}" for b in bands)]
    rows = [f"| % | accuracy | {' | '.join(heads)} |", "|---" + "|---:" * (len(heads) + 1) + "|"]
    for name, record in records.items():
        lines = {
            "trained": ("trained", "", f"{100 * kept_accuracy(record):.1f}"),
            "untrained": ("untrained", "", ""),
            "uniform attention": ("trained", "uniform ", ""),
        }
        for what, (state, prefix, accuracy) in lines.items():
            measured = record["attention"][state]
            sparse = 0.0 if prefix else measured["gini"]
            values = [sparse, *(measured[f"{prefix}diagonality {b}"] for b in bands)]
            numbers = " | ".join(f"{100 * value:.1f}" for value in values)
            rows.append(f"| {name}, {what} | {accuracy} | {numbers} |")
    return "\n".join(rows)


def implied_lengths() -> dict[str, list[int]]:
    """The number of words at which uniform attention has the paper's diagonality, by dataset, for
    the bandwidths 1 to 5."""
    lengths = torch.arange(2, 2000)
    return {
        dataset: [
            int(lengths[(100 * uniform_diagonality(lengths, b) - value).abs().argmin()])
            for b, value in enumerate(figures[1:], start=1)
        ]
        for dataset, figures in PAPER_ATTENTION.items()
    }


def implied_figure() -> Figure:
    """``implied_lengths`` over the bandwidth, a line for each dataset with its mean length, which
    is estimated from the archives' sizes."""
    figure, axis = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
    for dataset, lengths in implied_lengths().items():
        style = {"color": SECOND if dataset.startswith(("yelp", "amazon")) else ACCENT}
        axis.plot(range(1, 6), lengths, "o-", markersize=4, **style)
        name = f"{ZHANG[dataset]}, mean about {words_per_text(dataset):.0f}"
        axis.annotate(name, (5.1, lengths[-1]), va="center", fontsize=9, **style)
    axis.set(xlabel="bandwidth b", ylabel="words", xticks=range(1, 6), xlim=(0.8, 7.2))
    axis.set(yscale="log", yticks=[6, 10, 20, 40, 60], yticklabels=[6, 10, 20, 40, 60])
    axis.minorticks_off()
    axis.set_title("The text length at which uniform attention would match the paper")
    return figure


def words_per_text(dataset: str) -> float:
    """The mean number of words in the texts of one of Zhang's sets, about."""
    texts = sum(map(sum, CARDS[dataset].sizes.values()))
    return 1e6 * TEXT_MEGABYTES[dataset] / BYTES_PER_TOKEN / texts
