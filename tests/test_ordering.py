"""Which documents are shown first: right and sure, of middling length, without profanity."""

import pytest
import torch

from course_lib.explore import reading_order
from course_lib.explore.reading import is_profane
from course_lib.metrics.classification import Predictions


def predictions(*positive, labels):
    """Predictions of two classes from the probability of the second."""
    positive = torch.tensor(positive)
    return Predictions(torch.stack([1 - positive, positive], 1), torch.tensor(labels))


def documents(*lengths):
    return [["word"] * length for length in lengths]


def first_of_each(texts, made):
    """The first success and the first mistake in the order, None where there is none."""
    right = (made.probabilities.argmax(1) == made.labels).tolist()
    order = reading_order(texts, made)
    return tuple(next((p for p in order if right[p] == kind), None) for kind in (True, False))


# Ten documents of 10 to 100 words; all are positive. Between the quantiles lie 20 to 50 words.
TEN = documents(*range(10, 101, 10))


def test_the_surest_of_those_that_are_neither_short_nor_long_stand_first():
    made = predictions(1, 0.95, 0.97, 0.02, 0.3, 1, 1, 0, 1, 1, labels=[1] * 10)
    assert first_of_each(TEN, made) == (2, 3)


def test_a_document_with_profanity_gives_way_whatever_its_prediction():
    made = predictions(1, 0.99, 0.93, 0.02, 0.09, 1, 1, 0.6, 1, 1, labels=[1] * 10)
    crude = [*map(list, TEN)]
    crude[1][7], crude[3][0] = "Crap", "SHIT"
    assert first_of_each(crude, made) == (2, 4)
    assert first_of_each(TEN, made) == (1, 3)


@pytest.mark.parametrize(
    ("texts", "positive", "labels", "order"),
    [
        (documents(9, 30, 40), [0.98, 0.7, 0.99], [1, 1, 1], [2, 0, 1]),  # length gives way first
        (documents(30, 30, 30), [0.6, 0.8, 0.1], [1, 1, 1], [1, 2, 0]),  # then confidence
        ([["crap"], ["crap"]], [0.9, 0.95], [1, 0], [0, 1]),  # then profanity
        ([["crap"] * 30, ["fine"] * 30], [1.0, 0.51], [1, 1], [1, 0]),
        ([[]], [0.2], [1], [0]),
    ],
)
def test_where_none_is_clear_the_nearest_to_it_stands_first(texts, positive, labels, order):
    assert reading_order(texts, predictions(*positive, labels=labels)) == order


def test_clear_successes_come_first_then_mistakes_then_all_others():
    made = predictions(1, 0.95, 0.97, 0.02, 0.3, 0.6, 1, 0, 1, 0.01, labels=[1] * 9 + [0])
    order = reading_order(TEN, made)
    assert order[:2] == [2, 1] and order[2:5] == [3, 7, 4]
    assert order[-1] == 5 and sorted(order) == list(range(10))


def test_only_whole_words_are_profane():
    assert is_profane(["What", "a", "Bitch", "!"])
    assert not is_profane(["Scunthorpe", "passes", "a", "classic", "assessment"])
