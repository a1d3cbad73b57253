"""Leave-one-out of many reviews: texts with a hole batched by length, against a loop over words.

IMDb reviews, cut as the IMDb report cuts them, through an untrained HAN, whose sizes are what
counts for time. The loop asks the model for one text at a time, as most published code does. It is
timed on a part of the reviews only and its time counted per text; both give the same numbers, which
is checked.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from common import interleave, ratio, show, spread, write

from course_lib.data.corpus import load_corpus
from course_lib.faithfulness import leave_one_out, without, words_of
from course_lib.faithfulness.documents import Document
from course_lib.runs.document_model import DocumentModel
from course_lib.runs.run import split_rows
from course_lib.runs.settings import with_overrides
from course_lib.runs.systems.han import REPORT, HANSystem
from course_lib.training.devices import use_threads

SETTINGS = with_overrides(REPORT, {"text.vectors": "none"})
BATCHED, LOOP = "batched", "loop over words"


def one_by_one(model: DocumentModel, documents: list[Document]) -> list[np.ndarray]:
    """The same importances, each text asked alone."""
    found = []
    for document in documents:
        (full,) = model([document])
        j, holes = full.argmax(), np.eye(len(words_of(document)), dtype=bool)
        found.append(np.array([full[j] - model([without(document, one)])[0, j] for one in holes]))
    return found


def main() -> None:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reviews", type=int, default=200)
    parser.add_argument("--loop", type=int, default=20, help="of these, how many the loop takes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    threads = use_threads(chosen.threads)
    corpus = load_corpus("imdb")
    rows = split_rows(corpus)
    system = HANSystem(SETTINGS, corpus.card.classes)
    system.build(rows, chosen.seed)
    system.model.eval()
    model = DocumentModel(system)
    documents = model.documents(rows["test"].shuffle(chosen.seed).select(range(chosen.reviews)))
    some = documents[: chosen.loop]
    texts = {
        name: sum(len(words_of(document)) + 1 for document in part)
        for name, part in ((BATCHED, documents), (LOOP, some))
    }
    for batched, alone in zip(leave_one_out(model, some), one_by_one(model, some), strict=True):
        np.testing.assert_allclose(batched, alone, atol=1e-5)

    def milliseconds(name: str, work: Callable[[], object]) -> float:
        began = time.perf_counter()
        work()
        return 1000 * (time.perf_counter() - began) / texts[name]

    ways = {
        BATCHED: lambda _: milliseconds(BATCHED, lambda: leave_one_out(model, documents)),
        LOOP: lambda _: milliseconds(LOOP, lambda: one_by_one(model, some)),
    }
    found = interleave(ways, chosen.rounds)
    figures = {
        "reviews": {BATCHED: len(documents), LOOP: len(some)},
        "texts": texts,
        "milliseconds_per_text": {name: spread(values) for name, values in found.items()},
        "ratio": spread(ratio(found[LOOP], found[BATCHED])),
    }
    table = {f"ms a text, {name}": row for name, row in figures["milliseconds_per_text"].items()}
    show(table | {f"{LOOP} / {BATCHED}": figures["ratio"]})
    content = corpus.provenance.content
    write("leave_one_out", figures, chosen.seed, content, threads)


if __name__ == "__main__":
    main()
