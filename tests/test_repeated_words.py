"""Repeated words in what a HAN attends to."""

from types import SimpleNamespace

import numpy as np
import pytest

from course_kit.research import side_notes
from course_lib.views.reading import Attention, Reading


def reading_of(sentences, word_weights, sentence_weights):
    words = tuple(word for sentence in sentences for word in sentence)
    views = {
        "words": Attention(np.concatenate(word_weights)[None], ("",)),
        "sentences": Attention(np.array(sentence_weights)[None], ("",), over="sentences"),
    }
    return Reading(words, tuple(map(len, sentences)), ("no", "yes"), np.array([0.5, 0.5]), views)


def repeats_of(sentences, *word_weights, seed=0):
    """Of a system whose rows are readings already."""
    readings = [reading_of(sentences, list(map(np.array, of)), [0.5, 0.5]) for of in word_weights]
    return side_notes.count_repeats(SimpleNamespace(read=lambda row: row), readings, seed)


def test_only_important_words_repeat_and_punctuation_is_no_word():
    found = repeats_of(
        [["a", "Dull", "film", "."], ["the", "dull", "film", "."]],
        [[0.0, 0.8, 0.2, 0.0], [0.1, 0.7, 0.2, 0.0]],
        [[0.25] * 4, [0.25] * 4],
        [[0.0, 0.4, 0.0, 0.6], [0.1, 0.3, 0.0, 0.6]],
    )
    assert found.important == pytest.approx([0.5 * 0.8 + 0.5 * 0.7, 0, 0])
    assert found.repeated == pytest.approx([0.5 * 0.7, 0, 0])  # "film" never was important


def test_by_chance_the_weights_of_words_change_places_and_those_of_marks_stay():
    sentences = [["dull", "!", "!"], ["dull", "film", "and", "plot", "."]]
    weights = [[[0.9, 0.1, 0.0], [0.8, 0.0, 0.0, 0.0, 0.2]]] * 200
    found = repeats_of(sentences, *weights)
    assert found.repeated == pytest.approx(0.4)
    assert set(found.by_chance.round(6)) == {0.0, 0.4}  # on "dull" or on another word
    assert 30 < (found.by_chance > 0).sum() < 70
    assert np.array_equal(found, repeats_of(sentences, *weights))
