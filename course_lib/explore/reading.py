"""One document: what a trained system predicts for it, and what it attended to."""

from typing import Any

from course_lib.experiments.systems.system import System, Text
from course_lib.views.reading import Reading


def system_of(source: Any) -> System:
    """The system of a run; anything else is taken as a system itself."""
    return getattr(source, "system", source)


def read_text(source: Any, text: Text) -> Reading:
    """What a run or a system makes of a text: as typed, as ``TokenisedText``, or a corpus row."""
    return system_of(source).read(text)
