"""A training step of AGT: layer by layer against all layers at once, and what words cost.

Batches of 50 phrases of SST as they come in training, the paper's 15 layers of 200. The library
computes layer after layer, as the equations stand; *at once*, written out below, takes all layers'
attentions, gates and the selected half of every candidate in one product each. Both in float32 and
in bfloat16 where the processor multiplies it. Then the same step with 300-d word vectors that learn
by dense updates (as we train), by sparse ones, or not at all.
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
from course_lib.models.agt import AGT, AGTConfig, AttentionStack, GatedStack
from course_lib.runs.run import split_rows
from course_lib.runs.settings import with_overrides
from course_lib.runs.systems.agt import PAPER, AGTSystem
from course_lib.training.config import make_optimizer
from course_lib.training.devices import choose_precision, use_threads

SETTINGS = with_overrides(PAPER, {"text.vectors": "none", "model.embedding": 50})
TRAINING = SETTINGS.training
WIDE = 300
WARM_UP = 5
CPU = torch.device("cpu")


class ScoresAtOnce(AttentionStack):
    """All layers' scores in one product."""

    def scores(self, b: Tensor) -> Tensor:
        """``(batch, length, hidden)`` → ``(batch, layers, length)``."""
        layers, hidden = self.vector.shape
        u = torch.tanh(b.flatten(0, 1) @ self.weight.flatten(0, 1).T)  # (words, layers · hidden)
        m = torch.einsum("nlh,lh->nl", u.view(-1, layers, hidden), self.vector)
        return m.view(*b.shape[:2], layers).transpose(1, 2)


class GatesAtOnce(GatedStack):
    """All gates, and what the selections add to the candidates, in one product each."""

    def forward(self, y: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        """``(batch, hidden)`` and ``(batch, layers, hidden)`` → the last y and all gates."""
        s = s.transpose(0, 1)
        opening = torch.baddbmm(self.gate_bias.unsqueeze(1), s, self.gate.mT)
        gates = torch.sigmoid(opening).unbind()
        offered = torch.bmm(s, self.selected.mT).unbind()
        for gate, weight, part in zip(gates, self.carried.to(y.dtype).unbind(), offered):
            y = torch.tanh(y @ weight.T + part) * gate + y * (1 - gate)
        return y, torch.stack(gates, 1)


def at_once(config: AGTConfig, words: int, classes: int) -> AGT:
    """An AGT of the same parameters that takes all layers at once."""
    model = AGT(config, words, classes)
    model.attention = ScoresAtOnce(config.layers, config.hidden)
    others = config.layers - 1
    model.stack = GatesAtOnce(others, others, config.hidden, config.gate_bias)
    return model


def load_twin(ours: AGT, other: AGT, tokens: Tensor, mask: Tensor) -> None:
    """Give the other our weights; ``AssertionError`` if it computes anything else."""
    other.load_state_dict(ours.state_dict())
    with torch.inference_mode():
        expected = ours.eval()(tokens, mask).logits
        logits = other.eval()(tokens, mask).logits
        torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-5)


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
        "ours, float32": (AGT(config, words, classes), "no"),
        "at once, float32": (at_once(config, words, classes), "no"),
        "ours": (AGT(config, words, classes), native),
        "at once": (at_once(config, words, classes), native),
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
    load_twin(networks["ours"][0], networks["at once"][0], *data[0][:2])
    measures = {}
    for name, (model, precision) in networks.items():
        step, warm = stepper(model, precision), cycle(data)
        for _ in range(WARM_UP):
            step(next(warm))
        measures[name] = lambda _, step=step: 1e3 * sum(map(step, data)) / len(data)
    found = interleave(measures, rounds)
    pairs = {
        "ours / at once": ("ours", "at once"),
        "ours / at once, float32": ("ours, float32", "at once, float32"),
        "ours / ours, float32": ("ours", "ours, float32"),
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
