"""Sphinx's settings for the site: no page asks any host for anything."""

import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))  # for what it adds to Sphinx: sections.py

project = "Attention you can read, measure and doubt"
html_title = project
author = ""  # the copyright names them
language = "en"
extensions = ["myst_nb", "sections"]
exclude_patterns = [".doctrees", "copies"]
suppress_warnings = ["myst.header"]

nb_execution_mode = "off"
nb_ipywidgets_js = {}
nb_merge_streams = True
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

html_theme = "sphinx_book_theme"
html_theme_options = {
    "home_page_in_toc": True,
    "use_download_button": False,  # it would offer the source with its solutions
    "use_fullscreen_button": False,
    "show_toc_level": 2,
    "navbar_persistent": [],  # the search stands in the sidebar
}
html_context = {"default_mode": "auto"}  # of light and dark
html_static_path = ["static"]
templates_path = ["templates"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
copyright = (
    "the course's authors. Code: MIT licence; prose and pictures: CC BY 4.0. "
    "Formulas: Lesson Math, a subset of STIX Math, SIL OFL"
)


def _mathml(display: str) -> Any:
    def visit(translator: Any, node: nodes.Node) -> None:
        """A formula as MathML, which browsers draw by themselves."""
        translator.body.append(convert(node.astext(), display=display))
        raise nodes.SkipNode

    return visit, None


def _download(app: Sphinx, page: str, _: str, context: dict[str, Any], __: Any) -> None:
    """Beside a page's title: the learner's copy."""
    names = (f"copies/{page}.ipynb", f"copies/further/{page}.ipynb")
    copies = [name for name in names if (Path(app.srcdir) / "copies" / name).exists()]
    link = {
        "type": "link",
        "url": copies[0] if copies else "",
        "tooltip": "Download this notebook, without solutions",
        "icon": "fas fa-download",
        "label": "download-copy",
    }
    if copies:
        context["header_buttons"].append(link)


def setup(app: Sphinx) -> None:
    """Add formulas and the button to Sphinx."""
    app.add_html_math_renderer("mathml", _mathml("inline"), _mathml("block"))
    app.config.html_extra_path = [str(Path(app.srcdir) / "copies")]
    app.connect("html-page-context", _download, priority=900)
