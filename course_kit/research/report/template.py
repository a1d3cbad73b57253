"""A text written from a template whose numbers all come from records, and how numbers are printed
in it. The papers of both editions of the study are written so."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from course_kit.research.report.frames import to_markdown
from course_lib.metrics.statistics import Estimate
from course_lib.views.plots import MINUS


def fill(template: Path, names: Mapping[str, Any]) -> str:
    """Fill a template, with true minus signs; a name that it uses and nobody defines is an
    error."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    return with_minus(environment.from_string(template.read_text(encoding="utf-8")).render(names))


def with_minus(text: str) -> str:
    """Text whose numbers have a true minus."""
    return MINUS.sub(lambda sign: sign[1] or "−", text)


def interval(low: float, high: float, digits: int = 2) -> str:
    """``0.11 to 0.19``."""
    return f"{low:.{digits}f} to {high:.{digits}f}"


def signed(one: Estimate, scale: float = 1, digits: int = 2) -> str:
    """``+0.12 (+0.07 to +0.16)``."""
    value, low, high = (scale * each for each in (one.value, *one.interval))
    return f"{value:+.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f})"


def p_value(p: float) -> str:
    """Three digits; a dash where there is no test."""
    if np.isnan(p):
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def table(rows: Sequence[Sequence], heads: Sequence[str], digits: int = 2) -> str:
    """Rows as a markdown table, numbers with so many digits."""
    cells = [[f"{x:.{digits}f}" if isinstance(x, float) else str(x) for x in row] for row in rows]
    return to_markdown(heads, cells, "l" + "r" * (len(heads) - 1))
