"""The recurrent encoder."""

from torch import Tensor, nn

from course_lib.models.layers import LSTMLayer


class BiLSTM(nn.Module):
    """A bidirectional LSTM layer: each state has read the whole text."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer = LSTMLayer(width, width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Vectors and mask → the states of both directions side by side."""
        return self.layer(x, mask)[0]
