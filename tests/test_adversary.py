"""The search for the furthest attention, beside the optimum that a grid finds."""

import numpy as np
import pytest

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
        logits = (np.tanh(2 * pooled) if bend else pooled) @ readout
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True)

    return random.dirichlet(np.full(3, random.choice([0.5, 1, 3]))), answer


def optimum(attention, answer, epsilon):
    """The largest divergence over a grid of the simplex, among the outputs within ``epsilon``."""
    first, second = (axis.ravel() for axis in np.meshgrid(GRID, GRID))
    simplex = np.stack([first, second, 1 - first - second], -1)[first + second <= 1]
    simplex = simplex.clip(0)
    changes = faithfulness.total_variation(answer(simplex), answer(attention[None]))
    distances = faithfulness.jensen_shannon(simplex, attention[None])
    return distances[changes <= epsilon].max(initial=0)


@pytest.mark.parametrize("epsilon", [0.01, 0.05])
def test_an_adversary_comes_near_the_optimum_on_three_positions(epsilon):
    random = np.random.default_rng(7)
    short = []
    for _ in range(CASES):
        attention, answer = positions(random)
        found = faithfulness.adversarial_attention(answer, attention, epsilon=epsilon)
        short.append(optimum(attention, answer, epsilon) - found.divergence)
    assert np.mean(np.array(short) <= WITHIN) >= SHARE
