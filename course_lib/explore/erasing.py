"""Erase words of a text by hand, and watch what a network answers and where its attention goes."""

import html
from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets
import numpy as np

from course_lib import faithfulness
from course_lib.explore.explorer import Explorer, Picture
from course_lib.explore.reading import ATTENTION, read_text, system_of
from course_lib.faithfulness import Document
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.views import show_reading
from course_lib.views.colours import ACCENT, FOURTH, MUTED, SECOND, THIRD
from course_lib.views.heatmap.static import stacked
from course_lib.views.heatmap.widget import PressableText
from course_lib.views.panels import grid, legend

RANDOM_ORDERS = 20  # of which the curve shows the mean
MOST_WORDS = 120  # of a text whose curves are drawn
LONGEST_WORD = 24  # characters in a caption


def press_words(source: Any, text: str, struck: str | None = None) -> widgets.Widget:
    """A view of a text in which words are pressed away: the answer and the tints follow.

    ``source`` is a run or a system whose network has attention. The probability is that of the
    second of two classes, or of the class that is predicted for the whole text. A page
    without a kernel shows the text also without the word ``struck``, by default that of most
    attention. Fits ``show`` of ``explore_text``: a text without words is shown as one.
    ``ValueError`` for a network without attention and for a word that the text does not hold.
    """
    system = system_of(source)
    model = DocumentModel(system)
    (document,) = model.documents([text])
    if not faithfulness.words_of(document):
        return show_reading(read_text(source, text))
    return PressView(model, document, system.classes, struck)


def explore_erasing(source: Any, text: str, follow: Sequence[str] = ()) -> "ErasingView":
    """A view of a text in which words are pressed away, beside rankings of its words.

    ``source`` is a run or a system whose network has attention. The probability of the class that
    it predicts for the whole text stands beside what erasing by each ranking makes of it. With
    ``follow`` it offers these rankings alone, and each curve goes as far as its words were erased.
    ``ValueError`` for a text without words or with more than there is time for, for a network
    without attention, and for an unknown ranking.
    """
    system = system_of(source)
    model = DocumentModel(system)
    (document,) = model.documents([text])
    count = len(faithfulness.words_of(document))
    if not 0 < count <= MOST_WORDS:
        raise ValueError(f"text holds {count} words; the view takes 1 to {MOST_WORDS}")
    return ErasingView(model, document, system.classes, follow)


def rankings_of(model: DocumentModel, document: Document) -> dict[str, np.ndarray]:
    """Importances ``(words,)`` of a document's words by three rankings; ``ValueError`` without any
    attention."""
    gradient = faithfulness.gradient_times_input(model.gradients, model, [document], detached=True)
    return {
        ATTENTION: attention_of(model, document),
        "gradient × input": gradient[0],
        "leave-one-out": faithfulness.leave_one_out(model, [document])[0],
    }


def attention_of(model: DocumentModel, document: Document) -> np.ndarray:
    """The words' shares ``(words,)`` of the attention; ``ValueError`` without any attention."""
    attention = model.attention([document])
    if ATTENTION not in attention:
        raise ValueError("this network has no attention, so there is nothing to compare with")
    return attention[ATTENTION][0]


class PressView(Explorer):
    """A text in which words are pressed away, above it the probability of one class.

    ``erased`` holds the places of the erased words and can be set.
    """

    elsewhere = (
        "This page has no kernel, so it shows two states. In JupyterLab (make lab) you can press "
        "words away by mouse, or by keyboard (Tab to the text, arrow keys, then Enter)."
    )

    def __init__(
        self,
        model: DocumentModel,
        document: Document,
        classes: Sequence[str],
        struck: str | None = None,
    ) -> None:
        self._model, self._document = model, document
        self._words = faithfulness.words_of(document)
        if struck is not None and struck not in self._words:
            raise ValueError(f"the text does not hold the word {struck!r}")
        self._struck = struck
        self._erased: tuple[int, ...] = ()
        (answer,) = model([document])
        self._class = self._shown_class(answer)
        self._whole, self._name = float(answer[self._class]), classes[self._class]
        self._attention = attention_of(model, document)
        self._meter = widgets.HTML()
        self._text = self._tinted(self._press)
        super().__init__([self._meter, *self._controls()])
        self._refresh()

    @property
    def erased(self) -> tuple[int, ...]:
        """The places of the erased words, in reading order."""
        return self._erased

    @erased.setter
    def erased(self, places: Sequence[int]) -> None:
        self._erased = tuple(sorted(set(places)))
        self._refresh()

    def _shown_class(self, answer: np.ndarray) -> int:
        return 1 if len(answer) == 2 else int(answer.argmax())

    def _controls(self) -> list[widgets.Widget]:
        """What stands above the caption: the text, and a button that puts all words back."""
        back = widgets.Button(description="put all back")
        back.on_click(lambda _: self._back())
        return [self._text, back]

    def _back(self) -> None:
        self.erased = ()

    def _press(self, place: int) -> None:
        self.erased = set(self._erased) ^ {place}

    def _refresh(self) -> None:
        now = self._wear(self._text, self._erased)
        self._meter.value = self._bar(now)
        self._say(self._told(self._erased, now))

    def _tinted(self, on_press: Any) -> PressableText:
        sentences = self._document if self._model.system.reads_sentences else [self._words]
        unit = "sentence" if self._model.system.reads_sentences else "text"
        return PressableText(sentences, self._attention, on_press, unit=unit)

    def _wear(self, text: PressableText, places: Sequence[int]) -> float:
        """Show what is left of the text without these words; returns the probability."""
        gone = self._gone(places)
        left = faithfulness.without(self._document, gone)
        shares = np.zeros(len(self._words))
        if not gone.all():
            shares[~gone] = attention_of(self._model, left)
        text.wear(shares, gone)
        return float(self._model([left])[0, self._class])

    def _gone(self, places: Sequence[int]) -> np.ndarray:
        return np.isin(np.arange(len(self._words)), places)

    def _told(self, places: Sequence[int], now: float) -> str:
        """A caption: the probability of all words, and of those that are left."""
        caption = f"P({self._name}) = {self._whole:.2f} for all {len(self._words)} words"
        if places:
            gone = ", ".join(_short(self._words[place]) for place in places)
            caption += f"; {now:.2f} without: {gone}"
        return caption

    def _bar(self, now: float) -> str:
        """The probability as a bar; a line marks that of all words, a dotted one 0.5."""

        def line(at: float, style: str) -> str:
            return (
                f"<i style='position:absolute;left:{100 * at:.1f}%;top:-4px;bottom:-4px;"
                f"border-left:2px {style} currentColor'></i>"
            )

        fill = f"width:{100 * now:.1f}%;height:100%;background:{ACCENT}"
        return (
            "<div style='display:flex;gap:.9em;align-items:center;margin:.4rem 0'>"
            f"<b style='font-size:1.15em;min-width:9.5em'>P({html.escape(self._name)}) = {now:.2f}"
            "</b><div style='position:relative;width:18em;height:14px;border:1px solid "
            f"currentColor' aria-hidden='true'><div style='{fill}'></div>{line(0.5, 'dotted')}"
            f"{line(self._whole, 'solid')}</div></div>"
        )

    def _still(self, places: Sequence[int]) -> tuple[str, widgets.Widget]:
        """A state as a page shows it."""
        text = self._tinted(lambda _: None)
        caption = self._told(places, self._wear(text, places))
        text.spec = text.spec | {"title": caption}
        return caption, text

    def _stills(self) -> list[tuple[str, widgets.Widget]]:
        """The state as it is, and that without the word ``struck``, else the most attended."""
        named = self._struck is not None
        place = self._words.index(self._struck) if named else int(self._attention.argmax())
        return [self._still(places) for places in dict.fromkeys((self._erased, (place,)))]

    def _picture(self, stills: list[tuple[str, widgets.Widget]]) -> bytes:
        return stacked([text.to_png() for _, text in stills])

    def to_png(self) -> bytes:
        """The states that a page shows, one below the other."""
        return self._picture(self._stills())


class ErasingView(PressView):
    """A text in which words are pressed away; two buttons erase the next word by a ranking or put
    all back, and below stands the probability over the number of erased words."""

    def __init__(
        self,
        model: DocumentModel,
        document: Document,
        classes: Sequence[str],
        follow: Sequence[str] = (),
    ) -> None:
        self._rankings = rankings_of(model, document)
        if unknown := set(follow) - set(self._rankings):
            known = ", ".join(self._rankings)
            raise ValueError(f"follow takes some of {known}, got {', '.join(sorted(unknown))}")
        self._follows = bool(follow)
        if follow:
            self._rankings = {name: self._rankings[name] for name in follow}
        self._reached = dict.fromkeys(self._rankings, 0)  # how far each curve was followed
        self._found: dict[int, float] = {}  # the least by number of erased words
        super().__init__(model, document, classes)

    def _shown_class(self, answer: np.ndarray) -> int:
        return int(answer.argmax())

    def _controls(self) -> list[widgets.Widget]:
        by_name = {name: [importance] for name, importance in self._rankings.items()}
        if not self._follows:
            by_name[f"random, mean of {RANDOM_ORDERS}"] = [
                faithfulness.random_importance([self._document], seed)[0]
                for seed in range(RANDOM_ORDERS)
            ]
        self._curves = {name: self._curve(found) for name, found in by_name.items()}
        self._by = widgets.Dropdown(options=list(self._rankings), description="ranking")
        following = widgets.Button(description="erase its next word")
        following.on_click(lambda _: self._erase_next())
        text, back = super()._controls()
        return [text, widgets.HBox([self._by, following, back])]

    def _erase_next(self) -> None:
        """Erase the word that the chosen ranking puts first of those that are left."""
        importance = np.where(self._gone(self.erased), -np.inf, self._rankings[self._by.value])
        if np.isfinite(importance).any():
            self.erased = (*self.erased, int(importance.argmax()))

    def _refresh(self) -> None:
        super()._refresh()
        self._put(self._drawn(self.erased))

    def _drawn(self, places: Sequence[int]) -> Picture:
        """The curves, with the point of these erased words."""
        left = faithfulness.without(self._document, self._gone(places))
        now = float(self._model([left])[0, self._class])
        self._found[len(places)] = min(now, self._found.get(len(places), 1.0))
        for name, importance in self._rankings.items():
            first = np.argsort(-importance, kind="stable")[: len(places)]
            if set(first) == set(places):
                self._reached[name] = max(self._reached[name], len(places))
        return self._curves_with(len(places), now, self._told(places, now))

    def _curves_with(self, count: int, now: float, alt: str) -> Picture:
        """What is left of the probability over the number of erased words: by each ranking, the
        most important first; by hand, the least that was found; and ``now``."""
        first = min(self._rankings, key=lambda name: self._curves[name].mean())
        title = "" if self._follows else f"Erasing costs most in the order of {first}"
        figure, (axis,) = grid([title], 1, (7.6, 2.9))
        looks = zip((ACCENT, THIRD, FOURTH, MUTED), ("-", "--", "-.", ":"), strict=True)
        for (name, curve), (colour, look) in zip(self._curves.items(), looks, strict=False):
            shown, marker = (
                (curve[: self._reached[name] + 1], "o") if self._follows else (curve, "")
            )
            axis.plot(shown, look, marker=marker, color=colour, label=name)
        if self._follows:
            axis.set_xlim(-0.5, len(self._words) + 0.5)
        elif len(self._found) > 1:
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

    def _still(self, places: Sequence[int]) -> tuple[str, widgets.Widget]:
        caption, text = super()._still(places)
        return caption, widgets.VBox([text, self._drawn(places)])

    def _picture(self, stills: list[tuple[str, widgets.Widget]]) -> bytes:
        return stacked([part.to_png() for part in stills[0][1].children])


def _short(word: str) -> str:
    return word if len(word) <= LONGEST_WORD else f"{word[: LONGEST_WORD - 1]}…"
