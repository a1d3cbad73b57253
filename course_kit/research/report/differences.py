"""Differences between accuracies, with intervals for the test set and the seeds; two results are
ranked only if the interval of their difference excludes 0."""

import math
import statistics
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from course_kit.research.report.frames import (
    COMPARISONS,
    MODELS,
    NAMES,
    PAIRS,
    PAPERS,
    ZHANG,
    Group,
    Records,
    accuracy_of,
    made_from,
    mean_std,
    planned,
    runs_of,
    seeds_of,
    shown,
    tidy,
    to_markdown,
    vector_size,
    with_film_vectors,
    without_film_vectors,
)
from course_lib.data.catalog import CARDS
from course_lib.metrics.classification import sampling_error
from course_lib.metrics.statistics import LEVEL, mcnemar, paired_bootstrap
from course_lib.runs.predictions import ItemPredictions
from course_lib.runs.records import kept_accuracy, predictions_of
from course_lib.runs.spec import RunSpec

STANDARD_ERRORS = 2.0  # on either side: an interval of about 95 %
MEAN = "mean of word vectors, AGT's classifier"
REPORT = "HAN, 7 × 30"  # the IMDb report does not say which texts its accuracy is of
# Accuracies in %, by model and dataset, from the papers whose models we train too.
PAPER_ACCURACIES: dict[str, dict[str, float]] = {
    REPORT: {"imdb": 100 * PAPERS["imdb_report"]["accuracy"]},
    **{
        model: {data: 100 - e for data, e in zip(ZHANG, errors, strict=True) if e is not None}
        for model, errors in PAPERS["sanet_errors"]["rows"].items()
        if model in MODELS
    },
    **{model: row for model, row in PAPERS["treebank_accuracies"].items() if model in MODELS},
}
CONTRASTS = COMPARISONS["contrasts"]


class Paired(NamedTuple):
    """A paired comparison of two accuracies in [0, 1]: the bounds of a 95 % interval of their
    difference, and the p-value of McNemar's test, None if one side has several seeds."""

    low: float
    high: float
    p: float | None

    def __str__(self) -> str:
        """Which test it is, in words."""
        if self.p is None:
            return "paired, bootstrap over texts and seeds"
        return "paired, McNemar p " + (f"= {self.p:.3f}" if self.p >= 0.001 else "< 0.001")


class Difference(NamedTuple):
    """The difference of two shares in [0, 1].

    ``error`` is its standard error if each side had read a test set of its own; ``paired`` the
    comparison text by text, where both sides kept their predictions of the same texts, which then
    decides. ``one_seed`` if one side has a single seed, so that the spread over seeds is missing.
    """

    value: float
    error: float
    one_seed: bool
    paired: Paired | None = None

    def __str__(self) -> str:
        """Percentage points, and half of the interval, or both bounds of a paired one."""
        if self.paired:
            low, high = self.interval
            return f"{100 * self.value:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
        return f"{100 * self.value:+.1f} ± {100 * STANDARD_ERRORS * self.error:.1f}"

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds of an interval of about 95 %."""
        if self.paired:
            return self.paired.low, self.paired.high
        half = STANDARD_ERRORS * self.error
        return self.value - half, self.value + half

    @property
    def test(self) -> str:
        """Which test the reading rests on: ``"unpaired"``, or which paired one."""
        return str(self.paired or "unpaired")

    @property
    def reading(self) -> str:
        """``"better"``, ``"worse"``, or ``"not told apart"`` if the interval contains 0 or
        McNemar's p-value, where there is one, is at least 0.05."""
        low, high = self.interval
        by_chance = self.paired and self.paired.p is not None and self.paired.p >= LEVEL
        if low <= 0 <= high or by_chance:
            return "not told apart"
        return ("better" if self.value > 0 else "worse") + ", of one seed" * self.one_seed


def difference(ours: Group, other: Group | tuple[float, int]) -> Difference:
    """Mean test accuracy of runs minus that of others, or of a paper's (share, test documents).

    Runs that all kept their predictions of the same test texts are compared text by text. Otherwise
    the error assumes independent test sets. Ours share one test set, where models tend to fail on
    the same texts, so the true error is smaller and ``"not told apart"`` appears too often.
    """
    if isinstance(other, tuple):
        share, error, one_seed, pair = other[0], sampling_error(*other), False, None
    else:
        share, error = statistics.mean(map(accuracy_of, other)), error_of_mean(other)
        one_seed, pair = _lacks_seeds(other), _paired(ours, other)
    value = statistics.mean(map(accuracy_of, ours)) - share
    error = math.hypot(error_of_mean(ours), error)
    return Difference(value, error, one_seed or _lacks_seeds(ours), pair)


def validation_difference(ours: Group, other: Group) -> Difference:
    """The difference of the accuracies of kept epochs, as of samples drawn apart."""
    mine, others = (statistics.mean(map(kept_accuracy, group)) for group in (ours, other))
    texts = other[0]["sizes"]["validation"]
    error = math.hypot(*(sampling_error(share, texts) for share in (mine, others)))
    return Difference(mine - others, error, len(ours) == 1)


def error_of_mean(group: Group) -> float:
    """Standard error of a mean test accuracy over seeds, from the sampling of the test set and from
    the seeds. For a single seed the second part is unknown and left out."""
    shares = [accuracy_of(record) for record in group]
    documents = sampling_error(statistics.mean(shares), group[0]["sizes"]["test"])
    seeds = statistics.stdev(shares) / len(shares) ** 0.5 if len(shares) > 1 else 0.0
    return math.hypot(documents, seeds)


def _paired(ours: Group, other: Group) -> Paired | None:
    """The comparison of runs that all kept their predictions of the same test texts, else None."""
    kept = [predictions_of(record) for record in (*ours, *other)]
    found = [run for run in kept if isinstance(run, ItemPredictions)]
    if len(found) < len(kept) or len({run.items for run in found}) > 1:
        return None
    right = np.stack([run.right for run in found])
    first, second = right[: len(ours)], right[len(ours) :]
    p = mcnemar(first[0], second[0]) if len(first) == len(second) == 1 else None
    return Paired(*paired_bootstrap(first, second), p)


def _lacks_seeds(group: Group) -> bool:
    return len(group) == 1 and group[0]["spec"]["system"] != "tfidf"  # whose fit is not random


def gap_to_paper(group: Group, model: str, dataset: str) -> Difference | None:
    """The runs' mean accuracy minus the paper's of a model; None without the one or the other."""
    paper = PAPER_ACCURACIES.get(model, {}).get(dataset)
    if not group or paper is None:
        return None
    return difference(group, (paper / 100, sum(CARDS[dataset].sizes["test"])))


def paper_cell(model: str, dataset: str) -> str | None:
    """A paper's accuracy in %, None without one, and whether the paper names its texts."""
    share = PAPER_ACCURACIES.get(model, {}).get(dataset)
    return share and f"{share:.4g}" + " (split not named)" * (model == REPORT)


def judged(gap: Difference | None) -> list[str | None]:
    """The cells of a difference: itself, which test it rests on, and its reading."""
    return [str(gap), gap.test, gap.reading] if gap else [None, None, "not run"]


def papers_table(records: Records = None, models: Iterable[str] = tuple(PAPER_ACCURACIES)) -> str:
    """Our accuracies in % beside those of the papers, each difference with its interval, as a
    markdown table; "–" where a run is missing."""
    frame, rows = tidy(records), []
    for model, dataset in ((name, data) for name in models for data in PAPER_ACCURACIES[name]):
        group = runs_of(frame, model, dataset)
        ours = ", ".join(filter(None, [shown(group), *map(vector_size, group[:1])])) or None
        gap = judged(gap_to_paper(group, model, dataset))
        rows.append([NAMES[dataset], model, paper_cell(model, dataset), ours, *gap])
    heads = ["dataset", "model", "paper", "ours", "difference", "test", "ours is"]
    return to_markdown(heads, rows, "llrrrll")


def contrasts_table(
    records: Records = None, contrasts: Iterable[tuple[str, str, str]] = CONTRASTS
) -> str:
    """Differences in test accuracy between two models of ours, in points with their intervals, and
    which test each reading rests on."""
    frame = tidy(records)
    rows = [
        _contrast(data, *((model, runs_of(frame, model, data)) for model in models))
        for data, *models in contrasts
    ]
    return _contrasts(rows, "first")


def film_contrasts_table(records: Records = None) -> str:
    """As ``contrasts_table``, of networks with film vectors; then a mean of film vectors against
    the same with GloVe's alone, all else being equal."""
    frame = tidy(records)

    def film(model: str, dataset: str) -> tuple[str, Group]:
        if model == PAIRS:
            return model, runs_of(frame, model, dataset)
        return model, with_film_vectors(frame, *MODELS[model][:2], dataset)

    contrasts = COMPARISONS["film_contrasts"]
    rows = [_contrast(data, *(film(name, data) for name in pair)) for data, *pair in contrasts]
    glove = without_film_vectors(frame, *MODELS[MEAN][:2], "sst5")
    rows.append(_contrast("sst5", film(MEAN, "sst5"), (f"{MEAN}, GloVe's vectors alone", glove)))
    return _contrasts(rows, "first, with film vectors")


def _contrasts(rows: list[list[str | None]], first: str) -> str:
    heads = ["dataset", first, "second", "first − second", "test", "the first is"]
    return to_markdown(heads, rows, "lllrll")


def _contrast(dataset: str, *sides: tuple[str, Group]) -> list[str | None]:
    names = [f"{name} {made_from(group)}" if group else name for name, group in sides]
    groups = [group for _, group in sides]
    return [NAMES[dataset], *names, *judged(difference(*groups) if all(groups) else None)]


def pairs_table(pairs: Mapping[str, tuple[Group, Group]]) -> str:
    """Named pairs of groups of runs, their test accuracies in % with the number of runs, and the
    first minus the second in points with its interval, as a markdown table."""
    rows = []
    for name, pair in pairs.items():
        cells = [f"{mean_std(list(map(accuracy_of, g)), 100)} ({len(g)})" for g in pair]
        gap = difference(*pair)
        rows.append([name, *cells, gap, gap.reading])
    return to_markdown(
        ["first − second", "first", "second", "points", "the first is"], rows, "lrrrl"
    )


def recorded_chains(records: Records = None) -> dict[str, dict[str, float]]:
    """The chains of changes with the validation accuracies of their kept epochs, as far as each is
    recorded."""
    frame, chains = tidy(records), {}
    for title, steps in COMPARISONS["chains"].items():
        found = planned(frame, (RunSpec(**step) for step in steps.values()))
        done = found.index(None) if None in found else len(found)
        if done:
            chains[title] = dict(zip(steps, map(kept_accuracy, found[:done]), strict=False))
    return chains


def gaps_table(records: Records = None) -> str:
    """The test accuracies in % of networks at first and now as a markdown table, what is still
    missing to the paper's, and the step that brought most on the validation texts; "–" where a run
    is missing, or the paper names no figure."""
    frame = tidy(records)
    chains, rows = recorded_chains(frame), []
    for model, dataset, preset, chain in COMPARISONS["gaps"]:
        before, now = runs_of(frame, model, dataset), film_runs(frame, model, preset, dataset)
        cells = [NAMES[dataset], paper_cell(model, dataset), shown(before), shown(now)]
        cells.append(difference(now, before) if now and before else None)
        cells += [gap_to_paper(now, model, dataset), _largest_step(chains.get(chain, {}))]
        rows.append([model, *cells])
    heads = ["network", "dataset", "paper", "first record", "now", "now − first", "now − paper",
             "the step that brought most, on validation"]  # fmt: skip
    return to_markdown(heads, rows, "llrrrrrl")


def film_runs(records: Records, model: str, preset: str, dataset: str) -> Group:
    """A model's runs with film vectors; the preset ``compact`` reads them by itself."""
    find = seeds_of if preset == "compact" else with_film_vectors
    return find(records, MODELS[model][0], preset, dataset)


def _largest_step(chain: dict[str, float]) -> str | None:
    gains = {words: 100 * (b - a) for (_, a), (words, b) in pairwise(chain.items())}
    best = max(gains, key=gains.__getitem__, default=None)
    return best and f"{best}: {gains[best]:+.1f}"
