"""The made-up texts of lesson 01, in which one word must be kept: the name that follows *call*."""

from typing import NamedTuple

import torch
from torch import Tensor

NAMES = ("Ann", "Ben", "Eve", "Tom")
OTHERS = (
    "rain",
    "tea",
    "lamp",
    "road",
    "bread",
    "moon",
    "glass",
    "chair",
    "river",
    "salt",
    "wool",
    "stone",
    "leaf",
    "cloud",
    "door",
    "bell",
)
WORDS = ("", "call", *NAMES, *OTHERS)  # by id; 0 is padding
CALL, FIRST = 1, 2  # the ids of call and of the first name


class Calls(NamedTuple):
    """``tokens`` and ``mask`` ``(texts, longest)``, which of ``NAMES`` follows *call*, ``name``
    ``(texts,)``, and at which position it stands, ``at`` ``(texts,)``."""

    tokens: Tensor
    mask: Tensor
    name: Tensor
    at: Tensor


def draw(count: int, longest: int, seed: int) -> Calls:
    """Random texts of half of ``longest`` words or more. One *call* and its name stand within the
    first half of ``longest``; other names, anywhere, mean nothing."""
    source = torch.Generator().manual_seed(seed)
    tokens = torch.randint(FIRST, len(WORDS), (count, longest), generator=source)
    lengths = torch.randint(longest // 2, longest + 1, (count, 1), generator=source)
    mask = torch.arange(longest) < lengths
    at = torch.randint(1, longest // 2, (count, 1), generator=source)
    name = torch.randint(len(NAMES), (count, 1), generator=source)
    tokens.scatter_(1, at - 1, CALL).scatter_(1, at, FIRST + name)
    return Calls(tokens * mask, mask, name.squeeze(1), at.squeeze(1))


def encode(text: str) -> tuple[Tensor, Tensor]:
    """A text with one *call* as ids and mask, both ``(1, words)``."""
    tokens = torch.tensor([[WORDS.index(word) for word in text.split()]])
    return tokens, torch.ones_like(tokens, dtype=torch.bool)
