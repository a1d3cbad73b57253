"""Gini and diagonality of a whole test half, on top of the evaluation that gives its accuracy.

AG News' 7,600 test documents through an untrained base SANet, whose attention is as dense as any:
plainly, as a run evaluates; with the paper's two figures of every attention matrix (Gini, and
diagonality within 1 to 5 tokens); and with everything that a run records of them.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import arguments, interleave, ratio, show, spread, write
from torch import Tensor

from course_lib.data.batches import Batches
from course_lib.data.corpus import load_corpus
from course_lib.metrics.attention import describe_attention, paper_figures
from course_lib.runs.run import split_rows
from course_lib.runs.settings import with_overrides
from course_lib.runs.systems.network import LOOKED_AT, PREDICTED
from course_lib.runs.systems.sanet_system import BASE, SANetSystem
from course_lib.training.devices import use_threads
from course_lib.training.loop import measure

SETTINGS = with_overrides(BASE, {"text.vectors": "none", "text.vocabulary_from": "train"})
PLAIN, TWO, ALL = "plain", "Gini and diagonality", "all that is recorded"
SAME = f"plain, {LOOKED_AT} at once"
WARM_UP = 2

Figures = Callable[[Tensor, Tensor], dict[str, Tensor]] | None


def main() -> None:
    """Measure, show, write."""
    chosen = arguments(__doc__, rounds=9, threads=2).parse_args()
    threads = use_threads(chosen.threads)
    corpus = load_corpus("ag_news")
    rows = split_rows(corpus)
    system = SANetSystem(SETTINGS, corpus.card.classes)
    system.build(rows, chosen.seed)
    documents, model = system.encode(rows["test"]), system.model

    def seconds(size: int, figures: Figures) -> float:
        def look(tokens: Tensor, mask: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
            output = model(tokens, mask, return_attention=figures is not None)
            found = {} if figures is None else figures(output.attention[:, 0], mask)
            return output.logits, found

        began = time.perf_counter()
        measure(model, Batches(documents, size), look)
        return time.perf_counter() - began

    ways: dict[str, tuple[int, Figures]] = {
        PLAIN: (PREDICTED, None),
        SAME: (LOOKED_AT, None),
        TWO: (LOOKED_AT, paper_figures),
        ALL: (LOOKED_AT, describe_attention),
    }
    for _ in range(WARM_UP):
        for way in ways.values():
            seconds(*way)
    found = interleave(
        {name: lambda _, way=way: seconds(*way) for name, way in ways.items()}, chosen.rounds
    )
    figures: dict[str, Any] = {
        "documents": len(documents),
        "tokens": len(documents.words),
        "weights": int(np.square(documents.lengths).sum()),
        "seconds": {name: spread(values) for name, values in found.items()},
        "ratio_to_plain": {name: spread(ratio(found[name], found[PLAIN])) for name in (TWO, ALL)},
        "ratio_at_the_same_batches": {
            name: spread(ratio(found[name], found[SAME])) for name in (TWO, ALL)
        },
    }
    table = {f"seconds, {name}": row for name, row in figures["seconds"].items()}
    for name in (TWO, ALL):
        table[f"{name} / plain"] = figures["ratio_to_plain"][name]
        table[f"{name} / {SAME}"] = figures["ratio_at_the_same_batches"][name]
    show(table)
    write("attention_metrics", figures, chosen.seed, corpus.provenance.content, threads, "ag_news")


if __name__ == "__main__":
    main()
