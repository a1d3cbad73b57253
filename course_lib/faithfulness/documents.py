"""Documents as a model reads them, with words removed, and many of them asked in few batches.

A document is a list of words, or a list of sentences, each a list of words. All that is said of its
words (importances, places to remove) is in reading order, one entry a word. A model is any function
from a list of documents to their class probabilities ``(documents, classes)``.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, compress
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from course_lib.front_end import progress

Document = Sequence[str] | Sequence[Sequence[str]]
Model = Callable[[list[Document]], np.ndarray]

WORDS_AT_ONCE = 8192  # in a batch; more saves little time, and a square attention grows with it
# A batch holds only texts at least this share as long as its longest. That cut the time of MiniLM's
# leave-one-out by a third.
NEAR = 0.8
BAR_AFTER = 1.0  # seconds: shorter work shows no bar


class Variant(NamedTuple):
    """A ``document`` of which the words stay where ``keep`` ``(words,)`` is True; the others are
    deleted, or each is replaced by the word ``filler``."""

    document: Document
    keep: np.ndarray
    filler: str | None = None


def words_of(document: Document) -> list[str]:
    """All words of a document in reading order; ``ValueError`` for what is no document."""
    if isinstance(document, str):
        raise ValueError("document takes a list of words or of sentences, not a string: split it")
    if all(isinstance(part, str) for part in document):
        return list(document)
    if any(isinstance(part, str) for part in document):
        raise ValueError("document takes words or sentences of words, not both at once")
    return list(chain.from_iterable(document))


def whole(document: Document) -> Variant:
    """The document as it is."""
    return Variant(document, np.ones(len(words_of(document)), dtype=bool))


def without(document: Document, gone: np.ndarray, filler: str | None = None) -> Document:
    """The document without the words where ``gone`` ``(words,)`` is True.

    They are deleted, and so is a sentence that loses all its words; or the word ``filler`` stands
    in the place of each. ``ValueError`` for another number of words.
    """
    return build(Variant(document, ~np.asarray(gone, dtype=bool), filler))


def build(variant: Variant) -> Document:
    """The text of a variant, as words or sentences like its document."""
    document, keep, filler = variant
    words = words_of(document)
    if keep.shape != (len(words),):
        raise ValueError(f"a document of {len(words)} words takes no {keep.shape} of places")
    if not words or isinstance(document[0], str):
        return _left(words, keep, filler)
    ends = np.cumsum([len(sentence) for sentence in document])
    sentences = zip(document, np.split(keep, ends[:-1]))
    return [left for sentence, kept in sentences if (left := _left(sentence, kept, filler))]


def _left(words: Sequence[str], keep: np.ndarray, filler: str | None) -> list[str]:
    if filler is None:
        return list(compress(words, keep.tolist()))
    return [word if kept else filler for word, kept in zip(words, keep.tolist())]


def ask(model: Model, variants: Sequence[Variant], label: str = "texts") -> np.ndarray:
    """Class probabilities of every variant, ``(variants, classes)`` in float64, in their order.

    Texts of similar length go to the model together, so little is padded. ``ValueError`` if there
    is nothing to ask, or the model returns no probabilities.
    """
    if not variants:
        raise ValueError("documents takes at least one document, got none")

    def answer_batch(some: list[Variant]) -> np.ndarray:
        return checked(model(list(map(build, some))), len(some))

    def words_left(variant: Variant) -> int:
        return variant.keep.sum() if variant.filler is None else len(variant.keep)

    return np.array(in_batches(label, answer_batch, variants, size=words_left))


def in_batches(
    label: str,
    answer_batch: Callable[..., Iterable],
    texts: Sequence[Any],
    *classes: np.ndarray,
    size: Callable[[Any], int] = lambda document: len(words_of(document)),
) -> list[Any]:
    """One result per text, in the order of the texts.

    Texts of about the same length go together to ``answer_batch(texts)``, or with ``classes`` to
    ``answer_batch(texts, classes)``, which returns one result per text. ``size`` is the length of a
    text in words, ``label`` the name that the progress bar shows.
    """
    results: list[Any] = [None] * len(texts)
    with progress(total=len(texts), desc=label, leave=False, delay=BAR_AFTER) as bar:
        for places in length_batches(np.array([size(text) for text in texts])):
            answers = answer_batch(
                [texts[place] for place in places], *(each[places] for each in classes)
            )
            for place, result in zip(places, answers, strict=True):
                results[place] = result
            bar.update(len(places))
    return results


def length_batches(lengths: np.ndarray, most_words: int = WORDS_AT_ONCE) -> Iterator[np.ndarray]:
    """Places of texts that fit together into a batch, longest first: each has at least ``NEAR`` of
    the longest's words, and padded to it they hold at most ``most_words``, unless a single text has
    more."""
    order = np.argsort(-lengths, kind="stable")
    while len(order):
        longest = lengths[order[0]]
        near = order[: max(1, most_words // max(1, int(longest)))]
        yield near[lengths[near] >= NEAR * longest]
        order = order[int((lengths[near] >= NEAR * longest).sum()) :]


def as_array(values: Any) -> np.ndarray:
    """Numbers in float64: of arrays, of tensors on any device, with or without gradients, or of
    lists of either."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().double().numpy()
    elif isinstance(values, list | tuple):
        values = [as_array(each) for each in values]
    return np.asarray(values, dtype=np.float64)


def checked(answers: Any, count: int) -> np.ndarray:
    """What a model answered for ``count`` documents, in float64; ``ValueError`` unless these are
    probabilities."""
    answers = as_array(answers)
    if answers.ndim != 2 or len(answers) != count or answers.shape[1] < 2:
        raise ValueError(
            f"model takes {count} documents and must return probabilities ({count}, classes), "
            f"got the shape {answers.shape}"
        )
    right = (np.abs(answers.sum(1) - 1) < 1e-3) & (answers >= 0).all(1)
    if not right.all():
        raise ValueError(
            "model must return probabilities, which are finite and sum to 1; a row is "
            f"{answers[~right][0].tolist()}. Apply a softmax to logits."
        )
    return answers


def predicted(model: Model, documents: Sequence[Document]) -> tuple[np.ndarray, np.ndarray]:
    """The predicted class j of each document and its probability p(x)_j, both ``(documents,)``."""
    answers = ask(model, [whole(document) for document in documents])
    classes = answers.argmax(1)
    return classes, answers[np.arange(len(classes)), classes]


def lottery(document: Document, seed: int) -> np.random.Generator:
    """Random numbers that depend on the document's words and the seed, not on its neighbours."""
    return np.random.default_rng([seed, crc32("\n".join(words_of(document)).encode())])
