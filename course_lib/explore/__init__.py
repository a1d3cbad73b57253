"""Look inside documents: what a trained model predicts for them, and what it attended to.

``read_text``, ``read_row`` and ``read_tokens`` give the numbers; ``explore_documents`` and
``explore_text`` are views to look around with, live in Jupyter and as pages that need no kernel
elsewhere; ``sweep`` tries a view's controls over their whole range.
"""

from course_lib.explore.reading import Reading, read_row, read_text, read_tokens
from course_lib.explore.sweeping import HOSTILE_TEXTS, SweepError, sweep
from course_lib.explore.views import (
    DocumentView,
    TextView,
    explore_documents,
    explore_text,
    show_reading,
)

__all__ = [
    "HOSTILE_TEXTS",
    "DocumentView",
    "Reading",
    "SweepError",
    "TextView",
    "explore_documents",
    "explore_text",
    "read_row",
    "read_text",
    "read_tokens",
    "show_reading",
    "sweep",
]
