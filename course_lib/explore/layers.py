"""What the layers of an AGT select: in one text, and over many."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import ipywidgets as widgets
import torch
from torch import Tensor

from course_lib.data.batches import Batches, Documents
from course_lib.explore.reading import read_text
from course_lib.explore.views import TextView, explore_text
from course_lib.metrics.composition import (
    THRESHOLD,
    above_median,
    phrases,
    scaled,
    selected_words,
    selection_counts,
    weight_histogram,
)
from course_lib.models.agt import AGT
from course_lib.views import AttentionHeatmap, Stack, show_reading, text_table
from course_lib.views.reading import Reading

Rule = Callable[[Tensor, Tensor], Tensor]  # attention, mask → which words a layer selects
SELECTION_RULES: dict[str, Rule] = {
    f"above {THRESHOLD}": selected_words,
    "above the median": above_median,
}
LAYERS = "layers"  # an AGT's name for its attention
AT_ONCE = 128  # documents in a batch


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


class Selections(NamedTuple):
    """``words`` are the batches ``(selected, mask)`` by the rule of selection, for
    ``composition_test``; ``histogram`` ``(layers, bins)`` counts words by scaled weight."""

    words: dict[str, list[tuple[Tensor, Tensor]]]
    histogram: Tensor


def select_words(
    model: AGT, documents: Documents, rules: Mapping[str, Rule] = SELECTION_RULES, bins: int = 20
) -> Selections:
    """The words that every layer selects in many documents."""
    words: dict[str, list[tuple[Tensor, Tensor]]] = {name: [] for name in rules}
    histogram = torch.zeros(model.config.selecting, bins, dtype=torch.long)
    for tokens, mask, *_ in Batches(documents, AT_ONCE).epoch():
        attention = _read(model, tokens, mask)
        histogram += weight_histogram(attention, mask, bins)
        for name, select in rules.items():
            words[name].append((select(attention, mask), mask))
    return Selections(words, histogram)


class WordCounts(NamedTuple):
    """``selected`` ``(layers, vocabulary)``: how often each word was selected; ``occurrences``
    ``(vocabulary,)``; ``grade`` ``(vocabulary,)``: the mean label of the texts it stands in, NaN
    for a word that does not occur."""

    selected: Tensor
    occurrences: Tensor
    grade: Tensor

    def frequent(self, at_least: int) -> Tensor:
        """Ids of the words that occur at least so often, neither padding nor unknown."""
        ids = (self.occurrences >= at_least).nonzero().squeeze(1)
        return ids[ids > 1]

    def strength(self, words: Tensor) -> Tensor:
        """How far the grade of words lies from the mean of all words, as ``words``."""
        known = self.occurrences > 0
        mean = (self.grade[known] * self.occurrences[known]).sum() / self.occurrences[known].sum()
        return (self.grade[words] - mean).abs().float()

    def ranks(self, word: int, layer: int, among: Tensor) -> tuple[int, int]:
        """The place of a word in this layer's list, by count and by rate of selection."""
        rates = self.selected / self.occurrences.clamp(min=1)
        by_count, by_rate = (
            1 + int((values[layer, among] > values[layer, word]).sum())
            for values in (self.selected, rates)
        )
        return by_count, by_rate


def count_words(model: AGT, documents: Documents, vocabulary: int) -> WordCounts:
    """How often every layer selects each word of the ``vocabulary`` in many documents."""
    selected = torch.zeros(model.config.selecting, vocabulary, dtype=torch.long)
    occurrences, grades = (
        torch.zeros(vocabulary, dtype=torch.long),
        torch.zeros(vocabulary).double(),
    )
    for batch in Batches(documents, AT_ONCE).epoch():
        tokens, mask = batch.tokens, batch.mask
        chosen = selected_words(_read(model, tokens, mask), mask)
        selected += selection_counts(chosen, tokens, vocabulary)
        occurrences += selection_counts(mask.unsqueeze(1), tokens, vocabulary)[0]
        labels = batch.labels.unsqueeze(1).expand_as(mask)[mask].double()
        grades += tokens[mask].bincount(labels, vocabulary)
    return WordCounts(selected, occurrences, grades / occurrences)


def _read(model: AGT, tokens: Tensor, mask: Tensor) -> Tensor:
    with torch.inference_mode():
        return model.eval()(tokens, mask).attention


class Dictionaries(NamedTuple):
    """``follows`` ``(layers,)``: how the scores of each layer correlate with a property of words;
    ``between`` ``(layers, layers)``: with each other's."""

    follows: Tensor
    between: Tensor

    @property
    def alike(self) -> float:
        """The mean correlation of two different layers."""
        return self.between[~torch.eye(len(self.between), dtype=torch.bool)].mean().item()


def compare_dictionaries(model: AGT, words: Tensor, strength: Tensor) -> Dictionaries:
    """Whether the layers' scores of ``words`` ``(words,)`` follow their ``strength`` ``(words,)``,
    and how alike they are."""
    with torch.inference_mode():
        scores = model.word_scores(words)
    correlation = torch.corrcoef(torch.cat([strength[None], scores]))
    return Dictionaries(correlation[0, 1:], correlation[1:, 1:])
