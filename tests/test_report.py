"""Tables come from records, and the README's is the one that the records make."""

import json

import pytest

from course_lib import report
from course_lib.experiments import load_records


def record(seed, accuracy, **settings):
    base = {"max_sentences": 7, "max_words": 30, "hops": 1, "penalty": 0.0}
    return {
        "spec": {"system": "han", "seed": seed},
        "settings": base | settings,
        "data": {"subset": False},
        "share_of_words_kept": 0.47,
        "epochs": [{"seconds": 10.0}, {"seconds": 12.0}],
        "test": {"accuracy": accuracy, "f1": 0.8, "auc": 0.9},
    }


def test_seeds_share_a_row_with_mean_and_spread_and_other_settings_do_not():
    table = report.imdb_table([record(0, 0.85), record(1, 0.87), record(0, 0.91, max_words=50)])
    rows = table.split("\n")
    assert len(rows) == 5
    assert "| 86.0 ± 1.4 |" in rows[3] and "| 7 × 30 | 47% | 2 |" in rows[3]
    assert "| 91.0 |" in rows[4] and "| 7 × 50 |" in rows[4]
    assert "| 22 s |" in rows[3]


def test_subsets_and_runs_without_a_test_are_never_quoted():
    small = record(0, 0.99)
    small["data"]["subset"] = True
    unread = record(1, 0.98)
    del unread["test"]
    assert report.grouped([small, unread]) == []


def test_the_readme_shows_exactly_what_the_records_hold():
    text = (report.REPOSITORY / "README.md").read_text(encoding="utf-8")
    shown = text.split("<!-- results:begin -->\n")[1].split("\n<!-- results:end -->")[0]
    assert shown == report.imdb_table()


def test_writing_the_readme_changes_the_table_and_nothing_else(tmp_path):
    path = tmp_path / "README.md"
    path.write_text("before\n<!-- results:begin -->\nold\n<!-- results:end -->\nafter\n")
    report.write_readme(path)
    assert path.read_text(encoding="utf-8") == (
        f"before\n<!-- results:begin -->\n{report.imdb_table()}\n<!-- results:end -->\nafter\n"
    )


@pytest.mark.parametrize("made", load_records(), ids=lambda made: made["id"])
def test_committed_records_say_where_they_come_from(made):
    assert made["environment"]["commit"] not in ("", "unknown")
    assert "dirty" not in made["environment"]["commit"]
    assert len(made["data"]["content"]) == 64
    assert {"seed", "threads", "device"} <= set(made["spec"])
    json.dumps(made, allow_nan=False)
