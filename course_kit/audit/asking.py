"""Ask a model about texts, check its answers, and count what was asked.

Whatever a model raises or gets wrong becomes one ``AuditError``.
"""

import inspect
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from course_kit.audit.names import ATTENTION
from course_lib.checking import CourseError
from course_lib.faithfulness.documents import Document, as_array, checked, words_of
from course_lib.faithfulness.rankers import Importances


class AuditError(CourseError, ValueError):
    """Texts, or answers of a model, that cannot be audited."""


class Asked:
    """Ask a model, check each answer, and count the texts asked.

    ``view`` names the attention that is tested, by default all views. ``known`` keeps the
    probabilities of each document until it is emptied; ``cost`` holds for each ``stage`` the number
    of texts asked and the seconds they took. ``names`` are those of the
    views, of which ``first_view`` is ``ATTENTION``.
    """

    def __init__(self, model: Any, view: str | None) -> None:
        for method in ("probabilities", "attention"):
            if not hasattr(model, method):
                raise AuditError(f"{type(model).__name__} is no model: it has no {method}()")
        self.model, self.view = model, view
        self.classes = [str(name) for name in getattr(model, "classes", ())]
        takes = inspect.signature(model.probabilities).parameters
        self.takes_weights = hasattr(model, "attended") or "attention" in takes
        self.stage, self.cost, self.known = "", {}, {}
        self.first_view, self.names = "", []

    def __call__(self, documents: Sequence[Document]) -> np.ndarray:
        """Return probabilities ``(documents, classes)``, asking for each document once."""
        keys = [repr(document) for document in documents]
        new = {key: one for key, one in zip(keys, documents) if key not in self.known}
        if new:
            self.known.update(zip(new, self._shares(self.model.probabilities, [*new.values()])))
        return np.stack([self.known[key] for key in keys])

    def attention(self, documents: Sequence[Document]) -> dict[str, Importances]:
        """Return the tested view, or all of them, by name: the first as ``ATTENTION``."""
        found = self.timed("attention", self.model.attention, documents)
        if not isinstance(found, dict) or not found:
            raise AuditError("this model has no attention: attention() must return named views")
        found = {str(name): each for name, each in found.items()}
        if self.names and self.names != [*found]:
            raise AuditError(f"attention has the views {self.names}, of other texts {[*found]}")
        self.names = [*found]
        main = self.first_view = self.view or next(iter(found))
        if main not in found:
            raise AuditError(f"no attention {main!r}; there are: {', '.join(found)}")
        others = () if self.view else [name for name in found if name != main]
        # ", " stands before what is measured of a view, see ways.views_of
        further = {f"{ATTENTION}: {name}".replace(", ", " "): name for name in others}
        names = {ATTENTION: main} | further
        return {
            name: numbers(f"attention {each!r}", found[each], documents, least=0)
            for name, each in names.items()
        }

    def gradients(self, *arguments: Any, **options: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the word vectors of each document, and the slopes of its log-odds at them."""
        found = self.timed("gradients", self.model.gradients, *arguments, **options)
        return [(as_array(x), as_array(slope)) for x, slope in found]

    def attended(self, document: Document, weights: np.ndarray) -> tuple:
        """Return a document's attention, its real positions, and the output for other attention."""
        if hasattr(self.model, "attended"):
            given, real, ask = guarded("attended", self.model.attended, document)
            given, real = as_array(given), as_array(real).astype(bool)
        else:
            real = np.ones(len(weights), dtype=bool)
            given = weights

            def ask(candidates: np.ndarray) -> np.ndarray:
                many = [document] * len(candidates)
                return self.model.probabilities(many, attention=list(candidates))

        return given, real, partial(self._shares, ask)

    def _shares(self, ask: Callable, texts: Sequence[Any]) -> np.ndarray:
        found = checked(self.timed("probabilities", ask, texts), len(texts))
        if self.classes and found.shape[1] != len(self.classes):
            raise AuditError(f"{len(self.classes)} classes have {found.shape[1]} probabilities")
        return found

    def timed(
        self, what: str, function: Callable, texts: Sequence[Any], *rest: Any, **options: Any
    ) -> Any:
        """Call a function of the model on some texts, and add its time to the stage's cost."""
        start = time.perf_counter()
        found = guarded(what, function, texts, *rest, **options)
        spent = self.cost.setdefault(self.stage, {"texts": 0, "seconds": 0.0})
        spent["texts"] += len(texts)
        spent["seconds"] = round(spent["seconds"] + time.perf_counter() - start, 3)
        return found


def numbers(what: str, given: Any, documents: Sequence[Document], least: float) -> Importances:
    """Check for one finite number a word, none below ``least``; else raise ``AuditError``."""
    found = guarded(what, lambda: [as_array(each) for each in given])
    lengths = [len(words_of(document)) for document in documents]
    if [each.shape for each in found] != [(length,) for length in lengths]:
        shapes = [each.shape for each in found][:5]
        raise AuditError(
            f"{what} takes an array (words,) for each text; the first texts have "
            f"{lengths[:5]} words, and their arrays the shapes {shapes}"
        )
    if not all(np.isfinite(each).all() and (each >= least).all() for each in found):
        raise AuditError(f"{what}: numbers must be finite" + " and not below 0" * (least == 0))
    return found


def guarded(what: str, function: Callable, *arguments: Any, **options: Any) -> Any:
    """Call a function of the model; an ``AuditError`` tells whatever it raises."""
    try:
        return function(*arguments, **options)
    except AuditError:
        raise
    except (Exception, SystemExit) as error:
        raise AuditError(f"the model's {what} raised {told(error)}") from error


def told(error: BaseException) -> str:
    """Tell an error, with its kind, on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
