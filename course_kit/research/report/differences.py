"""Differences between accuracies, with intervals for the test set and the seeds; two results are
ranked only if the interval of their difference excludes 0."""

import math
import statistics
from collections.abc import Iterable
from itertools import combinations
from typing import Any, NamedTuple

from course_kit.research.report.imdb import REPORTED
from course_kit.research.report.paired import SIGNIFICANT, Paired, paired
from course_kit.research.report.records import (
    accuracy_of,
    made_from,
    runs_of,
    spread,
    vector_size,
    with_film_vectors,
    without_film_vectors,
)
from course_kit.research.report.sst import AGT_MODELS, IRAM_MODELS, PAPER_ACCURACIES
from course_kit.research.report.sst import DATASETS as TREEBANK
from course_kit.research.report.sst import OUR_MODELS as TREEBANK_MODELS
from course_kit.research.report.zhang import DATASETS as ZHANG_AND_IMDB
from course_kit.research.report.zhang import OUR_MODELS as ZHANG_MODELS
from course_kit.research.report.zhang import PAPER_ERRORS, ZHANG
from course_lib.data.catalog import CARDS
from course_lib.metrics.classification import sampling_error
from course_lib.runs.records import load_records

STANDARD_ERRORS = 2.0  # on either side: an interval of about 95 %
NAMES = ZHANG_AND_IMDB | TREEBANK
HAN_MODELS = {"HAN, 7 × 30": ("han", "report"), "HAN, 25 × 50": ("han", "long")}
MODELS = HAN_MODELS | ZHANG_MODELS | TREEBANK_MODELS
PAIRS = "TF-IDF of words and word pairs"
MEAN = "mean of word vectors, AGT's classifier"
# Accuracies in %, by model and dataset, from the papers whose models we train too.
PAPERS = {"HAN, 7 × 30": {"imdb": 100 * REPORTED["han-imdb"]["accuracy"]}}
UNNAMED_SPLIT = {"HAN, 7 × 30"}  # the IMDb report does not say which texts its 85 % is of
PAPERS |= {
    model: {d: 100 - e for d, e in zip(ZHANG, PAPER_ERRORS[model], strict=True) if e is not None}
    for model in ZHANG_MODELS
    if model in PAPER_ERRORS
}
PAPERS |= {
    model: {dataset: share for dataset, share in row.items() if share is not None}
    for model, row in PAPER_ACCURACIES.items()
    if model in TREEBANK_MODELS
}
# Comparisons that the papers make, and comparisons with simple models: first minus second.
CONTRASTS = [
    ("imdb", "HAN, 25 × 50", "HAN, 7 × 30"),
    ("imdb", "HAN, 25 × 50", PAIRS),
    *((d, "SANet base", "baseline base") for d in ("ag_news", "amazon_full", "imdb")),
    *((d, "SANet base", PAIRS) for d in ("ag_news", "amazon_full")),
    ("ag_news", "SANet big", "baseline big"),
    *(("sst2", "IRAM full", other) for other in IRAM_MODELS if other != "IRAM full"),
    ("sst2", "IRAM vanilla", "BiLSTM + maxout (IRAM without steps)"),
    *(("sst2", model, PAIRS) for model in ("IRAM full", "IRAM vanilla")),
    *(("sst5", *pair) for pair in combinations(AGT_MODELS, 2)),
    ("sst5", "AGT", PAIRS),
]
# The same with film vectors, where every run kept its predictions.
FILM_CONTRASTS = [
    ("sst2", "IRAM full", "IRAM vanilla"),
    ("sst2", "IRAM vanilla", "BiLSTM + maxout (IRAM without steps)"),
    ("sst2", "IRAM full", PAIRS),
    *((dataset, "AGT", other) for dataset in ("sst2", "sst5") for other in (MEAN, PAIRS)),
]
# What word pairs add to a bag of words.
SIMPLE_CONTRASTS = [
    (dataset, PAIRS, "TF-IDF of words")
    for dataset in ("imdb", "ag_news", "amazon_full", "sst2", "sst5")
]


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
        by_chance = self.paired and self.paired.p is not None and self.paired.p >= SIGNIFICANT
        if low <= 0 <= high or by_chance:
            return "not told apart"
        return ("better" if self.value > 0 else "worse") + ", of one seed" * self.one_seed


def error_of_mean(group: list[dict[str, Any]]) -> float:
    """Standard error of a mean test accuracy over seeds, from the sampling of the test set and from
    the seeds. For a single seed the second part is unknown and left out."""
    shares = [accuracy_of(record) for record in group]
    documents = sampling_error(statistics.mean(shares), group[0]["sizes"]["test"])
    seeds = statistics.stdev(shares) / len(shares) ** 0.5 if len(shares) > 1 else 0.0
    return math.hypot(documents, seeds)


def difference(
    ours: list[dict[str, Any]], other: list[dict[str, Any]] | tuple[float, int]
) -> Difference:
    """Mean test accuracy of runs minus that of others, or of a paper's (share, test documents).

    Runs that all kept their predictions of the same test texts are compared text by text. Otherwise
    the error assumes independent test sets. Ours share one test set, where models tend to fail on
    the same texts, so the true error is smaller and ``"not told apart"`` appears too often.
    """
    if isinstance(other, tuple):
        share, error, one_seed, pair = other[0], sampling_error(*other), False, None
    else:
        share, error = statistics.mean(map(accuracy_of, other)), error_of_mean(other)
        one_seed, pair = _lacks_seeds(other), paired(ours, other)
    value = statistics.mean(map(accuracy_of, ours)) - share
    error = math.hypot(error_of_mean(ours), error)
    return Difference(value, error, one_seed or _lacks_seeds(ours), pair)


def _lacks_seeds(group: list[dict[str, Any]]) -> bool:
    seedless = group[0]["spec"]["system"] == "tfidf"  # its fit is not random
    return len(group) == 1 and not seedless


def papers_table(
    records: list[dict[str, Any]] | None = None, models: Iterable[str] = tuple(PAPERS)
) -> str:
    """Our accuracies in % beside those of the papers, each difference with its interval, as a
    markdown table; "–" where a run is missing."""
    records = load_records() if records is None else records
    rows = [
        "| dataset | model | paper | ours | difference | test | ours is |",
        "|---|---|---:|---:|---:|---|---|",
    ]
    for model in models:
        for dataset, share in PAPERS[model].items():
            cells = ["–", "–", "–", "not run"]
            if group := runs_of(records, MODELS[model], dataset):
                gap = difference(group, (share / 100, sum(CARDS[dataset].sizes["test"])))
                ours = spread([accuracy_of(record) for record in group], 100)
                how = ", ".join(filter(None, [made_from(group), vector_size(group[0])]))
                cells = [f"{ours} {how}", str(gap), gap.test, gap.reading]
            cells = [NAMES[dataset], model, paper_cell(model, dataset), *cells]
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def paper_cell(model: str, dataset: str) -> str:
    """A paper's accuracy in %, "–" without one, and whether the paper names its texts."""
    share = PAPERS.get(model, {}).get(dataset)
    note = " (split not named)" if model in UNNAMED_SPLIT else ""
    return "–" if share is None else f"{share:.4g}{note}"


def contrasts_table(
    records: list[dict[str, Any]] | None = None,
    contrasts: Iterable[tuple[str, str, str]] = (*CONTRASTS, *SIMPLE_CONTRASTS),
) -> str:
    """Differences in test accuracy between two models of ours, in points with their intervals, and
    which test each reading rests on."""
    records = load_records() if records is None else records
    rows = [
        "| dataset | first | second | first − second | test | the first is |",
        "|---|---|---|---:|---|---|",
    ]
    for dataset, first, second in contrasts:
        groups = [runs_of(records, MODELS[model], dataset) for model in (first, second)]
        rows.append(_contrast(dataset, (first, second), groups))
    return "\n".join(rows)


def film_contrasts_table(records: list[dict[str, Any]] | None = None) -> str:
    """As ``contrasts_table``, of networks with film vectors; then a mean of film vectors against
    the same with GloVe's alone, all else being equal."""
    records = load_records() if records is None else records
    rows = [
        "| dataset | first, with film vectors | second | first − second | test | the first is |",
        "|---|---|---|---:|---|---|",
    ]

    def film(model: str, dataset: str) -> list[dict[str, Any]]:
        return with_film_vectors(records, *MODELS[model][:2], dataset)

    for dataset, first, second in FILM_CONTRASTS:
        other = (
            runs_of(records, MODELS[second], dataset) if second == PAIRS else film(second, dataset)
        )
        rows.append(_contrast(dataset, (first, second), [film(first, dataset), other]))
    groups = [film(MEAN, "sst5"), without_film_vectors(records, *MODELS[MEAN][:2], "sst5")]
    rows.append(_contrast("sst5", (MEAN, f"{MEAN}, GloVe's vectors alone"), groups))
    return "\n".join(rows)


def _contrast(dataset: str, models: tuple[str, str], groups: list[list[dict[str, Any]]]) -> str:
    """The row of two models' runs."""
    cells = ["–", "–", "not run"]
    if all(groups):
        gap = difference(*groups)
        cells = [str(gap), gap.test, gap.reading]
    pair = zip(models, groups, strict=True)
    names = [f"{model} {made_from(group)}" if group else model for model, group in pair]
    return f"| {NAMES[dataset]} | {' | '.join([*names, *cells])} |"
