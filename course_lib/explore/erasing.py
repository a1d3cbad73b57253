"""Erase words of a text by hand, and watch what a network answers and where its attention goes."""

from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets
import numpy as np

from course_lib import faithfulness
from course_lib.explore.explorer import Explorer, Picture
from course_lib.explore.reading import ATTENTION, system_of
from course_lib.faithfulness import Document
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.views.colours import ACCENT, FOURTH, MUTED, SECOND, THIRD
from course_lib.views.heatmap.widget import AttentionText
from course_lib.views.panels import grid, legend

RANDOM_ORDERS = 20  # of which the curve shows the mean
MOST_WORDS = 120  # a button each
LONGEST_WORD = 24  # characters on a button
WRAPPED = widgets.Layout(flex_flow="row wrap", max_width="52rem")
WORD = widgets.Layout(width="auto")


def explore_erasing(source: Any, text: str) -> "ErasingView":
    """A view of a text with a button for each word: pressed words are erased.

    ``source`` is a run or a system whose network has attention. The probability of the class that
    it predicts for the whole text stands beside what erasing by each ranking makes of it.
    ``ValueError`` for a text without words or with more than there is room for, and for a network
    without attention.
    """
    system = system_of(source)
    model = DocumentModel(system)
    (document,) = model.documents([text])
    count = len(faithfulness.words_of(document))
    if not 0 < count <= MOST_WORDS:
        raise ValueError(
            f"text holds {count} words; the view takes 1 to {MOST_WORDS}, a button each"
        )
    return ErasingView(model, document, system.classes)


def rankings_of(model: DocumentModel, document: Document) -> dict[str, np.ndarray]:
    """Importances ``(words,)`` of a document's words by three rankings; ``ValueError`` without any
    attention."""
    attention = model.attention([document])
    if ATTENTION not in attention:
        raise ValueError("this network has no attention, so there is nothing to compare with")
    gradient = faithfulness.gradient_times_input(model.gradients, model, [document], detached=True)
    return {
        ATTENTION: attention[ATTENTION][0],
        "gradient × input": gradient[0],
        "leave-one-out": faithfulness.leave_one_out(model, [document])[0],
    }


class ErasingView(Explorer):
    """A button for each word, two that erase the next word by a ranking or put all back, and below
    them the probability over erased words and the text that is left, tinted by attention.

    ``erased`` holds the places of the erased words and can be set.
    """

    elsewhere = (
        "This page has no kernel, so it shows two states. In JupyterLab (make lab) you can erase "
        "words by mouse, or by keyboard (Tab to a word, then Space)."
    )

    def __init__(self, model: DocumentModel, document: Document, classes: Sequence[str]) -> None:
        self._model, self._document = model, document
        self._words = faithfulness.words_of(document)
        (answer,) = model([document])
        self._class, self._whole = int(answer.argmax()), float(answer.max())
        self._name = classes[self._class]
        self._rankings = rankings_of(model, document)
        by_name = {name: [importance] for name, importance in self._rankings.items()}
        by_name[f"random, mean of {RANDOM_ORDERS}"] = [
            faithfulness.random_importance([document], seed)[0] for seed in range(RANDOM_ORDERS)
        ]
        self._curves = {name: self._curve(found) for name, found in by_name.items()}
        self._found: dict[int, float] = {0: self._whole}  # the least by number of erased words
        self._toggles = [self._toggle(word) for word in self._words]
        self._by = widgets.Dropdown(options=list(self._rankings), description="ranking")
        following = widgets.Button(description="erase its next word")
        back = widgets.Button(description="put all back")
        following.on_click(lambda _: self._erase_next())
        back.on_click(lambda _: setattr(self, "erased", ()))
        super().__init__(
            [widgets.HBox(self._toggles, layout=WRAPPED), widgets.HBox([self._by, following, back])]
        )
        self._refresh()

    @property
    def erased(self) -> tuple[int, ...]:
        """The places of the erased words, in reading order."""
        return tuple(place for place, one in enumerate(self._toggles) if one.value)

    @erased.setter
    def erased(self, places: Sequence[int]) -> None:
        for place, one in enumerate(self._toggles):
            one.unobserve(self._refresh, "value")
            one.value = place in places
            one.observe(self._refresh, "value")
        self._refresh()

    def _toggle(self, word: str) -> widgets.ToggleButton:
        short = word if len(word) <= LONGEST_WORD else f"{word[: LONGEST_WORD - 1]}…"
        toggle = widgets.ToggleButton(description=short, layout=WORD)
        toggle.observe(self._refresh, "value")
        return toggle

    def _erase_next(self) -> None:
        """Erase the word that the chosen ranking puts first of those that are left."""
        importance = np.where(self._gone(self.erased), -np.inf, self._rankings[self._by.value])
        if np.isfinite(importance).any():
            self.erased = (*self.erased, int(importance.argmax()))

    def _gone(self, places: Sequence[int]) -> np.ndarray:
        return np.isin(np.arange(len(self._words)), places)

    def _refresh(self, _: Any = None) -> None:
        places = self.erased
        for place, one in enumerate(self._toggles):
            one.style.text_decoration = "line-through" if place in places else "none"
        caption, stage = self._state(places)
        self._say(caption)
        self._put(stage)

    def _state(self, places: Sequence[int]) -> tuple[str, widgets.Widget]:
        """What erasing these words shows: a caption, and the curves above what is left."""
        left = faithfulness.without(self._document, self._gone(places))
        now = float(self._model([left])[0, self._class])
        self._found[len(places)] = min(now, self._found.get(len(places), 1.0))
        caption = f"P({self._name}) = {self._whole:.2f} for all {len(self._words)} words"
        if places:
            gone = ", ".join(self._toggles[place].description for place in places)
            caption += f"; {now:.2f} without: {gone}"
        parts = [self._picture(len(places), now, caption)]
        if words := faithfulness.words_of(left):
            weights = self._model.attention([left])[ATTENTION][0]
            title = f"What is left, tinted by attention: P({self._name}) = {now:.2f}"
            parts.append(AttentionText([words], [weights], title=title, unit="text"))
        return caption, widgets.VBox(parts)

    def _picture(self, count: int, now: float, alt: str) -> Picture:
        """What is left of the probability over the number of erased words: by each ranking, the
        most important first; by hand, the least that was found; and ``now``."""
        first = min(self._rankings, key=lambda name: self._curves[name].mean())
        figure, (axis,) = grid([f"Erasing costs most in the order of {first}"], 1, (7.6, 2.9))
        looks = zip((ACCENT, THIRD, FOURTH, MUTED), ("-", "--", "-.", ":"), strict=True)
        for (name, curve), (colour, look) in zip(self._curves.items(), looks, strict=True):
            axis.plot(curve, look, color=colour, label=name)
        if len(self._found) > 1:
            least = zip(*sorted(self._found.items()), strict=True)
            axis.plot(*least, "o", color=SECOND, label="by hand, the least")
        ring = {"markersize": 11, "fillstyle": "none", "markeredgewidth": 2}
        axis.plot(count, now, "o", color=SECOND, **ring)
        axis.set(xlabel="words erased", ylabel=f"P({self._name})", ylim=(-0.03, 1.03))
        axis.locator_params(axis="x", integer=True)
        legend(figure, "right center")
        return Picture(figure, alt)

    def _curve(self, importances: list[np.ndarray]) -> np.ndarray:
        """The class's probability when 0, 1, …, all words are erased, the most important first; the
        mean over several rankings."""
        shares = np.arange(1, len(self._words) + 1) / len(self._words)
        documents = [self._document] * len(importances)
        losses = faithfulness.comprehensiveness(self._model, documents, importances, shares)
        return np.concatenate([[self._whole], self._whole - losses.mean(0)])

    def _stills(self) -> list[tuple[str, widgets.Widget]]:
        """The state as it is, and that without the word that attention puts first."""
        first = int(self._rankings[ATTENTION].argmax())
        return [self._state(places) for places in dict.fromkeys((self.erased, (first,)))]
