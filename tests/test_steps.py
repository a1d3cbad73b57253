"""Figures of attention in steps against loops in NumPy, and what each of them can be fooled by."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import every_device, prefix_mask, row_lengths, seeds

from course_lib.metrics.steps import describe_steps, step_cosine, step_overlap, summary_share
from course_lib.models.layers import masked_softmax, visible

lengths = row_lengths(longest=6)


def steps_of(lengths, steps, seed=0, width=None):
    """Random attention in steps."""
    mask = prefix_mask(lengths, width)
    seen = visible(mask, steps)
    scores = 2 * torch.randn(seen.shape, generator=torch.Generator().manual_seed(seed))
    return masked_softmax(scores, seen), mask


def pairs(A):
    return [(A[i], A[j]) for i in range(len(A)) for j in range(len(A)) if i != j]


@every_device
@settings(max_examples=40)
@given(lengths=lengths, steps=st.integers(1, 4), seed=seeds)
def test_figures_are_their_formulas(device, lengths, steps, seed):
    attention, mask = (part.to(device) for part in steps_of(lengths, steps, seed))
    overlap, cosine = step_overlap(attention, mask), step_cosine(attention, mask)
    share = summary_share(attention, mask)
    for row, A in enumerate(attention.cpu().double().numpy()):
        products = [a @ b for a, b in pairs(A)] or [0]
        norms = [np.linalg.norm(a) * np.linalg.norm(b) or 1 for a, b in pairs(A)] or [1]
        assert overlap[row].item() == pytest.approx(np.mean(products), abs=1e-6)
        assert cosine[row].item() == pytest.approx(np.mean(np.divide(products, norms)), abs=1e-6)
        for step in range(steps):
            expected = A[step, mask.shape[1] :].sum()
            assert share[row, step].item() == pytest.approx(expected, abs=1e-6)
    assert not share[:, 0].any()


@settings(max_examples=40)
@given(lengths=lengths, steps=st.integers(2, 4), seed=seeds)
def test_padding_and_what_stands_on_it_change_nothing(lengths, steps, seed):
    attention, mask = steps_of(lengths, steps, seed)
    words, others = attention.split([mask.shape[1], steps - 1], 2)
    wider = torch.cat([words, torch.full((*words.shape[:2], 3), 7.0), others], 2)
    wider = wider.masked_fill(~visible(torch.nn.functional.pad(mask, (0, 3)), steps), 7.0)
    found = describe_steps(wider, torch.nn.functional.pad(mask, (0, 3)))
    for name, values in describe_steps(attention, mask).items():
        torch.testing.assert_close(found[name], values, msg=name)


def test_a_single_step_is_not_described():
    assert describe_steps(*steps_of([3], 1)) == {}


@pytest.mark.parametrize("metric", [summary_share, step_overlap, step_cosine])
def test_a_mask_of_another_length_is_refused(metric):
    attention, mask = steps_of([3, 2], 3)
    says = r"shape \(2, 3, 5\) does not fit this batch, which needs \(2, 3, 4\)"
    with pytest.raises(ValueError, match=says):
        metric(attention, mask[:, :2])
