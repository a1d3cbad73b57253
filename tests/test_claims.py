"""Page one of the report: its tests over trainings, and its rule for a verdict."""

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW, ttost_ind

from course_kit.research.report import claims, frames

ONE, OTHER = [0.81, 0.84, 0.80, 0.83], [0.79, 0.80, 0.78]


def test_an_estimate_of_one_side_is_statsmodels_t_interval():
    found = claims.over_seeds(ONE, 0.8, {"above": 0.01})
    other = DescrStatsW(np.array(ONE) - 0.8)
    assert found[:4] == pytest.approx((0.02, 4, *other.tconfint_mean()))
    assert found.supported == pytest.approx(other.ttest_mean(0.01, "larger")[1])
    assert found.contradicted == pytest.approx(1 - found.supported)


def test_an_estimate_of_two_sides_is_welchs():
    found = claims.over_seeds(ONE, OTHER, {"below": 0.05})
    other = CompareMeans(DescrStatsW(ONE), DescrStatsW(OTHER))
    assert found[2:4] == pytest.approx(other.tconfint_diff(usevar="unequal"))
    p = other.ttest_ind("smaller", usevar="unequal", value=0.05)[1]
    assert found.supported == pytest.approx(p)


def test_equality_takes_two_one_sided_tests():
    found = claims.over_seeds(ONE, OTHER, {"within": 0.08})
    p = ttost_ind(ONE, OTHER, -0.08, 0.08, usevar="unequal")[0]
    assert found.supported == pytest.approx(p)
    assert claims.over_seeds(ONE, 0.5, {"within": 0.1}).contradicted < 0.01


def test_a_single_training_tests_nothing():
    found = claims.over_seeds([0.9], [0.8, 0.7], {"above": 0.0})
    assert found.value == pytest.approx(0.15) and found.seeds == 1
    assert all(map(math.isnan, found[2:]))


def claim(values, expect, **others):
    return {"claim": "", "ours": "", "figure": {"given": {"values": values}}, "unit": "",
            "expect": expect, "because": "so", "appendix": 1, **others}  # fmt: skip


@pytest.fixture
def verdicts(monkeypatch):
    """The verdicts of one paper's claims, on values that the test gives."""
    monkeypatch.setitem(claims.FIGURES, "given", lambda frame, values: (values, 0.0))

    def judge(*rows):
        monkeypatch.setattr(claims, "CLAIMS", [{"paper": "Nobody 1900", "claims": list(rows)}])
        return list(claims.estimates([]).verdict)

    return judge


def test_holm_counts_the_claims_of_a_paper_that_are_tested(verdicts):
    """p = 0.02 alone supports a claim; among three others that say nothing it does not, and one
    that is not at our scale costs nothing."""
    values = [1.0, 2.0, 2.6]
    p = stats.ttest_1samp(values, 0, alternative="greater").pvalue
    assert 0.05 / 4 < p < 0.05
    one, unclear = claim(values, {"above": 0.0}), claim([1.0, -1.0, 0.1], {"above": 0.0})
    assert verdicts(one)[0] == "replicated"
    assert verdicts(one, unclear, unclear, unclear)[0] == "inconclusive"
    elsewhere = {**unclear, "scale": "a subset"}
    assert verdicts(one, elsewhere, elsewhere, elsewhere)[0] == "replicated"


def test_a_subset_is_never_called_replicated():
    """Whoever adds a claim on a subset must say ``scale``."""
    for row in claims.estimates().to_dict("records"):
        ((_, arguments),) = row["figure"].items()
        names = arguments.get("datasets") or [arguments.get("dataset")]
        if {"ag_news", "amazon_full"} & set(names):
            assert row["verdict"] == "not at its scale", row["claim"]


def test_a_long_table_is_folded_under_the_same_head(capsys, monkeypatch):
    shown = []
    monkeypatch.setattr(frames.plots, "show_markdown", shown.append)
    table = frames.to_markdown(["a", "b"], [[n, n] for n in range(15)], "lr")
    frames.show_table("Above:\n\n" + table + "\n\nBelow.", most=12)
    frames.show_table(table, most=15)
    top, folded = shown[0].split("<details><summary>3 more rows</summary>")
    assert top.strip().splitlines() == ["Above:", "", *table.splitlines()[:14]]
    assert "| a | b |" in folded and "| 14 | 14 |" in folded and folded.endswith("Below.")
    frames.show_table(table, fold="All")
    assert shown[1] == table and "<summary>All (15 rows)" in shown[2] and table in shown[2]
