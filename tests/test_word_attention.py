"""Attention reduced to words: against the linear networks for which each reduction is exact."""

import pytest
import torch
from hypothesis import given, settings
from strategies import (
    batch,
    document_lengths,
    prefix_mask,
    ragged_batch,
    row_lengths,
    seeds,
    tiny_han,
)

from course_lib.faithfulness import word_attention as reduced
from course_lib.models.agt import AblatedAGT, AGTConfig
from course_lib.models.iram import IRAM, IRAMConfig
from course_lib.models.layers import masked_softmax, visible
from course_lib.models.sanet import SANet, SANetConfig, pooled_word_attention


def random_attention(real, seed=0):
    """Distributions over the places where ``real`` is True."""
    scores = torch.randn(real.shape, generator=torch.Generator().manual_seed(seed))
    return masked_softmax(2 * scores, real)


def square(mask, blocks):
    pairs = mask.unsqueeze(1) & mask.unsqueeze(2)
    return pairs.unsqueeze(1).expand(-1, blocks, -1, -1)


def of_sanet(tokens, mask, seed):
    torch.manual_seed(seed)
    model = SANet(SANetConfig(embedding=6, hidden=8, blocks=2), 12, 2).eval()
    output = model(tokens, mask, return_attention=True)
    pooled = pooled_word_attention(output.pooled_from, mask)
    return {
        "pooled": pooled,
        "received": reduced.mean_received(output.attention[:, 0], mask),
        "rollout": reduced.rollout_words(output.attention, mask),
        "pooled rollout": reduced.pooled_rollout(output.attention, pooled, mask),
    }


def of_iram(tokens, mask, seed):
    torch.manual_seed(seed)
    model = IRAM(IRAMConfig(embedding=6, hidden=8, initial_std=0.4, steps=3), 12, 2).eval()
    steps = reduced.iram_steps(model(tokens, mask).attention, mask)
    return {f"step {step}": words for step, words in enumerate(steps.unbind(1))}


def of_agt(tokens, mask, seed):
    torch.manual_seed(seed)
    config = AGTConfig(embedding=6, hidden=8, layers=4, selection_layers=3)
    model = AblatedAGT(config, 12, 2).eval()
    output = model(tokens, mask)
    return {"gated": reduced.agt_words(output.attention, output.gates)}


@pytest.mark.parametrize("family", [of_sanet, of_iram, of_agt])
@settings(max_examples=15)
@given(lengths=row_lengths(longest=7), seed=seeds)
def test_words_share_one_whatever_the_padding_and_the_neighbours(family, lengths, seed):
    tokens, mask = batch(lengths, seed)
    with torch.no_grad():
        found = family(tokens, mask, seed)
        wider = family(*(torch.nn.functional.pad(t, (0, 2)) for t in (tokens, mask)), seed)
        alone = family(*(t[:1, : max(1, lengths[0])] for t in (tokens, mask)), seed)
    for name, words in found.items():
        assert not words[~mask].any() and (words >= 0).all()
        torch.testing.assert_close(words.sum(1), mask.any(1).float())
        torch.testing.assert_close(wider[name][:, : mask.shape[1]], words, atol=1e-5, rtol=1e-4)
        first = words[:1, : max(1, lengths[0])]
        torch.testing.assert_close(alone[name], first, atol=1e-5, rtol=1e-4)


@settings(max_examples=15)
@given(lengths=document_lengths(), seed=seeds)
def test_a_document_of_sentences_shares_one_among_its_words(lengths, seed):
    tokens, mask = ragged_batch(lengths, seed)
    with torch.no_grad():
        output = tiny_han(seed % 7)(tokens, mask)
    words = reduced.han_words(output.word_attention, output.sentence_attention)
    assert words.shape == mask.shape and not words[~mask].any()
    torch.testing.assert_close(words.sum((1, 2)), mask.any(2).any(1).float())


def test_han_pools_twice():
    """Without the upper GRU, the document vector is what the product says."""
    mask = prefix_mask([3, 1, 2]).unsqueeze(0)
    alpha, beta = random_attention(mask, 1), random_attention(mask.any(2), 2)
    h = torch.randn(1, 3, 3, 4, generator=torch.Generator().manual_seed(3))
    document = (beta.unsqueeze(2) * (alpha.unsqueeze(3) * h).sum(2)).sum(1)
    words = reduced.han_words(alpha, beta)
    torch.testing.assert_close((words.unsqueeze(3) * h).sum((1, 2)), document)


def test_rollout_is_what_linear_blocks_pass_on():
    """x ← ½ (x + αx), block after block, applied to one-hot words."""
    mask = prefix_mask([4, 2])
    weights = random_attention(square(mask, 3), 5)
    x = torch.eye(4).expand(2, 4, 4)
    for alpha in weights.unbind(1):
        x = (x + alpha @ x) / 2
    expected = x * (mask.unsqueeze(1) & mask.unsqueeze(2))
    torch.testing.assert_close(reduced.rollout(weights, mask), expected)
    pooled = torch.tensor([[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
    rows = torch.stack([expected[0, 1], expected[1, 0]])
    torch.testing.assert_close(reduced.pooled_rollout(weights, pooled, mask), rows)


def test_iram_s_summaries_are_unrolled_to_the_words_they_are_made_of():
    """With the identity for a highway, summaries of one-hot states are the shares themselves."""
    mask = prefix_mask([4, 2])
    weights = random_attention(visible(mask, 3), 4)
    states = torch.eye(4).expand(2, 4, 4)
    for step in range(3):
        summary = weights[:, step : step + 1, : states.shape[1]] @ states
        states = torch.cat([states, summary], 1)
    torch.testing.assert_close(reduced.iram_steps(weights, mask), states[:, 4:])


def test_agt_s_gates_say_which_layer_counts():
    def shares(*gates, selecting):
        return reduced.agt_layer_shares(torch.tensor([gates]), selecting)[0]

    closed, opened = [0.0, 0.0], [1.0, 1.0]
    assert shares(closed, closed, selecting=3).tolist() == [1, 0, 0]
    assert shares(opened, closed, selecting=3).tolist() == [0, 1, 0]
    assert shares(closed, opened, selecting=3).tolist() == [0, 0, 1]
    # by hand: 0.5 · 0.8 of the first, 0.5 · 0.8 of the second, 0.2 of the third
    found = shares([0.5, 0.5], [0.2, 0.2], selecting=3)
    torch.testing.assert_close(found, torch.tensor([0.4, 0.4, 0.2]))
    # dimensions differ: half of them are the second layer's
    assert shares([1.0, 0.0], selecting=2).tolist() == [0.5, 0.5]
    # above the selecting layers a new value is half of either: 0.35 and 0.95 stay the first's
    found = shares([1.0, 0.0], [0.7, 0.1], selecting=2)
    torch.testing.assert_close(found, torch.tensor([0.65, 0.35]))
