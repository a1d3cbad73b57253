"""Gini, diagonality and entropy against closed forms and independent formulas."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import every_device, prefix_mask, row_lengths, seeds

from course_lib.metrics.attention import (
    describe_attention,
    diagonality,
    gini,
    paper_figures,
    row_gini,
    uniform_diagonality,
)
from course_lib.models.layers import masked_softmax

METRICS = [
    gini,
    row_gini,
    lambda attention, mask: diagonality(attention, mask, 1),
    lambda attention, mask: gini(attention, mask, normalise=True),
]
lengths = row_lengths(longest=7)


def entropy(attention, mask):
    return describe_attention(attention, mask)["entropy"]


def attention_of(lengths, seed=0, sharpness=2.0, width=None):
    """Random attention over documents of these lengths, padded."""
    mask = prefix_mask(lengths, width)
    source = torch.Generator().manual_seed(seed)
    scores = sharpness * torch.randn(*mask.shape, mask.shape[1], generator=source)
    return masked_softmax(scores, mask.unsqueeze(1)) * mask.unsqueeze(2), mask


def blocks(attention, mask):
    """Each document's own n × n block, in NumPy and double precision."""
    return [a[real][:, real].double().numpy() for a, real in zip(attention, mask, strict=True)]


def gini_by_differences(weights):
    """Mean absolute difference of all pairs over twice the mean, Gini's own definition."""
    w = weights.ravel()
    return np.abs(w[:, None] - w).mean() / (2 * w.mean()) if w.size else 0.0


def entropy_by_logs(block):
    n = len(block)
    if n < 2:
        return 0.0
    return float(np.mean([-sum(p * np.log(p) for p in row if p > 0) for row in block]) / np.log(n))


def diagonality_by_loop(block, bandwidth):
    n = len(block)
    near = sum(block[i, j] for i in range(n) for j in range(n) if abs(i - j) <= bandwidth)
    return near / block.sum() if n else 0.0


@settings(max_examples=60)
@given(lengths=lengths, seed=seeds, sharpness=st.sampled_from([0.0, 1.0, 200.0]))
def test_all_agree_with_independent_formulas(lengths, seed, sharpness):
    """Sharpness 0 makes attention uniform, and 200 gives nearly all weight to one token of each."""
    attention, mask = attention_of(lengths, seed, sharpness)
    attention = attention.double()
    found = blocks(attention, mask)
    for metric, formula in [
        (gini, gini_by_differences),
        (row_gini, lambda b: np.mean([gini_by_differences(row) for row in b]) if len(b) else 0),
        (entropy, entropy_by_logs),
        (METRICS[-1], lambda b: gini_by_differences(b) * len(b) / max(1, len(b) - 1)),
        *[
            (
                lambda a, m, b=b: diagonality(a, m, b),
                lambda block, b=b: diagonality_by_loop(block, b),
            )
            for b in (0, 1, 3, 20)
        ],
    ]:
        values = metric(attention, mask)
        assert values.shape == (len(lengths),) and values.ge(0).all() and values.le(1 + 1e-6).all()
        assert np.allclose(values, [formula(block) for block in found], atol=1e-12)


def test_the_figures_of_the_papers_table_are_the_gini_and_five_bands():
    attention, mask = attention_of([6, 20])
    found = paper_figures(attention, mask)
    assert list(found) == ["gini", *(f"diagonality {words}" for words in range(1, 6))]
    assert torch.equal(found["gini"], gini(attention, mask))
    for words in range(1, 6):
        expected = diagonality(attention, mask, words)
        torch.testing.assert_close(found[f"diagonality {words}"], expected)


@settings(max_examples=40)
@given(lengths=lengths, seed=seeds, extra=st.integers(1, 4))
def test_padding_changes_nothing(lengths, seed, extra):
    attention, mask = attention_of(lengths, seed)
    padding = torch.nn.functional.pad
    wide, wide_mask = padding(attention, (0, extra, 0, extra), value=0.7), padding(mask, (0, extra))
    for metric in METRICS:
        assert torch.allclose(metric(wide, wide_mask), metric(attention, mask), atol=1e-6)


@settings(max_examples=30)
@given(lengths=lengths, bandwidth=st.integers(0, 9))
def test_the_uniform_line_is_exact(lengths, bandwidth):
    attention, mask = attention_of(lengths, sharpness=0.0)
    expected = uniform_diagonality(torch.tensor(lengths), bandwidth)
    assert torch.allclose(diagonality(attention, mask, bandwidth), expected, atol=1e-6)


def test_real_tokens_need_not_come_first():
    attention, mask = attention_of([3, 4], width=4)
    holes = torch.tensor([[True, False, True, True, False], [True, True, False, True, True]])
    scattered = torch.zeros(2, 5, 5)
    for row in range(2):
        place = holes[row].nonzero().squeeze(1)
        n = len(place)
        scattered[row, place[:, None], place] = attention[row, :n, :n]
    for metric in METRICS:
        assert torch.allclose(metric(scattered, holes), metric(attention, mask), atol=1e-6)


def test_rows_may_be_queries_of_their_own():
    mask = prefix_mask([3, 5, 0])
    scores = torch.randn(3, 2, 5, generator=torch.Generator().manual_seed(0))
    alpha = masked_softmax(scores, mask.unsqueeze(1))
    rows = torch.tensor([[True, True], [True, False], [False, False]])
    expected = [
        gini_by_differences(alpha[0, :, :3].numpy()),
        gini_by_differences(alpha[1, :1].numpy()),
        0,
    ]
    assert np.allclose(gini(alpha, mask, row_mask=rows), expected, atol=1e-6)
    for metric in (gini, row_gini, entropy):
        with pytest.raises(ValueError, match=r"\(3, 2, 5\) is not square: pass row_mask \(3, 2\)"):
            metric(alpha, mask)
    with pytest.raises(ValueError, match=r"needs a mask \(3, 5\), got \(3, 4\)"):
        gini(alpha, mask[:, :4])
    with pytest.raises(ValueError, match="bandwidth takes a whole number from 0, got -1"):
        diagonality(alpha, mask, -1)


@every_device
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions_and_devices(dtype, device):
    attention, mask = attention_of([60, 200])
    given_ = attention.to(device, dtype), mask.to(device)
    rounded = given_[0].cpu().float()
    for metric in METRICS:
        values = metric(*given_)
        assert values.device.type == device
        assert values.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        assert torch.allclose(values.cpu().float(), metric(rounded, mask), atol=1e-4)
