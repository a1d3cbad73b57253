"""Softmax, poolings, bilinear attention, positions and dropout against NumPy and algebra."""

import by_numpy
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from strategies import every_device, prefix_mask

from course_lib.metrics.invariants import check_attention
from course_lib.models.layers import (
    AttentionPooling,
    Dropout,
    LockedDropout,
    masked_softmax,
    positions,
)

shapes = hnp.array_shapes(min_dims=1, max_dims=3, max_side=5)


def numpy_softmax(scores, mask):
    """One row: the formula over the real entries, 0 elsewhere."""
    weights = np.zeros(len(scores))
    weights[mask] = by_numpy.softmax(scores[mask]) if mask.any() else 0
    return weights


@every_device
@settings(max_examples=60)
@given(data=st.data(), shape=shapes)
def test_masked_softmax_is_the_softmax_of_the_real_entries(device, data, shape):
    dim = data.draw(st.integers(-len(shape), len(shape) - 1), "dim")
    scores = data.draw(hnp.arrays(np.float64, shape, elements=st.floats(-50, 50)), "scores")
    mask = data.draw(hnp.arrays(bool, shape), "mask")
    expected = np.empty(shape)
    for row in np.ndindex(*np.delete(shape, dim)):
        place = list(row)
        place.insert(dim % len(shape), slice(None))
        expected[tuple(place)] = numpy_softmax(scores[tuple(place)], mask[tuple(place)])
    weights = masked_softmax(
        torch.from_numpy(scores).to(device), torch.from_numpy(mask).to(device), dim
    )
    np.testing.assert_allclose(weights.cpu().numpy(), expected, atol=1e-12)
    assert (weights.cpu().numpy()[~mask] == 0).all()


def test_masked_softmax_gives_padding_nothing_and_takes_nothing_from_it():
    scores, mask = torch.randn(2, 5), prefix_mask([3, 0], 5)
    junk = scores.masked_fill(~mask, torch.nan).requires_grad_()
    weights = masked_softmax(junk, mask)
    assert torch.equal(weights, masked_softmax(scores, mask)) and not weights[1].any()
    weights[0, 0].backward()
    assert not junk.grad[~mask].any() and junk.grad[0, :3].all()
    half = torch.randn(4, 1000, generator=torch.Generator().manual_seed(0)).bfloat16()
    all_real = torch.ones(4, 1000, dtype=torch.bool)
    assert masked_softmax(half, all_real).dtype == torch.float32
    check_attention(masked_softmax(half, all_real), all_real)  # in bfloat16 it would be off by 1 %


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scores", [[1e4, -1e4, 0], [1e4, 1e4, -1e4], [-1e4] * 3, [1e4] * 3])
def test_huge_scores_stay_finite(scores, dtype):
    scores = torch.tensor([scores], dtype=dtype, requires_grad=True)
    mask = torch.tensor([[True, True, False]])
    weights = masked_softmax(scores, mask)
    weights[0, 0].backward()
    check_attention(weights, mask)
    assert scores.grad.isfinite().all()
    expected = numpy_softmax(scores.detach().double().numpy()[0], mask.numpy()[0])
    np.testing.assert_allclose(weights.detach().numpy()[0], expected, atol=1e-6)


@pytest.mark.parametrize("width", [4, 100, 2000])
def test_scores_start_out_as_large_however_wide_the_attention_is(width):
    """|u| ≤ 1, so context vectors of unit variance would give scores of about the root of width."""
    torch.manual_seed(0)
    contexts = AttentionPooling(3, width, hops=400).contexts
    assert contexts.square().sum(1).mean().item() == pytest.approx(1, rel=0.2)


@pytest.mark.parametrize(("length", "width"), [(0, 4), (1, 1), (7, 2), (40, 9), (1000, 100)])
def test_positions_are_the_formula_entry_by_entry(length, width):
    found = positions(length, width)
    assert found.shape == (length, width) and found.dtype == torch.float32
    np.testing.assert_allclose(found.numpy(), by_numpy.positions(length, width), atol=1e-6)


@every_device
def test_locked_dropout_drops_features_of_whole_sequences_and_scales_up_the_others(device):
    torch.manual_seed(0)
    x = torch.rand(400, 6, 5, device=device) + 1
    dropped = LockedDropout(0.25)(x)
    share = dropped / x
    whole = share.eq(0).all(1) | share.sub(4 / 3).abs().lt(1e-5).all(1)
    assert whole.all()
    zero = dropped[:, 0].eq(0).float()
    assert abs(zero.mean() - 0.25) < 5 * (0.25 * 0.75 / 2000) ** 0.5
    assert zero.std(0).min() > 0 and zero.std(1).max() > 0  # neither by sequence nor by feature
    assert torch.equal(LockedDropout(0.25).eval()(x), x) and torch.equal(LockedDropout(0)(x), x)


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.5, 0.9])
def test_dropout_takes_its_share_and_keeps_the_mean(rate):
    torch.manual_seed(4)
    x = torch.full((401, 37, 7), 3.0, requires_grad=True)  # not a multiple of four
    y = Dropout(rate)(x)
    kept = y != 0
    error = (rate * (1 - rate) / x.numel()) ** 0.5
    assert kept.float().mean().item() == pytest.approx(1 - rate, abs=5 * error)
    torch.testing.assert_close(y[kept], torch.full_like(y[kept], 3 / (1 - rate)))
    neighbours = (kept[:, :, 1:] & kept[:, :, :-1]).float().mean().item()
    assert neighbours == pytest.approx((1 - rate) ** 2, abs=0.01)  # drawn independently
    y.sum().backward()
    torch.testing.assert_close(x.grad, y.detach() / 3)
    assert Dropout(rate)(x.bfloat16()).dtype == torch.bfloat16 and not Dropout(1.0)(x).any()
    assert Dropout(1 - 1e-6)(x).count_nonzero() < 20  # of 100,000
