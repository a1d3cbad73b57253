"""Adapt the network of a run to what ``audit`` takes, with its untrained self and its twin."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from course_kit.audit.asking import AuditError
from course_lib.data.pieces import whole_words
from course_lib.faithfulness import Document, words_of
from course_lib.faithfulness.document_model import Attended, DocumentModel
from course_lib.files import DataError
from course_lib.runs.folders import RECORD, is_run, recorded_names, recorded_path
from course_lib.runs.records import StaleRun, read_record
from course_lib.runs.run import Run
from course_lib.runs.systems import NeuralSystem
from course_lib.runs.weights import any_run
from course_lib.training.devices import choose_device


class RunModel(DocumentModel):
    """The network of a run; ``AuditError`` for a run without a network.

    ``folder`` is that of the run, if it has one: another seed may lie beside it.
    """

    def __init__(self, run: Run, folder: Path | None = None) -> None:
        if not isinstance(run.system, NeuralSystem):
            raise AuditError(f"{run.record['id']} is no network, so it has no attention to audit")
        super().__init__(run.system)
        run.system.model.to(choose_device())
        self.run, self.folder, self.classes = run, folder, run.system.classes

    def document(self, text: Any) -> Document:
        """Return the words of a text, or of a row of a corpus, that the network reads."""
        return self.documents([text])[0]

    probabilities = DocumentModel.__call__

    def twin(self, seed: int) -> "RunModel | None":
        """Load the first network that differs in its seed alone, of the runs in the same folder and
        then of the recorded ones; None without one."""
        own = self.run.record
        beside = sorted(self.folder.resolve().parent.iterdir()) if self.folder else []
        records = {str(each): each / RECORD for each in beside if is_run(each)}
        records |= {name: recorded_path(name) for name in sorted(recorded_names())}
        for name, path in records.items():
            with suppress(DataError, StaleRun):  # a damaged or unfinished one is no twin
                record = read_record(path)
                if record["id"] != own["id"] and _but_seed(record) == _but_seed(own):
                    return model_of(any_run(name))
        return None

    def untrained(self) -> "RunModel":
        """Make the network as it was before training."""
        system = self.system.before_training(self.run.record["spec"]["seed"])
        system.model.eval()
        return model_of(Run(self.run.record, system))


class PieceModel(RunModel):
    """A network of pieces, asked about words: a word's pieces are removed together, and their
    importances are added."""

    unknown = "[UNK]"

    def document(self, text: Any) -> list[str]:
        """Return the words whose pieces are within the cut."""
        pieces = words_of(self.system.cut(text))
        return whole_words(pieces, np.zeros(len(pieces)))[0]

    def probabilities(self, documents: Sequence[list[str]]) -> np.ndarray:
        """Return class probabilities ``(documents, classes)`` of documents of words."""
        return self(self._pieces(documents))

    def attention(self, documents: Sequence[list[str]]) -> dict[str, list[np.ndarray]]:
        """Return by view the weights of each document's words."""
        pieces = self._pieces(documents)
        views = super().attention(pieces).items()
        return {n: [whole_words(*both)[1] for both in zip(pieces, found)] for n, found in views}

    def gradients(
        self, documents: Sequence[list[str]], classes: np.ndarray, **options: Any
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return x · ∂ log-odds/∂x of each word, ``(words, 1)``, and 1."""
        pieces = self._pieces(documents)
        found = super().gradients(pieces, classes, **options)
        products = [(x * slope).sum(1, keepdims=True) for x, slope in found]
        sums = [whole_words(*both)[1] for both in zip(pieces, products, strict=True)]
        return [(values, np.ones_like(values)) for values in sums]

    def attended(self, document: list[str]) -> Attended:
        """Return the attention of the pieces, since other weights are tried for pieces."""
        return super().attended(self._pieces([document])[0])

    def _pieces(self, documents: Sequence[list[str]]) -> list[list[str]]:
        words = [*{*chain.from_iterable(documents)}]
        known = dict(zip(words, self.system.pieces.split(words))) | {self.unknown: [self.unknown]}
        return [[piece for word in document for piece in known[word]] for document in documents]


def _but_seed(record: dict[str, Any]) -> dict[str, Any]:
    return record["spec"] | {"seed": None, "threads": None}


def model_of(run: Run, folder: Path | None = None) -> RunModel:
    """Adapt a run, and the folder that it lies in, to what ``audit`` takes."""
    return (PieceModel if hasattr(run.system, "pieces") else RunModel)(run, folder)
