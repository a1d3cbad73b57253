"""Numbers that describe an attention matrix: how sparse and how near the diagonal it is.

Unless they say otherwise, all take ``attention`` ``(batch, N, N)``, where row i holds what token i
attends to, and ``mask`` ``(batch, N)``, True = real, and give one value in [0, 1] per document, 0
for an empty one. Only a document's own n × n block counts, so padding changes nothing. Where rows
are not tokens but queries (hops, blocks), ``gini`` takes ``(batch, rows, N)`` with a ``row_mask``
``(batch, rows)``. Example::

    attention = sanet(tokens, mask, return_attention=True).attention[:, 0]  # of the first block
    gini(attention, mask), diagonality(attention, mask, bandwidth=2)  # (batch,) each
"""

import torch
from torch import Tensor

BANDWIDTHS = (1, 2, 3, 4, 5)  # the paper's


def gini(
    attention: Tensor, mask: Tensor, normalise: bool = False, row_mask: Tensor | None = None
) -> Tensor:
    """Gini coefficient over all weights of each document, ``(batch,)``: 0 where all are equal.

    Rows sum to 1, so even one-hot rows reach only 1 − 1/n; ``normalise`` multiplies by n/(n − 1)
    (Letarte et al. 2018 leave open how they count; ours: matrix-wide, mean over documents).
    """
    weights, rows = _block(attention, mask, row_mask)
    value = _gini(weights.flatten(1), rows.sum(1) * mask.sum(1))
    return _normalised(value, mask) if normalise else value


def row_gini(attention: Tensor, mask: Tensor) -> Tensor:
    """Mean over a document's rows of each row's own Gini coefficient, ``(batch,)``."""
    weights, rows = _block(attention, mask, None)
    return _mean_of_rows(_gini(weights, mask.sum(1, keepdim=True)), rows)


def row_entropy(weights: Tensor, mask: Tensor) -> Tensor:
    """Entropy of each row divided by log n: ``weights`` ``(batch, rows, N)``, 0 on padding, and
    ``mask`` ``(batch, N)`` → ``(batch, rows)`` in [0, 1]."""
    most = mask.sum(1, keepdim=True).clamp(min=2).to(weights.dtype).log()  # one token: entropy 0
    return (torch.special.entr(weights).sum(-1) / most).clamp(0, 1)


def diagonality(attention: Tensor, mask: Tensor, bandwidth: int) -> Tensor:
    """Share of a document's weight with |i − j| ≤ ``bandwidth``, ``(batch,)`` (Letarte et al.).
    ``ValueError`` for a ``bandwidth`` below 0."""
    if bandwidth < 0:
        raise ValueError(f"bandwidth takes a whole number from 0, got {bandwidth}")
    weights, _ = _block(attention, mask, None)
    return _band_shares(weights, mask, bandwidth)[bandwidth]


def paper_figures(attention: Tensor, mask: Tensor) -> dict[str, Tensor]:
    """Figures of Table 2 of Letarte et al.: the Gini of an attention, and its diagonality for
    each of ``BANDWIDTHS``, each ``(batch,)``."""
    weights, rows = _block(attention, mask, None)
    shares = _band_shares(weights, mask, max(BANDWIDTHS))
    return {
        "gini": _gini(weights.flatten(1), rows.sum(1) * mask.sum(1)),
        **{f"diagonality {bandwidth}": shares[bandwidth] for bandwidth in BANDWIDTHS},
    }


def describe_attention(attention: Tensor, mask: Tensor) -> dict[str, Tensor]:
    """Figures of a square attention that we report, each ``(batch,)``: the paper's, other
    measures of sparsity, and the diagonality of uniform attention over as many tokens."""
    figures = paper_figures(attention, mask)
    weights, rows = _block(attention, mask, None)
    lengths = mask.sum(1)
    return figures | {
        "gini normalised": _normalised(figures["gini"], mask),
        "row gini": row_gini(attention, mask),
        "entropy": _mean_of_rows(row_entropy(weights, mask), rows),
        **{f"uniform diagonality {b}": uniform_diagonality(lengths, b) for b in BANDWIDTHS},
    }


def uniform_diagonality(lengths: Tensor, bandwidth: int) -> Tensor:
    """The ``diagonality`` of uniform attention over ``lengths`` ``(batch,)`` tokens, exactly.

    Of the n² pairs, n + Σ_{k ≤ b} 2 (n − k) lie in the band, with b at most n − 1; for long
    documents about (2b + 1)/n.
    """
    n = lengths.to(torch.float32)
    b = (n - 1).clamp(min=0, max=bandwidth)
    return (n + 2 * b * n - b * (b + 1)) / n.clamp(min=1).square()


def _block(attention: Tensor, mask: Tensor, row_mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """The weights ``(batch, rows, N)``, 0 outside each document's block, and the real rows."""
    batch, rows, length = attention.shape
    if mask.shape != (batch, length):
        raise ValueError(
            f"attention {tuple(attention.shape)} needs a mask {(batch, length)}, "
            f"got {tuple(mask.shape)}"
        )
    if row_mask is None and rows != length:
        raise ValueError(
            f"attention {tuple(attention.shape)} is not square: pass row_mask {(batch, rows)}"
        )
    row_mask = mask if row_mask is None else row_mask
    weights = attention.to(torch.promote_types(attention.dtype, torch.float32))
    if not (mask.all() and row_mask.all()):  # without padding, masking only costs time
        weights = weights.masked_fill(~(row_mask.unsqueeze(2) & mask.unsqueeze(1)), 0)
    return weights, row_mask


def _band_shares(weights: Tensor, mask: Tensor, widest: int) -> Tensor:
    """The share of weight within b of the diagonal, ``(widest + 1, batch)``, from b = 0."""
    if (mask[:, 1:] & ~mask[:, :-1]).any():  # distances count only real tokens: move them together
        order = mask.int().argsort(dim=1, descending=True, stable=True)
        rows = weights.take_along_dim(order.unsqueeze(2), 1)
        weights = rows.take_along_dim(order.unsqueeze(1), 2)
    diagonals = {k: weights.diagonal(k, 1, 2).sum(1) for k in range(-widest, widest + 1)}
    pairs = [diagonals[k] + diagonals[-k] for k in range(1, widest + 1)]
    inside = torch.stack([diagonals[0], *pairs]).cumsum(0)
    total = weights.sum((1, 2))
    return (inside / total.masked_fill(total == 0, 1)).clamp(max=1)


def _gini(weights: Tensor, count: Tensor) -> Tensor:
    """Σ_i (2i − m − 1) w_(i) / (m Σ w) over the last axis, of which ``count`` = m entries are real.

    The other entries are 0, so sorting puts them before the first real rank.
    """
    size = weights.shape[-1]
    m = count.clamp(min=1).unsqueeze(-1).to(weights.dtype)
    rank = torch.arange(1, size + 1, device=weights.device, dtype=weights.dtype) - (size - m)
    spread = (_sorted(weights) * ((2 * rank - m - 1) / m)).sum(-1)
    total = weights.sum(-1)
    return (spread / total.masked_fill(total == 0, 1)).clamp(0, 1)


def _sorted(weights: Tensor) -> Tensor:
    """Sort along the last axis, on a CPU with NumPy, which takes about a thirtieth of the time."""
    if weights.device.type != "cpu" or (weights.requires_grad and torch.is_grad_enabled()):
        return weights.sort(-1).values
    copy = weights.detach().clone(memory_format=torch.contiguous_format)
    copy.numpy().sort(-1)  # in place: it shares the copy's memory
    return copy


def _mean_of_rows(values: Tensor, rows: Tensor) -> Tensor:
    return (values * rows).sum(1) / rows.sum(1).clamp(min=1)


def _normalised(value: Tensor, mask: Tensor) -> Tensor:
    n = mask.sum(1).to(value.dtype)
    return value * n / (n - 1).clamp(min=1)
