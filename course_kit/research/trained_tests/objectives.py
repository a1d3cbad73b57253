"""What the trained tests ask for: the loss of an adversary, and which words are taken next."""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from course_lib.faithfulness.documents import Document
from course_lib.faithfulness.erasure import counts, orders

LEAST = 1e-8  # a weight below counts as this much, so that no logarithm is infinite


def adversary_loss(
    probabilities: Tensor, base: Tensor, attention: Tensor, base_attention: Tensor, weight: float
) -> Tensor:
    """TVD(ŷ, ŷ_base) − λ KL(α ‖ α_base) with λ = ``weight`` (Wiegreffe and Pinter 2019, §4).

    ``probabilities`` and ``base`` are ``(batch, classes)``, attention ``(batch, length)`` is 0 on
    padding; the loss is ``(batch,)``. Low where a network predicts what the base predicts, and
    attends to something else. ``ValueError`` for a negative weight.
    """
    if not weight >= 0:
        raise ValueError(f"weight takes a number from 0, got {weight}")
    variation = (probabilities - base).abs().sum(1) / 2
    ours, theirs = (each.clamp(min=LEAST).log() for each in (attention, base_attention))
    return variation - weight * (attention * (ours - theirs)).sum(1)


def remove_further(
    documents: Sequence[Document],
    importances: Sequence[np.ndarray],
    gone: Sequence[np.ndarray],
    share: float,
    seed: int = 0,
) -> list[np.ndarray]:
    """Which words are gone, ``(words,)`` a document, once ``share`` of each document's words are.

    Those that are ``gone`` stay so, whatever their importance is now; the most important of the
    others follow. If a network is trained after each removal and decides the next one, this is
    recursive ROAR (Madsen et al. 2022, after Hooker et al. 2019): a word that was not needed beside
    another one is ranked again once that one is gone. ``ValueError`` as ``erasure.orders``, or for
    a share outside (0, 1].
    """
    ranked = orders(documents, importances, seed)
    found = []
    for order, before in zip(ranked, gone, strict=True):
        further = order[~before[order]][: max(0, counts(len(order), [share])[0] - before.sum())]
        after = before.copy()
        after[further] = True
        found.append(after)
    return found
