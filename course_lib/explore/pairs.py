"""A value for each of four words, by hand: can their sums have the right signs?"""

from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets
import numpy as np

from course_lib.explore.explorer import Explorer, Picture, WordSlider
from course_lib.views import sign_panels

VALUES = (("−3", -3), ("−2", -2), ("−1", -1), ("0", 0), ("+1", 1), ("+2", 2), ("+3", 3))


def explore_sums(
    first: Sequence[str],
    second: Sequence[str],
    wanted: Sequence[Sequence[int]],
    start: Sequence[int],
) -> "SumsView":
    """A view with a slider for the value of each word, and the sums of all pairs.

    A pair is a word of ``first`` with one of ``second``; ``wanted`` ``(first, second)`` holds the
    sign, +1 or −1, that its sum should have, and ``start`` the values to begin with, −3 to 3, those
    of ``first`` before those of ``second``.
    """
    return SumsView(first, second, np.asarray(wanted), start)


class SumsView(Explorer):
    """Sliders over the values of words, and a table of the sums of pairs, wrong signs framed.

    ``values`` are those of all words; they can be set.
    """

    elsewhere = (
        "This page has no kernel, so it shows one choice of values. In JupyterLab (make lab) you "
        "can choose your own."
    )

    def __init__(
        self,
        first: Sequence[str],
        second: Sequence[str],
        wanted: np.ndarray,
        start: Sequence[int],
    ) -> None:
        self._first, self._second, self._wanted = first, second, wanted
        self._sliders = [
            WordSlider(options=VALUES, value=value, description=word)
            for word, value in zip([*first, *second], start, strict=True)
        ]
        super().__init__(self._sliders)
        self._refresh()
        for slider in self._sliders:
            slider.observe(self._refresh, "value")

    @property
    def values(self) -> tuple[int, ...]:
        """The values of the words, those of the first kind before those of the second."""
        return tuple(slider.value for slider in self._sliders)

    @values.setter
    def values(self, values: Sequence[int]) -> None:
        for slider, value in zip(self._sliders, values, strict=True):
            slider.value = value

    def _sums(self) -> np.ndarray:
        """The sum of every pair, ``(first, second)``."""
        values = np.array(self.values)
        return np.add.outer(values[: len(self._first)], values[len(self._first) :])

    def _refresh(self, _: Any = None) -> None:
        sums = self._sums()
        right = int((sums * self._wanted > 0).sum())
        self._say(f"{right} of {sums.size} sums have the right sign")
        title = "first word + second word"
        figure = sign_panels({title: sums}, self._first, self._second, self._wanted)
        self._put(Picture(figure, self._caption))

    def _stills(self) -> list[tuple[str, widgets.Widget]]:
        return [(self._caption, self._stage.children[0])]
