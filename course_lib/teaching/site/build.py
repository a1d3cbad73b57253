"""``site/``: the executed lessons as pages that make no requests, with an index and a search.

A page is one file: styles, script, pictures and the font of the formulas are in it. Only the search
reads another, ``search.js``, when somebody first searches.
"""

import base64
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from jinja2 import Environment, FileSystemLoader
from PIL import Image

from course_lib.files import REPOSITORY, atomic_path
from course_lib.teaching.contents import Entry, read_entry
from course_lib.teaching.lessons import (
    EXECUTED,
    REPORT,
    Outcome,
    execute,
    lesson_paths,
    prepare_data,
    views_shown,
    watched,
)
from course_lib.teaching.site.cells import Part, cover, page_parts
from course_lib.teaching.site.drawn_map import drawn_map
from course_lib.teaching.site.hero import hero
from course_lib.teaching.site.prose import Outline, plain_text

SITE = REPOSITORY / "site"
COVER = (480, 320)  # pixels of a picture on the index, at most
_HERE = Path(__file__).parent
_ASSETS = _HERE / "assets"


@dataclass(frozen=True)
class Page:
    """A lesson's page: its ``entry``, and the sections that the search knows."""

    entry: Entry
    sections: tuple[dict[str, str], ...]


def export_html(
    executed: Path, target: Path, before: Entry | None = None, after: Entry | None = None
) -> Page:
    """Write an executed lesson as one self-contained page with links to its neighbours."""
    notebook, stem = nbformat.read(executed, as_version=4), target.stem
    entry, outline = read_entry(notebook, stem), Outline()
    parts = page_parts(notebook, stem, outline)
    headings = [heading for heading in outline.headings if heading.level in (2, 3)]
    _write(
        target,
        "lesson.html.j2",
        name=f"{entry.number} {entry.title}".strip(),
        parts=parts,
        headings=headings,
        before=before,
        after=after,
    )
    return Page(entry, tuple(_sections(entry, parts)))


def course(profile: str) -> list[Outcome]:
    """Data, every lesson and the report, and ``site/`` with these executed and an index."""
    outcomes = []
    with watched(pages(), profile) as progress:
        if profile != "smoke":
            prepare_data(progress)
        for lesson in pages():
            executed = EXECUTED / lesson.name
            for path in (executed, SITE / f"{lesson.stem}.html"):  # those of an earlier run
                path.unlink(missing_ok=True)
            with views_shown("static"):
                outcomes.append(execute(lesson, executed, profile, progress))
    write_site()
    return outcomes


def write_site() -> None:
    """Write a page of everything executed so far, the index and the search."""
    entries = [read_entry(nbformat.read(path, as_version=4), path.stem) for path in pages()]
    executed = [EXECUTED / path.name for path in pages()]
    made = [entry for entry, path in zip(entries, executed, strict=True) if path.exists()]
    neighbours = zip(made, [None, *made][:-1], [*made, None][1:], strict=True)
    written = [
        export_html(EXECUTED / f"{entry.stem}.ipynb", SITE / f"{entry.stem}.html", before, after)
        for entry, before, after in neighbours
    ]
    _write_index(entries, {entry.stem for entry in made})
    _write_search(section for page in written for section in page.sections)


def hero_section(readings: Path) -> str:
    """The index's three readers alone, with the styles that they need."""
    section = _templates().get_template("hero.html.j2").render(hero=hero(readings))
    return f"<style>{_kept()['style']}</style>{section}"


def pages() -> list[Path]:
    """What ``site/`` shows: the lessons, and the report of all records."""
    return [*lesson_paths(), REPORT]


def _sections(entry: Entry, parts: Sequence[Part]) -> Iterable[dict[str, str]]:
    """The prose under each heading, without its formulas, code and outputs."""
    lesson = f"{entry.number} {entry.title}".strip()
    markup = "\n".join(part.prose for part in parts)
    for section in markup.split("<h")[1:]:
        head, _, text = section.partition("\n")
        if not (head[:1] in "123" and 'id="' in head):
            continue
        anchor = head.partition('id="')[2].partition('"')[0]
        yield {
            "id": f"{entry.stem}#{anchor}",
            "url": f"{entry.stem}.html#{anchor}",
            "lesson": lesson,
            "heading": plain_text(f"<h{head}"),
            "text": plain_text(text),
        }


def _write_index(entries: Sequence[Entry], made: set[str]) -> None:
    cards = [
        {
            "entry": entry,
            "made": entry.stem in made,
            "facts": _facts(entry),
            "picture": _thumbnail(EXECUTED / f"{entry.stem}.ipynb"),
        }
        for entry in entries
    ]
    _write(
        SITE / "index.html",
        "index.html.j2",
        cards=cards,
        map=drawn_map(entries, made),
        hero=hero(),
    )


def _facts(entry: Entry) -> str:
    """``25 minutes to read · 2 exercises``, as far as the lesson says so."""
    parts = [f"{entry.minutes} minutes to read"] if entry.minutes else []
    if entry.exercises:
        parts.append(f"{entry.exercises} exercise" + "s" * (entry.exercises > 1))
    return " · ".join(parts)


def _thumbnail(executed: Path) -> str:
    """The lesson's cover, small, in base64; empty without one."""
    data = cover(nbformat.read(executed, as_version=4)) if executed.exists() else None
    if data is None:
        return ""
    picture, small = Image.open(io.BytesIO(data)).convert("RGB"), io.BytesIO()
    picture.thumbnail(COVER)
    picture.quantize(64).save(small, "PNG", optimize=True)
    return base64.b64encode(small.getvalue()).decode("ascii")


def _write_search(sections: Iterable[dict[str, str]]) -> None:
    engine = (_ASSETS / "vendor" / "minisearch.js").read_text(encoding="utf-8")
    with atomic_path(SITE / "search.js") as temporary:
        temporary.write_text(
            f"{engine}\nconst SECTIONS = {json.dumps(list(sections))};\n", encoding="utf-8"
        )


def _write(target: Path, template: str, **values: Any) -> None:
    with atomic_path(target) as temporary:
        page = _templates().get_template(template).render(**_kept(), **values)
        temporary.write_text(page, encoding="utf-8")


@cache
def _templates() -> Environment:
    # What the templates mark as safe is HTML of ours, or cleaned.
    loader = FileSystemLoader(_HERE / "templates")
    return Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)


@cache
def _kept() -> dict[str, str]:
    """What every page holds."""
    font = (_ASSETS / "lesson-math.woff2").read_bytes()
    return {
        "font": base64.b64encode(font).decode("ascii"),
        "style": (_ASSETS / "site.css").read_text(encoding="utf-8"),
        "script": (_ASSETS / "site.js").read_text(encoding="utf-8"),
    }
