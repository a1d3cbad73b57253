"""The Transformer beside PyTorch's layers; what every network keeps is in ``test_networks``."""

import pytest
import torch
from networks import FLAT, tiny_transformer
from strategies import batch
from torch import nn

from course_lib.models.transformer import LowRank, Transformer, TransformerConfig

MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0]]).bool()


@pytest.mark.parametrize("changes", FLAT[tiny_transformer], ids=str)
def test_nothing_is_kept_unasked_and_an_empty_text_gets_the_bias(changes):
    network = tiny_transformer(**changes)
    output = network(*batch([3, 0, 2]))
    assert output.attention is output.states is output.values is None
    assert torch.equal(output.logits[1], network.classifier.bias)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_a_block_is_pytorchs_layer_in_training_too(activation):
    """With the same seed, the same numbers are dropped; PyTorch's layer has positions before rows
    in its memory, so that only one row at a time draws alike."""
    config = TransformerConfig(layers=1, width=16, feed_forward=12, activation=activation)
    theirs = nn.TransformerEncoderLayer(
        16, config.heads, config.feed_forward, config.dropout, activation, batch_first=True
    )
    ours = Transformer(config, 10, 2).blocks[0]
    packed = theirs.state_dict()
    weights = packed["self_attn.in_proj_weight"].chunk(3), packed["self_attn.in_proj_bias"].chunk(3)
    for part, w, b in zip(("query", "key", "value"), *weights):
        getattr(ours.attention, part).load_state_dict({"weight": w, "bias": b})
    same = ("attention.output", "self_attn.out_proj"), ("w_1", "linear1"), ("w_2", "linear2")
    for here, there in (*same, ("norms.0", "norm1"), ("norms.1", "norm2")):
        ours.get_submodule(here).load_state_dict(theirs.get_submodule(there).state_dict())
    theirs.eval(), ours.eval()
    x = torch.randn(3, 5, 16)
    expected = theirs(x, src_key_padding_mask=~MASK)
    torch.testing.assert_close(ours(x, MASK)[0][MASK], expected[MASK], rtol=1e-5, atol=1e-5)
    theirs.train(), ours.train()
    for row in x[:, None]:
        torch.manual_seed(4)
        expected = theirs(row)
        torch.manual_seed(4)
        found, _, _ = ours(row, torch.ones(1, 5, dtype=torch.bool))
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_a_seed_makes_the_weights_of_pytorchs_layers():
    torch.manual_seed(5)
    nn.Embedding(10, 16)
    nn.init.normal_(torch.empty(60, 16))
    nn.init.normal_(torch.empty(60, 16))
    theirs = nn.TransformerEncoderLayer(16, 4, 12, batch_first=True)
    torch.manual_seed(5)
    ours = Transformer(TransformerConfig(width=16, feed_forward=12), 10, 2).blocks[0]
    attention = ours.attention
    packed = [part.weight for part in (attention.query, attention.key, attention.value)]
    assert torch.equal(torch.cat(packed), theirs.self_attn.in_proj_weight)
    assert torch.equal(attention.output.weight, theirs.self_attn.out_proj.weight)
    assert torch.equal(ours.w_2.weight, theirs.linear2.weight)


def test_more_tokens_than_positions_are_refused_and_padding_is_not():
    tokens = torch.ones(1, 62, dtype=torch.long)
    mask = torch.arange(62)[None] < 60
    assert tiny_transformer()(tokens, mask).logits.isfinite().all()
    with pytest.raises(ValueError, match="real tokens beyond 60 positions: cut the documents"):
        tiny_transformer()(tokens, torch.ones_like(mask))


def test_an_adapter_starts_as_nothing_and_adds_a_product_of_low_rank():
    torch.manual_seed(0)
    layer, x = LowRank(6, 4, rank=2), torch.randn(3, 6)
    plain = nn.functional.linear(x, layer.weight, layer.bias)
    assert torch.equal(layer(x), plain)
    nn.init.normal_(layer.b)
    change = (layer.b.double() @ layer.a.double()).detach()
    assert torch.linalg.matrix_rank(change) == 2
    torch.testing.assert_close(
        (layer(x) - plain).double(), x.double() @ change.T, rtol=0, atol=1e-5
    )
    adapted = tiny_transformer(rank=2).blocks[0].attention
    assert [isinstance(part, LowRank) for part in (adapted.query, adapted.key, adapted.value)] == [
        True,
        False,
        True,
    ]


def test_a_wrong_size_is_one_line():
    with pytest.raises(ValueError, match="heads is 3, which does not divide the width 16"):
        tiny_transformer(heads=3)
