"""Inputs for a checker, from small to large, the same at every call."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from course_kit.exercises.comparison import same


@dataclass(frozen=True)
class Case:
    """One set of inputs, and in words what is in it."""

    description: str
    inputs: tuple[Any, ...]


@dataclass(frozen=True)
class CaseResult:
    """A case with the learner's answer beside the expected one, both as tuples of ``returns``.

    ``given`` holds the inputs by the learner's names for them. A ``remark`` says what is wrong
    whatever the numbers are, such as an exception.
    """

    case: Case
    yours: tuple[Any, ...]
    expected: tuple[Any, ...]
    given: dict[str, Any]
    remark: str = ""

    @property
    def wrong(self) -> int | None:
        """The last part of the answer that differs (earlier ones are made from it), or None."""
        pairs = zip(self.yours, self.expected, strict=False)
        differing = [place for place, (a, b) in enumerate(pairs) if not same(a, b)]
        return differing[-1] if differing else None

    @property
    def failed(self) -> bool:
        """Whether anything is wrong."""
        return bool(self.remark) or self.wrong is not None


def generator(*numbers: int) -> torch.Generator:
    """A random generator that depends on these numbers alone."""
    seed = 0
    for number in numbers:
        seed = 1009 * seed + number
    return torch.Generator().manual_seed(seed)


def ragged(rows: int, length: int) -> Tensor:
    """A mask ``(rows, length)`` of rows that differ in length, real places first.

    A single row is half real; of several, the first may be short and the last has one real place.
    """
    lengths = (torch.arange(rows) * 3 % length + 1).flip(0)
    if rows == 1:
        lengths[:] = (length + 1) // 2
    return torch.arange(length) < lengths.unsqueeze(1)


def plural(count: int, noun: str) -> str:
    """``1 row``, ``3 rows``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
