"""What the layers of an AGT select in many texts, and whether its phrases are more than chance."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from torch import Tensor

from course_lib.data.batches import Batches, Documents
from course_lib.explore.layers import SELECTION_RULES, Rule
from course_lib.metrics.composition import phrase_starts, scaled
from course_lib.metrics.statistics import rank_correlation
from course_lib.models.agt import AGT
from course_lib.views.panels import heatmap_panels

AT_ONCE = 128  # documents in a batch


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
        attention = attention_of(model, tokens, mask)
        histogram += weight_histogram(attention, mask, bins)
        for name, select in rules.items():
            words[name].append((select(attention, mask), mask))
    return Selections(words, histogram)


def attention_of(model: AGT, tokens: Tensor, mask: Tensor) -> Tensor:
    """The attention of all layers to a batch, ``(batch, layers, length)``."""
    with torch.inference_mode():
        return model.eval()(tokens, mask).attention


def weight_histogram(attention: Tensor, mask: Tensor, bins: int = 20) -> Tensor:
    """How many words of the batch have a scaled weight in each of ``bins`` equal parts of [0, 1],
    int64 ``(layers, bins)``: Fig. 2 of the paper, to be summed over batches."""
    real = mask.unsqueeze(1).expand_as(attention)
    part = (scaled(attention, mask) * bins).long().clamp(max=bins - 1)
    return counts_of(part, real, bins)


def counts_of(values: Tensor, where: Tensor, size: int) -> Tensor:
    """Per layer, how often each of 0 … size − 1 occurs in places ``where``: ``(layers, size)``."""
    layers = values.shape[1]
    offset = size * torch.arange(layers, device=values.device).view(1, layers, 1)
    return (values + offset)[where].bincount(minlength=layers * size).view(layers, size)


class CompositionTest(NamedTuple):
    """The result of ``composition_test``.

    ``length`` ``(layers,)`` is the mean number of words of a phrase (NaN if nothing is selected),
    ``shuffled`` ``(shuffles, layers)`` the same with the words in random orders, ``longer``
    ``(layers,)`` the p-value of "not longer than in a random order". ``arch`` is ``rise_and_fall``
    of ``length``, ``arch_by_layers`` its p-value among random orders of the layers.
    """

    length: Tensor
    shuffled: Tensor
    longer: Tensor
    arch: float
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
    arch = rise_and_fall(lengths[0])
    layers = torch.stack([torch.randperm(len(words), generator=random) for _ in range(shuffles)])
    return CompositionTest(
        length=lengths[0],
        shuffled=lengths[1:],
        longer=_p_value(lengths[0], lengths[1:]),
        arch=arch.item(),
        arch_by_layers=_p_value(arch, rise_and_fall(lengths[0][layers])).item(),
    )


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


def _shuffled(selected: Tensor, mask: Tensor, random: torch.Generator) -> Tensor:
    """Each sentence's columns in a random order, its padding last."""
    keys = torch.rand(mask.shape, generator=random).masked_fill(~mask, 2)
    return selected.take_along_dim(keys.argsort(1).unsqueeze(1), 2)


def _p_value(observed: Tensor, random: Tensor) -> Tensor:
    """One-sided, ``random`` along the first axis; NaN where nothing was observed."""
    count = (random >= observed - 1e-12).sum(0)  # equal profiles differ in their last digit
    return ((1 + count) / (1 + len(random))).masked_fill(observed.isnan(), torch.nan)


def weight_histograms(histograms: Mapping[str, ArrayLike], title: str) -> Figure:
    """The paper's Fig. 2: counts of words by scaled weight, ``(layers, bins)`` by network, as
    shares of each layer; shares above 0.3 are as dark as 0.3."""
    counts = {name: np.asarray(count, dtype=float) for name, count in histograms.items()}
    shares = {name: count / count.sum(1, keepdims=True) for name, count in counts.items()}
    layers, bins = next(iter(shares.values())).shape
    rows, columns = list(map(str, range(layers))), [f"{place / bins:.2g}" for place in range(bins)]
    figure = heatmap_panels(shares, rows, columns, title, "share of the words", most=0.3)
    figure.supxlabel("scaled weight, from", fontsize=11)
    figure.supylabel("layer", fontsize=11)
    return figure
