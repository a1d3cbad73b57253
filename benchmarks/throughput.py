"""Tokens a second of training each system at the papers' sizes, on whatever device there is.

Made-up texts of one length, so nothing is padding; the words of 30,000 are as frequent as a
language's. What is timed is ``training.fit``, validation and checkpoints aside. On a GPU
also the peak of its memory, and the share of the time in which it computes.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from common import arguments, interleave, show, spread, write
from torch.profiler import ProfilerActivity, profile

from course_lib.data.batches import Documents
from course_lib.data.vocabulary import Vocabulary
from course_lib.runs.settings import with_overrides
from course_lib.runs.systems import known_systems
from course_lib.training.devices import choose_device, choose_precision, use_threads
from course_lib.training.loop import fit

WORDS = 30_000


class Size(NamedTuple):
    """A preset as its paper has it, and the sentences × words of a document."""

    system: str
    preset: str
    overrides: dict[str, Any]
    sentences: int
    words: int
    classes: int


PAPERS = {"model.embedding": 300, "model.hidden": 500}  # IRAM's middle size, over 300-d vectors
SIZES = {
    "HAN, 7 × 30 words": Size("han", "report", {}, 7, 30, 2),
    "SANet base, 48 words": Size("sanet", "base", {}, 1, 48, 4),
    "SANet base, 256 words": Size("sanet", "base", {}, 1, 256, 5),
    "SANet base, 1000 words": Size("sanet", "base", {}, 1, 1000, 5),
    "SANet big, 256 words": Size("sanet", "big", {}, 1, 256, 5),
    "IRAM vanilla, 19 words": Size("iram", "vanilla", PAPERS, 1, 19, 2),
    "IRAM full, 19 words": Size("iram", "full", PAPERS, 1, 19, 2),
    "AGT, 19 words": Size("agt", "paper", {}, 1, 19, 5),
    "MiniLM, 24 pieces": Size("minilm", "untrained", {}, 1, 24, 2),
    "MiniLM, 256 pieces": Size("minilm", "untrained", {"text.max_tokens": 256}, 1, 256, 2),
}


def texts(size: Size, count: int, seed: int) -> Documents:
    """So many documents, all of that size."""
    random = np.random.default_rng(seed)
    often = 1 / (np.arange(2, WORDS) + 10.0)  # 0 and 1 are padding and the unknown word
    shape = count * size.sentences * size.words
    return Documents(
        random.choice(np.arange(2, WORDS, dtype=np.int32), shape, p=often / often.sum()),
        np.arange(count * size.sentences + 1) * size.words,
        np.arange(count + 1) * size.sentences,
        random.integers(0, size.classes, count),
        flat=size.sentences == 1,
    )


class Trainer:
    """One system at one size: an epoch of so many steps, again and again."""

    def __init__(self, size: Size, steps: int, device: torch.device, seed: int) -> None:
        family = known_systems()[size.system]
        changes = {"text.vectors": "none", "training.epochs": 1} | size.overrides
        settings = with_overrides(family.presets[size.preset], changes)
        system = family(settings, tuple(f"class {number}" for number in range(size.classes)))
        system.vocabulary = Vocabulary(tuple(f"word{number}" for number in range(2, WORDS)))
        self.model, self.config = system.untrained(seed), settings.training
        self.device = device
        self.documents = texts(size, steps * self.config.batch_size, seed)
        self.held_out = texts(size, 4, seed + 1)
        self.tokens = len(self.documents.words)

    def seconds(self, round_number: int = 0) -> float:
        """Of one epoch's steps."""
        parts = self.documents, self.held_out
        history = fit(self.model, *parts, self.config, seed=round_number, device=self.device)
        return history.epochs[0].seconds

    def gpu_figures(self) -> dict[str, float]:
        """Peak megabytes of an epoch, and seconds in which the GPU computed."""
        torch.cuda.reset_peak_memory_stats(self.device)
        with profile(activities=[ProfilerActivity.CUDA]) as seen:
            self.seconds()
        computing = sum(event.self_device_time_total for event in seen.key_averages()) / 1e6
        return {
            "peak_megabytes": torch.cuda.max_memory_allocated(self.device) / 1e6,
            "seconds_computing": computing,
        }


def main() -> None:
    """Measure, show, write."""
    parser = arguments(__doc__, rounds=3, steps=8, threads=None)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", default="", help="sizes whose name begins so")
    chosen = parser.parse_args()
    device, threads = choose_device(chosen.device), use_threads(chosen.threads)
    sizes = {name: size for name, size in SIZES.items() if name.startswith(chosen.only)}
    trainers = {
        name: Trainer(size, chosen.steps, device, chosen.seed) for name, size in sizes.items()
    }
    for trainer in trainers.values():
        trainer.seconds()  # kernels are chosen, memory is asked for
    found = interleave({name: each.seconds for name, each in trainers.items()}, chosen.rounds)
    rates, figures = {}, {}
    for name, trainer in trainers.items():
        rates[name] = spread([trainer.tokens / seconds for seconds in found[name]])
        figures[name] = {
            "documents_per_step": trainer.config.batch_size,
            "precision": choose_precision(trainer.config.precision, device),
            "parameters": sum(p.numel() for p in trainer.model.parameters()),
            "in_word_vectors": trainer.model.embedding.weight.numel(),
            "tokens_per_second": rates[name],
        }
        if device.type == "cuda":
            figures[name] |= trainer.gpu_figures()
            usual = trainer.tokens / rates[name]["median"]
            figures[name]["share_computing"] = figures[name].pop("seconds_computing") / usual
    show({f"{name}: tokens/s": rate for name, rate in rates.items()})
    name = f"throughput_{device.type}"
    write(name, figures, chosen.seed, "", threads, "made up", device)


if __name__ == "__main__":
    main()
