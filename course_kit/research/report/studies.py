"""The sanity checks, which say what the instruments show where there is something to see, and the
comparison of word vectors."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from course_kit.research.report.frames import Record, mean_std, to_markdown
from course_kit.research.sanity_checks.sanity_record import RECORDS
from course_lib.runs.records import RESULTS
from course_lib.views.panels import dot_panels

COLUMNS = ("trained", "untrained", "uniform")
VECTORS = RESULTS / "vectors" / "methods.json"


def sanity_records(folder: Path | None = None) -> list[Record]:
    """The committed records of the sanity checks, one per seed; ``ValueError`` if there are
    none."""
    paths = sorted((folder or RECORDS).glob("*.json"))
    if not paths:
        raise ValueError(
            f"{folder or RECORDS} holds no record; `attention-course sanity-checks` makes one"
        )
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def sanity_figures(
    records: list[Record] | None = None,
) -> dict[tuple[str, str, str], dict[str, list[float]]]:
    """The figures of all seeds by (check, network, figure), then by column; a column that a
    figure lacks is an empty list."""
    figures: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for record in sanity_records() if records is None else records:
        for line in record["lines"]:
            key = line["control"], line["network"], line["figure"]
            values = figures.setdefault(key, {column: [] for column in COLUMNS})
            for column in COLUMNS:
                values[column] += [] if line[column] is None else [line[column]]
    return figures


def sanity_table(
    check: str | None = None,
    records: list[Record] | None = None,
    chosen: Sequence[str] = (),
) -> str:
    """Every figure of all sanity checks, or of one, as mean ± standard deviation over seeds: of the
    trained network, of its untrained twin, and with uniform attention in the trained network.

    With ``chosen`` only these figures are shown. ``ValueError`` for a check or figure that is not
    in the records.
    """
    figures = sanity_figures(records)
    names = list(dict.fromkeys(name for name, _, _ in figures))
    if check is not None and check not in names:
        raise ValueError(f"no check {check!r}; the records hold: {', '.join(names)}")
    if absent := set(chosen) - {figure for _, _, figure in figures}:
        raise ValueError(f"no figure {', '.join(sorted(absent))} in the records")
    rows = [
        [*key, *(_sanity_cell(columns[column]) for column in COLUMNS)]
        for key, columns in figures.items()
        if check in (None, key[0]) and (not chosen or key[2] in chosen)
    ]
    heads = ["control", "network", "figure", "trained", "untrained twin", "uniform attention"]
    return to_markdown(heads, rows, "lllr")


def _sanity_cell(values: list[float]) -> str | None:
    if not values:
        return None
    tiny = 0 < max(values) < 1e-4  # rounding, which three digits would hide
    return f"up to {max(values):.0e}" if tiny else mean_std(values, digits=3)


def sanity_figure(
    check: str,
    networks: Mapping[str, str],
    chosen: Sequence[str],
    title: str,
    records: list[Record] | None = None,
) -> Figure:
    """The ``chosen`` figures of a sanity check as small multiples, a dot a seed: of trained
    networks and of their untrained twins; ``networks`` gives each a short name below its dots."""
    figures = sanity_figures(records)
    panels = {
        figure: {
            column: {short: figures[check, name, figure][column]
                     for name, short in networks.items()}
            for column in ("trained", "untrained")
        }
        for figure in chosen
    }  # fmt: skip
    return dot_panels(panels, title=title)


def vectors_record() -> Record:
    """The comparison of word vectors, made once: its commit makes it again."""
    return json.loads(VECTORS.read_text(encoding="utf-8"))


def vectors_table(record: Record | None = None) -> str:
    """For each corpus and all vectors, as a markdown table: the share in % of its validation words
    (occurrences) that have a vector, and the validation accuracy in % of a linear classifier of
    mean vectors."""
    corpora = (vectors_record() if record is None else record)["corpora"]
    rows = [
        [name, *(f"{100 * of[name]['accuracy']:.1f} ({100 * of[name]['occurrences']:.0f} % covered)"
                 for of in corpora.values())]
        for name in next(iter(corpora.values()))
    ]  # fmt: skip
    return to_markdown(["vectors", *corpora], rows, "lr")


def neighbours_table(record: Record | None = None) -> str:
    """The nearest words of the words asked, by vectors, as a markdown table."""
    found = (vectors_record() if record is None else record)["neighbours"]
    words = next(iter(found.values()))
    rows = [[word, *(", ".join(of[word]) for of in found.values())] for word in words]
    return to_markdown(["word", *found], rows, "l")
