"""Rank correlation: as scipy computes it, ties included, and NaN where there is no order."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from course_lib.metrics import rank_correlation

PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=20)


@given(PAIRS)
def test_a_rank_correlation_is_scipys_with_ties_too(pairs):
    first, second = (torch.tensor(values).float() for values in zip(*pairs))
    found = rank_correlation(first, second)
    if len(first.unique()) == 1 or len(second.unique()) == 1:
        assert found.isnan()
    else:
        assert found.item() == pytest.approx(spearmanr(first, second).statistic, abs=1e-9)


def test_rows_are_compared_with_rows_and_a_value_that_is_not_finite_gives_nan():
    rows = torch.tensor([[1.0, 5.0, 9.0], [9.0, 5.0, 1.0], [1.0, torch.inf, 2.0]])
    found = rank_correlation(rows, torch.tensor([2.0, 3.0, 4.0]))
    assert found[:2].tolist() == [1, -1] and found[2].isnan()
