"""How good predictions are, and how precisely a test set of this size can measure that.

Example: ``classification_metrics(predict(model, batches))["accuracy"]``, with the training
package's ``predict``.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

THRESHOLD = 0.5  # as in the IMDb report: positive strictly above it, not tuned


class Predictions(NamedTuple):
    """``probabilities`` ``(documents, classes)`` and ``labels`` ``(documents,)``, in data order."""

    probabilities: Tensor
    labels: Tensor


def classification_metrics(predictions: Predictions) -> dict[str, float | list]:
    """Compute accuracy and the confusion matrix (rows: true class); for two classes F1, AUC and ROC
    too.

    F1 and AUC are those of class 1, and 0 where they are not defined. ``roc`` holds the curve as
    two lists of false and true positive rates, thinned to at most 200 points.
    """
    probabilities, labels = predictions
    classes = probabilities.shape[1]
    positive = probabilities[:, 1]
    guess = (positive > THRESHOLD).long() if classes == 2 else probabilities.argmax(1)
    counts = torch.bincount(classes * labels + guess, minlength=classes**2).view(classes, classes)
    accuracy = (counts.trace() / len(labels)).item()
    if classes > 2:
        return {"accuracy": accuracy, "confusion": counts.tolist()}
    hits, wrong = counts[1, 1], counts[0, 1] + counts[1, 0]
    false_rate, true_rate = roc_curve(positive, labels)
    keep = torch.linspace(0, len(false_rate) - 1, min(200, len(false_rate))).round().long()
    return {
        "accuracy": accuracy,
        "f1": (2 * hits / (2 * hits + wrong).clamp(min=1)).item(),
        "auc": torch.trapezoid(true_rate, false_rate).item(),
        "confusion": counts.tolist(),
        "roc": [[round(x, 5) for x in rate[keep].tolist()] for rate in (false_rate, true_rate)],
    }


def roc_curve(scores: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Compute false and true positive rates at every threshold, from above the highest score down.

    ``scores`` and ``labels`` (0 or 1) ``(documents,)``; both rates ``(different scores + 1,)``. A
    rate is 0 throughout if no document has the class that it is a share of.
    """
    order = scores.argsort(descending=True)
    scores, labels = scores[order], labels[order]
    last = nn.functional.pad(scores[1:] != scores[:-1], (0, 1), value=True)  # of equal scores
    indicators = 1 - labels, labels  # of the negative and of the positive documents
    counts = [nn.functional.pad(indicator.cumsum(0)[last], (1, 0)) for indicator in indicators]
    false_rate, true_rate = (count / count[-1].clamp(min=1) for count in counts)
    return false_rate, true_rate


def sampling_error(share: float, documents: int) -> float:
    """Standard error of a share (an accuracy, say) measured on that many independent documents."""
    return (share * (1 - share) / documents) ** 0.5
