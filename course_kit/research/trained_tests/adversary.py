"""A network trained to predict as another one does while it attends to something else.

Wiegreffe and Pinter (2019), §4: what such an adversary pays in predictions for other attention.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from course_kit.research.trained_tests.ground import ACCURACY, Ground, Lines
from course_lib.data.batches import Batch
from course_lib.faithfulness.agreement import jensen_shannon, total_variation
from course_lib.faithfulness.objectives import adversary_loss

WEIGHTS = (0.0, 0.001, 0.01, 0.1)  # λ
VARIATION, DIVERGENCE = "TVD to the base", "JSD to the base"


def lines(ground: Ground, seed: int, weights: Sequence[float] = WEIGHTS) -> Lines:
    """For the base network, an adversary for each λ, another seed of the base and one with uniform
    attention: accuracy, and how far predictions and attention are from the base's."""
    base = ground.fit(ground.untrained(seed), seed)
    again = ground.fit(ground.untrained(seed + 1), seed + 1)
    even = ground.fit(ground.untrained(seed, "uniform"), seed)
    others = {"the base network": base, "the base, another seed": again, "uniform attention": even}
    for weight in weights:
        model = adversary(ground, base, ground.untrained(seed + 1), weight, seed)
        others[f"adversary, λ = {weight:g}"] = model
    return {name: beside(ground, model, base) for name, model in others.items()}


def adversary(
    ground: Ground, base: nn.Module, model: nn.Module, weight: float, seed: int
) -> nn.Module:
    """The untrained ``model``, taught TVD(ŷ, ŷ_base) − λ KL(α ‖ α_base) on the training texts."""

    def loss(output: tuple[Tensor, Tensor], batch: Batch) -> Tensor:
        with torch.no_grad():
            wanted = base(batch.tokens, batch.mask)
        probabilities, target = (o.logits.softmax(1) for o in (output, wanted))
        return adversary_loss(probabilities, target, output.attention, wanted.attention, weight)

    return ground.teach(model, loss, seed, f"adversary, λ = {weight:g}")


def beside(ground: Ground, model: nn.Module, base: nn.Module) -> dict[str, np.ndarray]:
    """Of each test text: whether ``model`` is right, and how far it is from ``base``."""
    ours, theirs = (ground.predictions(each).probabilities.numpy() for each in (model, base))
    pairs = zip(ground.attention(model), ground.attention(base), strict=True)
    return {
        ACCURACY: ground.right(model),
        VARIATION: total_variation(ours, theirs),
        DIVERGENCE: np.array([jensen_shannon(alpha, other) for alpha, other in pairs]),
    }
