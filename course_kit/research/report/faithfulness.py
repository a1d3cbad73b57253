"""Whether recorded networks use the words that their attention weighs: tables and a picture."""

import json
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from course_kit.research.faithfulness.erasure_record import MEASURES, RANDOM, REMOVALS
from course_kit.research.faithfulness.faithfulness_run import ATTENTION, study_path
from course_lib.views import plots

Records = dict[str, dict[str, Any]]
NONE_YET = "No network has been tested yet: `attention-course faithfulness NAME` does it."
BETTER = {"comprehensiveness": "higher is better", "sufficiency": "lower is better"}


def faithfulness_records(folder: Path | None = None) -> Records:
    """The committed records by the id of their network; empty if there are none."""
    folder = folder or study_path("", "faithfulness").parent
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.json"))
    }


def faithfulness_table(removal: str = "deletion", records: Records | None = None) -> str:
    """Every ranking of every network as a markdown table: the AOPC of comprehensiveness and
    sufficiency with their 95 % intervals, by how much they exceed the random ranking's, normalised,
    and the share of words removed until the decision flips; the most comprehensive ranking first.

    Words are removed by ``"deletion"`` or ``"masking"``, else ``ValueError``. Instead of a table, a
    sentence where nothing is recorded.
    """
    if removal not in REMOVALS:
        raise ValueError(f"removal takes one of {', '.join(REMOVALS)}, got {removal!r}")
    records = faithfulness_records() if records is None else records
    columns = [
        column for measure in MEASURES for column in (measure, "− random", "normalised (texts)")
    ]
    rows = [
        f"| network | ranking | {' | '.join(columns)} | words to flip |",
        "|---|---" + "|---:" * (len(columns) + 1) + "|",
    ]
    for name, record in records.items():
        found = record["removals"][removal]
        for ranking in _ranked(found):
            cells = []
            for measure in MEASURES:
                figures = found[measure]["rankings"][ranking]
                own = ranking == RANDOM
                cells += [
                    cell(figures["aopc"]),
                    "–" if own else cell(figures["minus_random"]),
                    _normalised(figures["normalised"]),
                ]
            cells.append(cell(found["words_to_flip"][ranking]))
            network = f"`{name}`, {record['texts']} texts"
            rows.append(f"| {network} | {ranking} | {' | '.join(cells)} |")
    return "\n".join(rows) if records else NONE_YET


def faithfulness_overview(records: Records | None = None) -> str:
    """One row for each network: what attention finds by deletion, beside random words and the best
    of the other rankings, its normalised area, and which rankings agree; as a markdown table, or a
    sentence where nothing is recorded.

    Normalised areas are of those short texts alone whose limits are exact or by a beam search, with
    their number in parentheses.
    """
    records = faithfulness_records() if records is None else records
    heads = [
        f"{measure}: {what}"
        for measure in MEASURES
        for what in ("attention", "random", "best other")
    ]
    heads += ["normalised: attention", "random", "τ attention–gradient", "τ gradient–leave-one-out",
              "words to flip: attention", "random"]  # fmt: skip
    rows = [f"| network | {' | '.join(heads)} |", "|---" + "|---:" * len(heads) + "|"]
    for name, record in records.items():
        found, pairs = record["removals"]["deletion"], record["kendall"]
        cells = []
        for measure, best in (("comprehensiveness", max), ("sufficiency", min)):
            areas = {r: f["aopc"] for r, f in found[measure]["rankings"].items()}
            others = [r for r in areas if not r.startswith((ATTENTION, RANDOM))]
            other = best(others, key=lambda ranking: areas[ranking]["mean"])
            cells += [
                cell(areas[ATTENTION]),
                cell(areas[RANDOM]),
                f"{cell(areas[other])} ({other})",
            ]
        exact = [
            found["comprehensiveness"]["rankings"][ranking]["normalised"].get("exact or beam")
            for ranking in (ATTENTION, RANDOM)
        ]
        cells += [cell(mean) + (f" ({mean['counted']})" if mean else "") for mean in exact]
        for pair in ("attention–gradient", "gradient–leave-one-out, deletion"):
            cells.append(cell(pairs.get(pair)))
        cells += [cell(found["words_to_flip"][ranking]) for ranking in (ATTENTION, RANDOM)]
        rows.append(f"| `{name}`, {record['texts']} texts | {' | '.join(cells)} |")
    return "\n".join(rows) if records else NONE_YET


def agreement_table(records: Records | None = None) -> str:
    """Kendall's τ of pairs of rankings with its 95 % interval, a row a network, as a markdown
    table; a sentence where nothing is recorded."""
    records = faithfulness_records() if records is None else records
    if not records:
        return NONE_YET
    pairs = list(dict.fromkeys(pair for record in records.values() for pair in record["kendall"]))
    rows = [f"| network | {' | '.join(pairs)} |", "|---" + "|---:" * len(pairs) + "|"]
    for name, record in records.items():
        cells = [cell(record["kendall"].get(pair)) for pair in pairs]
        rows.append(f"| `{name}`, {record['texts']} texts | {' | '.join(cells)} |")
    return "\n".join(rows)


def faithfulness_figure(name: str, records: Records | None = None) -> Figure:
    """Comprehensiveness and sufficiency (AOPC) of every ranking of a network, with 95 % intervals,
    by deletion and by masking; the most comprehensive first.

    ``ValueError`` lists what is recorded if that network is not.
    """
    records = faithfulness_records() if records is None else records
    if name not in records:
        raise ValueError(
            f"{name!r} has no record of faithfulness; there are: {', '.join(records) or 'none yet'}"
        )
    removals, texts = records[name]["removals"], records[name]["texts"]
    panels = {
        f"{measure}, {BETTER[measure]}": {
            f"by {removal}": {
                ranking: tuple(figures["aopc"][part] for part in ("mean", "low", "high"))
                for ranking, figures in removals[removal][measure]["rankings"].items()
            }
            for removal in REMOVALS
        }
        for measure in MEASURES
    }
    rows = _ranked(removals["deletion"])
    costs = removals["deletion"]["comprehensiveness"]["rankings"]
    attention, random = (costs[ranking]["aopc"]["mean"] for ranking in (ATTENTION, RANDOM))
    title = (
        f"{name}, {texts} texts: deleting the words that attention ranks first\n"
        f"costs {attention:.2f} of the probability, random words {random:.2f}"
    )
    return plots.means_with_intervals(panels, rows, "AOPC: mean, 95 % interval", title)


def _ranked(found: dict[str, Any]) -> list[str]:
    """The rankings of a record's part of one removal, the most comprehensive first."""
    rankings = found["comprehensiveness"]["rankings"]
    return sorted(rankings, key=lambda ranking: -rankings[ranking]["aopc"]["mean"])


def cell(mean: dict[str, Any] | None) -> str:
    """A recorded mean with its interval; "–" where there is none."""
    if mean is None or mean["mean"] is None:
        return "–"
    return f"{mean['mean']:.2f} [{mean['low']:.2f}, {mean['high']:.2f}]"


def _normalised(by_limit: dict[str, dict[str, Any]]) -> str:
    """The means apart by how the limits were found, each with its number of texts."""
    parts = [
        f"{mean['mean']:.2f} ({mean['counted']}, {how})"
        for how, mean in by_limit.items()
        if mean["mean"] is not None
    ]
    return "; ".join(parts) or "–"
