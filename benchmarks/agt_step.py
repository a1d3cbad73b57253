"""A training step of AGT: float32 against bfloat16, and what word vectors cost.

Batches of 50 phrases of SST as they come in training, the paper's 15 layers of 200, in float32 and
in bfloat16 where the processor multiplies it. Then the same step with 300-d word vectors that learn
(as we train), or not at all.
"""

from dataclasses import asdict, replace
from typing import Any

import torch
from common import arguments, first_batches, ratio, show, spread, stepper, time_steps, write
from torch import nn

from course_lib.data.corpus import Corpus, load_corpus
from course_lib.models.agt import AGT
from course_lib.runs.run import split_rows
from course_lib.runs.settings import with_overrides
from course_lib.runs.systems.agt_system import PAPER, AGTSystem
from course_lib.training.devices import choose_precision, use_threads

SETTINGS = with_overrides(PAPER, {"text.vectors": "none", "model.embedding": 50})
TRAINING = SETTINGS.training
WIDE = 300


def ways(words: int, classes: int, seed: int) -> dict[str, tuple[nn.Module, str]]:
    """The networks, each with its precision."""
    torch.manual_seed(seed)
    config = SETTINGS.model
    wide = replace(config, embedding=WIDE)
    native = TRAINING.precision
    return {
        "ours, float32": (AGT(config, words, classes), "no"),
        "ours": (AGT(config, words, classes), native),
        "300-d, dense": (AGT(wide, words, classes), native),
        "300-d, frozen": (AGT(replace(wide, frozen=True), words, classes), native),
    }


def measure(corpus: Corpus, rounds: int, steps: int, seed: int, batch_size: int) -> dict[str, Any]:
    """Milliseconds of a step of every way, and their ratios, round by round."""
    rows = split_rows(corpus)["train"]
    system = AGTSystem(SETTINGS, corpus.card.classes)
    system.build({"train": rows}, seed)
    data = first_batches(system.encode(rows), batch_size, steps, seed)
    words = len(system.vocabulary)
    networks = ways(words, len(system.classes), seed)
    found = time_steps(
        {
            name: (stepper(model, TRAINING, precision), data)
            for name, (model, precision) in networks.items()
        },
        rounds,
    )
    pairs = {
        "ours / ours, float32": ("ours", "ours, float32"),
        "300-d, frozen / dense": ("300-d, frozen", "300-d, dense"),
    }
    return {
        "step_milliseconds": {name: spread(values) for name, values in found.items()},
        "ratios": {
            name: spread(ratio(found[above], found[below]))
            for name, (above, below) in pairs.items()
        },
        "precision": choose_precision(TRAINING.precision, torch.device("cpu")),
        "steps_of_an_epoch": -(-len(rows) // batch_size),
        "words_of_a_batch": sum(int(batch.mask.sum()) for batch in data) / len(data),
        "vocabulary": words,
    }


def main() -> None:
    """Measure, show, write."""
    parser = arguments(__doc__, rounds=5, steps=40, threads=1)
    parser.add_argument("--dataset", default="sst5")
    parser.add_argument("--batch", type=int, default=TRAINING.batch_size)
    chosen = parser.parse_args()
    threads = use_threads(chosen.threads)
    corpus = load_corpus(chosen.dataset)
    figures = measure(corpus, chosen.rounds, chosen.steps, chosen.seed, chosen.batch)
    figures |= {"settings": asdict(SETTINGS), "batch": chosen.batch}
    table = {f"ms a step, {name}": row for name, row in figures["step_milliseconds"].items()}
    show(table | figures["ratios"])
    write("agt_step", figures, chosen.seed, corpus.provenance.content, threads, chosen.dataset)


if __name__ == "__main__":
    main()
