"""A figure with one control: turn it, and watch what changes."""

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ipywidgets as widgets
import matplotlib.pyplot as plt
from IPython.core.pylabtools import print_figure
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib.views.heatmap.widget import shown_form

PANEL = (4.6, 2.8)  # inches


def explore_values(
    draw: Callable[[Axes, Any], None],
    values: Mapping[str, Any],
    panels: Sequence[str],
    name: str,
    alt: str,
    size: tuple[float, float] = PANEL,
) -> "ValueView":
    """A view of one figure under a slider over labelled ``values``.

    ``draw(axis, value)`` draws one setting, its title included. Without a kernel the settings named
    in ``panels`` stand side by side, so the page tells the same story; ``alt`` says what they show.
    ``size`` is one panel's, in inches. ``ValueError`` names panels that are not among the values.
    """
    return ValueView(draw, values, panels, name, alt, size)


class ValueView(widgets.VBox):
    """A slider over labelled values, and the figure of the one that is chosen.

    ``chosen`` is the label on the slider; it can be set.
    """

    def __init__(
        self,
        draw: Callable[[Axes, Any], None],
        values: Mapping[str, Any],
        panels: Sequence[str],
        name: str,
        alt: str,
        size: tuple[float, float],
    ) -> None:
        unknown = [panel for panel in panels if panel not in values]
        if unknown or not panels:
            raise ValueError(
                f"panels takes labels of the values, at least one, got {list(panels)}; "
                f"there are {', '.join(values)}"
            )
        self._draw, self._values, self._panels, self._alt = draw, dict(values), panels, alt
        self._size = size
        self._slider = widgets.SelectionSlider(
            options=list(values), value=panels[0], description=name, continuous_update=False,
            style={"description_width": "initial"}, layout=widgets.Layout(width="30rem"),
        )  # fmt: skip
        self._picture = widgets.Image(format="png")
        super().__init__([self._slider, self._picture])
        self._slider.observe(self._redraw, "value")
        self._redraw()

    @property
    def chosen(self) -> str:
        """The label of the value that is shown."""
        return self._slider.value

    @chosen.setter
    def chosen(self, label: str) -> None:
        self._slider.value = label

    def figure(self, labels: Sequence[str]) -> Figure:
        """A figure with a panel for each of these labels."""
        width, height = self._size
        figure, axes = plt.subplots(
            1, len(labels), figsize=(width * len(labels), height), squeeze=False,
            layout="constrained",
        )  # fmt: skip
        for axis, label in zip(axes[0], labels, strict=True):
            self._draw(axis, self._values[label])
        return figure

    def _redraw(self, _: Any = None) -> None:
        figure = self.figure([self.chosen])
        kept = io.BytesIO()
        figure.savefig(kept, format="png")
        plt.close(figure)
        self._picture.value = kept.getvalue()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        if shown_form() == "live":
            return super()._repr_mimebundle_(**kwargs)
        figure = self.figure(self._panels)
        bundle = {"text/plain": self._alt, "image/png": print_figure(figure, base64=True)}
        plt.close(figure)
        return bundle, {"image/png": {"alt": self._alt}}
