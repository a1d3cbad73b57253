"""What the layers of an AGT select in a text."""

from collections.abc import Callable
from typing import Any

import ipywidgets as widgets
import torch
from torch import Tensor

from course_lib.explore.reading import read_text
from course_lib.explore.views import TextView, explore_text
from course_lib.metrics.composition import THRESHOLD, above_median, phrases, scaled, selected_words
from course_lib.views import AttentionHeatmap, Stack, show_reading, text_table
from course_lib.views.reading import Reading

Rule = Callable[[Tensor, Tensor], Tensor]  # attention, mask → which words a layer selects
SELECTION_RULES: dict[str, Rule] = {
    f"above {THRESHOLD}": selected_words,
    "above the median": above_median,
}
LAYERS = "layers"  # an AGT's name for its attention


def layer_table(reading: Reading) -> AttentionHeatmap:
    """The paper's Fig. 4: words down, layers across, weights scaled within each layer; the selected
    words are outlined."""
    weights, mask = _weights(reading)
    return AttentionHeatmap(
        scaled(weights, mask)[0],
        [str(layer) for layer in range(weights.shape[1])],
        reading.tokens,
        transpose=True,
        outline=THRESHOLD,
        quantity="scaled weight",
        title=f"{reading.answer}; words by layer, the selected ones outlined",
    )


def layer_phrases(reading: Reading) -> dict[str, list[list[str]]]:
    """The runs of words that each layer of a reading selects, by the rule of selection."""
    weights, mask = _weights(reading)
    return {
        name: phrases(reading.tokens, select(weights, mask)[0])
        for name, select in SELECTION_RULES.items()
    }


def phrases_table(reading: Reading) -> widgets.HTML:
    """``layer_phrases``, one line a layer."""
    by_rule = layer_phrases(reading)
    lines = [
        [str(layer), *(" · ".join(runs) for runs in of_layer)]
        for layer, of_layer in enumerate(zip(*by_rule.values(), strict=True))
    ]
    return text_table(["layer", *by_rule], lines)


def explore_layers(source: Any, text: str = "") -> TextView:
    """A box to type a text into; below it stand its table of words and layers, and the phrases."""
    return explore_text(source, text, _layers_of)


def _layers_of(source: Any, text: str) -> widgets.Widget:
    reading = read_text(source, text)
    if not reading.tokens:
        return show_reading(reading)
    return Stack([layer_table(reading), phrases_table(reading)])


def _weights(reading: Reading) -> tuple[Tensor, Tensor]:
    """The weights ``(1, layers, words)`` of a reading and their mask ``(1, words)``."""
    weights = torch.from_numpy(reading.attention[LAYERS].weights)[None]
    return weights, torch.ones(1, weights.shape[2], dtype=torch.bool)
