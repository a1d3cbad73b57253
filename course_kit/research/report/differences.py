"""Differences between accuracies, with intervals for the test set and the seeds; two results are
ranked only if the interval of their difference excludes 0."""

import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from course_kit.research.grid.groups import read_grid
from course_kit.research.report import frames
from course_kit.research.report.frames import Group, Record, Records, shown, tidy, to_markdown
from course_lib.data.catalog import CARDS
from course_lib.metrics.classification import sampling_error
from course_lib.metrics.statistics import LEVEL, Estimate, crossed, mcnemar, welch
from course_lib.runs.predictions import ItemPredictions
from course_lib.runs.records import kept_accuracy, predictions_of
from course_lib.runs.settings import ATTENTION_WEIGHTS, in_words
from course_lib.runs.spec import Plan, RunSpec

REPORT = "HAN, 7 × 30"  # the IMDb report does not say which texts its accuracy is of
# Accuracies in %, by model and dataset, from the papers whose models we train too.
PAPER_ACCURACIES: dict[str, dict[str, float]] = {
    REPORT: {"imdb": 100 * frames.PAPERS["imdb_report"]["accuracy"]},
    **{
        model: {data: 100 - error for data, error in zip(frames.ZHANG, errors, strict=True)}
        for model, errors in frames.PAPERS["sanet_errors"]["rows"].items()
    },
    **frames.PAPERS["treebank_accuracies"],
}
EXTENSIONS = frames.COMPARISONS["extensions"]
UNDETECTED = "no difference detected"
GLOVE = ", GloVe's vectors alone"  # ends the name of a network compared with itself on film vectors


class Difference(NamedTuple):
    """The difference of two shares in [0, 1], the ends of its 95 % interval, and its ``p``-value.

    ``test`` says how they were found: ``"unpaired"``, as if each side had read a test set of its
    own, ``"validation"``, the same of validation texts, or which paired test. ``one_seed`` if one
    side has a single seed, so that the deviation over seeds is missing. ``holm`` is p corrected
    for the number of tests in its family, if any.
    """

    value: float
    low: float
    high: float
    test: str
    one_seed: bool
    p: float
    holm: float | None = None

    def __str__(self) -> str:
        """Percentage points, and half of the interval, or both bounds of a paired one."""
        if not self.test.startswith("paired"):
            return f"{100 * self.value:+.1f} ± {100 * (self.high - self.low) / 2:.1f}"
        return f"{100 * self.value:+.1f} [{100 * self.low:+.1f}, {100 * self.high:+.1f}]"

    @property
    def reading(self) -> str:
        """``"better"``, ``"worse"``, or ``UNDETECTED`` if p, corrected where the test has a
        family, is at least 0.05 or the interval contains 0."""
        if self.low <= 0 <= self.high or max(self.p, self.holm or 0) >= LEVEL:
            return UNDETECTED
        return ("better" if self.value > 0 else "worse") + ", of one seed" * self.one_seed


def difference(ours: Group, other: Group | tuple[float, int] | None) -> Difference | None:
    """Mean test accuracy of runs minus that of others, or of a paper's (share, test documents);
    None where either is missing.

    Runs that all kept their predictions of the same test texts are compared text by text. Otherwise
    the error assumes independent test sets. Ours share one test set, where models tend to fail on
    the same texts, so the true error is smaller and some differences that exist are not detected.
    """
    if not (ours and other):
        return None
    value, one_seed = statistics.mean(map(frames.accuracy_of, ours)), _lacks_seeds(ours)
    if isinstance(other, tuple):
        return _unpaired(value - other[0], [ours], sampling_error(*other) ** 2, one_seed)
    value -= statistics.mean(map(frames.accuracy_of, other))
    one_seed = one_seed or _lacks_seeds(other)
    kept = [predictions_of(record) for record in (*ours, *other)]
    found = [run for run in kept if isinstance(run, ItemPredictions)]
    if len(found) < len(kept) or len({run.items for run in found}) > 1:
        return _unpaired(value, [ours, other], 0.0, one_seed)
    right = np.stack([run.right for run in found])
    first, second = right[: len(ours)], right[len(ours) :]
    estimate = crossed(first, second)
    p, name = estimate.p, "t over seeds and texts,"
    if len(first) == len(second) == 1:
        p, name = mcnemar(first[0], second[0]), "McNemar"
    test = f"paired, {name} " + (f"p = {p:.3f}" if p >= 0.001 else "p < 0.001")
    return Difference(value, *estimate.interval, test, one_seed, p)


def validation_difference(ours: Group, other: Group) -> Difference:
    """The difference of the accuracies of kept epochs, as of samples drawn apart."""
    mine, others = (statistics.mean(map(kept_accuracy, group)) for group in (ours, other))
    texts = other[0]["sizes"]["validation"]
    variance = sum(sampling_error(share, texts) ** 2 for share in (mine, others))
    return _unpaired(mine - others, [], variance, len(ours) == 1)._replace(test="validation")


def corrected(gaps: Mapping[Any, Difference], families: Iterable[str]) -> dict[Any, Difference]:
    """The differences with Holm's p-values, each within its family, of which each gap has one."""
    found = frames.holm_within({name: gap.p for name, gap in gaps.items()}, families)
    return {name: gap._replace(holm=found[name]) for name, gap in gaps.items()}


def _unpaired(value: float, groups: Sequence[Group], by_texts: float, one_seed: bool) -> Difference:
    """A difference whose variance is that of sampling, beside ``by_texts``, and of the groups'
    seeds."""
    parts, texts = [], sys.maxsize  # so many that t is normal
    for group in groups:
        shares = [frames.accuracy_of(record) for record in group]
        by_texts += sampling_error(statistics.mean(shares), group[0]["sizes"]["test"]) ** 2
        if len(shares) > 1:
            parts.append((statistics.variance(shares) / len(shares), len(shares) - 1))
    found = Estimate(value, by_texts, texts, *welch(parts))
    return Difference(value, *found.interval, "unpaired", one_seed, found.p)


def _lacks_seeds(group: Group) -> bool:
    return len(group) == 1 and group[0]["spec"]["system"] != "tfidf"  # whose fit is not random


def _judged(gap: Difference | None) -> list[str | None]:
    """The cells of a difference: itself, which test it rests on, and its reading."""
    return [str(gap), gap.test, gap.reading] if gap else [None, None, "not run"]


# Beside the papers


def paper_cell(model: str, dataset: str) -> str | None:
    """A paper's accuracy in %, None without one, and whether the paper names its texts."""
    share = PAPER_ACCURACIES.get(model, {}).get(dataset)
    return share and f"{share:.4g}" + " (split not named)" * (model == REPORT)


def _gap_to_paper(group: Group, model: str, dataset: str) -> Difference | None:
    """The runs' mean accuracy minus the paper's of a model; None without the one or the other."""
    paper = PAPER_ACCURACIES.get(model, {}).get(dataset)
    return difference(group, paper and (paper / 100, sum(CARDS[dataset].sizes["test"])))


def papers_table(records: Records = None) -> str:
    """Our accuracies in % beside those of the papers, each difference with its interval, as a
    markdown table, of what has been run."""
    frame, rows = tidy(records), []
    for model, dataset in ((name, data) for name, of in PAPER_ACCURACIES.items() for data in of):
        if group := frames.runs_of(frame, model, dataset):
            ours = ", ".join(filter(None, [shown(group), frames.vector_size(group[0])]))
            gap = _judged(_gap_to_paper(group, model, dataset))
            rows.append([frames.NAMES[dataset], model, paper_cell(model, dataset), ours, *gap])
    heads = ["dataset", "model", "paper", "ours", "difference", "test", "reading"]
    return to_markdown(heads, rows, "llrrrll")


def gaps_table(records: Records = None) -> str:
    """The test accuracies in % of networks at first and now as a markdown table, and what is
    still missing to the paper's; "–" where a run is missing, or the paper names no figure."""
    frame, rows = tidy(records), []
    for model, dataset, preset, *others in frames.COMPARISONS["gaps"]:
        today = others[0] if others else model
        before = frames.runs_of(frame, model, dataset)
        now = frames.runs_of(frame, model, dataset, preset)
        accuracies = [paper_cell(model, dataset), shown(before), shown(now)]
        gaps = difference(now, before), _gap_to_paper(now, today, dataset)
        name = model if today == model else f"{model}, now {today}"
        name += (
            f" (paper: {said})" if today != model and (said := paper_cell(today, dataset)) else ""
        )
        rows.append([name, frames.NAMES[dataset], *accuracies, *gaps])
    heads = [
        "network",
        "dataset",
        "paper",
        "first record",
        "now",
        "now − first",
        "now − paper",
    ]
    return to_markdown(heads, rows, "llr")


# Ours beside ours


def contrasts_table(records: Records = None, film: bool = False) -> str:
    """Differences in test accuracy between two models of ours, in points with their intervals, and
    which test each reading rests on; with ``film``, of networks that read film vectors, and last a
    mean of film vectors against the same with GloVe's alone, all else being equal."""
    frame, rows = tidy(records), []
    for dataset, *models in frames.COMPARISONS["film_contrasts" if film else "contrasts"]:
        groups = [_runs(frame, model, dataset, film) for model in models]
        names = [
            f"{model} {frames.made_from(group)}" if group else model
            for model, group in zip(models, groups, strict=True)
        ]
        rows.append([frames.NAMES[dataset], *names, *_judged(difference(*groups))])
    first = "first, with film vectors" if film else "first"
    heads = ["dataset", first, "second", "first − second", "test", "reading"]
    return to_markdown(heads, rows, "lllrll")


def _runs(records: Records, model: str, dataset: str, film: bool) -> Group:
    if not film or model == frames.PAIRS:
        return frames.runs_of(records, model, dataset)
    find = frames.without_film_vectors if model.endswith(GLOVE) else frames.with_film_vectors
    return find(records, *frames.MODELS[model.removesuffix(GLOVE)][:2], dataset)


def extensions_table(records: Records = None) -> str:
    """Accuracies in % before and after each change as a markdown table, over the seeds that both
    have, with ``difference``'s interval and reading.

    Where the changed runs left the test texts unread, the accuracies are those of the validation
    texts, which chose the epochs. Holm's p-value is of the family that ``comparisons.yaml``
    declares.
    """
    frame, rows, gaps = tidy(records), [], {}
    for one in EXTENSIONS:
        sides = [frames.by_name(frame, one[side]) for side in ("before", "changed")]
        before, after = _of_the_same_seeds(*sides)
        share, compare = kept_accuracy, validation_difference
        if all("test" in record for record in (*before, *after)):
            share, compare = frames.accuracy_of, difference
        if after:
            gaps[one["change"]] = compare(after, before)
        cells = [one["network"], one["change"], frames.NAMES[one["changed"].split("-")[1]]]
        rows.append([*cells, frames.percent(before, share), frames.percent(after, share)])
    gaps = corrected(gaps, [one["family"] for one in EXTENSIONS if one["change"] in gaps])
    cells = [_with_holm(gaps.get(one["change"])) for one in EXTENSIONS]
    rows = [[*row, *cell] for row, cell in zip(rows, cells, strict=True)]
    heads = [
        "network",
        "change",
        "dataset",
        "before",
        "after",
        "difference",
        "p",
        "Holm's p",
        "reading",
    ]
    return to_markdown(heads, rows, "lllrrlrrl")


def _with_holm(gap: Difference | None) -> list[str | None]:
    """The cells of a difference with both p-values, and its reading by the corrected one."""
    if gap is None:
        return [None, None, None, "not run"]
    kind = gap.test.partition(",")[0]
    return [f"{gap} ({kind})", f"{gap.p:.3f}", f"{gap.holm:.3f}", gap.reading]


def _of_the_same_seeds(first: dict[int, Record], second: dict[int, Record]) -> tuple[Group, Group]:
    both = sorted(first.keys() & second.keys())
    return [first[seed] for seed in both], [second[seed] for seed in both]


# The attention ablation: what a network loses whose attention is kept uniform or untrained


def ablation_table(records: Records = None, group: str = "attention_ablation") -> str:
    """Test accuracies in % with learned attention weights and with those that the grid's ``group``
    plans, uniform or untrained, as a markdown table, one row for each network and dataset of the
    group.

    An ablated run is compared with the run that has its settings, its seed and its data, and
    differs only in the attention; both start from the same other weights and read the same
    batches. The tests against one kind of ablation are a family, for which Holm's method corrects
    their p-values. The learned attention is "used" if its accuracy is then better than that of
    every ablation; else the row names the one from which no difference is detected, or than which
    it is worse. "–" where a run is missing.
    """
    frame = tidy(records)
    tested, trainings = frame[frame.accuracy.notna()], {}
    for spec in (plan.spec for plan in read_grid()[group]):
        trainings.setdefault(frames.group_of(_with_weights(spec, "learned")), []).append(spec)
    planned = {spec.overrides[frames.WEIGHTS] for specs in trainings.values() for spec in specs}
    names = [weights for weights in ATTENTION_WEIGHTS if weights in planned]
    heads = [
        "network",
        "dataset",
        "learned",
        *names,
        *(f"learned − {name}" for name in names),
        "learned attention",
    ]
    found = [_ablation(tested, of_one, names) for of_one in trainings.values()]
    gaps = {(n, name): gap for n, (_, of) in enumerate(found) for name, gap in of.items() if gap}
    gaps, rows = corrected(gaps, [name for _, name in gaps]), []
    for n, (cells, of) in enumerate(found):
        of = {name: gaps.get((n, name)) for name in of}
        told = [gap and f"{gap} ({gap.test}; Holm's {gap.holm:.3f})" for gap in of.values()]
        rows.append([*cells, *told, _reading(of)])
    return to_markdown(heads, rows, "llr" + "r" * len(names) + "l")


def _with_weights(spec: RunSpec, weights: str) -> Plan:
    return replace(spec, overrides=spec.overrides | {frames.WEIGHTS: weights}).resolve()


def _ablation(
    tested: pd.DataFrame, specs: list[RunSpec], names: list[str]
) -> tuple[list[Any], dict[str, Difference | None]]:
    """The cells of the row of one training, whose ablations the grid plans as ``specs``, and the
    difference to each ablation."""
    spec = specs[0]
    frame = tested[tested.seed.isin({spec.seed for spec in specs})]
    learned = frames.by_seed(frame, _with_weights(spec, "learned"))
    accuracies, gaps = [shown(list(learned.values()))], {}
    for name in names:
        runs = frames.by_seed(frame, _with_weights(spec, name))
        runs = {s: run for s, run in runs.items() if _content(learned.get(s, run)) == _content(run)}
        accuracies.append(shown(list(runs.values())))
        gaps[name] = difference(*_of_the_same_seeds(learned, runs))
    others = [in_words(*change) for change in spec.overrides.items() if change[0] != frames.WEIGHTS]
    network = ", ".join([frames.SYSTEM_NAMES[spec.system], spec.preset, *others])
    return [network, frames.title_of(spec.dataset), *accuracies], gaps


def _content(record: Record) -> str:
    return record["data"]["content"]


def _reading(gaps: dict[str, Difference | None]) -> str:
    """What the differences to all ablations say together."""
    if None in gaps.values():
        return "not run"
    found = {}
    for reading, words in (("worse", "worse than"), (UNDETECTED, f"{UNDETECTED} from")):
        if names := [name for name, gap in gaps.items() if gap.reading.startswith(reading)]:
            found[reading] = f"{words} {' and '.join(names)}"
    one_seed = (not found or "worse" in found) and any(gap.one_seed for gap in gaps.values())
    return (", ".join(found.values()) or "used") + ", of one seed" * one_seed
