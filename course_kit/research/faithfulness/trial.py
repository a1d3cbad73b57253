"""A recorded network and the texts on which it is tested, and what each record says of both."""

import hashlib
import json
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import torch

from course_lib import faithfulness
from course_lib.faithfulness import Document
from course_lib.faithfulness.agreement import Mean
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.runs.model_card import DIGEST
from course_lib.runs.records import check_data, describe_environment, run_folder
from course_lib.runs.run import Run, split_rows
from course_lib.runs.settings import SpecError
from course_lib.runs.systems import Network
from course_lib.runs.weights import any_run
from course_lib.training.devices import use_threads

ATTENTION = "attention"  # of a network's reductions to words, the one that is tested
TEXTS = 100
DIGITS = 5


@dataclass(frozen=True)
class Trial:
    """A recorded network and the test ``documents`` it is tested on, cut as it reads them;
    ``weights`` is the digest of the file that it was read from."""

    run: Run
    weights: str
    documents: list[Document]
    seed: int

    @property
    def name(self) -> str:
        """What the command calls it: the id of a recorded network, or the folder of a run."""
        record = self.run.record
        return f"runs/{record['id']}" if self.weights == record["weights"] else record["id"]

    @property
    def model(self) -> DocumentModel:
        """The network as a function of documents."""
        return DocumentModel(self.run.system)

    @property
    def digest(self) -> str:
        """A digest of the documents, which tells whether two records are of the same texts."""
        words = json.dumps(self.documents, ensure_ascii=False)
        return f"sha256:{hashlib.sha256(words.encode()).hexdigest()}"


def choose(name: str, texts: int = TEXTS, seed: int = 0) -> Trial:
    """A network with a random sample of its test texts; of one seed, a smaller sample is the
    beginning of a larger one. ``name`` is a recorded network's, or the folder of a finished run.

    ``DataError`` for what is neither, ``StaleRun`` if it was trained on other data than are here,
    ``SpecError`` for a run without a network, and for fewer than one text or more than the test
    half has.
    """
    run = any_run(name)
    if not isinstance(run.system, Network):
        raise SpecError(f"{run.record['id']} is no network, so it has no attention to test")
    check_data(run.record, run.record["spec"]["dataset"], Path(name))
    chosen = some_texts(run, "test", texts, seed)
    trained_here = (run_folder(name) / "record.json").exists()
    weights = run.record["weights" if trained_here else DIGEST]
    return Trial(run, weights, DocumentModel(run.system).documents(chosen), seed)


def some_texts(run: Run, split: str, texts: int, seed: int = 0) -> datasets.Dataset:
    """A random sample of a run's ``"validation"`` or ``"test"`` texts; of one seed, a smaller one
    is the beginning of a larger one. ``SpecError`` for fewer than one or more than there are."""
    spec, held_out = run.record["spec"], run.record["settings"]["text"]["validation_share"]
    rows = split_rows(run.corpus, spec["limit"], held_out)[split]
    if not 1 <= texts <= len(rows):
        raise SpecError(
            f"texts takes a whole number from 1 to {len(rows)}, the {split} texts of "
            f"{spec['dataset']}; got {texts}"
        )
    return rows.select(np.random.default_rng(seed).permutation(len(rows))[:texts])


def begin() -> tuple[dict[str, Any], float]:
    """The environment of a record, and when it was begun."""
    environment = describe_environment(torch.device("cpu"), use_threads(None))
    return environment, time.perf_counter()


def about(trial: Trial, begun: tuple[dict[str, Any], float]) -> dict[str, Any]:
    """Which network was tested, on which texts, where and for how long."""
    environment, start = begun
    record, documents = trial.run.record, trial.documents
    lengths = [len(faithfulness.words_of(document)) for document in documents]
    return {
        "id": record["id"],
        "seed": trial.seed,
        "texts": len(documents),
        "test_texts": len(trial.run.corpus.splits["test"]),
        "words": {"mean": float(np.mean(lengths)), "least": min(lengths), "most": max(lengths)},
        "sample": trial.digest,
        "data": record["data"]["content"],
        "weights": trial.weights,
        "environment": environment,
        "seconds": round(time.perf_counter() - start, 1),
    }


def mean_of(values: np.ndarray, seed: int) -> dict[str, Any]:
    """The mean over texts with its bootstrap interval, as JSON holds it."""
    return as_json(faithfulness.mean_over_documents(values, seed))


def as_json(mean: Mean) -> dict[str, Any]:
    """A mean with its interval as JSON holds it, which has no NaN."""
    return {
        name: None if math.isnan(value) else round(value, DIGITS)
        for name, value in mean._asdict().items()
    }


def deviation_of(values: np.ndarray) -> float | None:
    """The standard deviation over documents, of those that have a value; None without any."""
    kept = values[~np.isnan(values)]
    return round(float(kept.std()), DIGITS) if len(kept) else None
