"""Which word vectors serve which texts: their coverage, their neighbours, and a linear classifier.

``attention-course vectors --compare`` trains CBOW, skip-gram and fastText in one small setting on
IMDb's training half, and puts them beside GloVe, beside both together, and beside the committed
form. A text is read as the mean of its words' vectors: a quick measure of what vectors are worth
downstream, without any of our networks. Only training and validation texts are read.
"""

import tempfile
import time
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tqdm.auto import tqdm

from course_kit.research.vectors.own_vectors import (
    METHODS,
    VectorsConfig,
    readable_texts,
    train_vectors,
)
from course_lib.data.corpus import load_corpus
from course_lib.data.vectors import Vectors, load_vectors
from course_lib.runs.records import RESULTS, describe_environment, write_json
from course_lib.runs.run import split_rows

RECORD = RESULTS / "vectors" / "methods.json"
SMALL = VectorsConfig(width=100, window=5, negative=5, epochs=3, threads=1)
CORPORA = {"sst2": 20_000, "sst5": 20_000, "imdb": 5_000, "ag_news": 5_000}  # training rows read
VALIDATION = 3_000  # rows
ASKED = (
    *("good", "bad", "funny", "boring", "actor"),
    *("plot", "masterpiece", "waste", "bank", "game"),
)
NEIGHBOURS = 5


def compare_vectors(config: VectorsConfig = SMALL, path: Path = RECORD) -> dict[str, Any]:
    """Train each method, measure all vectors, and write the record."""
    start = time.perf_counter()
    texts = readable_texts(load_corpus("imdb"), None)
    trained, seconds = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for method in METHODS:
            began = time.perf_counter()
            words, matrix = train_vectors(
                texts.sentences(), replace(config, method=method), Path(folder)
            )
            trained[method] = Vectors(method, pa.array(words), matrix, None)
            seconds[method] = round(time.perf_counter() - began, 1)
    glove = load_vectors("glove.6B.50d")
    found = {"GloVe, 50-d": [glove]}
    found |= {method: [vectors] for method, vectors in trained.items()}
    found |= {f"{method} + GloVe": [vectors, glove] for method, vectors in trained.items()}
    found["reviews.100d"] = [load_vectors("reviews.100d")]
    corpora = {name: load_corpus(name) for name in CORPORA}
    rows = {name: split_rows(corpus) for name, corpus in corpora.items()}
    record = {
        "settings": asdict(config) | {"method": list(METHODS)},
        "reviews": {name: len(kept) for name, kept in texts.kept.items()},
        "data": {name: asdict(corpus.provenance) for name, corpus in corpora.items()},
        "vectors": [
            about for name in ("GloVe, 50-d", "reviews.100d") for about in found[name][0].provenance
        ],
        "seconds to train": seconds,
        "neighbours": {
            name: {word: neighbours(parts[0], word) for word in ASKED}
            for name, parts in found.items()
            if len(parts) == 1
        },
        "corpora": {
            corpus: {name: measure(parts, of, CORPORA[corpus]) for name, parts in found.items()}
            for corpus, of in tqdm(rows.items(), desc="classifiers")
        },
        "environment": describe_environment(torch.device("cpu"), 1),
        "seconds": round(time.perf_counter() - start, 1),
    }
    write_json(path, record)
    return record


def neighbours(vectors: Vectors, word: str, count: int = NEIGHBOURS) -> list[str]:
    """The ``count`` words with the largest cosine to a word's vector, the nearest first; empty
    for a word without one."""
    row = vectors.rows_of((word,))[0]
    if row < 0:
        return []
    lengths = np.maximum(np.linalg.norm(vectors.matrix, axis=1), 1e-12)
    cosines = vectors.matrix @ vectors.matrix[row] / lengths
    cosines[row] = -np.inf
    return vectors.words.take(pa.array(np.argsort(-cosines)[:count])).to_pylist()


def measure(
    parts: list[Vectors], rows: dict[str, datasets.Dataset], limit: int
) -> dict[str, float]:
    """The share of the validation texts' words that have a vector, of all occurrences and of
    different words, and the validation accuracy of a linear classifier of mean vectors."""
    train = rows["train"].shuffle(seed=0).select(range(min(limit, len(rows["train"]))))
    validation = rows["validation"].select(range(min(VALIDATION, len(rows["validation"]))))
    counts = Counter(word.lower() for words in validation["tokens"] for word in words)
    words = tuple(counts)
    has_vector = np.any([part.rows_of(words) >= 0 for part in parts], axis=0)
    times = np.array(list(counts.values()))
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    classifier.fit(mean_vectors(parts, train), train["label"])
    return {
        "occurrences": float((times * has_vector).sum() / times.sum()),
        "words": float(has_vector.mean()),
        "accuracy": float(classifier.score(mean_vectors(parts, validation), validation["label"])),
        "texts": len(validation),
    }


def mean_vectors(parts: list[Vectors], rows: datasets.Dataset) -> np.ndarray:
    """The mean of the vectors of each text's words, all parts side by side: ``(texts, width)``.

    Words without a vector do not count; a text without any is zero.
    """
    return np.hstack([_means(part, rows["tokens"]) for part in parts])


def _means(vectors: Vectors, texts: list[list[str]]) -> np.ndarray:
    means = np.zeros((len(texts), vectors.matrix.shape[1]), np.float32)
    words = tuple({word for text in texts for word in text})
    row_of = dict(zip(words, vectors.rows_of(words).tolist(), strict=True))
    for place, text in enumerate(texts):
        found = [row for word in text if (row := row_of[word]) >= 0]
        if found:
            means[place] = vectors.matrix[found].mean(0)
    return means
