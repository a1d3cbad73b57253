"""The reading room's networks in JavaScript equal PyTorch's, with all their layers."""

from dataclasses import asdict

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from javascript import plain, weights
from strategies import seeds
from torch import nn

from course_lib.faithfulness import kendall
from course_lib.faithfulness import word_attention as reduced
from course_lib.models.agt import AGT, AblatedAGT, AGTConfig
from course_lib.models.bert import SPECIAL_IDS, Bert, BertConfig
from course_lib.models.han import HAN, HANConfig
from course_lib.models.iram import FullIRAM, IRAMConfig
from course_lib.models.sanet import SANet, SANetConfig, pooled_word_attention
from course_lib.models.transformer import Transformer, TransformerConfig

pytestmark = pytest.mark.full  # every network, in JavaScript beside PyTorch

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


class Both:
    """A network with random weights and some words, for PyTorch and for the engine."""

    def __init__(self, kind, config, lengths, seed):
        self.model = spread_out(kind(config, WORDS, CLASSES), seed)
        self.config, self.lengths = asdict(config), lengths
        size = (max(1, len(lengths)), max([1, *lengths]))  # padding where there is no word
        self.tokens = torch.randint(1, WORDS, size)
        counts = torch.tensor([*lengths, *[0] * (size[0] - len(lengths))])
        self.mask = torch.arange(size[1]) < counts[:, None]

    def found(self, engine, name, uniform):
        """The engine's answer; the word vectors are read in PyTorch."""
        vectors = self.model.embedding(self.tokens)
        read = [[plain(word) for word in row[:n]] for row, n in zip(vectors, self.lengths)]
        read = read if name == "han" else read[0]
        return engine(name, name, weights(self.model), self.config, read, uniform)


@some
@given(st.lists(lengths, max_size=4), st.integers(1, 2), st.booleans(), seeds)
def test_han(engine, sentences, hops, uniform, seed):
    both = Both(HAN, HANConfig(embedding=WIDTH, hidden=4, attention=5, hops=hops), sentences, seed)
    mask = both.mask[None]
    given_weights = (torch.ones(mask.shape), torch.ones(mask.shape[:2])) if uniform else None
    output = both.model(both.tokens[None], mask, given_weights)
    found = both.found(engine, "han", uniform)
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
    both = Both(SANet, config, [length], seed)
    every = torch.ones(1, blocks, *2 * both.mask.shape[1:]) if uniform else None
    output = both.model(both.tokens, both.mask, every, return_attention=True)
    found = both.found(engine, "sanet", uniform)
    near(found["logits"], output.logits[0])
    near(found["blocks"], output.attention[0, :, :length, :length])
    pooled = pooled_word_attention(output.pooled_from, both.mask)
    near(found["pooled"], pooled[0, :length])
    words = reduced.pooled_rollout(output.attention, pooled, both.mask)[0, :length]
    near(engine("importance", "pooledRollout", found["blocks"], found["pooled"]), words)


@some
@given(lengths, st.integers(1, 4), st.integers(1, 2), st.integers(0, 2), st.booleans(), seeds)
def test_iram(engine, length, steps, contexts, queries, uniform, seed):
    config = IRAMConfig(
        embedding=WIDTH,
        hidden=6,
        steps=steps,
        context_layers=contexts,
        query_layers=queries,
        query_highway=bool(queries),
        embedding_highway=queries,
        initial_std=0.0,
    )
    both = Both(FullIRAM, config, [length], seed)
    every = torch.ones(1, steps, both.mask.shape[1] + steps - 1) if uniform else None
    output = both.model(both.tokens, both.mask, every)
    found = both.found(engine, "iram", uniform)
    near(found["logits"], output.logits[0])
    if length:
        near(found["steps"], output.attention[0])
        words = reduced.iram_steps(output.attention, both.mask)[0, -1]
        near(engine("importance", "iramWords", found["steps"], length), words)


@some
@given(lengths, st.integers(1, 4), st.integers(0, 2), st.booleans(), seeds)
def test_agt(engine, length, layers, selecting, uniform, seed):
    config = AGTConfig(
        embedding=WIDTH, hidden=6, layers=layers, selection_layers=min(selecting, layers)
    )
    both = Both(AblatedAGT if config.ablated else AGT, config, [length], seed)
    every = torch.ones(1, config.selecting, both.mask.shape[1]) if uniform else None
    output = both.model(both.tokens, both.mask, every)
    found = both.found(engine, "agt", uniform)
    near(found["logits"], output.logits[0])
    near(found["d"], output.attention[0, :, :length])
    near(found["gates"], output.gates[0])
    words = reduced.agt_words(output.attention, output.gates)[0, :length]
    near(engine("importance", "agtWords", found["d"], found["gates"], 6), words)


@some
@given(
    lengths,
    st.integers(1, 2),
    st.sampled_from([0, 6]),
    st.sampled_from(["mean", "first"]),
    st.booleans(),
    seeds,
)
def test_transformer(engine, length, layers, positions, pooling, uniform, seed):
    config = TransformerConfig(layers, 2, 9, 8, positions, pooling=pooling)
    both = Both(Transformer, config, [length], seed)
    every = torch.ones(1, layers, 2, *2 * both.mask.shape[1:]) if uniform else None
    output = both.model(both.tokens, both.mask, every, return_attention=True)
    found = both.found(engine, "transformer", uniform)
    near(found["logits"], output.logits[0])
    near(found["attention"], output.attention[0, :, :, :length, :length])
    if length:
        means = output.attention.mean(2)
        ours = np.mean(found["attention"], axis=1).tolist()
        words = reduced.mean_received(means[:, -1], both.mask)[0, :length]
        near(engine("importance", "receivedWords", ours[-1], length), words)
        near(engine("importance", "rollout", ours), reduced.rollout(means, both.mask)[0])


@some
@given(lengths, st.sampled_from(["mean", "first"]), st.booleans(), seeds)
def test_bert(engine, length, pooling, uniform, seed):
    config = BertConfig(2, 2, 9, 8, 10, pooling=pooling)
    model = spread_out(Bert(config, 110, CLASSES), seed)
    tokens, mask = torch.randint(1, 100, (1, max(1, length))), torch.ones(1, max(1, length)) > 0
    mask &= length > 0
    every = torch.ones(1, 2, 2, *2 * [length + 2]) if uniform and length else None
    output = model(tokens, mask, every, return_attention=True)
    pieces, special = (
        model.embedding(ids) for ids in (tokens[0, :length], torch.tensor(SPECIAL_IDS))
    )
    args = [[plain(row) for row in rows] for rows in (pieces, special)]
    found = engine("transformer", "bert", weights(model), asdict(config), args[0], uniform, args[1])
    near(found["logits"], output.logits[0])
    if length:
        near(found["attention"], output.attention[0])


@given(st.floats(-9, 9))
def test_gelu(engine, x):
    near(engine("layers", "gelu", [x])[0], torch.nn.functional.gelu(torch.tensor(x).double()), 2e-6)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), max_size=9))
def test_rank_correlation_is_kendalls(engine, pairs):
    ours = engine("../page/js/render", "kendall", pairs)
    (theirs,) = kendall([np.array([a for a, _ in pairs])], [np.array([b for _, b in pairs])])
    assert (ours is None) == bool(np.isnan(theirs))
    assert ours is None or ours == pytest.approx(theirs)
