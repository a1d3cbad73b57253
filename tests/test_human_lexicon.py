"""Rankings beside the grades that people gave to words, on sentences whose answer is known."""

import math

import numpy as np
import pytest

from course_kit.research.faithfulness.human_lexicon import (
    AUPRC,
    F1,
    TAU,
    agreement,
    graded,
    hits,
    of_words,
    selected_runs,
)  # fmt: skip
from course_lib.data.readers import read_tree

TREE = "(3 (2 (2 a) (3 (2 very) (4 fine))) (2 (2 but) (1 (1 long) (2 film))))"
SENTENCE = graded(read_tree(TREE))


def test_grades_and_phrases_are_those_of_the_tree():
    assert SENTENCE.words == ["a", "very", "fine", "but", "long", "film"]
    assert SENTENCE.strength.tolist() == [0, 0, 2, 0, 1, 0]
    assert sorted(SENTENCE.phrases) == [(0, 6), (1, 3), (2, 3), (4, 5), (4, 6)]


def test_agreement_is_1_for_the_grades_themselves_and_as_computed_by_hand_for_others():
    texts, strengths = [SENTENCE.words], [SENTENCE.strength]
    assert agreement(texts, strengths, strengths, 0) == {AUPRC: [1], F1: [1], TAU: [1]}
    found = agreement(texts, [np.array([6.0, 5, 4, 3, 2, 1])], strengths, 0)
    assert found[AUPRC].tolist() == pytest.approx([(1 / 3 + 2 / 5) / 2])
    assert found[F1].tolist() == [0]  # the two words of most weight are neutral
    tied = agreement([["a", "b"]], [np.ones(2)], [np.array([1.0, 0])], 0)
    assert tied[AUPRC].tolist() == [0.5] and math.isnan(tied[TAU][0])
    for strength in ([0.0, 0], [1.0, 2]):
        alike = agreement([["a", "b"]], [np.array([1.0, 2])], [np.array(strength)], 0)
        assert math.isnan(alike[AUPRC][0]) and math.isnan(alike[F1][0])


def test_a_word_has_the_sum_of_its_pieces():
    (words,) = of_words([np.array([1.0, 2, 4, 8])], [[1, 2, 1]])
    assert words.tolist() == [1, 6, 8]


def test_runs_are_words_above_the_median_side_by_side():
    assert selected_runs(np.array([0.1, 0.3, 0.2, 0.0, 0.25, 0.15])) == [(1, 3)]
    assert selected_runs(np.full(4, 0.25)) == []


def test_selected_phrases_stand_beside_runs_as_long_anywhere():
    # of five places for two words two are phrases with a sentiment
    assert hits(SENTENCE, [(1, 3)]) == (1, 2 / 5)
    assert hits(SENTENCE, [(1, 3), (0, 3)]) == (0.5, 1 / 5)  # (0, 3) is neutral
    assert np.isnan(hits(SENTENCE, [])).all()
