"""The papers' claims beside our records: what each says, what we found, and a verdict by one rule.

``claims.yaml`` names the claims. A figure of ours has one value for each training of a network, and
its interval and its tests are over trainings, on the texts that they share. Example:
``print(claims_table())``.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import yaml

from course_kit.research.report import frames
from course_kit.research.report.differences import PAPER_ACCURACIES
from course_kit.research.report.frames import Group, Records, tidy, to_markdown
from course_lib.metrics.statistics import LEVEL, holm

CLAIMS: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("claims.yaml").read_text(encoding="utf-8")
)
Place = Sequence[str | int]  # in a record
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
        corrected = tested.groupby("paper")[side].transform(lambda p: holm(p.to_numpy()))
        table[side] = corrected.reindex(table.index)
    shown = [of["exists"] < value for of, value in zip(table.expect[exists], table.value[exists])]
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


def _accuracy(
    frame: pd.DataFrame, model: str, dataset: str, film: str | None = None, name: str = "accuracy"
) -> Sides:
    """A figure on the test texts, minus the paper's."""
    paper = PAPER_ACCURACIES[model][dataset] / 100
    if name != "accuracy":
        paper = frames.PAPERS["imdb_report"][name]
    return [run["test"][name] for run in frames.runs_of(frame, model, dataset, film)], paper


def _contrast(
    frame: pd.DataFrame, dataset: str, first: str, second: str, film: bool = False
) -> Sides:
    """Accuracies of one model minus those of another, where asked both with film vectors."""

    def accuracies(model: str) -> list[float]:
        preset = frames.MODELS[model][1] if film else None
        return list(map(frames.accuracy_of, frames.runs_of(frame, model, dataset, preset)))

    return accuracies(first), accuracies(second)


def _at(records: Group, at: Place, minus: Place | None = None) -> list[float]:
    """What stands at a place in each record, of several layers the mean, minus what stands at
    another place in it."""
    values = np.array([np.mean(reduce(getitem, at, record)) for record in records])
    return list(values - _at(records, minus) if minus else values)


def _of_runs(
    frame: pd.DataFrame,
    model: str,
    dataset: str,
    at: Place,
    minus: Place | None = None,
    other: str | None = None,
    film: str | None = None,
) -> Sides:
    """``_at`` of a model's runs, beside that of its runs on an ``other`` dataset, if any."""
    ours, others = (frames.runs_of(frame, model, data, film) for data in (dataset, other))
    return _at(ours, at, minus), _at(others, at, minus) if other else 0.0


def _penalty(frame: pd.DataFrame, penalty: float, name: str, minus: float | None = None) -> Sides:
    """A figure of IRAM's three steps after three epochs with a penalty, minus that with another,
    for each seed that both have."""
    kind = (frame.system == "iram") & (frame.preset == "vanilla") & (frame.dataset == "sst2")
    short = frame[kind & (frame["model.steps"] == 3) & (frame["training.epochs"] == 3)]
    values = short.pivot(index="seed", columns="model.penalty", values=f"trained {name}")
    found = values[penalty] - (0 if minus is None else values[minus])
    return list(found.dropna().astype(float)), 0.0


def _of_study(
    frame: pd.DataFrame,
    study: str,
    network: str,
    at: Place,
    minus: Place | float = 0.0,
    other: str | None = None,
) -> Sides:
    """``_at`` of a study's records of a network, minus a number or what stands elsewhere in them,
    or beside that of an ``other`` network."""
    found = frames.study_records(study).items()
    ours, others = (
        [record for name, record in found if name.startswith(f"{of}-s")] for of in (network, other)
    )
    if isinstance(minus, float):
        return _at(ours, at), _at(others, at) if other else minus
    return _at(ours, at, minus), 0.0


def _trained(frame: pd.DataFrame, test: str, at: Place, minus: Place | None = None) -> Sides:
    """What stands by seed at a place in the record of a test that trains networks."""
    record = frames.study_records("faithfulness/trained")[f"{test}-sst2_sentences"]
    values = np.array(reduce(getitem, at, record))
    return list(values - reduce(getitem, minus, record) if minus else values), 0.0


FIGURES: dict[str, Callable[..., Sides]] = {
    "accuracy": _accuracy,
    "contrast": _contrast,
    "runs": _of_runs,
    "penalty": _penalty,
    "study": _of_study,
    "trained test": _trained,
}
