"""Views to look around with: page through documents, or type a text, and see the attention."""

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets
import traitlets

from course_lib.explore.box import TextBox
from course_lib.explore.choice import reading_order
from course_lib.explore.decency import is_decent
from course_lib.explore.explorer import Explorer
from course_lib.explore.reading import read_text, system_of
from course_lib.metrics.classification import Predictions
from course_lib.views import show_reading
from course_lib.views.heatmap.widget import AttentionHeatmap, same_scale
from course_lib.views.reading_view import tree

MOST_DOCUMENTS = 5_000  # in one menu
MOST_CHARACTERS = 20_000  # of a text that somebody typed
UNSURE = 0.6  # a prediction of less confidence is not sure
EXCERPT = 44  # characters of a document in the menu
WIDE = widgets.Layout(width="100%", max_width="52rem")


def explore_documents(
    source: Any,
    rows: Any,
    show: Callable[[Any, dict], widgets.Widget] | None = None,
    predictions: Predictions | None = None,
) -> "DocumentView":
    """A view of documents to page through, each with label, prediction and attention.

    Clear successes come first, then the mistakes, then all others (``reading_order``).
    ``source`` is a run or a system; ``rows`` are some of the corpus's (``split_rows``).
    ``show(source, row)`` makes the widget for one document; by default its words tinted by
    attention. ``predictions`` are computed for all rows at once, with a progress bar, unless given.
    ``ValueError`` without any row, or with more than a menu holds.
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
    show = show or _show_row
    return DocumentView(rows, predictions, system.classes, lambda row: show(source, row))


def explore_text(
    source: Any, text: str = "", show: Callable[[Any, str], widgets.Widget] | None = None
) -> "TextView":
    """A view in which you type a text and read what a run or a system makes of it.

    ``text`` is the initial text; ``show(source, text)`` makes the widget for a text, by
    default its words tinted by attention.
    """
    show = show or _show_text
    return TextView(lambda typed: show(source, typed), text)


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
        self._order = reading_order(tokens, predictions)
        confidence, guess = predictions.probabilities.max(1)
        self._confidence, right = confidence.tolist(), (guess == predictions.labels).tolist()
        self._mistakes = [place for place in self._order if not right[place]]
        self._about = [
            f"{'✓' if is_right else '✗'} {classes[label]}"
            + ("" if is_right else f", predicted {classes[guessed]}")
            + f", {sure:.0%} sure"
            for is_right, label, guessed, sure in zip(
                right, predictions.labels.tolist(), guess.tolist(), self._confidence, strict=True
            )
        ]
        unsure = [place for place in self._order if self._confidence[place] < UNSURE]
        self._kinds = [self._order, self._mistakes, unsure]
        self._places = self._kinds[0]
        self._excerpts = [_excerpt(words) for words in tokens]
        names = (
            f"all {len(self._order):,}",
            f"mistakes ({len(self._mistakes):,})",
            f"less than {UNSURE:.0%} sure ({len(unsure):,})",
        )
        self._filter = widgets.Dropdown(
            options=[(name, kind) for kind, name in enumerate(names)], description="show"
        )
        self._menu = widgets.Dropdown(options=self._options(), description="document", layout=WIDE)
        buttons = {
            "◀ previous": lambda _: self._step(-1),
            "next ▶": lambda _: self._step(1),
            "next mistake ▶": lambda _: self._next_mistake(),
        }
        self._buttons = [widgets.Button(description=name) for name in buttons]
        for button, act in zip(self._buttons, buttons.values(), strict=True):
            button.on_click(act)
        self._buttons[-1].disabled = not self._mistakes
        super().__init__([widgets.HBox([self._filter, *self._buttons]), self._menu])
        self._filter.observe(self._narrow, "value")
        self._menu.observe(self._pick, "value")
        self.index = self._order[0]
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
        self._places = self._kinds[change["new"]]
        self._menu.unobserve(self._pick, "value")  # new options choose their first one
        self._menu.options = self._options()
        self._menu.observe(self._pick, "value")
        if not self._places:
            self._say("No document matches this filter.")
        elif self.index in self._places:
            self._menu.value = self.index
        else:
            self.index = self._places[0]

    def _options(self) -> list[tuple[str, int]]:
        return [
            (f"{place} {self._about[place]}: {self._excerpts[place]}", place)
            for place in self._places
        ]

    def _step(self, way: int) -> None:
        if self._places:
            at = self._places.index(self.index) if self.index in self._places else 0
            self.index = self._places[(at + way) % len(self._places)]

    def _next_mistake(self) -> None:
        later = self._order[self._order.index(self.index) + 1 :]
        wrong = set(self._mistakes)
        self.index = next((place for place in later if place in wrong), self._mistakes[0])

    def _stills(self) -> list[tuple[str, widgets.Widget]]:
        """This document, the clearest mistake, and the least sure prediction in decent language."""
        decent = [place for place in self._places if is_decent(self._rows[place]["tokens"])]
        labels = {self.index: ""}
        if self._mistakes:
            labels.setdefault(self._mistakes[0], "clearest mistake: ")
        unsure = min(decent, key=self._confidence.__getitem__, default=self.index)
        labels.setdefault(unsure, "least sure: ")
        shown = [
            self._stage.children[0] if place == self.index else self._show(self._rows[place])
            for place in labels
        ]
        same_scale(*(x for view in shown for x in tree(view) if isinstance(x, AttentionHeatmap)))
        return [
            (f"{what}document {place} of {len(self._about)}: {self._about[place]}", view)
            for (place, what), view in zip(labels.items(), shown, strict=True)
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
        self._box = TextBox(
            value=text,
            placeholder="Type a review, then press Ctrl+Enter or the button",
            rows=4,
            layout=WIDE,
        )
        self._box.on_submit(self.read)
        self._button = widgets.Button(description="Read it", button_style="primary")
        self._button.on_click(lambda _: self.read())
        super().__init__([self._box, self._button])
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
        self._say(
            f"Only the first {MOST_CHARACTERS:,} of {len(text):,} characters are read."
            if len(text) > MOST_CHARACTERS
            else ""
        )
        self._put(self._read(text[:MOST_CHARACTERS]))

    def _stills(self) -> list[tuple[str, widgets.Widget]]:
        caption = self._caption or self._about
        return [(caption, self._stage.children[0])]


def _show_row(source: Any, row: dict) -> widgets.Widget:
    label = system_of(source).classes[row["label"]]
    return show_reading(read_text(source, row), f"labelled {label}")


def _show_text(source: Any, text: str) -> widgets.Widget:
    return show_reading(read_text(source, text))


def _excerpt(tokens: Sequence[str]) -> str:
    """A document's first words on one line, kept apart from what stands before them.

    What could turn the direction of the rest of the line is left out; the isolates keep the
    direction of the words themselves inside.
    """
    start = " ".join(tokens[:EXCERPT])
    start = "".join(character for character in start if character.isprintable())
    return "\u2068" + (start if len(start) <= EXCERPT else start[: EXCERPT - 1] + "…") + "\u2069"
