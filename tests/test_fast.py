"""Each fast path against the plain form; ``test_gru`` holds the recurrent one."""

import torch
from hypothesis import given, settings
from strategies import prefix_mask, row_lengths, seeds

from course_lib.models import fast
from course_lib.models.sanet import SelfAttention

lengths = row_lengths(longest=6, most_rows=5)


def outcome(function, module, *inputs):
    """What a function gives of inputs, and the gradients of it for inputs and parameters."""
    inputs = [value.clone().requires_grad_() for value in inputs]
    output = function(*inputs)
    (output * torch.arange(output.numel()).view_as(output).to(output).sin()).sum().backward()
    return [output, *(value.grad for value in [*inputs, *module.parameters()])]


@settings(max_examples=40)
@given(lengths=lengths, seed=seeds)
def test_fused_attention_is_the_plain_one(lengths, seed):
    torch.manual_seed(seed)
    mask, layer = prefix_mask(lengths), SelfAttention(3).double()
    x = torch.randn(*mask.shape, 3, dtype=torch.float64)
    expected = outcome(lambda x: layer(x, mask)[0], layer, x)
    found = outcome(
        lambda x: fast.fused_attention(layer.w_qk(x), x, layer.w_v(x), mask, layer.scale), layer, x
    )
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=0)


@given(lengths=lengths, seed=seeds)
def test_what_is_computed_at_real_places_is_zero_elsewhere(lengths, seed):
    torch.manual_seed(seed)
    mask, layer = prefix_mask(lengths).flip(1), torch.nn.Linear(3, 2)
    h = torch.randn(*mask.shape, 3)
    found = fast.at_real_places(layer, h.masked_fill(~mask.unsqueeze(2), torch.nan), mask)
    torch.testing.assert_close(found, layer(h) * mask.unsqueeze(2))
