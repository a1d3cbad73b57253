"""``site/``: the executed lessons as HTML files that make no requests and run no foreign code.

A cell's output may hold text of a dataset, which anybody may have written: it never becomes a
script, an event handler, a link that runs, or a request. The markdown cells are ours, and stay as
they are.
"""

import html
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import nbformat
from bleach.css_sanitizer import CSSSanitizer
from bleach.html5lib_shim import Filter
from bleach.sanitizer import Cleaner
from jinja2 import pass_context
from latex2mathml.converter import convert
from mistune import HTMLRenderer
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode

from course_lib.files import REPOSITORY, atomic_path
from course_lib.teaching.lessons import (
    EXECUTED,
    LESSONS,
    REPORT,
    WIDGET,
    Outcome,
    execute,
    lesson_paths,
    prepare_data,
    views_shown,
    watched,
)
from course_lib.views.heatmap.static import RESIZE

SITE = REPOSITORY / "site"
SHOWN = {"text/html", "text/markdown", "image/png", "text/plain"}
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
FORMULA_TAGS = {
    "math", "menclose", "mfrac", "mi", "mn", "mo", "mover", "mpadded", "mphantom", "mroot", "mrow",
    "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr",
    "munder", "munderover",
}  # fmt: skip
FORMULA_ATTRIBUTES = [
    "accent", "columnalign", "columnlines", "columnspacing", "depth", "display", "displaystyle",
    "fence", "form", "height", "linethickness", "lspace", "mathcolor", "mathsize", "mathvariant",
    "maxsize", "minsize", "movablelimits", "rowlines", "rowspacing", "rspace", "scriptlevel",
    "separator", "stretchy", "width", "xmlns",
]  # fmt: skip
PROTOCOLS = {"http", "https", "mailto", "data"}


def clean_html(text: str) -> str:
    """An output's HTML without anything that runs in the page or asks for something.

    Tags that are not allowed become visible text; frames keep their ``srcdoc``, in a sandbox.
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
        return tag == "iframe"
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


def _clean_formula(markup: str) -> str:
    return Cleaner(tags=FORMULA_TAGS, attributes=FORMULA_ATTRIBUTES).clean(markup)


class _MathRenderer(IPythonRenderer):
    """Formulas as MathML, which browsers draw by themselves."""

    def block_math(self, body: str) -> str:
        """``$$…$$``."""
        return convert(body, display="block")

    def inline_math(self, body: str) -> str:
        """``$…$``."""
        return convert(body)

    def block_html(self, html: str) -> str:
        """Raw HTML as it stands; to look for images in it, nbconvert would close its tags."""
        return super().block_html(html) if "<img" in html else HTMLRenderer.block_html(self, html)


class _OutputRenderer(_MathRenderer):
    """Markdown that a cell put out: HTML in it is text, and so is a picture's description."""

    def __init__(self) -> None:
        super().__init__(escape=True, allow_harmful_protocols=False)

    def block_math(self, body: str) -> str:
        """``$$…$$``, in which ``\\text{…}`` could hold anything."""
        return _clean_formula(super().block_math(body))

    def inline_math(self, body: str) -> str:
        """``$…$``, likewise."""
        return _clean_formula(super().inline_math(body))

    def block_mermaidjs(self, code: str) -> str:
        """Code like any other."""
        return HTMLRenderer.block_code(self, code)

    def image(self, text: str, url: str, title: str | None = None) -> str:
        """Its description: a page asks for nothing."""
        return text


class LessonExporter(HTMLExporter):
    """A lesson as one HTML file that asks for nothing: no script, no font, no formula renderer."""

    raw_template = (
        "{% extends 'lab/index.html.j2' %}"
        "{% block html_head_js %}{% endblock %}"
        "{% block html_head_js_mathjax %}{% endblock %}"
        "{% block html_head_js_mermaidjs %}{% endblock %}"
        "{% block jupyter_widgets %}{% endblock %}"
        "{% block data_png %}<div class='jp-RenderedImage jp-OutputArea-output'>"
        "<img alt='{{ output | get_metadata('alt', 'image/png') or '' | escape_html }}' "
        "src='data:image/png;base64,{{ output.data['image/png'] }}'></div>{% endblock %}"
        "{% block data_html %}<div class='jp-RenderedHTMLCommon jp-RenderedHTML "
        "jp-OutputArea-output'>{{ output.data['text/html'] | output_html }}</div>{% endblock %}"
        "{% block data_markdown %}<div class='jp-RenderedHTMLCommon jp-RenderedMarkdown "
        "jp-OutputArea-output'>{{ output.data['text/markdown'] | output_markdown }}</div>"
        "{% endblock %}"
        "{% block extra_css %}<style>main { max-width: 60rem; margin: auto; } "
        "main pre { font-family: monospace !important; font-size: 13px !important; }</style>"
        "{% endblock %}"
    )

    def default_filters(self) -> Iterable[tuple[str, Any]]:
        """Those of nbconvert, and ours for what cells put out."""
        yield from super().default_filters()
        yield "output_html", clean_html
        yield "output_markdown", lambda text: MarkdownWithMath(_OutputRenderer()).render(text)

    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        """Markdown with formulas as MathML."""
        resources = context.get("resources", {})
        renderer = _MathRenderer(
            escape=False,
            attachments=context.get("cell", {}).get("attachments", {}),
            embed_images=True,
            path=resources.get("metadata", {}).get("path", ""),
        )
        return MarkdownWithMath(renderer=renderer).render(source)


def export_html(executed: Path, target: Path) -> None:
    """Write an executed lesson as self-contained HTML."""
    notebook = nbformat.read(executed, as_version=4)
    notebook.metadata["title"] = executed.stem
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in map(_shown, cell.outputs) if output]
    exporter = LessonExporter(embed_images=True, exclude_input_prompt=True)
    body, _ = exporter.from_notebook_node(notebook, {"metadata": {"path": str(LESSONS)}})
    with atomic_path(target) as temporary:
        temporary.write_text(body, encoding="utf-8")


def _shown(output: NotebookNode) -> NotebookNode | None:
    """What the site shows of an output: neither widgets nor this machine's messages."""
    if output.output_type == "stream" and output.name == "stderr":
        return None
    if "data" in output:
        if WIDGET in output.data:
            return None
        output.data = {kind: value for kind, value in output.data.items() if kind in SHOWN}
    return output


def course(profile: str) -> list[Outcome]:
    """Data, every lesson and the report, and ``site/`` with these executed and an index."""
    outcomes = []
    with watched(pages(), profile) as progress:
        if profile != "smoke":
            prepare_data(progress)
        for lesson in pages():
            executed, page = EXECUTED / lesson.name, SITE / f"{lesson.stem}.html"
            for path in (executed, page):  # those of an earlier run
                path.unlink(missing_ok=True)
            with views_shown("static"):
                outcomes.append(execute(lesson, executed, profile, progress))
            if executed.exists():
                export_html(executed, page)
    _write_index([lesson.stem for lesson in pages() if (SITE / f"{lesson.stem}.html").exists()])
    return outcomes


def _write_index(names: list[str]) -> None:
    items = "\n".join(f'<li><a href="{name}.html">{html.escape(name)}</a></li>' for name in names)
    with atomic_path(SITE / "index.html") as temporary:
        temporary.write_text(
            "<!DOCTYPE html><html lang='en'><meta charset='utf-8'><title>Attention course</title>"
            "<body style='font-family:sans-serif;max-width:40rem;margin:3rem auto'>"
            f"<h1>Attention you can read, measure and doubt</h1><ol>{items}</ol></body></html>",
            encoding="utf-8",
        )


def pages() -> list[Path]:
    """What ``site/`` shows: the lessons, and the report of all records."""
    return [*lesson_paths(), REPORT]
