"""How a network of the study is trained."""

from collections import Counter
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import torch
from accelerate.utils import set_seed

from course_kit.research.crossover_study import corpora
from course_kit.research.crossover_study.corpora import CORPORA, Split, digest_of_splits
from course_kit.research.crossover_study.encoders import MINILM
from course_kit.research.crossover_study.encoders.minilm import MEAN, States
from course_kit.research.crossover_study.network import Pooled, Reader
from course_lib.data.batches import Documents
from course_lib.data.vectors import load_vectors
from course_lib.data.vocabulary import Vocabulary
from course_lib.files import prepared_folder
from course_lib.training.config import TrainingConfig
from course_lib.training.history import History
from course_lib.training.loop import fit

VECTORS = "reviews.100d"
LEAST_COUNT = 2  # of a word in the training texts; rarer ones are unknown
USUAL = TrainingConfig(
    epochs=5, batch_size=64, learning_rate=2e-3, embedding_rate=0.5, patience=5, precision="no"
)


@dataclass(frozen=True)
class Way:
    """A way of training: settings, and the largest share of words that a text loses."""

    config: TrainingConfig = USUAL
    deletions: float = 0.0


TRAININGS = {
    "usual": Way(),
    "deletions": Way(deletions=0.5),
}


@cache
def states(corpus: str) -> States:
    """The frozen network's states, shared by all cells of one process."""
    splits = corpora.load(corpus)
    digest = digest_of_splits(splits)["train"]
    folder = prepared_folder("crossover") / f"{corpus}-{digest}"
    return States(folder, lambda split: splits[split].words)


def train(
    corpus: str, encoder: str, attention: str, seed: int, training: str = "usual"
) -> tuple[Reader, History]:
    """Train a network; return it as a function of texts, and its history."""
    splits, way = corpora.load(corpus), TRAININGS[training]
    config, kept, vocabulary = way.config, None, None
    parts = [splits["train"], splits["validation"]]
    set_seed(seed)
    if encoder == MINILM:  # each occurrence of a word has a row of its own, which is fixed
        kept, config = states(corpus), replace(config, embedding_rate=0.0)
        found = [kept.reduced(np.asarray(kept.kept(name))) for name in ("train", "validation")]
        table = torch.from_numpy(np.concatenate([np.zeros_like(found[0][:1]), *found])).float()
        ids = np.split(np.arange(1, len(table)), [len(found[0])])
    else:
        vocabulary = vocabulary_of(splits["train"])
        table, _ = load_vectors(VECTORS).embedding_for(vocabulary, seed)
        ids = [vocabulary.encode([w for words in part.words for w in words]) for part in parts]
    network = Pooled(encoder, attention, table, CORPORA[corpus].classes, way.deletions)
    texts = [documents(part, found) for part, found in zip(parts, ids, strict=True)]
    history = fit(network, *texts, config, seed=seed, device=torch.device("cpu"))
    if vocabulary:
        with torch.no_grad():
            vectors = network.embedding.weight
            vectors[vocabulary.encode([MEAN])[0]] = vectors[torch.from_numpy(ids[0]).long()].mean(0)
    return Reader(network, vocabulary, kept), history


def vocabulary_of(split: Split) -> Vocabulary:
    """Words that occur often enough, in alphabetical order, and the one that stands for a mean."""
    counts = Counter(word for words in split.words for word in words)
    return Vocabulary((MEAN, *sorted(word for word, n in counts.items() if n >= LEAST_COUNT)))


def documents(split: Split, ids: np.ndarray) -> Documents:
    """Texts as ``fit`` takes them: the id of each word, one text after the other."""
    starts = np.cumsum([0, *map(len, split.words)])
    return Documents(ids, starts, np.arange(len(starts)), split.labels, flat=True)


def accuracy(reader: Reader, split: Split) -> float:
    """The share of texts that the network classifies right."""
    places = range(0, len(split), 100)
    guesses = [reader.see(split.words[n : n + 100]).probabilities.argmax(1) for n in places]
    return float((np.concatenate(guesses) == split.labels).mean())
