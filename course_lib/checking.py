"""What errors about wrong names say, and checks that a settings dataclass runs on its fields."""

import math
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Any


def refusal(config: Any, name: str, takes: str) -> ValueError:
    """The error for a field that has a value it cannot take; ``takes`` says what it could."""
    return ValueError(f"{name} takes {takes}, got {getattr(config, name)!r}")


def check_whole(config: Any, *names: str, least: int = 1) -> None:
    """``ValueError`` unless each field is an ``int`` of at least ``least``; a bool is not one."""
    for name in names:
        value = getattr(config, name)
        if type(value) is not int or value < least:
            raise refusal(config, name, f"a whole number from {least}")


def check_even(config: Any, *names: str) -> None:
    """``ValueError`` unless each field is an even number, as the two directions of a layer need."""
    for name in names:
        if getattr(config, name) % 2:
            raise refusal(config, name, "an even number, which two directions share")


def check_number(config: Any, *names: str, least: float = 0.0) -> None:
    """``ValueError`` unless each field is a finite float or int of at least ``least``."""
    for name in names:
        value = getattr(config, name)
        if not _is_finite(value) or value < least:
            kind = "a finite number"
            raise refusal(config, name, kind if least == -math.inf else f"{kind} from {least:g}")


def check_positive(config: Any, *names: str) -> None:
    """``ValueError`` unless each field is a finite float or int above 0."""
    for name in names:
        value = getattr(config, name)
        if not _is_finite(value) or value <= 0:
            raise refusal(config, name, "a finite number above 0")


def check_share(config: Any, *names: str) -> None:
    """``ValueError`` unless each field is a number in [0, 1), as the rate of a dropout is."""
    for name in names:
        value = getattr(config, name)
        if not _is_finite(value) or not 0 <= value < 1:
            raise refusal(config, name, "a number from 0 to below 1")


def check_choice(config: Any, name: str, choices: Collection[Any]) -> None:
    """``ValueError`` unless the field is one of ``choices``."""
    value = getattr(config, name)
    if not any(value == choice and type(value) is type(choice) for choice in choices):
        raise refusal(config, name, f"one of {', '.join(map(repr, choices))}")


def check_flags(config: Any, *names: str) -> None:
    """``ValueError`` unless each field is True or False."""
    for name in names:
        if type(getattr(config, name)) is not bool:
            raise refusal(config, name, "True or False")


def instead(name: Any, names: Iterable[str]) -> str:
    """The end of an error about a wrong name: the names that it begins or ends, the nearest, or
    all."""
    names, given = [*names], str(name)
    near = [each for each in names if each.startswith(given) or each.endswith(f".{given}")]
    near = near if given and near else get_close_matches(given, names, 1, 0.7)
    if near:
        return f"do you mean {' or '.join(near)}?"
    return f"there are: {', '.join(names) or 'none yet'}"


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)
