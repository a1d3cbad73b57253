"""The attention ablation: what a network loses whose attention is kept uniform or untrained."""

from dataclasses import replace
from typing import Any

import pandas as pd

from course_kit.research.grid.groups import read_grid
from course_kit.research.report.differences import Difference, difference
from course_kit.research.report.frames import (
    NAMES,
    WEIGHTS,
    Record,
    Records,
    group_of,
    shown,
    tidy,
    to_markdown,
)
from course_kit.research.report.tables import SYSTEM_NAMES
from course_lib.data.catalog import CARDS
from course_lib.runs.settings import ATTENTION_WEIGHTS, in_words
from course_lib.runs.spec import RunSpec

Runs = dict[int, Record]  # the records of one training by seed


def ablation_table(
    records: Records = None, group: str = "attention_ablation", system: str | None = None
) -> str:
    """Test accuracies in % with learned attention weights and with those that the grid's ``group``
    plans, uniform or untrained, as a markdown table, one row for each network and dataset of the
    group, or of one ``system`` of it.

    An ablated run is compared with the run that has its settings, its seed and its data, and
    differs only in the attention; both start from the same other weights and read the same
    batches. The learned attention is "used" if ``difference`` calls its accuracy better than that
    of every ablation; else the row names the one from which it is not told apart, or than which it
    is worse. "–" where a run is missing.
    """
    frame = tidy(records)
    specs = [spec for spec in read_grid()[group] if system in (None, spec.system)]
    kept = {spec.settings().control.attention_weights for spec in specs}
    names = [weights for weights in ATTENTION_WEIGHTS if weights in kept - {"learned"}]
    trainings: dict[str, list[RunSpec]] = {}
    for spec in specs:
        trainings.setdefault(group_of(_with_weights(spec, "learned")), []).append(spec)
    heads = ["network", "dataset", "learned", *names, *(f"learned − {name}" for name in names),
             "the learned attention is"]  # fmt: skip
    align = "llr" + "r" * len(names) + "l"
    return to_markdown(heads, [_row(of, names, frame) for of in trainings.values()], align)


def _with_weights(spec: RunSpec, weights: str) -> RunSpec:
    return replace(spec, overrides=spec.overrides | {WEIGHTS: weights})


def _row(specs: list[RunSpec], names: list[str], frame: pd.DataFrame) -> list[Any]:
    """The row of one training, whose ablations the grid plans as ``specs``."""
    spec, seeds = specs[0], {spec.seed for spec in specs}
    tested = frame[frame.accuracy.notna() & frame.seed.isin(seeds)]
    learned, *ablated = (
        {record["spec"]["seed"]: record for record in tested.record[tested.group == key]}
        for key in (group_of(_with_weights(spec, weights)) for weights in ("learned", *names))
    )
    ablated = [
        {s: run for s, run in runs.items() if _content(learned.get(s, run)) == _content(run)}
        for runs in ablated
    ]
    gaps = [_gap(learned, runs) for runs in ablated]
    others = [in_words(name, value) for name, value in spec.overrides.items() if name != WEIGHTS]
    network = ", ".join([SYSTEM_NAMES[spec.system], spec.preset, *others])
    dataset = NAMES.get(spec.dataset, CARDS[spec.dataset].title)
    accuracies = [shown(list(runs.values())) for runs in (learned, *ablated)]
    told = [gap and f"{gap} ({gap.test})" for gap in gaps]
    return [network, dataset, *accuracies, *told, _reading(dict(zip(names, gaps, strict=True)))]


def _content(record: Record) -> str:
    return record["data"]["content"]


def _gap(learned: Runs, ablated: Runs) -> Difference | None:
    """The difference over the seeds that both sides have; None without any."""
    both = sorted(learned.keys() & ablated.keys())
    if not both:
        return None
    return difference([learned[seed] for seed in both], [ablated[seed] for seed in both])


def _reading(gaps: dict[str, Difference | None]) -> str:
    """What the differences to all ablations say together."""
    if None in gaps.values():
        return "not run"
    found = {}
    for reading, words in (("worse", "worse than"), ("not told apart", "not told apart from")):
        if names := [name for name, gap in gaps.items() if gap.reading.startswith(reading)]:
            found[reading] = f"{words} {' and '.join(names)}"
    one_seed = (not found or "worse" in found) and any(gap.one_seed for gap in gaps.values())
    return (", ".join(found.values()) or "used") + ", of one seed" * one_seed
