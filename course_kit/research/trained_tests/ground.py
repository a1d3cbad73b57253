"""What the trained tests train: texts in three splits, and small networks over their words."""

from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch
from accelerate.utils import set_seed
from torch import nn
from tqdm.auto import tqdm

from course_kit.research.controls.texts import VALUES, Text, vocabulary_of, write_texts
from course_kit.research.trained_tests.networks import Guide, WordMLP
from course_lib.data.batches import Batch, Batches, Documents
from course_lib.data.config import TextConfig
from course_lib.data.corpus import load_corpus
from course_lib.data.encoding import encode_sentences
from course_lib.metrics.classification import Predictions
from course_lib.models.bilstm import BiLSTMConfig
from course_lib.runs.settings import ControlConfig, Settings
from course_lib.runs.spec import choose
from course_lib.runs.systems.bilstm import BiLSTMSystem
from course_lib.runs.systems.system import compact
from course_lib.training.config import TrainingConfig, TrainingError, make_optimizer
from course_lib.training.loop import fit, predict

CPU = torch.device("cpu")
AT_ONCE = 256  # texts that are read together
MARKED = 200  # words that tell most of a label
ROWS, HELD_OUT = 1000, 400  # made-up texts to train on, and to choose the epoch by or to measure on
ACCURACY = "accuracy"
Lines = dict[str, dict[str, np.ndarray]]  # by line and figure: one number a test text, or NaN
Loss = Callable[[Any, Batch], torch.Tensor]  # of a network's output and its batch

# A small BiLSTM that trains in seconds, over the committed vectors; no preset, so that the records
# keep their settings whatever becomes of the presets.
SENTENCES = compact(
    Settings(
        TextConfig(), BiLSTMConfig(hidden=64, dropout=0.3, frozen=True), TrainingConfig(epochs=4)
    )
)
MADE_UP = Settings(
    TextConfig(vectors="none"),
    BiLSTMConfig(embedding=32, hidden=32),
    TrainingConfig(epochs=6, patience=6, learning_rate=5e-3, precision="no"),
)


class Texts(NamedTuple):
    """``documents`` as lists of words, and their ``labels`` ``(documents,)``."""

    documents: list[list[str]]
    labels: np.ndarray


@dataclass(frozen=True)
class Ground:
    """Texts of ``name`` and the networks that read them.

    ``system`` has their vocabulary and settings; ``data`` is a digest of the texts; ``marked`` are
    the words of which we know, or found in the training texts, that they tell a label.
    """

    name: str
    system: BiLSTMSystem
    train: Texts
    validation: Texts
    test: Texts
    data: str
    marked: frozenset[str]

    def encode(self, texts: Texts) -> Documents:
        """Texts as input of the networks."""
        encoded = encode_sentences(
            [[words] for words in texts.documents], self.system.vocabulary, flat=True
        )
        return replace(encoded, labels=texts.labels)

    def untrained(self, seed: int, attention_weights: str = "learned") -> nn.Module:
        """A BiLSTM before training, its attention free or held as ``ControlConfig`` says."""
        system = copy(self.system)
        system.settings = replace(system.settings, control=ControlConfig(attention_weights))
        return system.untrained(seed)

    def word_mlp(self, seed: int, guide: Guide | None = None) -> WordMLP:
        """A ``WordMLP`` before training, over the word vectors that the BiLSTM has."""
        model = self.system.settings.model
        embedding = self.untrained(seed).embedding
        set_seed(seed)
        return WordMLP(embedding, model.hidden, len(self.system.classes), model.dropout, guide)

    def fit(
        self, model: nn.Module, seed: int, train: Texts | None = None, held_out: Texts | None = None
    ) -> nn.Module:
        """The model, trained as usual on these texts, or else on the ground's own."""
        halves = [
            self.encode(texts) for texts in (train or self.train, held_out or self.validation)
        ]
        fit(model, *halves, self.system.settings.training, seed=seed, device=CPU)
        return model.eval()

    def teach(self, model: nn.Module, loss: Loss, seed: int, what: str) -> nn.Module:
        """The model after all epochs on a ``loss`` ``(batch,)`` of one's own.

        No figure of the validation texts says which epoch is best, so the last one is kept.
        ``TrainingError`` if the loss is no longer finite.
        """
        config = self.system.settings.training
        batches = Batches(self.encode(self.train), config.batch_size, seed)
        optimizer = make_optimizer(model, config, CPU)
        set_seed(seed)
        model.train()
        with tqdm(total=config.epochs * len(batches), desc=what, leave=False) as bar:
            for batch in chain.from_iterable(map(batches.epoch, range(config.epochs))):
                for group in optimizer.param_groups:
                    share = 1 - bar.n / bar.total if config.decay else 1.0
                    group["lr"] = config.learning_rate * share * group["rate"]
                value = loss(model(batch.tokens, batch.mask), batch).mean()
                if not torch.isfinite(value):
                    raise TrainingError(
                        f"{what}: the loss is {value.item()} in batch {bar.n + 1}. A smaller "
                        "learning rate may help."
                    )
                optimizer.zero_grad()
                value.backward()
                if config.clip_norm:
                    nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
                optimizer.step()
                bar.update()
        return model.eval()

    def predictions(self, model: nn.Module, texts: Texts | None = None) -> Predictions:
        """What a model says of texts, or else of the test texts."""
        return predict(model, Batches(self.encode(texts or self.test), AT_ONCE), CPU)

    def right(self, model: nn.Module, texts: Texts | None = None) -> np.ndarray:
        """1 for each text whose label is predicted, else 0; their mean is the accuracy."""
        predictions = self.predictions(model, texts)
        return (predictions.probabilities.argmax(1) == predictions.labels).double().numpy()

    @torch.inference_mode()
    def attention(self, model: nn.Module) -> list[np.ndarray]:
        """A model's attention to the words of each test text."""
        documents = self.encode(self.test)
        found: list[np.ndarray] = [np.empty(0)] * len(documents)
        for batch in Batches(documents, AT_ONCE).epoch():
            alpha = model(batch.tokens, batch.mask).attention
            for place, row, real in zip(batch.index.tolist(), alpha, batch.mask, strict=True):
                found[place] = row[real].double().numpy()
        return found

    def function(self, model: nn.Module) -> BiLSTMSystem:
        """The system with this model, as ``DocumentModel`` takes it."""
        system = copy(self.system)
        system.model = model
        return system

    @property
    def marked_ids(self) -> torch.Tensor:
        """Which word ids are marked, ``(vocabulary,)``."""
        found = torch.zeros(len(self.system.vocabulary), dtype=torch.bool)
        found[torch.from_numpy(self.system.vocabulary.encode(sorted(self.marked))).long()] = True
        found[:2] = False  # padding, and what stands for every unknown word
        return found


def ground_of(name: str) -> Ground:
    """The ground of that name; ``SpecError`` lists those there are."""
    return choose("ground", name, GROUNDS)()


def sentences() -> Ground:
    """SST-2's whole sentences, read with the committed vectors; the words that tell most of a label
    in its training texts are marked."""
    corpus = load_corpus("sst2_sentences")
    system = BiLSTMSystem(SENTENCES, corpus.card.classes)
    system.build({}, seed=0)
    splits = {
        split: Texts([list(words) for words in rows["tokens"]], np.array(rows["label"]))
        for split, rows in corpus.splits.items()
    }
    content, marked = corpus.provenance.content, telling_words(splits["train"])
    return Ground("sst2_sentences", system, **splits, data=content, marked=marked)


def planted(rows: int = ROWS) -> Ground:
    """Made-up texts of which one word among fillers decides; all such words are marked."""
    return made_up("planted", rows)


def made_up(task: str, rows: int = ROWS) -> Ground:
    """A task of ``data.controls``; the words that decide are marked."""
    texts = write_texts(task, rows + 2 * HELD_OUT)
    system = BiLSTMSystem(MADE_UP, VALUES, tokeniser="untrained")
    system.vocabulary = vocabulary_of(texts)
    marked = frozenset(text.words[place] for text in texts for place in text.decides)
    ends = HELD_OUT, 2 * HELD_OUT
    parts = (texts[: ends[0]], texts[ends[0] : ends[1]], texts[ends[1] :])
    test, validation, train = map(_labelled, parts)
    ground = Ground(task, system, train, validation, test, "", marked)
    return replace(ground, data=ground.encode(_labelled(texts)).digest())


def _labelled(texts: Sequence[Text]) -> Texts:
    return Texts([list(text.words) for text in texts], np.array([text.label for text in texts]))


def telling_words(texts: Texts, count: int = MARKED) -> frozenset[str]:
    """The ``count`` words whose presence tells most of a label: the largest |n₁ − n₀| / √(n₁ + n₀).

    n_y is the number of texts of label y that hold the word, as if both labels were as frequent.
    """
    with_word = [
        Counter(chain.from_iterable(map(set, _of_label(texts, label)))) for label in (0, 1)
    ]
    sizes = [max(1, int((texts.labels == label).sum())) for label in (0, 1)]
    scale = sum(sizes) / 2
    scores = {}
    for word in with_word[0].keys() | with_word[1].keys():
        negative, positive = (n[word] * scale / size for n, size in zip(with_word, sizes))
        scores[word] = abs(positive - negative) / (positive + negative) ** 0.5
    return frozenset(sorted(scores, key=lambda word: (-scores[word], word))[:count])


def _of_label(texts: Texts, label: int) -> list[list[str]]:
    return [words for words, own in zip(texts.documents, texts.labels) if own == label]


GROUNDS: dict[str, Callable[[], Ground]] = {"sst2_sentences": sentences, "planted": planted}
