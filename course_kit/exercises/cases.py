"""Inputs for a checker, from small to large, the same at every call."""

from collections.abc import Callable, Iterable, Sequence
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
    whatever the numbers are, such as an exception, after which there is no answer: it ``crashed``.
    """

    case: Case
    yours: tuple[Any, ...]
    expected: tuple[Any, ...]
    given: dict[str, Any]
    remark: str = ""
    crashed: bool = False

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


Inputs = tuple[Any, ...]
Kinds = dict[str, Inputs]


class Count(int):
    """A number in a description: ``f"{Count(2):row}"`` is ``2 rows``."""

    def __format__(self, noun: str) -> str:
        return plural(self, noun) if noun else str(int(self))


def cases(
    size: str,
    sizes: Iterable[Sequence[float]],
    make: Callable[..., Inputs | Kinds],
    ordinary: int | None = None,
) -> Callable[[], list[Case]]:
    """A checker's cases, in several sizes.

    ``make`` takes the numbers of a size and gives its inputs, or several inputs by what is special
    about them; the first ``ordinary`` of these come, in all sizes, before the others. ``size`` says
    the numbers in words, as ``"{:row} of {:word}, {} wide"``.
    """

    def build() -> list[Case]:
        parts: tuple[list[Case], list[Case]] = ([], [])
        for numbers in sizes:
            counts = (Count(n) if isinstance(n, int) else n for n in numbers)
            made, words = make(*numbers), size.format(*counts)
            kinds = made if isinstance(made, dict) else {"": made}
            for place, (kind, inputs) in enumerate(kinds.items()):
                later = ordinary is not None and place >= ordinary
                parts[later].append(Case(f"{words}, {kind}" if kind else words, inputs))
        return parts[0] + parts[1]

    return build


def masked_cases(
    size: str, sizes: Iterable[Sequence[float]], make: Callable[..., Inputs]
) -> Callable[[], list[Case]]:
    """``cases`` with each of ``masks``, which ``make`` takes before the numbers of a size: rows,
    their length, and what else there is."""

    def masked(rows: int, length: int, *further: float) -> Kinds:
        kinds = zip(("all real", "some padded", "the last one empty"), masks(rows, length))
        return {kind: make(mask, rows, length, *further) for kind, mask in kinds}

    return cases(size, sizes, masked)


def named(kinds: Kinds) -> list[Case]:
    """Cases by their descriptions."""
    return [Case(description, inputs) for description, inputs in kinds.items()]


def generator(*numbers: int) -> torch.Generator:
    """A random generator that depends on these numbers alone."""
    seed = 0
    for number in numbers:
        seed = 1009 * seed + number
    return torch.Generator().manual_seed(seed)


def normal(numbers: Iterable[int], *shapes: Sequence[int]) -> list[Tensor]:
    """Standard normal tensors of these shapes, drawn one after the other from one generator."""
    source = generator(*numbers)
    return [torch.randn(shape, generator=source) for shape in shapes]


def ragged(rows: int, length: int) -> Tensor:
    """A mask ``(rows, length)`` of rows that differ in length, real places first.

    A single row is half real; of several, the first may be short and the last has one real place.
    """
    lengths = (torch.arange(rows) * 3 % length + 1).flip(0)
    if rows == 1:
        lengths[:] = (length + 1) // 2
    return torch.arange(length) < lengths.unsqueeze(1)


def masks(rows: int, length: int) -> tuple[Tensor, Tensor, Tensor]:
    """Masks ``(rows, length)``: all real, some padded, all real but the last row."""
    real = torch.ones(rows, length, dtype=torch.bool)
    last = torch.arange(rows).unsqueeze(1) == rows - 1
    return real, ragged(rows, length), real & ~last


def plural(count: int, noun: str) -> str:
    """``1 row``, ``3 rows``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
