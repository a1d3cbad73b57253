"""One network of the design: trained, measured on held-out texts, recorded, published.

``attention-course author faithful`` does so, and writes the paper.
"""

import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import torch
from accelerate.utils import set_seed

from course_kit.research.crossover_study.encoders.minilm import MEAN, States
from course_kit.research.factorial_study import corpora, measures
from course_kit.research.factorial_study.corpora import LEAST_WORDS, Split
from course_kit.research.factorial_study.design import PLAN, Cell, rows_path
from course_kit.research.factorial_study.network import DROPOUT, Pooled, Reader
from course_kit.research.recording import DIGITS, Stopwatch
from course_lib.data.batches import Documents
from course_lib.data.vectors import load_vectors
from course_lib.data.vocabulary import Vocabulary
from course_lib.files import REPOSITORY, DataError, atomic_path, prepared_folder
from course_lib.runs.records import write_json
from course_lib.training.config import TrainingConfig
from course_lib.training.loop import fit

VECTORS = "reviews.100d"
TRAINING = TrainingConfig(
    epochs=3, batch_size=64, learning_rate=2e-3, embedding_rate=0.5, patience=3, precision="no"
)
LEAST_COUNT = 2  # of a word in the training texts; rarer ones are unknown
CLASSES = {"ag_news": 4}


@cache
def states(corpus: str) -> States:
    """The frozen network's states, shared by all cells of one process."""
    folder = prepared_folder("faithful") / corpus
    return States(folder, lambda split: corpora.load(corpus)[split].words)


def run(cell: Cell) -> dict[str, Any]:
    """Train a cell, measure it, and write its record and its texts' rows; ``DataError`` if the
    plan, or anything else, is not committed."""
    plan = plan_commit()
    watch, start = Stopwatch(threads=1), time.process_time()
    reader, history, splits = train(cell)
    trained = time.process_time() - start
    held_out = splits["test"]
    long = [n for n, words in enumerate(held_out.words) if len(words) >= LEAST_WORDS]
    measured = held_out.part(long[: corpora.MEASURED[cell.corpus]])
    found = measures.measure(reader, measured, cell.seed, cell.corpus)
    record = {
        "command": f"attention-course author faithful run --only {cell.name}",
        "cell": asdict(cell),
        "plan": plan,
        "settings": {
            "training": asdict(TRAINING),
            "dropout": DROPOUT,
            "vectors": VECTORS,
            "shares": measures.SHARES,
            "samples": measures.SAMPLES,
            "most": corpora.MOST[cell.corpus],
            "measured": corpora.MEASURED[cell.corpus],
        },
        "sizes": {name: len(split) for name, split in splits.items()},
        **watch.about(),
        "processor_seconds": {
            "training": round(trained, 1),
            "measures": round(time.process_time() - start - trained, 1),
        },
        "epochs": [
            {"loss": round(epoch.validation_loss, 4), "accuracy": epoch.validation_accuracy}
            for epoch in history.epochs
        ],
        "accuracy": accuracy(reader, held_out),
        "measures": {name: summary(values) for name, values in found.items() if name != "alpha"},
    }
    with atomic_path(cell.run.with_suffix(".parquet")) as temporary:
        rows_of(cell, measured, found).to_parquet(temporary, index=False, compression="zstd")
    write_json(cell.run, record)
    return record


def train(cell: Cell) -> tuple[Reader, Any, dict[str, Split]]:
    """The trained network as a function of texts, its history, and the texts."""
    splits, training, kept, vocabulary = corpora.load(cell.corpus), TRAINING, None, None
    parts = [splits["train"], splits["validation"]]
    set_seed(cell.seed)
    if cell.encoder == "minilm":  # each occurrence of a word has a row of its own, which is fixed
        kept, training = states(cell.corpus), replace(TRAINING, embedding_rate=0.0)
        found = [kept.reduced(np.asarray(kept.kept(name))) for name in ("train", "validation")]
        table = torch.from_numpy(np.concatenate([np.zeros_like(found[0][:1]), *found])).float()
        ids = np.split(np.arange(1, len(table)), [len(found[0])])
    else:
        vocabulary = vocabulary_of(splits["train"])
        table, _ = load_vectors(VECTORS).embedding_for(vocabulary, cell.seed)
        ids = [vocabulary.encode([w for words in part.words for w in words]) for part in parts]
    network = Pooled(cell.encoder, cell.attention, table, CLASSES.get(cell.corpus, 2))
    texts = [documents(part, found) for part, found in zip(parts, ids, strict=True)]
    history = fit(network, *texts, training, seed=cell.seed, device=torch.device("cpu"))
    if vocabulary:
        with torch.no_grad():
            vectors = network.embedding.weight
            mean = vectors[torch.from_numpy(ids[0]).long()].mean(0)
            vectors[vocabulary.encode([MEAN])[0]] = mean
    return Reader(network, vocabulary, kept), history, splits


def vocabulary_of(split: Split) -> Vocabulary:
    """Words that occur often enough, in alphabetical order, and the one that stands for a mean."""
    counts = Counter(word for words in split.words for word in words)
    return Vocabulary((MEAN, *sorted(word for word, n in counts.items() if n >= LEAST_COUNT)))


def documents(split: Split, ids: np.ndarray) -> Documents:
    """Texts as ``fit`` takes them: the id of each word, one text after the other."""
    ends = np.cumsum([len(words) for words in split.words])
    starts = np.concatenate([[0], ends])
    return Documents(ids, starts, np.arange(len(starts)), split.labels, flat=True)


def accuracy(reader: Reader, split: Split) -> float:
    """The share of texts that the network classifies right."""
    places = range(0, len(split), 100)
    guesses = [reader.see(split.words[n : n + 100]).probabilities.argmax(1) for n in places]
    return round(float((np.concatenate(guesses) == split.labels).mean()), DIGITS)


def summary(values: np.ndarray) -> dict[str, float | int | None]:
    """Mean and standard deviation over the texts that have a value, and how many these are."""
    kept = values[~np.isnan(values)]
    numbers = (kept.mean(), kept.std()) if len(kept) else (None, None)
    mean, deviation = (None if n is None else round(float(n), DIGITS) for n in numbers)
    return {"mean": mean, "deviation": deviation, "texts": len(kept)}


def rows_of(cell: Cell, split: Split, found: dict[str, np.ndarray]) -> pd.DataFrame:
    """A row for each measured text: the digest that names it, and every column in float32."""
    columns = {name: [np.float32(value) for value in values] for name, values in found.items()}
    return pd.DataFrame({"cell": cell.name, **asdict(cell), "text": split.digests, **columns})


def publish(cells: Iterable[Cell]) -> list[str]:
    """Copy records of finished runs to ``results/``, and their rows into a table a corpus; the
    names of what was new there."""
    new = [cell for cell in cells if cell.run.exists() and not cell.record.exists()]
    for corpus in dict.fromkeys(cell.corpus for cell in new):
        path, here = rows_path(corpus), [cell for cell in new if cell.corpus == corpus]
        tables = [pd.read_parquet(cell.run.with_suffix(".parquet")) for cell in here]
        if path.exists():
            old = pd.read_parquet(path)
            tables.insert(0, old[~old["cell"].isin([cell.name for cell in here])])
        with atomic_path(path) as temporary:
            pd.concat(tables).to_parquet(temporary, index=False, compression="zstd")
        for cell in here:
            with atomic_path(cell.record) as temporary:
                shutil.copyfile(cell.run, temporary)
    return [cell.name for cell in new]


def plan_commit() -> str:
    """The commit that last changed the plan; ``DataError`` where something is not committed."""
    if _git("status", "--porcelain", "--untracked-files=no"):
        raise DataError("commit all changes first: a record names the commit that made it")
    commit = _git("log", "-1", "--format=%H", "--", str(PLAN.relative_to(REPOSITORY)))
    if not commit:
        raise DataError(f"{PLAN.name} is not committed: the plan comes before the first run")
    return commit[:12]


def _git(*words: str) -> str:
    command = ["git", *words]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return done.stdout.strip()
