"""How data flows through the models: committed drawings (SVG), each with its description."""

import base64
import html
from pathlib import Path
from xml.etree import ElementTree

from IPython.display import display

FOLDER = Path(__file__).with_name("svg")
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.svg")))
TITLE = "{http://www.w3.org/2000/svg}title"


def show(name: str) -> None:
    """Display the drawing of this name, one of ``NAMES``, with its title as alternative text."""
    if name not in NAMES:
        raise ValueError(f"name is {name!r}; it takes one of {', '.join(NAMES)}")
    path = FOLDER / f"{name}.svg"
    about = ElementTree.parse(path).findtext(TITLE)
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    picture = f'<img alt="{html.escape(about)}" src="data:image/svg+xml;base64,{data}">'
    display({"text/html": picture, "text/plain": about}, raw=True)
