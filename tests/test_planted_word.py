"""Trained on texts in which one word decides, every network's attention finds that word.

Accuracy says nothing about it: a network whose attention learned nothing can be as accurate.
"""

import numpy as np
import pytest
import torch
from torch import nn

from course_kit.exercises.small_experiments import fit
from course_kit.research.sanity_checks import encode_texts, vocabulary_of, write_splits
from course_lib.models.agt import AGT, AGTConfig
from course_lib.models.bilstm import BiLSTM, BiLSTMConfig
from course_lib.models.han import HAN, HANConfig
from course_lib.models.iram import IRAM, IRAMConfig
from course_lib.models.transformer import Transformer, TransformerConfig

pytestmark = pytest.mark.full  # five trainings
SIZES = {"embedding": 24, "hidden": 24}
SPLITS = write_splits("planted", 1200, 0)
VOCABULARY = vocabulary_of(SPLITS)
WORDS = len(VOCABULARY)


class OneSentence(nn.Module):
    """A HAN whose texts have one sentence each."""

    def __init__(self):
        super().__init__()
        self.han = HAN(HANConfig(**SIZES), WORDS, 2)

    def forward(self, tokens, mask):
        output = self.han(tokens.unsqueeze(1), mask.unsqueeze(1))
        return output.logits, output.word_attention


NETWORKS = {  # each with its attention over the words of a text, (texts, any more, words)
    "HAN": (OneSentence, lambda output: output[1]),
    "IRAM": (
        lambda: IRAM(IRAMConfig(**SIZES, initial_std=0.1), WORDS, 2),
        lambda output: output.attention[:, -1:, :18],  # the last step, without the summaries
    ),
    "AGT": (lambda: AGT(AGTConfig(**SIZES), WORDS, 2), lambda output: output.attention),
    "BiLSTM": (lambda: BiLSTM(BiLSTMConfig(**SIZES), WORDS, 2), lambda output: output.attention),
    "Transformer": (
        lambda: Transformer(TransformerConfig(layers=1, dropout=0.0), WORDS, 2),
        lambda output: output.attention.flatten(1, 3),
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_attention_finds_the_word_that_decides(name):
    make, attention_of = NETWORKS[name]
    train, _, test = (encode_texts(texts, VOCABULARY) for texts in SPLITS)
    batch = test.batch(np.arange(len(test)))
    at = torch.tensor([text.decides[0] for text in SPLITS.test])
    options = {"return_attention": True} if name == "Transformer" else {}

    def share(network):
        network.eval()
        with torch.inference_mode():
            output = network(batch.tokens, batch.mask, **options)
        weights = attention_of(output).reshape(len(at), -1, batch.mask.shape[1]).mean(1)
        right = output[0].argmax(1) == batch.labels
        return weights[torch.arange(len(at)), at].mean(), right.float().mean()

    torch.manual_seed(0)
    network = make()
    before, _ = share(network)
    fit(network.train(), train, 8, 0.005, 0)
    after, right = share(network)
    assert right > 0.95 and before < 0.1 and after > 0.3
