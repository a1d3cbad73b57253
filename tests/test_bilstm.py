"""The BiLSTM with attention: words by themselves, dropout, the presets."""

import torch
from networks import tiny_bilstm
from strategies import batch

from course_lib.models.bilstm import BiLSTM, BiLSTMConfig


def test_dropout_takes_the_same_features_of_every_word_and_some_of_the_document():
    model, (tokens, mask) = tiny_bilstm(dropout=0.5).train(), batch([6, 4], 2)
    seen = {}
    for name in ("encoder", "classifier"):
        module = getattr(model, name)
        module.register_forward_pre_hook(lambda _, inputs, name=name: seen.update({name: inputs}))
    model(tokens, mask)
    x, kept = seen["encoder"][0], seen["encoder"][0] != 0
    assert torch.equal(kept[0], kept[0, :1].expand_as(kept[0])) and 0 < kept[0, 0].sum() < 6
    torch.testing.assert_close(x[kept], 2 * model.embedding(tokens)[kept])
    assert (seen["classifier"][0] == 0).any()


def test_the_papers_network_has_as_many_parameters_as_their_code():
    """300-d vectors, an LSTM of 128 a direction, W (128, 256) with b, c, and a linear layer.

    PyTorch's LSTM has two biases a gate where ours has one.
    """
    lstm = 2 * 4 * 128 * (300 + 128 + 1)
    scored, classifier = 128 * 256 + 128 + 128, 256 * 2 + 2
    average = 256 * 300 + 256
    for changes, expected in (
        ({}, lstm + scored),
        ({"attention": "dot"}, lstm + 256),
        ({"encoder": "average"}, average + scored),
    ):
        model = BiLSTM(BiLSTMConfig.paper(**changes), 100, 2)
        assert sum(p.numel() for p in model.parameters()) == 100 * 300 + expected + classifier
