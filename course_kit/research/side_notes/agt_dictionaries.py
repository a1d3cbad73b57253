"""Which words the layers of an AGT prefer wherever they stand, and whether layers agree on them."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from torch import Tensor

from course_kit.research.side_notes.agt_selections import AT_ONCE, attention_of, counts_of
from course_lib.data.batches import Batches, Documents
from course_lib.metrics.composition import selected_words
from course_lib.models.agt import AGT
from course_lib.views.colours import ACCENT, MUTED, SECOND
from course_lib.views.panels import grid, legend


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

    def most_selected(self, words: Tensor, top: int = 10) -> tuple[Tensor, Tensor]:
        """Those of some words that each layer selects most often when they occur: ids and rates,
        each ``(layers, top)``, by decreasing rate, then decreasing count."""
        counts = self.selected[:, words]
        rates = counts / self.occurrences[words]
        order = torch.from_numpy(np.lexsort((-counts, -rates)))[:, :top]
        return words[order], rates.gather(1, order)


def count_words(model: AGT, documents: Documents, vocabulary: int) -> WordCounts:
    """How often every layer selects each word of the ``vocabulary`` in many documents."""
    selected = torch.zeros(model.config.selecting, vocabulary, dtype=torch.long)
    occurrences, grades = (torch.zeros(vocabulary, dtype=t) for t in (torch.long, torch.double))
    for batch in Batches(documents, AT_ONCE).epoch():
        tokens, mask = batch.tokens, batch.mask
        chosen = selected_words(attention_of(model, tokens, mask), mask)
        selected += selection_counts(chosen, tokens, vocabulary)
        occurrences += selection_counts(mask.unsqueeze(1), tokens, vocabulary)[0]
        labels = batch.labels.unsqueeze(1).expand_as(mask)[mask].double()
        grades += tokens[mask].bincount(labels, vocabulary)
    return WordCounts(selected, occurrences, grades / occurrences)


def selection_counts(selected: Tensor, tokens: Tensor, vocabulary: int) -> Tensor:
    """How often each word of the ``vocabulary`` is selected in the batch, int64
    ``(layers, vocabulary)``; ``selected`` ``(batch, layers, length)``, ``tokens``
    ``(batch, length)``. With ``mask[:, None]`` it counts all words."""
    return counts_of(tokens.unsqueeze(1).expand(selected.shape), selected, vocabulary)


class Dictionaries(NamedTuple):
    """``follows`` ``(layers,)``: how the scores of each layer correlate with a property of words;
    ``between`` ``(layers, layers)``: with each other's."""

    follows: Tensor
    between: Tensor

    @property
    def alike(self) -> float:
        """The mean correlation of two different layers."""
        return self.between[~torch.eye(len(self.between), dtype=torch.bool)].mean().item()


def word_scores(model: AGT, words: Tensor) -> Tensor:
    """m of word ids ``(words,)`` in every selecting layer, ``(selecting, words)``: a word has the
    same scores in every sentence; attention is their softmax over the sentence's words."""
    embedded = model.embedding(words[None])  # without the dropout of training
    return model.attention.scores(torch.tanh(model.projection(embedded)))[0]


def compare_dictionaries(model: AGT, words: Tensor, strength: Tensor) -> Dictionaries:
    """Whether the layers' scores of ``words`` ``(words,)`` follow their ``strength`` ``(words,)``,
    and how alike they are."""
    with torch.inference_mode():
        scores = word_scores(model, words)
    correlation = torch.corrcoef(torch.cat([strength[None], scores]))
    return Dictionaries(correlation[0, 1:], correlation[1:, 1:])


def dictionary_panels(
    follows: Mapping[str, ArrayLike], between: Mapping[str, ArrayLike], title: str
) -> Figure:
    """By network: how each layer's scores correlate with a property of words ``(layers,)``, as
    bars, and with the scores of the other layers ``(layers, layers)``, as a matrix."""
    count = 1 + len(between)
    widths = [1.6] + [1] * len(between)
    names = ["", *between]
    figure, axes = grid(names, count, (11 / count, 3.5), title, width_ratios=widths)
    bar = 0.8 / len(follows)
    for number, ((name, values), colour) in enumerate(zip(follows.items(), (SECOND, ACCENT))):
        layers = np.arange(len(np.asarray(values)))
        at = layers + bar * (number - (len(follows) - 1) / 2)
        axes[0].bar(at, values, bar, color=colour, label=name)
    axes[0].axhline(0, color=MUTED, linewidth=0.8)
    axes[0].set(xlabel="layer", ylabel="correlation with strength", xticks=layers[::2])
    for axis, matrix in zip(axes[1:], between.values(), strict=True):
        picture = axis.imshow(matrix, cmap="PuOr", vmin=-1, vmax=1)
        axis.set(xlabel="layer", ylabel="layer", xticks=layers[::2], yticks=layers[::2])
    figure.colorbar(picture, ax=axes[-1], label="correlation of two layers")
    legend(figure)
    return figure
