"""The JavaScript of both views: parts that import each other, joined into the one module sent.

It stands above ``views`` because it needs no package: ``make look`` puts the reading room together
with the standard library alone.
"""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "views" / "heatmap" / "js"
ARITHMETIC = ("numbers", "codes", "axes", "cells", "colours")  # needs no page; node tests it
PARTS = (
    *ARITHMETIC,
    "style",  # the style sheet
    "elements",  # of a page, and what both views do with them
    "layout",  # what depends on the page's width
    "drawing",  # the matrix on a canvas
    "cursor",  # what changes with the pointer
    "pointing",  # pointer and keys
    "controls",  # above and below the matrix
    "heatmap",
    "text",
    "entry",  # live and static
)
IMPORTS = re.compile(r'\A(?:import \{[^}]*\} from "\.[\w./]+\.js";\n)*')


@cache
def module() -> str:
    """All parts as one ES module that imports nothing."""
    return joined([(FOLDER / f"{part}.js").read_text(encoding="utf-8") for part in PARTS])


def joined(parts: Sequence[str]) -> str:
    """Sources one after the other, without the imports that each of them begins with.

    Nothing else is touched, so that comments, strings and regular expressions may hold anything.
    """
    return "\n".join(IMPORTS.sub("", part) for part in parts)
