"""The small language models of lesson 10: trained on texts whose pairs repeat, read head by head.

``python -m course_kit.research.induction`` trains each variant of ``STEPS`` with all ``SEEDS`` and
writes ``results/induction/``: weights, and a record of what each learned and what its heads do.
"""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn.functional import cross_entropy

from course_kit.research import report
from course_kit.research.recording import DIGITS, Stopwatch
from course_lib.data.pairs import WORDS, PairTexts, pair_texts
from course_lib.files import write_text
from course_lib.models.decoder import Decoder, Head
from course_lib.models.transformer import TransformerConfig
from course_lib.runs.folders import RESULTS

FOLDER = RESULTS / "induction"
RECORD = FOLDER / "record.json"
SEEDS = 0, 1, 2
SIZES = {"heads": 2, "feed_forward": 0, "width": 32, "positions": 24}
SIZES |= {"dropout": 0.0, "attention_dropout": 0.0}
BATCH, RATE, EVERY = 64, 3e-3, 100
TESTED = 500  # texts
TEST_SEED = 10**6  # of texts that no network was trained on
ONE, TWO = "one layer", "two layers"
UNIFORM = "two layers, uniform attention"
PREVIOUS, INDUCTION = "the previous-token head", "the induction head"
STEPS = {TWO: 1000, ONE: 2000, UNIFORM: 500}


def untrained(variant: str, seed: int) -> Decoder:
    """The network of a variant with its random weights."""
    torch.manual_seed(seed)
    return Decoder(TransformerConfig(layers=1 if variant == ONE else 2, **SIZES), len(WORDS))


def read(variant: str, model: Decoder, texts: PairTexts, **options: Any) -> Any:
    """What the network of a variant returns for these texts."""
    if variant == UNIFORM:
        length = texts.tokens.shape[1]
        row = torch.ones(length, length).tril()
        layers, heads = model.config.layers, model.config.heads
        options["attention"] = (row / row.sum(1, keepdim=True)).expand(
            len(texts.tokens), layers, heads, -1, -1
        )
    return model(texts.tokens, **options)


def train(variant: str, seed: int, steps: int | None = None) -> tuple[Decoder, list[float]]:
    """A trained network, and its ``accuracy`` after every ``EVERY`` steps."""
    model, source = untrained(variant, seed), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    tested, curve = test_texts(100), []
    for step in range(1, (steps or STEPS[variant]) + 1):
        texts = pair_texts(BATCH, source)
        logits = read(variant, model, texts).logits[:, :-1]
        loss = cross_entropy(logits.flatten(0, 1), texts.tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % EVERY == 0:
            curve.append(accuracy(partial(read, variant, model), tested))
    return model.eval(), curve


def test_texts(count: int = TESTED) -> PairTexts:
    """Texts that no network was trained on."""
    return pair_texts(count, torch.Generator().manual_seed(TEST_SEED))


@torch.no_grad()
def accuracy(read: Any, texts: PairTexts) -> float:
    """How often the thing of a repeated name is the likeliest next token."""
    asked = texts.repeated[:, :-1]
    right = read(texts).logits[:, :-1].argmax(2) == texts.tokens[:, 1:]
    return right[asked].float().mean().item()


def guessing(texts: PairTexts) -> float:
    """``accuracy`` of a guess among the different things that were named before."""
    things = texts.tokens[:, 1::2]
    new = ~(things.unsqueeze(2) == things.unsqueeze(1)).tril(-1).any(2)
    named = torch.cat([torch.zeros(len(new), 1), new.cumsum(1)[:, :-1]], 1)  # before each pair
    return (1 / named[texts.repeated[:, ::2]]).mean().item()


def previous_weight(attention: Tensor) -> Tensor:
    """Mean weight of the position before, ``(layers, heads)``, over the places of things; attention
    ``(texts, layers, heads, length, length)``."""
    return attention.diagonal(-1, 3, 4)[..., ::2].mean((0, 3))


def induction_weight(attention: Tensor, texts: PairTexts) -> Tensor:
    """Mean weight of repeated names on the things after the same name, ``(layers, heads)``."""
    after = torch.zeros_like(texts.earlier)
    after[:, :, 1:] = texts.earlier[:, :, :-1]
    found = (attention * after[:, None, None]).sum(4).movedim(0, 2)  # (layers, heads, texts, n)
    return found[:, :, texts.repeated].mean(2)


@torch.no_grad()
def measured(variant: str, model: Decoder) -> dict[str, Any]:
    """What a record holds of a trained network."""
    texts = test_texts()
    config = model.config
    heads = [(layer, head) for layer in range(config.layers) for head in range(config.heads)]

    def without(*hidden: Head) -> float:
        return round(accuracy(partial(read, variant, model, hidden=hidden), texts), DIGITS)

    def of(attention: Tensor) -> dict[str, Any]:
        return {
            "previous": previous_weight(attention).tolist(),
            "induction": induction_weight(attention, texts).tolist(),
        }

    taken = [[head] for head in heads]
    taken += [[head for head in heads if head[0] == layer] for layer in range(config.layers)]
    maps = [
        of(read(variant, model, texts, hidden=hidden, return_attention=True).attention)
        for hidden in ([], *taken)
    ]
    return {
        "accuracy": without(),
        "whole": maps[0],
        "hidden": [
            {"heads": hidden, "accuracy": without(*hidden)} | found
            for hidden, found in zip(taken, maps[1:], strict=True)
        ],
    }


def weights_file(variant: str, seed: int) -> Path:
    """Where the weights of a network are committed."""
    return FOLDER / f"{variant.replace(' ', '-')}-s{seed}.safetensors"


def recorded(variant: str, seed: int = 0) -> Decoder:
    """A recorded network of one layer or two."""
    model = untrained(variant, seed)
    model.load_state_dict({n: w.float() for n, w in load_file(weights_file(variant, seed)).items()})
    return model.eval()


def runs_of(variant: str) -> list[dict[str, Any]]:
    """What the record holds of a variant, a seed each."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    return [run for run in record["runs"] if run["variant"] == variant]


def percent(values: Sequence[float]) -> list[str]:
    """A table's cells: the mean of the seeds, then each of them."""
    return [f"{value:.0%}" for value in (mean(values), *values)]


def outcomes() -> str:
    """A table: how often each variant knows the thing of a repeated name."""
    guess = json.loads(RECORD.read_text(encoding="utf-8"))["test"]["guessing"]
    rows = [["a guess among the things named so far", "", f"{guess:.0%}", *[""] * len(SEEDS)]]
    for variant in (UNIFORM, ONE, TWO):
        accuracies = [run["accuracy"] for run in runs_of(variant)]
        rows.append([variant, f"{STEPS[variant]:,}", *percent(accuracies)])
    heads = ["network", "steps", "mean accuracy", *(f"network {seed}" for seed in SEEDS)]
    return report.to_markdown(heads, rows, "l" + "r" * (len(heads) - 1))


def read_heads(run: dict[str, Any]) -> tuple[int, int]:
    """Which head of layer 1 looks one back most, and which of layer 2 has most induction weight;
    of a record's run with two layers of two heads."""
    previous, induction = run["whole"]["previous"][0], run["whole"]["induction"][1]
    return previous.index(max(previous)), induction.index(max(induction))


def hidden_heads() -> dict[str, list[dict[str, float]]]:
    """By what is hidden in two layers, for each seed: accuracy, and the weights by which the
    previous-token head and the induction head are known."""
    found: dict[str, list[dict[str, float]]] = {}
    for run in runs_of(TWO):
        back, finds = read_heads(run)
        names = {
            PREVIOUS: [(0, back)],
            INDUCTION: [(1, finds)],
            "the other head of layer 1": [(0, 1 - back)],
            "the other head of layer 2": [(1, 1 - finds)],
            "both heads of layer 1": [(0, 0), (0, 1)],
            "both heads of layer 2": [(1, 0), (1, 1)],
        }
        states = {"nothing": run["whole"] | {"accuracy": run["accuracy"]}}
        for name, heads in names.items():
            (states[name],) = (s for s in run["hidden"] if list(map(tuple, s["heads"])) == heads)
        for name, state in states.items():
            found.setdefault(name, []).append(
                {
                    "accuracy": state["accuracy"],
                    "back": state["previous"][0][back],
                    "induction": state["induction"][1][finds],
                }
            )
    return found


def hiding() -> str:
    """A table: what hiding each head of the networks with two layers does."""
    rows = []
    for name, seeds in hidden_heads().items():
        back, finds = (f"{mean(seed[key] for seed in seeds):.2f}" for key in ("back", "induction"))
        weights = [
            "–" if name in (PREVIOUS, "both heads of layer 1") else back,
            "–" if name in (INDUCTION, "both heads of layer 2") else finds,
        ]
        rows.append([name, *percent([seed["accuracy"] for seed in seeds]), *weights])
    heads = ["hidden", "mean accuracy", *(f"network {seed}" for seed in SEEDS)]
    heads += [
        "previous-token head: mean weight one back",
        "induction head: mean weight after the copy",
    ]
    return report.to_markdown(heads, rows, "l" + "r" * (len(heads) - 1))


def main() -> None:
    """Train, measure and record all networks; the record is written after each variant."""
    torch.set_num_threads(1)
    watch, runs = Stopwatch(1), []
    FOLDER.mkdir(exist_ok=True)
    about = {
        "made_by": "python -m course_kit.research.induction",
        "settings": SIZES,
        "training": {"batch": BATCH, "rate": RATE, "curve_every": EVERY},
        "test": {"texts": TESTED, "seed": TEST_SEED, "guessing": guessing(test_texts())},
    }
    for variant, steps in STEPS.items():
        for seed in SEEDS:
            model, curve = train(variant, seed)
            if variant in (ONE, TWO):
                halved = {name: weight.half() for name, weight in model.state_dict().items()}
                save_file(halved, weights_file(variant, seed))
                model = recorded(variant, seed)  # measured as it is committed
            runs.append({"variant": variant, "seed": seed, "steps": steps, "curve": curve})
            runs[-1] |= measured(variant, model)
            print(variant, seed, runs[-1]["accuracy"], flush=True)
        write_text(RECORD, json.dumps(about | watch.about() | {"runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
