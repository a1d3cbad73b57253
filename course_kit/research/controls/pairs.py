"""SANet where pairs of words decide: its band must appear for neighbours, and only for them."""

from dataclasses import replace
from functools import partial

import torch

from course_kit.research.controls.trials import (
    ControlSpec,
    Line,
    Seen,
    Trial,
    accuracy,
    mean,
    train,
)
from course_lib.metrics.attention import diagonality
from course_lib.models.sanet import SANet, SANetConfig

CONFIG = SANetConfig(embedding=32, hidden=32, dropout=0.0)
BASELINE = replace(CONFIG, attention=False)
BANDS = (1, 2, 3)
RATE = 3e-3


def trial(task: str, spec: ControlSpec, config: SANetConfig = CONFIG) -> Trial:
    """A SANet on ``adjacent`` or ``distant`` pairs."""
    name = "SANet" if config.attention else "SANet without attention"
    build = partial(SANet, config)
    return train(f"{task} pairs", task, name, build, spec, learning_rate=RATE)


def lines(spec: ControlSpec) -> list[Line]:
    """Accuracy and diagonality on either task, and what SANet's baseline can do alone."""
    found = []
    for task in ("adjacent", "distant"):
        bands = {f"diagonality {b}": partial(band, bandwidth=b) for b in BANDS}
        shown = {
            "accuracy": accuracy,
            "weight within pairs": within_pairs,
            "weight on the word itself": partial(band, bandwidth=0),
            "weight on the words beside it": beside,
        }
        shown |= bands
        found += trial(task, spec).lines(shown)
        found += trial(task, spec, BASELINE).lines({"accuracy": accuracy})
    return found


def band(seen: Seen, bandwidth: int) -> float:
    """Mean ``diagonality`` of the texts."""
    return mean(diagonality(seen.output.attention[:, 0], seen.mask, bandwidth))


def beside(seen: Seen) -> float:
    """Diagonality at 1 without the diagonal: what words give to the words beside them alone.

    Diagonality counts the weight of a word on itself, which can grow where no neighbour matters.
    """
    return band(seen, 1) - band(seen, 0)


def within_pairs(seen: Seen) -> float:
    """The weight that a word of a pair gives to the other one, mean over both directions."""
    text = torch.arange(len(seen.places), device=seen.places.device).unsqueeze(1)
    first, second = seen.places[:, ::2], seen.places[:, 1::2]
    weights = seen.output.attention[:, 0]
    return mean((weights[text, first, second] + weights[text, second, first]) / 2)
