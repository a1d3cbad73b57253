"""Every table and figure of the committed records is the one under snapshots/report.

After a change that means to alter one or its records: ``UPDATE_SNAPSHOTS=1 pytest`` this file,
and read the difference before it is committed.
"""

import os
import re
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from course_kit.research import minilm, report
from course_lib.files import REPOSITORY
from course_lib.runs.records import load_records

pytestmark = pytest.mark.full  # committed records

SNAPSHOTS = Path(__file__).parent / "snapshots" / "report"
VANILLA, PAPER = ("iram", "vanilla"), ("agt", "paper")
OF_RECORDS = {
    "ablation": report.ablation_table,
    "ablation of replica": lambda r: report.ablation_table(r, "replica_ablation"),
    "contrasts": report.contrasts_table,
    "baselines": lambda r: report.baselines_table(report.baselines(r, {"sst5": PAPER})),
    "contrasts with film vectors": lambda r: report.contrasts_table(r, film=True),
    "extensions": report.extensions_table,
    "gaps": report.gaps_table,
    "imdb": report.imdb_table,
    "optimisers": report.optimiser_table,
    "papers": report.papers_table,
    "replica": report.replica_table,
    "replica changes": report.replica_changes_table,
    "sanet attention": report.sanet_attention_table,
    "sweep of penalties": lambda r: report.sweep_table(
        "γ",
        report.sweep("model.penalty", {"model.steps": 3}, VANILLA, "sst2", r),
        report.planned_values("iram_gamma", "model.penalty"),
    ),
    "sweep of steps": lambda r: report.sweep_table(
        "T", report.steps_sweep(0.1, VANILLA, "sst2", r), [1, 2, 9]
    ),
}
OTHERS = {
    "adversaries": report.adversaries_table,
    "four tests": report.four_tests_table,
    "best other rankings": report.best_table,
    "signs": report.signs_table,
    "levels": report.levels_table,
    "lexicon": report.lexicon_table,
    "minilm rankings": minilm.battery_table,
    "minilm signs": minilm.signs_table,
    "rankings": report.rankings_table,
    "removals": report.roar_table,
    "sanity checks": report.sanity_table,
    "shuffles": report.shuffles_table,
}
FIGURES = {
    "bands": lambda r: report.band_curve(report.band_by_size(r), "%"),
    "implied lengths": lambda r: report.implied_figure(),
    "losses": lambda r: report.losses_figure(dict(zip("ab", report.seeds_of(r, *PAPER, "sst5")))),
    "phrases": report.composition_figure,
    "steps": lambda r: report.steps_panels(
        {"T": report.steps_sweep(0.1, VANILLA, "sst2", r)}, "steps", "", accuracy=(0.5, 1)
    ),
    "adversaries": lambda r: report.adversary_figure("planted"),
    "removals": lambda r: report.roar_figure("planted"),
}
frame = cache(report.tidy)  # of all committed records, read once


def is_its_snapshot(name, text):
    path = SNAPSHOTS / f"{name.replace(' ', '-')}.md"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*OF_RECORDS, *OTHERS])
def test_a_table_is_its_snapshot(name):
    is_its_snapshot(name, OF_RECORDS[name](frame()) if name in OF_RECORDS else OTHERS[name]())


def drawn(figure):
    """What the axes of a figure show: titles, ticks with names, lines, bars and words."""
    for axis in figure.axes:
        yield f"## {axis.get_title() or axis.get_title('left')}"
        yield f"{axis.get_xlabel()} × {axis.get_ylabel()}"
        yield from (repr(text.get_text()) for text in axis.texts)
        for line in axis.lines:
            points = zip(line.get_xdata(), line.get_ydata(), strict=True)
            label = line.get_label().partition("_")[0] or "line"  # matplotlib's own begin with _
            yield f"{label}: {', '.join(f'{x:g} {y:.4g}' for x, y in points)}"
        yield from (f"bar {bar.get_x():.4g} {bar.get_width():.4g}" for bar in axis.patches)
    plt.close(figure)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_shows_what_its_snapshot_says(name):
    is_its_snapshot(f"figure {name}", "\n".join(drawn(FIGURES[name](frame()))))


@pytest.mark.parametrize("name", report.TABLES)
def test_the_readme_shows_exactly_what_the_records_hold(name):
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    shown = text.split(f"<!-- table: {name} -->\n")[1].split("\n<!-- end of table -->")[0]
    assert shown == report.TABLES[name]()


def test_the_readmes_first_finding_has_its_rows():
    first, rows = report.findings().split("\n")[0], report.short_table().split("\n")[2:]
    assert all(f"| {n} " in "".join(rows) for n in re.findall(r"\d+\.\d(?= %)", first))
    assert all(" seed" in row.split("|")[3] for row in rows)


def test_the_readmes_tally_counts_the_verdicts_of_page_one():
    rows = [row.strip("| ").split(" | ") for row in report.verdicts_table().splitlines()]
    parts = report.claims_table(frame()).split("\n\n**")
    assert len(rows) - 2 == len(parts) == 8
    for (paper, total, *counts), part in zip(rows[2:], parts, strict=True):
        assert part.lstrip("*").startswith(paper)
        shown = [part.count(f"| **{verdict}** |") for verdict in rows[0][2:]]
        assert shown == list(map(int, counts)) and sum(shown) == int(total)


def test_page_two_names_the_claims_of_page_one_with_their_verdicts():
    first, second = (
        part(frame()).split("\n\n**") for part in (report.claims_table, report.every_claim_table)
    )
    for one, two in zip(first[: len(second)], second, strict=True):
        rows = [row.strip("| ").split(" | ") for row in one.splitlines() if row.startswith("| ")]
        assert all(f"{claim} ({verdict})" in two for claim, verdict, _ in rows[1:])
        others = two.count("\n| ") - 1
        assert f"**, {len(rows) - 1 + others} claims." in two and others > 8


def test_writing_the_readme_changes_the_table_and_nothing_else(tmp_path):
    path = tmp_path / "README.md"
    path.write_text("before\n<!-- table: papers -->\nold\n<!-- end of table -->\nafter\n")
    report.write_readme(path)
    assert path.read_text(encoding="utf-8") == (
        f"before\n<!-- table: papers -->\n{report.short_table()}\n<!-- end of table -->\nafter\n"
    )


def test_a_finding_that_the_records_no_longer_hold_is_refused():
    records = load_records()
    for made in records:
        if made["spec"]["system"] == "han" and "test" in made:
            made["test"]["accuracy"] -= 0.02
            made.pop("predictions", None)  # else the texts are compared, one by one
    with pytest.raises(ValueError, match="no longer say that HAN and TF-IDF are level"):
        report.findings(records)
