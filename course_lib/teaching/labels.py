"""What the museum's labels say, for whoever has made up their mind."""

import html
from collections.abc import Sequence

from course_lib.teaching.bugs import HEALTHY, MUSEUM, Specimen


def museum_key(specimens: Sequence[Specimen] = tuple(MUSEUM)) -> str:
    """What is wrong with each specimen, what one sees of it and who reported it, folded away in
    markdown."""
    items = [
        f"<li><b>{html.escape(each.name.removeprefix('specimen '))}</b>: {_label(each)}</li>"
        for each in specimens
    ]
    head = "<summary>What each specimen has (unfold when you have made up your mind)</summary>"
    return "\n".join(
        ["<details>" + head, '<ol style="list-style:none">', *items, "</ol>", "</details>"]
    )


def _label(specimen: Specimen) -> str:
    if specimen.name == HEALTHY.name:
        return "nothing. This is the healthy one."
    parts = specimen.wrong, f"What one sees: {specimen.symptom}", f"Reported: {specimen.reported}"
    return ". ".join(html.escape(part) for part in parts) + "."
