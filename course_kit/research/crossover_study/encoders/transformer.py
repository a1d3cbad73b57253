"""Transformer blocks, as many as wanted, in which a word sees as many neighbours as wanted."""

import torch
from torch import Tensor, nn

from course_lib.models import layers
from course_lib.models.transformer import Block, TransformerConfig

SETTINGS = TransformerConfig(heads=4, feed_forward=200, dropout=0.1, attention_dropout=0.1)


class Blocks(nn.Module):
    """Transformer blocks over words with sinusoidal positions.

    Word i attends to the words j with abs(i − j) ≤ ``window``, or to all. A window of 0, or no
    block at all, leaves states that know the word and its position, and no neighbour.
    """

    def __init__(self, width: int, blocks: int = 2, window: int | None = None) -> None:
        super().__init__()
        self.window = window
        self.blocks = nn.ModuleList([Block(width, SETTINGS) for _ in range(blocks)])

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Vectors and mask → the states after the last block."""
        length = x.shape[1]
        x = x + layers.positions(length, x.shape[2], x.dtype).to(x.device)
        if self.window is not None:
            place = torch.arange(length, device=x.device)
            near = (place[:, None] - place).abs() <= self.window
            mask = mask.unsqueeze(1) & mask.unsqueeze(2) & near
        for block in self.blocks:
            x = block(x, mask)[0]
        return x
