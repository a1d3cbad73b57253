"""What each residual connection is worth in the puzzle of lesson 10, over five seeds.

``python -m course_kit.research.puzzle`` writes ``results/encoder/puzzle.json``. The puzzle, the
network and its training are those of the lesson's own cells, executed as they stand there.
"""

import json
from typing import Any

import torch

from course_kit.publishing.lessons import LESSONS
from course_kit.research.recording import CPU, Stopwatch
from course_lib.runs.records import RESULTS, write_json

PATH = RESULTS / "encoder" / "puzzle.json"
SEEDS, STEPS, EVERY = range(5), 2400, 50
VARIANTS = {  # layers; whether the residuals around attention and the feed-forward network are kept
    "two layers": (2, 1, 1),
    "one layer": (1, 1, 1),
    "without the residual around attention": (2, 0, 1),
    "without the residual around the feed-forward network": (2, 1, 0),
    "without residuals": (2, 0, 0),
}


def lesson() -> dict[str, Any]:
    """The names that lesson 10 defines up to its function ``train``."""
    cells = json.loads((LESSONS / "10_to_transformers.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] == "code" and "train" not in names:
            exec("".join(cell["source"]), names)
    return names


def block_of(names: dict[str, Any], around_attention: int, around_feed_forward: int) -> type:
    """The lesson's block with each residual connection kept (1) or left out (0)."""

    class Block(names["MyBlock"]):
        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> tuple:
            added, attention = self.attention(x, mask)
            x = self.norms[0](around_attention * x + added.sum(1) + self.bias)
            change = self.w_2(self.w_1(x).relu())
            return self.norms[1](around_feed_forward * x + change), attention

    return Block


def main() -> None:
    """Train every variant from every seed."""
    watch, names, found = Stopwatch(threads=1), lesson(), {}
    for name, (layers, *kept) in VARIANTS.items():
        block = block_of(names, *kept)
        found[name] = []
        for seed in SEEDS:
            _, curve = names["train"](layers, block, 2, STEPS, seed)
            found[name].append([round(share, 3) for share in curve])
            print(name, seed, found[name][-1][11], found[name][-1][-1], flush=True)
    about = {"command": "python -m course_kit.research.puzzle", "device": str(CPU)}
    about |= {"seeds": list(SEEDS), "steps": STEPS, "every": EVERY, "puzzles": 1000}
    write_json(PATH, about | watch.about() | {"right on two facts, by seed": found})


if __name__ == "__main__":
    main()
