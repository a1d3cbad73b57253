"""Markdown as HTML: formulas as MathML, headings that can be linked to, links between lessons."""

import html
import re
from dataclasses import dataclass, field

from latex2mathml.converter import convert
from mistune import HTMLRenderer
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from course_kit.publishing.contents import lesson_named
from course_kit.publishing.lessons import LESSONS
from course_kit.publishing.site.cleaning import clean_formula

_NUMBERED = re.compile(r"\b([Ll]esson )(\d\d)\b")
_LINK = re.compile(r"(<(a|code|math)\b.*?</\2>)", re.DOTALL)
_MARKUP = re.compile(r"<math\b.*?</math>|<[^>]*>", re.DOTALL)


@dataclass(frozen=True)
class Heading:
    """A heading as a page links to it; ``markup`` is its HTML, without links of its own."""

    level: int
    anchor: str
    markup: str


@dataclass
class Outline:
    """The headings of one page, collected while it is rendered; no two share an anchor."""

    headings: list[Heading] = field(default_factory=list)

    def add(self, markup: str, level: int) -> Heading:
        """Give a heading an anchor made of its words."""
        words = re.sub(r"[^\w]+", "-", plain_text(markup).lower()).strip("-") or "section"
        taken = {heading.anchor for heading in self.headings}
        anchor = words
        for number in range(2, len(taken) + 3):
            if anchor not in taken:
                break
            anchor = f"{words}-{number}"
        heading = Heading(level, anchor, re.sub(r"</?a\b[^>]*>", "", markup))
        self.headings.append(heading)
        return heading


def plain_text(markup: str) -> str:
    """The words of our own HTML, without formulas."""
    return " ".join(html.unescape(_MARKUP.sub(" ", markup)).split())


def render_prose(source: str, outline: Outline) -> str:
    """A markdown cell, which is ours, as HTML; its headings are added to ``outline``."""
    return MarkdownWithMath(_ProseRenderer(outline)).render(source)


def render_output(source: str) -> str:
    """Markdown that a cell put out: HTML in it is shown as text."""
    return MarkdownWithMath(_OutputRenderer()).render(source)


class _MathRenderer(IPythonRenderer):
    """Formulas as MathML, which browsers draw by themselves."""

    def block_math(self, body: str) -> str:
        """``$$…$$``."""
        return convert(body, display="block")

    def inline_math(self, body: str) -> str:
        """``$…$``."""
        return convert(body)

    def table(self, text: str) -> str:
        """A table that scrolls by itself where the screen is too narrow for it."""
        return scrolling(f"<table>\n{text}</table>\n")


class _ProseRenderer(_MathRenderer):
    """A lesson's own text."""

    def __init__(self, outline: Outline) -> None:
        super().__init__(escape=False, embed_images=True, path=str(LESSONS))
        self.outline = outline

    def block_html(self, html: str) -> str:
        """Raw HTML as it stands; to look for images in it, nbconvert would close its tags."""
        return super().block_html(html) if "<img" in html else HTMLRenderer.block_html(self, html)

    def heading(self, text: str, level: int, **attrs: dict) -> str:
        """A heading with an anchor."""
        anchor = self.outline.add(text, level).anchor
        return f'<h{level} id="{html.escape(anchor)}">{text}</h{level}>\n'

    def paragraph(self, text: str) -> str:
        """A paragraph in which every "lesson 03" leads there."""
        return super().paragraph(_with_links(text))

    def block_text(self, text: str) -> str:
        """The text of a list's entry, likewise."""
        return super().block_text(_with_links(text))

    def codespan(self, text: str) -> str:
        """Code; the name of a lesson leads to its page."""
        code = super().codespan(text)
        is_lesson = re.fullmatch(r"\d\d_\w+", text) and (LESSONS / f"{text}.ipynb").exists()
        return f'<a href="{text}.html">{code}</a>' if is_lesson else code

    def link(self, text: str, url: str, title: str | None = None) -> str:
        """A link to another lesson's notebook leads to its page."""
        url = re.sub(r"^(?:experiments/)?(\w+)\.ipynb(#.*)?$", r"\1.html\2", url)
        return super().link(text, url, title)


def _with_links(text: str) -> str:
    """``lesson 03`` outside links, code and formulas as a link to that lesson's page."""
    parts = re.split(_LINK, text)[::3]
    kept = [match[0] for match in _LINK.finditer(text)]
    linked = [_NUMBERED.sub(_lesson_link, part) for part in parts]
    return "".join(part for pair in zip(linked, [*kept, ""], strict=True) for part in pair)


def _lesson_link(match: re.Match[str]) -> str:
    path = lesson_named(match[2])
    return f'<a href="{path.stem}.html">{match[0]}</a>' if path else match[0]


class _OutputRenderer(_MathRenderer):
    """Markdown that a cell put out: HTML in it is text, and so is a picture's description."""

    def __init__(self) -> None:
        super().__init__(escape=True, allow_harmful_protocols=False, exclude_anchor_links=True)

    def block_math(self, body: str) -> str:
        """``$$…$$``, in which ``\\text{…}`` could hold anything."""
        return clean_formula(super().block_math(body))

    def inline_math(self, body: str) -> str:
        """``$…$``, likewise."""
        return clean_formula(super().inline_math(body))

    def block_mermaidjs(self, code: str) -> str:
        """Code like any other."""
        return HTMLRenderer.block_code(self, code)

    def image(self, text: str, url: str, title: str | None = None) -> str:
        """Its description: a page asks for nothing."""
        return text


def scrolling(table: str) -> str:
    """A wide table in a box that scrolls by itself, with the keyboard, too."""
    return f'<div class="wide" role="group" aria-label="Table" tabindex="0">{table}</div>'
