"""What each change of a setting buys, one at a time, on the validation texts alone."""

from collections.abc import Iterable
from typing import Any

from course_lib.experiments.grid import read_grid
from course_lib.experiments.records import KEPT_EPOCH, kept_accuracy, load_records
from course_lib.experiments.spec import RunSpec


def changes_table(groups: Iterable[str], records: list[dict[str, Any]] | None = None) -> str:
    """The recorded runs of the grid's ``groups`` as a markdown table: what differs from their first
    run, the kept epoch, its validation accuracy in %, and the difference to the first run.

    Runs that are not recorded are left out; without the first run there is nothing to compare with
    and the table has no row. Below it stands the caveat of validation accuracies.
    """
    records = load_records() if records is None else records
    recorded = {record["id"]: record for record in records}
    grid = read_grid()
    first, *others = [spec for group in groups for spec in grid[group]]
    rows = ["| change | kept epoch | validation, kept epoch | points |", "|---|---:|---:|---:|"]
    if first.id in recorded:
        base = 100 * kept_accuracy(recorded[first.id])
        for spec in (first, *others):
            if record := recorded.get(spec.id):
                share = 100 * kept_accuracy(record)
                gain = "–" if spec == first else f"{share - base:+.1f}"
                cells = (_change(spec, first), record["best_epoch"], f"{share:.1f}", gain)
                rows.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join([*rows, "", KEPT_EPOCH])


def _change(spec: RunSpec, first: RunSpec) -> str:
    """The settings that the run has and the first has not."""
    changed = [f"`{spec.dataset}`"] if spec.dataset != first.dataset else []
    changed += [
        f"`{address}` = {value}"
        for address, value in spec.overrides.items()
        if first.overrides.get(address) != value
    ]
    return ", ".join(changed) or "none"
