"""Encoders of each word alone."""

import torch
from torch import Tensor, nn


class Projected(nn.Linear):
    """Encodes each word alone, h_i = tanh(W x_i + b): no state knows its neighbours."""

    def __init__(self, width: int) -> None:
        super().__init__(width, width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Vectors and mask → states; padding has a state, too."""
        return torch.tanh(super().forward(x))


class Unchanged(nn.Module):
    """Returns the vectors: nothing more is learned before the attention."""

    def __init__(self, width: int) -> None:
        super().__init__()

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """``x`` itself."""
        return x
