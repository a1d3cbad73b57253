"""Fast forms of what the models write plainly; tests show that each equals its plain form, dropout
in distribution.

Nothing here is needed to understand a model. Each form takes at most three quarters of the plain
one's time at the lessons' sizes, forward and backward on one thread, except ``fused_attention``: it
saves memory, and time for long documents only. ``benchmarks/`` times whole training steps.
"""

from collections import namedtuple
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

# gradients times the derivatives of tanh and σ, from their outputs
tanh_slope, sigmoid_slope = torch.ops.aten.tanh_backward, torch.ops.aten.sigmoid_backward
SHORT = 128  # up to so many words a CPU is faster if it does store SANet's weights
WEIGHTS = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


def packed_gru(gru: nn.GRU, x: Tensor, mask: Tensor) -> Tensor:
    """``BidirectionalGRU`` over the real places only, all sequences at once.

    ``x`` ``(n, length, inputs)``, ``mask`` ``(n, length)`` → ``(n, length, 2 · hidden)``.
    """
    order = mask.sum(1).argsort(descending=True, stable=True)
    row, column = mask[order].nonzero(as_tuple=True)
    step = (mask[order].cumsum(1) - 1)[row, column]  # its rank among its row's real places
    place = (order[row] * mask.shape[1] + column)[step.argsort(stable=True)]  # the packed order
    batch_sizes = step.bincount().tolist()  # rows a step; a₁a₂a₃, b₁b₂ → a₁b₁a₂b₂a₃ and [2, 2, 1]
    weights = [getattr(gru, name) for name in WEIGHTS]
    reverse_weights = [getattr(gru, name + "_reverse") for name in WEIGHTS]
    packed = x.reshape(-1, x.shape[-1]).index_select(0, place).to(weights[0].dtype)
    with torch.autocast(packed.device.type, enabled=False):  # PackedGRU has one dtype
        forward = PackedGRU.apply(packed, *weights, batch_sizes, False)
        backward = PackedGRU.apply(packed, *reverse_weights, batch_sizes, True)
    h = torch.cat([forward, backward], dim=1)
    out = h.new_zeros(mask.numel(), h.shape[-1]).index_copy_(0, place, h)
    return out.view(*mask.shape, h.shape[-1])


# a step's rows: from_h is the three blocks that use W_h, old and new are states, d_ is a gradient
ForwardStep = namedtuple("ForwardStep", "from_h r_and_z r z wh_n x_n n old new")
BackwardStep = namedtuple("BackwardStep", "d_new d_new_per_block d_blocks d_from_h z d_old")


class PackedGRU(torch.autograd.Function):
    """``nn.GRU`` in one direction over packed sequences, with its backward pass written out.

    Autograd would keep about ten nodes per step and add up the weights' gradients step by step.
    Here the loop contains only what depends on the previous step; everything else, including the
    weights' gradients, is one product over all steps. A step's values lie side by side in four
    blocks: n's W_h h + b, r, z and n's W_x x + b. The first three use W_h, the last three W_x,
    so both are slices.
    """

    @staticmethod
    def forward(ctx, x, w_x, w_h, b_x, b_h, batch_sizes, reverse):  # noqa: ANN001, ANN205
        """``x`` ``(all steps, inputs)`` packed → hidden states ``(all steps, hidden)``."""
        hidden = w_h.shape[1]
        w_h, b_h = w_h.roll(hidden, 0), b_h.roll(hidden, 0)  # PyTorch's r, z, n as n, r, z
        blocks = x.new_empty(len(x), 4 * hidden)
        wh_n, r, z, x_n = blocks.split(hidden, 1)
        wh_n[:] = b_h[:hidden]
        from_x = blocks[:, hidden:]
        torch.addmm(b_x + nn.functional.pad(b_h[hidden:], (0, hidden)), x, w_x.T, out=from_x)
        n, new, old = x.new_empty(3, len(x), hidden)  # old: the state before
        old.zero_()
        from_h, r_and_z = blocks[:, : 3 * hidden], blocks[:, hidden : 3 * hidden]
        whole = ForwardStep(from_h, r_and_z, r, z, wh_n, x_n, n, old, new)
        before = new[:0]  # no step yet
        for step in map(ForwardStep._make, _by_step(whole, batch_sizes, reverse)):
            alive = min(len(before), len(step.old))  # the others start here with a zero state
            step.old[:alive] = before[:alive]
            step.from_h.addmm_(step.old, w_h.T)
            step.r_and_z.sigmoid_()
            torch.addcmul(step.x_n, step.r, step.wh_n, out=step.n).tanh_()  # tanh(x_n + r ∘ wh_n)
            before = torch.lerp(step.n, step.old, step.z, out=step.new)  # (1 − z) n + z h
        ctx.save_for_backward(x, w_x, w_h, blocks, n, old)
        ctx.order = batch_sizes, reverse
        return new

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):  # noqa: ANN001, ANN205
        """Gradients for the input and the four weights."""
        x, w_x, w_h, blocks, n, old = ctx.saved_tensors
        batch_sizes, reverse = ctx.order
        hidden = w_h.shape[1]
        wh_n, r, z, _ = blocks.split(hidden, 1)
        slopes = torch.empty_like(blocks).unflatten(1, (4, hidden))  # ∂h / ∂ each block
        s_wh_n, s_r, s_z, s_x_n = slopes.unbind(1)
        tanh_slope(1 - z, n, grad_input=s_x_n)  # (1 − z) (1 − n²)
        torch.mul(s_x_n, r, out=s_wh_n)
        sigmoid_slope(s_x_n * wh_n, r, grad_input=s_r)  # s_x_n · wh_n · r (1 − r)
        sigmoid_slope(old - n, z, grad_input=s_z)  # (h_old − n) z (1 − z)
        d_new = grad.clone(memory_format=torch.contiguous_format)
        d_old = torch.empty_like(d_new)  # what flows to earlier states
        d_blocks = slopes.flatten(1)  # the same memory, which the loop multiplies by d_new
        d_from_h, d_from_x = d_blocks[:, : 3 * hidden], d_blocks[:, hidden:]
        whole = BackwardStep(d_new, d_new.unsqueeze(1), slopes, d_from_h, z, d_old)
        carried = d_old[:0]
        for step in map(BackwardStep._make, _by_step(whole, batch_sizes, not reverse)):
            alive = min(len(carried), len(step.d_new))
            step.d_new[:alive] += carried[:alive]
            step.d_blocks.mul_(step.d_new_per_block)
            carried = torch.mul(step.d_new, step.z, out=step.d_old).addmm_(step.d_from_h, w_h)
        d_b = d_blocks.sum(0)
        return (
            d_from_x @ w_x if ctx.needs_input_grad[0] else None,  # frozen word vectors need none
            d_from_x.T @ x,
            (d_from_h.T @ old).roll(-hidden, 0),
            d_b[hidden:],
            d_b[: 3 * hidden].roll(-hidden, 0),
            None,
            None,
        )


def _by_step(
    whole: tuple[Tensor, ...], batch_sizes: list[int], reverse: bool
) -> Iterator[tuple[Tensor, ...]]:
    """The rows of each step, from every tensor at once, in the order the direction visits them."""
    steps = list(zip(*(tensor.split(batch_sizes) for tensor in whole), strict=True))
    return reversed(steps) if reverse else iter(steps)


def lstm_over_padding(
    forwards: nn.LSTM, backwards: nn.LSTM, x: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """``LSTMLayer`` for rows of different lengths, real entries first; each as if alone.

    ``x`` ``(n, length, inputs + 1)``, its last feature being 1. Each direction reads the padding
    first. Padding is zero, and an LSTM without biases that reads zeros stays at zero. On a CPU this
    is faster than packed sequences, see ``benchmarks/``.
    """
    x = x.masked_fill(~mask.unsqueeze(2), 0)
    padding = mask.shape[1] - mask.sum(1, keepdim=True)
    right, (right_h, right_c) = forwards(_rolled(x, padding))
    left, (left_h, left_c) = backwards(x.flip(1))
    h = torch.cat([_rolled(right, -padding), left.flip(1)], 2)
    return h, torch.cat([right_h[0], left_h[0]], 1), torch.cat([right_c[0], left_c[0]], 1)


def _rolled(x: Tensor, shift: Tensor) -> Tensor:
    """Each row of ``x`` ``(n, length, features)`` rolled forward by its ``shift`` ``(n, 1)``."""
    rows, length, _ = x.shape
    place = (torch.arange(length, device=x.device) - shift) % length
    place = place + length * torch.arange(rows, device=x.device).unsqueeze(1)
    return x.flatten(0, 1).index_select(0, place.flatten()).view_as(x)


def at_real_places(function: Callable[[Tensor], Tensor], h: Tensor, mask: Tensor) -> Tensor:
    """``function(h)`` where the mask is True and 0 elsewhere, without computing the padding.

    ``h`` ``(n, length, features)``, ``mask`` ``(n, length)`` → ``(n, length, outputs)``.
    """
    real = mask.flatten().nonzero().squeeze(1)
    values = function(h.flatten(0, 1).index_select(0, real))
    out = values.new_zeros(mask.numel(), values.shape[1]).index_copy_(0, real, values)
    return out.view(*mask.shape, values.shape[1])


def fused_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float) -> Tensor:
    """``masked_softmax(scale · q kᵀ) v`` between real words, 0 on padding, storing no weights.

    ``q``, ``k``, ``v`` ``(batch, length, hidden)``, ``mask`` ``(batch, length)`` → as ``v``.
    """
    attendable = mask | ~mask.any(1, keepdim=True)  # a text without words: all, not 0 / 0
    q, k, v = (part.unsqueeze(1) for part in (q, k.to(q.dtype), v))
    attended = nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=attendable[:, None, None, :], scale=scale
    )
    return attended.squeeze(1) * mask.unsqueeze(2)


def bit_cut_dropout(x: Tensor, rate: float) -> Tensor:
    """``nn.functional.dropout`` on a CPU, its mask drawn four numbers at a time; 0 < ``rate`` < 1.

    PyTorch draws a random number for each entry there, which costs a fifth of a training step. We
    cut 64 random bits into four numbers of 16, so the rate is exact to 2⁻¹⁶.
    """
    draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    numbers = draws.view(torch.int16)[: x.numel()].view(x.shape)
    keep = numbers >= min(round(rate * 2**16), 2**16 - 1) - 2**15
    # PyTorch turns bytes into bfloat16 eight times as fast as it does booleans
    return x * keep.view(torch.uint8).to(x.dtype) / (1 - rate)
