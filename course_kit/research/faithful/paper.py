"""The paper, written from its template: every number in it is read from records and tables."""

from pathlib import Path

import jinja2
import pandas as pd

from course_kit.research import report
from course_kit.research.faithful import analysis, design
from course_kit.research.faithful.cell import rows_path

TEMPLATE, PAPER = (design.HERE / name for name in ("paper.md.in", "paper.md"))


def write(path: Path = PAPER) -> Path:
    """Fill the template; a name that it uses and nobody defines is an error."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    environment.filters["table"] = table
    filled = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        analysis=analysis,
        records=list(analysis.records().values()),
        cells=design.cells(),
        blocks=analysis.rows().groupby(analysis.BLOCK[:2])["seed"].nunique().to_dict(),
        tests=analysis.results().set_index("test").to_dict("index"),
        satellite=satellite,
    )
    path.write_text(filled, encoding="utf-8")
    return path


def satellite(changed: str, usual: str) -> list[list]:
    """A row an encoder: what a changed attention adds to ``PRIMARY`` on SST-2, and its interval."""
    texts, rows = pd.read_parquet(rows_path("sst2_sentences")), []
    for encoder, part in texts.groupby("encoder"):
        one = analysis.levels("attention", changed, usual, part, analysis.PRIMARY)
        rows.append([encoder, one.value, "{:.2f} to {:.2f}".format(*one.interval)])
    return rows


def table(rows: list[list], heads: str, digits: int = 2) -> str:
    """Rows as a markdown table under ``heads``, which are separated by commas."""
    cells = [[f"{x:.{digits}f}" if isinstance(x, float) else str(x) for x in row] for row in rows]
    names = heads.split(",")
    return report.to_markdown(names, cells, "l" + "r" * (len(names) - 1))
