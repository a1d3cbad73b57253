"""What the search of the site looks through: every section with its text, not Sphinx's own index.

Sphinx's index says in which page a word stands, and the search page would have to fetch that page
to show where, which a browser refuses for files. This one holds the text.
"""

import json
from html.parser import HTMLParser
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

INDEX = "searchindex.js"  # which the search page loads
FOLDED = "tag_hide-input"  # cells of settings, imports and solutions
LEFT_OUT = (nodes.math_block, nodes.sidebar, nodes.comment, nodes.section, nodes.title)
Section = tuple[str, str, str, str, str]  # page, its title, anchor, heading, text


class _Visible(HTMLParser):
    """Gathers text that a reader sees without unfolding anything; HTML may come in parts."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._folds = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._folds += tag in ("details", "script", "style")
        self.words.append(" " if tag not in ("a", "b", "code", "em", "i", "strong") else "")

    def handle_endtag(self, tag: str) -> None:
        self._folds = max(0, self._folds - (tag in ("details", "script", "style")))

    def handle_data(self, data: str) -> None:
        if not self._folds:
            self.words.append(data)


def sections_of(doctree: nodes.document, page: str) -> list[Section]:
    """The sections of a page in their order; what is folded, such as answers, is in none."""
    found: list[Section] = []
    for section in doctree.findall(nodes.section):
        heading = section.next_node(nodes.title).astext()
        anchor = section["ids"][0] if found else ""
        title = found[0][1] if found else heading
        visible = _Visible()
        for part in section.children:
            _gather(part, visible)
        visible.close()  # it kept back what might have gone on
        found.append((page, title, anchor, heading, " ".join("".join(visible.words).split())))
    return found


def _gather(node: nodes.Node, visible: _Visible) -> None:
    if isinstance(node, LEFT_OUT) or FOLDED in getattr(node, "attributes", {}).get("classes", ()):
        return
    if isinstance(node, nodes.raw):
        visible.feed(node.astext())
    elif isinstance(node, nodes.math):
        visible.handle_data(text if (text := node.astext()).isalnum() else "…")
    elif isinstance(node, nodes.Text):
        visible.handle_data(node.astext())
    else:
        for child in node.children:
            _gather(child, visible)
        if not isinstance(node, nodes.Inline):
            visible.words.append(" ")


def setup(app: Sphinx) -> dict[str, bool]:
    """Gather the sections of all pages, and put them in the place of Sphinx's index."""
    found: list[Section] = []

    def collect(_: Sphinx, doctree: nodes.document, page: str) -> None:
        found.extend(sections_of(doctree, page))

    def write(_: Sphinx, failed: Exception | None) -> None:
        if not failed:
            held = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
            Path(app.outdir, INDEX).write_text(f"Search.setIndex({held})\n", encoding="utf-8")

    app.connect("doctree-resolved", collect)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
