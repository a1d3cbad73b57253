"""The reading room's JavaScript in a lesson, beside the equations and PyTorch."""

from course_kit.reading_room import source
from course_lib.views import plots


def show_javascript(part: str, function: str) -> None:
    """Display a function of the reading room's engine, folded; ``ValueError`` if there is none."""
    title = "The same in JavaScript, as the reading room computes it"
    code = f"```js\n{source(part, function)}```"
    plots.show_markdown(f"<details><summary>{title}</summary>\n\n{code}\n\n</details>")
