"""A deck of slides for each lesson, from its cells tagged ``slide``, in one page of HTML.

A Markdown cell gives its questions ("Before you run") and folded answers, a code cell what it put
out last, as it is committed; the first cell gives the title, the last one the five lines.
"""

import html
import re
from pathlib import Path

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from nbformat import NotebookNode

from course_kit.publishing.lessons import lesson_paths
from course_kit.publishing.site import SITE, TEMPLATES
from course_kit.publishing.site.pages import _output
from course_kit.publishing.students import TITLE, read_notebook
from course_lib.files import write_text

FOLDER, SLIDE = SITE / "slides", "slide"
PARTS = re.compile(
    r"<details><summary>Answer(?:[^s<][^<]*)?</summary>\n+(?P<answer>.*?)\n*</details>"
    r"|\*\*Before you \w+:\*\*(?P<question>.*?)(?=\n\n|\Z)"
    r"|\*\*The question:\*\*(?P<opening>.*?)(?=\n\n|\Z)"
    r"|^## In five lines\n+(?P<end>(?:\d\. [^\n]*\n)+)",
    re.DOTALL | re.MULTILINE,
)
NAMES = {"answer": "Answer", "question": "Before you look", "opening": "", "end": "In five lines"}
MARKDOWN = (
    MarkdownIt("commonmark")
    .enable("table")
    .use(
        dollarmath_plugin,
        renderer=lambda text, how: convert(
            text, display="block" if how["display_mode"] else "inline"
        ),
    )
)


def slides(notebook: NotebookNode) -> list[tuple[str, str]]:
    """The kind of every slide and its HTML, in the order of the lesson."""
    made = []
    for cell in notebook.cells:
        if SLIDE not in cell.metadata.get("tags", []):
            continue
        if cell.cell_type == "markdown":
            title = TITLE.search(cell.source)
            for part in PARTS.finditer(re.sub(r"\]\([^)]*\)", "]", cell.source)):
                kind = part.lastgroup
                head = title[1] if kind == "opening" and title else NAMES[kind]
                text = part[kind].strip()
                body = text if kind == "end" else re.sub(r"^(\d+)\.", r"\1\\.", text)
                body = body[:1].upper() + body[1:]
                made.append((kind, f"<h1>{html.escape(head)}</h1>\n{MARKDOWN.render(body)}"))
        elif shown := [each for output in cell.outputs if (each := _output(output, ()))]:
            made.append(("picture", _shown(shown)))
    return made


def _shown(outputs: list[NotebookNode]) -> str:
    """The last picture or table, else all that was printed."""
    drawn = [each.data["text/html"] for each in outputs if "text/html" in each.get("data", {})]
    printed = [each.get("text") or each.data["text/plain"] for each in outputs if not drawn]
    return drawn[-1] if drawn else f"<pre>{html.escape(''.join(printed).rstrip())}</pre>"


def write_slides(folder: Path = FOLDER) -> list[Path]:
    """Write the decks of all lessons to a folder; the paths of the files."""
    template, written = TEMPLATES.get_template("deck.html"), []
    for path in lesson_paths():
        notebook = read_notebook(path)
        title = html.escape(TITLE.search(notebook.cells[0].source)[1])
        written.append(folder / f"{path.stem}.html")
        write_text(written[-1], template.render(title=title, slides=slides(notebook)))
    return written
