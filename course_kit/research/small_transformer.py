"""The small Transformers of lesson 10, and what the record of five seeds of each says.

Trained on the training part, measured on the test half. The record was made once: its commit makes
it again.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import datasets
import numpy as np
import scipy.stats
import torch
from sklearn.linear_model import LogisticRegression

from course_kit.research.recording import CPU
from course_lib import faithfulness
from course_lib.faithfulness import Document
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.runs.folders import RESULTS
from course_lib.runs.settings import with_overrides
from course_lib.runs.systems.system import Rows
from course_lib.runs.systems.transformer_system import TransformerSystem

RECORD, RANKINGS = (RESULTS / "encoder" / f"movies2{end}.json" for end in ("", "-rankings"))
VARIANTS = {
    "whole": {},
    "without positions": {"model.positions": 0},
    "uniform attention": {"control.attention_weights": "uniform"},
    "one head": {"model.heads": 1},
}


def train_variant(
    name: str, rows: Rows, classes: Sequence[str], seed: int = 0, preset: str = "lesson"
) -> TransformerSystem:
    """One of ``VARIANTS``, trained."""
    settings = with_overrides(TransformerSystem.presets[preset], VARIANTS[name])
    system = TransformerSystem(settings, tuple(classes))
    system.build(rows, seed)
    system.fit(rows, seed, device=CPU)
    return system


def hits(system: TransformerSystem, texts: Sequence[Document], labels: Sequence[int]) -> np.ndarray:
    """Whether each text gets its label, ``(texts,)``, 1.0 or 0.0."""
    answers = faithfulness.ask(DocumentModel(system), [faithfulness.whole(text) for text in texts])
    return (answers.argmax(1) == np.asarray(labels)).astype(float)


def plain_mean_hits(system: TransformerSystem, rows: Rows) -> np.ndarray:
    """``hits`` on the validation part of the simplest rival: the mean of the same word vectors,
    and a logistic regression."""
    table = system.model.embedding.weight.detach()

    def means(part: datasets.Dataset) -> np.ndarray:
        documents = system.encode(part)
        starts = documents.sentence_starts[documents.document_starts[:-1]]
        ids, offsets = (torch.from_numpy(a).long() for a in (documents.words, starts))
        return torch.nn.functional.embedding_bag(ids, table, offsets, mode="mean").numpy()

    fitted = LogisticRegression(max_iter=1000).fit(means(rows["train"]), rows["train"]["label"])
    answers = fitted.predict(means(rows["validation"]))
    return (answers == np.array(rows["validation"]["label"])).astype(float)


def over_seeds(variant: str, *keys: str, record: Path = RECORD) -> np.ndarray:
    """A number of a record for each seed of a variant, ``(seeds, …)``, found by its ``keys``."""
    runs = [run for run in json.loads(record.read_text())["runs"] if run["variant"] == variant]
    for key in keys:
        runs = [run[key] for run in runs]
    return np.array(runs)


def seed_interval(values: np.ndarray) -> tuple[float, float]:
    """The mean of one number a seed, and half the width of its 95 % interval (Student's t)."""
    wide = scipy.stats.t.ppf(0.975, len(values) - 1)
    return float(values.mean()), float(wide * values.std(ddof=1) / len(values) ** 0.5)
