"""The papers' claims beside our records: what each says, what we found, and a verdict by one rule.

``claims.yaml`` names the claims, and for each the figures of ``named`` that test it. A figure has
one value for each training of a network; its interval and its tests are over trainings, on the
texts that they share. Example: ``print(claims_table())``.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import yaml

from course_kit.research.report import named, named_studies
from course_kit.research.report.frames import Group, Records, tidy, to_markdown
from course_kit.research.report.named import Figure, Measured
from course_lib.data.catalog import CARDS
from course_lib.metrics.statistics import LEVEL, holm

PAPERS: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("claims.yaml").read_text(encoding="utf-8")
)
FIGURES: dict[str, Figure] = {
    name.replace("_", " "): found
    for module in (named, named_studies)
    for name, found in vars(module).items()
    if isinstance(found, Figure)
}
VERDICTS = ("replicated", "not replicated", "inconclusive", "not at its scale")
READINGS = ("for it", "against it", "undecided", "not at its scale")  # the same, not corrected
P_VALUES = ("supported", "contradicted")
DIGITS = {"points": 1, "s": 0, "words": 3, "nats": 3}  # two for any other unit
ALONE = "before the correction it would be {}"
LEADS = (
    "sanet-ag_news-compact",
    ("attention", "attention, received in block 1", "|integrated gradients|", "|leave-one-out|"),
)
SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
OWN = {  # what attention's words cost more than random words, in networks of ours
    "HAN on IMDb": ("han-imdb-compact", "attention"),
    "IRAM on SST-2": ("iram-sst2-compact", "attention"),
    "AGT on SST-5": ("agt-sst5-compact", "attention"),
    "SANet on AG News, attention followed back from the pooled positions": (
        "sanet-ag_news-compact",
        "attention",
    ),
    "SANet on AG News, attention that a word receives": (
        "sanet-ag_news-compact",
        "attention, received in block 1",
    ),
}


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


class Found(NamedTuple):
    """A named figure of our records, and why it is not at the paper's scale, if it is not."""

    name: str
    label: str
    unit: str
    positive: str
    estimate: Estimate
    scale: str | None = None

    def __str__(self) -> str:
        """The label, then the numbers and how many trainings they are of."""
        seeds, low = self.estimate.seeds, self.estimate.low
        if not seeds:
            return f"{self.label}: not measured yet"
        return f"{self.label}: {self.numbers} ({'one training' if math.isnan(low) else seeds})"

    @property
    def numbers(self) -> str:
        """The mean with its interval and its unit; with a sign where it is a difference."""
        value, _, low, high, *_ = self.estimate
        scale = 100 if self.unit == "points" else 1
        signed = "minus " in self.label or " − " in self.label
        form = f"{'+' * signed}.{DIGITS.get(self.unit, 2)}f"
        mean, *ends = (_signed(scale * number, form) for number in (value, low, high))
        between = [] if math.isnan(low) else [f"[{', '.join(ends)}]"]
        return " ".join([mean, *between, *([self.unit] if self.unit else [])])


def _signed(number: float, form: str) -> str:
    said = f"{number:{form}}"
    return said.replace("-", "" if not float(said) else "−")


def over_seeds(
    first: Sequence[float], second: Sequence[float] | float, expect: Mapping[str, float]
) -> Estimate:
    """The mean of ``first`` minus ``second`` over trainings, by t tests.

    ``second`` is a number, a single value (of what has no seed), or values of other trainings,
    which make it Welch's test. A claim expects the mean ``above`` or ``below`` a number, or
    ``within`` so much of 0, which two one-sided tests support (TOST). What contradicts it was not
    foreseen, so that p-value is two-sided.
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
    p = float(supported), min(2 * float(contradicted), 1.0)
    return Estimate(value, len(one), float(ends.low), float(ends.high), *p)


def find(
    frame: pd.DataFrame, asked: Mapping[str, Any], expect: Mapping[str, float], paper: Mapping
) -> Found:
    """A figure that a row of ``claims.yaml`` asks for, with its arguments."""
    ((name, arguments),) = asked.items()
    figure, arguments = FIGURES[name], arguments or {}
    measured = figure(frame, **arguments)
    said = [
        figure.say(text, measured, **arguments)
        for text in (figure.label, figure.unit, figure.positive)
    ]
    if not measured.values:
        return Found(name, *said, Estimate(math.nan, 0))
    estimate = over_seeds(measured.values, measured.minus, expect)
    if _single(measured.others):
        estimate = Estimate(estimate.value, 1)
    return Found(name, *said, estimate, out_of_scale(figure, measured, paper))


def _single(others: Group) -> bool:
    return len(others) == 1 and others[0]["spec"]["system"] != "tfidf"  # whose fit is not random


def out_of_scale(figure: Figure, measured: Measured, paper: Mapping[str, Any]) -> str | None:
    """Why a figure cannot judge a claim of a ``paper``, whose ``data`` and ``vectors`` are known.

    Two networks of ours that read the same texts and the same vectors can be compared whatever
    these vectors are. An accuracy in print asks for the paper's own vectors as well.
    """
    both = [*measured.runs, *measured.others]
    if not {run["spec"]["dataset"] for run in both} <= {*paper["data"]}:
        return "other texts than the paper's"
    parts = [run for run in both if run["data"]["subset"] or run["spec"]["limit"]]
    if parts:
        share = min(map(_share_read, parts))
        return f"a part of the paper's texts ({100 * share:.2g} % of those for training)"
    ours, others = (
        {run["settings"]["text"].get("vectors") for run in group}
        for group in (measured.runs, measured.others)
    )
    if figure.beside and paper.get("vectors") and ours != {paper["vectors"]}:
        return f"{named.vectors_read(measured.runs)}, not the paper's {paper['words']}"
    if others and ours != others and not _bags(measured):
        return "the two networks read different word vectors"
    return None


def _share_read(run: Mapping[str, Any]) -> float:
    """Which share of a dataset's training texts a network was trained on."""
    return run["sizes"]["train"] / sum(CARDS[run["spec"]["dataset"]].sizes["train"])


def _bags(measured: Measured) -> bool:
    return any(run["spec"]["system"] == "tfidf" for run in (*measured.runs, *measured.others))


def estimates(records: Records = None, part: str = "claims") -> pd.DataFrame:
    """Every claim of page one with what was ``found``, its p-values and its ``verdict``, one a row;
    with ``part="further"`` the other claims of the papers, with a reading: on which side of what is
    expected the 95 % interval lies.

    A claim that names several figures needs all of them: what supports it is the largest of their
    p-values; what contradicts it is the smallest, times their number, since one suffices. Page
    one's are Holm's, over the claims of a paper that several trainings of ours test at its scale,
    apart for what supports a claim and what contradicts it; ``alone`` is the verdict without that
    correction.
    """
    frame = tidy(records)
    rows = [_asked(frame, claim, paper) for paper in PAPERS for claim in paper.get(part, ())]
    table = pd.DataFrame(rows, dtype=object).astype(dict.fromkeys(P_VALUES, float))
    words, table["alone"] = VERDICTS, _verdicts(table, VERDICTS)
    if part == "claims":
        tested = table[table.scale.isna() & table.supported.notna()]
        for side in P_VALUES:
            corrected = tested.groupby("paper")[side].transform(lambda p: holm(p.to_numpy()))
            table[side] = corrected.reindex(table.index)
    else:  # a reading asks for the whole interval
        words, table["supported"] = READINGS, 2 * table.supported
    table["verdict"] = _verdicts(table, words)
    return table


def _verdicts(table: pd.DataFrame, words: Sequence[str]) -> np.ndarray:
    """What the p-values of each row say, in one of the ``words``."""
    supported, contradicted, unclear, elsewhere = words
    return np.select(
        [table.scale.notna(), table.supported < LEVEL, table.contradicted < LEVEL],
        [elsewhere, supported, contradicted],
        unclear,
    )


def _asked(
    frame: pd.DataFrame, claim: Mapping[str, Any], paper: Mapping[str, Any]
) -> dict[str, Any]:
    """A row of ``claims.yaml`` with what was found, why not at the paper's scale, and p-values."""
    expect = claim.get("expect", {"above": 0.0})
    figures = claim.get("figures", ())
    each = expect if isinstance(expect, list) else [expect] * len(figures)
    found = [find(frame, of, one, paper) for of, one in zip(figures, each, strict=True)]
    beside = [find(frame, of, {"above": 0.0}, paper) for of in claim.get("beside", ())]
    reasons = filter(None, [claim.get("scale"), *(of.scale for of in found)])
    measured = {"found": found, "beside": beside, "scale": next(reasons, None)}
    pro, contra = ([getattr(of.estimate, side) for of in found] or [math.nan] for side in P_VALUES)
    measured |= {"supported": max(pro), "contradicted": min(1.0, len(contra) * min(contra))}
    names = ("claim", "because", "expect", "appendix", "where", "seen")
    given = {name: claim.get(name) for name in names}
    return {"paper": paper["paper"]} | given | measured


def claims_table(records: Records = None) -> str:
    """Page one of the report: for each paper a table of its claims, each with our figures, their
    intervals, the verdict and why."""
    tables = []
    for paper, claims in estimates(records).groupby("paper", sort=False):
        rows = []
        for row in claims.itertuples():
            undone = ALONE.format(row.alone) * (row.alone != row.verdict)
            why = "; ".join(filter(None, [row.scale, row.because, undone]))
            link = f"[appendix {row.appendix}](#appendix-{row.appendix})"
            rows.append([row.claim, f"**{row.verdict}**", f"{_found(row)}<br>{why} ({link})"])
        table = to_markdown(["it says", "verdict", "we found, and why"], rows, "l")
        more = " · [every claim of it](#every-claim)" * (paper in _seeds())
        tables.append(f"**{paper}**{more}\n\n{table}")
    return "\n\n".join(tables)


def _found(row: Any) -> str:
    beside = [f"beside it, {found}" for found in row.beside]
    return "<br>".join([*map(str, row.found), *beside])


def _seeds() -> list[str]:
    """The four papers whose networks the course builds: those with further claims."""
    return [paper["paper"] for paper in PAPERS if "further" in paper]


def every_claim_table(records: Records = None) -> str:
    """Page two of the report: for each of the four seed papers the verdicts of page one, and a
    table of its other claims with what came out, the interval, the number of trainings and a link.
    """
    frame = tidy(records)
    first, further = (estimates(frame, part) for part in ("claims", "further"))
    tables = []
    for paper in _seeds():
        told = [
            f"{row.claim} (**{row.verdict}**)" for row in first[first.paper == paper].itertuples()
        ]
        rows = [[row.claim, _outcome(row)] for row in further[further.paper == paper].itertuples()]
        head = f"**{paper}**, {len(told) + len(rows)} claims. On [page one](#page-one):"
        table = to_markdown(["its other claims", "outcome"], rows, "l")
        tables.append(f"{head} {'; '.join(told)}.\n\n{table}")
    return "\n\n".join(tables)


def _outcome(row: Any) -> str:
    """The figures of a claim with a reading, or why it was not tested, or in what it was seen."""
    why = " ".join(filter(None, [row.because, row.where and f"({row.where})"]))
    if not row.found:
        return f"{row.seen or 'not tested'}: {why}"
    seeds = min(found.estimate.seeds for found in row.found)
    if not seeds:
        return "not measured yet"
    if row.scale or (row.expect and seeds > 1):
        reading = f"**{row.verdict}**" + f" ({row.scale})" * bool(row.scale)
    else:
        reading = "one training" if seeds == 1 else None
    return "<br>".join(filter(None, [reading, _found(row), why]))


def meanings_table(records: Records = None) -> str:
    """The figures of page one with their unit and what a positive value means, each as it is first
    used."""
    rows: dict[str, tuple[str, str, str]] = {}
    for row in estimates(records).itertuples():
        for of in (*row.found, *row.beside):
            rows.setdefault(of.name, (of.label, of.unit, of.positive))
    heads = ["figure", "unit", "a positive or a larger value means"]
    return to_markdown(heads, rows.values(), "l")


def _beyond_random(
    frame: pd.DataFrame, network: str, ranking: str, figure: str = "erased", **others: Any
) -> Found:
    asked = {figure: {"network": network, "ranking": ranking, **others}}
    return find(frame, asked, {"above": 0.0}, {"data": []})


def comprehensiveness_table(records: Records = None) -> str:
    """What attention's words cost and keep more than random words in our networks, by ERASER's two
    measures, over the texts that the trainings of a network share."""
    frame, rows = tidy(records), []
    for title, of in OWN.items():
        found = [_beyond_random(frame, *of, figure) for figure in ("erased", "kept alone")]
        rows.append([title, *(one.numbers for one in found), found[0].estimate.seeds])
    measures = ("comprehensiveness (higher is better)", "sufficiency (lower is better)")
    heads = ["network", *(f"{name} minus that of random words" for name in measures), "trainings"]
    return to_markdown(heads, rows, "lrr")


def leads_table(records: Records = None) -> str:
    """Of SANet on AG News, what the words of four rankings cost more than random words, by the
    share of the words that is erased: means over trainings."""
    frame, rows = tidy(records), []
    network, rankings = LEADS
    for ranking in rankings:
        found = [
            _beyond_random(frame, network, ranking, "erased share", share=share) for share in SHARES
        ]
        alone = _beyond_random(frame, network, ranking, "kept alone")
        cells = [_signed(one.estimate.value, "+.3f") for one in found]
        rows.append([ranking, *cells, alone.numbers])
    heads = [*(f"{share:.0%} erased" for share in SHARES), "sufficiency minus that of random words"]
    return to_markdown(["minus random words", *heads], rows, "lr")


def other_reading(network: str, records: Records = None) -> str | None:
    """Of a network whose attention is a matrix, what its words cost by both of the ways to make one
    number a word of it; None for any other network."""
    rankings = [ranking for of, ranking in OWN.values() if of == network]
    if len(rankings) < 2:
        return None
    frame = tidy(records)
    back, received = (_beyond_random(frame, network, ranking) for ranking in rankings)
    tenth = [
        _beyond_random(frame, network, ranking, "erased share", share=0.1).numbers
        for ranking in rankings
    ]
    return (
        "This attention is followed back from the positions that the network pools. In "
        f"{back.estimate.seeds} trainings a tenth of the words, those it ranks first, takes "
        f"{tenth[0]} more from the probability of the predicted class than random words do, and "
        f"words that receive much in the same matrix {tenth[1]}. In the mean over 1 to 50 % of the "
        f"words (comprehensiveness) it is {back.numbers} and {received.numbers}: words that "
        "receive much are ahead mainly where half of the text is erased."
    )


def verdicts_table(records: Records = None) -> str:
    """How many claims of each paper came out on page one, the four seed papers first."""
    table = estimates(records)
    counts = table.groupby("paper", sort=False).verdict.value_counts().unstack(fill_value=0)
    counts = counts.reindex(columns=list(VERDICTS), fill_value=0)
    rows = [[paper, int(of.sum()), *map(int, of)] for paper, of in counts.iterrows()]
    return to_markdown(["paper", "claims", *VERDICTS], rows, "lr")
