"""The gated recurrent unit: by the equations of the IMDb report, and as PyTorch computes it."""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_lib.models import kernels


class GRUCell(nn.Module):
    """One step of a GRU, equation by equation (IMDb report; PAPERS: z = 1 takes the new state).

    ``reset_after=False`` is that report's cell: the reset gate acts on the state before the
    recurrent product. ``reset_after=True`` is what ``nn.GRU`` computes (with z for its 1 − z):
    the gate acts after that product, which then has a bias of its own.
    """

    def __init__(self, inputs: int, hidden: int, reset_after: bool = False) -> None:
        super().__init__()
        self.reset_after = reset_after
        self.u = nn.Linear(inputs, 3 * hidden)  # U_r, U_z, U_h and their biases
        self.w = nn.Linear(hidden, 3 * hidden, bias=reset_after)  # W_r, W_z, W_h

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        """Input ``(batch, inputs)``, state ``(batch, hidden)`` → next state ``(batch, hidden)``."""
        ux_r, ux_z, ux_h = self.u(x).chunk(3, dim=-1)
        if self.reset_after:
            wh_r, wh_z, wh_h = self.w(h).chunk(3, dim=-1)
        else:
            w_r, w_z, w_h = self.w.weight.chunk(3)
            wh_r, wh_z = h @ w_r.T, h @ w_z.T
        r = torch.sigmoid(ux_r + wh_r)  # how much of the past the candidate sees
        z = torch.sigmoid(ux_z + wh_z)  # how much of the candidate is taken
        candidate = torch.tanh(ux_h + (r * wh_h if self.reset_after else (r * h) @ w_h.T))
        return (1 - z) * h + z * candidate

    @classmethod
    def from_torch(cls, gru: nn.GRU) -> "GRUCell":
        """The reset-after cell with the weights of a one-layer, one-directional ``nn.GRU``.

        PyTorch orders its gates r, z, n and keeps the old state where z = 1. Our cell takes
        the new state there. Since 1 − σ(a) = σ(−a), the weights for z change sign.
        """
        cell = cls(gru.input_size, gru.hidden_size, reset_after=True)
        sign = torch.ones(3, 1)
        sign[1] = -1
        sign = sign.repeat_interleave(gru.hidden_size, 0).to(gru.weight_ih_l0)
        with torch.no_grad():
            cell.to(gru.weight_ih_l0)
            cell.u.weight.copy_(gru.weight_ih_l0 * sign)
            cell.u.bias.copy_(gru.bias_ih_l0 * sign.squeeze(1))
            cell.w.weight.copy_(gru.weight_hh_l0 * sign)
            cell.w.bias.copy_(gru.bias_hh_l0 * sign.squeeze(1))
        return cell


class BidirectionalGRU(nn.Module):
    """Hidden states of both directions, [→h; ←h]; padding has no effect on them.

    The cell is PyTorch's, with ``reset_after``. Only real steps are computed.
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.gru = nn.GRU(inputs, hidden, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """``x`` ``(n, length, inputs)``, ``mask`` ``(n, length)`` with the real entries first →
        ``(n, length, 2 · hidden)``, zero on padding."""
        if x.is_cuda and mask.any():
            return self.packed(x, mask)
        return kernels.packed_gru(self.gru, x, mask)  # the same result, faster on a CPU

    def packed(self, x: Tensor, mask: Tensor) -> Tensor:
        """``forward`` by PyTorch's packed sequences; it needs at least one of them."""
        padding = ~mask.unsqueeze(2)
        lengths = mask.sum(1).clamp(min=1).cpu()  # a row without entries reads one zero
        packed = pack_padded_sequence(
            x.masked_fill(padding, 0), lengths, batch_first=True, enforce_sorted=False
        )
        h, _ = pad_packed_sequence(self.gru(packed)[0], True, total_length=x.shape[1])
        return h.masked_fill(padding, 0)
