"""All heads of a Transformer in one text, as small multiples of which a click opens one."""

from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets
import numpy as np
import traitlets
from matplotlib.figure import Figure

from course_lib.explore.explorer import Explorer
from course_lib.explore.reading import system_of
from course_lib.runs.systems.neural import rows_of
from course_lib.views import AttentionHeatmap


def explore_heads(source: Any, text: str) -> "HeadsView":
    """A view of every head of a run or system, a Transformer, in one text; layer 1 is open first.

    What it reads are pieces where the network reads pieces. ``ValueError`` for a text without any.
    """
    system = system_of(source)
    words = [word for sentence in system.cut(text) for word in sentence]
    if not words:
        raise ValueError("text holds no words, so no head attends to anything")
    return HeadsView(rows_of(system.heads(words)), [*words, *system.special])


class _Tiles(AttentionHeatmap):
    """Its picture numbers layers and heads; their tokens, a cell each, would have no room."""

    def _figure(self) -> Figure:
        figure = super()._figure()
        axis = figure.axes[0]
        for side, names in ((axis.yaxis, self.spec["rows"]), (axis.xaxis, self.spec["columns"])):
            ends = [n + 1 for n, name in enumerate(names) if name.endswith(" ")]  # of each tile
            middles = np.array(ends) - ends[0] / 2
            side.set_ticks(middles, [names[n - 1].split()[1] for n in ends], rotation=0)
        axis.xaxis.set_label_position("top")
        axis.set_xlabel("head", fontsize=9)
        axis.set_ylabel("layer", fontsize=9)
        return figure


class HeadsView(Explorer):
    """Small matrices of one colour scale, layers down and heads across; a click, or Enter on a
    cell, opens the head there below them.

    ``attention`` is ``(layers, heads, tokens, tokens)``. Trait ``head``: layer and head that are
    open, both from 0; it can be observed and set.
    """

    head = traitlets.Tuple(traitlets.Int(), traitlets.Int(), default_value=(0, 0))
    elsewhere = (
        "This page has no kernel, so one head is open. In JupyterLab (make lab) a click opens any."
    )

    def __init__(self, attention: np.ndarray, tokens: Sequence[str]) -> None:
        self._attention, self._tokens = attention, tokens
        layers, heads, self._side = attention.shape[0], attention.shape[1], len(tokens) + 1
        tiles = np.zeros((layers, self._side, heads, self._side), np.float32)  # with a gap each
        tiles[:, :-1, :, :-1] = attention.transpose(0, 2, 1, 3)
        rows, columns = (
            [f"{kind} {n + 1} {token}" for n in range(count) for token in (*tokens, "")]
            for kind, count in (("layer", layers), ("head", heads))
        )
        self._all = _Tiles(
            tiles.reshape(len(rows), -1),
            rows,
            columns,
            scale="sqrt",
            most=1.0,
            title=f"{layers * heads} heads: layers down, heads across",
        )
        super().__init__([self._all])
        self._all.observe(self._click, "selected")
        self._open()

    def _click(self, change: dict[str, Any]) -> None:
        if change["new"]:
            self.head = tuple(place // self._side for place in change["new"])

    @traitlets.observe("head")
    def _open(self, _: Any = None) -> None:
        layer, head = self.head
        about = f"layer {layer + 1}, head {head + 1}: each row says what its piece attends to"
        self._say(about.capitalize())
        weights = self._attention[layer, head]
        self._put(AttentionHeatmap(weights, self._tokens, most=1.0, title=about))

    def _stills(self) -> list[tuple[str, widgets.Widget]]:
        return [(self._all.spec["title"], self._all), (self._caption, self._stage.children[0])]
