"""Word vectors trained with gensim on film reviews that no run is evaluated on, and compared.

``attention-course vectors`` trains on IMDb's training half and its unlabelled reviews. It leaves
out what any system holds out for validation, and every review whose text stands in a validation or
test split: vectors that have read a review make that review easier.

``--compare`` trains CBOW, skip-gram and fastText in one small setting on IMDb's training half, and
compares them with GloVe, with both together, and with the committed form: coverage, neighbours,
and a linear classifier of mean vectors. Only training and validation texts are read.
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np
import pyarrow as pa
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tqdm.auto import tqdm

from course_kit.research.recording import Stopwatch, add_options, chosen
from course_lib.checking import check_choice, check_number, check_whole
from course_lib.data.corpus import Corpus, load_corpus
from course_lib.data.sources import NotObtained
from course_lib.data.vectors import Vectors, load_vectors
from course_lib.files import atomic_path, data_root, file_digest
from course_lib.runs.records import RESULTS, write_json
from course_lib.runs.run import split_rows

METHODS = ("cbow", "skipgram", "fasttext")
HELD_OUT = 0.2  # the largest share of the training half that a system holds out (SANet)
LABELLED, UNLABELLED = "imdb", "imdb_unlabelled"
RECORD = RESULTS / "vectors" / "methods.json"
CORPORA = {"sst2": 20_000, "sst5": 20_000, "imdb": 5_000, "ag_news": 5_000}  # training rows read
VALIDATION = 3_000  # rows
ASKED = (
    "good", "bad", "funny", "boring", "actor", "plot", "masterpiece", "waste", "bank", "game",
)  # fmt: skip
NEIGHBOURS = 5


@dataclass(frozen=True)
class VectorsConfig:
    """How vectors are trained; ``fasttext`` is skip-gram with subwords. ``window`` and ``negative``
    count words, ``least`` is how often a word must occur. Raises ``ValueError`` naming a field.
    """

    method: str = "cbow"
    width: int = 300
    window: int = 8
    negative: int = 10
    least: int = 5
    epochs: int = 8
    sample: float = 1e-4
    seed: int = 0
    threads: int = 2

    def __post_init__(self) -> None:
        check_choice(self, "method", METHODS)
        check_whole(self, "width", "window", "negative", "least", "epochs", "threads")
        check_whole(self, "seed", least=0)
        check_number(self, "sample")


SMALL = VectorsConfig(width=100, window=5, negative=5, epochs=3, threads=1)


class Reviews(NamedTuple):
    """Which reviews may be read: ``kept`` rows by corpus, and how many were ``dropped`` and why."""

    kept: dict[str, datasets.Dataset]
    dropped: dict[str, int]

    def sentences(self) -> Iterator[list[str]]:
        """The tokens of each sentence, in lower case."""
        for rows in self.kept.values():
            for row in rows.select_columns(["tokens", "sentence_lengths"]):
                words = iter(row["tokens"])
                for length in row["sentence_lengths"]:
                    yield [next(words).lower() for _ in range(length)]


def readable_reviews(labelled: Corpus, unlabelled: Corpus | None) -> Reviews:
    """The reviews to train on: neither held out nor equal, case and white space aside, to one that
    is evaluated."""
    rows = split_rows(labelled, share=HELD_OUT)
    evaluated = {_normal(text) for split in ("validation", "test") for text in rows[split]["text"]}
    sources = {labelled.card.name: rows["train"]}
    if unlabelled:
        sources[unlabelled.card.name] = unlabelled.splits["train"]
    kept, dropped = {}, {"held out for validation": len(rows["validation"])}
    for name, of_source in sources.items():
        places = [n for n, text in enumerate(of_source["text"]) if _normal(text) not in evaluated]
        kept[name] = of_source.select(places)
        dropped[f"{name}: same text as an evaluated review"] = len(of_source) - len(places)
    return Reviews(kept, dropped)


def _normal(text: str) -> str:
    return " ".join(text.lower().split())


def train_vectors(
    texts: Iterable[list[str]], config: VectorsConfig, folder: Path
) -> tuple[list[str], np.ndarray]:
    """Words, most frequent first, and their vectors ``(words, width)`` float32.

    The sentences are written to a file in ``folder``, which gensim reads once an epoch. Several
    threads change the vectors from run to run; one thread and a seed repeat them.
    """
    from gensim.models import FastText, Word2Vec

    lines = folder / "sentences.txt"
    with lines.open("w", encoding="utf-8") as file:
        for sentence in tqdm(texts, desc="sentences", unit=" sentences"):
            file.write(" ".join(sentence) + "\n")
    kind = FastText if config.method == "fasttext" else Word2Vec
    model = kind(
        corpus_file=str(lines),
        vector_size=config.width,
        window=config.window,
        negative=config.negative,
        min_count=config.least,
        epochs=config.epochs,
        sample=config.sample,
        seed=config.seed,
        workers=config.threads,
        sg=int(config.method != "cbow"),
    )
    return list(model.wv.index_to_key), np.asarray(model.wv.vectors)


def make_vectors(config: VectorsConfig, path: Path) -> dict[str, Any]:
    """Train vectors and write them to ``path`` (an ``.npz``), and their record beside it.

    The record names the data by digest, what was left out, every setting, and the machine. Without
    the unlabelled reviews at hand the training half alone is read, and the record says so.
    """
    watch, corpora = Stopwatch(config.threads), [load_corpus(LABELLED)]
    try:
        corpora.append(load_corpus(UNLABELLED))
    except NotObtained as reason:
        print(f"{reason}\nThe vectors are trained on {LABELLED}'s training half alone.")
    reviews = readable_reviews(corpora[0], corpora[1] if corpora[1:] else None)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as work:
        words, vectors = train_vectors(reviews.sentences(), config, Path(work))
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, words=np.array(words), vectors=vectors.astype(np.float32))
    record = {
        "vectors": path.name,
        "sha256": file_digest(path),
        "words": len(words),
        "settings": asdict(config),
        "data": {corpus.card.name: asdict(corpus.provenance) for corpus in corpora},
        "reviews": {name: len(rows) for name, rows in reviews.kept.items()},
        "left out": reviews.dropped,
        "gensim": version("gensim"),
        **watch.about(),
    }
    write_json(path.with_suffix(".json"), record)
    return record


def compare_methods(config: VectorsConfig = SMALL, path: Path = RECORD) -> dict[str, Any]:
    """Train each method, measure all vectors, and write the record."""
    watch, trained, seconds = Stopwatch(1), {}, {}
    reviews = readable_reviews(load_corpus(LABELLED), None)
    with tempfile.TemporaryDirectory() as folder:
        for method in METHODS:
            began = time.perf_counter()
            words, matrix = train_vectors(
                reviews.sentences(), replace(config, method=method), Path(folder)
            )
            trained[method] = Vectors(method, pa.array(words), matrix, None)
            seconds[method] = round(time.perf_counter() - began, 1)
    glove, committed = load_vectors("glove.6B.50d"), load_vectors("reviews.100d")
    found = {"GloVe, 50-d": [glove]} | {method: [one] for method, one in trained.items()}
    found |= {f"{method} + GloVe": [one, glove] for method, one in trained.items()}
    found["reviews.100d"] = [committed]
    corpora = {name: load_corpus(name) for name in CORPORA}
    record = {
        "settings": asdict(config) | {"method": list(METHODS)},
        "reviews": {name: len(kept) for name, kept in reviews.kept.items()},
        "data": {name: asdict(corpus.provenance) for name, corpus in corpora.items()},
        "vectors": [*glove.provenance, *committed.provenance],
        "seconds to train": seconds,
        "neighbours": {
            name: {word: neighbours(parts[0], word) for word in ASKED}
            for name, parts in found.items()
            if len(parts) == 1
        },
        "corpora": {
            name: {
                of: measure(parts, split_rows(corpus), CORPORA[name]) for of, parts in found.items()
            }
            for name, corpus in tqdm(corpora.items(), desc="classifiers")
        },
        **watch.about(),
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
    words, times = tuple(counts), np.array(list(counts.values()))
    has_vector = np.any([part.rows_of(words) >= 0 for part in parts], axis=0)
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The settings as options, with their defaults."""
    add_options(parser, VectorsConfig())
    parser.add_argument("--out", type=Path, help="the .npz to write (data/vectors/…)")
    parser.add_argument(
        "--compare", action="store_true",
        help="train all methods small and record what each is worth; other options do not count",
    )  # fmt: skip


def command(options: argparse.Namespace) -> int:
    """Train, write, and say how to use the result; or compare the methods."""
    if options.compare:
        compare_methods()
        print(f"the comparison is in {RECORD}")
        return 0
    config = chosen(options, VectorsConfig)
    name = f"imdb-{config.method}-{config.width}d-s{config.seed}.npz"
    path = options.out or data_root() / "vectors" / name
    record = make_vectors(config, path)
    print(f"{record['words']:,} words in {path}; use them by --set text.vectors={path}")
    return 0
