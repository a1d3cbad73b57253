"""Runs on texts of one's own, side by side."""

from collections import defaultdict
from typing import Any

from course_kit.research.report.records import accuracy_of, made_from, same_settings, spread
from course_lib.data.custom import CUSTOM
from course_lib.runs import records as recorded
from course_lib.runs.records import largest_class, load_records, read_record
from course_lib.runs.settings import in_words


def own_table(records: list[dict[str, Any]] | None = None) -> str:
    """All tested runs on texts of one's own as a markdown table, those with the same texts next to
    each other: accuracy in % on the test texts beside the share of their largest class, which a
    constant answer reaches. By default the runs in ``runs/`` and the records in ``results/``."""
    groups = defaultdict(list)
    for record in _all() if records is None else records:
        if CUSTOM.fullmatch(record["spec"]["dataset"]) and "test" in record:
            place = record["spec"]["dataset"], record["spec"]["system"], same_settings(record)
            groups[*place, record["spec"]["limit"]].append(record)
    rows = [
        "| texts | network | training texts | test texts | test accuracy | largest class |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for (dataset, *_), group in sorted(groups.items(), key=lambda item: item[0][:2]):
        sizes, largest = group[0]["sizes"], largest_class(group[0])
        accuracy = f"{spread([accuracy_of(r) for r in group], 100)} {made_from(group)}"
        rows.append(
            f"| {dataset.partition('@')[0]} | {_network(group[0])} | {sizes['train']:,} | "
            f"{sizes['test']:,} | {accuracy} | {100 * largest:.1f} |"
        )
    return "\n".join(rows)


def _all() -> list[dict[str, Any]]:
    """Published records, and those in ``runs/`` that are not among them."""
    found = {record["id"]: record for record in load_records()}
    for path in sorted(recorded.RUNS.glob("*/record.json")):
        if recorded.ASIDE not in path.parent.name:
            record = read_record(path)
            found.setdefault(record["id"], record)
    return list(found.values())


def _network(record: dict[str, Any]) -> str:
    spec = record["spec"]
    changes = [in_words(*change) for change in spec["overrides"].items()]
    return ", ".join([f"{spec['system']} {spec['preset']}", *changes])
