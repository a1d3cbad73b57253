"""What the papers left open: each changed network beside the one it changes."""

import json
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from course_kit.research.report.differences import NAMES, Difference, difference
from course_kit.research.report.records import accuracy_of, spread
from course_kit.research.report.zhang import band_by_size
from course_lib.metrics.classification import sampling_error
from course_lib.runs.records import RESULTS, kept_accuracy, load_records
from course_lib.views import plots
from course_lib.views.colours import ACCENT, INK, MUTED, SECOND

FOLDER = RESULTS / "extensions"
Record = dict[str, Any]
OF_READINGS = {
    "important": "on important words",
    "repeated": "on repeats",
    "by_chance": "by chance",
}


class Kind(NamedTuple):
    """Which runs: all seeds of a preset on a dataset, with exactly these changes."""

    system: str
    dataset: str
    preset: str
    overrides: dict[str, Any] = {}  # noqa: RUF012 - never changed
    limit: int | None = None

    def of(self, records: Sequence[Record]) -> dict[int, Record]:
        """Their records by seed."""
        return {
            record["spec"]["seed"]: record
            for record in records
            if self == Kind(*(record["spec"][name] for name in self._fields))
        }


class Question(NamedTuple):
    """What a paper left open: the ``network`` asked about, the ``change`` that is tried, the
    ``changed`` runs, and the runs ``before`` it."""

    network: str
    change: str
    changed: Kind
    before: Kind


HAN = Kind("han", "imdb", "report")
HOPS = HAN._replace(overrides={"model.hops": 3})
CONTEXT = Kind("context_han", "imdb", "report")
AGT = Kind("agt", "sst5", "compact")
# AGT's compact network kept its fourth epoch; these stop there
ORDERED = AGT._replace(system="ordered_agt", overrides={"training.epochs": 4})
SANET = Kind("sanet", "ag_news", "compact")
DISTANCE = 5  # up to which our SANets have biases
LONG = {"text.max_tokens": 256, "training.epochs": 40, "training.patience": 10}
BANDS = {
    "AG News, 10,923 texts, the compact network's": SANET,
    **{
        f"IMDb, {limit * 4 // 5:,} reviews": Kind("sanet", "imdb", "base", LONG, limit)
        for limit in (1250, 5000, 10000)
    },
}
USUAL_STEPS = 3  # of IRAM's presets
SHORT = Kind("iram", "sst2", "vanilla", {"training.epochs": 3, "model.penalty": 0.0})
HALTING = {
    "at most 5, one costs 0.01": {},
    "at most 5, one costs 0.001": {"model.ponder": 0.001},
    "at most 5, halted by overlap": {"model.halting": "overlap"},
}
QUESTIONS = (
    Question("HAN", "three attentions (hops)", HOPS, HAN),
    Question(
        "HAN",
        "three attentions, kept apart by Lin et al.'s penalty of 0.1",
        HOPS._replace(overrides={"model.hops": 3, "model.penalty": 0.1}),
        HOPS,
    ),
    Question("HAN", "context in both directions", CONTEXT, HAN),
    Question(
        "HAN",
        "the same on 25 × 50 words",
        CONTEXT._replace(preset="long"),
        HAN._replace(preset="long"),
    ),
    *(
        Question("HAN", f"context {words}", CONTEXT._replace(overrides=changes), CONTEXT)
        for words, changes in (
            ("from left to right alone", {"model.both": False}),
            ("a sum, not a mean", {"model.mean": False}),
            ("gated", {"model.gated": True}),
        )
    ),
    *(
        Question(
            "IRAM",
            f"it halts itself: {words}",
            SHORT._replace(
                system="adaptive_iram", overrides=SHORT.overrides | {"model.steps": 5} | changes
            ),
            SHORT,
        )
        for words, changes in HALTING.items()
    ),
    Question("AGT", "B from a GRU", ORDERED, AGT),
    Question(
        "AGT",
        "positions in B",
        ORDERED._replace(overrides=ORDERED.overrides | {"model.order": "positions"}),
        AGT,
    ),
    *(
        Question("SANet", words, SANET._replace(system="near_sanet", overrides=changes), SANET)
        for words, changes in (
            ("biases for distances up to 5", {"model.relative": 5}),
            ("two heads", {"model.heads": 2}),
        )
    ),
)


def left_open_table(records: list[Record] | None = None) -> str:
    """Accuracies in % before and after each change as a markdown table, over the seeds that both
    have, with ``difference``'s interval and reading.

    Where the changed runs left the test texts unread, the accuracies are those of the validation
    texts, which chose the epochs.
    """
    records = load_records() if records is None else records
    rows = [
        "| network | change | dataset | before | after | difference | reading |",
        "|---|---|---|---:|---:|---|---|",
    ]
    for question in QUESTIONS:
        before, after = question.before.of(records), question.changed.of(records)
        both = sorted(before.keys() & after.keys())
        dataset = NAMES[question.changed.dataset]
        row = [question.network, question.change, dataset]
        if not both:
            rows.append(f"| {' | '.join([*row, '–', '–', '–', 'not run'])} |")
            continue
        sides = [before[seed] for seed in both], [after[seed] for seed in both]
        tested = all("test" in record for side in sides for record in side)
        share = accuracy_of if tested else kept_accuracy
        gap = difference(*reversed(sides)) if tested else of_validation(*sides)
        cells = [spread(list(map(share, side)), 100) for side in sides]
        test = gap.test if tested else "validation"
        rows.append(f"| {' | '.join([*row, *cells, f'{gap} ({test})', gap.reading])} |")
    return "\n".join(rows)


def of_validation(before: list[Record], after: list[Record]) -> Difference:
    """The difference of kept validation accuracies, as of samples drawn apart."""
    shares = [mean(map(kept_accuracy, side)) for side in (before, after)]
    error = math.hypot(
        *(sampling_error(share, before[0]["sizes"]["validation"]) for share in shares)
    )
    return Difference(shares[1] - shares[0], error, len(before) == 1)


def left_open_records(folder: Path | None = None) -> dict[str, Record]:
    """What ``attention-course extensions`` recorded, by the id of the run."""
    paths = sorted((folder or FOLDER).glob("*.json"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def repeats_table(records: dict[str, Record] | None = None) -> str:
    """HANs' attention on important words and on repeats of them, in % of all attention, mean over
    test texts [95 % interval] of each run, as a markdown table."""
    records = left_open_records() if records is None else records
    rows = [
        f"| run | {' | '.join(OF_READINGS.values())} | texts with more than a tenth on repeats |",
        "|---|---:|---:|---:|---:|",
    ]
    for name in sorted(records, key=lambda name: (len(name), name)):  # without a change comes first
        record = records[name]
        if "repeats" in record:
            cells = [_share(record["repeats"][figure]) for figure in (*OF_READINGS, "much")]
            rows.append(f"| {' | '.join([name, *cells])} |")
    return "\n".join(rows)


def halting_table(records: list[Record] | None = None) -> str:
    """IRAMs that halt themselves beside those of a fixed number of steps on the same three epochs:
    validation accuracy in % and steps taken, as a markdown table."""
    records = load_records() if records is None else records
    rows = ["| steps | validation accuracy | steps taken |", "|---|---:|---:|"]
    for steps in (1, 2, 3, 5):
        changes = {} if steps == USUAL_STEPS else {"model.steps": steps}
        record = SHORT._replace(overrides=SHORT.overrides | changes).of(records).get(0)
        rows += [f"| {steps}, fixed | {_kept(record)} | {steps} |"] if record else []
    for question in QUESTIONS:
        if question.before == SHORT and (record := question.changed.of(records).get(0)):
            taken = record["attention"]["trained"]["steps taken"]
            rows.append(f"| {question.change} | {_kept(record)} | {taken:.2f} |")
    return "\n".join(rows)


def halting_figure(record: Record) -> Figure:
    """Steps taken over the texts' lengths, with and without a negator, with 95 % intervals; of a
    record of ``attention-course extensions``."""
    quarters = record["steps"]["by_length"]
    figure, axes = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
    for colour, which, shift in ((ACCENT, "without", -0.06), (SECOND, "with", 0.06)):
        found = [quarter[which] for quarter in quarters]
        means = [part["mean"] for part in found]
        bounds = [
            [part["mean"] - part["low"] for part in found],
            [part["high"] - part["mean"] for part in found],
        ]
        places = [place + shift for place in range(len(found))]
        axes.errorbar(
            places, means, yerr=bounds, fmt="o-", color=colour, label=f"{which} a negator"
        )
    longest = [0, *(quarter["longest"] for quarter in quarters)]
    axes.set_xticks(
        range(len(quarters)),
        [f"{low + 1}–{high}" for low, high in pairwise(longest)],
    )
    axes.set(xlabel="words in the sentence", ylabel="steps taken", title="Steps over length")
    axes.legend()
    return figure


def band_table(records: list[Record] | None = None, bandwidth: int = 3) -> str:
    """Diagonality in % of SANets that know distances or have two heads, in brackets before
    training, beside the plain ones of the same training and uniform attention, as a markdown table;
    of seed 0."""
    records = load_records() if records is None else records
    name = f"diagonality {bandwidth}"
    rows = [
        f"| training | uniform | SANet | biases for distances up to {DISTANCE} | two heads, each |",
        "|---|---:|---:|---:|---:|",
    ]
    for title, plain in BANDS.items():
        near = plain._replace(system="near_sanet")
        variants = [
            plain,
            *(
                near._replace(overrides=plain.overrides | change)
                for change in ({"model.relative": DISTANCE}, {"model.heads": 2})
            ),
        ]
        found = [kind.of(records).get(0) for kind in variants]
        if found[0] is None:
            continue
        uniform = found[0]["attention"]["trained"][f"uniform {name}"]
        cells = [_of_heads(record, bandwidth) for record in found]
        rows.append(f"| {' | '.join([title, f'{100 * uniform:.1f}', *cells])} |")
    return "\n".join(rows)


def band_figure(records: list[Record] | None = None, bandwidth: int = 3) -> Figure:
    """Diagonality over the number of IMDb reviews that SANet was trained on, as in lesson 04, with
    a line for the SANet that knows distances and one for the mean of two heads; of seed 0."""
    records = load_records() if records is None else records
    figure = plots.band_curve(
        band_by_size(records, bandwidth=bandwidth), f"% of weight within {bandwidth} words"
    )
    axis = figure.axes[0]
    for title, change, look, colour in (
        (f"distances up to {DISTANCE}", {"model.relative": DISTANCE}, "^-", MUTED),
        ("two heads, mean", {"model.heads": 2}, "v-", INK),
    ):
        kinds = [
            plain._replace(system="near_sanet", overrides=plain.overrides | change)
            for plain in BANDS.values()
            if plain.dataset == "imdb"
        ]
        found = [record for kind in kinds if (record := kind.of(records).get(0))]
        sizes = [record["sizes"]["train"] for record in found]
        shares = [100 * mean(_by_head(record, "trained", bandwidth)) for record in found]
        axis.plot(sizes, shares, look, color=colour, label=title)
    axis.set(title="IMDb: neither distances nor heads bring a band", ylim=(0, 6))
    axis.legend(ncols=2)
    return figure


def _by_head(record: Record, state: str, bandwidth: int) -> list[float]:
    """A record's diagonality, of each head where there are several."""
    figures, name = record["attention"][state], f"diagonality {bandwidth}"
    names = [name] if name in figures else [f"head {head} {name}" for head in (1, 2)]
    return [figures[name] for name in names]


def _of_heads(record: Record | None, bandwidth: int) -> str:
    """The diagonality of the trained attention, and in brackets of the untrained, in %."""
    if record is None:
        return "–"
    both = (_by_head(record, state, bandwidth) for state in ("trained", "untrained"))
    return ", ".join(f"{100 * one:.1f} ({100 * other:.1f})" for one, other in zip(*both))


def order_table(records: list[Record] | None = None) -> str:
    """Into how many phrases, runs of neighbouring words, the words fall that AGTs select of SST-5's
    test sentences (relaxed reading, mean over the layers): trained, untrained, and if as many words
    stood anywhere; of seed 0."""
    records = load_records() if records is None else records
    rows = [
        "| network | words selected | phrases | untrained | by chance |",
        "|---|---:|---:|---:|---:|",
    ]
    figures = (
        ("trained", "relaxed selected"),
        ("trained", "relaxed phrases"),
        ("untrained", "relaxed phrases"),
        ("trained", "relaxed phrases by chance"),
    )
    ordered = {q.change: q.changed for q in QUESTIONS if q.network == "AGT"}
    for title, kind in ({"AGT": AGT} | ordered).items():
        if record := kind.of(records).get(0):
            cells = [f"{mean(record['attention'][state][name]):.2f}" for state, name in figures]
            rows.append(f"| {' | '.join([title, *cells])} |")
    return "\n".join(rows)


def _kept(record: Record) -> str:
    return f"{100 * kept_accuracy(record):.1f}"


def _share(figure: Record) -> str:
    numbers = (100 * figure[name] for name in ("mean", "low", "high"))
    return "{:.1f} [{:.1f}, {:.1f}]".format(*numbers)
