"""``site/``: the executed lessons as pages of Sphinx that need neither a kernel nor a network."""

import json
import re
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path

import nbformat
from jinja2 import Environment, FileSystemLoader

from course_kit.audit.page import audit_page
from course_kit.publishing import contents, workspace
from course_kit.publishing.lessons import (
    EXECUTED,
    REPORTS,
    SECOND_PAPER,
    STUDY,
    lesson_paths,
    side_notes,
)
from course_kit.publishing.site.pages import site_page
from course_kit.research.report import frames, other_reading
from course_lib.files import REPOSITORY, DataError
from course_lib.views.heatmap import AttentionText

SITE = REPOSITORY / "site"
ROOM = "reading_room.html"  # made by `attention-course room`
SOURCES = REPOSITORY / "runs" / "site"  # what Sphinx reads, and what it keeps between two builds
READINGS = REPOSITORY / "results" / "hero" / "readings.json"
AUDITS = REPOSITORY / "results" / "audits"
ORPHAN = "---\norphan: true\n---\n\n"  # before a page that is not in the sidebar
TAUGHT_AS = {"minilm": "pretrained"}  # in a lesson's name, where that is not the network's
BESIDE = re.compile(r"\[[^\]]*\]\(([\w.]+\.md)\)")  # a link from a study's text to another one
UP = re.compile(r"\[([^\]]*)\]\(\.\./([^)]*)\)")  # a link from a teacher's page to another one
TEMPLATES = Environment(loader=FileSystemLoader(Path(__file__).parent))  # of our own HTML


def pages() -> list[Path]:
    """What the site shows: the lessons, the side notes, and what the records say."""
    return [*lesson_paths(), *side_notes(), *REPORTS]


def write_site(
    executed: Path = EXECUTED,
    target: Path = SITE,
    sources: Path = SOURCES,
    for_class: bool = False,
) -> None:
    """Build ``target`` from the executed lessons in a folder; ``DataError`` if Sphinx cannot.

    A lesson without an executed copy has no page. Side notes and reports are shown as they are
    committed. The download button of a lesson offers the learner's copy, which holds no solution.
    ``for_class`` leaves out solutions on pages, too, and the teacher's pages with their answers.
    """
    shutil.rmtree(sources, ignore_errors=True)
    copies = sources / "copies" / "copies"  # Sphinx copies what is in a folder, not the folder
    copies.mkdir(parents=True)
    shown = {path: executed / path.name for path in lesson_paths()}
    shown = {path: copy for path, copy in shown.items() if copy.exists()}
    shown |= {path: path for path in (*side_notes(), *REPORTS)}
    made = [*shown]
    for path, copy in shown.items():
        notebook = nbformat.read(copy, as_version=4)
        page = site_page(notebook, path.name, {each.name for each in made}, not for_class)
        nbformat.write(page, sources / path.name)
    notes = [path for path in made if path in side_notes()]
    lessons = [path for path in made if path not in (*notes, *REPORTS)]
    for name, copy in workspace.learner_copies([*lessons, *notes], target / "copies").items():
        (copies / name).parent.mkdir(exist_ok=True)
        nbformat.write(copy, copies / name)
    index = TEMPLATES.get_template("index.md.in").render(
        hero=three_readers(READINGS, ROOM if (target / ROOM).exists() else ""),
        table=contents.learners_table([contents.read_entry(path) for path in lessons]),
        lessons=[path.stem for path in lessons],
        notes=bool(notes),
        reports=[path.stem for path in made if path in REPORTS],
        teaching=not for_class,
    )
    (sources / "index.md").write_text(index, encoding="utf-8")
    if notes:
        template = TEMPLATES.get_template("further.md.in")
        listed = template.render(notes=contents.notes_list(notes), names=[p.stem for p in notes])
        (sources / "further.md").write_text(listed, encoding="utf-8")
    write_study(sources)
    write_audits(target / "audits", sources / "audits.md", [path.stem for path in made])
    if not for_class:
        _teaching_pages(sources / "teaching", {path.name for path in made})
    earlier = ("*.html", "teaching/*.html", "copies/**/*.ipynb")
    for page in chain.from_iterable(map(target.glob, earlier)):
        if page.name != ROOM:
            page.unlink()  # that of an earlier build
    options = ["--quiet", "--keep-going", "--jobs=auto", "--conf-dir", str(Path(__file__).parent)]
    command = [sys.executable, "-m", "sphinx", *options, str(sources), str(target)]
    failed = subprocess.run([*command, "--doctree-dir", str(sources / ".doctrees")]).returncode
    shutil.rmtree(target.parent / "jupyter_execute", ignore_errors=True)  # myst-nb's own copies
    if failed:
        raise DataError("Sphinx could not build the site; what is wrong stands above")


def write_study(sources: Path, paper: Path = SECOND_PAPER) -> None:
    """The texts to which the study's pages link: the plan, and once the second edition's paper is
    there, it, its plan and its picture. A link to what has no page becomes its words."""
    second = [paper, STUDY / "plan_2.md"] if paper.exists() else []
    texts = [STUDY / "plan.md", *second]
    shown = {path.name for path in texts}
    for path in texts:
        text = BESIDE.sub(
            lambda link: link[0] if link[1] in shown else f"`{link[1]}`", path.read_text("utf-8")
        )
        (sources / path.name).write_text(ORPHAN + text, encoding="utf-8")
    for picture in paper.parent.glob("*.png") if second else ():
        shutil.copyfile(picture, sources / picture.name)


def write_audits(folder: Path, listed: Path, made: list[str], records: Path = AUDITS) -> None:
    """A page for each recorded audit with links to what was ``made`` on its network, and the page
    of Sphinx that lists them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    audits = [json.loads(path.read_bytes()) for path in sorted(records.glob("*.json"))]
    for audit in audits:
        network, dataset = audit["name"].split("-")[:2]
        audit["plain"] = f"{frames.SYSTEM_NAMES[network]}, {frames.NAMES[dataset]}"
        links = {"All audits": "../audits.html"} | {
            "The report" if name == "report" else f"Lesson {name[:2]}": f"../{name}.html"
            for name in made
            if name == "report" or f"_{TAUGHT_AS.get(network, network)}" in name
        }
        audit["note"] = other_reading(audit["name"].rpartition("-s")[0])
        page = audit_page(audit, links)
        (folder / f"{audit['name']}.html").write_text(page, encoding="utf-8")
    listed.write_text(TEMPLATES.get_template("audits.md.in").render(audits=audits), "utf-8")


def _teaching_pages(folder: Path, made: set[str]) -> None:
    """The teacher's pages, with links to what has a page; the first links to the others, which are
    not in the sidebar."""
    folder.mkdir()
    for page in contents.SYLLABI.parent.glob("*.md"):
        start = "" if page.name == "README.md" else ORPHAN
        named = page.read_text("utf-8").replace(
            "](../README.md)", "](../README.md) (`notebooks/README.md` of the repository)"
        )
        text = UP.sub(lambda link: link[0] if link[2] in made else link[1], named)
        (folder / page.name).write_text(start + text, encoding="utf-8")


def three_readers(readings: Path, room: str = "") -> str:
    """A sentence as three readers weigh its words, as HTML with a switch between them, under a link
    to the reading ``room`` if there is one."""
    kept = json.loads(readings.read_text(encoding="utf-8"))
    for reader in kept["readers"]:
        view = AttentionText([kept["words"]], [reader["attention"]], unit="text")
        reader["view"] = view.to_html()
        reader["answer"] = max(zip(reader["probabilities"], kept["classes"]))
    return TEMPLATES.get_template("hero.html").render(kept, room=room)
