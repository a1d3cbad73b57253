"""Heads of a Transformer: against loops, and against weights that are set to zero by hand."""

import numpy as np
import pytest
import torch

from course_lib.faithfulness import heads
from course_lib.models.bert import Bert, BertConfig, with_special

MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()
TOKENS = torch.tensor([[110, 111, 112, 113, 114], [115, 116, 110, 0, 0]])
REAL = with_special(MASK)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(1)
    config = BertConfig(layers=2, heads=3, width=12, feed_forward=8, positions=20)
    made = Bert(config, vocabulary=120, classes=2).eval()
    for weight in made.parameters():
        weight.data += 0.3 * torch.randn_like(weight)
    return made


@pytest.fixture(scope="module")
def output(model):
    with torch.no_grad():
        return model(TOKENS, MASK, return_attention=True, return_states=True)


def test_shares_are_means_over_all_pieces(output):
    found = heads.head_shares(output.attention, REAL)
    sums = {name: np.zeros((2, 3)) for name in ("[CLS]", "[SEP]", "next", "previous")}
    for alpha, length in zip(output.attention.numpy(), (5, 3)):
        for i in range(length):
            sums["[CLS]"] += alpha[:, :, i, 5]
            sums["[SEP]"] += alpha[:, :, i, 6]
            sums["next"] += alpha[:, :, i, i + 1] if i + 1 < length else 0
            sums["previous"] += alpha[:, :, i, i - 1] if i else 0
    assert found.keys() == sums.keys()
    for name, total in sums.items():
        np.testing.assert_allclose(found[name].numpy(), total / 8, atol=1e-6)
    assert heads.head_shares(output.attention, REAL, ()).keys() == {"next", "previous"}


def test_what_is_written_adds_up_to_the_output_of_attention(model, output):
    """With W_O's bias, the heads' values as they are weighed are all that attention hands on."""
    seen = []
    handle = model.blocks[1].attention.register_forward_hook(lambda *args: seen.append(args[2][0]))
    with torch.no_grad():
        model(TOKENS, MASK, return_attention=True)
    handle.remove()
    part = model.blocks[1].attention.output
    w_o = part.weight.detach().numpy()
    written = np.zeros((7, 7, 12))
    for h in range(3):
        v = output.values[0, 1, h].numpy() @ w_o[:, 4 * h : 4 * h + 4].T
        written += output.attention[0, 1, h].numpy()[:, :, None] * v[None]
    whole = written.sum(1) + part.bias.detach().numpy()
    np.testing.assert_allclose(whole, seen[0][0].numpy(), atol=1e-5)


@torch.no_grad()
def test_a_head_that_is_taken_away_is_one_without_its_columns(model):
    kept = torch.ones(2, 3)
    kept[1, 2] = kept[0, 0] = 0
    with heads.changed_heads(model, lambda layer, each: each * kept[layer][:, None]):
        found = model(TOKENS, MASK).logits
    before = [block.attention.output.weight.clone() for block in model.blocks]
    model.blocks[0].attention.output.weight[:, :4] = 0
    model.blocks[1].attention.output.weight[:, 8:] = 0
    expected = model(TOKENS, MASK).logits
    for block, weight in zip(model.blocks, before):
        block.attention.output.weight.copy_(weight)
    torch.testing.assert_close(found, expected)
    assert not torch.allclose(found, model(TOKENS, MASK).logits)  # and it comes back


@torch.no_grad()
def test_each_head_in_turn_takes_the_other_texts_output(model):
    tokens, donor, mask = TOKENS[:1], TOKENS[:1].flip(1), MASK[:1]
    found = heads.patched(model, tokens, mask, donor)
    given = {}
    with heads.changed_heads(model, lambda layer, each: given.setdefault(layer, each)):
        model(donor, mask)

    for layer in range(2):
        for head in range(3):

            def give(at, each, layer=layer, head=head):
                each = each.clone()
                if at == layer:
                    each[:, :, head] = given[layer][:, :, head]
                return each

            with heads.changed_heads(model, give):
                expected = model(tokens, mask).logits[0]
            torch.testing.assert_close(found[layer, head], expected, atol=1e-5, rtol=1e-5)
    own = heads.patched(model, tokens, mask, tokens)
    torch.testing.assert_close(own, model(tokens, mask).logits[0].expand(2, 3, 2))
    assert not torch.allclose(found, own, atol=1e-3)
