"""The gated recurrent unit: by the equations of the IMDb report, and as PyTorch computes it.

(1) r = σ(U_r x + W_r h + b_r)                 (3) ĥ = tanh(U_h x + W_h (r ∘ h) + b_h)
(2) z = σ(U_z x + W_z h + b_z)                 (4) h ← (1 − z) ∘ h + z ∘ ĥ

``nn.GRU`` has r ∘ (W_h h + c_h) in (3).

Example: ``h = BidirectionalGRU(inputs=50, hidden=100)(x, mask)``.
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_lib.models import fast


class GRUCell(nn.Module):
    """One step of a GRU, equation by equation (IMDb report, whose z = 1 takes the new state).

    ``reset_after=False`` is that report's cell: the reset gate acts on the state before the
    recurrent product. ``reset_after=True`` is what ``nn.GRU`` computes (with z for its 1 − z):
    the gate acts after that product, and W_r, W_z and W_h have biases of their own.
    """

    def __init__(self, inputs: int, hidden: int, reset_after: bool = False) -> None:
        super().__init__()
        self.reset_after = reset_after
        self.u = nn.Linear(inputs, 3 * hidden)  # U_r, U_z, U_h and their biases
        self.w = nn.Linear(hidden, 3 * hidden, bias=reset_after)  # W_r, W_z, W_h

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        """Input ``(batch, inputs)``, state ``(batch, hidden)`` → next state ``(batch, hidden)``."""
        ux_r, ux_z, ux_h = self.u(x).chunk(3, dim=-1)
        wh_r, wh_z, wh_h = self.w(h).chunk(3, dim=-1)
        r = torch.sigmoid(ux_r + wh_r)  # (1) how much of the past the candidate sees
        z = torch.sigmoid(ux_z + wh_z)  # (2) how much of the candidate is taken
        if self.reset_after:
            candidate = torch.tanh(ux_h + r * wh_h)  # (3) as PyTorch has it
        else:
            _, _, w_h = self.w.weight.chunk(3)
            candidate = torch.tanh(ux_h + (r * h) @ w_h.T)  # (3)
        return (1 - z) * h + z * candidate  # (4)

    @classmethod
    def from_torch(cls, gru: nn.GRU) -> "GRUCell":
        """The reset-after cell with the weights of a one-layer, one-directional ``nn.GRU``.

        PyTorch orders its gates r, z, n and keeps the old state where z = 1. Our cell takes
        the new state there. Since 1 − σ(a) = σ(−a), the weights for z change sign.
        """
        cell = cls(gru.input_size, gru.hidden_size, reset_after=True)
        sign = gru.bias_ih_l0.new_tensor([1, -1, 1]).repeat_interleave(gru.hidden_size)
        with torch.no_grad():
            cell.to(sign)
            cell.u.weight.copy_(gru.weight_ih_l0 * sign.unsqueeze(1))
            cell.u.bias.copy_(gru.bias_ih_l0 * sign)
            cell.w.weight.copy_(gru.weight_hh_l0 * sign.unsqueeze(1))
            cell.w.bias.copy_(gru.bias_hh_l0 * sign)
        return cell


class BidirectionalGRU(nn.Module):
    """Hidden states of both directions, [→h; ←h], over the real entries only; the cell is PyTorch's
    (``reset_after=True`` above)."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.gru = nn.GRU(inputs, hidden, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """``x`` ``(n, length, inputs)``, ``mask`` ``(n, length)`` → states
        ``(n, length, 2 · hidden)``, zero on padding, which may stand anywhere."""
        if not x.is_cuda or not len(x):  # PyTorch packs no batch without rows
            return fast.packed_gru(self.gru, x, mask)  # the same result, faster on a CPU
        order = mask.int().argsort(dim=1, descending=True, stable=True)  # real entries first
        lengths = mask.sum(1).clamp(min=1).cpu()  # a row without entries reads one zero
        x = x.masked_fill(~mask.unsqueeze(2), 0).take_along_dim(order.unsqueeze(2), 1)
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        h, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True, total_length=x.shape[1])
        h = h.take_along_dim(order.argsort(1).unsqueeze(2), 1)  # each back to its place
        return h.masked_fill(~mask.unsqueeze(2), 0)
