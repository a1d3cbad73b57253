"""A training epoch of HAN at 7 × 30: ours against the obvious way, on the same reviews.

Ours computes real words and sentences alone, with the library's GRU and the fused Adam. The obvious
way, written out below, pads every review to 7 × 30 and runs PyTorch's parts over all of it.
"""

import math
import time
from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Any

import torch
from common import arguments, interleave, ratio, show, spread, write
from torch import Tensor, nn

from course_lib.data.batches import Batches, Documents
from course_lib.data.corpus import load_corpus
from course_lib.models.han import HAN, HANConfig
from course_lib.runs.run import split_rows
from course_lib.runs.systems.han_system import REPORT, HANSystem
from course_lib.training.devices import use_threads

TEXT, MODEL, TRAINING = REPORT.text, REPORT.model, REPORT.training
WARM_UP = 10  # batches of each way before anything is timed
EPOCHS = 3  # over which the learning rate falls

Steps = Iterator[tuple[int, Tensor]]  # of each training step: how many reviews, and their loss


class ObviousFloor(nn.Module):
    """Bidirectional GRU and attention over padded sequences."""

    def __init__(self, inputs: int, hidden: int, attention: int) -> None:
        super().__init__()
        self.gru = nn.GRU(inputs, hidden, batch_first=True, bidirectional=True)
        self.projection = nn.Linear(2 * hidden, attention)
        self.contexts = nn.Parameter(torch.randn(1, attention) / attention**0.5)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """``x`` ``(n, length, inputs)``, ``mask`` ``(n, length)`` → ``(n, 2 · hidden)``."""
        h, _ = self.gru(x)
        scores = torch.tanh(self.projection(h)) @ self.contexts[0]  # (n, length)
        alpha = scores.masked_fill(~mask, -1e9).softmax(1)
        return (alpha.unsqueeze(2) * h).sum(1)


class ObviousHAN(nn.Module):
    """The equations and sizes of ``course_lib.models.han.HAN``, on padded reviews throughout."""

    def __init__(self, config: HANConfig, embedding: Tensor) -> None:
        super().__init__()
        hidden, attention = config.hidden, config.attention
        self.embedding = nn.Embedding.from_pretrained(embedding, freeze=False, padding_idx=0)
        self.words = ObviousFloor(embedding.shape[1], hidden, attention)
        self.sentences = ObviousFloor(2 * hidden, hidden, attention)
        self.classifier = nn.Linear(2 * hidden, 2)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        """Token ids ``(batch, sentences, words)``, 0 for padding → logits ``(batch, 2)``."""
        batch, sentences, words = tokens.shape
        mask = tokens != 0
        x = self.dropout(self.embedding(tokens.view(-1, words)))
        s = self.words(x, mask.view(-1, words)).view(batch, sentences, -1)
        document = self.sentences(self.dropout(s), mask.any(2))
        return self.classifier(self.dropout(document))


def obvious_twin(model: HAN) -> ObviousHAN:
    """The obvious way with the same weights; ``AssertionError`` if it computes anything else.

    The two are compared on reviews that fill 7 × 30, because in the obvious way the backward GRU
    starts in the padding.
    """
    twin = ObviousHAN(MODEL, model.embedding.weight.detach().clone())
    weights = model.state_dict().items()
    twin.load_state_dict(
        {name.replace("gru.gru", "gru").replace("pooling.", ""): value for name, value in weights}
    )
    tokens = torch.randint(1, TEXT.vocabulary_limit, (8, TEXT.max_sentences, TEXT.max_words))
    with torch.inference_mode():
        ours = model.eval()(tokens, tokens > 0).logits
        torch.testing.assert_close(twin.eval()(tokens), ours, rtol=1e-4, atol=1e-5)
    return twin


def ours_steps(model: HAN, train: Batches) -> Steps:
    """Training steps as in ``course_lib.training.loop``: the library's batches, the fused Adam."""
    update = updater(model, EPOCHS * len(train), fused=True)
    model.train()
    for epoch in count():
        for batch in train.epoch(epoch):
            loss = nn.functional.cross_entropy(model(batch.tokens, batch.mask).logits, batch.labels)
            yield len(batch.labels), update(loss)


def obvious_steps(model: ObviousHAN, tokens: Tensor, labels: Tensor, seed: int) -> Steps:
    """Training steps on batches of a shuffled tensor ``(reviews, 7, 30)``, the plain Adam."""
    batches = math.ceil(len(labels) / TRAINING.batch_size)
    update = updater(model, EPOCHS * batches)
    random = torch.Generator().manual_seed(seed)
    model.train()
    while True:
        for index in torch.randperm(len(labels), generator=random).split(TRAINING.batch_size):
            loss = nn.functional.cross_entropy(model(tokens[index]), labels[index])
            yield len(index), update(loss)


def updater(model: nn.Module, steps: int, fused: bool | None = None) -> Callable[[Tensor], Tensor]:
    """One update from a loss, the same for every way but for Adam's implementation: clipped
    gradients, and a learning rate that falls to zero over ``steps``."""
    adam = torch.optim.Adam(model.parameters(), TRAINING.learning_rate, fused=fused)
    decay = torch.optim.lr_scheduler.LambdaLR(adam, lambda done: max(0.0, 1 - done / steps))

    def update(loss: Tensor) -> Tensor:
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), TRAINING.clip_norm)
        adam.step()
        decay.step()
        return loss.detach()

    return update


def padded(documents: Documents) -> Tensor:
    """All documents as one tensor ``(documents, 7, 30)``."""
    tokens = torch.zeros(len(documents), TEXT.max_sentences, TEXT.max_words, dtype=torch.int64)
    for batch in Batches(documents, 1000).epoch():
        _, sentences, words = batch.tokens.shape
        tokens[batch.index, :sentences, :words] = batch.tokens
    return tokens


def per_epoch(steps: Steps, batches: int, reviews: int) -> Callable[[int], float]:
    """Measures seconds for an epoch of ``reviews``, each time from the next ``batches``."""

    def measure(number: int) -> float:
        began = time.perf_counter()
        seen = sum(size for size, _ in islice(steps, batches))
        return (time.perf_counter() - began) / seen * reviews

    for _ in islice(steps, WARM_UP):
        pass
    return measure


def time_rounds(
    make: Callable[[], HAN], documents: Documents, seed: int, rounds: int, batches: int
) -> dict[str, Any]:
    """Seconds for an epoch and the ratio to the obvious way, of every way and round."""
    train = Batches(documents, TRAINING.batch_size, seed)
    labels = torch.from_numpy(documents.labels)
    ways = {
        "obvious": obvious_steps(obvious_twin(make()), padded(documents), labels, seed),
        "ours": ours_steps(make(), train),
    }
    measures = {name: per_epoch(way, batches, len(documents)) for name, way in ways.items()}
    seconds = interleave(measures, rounds)
    return {
        "batches_per_round": batches,
        "reviews_per_epoch": len(documents),
        "epoch_seconds": {name: spread(values) for name, values in seconds.items()},
        "reviews_per_second": {
            name: spread([len(documents) / value for value in values])
            for name, values in seconds.items()
        },
        "ratio_to_obvious": {
            name: spread(ratio(values, seconds["obvious"]))
            for name, values in seconds.items()
            if name != "obvious"
        },
    }


def main() -> None:
    """Measure, show, write."""
    chosen = arguments(__doc__, rounds=5, steps=60, threads=2).parse_args()
    threads = use_threads(chosen.threads)
    corpus = load_corpus("imdb")
    rows = split_rows(corpus)
    system = HANSystem(REPORT, corpus.card.classes)
    system.build(rows, chosen.seed)
    documents = {split: system.encode(rows[split]) for split in ("train", "validation")}

    def make() -> HAN:
        return system.untrained(chosen.seed)

    figures = time_rounds(make, documents["train"], chosen.seed, chosen.rounds, chosen.steps)
    table = {f"seconds per epoch, {name}": row for name, row in figures["epoch_seconds"].items()}
    table |= {f"{name} / obvious": row for name, row in figures["ratio_to_obvious"].items()}
    show(table)
    write("han_epoch", figures, chosen.seed, corpus.provenance.content, threads)


if __name__ == "__main__":
    main()
