"""What the papers left open: each changed network beside the one it changes."""

import json
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from course_kit.research.report.differences import difference, judged, validation_difference
from course_kit.research.report.figures import band_by_size
from course_kit.research.report.frames import (
    COMPARISONS,
    NAMES,
    Record,
    Records,
    accuracy_of,
    group_of,
    mean_std,
    tidy,
    to_markdown,
)
from course_lib.runs.records import RESULTS, kept_accuracy
from course_lib.runs.spec import RunSpec
from course_lib.views import plots
from course_lib.views.colours import ACCENT, INK, MUTED, SECOND

FOLDER = RESULTS / "extensions"
EXTENSIONS = COMPARISONS["extensions"]
BANDS = COMPARISONS["bands"]
VARIANTS = {"distances up to 5": {"model.relative": 5}, "two heads, mean": {"model.heads": 2}}
OF_READINGS = {
    "important": "on important words",
    "repeated": "on repeats",
    "by_chance": "by chance",
    "much": "texts with more than a tenth on repeats",
}


def _by_seed(frame: pd.DataFrame, spec: dict[str, Any]) -> dict[int, Record]:
    """The records of all seeds of a run."""
    rows = frame[frame.group == group_of(RunSpec(**spec))]
    return dict(zip(rows.seed, rows.record, strict=True))


def _changed(spec: dict[str, Any], overrides: dict[str, Any], **others: Any) -> dict[str, Any]:
    return spec | others | {"overrides": spec.get("overrides", {}) | overrides}


def extensions_table(records: Records = None) -> str:
    """Accuracies in % before and after each change as a markdown table, over the seeds that both
    have, with ``difference``'s interval and reading.

    Where the changed runs left the test texts unread, the accuracies are those of the validation
    texts, which chose the epochs.
    """
    frame, rows = tidy(records), []
    for extension in EXTENSIONS:
        before, after = (_by_seed(frame, extension[side]) for side in ("before", "changed"))
        both = sorted(before.keys() & after.keys())
        sides = [[runs[seed] for seed in both] for runs in (before, after)]
        cells, gap = [None, None], None
        tested = all("test" in record for side in sides for record in side)
        if both:
            share = accuracy_of if tested else kept_accuracy
            cells = [mean_std(list(map(share, side)), 100) for side in sides]
            gap = (difference if tested else validation_difference)(*reversed(sides))
        told, test, reading = judged(gap)
        told = told and f"{told} ({test if tested else 'validation'})"
        named = [extension["network"], extension["change"], NAMES[extension["changed"]["dataset"]]]
        rows.append([*named, *cells, told, reading])
    heads = ["network", "change", "dataset", "before", "after", "difference", "reading"]
    return to_markdown(heads, rows, "lllrrl")


def extension_records(folder: Path | None = None) -> dict[str, Record]:
    """What the readings of extended networks recorded, by the id of the run."""
    paths = sorted((folder or FOLDER).glob("*.json"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def repeats_table(records: dict[str, Record] | None = None) -> str:
    """HANs' attention on important words and on repeats of them, in % of all attention, mean over
    test texts [95 % interval] of each run, as a markdown table."""
    records = extension_records() if records is None else records
    names = [name for name, record in records.items() if "repeats" in record]
    rows = []
    for name in sorted(names, key=lambda name: (len(name), name)):  # without a change comes first
        found = [records[name]["repeats"][figure] for figure in OF_READINGS]
        shares = [[100 * one[part] for part in ("mean", "low", "high")] for one in found]
        rows.append([name, *("{:.1f} [{:.1f}, {:.1f}]".format(*share) for share in shares)])
    return to_markdown(["run", *OF_READINGS.values()], rows, "lr")


def halting_table(records: Records = None) -> str:
    """IRAMs that halt themselves beside those of a fixed number of steps on the same three epochs:
    validation accuracy in % and steps taken, as a markdown table."""
    frame, rows = tidy(records), []
    halting = [extension for extension in EXTENSIONS if extension["network"] == "IRAM"]
    fixed = {
        f"{n}, fixed": _changed(halting[0]["before"], {"model.steps": n}) for n in (1, 2, 3, 5)
    }
    for title, spec in (fixed | {each["change"]: each["changed"] for each in halting}).items():
        if record := _by_seed(frame, spec).get(0):
            taken = record.get("attention", {}).get("trained", {}).get("steps taken")
            steps = title.partition(",")[0] if title in fixed else f"{taken:.2f}"
            rows.append([title, f"{100 * kept_accuracy(record):.1f}", steps])
    return to_markdown(["steps", "validation accuracy", "steps taken"], rows, "lr")


def halting_figure(record: Record) -> Figure:
    """Steps taken over the texts' lengths, with and without a negator, with 95 % intervals; of a
    record of ``extension_records``."""
    quarters = record["steps"]["by_length"]
    figure, axes = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
    for colour, which, shift in ((ACCENT, "without", -0.06), (SECOND, "with", 0.06)):
        found = pd.DataFrame([quarter[which] for quarter in quarters])
        bounds = [found["mean"] - found["low"], found["high"] - found["mean"]]
        places = [place + shift for place in range(len(found))]
        look = {"fmt": "o-", "color": colour, "label": f"{which} a negator"}
        axes.errorbar(places, found["mean"], yerr=bounds, **look)
    longest = [0, *(quarter["longest"] for quarter in quarters)]
    axes.set_xticks(range(len(quarters)), [f"{a + 1}–{b}" for a, b in pairwise(longest)])
    axes.set(xlabel="words in the sentence", ylabel="steps taken", title="Steps over length")
    axes.legend()
    return figure


def band_table(records: Records = None, bandwidth: int = 3) -> str:
    """Diagonality in % of SANets that know distances or have two heads, in brackets before
    training, beside the plain ones of the same training and uniform attention, as a markdown table;
    of seed 0."""
    frame, rows = tidy(records), []
    for title, plain in BANDS.items():
        variants = (_changed(plain, change, system="near_sanet") for change in VARIANTS.values())
        found = [_by_seed(frame, spec).get(0) for spec in (plain, *variants)]
        if found[0]:
            uniform = found[0]["attention"]["trained"][f"uniform diagonality {bandwidth}"]
            cells = [_of_heads(record, bandwidth) for record in found]
            rows.append([title, f"{100 * uniform:.1f}", *cells])
    heads = ["training", "uniform", "SANet", "biases for distances up to 5", "two heads, each"]
    return to_markdown(heads, rows, "lr")


def band_figure(records: Records = None, bandwidth: int = 3) -> Figure:
    """Diagonality over the number of IMDb reviews that SANet was trained on, as in lesson 04, with
    a line for the SANet that knows distances and one for the mean of two heads; of seed 0."""
    frame = tidy(records)
    points = band_by_size(frame, bandwidth=bandwidth)
    figure = plots.band_curve(points, f"% of weight within {bandwidth} words")
    axis = figure.axes[0]
    plain = [spec for spec in BANDS.values() if spec["dataset"] == "imdb"]
    for (title, change), look, colour in zip(
        VARIANTS.items(), ("^-", "v-"), (MUTED, INK), strict=True
    ):
        specs = (_changed(spec, change, system="near_sanet") for spec in plain)
        found = [record for spec in specs if (record := _by_seed(frame, spec).get(0))]
        sizes = [record["sizes"]["train"] for record in found]
        shares = [100 * mean(_by_head(record, "trained", bandwidth)) for record in found]
        axis.plot(sizes, shares, look, color=colour, label=title)
    axis.set(title="IMDb: neither distances nor heads bring a band", ylim=(0, 6))
    axis.legend(ncols=2)
    return figure


def _by_head(record: Record, state: str, bandwidth: int) -> list[float]:
    """A record's diagonality, of each head where there are several."""
    figures, name = record["attention"][state], f"diagonality {bandwidth}"
    names = [name] if name in figures else [f"head {head} {name}" for head in (1, 2)]
    return [figures[name] for name in names]


def _of_heads(record: Record | None, bandwidth: int) -> str | None:
    """The diagonality of the trained attention, and in brackets of the untrained, in %."""
    if record is None:
        return None
    both = (_by_head(record, state, bandwidth) for state in ("trained", "untrained"))
    return ", ".join(f"{100 * one:.1f} ({100 * other:.1f})" for one, other in zip(*both))


def order_table(records: Records = None) -> str:
    """Into how many phrases, runs of neighbouring words, the words fall that AGTs select of SST-5's
    test sentences (relaxed reading, mean over the layers): trained, untrained, and if as many words
    stood anywhere; of seed 0."""
    frame, rows = tidy(records), []
    ordered = [extension for extension in EXTENSIONS if extension["network"] == "AGT"]
    specs = {"AGT": ordered[0]["before"]} | {each["change"]: each["changed"] for each in ordered}
    columns = {"words selected": "trained relaxed selected", "phrases": "trained relaxed phrases",
               "untrained": "untrained relaxed phrases",
               "by chance": "trained relaxed phrases by chance"}  # fmt: skip
    for title, spec in specs.items():
        found = frame[(frame.group == group_of(RunSpec(**spec))) & (frame.seed == 0)]
        rows += [[title, *(f"{mean(row[name]):.2f}" for name in columns.values())]
                 for row in found.to_dict("records")[-1:]]  # fmt: skip
    return to_markdown(["network", *columns], rows, "lr")
