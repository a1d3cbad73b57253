"""Networks that are trained to test attention: the texts and the loop of lesson 08.

What erasure and gradients cannot tell apart, a network that is trained for it can: whether other
attention would do as well. The records of ``results/faithfulness/trained`` were made with the same
setups; ``results/README.md`` names the commit that made them.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import torch
from accelerate.utils import set_seed
from torch import Tensor, nn

from course_kit.research.recording import CPU
from course_kit.research.report.studies import ACCURACY, DIVERGENCE, VARIATION
from course_kit.research.sanity_checks.synthetic import (
    VALUES,
    Splits,
    Text,
    encode_texts,
    vocabulary_of,
    write_splits,
)
from course_lib import faithfulness
from course_lib.data.batches import Batch, Batches
from course_lib.data.config import TextConfig
from course_lib.data.corpus import load_corpus
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.front_end import progress
from course_lib.metrics.classification import Predictions
from course_lib.models.bilstm import BiLSTMConfig
from course_lib.runs.settings import Settings
from course_lib.runs.spec import choose
from course_lib.runs.systems.bilstm_system import BiLSTMSystem
from course_lib.runs.systems.system import compact
from course_lib.training.config import TrainingConfig, TrainingError, make_optimizer
from course_lib.training.loop import fit, predict

AT_ONCE = 256  # texts that are read together
ROWS = 1000  # synthetic texts to train on
Loss = Callable[[Any, Batch], Tensor]  # of a network's output and its batch
Guide = Callable[[Tensor, Tensor], Tensor]  # ids and mask (batch, length) → attention, as these

# A small BiLSTM that trains in seconds, over the committed vectors; no preset, so that lesson and
# records agree whatever becomes of the presets.
SENTENCES = compact(
    Settings(
        TextConfig(), BiLSTMConfig(hidden=64, dropout=0.3, frozen=True), TrainingConfig(epochs=4)
    )
)
SYNTHETIC = Settings(
    TextConfig(vectors="none"),
    BiLSTMConfig(embedding=32, hidden=32),
    TrainingConfig(epochs=6, patience=6, learning_rate=5e-3, precision="no"),
)


@dataclass(frozen=True)
class TrainingSetup:
    """Texts and the networks that read them: ``system`` has their vocabulary and settings."""

    system: BiLSTMSystem
    texts: Splits

    def untrained(self, seed: int) -> nn.Module:
        """A BiLSTM before training."""
        return self.system.untrained(seed)

    def fit(self, model: nn.Module, seed: int) -> nn.Module:
        """The model, trained as usual."""
        train, validation, _ = (encode_texts(part, self.system.vocabulary) for part in self.texts)
        fit(model, train, validation, self.system.settings.training, seed=seed, device=CPU)
        return model.eval()

    def teach(self, model: nn.Module, loss: Loss, seed: int, what: str) -> nn.Module:
        """The model after all epochs on a ``loss`` ``(batch,)`` of one's own.

        No figure of the validation texts says which epoch is best, so the last one is kept.
        ``TrainingError`` if the loss is no longer finite.
        """
        config = self.system.settings.training
        encoded = encode_texts(self.texts.train, self.system.vocabulary)
        batches = Batches(encoded, config.batch_size, seed)
        optimizer = make_optimizer(model, config, CPU)
        set_seed(seed)
        model.train()
        every = chain.from_iterable(map(batches.epoch, range(config.epochs)))
        steps = config.epochs * len(batches)
        for step, batch in enumerate(progress(every, what, steps, leave=False)):
            share = 1 - step / steps if config.decay else 1.0
            for group in optimizer.param_groups:
                group["lr"] = config.learning_rate * share * group["rate"]
            value = loss(model(batch.tokens, batch.mask), batch).mean()
            if not torch.isfinite(value):
                raise TrainingError(f"{what}: the loss is {value.item()} in batch {step + 1}")
            optimizer.zero_grad()
            value.backward()
            if config.clip_norm:  # 0 is no limit, and would leave no gradient
                nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
            optimizer.step()
        return model.eval()

    def predictions(self, model: nn.Module) -> Predictions:
        """What a model says of the test texts."""
        encoded = encode_texts(self.texts.test, self.system.vocabulary)
        return predict(model, Batches(encoded, AT_ONCE), CPU)

    def right(self, model: nn.Module) -> np.ndarray:
        """1 for each test text whose label is predicted, else 0; their mean is the accuracy."""
        predictions = self.predictions(model)
        return (predictions.probabilities.argmax(1) == predictions.labels).double().numpy()

    def attention(self, model: nn.Module) -> list[np.ndarray]:
        """A model's attention to the words of each test text."""
        system = copy(self.system)
        system.model = model
        return DocumentModel(system).attention([list(t.words) for t in self.texts.test])[
            "attention"
        ]


def distance(setup: TrainingSetup, model: nn.Module, base: nn.Module) -> dict[str, np.ndarray]:
    """Of each test text: whether ``model`` is right, and how far it is from ``base``."""
    ours, theirs = (setup.predictions(each).probabilities.numpy() for each in (model, base))
    pairs = zip(setup.attention(model), setup.attention(base), strict=True)
    return {
        ACCURACY: setup.right(model),
        VARIATION: faithfulness.total_variation(ours, theirs),
        DIVERGENCE: np.array([faithfulness.jensen_shannon(*pair) for pair in pairs]),
    }


def uniform(tokens: Tensor, mask: Tensor) -> Tensor:
    """A guide that weighs all words alike."""
    return mask.float()


def attention_of(model: nn.Module) -> Guide:
    """The attention of a trained network as a guide; the network does not become a part of what it
    guides, so it stays as it is."""

    @torch.no_grad()
    def guide(tokens: Tensor, mask: Tensor) -> Tensor:
        return model(tokens, mask).attention

    return guide


def sentences() -> TrainingSetup:
    """SST-2's whole sentences, read with the committed vectors."""
    corpus = load_corpus("sst2_sentences")
    system = BiLSTMSystem(SENTENCES, corpus.card.classes)
    system.build({}, seed=0)
    splits = Splits(
        **{
            split: [Text(tuple(row["tokens"]), row["label"]) for row in rows]
            for split, rows in corpus.splits.items()
        }
    )
    return TrainingSetup(system, splits)


def synthetic(task: str, rows: int = ROWS) -> TrainingSetup:
    """A synthetic task."""
    splits = write_splits(task, rows)
    system = BiLSTMSystem(SYNTHETIC, VALUES, tokeniser="untrained")
    system.vocabulary = vocabulary_of(splits)
    return TrainingSetup(system, splits)


SETUPS: dict[str, Callable[[], TrainingSetup]] = {
    "sst2_sentences": sentences,
    "planted": partial(synthetic, "planted"),
}


def setup_of(name: str) -> TrainingSetup:
    """The setup of that name; ``SpecError`` lists those there are."""
    return choose("setup", name, SETUPS)()
