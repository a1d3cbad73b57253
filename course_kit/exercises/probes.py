"""Probes of a pooling or an encoder: what only some broken implementations get wrong.

Three of them make all parameters many times as large, to see attention at its extremes.
"""

import copy
import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from course_lib.metrics.invariants import InvariantError, evaluating, first_place, pooled_with


def check_concentration(pooling: nn.Module, hidden: int, factor: float = 20.0) -> None:
    """With parameters ``factor`` times as large, some two weights of a row differ by more than e².

    Attention that cannot do that can never ignore a word. The check uses random states in
    (−1, 1), of size ``hidden``. Raises ``InvariantError`` with the largest ratio of two weights.
    """
    device = next(pooling.parameters()).device
    h = 2 * torch.rand(8, 16, hidden, generator=torch.Generator().manual_seed(0)) - 1
    mask = torch.ones(8, 16, dtype=torch.bool, device=device)
    with evaluating(pooling):
        alpha = pooled_with(_enlarged(pooling, factor), h.to(device), mask)[1]
    ratio = alpha.amax(-1) / alpha.amin(-1)
    if (ratio <= math.e**2 * (1 + 1e-4)).all():  # false for NaN, which other checks report
        raise InvariantError(
            f"with parameters × {factor:g} the largest ratio of two weights is still "
            f"{ratio.max().item():.3g}, at most e² = 7.39: attention cannot concentrate"
        )


def check_extremes(pooling: nn.Module, h: Tensor, mask: Tensor, factor: float = 1000.0) -> None:
    """With parameters ``factor`` times as large, each row alone still has finite attention.

    Raises ``InvariantError`` naming the first row where it is not.
    """
    with evaluating(pooling):
        large = _enlarged(pooling, factor)
        for row in range(len(h)):
            alpha = _alone(large, h, mask, row)
            if not alpha.isfinite().all():
                raise InvariantError(
                    f"with parameters × {factor:g} the attention of row {row}, alone, is "
                    f"{alpha[~alpha.isfinite()][0].item()}"
                )


def check_rows(
    pooling: nn.Module, h: Tensor, mask: Tensor, factor: float = 1000.0, tolerance: float = 1e-5
) -> None:
    """A row has the same attention alone and among other rows; with parameters ``factor`` times as
    large, weights that are finite alone stay finite.

    Raises ``InvariantError`` naming the first row that differs.
    """
    with evaluating(pooling):
        for scale in (1.0, factor):
            scaled = _enlarged(pooling, scale)
            together = pooled_with(scaled, h, mask)[1]
            for row in range(len(h)):
                alone = _alone(scaled, h, mask, row)
                among = together[row, :, : alone.shape[-1]]
                wrong = alone.isfinite() & ~among.isfinite()
                if scale == 1:  # large scores amplify the rounding of another summation order
                    wrong |= (alone - among).abs() > tolerance
                if wrong.any():
                    place = first_place(wrong)
                    raise InvariantError(
                        f"with parameters × {scale:g} row {row} has a weight of "
                        f"{alone[place].item():.3g} alone and {among[place].item():.3g} among the "
                        f"others, at place {place[-1]}"
                    )


def _alone(pooling: nn.Module, h: Tensor, mask: Tensor, row: int) -> Tensor:
    """The attention ``(hops, length)`` of one row, padded to its own length only."""
    real = mask[row].nonzero()
    length = int(real.max()) + 1 if len(real) else 1
    return pooled_with(pooling, h[row : row + 1, :length], mask[row : row + 1, :length])[1][0]


def check_both_directions(
    encoder: Callable[[Tensor, Tensor], Tensor], x: Tensor, mask: Tensor, tolerance: float = 1e-6
) -> None:
    """The first state of a sequence depends on its last input, and the last state on the first.

    ``encoder`` maps ``x`` ``(n, length, inputs)`` and ``mask`` ``(n, length)``, real places first,
    to states ``(n, length, features)``. Raises ``InvariantError`` naming the direction that is not
    read, ``ValueError`` if no row has two real places.
    """
    rows = (mask.sum(1) > 1).nonzero().squeeze(1)
    if not len(rows):
        raise ValueError("check_both_directions needs a row of at least two real places")
    x, mask = x[rows], mask[rows]
    row, first, last = torch.arange(len(x), device=x.device), 0 * rows, mask.sum(1) - 1
    with evaluating(encoder):
        expected = encoder(x, mask)
        for input_place, state_place, message in (
            (
                last,
                first,
                "the first state does not depend on the last input: nothing reads backwards",
            ),
            (
                first,
                last,
                "the last state does not depend on the first input: nothing reads forwards",
            ),
        ):
            other = x.clone()
            other[row, input_place] = 1 - 2 * other[row, input_place]
            change = (encoder(other, mask) - expected)[row, state_place].abs().amax(1)
            if not (change > tolerance).any():
                raise InvariantError(f"{message} (largest change {change.max().item():.3g})")


def _enlarged(module: nn.Module, factor: float) -> nn.Module:
    large = copy.deepcopy(module)
    for parameter in large.parameters():
        parameter.mul_(factor)
    return large
