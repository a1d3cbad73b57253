"""A reading: what it refuses, what it tells of itself, and how it is shown."""

import base64
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
    assert made.predicted == "positive"
    assert made.answer == "positive 0.70"
    assert reading(probabilities=np.array([0.5, 0.5])).predicted == "negative"


def test_values_of_tokens_are_parted_as_the_sentences_are():
    parts = reading().by_sentence(np.array([0.1, 0.2, 0.7]))
    assert [part.tolist() for part in parts] == [[0.1, 0.2], [0.7]]
    empty = reading(tokens=(), sentence_lengths=(), attention={})
    assert empty.by_sentence(np.zeros(0)) == []
    with pytest.raises(ValueError, match="values holds 2 numbers for 3 tokens"):
        reading().by_sentence(np.array([0.1, 0.2]))


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


def several(count, rest=()):
    """A reading of ``count`` looks at three words and what ``rest`` names."""
    weights = np.random.default_rng(0).dirichlet(np.ones(3 + len(rest)), count)
    names = tuple(f"step {step + 1}" for step in range(count))
    return reading(attention={"steps": Attention(weights, names, extra=tuple(rest))})


def test_words_are_tinted_by_the_first_attention_as_one_text():
    shown = show_reading(reading(rest=("end",)))
    assert shown.spec["title"] == "P(positive) = 0.70"
    assert shown.spec["beyond"] == "not read: 1 word beyond the model's cut"
    assert shown.spec["rest"] == ["end"]
    assert shown.spec["sentences"] == [["not", "bad", "!"]]
    np.testing.assert_allclose(shown.spec["weights"], [[0.1, 0.2, 0.7]])
    assert (shown.spec["shares"], shown.spec["unit"]) == (None, "text")
    told = "P(positive) = 0.70; not read: 1 word beyond the model's cut"
    assert shown.name == f"Attention over 1 text: {told}"


def test_sentences_stand_apart_with_their_shares_where_they_are_weighed():
    sentences = Attention(np.array([[0.25, 0.75]]), ("",), over="sentences")
    made = reading(attention={"words": LOOK, "sentences": sentences}, rest=("word",) * 1234)
    shown = show_reading(made, "labelled negative")
    assert shown.spec["sentences"] == [["not", "bad"], ["!"]]
    np.testing.assert_allclose(np.concatenate(shown.spec["weights"]), [0.1, 0.2, 0.7])
    assert shown.spec["shares"] == [0.25, 0.75]
    assert shown.spec["unit"] == "sentence"
    assert shown.spec["beyond"] == "not read: 1,234 words beyond the model's cut"
    assert shown.spec["title"] == "P(positive) = 0.70; labelled negative"


def test_every_attention_of_several_rows_is_a_heatmap_below():
    made = several(2, ["summary"])
    text, heatmap = show_reading(made).children
    weights = made.attention["steps"].weights
    np.testing.assert_allclose(text.spec["weights"], [weights.mean(0)[:3]], rtol=1e-6)
    assert heatmap.spec["rows"] == ["step 1", "step 2"]
    assert heatmap.spec["columns"] == ["not", "bad", "!", "summary"]
    assert (heatmap.spec["extra"], heatmap.spec["title"]) == (1, "steps")
    assert heatmap.spec["peak"] == pytest.approx(weights.max())


def test_heatmaps_of_one_reading_share_a_colour_scale_and_name_their_quantity():
    blocks = [Attention(np.full((2, 3), top), ("1", "2")) for top in (0.2, 0.6)]
    gates = Attention(np.full((2, 3), 0.9), ("1", "2"), quantity="gate")
    made = reading(attention={"block 1": blocks[0], "block 2": blocks[1], "gates": gates})
    _, *heatmaps = show_reading(made).children
    assert [view.most for view in heatmaps] == pytest.approx([0.9] * 3)
    assert [view.spec["quantity"] for view in heatmaps] == ["weight", "weight", "gate"]
    assert show_attention(made, "gates").spec["quantity"] == "gate"


def test_looks_at_sentences_name_them():
    sentences = Attention(np.array([[0.25, 0.75], [0.5, 0.5]]), ("1", "2"), over="sentences")
    text, heatmap = show_reading(reading(attention={"hops": sentences})).children
    assert heatmap.spec["columns"] == ["sentence 1", "sentence 2"]
    assert text.spec["weights"] is None and text.spec["shares"] == [0.375, 0.625]


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


def test_a_reading_without_a_word_is_a_sentence():
    nothing = {"tokens": (), "sentence_lengths": (), "attention": {}}
    shown = show_reading(reading(**nothing), "<script>alert(1)</script>")
    assert shown.value.startswith("<p>There are no words to show. P(positive) = 0.70; &lt;script")


@pytest.mark.parametrize(
    ("form", "holds"),
    [
        ("static", {"text/plain", "text/html", "image/png"}),
        ("png", {"text/plain", "image/png"}),
        ("live", {"text/plain", "application/vnd.jupyter.widget-view+json"}),
    ],
)
def test_a_text_with_heatmaps_has_the_three_forms_too(form, holds, monkeypatch):
    monkeypatch.setenv("COURSE_HEATMAP", form)
    shown = show_reading(several(3))
    bundle = shown._repr_mimebundle_()
    data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
    assert set(data) == holds
    if form != "live":
        assert metadata["image/png"]["alt"] == data["text/plain"] == shown.children[0].name
        assert base64.b64decode(data["image/png"]) == shown.children[0].to_png()
    if form == "static":
        assert data["text/html"] == "".join(part.to_html() for part in shown.children)


def test_an_attention_of_steps_is_a_heatmap_with_its_summaries_apart():
    steps = Attention(
        np.array([[0.2, 0.2, 0.6, 0.0], [0.1, 0.1, 0.1, 0.7]]), ("1", "2"), extra=("s",)
    )
    made = show_attention(reading(attention={"steps": steps}), "steps", "by hand", outline=0.5)
    assert made.spec["title"] == "positive 0.70; by hand"
    assert made.spec["columns"] == ["not", "bad", "!", "s"] and made.spec["extra"] == 1
    assert made.spec["rows"] == ["1", "2"] and made.spec["outline"] == 0.5


def test_no_heatmap_is_drawn_of_a_text_without_a_word():
    shown = show_attention(reading(tokens=(), sentence_lengths=(), attention={}), "steps")
    assert "There are no words to show. positive 0.70" in shown.value


def test_no_text_of_a_table_is_markup():
    shown = text_table(["layer"], [["<b>"], ["two & three"]])
    assert "&lt;b&gt;" in shown.value and "two &amp; three" in shown.value
    assert "<b>" not in shown.value and shown.value.count("<tr>") == 3
