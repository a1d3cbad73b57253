"""The small classifiers of lessons 01 and 02, and what both need to train and to ask them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import datasets
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence

from course_lib.data.batches import Documents
from course_lib.data.encoding import encode_documents
from course_lib.data.vectors import load_vectors
from course_lib.data.vocabulary import Vocabulary
from course_lib.models.gru import GRUCell
from course_lib.models.layers import AttentionPooling, masked_softmax

MOST_WORDS = 20_000  # in a vocabulary
WIDTH = 50  # numbers in a word vector
VECTORS = "glove.6B.50d"
PLAIN, CONTEXT = "plain mean", "context vector"
Pool = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Words:
    """A ``vocabulary`` and the vectors of its words, ``embedding`` ``(words, 50)``."""

    vocabulary: Vocabulary
    embedding: Tensor

    def encode(self, texts: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        """Lists of words → ids and mask, both ``(texts, longest)``."""
        flat = [word for text in texts for word in text]
        ids = torch.from_numpy(self.vocabulary.encode(flat)).long()
        tokens = pad_sequence(ids.split([len(text) for text in texts]), batch_first=True)
        return tokens, tokens > 0

    def endings(self, rows: datasets.Dataset, cut: int) -> tuple[Tensor, Tensor, Tensor]:
        """The last ``cut`` words of every row: ids and mask ``(rows, longest)``, and labels."""
        return *self.encode([words[-cut:] for words in rows["tokens"]]), torch.tensor(rows["label"])


def load_words(
    rows: datasets.Dataset, further: Sequence[str] = (), real: bool = True, seed: int = 0
) -> Words:
    """The frequent words of some rows, and ``further`` ones, with GloVe vectors of 50 numbers.

    Words without a vector get a random one. Unless ``real``, all are random and nothing is read
    from elsewhere: for quick checks, in which pictures mean nothing.
    """
    frequent = Vocabulary.build(rows, MOST_WORDS).words
    vocabulary = Vocabulary(tuple(dict.fromkeys([*frequent, *further])))
    if real:
        return Words(vocabulary, load_vectors(VECTORS).embedding_for(vocabulary, seed)[0])
    source = torch.Generator().manual_seed(seed)
    return Words(vocabulary, 0.4 * torch.randn(len(vocabulary), WIDTH, generator=source))


class Pooled(NamedTuple):
    """``logits`` ``(batch, 2)``, and the ``share`` of each word in what is pooled ``(batch,
    length)``."""

    logits: Tensor
    share: Tensor


class PoolingReader(nn.Module):
    """Frozen word vectors → weights → their weighted mean → a linear layer.

    ``form`` says whether a "context vector" gives the weights, or the "plain mean" has equal ones.
    ``pool`` of states, mask and context (lesson 02, exercise 2) gives the weights in our place.
    """

    def __init__(self, form: str, embedding: Tensor, pool: Pool | None = None) -> None:
        super().__init__()
        self.pool = pool
        self.pooling = AttentionPooling(WIDTH, WIDTH) if form == CONTEXT else None
        self.classify = nn.Linear(WIDTH, 2)
        self.register_buffer("embedding", embedding, persistent=False)

    def forward(self, tokens: Tensor, mask: Tensor) -> Pooled:
        """Ids and mask ``(batch, length)`` → logits and what was attended to."""
        x = self.embedding[tokens]  # (batch, length, 50)
        if self.pooling and self.pool:
            share = self.pool(self.pooling.projection(x), mask, self.pooling.contexts[0])[1]
        elif self.pooling:
            share = self.pooling(x, mask)[1].squeeze(1)  # (batch, length)
        else:
            share = masked_softmax(torch.zeros(mask.shape), mask)
        return Pooled(self.classify((share.unsqueeze(1) @ x).squeeze(1)), share)


def learn(
    form: str,
    words: Words,
    train: tuple[Tensor, Tensor, Tensor],
    epochs: int,
    seed: int,
    pool: Pool | None = None,
) -> PoolingReader:
    """A trained reader of that form, "plain mean" or "context vector".

    The plain mean has no attention to learn and is a convex problem: L-BFGS solves it to the end,
    so that no other form beats it by being trained for longer.
    """
    torch.manual_seed(seed)
    reader = PoolingReader(form, words.embedding, pool)
    if form == PLAIN:
        return _solved(reader, train)
    optimiser = torch.optim.Adam(reader.parameters(), 0.005)
    for _ in range(epochs):
        for batch in torch.randperm(len(train[0])).split(64):
            tokens, mask, labels = (part[batch] for part in train)
            loss = cross_entropy(reader(tokens, mask).logits, labels)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return reader.eval()


def _solved(reader: PoolingReader, train: tuple[Tensor, Tensor, Tensor]) -> PoolingReader:
    tokens, mask, labels = train
    x = [
        reader.embedding[part] * real.unsqueeze(2)
        for part, real in zip(tokens.split(500), mask.split(500))
    ]
    sums = torch.cat([part.sum(1) for part in x])  # (documents, 50)
    means = sums / mask.sum(1, keepdim=True).clamp(min=1)
    optimiser = torch.optim.LBFGS(reader.classify.parameters(), max_iter=200)

    def loss() -> Tensor:
        optimiser.zero_grad()
        value = cross_entropy(reader.classify(means), labels)
        value.backward()
        return value

    optimiser.step(loss)
    return reader.eval()


@torch.no_grad()
def right(reader: nn.Module, part: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """Whether the larger logit of each document is its label's, bool ``(documents,)``."""
    tokens, mask, labels = part
    return reader(tokens, mask).logits.argmax(1) == labels


@torch.no_grad()
def effect_of_each_word(reader: nn.Module, tokens: Tensor) -> Tensor:
    """How far P(positive) moves when each word is masked, ``(words,)``: ``tokens`` are the ids of
    one text, all of them real."""
    words = len(tokens)
    others = ~torch.eye(words, dtype=torch.bool)  # row i lacks word i
    every = torch.ones(1, words, dtype=torch.bool)
    before = reader(tokens[None], every).logits.softmax(1)
    after = reader(tokens.expand(words, -1), others).logits.softmax(1)
    return (after - before)[:, 1].abs()


class Judged(NamedTuple):
    """``logits`` ``(batch, 2)``, under the name by which the training loop asks for them."""

    logits: Tensor


class GatedReader(nn.Module):
    """Reads word after word with one GRU cell, and judges by its last state.

    ``reset_after`` chooses ``nn.GRU``'s cell; the IMDb report's resets before the product.
    """

    def __init__(self, words: Words, reset_after: bool = False, hidden: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(words.embedding, freeze=True)
        self.cell = GRUCell(words.embedding.shape[1], hidden, reset_after)
        self.classifier = nn.Linear(hidden, 2)

    def states(self, tokens: Tensor) -> Tensor:
        """Ids ``(batch, words)`` → states ``(batch, words + 1, hidden)``, a zero state first."""
        x = self.embedding(tokens)
        states = [x.new_zeros(len(x), self.classifier.in_features)]
        for word in x.unbind(1):
            states.append(self.cell(word, states[-1]))
        return torch.stack(states, 1)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Judged:
        """Ids ``(batch, words)``, all of them real; ``mask`` is what the loop hands over."""
        return Judged(self.classifier(self.states(tokens)[:, -1]))

    def gates(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Reset and update gates r and z of every word, each ``(batch, words, hidden)``."""
        states = self.states(tokens)
        from_x = self.cell.u(self.embedding(tokens)).chunk(3, dim=-1)
        from_h = self.cell.w(states[:, :-1]).chunk(3, dim=-1)
        r, z = (torch.sigmoid(x + h) for x, h in zip(from_x[:2], from_h[:2]))
        return r, z

    def positive(self, tokens: Tensor) -> Tensor:
        """P(positive) of each row, ``(batch,)``."""
        return self(tokens).logits.softmax(1)[:, 1]

    def other_reset(self) -> "GatedReader":
        """The same weights in a cell that resets after the product; its extra bias is zero."""
        words = Words(Vocabulary(()), self.embedding.weight)
        other = GatedReader(words, True, self.classifier.in_features)
        other.load_state_dict(self.state_dict(), strict=False)
        nn.init.zeros_(other.cell.w.bias)
        return other.eval()


def same_length(rows: datasets.Dataset, vocabulary: Vocabulary, length: int) -> Documents:
    """The last words of each row that has ``length`` of them: documents without padding."""
    whole = encode_documents(rows, vocabulary)
    ends = whole.sentence_starts[whole.document_starts[1:]]
    kept = whole.lengths >= length
    ids = whole.words[ends[kept, None] - np.arange(length, 0, -1)]  # (documents, length)
    starts = np.arange(len(ids) + 1)
    return Documents(ids.ravel(), starts * length, starts, whole.labels[kept], flat=True)


@torch.no_grad()
def deletion_effects(
    reader: nn.Module, tokens: Tensor, mask: Tensor, seed: int
) -> tuple[list[bool], dict[str, list[float]]]:
    """For each text of at least three words: whether the most attended word is the one whose
    deletion moves P(positive) most, and how far that of the most attended, a random and the most
    effective word moves it."""
    random = torch.Generator().manual_seed(seed)
    hits: list[bool] = []
    moved: dict[str, list[float]] = {"most attended": [], "random": [], "most effective": []}
    for row, kept in zip(tokens, mask, strict=True):
        text = row[kept]
        if len(text) < 3:
            continue
        effect = effect_of_each_word(reader, text)
        top = int(reader(text[None], kept[kept][None]).share[0].argmax())
        chosen = int(torch.randint(len(text), (), generator=random))
        best = int(effect.argmax())
        hits.append(top == best)
        for name, place in zip(moved, (top, chosen, best), strict=True):
            moved[name].append(effect[place].item())
    return hits, moved
