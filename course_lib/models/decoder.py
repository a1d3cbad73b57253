"""A Transformer's decoder as a small language model (Vaswani et al. 2017; Radford et al. 2018).

Token and position vectors → blocks in which a position sees itself and what stands before it →
at each position, logits of the next token. The blocks are those of ``transformer``.

Example::

    model = Decoder(TransformerConfig(dropout=0, attention_dropout=0), vocabulary=24)
    output = model(tokens, return_attention=True)  # (batch, length): ids, no padding
    output.logits, output.attention
"""

from collections.abc import Collection
from typing import NamedTuple

import torch
from torch import Tensor, nn

from course_lib.models.transformer import Block, TransformerConfig

Head = tuple[int, int]  # layer and head, both from 0


class Decoder(nn.Module):
    """Guess each next token from the tokens before it."""

    def __init__(self, config: TransformerConfig, vocabulary: int) -> None:
        """``ValueError`` for settings without positions."""
        super().__init__()
        if not config.positions:
            raise ValueError("positions is 0; a decoder needs a vector for each position")
        self.config = config
        self.embedding = nn.Embedding(vocabulary, config.width)
        self.positions = nn.Embedding(config.positions, config.width)
        nn.init.normal_(self.positions.weight, std=0.3)  # small beside the words
        self.blocks = nn.ModuleList([Block(config.width, config) for _ in range(config.layers)])
        self.output = nn.Linear(config.width, vocabulary)

    def forward(
        self,
        tokens: Tensor,
        attention: Tensor | None = None,
        hidden: Collection[Head] = (),
        return_attention: bool = False,
    ) -> "DecoderOutput":
        """Token ids ``(batch, length)`` → logits, and the attention if it is asked for or given.

        A given ``attention`` ``(batch, layers, heads, length, length)`` replaces the learned. The
        ``hidden`` heads, (layer, head) from 0, add nothing: their weights are set to 0.
        ``ValueError`` for more tokens than positions.
        """
        length = tokens.shape[1]
        if length > self.config.positions:
            raise ValueError(f"{length} tokens exceed the {self.config.positions} positions")
        causal = causal_mask(length, tokens.device).expand(len(tokens), -1, -1)
        x = self.embedding(tokens) + self.positions.weight[:length]
        alphas = []
        for layer, block in enumerate(self.blocks):
            given = None if attention is None else attention[:, layer]
            gone = [head for of, head in hidden if of == layer]
            if gone:
                given = block(x, causal, given, with_weights=True)[1].clone()
                given[:, gone] = 0
            x, alpha, _ = block(x, causal, given, return_attention)
            alphas.append(alpha)
        asked = return_attention or attention is not None
        return DecoderOutput(self.output(x), torch.stack(alphas, 1) if asked else None)


class DecoderOutput(NamedTuple):
    """``logits`` ``(batch, length, vocabulary)`` of the token after each position; if asked for or
    given, ``attention`` ``(batch, layers, heads, length, length)``."""

    logits: Tensor
    attention: Tensor | None


def causal_mask(length: int, device: torch.device | None = None) -> Tensor:
    """Pairs ``(length, length)`` that may meet: a position sees itself and all before it."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()
