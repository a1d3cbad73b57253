"""Try every control of a view over its whole range, and raise the first error."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import ipywidgets as widgets
import nbformat
import numpy as np
from IPython import get_ipython
from traitlets.log import get_logger

from course_kit.publishing.lessons import errors_in
from course_lib.views.heatmap import AttentionHeatmap
from course_lib.views.reading_view import tree

MOST_POSITIONS = 1000  # of a slider with more, so many spread evenly, both ends among them
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
TEXT_BOXES = (widgets.Text, widgets.Textarea)


class SweepError(AssertionError):
    """A control at which a view breaks; the message names control, value and error."""


def sweep(view: widgets.Widget) -> int:
    """Put every control of a view into each of its positions; returns how many were tried.

    Menus and toggles take each option, sliders each value, boxes both, text boxes the
    ``HOSTILE_TEXTS`` (every button is pressed after each), buttons a click, heatmaps each step.
    Afterwards each, buttons apart, goes back to where it was; a disabled control is left alone. The
    first error raises ``SweepError``, also one that ipywidgets would swallow: into an Output, a
    button's callback, or a log. ``ValueError`` if there is nothing to drive.
    """
    parts = list(tree(view))
    buttons = [part for part in parts if isinstance(part, widgets.Button) and not part.disabled]
    count = 0
    for control in parts:
        name = _name(control)
        if control in buttons:
            _try(f"{name}, pressed", control.click, parts)
            count += 1
        trait, values = _range(control)
        start = getattr(control, trait, None)
        for value in [*values, start] if values else []:
            where = f"{name} at {_short(value)}"
            _try(where, partial(setattr, control, trait, value), parts)
            for button in buttons if isinstance(control, TEXT_BOXES) else []:
                _try(f"{where}, then {_name(button)} pressed", button.click, parts)
        count += len(values)
    if not count:
        raise ValueError(f"this {type(view).__name__} has no control, so there is nothing to try")
    return count


def _try(where: str, act: Callable[[], None], parts: list[widgets.Widget]) -> None:
    with _swallowed() as errors:
        try:
            act()
        except Exception as error:
            raise SweepError(f"{where}: {type(error).__name__}: {error}") from error
    printed = [error for part in parts if isinstance(part, widgets.Output)
               for error in _printed(part)]  # fmt: skip
    if errors:
        raise SweepError(f"{where}: {type(errors[0]).__name__}: {errors[0]}") from errors[0]
    if printed:
        raise SweepError(f"{where}: {printed[0]}")


def _printed(output: widgets.Output) -> list[str]:
    """The errors among what an Output widget holds."""
    cell = {"outputs": [dict(item) for item in output.outputs]}
    return errors_in(nbformat.from_dict({"cells": [cell], "metadata": {}}))


@contextmanager
def _swallowed() -> Iterator[list[BaseException]]:
    """The exceptions that ipywidgets shows (in a kernel) or logs (elsewhere) and does not raise."""
    errors: list[BaseException] = []
    shell, logger, handler = get_ipython(), get_logger(), _Collector(errors)
    logger.addHandler(handler)
    if shell:
        original = shell.showtraceback
        shell.showtraceback = lambda error_info=None, *_, **__: errors.append(
            error_info[1] if error_info else sys.exception()
        )
    try:
        yield errors
    finally:
        logger.removeHandler(handler)
        if shell:
            shell.showtraceback = original


class _Collector(logging.Handler):
    """Keeps the exceptions of log records."""

    def __init__(self, errors: list[BaseException]) -> None:
        super().__init__()
        self.errors = errors

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.errors.append(record.exc_info[1])


def _range(control: widgets.Widget) -> tuple[str, list[Any]]:
    """The trait that a control sets, and every value it can take; no value for what is none."""
    if getattr(control, "disabled", False):
        return "value", []
    if isinstance(control, TEXT_BOXES):
        return "value", list(HOSTILE_TEXTS)
    if isinstance(control, AttentionHeatmap):
        return "step", list(range(control.spec["shape"][0]))
    if isinstance(control, (widgets.Checkbox, widgets.ToggleButton)):
        return "value", [not control.value, control.value]
    if isinstance(control, (widgets.Tab, widgets.Accordion)):
        return "selected_index", list(range(len(control.children)))
    if options := getattr(control, "_options_labels", ()):  # menus, radio buttons, …
        several = isinstance(control.index, tuple)
        return "index", [(place,) if several else place for place in range(len(options))]
    if hasattr(control, "step") and isinstance(getattr(control, "min", None), (int, float)):
        return "value", _slider_values(control)
    return "value", []


def _slider_values(control: widgets.Widget) -> list[Any]:
    """Every value of a slider; of one with two ends, each value at both."""
    step = control.step or 1
    values = control.min + step * np.arange(int((control.max - control.min) / step + 1e-9) + 1)
    if len(values) > MOST_POSITIONS:
        values = values[np.linspace(0, len(values) - 1, MOST_POSITIONS).round().astype(int)]
    if isinstance(control, widgets.FloatLogSlider):
        values = control.base**values
    elif values[-1] != control.max:
        values = np.append(values, control.max)
    both_ends = isinstance(control.value, tuple)
    return [(value, value) if both_ends else value for value in values.tolist()]


def _name(control: widgets.Widget) -> str:
    description = getattr(control, "description", "")
    return f"{type(control).__name__} {description!r}" if description else type(control).__name__


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}… ({len(text):,} characters)"
