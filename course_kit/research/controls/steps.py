"""IRAM where one word names the fact that decides: its steps must part if no encoder helps."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from torch import nn

from course_kit.research.controls.networks import (
    with_held_query,
    without_summary,
    word_by_word_iram,
)
from course_kit.research.controls.trials import (
    ControlSpec,
    Instrument,
    Line,
    Seen,
    Trial,
    accuracy,
    mean,
    train,
)
from course_lib.metrics.steps import describe_steps
from course_lib.models.iram import IRAM, IRAMConfig

PENALTY = 0.1  # a γ at which steps that overlap cost something; the paper's is 0.0003
CONFIG = IRAMConfig(
    embedding=32, hidden=32, steps=2, dropout=0.0, hidden_dropout=0.0, initial_std=0.0, frozen=False
)
PENALISED = replace(CONFIG, penalty=PENALTY)
NETWORKS: dict[str, tuple[Callable[..., nn.Module], IRAMConfig]] = {
    "IRAM word by word": (word_by_word_iram, CONFIG),
    f"IRAM word by word, γ = {PENALTY}": (word_by_word_iram, PENALISED),
    "IRAM with its LSTM": (IRAM, CONFIG),
    f"IRAM with its LSTM, γ = {PENALTY}": (IRAM, PENALISED),
}


def trial(network: str, spec: ControlSpec) -> Trial:
    """One of ``NETWORKS`` on the pointer task."""
    make, config = NETWORKS[network]
    return train("pointer", "pointer", network, partial(make, config), spec)


def lines(spec: ControlSpec) -> list[Line]:
    """What each step reads, how far the steps part, and what the second one cannot do without."""
    found = []
    for network in NETWORKS:
        iram = trial(network, spec)
        figures = ("step overlap", "step cosine", "summary share, step 2")
        shown: dict[str, Instrument] = {"accuracy": accuracy}
        shown |= {
            f"step {step + 1} on {name}": partial(weight, step=step, which=which)
            for step in (0, 1)
            for which, name in enumerate(("the question", "the named fact"))
        }
        shown |= {name: partial(described, name=name) for name in figures}
        found += iram.lines(shown)
        for name, share in ablations(iram).items():
            found.append(Line(iram.control, network, f"accuracy, {name}", share))
    return found


def weight(seen: Seen, step: int, which: int) -> float:
    """The weight of a step on one of the words that decide."""
    return mean(seen.output.attention[:, step].gather(1, seen.places[:, which : which + 1]))


def described(seen: Seen, name: str) -> float:
    """Mean of a figure of ``describe_steps``."""
    return mean(describe_steps(seen.output.attention, seen.mask)[name])


def ablations(iram: Trial) -> dict[str, float]:
    """Accuracy of the trained network if its second step keeps the first one's query, cannot see
    its summary, or both."""
    held = with_held_query(iram.model)
    batch = iram.batch
    hidden = {
        "summary masked": without_summary(iram.model, batch.tokens, batch.mask),
        "query held and summary masked": without_summary(held, batch.tokens, batch.mask),
    }
    shares = {name: mean(logits.argmax(1) == batch.labels) for name, logits in hidden.items()}
    return {"query held": accuracy(iram.see(held))} | shares
