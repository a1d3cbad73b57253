"""What the report says of the differences between recorded runs, and what it is made of."""

import json
from itertools import chain

import numpy as np
import pytest
from made_up import cells, made_up
from test_statistics import counts_as_answers

from course_kit.research import report
from course_kit.research.report import differences
from course_kit.research.report.frames import COMPARISONS, PAPERS
from course_lib.files import DataError
from course_lib.metrics import crossed, mcnemar
from course_lib.runs import records
from course_lib.runs.records import load_records
from course_lib.runs.spec import RunSpec


def test_committed_records_say_where_they_come_from():
    for made in (*load_records(), *report.study_records("sanity_checks").values()):
        assert made["environment"]["commit"] not in ("", "unknown"), made["spec"]
        assert "dirty" not in made["environment"]["commit"], made["spec"]
    for made in load_records():
        assert len(made["data"]["content"]) == 64
        assert {"seed", "threads", "device"} <= set(made["spec"])
        json.dumps(made, allow_nan=False)


def test_what_is_compared_is_recorded():
    recorded = {record["id"].rpartition("-s")[0] for record in load_records()}
    sides = [one[side] for one in COMPARISONS["extensions"] for side in ("before", "changed")]
    assert {*sides, *chain(*COMPARISONS["bands"].values())} <= recorded


def test_the_papers_numbers_are_whole_and_have_the_papers_means():
    errors, attention = PAPERS["sanet_errors"]["rows"], PAPERS["sanet_attention"]
    assert {len(row) for row in errors.values()} == {len(report.ZHANG)} == {len(attention)}
    for chosen, expected in (
        (("ag_news", "dbpedia", "yahoo_answers"), [63.57, 16.12]),
        (("yelp_full", "amazon_full", "amazon_polarity"), [87.15, 63.48]),
    ):
        means = [sum(attention[data][k] for data in chosen) / 3 for k in (0, 3)]
        assert means == pytest.approx(expected, abs=0.01)  # as the paper gives them


def test_the_whole_dataset_goes_before_a_subset_and_other_settings_stay_out():
    base, asked = ("sanet", "ag_news", "base"), ("sanet", "base", "ag_news")
    whole = made_up(*base, subset=False)
    subset = [made_up(*base, seed=seed, subset=True) for seed in range(3)]
    others = [made_up(*base, seed=seed, changes={"model.scaled": True}) for seed in range(3)]
    others += [made_up(*base, seed=4, test=False), made_up(*base, seed=5, limit=100)]
    others += [made_up(*base, seed=6, changes={"control.attention_weights": "uniform"})]
    assert report.seeds_of([*subset, *others, whole], *asked) == [whole]
    longer = [made_up(*base, seed=seed, changes={"training.epochs": 50}) for seed in (0, 1)]
    assert report.seeds_of([whole, *longer], *asked) == longer  # more seeds of one setting
    assert report.seeds_of(others, *asked) == report.seeds_of([], *asked) == []
    part = [made_up("iram", "sst2", "vanilla", test=False, limit=100)]
    assert report.sweep("model.penalty", {}, ("iram", "vanilla"), "sst2", part) == {}


def iram(accuracy=0.8, preset="vanilla", **how):
    return made_up("iram", "sst2", preset, accuracy, **how)


def tfidf(right, **how):
    return made_up("tfidf", "sst2", "default", right=right, **how)


FEW, MANY = counts_as_answers(30, 16, 954)  # fourteen texts of a thousand apart


def test_a_difference_holds_the_test_sets_error_and_that_of_the_seeds():
    ours = [iram(a, seed=seed) for seed, a in enumerate((0.78, 0.80, 0.82))]
    found = report.difference(ours, (0.90, 1821))
    # 1.96 standard errors of the texts and 4.30 of three seeds
    half = (1.96**2 * (0.8 * 0.2 + 0.9 * 0.1) / 1821 + 4.303**2 * 0.02**2 / 3) ** 0.5
    assert found[:3] == pytest.approx((-0.10, -0.10 - half, -0.10 + half), abs=1e-4)
    assert found.reading == "worse" and str(found) == f"-10.0 ± {100 * half:.1f}"
    assert found.test == "unpaired"


def test_runs_on_the_same_texts_are_compared_text_by_text(places):
    """One run on each side has McNemar's test, which has the last word; several seeds have t's."""
    found, p = report.difference([iram(right=FEW)], [tfidf(MANY)]), mcnemar(FEW, MANY)
    low, high = crossed(FEW[None], MANY[None]).interval
    assert (found.low, found.high, found.p) == (low, high, p) and low > 0 and 0.05 < p < 0.1
    assert str(found) == f"+1.4 [{100 * low:+.1f}, {100 * high:+.1f}]"
    assert (found.test, found.reading) == (f"paired, McNemar p = {p:.3f}", "no difference detected")
    rights = np.random.default_rng(0).random((3, 1000)) < 0.8
    seeds = [iram(right=right, seed=seed) for seed, right in enumerate(rights)]
    found = report.difference(seeds, [tfidf(MANY)])
    expected = crossed(rights, MANY[None])
    assert (found.low, found.high, found.p) == (*expected.interval, expected.p)
    assert found.test == "paired, t over seeds and texts, p < 0.001" and found.p < 0.001
    assert found.reading == "worse"


def test_runs_on_other_texts_or_without_predictions_are_compared_unpaired(places):
    ours = [iram(right=FEW, seed=1), iram(right=FEW)]
    assert report.difference(ours, [tfidf(MANY, content="other")]).test == "unpaired"
    assert report.difference([ours[0], iram()], [tfidf(MANY)]).test == "unpaired"
    records.published_predictions(ours[0]["id"]).unlink()  # gone is not silently unpaired
    with pytest.raises(DataError, match=r"iram-sst2-vanilla-s1\.npz: cannot be read"):
        report.difference(ours, [tfidf(MANY)])


def gap(points):
    """A difference of so many points, from a single seed and with an interval of ± 2 points."""
    value = points / 100
    p = 0.001 if abs(points) > 2 else 0.5
    return differences.Difference(value, value - 0.02, value + 0.02, "paired", True, p)


@pytest.mark.parametrize(
    ("uniform", "untrained", "reading"),
    [
        (10, 5, "used, of one seed"),
        (10, 1, "no difference detected from untrained"),
        (-1, 1, "no difference detected from uniform and untrained"),
        (10, -10, "worse than untrained, of one seed"),
        (-10, 1, "worse than uniform, no difference detected from untrained, of one seed"),
    ],
)
def test_attention_is_used_if_both_ablations_are_worse(uniform, untrained, reading):
    gaps = {"uniform": gap(uniform), "untrained": gap(untrained)}
    assert differences._reading(gaps) == reading
    assert differences._reading(gaps | {"uniform": None}) == "not run"


def test_an_ablation_is_compared_on_its_data_alone(monkeypatch):
    uniform = {"control.attention_weights": "uniform"}
    planned = {"attention_ablation": [RunSpec("han", "imdb", "report", uniform).resolve()]}
    monkeypatch.setattr(differences, "read_grid", lambda: planned)
    learned = made_up("han", "imdb", "report")
    ablated = made_up("han", "imdb", "report", changes=uniform)
    assert "not run" not in report.ablation_table([learned, ablated])
    elsewhere = ablated | {"data": ablated["data"] | {"content": "other rows"}}
    assert "not run" in report.ablation_table([learned, elsewhere])


def test_extensions_are_corrected_for_those_of_their_family_that_were_run():
    apart = {"model.hops": 3, "model.penalty": 0.1}
    records = [
        made_up("han", "imdb", "report", accuracy, changes=changes, texts=25_000)
        for accuracy, changes in ((0.8, {}), (0.805, {"model.hops": 3}), (0.815, apart))
    ]
    table = report.extensions_table(records)
    names = " (hops)", ", kept apart by Lin et al.'s penalty of 0.1"
    rows = [cells(table, f"| HAN | three attentions{name} |") for name in names]
    (p, holm), (smaller, doubled) = [[float(each) for each in row[-3:-1]] for row in rows]
    assert smaller < p == holm and doubled == pytest.approx(2 * smaller, abs=1e-3)
    assert table.count("| not run |") == len(table.splitlines()) - 4


def test_a_row_has_the_validation_accuracy_of_its_kept_epoch():
    trained = made_up("han", "imdb", "report", 0.8, validation=0.6)
    fitted = {name: value for name, value in trained.items() if name != "epochs"}
    validation = report.tidy([trained, fitted | {"validation": {"accuracy": 0.7}}]).validation
    assert validation[0] == 0.6 and np.isnan(validation[1])
