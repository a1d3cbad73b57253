"""Move attention to another word of a text by hand, and watch what a network answers."""

from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets
import numpy as np

from course_lib import faithfulness
from course_lib.explore.erasing import PressView
from course_lib.explore.explorer import WordSlider
from course_lib.explore.reading import system_of
from course_lib.faithfulness import Document, jensen_shannon
from course_lib.faithfulness.document_model import DocumentModel

SHARES = tuple(step / 20 for step in range(21))  # of the attention that can move


def explore_moving(source: Any, text: str) -> "MovingView":
    """A view of a text in which weight is moved to the word that is pressed: the answer follows.

    ``source`` is a run or a system with one row of weights for this text, as HAN has for a single
    sentence. ``ValueError`` for a text without words, and for a network with other attention.
    """
    system = system_of(source)
    model = DocumentModel(system)
    (document,) = model.documents([text])
    count = len(faithfulness.words_of(document))
    if not count or model.attended(document).attention.size != count:
        raise ValueError("the view takes a text of at least one word that has one row of weights")
    return MovingView(model, document, system.classes)


class MovingView(PressView):
    """A text with the probability of one class above it: a share of all attention goes to one word,
    (1 − s) · α + s · e_i.

    ``target`` is the place of that word i, None for none yet; ``share`` is s. Both can be set.
    """

    elsewhere = (
        "This page has no kernel, so it shows one state. In JupyterLab (make lab) you can press a "
        "word and move any share of the attention to it."
    )

    def __init__(self, model: DocumentModel, document: Document, classes: Sequence[str]) -> None:
        self._target: int | None = None
        self._attended = model.attended(document)
        super().__init__(model, document, classes)

    @property
    def target(self) -> int | None:
        """The place of the word that the weight goes to."""
        return self._target

    @target.setter
    def target(self, place: int | None) -> None:
        self._target = place
        self._refresh()

    @property
    def share(self) -> float:
        """The share of the attention that moves, one of ``SHARES``."""
        return float(self._slider.value)

    @share.setter
    def share(self, share: float) -> None:
        self._slider.value = share

    @property
    def moved(self) -> np.ndarray:
        """The attention ``(words,)`` that the network is given."""
        if self.target is None:
            return self._attention
        goal = np.arange(len(self._words)) == self.target
        return (1 - self.share) * self._attention + self.share * goal

    def _controls(self) -> list[widgets.Widget]:
        options = {f"{share:.0%}": share for share in SHARES}
        self._slider = WordSlider(options=options.items(), value=1.0, description="moved")
        self._slider.observe(lambda _: self._refresh(), "value")
        text, back = super()._controls()
        back.description = "the network's own"
        return [text, widgets.HBox([self._slider, back])]

    def _back(self) -> None:
        self.target = None

    def _press(self, place: int) -> None:
        self.target = place

    def _refresh(self) -> None:
        now = self._wear(self._text, ())
        self._meter.value = self._bar(now)
        self._say(self._told((), now))

    def _wear(self, text: Any, places: Sequence[int]) -> float:
        """Show the moved weights; returns the probability."""
        given = self.moved
        text.wear(given, self._gone(places))
        shaped = given.reshape(1, *self._attended.attention.shape)
        return float(self._attended.answer(shaped)[0, self._class])

    def _told(self, places: Sequence[int], now: float) -> str:
        if self.target is None:
            return f"P({self._name}) = {now:.2f} with the network's own attention"
        far = jensen_shannon(self.moved, self._attention)
        return (
            f"P({self._name}) = {now:.2f} with {self.share:.0%} of the weight moved to "
            f"“{self._words[self.target]}”, {self._whole:.2f} with the network's own; "
            f"Jensen–Shannon divergence {far:.2f}"
        )

    def _stills(self) -> list[tuple[str, widgets.Widget]]:
        return [self._still(())]
