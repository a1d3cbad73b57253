"""Paired comparisons and rank correlation against closed forms, scipy and simulations."""

from fractions import Fraction
from math import comb, isclose

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from course_lib.metrics import mcnemar, paired_bootstrap, rank_correlation

DRAWS = 1000


@st.composite
def two_models(draw, most_seeds=1):
    """Two models' right answers on the same texts, bool ``(seeds, texts)`` each."""
    texts, random = draw(st.integers(1, 300)), np.random.default_rng(draw(st.integers(0, 9999)))
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
    sides = (np.tile(answers, (count, 1)) for count in (seeds, others))
    assert paired_bootstrap(*sides, DRAWS) == (0, 0)


@settings(max_examples=40)
@given(two_models(most_seeds=4))
def test_the_interval_is_mirrored_when_the_sides_change_places(models):
    first, second = models
    low, high = paired_bootstrap(first, second, 4000)
    others = paired_bootstrap(second, first, 4000)
    near = 0.15 * (high - low) + 1 / first.shape[1]  # the draws are others
    assert (low, high) == pytest.approx((-others[1], -others[0]), abs=near)
    assert (low, high) == paired_bootstrap(first, second, 4000)


@settings(max_examples=40)
@given(st.integers(5, 200), st.integers(5, 200), st.integers(400, 4000))
def test_the_interval_of_two_runs_has_the_closed_forms_width(only_first, only_second, both):
    first, second = counts_as_answers(only_first, only_second, both)
    texts, gap = len(first), (only_first - only_second) / len(first)
    error = ((only_first + only_second) / texts - gap**2) ** 0.5 / texts**0.5
    low, high = paired_bootstrap(first[None], second[None])
    near = 0.15 * error + 1 / texts
    assert (low, high) == pytest.approx((gap - 1.96 * error, gap + 1.96 * error), abs=near)


def test_seeds_widen_the_interval_by_the_error_of_their_mean():
    """On texts that all runs answer alike but for a block that a seed gets right or not."""
    accuracies = np.array([0.70, 0.80, 0.75, 0.83, 0.66])
    texts = 100_000
    first = np.arange(texts) < accuracies[:, None] * texts
    second = np.arange(texts)[None] < 0.6 * texts
    low, high = paired_bootstrap(first, second)
    error = accuracies.std(ddof=1) / len(accuracies) ** 0.5
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.08)


def test_what_the_texts_explain_of_the_seeds_is_counted_once():
    """The mean difference varies with the texts, and with the seeds beyond that."""
    random, seeds, texts = np.random.default_rng(3), 8, 400
    right = random.random((seeds, texts)) < random.normal(0.7, 0.02, (seeds, 1))
    accuracies = right.mean(1)
    by_texts = right.mean(0).var() / texts
    residuals = right - accuracies[:, None]
    beyond = accuracies.var(ddof=1) - residuals.var(0, ddof=1).mean() / texts
    assert 0.2 < beyond / accuracies.var(ddof=1) < 0.8
    low, high = paired_bootstrap(right, np.zeros((1, texts), bool))
    expected = 1.96 * (by_texts + beyond / seeds) ** 0.5
    assert (high - low) / 2 == pytest.approx(expected, rel=0.05)


def answers(random, seeds, texts, effect, seed_spread, difficulty):
    """Answers of runs on texts of a given difficulty; seeds differ by a normal effect."""
    logits = 1.2 + effect + difficulty + random.normal(0, seed_spread, (seeds, 1))
    return random.random((seeds, texts)) < 1 / (1 + np.exp(-logits))


@pytest.mark.parametrize(
    ("seeds", "spread"), [((1, 1), 0), ((3, 3), 0), ((3, 1), 0), ((8, 8), 0.2)]
)
def test_nineteen_of_twenty_intervals_hold_the_true_difference(seeds, spread):
    random, texts, hits = np.random.default_rng(0), 500, 0
    everything = random.normal(0, 1.5, 20_000) + random.normal(0, spread, 20_000)
    better, worse = ((1 / (1 + np.exp(-(1.2 + effect + everything)))).mean() for effect in (0.2, 0))
    for number in range(400):
        difficulty = random.normal(0, 1.5, texts)
        one = answers(random, seeds[0], texts, 0.2, spread, difficulty)
        other = answers(random, seeds[1], texts, 0.0, spread, difficulty)
        low, high = paired_bootstrap(one, other, 400, seed=number)
        hits += low <= better - worse <= high
    assert 0.92 <= hits / 400 <= 0.98


def test_texts_that_differ_in_number_or_are_none_are_refused():
    for compare in (mcnemar, paired_bootstrap):
        for texts in ((3, 4), (0, 0)):
            first, second = (np.ones((1, count), bool) for count in texts)
            with pytest.raises(ValueError, match=f"same texts, got {texts[0]} and {texts[1]}"):
                compare(first, second)


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
