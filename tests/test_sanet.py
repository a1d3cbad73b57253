"""SANet: the paper's equations in NumPy, the invariants, and where the maximum comes from."""

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from strategies import (
    WORDS,
    batch,
    check_independence,
    every_device,
    prefix_mask,
    row_lengths,
    seeds,
)

from course_lib.metrics import invariants
from course_lib.metrics.invariants import InvariantError
from course_lib.models.sanet import SANet, SANetConfig, masked_maximum, pooled_word_attention

TINY = {"embedding": 6, "hidden": 8}
variants = pytest.mark.parametrize(
    "settings",
    [{}, {"attention": False}, {"blocks": 2}, {"scaled": True}, {"positions": False}],
    ids=str,
)


def tiny_sanet(seed=0, **settings):
    torch.manual_seed(seed)
    return SANet(SANetConfig(**TINY | settings), WORDS, 3).eval()


def by_the_paper(model, words):
    """Logits, places of the maxima and attention of one document, in float64 NumPy."""
    weights = {name: value.double().numpy() for name, value in model.state_dict().items()}
    width, config = weights["embedding.weight"].shape[1], model.config
    x = weights["embedding.weight"][words]
    if config.positions:
        for place in range(len(words)):
            for i in range(width):
                angle = place / 10000 ** (2 * (i // 2) / width)
                x[place, i] += np.sin(angle) if i % 2 == 0 else np.cos(angle)
    x = x @ weights["projection.weight"].T + weights["projection.bias"]
    matrices = []

    def feed_forward(x, name):
        hidden = np.maximum(0, x @ weights[f"{name}.w_1.weight"].T + weights[f"{name}.w_1.bias"])
        return hidden @ weights[f"{name}.w_2.weight"].T + weights[f"{name}.w_2.bias"]

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    for number in range(config.blocks):
        name = f"blocks.{number}"
        if config.attention:
            scores = x @ weights[f"{name}.mixer.w_qk.weight"].T @ x.T
            if config.scaled:
                scores = scores / np.sqrt(config.hidden)
            exponents = np.exp(scores - scores.max(1, keepdims=True))
            matrices.append(exponents / exponents.sum(1, keepdims=True))
            mixed = matrices[-1] @ x @ weights[f"{name}.mixer.w_v.weight"].T
        else:
            mixed = feed_forward(x, f"{name}.mixer")
        x = norm(x + mixed, f"{name}.norms.0")
        x = norm(x + feed_forward(x, f"{name}.feed_forward"), f"{name}.norms.1")
    logits = x.max(0) @ weights["classifier.weight"].T + weights["classifier.bias"]
    return logits, x.argmax(0), np.array(matrices)


@variants
@given(lengths=row_lengths(shortest=1, longest=9), seed=seeds)
def test_the_forward_pass_is_the_papers(settings, lengths, seed):
    model = tiny_sanet(seed % 7, **settings)
    tokens, mask = batch(lengths, seed)
    with torch.inference_mode():
        output = model(tokens, mask, return_attention=True)
    for row, length in enumerate(lengths):
        logits, places, matrices = by_the_paper(model, tokens[row, :length].numpy())
        np.testing.assert_allclose(output.logits[row], logits, atol=1e-5)
        if len(set(tokens[row, :length].tolist())) == length:  # equal words may tie
            np.testing.assert_array_equal(output.pooled_from[row], places)
        if model.config.attention:
            found = output.attention[row, :, :length, :length]
            np.testing.assert_allclose(found, matrices, atol=1e-5)


@variants
@every_device
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lengths=row_lengths(longest=9), seed=seeds)
def test_both_attention_paths_agree(settings, device, lengths, seed):
    model = tiny_sanet(seed % 7, **settings).to(device)
    tokens, mask = (part.to(device) for part in batch(lengths, seed))
    with torch.inference_mode():
        fused, shown = model(tokens, mask), model(tokens, mask, return_attention=True)
    assert fused.attention is None
    torch.testing.assert_close(fused.logits, shown.logits, atol=1e-5, rtol=1e-5)
    assert (shown.attention is None) == (not model.config.attention)


def test_both_paths_have_the_same_gradients():
    tokens, mask = batch([5, 1, 9, 0], 3)
    gradients = []
    for attention in (False, True):
        model = tiny_sanet(1, dropout=0.0)
        model(tokens, mask, return_attention=attention).logits.square().sum().backward()
        gradients.append({name: value.grad for name, value in model.named_parameters()})
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name], atol=1e-5, rtol=1e-4)


@variants
@every_device
@given(lengths=row_lengths(longest=9), seed=seeds)
def test_invariants_hold(settings, device, lengths, seed):
    model = tiny_sanet(seed % 7, **settings).to(device)
    tokens, mask = (part.to(device) for part in batch(lengths, seed))
    tolerance = 1e-6 if device == "cpu" else 1e-5
    check_independence(model, tokens, mask, tolerance)
    output = model(tokens, mask, return_attention=True)
    assert output.logits.isfinite().all()
    if model.config.attention:
        real = mask[:, None, :, None] & mask[:, None, None, :]
        invariants.check_attention(output.attention, real.expand_as(output.attention))


@variants
def test_gradients_reach_every_parameter(settings):
    tokens, mask = batch([7, 4, 9, 6], 5)
    invariants.check_gradients(tiny_sanet(2, **settings), tokens, mask)


def test_a_model_in_double_precision_has_its_positions_so():
    model = tiny_sanet(2).double()
    tokens, mask = batch([9], 1)
    logits, _, _ = by_the_paper(model, tokens[0].numpy())
    np.testing.assert_allclose(model(tokens, mask).logits[0].detach(), logits, atol=1e-12, rtol=0)


@pytest.mark.parametrize("attention", [True, False])
def test_word_order_matters_through_positions_alone(attention):
    tokens, mask = batch([7, 4, 9], 5)
    invariants.check_permutation(tiny_sanet(attention=attention), tokens, mask, matters=True)
    blind = tiny_sanet(attention=attention, positions=False)
    invariants.check_permutation(blind, tokens, mask, matters=False, tolerance=1e-5)


def test_unmasked_pooling_depends_on_the_neighbours():
    """What a public implementation does, and why the maximum is masked here."""
    model = tiny_sanet(masked_pooling=False)
    tokens, mask = batch([2, 9], 1)
    with pytest.raises(InvariantError, match="alone"):
        invariants.check_neighbours(model, tokens, mask)


def test_the_baseline_has_the_same_shapes_and_no_attention():
    names = {name: value.shape for name, value in tiny_sanet().state_dict().items()}
    baseline = {name: v.shape for name, v in tiny_sanet(attention=False).state_dict().items()}
    assert {name for name in names if "mixer" not in name} == {
        name for name in baseline if "mixer" not in name
    }
    assert not any("w_qk" in name or "w_v" in name for name in baseline)
    tokens, mask = batch([3, 2], 0)
    assert tiny_sanet(attention=False)(tokens, mask).logits.shape == (2, 3)


@pytest.mark.parametrize(
    ("preset", "embedding", "hidden", "blocks"),
    [(SANetConfig.base, 100, 128, 1), (SANetConfig.big, 200, 256, 2)],
)
def test_presets_have_as_many_parameters_as_the_papers_networks(preset, embedding, hidden, blocks):
    feed_forward = 2 * (hidden * hidden + hidden)
    for changes, mixer in (({}, 2 * hidden * hidden), ({"attention": False}, feed_forward)):
        model = SANet(preset(**changes), 50, 4)
        block = mixer + feed_forward + 2 * 2 * hidden  # two layer norms
        expected = 50 * embedding + (embedding + 1) * hidden + blocks * block + (hidden + 1) * 4
        assert sum(p.numel() for p in model.parameters()) == expected
        assert {m.p for m in model.modules() if "Dropout" in type(m).__name__} == {0.1}


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


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"xavier": 1}, "xavier takes True or False, got 1"),
        ({"blocks": 0}, "blocks takes a whole number from 1, got 0"),
        ({"positions": 0}, "positions takes True or False, got 0"),
        ({"dropout": None}, "dropout takes a number from 0 to below 1, got None"),
    ],
)
def test_a_config_refuses_what_it_cannot_take(changes, says):
    with pytest.raises(ValueError, match=says):
        SANetConfig(**changes)


@given(lengths=row_lengths(longest=6), seed=seeds)
def test_the_masked_maximum_is_numpys_over_real_words(lengths, seed):
    mask = prefix_mask(lengths)
    x = torch.randn(*mask.shape, 5, generator=torch.Generator().manual_seed(seed))
    values, places = masked_maximum(x, mask)
    for row, length in enumerate(lengths):
        if length:
            np.testing.assert_array_equal(values[row], x[row, :length].numpy().max(0))
            np.testing.assert_array_equal(places[row], x[row, :length].numpy().argmax(0))
        else:
            assert not values[row].any() and (places[row] == -1).all()


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


def test_sparse_gradients_are_the_dense_ones():
    tokens, mask = batch([5, 9], 3)
    dense, sparse = tiny_sanet(1), tiny_sanet(1, sparse=True)
    for model in (dense, sparse):
        model(tokens, mask).logits.square().sum().backward()
    assert sparse.embedding.weight.grad.is_sparse
    torch.testing.assert_close(sparse.embedding.weight.grad.to_dense(), dense.embedding.weight.grad)


def test_a_given_embedding_keeps_its_width():
    tokens, mask = batch([3, 2], 0)
    model = SANet(SANetConfig(**TINY), WORDS, 3, torch.randn(WORDS, 9))
    assert model.projection.in_features == 9 and model(tokens, mask).logits.shape == (2, 3)
    with pytest.raises(ValueError, match=r"shape \(3, 6\); 12 words need \(12, width\)"):
        SANet(SANetConfig(**TINY), WORDS, 3, torch.zeros(3, 6))
