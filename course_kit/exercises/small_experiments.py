"""Lesson 06: a learner's network is trained."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from course_kit.exercises import own_networks
from course_lib.data.batches import Batches, Documents


def fit(
    network: nn.Module, documents: Documents, epochs: int, rate: float, seed: int
) -> list[float]:
    """Train a network of tokens and mask, whose first result are logits, with Adam; the
    cross-entropy of each batch of 50."""
    batches = Batches(documents, 50, seed)
    optimizer, losses = torch.optim.Adam(network.parameters(), lr=rate), []
    for batch in (batch for epoch in range(epochs) for batch in batches.epoch(epoch)):
        loss = cross_entropy(network(batch.tokens, batch.mask)[0], batch.labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


right = own_networks.right  # beside ``fit`` for lesson 06
