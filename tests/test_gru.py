"""The GRU by its equations, as PyTorch's, and over ragged batches row by row."""

from copy import deepcopy

import by_numpy
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import every_device, prefix_mask, row_lengths, seeds
from torch import nn

from course_lib.models.gru import BidirectionalGRU, GRUCell

sizes = st.integers(1, 5)


def numpy_step(cell, x, h):
    """The report's cell: the reset gate acts before the product, z = 1 takes the new state."""
    weights = (cell.u.weight, cell.u.bias, cell.w.weight)
    (u_r, u_z, u_h), (b_r, b_z, b_h), (w_r, w_z, w_h) = (
        np.split(value.detach().numpy(), 3) for value in weights
    )
    r = by_numpy.sigmoid(x @ u_r.T + h @ w_r.T + b_r)
    z = by_numpy.sigmoid(x @ u_z.T + h @ w_z.T + b_z)
    candidate = np.tanh(x @ u_h.T + (r * h) @ w_h.T + b_h)
    return (1 - z) * h + z * candidate


@settings(max_examples=30)
@given(batch=sizes, inputs=sizes, hidden=sizes, seed=seeds)
def test_the_cell_is_the_reports_equations(batch, inputs, hidden, seed):
    torch.manual_seed(seed)
    cell = GRUCell(inputs, hidden).double()
    x, h = torch.randn(batch, inputs).double(), torch.randn(batch, hidden).double()
    expected = numpy_step(cell, x.numpy(), h.numpy())
    np.testing.assert_allclose(cell(x, h).detach().numpy(), expected, atol=1e-12)


@every_device
@settings(max_examples=20)
@given(batch=sizes, length=sizes, inputs=sizes, hidden=sizes, seed=seeds)
def test_reset_after_is_what_torch_computes(device, batch, length, inputs, hidden, seed):
    torch.manual_seed(seed)
    gru = nn.GRU(inputs, hidden, batch_first=True).to(device)
    cell = GRUCell.from_torch(gru)
    x, h = torch.randn(batch, length, inputs, device=device), torch.zeros(batch, hidden).to(device)
    with torch.backends.cudnn.flags(enabled=False):
        states = gru(x)[0]
    for step in range(length):
        h = cell(x[:, step], h)
        torch.testing.assert_close(h, states[:, step], atol=1e-6, rtol=0)


def row_by_row(gru, x, mask):
    """``nn.GRU`` on each row by itself, without its padding; zeros elsewhere."""
    rows = []
    for row, real in zip(x, mask, strict=True):
        h = row.new_zeros(len(real), 2 * gru.hidden_size)
        if real.any():
            h = h.index_put((real.nonzero().squeeze(1),), gru(row[None, real])[0][0])
        rows.append(h)
    return torch.stack(rows)


@pytest.fixture(scope="module", params=["the CPU's way", "a GPU's way"])
def way(request):
    """The GRU as it is computed here, then by PyTorch's packed sequences."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "a GPU's way":
            patch.setattr(torch.Tensor, "is_cuda", True)
        yield


@every_device
@settings(max_examples=30)
@given(lengths=row_lengths(longest=6, most_rows=5), inputs=sizes, hidden=sizes, seed=seeds)
def test_states_and_gradients_are_those_of_nn_gru_on_each_row(
    way, device, lengths, inputs, hidden, seed
):
    torch.manual_seed(seed)
    ours = BidirectionalGRU(inputs, hidden).double().to(device)
    reference = deepcopy(ours.gru)
    mask = prefix_mask(lengths)
    mask = mask[:, torch.randperm(mask.shape[1])].to(device)  # padding anywhere
    x = torch.randn(*mask.shape, inputs, dtype=torch.float64, device=device)
    x_ours = x.masked_fill(~mask.unsqueeze(-1), torch.nan).requires_grad_()  # it can hold anything
    x_reference = x.clone().requires_grad_()
    found = ours(x_ours, mask)
    expected = row_by_row(reference, x_reference, mask)
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=0)
    assert found[~mask].eq(0).all()

    weight = torch.randn_like(found)
    (found * weight).sum().backward()
    if any(lengths):
        (expected * weight).sum().backward()
    x_expected = torch.zeros_like(x) if x_reference.grad is None else x_reference.grad
    torch.testing.assert_close(x_ours.grad, x_expected, atol=1e-9, rtol=0)
    for (name, value), other in zip(
        ours.gru.named_parameters(), reference.parameters(), strict=True
    ):
        expected_grad = torch.zeros_like(value) if other.grad is None else other.grad
        torch.testing.assert_close(value.grad, expected_grad, atol=1e-9, rtol=0, msg=name)
