"""Fonts for characters that a figure's own font cannot draw, such as Chinese and Hindi ones."""

import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
from matplotlib.text import Text

BOXES = "Last Resort"  # matplotlib's own font of a box for every character
IN_CJK = {"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "IDEOGRAPHIC", "FULLWIDTH", "BOPOMOFO"}
NOTO = {"LATIN", "GREEK", "CYRILLIC"}  # without a name of their own among Noto's fonts


@contextmanager
def legible(figure: Figure) -> Iterator[None]:
    """While a figure is drawn, let its texts fall back to fonts of this machine that hold their
    characters. One warning tells of those that no font holds, and names a font to install."""
    nowhere: set[str] = set()
    for axis in figure.axes:  # the label of a tick has its text once it was asked for
        for side in (axis.xaxis, axis.yaxis):
            side.get_ticklabels()
    for text in figure.findobj(Text):
        absent = _absent(text.get_text(), text.get_fontproperties())
        if absent:
            families, without = _holding(absent)
            text.set_fontfamily([*text.get_fontfamily(), *families])
            nowhere |= without
    if nowhere:
        some, fonts = " ".join(sorted(nowhere)[:8]), sorted(set(map(_noto, nowhere)))
        warnings.warn(
            f"no font of this machine draws {some}: pictures show boxes in its place. Install "
            f"{' and '.join(fonts)}, then start Python again",
            stacklevel=3,
        )
    with warnings.catch_warnings():  # matplotlib has one for each such character
        warnings.filterwarnings("ignore", r"(Glyph|Matplotlib currently does not support)")
        yield


def _absent(text: str, properties: FontProperties) -> frozenset[str]:
    """The characters of a text that are in none of its own fonts."""
    if text.isascii():
        return frozenset()
    held = [_characters(family, properties.get_weight()) for family in properties.get_family()]
    return frozenset(
        each
        for each in set(text)
        if not each.isspace() and not any(ord(each) in characters for characters in held)
    )


@cache
def _holding(characters: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Installed families that hold these characters together, and the characters in none."""
    names = sorted({font.name for font in fontManager.ttflist if BOXES not in font.name})
    families, left = [], characters
    while left:
        held = {name: {each for each in left if ord(each) in _characters(name)} for name in names}
        best = max(names, key=lambda name: len(held[name]))
        if not held[best]:
            break
        families.append(best)
        left = left - held[best]
    return tuple(families), left


@cache
def _characters(family: str, weight: str | int = "normal") -> frozenset[int]:
    """The code points that a family's font holds."""
    font = get_font(findfont(FontProperties(family=family, weight=weight)))
    return frozenset(font.get_charmap())


def _noto(character: str) -> str:
    """The free font that holds a character."""
    script = unicodedata.name(character, "").partition(" ")[0]
    if script in IN_CJK:
        return "Noto Sans CJK"
    held = script.isalpha() and unicodedata.category(character)[0] in "LM" and script not in NOTO
    return f"Noto Sans {script.title()}" if held else "GNU Unifont"
