"""``site/``: the executed lessons as pages that make no requests, with an index and a search.

A page is one file: styles, script, pictures and the font of the formulas are in it. Only the search
reads another, ``search.js``, when somebody first searches.
"""

import base64
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from jinja2 import Environment, FileSystemLoader
from PIL import Image

from course_kit.publishing.contents import Entry, read_entry
from course_kit.publishing.lessons import (
    EXECUTED,
    REPORTS,
    Outcome,
    execute,
    lesson_paths,
    prepare_data,
    views_shown,
    watched,
)
from course_kit.publishing.site.cells import cover, page_parts
from course_kit.publishing.site.drawn_map import drawn_map
from course_kit.publishing.site.hero import hero
from course_kit.publishing.site.prose import Outline, plain_text
from course_kit.reading_room import EXAMPLES
from course_lib.files import REPOSITORY, atomic_path

SITE = REPOSITORY / "site"
ROOM = "reading_room.html"  # made by `attention-course room`; the site works without it
COVER = (480, 320)  # pixels of a picture on the index, at most
_HERE = Path(__file__).parent
_ASSETS = _HERE / "assets"


def export_html(
    executed: Path,
    target: Path,
    entry: Entry | None = None,
    before: Entry | None = None,
    after: Entry | None = None,
) -> list[dict[str, str]]:
    """Write an executed lesson as one self-contained page with links to its neighbours.

    Returns its sections for the search. What the page says of the lesson is ``entry``, else what
    the executed copy says.
    """
    notebook, stem = nbformat.read(executed, as_version=4), target.stem
    entry, outline = entry or read_entry(notebook, stem), Outline()
    parts = page_parts(notebook, stem, outline)
    _write(
        target,
        "lesson.html.j2",
        name=f"{entry.number} {entry.title}".strip(),
        parts=parts,
        failed=any(part.failed for part in parts),
        headings=[heading for heading in outline.headings if heading.level in (2, 3)],
        before=before,
        after=after,
    )
    return list(_sections(entry, "\n".join(part.prose for part in parts), outline))


def course(profile: str) -> list[Outcome]:
    """Data, every lesson and the reports, and ``site/`` with what could be executed and an index.

    The pages are written even if a lesson is interrupted; that of the lesson itself is then gone.
    """
    outcomes, errors = [], {}
    with watched(pages(), profile) as progress:
        if profile != "smoke":
            prepare_data(progress)
        try:
            for lesson in pages():
                executed = EXECUTED / lesson.name
                executed.unlink(missing_ok=True)  # that of an earlier run
                with views_shown("static"):
                    outcomes.append(execute(lesson, executed, profile, progress))
        finally:
            errors = write_site()
    return [
        replace(outcome, errors=[*outcome.errors, *errors.get(outcome.lesson, [])])
        for outcome in outcomes
    ]


def write_site() -> dict[str, list[str]]:
    """Write a page of everything executed so far, the index and the search.

    Returns what went wrong by lesson; a lesson without an executed copy, or whose page cannot be
    made, has no page afterwards.
    """
    entries = [read_entry(nbformat.read(path, as_version=4), path.stem) for path in pages()]
    made = [entry for entry in entries if (EXECUTED / f"{entry.stem}.ipynb").exists()]
    sections: list[dict[str, str]] = []
    errors: dict[str, list[str]] = {}
    for before, entry, after in zip([None, *made], made, [*made, None][1:], strict=False):
        executed, page = EXECUTED / f"{entry.stem}.ipynb", SITE / f"{entry.stem}.html"
        try:
            sections += export_html(executed, page, entry, before, after)
        except Exception as error:  # the other pages can be made all the same
            errors[entry.stem] = [f"no page: {type(error).__name__}: {error}"]
    shown = {entry.stem for entry in made} - errors.keys()
    for entry in entries:
        if entry.stem not in shown:
            (SITE / f"{entry.stem}.html").unlink(missing_ok=True)
    _write_index(entries, shown)
    _write_search(sections)
    return errors


def hero_section(readings: Path) -> str:
    """The index's three readers alone, with the styles that they need."""
    section = _templates().get_template("hero.html.j2").render(hero=hero(readings))
    return f"<style>{_kept()['style']}</style>{section}"


def pages() -> list[Path]:
    """What ``site/`` shows: the lessons, and what the records say."""
    return [*lesson_paths(), *REPORTS]


def _sections(entry: Entry, markup: str, outline: Outline) -> Iterator[dict[str, str]]:
    """The prose before and under each heading, without its formulas."""
    title = f"{entry.number} {entry.title}".strip()
    starts = [markup.index(f'<h{h.level} id="{h.anchor}">') for h in outline.headings]
    ends = [*starts, len(markup)]
    if plain_text(markup[: ends[0]]) or not starts:
        yield _section(entry.stem, "", title, title, markup[: ends[0]])
    for heading, start, end in zip(outline.headings, starts, ends[1:], strict=True):
        _, _, text = markup[start:end].partition("</h")
        name = plain_text(heading.markup)
        yield _section(entry.stem, f"#{heading.anchor}", title, name, text.partition(">")[2])


def _section(stem: str, anchor: str, lesson: str, heading: str, markup: str) -> dict[str, str]:
    address = f"{stem}.html{anchor}"
    text = plain_text(markup)
    return {"id": address, "url": address, "lesson": lesson, "heading": heading, "text": text}


def _write_index(entries: Sequence[Entry], made: set[str]) -> None:
    cards = [
        {
            "entry": entry,
            "made": entry.stem in made,
            "facts": _facts(entry),
            "picture": _thumbnail(EXECUTED / f"{entry.stem}.ipynb") if entry.stem in made else "",
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
    data = cover(nbformat.read(executed, as_version=4))
    if data is None:
        return ""
    try:
        picture, small = Image.open(io.BytesIO(data)).convert("RGB"), io.BytesIO()
    except OSError:  # no picture that anybody could show
        return ""
    picture.thumbnail(COVER)
    picture.quantize(64).save(small, "PNG", optimize=True)
    return base64.b64encode(small.getvalue()).decode("ascii")


def _write_search(sections: Iterable[dict[str, str]]) -> None:
    """The search engine and the sections, which it indexes in the browser when somebody first
    searches. That takes some tens of milliseconds, so no index is made beforehand."""
    engine = (_ASSETS / "vendor" / "minisearch.js").read_text(encoding="utf-8")
    with atomic_path(SITE / "search.js") as temporary:
        temporary.write_text(
            f"{engine}\nconst SECTIONS = {json.dumps(list(sections))};\n", encoding="utf-8"
        )


def _write(target: Path, template: str, **values: Any) -> None:
    with atomic_path(target) as temporary:
        room = _room(target)
        page = _templates().get_template(template).render(room=room, **_kept(), **values)
        temporary.write_text(page, encoding="utf-8")


def _room(page: Path) -> str:
    """Where a page links to the reading room, at its lesson's example; empty without a room."""
    if not page.with_name(ROOM).exists():
        return ""
    name = next((example.name for example in EXAMPLES if page.stem in example.lessons), None)
    return f"{ROOM}#example={name}" if name else ROOM


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
