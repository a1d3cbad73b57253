"""Write an audit as one page that needs nothing else: verdict, figures, then the texts."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader

SIGNS = {"shown": "✓", "partly": "~", "carrier": "▢", "not shown": "✗"}
SIGNS |= {"misleading": "✗", "not applicable": "–", "too few to say": "–"}
HERE = Path(__file__).parent


def audit_page(report: dict[str, Any], links: Mapping[str, str] | None = None) -> str:
    """Return the page of a report, which makes no request and escapes what models and texts say.

    Parameters
    ----------
    report: as its JSON file has it, with ``texts`` for the part that shows them
    links: addresses by name, for the head of the page
    """
    style, script = ((HERE / f"page.{kind}").read_text("utf-8") for kind in ("css", "js"))
    # the texts first in which attention and leave-one-out disagree most
    texts = sorted(report.get("texts", ()), key=lambda one: one["agreement"])
    data = json.dumps(texts, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    page = Environment(loader=FileSystemLoader(HERE), autoescape=True).get_template("page.html")
    figures = [_figure(answer["rows"]) for answer in report["answers"]]
    return page.render(
        report,
        signs=SIGNS,
        links=links,
        style=style,
        script=script,
        figures=figures,
        data=data if texts else "",
    )


def _figure(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Place the mean and the interval of each row on one scale that holds 0."""
    rows = [row for row in rows if row["mean"] is not None]
    texts = [row["texts"] for row in rows] or [0]
    ends = [row[end] for row in rows for end in ("mean", "low", "high") if row[end] is not None]
    low = min(0.0, *ends, 0.0)
    high = max(0.0, *ends, low + 0.05)

    def shown(row: dict[str, Any]) -> dict[str, Any]:
        numbers = [row["mean"], row["low"], row["high"]]
        said = signed(row["mean"])
        if row["low"] is None:  # too few texts for an interval
            numbers = 3 * [row["mean"]]
        else:
            said += f" [{signed(row['low'])}, {signed(row['high'])}]"
        return {"name": row["name"], "said": said, "at": [at(number) for number in numbers]}

    def at(number: float) -> str:
        return f"{100 * (number - low) / (high - low):.2f}"

    return {
        "rows": [shown(row) for row in rows],
        "zero": at(0),
        "low": signed(low),
        "high": signed(high),
        "texts": " to ".join(dict.fromkeys([str(min(texts)), str(max(texts))])),
    }


def signed(number: float) -> str:
    """Write a number with two digits and a minus sign of its own."""
    return f"{number:.2f}".replace("-0.00", "0.00").replace("-", "−")
