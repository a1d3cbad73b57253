"""Whether selected words form phrases: permutation tests of the AGT paper's claims."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import torch
from torch import Tensor

from course_lib.metrics.composition import phrase_starts
from course_lib.metrics.ranks import rank_correlation


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


def _shuffled(selected: Tensor, mask: Tensor, random: torch.Generator) -> Tensor:
    """Each sentence's columns in a random order, its padding last."""
    keys = torch.rand(mask.shape, generator=random).masked_fill(~mask, 2)
    return selected.take_along_dim(keys.argsort(1).unsqueeze(1), 2)


def _p_value(observed: Tensor, random: Tensor) -> Tensor:
    """One-sided, ``random`` along the first axis; NaN where nothing was observed."""
    count = (random >= observed - 1e-12).sum(0)  # equal profiles differ in their last digit
    return ((1 + count) / (1 + len(random))).masked_fill(observed.isnan(), torch.nan)
