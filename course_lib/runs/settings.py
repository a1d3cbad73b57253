"""The settings of a run: what it reads, its model, its training, and what a control takes away."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from course_lib.checking import CourseError, check_choice, instead
from course_lib.data.config import TextConfig

ATTENTION_WEIGHTS = ("learned", "uniform", "untrained")


class SpecError(CourseError, ValueError):
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


def flat_settings(settings: Settings | Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Every setting, or every recorded one, by the address that overrides use for it, such as
    ``"model.hidden"``."""
    parts = asdict(settings) if isinstance(settings, Settings) else settings
    return {
        f"{part}.{name}": value for part, values in parts.items() for name, value in values.items()
    }


def with_overrides(settings: Settings, overrides: Mapping[str, Any]) -> Settings:
    """A copy of the settings with some changed, each named by its address.

    A whole number for a float field becomes a float, so that 0 and 0.0 are the same run.
    ``SpecError`` for an unknown address, or a value that the part refuses.
    """
    usual = flat_settings(settings)
    changes: dict[str, dict[str, Any]] = {}
    for address, value in overrides.items():
        if address not in usual:
            raise SpecError(f"no setting {address!r}; {instead(address, usual)}")
        part, _, name = address.partition(".")
        if type(value) is int and type(usual[address]) is float:
            value = _as_float(address, value)
        changes.setdefault(part, {})[name] = value
    for part, values in changes.items():
        try:
            settings = replace(settings, **{part: replace(getattr(settings, part), **values)})
        except ValueError as error:
            raise SpecError(f"{part}.{error}") from error
    return settings


def _as_float(address: str, value: int) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise SpecError(f"{address} takes no number of {len(str(value))} digits") from error


def differences(settings: Settings, usual: Settings) -> dict[str, Any]:
    """The settings, by address, that differ from ``usual``, in a fixed order."""
    before = flat_settings(usual)
    return {name: value for name, value in flat_settings(settings).items() if value != before[name]}


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
