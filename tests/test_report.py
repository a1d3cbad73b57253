"""Tables come from records, and the README's is the one that the records make."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from course_kit.research import report
from course_kit.research.grid.groups import read_grid
from course_lib.files import REPOSITORY
from course_lib.metrics.attention import uniform_diagonality
from course_lib.runs.records import KEPT_EPOCH, load_records
from course_lib.runs.spec import RunSpec
from course_lib.views.heatmap import AttentionHeatmap


def by_address(changes):
    """``{"model.hops": 3}`` for ``model__hops=3``."""
    return {name.replace("__", "."): value for name, value in changes.items()}


def nested(*flat):
    """Settings by part, the later ones winning, from settings by address."""
    settings = {"text": {}, "model": {}, "training": {}, "control": {}}
    flat = ({"control.attention_weights": "learned"}, *flat)
    for address, value in (item for changes in flat for item in changes.items()):
        part, _, name = address.partition(".")
        settings[part][name] = value
    return settings


def record(seed, accuracy, **changes):
    base = {"text.max_sentences": 7, "text.max_words": 30, "text.vectors": "glove.6B.50d",
            "model.hops": 1, "model.penalty": 0.0}  # fmt: skip
    return {
        "spec": {"system": "han", "dataset": "imdb", "seed": seed},
        "settings": nested(base, by_address(changes)),
        "data": {"subset": False},
        "share_of_words_kept": 0.47,
        "epochs": [{"seconds": 10.0}, {"seconds": 12.0}],
        "test": {"accuracy": accuracy, "f1": 0.8, "auc": 0.9},
    }


def test_seeds_share_a_row_with_mean_and_spread_and_other_settings_do_not():
    table = report.imdb_table(
        [record(0, 0.85), record(1, 0.87), record(0, 0.91, text__max_words=50)]
    )
    rows = table.split("\n")
    assert len(rows) == 5
    assert "| 86.0 ± 1.4 |" in rows[3] and "| 7 × 30 | 47% | 2 |" in rows[3]
    assert "| 91.0 |" in rows[4] and "| 7 × 50 |" in rows[4]
    assert "| 22 s |" in rows[3]


def test_a_row_says_which_texts_a_figure_is_of_and_which_vectors_a_network_reads():
    rows = report.imdb_table([record(0, 0.91, text__vectors="reviews.100d")]).split("\n")
    assert "split that it does not name" in rows[2] and "≈ 85" in rows[2]
    assert rows[3].startswith("| HAN, film vectors |")
    assert "| 85 (split not named) |" in report.papers_table([]).split("\n")[2]
    assert "not named" not in report.papers_table([], ["AGT"])


def test_subsets_and_runs_without_a_test_are_never_quoted():
    small = record(0, 0.99)
    small["data"]["subset"] = True
    unread = record(1, 0.98)
    del unread["test"]
    assert report.grouped([small, unread]) == []


@pytest.mark.parametrize("name", report.TABLES)
def test_the_readme_shows_exactly_what_the_records_hold(name):
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    shown = text.split(f"<!-- table: {name} -->\n")[1].split("\n<!-- end of table -->")[0]
    assert shown == report.TABLES[name]()


def test_writing_the_readme_changes_the_table_and_nothing_else(tmp_path):
    path = tmp_path / "README.md"
    path.write_text("before\n<!-- table: papers -->\nold\n<!-- end of table -->\nafter\n")
    report.write_readme(path)
    assert path.read_text(encoding="utf-8") == (
        f"before\n<!-- table: papers -->\n{report.short_table()}\n<!-- end of table -->\nafter\n"
    )


@pytest.mark.parametrize("made", load_records(), ids=lambda made: made["id"])
def test_committed_records_say_where_they_come_from(made):
    assert made["environment"]["commit"] not in ("", "unknown")
    assert "dirty" not in made["environment"]["commit"]
    assert len(made["data"]["content"]) == 64
    assert {"seed", "threads", "device"} <= set(made["spec"])
    json.dumps(made, allow_nan=False)


def sanet_record(seed=0, dataset="ag_news", preset="base", accuracy=0.88, subset=True, **overrides):
    figures = {"gini": 0.9, "gini normalised": 0.92}
    figures |= {f"diagonality {b}": b / 20 for b in range(1, 6)}
    figures |= {f"uniform diagonality {b}": b / 25 for b in range(1, 6)}
    made = {
        "spec": {"system": "sanet", "dataset": dataset, "preset": preset, "seed": seed,
                 "limit": None, "overrides": by_address(overrides)},
        "settings": nested({"text.vectors": "glove.6B.50d"}, by_address(overrides)),
        "data": {"subset": subset},
        "test": {"accuracy": accuracy},
    }  # fmt: skip
    if preset == "base":
        made["attention"] = {"trained": figures, "untrained": figures | {"gini": 0.6}}
    return made


def cells(table, start):
    line = next(line for line in table.split("\n") if line.startswith(start))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_missing_run_is_shown_as_missing():
    table = report.sanet_error_table([])
    ours = [line for line in table.split("\n") if ", ours**" in line]
    assert len(ours) == len(report.OUR_MODELS)
    for line in ours:
        assert line.count("–") == len(report.ZHANG) + 1 and not any(map(str.isdigit, line))
    attention = report.sanet_attention_table([])
    assert attention.count("ours** | – |") == len(report.ZHANG) + 1


@pytest.mark.parametrize("weights", ["uniform", "untrained"])
def test_freeze_controls_have_no_row_in_the_tables_of_models(weights):
    control = {"control__attention_weights": weights}
    assert report.grouped([record(0, 0.99, **control)]) == []
    frozen = [sanet_record(**control), sanet_record(text__vectors="glove.6B.300d", **control)]
    assert report.sanet_error_table(frozen) == report.sanet_error_table([])


def test_errors_are_means_over_the_seeds_there_are_and_say_where_they_come_from():
    records = [sanet_record(0, accuracy=0.88), sanet_record(1, accuracy=0.90)]
    records += [sanet_record(0, dataset="imdb", subset=False, text__max_tokens=256)]
    ag, *others, imdb = cells(report.sanet_error_table(records), "| **SANet base")[1:]
    assert ag == "11.0 ± 1.4 (2 seeds, subset)" and imdb == "12.0 (1 seed)"
    assert set(others) == {"–"}
    assert "50-d vectors" in cells(report.sanet_error_table(records), "| **SANet base")[0]


@pytest.mark.parametrize(
    ("vectors", "says"),
    [
        ("none", "no vectors"),
        ("glove.6B.300d", "300-d vectors"),
        ("glove.840B.300d", "300-d vectors (glove.840B)"),
        ("mine.50d.txt@0123456789ab", "7-d vectors (mine.50d.txt)"),
        ("glove.6B.100d+my.txt@0123456789ab", "100-d vectors + 7-d vectors (my.txt)"),
    ],
)
def test_runs_with_other_vectors_have_rows_that_name_them_and_their_width(vectors, says):
    found = [sanet_record(), *(sanet_record(seed, text__vectors=vectors) for seed in (0, 1))]
    found.append(sanet_record(text__vectors=vectors, model__hidden=9))
    for made in found:
        names = made["settings"]["text"]["vectors"].split("+")
        made["vectors"] = [{"name": name, "width": 7} for name in names]
    table = report.sanet_error_table(found)
    starts = [
        f"| **SANet base, {kind}, ours**" for kind in ("50-d vectors", says, f"{says}, hidden9")
    ]
    assert [cells(table, start)[1] for start in starts] == [
        "12.0 (1 seed, subset)", "12.0 ± 0.0 (2 seeds, subset)", "12.0 (1 seed, subset)"
    ]  # fmt: skip
    assert table.count(", ours**") == len(report.OUR_MODELS) + 2


def test_film_vectors_are_taken_away_and_nothing_else():
    film = {"text__vectors": "glove.6B.50d+imdb-cbow-300d-s0.npz@1", "model__scaled": True}
    plain = [sanet_record(seed, model__scaled=True) for seed in (0, 1)]
    others = [sanet_record(0), sanet_record(0, model__scaled=True, model__hidden=9)]
    others.append(sanet_record(0, model__scaled=True, text__vectors="none"))
    found = [sanet_record(0, **film), *plain, *others]
    for made in found:
        names = made["settings"]["text"]["vectors"].split("+")
        made["vectors"] = [{"name": name, "width": 7} for name in names]
    asked = "sanet", "base", "ag_news"
    assert report.without_film_vectors(found, *asked) == plain
    assert report.without_film_vectors(found[1:], *asked) == []  # nothing to compare with


def test_networks_with_film_vectors_are_compared_text_by_text():
    rows = report.film_contrasts_table().split("\n")[2:]
    assert len(rows) == 8
    for row in rows:
        *_, difference, test, _ = row.strip("| ").split(" | ")
        assert (difference == "–") or test.startswith("paired"), row
    assert "GloVe's vectors alone" in rows[-1]


def test_the_short_table_has_a_row_for_each_network_and_says_what_is_missing():
    han = [record(seed, accuracy) for seed, accuracy in ((0, 0.9), (1, 0.92))]
    for made in han:
        made["spec"] |= {"preset": "long", "limit": None, "overrides": {}}
    table = report.short_table([*han, sanet_record(accuracy=0.88)])
    assert cells(table, "| HAN, IMDb, cut to 25")[1:] == ["–", "91.0 ± 1.4 (2 seeds)", "–"]
    assert cells(table, "| SANet base, AG")[1:] == ["92.14", "88.0 (subset)", "–"]
    assert cells(table, "| AGT, SST-5")[1:] == ["50.5", "–", "–"]


def test_a_finding_that_the_records_no_longer_hold_is_refused():
    records = load_records()
    assert report.findings(records).count("\n- ") == 2
    for made in records:
        if made["spec"]["system"] == "han" and "test" in made:
            made["test"]["accuracy"] -= 0.02
    with pytest.raises(ValueError, match="no longer say that HAN and TF-IDF are level"):
        report.findings(records)


def test_each_change_stands_beside_the_first_run_and_missing_runs_are_left_out(monkeypatch):
    def spec(**overrides):
        return RunSpec("agt", "sst5", "paper", by_address(overrides), test=False)

    def kept(run, *accuracies):
        best = max(range(len(accuracies)), key=accuracies.__getitem__)
        epochs = [{"validation_accuracy": share} for share in accuracies]
        return {"id": run.id, "epochs": epochs, "best_epoch": best + 1}

    base, frozen, missing = spec(), spec(model__frozen=True), spec(training__learning_rate=0.1)
    again = replace(frozen, seed=1)
    monkeypatch.setattr(
        "course_kit.research.report.changes.read_grid",
        lambda: {"a": [base, missing], "b": [frozen, again], "both": [base, frozen]},
    )
    records = [kept(base, 0.40, 0.41), kept(frozen, 0.46, 0.45)]
    table = report.changes_table(["a", "b"], records).split("\n")
    assert table[2:4] == [
        "| none | 1 | 2 | 41.0 | – |",
        "| `model.frozen` = True | 1 | 1 | 46.0 | +5.0 |",
    ]
    assert table[4] == "" and "optimistic" in table[5]
    assert report.changes_table(["a", "b"], records[1:]).count("\n") == 3
    assert "bfloat16" not in table[5]
    both = report.changes_table(["a", "b"], [*records, kept(again, 0.40, 0.50)])
    assert "| `model.frozen` = True | 2 | 1, 2 | 48.0 ± 2.8 | +7.0 |" in both
    other_way = report.changes_table(["a"], records, first=frozen.id)
    assert (
        "| none | 1 | 1 | 46.0 | – |\n| `model.frozen` = False | 1 | 2 | 41.0 | -5.0 |" in other_way
    )
    records[1]["precision"] = "bf16"
    assert report.changes_table(["a", "b"], records).endswith("Trained: 1 of 2 in bfloat16.")
    other = RunSpec("agt", "sst5", "mean", {"training.batch_size": 9}, test=False)
    monkeypatch.setattr(
        "course_kit.research.report.changes.read_grid", lambda: {"a": [frozen, other]}
    )
    table = report.changes_table(["a"], [records[1], kept(other, 0.5)])
    assert "| `agt mean`, `training.batch_size` = 9, `model.frozen` = False | 1 |" in table


def test_a_waterfall_goes_on_where_the_last_change_ended_and_leaves_out_what_is_not_run(
    monkeypatch,
):
    monkeypatch.setattr(
        "course_kit.research.report.changes.STEPS",
        {"A": {"first": "a", "more": "b", "less": "c"}, "B": {"first": "d", "missing": "e"}},
    )
    records = [
        {"id": name, "epochs": [{"validation_accuracy": share}], "best_epoch": 1}
        for name, share in (("a", 0.5), ("b", 0.75), ("c", 0.7), ("d", 0.9))
    ]
    first, second = report.waterfall_figure([*records, {"id": "fitted"}]).axes
    bars = [(bar.get_x(), bar.get_width()) for bar in first.patches]
    assert bars == [pytest.approx(bar) for bar in ((0, 50), (50, 25), (75, -5))]
    assert [text.get_text() for text in first.texts] == ["50.0", "75.0  (+25.0)", "70.0  (-5.0)"]
    assert len({bar.get_facecolor() for bar in first.patches}) == 3
    assert [text.get_text() for text in second.texts] == ["90.0"]
    (alone,) = report.waterfall_figure([records[0], records[2]]).axes  # without "more"
    assert [text.get_text() for text in alone.texts] == ["50.0"]


def test_the_steps_of_the_waterfall_are_runs_of_the_grid():
    planned = {spec.id for specs in read_grid().values() for spec in specs}
    assert {run for steps in report.STEPS.values() for run in steps.values()} <= planned


def test_what_stays_open_is_told_from_the_records_and_the_largest_step_is_named():
    """Each first step of a chain is a run of the first record, and the figures are the records'."""
    records = load_records()
    rows = [line.split(" | ") for line in report.gaps_table(records).split("\n")[2:]]
    assert [(row[0], row[1]) for row in rows] == [
        ("| IRAM full", "SST-2"), ("| IRAM full", "IMDb"), ("| AGT", "SST-5"),
        ("| SANet base", "IMDb"),
    ]  # fmt: skip
    test = {run["id"]: 100 * run["test"]["accuracy"] for run in records if "test" in run}
    imdb = [test["iram-imdb-imdb-s0"], test["iram-imdb-compact-max_tokens400-patience2-s0"]]
    first, now, gained, missing = (float(cell.split()[0]) for cell in rows[1][3:7])
    assert [first, now] == pytest.approx(imdb, abs=0.051) and rows[1][2] == "91.2"
    assert gained == pytest.approx(imdb[1] - imdb[0], abs=0.051)
    assert missing == pytest.approx(imdb[1] - 91.2, abs=0.051)
    assert rows[3][2] == rows[3][6] == "–", "the paper on SANet has no IMDb"
    assert all("film vectors" in row[-1] for row in rows)
    gains = [float(row[-1].split(": ")[-1].rstrip(" |")) for row in rows]
    chain = report.recorded_steps(records)["AGT on SST-5"].values()
    assert gains[2] == pytest.approx(100 * max(b - a for a, b in pairwise(chain)), abs=0.051)
    nothing = report.gaps_table([]).split("\n")[2:]
    assert [line.count("–") for line in nothing] == [5, 5, 5, 6]


def test_room_editions_stand_beside_tfidf_on_the_same_texts_and_missing_ones_are_named():
    """From the committed records, of which each has kept its predictions."""
    records = {record["id"]: record for record in load_records()}
    han, simple = records["han-imdb-compact-s0"], records["tfidf-imdb-default-s0"]
    gap = han["test"]["accuracy"] - simple["test"]["accuracy"]
    rows = report.compact_table([han, simple]).split("\n")
    assert rows[2].startswith(f"| HAN | IMDb | 90.6 | 91.0 (1 seed) | {100 * gap:+.1f} [")
    assert "paired, McNemar p" in rows[2]
    assert rows[3] == "| SANet | IMDb | – | – | – | – | not run |"
    assert "optimistic" in rows[-1]


def test_claims_are_read_from_records_and_refused_where_they_no_longer_hold():
    rooms = ("agt-sst5-compact-s0", "agt-sst5-compact-s1")
    without = [record for record in load_records() if record["id"] not in rooms]
    with pytest.raises(ValueError, match="compact network of agt"):
        report.claims_table(without)
    records = load_records()
    rows = report.claims_table(records).split("\n")[2:]
    assert {row.split(" | ")[0] for row in rows} == {"| 03", "| 04", "| 05", "| 06"}
    assert all("changed" in row or "stands" in row for row in rows)
    for record in records:
        if record["id"] == "sanet-imdb-compact-s0":
            record["attention"]["trained"]["diagonality 3"] += 0.1
    with pytest.raises(ValueError, match="no longer say that SANet has no band"):
        report.claims_table(records)


def test_seeds_subset_and_bfloat16_are_named():
    group = [record(0, 0.85), record(1, 0.87)]
    assert report.made_from(group) == "(2 seeds)"
    group[0]["data"]["subset"], group[1]["precision"] = True, "bf16"
    assert report.made_from(group) == "(2 seeds, subset, 1 of 2 in bfloat16)"
    group[0]["precision"] = "bf16"
    assert report.made_from(group) == "(2 seeds, subset, bfloat16)"
    assert report.made_from([group[0] | {"precision": "no"}]) == "(1 seed, subset)"


def test_the_band_is_told_by_the_number_of_training_texts():
    def of_size(size, diagonality, **changes):
        made = sanet_record(dataset="imdb", subset=True)
        made["sizes"] = {"train": size}
        figures = {"diagonality 3": diagonality, "uniform diagonality 3": 0.03}
        made["attention"] = {"trained": figures, "untrained": figures | {"diagonality 3": 0.05}}
        made["settings"] = nested(by_address(changes))
        made["spec"]["overrides"] = by_address(changes)
        return made

    records = [of_size(8000, 0.3), of_size(1000, 0.1), of_size(1000, 0.2),
               of_size(1000, 0.9, model__scaled=True), sanet_record(dataset="ag_news")]  # fmt: skip
    unread = of_size(1000, 0.9)
    del unread["test"]
    longer = of_size(1000, 0.9, training__patience=15)  # a seed again: the other setting has two
    points = report.band_by_size([longer, *records, unread])
    assert list(points) == [1000, 8000]
    expected = {"trained": 0.15, "untrained": 0.05, "uniform": 0.03}
    assert points[1000] == pytest.approx(expected)


def test_the_whole_dataset_goes_before_a_subset_and_other_settings_stay_out():
    whole = sanet_record(0, accuracy=0.92, subset=False)
    subset = [sanet_record(seed, accuracy=0.88) for seed in range(3)]
    scaled = [
        sanet_record(seed, accuracy=0.5, subset=False, model__scaled=True) for seed in range(3)
    ]
    unread = sanet_record(4, accuracy=0.5, subset=False)
    del unread["test"]
    part = sanet_record(5, accuracy=0.5, subset=False)
    part["spec"]["limit"] = 100
    found = report.seeds_of([*subset, *scaled, unread, part, whole], "sanet", "base", "ag_news")
    assert found == [whole]


def test_attention_is_shown_beside_the_paper_the_untrained_and_the_uniform():
    table = report.sanet_attention_table([sanet_record(0), sanet_record(1)])
    assert cells(table, "| AG, paper")[1:4] == ["55.31", "–", "7.44"]
    trained = cells(table, "| **AG, ours**, trained (2 seeds, subset)")
    untrained, uniform = (
        cells(table, f"| **AG, ours**, {what}") for what in ("untrained", "uniform attention")
    )
    assert trained[1:4] == ["90.0 ± 0.0", "92.0 ± 0.0", "5.0 ± 0.0"]
    assert untrained[1] == "60.0 ± 0.0"
    assert uniform[1:] == ["0", "0", "4.0", "8.0", "12.0", "16.0", "20.0"]


def test_the_papers_numbers_stand_in_their_columns():
    table = report.sanet_error_table([])
    assert cells(table, "| SANet big, paper")[1:] == [
        "7.42", "1.28", "25.88", "4.77", "36.03", "38.67", "4.52", "–"
    ]  # fmt: skip
    assert {len(errors) for errors in report.PAPER_ERRORS.values()} == {len(report.ZHANG)}
    means = {
        name: [sum(report.PAPER_ATTENTION[d][k] for d in chosen) / 3 for k in (0, 3)]
        for name, chosen in {
            "topics": ("ag_news", "dbpedia", "yahoo_answers"),
            "sentiment": ("yelp_full", "amazon_full", "amazon_polarity"),
        }.items()
    }
    assert means["topics"] == pytest.approx([63.57, 16.12], abs=0.01)  # as the paper gives them
    assert means["sentiment"] == pytest.approx([87.15, 63.48], abs=0.01)


def test_records_of_other_networks_leave_the_imdb_table_alone():
    groups = report.grouped([record(0, 0.85), sanet_record(dataset="imdb", subset=False)])
    assert [group[0]["spec"]["system"] for group in groups] == ["han"]


def iram_record(
    seed=0, preset="vanilla", accuracy=0.8, dataset="sst2", documents=1821, test=True, **overrides
):
    made = sanet_record(seed, dataset, preset, accuracy, subset=False, **overrides)
    made["spec"]["system"] = "iram"
    usual = {"text.vectors": "glove.6B.50d", "model.steps": 3, "model.penalty": 3e-4}
    made["settings"] = nested(usual, by_address(overrides))
    made["sizes"] = {"test": documents}
    made["epochs"] = [{"validation_accuracy": a} for a in (0.1, accuracy)]
    made["best_epoch"] = 2
    if not test:
        del made["test"]
    return made


def test_the_treebanks_table_takes_the_preset_that_fits_the_dataset():
    records = [iram_record(0, "full", 0.84), iram_record(1, "full", 0.86),
               iram_record(0, "imdb", 0.9, dataset="imdb")]  # fmt: skip
    table = report.sst_table(records, report.IRAM_MODELS)
    assert cells(table, "| IRAM full, paper")[1:] == ["90.1", "53.7", "91.2"]
    ours = cells(table, "| **IRAM full, 50-d vectors, ours**")[1:]
    assert ours == ["85.0 ± 1.4 (2 seeds)", "–", "90.0 (1 seed)"]
    assert "NSE" in table and "NSE" not in report.sst_table(records, compact=True)


# Differences and sweeps


def test_a_difference_holds_the_test_sets_error_and_that_of_the_seeds():
    ours = [iram_record(seed, accuracy=a) for seed, a in enumerate((0.78, 0.80, 0.82))]
    found = report.difference(ours, (0.90, 1821))
    drawn = 0.8 * 0.2 / 1821
    expected = (drawn + 0.02**2 / 3 + 0.9 * 0.1 / 1821) ** 0.5  # the variances add up
    assert (found.value, found.error) == pytest.approx((-0.10, expected))
    assert found.reading == "worse" and str(found) == f"-10.0 ± {200 * expected:.1f}"


def test_nothing_is_ranked_inside_its_interval_and_one_seed_is_said():
    one, other = [iram_record(accuracy=0.80)], [iram_record(accuracy=0.82)]
    assert report.difference(one, other).reading == "not told apart"  # 2 points, ± 2.6
    large = [iram_record(accuracy=a, documents=100_000) for a in (0.80, 0.82)]
    assert report.difference(large[1:], large[:1]).reading == "better, of one seed"
    simple = [iram_record(accuracy=0.80, documents=100_000)]
    simple[0]["spec"]["system"] = "tfidf"
    seeds = [iram_record(seed, accuracy=0.82, documents=100_000) for seed in range(3)]
    assert report.difference(seeds, simple).reading == "better"
    assert report.difference(simple, seeds).value == pytest.approx(-0.02)


def test_every_paper_figure_of_a_model_of_ours_has_its_row_run_or_not():
    table = report.papers_table([iram_record(accuracy=0.85)])
    assert "| SST-2 | IRAM vanilla | 88.7 | 85.0 (1 seed), 50-d vectors | -3.7 ± " in table
    assert table.count("| unpaired | worse, of one seed |") == 1
    assert "| AG | SANet big | 92.58 | – | – | – | not run |" in table
    assert table.count("\n") == 1 + sum(map(len, report.PAPERS.values()))


def test_contrasts_name_both_sides_and_their_seeds():
    records = [iram_record(s, accuracy=0.8) for s in (0, 1)] + [iram_record(preset="baseline")]
    baseline = "BiLSTM + maxout (IRAM without steps)"
    table = report.contrasts_table(records, [("sst2", "IRAM vanilla", baseline)])
    assert f"| SST-2 | IRAM vanilla (2 seeds) | {baseline} (1 seed) | +0.0 ± " in table
    assert table.endswith("| unpaired | not told apart |")


def test_a_sweep_holds_what_is_fixed_and_lets_nothing_else_differ():
    wanted = [iram_record(s, test=False, model__penalty=p) for p in (0.1, 0.0) for s in (0, 1)]
    others = [
        iram_record(test=False, model__penalty=0.1, model__steps=5),
        iram_record(test=False, model__penalty=0.1, model__hidden=7),
        iram_record(test=True, model__penalty=0.1),
        iram_record(test=False, preset="full", model__penalty=0.1),
    ]
    limited = iram_record(test=False, model__penalty=0.1)
    limited["spec"]["limit"] = 100
    records = wanted + others + [limited]
    found = report.sweep("model.penalty", {"model.steps": 3}, ("iram", "vanilla"), "sst2", records)
    assert found == {0.0: wanted[2:], 0.1: wanted[:2]}
    table = report.sweep_table("γ", found, [0.0, 0.1, 1.0])
    assert table.split("\n")[2:] == [
        "| 0 | 2 | 80.0 ± 0.0 | – |",
        "| 0.1 | 2 | 80.0 ± 0.0 | – |",
        "| 1 | – | – | – |",
        "",
        KEPT_EPOCH,
    ]


def test_the_steps_view_shows_the_share_on_summaries_and_says_what_is_missing(capsys):
    made = iram_record(test=False, model__penalty=0.5)
    shares = {"summary share, step 2": 0.25, "summary share, step 3": 1.0, "step cosine": 0.5}
    made["attention"] = {"trained": shares | {"step overlap": 0.125}}
    view = report.steps_view("γ", {0.5: [made]}, [0.5, 2.0])
    assert capsys.readouterr().out == "not recorded yet: γ = 2\n"
    drawn = AttentionHeatmap(
        torch.tensor([[[1, 0], [0.75, 0.25], [0, 1]]]), list("123"), ["words", "summaries"],
        steps=["one"], extra=1,
    )  # fmt: skip
    assert view.data == drawn.data and view.spec["shape"] == [1, 3, 2]
    assert view.spec["steps"] == ["γ = 0.5: accuracy 80.0% (1 seed), overlap 0.125, cosine 0.50"]
    assert report.steps_view("γ", {}, []) is None


def test_panels_of_steps_hold_a_dot_for_every_run_and_the_untrained_line():
    made = [iram_record(seed, test=False, model__penalty=0.5) for seed in (0, 1)]
    single = iram_record(test=False, model__penalty=0.0, model__steps=1)
    for seed, record_ in enumerate(made):
        trained = {"step overlap": 0.1, "step cosine": 0.5, "summary share, step 3": 0.2 + seed / 2}
        record_["attention"] = {"trained": trained, "untrained": {"step cosine": 0.9 + seed / 50}}
    figure = report.steps_panels({"": {0.0: [single], 0.5: made}}, "γ", "T", accuracy=(0.5, 1))
    panels = {axis.get_title(): axis for axis in figure.axes if axis.get_title()}
    assert list(panels) == ["validation accuracy", "overlap", "cosine", "last step on summaries"]
    accuracy, shares = panels["validation accuracy"], panels["last step on summaries"]
    assert list(accuracy.lines[0].get_xdata()) == [0, 1, 1] and 0.4 < accuracy.get_ylim()[0] < 0.5
    assert list(shares.lines[0].get_ydata()) == [0.2, 0.7]
    assert list(panels["cosine"].lines[1].get_ydata()) == pytest.approx([0.91, 0.91])


def test_sweeps_compare_the_seeds_that_all_values_have():
    made = {value: [{"spec": {"seed": seed}, "of": value} for seed in seeds]
            for value, seeds in {0.0: (2, 0, 1), 0.1: (1, 0), 1.0: (0, 1, 3)}.items()}  # fmt: skip
    found = report.of_common_seeds(made)
    assert {value: [r["spec"]["seed"] for r in group] for value, group in found.items()} == {
        0.0: [0, 1], 0.1: [1, 0], 1.0: [0, 1],
    }  # fmt: skip
    assert all(r["of"] == value for value, group in found.items() for r in group)
    apart = {0.0: made[0.0][:1], 1.0: made[1.0][:1]}
    assert report.of_common_seeds(apart) == apart


def test_every_run_of_the_grid_is_counted_once_recorded_or_missing():
    grid = read_grid()
    ids = {spec.id for specs in grid.values() for spec in specs}
    some = sorted(ids)[::3]
    rows = report.runs_table([{"id": name} for name in some]).split("\n")[2:]
    counts = [row.split("|")[2].split(" of ") for row in rows]
    assert sum(int(done) for done, _ in counts) == len(some)
    assert sum(int(planned) for _, planned in counts) == len(ids)
    missing = [
        part.split("`")[1] for row in rows for part in row.split("|")[3].split(",") if "`" in part
    ]
    assert sorted(missing) == sorted(ids - set(some))


def test_costs_follow_from_measured_throughput_device_by_device(tmp_path):
    rates = {48: 2e5, 256: 1e5}
    made = {
        "environment": {"processes": 1, "threads": 2, "device": "cpu (x)"},
        "figures": {
            f"SANet base, {words} words": {"tokens_per_second": {"median": rate}}
            for words, rate in rates.items()
        },
    }
    hours = {"hours_extrapolated": dict.fromkeys(report.ZHANG, 0.25)}
    (tmp_path / "prepare.json").write_text(json.dumps({"figures": hours}))
    (tmp_path / "throughput_cpu.json").write_text(json.dumps(made))
    made["environment"]["device"] = "cuda (y)"
    for figures in made["figures"].values():
        figures["tokens_per_second"]["median"] *= 100
    (tmp_path / "throughput_cuda.json").write_text(json.dumps(made))
    head, _, *rows = report.zhang_costs_table(tmp_path).split("\n")
    assert head.endswith("hours on 1 × 2 threads, cpu (x) | hours on 1 × 2 threads, cuda (y) |")
    assert [row.split(" | ")[0] for row in rows] == [f"| {name}" for name in report.ZHANG.values()]
    # DBPedia: 201 MB are 40.2 million words in 630,000 texts; 80 % of 560,000 train, 40 epochs
    words = 201e6 / 5 / 630_000 * 560_000 * 0.8
    cells = rows[1].strip("| ").split(" | ")
    assert cells[1:4] == ["630,000", "64", f"{words / 1e6:.0f}"]
    assert cells[4:6] == ["0.2", "161"]
    assert float(cells[6]) == pytest.approx(40 * words / 1e5 / 3600, abs=0.05)  # not 48 words
    assert float(cells[7]) == pytest.approx(40 * words / 1e7 / 3600, abs=0.05)


def test_one_step_stands_in_the_sweep_of_every_penalty():
    model = ("iram", "vanilla")
    charged = report.steps_sweep(0.1, model, "sst2")
    assert list(charged) == [1, 2, 3, 5]
    penalties = {
        steps: {r["settings"]["model"]["penalty"] for r in group}
        for steps, group in charged.items()
    }
    assert penalties == {1: {0.0}, 2: {0.1}, 3: {0.1}, 5: {0.1}}
    free = report.steps_sweep(0.0, model, "sst2")
    assert free == report.sweep("model.steps", {"model.penalty": 0.0}, model, "sst2")
    made = [record for group in charged.values() for record in group]
    alone = [record | {"id": "its own"} for record in charged[1]]
    for record in alone:
        record["settings"] = json.loads(json.dumps(record["settings"]))
        record["settings"]["model"]["penalty"] = 0.1
    assert report.steps_sweep(0.1, model, "sst2", [*made, *alone])[1] == alone


def test_the_readme_is_a_front_door_and_no_corridor():
    assert len((REPOSITORY / "README.md").read_text(encoding="utf-8").split("\n")) <= 121


def test_a_length_that_uniform_attention_implies_gives_the_papers_diagonality():
    lengths = report.implied_lengths()
    assert list(lengths) == list(report.PAPER_ATTENTION)
    for dataset, implied in lengths.items():
        papers = report.PAPER_ATTENTION[dataset][1:]
        for b, (length, percent) in enumerate(zip(implied, papers, strict=True), start=1):
            around = torch.tensor([length + 1, length - 1])
            far, near = (100 * uniform_diagonality(around, b)).tolist()
            assert far < percent < near
    axis = report.implied_figure().axes[0]
    assert [line.get_ydata().tolist() for line in axis.lines] == list(lengths.values())


def test_single_runs_have_a_line_for_each_state():
    measured = {"gini": 0.9, "diagonality 1": 0.1, "diagonality 3": 0.2, "diagonality 5": 0.3}
    uniform = {f"uniform {name}": 0.5 for name in measured if name != "gini"}
    record = {
        "attention": {"trained": measured | uniform, "untrained": measured | {"gini": 0.6}},
        "epochs": [{"validation_accuracy": 0.8}], "best_epoch": 1,
    }  # fmt: skip
    rows = report.attention_lines_table({"topics": record}).split("\n")
    assert rows[2:] == [
        "| topics, trained | 80.0 | 90.0 | 10.0 | 20.0 | 30.0 |",
        "| topics, untrained |  | 60.0 | 10.0 | 20.0 | 30.0 |",
        "| topics, uniform attention |  | 0.0 | 50.0 | 50.0 | 50.0 |",
    ]


def test_the_short_tables_hold_the_base_model_on_the_sets_that_are_asked_for():
    table = report.sanet_short_table([sanet_record(accuracy=0.88)], ["ag_news", "imdb"])
    rows = table.split("\n")
    assert rows[0] == "| test error % | AG | IMDb |" and "big" not in table and "CNN" not in table
    assert any(row.startswith("| **SANet base, ") and "12.0" in row for row in rows)
    assert report.sanet_attention_table([], ["imdb"]).count("\n") == 2


def test_the_table_of_freeze_controls_can_be_of_one_system():
    han = report.freeze_table([], system="han").split("\n")
    assert len(han) == 3 and han[2].startswith("| HAN")
    assert han[2] in report.freeze_table([])


def test_a_figure_of_a_control_has_a_dot_for_every_seed_trained_and_untrained():
    lines = [
        {"control": "c", "network": net, "figure": name, "trained": value, "untrained": before,
         "uniform": None}
        for net, value in (("one", 0.9), ("two", 0.2))
        for name, before in (("share", 0.1), ("held", None))
    ]  # fmt: skip
    figure = report.controls_figure(
        "c", {"two": "II", "one": "I"}, ("held", "share"), "T", [{"lines": lines}] * 3
    )
    held, share = figure.axes
    assert [axis.get_title() for axis in (held, share)] == ["held", "share"]
    assert list(share.lines[0].get_ydata()) == [0.2] * 3 + [0.9] * 3
    assert list(share.lines[1].get_ydata()) == [0.1] * 6 and not len(held.lines[1].get_ydata())
    assert [tick.get_text() for tick in share.get_xticklabels()] == ["II", "I"]
