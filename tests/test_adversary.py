"""The search for the furthest attention, beside the optimum that a grid finds."""

import numpy as np
import pytest
from faithful import softmax

from course_lib import faithfulness

CASES, WITHIN, SHARE = 60, 0.01, 0.95
GRID = np.linspace(0, 1, 201)


def positions(random):
    """Three positions: their attention, and a model that pools their states, linear or not."""
    classes, scale = random.integers(2, 5), random.choice([1, 3, 6])
    states, readout = random.normal(size=(3, 4)), random.normal(size=(4, classes)) * scale
    bend = random.random() < 0.25

    def answer(attention):
        pooled = attention @ states
        return softmax((np.tanh(2 * pooled) if bend else pooled) @ readout)

    return random.dirichlet(np.full(3, random.choice([0.5, 1, 3]))), answer


def optimum(attention, answer, epsilon):
    """The largest divergence over a grid of the simplex, among the outputs within ``epsilon``."""
    first, second = (axis.ravel() for axis in np.meshgrid(GRID, GRID))
    simplex = np.stack([first, second, 1 - first - second], -1)[first + second <= 1]
    simplex = simplex.clip(0)
    changes = faithfulness.total_variation(answer(simplex), answer(attention[None]))
    distances = faithfulness.jensen_shannon(simplex, attention[None])
    return distances[changes <= epsilon].max(initial=0)


@pytest.mark.full
@pytest.mark.parametrize("epsilon", [0.01, 0.05])
def test_an_adversary_comes_near_the_optimum_on_three_positions(epsilon):
    random = np.random.default_rng(7)
    short = []
    for _ in range(CASES):
        attention, answer = positions(random)
        found = faithfulness.adversarial_attention(answer, attention, epsilon=epsilon)
        short.append(optimum(attention, answer, epsilon) - found.divergence)
    assert np.mean(np.array(short) <= WITHIN) >= SHARE


@pytest.mark.full
def test_rows_that_move_together_get_as_far_as_those_that_are_tried_in_turn():
    """A hundred rows, whose pooled states are read together."""
    random = np.random.default_rng(3)
    short, asked = [], []
    for case in range(8):
        states, readout = random.normal(size=(100, 5, 4)), 6 * random.normal(size=(4, 2 + case % 3))
        attention = random.dirichlet(np.ones(5), size=100)

        def answer(candidates, states=states, readout=readout):
            asked[-1] += len(candidates)
            return softmax(np.tanh(np.einsum("mrp,rpd->md", candidates, states) / 10) @ readout)

        found = []
        for search in (
            faithfulness.adversarial_attention_together,
            faithfulness.adversarial_attention,
        ):
            asked.append(0)
            found.append(search(answer, attention, epsilon=0.01))
            moved = answer(np.stack([found[-1].attention, attention]))
            assert faithfulness.total_variation(*moved) == pytest.approx(found[-1].change)
            assert found[-1].change <= 0.01
        short.append(found[1].divergence - found[0].divergence)
    assert np.mean(np.array(short) <= 0.05) >= 0.75
    assert sum(asked[::2]) < sum(asked[1::2]) / 10


def test_rows_move_together_as_far_as_they_may_where_every_move_lowers_the_output():
    attention = np.random.default_rng(5).dirichlet(np.ones(5), size=100)

    def answer(candidates):
        moved = faithfulness.total_variation(candidates, attention).mean(-1)
        return np.stack([1 - moved, moved], 1)

    found = faithfulness.adversarial_attention_together(answer, attention, epsilon=0.1)
    corners = np.eye(5)[attention.argmin(-1)]
    rows_at_once = 0.1 / faithfulness.total_variation(corners, attention).mean()
    furthest = faithfulness.jensen_shannon(corners, attention).mean()
    assert 0.09 < found.change <= 0.1 and found.divergence > 0.9 * rows_at_once * furthest


def test_fewer_turns_of_moving_together_ask_less_and_stay_allowed():
    random = np.random.default_rng(4)
    states, readout = random.normal(size=(70, 5, 4)), random.normal(size=(4, 2))
    attention, asked, found = random.dirichlet(np.ones(5), size=70), [], []

    def answer(candidates):
        asked[-1] += len(candidates)
        return softmax(np.tanh(np.einsum("mrp,rpd->md", candidates, states) / 10) @ readout)

    for turns in (1, 4):
        asked.append(0)
        search = faithfulness.adversarial_attention_together
        found.append(search(answer, attention, epsilon=0.01, turns=turns))
    assert asked[0] < asked[1] / 2 and 0 < found[0].divergence <= found[1].divergence
    assert max(each.change for each in found) <= 0.01
