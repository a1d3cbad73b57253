"""Tinted text in Chromium, static: what it shows, says and answers to."""

import re

import numpy as np
import pytest
from probes import accessible, shade, words

from course_lib.views.colours import TINTS_HEX
from course_lib.views.heatmap import AttentionText, PressableText


def test_without_weights_words_stand_untinted_and_tell_nothing(open_static):
    frame = open_static(AttentionText([["so", "good"]], None, title="Counted words"))
    option = frame.locator(".word").first
    option.hover()
    assert frame.locator(".tip").inner_text() == ""
    colour = option.evaluate("element => getComputedStyle(element).backgroundColor")
    assert colour == "rgba(0, 0, 0, 0)"
    assert frame.locator(".legend").count() == 0
    named = {(role, name) for role, name, _ in accessible(frame)}
    assert {("listbox", "Counted words: words"), ("option", "so")} <= named


@pytest.mark.parametrize("unit", ["sentence", "text"])
def test_words_are_tinted_and_tell_their_weight(open_static, unit):
    weights = np.array([[0.5, 0.3, 0.2, 0], [0.9, 0.1, 0, 0]])
    sentences = [["not", "a", "film", "."], ["loved", "it"]]
    view = AttentionText(sentences, weights, [0.25, 0.75], title="A review", unit=unit)
    frame = open_static(view)
    frame.page.emulate_media(forced_colors="active")  # the tints stay
    assert frame.locator(".chip").all_inner_texts() == ["25.0%", "75.0%"]
    legend = frame.locator(".legend").inner_text()
    assert legend.endswith(f"times the weight of uniform attention in the {unit}")
    named = {(role, name) for role, name, _ in accessible(frame)}
    assert ("listbox", "A review: words by weight") in named
    place = 0
    for number, (sentence, row) in enumerate(zip(sentences, weights, strict=True), start=1):
        assert ("group", f"{unit.capitalize()} {number}") in named
        for word, weight in zip(sentence, row):
            option = frame.locator(".word").nth(place)
            colour = option.evaluate("element => getComputedStyle(element).backgroundColor")
            wanted = shade(min(weight * len(sentence), 4) / 4, TINTS_HEX)
            assert np.abs(np.array(re.findall(r"\d+", colour)[:3], float) - wanted).max() <= 1
            option.hover()
            fact = f"weight {weight:g}, {weight * len(sentence):.2f}× uniform"
            assert (option.inner_text(), frame.locator(".tip").inner_text()) == (word, fact)
            assert ("option", f"{word}: {fact}") in named
            place += 1


def test_an_erased_word_is_struck_out_and_the_tints_and_shares_are_those_of_what_is_left(
    open_static,
):
    view = PressableText([["a", "b"], ["c"]], np.array([0.2, 0.3, 0.5]), lambda place: None)
    view.wear(np.array([0.4, 0, 0.6]), np.array([False, True, False]))
    frame = open_static(view)
    assert frame.locator(".chip").all_inner_texts() == ["40.0%", "60.0%"]
    assert frame.locator(".erased").all_inner_texts() == ["b"]
    word = frame.locator(".word").first
    colour = word.evaluate("element => getComputedStyle(element).backgroundColor")
    wanted = shade(0.4 * 2 / 8, TINTS_HEX)
    assert np.abs(np.array(re.findall(r"\d+", colour)[:3], float) - wanted).max() <= 1
    word.hover()
    assert frame.locator(".tip").inner_text() == "share of the text 0.4, 0.80× uniform"
    legend = frame.locator(".legend").inner_text()
    assert "≥ 8" in legend and legend.endswith("uniform attention in the text")
    assert frame.locator(".pressable").count() == 0  # nobody would answer


def test_text_has_one_tab_stop_and_arrows_between_words(open_static):
    sentences = [words(40), ["last"]]
    frame = open_static(AttentionText(sentences, np.full((2, 40), 1 / 40)), width=600)
    keyboard = frame.page.keyboard
    focused = "() => document.activeElement.textContent"
    keyboard.press("Tab")
    assert frame.evaluate(focused) == "w0"
    assert "1.00× uniform" in frame.locator(".tip").inner_text()
    for key, word in [("ArrowRight", "w1"), ("End", "last"), ("ArrowLeft", "w39"), ("Home", "w0")]:
        keyboard.press(key)
        assert frame.evaluate(focused) == word
    keyboard.press("ArrowDown")
    assert frame.evaluate(focused) not in ("w0", "w1", "last")
    keyboard.press("Enter")
    assert frame.locator("[aria-selected=true]").count() == 1
    keyboard.press("ArrowUp")
    assert frame.evaluate(focused) == "w0"
    keyboard.press("Tab")
    assert frame.evaluate("() => document.activeElement.className") != "word"
    keyboard.press("Shift+Tab")
    assert frame.evaluate(focused) == "w0"


def test_what_was_not_read_is_folded_and_never_markup(open_static):
    rest = ["and", "then", "<img src=x onerror=alert(1)>", "</script>"]
    frame = open_static(AttentionText([["so", "good"]], [[0.5, 0.5]], title="P", rest=rest))
    line = frame.locator(".rest summary")
    assert line.inner_text() == "Not read: 4 words beyond the model's cut"
    assert not frame.locator(".rest p").is_visible()
    before = frame.page.locator("iframe").bounding_box()["height"]
    for _ in range(2):  # the words, then the line
        frame.page.keyboard.press("Tab")
    focused = "line => line === document.activeElement"
    frame.wait_for_function(focused, arg=line.element_handle())
    frame.page.keyboard.press("Enter")
    frame.locator(".rest p").wait_for(state="visible")
    assert frame.locator(".rest p").inner_text() == " ".join(rest)
    grown = "before => document.querySelector('iframe').getBoundingClientRect().height > before"
    frame.page.wait_for_function(grown, arg=before)
    assert frame.locator("img").count() == 0
