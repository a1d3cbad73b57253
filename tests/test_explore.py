"""Views: what they show, that nothing in a text is run, and that a sweep finds what is broken."""

import html
import re
from dataclasses import replace

import ipywidgets as widgets
import numpy as np
import pytest
import torch
from datasets import Dataset
from sweeping import HOSTILE_TEXTS, SweepError, sweep

from course_lib.explore import explore_documents, explore_text, read_text, reading_order
from course_lib.metrics.classification import Predictions
from course_lib.runs.run import split_rows, train
from course_lib.runs.spec import RunSpec
from course_lib.runs.systems import Evaluation, known_systems
from course_lib.views import Reading
from course_lib.views.heatmap import AttentionHeatmap, AttentionText

TWO = {"training.epochs": 2}
HOSTILE = "<script>alert(1)</script>"
WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def trained():
    """A small network after one epoch: good enough to be right, and wrong, now and then."""
    spec = RunSpec(dataset="toy", preset="small", overrides=TWO, threads=1, test=False)
    return train(spec)


@pytest.fixture(scope="module")
def rows(trained):
    return split_rows(trained.corpus)["validation"].select(range(24))


@pytest.fixture
def static(monkeypatch):
    monkeypatch.setenv("COURSE_HEATMAP", "static")


@pytest.fixture
def live(monkeypatch):
    monkeypatch.setenv("COURSE_HEATMAP", "live")


def predictions(*positive, labels):
    """Predictions of two classes from the probability of the second."""
    positive = torch.tensor(positive)
    return Predictions(torch.stack([1 - positive, positive], 1), torch.tensor(labels))


def row(text, label=0):
    words = text.split()
    return {"tokens": words, "sentence_lengths": [len(words)] if words else [], "label": label}


def view_of(trained, documents, made=None, show=lambda run, row: widgets.HTML(row["tokens"][0])):
    return explore_documents(trained, documents, show, made)


def part(view, kind, description=""):
    found = [
        widget
        for widget in walk(view)
        if isinstance(widget, kind) and widget.description.startswith(description)
    ]
    assert len(found) == 1
    return found[0]


def walk(widget):
    return [widget, *(x for child in getattr(widget, "children", ()) for x in walk(child))]


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
    rows = [row("one two three", 2), row("", 0), row("one", 1)]
    view = explore_documents(Length(), rows)
    menu = part(view, widgets.Dropdown, "document")
    assert [label.split(":")[0] for label, _ in menu.options] == [
        "1 ✓ negative, 100% sure", "2 ✗ neutral, predicted negative, 50% sure",
        "0 ✓ positive, 75% sure",
    ]  # fmt: skip
    shown = explore_text(Length(), "one two three").children[-1].children[0]
    assert "positive 0.75, negative 0.25" in shown.spec["title"]


@pytest.mark.parametrize(
    "system", [n for n, kind in known_systems().items() if hasattr(kind, "fit")]
)
def test_every_system_can_be_explored(system, static):
    preset = "words" if system == "tfidf" else "small"
    short = {} if system == "tfidf" else {"training.epochs": 1}
    run = train(RunSpec(system, "toy", preset, short, limit=100, test=False, threads=1))
    documents = run.corpus.splits["test"].select(range(4))
    for view in (explore_documents(run, documents), explore_text(run, "A tender film.")):
        sweep(view)
        bundle, _ = view._repr_mimebundle_()
        assert "P(positive) = " in bundle["text/html"]


# The views


def test_a_menu_says_label_prediction_and_confidence(trained):
    documents = [row("Fine words", 1), row("More of them", 0), row("Third one", 0)]
    made = predictions(0.9, 0.75, 0.5, labels=[1, 0, 0])
    view = view_of(trained, documents, made)
    labels = [label for label, _ in part(view, widgets.Dropdown, "document").options]
    assert labels[0].startswith("0 ✓ positive, 90% sure: ") and "Fine words" in labels[0]
    assert labels[1].startswith("1 ✗ negative, predicted positive, 75% sure: ")
    assert labels[2].startswith("2 ✓ negative, 50% sure: ")  # positive is strictly above a half


def test_buttons_page_through_documents_and_mistakes(trained):
    documents = [row(f"word{place}") for place in range(5)]
    view = view_of(trained, documents, predictions(0.1, 0.9, 0.2, 0.8, 0.3, labels=[0] * 5))
    seen = []
    for name in ("next m", "next m", "next m", "◀", "◀", "next ▶", "next ▶"):
        part(view, widgets.Button, name).click()
        assert view.children[-1].children[0].value == f"word{view.index}"
        assert part(view, widgets.Dropdown, "document").value == view.index
        assert says(view).startswith(f"Document {view.index} of 5: ")
        seen.append(view.index)
    order = [place for _, place in part(view, widgets.Dropdown, "document").options]
    assert order == [0, 1, 3, 2, 4]  # the surest success, the mistakes, then the others
    assert seen == [1, 3, 1, 0, 4, 0, 1]


def test_a_filter_keeps_the_document_if_it_can_and_gives_way_to_an_index(trained):
    documents = [row(f"word{place}") for place in range(5)]
    view = view_of(trained, documents, predictions(0.1, 0.9, 0.55, 0.8, 0.3, labels=[0] * 5))
    kind, menu = (part(view, widgets.Dropdown, name) for name in ("show", "document"))
    assert [label for label, _ in kind.options] == [
        "all 5", "mistakes (3)", "less than 60% sure (1)",
    ]  # fmt: skip
    view.index = 3
    kind.index = 1
    assert view.index == 3 and [value for _, value in menu.options] == [1, 3, 2]
    part(view, widgets.Button, "next ▶").click()
    assert view.index == 2
    kind.index = 2
    assert view.index == menu.value == 2
    view.index = 4
    assert kind.index == 0 and menu.value == 4 and len(menu.options) == 5


def test_a_filter_that_keeps_nothing_says_so_and_can_be_left(trained):
    view = view_of(trained, [row("one"), row("two")], predictions(0.1, 0.2, labels=[0, 0]))
    kind = part(view, widgets.Dropdown, "show")
    assert part(view, widgets.Button, "next mistake").disabled
    kind.index = 1
    assert says(view) == "No document matches this filter."
    part(view, widgets.Button, "next ▶").click()
    kind.index = 0
    part(view, widgets.Button, "next ▶").click()
    assert view.index == 1 and "Document 1" in says(view)  # of two the surer came first


def test_an_index_beyond_the_documents_is_refused(trained):
    view = view_of(trained, [row("one"), row("two")], predictions(0.1, 0.2, labels=[0, 0]))
    with pytest.raises(ValueError, match="index is 2; it takes 0 to 1"):
        view.index = 2
    assert view.index == 0


@pytest.mark.parametrize("count", [0, 5001])
def test_too_few_or_too_many_documents_are_refused(count, trained):
    with pytest.raises(ValueError, match=f"rows holds {count:,} documents"):
        explore_documents(trained, [row("one")] * count)


def test_predictions_are_those_of_the_model_and_a_picture_is_made_when_it_is_looked_at(
    trained, rows
):
    shown = []

    def show(run, row):
        shown.append(row["text"])
        return widgets.HTML()

    view = explore_documents(trained, rows, show)
    assert len(shown) == 1
    first, view.index = view.index, 5 if view.index != 5 else 6
    assert shown == [rows[first]["text"], rows[view.index]["text"]]
    classes = trained.corpus.card.classes
    for label, place in part(view, widgets.Dropdown, "document").options:
        probability = read_text(trained, rows[place]).probabilities[1]
        sure = re.search(r"(\d+)% sure", label)
        assert int(sure[1]) == pytest.approx(100 * max(probability, 1 - probability), abs=1)
        guess = int(probability > 0.5)
        assert ("✗" in label) == (guess != rows[place]["label"])
        assert f"{classes[rows[place]['label']]}" in label


def test_pictures_that_are_left_are_closed_and_one_that_stays_is_not(trained):
    made = [AttentionText([["a"]], [[1.0]]) for _ in range(2)]
    boxes = iter([widgets.VBox([made[0]]), widgets.VBox([made[1]])])
    documents = [row("one"), row("two")]
    guesses = predictions(0.1, 0.2, labels=[0, 0])
    view = view_of(trained, documents, guesses, lambda run, row: next(boxes))
    _ = made[0].model_id  # as if a front end had shown it
    view.index = 1
    assert made[0].comm is None and view.children[-1].children[0].children == (made[1],)

    one = widgets.HTML("the same for all")
    view = view_of(trained, documents, guesses, lambda run, row: one)
    view.index = 1
    assert one.comm is not None


def test_nothing_in_a_document_is_run(trained, static):
    card = replace(trained.corpus.card, classes=("<i>bad", "<b>good"))
    run = replace(trained)
    run.corpus = replace(trained.corpus, card=card)
    turned = f"{HOSTILE} \u202eturned\u2069 $x$ & more"
    view = explore_documents(run, Dataset.from_list([row(turned, 1), row("plain")]))
    page, _ = view._repr_mimebundle_()
    for markup in ("<script>alert", "<i>bad", "<b>good"):
        assert markup not in page["text/html"]
        assert markup not in says_raw(view)
    label = part(view, widgets.Dropdown, "document").options[0][0]
    excerpt = label.split(": ", 1)[1]
    assert excerpt[0] == "\u2068" and excerpt[-1] == "\u2069"
    assert not {"\u202e", "\u2069"} & set(excerpt[1:-1])


def says_raw(view):
    return "".join(child.value for child in view.children if isinstance(child, widgets.HTML))


def test_a_text_is_read_when_the_button_is_pressed(trained):
    view = explore_text(trained, "What a dull ending!")
    assert view.children[-1].children[0].spec["sentences"] == [["What", "a", "dull", "ending", "!"]]
    view.text = "A tender film."
    assert len(view.children[-1].children[0].spec["sentences"][0]) == 5
    part(view, widgets.Button, "Read").click()
    shown = view.children[-1].children[0]
    assert shown.spec["sentences"] == [["A", "tender", "film", "."]]
    probability = read_text(trained, "A tender film.").probabilities[1]
    assert shown.spec["title"] == f"P(positive) = {probability:.2f}"


def test_a_text_is_read_when_its_box_hands_it_over(trained):
    view = explore_text(trained, "What a dull ending!")
    box = part(view, widgets.Textarea)
    box._handle_custom_msg({"read": "A tender film."}, [])
    assert view.text == "A tender film."
    assert view.children[-1].children[0].spec["sentences"] == [["A", "tender", "film", "."]]
    box._handle_custom_msg({"other": 1}, [])
    assert view.text == "A tender film."


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_a_text_without_a_word_is_answered_with_a_sentence(text, trained, static):
    view = explore_text(trained, "What a dull ending!")
    view.text = text
    view.read()
    assert says(view) == "There is nothing to read yet: type at least one word."
    assert not any(isinstance(widget, AttentionText) for widget in walk(view))
    page, _ = view._repr_mimebundle_()
    assert "type at least one word" in page["text/html"]
    assert page["text/html"].endswith("In JupyterLab (make lab) you can type your own.</small></p>")
    view.text = "Again."
    view.read()
    assert says(view) == ""


def test_a_text_beyond_the_cut_and_beyond_all_bounds_is_cut_and_says_so(trained):
    view = explore_text(trained, "It was fine. " * 100)
    shown = view.children[-1].children[0]
    assert len(shown.spec["sentences"]) == trained.record["settings"]["text"]["max_sentences"] == 7
    assert shown.spec["beyond"] == "not read: 372 words beyond the model's cut"
    assert shown.spec["rest"] == ["It", "was", "fine", "."] * 93
    assert says(view) == ""
    view.text = "It was fine. " * 2000
    view.read()
    assert says(view) == "Only the first 20,000 of 26,000 characters are read."


# Where there is no kernel


def test_without_a_kernel_some_documents_stand_as_pages(trained, rows, static):
    view = explore_documents(trained, rows)
    view.index = 3
    page, metadata = view._repr_mimebundle_()
    assert WIDGET not in page
    captions = page["text/plain"].split("\n")
    assert captions[0].startswith("document 3 of 24: ")
    assert captions[1].startswith("clearest mistake: ")
    assert captions[2].startswith("least sure: ")
    assert page["text/html"].count("<iframe") == 3
    assert page["text/html"].count("<b>document 3 of 24") == 1
    assert page["text/html"].endswith("step from mistake to mistake.</small></p>")
    assert metadata["image/png"]["alt"] == captions[0] and page["image/png"]
    places = [int(re.search(r"(\d+) of", caption)[1]) for caption in captions]
    sure = [
        max(p, 1 - p)
        for p in (read_text(trained, rows[place]).probabilities[1] for place in range(24))
    ]
    wrong = [
        place
        for place in range(24)
        if (read_text(trained, rows[place]).probabilities[1] > 0.5) != rows[place]["label"]
    ]
    assert places[2] == min(range(24), key=sure.__getitem__)
    documents = [row["tokens"] for row in rows]
    look = trained.system.evaluate(rows, attention=False).predictions
    order = reading_order(documents, look)
    assert places[1] == next(place for place in order if place in wrong)


def test_a_view_of_several_parts_stands_there_with_all_of_them(trained, static):
    def show(run, row):
        heatmap = AttentionHeatmap([[0.5, 0.5], [1.0, 0.0]], ["a", "b"])
        return widgets.VBox([widgets.HTML("<p>beside</p>"), heatmap, widgets.Button()])

    guesses = predictions(0.9, labels=[1])
    page, _ = view_of(trained, [row("one", 1)], guesses, show)._repr_mimebundle_()
    assert page["text/html"].count("<iframe") == 1 and "<p>beside</p>" in page["text/html"]


def test_live_it_is_a_widget_and_as_a_picture_nothing_else(trained, rows, live, monkeypatch):
    views = [explore_documents(trained, rows), explore_text(trained, "A tender film.")]
    for view in views:
        page = view._repr_mimebundle_()
        assert WIDGET in (page[0] if isinstance(page, tuple) else page)
    monkeypatch.setenv("COURSE_HEATMAP", "png")
    for view in views:
        page, _ = view._repr_mimebundle_()
        assert set(page) == {"text/plain", "image/png"}


# The sweep


def test_our_views_survive_a_sweep(trained, rows):
    documents = explore_documents(trained, rows)
    assert part(documents, widgets.Button, "next mistake").disabled is False
    assert sweep(documents) == 24 + 3 + 3
    assert sweep(explore_text(trained, "A tender film.")) == len(HOSTILE_TEXTS) + 1
    heatmap = AttentionHeatmap(torch.ones(4, 2, 2), ["a", "b"], steps=["1", "2", "3", "4"])
    assert sweep(widgets.VBox([heatmap])) == 4


def test_a_sweep_goes_over_every_value_and_comes_back():
    controls = {
        widgets.IntSlider(value=3, min=1, max=5): [1, 2, 3, 4, 5],
        widgets.FloatSlider(value=0.5, max=0.875, step=0.25): [0, 0.25, 0.5, 0.75, 0.875],
        widgets.FloatLogSlider(value=10, min=0, max=2, step=1): [1, 10, 100],
        widgets.IntRangeSlider(value=(1, 2), min=1, max=3): [(1, 1), (2, 2), (3, 3)],
        widgets.BoundedIntText(value=2, min=1, max=3): [1, 2, 3],
        widgets.Dropdown(options=["a", "b", "c"], value="b"): ["a", "b", "c"],
        widgets.ToggleButtons(options=["a", "b"], value="b"): ["a", "b"],
        widgets.SelectMultiple(options=["a", "b"], value=("b",)): [("a",), ("b",)],
        widgets.Checkbox(value=True): [False, True],
    }
    for control, values in controls.items():
        first, seen = control.value, set()
        control.observe(lambda change, seen=seen: seen.add(change["new"]), "value")
        assert sweep(widgets.VBox([widgets.HBox([control])])) == len(values)
        assert seen == {*values, first} and control.value == first


def raising_at(value, control):
    def react(change):
        if change["new"] == value:
            raise KeyError(f"no {value}")

    control.observe(react, "value")
    return widgets.VBox([control])


@pytest.mark.parametrize(
    ("control", "value", "name"),
    [
        (widgets.IntSlider(max=9, description="layer"), 7, "IntSlider 'layer' at 7"),
        (widgets.Dropdown(options=["a", "b", "c"]), "c", "Dropdown at 2"),
        (widgets.Checkbox(), True, "Checkbox at True"),
        (widgets.Text(), HOSTILE, f"Text at '{HOSTILE}'"),
    ],
)
def test_a_view_that_breaks_at_one_value_only_is_found(control, value, name):
    with pytest.raises(SweepError, match=f"^{re.escape(name)}: KeyError: 'no ") as raised:
        sweep(raising_at(value, control))
    assert isinstance(raised.value.__cause__, KeyError)


def fails(*_):
    raise ZeroDivisionError("at last")


def test_a_button_that_breaks_on_a_hostile_text_only_is_found():
    box, button = widgets.Textarea("fine"), widgets.Button(description="go")
    button.on_click(lambda _: box.value or fails())
    with pytest.raises(SweepError, match=r"^Textarea at '', then Button 'go' pressed: ZeroDiv"):
        sweep(widgets.VBox([box, button]))
