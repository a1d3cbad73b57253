"""The audit of a network, on texts of a file: one page, and what it says as JSON.

``attention-course audit NETWORK --texts reviews.csv``, where the network is a finished run or a
recorded one, a classifier of transformers (its folder, or owner/name), or ``file.py:function``, a
function that returns what ``faithfulness.audit`` takes. Without texts a run is audited on a random
sample of its test half.
"""

import argparse
import runpy
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from course_lib.data.pieces import whole_words
from course_lib.data.tables import encoding_of, read_table
from course_lib.faithfulness import AuditError, Document, HubModel, audit, words_of
from course_lib.faithfulness.document_model import Attended, DocumentModel
from course_lib.runs.folders import recorded_names, recorded_path, run_folder
from course_lib.runs.records import StaleRun, read_record
from course_lib.runs.run import Run
from course_lib.runs.systems import Network
from course_lib.runs.weights import any_run

SAMPLE = 100  # test texts


class RunModel(DocumentModel):
    """A run's network as what ``audit`` takes; ``AuditError`` for a run without a network."""

    def __init__(self, run: Run) -> None:
        if not isinstance(run.system, Network):
            raise AuditError(f"{run.record['id']} is no network, so it has no attention to audit")
        super().__init__(run.system)
        self.run, self.classes = run, run.system.classes

    def document(self, text: Any) -> Document:
        """The words of a text, or of a row of a corpus, that the network reads."""
        return self.documents([text])[0]

    probabilities = DocumentModel.__call__

    def twin(self, seed: int) -> "RunModel | None":
        """The first recorded network that differs in its seed alone."""
        own = self.run.record
        names = {*recorded_names()} - {own["id"]}
        for name in sorted(names):
            with suppress(StaleRun):  # a damaged record is no twin
                if _but_seed(read_record(recorded_path(name))) == _but_seed(own):
                    return model_of(any_run(name))
        return None

    def untrained(self) -> "RunModel":
        """The network before training."""
        system = self.system.before_training(self.run.record["spec"]["seed"])
        system.model.eval()
        return model_of(Run(self.run.record, system))


class PieceModel(RunModel):
    """A network of pieces, asked about words: a word's pieces go together, their numbers add up."""

    unknown = "[UNK]"

    def document(self, text: Any) -> list[str]:
        """The words whose pieces are within the cut."""
        pieces = words_of(self.system.cut(text))
        return whole_words(pieces, np.zeros(len(pieces)))[0]

    def probabilities(self, documents: Sequence[list[str]]) -> np.ndarray:
        """Class probabilities of documents of words."""
        return self(self._pieces(documents))

    def attention(self, documents: Sequence[list[str]]) -> dict[str, list[np.ndarray]]:
        """Each word's weight by view."""
        pieces = self._pieces(documents)
        views = super().attention(pieces).items()
        return {n: [whole_words(*both)[1] for both in zip(pieces, found)] for n, found in views}

    def gradients(
        self, documents: Sequence[list[str]], classes: np.ndarray, **options: Any
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """x · ∂ log-odds/∂x of each word, ``(words, 1)``, and 1."""
        pieces = self._pieces(documents)
        found = super().gradients(pieces, classes, **options)
        products = [(x * slope).sum(1, keepdims=True) for x, slope in found]
        sums = [whole_words(*both)[1] for both in zip(pieces, products, strict=True)]
        return [(values, np.ones_like(values)) for values in sums]

    def attended(self, document: list[str]) -> Attended:
        """The attention of pieces, which is what other weights are tried for."""
        return super().attended(self._pieces([document])[0])

    def _pieces(self, documents: Sequence[list[str]]) -> list[list[str]]:
        words = [*{*chain.from_iterable(documents)}]
        known = dict(zip(words, self.system.pieces.split(words))) | {self.unknown: [self.unknown]}
        return [[piece for word in document for piece in known[word]] for document in documents]


def _but_seed(record: dict[str, Any]) -> dict[str, Any]:
    return record["spec"] | {"seed": None, "threads": None}


def model_of(run: Run) -> RunModel:
    """A run as what ``audit`` takes."""
    return (PieceModel if hasattr(run.system, "pieces") else RunModel)(run)


def any_model(name: str) -> Any:
    """What ``audit`` takes, by the name of a run, of a classifier of transformers, or
    ``file.py:function``; ``AuditError`` says why there is none."""
    path, _, function = name.rpartition(":")
    if path.endswith(".py"):
        return _made(path, function)
    folder = run_folder(name)
    of_hub = (folder / "config.json").exists() and not (folder / "record.json").exists()
    if (folder.is_dir() and not of_hub) or name in recorded_names():  # or it is refused as no run
        return model_of(any_run(name))
    try:
        return HubModel(name)
    except AuditError:
        raise
    except (OSError, ValueError) as error:
        why = f"no finished run, and no classifier of transformers: {str(error).splitlines()[0]}"
        raise AuditError(f"{name} is {why}") from error


def _made(path: str, function: str) -> Any:
    try:
        names = runpy.run_path(path)
        if function in names:
            return names[function]()
    except (Exception, SystemExit) as error:
        why = " ".join(str(error).split())
        raise AuditError(f"{path}:{function} raised {type(error).__name__}: {why}") from error
    raise AuditError(f"{path} has no function {function}")


def command(options: argparse.Namespace) -> int:
    """Audit a network, say what was found, and write it."""
    texts, labels = [], []
    if options.texts:
        columns = (options.text, *filter(None, [options.label]))
        encoding = encoding_of(options.texts, options.encoding)
        rows = [values for _, values in read_table(options.texts, columns, encoding)]
        texts, labels = [row[0] for row in rows], [row[1] for row in rows if options.label]
    model = any_model(options.network)
    if not options.texts and isinstance(model, RunModel):
        half = model.run.corpus.splits["test"]
        chosen = np.random.default_rng(0).permutation(len(half))[:SAMPLE]
        texts, labels = list(half.select(chosen)), half.select(chosen)["label"]
    elif not options.texts:
        raise AuditError("only a run has texts of its own: name a file by --texts")
    report = audit(model, texts, labels or None, view=options.view, name=options.network)
    report.save(options.to)
    counts = report.counts
    if counts["stopped"]:
        print(f"Stopped after {counts['measured']} of {counts['given']} texts; these are kept.")
    print(report.headline, *(f"* {one.sentence}" for one in report.answers), sep="\n")
    others = "".join(f"; left out: {n} {why}" for why, n in counts["left_out"].items())
    print(f"{options.to}: {counts['measured']} texts{others}")
    return 0
