"""Freeze controls: what a network loses whose attention is kept uniform or untrained."""

from collections import defaultdict
from dataclasses import asdict, replace
from typing import Any

from course_kit.research.grid.groups import read_grid
from course_kit.research.report.differences import NAMES, Difference, difference
from course_kit.research.report.records import accuracy_of, made_from, spread
from course_lib.data.catalog import CARDS
from course_lib.runs.records import load_records
from course_lib.runs.settings import ATTENTION_WEIGHTS, ControlConfig, Settings, in_words
from course_lib.runs.spec import RunSpec

SYSTEM_NAMES = {"han": "HAN", "sanet": "SANet", "iram": "IRAM", "agt": "AGT", "bilstm": "BiLSTM"}
ADDRESS = "control.attention_weights"
CONTROLS = [weights for weights in ATTENTION_WEIGHTS if weights != "learned"]
Runs = dict[int, dict[str, Any]]  # the records of one training by seed


def freeze_table(
    records: list[dict[str, Any]] | None = None, group: str = "freeze", system: str | None = None
) -> str:
    """Test accuracies in % with learned attention weights and with those that the grid's ``group``
    plans, uniform or untrained, as a markdown table, one row for each network and dataset of the
    group, or of one ``system`` of it.

    A control is compared with the run that has its settings, its seed and its data, and differs
    only in the attention; both start from the same other weights and read the same batches. The
    learned attention is "used" if ``difference`` calls its accuracy better than that of either
    control; else the row names the control from which it is not told apart, or than which it is
    worse. "–" where a run is missing.
    """
    records = load_records() if records is None else records
    planned = [spec for spec in read_grid()[group] if system in (None, spec.system)]
    kept = {spec.settings().control.attention_weights for spec in planned}
    controls = [weights for weights in CONTROLS if weights in kept]
    heads = [*controls, *(f"learned − {weights}" for weights in controls)]
    rows = [
        f"| network | dataset | learned | {' | '.join(heads)} | the learned attention is |",
        "|---|---|---:" + "|---:" * len(controls) + "|---" * len(controls) + "|---|",
    ]
    trainings = defaultdict(list)
    for spec in planned:
        trainings[spec.system, spec.dataset, spec.limit, with_weights(spec, "learned")].append(spec)
    return "\n".join([*rows, *(_row(specs, controls, records) for specs in trainings.values())])


def with_weights(spec: RunSpec, weights: str) -> Settings:
    """The settings of a run, with these attention weights."""
    return replace(spec.settings(), control=ControlConfig(weights))


def _row(specs: list[RunSpec], names: list[str], records: list[dict[str, Any]]) -> str:
    """The row of one training, whose controls the grid plans as ``specs``."""
    learned = _by_seed(specs, "learned", records)
    controls = [_on_same_data(_by_seed(specs, name, records), learned) for name in names]
    gaps = [_gap(learned, control) for control in controls]
    dataset = NAMES.get(specs[0].dataset, CARDS[specs[0].dataset].title)
    cells = [_name(specs[0]), dataset, *map(_accuracy, (learned, *controls))]
    cells += ["–" if gap is None else f"{gap} ({gap.test})" for gap in gaps]
    return f"| {' | '.join([*cells, _reading(dict(zip(names, gaps, strict=True)))])} |"


def _by_seed(specs: list[RunSpec], weights: str, records: list[dict[str, Any]]) -> Runs:
    """The records of a training with these attention weights, by the seeds that are planned."""
    seeds, settings = {spec.seed for spec in specs}, asdict(with_weights(specs[0], weights))
    place = specs[0].system, specs[0].dataset, specs[0].limit
    return {
        spec["seed"]: record
        for record in records
        for spec in [record["spec"]]
        if (spec["system"], spec["dataset"], spec["limit"]) == place
        and spec["seed"] in seeds
        and record["settings"] == settings
        and "test" in record
    }


def _on_same_data(control: Runs, learned: Runs) -> Runs:
    """The runs of a control without those whose twin was trained on other data."""
    return {
        seed: run
        for seed, run in control.items()
        if learned.get(seed, run)["data"]["content"] == run["data"]["content"]
    }


def _gap(learned: Runs, control: Runs) -> Difference | None:
    """The difference over the seeds that both sides have; None without any."""
    both = sorted(learned.keys() & control.keys())
    if not both:
        return None
    return difference([learned[seed] for seed in both], [control[seed] for seed in both])


def _name(spec: RunSpec) -> str:
    """The network, its preset and what else was changed."""
    others = [in_words(name, value) for name, value in spec.overrides.items() if name != ADDRESS]
    return ", ".join([SYSTEM_NAMES[spec.system], spec.preset, *others])


def _accuracy(runs: Runs) -> str:
    group = list(runs.values())
    return f"{spread(list(map(accuracy_of, group)), 100)} {made_from(group)}" if group else "–"


def _reading(gaps: dict[str, Difference | None]) -> str:
    """What the differences to all controls say together."""
    if None in gaps.values():
        return "not run"
    readings = {weights: gap.reading for weights, gap in gaps.items()}
    found = [
        f"{words} {' and '.join(weights)}"
        for reading, words in (("worse", "worse than"), ("not told apart", "not told apart from"))
        if (weights := [name for name, says in readings.items() if says.startswith(reading)])
    ]
    told_apart = not found or found[0].startswith("worse")
    one_seed = told_apart and any(gap.one_seed for gap in gaps.values())
    return (", ".join(found) or "used") + ", of one seed" * one_seed
