"""The decoder: no look ahead, and what a hidden or a given attention does."""

import pytest
import torch

from course_lib.models import Decoder, TransformerConfig, causal_mask

SIZES = {"heads": 2, "feed_forward": 12, "width": 8, "positions": 9}
TOKENS = torch.randint(5, (3, 7), generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    config = TransformerConfig(layers=2, dropout=0.0, attention_dropout=0.0, **SIZES)
    return Decoder(config, vocabulary=5).eval().requires_grad_(False)


def test_a_later_token_changes_nothing_before_it(model):
    logits = model(TOKENS).logits
    for place in range(7):
        other = TOKENS.clone()
        other[:, place] = (other[:, place] + 1) % 5
        change = (model(other).logits - logits).abs().amax((0, 2))
        assert (change[:place] == 0).all() and (change[place:] > 0).all()


def test_rows_of_attention_sum_to_1_and_end_at_their_own_position(model):
    attention = model(TOKENS, return_attention=True).attention
    assert attention.shape == (3, 2, 2, 7, 7)
    assert torch.allclose(attention.sum(4), torch.ones(3, 2, 2, 7))
    assert not attention[..., ~causal_mask(7)].any() and (attention[..., causal_mask(7)] > 0).all()


def test_with_and_without_weights_it_computes_the_same(model):
    asked = model(TOKENS, return_attention=True)
    torch.testing.assert_close(asked.logits, model(TOKENS).logits)
    assert model(TOKENS).attention is None
    given = model(TOKENS, asked.attention)
    torch.testing.assert_close(given.logits, asked.logits)
    torch.testing.assert_close(given.attention, asked.attention)


def test_a_hidden_head_adds_nothing(model):
    """As a head whose columns of W_O are zero."""
    for layer, head in ((0, 1), (1, 0)):
        w_o = model.blocks[layer].attention.output.weight
        kept, columns = w_o.clone(), slice(4 * head, 4 * head + 4)
        w_o[:, columns] = 0
        expected = model(TOKENS).logits
        w_o.copy_(kept)
        found = model(TOKENS, hidden=[(layer, head)], return_attention=True)
        torch.testing.assert_close(found.logits, expected)
        assert not found.attention[:, layer, head].any()
        assert not torch.allclose(found.logits, model(TOKENS).logits)
    both = [(0, 0), (1, 0)]
    whole, without = (
        model(TOKENS, hidden=hidden, return_attention=True).attention for hidden in ((), both)
    )
    torch.testing.assert_close(without[:, 0, 1], whole[:, 0, 1])  # below, nothing changes
    assert not torch.allclose(without[:, 1, 1], whole[:, 1, 1])


def test_an_encoder_takes_the_same_pairs(model):
    """Two dimensions of a mask are real tokens, three are pairs."""
    x = torch.randn(3, 7, 8, generator=torch.Generator().manual_seed(1))
    real = torch.arange(7) < torch.tensor([[7], [4], [1]])
    pairs = real.unsqueeze(1) & real.unsqueeze(2)
    attention = model.blocks[0].attention
    for with_weights in (True, False):
        by_mask, by_pairs = (attention(x, m, None, with_weights)[0] for m in (real, pairs))
        torch.testing.assert_close(by_mask[real], by_pairs[real])


def test_bad_sizes_are_named(model):
    with pytest.raises(ValueError, match="10 tokens exceed the 9 positions"):
        model(torch.zeros(1, 10, dtype=torch.long))
    with pytest.raises(ValueError, match="positions is 0"):
        Decoder(TransformerConfig(**SIZES | {"positions": 0}), vocabulary=5)
