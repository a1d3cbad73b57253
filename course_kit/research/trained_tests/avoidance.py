"""Attention taught to avoid the words that decide, and what that costs (Pruthi et al. 2020)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from torch import Tensor, nn

from course_kit.research.faithfulness.faithfulness_record import MASK
from course_kit.research.trained_tests.ground import ACCURACY, Ground, Lines, Texts
from course_lib.data.batches import Batch
from course_lib.faithfulness.documents import without
from course_lib.faithfulness.objectives import avoidance_loss

WEIGHTS = (0.0, 0.1, 1.0, 10.0)  # λ
ON_MARKED = "attention to marked words"  # in the texts that hold one
PRICE = "accuracy minus that of λ = 0"
WITHOUT = "marked words masked in all texts"


def lines(ground: Ground, seed: int, weights: Sequence[float] = WEIGHTS) -> Lines:
    """For a BiLSTM and a word-wise MLP, for each λ (the first is what the others are compared
    with): accuracy and attention to the marked words; and the accuracy of the same network where
    these words are masked everywhere, which says how much they decide."""
    networks: dict[str, Callable[[], nn.Module]] = {
        "BiLSTM": lambda: ground.untrained(seed),
        "MLP": lambda: ground.word_mlp(seed),
    }
    found: Lines = {}
    blind = ground_without(ground)
    for name, make in networks.items():
        for weight in weights:
            model = taught(ground, make(), weight, seed)
            found[f"{name}, λ = {weight:g}"] = {
                ACCURACY: ground.right(model),
                ON_MARKED: on_marked(ground, model),
            }
        reference = found[f"{name}, λ = {weights[0]:g}"][ACCURACY]
        found[f"{name}, {WITHOUT}"] = {ACCURACY: blind.right(taught(blind, make(), 0.0, seed))}
        for line, figures in found.items():
            if line.startswith(f"{name},"):
                figures[PRICE] = figures[ACCURACY] - reference
    return found


def taught(ground: Ground, model: nn.Module, weight: float, seed: int) -> nn.Module:
    """The untrained ``model``, taught the labels and R = −λ log(1 − αᵀm)."""
    marked = ground.marked_ids

    def loss(output: tuple[Tensor, Tensor], batch: Batch) -> Tensor:
        error = nn.functional.cross_entropy(output.logits, batch.labels, reduction="none")
        return error + avoidance_loss(output.attention, marked[batch.tokens], weight)

    return ground.teach(model, loss, seed, f"avoiding, λ = {weight:g}")


def on_marked(ground: Ground, model: nn.Module) -> np.ndarray:
    """The attention that each test text's marked words get; NaN where it has none."""
    marks = [np.array([w in ground.marked for w in words]) for words in ground.test.documents]
    pairs = zip(ground.attention(model), marks, strict=True)
    return np.array([alpha[marked].sum() if marked.any() else np.nan for alpha, marked in pairs])


def ground_without(ground: Ground) -> Ground:
    """The ground with its marked words masked in all texts."""

    def masked(texts: Texts) -> Texts:
        marks = [np.array([w in ground.marked for w in words], bool) for words in texts.documents]
        return texts._replace(
            documents=[without(d, m, MASK) for d, m in zip(texts.documents, marks, strict=True)]
        )

    return replace(
        ground, train=masked(ground.train), validation=masked(ground.validation),
        test=masked(ground.test),
    )  # fmt: skip
