"""What the site shows of a notebook's cells: prose, code that may be folded, cleaned outputs."""

import ast
import base64
import html
from dataclasses import dataclass

from nbconvert.filters.ansi import ansi2html
from nbformat import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from course_kit.publishing.lessons import WIDGET
from course_kit.publishing.site.cleaning import clean_html
from course_kit.publishing.site.prose import Outline, render_output, render_prose
from course_kit.publishing.students import without_solution

LONG = 25  # lines; longer code is folded
IMPORTS, SOLUTION = "Imports and settings", "Solution: try it in JupyterLab first"
CLAIM = "The claims above, checked"
ADDED = {"injected-parameters", "papermill-error-cell-tag"}  # by papermill
SHOWN = ("text/html", "text/markdown", "image/png", "text/plain")  # the first that there is


@dataclass(frozen=True)
class Part:
    """A cell on the page: ``prose``, or ``code`` with ``outputs``, all as HTML.

    With a ``fold`` the code stands behind a line with these words; the ``stub`` of a folded
    solution, which learners start from, stands before it. ``failed``: it ended with an error.
    """

    prose: str = ""
    code: str = ""
    fold: str = ""
    stub: str = ""
    outputs: tuple[str, ...] = ()
    failed: bool = False


def page_parts(notebook: NotebookNode, name: str, outline: Outline) -> list[Part]:
    """The parts of an executed lesson; its headings are added to ``outline``."""
    parts = []
    for index, cell in enumerate(notebook.cells):
        if ADDED & set(_tags(cell)):
            continue
        if cell.cell_type == "markdown":
            parts.append(Part(prose=render_prose(cell.source, outline)))
        elif cell.cell_type == "code":
            outputs = tuple(filter(None, map(_output, cell.outputs)))
            fold = _fold(cell)
            stub = without_solution(cell.source, name, index) if fold == SOLUTION else ""
            stub = highlighted(stub) if stub else ""
            failed = any(output.output_type == "error" for output in cell.outputs)
            parts.append(Part("", highlighted(cell.source), fold, stub, outputs, failed))
    return parts


def highlighted(source: str) -> str:
    """Python in colours."""
    return highlight(source, PythonLexer(), HtmlFormatter(cssclass="code", wrapcode=True))


def cover(notebook: NotebookNode) -> bytes | None:
    """The picture that the cell tagged ``cover`` put out, as PNG; else the first in the lesson."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in sorted(cells, key=lambda cell: "cover" not in _tags(cell)):
        for output in cell.outputs:
            if picture := output.get("data", {}).get("image/png"):
                return base64.b64decode(picture)
    return None


def _tags(cell: NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


def _fold(cell: NotebookNode) -> str:
    """The words before folded code; none where the code stands open."""
    if cell.metadata.get("nbgrader", {}).get("solution"):
        return SOLUTION
    if "claim" in _tags(cell):
        return CLAIM
    if "parameters" in _tags(cell) or _begins_with_imports(cell.source):
        return IMPORTS
    lines = len(cell.source.splitlines())
    return f"Code, {lines} lines" if lines > LONG else ""


def _begins_with_imports(source: str) -> bool:
    try:
        first = ast.parse(source).body[:1]
    except SyntaxError:  # a line for IPython alone
        return False
    return bool(first) and isinstance(first[0], (ast.Import, ast.ImportFrom))


def _output(output: NotebookNode) -> str:
    """An output as HTML; nothing of widgets and of this machine's messages."""
    if output.output_type == "stream":
        return _printed(output.text) if output.name == "stdout" else ""
    if output.output_type == "error":
        return f'<pre class="error">{ansi2html(chr(10).join(output.traceback))}</pre>'
    if WIDGET in output.data:
        return ""
    kind = next((kind for kind in SHOWN if kind in output.data), None)
    return _SHOW[kind](output) if kind else ""


def _printed(text: str) -> str:
    return f'<pre class="printed">{ansi2html(text)}</pre>'


def _picture(output: NotebookNode) -> str:
    alt = output.metadata.get("image/png", {}).get("alt") or ""
    data = "".join(output.data["image/png"].split())
    return f'<img alt="{html.escape(alt)}" src="data:image/png;base64,{html.escape(data)}">'


_SHOW = {
    "text/html": lambda output: f'<div class="html">{clean_html(output.data["text/html"])}</div>',
    "text/markdown": lambda output: render_output(output.data["text/markdown"]),
    "image/png": _picture,
    "text/plain": lambda output: _printed(output.data["text/plain"]),
}
