"""Two Transformer blocks over words and their sinusoidal positions."""

from torch import Tensor, nn

from course_lib.models.layers import positions
from course_lib.models.transformer import Block, TransformerConfig

CONFIG = TransformerConfig(layers=2, heads=4, feed_forward=200, dropout=0.1, attention_dropout=0.1)


class TwoBlocks(nn.Module):
    """Every word attends to every word, twice."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(width, CONFIG) for _ in range(CONFIG.layers)])

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor]:
        """``x`` ``(batch, length, width)`` → states of the same shape."""
        x = x + positions(x.shape[1], x.shape[2], x.dtype).to(x.device)
        for block in self.blocks:
            x = block(x, mask)[0]
        return (x,)


def encoder(width: int) -> nn.Module:
    """As wide as the vectors."""
    return TwoBlocks(width)
