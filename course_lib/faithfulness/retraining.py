"""ROAR: words are taken from texts, and a network is trained on the rest."""

from collections.abc import Sequence

import numpy as np

from course_lib.faithfulness.documents import Document
from course_lib.faithfulness.erasure import counts, orders


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
