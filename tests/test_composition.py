"""Composition metrics on attention made by hand, against plain loops, and under the null."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from strategies import prefix_mask, row_lengths, seeds

from course_kit.research.side_notes.agt_dictionaries import WordCounts, selection_counts
from course_kit.research.side_notes.agt_selections import (
    composition_test,
    rise_and_fall,
    weight_histogram,
)
from course_lib.metrics.composition import (
    above_median,
    describe_composition,
    expected_phrases,
    phrases,
    scaled,
    selected_words,
)
from course_lib.models.layers import masked_softmax

BY_HAND = torch.tensor(
    [
        [0.02, 0.30, 0.30, 0.02, 0.30, 0.06],  # two words, one, one apart
        [0.05, 0.05, 0.60, 0.10, 0.15, 0.05],
        [1 / 6] * 6,  # prefers none
    ]
).unsqueeze(0)
ALL = torch.ones(1, 6, dtype=torch.bool)


def random_attention(lengths, seed, layers=3, width=None):
    mask = prefix_mask(lengths, width)
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randint(-2, 3, (len(lengths), layers, mask.shape[1]), generator=generator)
    return masked_softmax(scores.float(), mask.unsqueeze(1)), mask


def words(selected):
    return [row.nonzero().flatten().tolist() for row in selected[0]]


def test_known_words_are_selected_by_their_scaled_weights():
    assert not scaled(BY_HAND, ALL)[0, 2].any()
    torch.testing.assert_close(scaled(BY_HAND, ALL)[0, 1], (BY_HAND[0, 1] - 0.05) / 0.55)
    assert words(selected_words(BY_HAND, ALL, 0.05))[1] == [2, 3, 4]
    assert weight_histogram(BY_HAND, ALL, 4).tolist() == [[3, 0, 0, 3], [5, 0, 0, 1], [6, 0, 0, 0]]
    with pytest.raises(ValueError, match=r"\(1, 3, 6\) does not fit .* needs \(1, 3, 5\)"):
        scaled(BY_HAND, ALL[:, :5])


@given(lengths=row_lengths(longest=12), seed=seeds)
def test_selection_is_numpys(lengths, seed):
    attention, mask = random_attention(lengths, seed)
    chosen, relaxed = selected_words(attention, mask), above_median(attention, mask)
    for row, length in enumerate(lengths):
        for layer in range(3):
            d = attention[row, layer, :length].double().numpy()
            alike = length == 0 or d.max() - d.min() < 1e-6
            scale = 1 if alike else np.ptp(d)
            expected = [] if alike else np.flatnonzero((d - d.min()) / scale > 0.95).tolist()
            assert chosen[row, layer].nonzero().flatten().tolist() == expected
            expected = [] if alike else np.flatnonzero(d > np.median(d) + 1e-7).tolist()
            assert relaxed[row, layer].nonzero().flatten().tolist() == expected


def test_ties_are_selected_together_though_rounding_parts_them():
    attention = torch.tensor([[[0.4, 0.1, 0.4 + 3e-8, 0.1 + 1e-8]]])
    mask = torch.ones(1, 4, dtype=torch.bool)
    assert words(selected_words(attention, mask)) == [[0, 2]]
    assert words(above_median(attention, mask)) == [[0, 2]]
    low = torch.tensor([[[0.25, 0.25 + 3e-8, 0.25 - 3e-8, 0.25 + 1e-3]]])
    assert words(above_median(low, mask)) == [[3]]


@given(lengths=row_lengths(longest=9), seed=seeds, left=st.integers(0, 3), right=st.integers(0, 3))
def test_padding_is_inert(lengths, seed, left, right):
    attention, mask = random_attention(lengths, seed)
    gates = torch.rand(len(lengths), 2, 5, generator=torch.Generator().manual_seed(seed))

    def pad(tensor):
        return torch.nn.functional.pad(tensor, (left, right))

    wild = pad(attention).masked_fill(~pad(mask).unsqueeze(1), 7.0)  # whatever stands there
    figures = describe_composition(attention, gates, mask)
    for name, values in describe_composition(wild, gates, pad(mask)).items():
        torch.testing.assert_close(values, figures[name], msg=name)
        assert values.isfinite().all()
    torch.testing.assert_close(scaled(wild, pad(mask)), pad(scaled(attention, mask)))
    for select in (selected_words, above_median):
        expected, found = select(attention, mask), select(wild, pad(mask))
        assert torch.equal(pad(expected), found)
    expected = weight_histogram(attention, mask)
    assert torch.equal(weight_histogram(wild, pad(mask)), expected)
    assert expected.sum() == 3 * sum(lengths)


def test_what_is_described_of_known_attention():
    figures = describe_composition(BY_HAND, torch.tensor([[[0.06, 0.1], [0.5, 1.0]]]), ALL)
    assert figures["selected"].tolist() == [[3, 1, 0]]
    assert figures["phrases"].tolist() == [[2, 1, 0]]
    assert figures["phrases by chance"][0].tolist() == pytest.approx([3 * 4 / 6, 1, 0])
    assert figures["relaxed selected"].tolist() == [[3, 3, 0]]
    assert figures["relaxed phrases"].tolist() == [[2, 1, 0]]
    assert figures["gate"][0].tolist() == pytest.approx([0.08, 0.75])
    assert figures["gate closed"].tolist() == [[0.5, 0]]
    entropy = -sum(w * math.log(w) for w in BY_HAND[0, 1].tolist()) / math.log(6)
    assert figures["spread"][0].tolist()[1:] == pytest.approx([entropy, 1])
    assert "gate" not in describe_composition(BY_HAND[:, :1], torch.empty(1, 0, 2), ALL)


def test_expected_phrases_are_the_mean_over_all_orders():
    for n, k in [(1, 1), (4, 2), (5, 3), (6, 6), (5, 0)]:
        runs = [
            sum(1 for chosen, _ in itertools.groupby(order) if chosen)
            for order in set(itertools.permutations([True] * k + [False] * (n - k)))
        ]
        selected = torch.arange(8)[None, None] < k
        found = expected_phrases(selected, torch.arange(8)[None] < n)
        assert found.item() == pytest.approx(sum(runs) / len(runs))


def test_the_words_that_a_layer_selects_most():
    tokens = torch.tensor([[2, 3, 3, 5, 4, 2]])
    selected = selected_words(BY_HAND, ALL)
    counts = selection_counts(selected, tokens, 6)
    assert counts.tolist() == [[0, 0, 0, 2, 1, 0], [0, 0, 0, 1, 0, 0], [0] * 6]
    occurrences = selection_counts(ALL[:, None], tokens, 6)[0]
    assert occurrences.tolist() == [0, 0, 2, 2, 1, 1]
    seen = WordCounts(counts, occurrences, occurrences)
    ids, rates = seen.most_selected(torch.arange(2, 6), top=2)
    assert ids[0].tolist() == [3, 4] and rates[0].tolist() == [1, 1]  # twice of two before once
    assert ids[1, 0] == 3 and rates[1].tolist() == [0.5, 0]
    assert sorted(seen.most_selected(torch.tensor([2, 3]))[0][0].tolist()) == [2, 3]
    often_but_rarely = WordCounts(torch.tensor([[9, 5, 2]]), torch.tensor([18, 5, 10]), None)
    assert often_but_rarely.most_selected(torch.arange(3))[0].tolist() == [[1, 0, 2]]
    always = torch.arange(40)  # an unstable sort keeps up to 16 equal rates in their order
    ids, _ = WordCounts(always[None], always, None).most_selected(always[10:], top=20)
    assert torch.equal(ids[0], always.flip(0)[:20])


@given(st.lists(st.integers(0, 9), min_size=3, max_size=20))
def test_rise_and_fall_is_scipys_correlation_with_a_tent(profile):
    middle = (len(profile) - 1) / 2
    tent = [-abs(layer - middle) for layer in range(len(profile))]
    found = rise_and_fall(torch.tensor(profile)).item()
    if len(set(profile)) == 1:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(spearmanr(profile, tent).statistic, abs=1e-9)
    assert rise_and_fall(torch.tensor([[1, 2, 1], [1, 0, 1]])).tolist() == pytest.approx([1, -1])
    with pytest.raises(ValueError, match="at least 3 layers, got 2"):
        rise_and_fall(torch.tensor([1, 2]))


def sentences(together, seed=0, rows=60, length=12):
    """Per layer so many selected words in each sentence: side by side, or anywhere."""
    random = np.random.default_rng(seed)
    selected = np.zeros((rows, len(together), length + 2), dtype=bool)
    for row, layer in itertools.product(range(rows), range(len(together))):
        count, side_by_side = together[layer]
        start = random.integers(0, length - count + 1)
        places = random.choice(length, count, replace=False)
        selected[row, layer, np.arange(start, start + count) if side_by_side else places] = True
    mask = torch.arange(length + 2).expand(rows, -1) < length
    return torch.from_numpy(selected), mask


def test_phrases_that_grow_and_shrink_are_found():
    counts = [1, 2, 3, 4, 3, 2, 1]
    selected, mask = sentences([(count, True) for count in counts])
    found = composition_test([(selected, mask)], shuffles=99)
    assert found.length.tolist() == counts
    assert found.arch == pytest.approx(1)
    assert (found.longer[1:-1] == 0.01).all() and (found.longer[[0, -1]] == 1).all()
    assert found.arch_by_layers < 0.05
    low, high = found.interval()
    assert (high[1:-1] < found.length[1:-1]).all() and (low <= high).all()
    three = composition_test([sentences([(2, True), (4, True), (2, True)])])
    assert three.arch_by_layers == pytest.approx(1 / 3, abs=0.05)  # the longest is in the middle


def test_an_arch_that_only_counts_words_is_no_composition():
    """More words half-way up make longer runs in any order: the arch is there, and chance."""
    selected, mask = sentences([(count, False) for count in (1, 2, 4, 6, 4, 2, 1)])
    found = composition_test([(selected, mask)], shuffles=99)
    assert found.arch > 0.9 and found.arch_by_layers < 0.05
    assert (found.longer > 0.01).all()


def test_the_p_values_are_uniform_where_order_means_nothing():
    """Over 40 such networks about one in ten is below 0.1, not most and not none."""
    p_values = []
    for seed in range(40):
        selected, mask = sentences([(3, False)] * 5, seed, rows=10)
        found = composition_test([(selected, mask)], shuffles=39, seed=seed)
        p_values.append(found.longer)
    share = (torch.stack(p_values) <= 0.1).float().mean().item()
    assert 0.03 < share < 0.2


def test_batches_of_different_lengths_add_up():
    selected, mask = sentences([(2, True), (3, True), (2, False)])
    short = [(selected[:20, :, :12], mask[:20, :12]), (selected[20:], mask[20:])]
    whole, parts = composition_test([(selected, mask)], 19), composition_test(short, 19)
    assert torch.equal(whole.length, parts.length)
    again = composition_test(iter(short), 19)
    assert torch.equal(again.shuffled, parts.shuffled)
    with pytest.raises(ValueError, match="at least one batch"):
        composition_test([])


def test_a_layer_that_selects_nothing_has_no_length():
    selected, mask = sentences([(2, True), (0, True), (2, True)])
    found = composition_test([(selected, mask)], 19)
    assert found.length.isnan().tolist() == [False, True, False]
    assert math.isnan(found.arch)
    assert found.longer.isnan().tolist() == [False, True, False]


def test_phrases_are_the_runs_of_selected_words_layer_by_layer():
    words = ["not", "a", "dull", "moment", "in"]
    selected = torch.tensor([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]]).bool()
    assert phrases(words, selected) == [["not", "dull moment"], [], ["not a dull moment in"]]
