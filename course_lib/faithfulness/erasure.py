"""What removing the words that a ranking puts first does to a prediction (DeYoung et al. 2020).

All take a model, documents and their importances (one array per document, one number per word).
Words are deleted, or replaced by one other word, the ``filler``. Nobody wrote a text with a hole or
with fillers, and a model may react to either: report both, and say which one a number is from.

Words with the same importance are put in a random order of the document's own, by ``seed``. A
constant importance is therefore a random ranking; otherwise it would be one from left to right.
"""

from collections.abc import Sequence

import numpy as np

from course_lib.faithfulness.documents import Document, Model, Variant, ask, lottery, words_of
from course_lib.faithfulness.documents import predicted as predict

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # of the words, as in DeYoung et al.
FIRST_ASKED = 8  # words removed; then twice as many, of documents whose decision still stands


def orders(
    documents: Sequence[Document], importances: Sequence[np.ndarray], seed: int = 0
) -> list[np.ndarray]:
    """The places of each document's words, the most important first.

    ``ValueError`` naming the document unless it has one finite number for every word.
    """
    if len(documents) != len(importances):
        raise ValueError(
            f"importances takes one array per document, got {len(importances)} "
            f"for {len(documents)} documents"
        )
    ranked = []
    for place, (document, importance) in enumerate(zip(documents, importances)):
        values, words = np.asarray(importance, dtype=np.float64), len(words_of(document))
        if not words or values.shape != (words,) or not np.isfinite(values).all():
            raise ValueError(
                f"importances: document {place} takes {words} finite numbers, one a word and at "
                f"least one, got {values.shape} with {np.isfinite(values).sum()} finite"
            )
        ranked.append(np.lexsort((lottery(document, seed).random(words), -values)))
    return ranked


def counts(words: int, shares: Sequence[float], most: int | None = None) -> np.ndarray:
    """The number of words in each share of a document: rounded up, so at least 1, and at most
    ``most``.

    In a short document several shares may round to the same number. None is left out, or the mean
    over the shares would mean something else for short documents than for long ones.
    """
    if not len(shares) or min(shares) <= 0 or max(shares) > 1:
        raise ValueError(f"shares takes numbers above 0 up to 1, got {tuple(shares)}")
    limit = words if most is None else max(1, most)
    # less a hair, since 0.07 · 100 is a little more than 7
    return np.minimum(np.ceil(np.asarray(shares) * words - 1e-9).astype(int), limit)


def comprehensiveness(
    model: Model,
    documents: Sequence[Document],
    importances: Sequence[np.ndarray],
    shares: Sequence[float] = SHARES,
    filler: str | None = None,
    seed: int = 0,
    most: Sequence[int] | None = None,
) -> np.ndarray:
    """p(x)_j − p(x∖r)_j for the predicted class j, r being the top words: ``(documents, shares)``.

    Large where the model needs the words that the ranking puts first; at most p(x)_j. The removed
    words are deleted, or ``filler`` stands in their place. ``most`` caps the number of top words
    per document, e.g. at those with an attention weight above 0. ``ValueError`` as ``orders`` and
    ``counts``.
    """
    ranked = orders(documents, importances, seed)
    return _losses(model, documents, ranked, shares, filler, most, keep_top=False)


def sufficiency(
    model: Model,
    documents: Sequence[Document],
    importances: Sequence[np.ndarray],
    shares: Sequence[float] = SHARES,
    filler: str | None = None,
    seed: int = 0,
    most: Sequence[int] | None = None,
) -> np.ndarray:
    """p(x)_j − p(r)_j, where only the top words r are left: ``(documents, shares)``.

    Near 0, or below, where these words alone lead to the same prediction. The arguments and errors
    are those of ``comprehensiveness``; here ``filler`` stands in the place of all other words.
    """
    ranked = orders(documents, importances, seed)
    return _losses(model, documents, ranked, shares, filler, most, keep_top=True)


def _losses(
    model: Model,
    documents: Sequence[Document],
    ranked: Sequence[np.ndarray],
    shares: Sequence[float],
    filler: str | None,
    most: Sequence[int] | None,
    *,
    keep_top: bool,
) -> np.ndarray:
    """What the predicted class loses, ``(documents, shares)``, if the top words of each share are
    kept and all others removed, or the top words are removed and all others kept."""
    variants = []
    caps = [None] * len(documents) if most is None else most
    for document, order, limit in zip(documents, ranked, caps):
        for count in counts(len(order), shares, limit):
            top = top_words(order, count)
            variants.append(Variant(document, top if keep_top else ~top, filler))
    classes, full = predict(model, documents)
    left = ask(model, variants, "erasure").reshape(len(documents), len(shares), -1)
    return full[:, None] - left[np.arange(len(documents)), :, classes]


def top_words(order: np.ndarray, count: int) -> np.ndarray:
    """Mask of the ``count`` words that an order puts first, bool ``(words,)``."""
    top = np.zeros(len(order), dtype=bool)
    top[order[:count]] = True
    return top


def aopc(losses: np.ndarray) -> np.ndarray:
    """The mean over the thresholds, ``(documents, shares)`` → ``(documents,)``.

    The "area over the perturbation curve" of p: what lies between p(x)_j and the curve. High is
    good of comprehensiveness, low of sufficiency. DeYoung et al. also count the threshold 0, whose
    loss is always 0, and so have K/(K + 1) of ours for K shares. Models differ in what any ranking
    can reach: compare them by ``bounds.normalised_aopc``.
    """
    return losses.mean(1)


def words_to_flip(
    model: Model,
    documents: Sequence[Document],
    importances: Sequence[np.ndarray],
    filler: str | None = None,
    seed: int = 0,
) -> np.ndarray:
    """The share of words removed, most important first, until the decision changes.

    ``(documents,)`` in (0, 1]. 1 where it never changes: if such documents were left out, a ranking
    that flips only the easy ones would look like the best.
    """
    ranked = orders(documents, importances, seed)
    classes, _ = predict(model, documents)
    shares = np.ones(len(documents))
    waiting, least, most = list(range(len(documents))), 1, FIRST_ASKED
    while waiting:
        asked = [
            (n, count) for n in waiting for count in range(least, 1 + min(most, len(ranked[n])))
        ]
        variants = [
            Variant(documents[n], ~top_words(ranked[n], count), filler) for n, count in asked
        ]
        decisions = ask(model, variants, "words to flip").argmax(1)
        for (n, count), decision in reversed(list(zip(asked, decisions, strict=True))):
            if decision != classes[n]:
                shares[n] = count / len(ranked[n])  # the fewest words come last
        waiting = [n for n in waiting if shares[n] == 1 and len(ranked[n]) > most]
        least, most = most + 1, 2 * most
    return shares
