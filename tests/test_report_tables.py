"""The tables of the README are those of the committed records, and agree with the report's."""

import re
import statistics
from functools import cache

import pytest

from course_kit.research import report
from course_lib.files import REPOSITORY
from course_lib.runs.records import load_records

pytestmark = pytest.mark.full  # committed records

frame = cache(report.tidy)  # of all committed records, read once


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


def test_what_attention_is_worth_is_what_the_raw_records_say():
    """Each column counted again from the records' own numbers."""
    table = report.sanet_worth_table(["ag_news", "amazon_full"]).splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in table]
    rows = {name: values for name, *values in cells}
    records = {record["id"]: record for record in load_records()}
    for place, (dataset, paper) in enumerate({"ag_news": "16.2", "amazon_full": "73.5"}.items()):
        runs, bare = (
            [records[f"sanet-{dataset}-{preset}-s{seed}"] for seed in range(3)]
            for preset in ("base", "baseline-base")
        )

        def mean(group, *keys):
            values = [100 * float(_at(record, keys)) for record in group]
            return f"{statistics.mean(values):.1f} ± {statistics.stdev(values):.1f}"

        assert rows["accuracy with attention"][place] == mean(runs, "test", "accuracy")
        assert rows["accuracy without"][place] == mean(bare, "test", "accuracy")
        trained = mean(runs, "attention", "trained", "diagonality 3")
        assert rows["weight within 3 words, trained"][place] == trained
        untrained = mean(runs, "attention", "untrained", "diagonality 3")
        assert cells[8][1 + place] == untrained and cells[10][1 + place] == paper
        uniform = runs[0]["attention"]["trained"]["uniform diagonality 3"]
        assert cells[9][1 + place] == f"{100 * uniform:.1f}"


def _at(record, keys):
    for key in keys:
        record = record[key]
    return record
