"""Training and asking networks that learners wrote: ``network(tokens, mask)`` → logits, attention.

Lesson 03 writes such a loop; here it is out of sight.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from course_lib.data.batches import Batch, Batches, Documents
from course_lib.models.sanet import SANet, SANetConfig


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


@torch.no_grad()
def accuracy_if_kept(network: nn.Module, batch: Batch, kept: Tensor) -> float:
    """Accuracy of a learner's SANet in [0, 1] if words have attention only where ``kept`` ``(words,
    words)`` is True; what is left of a row is scaled to sum to 1."""
    left = network(batch.tokens, batch.mask)[1] * kept
    return (_attending(network, batch, left) == batch.labels).float().mean().item()


@torch.no_grad()
def right_if_shuffled(network: nn.Module, documents: Documents, seed: int = 0) -> np.ndarray:
    """As ``right``, of a learner's SANet whose rows of attention are shuffled, each on its own."""
    found, source = np.zeros(len(documents), bool), torch.Generator().manual_seed(seed)
    for batch in Batches(documents, 256).epoch():
        attention = network(batch.tokens, batch.mask)[1]
        order = torch.rand(attention.shape, generator=source) + ~batch.mask[:, None]
        shuffled = attention.gather(-1, order.argsort(-1))  # padding stays last
        found[batch.index] = _attending(network, batch, shuffled) == batch.labels
    return found


def _attending(network: nn.Module, batch: Batch, attention: Tensor) -> Tensor:
    """The classes that a learner's SANet predicts with attention that is given."""
    vocabulary, width = network.embedding.weight.shape
    classes, hidden = network.classifier.weight.shape
    ours = SANet(SANetConfig(embedding=width, hidden=hidden), vocabulary, classes)
    given = attention.unsqueeze(1)
    return copy_weights(network, ours)(batch.tokens, batch.mask, given).logits.argmax(1)
