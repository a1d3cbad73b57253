"""Small trainings on the toy corpus, for the tests of what trains."""

from dataclasses import replace
from types import SimpleNamespace

import torch
from strategies import tiny_han, toy_documents, toy_vocabulary

from course_lib.training import loop
from course_lib.training.config import TrainingConfig

CPU = torch.device("cpu")
CONFIG = TrainingConfig(epochs=3, batch_size=16, learning_rate=2e-2, patience=9)
STEPS = 5  # a full epoch of ``data()``


def fit(model, documents, config, **settings):
    """Train on the two halves of ``documents``, on the CPU."""
    return loop.fit(model, *documents, config, **{"device": CPU} | settings)


def new_model(seed=0):
    return tiny_han(seed, vocabulary=len(toy_vocabulary()), dropout=0.3)


def data():
    """80 documents to learn from, 40 to validate on."""
    return toy_documents("train", 40, 120), toy_documents("train", 0, 40)


def short_data():
    """Three steps an epoch, for trainings that are killed and repeated many times."""
    return toy_documents("train", 40, 88), toy_documents("train", 0, 40)


def without_seconds(history):
    return [replace(epoch, seconds=0.0) for epoch in history.epochs]


def same_weights(state, other):
    return state.keys() == other.keys() and all(
        torch.equal(state[name], other[name]) for name in state
    )


class OneWord(torch.nn.Module):
    """An embedding and a classifier of its mean: small enough to update by hand.

    The penalty of a document is ``penalty`` times the squared length of its vector.
    """

    def __init__(self, sparse=False, penalty=0.0):
        super().__init__()
        torch.manual_seed(3)
        self.embedding = torch.nn.Embedding(len(toy_vocabulary()), 4, sparse=sparse)
        self.classifier = torch.nn.Linear(4, 2)
        self.penalty = penalty

    def forward(self, tokens, mask):
        summed = (self.embedding(tokens) * mask.unsqueeze(-1)).sum((1, 2))
        document = summed / mask.sum((1, 2)).unsqueeze(1)
        penalty = self.penalty * document.square().sum(1)
        return SimpleNamespace(logits=self.classifier(document), penalty=penalty)
