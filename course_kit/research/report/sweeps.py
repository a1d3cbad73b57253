"""How results change with one setting: the grid's sweeps as a table and as panels."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from matplotlib.figure import Figure

from course_kit.research.grid.groups import choose
from course_kit.research.report.frames import (
    HOW_LONG,
    Group,
    Record,
    Records,
    accuracy_of,
    caveats,
    mean_std,
    tidy,
    to_markdown,
)
from course_lib.runs.records import kept_accuracy
from course_lib.runs.settings import flat_settings
from course_lib.views.panels import dot_panels

PANELS = ("validation accuracy", "overlap", "cosine", "last step on summaries")
Groups = dict[float, Group]  # records by the value of a setting, from low to high


def sweep(
    address: str,
    fixed: Mapping[str, Any],
    model: tuple[str, str],
    dataset: str,
    records: Records = None,
    tested: bool = False,
) -> Groups:
    """The records of a model, (system, preset), by the value of a setting such as
    ``"model.penalty"``.

    ``fixed`` gives the required values of other settings; beyond these, only the cut and the length
    of training may be overridden. ``tested`` selects records with the test half read, else those
    without. Runs on a part of the rows never count.
    """
    frame = tidy(records)
    free = HOW_LONG | {address, *fixed}
    asked = {"system": model[0], "preset": model[1], "dataset": dataset, **fixed}
    for name, value in asked.items():
        frame = frame[frame[name] == value]
    whole = frame.limit.isna() & (frame.accuracy.notna() == tested)
    frame = frame[whole & frame.changes.map(free.issuperset).astype(bool)]
    return {value: list(group.record) for value, group in frame.groupby(address)}


def steps_sweep(
    penalty: float, model: tuple[str, str], dataset: str, records: Records = None
) -> Groups:
    """IRAM's records by the number of steps at one penalty, the test half unread.

    The penalty acts on pairs of steps, so it does not affect a single step. Records of a single
    step without penalty are therefore included, unless there are some with this penalty.
    """
    frame, address = tidy(records), "model.steps"
    single = sweep(address, {"model.penalty": 0.0, "model.steps": 1}, model, dataset, frame)
    return single | sweep(address, {"model.penalty": penalty}, model, dataset, frame)


def planned_values(group: str, address: str) -> list[float]:
    """The values of a setting that a group of the grid plans, in increasing order."""
    return sorted({flat_settings(spec.settings())[address] for spec in choose([group])})


def mean_figures(group: Group) -> dict[str, float]:
    """Means over the seeds: validation accuracy, and the figures of the trained attention."""
    means = {"accuracy": statistics.mean(map(kept_accuracy, group))}
    for name in group[0].get("attention", {}).get("trained", ()):
        means[name] = statistics.mean(record["attention"]["trained"][name] for record in group)
    return means


def sweep_table(name: str, groups: Groups, planned: Iterable[float]) -> str:
    """Accuracies in % by the value of a setting as a markdown table, "–" where a run is missing;
    below it the caveat of its validation accuracies."""
    rows = []
    for value in sorted({*planned, *groups}):
        group = groups.get(value, [])
        kept = mean_std(list(map(kept_accuracy, group)), 100) if group else None
        tested = bool(group) and "test" in group[0]
        test = mean_std(list(map(accuracy_of, group)), 100) if tested else None
        rows.append([f"{value:g}", len(group) or None, kept, test])
    heads = [name, "seeds", "validation, kept epoch", "test"]
    every = [run for group in groups.values() for run in group]
    return f"{to_markdown(heads, rows, 'r')}\n\n{caveats(every)}"


def steps_panels(
    sweeps: Mapping[str, Groups],
    xlabel: str,
    title: str,
    accuracy: tuple[float, float] = (0.7, 0.9),
) -> Figure:
    """IRAM's accuracy and the figures of its steps over a setting's values, one panel a figure: a
    dot a run, a colour for each of the named ``sweeps``, dotted lines for untrained steps.

    ``accuracy`` are the ends of that panel's scale. A run of one step has accuracy alone.
    """
    dots: dict[str, Any] = {panel: defaultdict(lambda: defaultdict(list)) for panel in PANELS}
    lines = defaultdict(list)
    for name, groups in sweeps.items():
        for value, record in ((value, one) for value, group in groups.items() for one in group):
            dots[PANELS[0]][name][f"{value:g}"].append(kept_accuracy(record))
            for panel, figure in _of_steps(record, "trained").items():
                dots[panel][name][f"{value:g}"].append(figure)
            for panel, figure in _of_steps(record, "untrained").items():
                lines[panel].append(figure)
    untrained = {panel: statistics.mean(values) for panel, values in lines.items()}
    return dot_panels(dots, xlabel, title, {PANELS[0]: accuracy}, "untrained", untrained)


def _of_steps(record: Record, state: str) -> dict[str, float]:
    """The figures of ``PANELS`` but accuracy; nothing for a single step."""
    figures = record.get("attention", {}).get(state) or {}
    last = f"summary share, step {record['settings']['model']['steps']}"
    names = zip(PANELS[1:], ("step overlap", "step cosine", last), strict=True)
    return {panel: figures[name] for panel, name in names if name in figures}
