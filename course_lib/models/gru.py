"""The gated recurrent unit: by the equations of the seed report, and as PyTorch computes it."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.utils.rnn import PackedSequence


class GRUCell(nn.Module):
    """One step of a GRU, equation by equation (HAN report; PAPERS: z = 1 takes the new state).

    ``reset_after=False`` is the report's cell: the reset gate acts on the state before the
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

        PyTorch orders its gates r, z, n and keeps the old state where z = 1; ours takes the new
        one, and since 1 − σ(a) = σ(−a), its weights for z change sign.
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
    """Hidden states of both directions, [→h; ←h], that padding can neither enter nor change.

    Only real steps are computed, all sequences side by side. On a GPU ``nn.GRU`` does it on packed
    sequences; on a CPU ``PackedGRU`` below does, which is several times faster there.
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.gru = nn.GRU(inputs, hidden, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """``x`` ``(n, length, inputs)``, ``mask`` ``(n, length)`` with the real entries first →
        ``(n, length, 2 · hidden)``, zero on padding."""
        lengths = mask.sum(1)
        order = lengths.argsort(descending=True, stable=True)
        step, row = mask[order].T.nonzero(as_tuple=True)  # time-major: the packed order
        place = order[row] * mask.shape[1] + step
        active = mask.sum(0)  # sequences that still run at each step
        active = active[active > 0].cpu()
        packed = x.reshape(-1, x.shape[-1]).index_select(0, place)
        h = self._run(packed, active)
        out = h.new_zeros(mask.numel(), h.shape[-1]).index_copy_(0, place, h)
        return out.view(*mask.shape, h.shape[-1])

    def _run(self, packed: Tensor, active: Tensor) -> Tensor:
        if packed.is_cuda and len(packed):
            return self.gru(PackedSequence(packed, active))[0].data
        steps = active.tolist()
        weights = [getattr(self.gru, name) for name in WEIGHTS]
        reverse_weights = [getattr(self.gru, name + "_reverse") for name in WEIGHTS]
        packed = packed.to(weights[0].dtype)
        with torch.autocast(packed.device.type, enabled=False):  # PackedGRU has one dtype
            forward = PackedGRU.apply(packed, *weights, steps, False)
            backward = PackedGRU.apply(packed, *reverse_weights, steps, True)
        return torch.cat([forward, backward], dim=1)


tanh_slope, sigmoid_slope = torch.ops.aten.tanh_backward, torch.ops.aten.sigmoid_backward
WEIGHTS = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


class PackedGRU(torch.autograd.Function):
    """``nn.GRU`` in one direction over packed sequences, with its backward pass written out.

    Autograd would keep some ten nodes a step and add up the weights' gradients step by step; here
    the loop holds only what truly depends on the step before, and everything else, the weights'
    gradients included, is one product over all steps. What a step computes lies side by side in
    four blocks, n's W h + b, r, z and n's U x + b, so that what W h enters (the first three) and
    what U x enters (the last three) are both slices.
    """

    @staticmethod
    def forward(ctx, x, w_x, w_h, b_x, b_h, active, reverse):  # noqa: ANN001, ANN205
        """``x`` ``(all steps, inputs)`` packed → hidden states ``(all steps, hidden)``."""
        hidden = w_h.shape[1]
        w_h, b_h = _n_first(w_h), _n_first(b_h)
        blocks = x.new_empty(len(x), 4 * hidden)
        blocks[:, :hidden] = b_h[:hidden]
        from_x = blocks[:, hidden:]
        torch.addmm(b_x + nn.functional.pad(b_h[hidden:], (0, hidden)), x, w_x.T, out=from_x)
        wh_n, r, z, x_n = blocks.split(hidden, 1)
        n, h, h_old = x.new_empty(3, len(x), hidden)
        h_old.zero_()
        columns = (blocks[:, : 3 * hidden], blocks[:, hidden : 3 * hidden], r, z, wh_n, x_n, n,
                   h_old, h)  # fmt: skip
        before = h[:0]
        for wh_, rz_, r_, z_, wh_n_, x_n_, n_, old_, h_ in _by_step(columns, active, reverse):
            alive = min(len(before), len(old_))  # the others start here with a zero state
            old_[:alive] = before[:alive]
            wh_.addmm_(old_, w_h.T)
            rz_.sigmoid_()
            torch.addcmul(x_n_, r_, wh_n_, out=n_).tanh_()
            before = torch.lerp(n_, old_, z_, out=h_)  # (1 − z) n + z h
        ctx.save_for_backward(x, w_x, w_h, blocks, n, h_old)
        ctx.order = active, reverse
        return h

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):  # noqa: ANN001, ANN205
        """Gradients for the input and the four weights."""
        x, w_x, w_h, blocks, n, h_old = ctx.saved_tensors
        active, reverse = ctx.order
        hidden = w_h.shape[1]
        wh_n, r, z, _ = blocks.split(hidden, 1)
        slopes = torch.empty_like(blocks).unflatten(1, (4, hidden))  # ∂h / ∂ each block
        s_wh_n, s_r, s_z, s_n = slopes.unbind(1)
        tanh_slope(1 - z, n, grad_input=s_n)
        torch.mul(s_n, r, out=s_wh_n)
        sigmoid_slope(s_n * wh_n, r, grad_input=s_r)
        sigmoid_slope(h_old - n, z, grad_input=s_z)
        d_h = grad.clone(memory_format=torch.contiguous_format)
        after = torch.empty_like(d_h)  # what flows on to the state before
        columns = (d_h, d_h.unsqueeze(1), slopes, slopes.flatten(1)[:, : 3 * hidden], z, after)
        carried = after[:0]
        for d_h_, d_h4, d_blocks, d_wh_, z_, after_ in _by_step(columns, active, not reverse):
            alive = min(len(carried), len(d_h_))
            d_h_[:alive] += carried[:alive]
            d_blocks.mul_(d_h4)  # from here on these are gradients
            carried = torch.mul(d_h_, z_, out=after_).addmm_(d_wh_, w_h)
        d_blocks = slopes.flatten(1)
        d_wh, d_wx = d_blocks[:, : 3 * hidden], d_blocks[:, hidden:]
        d_b = d_blocks.sum(0)
        return (d_wx @ w_x, d_wx.T @ x, _n_last(d_wh.T @ h_old), d_b[hidden:],
                _n_last(d_b[: 3 * hidden]), None, None)  # fmt: skip


def _n_first(weight: Tensor) -> Tensor:
    """PyTorch's order of the gates, r, z, n, turned into n, r, z."""
    return weight.roll(len(weight) // 3, 0)


def _n_last(weight: Tensor) -> Tensor:
    return weight.roll(-(len(weight) // 3), 0)


def _by_step(
    columns: tuple[Tensor, ...], active: list[int], reverse: bool
) -> Iterator[tuple[Tensor, ...]]:
    """The rows of each step, from every tensor at once, in the order the direction visits them."""
    steps = list(zip(*(column.split(active) for column in columns), strict=True))
    return reversed(steps) if reverse else iter(steps)
