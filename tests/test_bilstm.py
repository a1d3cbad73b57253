"""The BiLSTM with attention: words by themselves, dropout, the presets."""

import torch
from networks import tiny_bilstm
from strategies import WORDS, batch

from course_lib.models.bilstm import BiLSTM, BiLSTMConfig
from course_lib.runs.spec import RunSpec
from course_lib.runs.systems.bilstm_system import BiLSTMSystem


def test_an_averaging_encoder_weighs_a_word_by_nothing_but_that_word():
    model, (tokens, mask) = tiny_bilstm(2, encoder="average"), batch([6], 5)
    tokens[0, 5] = tokens[0, 2]
    alpha = model(tokens, mask).attention[0]
    other = tokens.clone()
    other[0, 0] = other[0, 0] % (WORDS - 1) + 1
    changed = model(other, mask).attention[0]
    torch.testing.assert_close(alpha[5], alpha[2])
    torch.testing.assert_close(changed[1:] / changed[1], alpha[1:] / alpha[1])


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


def test_the_presets_are_what_they_are_said_to_be():
    presets = BiLSTMSystem.presets
    assert set(presets) == {"sst2", "imdb", "ag_news", "small"}
    for name in ("sst2", "imdb", "ag_news"):
        text, model, training = (getattr(presets[name], p) for p in ("text", "model", "training"))
        assert model == BiLSTMConfig(hidden=128)
        assert text.max_tokens == (400 if name == "imdb" else 0)
        assert (text.vectors, text.vocabulary_from) == ("reviews.100d", "vectors")
        assert (training.optimizer, training.learning_rate) == ("amsgrad", 1e-3)
        assert (training.weight_decay, training.decay, training.embedding_rate) == (1e-5, False, 0)


def test_a_run_is_named_by_its_variant():
    changes = {"model.encoder": "average", "model.attention": "dot"}
    spec = RunSpec("bilstm", "sst2", "sst2", changes, seed=1)
    assert spec.id == "bilstm-sst2-sst2-encoder-average-attention-dot-s1"
