"""The grid's runs and their records: which exist, and how results change with one setting, as a
view, a figure and a table."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from matplotlib.figure import Figure

from course_kit.research.grid.groups import choose, read_grid
from course_kit.research.report.records import HOW_LONG, accuracy_of, caveats, setting, spread
from course_lib.metrics.classification import sampling_error
from course_lib.runs.records import kept_accuracy, load_records
from course_lib.runs.settings import value_of
from course_lib.views import plots
from course_lib.views.heatmap import AttentionHeatmap
from course_lib.views.panels import dot_panels

PANELS = ("validation accuracy", "overlap", "cosine", "last step on summaries")
Groups = dict[float, list[dict[str, Any]]]  # records by the value of a setting, from low to high


def sweep(
    address: str,
    fixed: dict[str, Any],
    model: tuple[str, str],
    dataset: str,
    records: list[dict[str, Any]] | None = None,
    tested: bool = False,
) -> Groups:
    """The records of a model, (system, preset), by the value of a setting such as
    ``"model.penalty"``.

    ``fixed`` gives the required values of other settings; beyond these, only the cut and the length
    of training may be overridden. ``tested`` selects records with the test half read, else those
    without. Runs on a part of the rows never count.
    """
    records = load_records() if records is None else records
    usual = {address, *fixed} | HOW_LONG
    groups = defaultdict(list)
    for record in records:
        spec = record["spec"]
        fits = (spec["system"], spec["preset"], spec["dataset"]) == (*model, dataset)
        alike = fits and all(setting(record, name) == value for name, value in fixed.items())
        whole = spec["limit"] is None and ("test" in record) == tested
        if alike and whole and set(spec["overrides"]) <= usual:
            groups[setting(record, address)].append(record)
    return dict(sorted(groups.items()))


def steps_sweep(
    penalty: float,
    model: tuple[str, str],
    dataset: str,
    records: list[dict[str, Any]] | None = None,
) -> Groups:
    """IRAM's records by the number of steps at one penalty, the test half unread.

    The penalty acts on pairs of steps, so it does not affect a single step. Records of a single
    step without penalty are therefore included, unless there are some with this penalty.
    """
    records = load_records() if records is None else records
    address, alone = "model.steps", {"model.penalty": 0.0, "model.steps": 1}
    single = sweep(address, alone, model, dataset, records)
    return single | sweep(address, {"model.penalty": penalty}, model, dataset, records)


def planned_values(group: str, address: str) -> list[float]:
    """The values of a setting that a group of the grid plans, in increasing order."""
    return sorted({value_of(spec.settings(), address) for spec in choose([group])})


def of_common_seeds(groups: Groups) -> Groups:
    """The records of the seeds that every value was run with, so that means can be compared; all
    records if there is no such seed."""
    common = set.intersection(*({r["spec"]["seed"] for r in group} for group in groups.values()))
    shared = {v: [r for r in group if r["spec"]["seed"] in common] for v, group in groups.items()}
    return shared if common else groups


def mean_figures(group: list[dict[str, Any]]) -> dict[str, float]:
    """Means over the seeds: validation accuracy, and the figures of the trained attention."""
    means = {"accuracy": statistics.mean(map(kept_accuracy, group))}
    for name in group[0].get("attention", {}).get("trained", ()):
        means[name] = statistics.mean(record["attention"]["trained"][name] for record in group)
    return means


def steps_view(name: str, groups: Groups, planned: Iterable[float]) -> AttentionHeatmap | None:
    """IRAM's attention to words and to summaries, step by step, with a slider over a setting; means
    over the seeds that all values have.

    ``planned`` are the values that the grid plans; missing ones are printed. None if nothing has
    been recorded.
    """
    lacking = [f"{value:g}" for value in planned if value not in groups]
    if lacking:
        print(f"not recorded yet: {name} = {', '.join(lacking)}")
    if not groups:
        return None
    groups = of_common_seeds(groups)
    most = max(setting(group[0], "model.steps") for group in groups.values())
    weights, titles = torch.zeros(len(groups), most, 2), []
    for place, (value, group) in enumerate(groups.items()):
        figures = mean_figures(group)
        for step in range(setting(group[0], "model.steps")):
            share = figures.get(f"summary share, step {step + 1}", 0.0)
            weights[place, step] = torch.tensor([1 - share, share])
        titles.append(
            f"{name} = {value:g}: accuracy {figures['accuracy']:.1%} "
            f"({len(group)} seed{'s' * (len(group) > 1)})"
        )
        if "step cosine" in figures:  # a single step has none
            alike = f"overlap {figures['step overlap']:.3f}, cosine {figures['step cosine']:.2f}"
            titles[-1] += f", {alike}"
    steps = [f"step {step + 1}" for step in range(most)]
    return AttentionHeatmap(weights, steps, ["words", "summaries"], steps=titles, extra=1)


def steps_figure(groups: Groups, xlabel: str, title: str, even: bool = False) -> Figure:
    """IRAM's accuracy, one point per run, and the figures of its steps over a setting's values, for
    the seeds that all values have."""
    groups = of_common_seeds(groups)
    accuracies = {value: list(map(kept_accuracy, group)) for value, group in groups.items()}
    means = {value: mean_figures(group) for value, group in groups.items()}
    steps = {value: setting(group[0], "model.steps") for value, group in groups.items()}
    for value, figures in means.items():
        share = figures.get(f"summary share, step {steps[value]}")
        figures |= {"last step on summaries": share} if share is not None else {}
    curves = {
        name: {value: figures[name] for value, figures in means.items() if name in figures}
        for name in ("step overlap", "step cosine", "last step on summaries")
    }
    some = next(iter(groups.values()))[0]
    error = sampling_error(kept_accuracy(some), some["sizes"]["validation"])
    return plots.sweep_curves(accuracies, curves, error, xlabel, title, even)


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


def _of_steps(record: dict[str, Any], state: str) -> dict[str, float]:
    """The figures of ``PANELS`` but accuracy; nothing for a single step."""
    figures = record.get("attention", {}).get(state) or {}
    last = f"summary share, step {setting(record, 'model.steps')}"
    names = zip(PANELS[1:], ("step overlap", "step cosine", last), strict=True)
    return {panel: figures[name] for panel, name in names if name in figures}


def runs_table(records: list[dict[str, Any]] | None = None) -> str:
    """How many runs of each group of the grid are recorded, and which are missing, as a markdown
    table; groups of groups are left out."""
    records = load_records() if records is None else records
    recorded_ids = {record["id"] for record in records}
    rows = ["| group | recorded | missing |", "|---|---:|---|"]
    listed_ids: set[str] = set()
    for name, specs in read_grid().items():
        ids = [spec.id for spec in specs]
        if listed_ids.issuperset(ids):
            continue
        listed_ids.update(ids)
        missing = ", ".join(f"`{name}`" for name in ids if name not in recorded_ids)
        rows.append(
            f"| `{name}` | {sum(i in recorded_ids for i in ids)} of {len(ids)} | {missing or '–'} |"
        )
    return "\n".join(rows)


def sweep_table(name: str, groups: Groups, planned: Iterable[float]) -> str:
    """Accuracies in % by the value of a setting as a markdown table, "–" where a run is missing;
    below it the caveat of its validation accuracies."""
    rows = [f"| {name} | seeds | validation, kept epoch | test |", "|---:|---:|---:|---:|"]
    for value in sorted({*planned, *groups}):
        group = groups.get(value, [])
        cells = ["–", "–"]
        if group:
            cells[0] = spread([kept_accuracy(record) for record in group], 100)
        if group and "test" in group[0]:
            cells[1] = spread([accuracy_of(record) for record in group], 100)
        rows.append(f"| {value:g} | {len(group) or '–'} | {' | '.join(cells)} |")
    return "\n".join([*rows, "", caveats([run for group in groups.values() for run in group])])
