"""Where the steps of IRAM look in a text, under a slider over networks of several penalties."""

from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets as widgets
import torch

from course_lib.explore.explorer import WordSlider
from course_lib.explore.reading import read_text
from course_lib.explore.views import TextView
from course_lib.metrics.steps import step_cosine, summary_share
from course_lib.views import AttentionHeatmap, show_reading
from course_lib.views.heatmap.static import stacked
from course_lib.views.reading_view import picture, probabilities

STEPS = "steps"  # IRAM's name for its attention


def explore_penalties(
    networks: Mapping[str, Any], text: str, panels: Sequence[str]
) -> "PenaltyView":
    """A view in which you type a text and slide over networks that attend in steps.

    ``networks`` holds runs or systems by the γ of their penalty, as a label; without a kernel those
    named in ``panels`` stand one below the other. ``ValueError`` names panels that are no label.
    """
    if not panels or set(panels) - set(networks):
        raise ValueError(
            f"panels takes labels of the networks, at least one, got {list(panels)}; "
            f"there are {', '.join(networks)}"
        )
    return PenaltyView(networks, text, panels)


def step_map(source: Any, text: str, label: str) -> widgets.Widget:
    """The attention of each step to the words of a text and to earlier summaries, as a heatmap.

    Its title holds the label, the answer, the mean cosine of the steps and the last step's share on
    summaries; all maps have one colour scale, from 0 to 1.
    """
    reading = read_text(source, text)
    if not reading.tokens:
        return show_reading(reading)
    weights = torch.from_numpy(reading.attention[STEPS].weights)[None]  # (1, T, words + T − 1)
    words = torch.ones(1, len(reading.tokens), dtype=torch.bool)
    title = (
        f"{label}: {probabilities(reading)}; cosine of the steps "
        f"{step_cosine(weights, words).item():.2f}; step {weights.shape[1]} on summaries "
        f"{summary_share(weights, words)[0, -1]:.2f}"
    )
    attention = reading.attention[STEPS]
    columns = [*reading.tokens, *attention.extra]
    shape = {"extra": len(attention.extra), "most": 1.0}
    return AttentionHeatmap(attention.weights, attention.rows, columns, title=title, **shape)


class PenaltyView(TextView):
    """A box to type a text into below a slider over networks, and where their steps look in it.

    ``label`` is the network that is shown; it can be set.
    """

    elsewhere = (
        "This page has no kernel, so it shows some of the networks. In JupyterLab (make lab) you "
        "can slide over all of them and type your own text."
    )

    def __init__(self, networks: Mapping[str, Any], text: str, panels: Sequence[str]) -> None:
        self._networks, self._panels = networks, panels
        self._slider = WordSlider(options=list(networks), value=panels[0], description="γ")
        super().__init__(lambda typed: self._map(self.label, typed), text)
        self._slider.observe(lambda _: self.read(), "value")
        self.children = (self._slider, *self.children)

    @property
    def label(self) -> str:
        """The γ of the network that is shown."""
        return self._slider.value

    @label.setter
    def label(self, label: str) -> None:
        self._slider.value = label

    def _map(self, label: str, text: str) -> widgets.Widget:
        return step_map(self._networks[label], text, f"γ = {label}")

    def _stills(self) -> list[tuple[str, widgets.Widget]]:
        maps = [self._map(label, self.text) for label in self._panels]
        return [
            (each.spec["title"] if isinstance(each, AttentionHeatmap) else self._about, each)
            for each in maps
        ]

    def _picture(self, stills: list[tuple[str, widgets.Widget]]) -> bytes | None:
        pictures = [png for _, widget in stills if (png := picture(widget))]
        return stacked(pictures) if pictures else None
