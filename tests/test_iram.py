"""IRAM: its LSTM layer, its penalty, its first weights and its presets."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import FULL, NGRAMS, SIZES, tiny_iram
from strategies import WORDS, batch, prefix_mask, row_lengths, seeds
from torch import nn

from course_lib.data.corpus import load_corpus
from course_lib.models.iram import IRAM, FullIRAM, IRAMConfig, step_penalty
from course_lib.models.layers import Highway, LSTMLayer
from course_lib.runs.run import split_rows, system_of
from course_lib.runs.spec import RunSpec


@settings(max_examples=15)
@given(lengths=row_lengths(longest=7), seed=seeds)
def test_the_lstm_layer_is_pytorchs_on_packed_sequences(lengths, seed):
    torch.manual_seed(seed)
    layer, packed = LSTMLayer(3, 8), nn.LSTM(3, 4, batch_first=True, bidirectional=True)
    with torch.no_grad():
        for ours, suffix in ((layer.forwards, ""), (layer.backwards, "_reverse")):
            ours.weight_ih_l0[:, -1] = torch.randn(16)
            getattr(packed, f"weight_ih_l0{suffix}").copy_(ours.weight_ih_l0[:, :-1])
            getattr(packed, f"bias_ih_l0{suffix}").copy_(ours.weight_ih_l0[:, -1])
            getattr(packed, f"weight_hh_l0{suffix}").copy_(ours.weight_hh_l0)
            getattr(packed, f"bias_hh_l0{suffix}").zero_()
    mask = prefix_mask(lengths)
    x = torch.randn(*mask.shape, 3).masked_fill(~mask.unsqueeze(2), torch.nan)
    h, state, cell = layer(x, mask)
    assert not h[~mask].any()
    for row, length in enumerate(lengths):
        if not length:
            assert not state[row].any() and not cell[row].any()
            continue
        expected, (last_h, last_c) = packed(x[row : row + 1, :length])
        torch.testing.assert_close(h[row, :length], expected[0], atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(state[row], last_h.flatten(), atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(cell[row], last_c.flatten(), atol=1e-6, rtol=1e-5)


@settings(max_examples=15)
@given(lengths=row_lengths(longest=6), steps=st.integers(1, 4), seed=seeds)
def test_the_penalty_is_the_double_sum(lengths, steps, seed):
    model = tiny_iram(seed % 7, steps=steps, penalty=0.7)
    output = model(*batch(lengths, seed))
    sums = [
        sum(float(A[i] @ A[j]) for i in range(steps) for j in range(steps) if i != j)
        for A in output.attention.detach().double().numpy()
    ]
    np.testing.assert_allclose(step_penalty(output.attention).detach(),
                               np.array(sums) / (2 * steps), atol=1e-6)  # fmt: skip
    expected = [0.7 / (2 * steps) * total for total in sums]
    assert output.penalty.tolist() == pytest.approx(expected, abs=1e-6)
    assert steps > 1 or not output.penalty.any()
    same = torch.nn.functional.one_hot(torch.full((1, steps), 2), 7).float()  # the largest
    assert step_penalty(same).item() == pytest.approx((steps - 1) / 2)


@pytest.mark.parametrize("initial_std", [0.01, 0.0])
def test_gates_and_forget_biases_start_at_one(initial_std):
    model = tiny_iram(initial_std=initial_std, **FULL)
    layers = [module for module in model.modules() if isinstance(module, LSTMLayer)]
    assert len(layers) == 3
    for layer in layers:
        for lstm in (layer.forwards, layer.backwards):
            bias = lstm.weight_ih_l0[:, -1].view(4, -1)
            assert bias[1].eq(1).all() and not bias[[0, 2, 3]].any()
    highways = [module for module in model.modules() if isinstance(module, Highway)]
    assert sum(len(highway.gates) for highway in highways) == 2 + 1 + 1  # input, query, summaries
    for highway in highways:
        assert all(gate.bias.eq(1).all() for gate in highway.gates)
        assert not any(transform.bias.any() for transform in highway.transforms)


def test_weights_start_as_the_papers_gaussians():
    embedding = torch.randn(WORDS, 50)
    model = FullIRAM(IRAMConfig.full(), WORDS, 2, embedding, NGRAMS)
    assert torch.equal(model.embedding.weight, embedding)
    for name, weight in model.named_parameters():
        if name != "embedding.weight" and weight.dim() > 1:
            values = weight[:, :-1] if "weight_ih_l0" in name else weight
            assert values.std().item() == pytest.approx(0.01, rel=0.1), name
            assert abs(values.mean().item()) < 4 * 0.01 / values.numel() ** 0.5, name
    assert IRAM(IRAMConfig.vanilla(initial_std=0.1), WORDS, 2).steps.attend.weight.std() > 0.09


@pytest.mark.parametrize("full", [False, True])
def test_presets_have_as_many_parameters_as_the_papers_networks(full):
    """States of 200, a maxout classifier of 200 with pools of 4, over fixed 50-d vectors."""

    def lstm(inputs):  # two directions of 100, four gates, one bias for each
        return 2 * 4 * 100 * (inputs + 100 + 1)

    highway = lambda width: 2 * (width * width + width)  # noqa: E731
    maxout = 2 * (200 * 800 + 800) + 200 * 2 + 2
    gru = 3 * (2 * 200 * 200 + 2 * 200)
    expected = 200 * 200 + highway(200) + gru + maxout  # attention, summaries, controller
    if full:  # 100-d n-grams, two highways below, two LSTM layers more, one highway for the query
        expected += 8193 * 100 + 2 * highway(150) + lstm(150) + 2 * lstm(200) + highway(200)
    else:
        expected += lstm(50)
    config = IRAMConfig.full() if full else IRAMConfig.vanilla()
    model = FullIRAM(config, WORDS, 2, ngrams=NGRAMS)
    assert sum(p.numel() for p in model.parameters() if p.requires_grad) == expected
    assert model.embedding.weight.shape == (WORDS, 50)
    assert (config.steps, config.penalty, config.dropout) == (3, 0.0003, 0.1)


@pytest.mark.parametrize("standardise", [True, False])
def test_its_word_vectors_are_standardised_unless_told_otherwise(monkeypatch, standardise):
    asked = []

    class Vectors:
        provenance = ()

        def embedding_for(self, vocabulary, seed, standardise, without_vector):
            asked.append(standardise)
            return torch.zeros(len(vocabulary), 50), 1.0

    name = "course_lib.runs.systems.network.load_vectors"
    monkeypatch.setattr(name, lambda name: Vectors())
    corpus = load_corpus("toy")
    spec = RunSpec("iram", "toy", "vanilla", {} if standardise else {"text.standardise": False})
    system_of(spec, corpus).build(split_rows(corpus), 0)
    assert asked == [standardise]


@pytest.mark.parametrize(
    ("changes", "reaches_attention"),
    [
        ({"dropout": 0.9, "hidden_dropout": 0.0}, True),  # on what the LSTM reads
        ({"dropout": 0.0, "hidden_dropout": 0.9}, False),  # before the classifier's layers
        ({"dropout": 0.0, "hidden_dropout": 0.9, "context_layers": 2}, True),  # between layers
    ],
)
def test_dropout_sits_where_it_is_told(changes, reaches_attention):
    model = tiny_iram(hidden=64, **changes).train()
    tokens, mask = batch([6, 4], 2)
    first, second = model(tokens, mask), model(tokens, mask)
    assert torch.equal(first.attention, second.attention) != reaches_attention
    assert not torch.equal(first.logits, second.logits)


@pytest.mark.parametrize("ngrams", [None, torch.zeros(3, 2, dtype=torch.int32)])
def test_missing_ngrams_are_named(ngrams):
    with pytest.raises(ValueError, match="pass those of all 12 words"):
        FullIRAM(IRAMConfig(**SIZES, ngrams=5), WORDS, 3, ngrams=ngrams)
