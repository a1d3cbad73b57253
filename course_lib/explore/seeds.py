"""Two trainings of one network, which read the same text."""

from collections.abc import Mapping
from typing import Any

import ipywidgets as widgets
import numpy as np

from course_lib import faithfulness
from course_lib.explore.erasing import ATTENTION
from course_lib.explore.reading import read_text, system_of
from course_lib.explore.views import TextView
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.views import AttentionHeatmap


def explore_seeds(sources: Mapping[str, Any], text: str = "") -> TextView:
    """A view in which you type a text and see where two networks look in it, a row for each.

    ``sources`` holds two runs or systems by name, such as two seeds of one training; a row says
    what its network answers, and the title how far the two attentions are apart. ``ValueError``
    for another number of networks, for one without attention, and for two that read the text in
    other words.
    """
    if len(sources) != 2:
        raise ValueError(f"sources takes two networks by name, got {len(sources)}")
    models = {name: DocumentModel(system_of(source)) for name, source in sources.items()}
    about = "The text in the box as two networks read it, a row each"
    return TextView(lambda typed: _compare(models, typed), text, about)


def _compare(models: Mapping[str, DocumentModel], text: str) -> widgets.Widget:
    """The attention of two networks to the words of a text, as a heatmap of two rows."""
    rows, words = {}, []
    for name, model in models.items():
        reading = read_text(model.system, text)
        document = reading.sentences if model.system.reads_sentences else list(reading.tokens)
        (answer,), attention = model.answers([document])
        if ATTENTION not in attention:
            raise ValueError(f"{name} has no attention, so there is nothing to compare")
        label = f"{name}: {model.system.classes[answer.argmax()]} {answer.max():.2f}"
        rows[label] = attention[ATTENTION][0]
        words.append(list(reading.tokens))
    if words[0] != words[1]:
        raise ValueError("the two networks read this text in other words")
    return AttentionHeatmap(
        np.stack(list(rows.values())), list(rows), words[0], title=difference(*rows.values())
    )


def difference(first: np.ndarray, second: np.ndarray) -> str:
    """How far two attentions ``(words,)`` are apart, in words: the share of the weight that lies
    elsewhere, from 0 to 100 %, and Kendall's τ of the rankings, where there is one."""
    share = np.abs(first - second).sum() / 2
    (tau,) = faithfulness.kendall([first], [second])
    ranks = "" if np.isnan(tau) else f"; Kendall's τ of the rankings is {tau:.2f}"
    return f"{share:.0%} of the weight lies on other words{ranks}"
