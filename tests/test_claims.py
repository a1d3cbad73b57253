"""Page one of the report: its tests over trainings, and its rule for a verdict."""

import math
import re

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW, ttost_ind

from course_kit.research.report import claims, frames, named

ONE, OTHER = [0.81, 0.84, 0.80, 0.83], [0.79, 0.80, 0.78]


def test_an_estimate_of_one_side_is_statsmodels_t_interval():
    found = claims.over_seeds(ONE, 0.8, {"above": 0.01})
    other = DescrStatsW(np.array(ONE) - 0.8)
    assert found[:4] == pytest.approx((0.02, 4, *other.tconfint_mean()))
    assert found.supported == pytest.approx(other.ttest_mean(0.01, "larger")[1])
    assert found.contradicted == pytest.approx(min(2 * (1 - found.supported), 1))
    against = claims.over_seeds(ONE, 0.8, {"above": 0.1})
    assert against.contradicted == pytest.approx(other.ttest_mean(0.1)[1]), "two-sided"


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


def given(*values):
    return {"given": {"values": list(values)}}


def claim(expect, *figures, **others):
    return {"claim": "", "figures": list(figures), "expect": expect, "appendix": 1, **others}


@pytest.fixture
def verdicts(monkeypatch):
    """The verdicts of one paper's claims, on values that the test gives."""

    def measure(frame, values):
        return named.Measured(values)

    monkeypatch.setitem(claims.FIGURES, "given", named.Figure(measure, "", "given", "more"))

    def judge(*rows):
        paper = {"paper": "Nobody 1900", "data": [], "claims": list(rows)}
        monkeypatch.setattr(claims, "PAPERS", [paper])
        return list(claims.estimates([]).verdict)

    return judge


def test_holm_counts_the_claims_of_a_paper_that_are_tested(verdicts):
    """p = 0.02 alone supports a claim; among three others that say nothing it does not, and one
    that is not at our scale costs nothing."""
    values = [1.0, 2.0, 2.6]
    p = stats.ttest_1samp(values, 0, alternative="greater").pvalue
    assert 0.05 / 4 < p < 0.05
    one, unclear = claim({"above": 0.0}, given(*values)), claim({"above": 0.0}, given(1, -1, 0.1))
    assert verdicts(one)[0] == "replicated"
    assert verdicts(one, unclear, unclear, unclear)[0] == "inconclusive"
    elsewhere = {**unclear, "scale": "a subset"}
    assert verdicts(one, elsewhere, elsewhere, elsewhere)[0] == "replicated"


def test_a_row_says_what_it_would_be_before_the_correction(verdicts):
    """In both directions, and only where the correction changes the verdict."""
    values = [1.0, 2.0, 2.2]
    assert 0.05 / 2 < stats.ttest_1samp(values, 0).pvalue < 0.05
    unclear = claim({"above": 0.0}, given(1, -1, 0.1))
    for expect, verdict in (({"above": 0.0}, "replicated"), ({"below": 0.0}, "not replicated")):
        one = claim(expect, given(*values))
        assert verdicts(one) == [verdict] == list(claims.estimates([]).alone)
        assert "before the correction" not in claims.claims_table([])
        assert verdicts(one, unclear, unclear, unclear) == ["inconclusive"] * 4
        told = claims.claims_table([])
        assert told.count(f"before the correction it would be {verdict} (") == 1
        assert told.count("before the correction") == 1


def test_a_figure_that_is_judged_names_the_trainings_that_it_is_of():
    """Without them, what keeps it from judging a claim would not be found."""
    frame = frames.tidy()
    for paper in claims.PAPERS:
        for row in (*paper["claims"], *paper.get("further", ())):
            for asked in row.get("figures", ()):
                ((name, arguments),) = asked.items()
                assert claims.FIGURES[name](frame, **(arguments or {})).runs, row["claim"]


def test_a_claim_of_two_figures_needs_both(verdicts):
    sure, unclear, against = given(1, 1.1, 1.2), given(1, -1, 0.1), given(-1, -1.1, -1.2)
    for figures, verdict in (
        ([sure], "replicated"),
        ([sure, unclear], "inconclusive"),
        ([unclear, sure], "inconclusive"),
        ([sure, against], "not replicated"),
        ([unclear, against], "not replicated"),
        ([against, against], "not replicated"),
    ):
        assert verdicts(claim({"above": 0.0}, *figures)) == [verdict]


def test_one_figure_contradicts_a_claim_of_several_at_a_corrected_level(verdicts):
    values, sure = [-1.25, -2.0, -2.1], given(1, 1.1, 1.2)
    p = stats.ttest_1samp(values, 0).pvalue
    assert 0.05 / 3 < p < 0.05 / 2
    for others, verdict in (([sure], "not replicated"), ([sure, sure], "inconclusive")):
        assert verdicts(claim({"above": 0.0}, given(*values), *others)) == [verdict]


def test_each_figure_of_a_claim_may_be_expected_elsewhere(verdicts):
    high, low = given(1, 1.1, 1.2), given(0.001, 0.0, -0.001)
    both = [{"above": 0.0}, {"within": 0.01}]
    assert verdicts(claim(both, high, low)) == ["replicated"]
    assert verdicts(claim(both[::-1], high, low)) == ["not replicated"]
    with pytest.raises(ValueError, match="argument"):
        verdicts(claim(both, high))


def test_a_single_training_is_compared_with_that_of_its_seed():
    def of(*seeds, system="iram"):
        return [{"spec": {"seed": seed, "system": system}} for seed in seeds]

    three, bags = of(0, 1, 2), of(0, system="tfidf")
    assert named._same_seeds(three, of(1)) == (of(1), of(1))
    assert named._same_seeds(of(2), three) == (of(2), of(2))
    for both in ((three, of(0, 1)), (three, of(5)), (three, bags), (bags, three)):
        assert named._same_seeds(*both) == both


def run(dataset="sst2", vectors="theirs", subset=False, limit=None, system="iram"):
    return {
        "spec": {"dataset": dataset, "limit": limit, "system": system},
        "data": {"subset": subset},
        "sizes": {"train": 2500},
        "vectors": [{"name": vectors, "width": 50}],
        "settings": {"text": {"vectors": vectors}},
    }


def test_one_rule_says_what_is_not_at_a_papers_scale():
    """Two networks that read the same are compared; an accuracy in print asks for its vectors."""
    paper = {"data": ["sst2", "imdb"], "vectors": "theirs", "words": "GloVe"}

    def reason(ours, others=(), beside=False):
        figure = named.Figure(lambda frame: None, "", "", "", beside)
        return claims.out_of_scale(figure, named.Measured([], 0, ours, others), paper)

    assert reason([run()], beside=True) is None
    assert reason([run(vectors="ours")], [run(vectors="ours")]) is None
    assert (
        reason([run(vectors="ours")], beside=True) == "50-d vectors (ours), not the paper's GloVe"
    )
    assert reason([run(vectors="ours")], [run()]) == "the two networks read different word vectors"
    assert reason([run(vectors="ours")], [run(vectors="none", system="tfidf")]) is None
    for part in (run("imdb", subset=True), run("imdb", limit=100)):
        said = "a part of the paper's texts (10 % of those for training)"
        assert reason([run(), part]) == reason([run()], [part]) == said
    assert reason([run(dataset="ag_news")]) == "other texts than the paper's"
    paper["vectors"] = None  # it names none
    assert reason([run(vectors="ours")], beside=True) is None


def test_one_training_on_either_side_tests_nothing(verdicts, monkeypatch):
    for count, verdict in ((1, "inconclusive"), (2, "replicated")):
        others = [run()] * count

        def measure(frame, others=others):
            return named.Measured([0.9, 0.91, 0.92], [0.1, 0.11][: len(others)], [run()], others)

        monkeypatch.setitem(claims.FIGURES, "of two", named.Figure(measure, "", "of two", "more"))
        monkeypatch.setattr(claims, "out_of_scale", lambda *_: None)
        assert verdicts(claim({"above": 0.0}, {"of two": {}})) == [verdict]


def test_no_number_of_ours_is_typed_into_the_claims():
    """Decimals of ``because`` are the papers' or thresholds, listed here for a reader to check."""
    said = [
        claim.get("because", "") or ""
        for paper in claims.PAPERS
        for part in ("claims", "further")
        for claim in paper.get(part, ())
    ]
    assert set(re.findall(r"\d+\.\d+", " ".join(said))) == {
        "0.82",
        "0.9",
        "0.5",
        "1.5",
        "0.1",
        "0.37",
        "0.04",
        "0.07",
        "0.11",
        "0.05",
        "0.25",
        "1.2",
        "0.0003",
        "0.01",
    }


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
