"""AGT where a pair of words decides, which it can learn, and where their order does, which it
cannot: its logits depend on the bag of words alone."""

from functools import partial

import torch
from torch import Tensor

from course_kit.research.controls.networks import SumOfWords
from course_kit.research.controls.trials import (
    ControlSpec,
    Line,
    Seen,
    Trial,
    accuracy,
    mean,
    train,
)
from course_lib.metrics.composition import expected_phrases, phrase_starts, selected_words
from course_lib.models.agt import AGT, AGTConfig

CONFIG = AGTConfig(embedding=32, hidden=32, layers=4, dropout=0.0)


def trial(control: str, task: str, spec: ControlSpec) -> Trial:
    """An AGT on the task."""
    return train(control, task, "AGT", partial(AGT, CONFIG), spec)


def lines(spec: ControlSpec) -> list[Line]:
    """Accuracy, what the layers select and the phrases that this makes; then the order task."""
    sums = train("phrase", "phrase", "sum of words", SumOfWords, spec)
    agt, order = trial("phrase", "phrase", spec), trial("order", "adjacent", spec)
    shown = {
        "accuracy": accuracy,
        "weight on the pair": on_pair,
        "selected words that are of the pair": of_pair,
        "phrase length in a layer": in_a_layer,
        "phrase length in a layer, by chance": in_a_layer_by_chance,
        "phrase length over all layers": over_layers,
        "phrase length over all layers, by chance": over_layers_by_chance,
    }
    return [
        *sums.lines({"accuracy": accuracy}),
        *agt.lines(shown),
        *order.lines({"accuracy": accuracy, "logits of twins differ by": between_twins}),
    ]


def on_pair(seen: Seen) -> float:
    """The weight on the words that decide, mean over the layers."""
    return mean((seen.output.attention * seen.decides.unsqueeze(1)).sum(2))


def selected(seen: Seen) -> Tensor:
    """The words that each layer selects, ``(texts, layers, words)``."""
    return selected_words(seen.output.attention, seen.mask)


def of_pair(seen: Seen) -> float:
    """The share of all selected words that decide; 0 if none is selected."""
    chosen = selected(seen)
    return _ratio(chosen & seen.decides.unsqueeze(1), chosen)


def in_a_layer(seen: Seen) -> float:
    """Mean length of the runs of selected words; 0 if no word is selected."""
    chosen = selected(seen)
    return _ratio(chosen, phrase_starts(chosen))


def in_a_layer_by_chance(seen: Seen) -> float:
    """That length if the same words stood in a random order."""
    chosen = selected(seen)
    return _ratio(chosen, expected_phrases(chosen, seen.mask))


def over_layers(seen: Seen) -> float:
    """``in_a_layer`` of the words that at least one layer selects."""
    chosen = selected(seen).any(1, keepdim=True)
    return _ratio(chosen, phrase_starts(chosen))


def over_layers_by_chance(seen: Seen) -> float:
    """That length if the same words stood in a random order."""
    chosen = selected(seen).any(1, keepdim=True)
    return _ratio(chosen, expected_phrases(chosen, seen.mask))


def between_twins(seen: Seen) -> float:
    """The largest difference between the logits of twins, whose words are the same."""
    logits = seen.output.logits
    return (logits[::2] - logits[1::2]).abs().max().item()


def _ratio(part: Tensor, whole: Tensor) -> float:
    return (part.double().sum() / torch.clamp(whole.double().sum(), min=1e-9)).item()
