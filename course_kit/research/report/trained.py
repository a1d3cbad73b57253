"""What the trained tests found: tables and pictures from their records."""

import json
import statistics
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from course_kit.research.trained_tests import protocols
from course_kit.research.trained_tests.trained_record import TESTS, record_path
from course_lib.views import plots

Records = dict[str, dict[str, Any]]  # by the name of the test and what it was made on
NONE_YET = "No trained test is recorded yet: `attention-course trained-tests NAME` makes one."


def trained_records(folder: Path | None = None) -> Records:
    """The committed records by ``TEST-ON``; empty if there are none."""
    folder = folder or record_path("", "").parent
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.json"))
    }


def trained_table(test: str, records: Records | None = None) -> str:
    """All figures of a test as a markdown table, a row for each line of each record: the mean over
    seeds and texts with its 95 % interval over texts, and ± the standard deviation over seeds.

    ``ValueError`` for a test that there is not. Instead of a table, a sentence where nothing is
    recorded.
    """
    if test not in TESTS:
        raise ValueError(f"no trained test {test!r}; there are: {', '.join(TESTS)}")
    records = trained_records() if records is None else records
    found = [record for record in records.values() if record["test"] == test]
    if not found:
        return NONE_YET
    names = list(dict.fromkeys(name for each in found for line in each["lines"].values()
                               for name in line))  # fmt: skip
    heads = " | ".join(map(_escaped, names))
    rows = [f"| on | network | {heads} |", "|---|---" + "|---:" * len(names) + "|"]
    for record in found:
        on = f"`{record['on']}`, {_seeds(record)}"
        for line, figures in record["lines"].items():
            cells = [_cell(figures.get(name)) for name in names]
            rows.append(f"| {on} | {_escaped(line)} | {' | '.join(cells)} |")
    return "\n".join(rows)


def roar_figure(on: str, records: Records | None = None) -> Figure:
    """Test accuracy over the share of words that were removed before each training, a curve for
    each ranking, with 95 % intervals over texts.

    ``ValueError`` lists what is recorded if that is not.
    """
    record = _record("roar", on, records)
    curves = {
        ranker: {
            100 * share: _interval(
                record["lines"][protocols.roar_line(ranker, share)][protocols.ACCURACY]
            )
            for share in (0.0, *protocols.SHARES)
        }
        for ranker in protocols.RANKERS
    }
    last = 100 * protocols.SHARES[-1]
    title = (
        f"{on}: trained without {last:.0f} % of the words, those that attention\nranks first, "
        f"networks are right in {curves[protocols.ATTENTION][last][0]:.0%}; without random ones in "
        f"{curves[protocols.RANDOM][last][0]:.0%}"
    )
    return plots.curves_with_intervals(
        curves, "words masked before training, % of each text", "test accuracy", title
    )


def adversary_figure(on: str, records: Records | None = None) -> Figure:
    """How far predictions (TVD) and attention (JSD) of each adversary and each other network are
    from the base's, with 95 % intervals over texts.

    ``ValueError`` lists what is recorded if that is not.
    """
    lines = _record("adversary", on, records)["lines"]
    points = {
        name: (_interval(figures[protocols.DIVERGENCE]), _interval(figures[protocols.VARIATION]))
        for name, figures in lines.items()
    }
    near = points["the base, another seed"]
    taught = [name for name in points if name.startswith("adversary")]
    # the gentlest of those that attend further away than another seed
    name = next((name for name in taught if points[name][0][1] > near[0][2]), taught[-1])
    far = points[name]
    title = (
        f"{on}: an {name}, attends elsewhere (JSD {far[0][0]:.2f}, another seed "
        f"{near[0][0]:.2f})\nand its predictions differ by {far[1][0]:.2f} (another seed "
        f"{near[1][0]:.2f})"
    )
    return plots.trade_off(
        {name: place for name, place in points.items() if name != "the base network"},
        "Jensen-Shannon divergence of the attention from the base's",
        "TVD of the predictions",
        title,
    )


def _record(test: str, on: str, records: Records | None) -> dict[str, Any]:
    records = trained_records() if records is None else records
    found = {record["on"]: record for record in records.values() if record["test"] == test}
    if on not in found:
        raise ValueError(
            f"{test} is not recorded on {on!r}; there are: {', '.join(found) or 'none yet'}"
        )
    return found[on]


def _interval(mean: dict[str, Any]) -> tuple[float, float, float]:
    return mean["mean"], mean["low"], mean["high"]


def _seeds(record: dict[str, Any]) -> str:
    count = len(record["seeds"])
    return f"{count} seed{'s' * (count != 1)}"


def _cell(mean: dict[str, Any] | None) -> str:
    if mean is None or mean["mean"] is None:
        return "–"
    seeds = [value for value in mean["by_seed"] if value is not None]
    spread = f" ± {statistics.stdev(seeds):.3f}" if len(seeds) > 1 else ""
    return f"{mean['mean']:.3f} [{mean['low']:.3f}, {mean['high']:.3f}]{spread}"


def _escaped(text: str) -> str:
    """A vertical bar would end the cell."""
    return text.replace("|", r"\|")
