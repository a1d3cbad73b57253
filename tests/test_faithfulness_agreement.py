"""Agreement and interventions: against scipy, by hand, and on a model that ignores attention."""

import numpy as np
import pytest
import torch
from faithful import softmax
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import kendalltau

from course_lib import faithfulness

PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=15)
STATES = np.array([[2.0, 0.0], [0.0, 1.0], [-1.0, 0.5], [0.3, -0.2], [1.0, 1.0]])


def weights(count, seed=0):
    return softmax(np.random.default_rng(seed).normal(size=count))


def ignoring(attention):
    """A model whose output does not depend on its attention."""
    return np.tile([0.8, 0.2], (len(attention), 1))


def attending(attention):
    """A model that pools five states by attention."""
    return softmax(attention @ STATES)


# Agreement


@given(PAIRS)
def test_kendall_is_scipys_with_ties_and_nan_without_an_order(pairs):
    first, second = np.reshape(pairs, (-1, 2)).T
    found, opposite = faithfulness.kendall([first, [1, 2, 3]], [second, [3, 2, 1]])
    assert opposite == -1
    if len(set(first)) < 2 or len(set(second)) < 2:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(kendalltau(first, second).statistic)


@pytest.mark.parametrize(
    ("first", "second"), [([[1, 2]], [[1, 2, 3]]), ([[1, np.nan]], [[1, 2]]), ([[1], [2]], [[1]])]
)
def test_kendall_refuses_what_does_not_fit(first, second):
    with pytest.raises(ValueError):
        faithfulness.kendall(first, second)


@given(st.integers(1, 9), st.integers(0, 99))
def test_divergences_are_scipys_and_lie_in_their_range(count, seed):
    p, q = weights(count, seed), weights(count, seed + 1)
    found = faithfulness.jensen_shannon(p, q)
    assert found == pytest.approx(jensenshannon(p, q) ** 2, abs=1e-12)
    assert 0 <= found <= np.log(2)
    assert faithfulness.total_variation(p, q) == pytest.approx(np.maximum(p - q, 0).sum())


def test_conicity_counts_real_states_alone():
    states = torch.tensor([[[1.0, 0.0], [2.0, 0.0], [9.0, -9.0]], [[1.0, 0.0], [0.0, 1.0], [5, 5]]])
    mask = torch.tensor([[True, True, False], [True, True, False]])
    torch.testing.assert_close(
        faithfulness.conicity(states, mask), torch.tensor([1.0, 0.5**0.5]), atol=1e-6, rtol=0
    )
    assert faithfulness.conicity(states, torch.zeros(2, 3, dtype=torch.bool)).tolist() == [0, 0]
    with pytest.raises(ValueError, match="mask"):
        faithfulness.conicity(states, mask[:1])


def test_a_mean_tells_how_many_documents_have_no_value():
    values = np.random.default_rng(0).normal(0.3, 0.2, 400)
    found = faithfulness.mean_over_documents(np.append(values, [np.nan, np.nan]))
    assert (found.counted, found.left_out) == (400, 2)
    assert found.mean == pytest.approx(values.mean())
    error = values.std(ddof=1) / 20
    assert found.low == pytest.approx(values.mean() - 1.96 * error, abs=0.1 * error)
    assert found.high == pytest.approx(values.mean() + 1.96 * error, abs=0.1 * error)
    assert faithfulness.mean_over_documents(np.append(values, [np.nan, np.nan])) == found


def test_a_mean_of_nothing_one_or_equals():
    nothing = faithfulness.mean_over_documents(np.array([np.nan]))
    assert np.isnan(nothing[:3]).all() and nothing[3:] == (0, 1)
    assert faithfulness.mean_over_documents(np.array([0.5])) == (0.5, 0.5, 0.5, 1, 0)
    assert faithfulness.mean_over_documents(np.full(3, 0.25))[:3] == (0.25,) * 3
    with pytest.raises(ValueError, match="values"):
        faithfulness.mean_over_documents(np.ones((2, 2)))


# Interventions


def test_what_is_left_of_zeroed_attention_sums_to_one_again():
    attention = np.array([[0.5, 0.3, 0.2], [0.0, 1.0, 0.0]])
    found = faithfulness.zeroed(attention, np.array([False, True, False]))
    np.testing.assert_allclose(found, [[5 / 7, 0, 2 / 7], [0, 0, 0]])
    with pytest.raises(ValueError, match="weights from 0"):
        faithfulness.zeroed(-attention, attention > 0)


def test_a_model_that_ignores_its_attention():
    """Shuffling changes nothing, and an adversary may go to the furthest corner."""
    for search in (
        faithfulness.adversarial_attention,
        faithfulness.adversarial_attention_together,
    ):
        with pytest.raises(ValueError, match="epsilon"):
            search(ignoring, weights(3), epsilon=2.0)
    for count, seed in ((2, 0), (5, 1), (40, 2)):
        attention = weights(count, seed)
        assert faithfulness.permutation_change(ignoring, attention) == 0
        found = faithfulness.adversarial_attention(ignoring, attention)
        corner = np.eye(count)[attention.argmin()]
        assert found.divergence == pytest.approx(faithfulness.jensen_shannon(attention, corner))
        np.testing.assert_allclose(found.attention, corner)
        assert found.change == 0


def test_permutation_is_the_median_over_shuffles():
    sharp = np.array([0.96, 0.01, 0.01, 0.01, 0.01])
    shuffled = np.stack([np.roll(sharp, place) for place in range(5)])
    changes = faithfulness.total_variation(attending(shuffled), attending(sharp[None]))
    found = faithfulness.permutation_change(attending, sharp, shuffles=2000)
    assert found in changes and 0.1 < found < changes.max()
    assert faithfulness.permutation_change(attending, np.full(5, 0.2)) == pytest.approx(0, abs=1e-9)


def test_shuffles_stay_within_each_row_and_its_real_places():
    attention = np.array([[0.7, 0.3, 0.0, 0.0], [0.1, 0.2, 0.3, 0.4], [0.0, 0.0, 0.0, 0.0]])
    real = np.array([[True, True, False, False], [True] * 4, [False] * 4])
    seen = []

    def watching(candidates):
        seen.extend(candidates)
        return np.tile([0.5, 0.5], (len(candidates), 1))

    faithfulness.permutation_change(watching, attention, real)
    for other in seen:
        np.testing.assert_array_equal(np.sort(other), np.sort(attention))
        assert not other[~real].any()
    assert len(seen) == 101 and len({other.tobytes() for other in seen}) > 20
    with pytest.raises(ValueError):
        faithfulness.permutation_change(watching, attention, real, shuffles=0)


@settings(max_examples=15)
@given(st.integers(0, 99), st.sampled_from([0.01, 0.05, 0.3]))
def test_an_adversary_keeps_the_output_and_knows_how_far_it_went(seed, epsilon):
    attention = weights(5, seed)
    found = faithfulness.adversarial_attention(attending, attention, epsilon=epsilon)
    assert found.attention.sum() == pytest.approx(1) and (found.attention >= 0).all()
    change = faithfulness.total_variation(*attending(np.stack([found.attention, attention])))
    assert found.change == pytest.approx(change) and change <= epsilon
    distance = faithfulness.jensen_shannon(found.attention, attention)
    assert found.divergence == pytest.approx(distance) and distance > 0


def test_rows_of_an_attention_are_moved_each_on_its_own():
    """The last row is padding: it stays empty, and the mean is over the real rows alone."""
    attention = np.array([[0.7, 0.3, 0.0], [0.2, 0.3, 0.5], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    real = np.array([[True, True, False], [True] * 3, [False, True, False], [False] * 3])
    found = faithfulness.adversarial_attention(ignoring, attention, real)
    np.testing.assert_allclose(found.attention, [[0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]])
    expected = faithfulness.jensen_shannon(found.attention[:3], attention[:3]).mean()
    assert found.divergence == pytest.approx(expected)


@pytest.mark.parametrize(
    ("attention", "real", "message"),
    [
        ([0.5, 0.4985], None, "sum to 1"),
        ([1.5, -0.5], None, "sum to 1"),
        ([0.5, 0.5], [True, False], "sum to 1"),
        ([0.5, 0.5], [True], "real has the shape"),
        ([], None, "real has the shape"),
    ],
)
def test_what_is_no_attention_is_refused(attention, real, message):
    for test in (
        faithfulness.permutation_change,
        faithfulness.adversarial_attention,
        faithfulness.adversarial_attention_together,
    ):
        with pytest.raises(ValueError, match=message):
            test(ignoring, np.array(attention), None if real is None else np.array(real))
