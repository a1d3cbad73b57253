"""Paired comparisons: McNemar's test and the bootstrap against closed forms and simulations, and
what the tables say of them."""

from fractions import Fraction
from math import comb, isclose

import datasets
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from torch.nn.functional import one_hot

from course_kit.research import report
from course_lib.files import DataError
from course_lib.metrics import Predictions, mcnemar, paired_bootstrap, sampling_error
from course_lib.runs import records
from course_lib.runs.predictions import write_predictions

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


@pytest.mark.parametrize(("only_first", "only_second"), [(2000, 1800), (700, 540), (11, 2), (0, 9)])
def test_mcnemars_p_is_that_of_scipys_binomial_test(only_first, only_second):
    expected = binomtest(only_first, only_first + only_second).pvalue
    found = mcnemar(*counts_as_answers(only_first, only_second))
    assert isclose(found, expected, rel_tol=1e-6)


@given(two_models())
def test_mcnemars_test_takes_both_sides_alike(models):
    (first,), (second,) = models
    assert mcnemar(first, second) == mcnemar(second, first)
    assert 0 <= mcnemar(first, second) <= 1


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


@settings(max_examples=40)
@given(st.integers(1, 60), st.integers(1, 60), st.integers(200, 2000), st.integers(100, 1000))
def test_models_that_fail_on_the_same_texts_have_a_narrower_interval(one, other, both, neither):
    models = counts_as_answers(one, other, both)
    first, second = (np.append(right, np.zeros(neither, bool)) for right in models)
    low, high = paired_bootstrap(first[None], second[None], 4000)
    errors = [sampling_error(right.mean(), len(right)) for right in (first, second)]
    assert high - low < 2 * 1.96 * np.hypot(*errors)


def test_seeds_widen_the_interval_by_the_error_of_their_mean():
    """On texts that all runs answer alike but for a block that a seed gets right or not."""
    accuracies = np.array([0.70, 0.80, 0.75, 0.83, 0.66])
    texts = 100_000
    first = np.arange(texts) < accuracies[:, None] * texts
    second = np.arange(texts)[None] < 0.6 * texts
    low, high = paired_bootstrap(first, second)
    error = accuracies.std(ddof=1) / len(accuracies) ** 0.5
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.08)


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


# Differences and tables


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    """``recorded(right, …)`` publishes a run whose test predictions are right on those texts."""
    monkeypatch.setattr(records, "RESULTS", tmp_path)

    def make(right, system="iram", preset="vanilla", seed=0, what="text", keep=True):
        name = f"{system}-sst2-{preset}-s{seed}"
        made = {
            "id": name,
            "spec": {"system": system, "dataset": "sst2", "preset": preset, "seed": seed,
                     "limit": None, "overrides": {}},
            "settings": {
                "text": {"vectors": "none"}, "control": {"attention_weights": "learned"},
            },
            "data": {"subset": False},
            "sizes": {"test": len(right)}, "test": {"accuracy": right.mean()},
        }  # fmt: skip
        if keep:
            labels = torch.arange(len(right)) % 2
            classes = torch.where(torch.from_numpy(right), labels, 1 - labels)
            texts = [f"{what} {number}" for number in range(len(right))]
            rows = datasets.Dataset.from_dict({"text": texts, "label": labels.tolist()})
            made["predictions"] = write_predictions(
                records.published_predictions(name), Predictions(one_hot(classes, 2), labels), rows
            )
        return made

    return make


FEW, MANY = counts_as_answers(30, 16, 954)  # fourteen texts of a thousand apart


def test_runs_on_the_same_texts_are_compared_text_by_text(recorded):
    ours, other = [recorded(FEW)], [recorded(MANY, "tfidf", "default")]
    found = report.difference(ours, other)
    p = mcnemar(FEW, MANY)
    assert found.test == f"paired, McNemar p = {p:.3f}" and 0.05 < p < 0.1
    assert found.interval == paired_bootstrap(FEW[None], MANY[None])
    low, high = (100 * bound for bound in found.interval)
    assert str(found) == f"+1.4 [{low:+.1f}, {high:+.1f}]"
    assert found.interval[0] > 0 and found.reading == "not told apart"  # as McNemar's test says


def test_a_paired_comparison_tells_apart_what_an_unpaired_one_cannot(recorded):
    first, second = counts_as_answers(40, 10, 800)
    texts = (
        np.concatenate([first, np.zeros(150, bool)]),
        np.concatenate([second, np.zeros(150, bool)]),
    )
    kept = [[recorded(right, system="tfidf", preset=name)] for right, name in zip(texts, "ab")]
    alone = [[recorded(right, "tfidf", name, keep=False)] for right, name in zip(texts, "ab")]
    paired, unpaired = report.difference(*kept), report.difference(*alone)
    assert paired.value == unpaired.value and unpaired.test == "unpaired"
    assert (paired.reading, unpaired.reading) == ("better", "not told apart")
    assert np.diff(paired.interval) < np.diff(unpaired.interval) / 2
    assert report.difference(*reversed(kept)).reading == "worse"
    assert report.difference(*kept).test == "paired, McNemar p < 0.001"


@pytest.mark.parametrize("change", [{"what": "other text"}, {"keep": False}])
def test_runs_on_other_texts_or_without_predictions_are_compared_unpaired(recorded, change):
    ours, other = [recorded(FEW)], [recorded(MANY, "tfidf", "default", **change)]
    assert report.difference(ours, other).test == "unpaired"
    both = [recorded(FEW, seed=1, **change), recorded(FEW)]  # one of a side's seeds is enough
    assert report.difference(both, [recorded(MANY, "tfidf", "default")]).test == "unpaired"
    assert report.difference(ours, (0.9, 1000)).test == "unpaired"


def test_two_networks_of_one_seed_are_still_of_one_seed(recorded):
    ours, other = [recorded(FEW)], [recorded(~FEW, preset="baseline")]
    assert report.difference(ours, other).reading == "better, of one seed"


def test_several_seeds_have_an_interval_and_no_mcnemar(recorded):
    random = np.random.default_rng(0)
    rights = random.random((3, 1000)) < 0.8
    seeds = [recorded(right, seed=seed) for seed, right in enumerate(rights)]
    found = report.difference(seeds, [recorded(MANY, "tfidf", "default")])
    assert found.test == "paired, bootstrap over texts and seeds"
    assert found.interval == paired_bootstrap(rights, MANY[None])
    assert found.reading == "worse"


def test_every_row_says_which_test_it_is(recorded):
    ours = [
        recorded(FEW),
        recorded(MANY, "tfidf", "default"),
        recorded(MANY, "tfidf", "words", keep=False),
    ]
    words, pairs = report.SIMPLE
    contrasts = [("sst2", "IRAM vanilla", name) for name in (pairs, words)]
    rows = report.contrasts_table(ours, [*contrasts, ("sst5", "AGT", pairs)]).split("\n")[2:]
    tests = [row.split(" | ")[4] for row in rows]
    p = mcnemar(FEW, MANY)
    assert tests == [f"paired, McNemar p = {p:.3f}", "unpaired", "–"]
    assert "| unpaired | better, of one seed |" in report.papers_table(ours, ["IRAM vanilla"])


def test_a_record_whose_predictions_are_gone_is_not_silently_unpaired(recorded):
    ours, other = [recorded(FEW)], [recorded(MANY, "tfidf", "default")]
    records.published_predictions(ours[0]["id"]).unlink()
    with pytest.raises(DataError, match=r"iram-sst2-vanilla-s0\.npz cannot be read"):
        report.difference(ours, other)
