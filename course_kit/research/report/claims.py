"""The papers' claims beside our records: what each says, what we found, and a verdict by one rule.

``claims.yaml`` names the claims. A figure of ours has one value for each training of a network, and
its interval and its tests are over trainings, on the texts that they share. Example:
``print(claims_table())``.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import yaml
from statsmodels.stats.multitest import multipletests

from course_kit.research.report import frames
from course_kit.research.report.differences import PAPER_ACCURACIES
from course_kit.research.report.frames import Group, Records, tidy, to_markdown
from course_lib.metrics.statistics import LEVEL

CLAIMS: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("claims.yaml").read_text(encoding="utf-8")
)
Sides = tuple[Sequence[float], Sequence[float] | float]  # values by seed, and what is subtracted


class Estimate(NamedTuple):
    """A mean over ``seeds`` trainings and the ends of its 95 % interval; ``supported`` and
    ``contradicted`` are the p-values of a claim about it. All but the mean are NaN for a single
    training."""

    value: float
    seeds: int
    low: float = math.nan
    high: float = math.nan
    supported: float = math.nan
    contradicted: float = math.nan


def over_seeds(
    first: Sequence[float], second: Sequence[float] | float, expect: Mapping[str, float]
) -> Estimate:
    """The mean of ``first`` minus ``second`` over trainings, by t tests.

    ``second`` is a number, a single value (of what has no seed), or values of other trainings,
    which make it Welch's test. A claim expects the mean ``above`` or ``below`` a number, or
    ``within`` so much of 0, which two one-sided tests support (TOST).
    """
    from scipy.stats import ttest_1samp, ttest_ind  # imported here: it takes half a second

    one, rest = np.asarray(first, float), np.atleast_1d(second).astype(float)
    value = float(one.mean() - rest.mean())
    if len(one) < 2:
        return Estimate(value, len(one))

    def test(bound: float, side: str = "two-sided") -> Any:
        if len(rest) < 2:
            return ttest_1samp(one - rest[0], bound, alternative=side)
        return ttest_ind(one - bound, rest, equal_var=False, alternative=side)

    ((kind, bound),) = expect.items()
    if kind == "within":
        supported = max(test(-bound, "greater").pvalue, test(bound, "less").pvalue)
        contradicted = min(test(bound, "greater").pvalue, test(-bound, "less").pvalue)
    else:
        sides = ("greater", "less") if kind == "above" else ("less", "greater")
        supported, contradicted = (test(bound, side).pvalue for side in sides)
    ends = test(0.0).confidence_interval(1 - LEVEL)
    return Estimate(value, len(one), float(ends.low), float(ends.high), supported, contradicted)


def estimates(records: Records = None) -> pd.DataFrame:
    """Every claim with its ``Estimate`` and its ``verdict``, one a row.

    The p-values are Holm's, over the claims of a paper that several trainings of ours test at its
    scale. *Replicated*: ``supported`` is below 0.05; *not replicated*: ``contradicted`` is; else
    *inconclusive*. That something ``exists`` one training shows.
    """
    frame, rows = tidy(records), []
    for paper in CLAIMS:
        for claim in paper["claims"]:
            ((kind, arguments),) = claim["figure"].items()
            found = over_seeds(*FIGURES[kind](frame, **arguments), claim["expect"])
            rows.append({"paper": paper["paper"], "scale": None, **claim, **found._asdict()})
    table = pd.DataFrame(rows)
    exists = table.expect.map(lambda expect: "exists" in expect)
    tested = table[table.scale.isna() & table.low.notna() & ~exists]
    for side in ("supported", "contradicted"):
        holm = tested.groupby("paper")[side].transform(lambda p: multipletests(p, method="holm")[1])
        table[side] = holm.reindex(table.index)
    shown = [claim["expect"]["exists"] < value for claim, value in
             zip(table[exists].to_dict("records"), table[exists].value)]  # fmt: skip
    table["verdict"] = np.select(
        [table.scale.notna(), table.supported < LEVEL, table.contradicted < LEVEL],
        ["not at its scale", "replicated", "not replicated"],
        "inconclusive",
    )
    table.loc[exists, "verdict"] = np.where(shown, "replicated", "not replicated")
    return table


def claims_table(records: Records = None) -> str:
    """Page one of the report: for each paper a table of its claims, each with our figure, its
    interval, the verdict and why."""
    tables = []
    for paper, claims in estimates(records).groupby("paper", sort=False):
        rows = []
        for row in claims.itertuples():
            why = row.because if pd.isna(row.scale) else row.scale
            link = f"[appendix {row.appendix}](#appendix-{row.appendix})"
            found = f"{row.ours}: {_in_words(row)}"
            rows.append([row.claim, found, f"**{row.verdict}**", f"{why} ({link})"])
        table = to_markdown(["it says", "we found", "verdict", "because"], rows, "l")
        tables.append(f"**{paper}**\n\n{table}")
    return "\n\n".join(tables)


def _in_words(row: Any) -> str:
    scale, form = (100, ".1f") if row.unit == "points" else (1, ".2f")
    form = "+" * ("minus" in row.ours) + form
    found = f"{scale * row.value:{form}}"
    if not math.isnan(row.low):
        found += f" [{scale * row.low:{form}}, {scale * row.high:{form}}]"
    return f"{found} ({row.seeds})"


# Figures of ours, by the names that claims.yaml gives them


def _runs(frame: pd.DataFrame, model: str, dataset: str, film: str | None) -> Group:
    """The runs of a model; ``film`` is the preset of those that read film vectors."""
    if film:
        return frames.film_runs(frame, model, film, dataset)
    return frames.runs_of(frame, model, dataset)


def _accuracy(
    frame: pd.DataFrame, model: str, dataset: str, film: str | None = None, name: str = "accuracy"
) -> Sides:
    """A figure on the test texts, minus the paper's."""
    paper = PAPER_ACCURACIES[model][dataset] / 100
    if name != "accuracy":
        paper = frames.PAPERS["imdb_report"][name]
    return [run["test"][name] for run in _runs(frame, model, dataset, film)], paper


def _contrast(
    frame: pd.DataFrame, dataset: str, first: str, second: str, film: bool = False
) -> Sides:
    """Accuracies of one model minus those of another, where asked both with film vectors."""
    one, other = (
        [
            frames.accuracy_of(run)
            for run in _runs(frame, model, dataset, frames.MODELS[model][1] if film else None)
        ]
        for model in (first, second)
    )
    return one, other


def _kept_epoch(frame: pd.DataFrame, model: str, dataset: str) -> Sides:
    return [run["best_epoch"] for run in frames.runs_of(frame, model, dataset)], 0.0


def _attention(
    frame: pd.DataFrame,
    model: str,
    dataset: str,
    name: str,
    minus: str | None = None,
    film: str | None = None,
) -> Sides:
    """A figure of the attention on the test texts, minus another of the same network; of a figure
    by layer the mean over layers."""
    found = [run["attention"]["trained"] for run in _runs(frame, model, dataset, film)]
    return [np.mean(one[name]) - (np.mean(one[minus]) if minus else 0) for one in found], 0.0


def _between_datasets(frame: pd.DataFrame, model: str, datasets: list[str], name: str) -> Sides:
    one, other = (_attention(frame, model, dataset, name)[0] for dataset in datasets)
    return one, other


def _deepest(frame: pd.DataFrame, model: str, dataset: str, name: str, film: str) -> Sides:
    """A figure of the last layer minus that of the first."""
    found = [run["attention"]["trained"][name] for run in _runs(frame, model, dataset, film)]
    return [layers[-1] - layers[0] for layers in found], 0.0


def _penalty(frame: pd.DataFrame, penalty: float, name: str, minus: float | None = None) -> Sides:
    """A figure of IRAM's three steps after three epochs with a penalty, minus that with another,
    for each seed that both have."""
    kind = (frame.system == "iram") & (frame.preset == "vanilla") & (frame.dataset == "sst2")
    short = frame[kind & (frame["model.steps"] == 3) & (frame["training.epochs"] == 3)]
    values = {
        price: group.set_index("seed")[f"trained {name}"]
        for price, group in short.groupby("model.penalty")
    }
    found = values[penalty] - (0 if minus is None else values[minus])
    return list(found.dropna().astype(float)), 0.0


def _agreement(
    frame: pd.DataFrame, networks: list[str], of: str, minus: str | float = 0.0
) -> Sides:
    """Mean Kendall's τ of two rankings by seed, minus a number, the τ of two others, or, where two
    ``networks`` are named, the τ of the second one's."""
    records = frames.study_records("agreement").items()
    groups = [
        [record["kendall"] for name, record in records if name.startswith(f"{network}-s")]
        for network in networks
    ]
    taus, *others = [[one[of]["mean"] for one in group] for group in groups]
    if isinstance(minus, str):
        pairs = zip(taus, groups[0], strict=True)
        return [tau - one[minus]["mean"] for tau, one in pairs], 0.0
    return taus, others[0] if others else minus


def _adversary(frame: pd.DataFrame, networks: str, search: str) -> Sides:
    """The mean divergence that a search for other attention finds, by seed."""
    found = frames.study_records("interventions").items()
    records = [record for name, record in found if name.startswith(f"{networks}-s")]
    return [record[search]["divergence"]["all"]["mean"] for record in records], 0.0


def _shuffle(frame: pd.DataFrame, networks: str) -> Sides:
    """The median over texts of what shuffled attention changes in the output (TVD), by seed."""
    found = frames.study_records("interventions").items()
    records = [record for name, record in found if name.startswith(f"{networks}-s")]
    return [record["permutation"]["quantiles"]["change"]["0.5"] for record in records], 0.0


def _erasure(frame: pd.DataFrame, network: str, ranking: str) -> Sides:
    """Comprehensiveness by deletion of a ranking minus that of a random one, by seed."""
    found = [
        record["removals"]["deletion"]["comprehensiveness"]["rankings"][ranking]
        for name, record in frames.study_records("faithfulness").items()
        if name.startswith(f"{network}-s")
    ]
    return [one["minus_random"]["mean"] for one in found], 0.0


def _trained(
    frame: pd.DataFrame, test: str, line: str, name: str, minus: str | None = None
) -> Sides:
    """A figure of a test that trains networks, minus that of another line of the same seeds."""
    record = frames.study_records("faithfulness/trained")[f"{test}-sst2_sentences"]

    def by_seed(line: str) -> np.ndarray:
        lines = record["f1_by_seed"] if name == "F1" else record["lines"]
        return np.array(lines[line] if name == "F1" else lines[line][name]["by_seed"])

    return list(by_seed(line) - (by_seed(minus) if minus else 0)), 0.0


FIGURES: dict[str, Callable[..., Sides]] = {
    "accuracy": _accuracy,
    "contrast": _contrast,
    "kept epoch": _kept_epoch,
    "attention": _attention,
    "between datasets": _between_datasets,
    "last layer minus first": _deepest,
    "penalty": _penalty,
    "agreement": _agreement,
    "adversary": _adversary,
    "shuffle": _shuffle,
    "erasure": _erasure,
    "trained test": _trained,
}
