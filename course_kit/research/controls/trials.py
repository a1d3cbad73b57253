"""One network on one made-up task: trained, as it was before training, and with uniform attention.

Every figure is measured three times by the same instrument, so that a reader can tell what training
made of an attention from what any attention would show.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from accelerate.utils import set_seed
from torch import Tensor, nn

from course_kit.research.controls.texts import Text, encode_texts, vocabulary_of, write_texts
from course_lib.data.batches import Batch
from course_lib.models.han import HANOutput
from course_lib.models.sanet import SANet
from course_lib.training.config import TrainingConfig
from course_lib.training.devices import choose_device
from course_lib.training.loop import fit

HELD_OUT = 400  # texts to choose the epoch by, and as many to measure on


@dataclass(frozen=True)
class ControlSpec:
    """What all controls share: ``rows`` texts to train on, ``epochs``, seed, device, threads."""

    rows: int = 3000
    epochs: int = 10
    seed: int = 0
    device: str = "cpu"
    threads: int = 1


@dataclass(frozen=True)
class Line:
    """A figure of one network: ``trained``, of its ``untrained`` twin, and with ``uniform``
    attention in the trained network; None where there is no such figure."""

    control: str
    network: str
    figure: str
    trained: float
    untrained: float | None = None
    uniform: float | None = None


class Seen(NamedTuple):
    """What a network makes of the test texts: its ``output``, their ``labels``, the ``mask`` of
    their words and which of them ``decides``, both ``(texts, words)``, and ``places`` of the
    latter in the order of ``Text.decides``."""

    output: Any
    labels: Tensor
    mask: Tensor
    decides: Tensor
    places: Tensor


Instrument = Callable[[Seen], float]
Build = Callable[[int, int], nn.Module]  # (vocabulary, classes) → an untrained network


@dataclass(frozen=True)
class Trial:
    """A network trained on a task of ``control``, its ``untrained`` twin, and the test texts."""

    control: str
    network: str
    model: nn.Module
    untrained: nn.Module
    texts: list[Text]
    batch: Batch

    @cached_property
    def places(self) -> Tensor:
        """Where the words that decide stand in each text, ``(texts, words that decide)``."""
        return torch.tensor([text.decides for text in self.texts], device=self.batch.mask.device)

    @cached_property
    def decides(self) -> Tensor:
        """Which words decide, ``(texts, words)``."""
        return torch.zeros_like(self.batch.mask.flatten(1)).scatter(1, self.places, True)

    def see(self, model: nn.Module, attention: Any = None) -> Seen:
        """The texts through ``model``; ``attention`` replaces the learned one."""
        batch = self.batch
        options = {"return_attention": True} if isinstance(model, SANet) else {}
        if attention is not None:
            options["attention"] = attention
        with torch.inference_mode():
            output = model(batch.tokens, batch.mask, **options)
        return Seen(output, batch.labels, batch.mask.flatten(1), self.decides, self.places)

    @cached_property
    def seen(self) -> Seen:
        """The texts through the trained network."""
        return self.see(self.model)

    @cached_property
    def uniform(self) -> Seen | None:
        """The same with equal weights in place of the learned ones; None without attention."""
        output = self.seen.output
        if isinstance(output, HANOutput):
            words, sentences = output.word_attention, output.sentence_attention
            return self.see(self.model, (torch.ones_like(words), torch.ones_like(sentences)))
        if getattr(output, "attention", None) is None:
            return None
        return self.see(self.model, torch.ones_like(output.attention))

    def reweighted(self, factors: Tensor) -> Seen:
        """The same with each word's weights times its factor, ``(texts, words)`` and ≥ 0; what a
        word loses goes to the others."""
        output = self.seen.output
        if isinstance(output, HANOutput):
            words = output.word_attention * factors.view_as(output.word_attention)
            return self.see(self.model, (words, output.sentence_attention))
        attention = output.attention
        summaries = attention.shape[-1] - factors.shape[1]  # of IRAM's steps; they keep theirs
        columns = nn.functional.pad(factors.to(attention.dtype), (0, summaries), value=1.0)
        return self.see(
            self.model, attention * columns.view(len(columns), *(1,) * (attention.dim() - 2), -1)
        )

    def line(self, figure: str, instrument: Instrument) -> Line:
        """What an instrument shows of the network, its untrained twin and uniform attention."""
        uniform = None if self.uniform is None else instrument(self.uniform)
        untrained = instrument(self.see(self.untrained))
        return Line(self.control, self.network, figure, instrument(self.seen), untrained, uniform)

    def lines(self, instruments: dict[str, Instrument]) -> list[Line]:
        """``line`` for each figure."""
        return [self.line(figure, instrument) for figure, instrument in instruments.items()]


def train(
    control: str,
    task: str,
    network: str,
    build: Build,
    spec: ControlSpec,
    *,
    in_sentences: bool = False,
    learning_rate: float = 5e-3,
) -> Trial:
    """Train what ``build`` makes on a task of ``data.controls``; texts to train on, to choose the
    epoch by and to measure on are all different draws."""
    device = choose_device(spec.device)
    texts = write_texts(task, spec.rows + 2 * HELD_OUT, spec.seed)
    vocabulary = vocabulary_of(texts)
    test, held_out = texts[:HELD_OUT], texts[HELD_OUT : 2 * HELD_OUT]
    documents = [
        encode_texts(part, vocabulary, in_sentences)
        for part in (texts[2 * HELD_OUT :], held_out, test)
    ]
    set_seed(spec.seed)
    model = build(len(vocabulary), 2)
    untrained = deepcopy(model).to(device).eval()
    training = TrainingConfig(
        epochs=spec.epochs, patience=spec.epochs, learning_rate=learning_rate, precision="no"
    )
    fit(model, *documents[:2], training, seed=spec.seed, device=device)
    batch = documents[2].batch(np.arange(len(test))).to(device)
    return Trial(control, network, model.eval(), untrained, test, batch)


def accuracy(seen: Seen) -> float:
    """The share of texts whose label is predicted."""
    return mean(seen.output.logits.argmax(1) == seen.labels)


def mean(values: Tensor) -> float:
    """A mean as a number."""
    return values.double().mean().item()
