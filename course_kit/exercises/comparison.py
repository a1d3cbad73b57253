"""When two answers are the same, and whether a value can be read at all."""

from numbers import Real
from typing import Any

import torch
from torch import Tensor, nn

TOLERANCE = 1e-4  # two right answers to scores of 1000 differ by this much in float32


def parts(answer: Any, count: int | None = None) -> tuple[Any, ...]:
    """The answer as a tuple; one tuple or list is an answer of several parts only if asked for."""
    several = isinstance(answer, tuple) and count != 1
    several = several or (isinstance(answer, list) and count is not None and count > 1)
    return tuple(answer) if several else (answer,)


def is_readable(value: Tensor) -> bool:
    """Whether a tensor is a dense one on the CPU, whose numbers can be compared and drawn."""
    on_cpu = value.device.type == "cpu"
    return on_cpu and value.layout == torch.strided and not value.is_nested


def is_number(value: Any) -> bool:
    """Whether a value is one number of Python's, not a truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)


def equal(mine: Any, right: Any) -> bool:
    """Whether two values are equal, also where one is a list with arrays in it."""
    try:
        return bool(mine == right)
    except (RuntimeError, ValueError):  # an array is not one true or false
        return False


def same(yours: Any, expected: Any) -> bool:
    """Whether an answer is the expected one, floating-point numbers up to ``TOLERANCE``."""
    if isinstance(expected, (nn.Module, dict)):  # weights by name
        whole = isinstance(expected, dict)
        mine, right = (one if whole else one.state_dict() for one in (yours, expected))
        return mine.keys() == right.keys() and all(same(mine[name], right[name]) for name in right)
    if isinstance(expected, list) and any(isinstance(item, Tensor) for item in expected):
        several = isinstance(yours, list) and len(yours) == len(expected)
        return several and all(same(mine, right) for mine, right in zip(yours, expected))
    if not isinstance(expected, Tensor):
        return type(yours) is type(expected) and equal(yours, expected)
    if is_number(yours):
        yours = torch.tensor(float(yours), dtype=expected.dtype)
    if not isinstance(yours, Tensor) or not is_readable(yours):
        return False
    if yours.shape != expected.shape:
        return False
    if not expected.is_floating_point():
        return torch.equal(yours, expected)
    return bool(close(yours.detach().to(expected.dtype), expected).all())


def close(yours: Tensor, expected: Tensor) -> Tensor:
    """Where two tensors of one shape agree up to ``TOLERANCE``."""
    return torch.isclose(yours, expected, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)


def largest(values: Tensor) -> tuple[int, ...]:
    """Where the largest value stands; of those that only rounding tells apart, the first."""
    alike = torch.isclose(values, values.max(), rtol=TOLERANCE, atol=0)
    return tuple(alike.nonzero()[0].tolist())
