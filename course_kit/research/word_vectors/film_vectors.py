"""Word vectors trained with gensim on film reviews that no run is evaluated on.

``attention-course author vectors`` trains on IMDb's training half and its unlabelled reviews. It
leaves out what any system holds out for validation, and every review whose text stands in a
validation or test split: vectors that have read a review make that review easier.
"""

import argparse
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np

from course_kit.research.recording import Stopwatch
from course_kit.research.word_vectors.config import VectorsConfig
from course_lib.data.corpus import Corpus, load_corpus
from course_lib.data.sources import NotObtained
from course_lib.files import atomic_path, data_root, file_digest
from course_lib.front_end import progress
from course_lib.runs.records import write_json
from course_lib.runs.run import split_rows
from course_lib.runs.settings import SpecError

HELD_OUT = 0.2  # the largest share of the training half that a system holds out (SANet)
LABELLED, UNLABELLED = "imdb", "imdb_unlabelled"


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
        for sentence in progress(texts, desc="sentences", unit=" sentences"):
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


def command(options: argparse.Namespace) -> int:
    """Train, write, and say how to use the result; ``SpecError`` names a wrong option."""
    try:
        config = VectorsConfig(**{name: getattr(options, name) for name in asdict(VectorsConfig())})
    except ValueError as error:
        raise SpecError(f"--{error}") from error
    name = f"imdb-{config.method}-{config.width}d-s{config.seed}.npz"
    path = options.out or data_root() / "vectors" / name
    record = make_vectors(config, path)
    print(f"{record['words']:,} words in {path}; use them by --set text.vectors={path}")
    return 0
