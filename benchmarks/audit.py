"""Seconds of an audit of 100 texts, and of leaving out each word once, by the same network.

Recorded networks: HAN on IMDb's reviews, MiniLM with adapters on SST-2's sentences. Leave-one-out
is what anybody does who asks which words count; the ratio is what the other questions cost.
``processor_seconds`` are those of all threads, by their number: on a busy machine the clock alone
says little.
"""

import time

import numpy as np
from common import arguments, show, spread, write

from course_kit.audit import audit
from course_kit.audit.by_name import SAMPLE, any_model
from course_lib import faithfulness
from course_lib.training.devices import use_threads

NETWORKS = {"HAN": "han-imdb-compact-s0", "MiniLM": "minilm-sst2_sentences-adapters-s0"}


def main() -> None:
    """Measure, show, write."""
    chosen = arguments(__doc__, threads=2).parse_args()
    threads, figures, contents = use_threads(chosen.threads), {}, []
    for name, run in NETWORKS.items():
        model = any_model(run)
        half = model.run.corpus.splits["test"]
        texts = list(
            half.select(np.random.default_rng(chosen.seed).permutation(len(half))[:SAMPLE])
        )
        documents = [model.document(text) for text in texts]
        start = time.perf_counter()
        faithfulness.leave_one_out(model, documents)
        left_out = time.perf_counter() - start
        start, computed = time.perf_counter(), time.process_time()
        cost = audit(model, texts, name=run).cost
        seconds = time.perf_counter() - start
        computed = time.process_time() - computed
        figures[name] = {
            "words": float(np.mean([len(faithfulness.words_of(each)) for each in documents])),
            "audit_seconds": seconds,
            "processor_seconds": computed / threads,
            "leave_one_out_seconds": left_out,
            "ratio": seconds / left_out,
            "stages": cost,
        }
        contents.append(model.run.corpus.provenance.content)
    show(
        {
            f"{name}, {what}": spread([figures[name][what]])
            for name in figures
            for what in ("audit_seconds", "processor_seconds", "leave_one_out_seconds", "ratio")
        }
    )
    write("audit", figures, chosen.seed, " ".join(contents), threads, "imdb, sst2_sentences")


if __name__ == "__main__":
    main()
