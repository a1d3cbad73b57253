"""AGT: the paper's equations in NumPy, the invariants, and what cannot be seen: word order."""

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from strategies import WORDS, batch, check_independence, every_device, row_lengths, seeds

from course_lib.metrics import invariants
from course_lib.models.agt import AGT, AblatedAGT, AGTConfig
from course_lib.models.layers import masked_softmax

TINY = {"embedding": 6, "hidden": 8, "layers": 4}
variants = pytest.mark.parametrize(
    "settings",
    [{}, {"layers": 1}, {"layers": 15}, {"selection_layers": 1}, {"selection_layers": 3}]
    + [{"attention": False, "layers": 1}, {"attention": False}, {"classifier": 5}],
    ids=str,
)


def tiny_agt(seed=0, **settings):
    torch.manual_seed(seed)
    config = AGTConfig(**TINY | settings)
    return (AblatedAGT if config.ablated else AGT)(config, WORDS, 3).eval()


def by_the_paper(model, words):
    """Logits, attention and gates of one sentence, in float64 NumPy, word by word."""
    weights = {name: value.double().numpy() for name, value in model.state_dict().items()}
    config = model.config

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    x = weights["embedding.weight"][words]
    b = [np.tanh(weights["projection.weight"] @ v + weights["projection.bias"]) for v in x]
    attention, s = [], []
    for layer in range(config.selecting):
        if config.attention:
            w, vector = weights["attention.weight"][layer], weights["attention.vector"][layer]
            m = np.array([vector @ np.tanh(w @ v) for v in b])
        else:
            m = np.zeros(len(b))
        d = np.exp(m) / np.exp(m).sum()
        attention.append(d)
        s.append(sum(share * v for share, v in zip(d, b, strict=True)))
    y, gates = s[0], []
    for layer in range(1, config.layers):
        gate, bias = weights["stack.gate"][layer - 1], weights["stack.gate_bias"][layer - 1]
        transform = weights["stack.carried"][layer - 1]
        if layer < config.selecting:
            selected = s[layer]
            transform = np.hstack([transform, weights["stack.selected"][layer - 1]])
            inputs = np.hstack([y, selected])
        else:
            selected = inputs = y
        gates.append(sigmoid(gate @ selected + bias))
        y = np.tanh(transform @ inputs) * gates[-1] + y * (1 - gates[-1])
    hidden = np.maximum(0, weights["classifier.1.weight"] @ y + weights["classifier.1.bias"])
    logits = weights["classifier.4.weight"] @ hidden + weights["classifier.4.bias"]
    return logits, np.array(attention), np.array(gates).reshape(config.layers - 1, config.hidden)


def assert_the_papers(model, lengths, seed):
    tokens, mask = batch(lengths, seed)
    with torch.inference_mode():
        output = model(tokens, mask)
    for row, length in enumerate(lengths):
        logits, attention, gates = by_the_paper(model, tokens[row, :length].numpy())
        np.testing.assert_allclose(output.logits[row], logits, atol=1e-5)
        np.testing.assert_allclose(output.attention[row, :, :length], attention, atol=1e-5)
        np.testing.assert_allclose(output.gates[row], gates, atol=1e-5)


@variants
@hypothesis_settings(max_examples=25)
@given(lengths=row_lengths(shortest=1, longest=9), seed=seeds)
def test_the_forward_pass_is_the_papers(settings, lengths, seed):
    assert_the_papers(tiny_agt(seed % 7, **settings), lengths, seed)


@pytest.mark.parametrize("layers", range(1, 16))
def test_at_every_depth(layers):
    assert_the_papers(tiny_agt(layers, layers=layers, hidden=12), [7, 1, 4], layers)


@variants
@every_device
@hypothesis_settings(max_examples=25)
@given(lengths=row_lengths(longest=9), seed=seeds)
def test_invariants_hold(settings, device, lengths, seed):
    model = tiny_agt(seed % 7, **settings).to(device)
    tokens, mask = (part.to(device) for part in batch(lengths, seed))
    tolerance = 1e-6 if device == "cpu" else 1e-5
    check_independence(model, tokens, mask, tolerance)
    invariants.check_order_blindness(model, tokens, mask, seed, tolerance=tolerance)
    invariants.check_permutation(model, tokens, mask, matters=False, tolerance=tolerance)
    output = model(tokens, mask)
    assert output.logits.isfinite().all()
    invariants.check_attention(output.attention, mask.unsqueeze(1))
    assert ((output.gates > 0) & (output.gates < 1)).all()


@variants
def test_gradients_reach_every_parameter(settings):
    tokens, mask = batch([7, 4, 9, 6], 5)
    invariants.check_gradients(tiny_agt(2, **settings), tokens, mask)


def test_weights_start_within_xaviers_limit_for_what_enters():
    """A layer reads [y; s] of 2 · 64 numbers, one above the selecting layers y alone."""
    stack = tiny_agt(hidden=64, layers=4, selection_layers=3).stack
    reading_both = torch.cat([stack.carried[:2], stack.selected])
    for weight, inputs in ((reading_both, 128), (stack.carried[2], 64), (stack.gate, 64)):
        limit = (6 / (inputs + 64)) ** 0.5
        assert 0.99 * limit < weight.abs().max() <= limit


@pytest.mark.parametrize("settings", [{"layers": 1}, {"selection_layers": 1}, {}], ids=str)
def test_a_checkpoint_gives_back_the_network(settings, tmp_path):
    """Accelerate drops empty tensors as if they were shared; so there must be none."""
    model, other = tiny_agt(1, **settings), tiny_agt(2, **settings)
    assert all(parameter.numel() for parameter in model.parameters())
    accelerator = Accelerator(cpu=True)
    for network, act in ((model, accelerator.save_state), (other, accelerator.load_state)):
        accelerator._models = [network]
        act(str(tmp_path))
    for name, value in model.state_dict().items():
        assert torch.equal(value, other.state_dict()[name]), name


def test_the_gate_bias_is_where_the_gates_start():
    tokens, mask = batch([6, 3], 2)
    means = [tiny_agt(gate_bias=bias)(tokens, mask).gates.mean().item() for bias in (0, 1, 2)]
    assert means == pytest.approx([0.5, 0.731, 0.881], abs=0.03)


def test_a_words_score_is_its_own_in_every_sentence():
    model = tiny_agt(1)
    scores = model.word_scores(torch.arange(WORDS))
    tokens, mask = batch([6, 3, 1], 4)
    attention = model(tokens, mask).attention
    for row in range(3):
        expected = masked_softmax(scores[:, tokens[row]], mask[row].expand(4, -1))
        torch.testing.assert_close(attention[row], expected)


@pytest.mark.parametrize(("at", "dropped"), [("words", 0), ("classifier", 1), ("both", 2)])
def test_dropout_sits_where_it_is_told(at, dropped):
    model = tiny_agt(dropout=0.9, dropout_at=at, hidden=64, embedding=64).train()
    tokens, mask = batch([6], 2)
    first, second = model(tokens, mask), model(tokens, mask)
    assert torch.equal(first.attention, second.attention) == (dropped == 1)
    assert not torch.equal(first.logits, second.logits)
    assert [model.word_dropout.p, model.classifier[0].p] == [
        pytest.approx(0.9 * (at != "classifier")),
        pytest.approx(0.9 * (at != "words")),
    ]


def test_frozen_word_vectors_stay_and_sparse_gradients_are_the_dense_ones():
    tokens, mask = batch([5, 9], 3)
    dense, sparse, frozen = tiny_agt(1), tiny_agt(1, sparse=True), tiny_agt(1, frozen=True)
    for model in (dense, sparse, frozen):
        model(tokens, mask).logits.square().sum().backward()
    assert sparse.embedding.weight.grad.is_sparse
    torch.testing.assert_close(sparse.embedding.weight.grad.to_dense(), dense.embedding.weight.grad)
    assert frozen.embedding.weight.grad is None and frozen.projection.weight.grad.any()


def test_the_preset_has_as_many_parameters_as_the_papers_network():
    """15 attentions and 14 gates of 200 over 300-d vectors, two fully connected layers."""
    model = AGT(AGTConfig.paper(), 100, 5)
    attention = 15 * (200 * 200 + 200)  # W_l and w_l
    stack = 14 * (200 * 200 + 200 + 200 * 400)  # W^t_l, b^t_l and W^f_l over [y; s]
    classifier = 200 * 200 + 200 + 200 * 5 + 5
    expected = 100 * 300 + 300 * 200 + 200 + attention + stack + classifier
    assert sum(p.numel() for p in model.parameters()) == expected
    assert model.embedding.weight.requires_grad
    assert {m.p for m in model.modules() if "Dropout" in type(m).__name__} == {0.2}
    assert AGTConfig.paper(layers=3) == AGTConfig(layers=3)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"selection_layers": 5}, "selection_layers takes 0 .all. to layers = 4, got 5"),
        ({"selection_layers": -1}, "selection_layers takes a whole number from 0, got -1"),
        ({"layers": 0}, "layers takes a whole number from 1, got 0"),
        ({"hidden": 8.0}, "hidden takes a whole number from 1, got 8.0"),
        ({"gate_bias": float("inf")}, "gate_bias takes a finite number, got inf"),
        ({"frozen": 1}, "frozen takes True or False, got 1"),
        ({"attention": "no"}, "attention takes True or False, got 'no'"),
        ({"dropout": 1}, "dropout takes a number from 0 to below 1, got 1"),
        (
            {"dropout_at": "gates"},
            "dropout_at takes one of 'words', 'classifier', 'both', got 'gates'",
        ),
    ],
)
def test_sizes_that_do_not_fit_are_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        AGTConfig(**TINY | settings)
