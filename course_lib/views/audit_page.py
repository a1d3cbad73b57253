"""An audit as one page that needs nothing else: verdict, a figure a question, then the texts."""

import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MARKS = {"shown": "✓", "partly": "~", "not shown": "✗"}
HERE = Path(__file__).parent
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def audit_page(report: dict[str, Any], back: str = "") -> str:
    """The page of a ``faithfulness.Report`` as a dictionary; without texts, the verdict alone.
    On top it links ``back`` to the page that lists audits, if there is one.

    It makes no request, and all that comes from a model or a text is escaped.
    """
    counts, name = report["counts"], html.escape(report["name"])
    style, script = ((HERE / f"audit_page.{kind}").read_text("utf-8") for kind in ("css", "js"))
    parts = [
        f'<nav><a href="{html.escape(back)}">All audits</a></nav>' if back else "",
        f"<h1>{name}: may its attention be believed?</h1>",
        f'<p class="verdict">{_badge(report["grade"])} {html.escape(report["headline"])}</p>',
        f"<p>{html.escape(_about(counts))}</p>",
        *(_question(one) for one in report["answers"]),
        _missing(report),
        _texts(report["texts"]) if report.get("texts") else "",
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Audit: {name}</title><style>{style}</style></head><body><main>"
        + "\n".join(parts)
        + f"</main><script>{script}</script></body></html>\n"
    )


def _about(counts: dict[str, Any]) -> str:
    said = (
        f"{counts['measured']} texts, {counts['words']:.0f} words each on average. "
        "Brackets hold 95 % intervals."
    )
    if counts["stopped"]:
        said = f"Stopped after {counts['measured']} of {counts['given']} texts. {said}"
    left = [f"{count} {why}" for why, count in counts["left_out"].items()]
    return said + (f" Texts left out: {'; '.join(left)}." if left else "")


def _badge(grade: str) -> str:
    return f'<b class="grade {grade.split()[0]}">{MARKS[grade]} {grade}</b>'


def _question(answer: dict[str, Any]) -> str:
    title, unit = html.escape(answer["title"]), html.escape(answer["unit"])
    badge = _badge(answer["grade"]) if answer["grade"] else ""
    texts = [row["texts"] for row in answer["rows"] if row["mean"] is not None] or [0]
    many = " to ".join(dict.fromkeys([str(min(texts)), str(max(texts))]))
    return (
        f"<section><h2>{title} {badge}</h2><p>{html.escape(answer['sentence'])}</p>"
        f"<figure>{_figure(answer['rows'])}<figcaption>{unit}; lines are 95 % intervals over "
        f"{many} texts</figcaption></figure></section>"
    )


def _figure(rows: Sequence[dict[str, Any]]) -> str:
    """A mark and its interval for each row, all on one scale that holds 0."""
    rows = [row for row in rows if row["mean"] is not None]
    low = min(0.0, *(row["low"] for row in rows), 0.0)
    high = max(0.0, *(row["high"] for row in rows), low + 0.05)

    def at(number: float) -> str:
        return f"{100 * (number - low) / (high - low):.2f}"

    lines = "".join(
        f'<div class="row"><span>{html.escape(row["name"])}</span>'
        '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="zero" d="M{at(0)} 0V10"/>'
        f'<path class="interval" d="M{at(row["low"])} 5H{at(row["high"])}"/>'
        f'<path class="mean" d="M{at(row["mean"])} 5h0"/></svg>'
        f'<span class="value">{_signed(row["mean"])} [{_signed(row["low"])}, '
        f"{_signed(row['high'])}]</span></div>"
        for row in rows
    )
    ends = f"<b>{_signed(low)}</b><b>{_signed(high)}</b>"
    return f'{lines}<div class="row axis"><i></i><span>{ends}</span><i></i></div>'


def _signed(number: float) -> str:
    return f"{number:.2f}".replace("-0.00", "0.00").replace("-", "−")


def _missing(report: dict[str, Any]) -> str:
    asked = "".join(f"<li>{html.escape(why)}</li>" for why in report["missing"].values())
    cost = "".join(
        f"<tr><td>{html.escape(stage)}</td><td>{spent['texts']:,.0f}</td>"
        f"<td>{spent['seconds']:.1f}</td></tr>"
        for stage, spent in report["cost"].items()
    )
    return (
        "<section><h2>What these numbers are</h2>"
        f"<p>{report['compared']} differences were tested; their p-values are corrected for that "
        "number (Holm). A grade is what the lower end of an interval allows, by numbers that were "
        "fixed before anything was measured. Intervals hold the spread of texts, not that of "
        "trainings. What an order of the words can cost is exact for texts of up to 8 words; for "
        "longer ones it is the most and the least of the orders compared and of some others.</p>"
        + (f"<p>Not measured:</p><ul>{asked}</ul>" if asked else "")
        + "<details><summary>What it cost</summary><table><tr><th>stage</th><th>texts asked</th>"
        f"<th>seconds</th></tr>{cost}</table></details></section>"
    )


def _texts(texts: Sequence[dict[str, Any]]) -> str:
    """The texts, those first in which attention and leave-one-out disagree most."""
    order = sorted(texts, key=lambda one: one["agreement"])
    data = json.dumps(order, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        '<section id="texts"><h2>Look into the texts</h2><p>Tints show each word\'s share of the '
        "largest in its text, on one scale: "
        '<span class="key for">speaks for the decision, or is looked at</span> '
        '<span class="key against">speaks against it</span>. The texts in which attention and '
        "leave-one-out disagree most come first.</p>"
        '<div class="controls"><label>Text <select id="pick"></select></label>'
        '<button id="before" type="button">previous</button>'
        '<button id="next" type="button">next</button>'
        "<label>Erase what each puts first "
        '<input id="erase" type="range" min="0" max="5" value="0"></label>'
        '<output id="erased" for="erase"></output></div>'
        '<div id="views"></div></section>'
        f'<script id="data" type="application/json">{data}</script>'
    )
