"""A training step of AGT: all layers at once against a loop over layers, and what words cost.

Batches of 50 phrases of SST as they come in training, the paper's 15 layers of 200. The loop,
written out below, is the equations as they stand, layer by layer, with linear layers of their own;
both in float32 and in bfloat16 where the processor multiplies it. Then the same step with 300-d
word vectors that learn by dense updates (as we train), by sparse ones, or not at all.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import cycle
from typing import Any

import torch
from common import interleave, ratio, show, spread, write
from torch import Tensor, nn

from course_lib.data.batches import Batches
from course_lib.data.corpus import Corpus, load_corpus
from course_lib.experiments.run import split_rows
from course_lib.experiments.settings import with_overrides
from course_lib.experiments.systems.agt import PAPER, AGTSystem
from course_lib.models.agt import AGT, AGTConfig
from course_lib.training.config import make_optimizer
from course_lib.training.devices import choose_precision, use_threads

SETTINGS = with_overrides(PAPER, {"text.vectors": "none", "model.embedding": 50})
TRAINING = SETTINGS.training
WIDE = 300
WARM_UP = 5
CPU = torch.device("cpu")


class LoopedAGT(nn.Module):
    """The paper's equations, one layer after the other."""

    def __init__(self, config: AGTConfig, words: int, classes: int) -> None:
        super().__init__()
        hidden = config.hidden
        self.embedding = nn.Embedding(words, config.embedding, padding_idx=0)
        self.projection = nn.Linear(config.embedding, hidden)
        self.keys = nn.ModuleList(
            nn.Linear(hidden, hidden, bias=False) for _ in range(config.layers)
        )
        self.vectors = nn.ModuleList(nn.Linear(hidden, 1, bias=False) for _ in range(config.layers))
        self.gates = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(config.layers - 1))
        self.transforms = nn.ModuleList(
            nn.Linear(2 * hidden, hidden, bias=False) for _ in range(config.layers - 1)
        )
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Sequential(
            nn.Dropout(config.dropout), nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Dropout(config.dropout), nn.Linear(hidden, classes),
        )  # fmt: skip

    def select(self, layer: int, b: Tensor, mask: Tensor) -> Tensor:
        """s_l ``(batch, hidden)`` of ``b`` ``(batch, length, hidden)``."""
        scores = self.vectors[layer](torch.tanh(self.keys[layer](b))).squeeze(2)
        d = scores.float().masked_fill(~mask, -torch.inf).softmax(1)
        return torch.einsum("bn,bnh->bh", d.to(b.dtype), b)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Token ids and mask ``(batch, length)`` → logits ``(batch, classes)``."""
        b = torch.tanh(self.projection(self.dropout(self.embedding(tokens))))
        y = self.select(0, b, mask)
        for layer, (gate, transform) in enumerate(zip(self.gates, self.transforms), start=1):
            s = self.select(layer, b, mask)
            t = torch.sigmoid(gate(s))
            y = torch.tanh(transform(torch.cat([y, s], 1))) * t + y * (1 - t)
        return self.classifier(y)


def load_twin(ours: AGT, looped: LoopedAGT, tokens: Tensor, mask: Tensor) -> None:
    """Give the loop our weights; ``AssertionError`` if it computes anything else."""
    kept = ("embedding", "projection", "classifier")
    state = {name: v for name, v in ours.state_dict().items() if name.startswith(kept)}
    stack = ours.stack
    for layer, weight in enumerate(ours.attention.weight):
        state[f"keys.{layer}.weight"] = weight
        state[f"vectors.{layer}.weight"] = ours.attention.vector[layer : layer + 1]
    for layer in range(len(stack.gate)):
        state[f"gates.{layer}.weight"] = stack.gate[layer]
        state[f"gates.{layer}.bias"] = stack.gate_bias[layer]
        whole = torch.cat([stack.carried[layer], stack.selected[layer]], 1)
        state[f"transforms.{layer}.weight"] = whole
    looped.load_state_dict(state)
    with torch.inference_mode():
        expected = ours.eval()(tokens, mask).logits
        torch.testing.assert_close(looped.eval()(tokens, mask), expected, rtol=1e-4, atol=1e-5)


class Together:
    """Several optimisers that step as one: sparse gradients need one of their own."""

    def __init__(self, *optimizers: torch.optim.Optimizer) -> None:
        self.optimizers = optimizers

    def step(self) -> None:
        """A step of each."""
        for optimizer in self.optimizers:
            optimizer.step()

    def zero_grad(self) -> None:
        """Drop all gradients."""
        for optimizer in self.optimizers:
            optimizer.zero_grad()


def optimizer_of(model: nn.Module) -> Any:
    """Adam as in training; for sparse word vectors ``SparseAdam`` beside it."""
    table = model.embedding
    if not table.sparse:
        return make_optimizer(model, TRAINING, CPU)
    rest = [p for p in model.parameters() if p is not table.weight]
    return Together(
        torch.optim.Adam(rest, lr=TRAINING.learning_rate, fused=True),
        torch.optim.SparseAdam([table.weight], lr=TRAINING.learning_rate),
    )


def stepper(model: nn.Module, precision: str) -> Callable[[Any], float]:
    """Seconds for a training step on a batch, as ``course_lib.training.loop`` takes it."""
    optimizer = optimizer_of(model)
    bf16 = choose_precision(precision, CPU) == "bf16"
    model.train()

    def step(batch: Any) -> float:
        began = time.perf_counter()
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            output = model(batch.tokens, batch.mask)
        logits = getattr(output, "logits", output).float()
        nn.functional.cross_entropy(logits, batch.labels).backward()
        optimizer.step()
        return time.perf_counter() - began

    return step


def ways(words: int, classes: int, seed: int) -> dict[str, tuple[nn.Module, str]]:
    """The networks, each with its precision."""
    torch.manual_seed(seed)
    config = SETTINGS.model
    wide = replace(config, embedding=WIDE)
    native = TRAINING.precision
    return {
        "loop, float32": (LoopedAGT(config, words, classes), "no"),
        "at once, float32": (AGT(config, words, classes), "no"),
        "loop": (LoopedAGT(config, words, classes), native),
        "at once": (AGT(config, words, classes), native),
        "300-d, dense": (AGT(wide, words, classes), native),
        "300-d, sparse": (AGT(replace(wide, sparse=True), words, classes), native),
        "300-d, frozen": (AGT(replace(wide, frozen=True), words, classes), native),
    }


def time_steps(
    corpus: Corpus, rounds: int, steps: int, seed: int, batch_size: int
) -> dict[str, Any]:
    """Milliseconds of a step of every way, and their ratios, round by round."""
    rows = split_rows(corpus)["train"]
    system = AGTSystem(SETTINGS, corpus.card.classes)
    system.build({"train": rows}, seed)
    forever = Batches(system.encode(rows), batch_size, seed).epoch()
    data = [batch for _, batch in zip(range(steps), forever)]
    words = len(system.vocabulary)
    networks = ways(words, len(system.classes), seed)
    load_twin(networks["at once"][0], networks["loop"][0], *data[0][:2])
    measures = {}
    for name, (model, precision) in networks.items():
        step, warm = stepper(model, precision), cycle(data)
        for _ in range(WARM_UP):
            step(next(warm))
        measures[name] = lambda _, step=step: 1e3 * sum(map(step, data)) / len(data)
    found = interleave(measures, rounds)
    pairs = {
        "at once / loop": ("at once", "loop"),
        "at once / loop, float32": ("at once, float32", "loop, float32"),
        "at once / at once, float32": ("at once", "at once, float32"),
        "300-d, sparse / dense": ("300-d, sparse", "300-d, dense"),
        "300-d, frozen / dense": ("300-d, frozen", "300-d, dense"),
    }
    return {
        "step_milliseconds": {name: spread(values) for name, values in found.items()},
        "ratios": {
            name: spread(ratio(found[above], found[below]))
            for name, (above, below) in pairs.items()
        },
        "precision": choose_precision(TRAINING.precision, CPU),
        "steps_of_an_epoch": -(-len(rows) // batch_size),
        "words_of_a_batch": sum(int(batch.mask.sum()) for batch in data) / len(data),
        "vocabulary": words,
    }


def main() -> None:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="sst5")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40, help="training steps of a round")
    parser.add_argument("--batch", type=int, default=TRAINING.batch_size)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    threads = use_threads(chosen.threads)
    corpus = load_corpus(chosen.dataset)
    figures = time_steps(corpus, chosen.rounds, chosen.steps, chosen.seed, chosen.batch)
    figures |= {"settings": asdict(SETTINGS), "batch": chosen.batch}
    table = {f"ms a step, {name}": row for name, row in figures["step_milliseconds"].items()}
    show(table | figures["ratios"])
    content = corpus.provenance.content
    write("agt_step", figures, chosen.seed, content, threads, chosen.dataset)


if __name__ == "__main__":
    main()
