"""What a run predicted for every test text, kept small, so that runs can be compared text by
text."""

from pathlib import Path
from typing import NamedTuple

import datasets
import numpy as np

from course_lib.data.corpus import content_digest
from course_lib.data.sources import verify
from course_lib.files import atomic_path, file_digest
from course_lib.metrics.classification import THRESHOLD, Predictions

FILE = "predictions.npz"  # beside a run's record
MOST = 2**16 - 1  # probabilities are kept as whole numbers up to here


class ItemPredictions(NamedTuple):
    """Predictions of one run, one value per test text, in the order of the corpus.

    ``classes`` and ``labels`` are the predicted and the true class, ``probabilities`` those of the
    predicted class, rounded to 1/65,535. ``items`` is the digest of the texts and labels: two runs
    with the same digest have read the same texts in the same order.
    """

    classes: np.ndarray
    labels: np.ndarray
    probabilities: np.ndarray
    items: str

    @property
    def right(self) -> np.ndarray:
        """Whether each prediction is the true class, bool ``(texts,)``."""
        return self.classes == self.labels


def predicted_classes(probabilities: np.ndarray) -> np.ndarray:
    """The class of each row of ``(texts, classes)``, by the rule of ``classification_metrics``."""
    if probabilities.shape[1] == 2:
        return (probabilities[:, 1] > THRESHOLD).astype(int)
    return probabilities.argmax(1)


def write_predictions(path: Path, predictions: Predictions, rows: datasets.Dataset) -> str:
    """Write the predictions for ``rows``; returns the file's digest for the record.

    A text takes about two bytes. Sixteen bits for a probability, scaled as whole numbers, are off
    by less than 0.00001; a float16 takes as much and is off by up to 0.00025.
    """
    probabilities = predictions.probabilities.double().cpu().numpy()
    classes = predicted_classes(probabilities)
    chosen = np.take_along_axis(probabilities, classes[:, None], 1)[:, 0]
    with atomic_path(path) as temporary:
        np.savez_compressed(
            temporary,
            classes=classes.astype(np.uint8),
            labels=predictions.labels.cpu().numpy().astype(np.uint8),
            probabilities=np.round(MOST * chosen).astype(np.uint16),
            items=np.array(f"sha256:{content_digest({'test': rows})}"),
        )
    return f"sha256:{file_digest(path)}"


def read_predictions(path: Path, digest: str) -> ItemPredictions:
    """The predictions in a file; ``DataError`` naming it unless it is whole and has ``digest``."""
    verify(path, digest, "Restore the file, or move the record aside and make the run again.")
    with np.load(path, allow_pickle=False) as file:
        classes, labels, probabilities = (file[n] for n in ("classes", "labels", "probabilities"))
        items = str(file["items"])
    return ItemPredictions(classes, labels, (probabilities / MOST).astype(np.float32), items)
