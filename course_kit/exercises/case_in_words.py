"""A failing case in words: what cannot be drawn, a number or a list of words."""

import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor

from course_kit.exercises.comparison import equal, is_readable

FEW = 4  # numbers that are written into a sentence; more are drawn


def as_tensor(value: Any) -> Tensor | None:
    """A dense tensor, a number or a list of numbers as a tensor; None for anything else."""
    if isinstance(value, Tensor):
        return value if is_readable(value) else None
    several = value if isinstance(value, (list, tuple)) else [value]
    if several and all(isinstance(item, (bool, int, float)) for item in several):
        return torch.tensor(value)
    return None


def words_of(given: Mapping[str, Any]) -> Sequence[str]:
    """The input that is a list of words, empty if there is none."""
    lists = (value for value in given.values() if isinstance(value, list) and value)
    return next((found for found in lists if all(isinstance(word, str) for word in found)), ())


def number(value: bool | int | float, decimals: int = 2) -> str:
    """As it is written into a cell: ``True``, ``3``, ``0.25``."""
    if not isinstance(value, float):
        return str(value)
    text = f"{value:.{decimals}f}" if abs(value) < 1000 else f"{value:.4g}"
    return text.lstrip("-") if float(text) == 0 else text


def in_words(name: str, value: Any) -> str:
    """``k = 2``, ``weights = [0.75, 0.25]``; empty for what a sentence cannot hold."""
    values = as_tensor(value)
    if isinstance(value, str):
        return f"{name} = {value!r}"
    if values is None:
        return ""
    if values.numel() > FEW:
        return f"{name} as drawn"
    return f"{name} = {_listed(values.tolist())}"


def difference(given: Mapping[str, Any], name: str, yours: Any, expected: Any) -> str:
    """How two answers differ that are one number, a string or a list, in a sentence."""
    if isinstance(expected, list):
        return _first_difference(given, yours, expected)
    known = ", ".join(filter(None, (in_words(key, value) for key, value in given.items())))
    inputs = f" for {known}" if known else ""
    mine, right = (each.item() if isinstance(each, Tensor) else each for each in (yours, expected))
    if not _has_amount(mine) or not _has_amount(right):
        return f"your {name} is {mine!r}, expected {right!r}{inputs}."
    off = f" (difference {abs(mine - right):.3g})" if abs(mine) < math.inf else ""
    return f"your {name} is {mine:.4g}, expected {right:.4g}{off}{inputs}."


def _has_amount(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def side_by_side(given: Mapping[str, Any], yours: Any, expected: Any) -> str:
    """Two lists, one below the other, words with their weights; empty for anything else."""
    if not isinstance(expected, list) or not isinstance(yours, list):
        return ""
    weights = _weights_of(given)
    return "\n".join(
        f"{who:<10}{' · '.join(_item(item, weights) for item in items) or '(nothing)'}"
        for who, items in (("yours:", yours), ("expected:", expected))
    )


def _first_difference(given: Mapping[str, Any], yours: list, expected: list) -> str:
    weights = _weights_of(given)
    pairs = enumerate(zip_longest(yours, expected, fillvalue=_NOTHING))
    place, (mine, right) = next((at, pair) for at, pair in pairs if not equal(*pair))
    mine, right = (_item(item, weights) for item in (mine, right))
    return f"the first difference is at place {place}: {mine} instead of {right}."


_NOTHING = object()


def _item(item: Any, weights: Mapping[str, list[float]]) -> str:
    """An item of an answer, with the weights it has among the inputs."""
    if item is _NOTHING:
        return "nothing"
    if not isinstance(item, str):
        return repr(item)
    known = [f"{weight:.2f}" for weight in weights.get(item, ())]
    if len(known) > 1:
        return f"{item!r} (it occurs {len(known)} times, with {' and '.join(known)})"
    return f"{item!r} ({known[0]})" if known else repr(item)


def _weights_of(given: Mapping[str, Any]) -> dict[str, list[float]]:
    """The weights of each word, several where it stands more than once; empty without weights."""
    words, found = words_of(given), {}
    for value in given.values():
        if isinstance(value, Tensor) and value.is_floating_point() and value.shape == (len(words),):
            for word, weight in zip(words, value.tolist(), strict=True):
                found.setdefault(word, []).append(weight)
    return found


def _listed(values: Any) -> str:
    """Numbers and nested lists of them, with four digits."""
    if isinstance(values, list):
        return f"[{', '.join(map(_listed, values))}]"
    return f"{values:.4g}" if isinstance(values, float) else str(values)
