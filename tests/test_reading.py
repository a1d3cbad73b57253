"""A reading: what it refuses, what it tells of itself, and how it is shown."""

import io

import numpy as np
import pytest
from PIL import Image

from course_lib.views.reading import Attention, Reading
from course_lib.views.reading_view import show_attention, show_reading, text_table

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
    assert (made.predicted, made.answer) == ("positive", "positive 0.70")
    assert reading(probabilities=np.array([0.5, 0.5])).predicted == "negative"
    parts = made.by_sentence(np.array([0.1, 0.2, 0.7]))
    assert [part.tolist() for part in parts] == [[0.1, 0.2], [0.7]]
    with pytest.raises(ValueError, match="values holds 2 numbers for 3 tokens"):
        made.by_sentence(np.array([0.1, 0.2]))


def test_looks_are_given_as_their_mean_without_extra_columns():
    sentences = Attention(np.array([[0.25, 0.75]]), ("",), over="sentences")
    looks = np.array([[0.2, 0.2, 0.5, 0.1], [0.4, 0.6, 0.0, 0.0]])
    steps = Attention(looks, ("1", "2"), extra=("step 1",))
    made = reading(attention={"sentences": sentences, "words": LOOK, "steps": steps})
    np.testing.assert_array_equal(made.word_weights(), [0.1, 0.2, 0.7])
    made = reading(attention={"sentences": sentences, "steps": steps})
    np.testing.assert_allclose(made.word_weights(), [0.3, 0.4, 0.25])
    np.testing.assert_allclose(made.sentence_weights(), [0.25, 0.75])


def test_an_attention_that_is_not_there_is_named():
    sentences = {"all": Attention(np.ones((1, 2)), ("",), over="sentences")}
    with pytest.raises(ValueError, match="without any attention over words"):
        reading(attention=sentences).word_weights()
    with pytest.raises(ValueError, match="without any attention over sentences"):
        reading().sentence_weights()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sentence_lengths": (2, 2)}, r"sentence_lengths \(2, 2\) do not cut 3 tokens"),
        ({"sentence_lengths": (3, 0)}, "do not cut 3 tokens"),
        ({"classes": ("a", "b", "c")}, "not what a softmax gives 3 classes"),
        ({"probabilities": np.array([2.0, -1.0])}, "what a softmax gives"),
        ({"probabilities": np.array([0.2, 0.2])}, "what a softmax gives"),
        ({"probabilities": np.array([np.nan, 0.2])}, "what a softmax gives"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(changes, message):
    with pytest.raises(ValueError, match=message):
        reading(**changes)


@pytest.mark.parametrize(
    ("looks", "message"),
    [
        (np.ones((1, 2)), r"word_attention has shape \(1, 2\)"),
        (np.ones((2, 2)), "columns has 3 tokens for the 2 columns"),
    ],
)
def test_weights_that_do_not_fit_the_words_are_not_shown(looks, message):
    made = reading(attention={"a": Attention(looks, ("",) * len(looks))})
    with pytest.raises(ValueError, match=message):
        show_reading(made)


def several(count, rest=(), over="words"):
    """A reading of ``count`` looks at three words or two sentences, and at what ``rest`` names."""
    places = (3 if over == "words" else 2) + len(rest)
    weights = np.random.default_rng(0).dirichlet(np.ones(places), count)
    names = tuple(f"step {step + 1}" for step in range(count))
    return reading(attention={"steps": Attention(weights, names, over, tuple(rest))})


def test_words_are_tinted_by_the_first_attention_as_one_text():
    shown = show_reading(reading(rest=("end",)))
    spec, beyond = shown.spec, "not read: 1 word beyond the model's cut"
    assert (spec["title"], spec["beyond"], spec["rest"]) == ("P(positive) = 0.70", beyond, ["end"])
    assert spec["sentences"] == [["not", "bad", "!"]]
    np.testing.assert_allclose(spec["weights"], [[0.1, 0.2, 0.7]])
    assert (spec["shares"], spec["unit"]) == (None, "text")
    assert shown.name == f"Attention over 1 text: P(positive) = 0.70; {beyond}"


def test_sentences_stand_apart_with_their_shares_where_they_are_weighed():
    sentences = Attention(np.array([[0.25, 0.75]]), ("",), over="sentences")
    made = reading(attention={"words": LOOK, "sentences": sentences}, rest=("word",) * 1234)
    spec = show_reading(made, "labelled negative").spec
    assert spec["sentences"] == [["not", "bad"], ["!"]]
    np.testing.assert_allclose(np.concatenate(spec["weights"]), [0.1, 0.2, 0.7])
    assert (spec["shares"], spec["unit"]) == ([0.25, 0.75], "sentence")
    assert spec["beyond"] == "not read: 1,234 words beyond the model's cut"
    assert spec["title"] == "P(positive) = 0.70; labelled negative"
    spec = show_reading(made, tint="text").spec
    np.testing.assert_allclose(np.concatenate(spec["weights"]), [0.025, 0.05, 0.525], rtol=1e-6)
    assert (spec["counts"], spec["quantity"]) == ([3, 3], "share of the text")


def test_every_attention_of_several_rows_is_a_heatmap_below():
    made = several(2, ["summary"])
    text, heatmap = show_reading(made).children
    weights = made.attention["steps"].weights
    np.testing.assert_allclose(text.spec["weights"], [weights.mean(0)[:3]], rtol=1e-6)
    assert heatmap.spec["rows"] == ["step 1", "step 2"]
    assert heatmap.spec["columns"] == ["not", "bad", "!", "summary"]
    assert (heatmap.spec["extra"], heatmap.spec["title"]) == (1, "steps")
    assert heatmap.spec["peak"] == pytest.approx(weights.max())
    alone = show_attention(made, "steps", outline=0.5).spec
    assert alone == heatmap.spec | {"title": "positive 0.70", "outline": 0.5}
    assert show_attention(made, "steps", title="ours").spec["title"] == "ours"
    text, heatmap = show_reading(several(2, over="sentences")).children
    assert heatmap.spec["columns"] == ["sentence 1", "sentence 2"]
    assert text.spec["weights"] is None and sum(text.spec["shares"]) == pytest.approx(1)


def test_heatmaps_of_one_reading_share_a_colour_scale():
    blocks = [Attention(np.full((2, 3), top), ("1", "2")) for top in (0.2, 0.9)]
    made = reading(attention={"block 1": blocks[0], "block 2": blocks[1]})
    _, *heatmaps = show_reading(made).children
    assert [view.most for view in heatmaps] == pytest.approx([0.9] * 2)


def test_without_attention_the_words_stand_untinted():
    shown = show_reading(reading(attention={}))
    assert shown.spec["sentences"] == [["not", "bad"], ["!"]]
    assert shown.spec["weights"] is None and shown.spec["shares"] is None
    pixels = np.array(Image.open(io.BytesIO(shown.to_png())).convert("RGB")).astype(int)
    assert (np.ptp(pixels, axis=2) < 40).all(), "no tint behind any word"


@pytest.mark.parametrize(
    ("probabilities", "title"),
    [
        ([0.3, 0.55, 0.15], "b 0.55, a 0.30, c 0.15"),
        ([0.0049, 0.9951, 0], "b 1.00, 2 others 0.00"),
        ([0.5, 0.4999, 0.0001], "a 0.50, b 0.50, 1 other 0.00"),
    ],
)
def test_of_more_classes_the_likeliest_is_named_first(probabilities, title):
    shown = show_reading(reading(classes=("a", "b", "c"), probabilities=np.array(probabilities)))
    assert shown.spec["title"] == title


def test_a_reading_without_a_word_is_one_too_and_a_sentence_stands_there():
    empty = {"words": Attention(np.zeros((1, 0)), ("",))}
    nothing = reading(tokens=(), sentence_lengths=(), attention=empty)
    assert nothing.sentences == [] and nothing.by_sentence(np.zeros(0)) == []
    assert nothing.word_weights().shape == (0,)
    shown = show_reading(nothing, "<script>alert(1)</script>")
    assert shown.value.startswith("<p>There are no words to show. P(positive) = 0.70; &lt;script")
    assert "no words to show. positive 0.70" in show_attention(nothing, "steps").value


def test_no_text_of_a_table_is_markup():
    shown = text_table(["layer"], [["<b>"], ["two & three"]])
    assert "&lt;b&gt;" in shown.value and "two &amp; three" in shown.value
    assert "<b>" not in shown.value and shown.value.count("<tr>") == 3
