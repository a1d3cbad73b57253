"""The intervals of an audit hold the true mean of skewed losses, or none is printed."""

import numpy as np
import pytest

from course_kit.audit.audit_report import row
from course_kit.audit.grades import LEAST_TEXTS, SHOWN
from course_kit.audit.intervals import mean_of
from course_kit.audit.judging import judge, overall
from course_kit.audit.questions import Comparison
from course_kit.audit.ways import Way

pytestmark = pytest.mark.full  # thousands of intervals

SAMPLES, LEAST = 600, 0.93  # of so many samples the coverage deviates by 0.9 %


def seldom(share):
    """Losses that are large in a share of the texts, and nearly 0 in the others."""
    return lambda random, shape: np.where(
        random.random(shape) < share, random.uniform(0.2, 1, shape), random.normal(0, 0.01, shape)
    )


LOSSES = {
    "most small": lambda random, shape: random.beta(0.2, 1.5, shape),
    "nearly all small": lambda random, shape: random.beta(0.1, 1, shape),
    "lognormal": lambda random, shape: np.minimum(0.1 * random.lognormal(0, 1, shape), 1),
    "behind the best": lambda random, shape: -random.beta(0.3, 3, shape),
    "large in a quarter": seldom(0.25),
    "large in a tenth": seldom(0.1),
    "both ways": lambda random, shape: seldom(0.3)(random, shape) - seldom(0.1)(random, shape),
    "shares": lambda random, shape: (random.random(shape) < 0.9).astype(float),
}


@pytest.mark.parametrize("texts", [LEAST_TEXTS, 100])
@pytest.mark.parametrize("losses", LOSSES.values(), ids=LOSSES)
def test_intervals_hold_the_true_mean_of_skewed_losses(losses, texts):
    random = np.random.default_rng(texts)
    true = losses(random, 2_000_000).mean()
    found = [
        mean_of(sample, losses is LOSSES["shares"]) for sample in losses(random, (SAMPLES, texts))
    ]
    assert np.mean([one.low <= true <= one.high for one in found]) >= LEAST


def test_one_odd_text_does_not_make_an_interval_endless():
    heat = np.append(np.full(59, 0.95) + 1e-4 * np.random.default_rng(1).normal(size=59), -0.05)
    assert mean_of(heat).low > 0.8


def test_of_fewer_texts_no_interval_is_printed():
    losses = np.random.default_rng(20).beta(0.2, 1.5, LEAST_TEXTS)
    few, enough = (row("attention", mean_of(some)) for some in (losses[:20], losses))
    assert (few.low, few.high, few.texts) == (None, None, 20) and "[" not in str(few)
    assert enough.low < enough.mean < enough.high


SHAPES = {"decided": (2, 0.8), "even": (1, 1), "undecided": (0.6, 1.2)}  # of the largest losses


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_attention_that_is_useless_on_a_tenth_of_the_texts_is_seldom_believed(shape):
    random, believed = np.random.default_rng(0), 0
    for _ in range(SAMPLES):
        best = random.beta(*shape, LEAST_TEXTS)
        others, luck = best * random.beta(1, 6, (2, LEAST_TEXTS))  # of random words
        near = best - np.abs(random.normal(0, 0.01, LEAST_TEXTS))
        own = np.where(random.random(LEAST_TEXTS) < 0.1, luck, near)
        ahead = (np.sign(own - others) + 1) / 2
        gained = Comparison(own - others, own - best, ahead, best - others)
        weight = np.where(own == near, 0.9, 0.3)  # on words that matter, which are three in ten
        asked = dict.fromkeys(("removal", "alone", "words"), gained) | {
            "texts": Comparison(ahead),
            "heat": Comparison(weight - 0.3, value=weight),
        }
        judged = judge({question: {Way(): compared} for question, compared in asked.items()})
        believed += overall(judged, {}) == SHOWN
    assert believed / SAMPLES <= 0.05
