"""Text that a terminal may show."""

import re

ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[^\[\]])")


def plain(text: str) -> str:
    """The text on one line, without what would move a terminal's cursor or colour it."""
    signs = (" " if sign.isspace() else sign for sign in ESCAPES.sub("", text).strip())
    return "".join(sign for sign in signs if sign.isprintable())
