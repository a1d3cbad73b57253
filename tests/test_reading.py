"""A reading: what it refuses, what it tells of itself, and how it is shown."""

import numpy as np
import pytest

from course_lib.views.reading import Attention, Reading

LOOK = Attention(np.array([[0.1, 0.2, 0.7]]), ("",))


def reading(**changes):
    fields = {
        "tokens": ("not", "bad", "!"),
        "sentence_lengths": (2, 1),
        "classes": ("negative", "positive"),
        "probabilities": np.array([0.3, 0.7]),
        "attention": {"words": LOOK},
    }
    return Reading(**fields | changes)


def test_a_reading_knows_its_sentences_and_its_prediction():
    made = reading()
    assert made.sentences == [["not", "bad"], ["!"]]
    assert made.predicted == "positive"
    assert reading(probabilities=np.array([0.5, 0.5])).predicted == "negative"


def test_nothing_read_is_a_reading_too():
    empty = reading(
        tokens=(), sentence_lengths=(), attention={"words": Attention(np.zeros((1, 0)), ("",))}
    )
    assert empty.sentences == [] and empty.word_weights().shape == (0,)


def test_one_look_is_given_as_it_is_and_several_as_their_mean():
    steps = Attention(np.array([[0.2, 0.2, 0.6], [0.4, 0.6, 0.0]]), ("1", "2"))
    made = reading(attention={"words": LOOK, "steps": steps})
    np.testing.assert_array_equal(made.word_weights(), [0.1, 0.2, 0.7])
    np.testing.assert_allclose(made.word_weights("steps"), [0.3, 0.4, 0.3])


def test_extra_columns_and_sentences_do_not_count_as_words():
    sentences = Attention(np.array([[0.25, 0.75]]), ("",), over="sentences")
    steps = Attention(np.array([[0.1, 0.2, 0.3, 0.4]]), ("2",), extra=("step 1",))
    made = reading(attention={"sentences": sentences, "steps": steps})
    np.testing.assert_allclose(made.word_weights(), [0.1, 0.2, 0.3])
    np.testing.assert_allclose(made.sentence_weights(), [0.25, 0.75])


@pytest.mark.parametrize(
    ("attention", "name", "message"),
    [
        ({}, None, r"without any attention over words; it has \[\]"),
        ({"words": LOOK}, "steps", r"without an attention 'steps' over words; it has \['words'\]"),
        (
            {"words": LOOK, "all": Attention(np.ones((1, 2)), ("",), over="sentences")},
            "all",
            "without an attention 'all' over words",
        ),
    ],
)
def test_an_attention_that_is_not_there_is_named(attention, name, message):
    with pytest.raises(ValueError, match=message):
        reading(attention=attention).word_weights(name)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sentence_lengths": (2, 2)}, "sums to 4 for 3 tokens"),
        ({"sentence_lengths": (3, 0)}, "holds at least one token"),
        ({"classes": ("a", "b", "c")}, r"probabilities has shape \(2,\) for 3 classes"),
        ({"probabilities": np.array([2.0, -1.0])}, "what a softmax returns"),
        ({"probabilities": np.array([0.2, 0.2])}, "what a softmax returns"),
        ({"probabilities": np.array([np.nan, 0.2])}, "what a softmax returns"),
        ({"left_out": -1}, "left_out is -1"),
        ({"attention": {"a": LOOK._replace(over="lines")}}, r"attention\['a'\].over is 'lines'"),
        ({"attention": {"a": LOOK._replace(over="sentences")}}, r"2 sentences and 0 extra"),
        ({"attention": {"a": LOOK._replace(rows=("1", "2"))}}, r"2 rows, 3 words"),
        ({"attention": {"a": LOOK._replace(extra=("s",))}}, r"1 extra columns take \(1, 4\)"),
        ({"attention": {"a": Attention(np.ones((0, 3)), ())}}, "at least one row"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(changes, message):
    with pytest.raises(ValueError, match=message):
        reading(**changes)
