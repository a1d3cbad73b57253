"""What trains and asks the networks that learners write, beside the same by hand."""

import numpy as np
import pytest
import torch
from answers import solution
from torch import nn
from torch.nn.functional import cross_entropy

from course_kit.exercises import own_networks
from course_lib.data.batches import Batches, Documents
from course_lib.models.layers import positions
from course_lib.models.sanet import SANet, SANetConfig

LENGTHS = [3, 5, 2, 4, 3, 1]


@pytest.fixture
def documents():
    """Word 2 makes a document one of class 1, word 3 one of class 0."""
    labels = np.array([1, 0, 1, 0, 1, 0])
    words = [np.full(length, 3 - label) for length, label in zip(LENGTHS, labels)]
    starts = np.cumsum([0, *LENGTHS])
    return Documents(np.concatenate(words), starts, np.arange(7), labels, flat=True)


class Learner(nn.Module):
    """The network of lesson 04 around a learner's block."""

    def __init__(self, block):
        super().__init__()
        self.embedding, self.projection = nn.Embedding(6, 4), nn.Linear(4, 5)
        self.block, self.classifier = block(5), nn.Linear(5, 2)

    def forward(self, tokens, mask):
        x = self.embedding(tokens)
        x, A = self.block(self.projection(x + positions(*x.shape[1:])), mask)
        return self.classifier(x.masked_fill(~mask[:, :, None], -torch.inf).amax(1)), A


def learner(seed=0):
    torch.manual_seed(seed)
    return Learner(solution("sanet_block"))


def test_training_takes_clipped_steps_at_a_falling_rate(documents):
    networks, curves = [learner(), learner()], []
    optimisers = [torch.optim.SGD(network.parameters(), 30.0) for network in networks]
    curves.append(own_networks.train(networks[0], documents, optimisers[0], 3, 4, seed=1))
    batches = Batches(documents, 4, 1)
    for step, batch in enumerate(batch for n in range(3) for batch in batches.epoch(n)):
        loss = cross_entropy(networks[1](batch.tokens, batch.mask)[0], batch.labels)
        optimisers[1].zero_grad()
        loss.backward()
        slopes = [w.grad for w in networks[1].parameters()]
        length = sum(slope.square().sum() for slope in slopes).sqrt().item()
        with torch.no_grad():
            for weight, slope in zip(networks[1].parameters(), slopes):
                weight -= 30 * (1 - step / 6) / max(1, length + 1e-6) * slope
        curves.append(loss.item())
    assert curves[0].tolist() == pytest.approx(np.reshape(curves[1:], (3, 2)).mean(1))
    for one, other in zip(*(network.parameters() for network in networks)):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_right_is_told_of_each_document_in_its_place(documents):
    def network(tokens, mask):  # knows documents by their length, and takes 3 and 5 for class 1
        ones = torch.isin(mask.sum(1), torch.tensor([3, 5])).float()
        return torch.stack([1 - ones, ones], 1), None

    assert own_networks.right(network, documents).tolist() == [1, 0, 0, 1, 1, 1]


def test_a_learners_weights_give_the_librarys_output(documents):
    batch, yours = documents.batch(np.arange(6)), learner()
    ours = own_networks.copy_weights(yours, SANet(SANetConfig(embedding=4, hidden=5), 6, 2))
    assert not ours.training
    logits, attention = yours(batch.tokens, batch.mask)
    output = ours(batch.tokens, batch.mask, return_attention=True)
    torch.testing.assert_close((output.logits, output.attention[:, 0]), (logits, attention))
