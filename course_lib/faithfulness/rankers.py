"""Importances of words: by leaving each one out, by gradients, at random.

Each takes documents and gives a list of arrays, one per document with one number per word. Scores
are signed: positive where a word speaks for the class j that the model predicts for the document.
Attention has no sign, and erasure rewards one; ``magnitude`` and ``with_sign`` make scores of the
same kind, so that signed ones are compared with signed ones.
"""

from collections.abc import Callable, Sequence

import numpy as np

from course_lib.faithfulness.documents import (
    Document,
    Model,
    Variant,
    ask,
    lottery,
    predicted,
    whole,
    words_of,
)

Importances = list[np.ndarray]
# From documents and their classes to a pair for each document: its word vectors, or its attention
# weights, and the gradient of the log-odds with respect to them, as ``DocumentModel.gradients`` and
# ``DocumentModel.attention_gradients`` return them.
Gradients = Callable[..., list[tuple[np.ndarray, np.ndarray]]]
# Points of the integral. For our small networks before training, its sum differed from the change
# of the log-odds by at most 0.002. For SANet, whose gradient jumps where a maximum or ReLU
# switches, it was 0.04.
STEPS = 32


def leave_one_out(
    model: Model, documents: Sequence[Document], filler: str | None = None
) -> Importances:
    """p(x)_j − p(x∖i)_j for every word i: what the predicted class loses without that word.

    The word is deleted, or replaced by ``filler``; the result depends on which. The texts of all
    documents are batched by length.
    """
    originals = [whole(document) for document in documents]
    holes = [
        Variant(document, ~one, filler)
        for document, _, _ in originals
        for one in np.eye(len(words_of(document)), dtype=bool)
    ]
    answers = ask(model, originals + holes, "leave one out")
    full, rest = answers[: len(originals)], answers[len(originals) :]
    classes = full.argmax(1)
    ends = np.cumsum([len(original.keep) for original in originals])
    parts = np.split(rest, ends[:-1])
    return [p[j] - part[:, j] for p, part, j in zip(full, parts, classes, strict=True)]


def random_importance(documents: Sequence[Document], seed: int = 0) -> Importances:
    """Uniform numbers in [0, 1): the ranking that knows nothing. Each document's own depend on its
    words and the seed alone."""
    return [lottery(document, seed).random(len(words_of(document))) for document in documents]


def gradient_times_input(
    gradients: Gradients, model: Model, documents: Sequence[Document], detached: bool = False
) -> Importances:
    """x_i · ∂ log-odds_j / ∂x_i, x_i being the vector of word i.

    The gradient of p_j itself is p_j (1 − p_j) times that of the log-odds. The factor is the same
    for all words of a document, so both rank alike; but only p_j's gradient vanishes where the
    model is certain. With ``detached`` attention it is the gradient of Jain and Wallace (2019).
    """
    classes, _ = predicted(model, documents)
    vectors_and_slopes = gradients(documents, classes, detached=detached)
    return [(x * slope).sum(1) for x, slope in vectors_and_slopes]


def integrated_gradients(
    gradients: Gradients, model: Model, documents: Sequence[Document], steps: int = STEPS
) -> Importances:
    """x_i · ∫₀¹ ∂ log-odds_j / ∂x_i at a·x da (Sundararajan et al. 2017), from zero vectors on.

    The integral is Gauss and Legendre's sum of ``steps`` points. The numbers of a document's words
    sum to its log-odds minus those of as many zero vectors. ``ValueError`` without a step.
    """
    if steps < 1:
        raise ValueError(f"steps takes a whole number from 1, got {steps}")
    classes, _ = predicted(model, documents)
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    total = [np.zeros(len(words_of(document))) for document in documents]
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):  # from [−1, 1] to [0, 1]
        for sums, (x, slope) in zip(total, gradients(documents, classes, scale=float(node))):
            sums += weight * (x * slope).sum(1)
    return total


def attention_times_gradient(
    gradients: Gradients, model: Model, documents: Sequence[Document]
) -> Importances:
    """Σ α_i · ∂ log-odds_j / ∂α_i over all weights α_i on word i (Serrano and Smith 2019).

    What the log-odds lose, to first order, when these weights go to the other words of their row:
    the weights are divided by their sum first, so the numbers of a row sum to 0, and a weight on a
    state like all others counts for nothing.
    """
    classes, _ = predicted(model, documents)
    return [(alpha * slope).sum(0) for alpha, slope in gradients(documents, classes)]


def magnitude(scores: Importances) -> Importances:
    """|s_i|: how much a word counts, whichever class it speaks for."""
    return [np.abs(each) for each in scores]


def with_sign(attention: Importances, scores: Importances) -> Importances:
    """α_i · sign(s_i): attention, with words that speak against the predicted class below 0."""
    return [alpha * np.sign(each) for alpha, each in zip(attention, scores, strict=True)]
