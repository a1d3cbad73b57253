"""The ways in which a question is asked: by views of the attention, and by operators."""

from collections.abc import Iterable
from typing import NamedTuple

from course_kit.audit.names import ATTENTION

FURTHER = f"{ATTENTION}: "  # before the name of each view but the first


class Way(NamedTuple):
    """A ``view`` of the attention, empty for the first; and what is done to words, empty where that
    is always the same."""

    view: str = ""
    operator: str = ""

    def __str__(self) -> str:
        return ", ".join(filter(None, self)) or "the first view"


def views_of(names: Iterable[str]) -> dict[str, str]:
    """Return the view of each name of attention itself among the names of what was measured."""
    return {
        name: name[len(FURTHER) :]
        for name in names
        if name == ATTENTION or (name.startswith(FURTHER) and not detail(name))
    }


def detail(name: str) -> bool:
    """Return whether a name is of something about a view that is not the first, which a figure has
    no room for."""
    return name.startswith(FURTHER) and ", " in name
