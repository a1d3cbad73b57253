"""How good predictions are, and how precisely a test set of this size can measure that.

Example: ``classification_metrics(predict(model, batches))["accuracy"]``, with the training
package's ``predict``.
"""

from typing import NamedTuple

import torch
from torch import Tensor

THRESHOLD = 0.5  # as in the IMDb report: positive strictly above it, not tuned


class Predictions(NamedTuple):
    """``probabilities`` ``(documents, classes)`` and ``labels`` ``(documents,)``, in data order."""

    probabilities: Tensor
    labels: Tensor


def classification_metrics(predictions: Predictions) -> dict[str, float | list]:
    """Accuracy and the confusion matrix (rows: true class); for two classes F1, AUC and ROC too.

    F1 and AUC are those of class 1. ``roc`` holds the curve as two lists of false and true positive
    rates, thinned to at most 200 points.
    """
    # imported here: it takes as long as torch, and the other modules do not need it
    from torchmetrics.functional import accuracy, auroc, confusion_matrix, f1_score, roc

    probabilities, labels = predictions
    classes = probabilities.shape[1]
    if classes > 2:
        guess = probabilities.argmax(1)
        matrix = confusion_matrix(guess, labels, "multiclass", num_classes=classes)
        right = accuracy(guess, labels, "multiclass", num_classes=classes, average="micro")
        return {"accuracy": right.item(), "confusion": matrix.tolist()}
    positive = probabilities[:, 1]
    false_rate, true_rate, _ = roc(positive, labels, "binary")
    keep = torch.linspace(0, len(false_rate) - 1, min(200, len(false_rate))).round().long()
    return {
        "accuracy": accuracy(positive, labels, "binary", threshold=THRESHOLD).item(),
        "f1": f1_score(positive, labels, "binary", threshold=THRESHOLD).item(),
        "auc": auroc(positive, labels, "binary").item(),
        "confusion": confusion_matrix(positive, labels, "binary", threshold=THRESHOLD).tolist(),
        "roc": [[round(x, 5) for x in rate[keep].tolist()] for rate in (false_rate, true_rate)],
    }


def sampling_error(share: float, documents: int) -> float:
    """Standard error of a share (an accuracy, say) measured on that many independent documents."""
    return (share * (1 - share) / documents) ** 0.5
