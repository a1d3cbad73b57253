"""Tokenised rows to the word ids that models read."""

from collections.abc import Sequence

import datasets
import numpy as np

from course_lib.data.batches import Documents
from course_lib.data.vocabulary import Vocabulary

CHUNK = 2000


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


def encode_sentences(
    texts: Sequence[Sequence[Sequence[str]]], vocabulary: Vocabulary, *, flat: bool = False
) -> Documents:
    """Documents of some texts, each of which is sentences of words, with label 0; ``flat`` makes
    each one sequence of words."""
    if flat:
        texts = [[[word for sentence in text for word in sentence]] for text in texts]
    sentences = [sentence for text in texts for sentence in text]
    return Documents(
        vocabulary.encode([word for sentence in sentences for word in sentence]),
        _starts(np.array([len(sentence) for sentence in sentences], dtype=np.int64)),
        _starts(np.array([len(text) for text in texts], dtype=np.int64)),
        np.zeros(len(texts), dtype=np.int64),
        flat,
    )


def _joined(parts: list[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype)


def _starts(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], lengths.cumsum()])
