"""``site/reading_room.html``: one file with networks, engine and page, which asks for nothing.

What a reader sees first, the examples with their readings, stands before the networks in the file,
so it is there before they have arrived, and without JavaScript.
"""

import argparse
import base64
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader
from matplotlib.colors import to_hex

from course_kit.reading_room.pack import PRETRAINED, bundle, open_runs, reads_pieces
from course_kit.reading_room.page.examples import EXAMPLES, RECORDED, Example, read_by
from course_kit.reading_room.page.readings import facts, reading
from course_kit.reading_room.script import engine
from course_lib.files import REPOSITORY, DataError, prepared_folder, write_text
from course_lib.runs import Run
from course_lib.views.colours import ATTENTION_HEX, DARK_THEME, SIGNED, THEME, TINTS_HEX
from course_lib.views.heatmap import module as heatmap

PAGE = REPOSITORY / "site" / "reading_room.html"
PRETRAINED_PAGE = PAGE.with_name("reading_room_pretrained.html")
CLIP = 4  # times the weight of uniform attention: the strongest tint
STATIC_TINTS = 17
_HERE = Path(__file__).parent
TEMPLATES = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
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


def write_page(folders: Sequence[Path] = (), target: Path = PAGE, in_site: bool = False) -> Path:
    """Write the page with all recorded networks and the runs in ``folders``; returns its path.

    ``in_site``: with links to the site's pages beside it. Raises what ``load_run`` does for a
    folder that holds no finished run, and ``DataError`` for a network that the page cannot run.
    """
    own = {run.record["id"]: run for run in open_runs(folders)}
    runs = {run.record["id"]: run for run in open_runs(RECORDED)} | own
    return _written(page(runs, EXAMPLES, own, in_site), target)


def write_pretrained_page(target: Path = PRETRAINED_PAGE) -> Path:
    """Write the page in which MiniLM reads, which has its files from the data; returns its path.

    ``DataError`` says what to run if they are not there.
    """
    if not prepared_folder("minilm").exists():
        raise DataError(f"{prepared_folder('minilm')} is not there: attention-course data minilm")
    (run,) = open_runs([PRETRAINED])
    return _written(page({PRETRAINED: run}, read_by(PRETRAINED)), target)


def _written(text: str, target: Path) -> Path:
    write_text(target, text)
    return target


def page(
    runs: dict[str, Run],
    examples: Sequence[Example],
    own: Iterable[str] = (),
    in_site: bool = False,
) -> str:
    """The page with these runs by id, whose examples all runs of your ``own`` read, too.

    ``in_site``: with links to the site's pages, which would lead nowhere from the file alone.
    """
    told = {
        "models": [facts(run) for run in runs.values()],
        "examples": [_example(example, runs, own) for example in examples],
        "colours": {
            "theme": THEME,
            "dark": DARK_THEME,
            "weights": ATTENTION_HEX,
            "tints": TINTS_HEX,
            "signed": [to_hex(SIGNED(share)) for share in np.linspace(0, 1, 61)],
        },
        "clip": CLIP,
        "pretrained": all(map(reads_pieces, runs.values())),
        "in_site": in_site,
    }
    script, style = _script(), _style()
    return TEMPLATES.get_template("page.html.j2").render(
        told=told,
        facts=_data(told),
        engine=_data(engine()),
        bundle=bundle([*runs.values()]),
        script=script,
        style=style,
        policy=_policy(script, style),
        step=_step,
        in_site=in_site,
    )


def _example(example: Example, runs: dict[str, Run], own: Iterable[str]) -> dict[str, Any]:
    """An example with what its readers read; your ``own`` runs read it in the browser."""
    texts = [example.text, *filter(None, [example.beside])]
    return {
        "name": example.name,
        "title": example.title,
        "watch": example.watch,
        "readers": list(dict.fromkeys([*example.readers, *own])),
        "texts": texts,
        "readings": [
            {name: reading(runs[name], text) for name in example.readers} for text in texts
        ],
    }


def _step(weight: float, count: int) -> int:
    """Which of the static tints a word wears that holds this weight among so many."""
    return round(min(weight * count, CLIP) / CLIP * (STATIC_TINTS - 1))


def _script() -> str:
    """The course's views and the page's parts as one module."""
    parts = [(_HERE / "js" / f"{part}.js").read_text(encoding="utf-8") for part in PARTS]
    return heatmap.joined([heatmap.module(), *parts])


def _style() -> str:
    """The page's style sheet, with a class for every tint and for every percent of a bar."""
    tints = [
        TINTS_HEX[round(i / (STATIC_TINTS - 1) * (len(TINTS_HEX) - 1))] for i in range(STATIC_TINTS)
    ]
    night = "oklch(from {} calc(0.98 - 0.75 * l) c h)"
    rules = [
        f".t{i}{{background:light-dark({colour}, {night.format(colour)})}}"
        for i, colour in enumerate(tints)
    ]
    rules += [f".w{percent}{{width:{percent}%}}" for percent in range(101)]
    return (_HERE / "page.css").read_text(encoding="utf-8") + "".join(rules)


def _policy(script: str, style: str) -> str:
    """A Content-Security-Policy that lets these two work, and nothing else."""
    views = re.search(r"export const STYLE = `(.*?)`;", heatmap.module(), re.DOTALL)[1]
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)} {_hash(views)}; "
        "worker-src blob:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data(value: Any) -> str:
    """JSON that may stand in a script element, whatever the strings in it hold."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def command(options: argparse.Namespace) -> int:
    """Write the page and say where it is and how large."""
    target = options.to or (PRETRAINED_PAGE if options.pretrained else PAGE)
    write = write_pretrained_page if options.pretrained else partial(write_page, options.runs)
    path = write(target)
    print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
    return 0
