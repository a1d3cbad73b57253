"""The small experiments of lesson 09 show what they were made for."""

import numpy as np
import pytest
import torch

from course_kit.exercises import small_experiments as small
from course_kit.research import sanity_checks
from course_lib import data


@pytest.fixture(scope="module")
def batch():
    texts = sanity_checks.write_texts("phrase", 16, seed=3)
    words = data.Vocabulary(tuple(sorted({word for text in texts for word in text.words})))
    return sanity_checks.encode_texts(texts, words).batch(np.arange(len(texts))), len(words)


def test_texts_are_learned_by_heart_unless_labels_are_out_of_step(batch):
    texts, words = batch
    dice = torch.Generator().manual_seed(0)
    true = small.learn_by_heart(texts, lambda step: texts.labels, words, seed=0, steps=60)
    shuffled = small.learn_by_heart(
        texts, lambda step: texts.labels[torch.randperm(16, generator=dice)], words, 0, steps=60
    )
    assert len(true) == 60 and true[-1] < 0.1 and min(shuffled[-10:]) > 0.6
    one = small.learn_by_heart(texts, lambda step: texts.labels, words, 0, selection_layers=1)
    assert one[59] > 2 * true[59], "with one layer that selects words it learns later"


@pytest.mark.parametrize("seed", [0, 1])
def test_the_correction_helps_where_texts_of_a_class_are_alike_and_harms_under_one_rule(seed):
    source = torch.Generator().manual_seed(seed)
    alike = small.correct_shares(*(small.alike_world(share, source) for share in (0.4, 0.18)))
    ruled = small.correct_shares(
        small.same_rule_world(1, 6, source), small.same_rule_world(15, 23, source)
    )
    assert alike.old == pytest.approx(0.4, abs=0.02) and alike.new == pytest.approx(0.18, abs=0.02)
    assert alike.accuracy[1] > alike.accuracy[0] + 0.01
    assert ruled.old > 2 * ruled.new and ruled.answered[0] == pytest.approx(ruled.new, abs=0.03)
    assert ruled.accuracy[1] < ruled.accuracy[0] - 0.01
