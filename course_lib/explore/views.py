"""Views to look around with: page through documents, type a text for one network or two, or move a
slider."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ipywidgets as widgets
import numpy as np
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib.explore.explorer import Explorer, Picture, TextBox, WordSlider
from course_lib.explore.reading import ATTENTION, is_profane, read_text, reading_order, system_of
from course_lib.faithfulness import kendall, words_of
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.metrics.classification import Predictions
from course_lib.views import show_reading
from course_lib.views.heatmap.widget import AttentionHeatmap, same_scale
from course_lib.views.panels import grid
from course_lib.views.reading_view import Stack, tree

MOST_DOCUMENTS = 5_000  # in one menu
MOST_CHARACTERS = 20_000  # of a text that somebody typed
UNSURE = 0.6  # a prediction of less confidence is not sure
PANEL = (4.6, 2.8)  # inches, of a figure under a slider
ACROSS = 2  # more panels in a row could not be read on a page
EXCERPT = 44  # characters of a document in the menu
WIDE = widgets.Layout(width="100%", max_width="52rem")


def explore_documents(
    source: Any, rows: Any, predictions: Predictions | None = None, tint: str = "sentence"
) -> "DocumentView":
    """A view of documents to page through, each with label, prediction and attention.

    Clear successes come first, then the mistakes, then all others (``reading_order``).
    ``source`` is a run or a system; ``rows`` are some of the corpus's (``split_rows``).
    ``predictions`` are computed for all rows at once, with a progress bar, unless given. ``tint``
    is that of ``show_reading``. ``ValueError`` without any row, or with more than a menu holds.
    """
    count = len(rows)
    if not 0 < count <= MOST_DOCUMENTS:
        raise ValueError(
            f"rows holds {count:,} documents; a menu takes 1 to {MOST_DOCUMENTS:,}. "
            "Give a part of them, such as rows.select(range(500))"
        )
    system = system_of(source)
    if predictions is None:
        predictions = system.evaluate(rows, attention=False).predictions

    def tinted(row: dict) -> widgets.Widget:
        labelled = f"labelled {system.classes[row['label']]}"
        return show_reading(read_text(source, row), labelled, tint)

    return DocumentView(rows, predictions, system.classes, tinted)


def explore_text(
    source: Any, text: str = "", show: Callable[[Any, str], widgets.Widget] | None = None
) -> "TextView":
    """A view in which you type a text and read what a run or a system makes of it.

    ``text`` is the initial text; ``show(source, text)`` makes the widget for a text, by
    default its words tinted by attention.
    """
    draw = show or (lambda source, typed: show_reading(read_text(source, typed)))
    return TextView(lambda typed: draw(source, typed), text)


def explore_seeds(sources: Mapping[str, Any], text: str = "") -> "TextView":
    """A view in which you type a text and see where two networks look in it, a row for each.

    ``sources`` holds two runs or systems by name, such as two seeds of one training; a row says
    what its network answers, and the title how far the two attentions are apart. ``ValueError``
    for another number of networks, for one without attention, and for two that read the text in
    other words.
    """
    if len(sources) != 2:
        raise ValueError(f"sources takes two networks by name, got {len(sources)}")
    models = {name: DocumentModel(system_of(source)) for name, source in sources.items()}
    about = "The text in the box as two networks read it, a row each"
    return TextView(lambda typed: _compare(models, typed), text, about)


def explore_values(
    draw: Callable[[Axes, Any], None],
    values: Mapping[str, Any],
    panels: Sequence[str],
    name: str,
    alt: str,
) -> "ValueView":
    """A view of one figure under a slider, called ``name``, over labelled ``values``.

    ``draw(axis, value)`` draws one setting, its title included. Without a kernel the settings named
    in ``panels`` stand beside each other, so the page tells the same story; ``alt`` says what they
    show. ``ValueError`` names panels that are not among the values.
    """
    if not panels or set(panels) - set(values):
        raise ValueError(
            f"panels takes labels of the values, at least one, got {list(panels)}; "
            f"there are {', '.join(values)}"
        )

    def drawn(labels: Sequence[str]) -> Figure:
        figure, axes = grid(labels, ACROSS, PANEL)
        for axis, label in zip(axes, labels, strict=True):
            draw(axis, values[label])
        return figure

    return ValueView(drawn, list(values), panels, name, alt)


class DocumentView(Explorer):
    """Documents to page through: a menu, previous, next, the next mistake, and a filter.

    Trait ``index``: the place in the rows of the document that is shown; it can be observed and
    set.
    """

    index = traitlets.Int(0)
    elsewhere = (
        "This page has no kernel, so it shows a few documents. In JupyterLab (make lab) you can "
        "page through all of them and step from mistake to mistake."
    )

    def __init__(
        self,
        rows: Any,
        predictions: Predictions,
        classes: Sequence[str],
        show: Callable[[dict], widgets.Widget],
    ) -> None:
        self._rows, self._show = rows, show
        tokens = [row["tokens"] for row in rows]
        order = reading_order(tokens, predictions)
        confidence, guess = predictions.probabilities.max(1)
        self._confidence, labels = confidence.tolist(), predictions.labels.tolist()
        self._about = [
            (
                f"✓ {classes[label]}"
                if label == guessed
                else f"✗ {classes[label]}, predicted {classes[guessed]}"
            )
            + f", {sure:.0%} sure"
            for label, guessed, sure in zip(labels, guess.tolist(), self._confidence, strict=True)
        ]
        self._options = [
            (f"{place} {about}: {_excerpt(words)}", place)
            for place, (about, words) in enumerate(zip(self._about, tokens, strict=True))
        ]
        self._order, wrong = order, (guess != predictions.labels).tolist()
        self._mistakes = [place for place in order if wrong[place]]
        unsure = [place for place in order if self._confidence[place] < UNSURE]
        self._places = order
        kinds = {
            f"all {len(order):,}": order,
            f"mistakes ({len(self._mistakes):,})": self._mistakes,
            f"less than {UNSURE:.0%} sure ({len(unsure):,})": unsure,
        }
        self._filter = widgets.Dropdown(options=kinds.items(), description="show")
        options = [self._options[place] for place in order]
        self._menu = widgets.Dropdown(options=options, description="document", layout=WIDE)
        buttons = []
        for name, act in {
            "◀ previous": lambda _: self._step(-1),
            "next ▶": lambda _: self._step(1),
            "next mistake ▶": lambda _: self._next_mistake(),
        }.items():
            buttons.append(widgets.Button(description=name))
            buttons[-1].on_click(act)
        buttons[-1].disabled = not self._mistakes
        super().__init__([widgets.HBox([self._filter, *buttons]), self._menu])
        self._filter.observe(self._narrow, "value")
        self._menu.observe(self._pick, "value")
        self.index = order[0]
        if not self._stage.children:  # the index was that already
            self._turn()

    @traitlets.validate("index")
    def _check_index(self, proposal: dict[str, Any]) -> int:
        place, count = proposal["value"], len(self._about)
        if not 0 <= place < count:
            raise ValueError(f"index is {place}; it takes 0 to {count - 1}")
        return place

    @traitlets.observe("index")
    def _turn(self, _: Any = None) -> None:
        """Show the document that ``index`` says, whatever the filter."""
        if self.index not in self._places:
            self._filter.index = 0
        self._menu.value = self.index
        self._say(f"Document {self.index} of {len(self._about)}: {self._about[self.index]}")
        self._put(self._show(self._rows[self.index]))

    def _pick(self, change: dict[str, Any]) -> None:
        if change["new"] is not None:
            self.index = change["new"]

    def _narrow(self, change: dict[str, Any]) -> None:
        self._places = change["new"]
        self._menu.unobserve(self._pick, "value")  # new options choose their first one
        self._menu.options = [self._options[place] for place in self._places]
        self._menu.observe(self._pick, "value")
        if not self._places:
            self._say("No document matches this filter.")
        elif self.index in self._places:
            self._menu.value = self.index
        else:
            self.index = self._places[0]

    def _step(self, way: int) -> None:
        if self._places:
            at = self._places.index(self.index) if self.index in self._places else 0
            self.index = self._places[(at + way) % len(self._places)]

    def _next_mistake(self) -> None:
        later = self._order[self._order.index(self.index) + 1 :]
        self.index = next((place for place in later if place in self._mistakes), self._mistakes[0])

    def _stills(self) -> list[tuple[str, widgets.Widget]]:
        """This document, the clearest mistake, and the least sure prediction without profanity."""
        clean = [place for place in self._places if not is_profane(self._rows[place]["tokens"])]
        places = {self.index: ""}
        if self._mistakes:
            places.setdefault(self._mistakes[0], "clearest mistake: ")
        unsure = min(clean, key=self._confidence.__getitem__, default=self.index)
        places.setdefault(unsure, "least sure: ")
        shown = [
            self._stage.children[0] if place == self.index else self._show(self._rows[place])
            for place in places
        ]
        same_scale(*(x for view in shown for x in tree(view) if isinstance(x, AttentionHeatmap)))
        return [
            (f"{what}document {place} of {len(self._about)}: {self._about[place]}", view)
            for (place, what), view in zip(places.items(), shown, strict=True)
        ]


class TextView(Explorer):
    """A box to type a text into, a button (or Ctrl+Enter), and what the model makes of the text.

    ``read(text)`` makes the widget for a text of at least one word; ``about`` says what it shows to
    whoever does not see it.
    """

    elsewhere = (
        "This page has no kernel, so it shows one text. In JupyterLab (make lab) you can type "
        "your own."
    )

    def __init__(
        self,
        read: Callable[[str], widgets.Widget],
        text: str = "",
        about: str = "The text in the box, as the model reads it",
    ) -> None:
        self._read, self._about = read, about
        hint = "Type a review, then press Ctrl+Enter or the button"
        self._box = TextBox(value=text, placeholder=hint, rows=4, layout=WIDE)
        self._box.on_submit(self.read)
        button = widgets.Button(description="Read it", button_style="primary")
        button.on_click(lambda _: self.read())
        super().__init__([self._box, button])
        self.read()

    @property
    def text(self) -> str:
        """What stands in the box; set it and call ``read``."""
        return self._box.value

    @text.setter
    def text(self, text: str) -> None:
        self._box.value = text

    def read(self) -> None:
        """Read the text as the button does; without a word in it, say so and show nothing."""
        text = self.text
        if not text.strip():
            self._say("There is nothing to read yet: type at least one word.")
            self._put(widgets.HTML())
            return
        cut = f"Only the first {MOST_CHARACTERS:,} of {len(text):,} characters are read."
        self._say(cut if len(text) > MOST_CHARACTERS else "")
        self._put(self._read(text[:MOST_CHARACTERS]))

    def _stills(self) -> list[tuple[str, widgets.Widget]]:
        return [(self._caption or self._about, self._stage.children[0])]


class ValueView(Stack):
    """A slider over ``labels``, and the drawing of the one that is chosen, ``drawn([label])``."""

    def __init__(
        self,
        drawn: Callable[[Sequence[str]], Figure],
        labels: Sequence[str],
        panels: Sequence[str],
        name: str,
        alt: str,
    ) -> None:
        self._drawn, self._panels, self._alt = drawn, panels, alt
        self._slider = WordSlider(options=labels, value=panels[0], description=name)
        picture = Picture(*self._chosen())
        super().__init__([self._slider, picture])
        self._slider.observe(lambda _: picture.draw(*self._chosen()), "value")

    def _chosen(self) -> tuple[Figure, str]:
        """The figure of the label that is chosen, and what it says there: its title."""
        figure = self._drawn([self._slider.value])
        title = figure.axes[0].get_title("left") or figure.axes[0].get_title()
        return figure, f"{self._slider.description} {self._slider.value}: {title}"

    def _stills(self) -> list[tuple[str, widgets.Widget]]:
        return [(self._alt, Picture(self._drawn(self._panels), self._alt))]


def _compare(models: Mapping[str, DocumentModel], text: str) -> widgets.Widget:
    """The attention of two networks to the words of a text, as a heatmap of two rows."""
    rows, words = {}, []
    for name, model in models.items():
        (document,) = model.documents([text])
        (answer,), attention = model.answers([document])
        if ATTENTION not in attention:
            raise ValueError(f"{name} has no attention, so there is nothing to compare")
        label = f"{name}: {model.system.classes[answer.argmax()]} {answer.max():.2f}"
        tokens, rows[label] = model.system.in_words(words_of(document), attention[ATTENTION][0])
        words.append(tokens)
    if words[0] != words[1]:
        raise ValueError("the two networks read this text in other words")
    return AttentionHeatmap(
        np.stack(list(rows.values())), list(rows), words[0], title=difference(*rows.values())
    )


def difference(first: np.ndarray, second: np.ndarray) -> str:
    """How far two attentions ``(words,)`` are apart, in words: the share of the weight that lies
    elsewhere, from 0 to 100 %, and Kendall's τ of the rankings, where there is one."""
    share = np.abs(first - second).sum() / 2
    (tau,) = kendall([first], [second])
    ranks = "" if np.isnan(tau) else f"; Kendall's τ of the rankings is {tau:.2f}"
    return f"{share:.0%} of the weight lies on other words{ranks}"


def _excerpt(tokens: Sequence[str]) -> str:
    """A document's first words on one line, kept apart from what stands before them.

    What could turn the direction of the rest of the line is left out; the isolates keep the
    direction of the words themselves inside.
    """
    start = " ".join(tokens[:EXCERPT])
    start = "".join(character for character in start if character.isprintable())
    return "\u2068" + (start if len(start) <= EXCERPT else start[: EXCERPT - 1] + "…") + "\u2069"
