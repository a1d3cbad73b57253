"""Which documents to show first, chosen at run time by what a system makes of them."""

from collections.abc import Sequence

import numpy as np

from course_lib.explore.decency import is_decent
from course_lib.metrics.classification import Predictions

CONFIDENT = 0.9  # the probability of a prediction that is clear
LENGTHS = (0.1, 0.5)  # quantiles: neither the shortest documents nor the longer half


def reading_order(documents: Sequence[Sequence[str]], predictions: Predictions) -> list[int]:
    """The places of all documents: clear successes, then all mistakes, then the other successes.

    Documents are given by their tokens. Clear is one in decent language, predicted with
    ``CONFIDENT`` or more, whose length lies between the quantiles ``LENGTHS`` of all. Mistakes
    begin with the clear ones. Without any clear success, the nearest to one comes first: length
    gives way first, then confidence, and decency last. Of several, the surest stands first.
    """
    right, lacks = _judged(documents, predictions)
    successes, mistakes = _sorted(right, lacks), _sorted(~right, lacks)
    count = sum(lacks[place][0] == 0 for place in successes) or 1
    return successes[:count] + mistakes + successes[count:]


def _judged(
    documents: Sequence[Sequence[str]], predictions: Predictions
) -> tuple[np.ndarray, list[tuple[float, float]]]:
    """Which predictions are right, and what each document lacks of being clear: the less the
    sooner it is shown."""
    confidence, guess = predictions.probabilities.max(1)
    lengths = np.array([len(tokens) for tokens in documents])
    low, high = np.quantile(lengths, LENGTHS)
    lacks = [
        (4 * (not is_decent(tokens)) + 2 * (sure < CONFIDENT) + (not low <= length <= high), -sure)
        for tokens, sure, length in zip(documents, confidence.tolist(), lengths, strict=True)
    ]
    return (guess == predictions.labels).numpy(), lacks


def _sorted(chosen: np.ndarray, lacks: list[tuple[float, float]]) -> list[int]:
    """The chosen places, those that lack least first."""
    return sorted(np.flatnonzero(chosen).tolist(), key=lacks.__getitem__)
