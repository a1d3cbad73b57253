"""The words that attention layers select, and the phrases that these words form.

After the analysis of Guo (2017): ``attention`` ``(batch, layers, length)`` with ``mask``
``(batch, length)``, True = real, is scaled within each document and layer; a word near the largest
weight is selected; a phrase is a run of selected words. A layer that gives all words of a document
the same weight selects none; this includes every document of one word. Padding is never
selected and must not stand between words. Example::

    selected = selected_words(agt(tokens, mask).attention, mask)  # (batch, layers, length)
    phrase_starts(selected).sum(-1)  # how many phrases each layer selects in each document
"""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

import torch
from torch import Tensor

from course_lib.metrics.attention import row_entropy
from course_lib.models.layers import real_weights

THRESHOLD = 0.95  # the paper's
ALIKE = 1e-6  # weights this close, as a share of the larger, differ by rounding alone
CLOSED = 0.1  # a gate below this lets in almost nothing of its layer


def selected_words(attention: Tensor, mask: Tensor, threshold: float = THRESHOLD) -> Tensor:
    """Words whose scaled weight is above ``threshold``, bool ``(batch, layers, length)``."""
    return scaled(attention, mask) > threshold


def scaled(attention: Tensor, mask: Tensor) -> Tensor:
    """Weights within each document and layer as (d − min) / (max − min), ``(batch, layers,
    length)`` in [0, 1]; 0 on padding and where a layer prefers no word.

    The paper only says "scaled to [0, 1]", which could also mean d / max.
    """
    weights, real = _weights(attention, mask)
    most = weights.amax(-1, keepdim=True)
    least = weights.masked_fill(~real, torch.inf).amin(-1, keepdim=True)
    least = torch.minimum(least, most)  # an empty document's minimum would be ∞
    alike = most - least <= ALIKE * most
    share = (weights - least) / (most - least).masked_fill(alike, 1)
    return share.masked_fill(alike | ~real, 0)


def above_median(attention: Tensor, mask: Tensor) -> Tensor:
    """The paper's relaxed selection, bool ``(batch, layers, length)``: weights above the median of
    their document and layer."""
    weights, real = _weights(attention, mask)
    ascending = weights.masked_fill(~real, torch.inf).sort(-1).values
    # for an even number, the lower of the middle two: weights above it are above their mean
    middle = ((mask.sum(1) - 1) // 2).clamp(min=0).view(-1, 1, 1)
    median = ascending.take_along_dim(middle, 2)
    return (weights > (1 + ALIKE) * median) & real


def phrase_starts(selected: Tensor) -> Tensor:
    """Mask of the words with which a run of selected words begins, of the shape of ``selected``
    ``(…, length)``."""
    before = torch.nn.functional.pad(selected[..., :-1], (1, 0))
    return selected & ~before


def phrases(words: Sequence[str], selected: Tensor) -> list[list[str]]:
    """The phrases of one document in every layer, in order, each as one string.

    ``words`` are all of the document's; ``selected`` bool ``(layers, words)``.
    """
    found = []
    for row in selected.tolist():
        runs = groupby(zip(words, row, strict=True), key=itemgetter(1))
        found.append(
            [" ".join(word for word, _ in run) for is_selected, run in runs if is_selected]
        )
    return found


def expected_phrases(selected: Tensor, mask: Tensor) -> Tensor:
    """Expected number of phrases with the same words in random order, ``(batch, layers)``.

    k selected words among n make k (n − k + 1) / n runs on average (Wald and Wolfowitz 1940).
    """
    k, n = selected.sum(-1), mask.sum(1, keepdim=True)
    return k * (n - k + 1) / n.clamp(min=1)


def describe_composition(attention: Tensor, gates: Tensor, mask: Tensor) -> dict[str, Tensor]:
    """Figures of each document and layer, ``(batch, layers)`` each, layer 0 first.

    ``selected`` and ``phrases`` count words and runs, ``phrases by chance`` the runs expected in a
    random order of the words. The mean of ``selected`` over that of ``phrases`` is the mean phrase
    length. ``relaxed …`` are the same of ``above_median``. ``spread``, a name that
    records hold, is the entropy divided by log n (``row_entropy``): 1 where all weights are equal.
    ``gate`` is the mean of ``gates``
    ``(batch, layers − 1, hidden)``, ``gate closed`` the share of them below ``CLOSED``; both start
    at layer 1.
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


def _weights(attention: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The weights, 0 on padding, and which are real, both ``(batch, layers, length)``."""
    real = mask.unsqueeze(1).expand(-1, attention.shape[1], -1)
    return real_weights(attention, real), real
