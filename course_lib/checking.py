"""The base of our errors, what they say about wrong names, and checks of a settings dataclass."""

import math
from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from typing import Any


class CourseError(Exception):
    """A mistake that a user can mend. The message says how; the command line shows nothing else.

    Each subclass is also a ``ValueError`` or a ``RuntimeError``.
    """


def refusal(config: Any, name: str, takes: str) -> ValueError:
    """The error for a field that has a value it cannot take; ``takes`` says what it could."""
    return ValueError(f"{name} takes {takes}, got {getattr(config, name)!r}")


def check_whole(config: Any, *names: str, least: int = 1) -> None:
    """``ValueError`` unless each field is an ``int`` of at least ``least``; a bool is not one."""
    takes = f"a whole number from {least}"
    _check(config, names, takes, lambda value: type(value) is int and value >= least)


def check_even(config: Any, *names: str) -> None:
    """``ValueError`` unless each field is an even number, as the two directions of a layer need."""
    takes = "an even number, which two directions share"
    _check(config, names, takes, lambda value: value % 2 == 0)


def check_number(config: Any, *names: str, least: float = 0.0) -> None:
    """``ValueError`` unless each field is a finite float or int of at least ``least``."""
    takes = "a finite number" if least == -math.inf else f"a finite number from {least:g}"
    _check(config, names, takes, lambda value: _is_finite(value) and value >= least)


def check_positive(config: Any, *names: str) -> None:
    """``ValueError`` unless each field is a finite float or int above 0."""
    takes = "a finite number above 0"
    _check(config, names, takes, lambda value: _is_finite(value) and value > 0)


def check_share(config: Any, *names: str) -> None:
    """``ValueError`` unless each field is a number in [0, 1), as the rate of a dropout is."""
    takes = "a number from 0 to below 1"
    _check(config, names, takes, lambda value: _is_finite(value) and 0 <= value < 1)


def check_choice(config: Any, name: str, choices: Collection[Any]) -> None:
    """``ValueError`` unless the field is one of ``choices``."""
    value = getattr(config, name)
    if not any(value == choice and type(value) is type(choice) for choice in choices):
        raise refusal(config, name, f"one of {', '.join(map(repr, choices))}")


def check_flags(config: Any, *names: str) -> None:
    """``ValueError`` unless each field is True or False."""
    _check(config, names, "True or False", lambda value: type(value) is bool)


def instead(name: Any, names: Iterable[str]) -> str:
    """The end of an error about a wrong name: the names that it begins or ends, the nearest, or
    all."""
    names, given = [*names], str(name)
    near = [each for each in names if each.startswith(given) or each.endswith(f".{given}")]
    near = near if given and near else get_close_matches(given, names, 1, 0.7)
    if near:
        return f"do you mean {' or '.join(near)}?"
    return f"there are: {', '.join(names) or 'none yet'}"


def _check(config: Any, names: Iterable[str], takes: str, good: Callable[[Any], bool]) -> None:
    for name in names:
        if not good(getattr(config, name)):
            raise refusal(config, name, takes)


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)
