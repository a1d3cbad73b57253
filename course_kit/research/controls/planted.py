"""Every network where one planted word decides: does what it shows name that word?"""

from functools import partial

import torch
from torch import Tensor

from course_kit.research.controls.networks import word_by_word_han, word_by_word_iram
from course_kit.research.controls.pairs import BASELINE
from course_kit.research.controls.pairs import CONFIG as SANET
from course_kit.research.controls.phrases import CONFIG as AGT_CONFIG
from course_kit.research.controls.steps import CONFIG as IRAM_CONFIG
from course_kit.research.controls.trials import (
    Build,
    ControlSpec,
    Instrument,
    Line,
    Seen,
    Trial,
    accuracy,
    mean,
    train,
)
from course_lib.models.agt import AGT
from course_lib.models.han import HAN, HANConfig, HANOutput
from course_lib.models.iram import IRAM, IRAMOutput
from course_lib.models.sanet import SANet, SANetOutput, pooled_word_attention

NEAR = 2  # places around the planted word that count as its neighbours
HAN_CONFIG = HANConfig(embedding=32, hidden=16, attention=32)
NETWORKS: dict[str, Build] = {
    "AGT": partial(AGT, AGT_CONFIG),
    "HAN word by word": partial(word_by_word_han, HAN_CONFIG),
    "HAN with its GRU": partial(HAN, HAN_CONFIG),
    "IRAM word by word": partial(word_by_word_iram, IRAM_CONFIG),
    "IRAM with its LSTM": partial(IRAM, IRAM_CONFIG),
    "SANet": partial(SANet, SANET),
    "SANet without attention": partial(SANet, BASELINE),
}


def trial(network: str, spec: ControlSpec) -> Trial:
    """One of ``NETWORKS`` on the planted word."""
    in_sentences = network.startswith("HAN")
    return train(
        "planted word", "planted", network, NETWORKS[network], spec, in_sentences=in_sentences
    )


def lines(spec: ControlSpec) -> list[Line]:
    """What each network shows of the planted word and its neighbours, and its accuracy if the
    planted word may have no weight, or a word beside it gets all."""
    found = []
    for network in NETWORKS:
        one = trial(network, spec)
        shown: dict[str, Instrument] = {
            "accuracy": accuracy,
            "share of the planted word": on_planted,
            "share of its neighbours": on_neighbours,
            "texts in which it has the largest share": largest,
        }
        found += one.lines(shown)
        if one.uniform is not None:
            for name, factors in (
                ("no weight on it", ~one.decides),
                ("all weight on a neighbour", neighbour(one)),
            ):
                share = accuracy(one.reweighted(factors))
                found.append(Line(one.control, network, f"accuracy, {name}", share))
    return found


def neighbour(one: Trial) -> Tensor:
    """Which word stands beside the planted one, in the same sentence, ``(texts, words)``."""
    return torch.zeros_like(one.decides).scatter(1, one.places ^ 1, True)


def shares(seen: Seen) -> Tensor:
    """The share of the words in what the classifier reads, ``(texts, words)``, as each network's
    own instrument has it.

    AGT's is the mean over its layers. HAN's is word times sentence attention. IRAM's is that of the
    last summary, in which earlier summaries count by what they read. SANet's is ``pooled_from``.
    """
    output = seen.output
    if isinstance(output, HANOutput):
        return (output.word_attention * output.sentence_attention.unsqueeze(2)).flatten(1)
    if isinstance(output, SANetOutput):
        return pooled_word_attention(output.pooled_from, seen.mask)
    if isinstance(output, IRAMOutput):
        steps = output.attention.shape[1]
        length = output.attention.shape[2] - steps + 1
        read: list[Tensor] = []
        for step in range(steps):
            row = output.attention[:, step]
            through = [row[:, length + i : length + i + 1] * read[i] for i in range(step)]
            read.append(row[:, :length] + sum(through))
        return read[-1]
    return output.attention.mean(1)


def on_planted(seen: Seen) -> float:
    """The share of the planted word."""
    return mean(shares(seen).gather(1, seen.places))


def on_neighbours(seen: Seen) -> float:
    """The share of the other words within ``NEAR`` places of the planted one."""
    places = torch.arange(seen.mask.shape[1], device=seen.places.device)
    distance = (places - seen.places).abs()
    return mean((shares(seen) * ((distance > 0) & (distance <= NEAR))).sum(1))


def largest(seen: Seen) -> float:
    """The share of texts in which no word has a larger share than the planted one; 1 / n where
    all n words are equal."""
    found = shares(seen)
    best = found.isclose(found.amax(1, keepdim=True), atol=1e-6)
    return mean((best & seen.decides).sum(1) / best.sum(1))
