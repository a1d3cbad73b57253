"""The reading room's networks in JavaScript equal PyTorch's: each layer, then each model."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from javascript import plain, weights
from strategies import seeds
from torch import nn

from course_lib.faithfulness import attention as reduced
from course_lib.faithfulness import kendall
from course_lib.models.agt import AGT, AblatedAGT, AGTConfig
from course_lib.models.gru import BidirectionalGRU
from course_lib.models.han import HAN, HANConfig
from course_lib.models.iram import FullIRAM, IRAMConfig, LSTMLayer
from course_lib.models.layers import Highway, Maxout, masked_softmax, positions
from course_lib.models.sanet import SANet, SANetConfig, pooled_word_attention

CLOSE = 1e-5
WORDS, WIDTH, CLASSES = 30, 7, 3
lengths = st.integers(0, 6)
some = settings(max_examples=15)


def near(ours, theirs, tolerance=CLOSE):
    """Equal but for ``tolerance``, relative to the largest number if that is above 1."""
    theirs = np.asarray(theirs.detach() if isinstance(theirs, torch.Tensor) else theirs)
    ours = np.asarray(ours, dtype=np.float64).reshape(theirs.shape)
    allowed = tolerance * max(1.0, np.abs(theirs).max(initial=0))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=allowed)


def spread_out(module, seed=0):
    """All parameters far from their beginning, biases too."""
    torch.manual_seed(seed)
    for parameter in module.parameters():
        nn.init.normal_(parameter, 0.0, 0.5)
    return module.eval()


def rows(x):
    """A matrix as a sequence of vectors."""
    return [plain(row) for row in x]


def whole(length):
    """The mask of one sequence, which has a place of padding if it has no word."""
    return torch.arange(max(1, length))[None] < length


@given(st.lists(st.floats(-60, 60, width=32), max_size=8))
def test_softmax(engine, scores):
    padded = torch.tensor([*scores, 0.0])
    expected = masked_softmax(padded, torch.arange(len(padded)) < len(scores))
    near(engine("layers", "softmax", padded[:-1]), expected[:-1])


@some
@given(st.integers(1, 9), st.integers(1, 6), st.booleans(), seeds)
def test_linear_maps(engine, inputs, outputs, bias, seed):
    layer = spread_out(nn.Linear(inputs, outputs, bias=bias), seed)
    x, w = torch.randn(inputs), weights(layer)
    near(engine("layers", "linear", w["weight"], w.get("bias"), x), layer(x))
    near(engine("layers", "timesMatrix", torch.ones(outputs), w["weight"]), layer.weight.sum(0))


@some
@given(seeds)
def test_normalised_layers_and_highways(engine, seed):
    norm, road = spread_out(nn.LayerNorm(5), seed), spread_out(Highway(5, 2), seed)
    x = torch.randn(5)
    near(engine("layers", "layerNorm", *weights(norm).values(), x), norm(x))
    near(engine("layers", "highway", weights(road), x), road(x))
    near(engine("layers", "highway", {}, x), x)


@some
@given(seeds)
def test_maxout(engine, seed):
    layer, x = spread_out(Maxout(4, 3, 5), seed), torch.randn(4)
    w = weights(layer)
    near(engine("layers", "maxout", w["linear.weight"], w["linear.bias"], x, 3), layer(x))


@some
@given(seeds)
def test_steps_of_a_gru_and_an_lstm(engine, seed):
    gru, lstm = spread_out(nn.GRUCell(3, 4), seed), spread_out(nn.LSTMCell(3, 4, bias=False), seed)
    x, h, c = torch.randn(3), torch.randn(4), torch.randn(4)
    near(engine("layers", "gruStep", list(weights(gru).values()), x, h), gru(x, h))
    found = engine("layers", "lstmStep", list(weights(lstm).values()), x, [h, c])
    for ours, theirs in zip(found, lstm(x, (h, c)), strict=True):
        near(ours, theirs)


@some
@given(st.integers(1, 6), seeds)
def test_recurrent_layers_in_both_directions(engine, length, seed):
    gru, lstm = spread_out(BidirectionalGRU(3, 4), seed), spread_out(LSTMLayer(3, 4), seed)
    x = torch.randn(1, length, 3)
    near(engine("layers", "bidirectionalGRU", weights(gru), rows(x[0])), gru(x, whole(length))[0])
    found = engine("layers", "bidirectionalLSTM", weights(lstm), rows(x[0]))
    for name, theirs in zip(("h", "state", "cell"), lstm(x, whole(length)), strict=True):
        near(found[name], theirs[0])


def test_positions(engine):
    expected = positions(400, 7)
    for place in (0, 1, 57, 399):
        near(engine("layers", "position", place, 7), expected[place])


def network(build, seed):
    return spread_out(build(WORDS, CLASSES), seed)


def asked(engine, name, model, config, vectors, uniform):
    """The engine's answer; the word vectors are read in PyTorch."""
    return engine(name, name, weights(model), config, vectors, uniform)


def vectors_of(model, ids):
    return rows(model.embedding(torch.tensor(ids, dtype=torch.long)))


def config_of(config):
    return {name: getattr(config, name) for name in config.__dataclass_fields__}


@some
@given(st.lists(lengths, max_size=4), st.integers(1, 2), st.booleans(), seeds)
def test_han(engine, sentences, hops, uniform, seed):
    config = HANConfig(embedding=WIDTH, hidden=4, attention=5, hops=hops)
    model = network(lambda *sizes: HAN(config, *sizes), seed)
    tokens = torch.randint(1, WORDS, (1, max(1, len(sentences)), max([1, *sentences])))
    mask = torch.zeros_like(tokens, dtype=torch.bool)
    for place, length in enumerate(sentences):
        mask[0, place, :length] = True
    given_weights = (torch.ones(mask.shape), torch.ones(mask.shape[:2])) if uniform else None
    output = model(tokens, mask, given_weights)
    read = [vectors_of(model, tokens[0, i, :n].tolist()) for i, n in enumerate(sentences)]
    found = asked(engine, "han", model, config_of(config), read, uniform)
    near(found["logits"], output.logits[0])
    near(found["sentences"], output.sentence_attention[0, : len(sentences)])
    for ours, row, length in zip(found["words"], output.word_attention[0], sentences):
        near(ours, row[:length])
    words = reduced.han_words(output.word_attention, output.sentence_attention)[mask]
    near(engine("importance", "hanWords", found["words"], found["sentences"]), words)


@some
@given(lengths, st.integers(1, 2), st.booleans(), st.booleans(), st.booleans(), seeds)
def test_sanet(engine, length, blocks, scaled, placed, uniform, seed):
    config = SANetConfig(embedding=WIDTH, hidden=6, blocks=blocks, scaled=scaled, positions=placed)
    model = network(lambda *sizes: SANet(config, *sizes), seed)
    mask = whole(length)
    tokens = torch.randint(1, WORDS, mask.shape)
    every = torch.ones(1, blocks, *2 * mask.shape[1:]) if uniform else None
    read = vectors_of(model, tokens[0, :length].tolist())
    found = asked(engine, "sanet", model, config_of(config), read, uniform)
    output = model(tokens, mask, every, return_attention=True)
    near(found["logits"], output.logits[0])
    near(found["blocks"], output.attention[0, :, :length, :length])
    pooled = pooled_word_attention(output.pooled_from, mask)
    near(found["pooled"], pooled[0, :length])
    words = reduced.pooled_rollout(output.attention, pooled, mask)[0, :length]
    near(engine("importance", "pooledRollout", found["blocks"], found["pooled"]), words)


@some
@given(lengths, st.integers(1, 4), st.integers(1, 2), st.integers(0, 2), st.booleans(), seeds)
def test_iram(engine, length, steps, contexts, queries, uniform, seed):
    config = IRAMConfig(
        embedding=WIDTH, hidden=6, steps=steps, context_layers=contexts, query_layers=queries,
        query_highway=bool(queries), embedding_highway=queries, initial_std=0.0,
    )  # fmt: skip
    model = network(lambda *sizes: FullIRAM(config, *sizes), seed)
    mask = whole(length)
    tokens = torch.randint(1, WORDS, mask.shape)
    every = torch.ones(1, steps, mask.shape[1] + steps - 1) if uniform else None
    output = model(tokens, mask, every)
    read = vectors_of(model, tokens[0, :length].tolist())
    found = asked(engine, "iram", model, config_of(config), read, uniform)
    near(found["logits"], output.logits[0])
    if length:
        near(found["steps"], output.attention[0])
        words = reduced.iram_steps(output.attention, mask)[0, -1]
        near(engine("importance", "iramWords", found["steps"], length), words)


@some
@given(lengths, st.integers(1, 4), st.integers(0, 2), st.booleans(), seeds)
def test_agt(engine, length, layers, selecting, uniform, seed):
    config = AGTConfig(
        embedding=WIDTH, hidden=6, layers=layers, selection_layers=min(selecting, layers)
    )
    kind = AblatedAGT if config.ablated else AGT
    model = network(lambda *sizes: kind(config, *sizes), seed)
    mask = whole(length)
    tokens = torch.randint(1, WORDS, mask.shape)
    every = torch.ones(1, config.selecting, mask.shape[1]) if uniform else None
    output = model(tokens, mask, every)
    read = vectors_of(model, tokens[0, :length].tolist())
    found = asked(engine, "agt", model, config_of(config), read, uniform)
    near(found["logits"], output.logits[0])
    near(found["d"], output.attention[0, :, :length])
    near(found["gates"], output.gates[0])
    words = reduced.agt_words(output.attention, output.gates)[0, :length]
    near(engine("importance", "agtWords", found["d"], found["gates"], 6), words)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), max_size=9))
def test_rank_correlation_is_kendalls(engine, pairs):
    ours = engine("ranks", "kendall", pairs)
    (theirs,) = kendall([np.array([a for a, _ in pairs])], [np.array([b for _, b in pairs])])
    assert (ours is None) == bool(np.isnan(theirs))
    assert ours is None or ours == pytest.approx(theirs)
