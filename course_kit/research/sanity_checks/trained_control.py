"""One network on one synthetic task: trained, as it was before training, with uniform attention.

Every figure is measured three times by the same instrument, so that a reader can tell what training
made of an attention from what any attention would show.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from accelerate.utils import set_seed
from torch import Tensor, nn

from course_kit.research.sanity_checks.synthetic import (
    Text,
    encode_texts,
    vocabulary_of,
    write_splits,
)
from course_lib.data.batches import Batch
from course_lib.models.han import HANOutput
from course_lib.models.sanet import SANet
from course_lib.training.config import TrainingConfig
from course_lib.training.devices import choose_device
from course_lib.training.loop import fit


@dataclass(frozen=True)
class ControlSpec:
    """What all controls share: ``rows`` texts to train on, ``epochs``, seed, device, threads."""

    rows: int = 3000
    epochs: int = 10
    seed: int = 0
    device: str = "cpu"
    threads: int = 1


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
class TrainedControl:
    """A network ``model`` trained on a task, its ``untrained`` twin, and the test texts."""

    model: nn.Module
    untrained: nn.Module
    texts: list[Text]
    batch: Batch

    def see(self, model: nn.Module, attention: Any = None) -> Seen:
        """The texts through ``model``; ``attention`` replaces the learned one."""
        batch = self.batch
        places = torch.tensor([text.decides for text in self.texts], device=batch.mask.device)
        mask = batch.mask.flatten(1)
        decides = torch.zeros_like(mask).scatter(1, places, True)
        options = {"return_attention": True} if isinstance(model, SANet) else {}
        if attention is not None:
            options["attention"] = attention
        with torch.inference_mode():
            output = model(batch.tokens, batch.mask, **options)
        return Seen(output, batch.labels, mask, decides, places)

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
        rows = [1] * (attention.dim() - 2)
        return self.see(self.model, attention * columns.view(len(columns), *rows, -1))

    def show(self, instrument: Instrument) -> dict[str, float | None]:
        """What an instrument shows of the network, its untrained twin, and the network with uniform
        attention, where it has any."""
        return {
            "trained": instrument(self.seen),
            "untrained": instrument(self.see(self.untrained)),
            "uniform": None if self.uniform is None else instrument(self.uniform),
        }


Extra = Callable[[TrainedControl], dict[str, float]]  # figures of the trained network alone


@dataclass(frozen=True)
class Check:
    """A network that is trained on a synthetic task, and the figures that are measured of it."""

    control: str
    task: str
    network: str
    build: Build
    instruments: Mapping[str, Instrument]
    extra: Extra | None = None
    in_sentences: bool = False
    learning_rate: float = 5e-3

    def train(self, spec: ControlSpec) -> TrainedControl:
        """Train it; texts to train on, to choose the epoch by and to measure on are different."""
        device = choose_device(spec.device)
        splits = write_splits(self.task, spec.rows, spec.seed)
        vocabulary = vocabulary_of(splits)
        train, validation, test = (encode_texts(p, vocabulary, self.in_sentences) for p in splits)
        set_seed(spec.seed)
        model = self.build(len(vocabulary), 2)
        untrained = deepcopy(model).to(device).eval()
        training = TrainingConfig(
            epochs=spec.epochs, patience=spec.epochs, learning_rate=self.learning_rate,
            precision="no",
        )  # fmt: skip
        fit(model, train, validation, training, seed=spec.seed, device=device)
        batch = test.batch(np.arange(len(test))).to(device)
        return TrainedControl(model.eval(), untrained, splits.test, batch)

    def lines(self, spec: ControlSpec) -> list[dict[str, Any]]:
        """All its figures, after a training, as a record holds them."""
        one = self.train(spec)
        shown = {figure: one.show(show) for figure, show in self.instruments.items()}
        for figure, share in (self.extra(one) if self.extra else {}).items():
            shown[figure] = {"trained": share, "untrained": None, "uniform": None}
        names = {"control": self.control, "network": self.network}
        return [names | {"figure": figure} | values for figure, values in shown.items()]
