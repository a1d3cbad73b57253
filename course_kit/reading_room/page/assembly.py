"""A page put together: one file with networks, engine and page, which asks for nothing.

What a reader sees first, the examples with their readings, stands before the networks in the file,
so it is there before they have arrived, and without JavaScript. Only the standard library is
imported here, so that ``make look`` works with the Python that is there.
"""

import base64
import hashlib
import json
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from course_kit.reading_room import MARK
from course_kit.reading_room.packed import Packed, as_text
from course_kit.reading_room.page import still
from course_kit.reading_room.page.examples import EXAMPLES, Example
from course_kit.reading_room.page.markup import Markup, element, filled, joined
from course_kit.reading_room.script import engine
from course_lib import javascript
from course_lib.files import REPOSITORY, check_free, write_text

PAGE = REPOSITORY / "site" / "reading_room.html"
PRETRAINED_PAGE = PAGE.with_name("reading_room_pretrained.html")
FOLDER = Path(__file__).parent
PARTS = (
    "state",  # what the address says
    "asking",  # the worker
    "render",  # a reading as tinted words and as a heatmap
    "night",  # light or dark
    "drawers",  # what opens below a row of cards
    "equation",  # LaTeX as MathML
    "traced",  # a trace, and turned weights, in numbers and words
    "trace",  # the steps of a trace
    "turn",  # weights that a reader turns
    "inspecting",  # the weight that is traced and turned
    "cards",  # a reader and what it says
    "exports",  # what is shown, as a file
    "tour",
    "room",  # what is asked, and what is known of it
    "page",
)
NAME = "Attention you can read, measure and doubt"
READERS = {  # by whether they are pre-trained: what reads, and what a tint is
    False: (
        "five networks read",
        "Trained networks read one text side by side. A word’s tint shows its weight in a "
        "network’s attention (in SANet combined with its share in the largest values)",
    ),
    True: (
        "a pre-trained Transformer reads",
        "MiniLM, a pre-trained Transformer of six layers with twelve heads each, reads your text. "
        "A word’s tint shows the attention that it receives in the top layer",
    ),
}


def write_page(
    packed: Packed,
    target: Path = PAGE,
    examples: Sequence[Example] = EXAMPLES,
    own: Collection[str] = (),
    in_site: bool = False,
) -> Path:
    """Write the ``page`` of these networks; returns its path.

    ``DataError`` if a file that is not ours stands there, or if the place cannot be written.
    """
    check_free(target, MARK)
    write_text(target, page(packed, examples, own, in_site))
    return target


def page(
    packed: Packed,
    examples: Sequence[Example] = EXAMPLES,
    own: Collection[str] = (),
    in_site: bool = False,
) -> str:
    """The page of these networks, of which all of your ``own`` (ids) read every example, too.

    ``in_site``: with links to the site's pages, which would lead nowhere from the file alone.
    """
    told = {
        "models": packed.networks,
        "examples": [_example(example, packed.readings, own) for example in examples],
        "colours": packed.colours,
        "clip": still.CLIP,
        "pretrained": packed.pretrained,
        "in_site": in_site,
    }
    script, style = _script(), _style(packed.colours)
    reads, tinted = READERS[packed.pretrained]
    return filled(
        (FOLDER / "page.html").read_text(encoding="utf-8"),
        policy=_policy(script, style),
        reads=reads,
        style=Markup(style),
        top=_home(in_site),
        tinted=tinted,
        audits=_audits(in_site),
        elsewhere=_elsewhere() if packed.pretrained else "",
        clip=still.CLIP,
        examples=joined((still.example(each, packed.networks) for each in told["examples"]), "\n"),
        readers=joined(map(still.who_reads, packed.networks), "\n"),
        told=_data(told),
        engine=_data(engine()),
        bundle=as_text(packed.bundle),
        script=Markup(script),
    )


def _home(in_site: bool) -> Markup:
    return element("a", NAME, href="index.html") if in_site else element("span", NAME)


def _audits(in_site: bool) -> Markup:
    if in_site:
        return joined([element("a", "The audits", href="audits.html"), " measure"])
    return joined(["An audit (", element("code", "attention-course audit"), ") measures"])


def _elsewhere() -> Markup:
    command = element("code", "attention-course room")
    return joined(
        [" Five smaller networks read in a page of their own, which ", command, " writes."]
    )


def _example(
    example: Example, readings: dict[str, dict[str, Any]], own: Collection[str]
) -> dict[str, Any]:
    """An example with what its readers read; your ``own`` networks read it in the browser."""
    texts = [example.text, *filter(None, [example.beside])]
    return {
        "name": example.name,
        "title": example.title,
        "watch": example.watch,
        "readers": list(dict.fromkeys([*example.readers, *own])),
        "texts": texts,
        "readings": [{name: readings[text][name] for name in example.readers} for text in texts],
    }


def _script() -> str:
    """The course's views and the page's parts as one module."""
    parts = [(FOLDER / "js" / f"{part}.js").read_text(encoding="utf-8") for part in PARTS]
    return javascript.joined([javascript.module(), *parts])


def _style(colours: dict[str, Any]) -> str:
    """The page's style sheet, with the rules of its tints and bars."""
    return (FOLDER / "page.css").read_text(encoding="utf-8") + still.tint_rules(
        colours["tints"], colours["night"]
    )


def _policy(script: str, style: str) -> str:
    """A Content-Security-Policy that lets these two work, and nothing else."""
    views = re.search(r"export const STYLE = `(.*?)`;", javascript.module(), re.DOTALL)[1]
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)} {_hash(views)}; "
        "worker-src blob:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data(value: Any) -> Markup:
    """JSON that may stand in a script element, whatever the strings in it hold."""
    return Markup(json.dumps(value, separators=(",", ":")).replace("<", "\\u003c"))
