"""An executed notebook in the form in which Sphinx shows it: folded by tags, its outputs clean."""

import html
import re
from collections.abc import Collection
from pathlib import Path

import nbformat
from markdown_it import MarkdownIt
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_output

from course_kit.publishing.lessons import WIDGET
from course_kit.publishing.site.cleaning import clean_html
from course_kit.publishing.students import CLAIM, TOLD, without_solution

LEFT_OUT = {"injected-parameters", "papermill-error-cell-tag", CLAIM}
IMPORTS, SETTINGS, CODE = "Imports", "Settings", "What draws or prepares this"
SOLUTION = "Solution: try it in JupyterLab first"
FAILED = ":::{error}\nThis lesson stopped at a cell that failed; its message stands there.\n:::"
LINK = re.compile(
    r"\[([^\]]*)\]\((?:\.\./|experiments/|faithful/|further/)*(\w+\.ipynb)((?:#[^)]*)?)\)"
)
FILE = re.compile(r"\[([^\]]*)\]\((?:\.\./)+([^)#]*)[^)]*\)")  # of the repository, without a page
NOTE = re.compile(r"\(further/(\w+\.ipynb)")
IN_MARGIN = "```{{margin}} Side note\n[]({})\n```\n\n"  # Sphinx puts the title into the brackets
MENTION = re.compile(
    r"(\[[^\]]*\]\([^)]*\)|`[^`]*`|\$[^$]*\$|<[^>]*>|^#.*$)|\b[Ll]esson (\d\d)\b", re.M
)
MARKDOWN = MarkdownIt("commonmark").enable("table").disable("image")


def site_page(
    notebook: NotebookNode, name: str, pages: Collection[str], solutions: bool = True
) -> NotebookNode:
    """The page of an executed notebook: no claims, ``solutions`` behind what learners start from,
    outputs that run nothing and ask for nothing, links to other notebooks that are ``pages``."""
    page = nbformat.from_dict(notebook)
    page.metadata = nbformat.from_dict({"kernelspec": notebook.metadata.get("kernelspec", {})})
    page.cells = [
        part
        for number, cell in enumerate(page.cells)
        if not LEFT_OUT & set(cell.metadata.get("tags", []))
        for part in _parts(cell, name, number, pages, solutions)
    ]
    if any(o.output_type == "error" for cell in page.cells for o in cell.get("outputs", [])):
        page.cells.insert(1, new_markdown_cell(FAILED))
    return page


def _parts(
    cell: NotebookNode, name: str, number: int, pages: Collection[str], solutions: bool
) -> list[NotebookNode]:
    graded, tags = cell.metadata.get("nbgrader", {}), cell.metadata.get("tags", [])
    folded = cell.metadata.get("jupyter", {}).get("source_hidden", False)
    cell.metadata = nbformat.from_dict({"tags": [tag for tag in tags if tag == "remove-input"]})
    if cell.cell_type != "code":
        cell.source = cell.source if solutions else TOLD.sub("", cell.source)
        parts = re.split(r"(?<=\n)\n+", cell.source)
        cell.source = "\n".join(_notes(part, pages) + _with_links(part, pages) for part in parts)
        return [cell]
    cell.outputs = [made for output in cell.outputs if (made := _output(output, pages))]
    cell.execution_count = None
    if graded.get("solution"):
        stub = nbformat.from_dict(cell | {"id": f"{cell.id}-stub", "outputs": []})
        stub.source = without_solution(cell.source, name, number)
        place = f'<span id="exercise-{graded["grade_id"]}"></span>'  # the reading room links to it
        anchor = new_markdown_cell(place, id=f"{cell.id}-place")
        return [anchor, stub, *([_folded(cell, SOLUTION)] if solutions else [])]
    if "parameters" in tags:
        return [_folded(cell, SETTINGS)]
    if folded:
        return [_folded(cell, CODE)]
    shown = "remove-input" not in tags and cell.source.startswith(("import ", "from "))
    return [_folded(cell, IMPORTS) if shown else cell]


def _notes(source: str, pages: Collection[str]) -> str:
    """The side notes to which a paragraph links, for the margin beside it."""
    return "".join(IN_MARGIN.format(name) for name in NOTE.findall(source) if name in pages)


def _with_links(source: str, pages: Collection[str]) -> str:
    """Prose whose links to notebooks, and every "lesson 03", lead to the pages that there are."""
    stems = {name[:2]: name for name in sorted(pages, reverse=True)}
    source = _linked(source, pages, ".ipynb")
    form = "[{0}]({1}.ipynb)"
    if source.startswith("<"):  # HTML, in which Sphinx reads no Markdown
        form = '<a href="{1}.html">{0}</a>'
    return MENTION.sub(
        lambda m: form.format(m[0], Path(stems[m[2]]).stem) if m[2] in stems else m[0], source
    )


def _linked(source: str, pages: Collection[str], kind: str) -> str:
    """Markdown whose links to notebooks lead to pages of that kind of name."""

    def link(found: re.Match[str]) -> str:
        text, name, place = found.groups()
        return f"[{text}]({Path(name).stem}{kind}{place})" if name in pages else text

    return FILE.sub(r"\1 (`\2`)", LINK.sub(link, source))


def _folded(cell: NotebookNode, words: str) -> NotebookNode:
    prompts = {"code_prompt_show": words, "code_prompt_hide": words}
    cell.metadata = nbformat.from_dict({"tags": ["hide-input"], "mystnb": prompts})
    return cell


def _output(output: NotebookNode, pages: Collection[str]) -> NotebookNode | None:
    """An output with one form, and none for widgets and for this machine's messages; the links of
    its Markdown lead to the pages that there are."""
    if output.output_type == "stream":
        return output if output.name == "stdout" else None
    if output.output_type == "error":
        return output
    data = output.data
    if WIDGET in data:
        return None
    if "text/html" in data:
        markup = data["text/html"]
    elif "text/markdown" in data:
        markup = MARKDOWN.render(_linked(data["text/markdown"], pages, ".html"))
    elif "image/png" in data:
        alt = html.escape(output.metadata.get("image/png", {}).get("alt") or "")
        source = f"data:image/png;base64,{data['image/png']}"
        markup = f'<img class="figure" alt="{alt}" src="{source}">'
    else:
        plain = {"text/plain": data["text/plain"]} if "text/plain" in data else None
        return plain and new_output("display_data", plain)
    return new_output("display_data", {"text/html": clean_html(markup)})
