"""Erasing words by hand: what the view shows is what the model says of the words that are left."""

import base64
import html
import io
import re
from functools import cache

import ipywidgets as widgets
import numpy as np
import PIL.Image
import pytest
from sweeping import sweep

from course_lib import faithfulness
from course_lib.explore import erasing, explore_erasing, explore_text, press_words
from course_lib.explore.erasing import MOST_WORDS
from course_lib.explore.explorer import Picture
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.runs.run import train
from course_lib.runs.spec import RunSpec
from course_lib.views.heatmap import PressableText
from course_lib.views.heatmap.picture import tint_of
from course_lib.views.reading_view import tree

TEXT = "A dull plot. But a superb cast."
WORDS = ["A", "dull", "plot", ".", "But", "a", "superb", "cast", "."]


@cache
def small(system, **overrides):
    changes = {"training.epochs": 1} | overrides
    spec = RunSpec(system, "toy", "small", changes, limit=100, test=False, threads=1)
    return train(spec)


@pytest.fixture
def run():
    return small("han")


@pytest.fixture
def view(run):
    return explore_erasing(run, TEXT)


def parts(view, kind):
    return [widget for widget in tree(view) if isinstance(widget, kind)]


def press(view, name):
    next(b for b in parts(view, widgets.Button) if b.description == name).click()


def messages(view):
    """What the view says above its picture: the probability, then the caption."""
    shown = [w for w in parts(view, widgets.HTML) if not isinstance(w, Picture)]
    return [html.unescape(re.sub("<[^>]*>", "", each.value)) for each in shown]


def says(view):
    return messages(view)[0]


def caption(view):
    return messages(view)[1]


def erased_in(text):
    """The places that are struck out."""
    worn = [word for sentence in text.dress for word in sentence]
    return [place for place, word in enumerate(worn) if word["marks"] == ["erased"]]


@pytest.mark.parametrize("make", [press_words, explore_erasing])
def test_a_pressed_word_is_struck_out_and_the_answer_is_the_models_without_it(make, run):
    view = make(run, TEXT)
    (text,) = parts(view, PressableText)
    assert text.spec["sentences"] == [WORDS[:4], WORDS[4:]] and erased_in(text) == []
    for press in ([0, 1], [1, 2]):
        text.selected = press
    assert view.erased == (1, 6) and erased_in(text) == [1, 6] and text.selected is None
    model = DocumentModel(run.system)
    left = [["A", "plot", "."], ["But", "a", "cast", "."]]
    j = model([[WORDS[:4], WORDS[4:]]])[0].argmax() if make is explore_erasing else 1
    name, now = run.system.classes[j], model([left])[0, j]
    assert says(view) == f"P({name}) = {now:.2f}"
    assert caption(view).endswith(f"; {now:.2f} without: dull, superb")
    weights = np.insert(model.attention([left])["attention"][0], [1, 5], 0)
    np.testing.assert_allclose(np.concatenate([text._words[0][:4], text._words[1]]), weights)
    np.testing.assert_allclose(text.shares, [weights[:4].sum(), weights[4:].sum()], atol=1e-6)
    worn = text.dress[1][4]  # a full stop of the seven words that are left
    assert worn["fact"] == f"share of the text {weights[8]:.3g}, {7 * weights[8]:.2f}× uniform"
    assert worn["colour"] == tint_of(weights[8], 7, 8)
    text.selected = [0, 1]
    assert view.erased == (6,)


def test_a_place_that_is_no_word_erases_nothing(run):
    view = press_words(run, TEXT)
    for place in ([0, 4], [2, 0], [0, -1], [-1, 0]):
        parts(view, PressableText)[0].selected = place
    assert view.erased == ()


def test_of_two_classes_pressing_shows_the_second_and_a_text_without_words_is_none(run):
    assert says(press_words(run, "Awful.")).startswith("P(positive) = ")
    assert "no words to show" in press_words(run, "\u200b").value
    assert sweep(explore_text(run, "Good.", show=press_words)) > 10


def test_the_next_word_of_a_ranking_goes_and_all_come_back(view, run):
    model, document = DocumentModel(run.system), [WORDS[:4], WORDS[4:]]
    attention = model.attention([document])["attention"][0]
    order = np.argsort(-attention, kind="stable").tolist()
    press(view, "erase its next word")
    assert view.erased == (order[0],)
    press(view, "erase its next word")
    assert view.erased == tuple(sorted(order[:2]))
    parts(view, widgets.Dropdown)[0].value = "leave-one-out"
    losses = faithfulness.leave_one_out(model, [document])[0]
    press(view, "erase its next word")
    left = [place for place in range(9) if place not in order[:2]]
    assert set(view.erased) - set(order[:2]) == {max(left, key=losses.__getitem__)}
    press(view, "put all back")
    assert view.erased == () and caption(view).endswith("for all 9 words")


def test_when_every_word_is_erased_there_is_no_text_and_nothing_more_to_erase(view):
    view.erased = range(9)
    assert erased_in(parts(view, PressableText)[0]) == [*range(9)]
    assert len(parts(view, Picture)) == 1
    press(view, "erase its next word")
    assert view.erased == tuple(range(9))


def test_curves_begin_at_the_whole_text_and_end_at_none(view, run):
    model, document = DocumentModel(run.system), [WORDS[:4], WORDS[4:]]
    answers = model([document, []])
    j = answers[0].argmax()
    assert [name.split(",")[0] for name in view._curves] == [
        "attention",
        "gradient × input",
        "leave-one-out",
        "random",
    ]
    for curve in view._curves.values():
        assert len(curve) == 10
        np.testing.assert_allclose(curve[[0, -1]], answers[:, j], atol=1e-6)
    first = int(model.attention([document])["attention"][0].argmax())
    without = faithfulness.without(document, np.arange(9) == first)
    np.testing.assert_allclose(view._curves["attention"][1], model([without])[0, j], atol=1e-6)


def test_the_title_names_the_ranking_that_costs_most(view, monkeypatch):
    titles = []
    monkeypatch.setattr(erasing, "Picture", lambda figure, alt: titles.append(figure.axes[0]))
    view._curves["gradient × input"][:] = 0
    view._curves_with(0, 1.0, "")
    assert titles[0].get_title() == "Erasing costs most in the order of gradient × input"


def test_a_curve_that_is_followed_goes_as_far_as_its_words_were_erased(run, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        erasing, "Picture", lambda figure, alt: drawn.append(figure) or Picture(figure, alt)
    )
    view = explore_erasing(run, TEXT, follow=("leave-one-out", "attention"))

    def shown():
        axis = drawn[-1].axes[0]
        assert axis.get_title() == ""
        return {line.get_label(): list(line.get_ydata()) for line in axis.lines[:2]}

    assert shown() == {name: [view._whole] for name in ("leave-one-out", "attention")}
    for count in (1, 2):
        press(view, "erase its next word")
        np.testing.assert_allclose(
            shown()["leave-one-out"], view._curves["leave-one-out"][: count + 1]
        )
    press(view, "put all back")
    assert len(shown()["leave-one-out"]) == 3
    assert sweep(view) == 2 + 2
    with pytest.raises(ValueError, match=r"follow takes some of attention, .*, got random"):
        explore_erasing(run, TEXT, follow=["random"])


@pytest.mark.full
@pytest.mark.parametrize("system", ["sanet", "iram", "agt"])
def test_every_family_can_be_erased_and_shown_without_a_kernel(system, monkeypatch):
    monkeypatch.setenv("COURSE_HEATMAP", "static")
    view = explore_erasing(small(system), "A dull plot.")
    assert sweep(view) == 3 + 2
    bundle, metadata = view._repr_mimebundle_()
    assert bundle["text/html"].count("<img alt='P(") == 2 and "without: " in bundle["text/html"]
    whole, without = (PIL.Image.open(io.BytesIO(png)).size for png in pictures(view))
    assert whole[1] > without[1] > 60  # text and curves; the text alone
    assert "for all 4 words" in metadata["image/png"]["alt"]


def pictures(view):
    """The picture of a view, and that of its text alone."""
    png = view._repr_mimebundle_()[0]["image/png"]
    return base64.b64decode(png), parts(view, PressableText)[0].to_png()


def test_a_page_without_a_kernel_shows_the_text_before_and_after(run, monkeypatch):
    monkeypatch.setenv("COURSE_HEATMAP", "static")
    view = press_words(run, TEXT)
    first = WORDS[DocumentModel(run.system).attention([view._document])["attention"][0].argmax()]
    bundle, metadata = view._repr_mimebundle_()
    assert bundle["text/plain"].endswith(f" without: {first}")
    assert bundle["text/html"].count("<iframe") == 2
    assert metadata["image/png"]["alt"].endswith("for all 9 words")
    both, one = (PIL.Image.open(io.BytesIO(png)).height for png in pictures(view))
    assert both >= 2 * one


def test_the_word_that_a_page_strikes_out_can_be_chosen(run):
    for word in ("plot", "superb"):
        bundle, _ = press_words(run, TEXT, struck=word)._repr_mimebundle_()
        assert bundle["text/plain"].endswith(f" without: {word}")
    with pytest.raises(ValueError, match="does not hold the word 'awful'"):
        press_words(run, TEXT, struck="awful")


def test_nothing_in_a_text_is_run(run, monkeypatch):
    monkeypatch.setenv("COURSE_HEATMAP", "static")
    view = explore_erasing(run, "A <script>alert(1)</script> ' onerror=alert(1) plot. " + "x" * 99)
    view.erased = range(6)
    page = view._repr_mimebundle_()[0]["text/html"] + "".join(
        widget.value for widget in parts(view, widgets.HTML)
    )
    outside = re.sub(r"srcdoc=([\"']).*?\1", "", page, flags=re.DOTALL)
    assert "<script" not in outside and "' onerror" not in outside
    assert "x" * 23 + "…" in view._told(range(99)[: len(view._words)], 0.5)
    assert "x" * 25 not in view._told(range(len(view._words)), 0.5)


def test_what_cannot_be_erased_is_refused():
    for text in ("", "good " * (MOST_WORDS + 1)):
        with pytest.raises(ValueError, match=f"text holds {len(text.split())} words; .* 1 to 120"):
            explore_erasing(small("agt"), text)
    with pytest.raises(ValueError, match="this network has no attention"):
        explore_erasing(small("sanet", **{"model.attention": False}), TEXT)
