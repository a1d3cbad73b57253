"""Each word alone: h_i = tanh(W x_i + b), so a state holds nothing of its neighbours."""

from torch import Tensor, nn

from course_lib.models.bilstm import WordByWord


class Projected(WordByWord):
    """``WordByWord`` without what an LSTM would add."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """``x`` ``(batch, length, width)`` → states of the same shape."""
        return super().forward(x, mask)[0]


def encoder(width: int) -> nn.Module:
    """States as wide as the vectors."""
    return Projected(width, width)
