"""What is taken from a network or its texts before a ranking is asked for again.

``remove_further`` takes words, and a network is then trained on the rest (ROAR);
``randomised_from_top`` takes what the layers have learned (Adebayo et al. 2018).
"""

from collections.abc import Iterator, Sequence
from copy import deepcopy

import numpy as np
from torch import nn

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


def parts_from_top(model: nn.Module, kept: Sequence[str] = ("embedding",)) -> list[str]:
    """The names of a network's parts that have parameters, the last one first, without ``kept``.

    Networks here name their parts in the order in which they read them.
    """
    named = [name for name, part in model.named_children() if any(True for _ in part.parameters())]
    return [name for name in reversed(named) if name not in kept]


def randomised_from_top(model: nn.Module, other: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Copies of ``model`` whose last part, last two parts, and so on are those of ``other``.

    Each comes with the name of the part replaced last (Adebayo et al. 2018, cascading
    randomisation). ``other`` is the same network with other weights. Word vectors stay.
    """
    mixed = deepcopy(model)
    for name in parts_from_top(model):
        mixed.get_submodule(name).load_state_dict(other.get_submodule(name).state_dict())
        yield name, deepcopy(mixed)
