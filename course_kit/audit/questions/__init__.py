"""The questions of an audit, a file each: what is asked, measured, compared and said.

A file has ``QUESTION``. Its name, with the numbers that decide its verdict, stands in
``grades.yaml``, in whose order the questions are asked: a new question is a file and its grade.
"""

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

import numpy as np

from course_kit.audit.grades import BY_QUESTION
from course_kit.audit.group import Found, Group
from course_kit.audit.ways import Way


class Comparison(NamedTuple):
    """What decides a question, in one of the ways in which it is asked.

    Each is one number a text, larger being better, NaN for none: ``values`` decide; ``gap`` is the
    distance to the best that could be expected (below 0: behind); ``value`` is what a floor is for;
    ``best`` is what the best ranking reaches instead of ``values``: where it reaches nothing,
    nothing can be asked of attention. ``first`` is what the first words do by themselves.
    """

    values: np.ndarray
    gap: np.ndarray | None = None
    value: np.ndarray | None = None
    best: np.ndarray | None = None
    first: np.ndarray | None = None


class Question(NamedTuple):
    """A question of an audit.

    ``measure`` takes a group of texts and returns one number a text by name. ``compare`` takes what
    was measured on all texts, and returns a ``Comparison`` for each way in which it is asked; if
    none has a value, ``missing`` says why. The verdict is that of the weakest way.

    In the ``sentence``, which may depend on what was measured, stand names of that. ``endings`` has
    one for each of shown, partly, not shown and, where there is a fourth, not applicable.
    ``further`` takes what was measured and returns another sentence. ``unit`` is that of the
    figure; what is measured may be ``shares`` of the texts, see ``intervals.mean_of``.
    """

    title: str
    unit: str
    sentence: str | Callable[[Found], str]
    endings: tuple[str, ...]
    measure: Callable[[Group], Found]
    compare: Callable[[Found], dict[Way, Comparison]]
    missing: str = ""
    shares: bool = False
    further: Callable[[Found], str] | None = None


QUESTIONS: dict[str, Question] = {
    name: import_module(f"{__name__}.{name}").QUESTION for name in BY_QUESTION
}
