"""Training and asking networks that learners wrote: ``network(tokens, mask)`` → logits, attention.

Lesson 03 writes such a loop; here it is out of sight.
"""

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from course_lib.data.batches import Batches, Documents


def train(
    network: nn.Module,
    documents: Documents,
    optimiser: torch.optim.Optimizer,
    epochs: int,
    size: int = 64,
    seed: int = 0,
) -> np.ndarray:
    """The mean cross-entropy of each epoch, ``(epochs,)``; batches of ``size`` documents, a rate
    that falls linearly to 0, and gradients clipped to a norm of 1."""
    batches, curve = Batches(documents, size, seed), []
    decay = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, epochs * len(batches))
    for batch in (batch for epoch in range(epochs) for batch in batches.epoch(epoch)):
        error = cross_entropy(network(batch.tokens, batch.mask)[0], batch.labels)
        optimiser.zero_grad()
        error.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        decay.step()
        curve.append(error.item())
    return np.reshape(curve, (epochs, -1)).mean(1)


@torch.no_grad()
def right(network: nn.Module, documents: Documents) -> np.ndarray:
    """Which documents the network classifies correctly, bool ``(documents,)``."""
    found = np.zeros(len(documents), bool)
    for batch in Batches(documents, 256).epoch():
        found[batch.index] = network(batch.tokens, batch.mask)[0].argmax(1) == batch.labels
    return found


def copy_weights(yours: nn.Module, ours: nn.Module) -> nn.Module:
    """``ours`` with the weights of ``yours``, parameter by parameter in their order."""
    for a, b in zip(ours.parameters(), yours.parameters(), strict=True):
        a.data.copy_(b)
    return ours.eval()
