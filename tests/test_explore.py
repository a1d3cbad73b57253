"""Views: what they show, that nothing in a text is run, and that a sweep finds what is broken."""

import html
import re
from dataclasses import replace

import ipywidgets as widgets
import numpy as np
import pytest
import torch
from datasets import Dataset
from sweeping import SweepError, sweep

from course_lib.explore import explore_documents, explore_text, read_text
from course_lib.explore.views import DocumentView
from course_lib.metrics.classification import Predictions
from course_lib.runs.run import split_rows, train
from course_lib.runs.spec import RunSpec
from course_lib.runs.systems import Evaluation
from course_lib.views import Reading
from course_lib.views.heatmap import AttentionHeatmap, AttentionText
from course_lib.views.reading_view import tree

HOSTILE = "<script>alert(1)</script>"
WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def trained():
    """A small network after two epochs: good enough to be right, and wrong, now and then."""
    overrides = {"training.epochs": 2}
    return train(RunSpec(dataset="toy", preset="small", overrides=overrides, threads=1, test=False))


@pytest.fixture(scope="module")
def rows(trained):
    return split_rows(trained.corpus)["validation"].select(range(24))


@pytest.fixture
def static(monkeypatch):
    monkeypatch.setenv("COURSE_HEATMAP", "static")


def row(text, label=0):
    words = text.split()
    return {"tokens": words, "sentence_lengths": [len(words)] if words else [], "label": label}


def view_of(*positive, labels=None, show=lambda row: widgets.HTML(row["tokens"][0])):
    """A view of documents from the probability of their second class; all are of the first."""
    positive = torch.tensor(positive)
    labels = torch.tensor(labels or [0] * len(positive))
    made = Predictions(torch.stack([1 - positive, positive], 1), labels)
    documents = [row(f"word{place}") for place in range(len(positive))]
    return DocumentView(documents, made, ("negative", "positive"), show)


def part(view, kind, description=""):
    found = [widget for widget in tree(view) if isinstance(widget, kind)]
    (one,) = [widget for widget in found if widget.description.startswith(description)]
    return one


def menu_of(view):
    return part(view, widgets.Dropdown, "document")


def shown(view):
    return view.children[-1].children[0]


def says(view):
    text = next(child.value for child in view.children if isinstance(child, widgets.HTML))
    return html.unescape(re.sub("<[^>]*>", "", text))


# What is read


class Length:
    """The least that can be explored: the longer a text, the surer it is positive."""

    classes = ("negative", "neutral", "positive")

    def evaluate(self, rows, attention=True):
        some = [self.read(row).probabilities for row in rows]
        labels = torch.tensor([row["label"] for row in rows])
        return Evaluation(Predictions(torch.tensor(np.array(some)), labels), {})

    def read(self, text):
        words = tuple(text.split() if isinstance(text, str) else text["tokens"])
        share = len(words) / (1 + len(words))
        lengths = (len(words),) if words else ()
        return Reading(words, lengths, self.classes, np.array([1 - share, 0.0, share]))


def test_whatever_has_the_protocol_of_a_system_can_be_explored():
    view = explore_documents(Length(), [row("one two three", 2), row("", 0), row("one", 1)])
    assert [label.split(":")[0] for label, _ in menu_of(view).options] == [
        "1 ✓ negative, 100% sure",
        "2 ✗ neutral, predicted negative, 50% sure",
        "0 ✓ positive, 75% sure",
    ]
    title = shown(explore_text(Length(), "one two three")).spec["title"]
    assert "positive 0.75, negative 0.25" in title


# The views


def test_buttons_page_through_documents_and_mistakes():
    view = view_of(0.1, 0.9, 0.2, 0.8, 0.3)
    seen = []
    for name in ("next m", "next m", "next m", "◀", "◀", "next ▶", "next ▶"):
        part(view, widgets.Button, name).click()
        assert shown(view).value == f"word{view.index}" and menu_of(view).value == view.index
        assert says(view).startswith(f"Document {view.index} of 5: ")
        seen.append(view.index)
    # the surest success, the mistakes, then the others
    assert [place for _, place in menu_of(view).options] == [0, 1, 3, 2, 4]
    assert seen == [1, 3, 1, 0, 4, 0, 1]


def test_a_filter_keeps_the_document_if_it_can_and_gives_way_to_an_index():
    view = view_of(0.1, 0.9, 0.55, 0.8, 0.3)
    kind, menu = part(view, widgets.Dropdown, "show"), menu_of(view)
    names = [label for label, _ in kind.options]
    assert names == ["all 5", "mistakes (3)", "less than 60% sure (1)"]
    view.index = 3
    kind.index = 1
    assert view.index == 3 and [value for _, value in menu.options] == [1, 3, 2]
    part(view, widgets.Button, "next ▶").click()
    assert view.index == 2
    kind.index = 2
    assert view.index == menu.value == 2
    view.index = 4
    assert kind.index == 0 and menu.value == 4 and len(menu.options) == 5


def test_a_filter_that_keeps_nothing_says_so_and_can_be_left():
    view = view_of(0.1, 0.2)
    with pytest.raises(ValueError, match="index is 2; it takes 0 to 1"):
        view.index = 2
    assert view.index == 0
    kind = part(view, widgets.Dropdown, "show")
    assert part(view, widgets.Button, "next mistake").disabled
    kind.index = 1
    assert says(view) == "No document matches this filter."
    part(view, widgets.Button, "next ▶").click()
    kind.index = 0
    part(view, widgets.Button, "next ▶").click()
    assert view.index == 1 and "Document 1" in says(view)  # of two the surer came first


def test_no_and_too_many_documents_are_refused():
    for count in (0, 5001):
        with pytest.raises(ValueError, match=f"rows holds {count:,} documents"):
            explore_documents(Length(), [row("one")] * count)


def test_predictions_are_those_of_the_model_and_a_picture_is_made_when_it_is_looked_at(
    trained, rows, monkeypatch
):
    made = []
    read = "course_lib.explore.views.read_text"
    monkeypatch.setattr(read, lambda run, row: made.append(row["text"]) or run.system.read(row))
    view = explore_documents(trained, rows)
    first, view.index = view.index, 5 if view.index != 5 else 6
    assert made == [rows[first]["text"], rows[view.index]["text"]]
    for label, place in menu_of(view).options:
        probability = read_text(trained, rows[place]).probabilities[1]
        sure = re.search(r"(\d+)% sure", label)
        assert int(sure[1]) == pytest.approx(100 * max(probability, 1 - probability), abs=1)
        true = rows[place]["label"]
        assert label.startswith(f"{place} {'✓✗'[int(probability > 0.5) != true]} ")
        assert trained.corpus.card.classes[true] in label


def test_pictures_that_are_left_are_closed_and_one_that_stays_is_not():
    made = [AttentionText([["a"]], [[1.0]]) for _ in range(2)]
    boxes = iter([widgets.VBox([made[0]]), widgets.VBox([made[1]])])
    view = view_of(0.1, 0.2, show=lambda row: next(boxes))
    _ = made[0].model_id  # as if a front end had shown it
    view.index = 1
    assert made[0].comm is None and shown(view).children == (made[1],)

    one = widgets.HTML("the same for all")
    view = view_of(0.1, 0.2, show=lambda row: one)
    view.index = 1
    assert one.comm is not None


def test_nothing_in_a_document_is_run(trained, static):
    card = replace(trained.corpus.card, classes=("<i>bad", "<b>good"))
    run = replace(trained)
    run.corpus = replace(trained.corpus, card=card)
    turned = f"{HOSTILE} \u202eturned\u2069 $x$ & more"
    view = explore_documents(run, Dataset.from_list([row(turned, 1), row("plain")]))
    page, _ = view._repr_mimebundle_()
    raw = "".join(child.value for child in view.children if isinstance(child, widgets.HTML))
    for markup in ("<script>alert", "<i>bad", "<b>good"):
        assert markup not in page["text/html"] + raw
    (excerpt,) = (
        label.split(": ", 1)[1] for label, _ in menu_of(view).options if "turned" in label
    )
    assert excerpt[0] == "\u2068" and excerpt[-1] == "\u2069"
    assert not {"\u202e", "\u2069"} & set(excerpt[1:-1])


def test_a_text_is_read_when_the_button_is_pressed_or_the_box_hands_it_over(trained):
    view = explore_text(trained, "What a dull ending!")
    before = shown(view)
    assert before.spec["sentences"] == [["What", "a", "dull", "ending", "!"]]
    view.text = "A tender film."
    assert shown(view) is before
    part(view, widgets.Button, "Read").click()
    assert shown(view).spec["sentences"] == [["A", "tender", "film", "."]]
    probability = read_text(trained, "A tender film.").probabilities[1]
    assert shown(view).spec["title"] == f"P(positive) = {probability:.2f}"
    box = part(view, widgets.Textarea)
    for message in ({"read": "So good"}, {"other": 1}):
        box._handle_custom_msg(message, [])
        assert view.text == "So good" and shown(view).spec["sentences"] == [["So", "good"]]


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_a_text_without_a_word_is_answered_with_a_sentence(text, trained, static):
    view = explore_text(trained, "What a dull ending!")
    view.text = text
    view.read()
    assert says(view) == "There is nothing to read yet: type at least one word."
    assert not any(isinstance(widget, AttentionText) for widget in tree(view))
    page, _ = view._repr_mimebundle_()
    assert "type at least one word" in page["text/html"]
    assert page["text/html"].endswith("In JupyterLab (make lab) you can type your own.</small></p>")
    view.text = "Again."
    view.read()
    assert says(view) == ""


def test_a_text_beyond_the_cut_and_beyond_all_bounds_is_cut_and_says_so(trained):
    view = explore_text(trained, "It was fine. " * 100)
    spec = shown(view).spec
    assert len(spec["sentences"]) == trained.record["settings"]["text"]["max_sentences"] == 7
    assert spec["beyond"] == "not read: 372 words beyond the model's cut"
    assert spec["rest"] == ["It", "was", "fine", "."] * 93
    assert says(view) == ""
    view.text = "It was fine. " * 2000
    view.read()
    assert says(view) == "Only the first 20,000 of 26,000 characters are read."


# Where there is no kernel


def test_without_a_kernel_some_documents_stand_as_pages(trained, rows, static):
    view = explore_documents(trained, rows)
    view.index = 3
    page, metadata = view._repr_mimebundle_()
    assert set(page) == {"text/plain", "text/html", "image/png"}
    captions = page["text/plain"].split("\n")
    assert page["text/html"].count("<iframe") == 3
    assert page["text/html"].count("<b>document 3 of 24") == 1
    assert page["text/html"].endswith("step from mistake to mistake.</small></p>")
    assert metadata["image/png"]["alt"] == captions[0]
    positive = [read_text(trained, one).probabilities[1] for one in rows]
    order = [place for _, place in menu_of(view).options]
    wrong = next(place for place in order if (positive[place] > 0.5) != rows[place]["label"])
    unsure = min(range(24), key=lambda place: abs(positive[place] - 0.5))
    for caption, (what, place) in zip(
        captions, [("", 3), ("clearest mistake: ", wrong), ("least sure: ", unsure)], strict=True
    ):
        assert caption.startswith(f"{what}document {place} of 24: ")


def test_a_view_of_several_parts_stands_there_with_all_of_them(static):
    def show(row):
        heatmap = AttentionHeatmap([[0.5, 0.5], [1.0, 0.0]], ["a", "b"])
        return widgets.VBox([widgets.HTML("<p>beside</p>"), heatmap, widgets.Button()])

    page, _ = view_of(0.9, labels=[1], show=show)._repr_mimebundle_()
    assert page["text/html"].count("<iframe") == 1 and "<p>beside</p>" in page["text/html"]


# The sweep


def test_a_button_that_breaks_on_a_hostile_text_only_is_found():
    box, button = widgets.Textarea("fine"), widgets.Button(description="go")
    button.on_click(lambda _: box.value or 1 / 0)
    with pytest.raises(SweepError, match=r"^Textarea at '', then Button 'go' pressed: ZeroDiv"):
        sweep(widgets.VBox([box, button]))
    with pytest.raises(ValueError, match="this VBox has no control"):
        sweep(widgets.VBox())
