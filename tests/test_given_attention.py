"""Attention can be given to every network: what it does to the output, and what is refused."""

import pytest
import torch
from hypothesis import given, settings
from strategies import WORDS, batch, document_lengths, ragged_batch, row_lengths, seeds, tiny_han

from course_lib.metrics.invariants import check_attention, check_steps
from course_lib.models.agt import AGT, AblatedAGT, AGTConfig
from course_lib.models.bilstm import BiLSTM, BiLSTMConfig
from course_lib.models.iram import IRAM, IRAMConfig, visible
from course_lib.models.layers import renormalised
from course_lib.models.sanet import SANet, SANetConfig


def flat_network(name, seed=0, **changes):
    """A small network over words, in evaluation mode."""
    torch.manual_seed(seed)
    if name == "sanet":
        config = SANetConfig(embedding=6, hidden=8, **{"blocks": 2} | changes)
        return SANet(config, WORDS, 3).eval()
    if name == "iram":
        config = IRAMConfig(embedding=6, hidden=8, initial_std=0.4, frozen=False, **changes)
        return IRAM(config, WORDS, 3).eval()
    if name == "bilstm":
        return BiLSTM(BiLSTMConfig(embedding=6, hidden=8, **changes), WORDS, 3).eval()
    config = AGTConfig(embedding=6, hidden=8, **{"layers": 4} | changes)
    return (AblatedAGT if config.ablated else AGT)(config, WORDS, 3).eval()


def attention_of(model, tokens, mask):
    kwargs = {"return_attention": True} if isinstance(model, SANet) else {}
    return model(tokens, mask, **kwargs).attention


def places(model, mask):
    """Where attention may go, in its shape."""
    if isinstance(model, SANet):
        return (mask[:, None, None] & mask[:, None, :, None]).expand(-1, len(model.blocks), -1, -1)
    if isinstance(model, IRAM):
        return visible(mask, model.config.steps)
    if isinstance(model, BiLSTM):
        return mask
    return mask[:, None].expand(-1, model.config.selecting, -1)


flat_networks = pytest.mark.parametrize("name", ["sanet", "iram", "agt", "bilstm"])


@flat_networks
@settings(max_examples=15)
@given(lengths=row_lengths(longest=7), seed=seeds)
def test_its_own_attention_given_back_changes_nothing(name, lengths, seed):
    model, (tokens, mask) = flat_network(name, seed % 7), batch(lengths, seed)
    own = attention_of(model, tokens, mask)
    output = model(tokens, mask, own)
    torch.testing.assert_close(output.logits, model(tokens, mask).logits, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(output.attention, own)


@flat_networks
@settings(max_examples=15)
@given(lengths=row_lengths(longest=7), seed=seeds)
def test_weights_on_what_is_not_there_count_for_nothing(name, lengths, seed):
    model, (tokens, mask) = flat_network(name, seed % 7), batch(lengths, seed)
    there = places(model, mask)
    random = torch.rand(there.shape, generator=torch.Generator().manual_seed(seed))
    shares = random * there / (random * there).sum(-1, keepdim=True).clamp(min=1e-9)
    wild = (5 * random).masked_fill(~there, 1e6)
    expected, output = model(tokens, mask, shares), model(tokens, mask, wild)
    torch.testing.assert_close(output.attention, shares, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(output.logits, expected.logits, atol=1e-5, rtol=1e-4)
    if name == "iram":
        check_steps(output.attention, mask)
    else:
        check_attention(output.attention, there)


@flat_networks
def test_gradients_flow_past_the_given_attention(name):
    model, (tokens, mask) = flat_network(name), batch([5, 3], 1)
    model(tokens, mask, places(model, mask).float()).logits.square().sum().backward()
    moved = {name for name, p in model.named_parameters() if p.grad is not None and p.grad.any()}
    assert "embedding.weight" in moved
    learned = {
        "sanet": "w_qk", "iram": "steps.attend", "agt": "attention.", "bilstm": "pooling.",
    }[name]  # fmt: skip
    assert not any(learned in name for name in moved)


@flat_networks
def test_attention_of_another_shape_is_refused(name):
    model, (tokens, mask) = flat_network(name), batch([5, 3], 1)
    own = attention_of(model, tokens, mask)
    for wrong in (own[:1], own[:, :1], own[..., :-1], own[0]):
        with pytest.raises(ValueError, match=r"attention of shape .* does not fit this batch"):
            model(tokens, mask, wrong)


@pytest.mark.parametrize(
    ("name", "changes"), [("sanet", {"attention": False}), ("iram", {"steps": 0})]
)
def test_a_baseline_has_no_attention_to_replace(name, changes):
    tokens, mask = batch([5, 3], 1)
    with pytest.raises(ValueError, match="has no attention to replace"):
        flat_network(name, **changes)(tokens, mask, torch.ones(2, 1, 5, 5))


def mean_of_words(h, mask):
    """By hand, document by document."""
    return torch.stack([states[real].sum(0) / int(real.sum()) for states, real in zip(h, mask)])


def test_uniform_attention_is_the_plain_mean_in_agt():
    model, (tokens, mask) = flat_network("agt", layers=1), batch([5, 3, 1], 1)
    b = torch.tanh(model.projection(model.embedding(tokens)))
    expected = model.classifier(mean_of_words(b, mask))
    logits = model(tokens, mask, torch.ones(3, 1, 5)).logits
    torch.testing.assert_close(logits, expected)


@pytest.mark.parametrize("encoder", ["lstm", "average"])
def test_uniform_attention_is_the_plain_mean_in_bilstm(encoder):
    model, (tokens, mask) = flat_network("bilstm", encoder=encoder), batch([5, 3, 1], 1)
    x = model.embedding(tokens)
    h, _, _ = model.encoder(x, mask)
    logits = model(tokens, mask, torch.ones(3, 5)).logits
    torch.testing.assert_close(logits, model.classifier(mean_of_words(h, mask)))


def test_uniform_attention_is_the_plain_mean_in_iram():
    model, (tokens, mask) = flat_network("iram", steps=1), batch([5, 3, 1], 1)
    h, _, _ = model.encoder(model.embed(tokens), mask)
    expected = model.classifier(model.steps.refine(mean_of_words(h, mask)))
    torch.testing.assert_close(model(tokens, mask, torch.ones(3, 1, 5)).logits, expected)


def test_uniform_attention_is_the_plain_mean_in_sanet():
    model, (tokens, mask) = flat_network("sanet", blocks=1, positions=False), batch([5, 3, 1], 1)
    x, block = model.projection(model.embedding(tokens)), model.blocks[0]
    x = block.norms[0](x + mean_of_words(block.mixer.w_v(x), mask).unsqueeze(1))
    x = block.norms[1](x + block.feed_forward(x))
    expected = torch.stack([words[real].amax(0) for words, real in zip(x, mask)])
    logits = model(tokens, mask, torch.ones(3, 1, 5, 5)).logits
    torch.testing.assert_close(logits, model.classifier(expected))


def test_uniform_attention_is_the_plain_mean_in_han():
    model = tiny_han(3, hops=2)
    tokens, mask = ragged_batch([[3, 2], [4, 5, 1]], 2)
    documents = []
    for words, real in zip(tokens, mask):
        sentences = []
        for sentence, there in zip(words, real):
            if there.any():
                h = model.words.gru(model.embedding(sentence[there])[None], there[there][None])
                sentences.append(h[0].mean(0))
        states = torch.stack(sentences)[None]
        h = model.sentences.gru(states, torch.ones(1, len(sentences), dtype=torch.bool))
        documents.append(h[0].mean(0))
    given = torch.ones(mask.shape), torch.ones(mask.shape[:2])
    logits = model(tokens, mask, given).logits
    torch.testing.assert_close(logits, model.classifier(torch.stack(documents)))


@settings(max_examples=15)
@given(documents=document_lengths(), seed=seeds)
def test_han_takes_either_of_its_attentions(documents, seed):
    model, (tokens, mask) = tiny_han(seed % 7, hops=2), ragged_batch(documents, seed)
    own = model(tokens, mask)
    wild = (3 * own.word_attention).masked_fill(~mask, 7.0)
    wilder = (2 * own.sentence_attention).masked_fill(~mask.any(2), 9.0)
    for pair in ((wild, wilder), (wild, None), (None, wilder), (None, None)):
        output = model(tokens, mask, pair)
        torch.testing.assert_close(output.logits, own.logits, atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(output.word_attention, own.word_attention)
        torch.testing.assert_close(output.sentence_attention, own.sentence_attention)


def test_han_follows_the_sentence_it_is_told_to_even_behind_an_empty_one():
    model = tiny_han(1)
    tokens, mask = ragged_batch([[3, 0, 2]], 2)
    told = torch.tensor([[0.0, 5.0, 2.0]])  # the second has no word
    assert model(tokens, mask, (None, told)).sentence_attention.tolist() == [[0, 0, 1]]
    output = model(tokens, mask, (mask.float() * 0, None))
    assert not output.word_attention.any() and output.logits.isfinite().all()


def test_han_refuses_attention_of_another_shape():
    model, (tokens, mask) = tiny_han(), ragged_batch([[3, 2], [4]])
    word, sentence = torch.ones(mask.shape), torch.ones(mask.shape[:2])
    for pair in ((word[:, :1], None), (word[0], None), (None, sentence[:, :1]), (None, word)):
        with pytest.raises(ValueError, match=r"attention of shape .* does not fit this batch"):
            model(tokens, mask, pair)


def test_a_row_without_weight_on_real_words_stays_zero():
    mask = torch.tensor([[True, True, False], [False, False, False]])
    weights = torch.tensor([[0.0, 0.0, 3.0], [1.0, 1.0, 1.0]], dtype=torch.float16)
    shares = renormalised(weights, mask)
    assert not shares.any() and shares.dtype == torch.float32
    shares = renormalised(torch.tensor([[1.0, 3.0, 9.0]] * 2), mask)
    assert shares.tolist() == [[0.25, 0.75, 0], [0, 0, 0]]
