"""IRAM: its LSTM layer, its penalty, its first weights and its presets."""

import pytest
import torch
from networks import FULL, NGRAMS, SIZES, tiny_iram
from strategies import WORDS, batch

from course_lib.models.iram import IRAM, FullIRAM, IRAMConfig
from course_lib.models.layers import Highway, LSTMLayer


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
