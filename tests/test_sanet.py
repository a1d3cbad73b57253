"""SANet: positions in double precision, pooling without a mask, first weights."""

import by_numpy
import numpy as np
import pytest
import torch
from networks import tiny_sanet
from strategies import batch

from course_lib.models.sanet import SANet, SANetConfig


def test_a_model_in_double_precision_has_its_positions_so():
    model = tiny_sanet(2).double()
    tokens, mask = batch([9], 1)
    logits, _, _ = by_numpy.sanet(by_numpy.numbers(model), model.config, tokens[0].numpy())
    np.testing.assert_allclose(model(tokens, mask).logits[0].detach(), logits, atol=1e-12, rtol=0)


def test_no_word_gives_the_logits_of_a_zero_vector():
    model, (tokens, mask) = tiny_sanet(), batch([2, 9], 1)
    for some, real in ((tokens, mask & False), (tokens[:, :0], mask[:, :0])):
        output = model(some, real)
        assert output.pooled_from.eq(-1).all() and output.logits.eq(model.classifier.bias).all()


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
