"""The compact networks over the committed vectors, whose weights are committed."""

from typing import Any

from course_kit.research.grid.groups import read_grid
from course_kit.research.report.differences import MODELS, NAMES, PAIRS, difference
from course_kit.research.report.freeze import SYSTEM_NAMES
from course_kit.research.report.records import accuracy_of, caveats, made_from, runs_of
from course_lib.data.catalog import CARDS
from course_lib.runs.records import kept_accuracy, load_records


def compact_table(records: list[dict[str, Any]] | None = None) -> str:
    """The runs of the grid's group ``compact`` as a markdown table: accuracy in % on validation and
    test texts, and the difference to TF-IDF of words and word pairs on the same test texts; "–"
    where a run is missing. Below it the caveat of validation accuracies."""
    records = load_records() if records is None else records
    recorded = {record["id"]: record for record in records}
    rows = [
        "| network | dataset | validation, kept epoch | test | − TF-IDF | test of the difference "
        "| it is |",
        "|---|---|---:|---:|---:|---|---|",
    ]
    shown = []
    for spec in read_grid()["compact"]:
        cells = ["–", "–", "–", "–", "not run"]
        if record := recorded.get(spec.id):
            shown.append(record)
            cells[0] = f"{100 * kept_accuracy(record):.1f}"
            cells[1] = f"{100 * accuracy_of(record):.1f} {made_from([record])}"
            if simple := runs_of(records, MODELS[PAIRS], spec.dataset):
                gap = difference([record], simple)
                cells[2:] = [str(gap), gap.test, gap.reading]
        dataset = NAMES.get(spec.dataset, CARDS[spec.dataset].title)
        rows.append(f"| {SYSTEM_NAMES[spec.system]} | {dataset} | {' | '.join(cells)} |")
    return "\n".join([*rows, "", caveats(shown)])
