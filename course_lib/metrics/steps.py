"""Numbers that describe attention in steps: how far they overlap or use summaries.

All take IRAM's ``attention`` ``(batch, T, N + T − 1)``, a row for each step, N columns for the
words and T − 1 for the summaries, and ``mask`` ``(batch, N)``, True = real. Step t sees the real
words and the t − 1 summaries before it; only that counts, so padding changes nothing. An empty
document has 0 throughout. Example: ``step_overlap(iram(tokens, mask).attention, mask)``.
"""

import torch
from torch import Tensor

from course_lib.models.layers import real_weights, visible


def summary_share(attention: Tensor, mask: Tensor) -> Tensor:
    """The share of each step's attention that goes to summaries, ``(batch, T)``; the first has
    none to attend to.

    A model can keep the paper's penalty low by attending to words once and then only to the
    previous summary: this share is then near 1 from the second step on.
    """
    return _weights(attention, mask)[:, :, mask.shape[1] :].sum(2)


def step_overlap(attention: Tensor, mask: Tensor) -> Tensor:
    """Mean of [A Aᵀ]_ij over the pairs of steps, ``(batch,)`` in [0, 1]; 0 for a single step.

    IRAM's penalty makes this small: ``models.iram.step_penalty`` is (T − 1)/2 times this. Two rows
    that are uniform over n words overlap by only 1/n.
    """
    return _mean_of_pairs(_weights(attention, mask))


def step_cosine(attention: Tensor, mask: Tensor) -> Tensor:
    """Mean cosine of the pairs of steps, ``(batch,)`` in [0, 1]: 1 where all steps attend
    alike, even if diffusely; 0 for a single step."""
    return _mean_of_pairs(torch.nn.functional.normalize(_weights(attention, mask), dim=2))


def describe_steps(attention: Tensor, mask: Tensor) -> dict[str, Tensor]:
    """Figures of steps that we report, each ``(batch,)``; none for a single step."""
    steps = attention.shape[1]
    if steps < 2:
        return {}
    shares = summary_share(attention, mask)
    figures = {f"summary share, step {step + 1}": shares[:, step] for step in range(1, steps)}
    figures["step overlap"] = step_overlap(attention, mask)
    figures["step cosine"] = step_cosine(attention, mask)
    return figures


def _weights(attention: Tensor, mask: Tensor) -> Tensor:
    """Set the weights to 0 where a step cannot attend."""
    return real_weights(attention, visible(mask, attention.shape[1]))


def _mean_of_pairs(rows: Tensor) -> Tensor:
    """The mean product of two rows, over the T (T − 1) ordered pairs; 0 for a single row."""
    products, steps = rows @ rows.mT, rows.shape[1]
    others = products.sum((1, 2)) - products.diagonal(0, 1, 2).sum(1)
    return (others / max(1, steps * (steps - 1))).clamp(0, 1)
