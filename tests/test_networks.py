"""What every network keeps: its equations, invariants, given attention, word vectors, settings."""

import math
import re
from dataclasses import fields
from unittest import mock

import by_numpy
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import (
    NGRAMS,
    SIZES,
    VARIANTS,
    attentions,
    has_bfloat16_lstm,
    inputs,
    lengths_for,
    new,
    places,
    read,
    some_inputs,
    tiny_bilstm,
)
from strategies import (
    WORDS,
    batch,
    check_independence,
    every_device,
    ragged_batch,
    row_lengths,
    seeds,
    tiny_han,
)
from torch import nn

from course_lib.data.config import TextConfig
from course_lib.metrics import invariants
from course_lib.models import fast
from course_lib.models.agt import AGT, AGTConfig
from course_lib.models.bert import BertConfig
from course_lib.models.bilstm import BiLSTM, BiLSTMConfig
from course_lib.models.han import HAN, HANConfig
from course_lib.models.iram import IRAM, FullIRAM, IRAMConfig
from course_lib.models.layers import renormalised
from course_lib.models.sanet import SANet, SANetConfig
from course_lib.models.transformer import TransformerConfig
from course_lib.training.config import TrainingConfig

BLIND = [name for name in VARIANTS if name.startswith("agt") or "average" in name]
BLIND += ["sanet {'positions': False}", "transformer {'positions': 0}"]
BASELINES = ["iram {'steps': 0}", "sanet {'attention': False}"]
IN_NUMPY = [name for name in VARIANTS if not name.startswith("transformer")]  # it is PyTorch's
PLAIN = ["agt {}", "iram {}", "sanet {}", "bilstm {}", "han {}", "transformer {}"]


def each_variant(names):
    """A test for each: of plain networks in every lane, of their variants in the full one."""
    full = pytest.mark.full
    marked = [name if name in PLAIN else pytest.param(name, marks=full) for name in names]
    return pytest.mark.parametrize("variant", marked)


every_variant = each_variant(VARIANTS)
every_attention = each_variant([name for name in VARIANTS if name not in BASELINES])


@every_variant
@every_device
@settings(max_examples=12)
@given(data=st.data(), seed=seeds)
def test_a_document_is_read_the_same_in_any_batch_and_attention_is_a_distribution(
    variant, device, data, seed
):
    model = new(variant, seed % 7).to(device)
    tokens, mask = (x.to(device) for x in inputs(data.draw(lengths_for(variant), "lengths"), seed))
    with torch.backends.cudnn.flags(allow_tf32=False):
        check_independence(model, tokens, mask, 2e-6 if device == "cpu" else 1e-5)
        output = read(model, tokens, mask)
    assert output.logits.isfinite().all()
    for attention, real in zip(attentions(output), places(model, mask), strict=True):
        invariants.check_attention(attention, real)


@each_variant(IN_NUMPY)
@settings(max_examples=12)
@given(data=st.data(), seed=seeds)
def test_the_forward_pass_is_the_papers_equations_in_numpy(variant, data, seed):
    model, (tokens, mask) = new(variant, seed % 7), inputs(data.draw(lengths_for(variant)), seed)
    with torch.inference_mode():
        output = read(model, tokens, mask)
    equations, state = getattr(by_numpy, variant.split()[0]), by_numpy.numbers(model)
    for row, (ids, real) in enumerate(zip(tokens, mask, strict=True)):
        if not real.any():
            continue
        words = ids[real].numpy()
        if ids.dim() == 2:
            words = [i[r].numpy() for i, r in zip(ids, real, strict=True) if r.any()]
        logits, weights, others = equations(state, model.config, words)
        np.testing.assert_allclose(output.logits[row], logits, atol=1e-5)
        found = zip(attentions(output), places(model, mask), weights, strict=True)
        for attention, seen, rows in found:
            expected = np.concatenate(rows)
            np.testing.assert_allclose(attention[row][seen[row]], expected, atol=1e-5)
        for name, expected in others.items():
            np.testing.assert_allclose(getattr(output, name)[row], expected, atol=1e-5)


@every_variant
def test_gradients_reach_every_parameter_and_word_order_matters_where_it_can(variant):
    model, (tokens, mask) = new(variant, 2), some_inputs(variant)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("key.bias" not in name)  # it adds the same to a row's scores
    invariants.check_gradients(model, tokens, mask)
    blind = variant in BLIND
    invariants.check_permutation(model, tokens, mask, matters=not blind, tolerance=1e-5)
    if variant.startswith("agt"):
        invariants.check_order_blindness(model, tokens, mask)


@each_variant([name for name in VARIANTS if name.startswith(("sanet", "transf"))])
@every_device
@settings(max_examples=15)
@given(lengths=row_lengths(longest=9), seed=seeds)
def test_both_attention_paths_and_their_gradients_agree(variant, device, lengths, seed):
    tokens, mask = (part.to(device) for part in batch(lengths, seed))
    outputs, gradients = [], []
    for shown in (False, True):
        model = new(variant, seed % 7).to(device)
        with mock.patch.object(fast, "SHORT", -1):  # else short texts show SANet's weights at once
            outputs.append(model(tokens, mask, return_attention=shown))
        outputs[-1].logits.square().sum().backward()
        gradients.append([parameter.grad for parameter in model.parameters()])
    fused, shown = outputs
    assert fused.attention is None
    torch.testing.assert_close(fused.logits, shown.logits, atol=1e-5, rtol=1e-5)
    assert (shown.attention is None) == (variant in BASELINES)
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-3)


@every_attention
@settings(max_examples=10)
@given(data=st.data(), seed=seeds)
def test_given_attention_is_used_as_it_is_where_there_are_words(variant, data, seed):
    model, (tokens, mask) = new(variant, seed % 7), inputs(data.draw(lengths_for(variant)), seed)
    own = read(model, tokens, mask)
    again = read(model, tokens, mask, attentions(own))
    torch.testing.assert_close(again.logits, own.logits, atol=1e-5, rtol=1e-4)
    real, generator = places(model, mask), torch.Generator().manual_seed(seed)
    random = [torch.rand(each.shape, generator=generator) for each in real]
    shares = [renormalised(weights, each) for weights, each in zip(random, real, strict=True)]
    wild = [(5 * w).masked_fill(~each, 1e6) for w, each in zip(random, real, strict=True)]
    expected, output = (read(model, tokens, mask, each) for each in (shares, wild))
    torch.testing.assert_close(output.logits, expected.logits, atol=1e-5, rtol=1e-4)
    for weights, share in zip(attentions(output), shares, strict=True):
        torch.testing.assert_close(weights, share, atol=1e-6, rtol=1e-5)


@every_attention
def test_gradients_flow_past_given_attention_and_another_shape_is_refused(variant):
    model, (tokens, mask) = new(variant), some_inputs(variant)
    model.embedding.weight.requires_grad_()
    ones = [each.float() for each in places(model, mask)]
    read(model, tokens, mask, ones).logits.square().sum().backward()
    moved = {name for name, p in model.named_parameters() if p.grad is not None and p.grad.any()}
    learned = (
        "w_qk",
        "steps.attend",
        "pooling.",
        *(f"attention.{part}" for part in ("weight", "vector", "query", "key")),
    )
    assert "embedding.weight" in moved
    assert not any(part in name for name in moved for part in learned)
    for number, weights in enumerate(ones):
        for wrong in (weights[:1], weights[..., :-1], weights[0]):
            with pytest.raises(ValueError, match=r"attention of shape .* does not fit this batch"):
                read(model, tokens, mask, [*ones[:number], wrong, *ones[number + 1 :]])


@pytest.mark.parametrize("variant", BASELINES)
def test_a_baseline_has_no_attention_to_replace(variant):
    tokens, mask = batch([5, 3], 1)
    assert attentions(read(new(variant), tokens, mask)) == []
    with pytest.raises(ValueError, match="has no attention to replace"):
        read(new(variant), tokens, mask, [torch.ones(2, 1, 5, 5)])


def test_han_takes_either_of_its_attentions_alone():
    model, (tokens, mask) = tiny_han(1, hops=2), ragged_batch([[3, 0, 2], [4]], 2)
    own = model(tokens, mask)
    for pair in ((own.word_attention, None), (None, own.sentence_attention), (None, None)):
        torch.testing.assert_close(model(tokens, mask, pair).logits, own.logits)
    told = torch.tensor([[0.0, 5.0, 2.0], [1.0, 0.0, 0.0]])  # the second has no word
    assert model(tokens, mask, (None, told)).sentence_attention[0].tolist() == [0, 0, 1]


def test_an_empty_document_gets_the_logits_of_a_zero_vector():
    model = tiny_han(hops=3, penalty=0.5)
    output = model(*ragged_batch([[3, 2], [], [0, 0]]))
    assert not output.penalty[1:].any()
    for row in (1, 2):
        assert torch.equal(output.logits[row], model.classifier.bias)
        assert output.sentence_attention[row].eq(0).all() and output.word_attention[row].eq(0).all()
    assert not torch.equal(output.logits[0], model.classifier.bias)


def test_a_row_without_weight_on_real_words_stays_zero():
    mask = torch.tensor([[True, True, False], [False, False, False]])
    weights = torch.tensor([[0.0, 0.0, 3.0], [1.0, 1.0, 1.0]], dtype=torch.float16)
    shares = renormalised(weights, mask)
    assert not shares.any() and shares.dtype == torch.float32
    shares = renormalised(torch.tensor([[1.0, 3.0, 9.0]] * 2), mask)
    assert shares.tolist() == [[0.25, 0.75, 0], [0, 0, 0]]


@pytest.mark.parametrize("variant", [*PLAIN, *(v for v in VARIANTS if "ngrams" in v)])
def test_bfloat16_gives_attention_in_float32(variant):
    model, (tokens, mask) = new(variant), some_inputs(variant)
    if not has_bfloat16_lstm() and any(isinstance(m, nn.LSTM) for m in model.modules()):
        pytest.skip("torch has no LSTM in bfloat16 for this processor")
    with torch.autocast("cpu", torch.bfloat16):
        output = read(model, tokens, mask)
    for attention, real in zip(attentions(output), places(model, mask), strict=True):
        assert attention.dtype == torch.float32
        invariants.check_attention(attention, real)


@pytest.mark.parametrize("variant", PLAIN)
def test_dropout_acts_in_training_alone(variant):
    model, (tokens, mask) = new(variant, dropout=0.5), some_inputs(variant)
    assert torch.equal(model(tokens, mask).logits, model(tokens, mask).logits)
    model.train()
    assert not torch.equal(model(tokens, mask).logits, model(tokens, mask).logits)


def test_hans_dropout_acts_on_the_document_vector_too():
    """Without the two below it, equal documents still get logits of their own."""
    model = tiny_han(dropout=0.5).train()
    model.words.dropout.rate = model.sentences.dropout.rate = 0.0
    tokens, mask = ragged_batch([[3, 2]])
    logits = model(tokens.expand(64, -1, -1), mask.expand(64, -1, -1)).logits
    assert len(logits.unique(dim=0)) > 16


def test_a_bilstms_dropout_takes_the_same_features_of_every_word_and_some_of_the_document():
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


@pytest.mark.parametrize("variant", ["agt {}", "sanet {}"])
def test_sparse_gradients_are_the_dense_ones(variant):
    (tokens, mask), gradients = some_inputs(variant), []
    for sparse in (False, True):
        model = new(variant, 1, sparse=sparse)
        model(tokens, mask).logits.square().sum().backward()
        gradients.append(model.embedding.weight.grad)
    assert gradients[1].is_sparse
    torch.testing.assert_close(gradients[1].to_dense(), gradients[0])


NETWORKS = [
    (AGT, AGTConfig),
    (BiLSTM, BiLSTMConfig),
    (HAN, HANConfig),
    (IRAM, IRAMConfig),
    (SANet, SANetConfig),
]


@pytest.mark.parametrize(("network", "config"), NETWORKS)
def test_given_word_vectors_are_used_and_those_of_other_words_refused(network, config):
    vectors = torch.randn(WORDS, 9)  # as wide as they come, whatever the config says
    vectors[0] = 0
    model = network(config(**SIZES), WORDS, 3, vectors).eval()
    assert torch.equal(model.embedding.weight, vectors)
    model.embedding.weight.requires_grad_()
    tokens, mask = ragged_batch([[3, 1], [2]]) if network is HAN else batch([3, 1])
    model(tokens, mask).logits.square().sum().backward()
    gradient = model.embedding.weight.grad
    assert gradient.any() and not gradient[0].any()  # padding never trains
    for shape in ((11, 6), (12,), (6, 12), (12, 6, 1)):
        with pytest.raises(ValueError, match=r"has the shape .*; 12 words need \(12, width\)"):
            network(config(**SIZES), WORDS, 3, torch.zeros(shape))


PRESETS = [  # the paper's network for 12 words and 3 classes, its parameters, its dropout
    (HAN, HANConfig.imdb(), 97_503, 0.4),
    (BiLSTM, BiLSTMConfig.paper(), 476_691, None),
    (BiLSTM, BiLSTMConfig.paper(attention="dot"), 443_923, None),
    (BiLSTM, BiLSTMConfig.paper(frozen=True), 473_091, None),
    (BiLSTM, BiLSTMConfig.paper(encoder="average"), 114_451, None),
    (AGT, AGTConfig.paper(), 2_390_403, 0.2),
    (AGT, AGTConfig.paper(frozen=True), 2_386_803, 0.2),
    (SANet, SANetConfig.base(), 80_819, 0.1),
    (SANet, SANetConfig.base(attention=False), 81_075, 0.1),
    (SANet, SANetConfig.big(), 581_987, 0.1),
    (SANet, SANetConfig.big(attention=False), 583_011, 0.1),
    (IRAM, IRAMConfig.vanilla(), 804_603, 0.1),  # over fixed vectors
    (FullIRAM, IRAMConfig.vanilla(), 804_603, 0.1),
    (FullIRAM, IRAMConfig.full(), 2_356_503, 0.1),
]


@pytest.mark.parametrize(("network", "config", "parameters", "dropout"), PRESETS)
def test_presets_have_as_many_parameters_as_the_papers_networks(
    network, config, parameters, dropout
):
    model = network(config, WORDS, 3, **{"ngrams": NGRAMS} if network is FullIRAM else {})
    assert sum(p.numel() for p in model.parameters() if p.requires_grad) == parameters
    rates = {
        m.p if hasattr(m, "p") else m.rate for m in model.modules() if "Dropout" in type(m).__name__
    }
    assert dropout is None or rates == {dropout}


OF_ANOTHER_KIND = {int: (-1, 8.0, True), float: (None, math.inf, "1"), bool: (0,), str: ("?", 3)}
CONFIGS = [
    *(config for _, config in NETWORKS),
    TransformerConfig,
    BertConfig,
    TrainingConfig,
    TextConfig,
]


@pytest.mark.parametrize("config", CONFIGS)
def test_a_config_refuses_what_is_of_another_kind_in_any_field(config):
    for field in fields(config):
        for value in OF_ANOTHER_KIND[type(getattr(config(), field.name))]:
            says = rf"^{field.name} takes .*, got {re.escape(repr(value))}$"
            with pytest.raises(ValueError, match=says):
                config(**{field.name: value})


WHOLE, FROM_0, SHARE = (
    "a whole number from 1",
    "a whole number from 0",
    "a number from 0 to below 1",
)
REFUSED = [
    *((config, "hidden", 0, WHOLE) for _, config in NETWORKS),
    *((config, "dropout", value, SHARE) for _, config in NETWORKS for value in (1, -0.1)),
    *(
        (config, "hidden", 7, "an even number, which two directions share")
        for config in (BiLSTMConfig, IRAMConfig)
    ),
    (AGTConfig, "selection_layers", 16, "0 (all) to layers = 15"),
    (AGTConfig, "layers", 0, WHOLE),
    (IRAMConfig, "context_layers", 0, WHOLE),
    (SANetConfig, "blocks", 0, WHOLE),
    (HANConfig, "hops", 0, WHOLE),
    (HANConfig, "penalty", -1, "a finite number from 0"),
    (IRAMConfig, "initial_std", -0.1, "a finite number from 0"),
    *((TrainingConfig, name, 0, WHOLE) for name in ("epochs", "batch_size")),
    *((TrainingConfig, "learning_rate", value, "a finite number above 0") for value in (0, -1)),
    *(
        (TrainingConfig, name, -1e-8, "a finite number from 0")
        for name in ("weight_decay", "momentum", "epsilon", "clip_norm", "embedding_rate")
    ),
]


@pytest.mark.parametrize(("config", "field", "value", "takes"), REFUSED)
def test_a_config_refuses_what_lies_beyond_a_limit(config, field, value, takes):
    with pytest.raises(ValueError) as raised:
        config(**{field: value})
    assert str(raised.value) == f"{field} takes {takes}, got {value!r}"


def test_settings_at_their_limits_are_taken():
    TrainingConfig(
        epochs=1,
        batch_size=1,
        patience=0,
        most_tokens=0,
        weight_decay=0,
        clip_norm=0,
        momentum=0,
        epsilon=0,
        embedding_rate=0,
    )
    assert HANConfig(dropout=0, penalty=0) == HANConfig()  # a whole number is a number
    assert AGTConfig(selection_layers=15, gate_bias=-1.0).selecting == 15
