"""How a frozen config checks itself: each function looks at named fields and raises ``ValueError``
that names the field, what it takes and what it got."""

import math
from collections.abc import Sequence
from typing import Any


def check_whole(config: Any, *names: str, least: int = 1) -> None:
    """Whole numbers from ``least``; neither booleans nor floats."""
    for name in names:
        value = getattr(config, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name} takes a whole number from {least}, got {value!r}")


def check_number(config: Any, *names: str, least: float = 0.0) -> None:
    """Finite numbers from ``least``."""
    for name in names:
        value = getattr(config, name)
        if not _is_number(value) or value < least:
            raise ValueError(f"{name} takes a number from {least:g}, got {value!r}")


def check_share(config: Any, *names: str) -> None:
    """Numbers from 0 and below 1."""
    for name in names:
        value = getattr(config, name)
        if not _is_number(value) or not 0 <= value < 1:
            raise ValueError(f"{name} takes a number from 0 and below 1, got {value!r}")


def check_choice(config: Any, name: str, choices: Sequence[Any]) -> None:
    """One of the choices."""
    value = getattr(config, name)
    if value not in choices:
        raise ValueError(f"{name} takes one of {', '.join(map(str, choices))}, got {value!r}")


def check_flags(config: Any, *names: str) -> None:
    """True or False."""
    for name in names:
        value = getattr(config, name)
        if not isinstance(value, bool):
            raise ValueError(f"{name} takes True or False, got {value!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
