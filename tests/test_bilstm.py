"""The BiLSTM with attention: its equations in NumPy, the invariants, its presets."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from strategies import WORDS, batch, check_independence, every_device, row_lengths, seeds

from course_lib.experiments.systems.bilstm import BiLSTMSystem
from course_lib.metrics import invariants
from course_lib.models.bilstm import BiLSTM, BiLSTMConfig

TINY = {"embedding": 6, "hidden": 8}


def tiny_bilstm(seed=0, **changes):
    """Its context vector is so long that attention is far from uniform."""
    torch.manual_seed(seed)
    model = BiLSTM(BiLSTMConfig(**TINY | changes), WORDS, 3).eval()
    with torch.no_grad():
        model.pooling.contexts.mul_(20)
    return model


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def by_the_paper(model, words):
    """Logits and attention of one text, in float64 NumPy, word by word."""
    weights = {name: value.double().numpy() for name, value in model.state_dict().items()}

    def lstm(x, name):
        w_x, w_h = (weights[f"lstm.{name}.weight_{part}_l0"] for part in ("ih", "hh"))
        h = c = np.zeros(w_h.shape[1])
        states = []
        for word in x:
            i, f, g, o = np.split(w_x @ np.append(word, 1) + w_h @ h, 4)  # the 1 meets the bias
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            states.append(h)
        return states

    x = weights["embedding.weight"][words]
    states = zip(lstm(x, "forwards"), reversed(lstm(x[::-1], "backwards")), strict=True)
    h = [np.concatenate(pair) for pair in states]
    w, b, (c,) = (
        weights[f"pooling.{name}"] for name in ("projection.weight", "projection.bias", "contexts")
    )
    scores = np.array([np.tanh(w @ state + b) @ c for state in h])
    alpha = np.exp(scores) / np.exp(scores).sum()
    document = sum(share * state for share, state in zip(alpha, h, strict=True))
    return weights["classifier.weight"] @ document + weights["classifier.bias"], alpha


@settings(max_examples=15)
@given(lengths=row_lengths(shortest=1, longest=9), seed=seeds)
def test_the_forward_pass_is_the_papers(lengths, seed):
    model, (tokens, mask) = tiny_bilstm(seed % 7), batch(lengths, seed)
    with torch.inference_mode():
        output = model(tokens, mask)
    assert output.logits.shape == (len(lengths), 3) and output.attention.shape == mask.shape
    for row, length in enumerate(lengths):
        logits, alpha = by_the_paper(model, tokens[row, :length].numpy())
        np.testing.assert_allclose(output.logits[row], logits, atol=1e-5)
        np.testing.assert_allclose(output.attention[row, :length], alpha, atol=1e-5)


def test_these_weights_make_attention_far_from_uniform():
    tokens, mask = batch([9, 6], 3)
    output = tiny_bilstm(1)(tokens, mask)
    assert (output.attention.amax(1) > 2 / mask.sum(1)).all()


@every_device
@settings(max_examples=15)
@given(lengths=row_lengths(longest=9), seed=seeds)
def test_invariants_hold(device, lengths, seed):
    model = tiny_bilstm(seed % 7).to(device)
    tokens, mask = (part.to(device) for part in batch(lengths, seed))
    tolerance = 2e-6 if device == "cpu" else 1e-5
    check_independence(model, tokens, mask, tolerance)
    output = model(tokens, mask)
    invariants.check_attention(output.attention, mask)
    assert not output.attention[~mask].any()
    empty = ~mask.any(1)  # their document vector is zero
    expected = model.classifier.bias.expand(int(empty.sum()), -1)
    torch.testing.assert_close(output.logits[empty], expected)


def test_gradients_reach_every_parameter_and_word_order_matters():
    model, (tokens, mask) = tiny_bilstm(2), batch([7, 4, 9, 6], 5)
    invariants.check_gradients(model, tokens, mask)
    invariants.check_permutation(model, tokens, mask, matters=True)


def test_a_batch_of_empty_documents_has_no_attention_and_finite_gradients():
    model, tokens = tiny_bilstm(), torch.zeros(2, 3, dtype=torch.int64)
    output = model(tokens, tokens.bool())
    output.logits.sum().backward()
    assert output.logits.isfinite().all() and not output.attention.any()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_bfloat16_gives_attention_in_float32():
    tokens, mask = batch([9, 3], 0)
    with torch.autocast("cpu", torch.bfloat16):
        output = tiny_bilstm()(tokens, mask)
    assert output.attention.dtype == torch.float32
    invariants.check_attention(output.attention, mask)


def test_dropout_takes_the_same_features_of_every_word_and_some_of_the_document():
    model, (tokens, mask) = tiny_bilstm(dropout=0.5).train(), batch([6, 4], 2)
    seen = {}
    for name in ("lstm", "classifier"):
        module = getattr(model, name)
        module.register_forward_pre_hook(lambda _, inputs, name=name: seen.update({name: inputs}))
    model(tokens, mask)
    x, kept = seen["lstm"][0], seen["lstm"][0] != 0
    assert torch.equal(kept[0], kept[0, :1].expand_as(kept[0])) and 0 < kept[0, 0].sum() < 6
    torch.testing.assert_close(x[kept], 2 * model.embedding(tokens)[kept])
    assert (seen["classifier"][0] == 0).any()


def test_frozen_word_vectors_do_not_learn():
    tokens, mask = batch([5, 3], 0)
    for frozen in (False, True):
        model = tiny_bilstm(frozen=frozen)
        model(tokens, mask).logits.sum().backward()
        assert (model.embedding.weight.grad is None) == frozen


def test_the_papers_network_has_as_many_parameters_as_their_code():
    """300-d vectors, an LSTM of 128 a direction, W (128, 256) with b, c, and a linear layer.

    PyTorch's LSTM has two biases a gate where ours has one.
    """
    lstm = 2 * 4 * 128 * (300 + 128 + 1)
    expected = 100 * 300 + lstm + 128 * 256 + 128 + 128 + 256 * 2 + 2
    model = BiLSTM(BiLSTMConfig.paper(), 100, 2)
    assert sum(p.numel() for p in model.parameters()) == expected


def test_the_presets_are_what_they_are_said_to_be():
    imdb, sst2 = (BiLSTMSystem.presets[name] for name in ("imdb", "sst2"))
    assert imdb.model == BiLSTMConfig(hidden=128, dropout=0.3)
    assert sst2.model == BiLSTMConfig(hidden=200, dropout=0.3, frozen=True)
    assert (imdb.text.max_tokens, imdb.text.vocabulary_limit) == (400, 30_000)
    assert (sst2.text.max_tokens, sst2.text.vocabulary_from) == (0, "train+validation+test")
    assert {each.text.vectors for each in (imdb, sst2)} == {"glove.6B.50d"}
    for training in (imdb.training, sst2.training):
        assert (training.optimizer, training.learning_rate) == ("adam", 1e-3)
        assert (training.epochs, training.patience) == (6, 2)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"hidden": 7}, "hidden takes an even number, which two directions share, got 7"),
        ({"hidden": 0}, "hidden takes a whole number from 1, got 0"),
        ({"embedding": 6.0}, "embedding takes a whole number from 1, got 6.0"),
        ({"dropout": 1}, "dropout takes a number from 0 to below 1, got 1"),
        ({"frozen": 1}, "frozen takes True or False, got 1"),
    ],
)
def test_a_config_refuses_what_it_cannot_take(changes, says):
    with pytest.raises(ValueError, match=says):
        BiLSTMConfig(**TINY | changes)
