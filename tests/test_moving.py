"""Moving attention by hand: what the view says is what the network answers with these weights."""

import numpy as np
import pytest
from sweeping import sweep
from test_erasing import parts, press, small

from course_lib import faithfulness
from course_lib.explore import explore_moving
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.views.heatmap import PressableText

TEXT = "A dull plot but a superb cast."


@pytest.fixture
def view():
    return explore_moving(small("han"), TEXT)


def test_weight_goes_to_the_pressed_word_and_the_answer_is_the_networks(view):
    (text,) = parts(view, PressableText)
    model, sentence = DocumentModel(small("han").system), [TEXT[:-1].split() + ["."]]
    own, _, answer = model.attended(sentence)
    assert view._caption == (
        f"P(positive) = {answer(own[None])[0, 1]:.2f} with the network's own attention"
    )
    text.selected = [0, 5]
    assert view.target == 5 and text.selected is None
    for share in (1.0, 0.35):
        view.share = share
        moved = (1 - share) * own[0] + share * np.eye(8)[5]
        np.testing.assert_allclose(view.moved, moved)
        np.testing.assert_allclose(text._words[0], moved)
        now = answer(moved[None, None])[0, 1]
        far = faithfulness.jensen_shannon(moved, own[0])
        assert f"P(positive) = {now:.2f} with {share:.0%} of the weight moved" in view._caption
        assert "to “superb”" in view._caption and view._caption.endswith(f"divergence {far:.2f}")
    press(view, "the network's own")
    assert view.target is None and (view.moved == own[0]).all()


def test_every_control_holds_and_a_page_without_a_kernel_shows_the_state(view, monkeypatch):
    assert sweep(view) == 1 + 21
    monkeypatch.setenv("COURSE_HEATMAP", "static")
    view.target = 0
    bundle, metadata = view._repr_mimebundle_()
    assert bundle["text/html"].count("<iframe") == 1 and "moved to “A”" in bundle["text/plain"]
    assert metadata["image/png"]["alt"] == view._caption
    other = explore_moving(small("han"), "A <b>.")
    other.target = other._words.index("<")
    assert "“&lt;”" in other._repr_mimebundle_()[0]["text/html"]


@pytest.mark.parametrize("text", ["", "One dull plot. Two."])
def test_a_text_without_words_or_with_several_rows_is_refused(text):
    with pytest.raises(ValueError, match="at least one word that has one row of weights"):
        explore_moving(small("han"), text)
