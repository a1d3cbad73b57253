"""Encoded documents to padded, masked batches, bucketed by length and repeatable from a seed."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

POOL = 32  # batches sorted together: large enough to save padding, small enough to stay random


class Batch(NamedTuple):
    """``tokens`` and ``mask`` ``(batch, sentences, words)``, or ``(batch, length)`` where flat.

    ``labels`` ``(batch,)``; ``index`` ``(batch,)`` holds each document's place in ``Documents``.
    """

    tokens: torch.Tensor
    mask: torch.Tensor
    labels: torch.Tensor
    index: torch.Tensor

    def to(self, device: torch.device) -> "Batch":
        """The batch with every tensor on the device."""
        return Batch(*(tensor.to(device, non_blocking=True) for tensor in self))

    def documents(self, start: int, stop: int | None = None) -> "Batch":
        """Some documents of the batch."""
        return Batch(*(tensor[start:stop] for tensor in self))

    def slices(self, most_tokens: int) -> list["Batch"]:
        """The batch in as few parts as hold at most ``most_tokens`` each, padding included, but at
        least one document; 0 leaves it whole. No part of a batch without documents."""
        count = len(self.labels)
        if not count or not most_tokens or self.tokens.numel() <= most_tokens:
            return [self] if count else []
        size = max(1, most_tokens // (self.tokens.numel() // count))
        return [self.documents(start, start + size) for start in range(0, count, size)]


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

    def digest(self) -> str:
        """A hash of all that they hold: words, sentence and document starts, labels."""
        digest = hashlib.sha256(b"flat" if self.flat else b"in sentences")
        for array in (self.words, self.sentence_starts, self.document_starts, self.labels):
            digest.update(f"{array.dtype} {len(array)}".encode())
            digest.update(np.ascontiguousarray(array))
        return digest.hexdigest()[:16]

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


@dataclass(frozen=True)
class Batches:
    """Batches of documents of similar length.

    With a ``seed`` every epoch has its own shuffle, which depends on seed and epoch alone; without
    one the documents come in order of decreasing length, for evaluation.
    """

    documents: Documents
    batch_size: int
    seed: int | None = None

    def __len__(self) -> int:
        return -(-len(self.documents) // self.batch_size)

    def epoch(self, number: int = 0) -> Iterator[Batch]:
        """The batches of an epoch."""
        for index in self._plan(number):
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
