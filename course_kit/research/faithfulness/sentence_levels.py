"""Whether a HAN's sentence weights name what it needs better than its word weights do."""

from collections.abc import Callable
from typing import Any

import numpy as np

from course_kit.research.faithfulness.faithfulness_run import ATTENTION, FaithfulnessRun
from course_kit.research.recording import Stopwatch, mean_of
from course_lib.faithfulness.documents import Document, Variant, ask, lottery, predicted
from course_lib.faithfulness.erasure import first
from course_lib.runs.settings import SpecError

LEVELS = ("sentence", "words", "random sentence", "random words")


def record_levels(
    tested: FaithfulnessRun, say: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Comprehensiveness and sufficiency of the sentence with most attention, of as many words with
    most attention, wherever they are, and of a random sentence and as many words at random.

    Equal numbers of words make the levels comparable; the loss per tenth of the words makes a
    random sentence, which may be longer or shorter, comparable, too. Texts of one sentence are left
    out. ``SpecError`` for a network that does not read sentences.
    """
    if not tested.run.system.reads_sentences:
        raise SpecError(f"{tested.run.record['id']} does not read sentences")
    watch, model, seed = Stopwatch(), tested.model, tested.seed
    attention = tested.attention()[ATTENTION]
    several = [n for n, document in enumerate(tested.documents) if len(document) > 1]
    documents = [tested.documents[n] for n in several]
    say(f"levels of {len(documents)} texts")
    chosen = [chosen_words(tested.documents[n], attention[n], seed) for n in several]
    classes, full = predicted(model, documents)
    lines, losses = {}, {}
    for level in LEVELS:
        taken = [sets[level] for sets in chosen]
        tenths = 10 * np.array([top.mean() for top in taken])
        line = lines[level] = {"tenths of the words": mean_of(tenths, seed)}
        for measure, kept in (("comprehensiveness", np.logical_not), ("sufficiency", np.copy)):
            left = ask(model, [Variant(d, kept(t)) for d, t in zip(documents, taken, strict=True)])
            loss = losses[level, measure] = full - left[np.arange(len(documents)), classes]
            line[measure] = mean_of(loss, seed)
            line[f"{measure} per tenth"] = mean_of(loss / tenths, seed)
    for measure in ("comprehensiveness", "sufficiency"):
        difference = losses["sentence", measure] - losses["words", measure]
        lines["sentence"][f"{measure} minus words"] = mean_of(difference, seed)
    return tested.about(watch) | {"several_sentences": len(documents), "lines": lines}


def chosen_words(document: Document, attention: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Which words of a document of sentences each level takes, ``(words,)``, by ``LEVELS``."""
    random, of = lottery(document, seed), np.repeat(np.arange(len(document)), [*map(len, document)])
    top = of == np.bincount(of, attention).argmax()
    order, shuffled = np.argsort(-attention, kind="stable"), random.permutation(len(of))
    return {
        "sentence": top,
        "words": first(order, top.sum()),
        "random sentence": of == random.choice(np.unique(of)),
        "random words": first(shuffled, top.sum()),
    }
