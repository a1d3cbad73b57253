"""The words that layers of attention select, and the phrases that these words form.

After the analysis of Guo (2017): ``attention`` ``(batch, layers, length)`` with ``mask``
``(batch, length)``, True = real, is scaled within each sentence and layer; a word near the largest
weight is selected; a phrase is a run of selected words. A layer that gives all words of a sentence
the same weight selects none; this includes every sentence of one word. Padding is never
selected and must not stand between words. Example::

    selected = selected_words(agt(tokens, mask).attention, mask)  # (batch, layers, length)
    phrase_starts(selected).sum(-1)  # how many phrases each layer selects in each document
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import torch
from torch import Tensor

from course_lib.metrics.attention import row_entropy
from course_lib.metrics.statistics import rank_correlation
from course_lib.models.layers import real_weights

THRESHOLD = 0.95  # the paper's
ALIKE = 1e-6  # weights this close, as a share of the larger, differ by rounding alone
CLOSED = 0.1  # a gate below this lets in almost nothing of its layer


def selected_words(attention: Tensor, mask: Tensor, threshold: float = THRESHOLD) -> Tensor:
    """Words whose scaled weight is above ``threshold``, bool ``(batch, layers, length)``."""
    return scaled(attention, mask) > threshold


def scaled(attention: Tensor, mask: Tensor) -> Tensor:
    """Weights within each sentence and layer as (d − min) / (max − min), ``(batch, layers,
    length)`` in [0, 1]; 0 on padding and where a layer prefers no word.

    The paper only says "scaled to [0, 1]", which could also mean d / max.
    """
    weights, real = _weights(attention, mask)
    most = weights.amax(-1, keepdim=True)
    least = torch.minimum(weights.masked_fill(~real, torch.inf).amin(-1, keepdim=True), most)
    alike = most - least <= ALIKE * most
    share = (weights - least) / (most - least).masked_fill(alike, 1)
    return share.masked_fill(alike | ~real, 0)


def above_median(attention: Tensor, mask: Tensor) -> Tensor:
    """The paper's relaxed selection, bool ``(batch, layers, length)``: weights above the median of
    their sentence and layer."""
    weights, real = _weights(attention, mask)
    ascending = weights.masked_fill(~real, torch.inf).sort(-1).values
    # for an even number, the lower of the middle two: weights above it are above their mean
    middle = ((mask.sum(1) - 1) // 2).clamp(min=0).view(-1, 1, 1)
    median = ascending.take_along_dim(middle, 2)
    return (weights > (1 + ALIKE) * median) & real


def phrase_starts(selected: Tensor) -> Tensor:
    """Where a run of selected words begins, bool of the shape of ``selected`` ``(…, length)``."""
    before = torch.nn.functional.pad(selected[..., :-1], (1, 0))
    return selected & ~before


def phrases(words: Sequence[str], selected: Tensor) -> list[list[str]]:
    """The phrases of one document in every layer, in order, each as one string.

    ``words`` are all of the document's; ``selected`` bool ``(layers, words)``.
    """
    return [
        [
            " ".join(word for word, _ in run)
            for is_selected, run in groupby(zip(words, row, strict=True), key=itemgetter(1))
            if is_selected
        ]
        for row in selected.tolist()
    ]


def expected_phrases(selected: Tensor, mask: Tensor) -> Tensor:
    """The expected number of phrases if the same words were in a random order, ``(batch, layers)``.

    k selected words among n make k (n − k + 1) / n runs on average (Wald and Wolfowitz 1940).
    """
    k, n = selected.sum(-1), mask.sum(1, keepdim=True)
    return k * (n - k + 1) / n.clamp(min=1)


def describe_composition(attention: Tensor, gates: Tensor, mask: Tensor) -> dict[str, Tensor]:
    """Figures of each document and layer, ``(batch, layers)`` each, layer 0 first.

    ``selected`` and ``phrases`` count words and runs, ``phrases by chance`` the runs expected in a
    random order of the words. The ratio of two means over documents, selected / phrases, is a mean
    phrase length. ``relaxed …`` are the same above the median. ``spread`` is the entropy over
    log n: 1 where all weights are equal. ``gate`` is the mean of ``gates`` ``(batch, layers − 1,
    hidden)``, ``gate closed`` the share of them below ``CLOSED``; both start at layer 1.
    """
    figures = {}
    for prefix, selected in (
        ("", selected_words(attention, mask)),
        ("relaxed ", above_median(attention, mask)),
    ):
        figures[f"{prefix}selected"] = selected.sum(-1)
        figures[f"{prefix}phrases"] = phrase_starts(selected).sum(-1)
        figures[f"{prefix}phrases by chance"] = expected_phrases(selected, mask)
    weights, _ = _weights(attention, mask)
    figures["spread"] = row_entropy(weights, mask)
    if gates.shape[1]:
        figures["gate"] = gates.mean(-1)
        figures["gate closed"] = (gates < CLOSED).float().mean(-1)
    return figures


def weight_histogram(attention: Tensor, mask: Tensor, bins: int = 20) -> Tensor:
    """How many words of the batch have a scaled weight in each of ``bins`` equal parts of [0, 1],
    int64 ``(layers, bins)``: Fig. 2 of the paper, to be summed over batches."""
    _, real = _weights(attention, mask)
    part = (scaled(attention, mask) * bins).long().clamp(max=bins - 1)
    return _counts(part, real, bins)


def selection_counts(selected: Tensor, tokens: Tensor, vocabulary: int) -> Tensor:
    """How often each word of the ``vocabulary`` is selected in the batch, int64
    ``(layers, vocabulary)``; ``selected`` ``(batch, layers, length)``, ``tokens``
    ``(batch, length)``. With ``mask[:, None]`` it counts all words."""
    return _counts(tokens.unsqueeze(1).expand(selected.shape), selected, vocabulary)


def most_selected(
    counts: Tensor, occurrences: Tensor, top: int = 10, at_least: int = 10
) -> tuple[Tensor, Tensor]:
    """The words that each layer selects most often when they occur: ids and rates, each
    ``(layers, top)``, by decreasing rate, then decreasing count.

    ``counts`` ``(layers, vocabulary)``, ``occurrences`` ``(vocabulary,)``; words that occur less
    than ``at_least`` times do not count. ``ValueError`` if fewer than ``top`` do.
    """
    frequent = (occurrences >= at_least).nonzero().squeeze(1)
    if len(frequent) < top:
        raise ValueError(f"only {len(frequent)} words occur {at_least} times; top asks for {top}")
    rates = counts[:, frequent] / occurrences[frequent]
    order = counts[:, frequent].argsort(dim=1, descending=True, stable=True)
    by_rate = rates.gather(1, order).argsort(dim=1, descending=True, stable=True)
    order = order.gather(1, by_rate)
    best = order[:, :top]
    return frequent[best], rates.gather(1, best)


def rise_and_fall(profile: Tensor) -> Tensor:
    """How far a figure rises towards the middle layers and falls after them, in [−1, 1].

    The rank correlation (Spearman) of ``profile`` ``(…, layers)`` with the closeness to the middle
    layer: 1 for a perfect arch, −1 for a valley, about 0 for a steady rise; NaN where all layers
    are equal or one is NaN. ``ValueError`` below three layers, which cannot rise and fall.
    """
    layers = profile.shape[-1]
    if layers < 3:
        raise ValueError(f"rise_and_fall needs at least 3 layers, got {layers}")
    place = torch.arange(layers, device=profile.device)
    return rank_correlation(profile, -(2 * place - (layers - 1)).abs())


class CompositionTest(NamedTuple):
    """The result of ``composition_test``.

    ``length`` ``(layers,)`` is the mean number of words of a phrase (NaN if nothing is selected),
    ``shuffled`` ``(shuffles, layers)`` the same with the words in random orders, ``longer``
    ``(layers,)`` the p-value of "not longer than in a random order". ``arch`` is ``rise_and_fall``
    of ``length``; ``arch_by_order`` is its p-value among random orders of the words, and
    ``arch_by_layers`` among random orders of the layers.
    """

    length: Tensor
    shuffled: Tensor
    longer: Tensor
    arch: float
    arch_by_order: float
    arch_by_layers: float

    def interval(self, share: float = 0.95) -> tuple[Tensor, Tensor]:
        """The bounds that contain ``share`` of the shuffled lengths, ``(layers,)`` each."""
        tail = (1 - share) / 2
        return self.shuffled.quantile(tail, 0), self.shuffled.quantile(1 - tail, 0)


def composition_test(
    batches: Iterable[tuple[Tensor, Tensor]], shuffles: int = 199, seed: int = 0
) -> CompositionTest:
    """Are selected words neighbours more often than in a random order, and most so half-way up?

    ``batches`` are pairs of ``selected`` ``(batch, layers, length)`` and ``mask``
    ``(batch, length)``. A model that cannot see the order of words selects the same ones however a
    sentence is shuffled, so a shuffle permutes the columns of ``selected``, all layers alike, and
    the model is not run again. p-values are one-sided permutation p-values,
    (1 + how many shuffles reach the observed figure) / (1 + shuffles): with 199 the least is 0.005.
    Run it on an untrained network, too: neighbours in a text are not random, so any model that
    scores words one by one may differ from a random order. ``ValueError`` without batches or with
    fewer than three layers.
    """
    random = torch.Generator().manual_seed(seed)
    words, phrases = 0, 0  # (layers,), (1 + shuffles, layers), observed first
    for selected, mask in batches:
        selected, mask = selected.cpu(), mask.cpu()
        counts = [phrase_starts(selected).sum((0, 2))]
        for _ in range(shuffles):
            counts.append(phrase_starts(_shuffled(selected, mask, random)).sum((0, 2)))
        words, phrases = words + selected.sum((0, 2)), phrases + torch.stack(counts)
    if isinstance(words, int):
        raise ValueError("composition_test needs at least one batch")
    lengths = words / phrases  # 0 / 0 is NaN
    arches = rise_and_fall(lengths)
    layers = torch.stack([torch.randperm(len(words), generator=random) for _ in range(shuffles)])
    return CompositionTest(
        length=lengths[0],
        shuffled=lengths[1:],
        longer=_p_value(lengths[0], lengths[1:]),
        arch=arches[0].item(),
        arch_by_order=_p_value(arches[0], arches[1:]).item(),
        arch_by_layers=_p_value(arches[0], rise_and_fall(lengths[0][layers])).item(),
    )


def _weights(attention: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The weights, 0 on padding, and which are real, both ``(batch, layers, length)``."""
    real = mask.unsqueeze(1).expand(-1, attention.shape[1], -1)
    return real_weights(attention, real), real


def _counts(values: Tensor, where: Tensor, size: int) -> Tensor:
    """Per layer, how often each of 0 … size − 1 occurs in places ``where``: ``(layers, size)``."""
    layers = values.shape[1]
    offset = size * torch.arange(layers, device=values.device).view(1, layers, 1)
    return (values + offset)[where].bincount(minlength=layers * size).view(layers, size)


def _shuffled(selected: Tensor, mask: Tensor, random: torch.Generator) -> Tensor:
    """Each sentence's columns in a random order, its padding last."""
    keys = torch.rand(mask.shape, generator=random).masked_fill(~mask, 2)
    return selected.take_along_dim(keys.argsort(1).unsqueeze(1), 2)


def _p_value(observed: Tensor, random: Tensor) -> Tensor:
    """One-sided, ``random`` along the first axis; NaN where nothing was observed."""
    count = (random >= observed - 1e-12).sum(0)  # equal profiles differ in their last digit
    return ((1 + count) / (1 + len(random))).masked_fill(observed.isnan(), torch.nan)
