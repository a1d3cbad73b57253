"""Measure a group of texts for each question of an audit, and describe each text for the page."""

from typing import Any

import numpy as np

from course_kit.audit.group import Found, Group, tau
from course_kit.audit.names import ATTENTION, GRADIENT, LEFT_OUT, SIZE
from course_kit.audit.questions import QUESTIONS
from course_lib.faithfulness.documents import words_of
from course_lib.faithfulness.erasure import SHARES, counts, orders

ON_PAGE = (ATTENTION, GRADIENT, LEFT_OUT)  # side by side


def measure(group: Group) -> tuple[dict[str, Found], list[dict[str, Any]]]:
    """Return one number a text by question and name, and what the page shows of each text."""
    found = {name: question.measure(group) for name, question in QUESTIONS.items()}
    classes, sure = group.answers
    ordered = {
        name: orders(group.documents, group.rankings[name], group.seed)
        for name in ON_PAGE
        if name in group.rankings
    }
    agreement = np.nan_to_num(tau(group.views[ATTENTION], group.rankings[SIZE]))
    names = group.asked.classes
    pages = [
        {
            "words": words_of(document),
            "label": str(names[classes[n]] if names else classes[n]),
            "agreement": float(agreement[n]),
            "counts": [0, *counts(len(words_of(document)), SHARES).tolist()],
            "views": [
                _view(
                    name,
                    group.rankings[name][n],
                    ordered[name][n],
                    [sure[n], *(sure[n] - group.losses[name][n])],
                )
                for name in ON_PAGE
                if name in ordered
            ],
        }
        for n, document in enumerate(group.documents)
    ]
    return found, pages


def _view(name: str, values: np.ndarray, order: np.ndarray, steps: list[float]) -> dict[str, Any]:
    """Describe one ranking of a text for the page: each word's share of the largest importance, the
    words in order, and the probability at each step of erasing them."""
    shares = values / (np.abs(values).max() or 1)
    rounded = {"shares": np.round(shares, 2).tolist(), "steps": np.round(steps, 3).tolist()}
    return {"name": name, "first": order.tolist()} | rounded
