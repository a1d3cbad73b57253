"""The reading room's JavaScript in a lesson, beside the equations and PyTorch."""

from course_kit.reading_room import source
from course_lib.views import plots


def show_javascript(part: str, function: str) -> None:
    """Display a function of the reading room's engine, folded; ``ValueError`` if there is none."""
    plots.show_folded(
        "The same in JavaScript, as the reading room computes it", source(part, function), "js"
    )
