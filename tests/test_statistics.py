"""Paired comparisons and rank correlation against closed forms, scipy and simulations."""

from fractions import Fraction
from math import comb, isclose

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr, ttest_1samp, ttest_ind
from scipy.stats import t as student

from course_lib.metrics import Estimate, crossed, holm, mcnemar, rank_correlation


@st.composite
def two_models(draw, most_seeds=1):
    """Two models' right answers on the same texts, bool ``(seeds, texts)`` each."""
    texts, random = draw(st.integers(2, 300)), np.random.default_rng(draw(st.integers(0, 9999)))
    shares = draw(st.floats(0, 1)), draw(st.floats(0, 1))
    seeds = draw(st.integers(1, most_seeds)), draw(st.integers(1, most_seeds))
    difficulty = random.random(texts) * draw(st.floats(0, 1))
    return tuple(
        random.random((count, texts)) * (1 - difficulty) < share
        for count, share in zip(seeds, shares, strict=True)
    )


def counts_as_answers(only_first, only_second, both=0):
    """Right answers of two models of which each alone gets that many texts right."""
    first = np.repeat([True, False, True], [only_first, only_second, both])
    return first, np.repeat([False, True, True], [only_first, only_second, both])


@given(only_first=st.integers(0, 60), only_second=st.integers(0, 60), both=st.integers(1, 50))
def test_mcnemars_p_is_the_sum_of_the_binomial_tail(only_first, only_second, both):
    throws = only_first + only_second
    tail = sum(comb(throws, k) for k in range(min(only_first, only_second) + 1))
    expected = min(1, 2 * Fraction(tail, 2**throws))
    found = mcnemar(*counts_as_answers(only_first, only_second, both))
    assert isclose(found, expected, rel_tol=1e-9)
    assert found == mcnemar(*counts_as_answers(only_second, only_first, both))


@given(two_models(most_seeds=1), st.integers(1, 4), st.integers(1, 4))
def test_the_same_predictions_differ_by_nothing(models, seeds, others):
    (answers,), _ = models
    assert mcnemar(answers, answers) == 1
    found = crossed(*(np.tile(answers, (count, 1)) for count in (seeds, others)))
    assert found.interval == pytest.approx((0, 0), abs=1e-12) and found.p == 1


@settings(max_examples=40)
@given(two_models(most_seeds=4))
def test_an_interval_is_mirrored_when_the_sides_change_places_and_fits_its_p_value(models):
    found, other = crossed(*models), crossed(*reversed(models))
    assert found.interval == pytest.approx((-other.interval[1], -other.interval[0]))
    low, high = found.interval
    assert (found.p < 0.05) == (not low <= 0 <= high) or min(abs(low), abs(high)) < 1e-9


@settings(max_examples=40)
@given(st.integers(5, 200), st.integers(5, 200), st.integers(400, 4000))
def test_two_runs_are_compared_by_the_t_test_of_their_texts(only_first, only_second, both):
    first, second = counts_as_answers(only_first, only_second, both)
    found = crossed(first[None], second[None])
    theirs = ttest_1samp(first.astype(int) - second.astype(int), 0)
    assert found.interval == pytest.approx(tuple(theirs.confidence_interval(0.95)))
    assert found.p == pytest.approx(theirs.pvalue, abs=1e-6)


def test_seeds_are_compared_by_welchs_t_where_texts_add_nothing():
    """On texts that all runs answer alike but for a block that a seed gets right or not."""
    first, second = np.array([0.70, 0.80, 0.75, 0.83, 0.66]), np.array([0.60, 0.62, 0.59])
    texts = np.arange(100_000)
    sides = [texts < 100_000 * accuracies[:, None] for accuracies in (first, second)]
    theirs = ttest_ind(first, second, equal_var=False)
    found = crossed(*sides)
    assert found.interval == pytest.approx(tuple(theirs.confidence_interval(0.95)), abs=0.002)
    assert found.p == pytest.approx(theirs.pvalue, rel=0.02)


# The spread of seeds, of texts, and of single answers; in the last, seeds differ most of all.
SPREADS = [(0, 1, 1), (0.05, 1, 1), (0.2, 1, 1), (0, 0.05, 1), (0.1, 0.3, 0.5), (1, 1, 1)]


@pytest.mark.parametrize(
    "seeds",
    [
        (3,),
        (3, 1),
        *(
            pytest.param(seeds, marks=pytest.mark.full)
            for seeds in [(1,), (2,), (5,), (3, 3), (5, 3)]
        ),
    ],
)
def test_nineteen_of_twenty_intervals_hold_the_true_value(seeds):
    """Of simulated studies: at least 93 % for any spread."""
    random, texts, studies = np.random.default_rng(0), 100, 1000
    for by_seed, by_text, single in SPREADS:
        hits = 0
        for _ in range(studies):
            sides = [
                by_text * random.normal(size=texts)
                + (by_seed if count > 1 else 0) * random.normal(size=(count, 1))
                + single * random.normal(size=(count, texts))
                for count in seeds
            ]
            low, high = crossed(*sides).interval
            hits += low <= 0 <= high
        assert hits / studies >= 0.93, (by_seed, by_text, single)


def test_equality_takes_an_interval_inside_the_margin_and_may_stay_open():
    found = Estimate(0.5, 0.04, 10_000)  # ± 0.33 at 90 %
    assert [found.equivalent(margin) for margin in (0.1, 0.5, 0.9)] == [
        "different",
        "inconclusive",
        "equivalent",
    ]
    few = Estimate(0.5, 0.0, 10_000, 0.04, 2)  # ± 0.58 with three seeds
    assert [few.equivalent(margin) for margin in (0.1, 0.9)] == ["inconclusive"] * 2


@pytest.mark.parametrize("value", [0.0, 0.1, -0.1, 0.7])
def test_the_p_value_of_a_margin_is_the_larger_of_two_one_sided_t_tests(value):
    """Within the margin; beyond it, that of the nearer end."""
    margin, texts, deviation = 0.3, 12, 0.15
    found = Estimate(value, deviation**2, texts).margin_p(margin)
    below, above = student.sf(
        [(margin - value) / deviation, (margin + value) / deviation], texts - 1
    )
    expected = max(below, above) if abs(value) < margin else 1 - below
    assert found == pytest.approx(expected, rel=1e-6)


def test_holm_corrects_a_family_for_its_number():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


def test_texts_that_differ_in_number_or_are_none_are_refused():
    for compare in (mcnemar, crossed):
        for texts in ((3, 4), (0, 0)):
            first, second = (np.ones((1, count), bool) for count in texts)
            with pytest.raises(ValueError, match=f"same texts, got {texts[0]} and {texts[1]}"):
                compare(first, second)
    with pytest.raises(ValueError, match="at least 2, got 1"):
        crossed(np.ones((3, 1)))


PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=20)


@given(PAIRS)
def test_a_rank_correlation_is_scipys_with_ties_too(pairs):
    first, second = (torch.tensor(values).float() for values in zip(*pairs))
    found = rank_correlation(first, second)
    if len(first.unique()) == 1 or len(second.unique()) == 1:
        assert found.isnan()
    else:
        assert found.item() == pytest.approx(spearmanr(first, second).statistic, abs=1e-9)


def test_rows_are_compared_with_rows_and_a_value_that_is_not_finite_gives_nan():
    rows = torch.tensor([[1.0, 5.0, 9.0], [9.0, 5.0, 1.0], [1.0, torch.inf, 2.0], [0, 0, 1.0]])
    found = rank_correlation(rows, torch.tensor([2.0, 3.0, 4.0]))
    assert found[:2].tolist() == [1, -1] and found[2].isnan()
