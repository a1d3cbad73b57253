"""The positive controls: what the instruments show where we know that there is something to see."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from course_kit.research.report.records import spread
from course_kit.research.sanity_checks.sanity_record import RECORDS
from course_lib.views.panels import dot_panels

COLUMNS = ("trained", "untrained", "uniform")


def control_records(folder: Path | None = None) -> list[dict[str, Any]]:
    """The committed records, one per seed; ``ValueError`` if there are none."""
    folder = folder or RECORDS
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise ValueError(f"{folder} holds no record; `attention-course sanity-checks` makes one")
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def control_figures(
    records: list[dict[str, Any]] | None = None,
) -> dict[tuple[str, str, str], dict[str, list[float]]]:
    """The figures of all seeds by (control, network, figure), then by column; a column that a
    figure lacks is an empty list."""
    figures: dict[tuple[str, str, str], dict[str, list[float]]] = defaultdict(
        lambda: {column: [] for column in COLUMNS}
    )
    for record in control_records() if records is None else records:
        for line in record["lines"]:
            values = figures[line["control"], line["network"], line["figure"]]
            for column in COLUMNS:
                values[column] += [] if line[column] is None else [line[column]]
    return dict(figures)


def controls_table(
    control: str | None = None,
    records: list[dict[str, Any]] | None = None,
    chosen: Sequence[str] = (),
) -> str:
    """Every figure of all controls, or of one, as mean ± standard deviation over seeds: of the
    trained network, of its untrained twin, and with uniform attention in the trained network.

    With ``chosen`` only these figures are shown. ``ValueError`` for a control or figure that is not
    in the records.
    """
    figures = control_figures(records)
    names = list(dict.fromkeys(name for name, _, _ in figures))
    if control is not None and control not in names:
        raise ValueError(f"no control {control!r}; the records hold: {', '.join(names)}")
    if absent := set(chosen) - {figure for _, _, figure in figures}:
        raise ValueError(f"no figure {', '.join(sorted(absent))} in the records")
    rows = [
        "| control | network | figure | trained | untrained twin | uniform attention |",
        "|---|---|---|---:|---:|---:|",
    ]
    for (name, network, figure), columns in figures.items():
        if control in (None, name) and (not chosen or figure in chosen):
            values = [_cell(columns[column]) for column in COLUMNS]
            rows.append(f"| {' | '.join([name, network, figure, *values])} |")
    return "\n".join(rows)


def controls_figure(
    control: str,
    networks: Mapping[str, str],
    chosen: Sequence[str],
    title: str,
    records: list[dict[str, Any]] | None = None,
) -> Figure:
    """The ``chosen`` figures of a control as small multiples, a dot a seed: of trained networks and
    of their untrained twins; ``networks`` gives each a short name to stand below its dots."""
    figures = control_figures(records)
    panels = {
        figure: {
            column: {short: figures[control, name, figure][column]
                     for name, short in networks.items()}
            for column in COLUMNS[:2]
        }
        for figure in chosen
    }  # fmt: skip
    return dot_panels(panels, title=title)


def _cell(values: list[float]) -> str:
    if not values:
        return "–"
    tiny = 0 < max(values) < 1e-4  # rounding, which three digits would hide
    return f"up to {max(values):.0e}" if tiny else spread(values, digits=3)
