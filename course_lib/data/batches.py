"""Tokenised rows to padded, masked batches, bucketed by length and repeatable from a seed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import datasets
import numpy as np
import torch

from course_lib.data.vocabulary import Vocabulary

CHUNK = 2000
POOL = 32  # batches sorted together: large enough to save padding, small enough to stay random


class Batch(NamedTuple):
    """``tokens`` and ``mask`` ``(batch, sentences, words)``, or ``(batch, length)`` where flat.

    ``labels`` ``(batch,)``; ``index`` ``(batch,)`` holds each document's place in ``Documents``.
    """

    tokens: torch.Tensor
    mask: torch.Tensor
    labels: torch.Tensor
    index: torch.Tensor


@dataclass(frozen=True)
class Documents:
    """Encoded documents without any padding: word ids, and where sentences and documents start.

    ``sentence_starts[k] : sentence_starts[k + 1]`` are the words of sentence k;
    ``document_starts[d] : document_starts[d + 1]`` are the sentences of document d. ``flat``
    documents are one sentence each, and their batches have no axis for it.
    """

    words: np.ndarray
    sentence_starts: np.ndarray
    document_starts: np.ndarray
    labels: np.ndarray
    flat: bool = False

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> np.ndarray:
        """Words of each document."""
        return np.diff(self.sentence_starts[self.document_starts])

    def batch(self, index: np.ndarray) -> Batch:
        """The documents at ``index``, padded to the longest sentence and document among them.

        A document without a word is one masked-out sentence of one masked-out word (where flat:
        one masked-out word).
        """
        first, last = self.document_starts[index], self.document_starts[index + 1]
        sentences = _ranges(first, last)
        lengths = np.diff(self.sentence_starts)[sentences]
        starts = self.sentence_starts[sentences]
        width, height = max(1, lengths.max(initial=0)), max(1, (last - first).max(initial=0))
        tokens = np.zeros((len(index), height, width), dtype=np.int64)
        mask = np.zeros(tokens.shape, dtype=bool)
        document = np.repeat(np.arange(len(index)), last - first)
        rank = sentences - np.repeat(first, last - first)
        mask[document, rank] = np.arange(width) < lengths[:, None]
        tokens[mask] = self.words[_ranges(starts, starts + lengths)]
        if self.flat:
            tokens, mask = tokens[:, 0], mask[:, 0]
        return Batch(
            torch.from_numpy(tokens),
            torch.from_numpy(mask),
            torch.from_numpy(self.labels[index]),
            torch.from_numpy(index),
        )


def _ranges(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """All integers of ``[first, last)``, range after range."""
    lengths = last - first
    ends = lengths.cumsum()
    return np.arange(lengths.sum()) - np.repeat(ends - lengths - first, lengths)


def encode_documents(
    rows: datasets.Dataset,
    vocabulary: Vocabulary,
    max_sentences: int | None = None,
    max_words: int | None = None,
    *,
    flat: bool = False,
    max_tokens: int | None = None,
) -> Documents:
    """Ids of the first ``max_words`` words of the first ``max_sentences`` sentences of each row.

    ``flat`` drops the sentences, for models that read one sequence: the ids of the first
    ``max_tokens`` words. None and 0 cut nothing. Raises ``ValueError`` for the other kind's cut.
    """
    if flat and (max_sentences or max_words):
        raise ValueError("flat documents have no sentences: cut them by max_tokens")
    if max_tokens and not flat:
        raise ValueError("max_tokens cuts flat documents: pass flat=True, or cut by max_words")
    max_words = max_tokens if flat else max_words
    words, sentence_lengths, sentence_counts, labels = [], [], [], []
    for batch in rows.with_format("arrow").iter(CHUNK):
        tokens = batch["tokens"].combine_chunks()
        if flat:
            lengths = tokens.value_lengths().to_numpy()
            counts = np.ones_like(lengths)
        else:
            per_document = batch["sentence_lengths"].combine_chunks()
            lengths = per_document.flatten().to_numpy()
            counts = per_document.value_lengths().to_numpy()
        rank = np.arange(len(lengths)) - np.repeat(counts.cumsum() - counts, counts)
        kept = rank < (max_sentences or np.inf)
        position = np.arange(lengths.sum()) - np.repeat(lengths.cumsum() - lengths, lengths)
        kept_words = np.repeat(kept, lengths) & (position < (max_words or np.inf))
        words.append(vocabulary.encode(tokens.flatten())[kept_words])
        sentence_lengths.append(np.minimum(lengths, max_words or lengths.max(initial=0))[kept])
        sentence_counts.append(np.minimum(counts, max_sentences or counts.max(initial=0)))
        labels.append(batch["label"].to_numpy())
    return Documents(
        _joined(words, np.int32),
        _starts(_joined(sentence_lengths, np.int64)),
        _starts(_joined(sentence_counts, np.int64)),
        _joined(labels, np.int64),
        flat,
    )


def _joined(parts: list[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype)


def _starts(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], lengths.cumsum()])


@dataclass(frozen=True)
class Batches:
    """Batches of documents of similar length.

    With a ``seed`` every epoch has its own shuffle, which depends on seed and epoch alone; without
    one the documents come by falling length, for evaluation.
    """

    documents: Documents
    batch_size: int
    seed: int | None = None

    def __len__(self) -> int:
        return -(-len(self.documents) // self.batch_size)

    def epoch(self, number: int = 0, skip: int = 0) -> Iterator[Batch]:
        """The batches of an epoch, without the first ``skip`` (which cost nothing)."""
        for index in self._plan(number)[skip:]:
            yield self.documents.batch(index)

    def _plan(self, number: int) -> list[np.ndarray]:
        lengths = self.documents.lengths
        if self.seed is None:
            return _cut(np.argsort(-lengths, kind="stable"), self.batch_size)
        random = np.random.default_rng([self.seed, number])
        order = random.permutation(len(lengths))
        pools = _cut(order, self.batch_size * POOL)
        batches = [
            batch
            for pool in pools
            for batch in _cut(pool[np.argsort(lengths[pool], kind="stable")], self.batch_size)
        ]
        return [batches[i] for i in random.permutation(len(batches))]


def _cut(order: np.ndarray, size: int) -> list[np.ndarray]:
    return [order[start : start + size] for start in range(0, len(order), size)]
