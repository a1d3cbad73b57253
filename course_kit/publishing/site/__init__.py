"""``site/``: the executed lessons as pages of Sphinx that need neither a kernel nor a network."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np

from course_kit.publishing import contents, workspace
from course_kit.publishing.lessons import EXECUTED, REPORTS, lesson_paths
from course_kit.publishing.site.pages import site_page
from course_lib.files import REPOSITORY, DataError
from course_lib.views.heatmap import AttentionText

SITE = REPOSITORY / "site"
ROOM = "reading_room.html"  # made by `attention-course room`
SOURCES = REPOSITORY / "runs" / "site"  # what Sphinx reads, and what it keeps between two builds
READINGS = REPOSITORY / "results" / "hero" / "readings.json"
READERS = {
    "trained": "Trained",
    "untrained": "Before training",
    "uniform": "Trained, equal weights",
}
SWITCH = '<input type="radio" name="reader" id="{id}"{on}><label for="{id}">{name}</label>'
ROOM_LINK = """
In <a href="reading_room.html">the reading room</a> trained networks read what you type, in your
browser.
"""


def pages() -> list[Path]:
    """What the site shows: the lessons, and what the records say."""
    return [*lesson_paths(), *REPORTS]


def write_site(executed: Path = EXECUTED, target: Path = SITE, sources: Path = SOURCES) -> None:
    """Build ``target`` from the executed copies in a folder; ``DataError`` if Sphinx cannot.

    A lesson without an executed copy has no page. The download button of a lesson offers the
    learner's copy, which holds no solution.
    """
    shutil.rmtree(sources, ignore_errors=True)
    made = [path for path in pages() if (executed / path.name).exists()]
    names = {path.name for path in made}
    sources.mkdir(parents=True)
    for path in made:
        notebook = nbformat.read(executed / path.name, as_version=4)
        nbformat.write(site_page(notebook, path.name, names), sources / path.name)
    lessons = [path for path in made if path not in REPORTS]
    copies = sources / "copies" / "copies"  # Sphinx copies what is in a folder, not the folder
    copies.mkdir(parents=True)
    for name, copy in workspace.learner_copies(lessons, target / "copies").items():
        nbformat.write(copy, copies / name)
    template = Path(__file__).with_name("index.md.in").read_text(encoding="utf-8")
    index = template.format(
        room=ROOM_LINK if (target / ROOM).exists() else "",
        hero=three_readers(READINGS),
        lessons=contents.learners_table([contents.read_entry(path) for path in lessons]),
        toctree="\n".join(path.stem for path in lessons),
        reports="\n".join(path.stem for path in made if path in REPORTS),
    )
    (sources / "index.md").write_text(index, encoding="utf-8")
    for page in (*target.glob("*.html"), *target.glob("copies/*.ipynb")):
        if page.name != ROOM:
            page.unlink()  # that of an earlier build
    options = ["--quiet", "--keep-going", "--conf-dir", str(Path(__file__).parent)]
    command = [sys.executable, "-m", "sphinx", *options, str(sources), str(target)]
    failed = subprocess.run([*command, "--doctree-dir", str(sources / ".doctrees")]).returncode
    shutil.rmtree(
        target.parent / "jupyter_execute", ignore_errors=True
    )  # copies that myst-nb leaves
    if failed:
        raise DataError("Sphinx could not build the site; what is wrong stands above")


def three_readers(readings: Path) -> str:
    """A sentence as three readers weigh its words, as HTML with a switch between them."""
    kept = json.loads(readings.read_text(encoding="utf-8"))
    switches, readers = [], []
    for number, reader in enumerate(kept["readers"], 1):
        on = " checked" if number == 1 else ""
        switches.append(SWITCH.format(id=f"reader{number}", on=on, name=READERS[reader["name"]]))
        view = AttentionText([kept["words"]], [reader["attention"]], unit="text").to_html()
        best = int(np.argmax(reader["probabilities"]))
        answer = f"{kept['classes'][best]}, {100 * reader['probabilities'][best]:.0f} %"
        readers.append(f'<div class="reader">{view}<p>Its answer: {answer}</p></div>')
    parts = {"switches": "\n".join(switches), "readers": "\n".join(readers)}
    hero = Path(__file__).with_name("hero.html").read_text(encoding="utf-8")
    return hero.format(**parts, run=kept["run"])
