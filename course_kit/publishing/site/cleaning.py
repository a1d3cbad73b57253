"""What may stay of a cell's output on the site.

An output may hold text of a dataset, which anybody may have written: it never becomes a script, an
event handler, a link that runs, or a request.
"""

import html
import re
from collections.abc import Iterator
from typing import Any

from bleach.css_sanitizer import ALLOWED_CSS_PROPERTIES, CSSSanitizer
from bleach.html5lib_shim import Filter
from bleach.sanitizer import ALLOWED_TAGS, Cleaner

from course_lib.views.heatmap.static import FRAME_HEAD, RESIZE

TAGS = ALLOWED_TAGS | {
    "br",
    "caption",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "iframe",
    "img",
    "mark",
    "p",
    "pre",
    "s",
    "small",
    "span",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "u",
}
ATTRIBUTES = {  # beside those that may stay for what they hold
    "align",
    "alt",
    "class",
    "colspan",
    "dir",
    "height",
    "lang",
    "open",
    "rowspan",
    "scope",
    "title",
    "width",
}
STYLES = ALLOWED_CSS_PROPERTIES | {
    "background",
    "border",
    "border-bottom",
    "border-left",
    "border-right",
    "border-top",
    "color-scheme",
    "margin",
    "margin-left",
    "margin-right",
    "max-width",
    "padding",
}
PAGE = re.compile(r"\w+\.html(#[\w-]+)?")  # of the site, in the same folder
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
        named = value.startswith(("http://", "https://", "mailto:", "#"))
        return tag == "a" and (named or bool(PAGE.fullmatch(value)))
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
