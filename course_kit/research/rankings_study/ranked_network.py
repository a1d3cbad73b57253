"""A recorded network and the texts on which it is tested, and what each record says of both."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from course_kit.research.rankings_study import TEXTS
from course_kit.research.recording import Stopwatch
from course_lib.faithfulness import Document, words_of
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.runs import folders, records
from course_lib.runs.run import Run
from course_lib.runs.settings import SpecError
from course_lib.runs.systems import NeuralSystem
from course_lib.runs.weights import DIGEST, any_run

ATTENTION = "attention"  # of a network's reductions to words, the one that is tested
MASK = "⟨unknown⟩"  # in no vocabulary, so the network reads its unknown word
ATTACHED, DETACHED = "gradient × input", "gradient × input, attention detached"
TIMES_SLOPE, INTEGRATED = "α · ∇α", "integrated gradients"
LEFT_OUT, RANDOM = "leave-one-out", "random"
SIGNED_ATTENTION = "attention × sign of the gradient"  # which is DETACHED, Jain and Wallace's
AREAS = "areas"  # of every text: in a file beside the record
say = partial(print, flush=True)  # what comes next


def unsigned(ranking: str) -> str:
    """The name of a ranking by absolute values."""
    return f"|{ranking}|"


@dataclass(frozen=True)
class FaithfulnessRun:
    """A recorded network and the test ``documents`` it is tested on, cut as it reads them;
    ``weights`` is the digest of the file that it was read from. With some ``classes`` the texts are
    of these alone, and the network decides between them."""

    run: Run
    weights: str
    documents: list[Document]
    seed: int
    classes: tuple[str, ...] = ()

    @property
    def model(self) -> DocumentModel:
        """The network as a function of documents."""
        return DocumentModel(self.run.system)

    @property
    def digest(self) -> str:
        """A digest of the documents, which tells whether two records are of the same texts."""
        words = json.dumps(self.documents, ensure_ascii=False)
        return f"sha256:{hashlib.sha256(words.encode()).hexdigest()}"

    def attention(self) -> dict[str, list[np.ndarray]]:
        """The network's reductions of its attention to words; ``SpecError`` if it has none."""
        found = self.model.attention(self.documents)
        if ATTENTION not in found:
            raise SpecError(f"{self.run.record['id']} has no attention to test")
        return found

    def about(self, watch: Stopwatch) -> dict[str, Any]:
        """Which network was tested, on which texts, where and for how long."""
        record, lengths = self.run.record, [len(words_of(document)) for document in self.documents]
        return {
            "id": record["id"],
            "seed": self.seed,
            "texts": len(self.documents),
            "test_texts": len(self.run.corpus.splits["test"]),
            "words": {"mean": float(np.mean(lengths)), "least": min(lengths), "most": max(lengths)},
            "sample": self.digest,
            "data": record["data"]["content"],
            "weights": self.weights,
            **({"classes": list(self.classes)} if self.classes else {}),
            **watch.about(),
        }


def choose_run(
    name: str, texts: int = TEXTS, seed: int = 0, classes: Sequence[str] = ()
) -> FaithfulnessRun:
    """A network with a random sample of its test texts, or of those of some ``classes``, between
    which it then decides; of one seed, a smaller sample is the beginning of a larger one. ``name``
    is a recorded network's, or the folder of a finished run.

    ``DataError`` for what is neither, ``StaleRun`` if it was trained on other data than are here,
    ``SpecError`` for a run without a network, for a class that it does not know, and for fewer than
    one text or more than the test half has.
    """
    run = any_run(name)
    if not isinstance(run.system, NeuralSystem):
        raise SpecError(f"{run.record['id']} is no network, so it has no attention to test")
    records.check_data(run.record, run.record["spec"]["dataset"], Path(name))
    only_classes(run, classes)
    test_half = run.corpus.splits["test"]
    if classes:
        wanted = [run.system.classes.index(name) for name in classes]
        test_half = test_half.select(np.isin(test_half["label"], wanted).nonzero()[0])
    if not 1 <= texts <= len(test_half):
        raise SpecError(
            f"texts takes a whole number from 1 to {len(test_half)}, the test texts of "
            f"{run.record['spec']['dataset']}; got {texts}"
        )
    rows = test_half.select(np.random.default_rng(seed).permutation(len(test_half))[:texts])
    weights = run.record["weights" if is_run(name) else DIGEST]
    documents = DocumentModel(run.system).documents(rows)
    return FaithfulnessRun(run, weights, documents, seed, tuple(classes))


def only_classes(run: Run, classes: Sequence[str]) -> Run:
    """The run, whose network has logits of these classes alone from now on; all without any.
    ``SpecError`` lists the classes that there are."""
    if unknown := [name for name in classes if name not in run.system.classes]:
        known = ", ".join(run.system.classes)
        raise SpecError(f"classes takes some of {known}; got {', '.join(unknown)}")
    if classes:
        kept = [run.system.classes.index(name) for name in classes]
        run.system.model.register_forward_hook(
            lambda _, inputs, output: output._replace(logits=output.logits[:, kept])
        )
    return run


def is_run(name: str) -> bool:
    """Whether a name is that of a finished run's folder, and not of a recorded network."""
    return (folders.run_folder(name) / "record.json").exists()


def study_path(name: str, kind: str) -> Path:
    """Where a study's record of a network is: in the folder ``kind`` of ``results/`` by the
    network's id, or in the folder ``name`` of a run that ``results/`` does not hold."""
    if not is_run(name):
        return folders.RESULTS / kind / f"{name}.json"
    folder = folders.run_folder(name)
    name = records.read_record(folder / "record.json")["id"]
    if folders.recorded_path(name):
        return folders.RESULTS / kind / f"{name}.json"
    return folder / f"{kind}.json"
