"""A figure under a slider: choose a setting, and watch what changes."""

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ipywidgets as widgets
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from course_lib.views.heatmap.widget import shown_form
from course_lib.views.panels import grid


def explore_values(
    draw: Callable[[Axes, Any], None],
    values: Mapping[str, Any],
    panels: Sequence[str],
    name: str,
    alt: str,
    size: tuple[float, float] = (4.6, 2.8),
) -> "ValueView":
    """A view of one figure under a slider, called ``name``, over labelled ``values``.

    ``draw(axis, value)`` draws one setting, its title included. Without a kernel the settings named
    in ``panels`` stand side by side, so the page tells the same story; ``alt`` says what they show.
    ``size`` is one panel's, in inches. ``ValueError`` names panels that are not among the values.
    """
    if not panels or set(panels) - set(values):
        raise ValueError(
            f"panels takes labels of the values, at least one, got {list(panels)}; "
            f"there are {', '.join(values)}"
        )

    def png(labels: Sequence[str]) -> bytes:
        figure, axes = grid(labels, len(labels), size)
        for axis, label in zip(axes, labels, strict=True):
            draw(axis, values[label])
        kept = io.BytesIO()
        figure.savefig(kept, format="png")
        plt.close(figure)
        return kept.getvalue()

    return ValueView(png, list(values), panels, name, alt)


class ValueView(widgets.VBox):
    """A slider over ``labels``, and the picture of the one that is ``chosen``: ``png(labels)``."""

    def __init__(
        self,
        png: Callable[[Sequence[str]], bytes],
        labels: Sequence[str],
        panels: Sequence[str],
        name: str,
        alt: str,
    ) -> None:
        self._png, self._panels, self._alt = png, panels, alt
        self._slider = widgets.SelectionSlider(
            options=labels, value=panels[0], description=name, continuous_update=False,
            style={"description_width": "initial"}, layout=widgets.Layout(width="30rem"),
        )  # fmt: skip
        self._picture = widgets.Image(format="png")
        super().__init__([self._slider, self._picture])
        self._slider.observe(self._redraw, "value")
        self._redraw()

    @property
    def chosen(self) -> str:
        """The label of the value that is shown; it can be set."""
        return self._slider.value

    @chosen.setter
    def chosen(self, label: str) -> None:
        self._slider.value = label

    def _redraw(self, _: Any = None) -> None:
        self._picture.value = self._png([self.chosen])

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        if shown_form() == "live":
            return super()._repr_mimebundle_(**kwargs)
        png = base64.b64encode(self._png(self._panels)).decode("ascii")
        return {"text/plain": self._alt, "image/png": png}, {"image/png": {"alt": self._alt}}
