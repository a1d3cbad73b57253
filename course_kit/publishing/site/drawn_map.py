"""The map of lessons: what builds on what, as a drawing with links."""

import html
from collections.abc import Iterable, Sequence

from course_kit.publishing.contents import Entry

WIDTH, BOX, ROW = 376, (88, 52), 108  # of the drawing, of a box, from a row to the next
LETTER, MARGIN = 8, 12  # a box grows with its name: room for a letter, and around the name


def drawn_map(entries: Sequence[Entry], made: set[str]) -> str:
    """An SVG: a row of boxes for each depth, a solid arrow to each lesson from those that it needs
    and a dashed one from those that help. An arrow is left out where others lead there.

    Lessons in ``made`` are links to their pages.
    """
    numbered = [entry for entry in entries if entry.number]
    rows = _rows(numbered)
    centres = {
        entry.stem: (WIDTH * (place + 0.5) / len(row), ROW * depth + BOX[1] / 2 + 4)
        for depth, row in enumerate(rows)
        for place, entry in enumerate(row)
    }
    arrows = [
        _arrow(centres[below], centres[entry.stem], look)
        for entry in numbered
        for look, lessons in _direct(entry, numbered).items()
        for below in lessons
        if below in centres
    ]
    boxes = [_box(entry, *centres[entry.stem], entry.stem in made) for entry in numbered]
    height = ROW * (len(rows) - 1) + BOX[1] + 8
    return (
        f'<svg class="map" viewBox="0 0 {WIDTH} {height}" role="group" '
        'aria-label="Map of the lessons"><defs><marker id="tip" viewBox="0 0 8 8" refX="7" '
        'refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/>'
        f"</marker></defs>{''.join(arrows)}{''.join(boxes)}</svg>"
    )


def _direct(entry: Entry, entries: Sequence[Entry]) -> dict[str, list[str]]:
    """The lessons that an entry needs and those that help it, without any that the others imply:
    a need by a chain of needs, a help by any chain."""
    about = {each.stem: each.about for each in entries}

    def before(stem: str, helps: bool) -> set[str]:
        below = (*about[stem].needs, *(about[stem].helps if helps else ())) if stem in about else ()
        return {*below, *(earlier for each in below for earlier in before(each, helps))}

    needs, helps = entry.about.needs, entry.about.helps
    implied = {stem for each in needs for stem in before(each, helps=False)}
    hinted = {stem for each in (*needs, *helps) for stem in before(each, helps=True)}
    return {
        "needs": [stem for stem in needs if stem not in implied],
        "helps": [stem for stem in helps if stem not in hinted],
    }


def _rows(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Each lesson one row below the lowest that it needs or that helps."""
    depths: dict[str, int] = {}
    for entry in entries:
        below = (*entry.about.needs, *entry.about.helps)
        depths[entry.stem] = 1 + max((depths.get(stem, -1) for stem in below), default=-1)
    return [
        [entry for entry in entries if depths[entry.stem] == depth]
        for depth in range(max(depths.values(), default=-1) + 1)
    ]


def _arrow(start: tuple[float, float], end: tuple[float, float], look: str) -> str:
    (x0, y0), (x1, y1) = start, end
    y0, y1 = y0 + BOX[1] / 2, y1 - BOX[1] / 2 - 2
    middle = (y0 + y1) / 2
    curve = f"M{x0:g} {y0:g}C{x0:g} {middle:g} {x1:g} {middle:g} {x1:g} {y1:g}"
    return f'<path class="{look}" d="{curve}" marker-end="url(#tip)"/>'


def _box(entry: Entry, x: float, y: float, linked: bool) -> str:
    width, height = max(BOX[0], LETTER * len(entry.about.short) + MARGIN), BOX[1]
    box = (
        f'<rect x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width}" height="{height}" '
        f'rx="8"/><text x="{x:g}" y="{y - 3:g}">{html.escape(entry.about.short)}</text>'
        f'<text class="what" x="{x:g}" y="{y + 15:g}">lesson {html.escape(entry.number)}</text>'
    )
    return f'<a href="{entry.stem}.html">{box}</a>' if linked else f"<g>{box}</g>"
