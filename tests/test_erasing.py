"""Erasing words by hand: what the view shows is what the model says of the words that are left."""

import html
import re
from functools import cache

import ipywidgets as widgets
import numpy as np
import pytest
from sweeping import sweep

from course_lib import faithfulness
from course_lib.explore import erasing, explore_erasing
from course_lib.explore.erasing import MOST_WORDS
from course_lib.explore.explorer import Picture
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.runs.run import train
from course_lib.runs.spec import RunSpec
from course_lib.views.heatmap import AttentionText
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


def says(view):
    messages = [w for w in parts(view, widgets.HTML) if not isinstance(w, Picture)]
    return html.unescape(re.sub("<[^>]*>", "", messages[0].value))


def test_a_pressed_word_is_gone_from_the_text_and_the_probability_is_the_models(view, run):
    toggles = parts(view, widgets.ToggleButton)
    assert [toggle.description for toggle in toggles] == WORDS
    toggles[1].value = toggles[6].value = True
    model = DocumentModel(run.system)
    left = [["A", "plot", "."], ["But", "a", "cast", "."]]
    j = model([[WORDS[:4], WORDS[4:]]])[0].argmax()
    name, now = run.system.classes[j], model([left])[0, j]
    assert says(view).endswith(f"; {now:.2f} without: dull, superb")
    (text,) = parts(view, AttentionText)
    assert text.spec["sentences"] == [[word for sentence in left for word in sentence]]
    np.testing.assert_allclose(
        text.spec["weights"][0], model.attention([left])["attention"][0], atol=1e-6
    )
    assert text.spec["title"].endswith(f"P({name}) = {now:.2f}")
    assert [t.style.text_decoration == "line-through" for t in toggles] == [
        place in (1, 6) for place in range(9)
    ]
    toggles[1].value = False
    assert view.erased == (6,)


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
    assert view.erased == () and says(view).endswith("for all 9 words")


def test_when_every_word_is_erased_there_is_no_text_and_nothing_more_to_erase(view):
    view.erased = range(9)
    assert parts(view, AttentionText) == [] and len(parts(view, Picture)) == 1
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
    view._picture(0, 1.0, "")
    assert titles[0].get_title() == "Erasing costs most in the order of gradient × input"


@pytest.mark.full
@pytest.mark.parametrize("system", ["sanet", "iram", "agt"])
def test_every_family_can_be_erased_and_shown_without_a_kernel(system, monkeypatch):
    monkeypatch.setenv("COURSE_HEATMAP", "static")
    view = explore_erasing(small(system), "A dull plot.")
    assert sweep(view) == 4 * 2 + 3 + 2
    bundle, metadata = view._repr_mimebundle_()
    assert bundle["text/html"].count("<img alt='P(") == 2 and "without: " in bundle["text/html"]
    assert bundle["image/png"] and "for all 4 words" in metadata["image/png"]["alt"]


def test_nothing_in_a_text_is_run(run, monkeypatch):
    monkeypatch.setenv("COURSE_HEATMAP", "static")
    view = explore_erasing(run, "A <script>alert(1)</script> ' onerror=alert(1) plot. " + "x" * 99)
    view.erased = range(6)
    page = view._repr_mimebundle_()[0]["text/html"] + "".join(
        widget.value for widget in parts(view, widgets.HTML)
    )
    outside = re.sub(r"srcdoc=([\"']).*?\1", "", page, flags=re.DOTALL)
    assert "<script" not in outside and "' onerror" not in outside
    assert max(len(t.description) for t in parts(view, widgets.ToggleButton)) == 24


def test_what_cannot_be_erased_is_refused():
    for text in ("", "good " * (MOST_WORDS + 1)):
        with pytest.raises(ValueError, match=f"text holds {len(text.split())} words; .* 1 to 120"):
            explore_erasing(small("agt"), text)
    with pytest.raises(ValueError, match="this network has no attention"):
        explore_erasing(small("sanet", **{"model.attention": False}), TEXT)
