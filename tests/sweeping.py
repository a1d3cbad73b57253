"""Try every control of a view in each of its positions, and raise the first error."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import ipywidgets as widgets
from traitlets.log import get_logger

from course_lib.views.reading_view import tree

HOSTILE_TEXTS = (
    "",
    " \n\t ",
    "word",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "$\\frac{1}{0}$ {{ 7 * 7 }} %s",
    "שלום לכולם. זה סרט טוב מאוד. \u202eback to front",
    "Loved it 😀👩\u200d👩\u200d👧! 🎬🎬🎬",
    "nul \x00 inside",
    "It was fine. " * 770,  # 10,000 characters
    "x" * 10_000,
)


class SweepError(AssertionError):
    """A control at which a view breaks; the message names control, value and error."""


def sweep(view: widgets.Widget) -> int:
    """Put every control of a view into each of its positions; returns how many were tried.

    Menus and sliders take each option, toggles both positions, heatmaps each step, text boxes the
    ``HOSTILE_TEXTS`` (every button is pressed after each), buttons a click unless disabled.
    Afterwards each, buttons apart, goes back to where it was. The first error raises
    ``SweepError``, also that of a button's callback, which ipywidgets only logs. ``ValueError`` if
    there is nothing to drive.
    """
    parts = list(tree(view))
    buttons = [part for part in parts if isinstance(part, widgets.Button) and not part.disabled]
    for button in buttons:
        _try(f"{_name(button)}, pressed", button.click)
    count = len(buttons)
    for control in parts:
        trait, values = _positions(control)
        start = getattr(control, trait, None)
        for value in [*values, start] if values else []:
            where = f"{_name(control)} at {value if len(str(value)) < 60 else 'a long text'!r}"
            _try(where, partial(setattr, control, trait, value))
            for button in buttons if isinstance(control, widgets.Textarea) else []:
                _try(f"{where}, then {_name(button)} pressed", button.click)
        count += len(values)
    if not count:
        raise ValueError(f"this {type(view).__name__} has no control, so there is nothing to try")
    return count


def _try(where: str, act: Callable[[], None]) -> None:
    errors: list[BaseException] = []
    handler = logging.Handler()
    handler.emit = lambda record: errors.append(record.exc_info[1]) if record.exc_info else None
    get_logger().addHandler(handler)
    try:
        act()
    except Exception as error:
        errors.append(error)
    finally:
        get_logger().removeHandler(handler)
    if errors:
        raise SweepError(f"{where}: {type(errors[0]).__name__}: {errors[0]}") from errors[0]


def _positions(control: widgets.Widget) -> tuple[str, list[Any]]:
    """The trait that a control sets, and every value it can take; no value for what is none."""
    if isinstance(control, widgets.Textarea):
        return "value", list(HOSTILE_TEXTS)
    if isinstance(control, widgets.ToggleButton):
        return "value", [not control.value, control.value]
    return "index", list(range(len(getattr(control, "_options_labels", ()))))


def _name(control: widgets.Widget) -> str:
    description = getattr(control, "description", "")
    return f"{type(control).__name__} {description!r}" if description else type(control).__name__
