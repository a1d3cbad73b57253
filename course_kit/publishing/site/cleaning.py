"""What may stay of a cell's output on the site.

An output may hold text of a dataset, which anybody may have written: it never becomes a script, an
event handler, a link that runs, or a request.
"""

import html
from collections.abc import Iterator
from typing import Any

from bleach.css_sanitizer import CSSSanitizer
from bleach.html5lib_shim import Filter
from bleach.sanitizer import Cleaner

from course_lib.views.heatmap.static import FRAME_HEAD, RESIZE

TAGS = {
    "a", "b", "blockquote", "br", "caption", "code", "dd", "details", "div", "dl", "dt", "em",
    "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "iframe", "img", "li",
    "mark", "ol", "p", "pre", "s", "small", "span", "strong", "sub", "summary", "sup", "table",
    "tbody", "td", "tfoot", "th", "thead", "tr", "u", "ul",
}  # fmt: skip
ATTRIBUTES = {
    "align", "alt", "class", "colspan", "dir", "height", "href", "lang", "onload", "open",
    "rowspan", "scope", "src", "srcdoc", "style", "title", "width",
}  # fmt: skip
STYLES = {
    "background", "background-color", "border", "border-bottom", "border-left", "border-right",
    "border-top", "color", "color-scheme", "display", "font-family", "font-size", "font-style",
    "font-weight", "height", "line-height", "margin", "margin-left", "margin-right", "max-width",
    "padding", "text-align", "text-decoration", "vertical-align", "white-space", "width",
}  # fmt: skip
PROTOCOLS = {"http", "https", "mailto", "data"}


def clean_html(text: str) -> str:
    """An output's HTML without anything that runs in the page or asks for something.

    Tags that are not allowed become visible text. Frames keep a ``srcdoc`` that begins with our
    frames' head, whose policy forbids requests, and stand in a sandbox.
    """
    return Cleaner(
        tags=TAGS,
        attributes=_may_stay,
        protocols=PROTOCOLS,
        filters=[_SandboxedFrames],
        css_sanitizer=CSSSanitizer(allowed_css_properties=STYLES),
    ).clean(text)


def _may_stay(tag: str, name: str, value: str) -> bool:
    """Whether an attribute of an output's HTML is harmless, or is our own frame's."""
    value = html.unescape(value)
    if name == "onload":
        return tag == "iframe" and value == RESIZE
    if name == "srcdoc":
        return tag == "iframe" and value.startswith(FRAME_HEAD)
    if name == "src":
        return tag == "img" and value.startswith("data:image/")
    if name == "href":
        return tag == "a" and value.startswith(("http://", "https://", "mailto:", "#"))
    if name == "style":
        return not any(part in value.lower() for part in ("url", "image", "\\", "@"))
    return name in ATTRIBUTES


class _SandboxedFrames(Filter):
    """Every frame is cut off from the page around it, whatever it asks for."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for token in super().__iter__():
            if token.get("name") == "iframe" and "data" in token:
                token["data"][None, "sandbox"] = "allow-scripts"
            yield token
