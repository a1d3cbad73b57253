"""What IRAM's steps do in sentences: readings made by hand, whose verdicts are known."""

import numpy as np
from datasets import Dataset

from course_kit.research.side_notes import iram_behaviours as steps
from course_lib.views import Attention, Reading

MOODS = {"fine": 1, "warm": 1, "dull": -1}


def reading(text, *rows):
    """A reading of a text by three steps; each row gives weights by place, ``"s1"`` and ``"s2"``
    for the summaries."""
    words = tuple(text.split())
    columns = [*range(len(words)), "s1", "s2"]
    weights = np.array([[row.get(column, 0.0) for column in columns] for row in rows])
    attention = Attention(weights, ("step 1", "step 2", "step 3"), extra=("s1", "s2"))
    return Reading(
        words, (len(words),), ("bad", "good"), np.array([0.5, 0.5]), {"steps": attention}
    )


def one(place):
    return {place: 1.0}


def test_a_step_passes_on_from_half_of_its_attention_on():
    handed_on = reading("a b c", one(0), {"s1": 0.5, 1: 0.5}, {"s1": 0.2, "s2": 0.3, 2: 0.5})
    almost = reading("a b c", one(0), {"s1": 1.0}, {"s1": 0.2, "s2": 0.29, 2: 0.51})
    assert steps.passes_on(handed_on) and not steps.passes_on(almost)


def test_pass_through_needs_one_mood_no_negator_and_a_word_that_is_handed_on():
    text = "the warm film"
    met = reading(text, one(1), one("s1"), one("s2"))
    assert steps.pass_through(met, MOODS) is True
    assert steps.pass_through(reading(text, one(2), one("s1"), one("s2")), MOODS) is False
    assert steps.pass_through(reading(text, one(1), one(1), one("s2")), MOODS) is False
    for other in ("the long film", "warm dull film", "not warm film"):
        assert steps.pass_through(reading(other, one(1), one("s1"), one("s2")), MOODS) is None


def test_negation_is_a_step_that_joins_the_negator_to_what_an_earlier_one_found():
    """As Fig. 6b has it: all words but the negator first, then its summary with the negator."""
    text = "this is not at all dull"
    all_else = {place: 0.2 for place in (0, 1, 3, 4, 5)}
    joined = {2: 0.5, "s1": 0.5}
    assert steps.negation(reading(text, all_else, joined, one("s2")), MOODS) is True
    assert steps.negation(reading(text, all_else, one("s1"), {2: 0.4, "s2": 0.6}), MOODS) is True
    assert steps.negation(reading(text, one(2), joined, one("s2")), MOODS) is False
    for second, third in (
        (one(2), one(2)),  # the summary has no part in it
        ({2: 0.1, "s1": 0.9}, one("s2")),  # less than uniform attention gives to each of seven
        ({5: 0.5, "s1": 0.5}, one("s2")),  # elsewhere
    ):
        assert steps.negation(reading(text, all_else, second, third), MOODS) is False
    far = "not at all a very dull film"
    assert steps.negation(reading(far, all_else, joined, one("s2")), MOODS) is None


def test_contrast_is_two_steps_at_words_of_opposite_moods():
    text = "Fine songs and a DULL story"
    half, less = {4: 0.6, "s1": 0.4}, {4: 0.4, "s1": 0.6}  # the second is at the summary first
    assert steps.contrast(reading(text, one(0), half, one("s2")), MOODS) is True
    assert steps.contrast(reading(text, one(0), less, one("s2")), MOODS) is False
    assert steps.contrast(reading(text, one(1), one(4), one(4)), MOODS) is False
    assert steps.contrast(reading("fine songs", one(0), one(1), one("s2")), MOODS) is None


def test_rates_count_sentences_with_the_structure_alone():
    text = "the warm film"
    readings = [
        reading(text, one(1), one("s1"), one("s2")),
        reading(text, one(0), one("s1"), one("s2")),
        reading("the long film", one(1), one("s1"), one("s2")),
    ]
    rates = steps.behaviour_rates(readings, MOODS)
    assert rates["pass-through"] == (1, 2) and rates["pass-through"].share == 0.5
    assert rates["negation"] == (0, 0) and rates["negation"].share == 0
    table = steps.rates_table({"one": rates, "two": rates})
    assert table.splitlines()[2] == "| pass-through, % | 2 | 50.0 | 50.0 |"
    own = {"first word": lambda reading, moods: reading.tokens[0] == "the"}
    assert steps.behaviour_rates(readings, MOODS, own) == {"first word": (3, 3)}


def test_the_mood_of_a_word_turns_with_the_classes():
    tokens, labels = [["grey"]] * 13 + [["film"]] * 7, [0] * 10 + [1] * 10
    for turned, sign in ((labels, -1), ([1 - label for label in labels], 1)):
        rows = Dataset.from_dict({"tokens": tokens, "label": turned})
        assert steps.mood_words(rows) == {"grey": sign}


def test_words_of_a_mood_are_those_that_one_class_holds_more_often():
    good, bad = [["Fine", "film"]] * 2 + [["warm", "Fine"]] * 7, [["dull", "film"]] * 9
    tokens = [*good, *[["a", "film"], ["not"]] * 5, *bad]
    rows = Dataset.from_dict({"tokens": tokens, "label": [1] * 9 + [0, 1] * 5 + [0] * 9})
    assert steps.mood_words(rows)["fine"] == 1 and steps.mood_words(rows)["dull"] == -1
    assert not {"a", "not", "warm"} & set(steps.mood_words(rows))  # the last in too few texts
