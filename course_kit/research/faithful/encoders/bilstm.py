"""A bidirectional LSTM: each state has read the whole text."""

from torch import Tensor, nn

from course_lib.models.layers import LSTMLayer


class BiLSTM(LSTMLayer):
    """``LSTMLayer`` without its last state and cell."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """``x`` ``(batch, length, width)`` → states of the same shape."""
        return super().forward(x, mask)[0]


def encoder(width: int) -> nn.Module:
    """Half of each state from either direction."""
    return BiLSTM(width, width)
