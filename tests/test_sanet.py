"""SANet: both paths of attention, where the maximum comes from, its first weights."""

import by_numpy
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from networks import FLAT, tiny_sanet
from strategies import batch, every_device, row_lengths, seeds

from course_lib.metrics import invariants
from course_lib.metrics.invariants import InvariantError
from course_lib.models.sanet import SANet, SANetConfig, pooled_word_attention

variants = pytest.mark.parametrize("changes", FLAT[tiny_sanet], ids=str)


@variants
@every_device
@settings(max_examples=15)
@given(lengths=row_lengths(longest=9), seed=seeds)
def test_both_attention_paths_and_their_gradients_agree(changes, device, lengths, seed):
    tokens, mask = (part.to(device) for part in batch(lengths, seed))
    outputs, gradients = [], []
    for shown in (False, True):
        model = tiny_sanet(seed % 7, **changes).to(device)
        outputs.append(model(tokens, mask, return_attention=shown))
        outputs[-1].logits.square().sum().backward()
        gradients.append([parameter.grad for parameter in model.parameters()])
    fused, shown = outputs
    assert fused.attention is None
    torch.testing.assert_close(fused.logits, shown.logits, atol=1e-5, rtol=1e-5)
    assert (shown.attention is None) == (not model.config.attention)
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-3)


def test_a_model_in_double_precision_has_its_positions_so():
    model = tiny_sanet(2).double()
    tokens, mask = batch([9], 1)
    logits, _, _ = by_numpy.sanet(by_numpy.numbers(model), model.config, tokens[0].numpy())
    np.testing.assert_allclose(model(tokens, mask).logits[0].detach(), logits, atol=1e-12, rtol=0)


def test_unmasked_pooling_depends_on_the_neighbours():
    """What a public implementation does, and why the maximum is masked here."""
    model = tiny_sanet(masked_pooling=False)
    tokens, mask = batch([2, 9], 1)
    with pytest.raises(InvariantError, match="alone"):
        invariants.check_neighbours(model, tokens, mask)


@pytest.mark.parametrize("attention", [True, False])
def test_first_weights_are_xaviers_where_asked_for(attention):
    """Uniform within ±√(6 / (inputs + outputs)), of which 16,384 draws come close to the end."""
    models = [SANet(SANetConfig(xavier=x, attention=attention), 50, 4) for x in (False, True)]
    theirs, xaviers = (
        [layer.weight for layer in model.modules() if isinstance(layer, torch.nn.Linear)]
        for model in models
    )
    assert len(xaviers) == len(theirs) == 6
    for weight, other in zip(xaviers, theirs, strict=True):
        end = (6 / sum(weight.shape)) ** 0.5
        assert 0.98 * end < weight.abs().max() <= end
        assert other.abs().max() <= weight.shape[1] ** -0.5 < 0.98 * end


@settings(max_examples=15)
@given(lengths=row_lengths(longest=6), seed=seeds)
def test_pooled_word_attention_counts_dimensions(lengths, seed):
    tokens, mask = batch(lengths, seed)
    output = tiny_sanet()(tokens, mask)
    shares = pooled_word_attention(output.pooled_from, mask)
    invariants.check_attention(shares, mask)
    for row in range(len(lengths)):
        for place in range(mask.shape[1]):
            share = (output.pooled_from[row] == place).float().mean()
            assert shares[row, place] == pytest.approx(share.item())
