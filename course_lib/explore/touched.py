"""Two pictures that are moved by hand: the gates of one unit, and a query among keys.

Both compute in the browser, so that they follow a finger at once. Where there is no kernel a figure
shows some of their states."""

from collections.abc import Sequence
from pathlib import Path

import anywidget
import ipywidgets as widgets
import numpy as np
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib.explore.explorer import Picture
from course_lib.views.colours import ACCENT, INK, MUTED, SECOND
from course_lib.views.panels import grid, legend, plain
from course_lib.views.reading_view import Stack

COLOURS = {"accent": ACCENT, "second": SECOND, "muted": MUTED}
ELSEWHERE = "This page has no kernel. In JupyterLab (make lab) you can move {}."
ACROSS = 2  # panels in a row of a still


def explore_gates(
    words: Sequence[str], candidates: Sequence[float], constants: Sequence[float]
) -> "TouchedView":
    """A view of one unit over words, with a slider for the gate z of each.

    ``candidates``, one for each word and from −1 to 1, are what the words propose; the state begins
    at 0. Without a kernel a figure shows the state for some ``constants``, a z for all words each.
    ``ValueError`` if words and candidates differ in number or a candidate is out of range.
    """
    if len(words) != len(candidates) or not words:
        raise ValueError(f"{len(words)} words have {len(candidates)} candidates; each needs one")
    if max(np.abs(candidates)) > 1:
        raise ValueError(f"candidates lie between −1 and 1, got {list(candidates)}")
    sliders = GateSliders(
        words=list(words), candidates=list(map(float, candidates)), z=[0.5] * len(words)
    )
    figure, axes = grid([f"z = {z:g} at every word" for z in constants], ACROSS, (4.6, 2.8))
    for axis, z in zip(axes, constants, strict=True):
        _draw_gates(axis, sliders.words, sliders.candidates, z)
    legend(figure)
    alt = (
        f"One unit over {len(words)} words, with the same gate z at every word: "
        f"{', '.join(map(str, constants))}. Bars are the candidates, a line is the state"
    )
    return TouchedView(sliders, figure, alt, "the gate of each word")


def explore_query(
    words: Sequence[str], keys: Sequence[Sequence[float]], query: Sequence[float]
) -> "TouchedView":
    """A view of a query that is dragged among the keys ``(words, 2)`` of some words.

    Scores, their exps, weights and the weighted mean of the keys follow the query, a divisor of the
    scores and a mask. Without a kernel a figure shows this query beside the one with the two
    numbers swapped. ``ValueError`` for words without a key, and for keys that are not in the plane.
    """
    points = np.asarray(keys, dtype=float)
    if points.shape != (len(words), 2) or not words:
        raise ValueError(f"keys has the shape {points.shape}; {len(words)} words need (words, 2)")
    plane = QueryPlane(
        words=list(words),
        vectors=points.tolist(),
        query=list(map(float, query)),
        hidden=[False] * len(words),
    )
    shown = [plane.query, plane.query[::-1]]
    figure, axes = grid([f"query ({x:g}, {y:g})" for x, y in shown], ACROSS, (4.6, 4.2))
    for axis, one in zip(axes, shown, strict=True):
        _draw_query(axis, words, points, np.array(one))
    alt = (
        f"The keys of {', '.join(words)} in the plane, with their weights for two queries of the "
        "same length, how far each key reaches in their direction, and the keys' weighted mean"
    )
    return TouchedView(plane, figure, alt, "the query")


def states_of(candidates: Sequence[float], gates: Sequence[float]) -> np.ndarray:
    """The state before the first word and after each: h ← (1 − z) h + z ĥ."""
    found = [0.0]
    for candidate, z in zip(candidates, gates, strict=True):
        found.append((1 - z) * found[-1] + z * candidate)
    return np.array(found)


def attended(keys: np.ndarray, query: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights ``(words,)`` of keys ``(words, 2)`` by their dot products with a query ``(2,)``, and
    the keys' weighted mean ``(2,)``."""
    scores = keys @ query
    powers = np.exp(scores - scores.max())
    weights = powers / powers.sum()
    return weights, weights @ keys


class GateSliders(anywidget.AnyWidget):
    """One unit over ``words``: a slider sets the gate ``z`` of each, and the state follows."""

    _esm = Path(__file__).with_name("gates.js").read_text(encoding="utf-8")
    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    candidates = traitlets.List(traitlets.Float()).tag(sync=True)
    z = traitlets.List(traitlets.Float()).tag(sync=True)
    colours = traitlets.Dict(COLOURS).tag(sync=True)


class QueryPlane(anywidget.AnyWidget):
    """A ``query`` dragged among the key ``vectors`` of ``words``; their scores are divided by the
    ``temperature``, and ``hidden`` words are masked."""

    _esm = Path(__file__).with_name("query.js").read_text(encoding="utf-8")
    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    vectors = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    query = traitlets.List(traitlets.Float()).tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    hidden = traitlets.List(traitlets.Bool()).tag(sync=True)
    colours = traitlets.Dict(COLOURS).tag(sync=True)


class TouchedView(Stack):
    """A widget that is moved by hand, ``touched``; where nothing can be moved a figure."""

    def __init__(self, touched: widgets.Widget, figure: Figure, alt: str, moved: str) -> None:
        self.touched, self._alt = touched, alt
        self._still, self._elsewhere = Picture(figure, alt), ELSEWHERE.format(moved)
        super().__init__([touched])

    def _page(self) -> str:
        return self._pages(self._stills())

    def _pages(self, stills: list[tuple[str, widgets.Widget]]) -> str:
        return f"{super()._pages(stills)}<p><small>{self._elsewhere}</small></p>"

    def _stills(self) -> list[tuple[str, widgets.Widget]]:
        return [(self._alt, self._still)]


def _draw_gates(axis: Axes, words: Sequence[str], candidates: Sequence[float], z: float) -> None:
    places = np.arange(1, len(words) + 1)
    axis.bar(places, candidates, color=MUTED, alpha=0.4, label="candidate")
    states = states_of(candidates, [z] * len(words))
    axis.plot(np.arange(len(states)), states, "o-", color=ACCENT, markersize=4, label="state")
    axis.axhline(0, color=MUTED, linewidth=0.8)
    named = ["start", *map(plain, words)]
    axis.set_xticks([0, *places], named, rotation=45, ha="right", fontsize=9)
    axis.set(ylim=(-1.1, 1.1), ylabel="state, candidate")


def _draw_query(axis: Axes, words: Sequence[str], keys: np.ndarray, query: np.ndarray) -> None:
    weights, mean = attended(keys, query)
    scores = keys @ query
    feet = np.outer(scores, query) / max(query @ query, 1e-6)  # how far each key reaches
    axis.plot(*zip([0, 0], feet[scores.argmax()], strict=True), color=SECOND, lw=0.8)
    for word, key, weight, foot in zip(words, keys, weights, feet, strict=True):
        axis.plot(*zip(key, foot, strict=True), "--", color=SECOND, lw=1)
        axis.plot([0, key[0]], [0, key[1]], color=ACCENT)
        axis.plot(*key, "o", color=ACCENT, markersize=3 + 16 * weight**0.5)
        name = plain(f"{word} {weight:.2f}")
        axis.annotate(name, key, (9, 7), textcoords="offset points")
    axis.plot([0, query[0]], [0, query[1]], color=SECOND, lw=2.5)
    axis.plot(*query, "o", color=SECOND, markersize=9)
    axis.annotate("query", query, (9, -10), textcoords="offset points")
    axis.plot(*mean, "o", color=INK, markersize=7)
    axis.annotate("mean", mean, (6, -14), textcoords="offset points")
    limits = (-0.6, 1.25 * max(1.0, np.abs(keys).max(), np.abs(query).max()))
    axis.set(aspect="equal", xlim=limits, ylim=limits)
    axis.set(xlabel="first number", ylabel="second number")
