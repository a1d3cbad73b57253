"""HTML from Python's values: whatever is not ``Markup`` already is escaped."""

from html import escape
from string import Template
from typing import Any


class Markup(str):
    """Text that is HTML already. What is made of it by other means than here is plain text again,
    and escaped."""


def escaped(value: Any) -> Markup:
    """A value as HTML that shows it."""
    return value if isinstance(value, Markup) else Markup(escape(str(value)))


def joined(parts: Any, between: str = "") -> Markup:
    """Values one after the other as HTML, with some HTML ``between`` them."""
    return Markup(between.join(map(escaped, parts)))


def element(name: str, *children: Any, **attributes: Any) -> Markup:
    """An element; ``class_`` stands for the attribute ``class``, ``aria_label`` for
    ``aria-label``."""
    named = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
    written = "".join(f' {key}="{escape(str(value))}"' for key, value in named.items())
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def filled(template: str, **values: Any) -> Markup:
    """HTML of ours with a value in each ``$place``; ``KeyError`` for a place without a value."""
    return Markup(Template(template).substitute({name: escaped(v) for name, v in values.items()}))
