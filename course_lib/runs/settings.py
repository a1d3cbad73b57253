"""The settings of a run: what it reads, its model, its training, and what a control takes away."""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from course_lib.checking import check_choice
from course_lib.data.config import TextConfig

PARTS = ("text", "model", "training", "control")
ATTENTION_WEIGHTS = ("learned", "uniform", "untrained")


class SpecError(ValueError):
    """A mistake in a spec; the message names the field and what it may hold."""


@dataclass(frozen=True)
class ControlConfig:
    """What an attention ablation keeps a network from learning; all else is trained as usual.

    ``attention_weights`` are ``"learned"``, as usual; ``"uniform"``, the same for everything that
    may be attended to; or ``"untrained"``: what computes them stays as it was initialised. The
    states below learn in all three, so untrained weights can still change through the states.
    ``ValueError`` for another value.
    """

    attention_weights: str = "learned"

    def __post_init__(self) -> None:
        check_choice(self, "attention_weights", ATTENTION_WEIGHTS)


@dataclass(frozen=True)
class Settings:
    """``text``: cut, vocabulary and vectors; ``model``: the model's own config; ``training``: the
    config of its loop, or of whatever fits it; ``control``: what it is kept from learning. Each
    part checks itself when created."""

    text: TextConfig
    model: Any
    training: Any
    control: ControlConfig = ControlConfig()


def addresses(settings: Settings) -> list[str]:
    """The address of every setting, as used in overrides, such as ``"model.hidden"``."""
    return [f"{part}.{field.name}" for part in PARTS for field in fields(getattr(settings, part))]


def with_overrides(settings: Settings, overrides: Mapping[str, Any]) -> Settings:
    """A copy of the settings with some changed, each named by its address.

    A whole number for a float field becomes a float, so that 0 and 0.0 are the same run.
    ``SpecError`` for an unknown address, or a value that the part refuses.
    """
    valid_addresses = addresses(settings)
    changes: dict[str, dict[str, Any]] = {}
    for address, value in overrides.items():
        if address not in valid_addresses:
            near = [name for name in valid_addresses if name.endswith(f".{address}")]
            near = near or difflib.get_close_matches(str(address), valid_addresses, n=1)
            hint = f"do you mean {near[0]}?" if near else f"there are: {', '.join(valid_addresses)}"
            raise SpecError(f"no setting {address!r}; {hint}")
        part, _, name = address.partition(".")
        if type(value) is int and type(getattr(getattr(settings, part), name)) is float:
            value = float(value)
        changes.setdefault(part, {})[name] = value
    for part, values in changes.items():
        try:
            settings = replace(settings, **{part: replace(getattr(settings, part), **values)})
        except ValueError as error:
            raise SpecError(f"{part}.{error}") from error
    return settings


def differences(settings: Settings, usual: Settings) -> dict[str, Any]:
    """The settings, by address, that differ from ``usual``, in a fixed order."""
    pairs = {address: (value_of(settings, address), value_of(usual, address))
             for address in addresses(settings)}  # fmt: skip
    return {address: value for address, (value, before) in pairs.items() if value != before}


def value_of(settings: Settings, address: str) -> Any:
    """One setting by its address."""
    part, _, name = address.partition(".")
    return getattr(getattr(settings, part), name)


def in_words(address: str, value: Any) -> str:
    """A changed setting as a part of a run's name: ``penalty0.1``, ``scaled``, ``no-positions``."""
    name = address.partition(".")[2]
    if isinstance(value, bool):
        return name if value else f"no-{name}"
    if isinstance(value, float):
        short = f"{value:g}"
        return name + (short if float(short) == value else repr(value))
    if isinstance(value, str):
        return f"{name}-" + re.sub(r"[^\w.+-]", "_", value)
    return f"{name}{value}"
