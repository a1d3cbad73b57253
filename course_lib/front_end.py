"""Whether somebody watches a notebook's cells, and what they are shown there."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tqdm.std import tqdm

_ONE = ContextVar("_ONE", default=False)  # whether a bar is there that wants to be the only one
FORMS = ("live", "static", "png")
# set by Jupyter Server, VS Code, Colab
FRONT_ENDS = ("JPY_SESSION_NAME", "VSCODE_PID", "COLAB_RELEASE_TAG")


def shown_form() -> str:
    """``"live"``, ``"static"`` or ``"png"``: what ``COURSE_HEATMAP`` says, else live under a
    Jupyter front end and static elsewhere; ``ValueError`` lists the forms there are."""
    form = os.environ.get("COURSE_HEATMAP")
    if not form:
        return "live" if any(name in os.environ for name in FRONT_ENDS) else "static"
    if form not in FORMS:
        raise ValueError(f"COURSE_HEATMAP is {form!r}; it takes one of {', '.join(FORMS)}")
    return form


def progress(*arguments: Any, **options: Any) -> tqdm:
    """``tqdm``'s bar, with its arguments: text in a terminal, and in a cell that somebody watches;
    in a cell that nobody watches a widget, which is not kept; below a bar of ``one_bar``, nothing.

    ``tqdm.auto`` would take any process that has imported ipykernel for a notebook.
    """
    options |= {"disable": True} if _ONE.get() else {}
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if not hasattr(shell, "kernel"):
        return tqdm(*arguments, **options)
    if shown_form() == "live":
        return _Line(*arguments, **options)
    from tqdm.auto import tqdm as of_notebooks

    return of_notebooks(*arguments, **options)


@contextmanager
def one_bar(*arguments: Any, **options: Any) -> Iterator[tqdm]:
    """Show a bar, and none of those that begin while it is there."""
    with progress(*arguments, **options) as bar:
        before = _ONE.set(True)
        try:
            yield bar
        finally:
            _ONE.reset(before)


class _Line(tqdm):
    """A bar that goes with its work: one made of widgets leaves an error in a saved notebook."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._handle = None
        look = {"file": io.StringIO(), "ncols": 90, "ascii": False}
        super().__init__(*arguments, **look | options)

    def display(self, msg: str | None = None, pos: int | None = None) -> None:
        """Show this text, by default the bar as it stands; none takes the line away."""
        from IPython.display import display

        text = str(self) if msg is None else msg
        bundle = {"text/plain": text} if text else {}
        if self._handle is not None:
            self._handle.update(bundle, raw=True)
        elif bundle:
            self._handle = display(bundle, raw=True, display_id=True)
