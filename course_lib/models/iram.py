"""Iterative recursive attention model (Tutek and Šnajder 2018).

Words → bidirectional LSTM → T steps, each of which attends to the words and to the summaries of
earlier steps → the last summary → maxout classifier. Comments in the code number the equations as
here; H are the LSTM's states and q^(1) its last cell, t counts the steps:

(1) a = softmax(q W Hᵀ)                        (4) append s to H, q ← GRUCell(s, q)
(2) ŝ = Σ_i a_i h_i                            (5) L_attn = γ / (2T) · Σ_{i≠j} [A Aᵀ]_ij
(3) s = Highway(ŝ)                                 (A has the step's a as its row t)

``IRAM`` is the paper's vanilla network, ``FullIRAM`` adds character n-grams and more
highways. Example::

    model = IRAM(IRAMConfig.vanilla(), vocabulary=10_000, classes=2)
    output = model(tokens, mask)  # (batch, length): ids, and True = real
    output.logits, output.attention, output.penalty
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from course_lib.checking import check_even, check_flags, check_number, check_share, check_whole
from course_lib.models.layers import (
    BilinearAttention,
    Dropout,
    Highway,
    LSTMLayer,
    Maxout,
    renormalised,
    visible,
    word_embedding,
)

CLASSIFIER, POOL = 200, 4  # width of the classifier's layers, maps per maxout: the paper's
NGRAM_WIDTH = 100  # the paper's


class Encoder(nn.Module):
    """LSTM layers: the states come from layer ``context_layers``, the query from the top one."""

    def __init__(self, inputs: int, config: "IRAMConfig") -> None:
        super().__init__()
        widths = [inputs] + [config.hidden] * (config.context_layers + config.query_layers - 1)
        self.layers = nn.ModuleList([LSTMLayer(width, config.hidden) for width in widths])
        self.dropout = Dropout(config.hidden_dropout)
        self.context_layers = config.context_layers

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """As ``LSTMLayer``: the states of layer ``context_layers``, the top one's last state and
        cell."""
        for number, layer in enumerate(self.layers, start=1):
            x, state, cell = layer(x if number == 1 else self.dropout(x), mask)
            if number == self.context_layers:
                h = x
        return h, state, cell


class RecursiveAttention(nn.Module):
    """T steps of attention over the states and the summaries of earlier steps."""

    def __init__(self, hidden: int, steps: int) -> None:
        super().__init__()
        self.steps = steps
        self.attend = BilinearAttention(hidden, hidden)
        self.refine = Highway(hidden)
        self.controller = nn.GRUCell(hidden, hidden) if steps > 1 else None

    def forward(
        self, h: Tensor, q: Tensor, mask: Tensor, attention: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """States ``(n, length, hidden)``, first query ``(n, hidden)``, mask ``(n, length)`` →
        summaries ``(n, steps, hidden)`` and attention ``(n, steps, length + steps − 1)``; a given
        ``attention`` replaces the learned one, ``renormalised`` over what each step can see."""
        if attention is not None:
            attention = renormalised(attention, visible(mask, self.steps))
        real = mask.any(1, keepdim=True)
        rows, summaries = [], []
        for step in range(self.steps):
            if attention is None:
                a = self.attend(q.unsqueeze(1), h, mask).squeeze(1)  # (1)
            else:
                a = attention[:, step, : h.shape[1]]
            s_hat = (a.to(h.dtype).unsqueeze(1) @ h).squeeze(1)  # (2)
            s = self.refine(s_hat)  # (3)
            rows.append(nn.functional.pad(a, (0, self.steps - 1 - step)))  # a row of A
            summaries.append(s)
            if step + 1 < self.steps:
                h = torch.cat([h, s.unsqueeze(1).to(h.dtype)], 1)  # (4) later steps can see s
                mask = torch.cat([mask, real], 1)
                q = self.controller(s, q)  # (4) the next query
        return torch.stack(summaries, 1), torch.stack(rows, 1)


class Classifier(nn.Sequential):
    """Two maxout layers and a linear one."""

    def __init__(self, config: "IRAMConfig", classes: int) -> None:
        super().__init__(
            Dropout(config.hidden_dropout),
            Maxout(config.hidden, CLASSIFIER, POOL),
            Dropout(config.hidden_dropout),
            Maxout(CLASSIFIER, CLASSIFIER, POOL),
            Dropout(config.hidden_dropout),
            nn.Linear(CLASSIFIER, classes),
        )


class IRAM(nn.Module):
    """Reads a text, then attends to it in several steps, which can use earlier summaries."""

    def __init__(
        self,
        config: "IRAMConfig",
        vocabulary: int,
        classes: int,
        embedding: Tensor | None = None,
    ) -> None:
        """``embedding`` ``(vocabulary, any width)`` are pre-trained word vectors. ``ValueError``
        for a config with parts that only a ``FullIRAM`` has."""
        if config.has_extras:
            raise ValueError("config has n-grams, input or query highways: pass it to FullIRAM")
        super().__init__()
        self.config = config
        width = config.embedding if embedding is None else embedding.shape[-1]
        self.add_reader(width, classes)
        self.add_words(vocabulary, width, embedding)

    def add_reader(self, inputs: int, classes: int) -> None:
        """The LSTM over words of so many numbers, the steps of attention and the classifier."""
        config = self.config
        self.dropout = Dropout(config.dropout)
        self.encoder = Encoder(inputs, config)
        self.refine_query = Highway(config.hidden) if config.query_highway else nn.Identity()
        # the module, not the number T as in the config: recorded weights have this name
        self.steps = RecursiveAttention(config.hidden, config.steps) if config.steps else None
        self.classifier = Classifier(config, classes)

    def add_words(self, vocabulary: int, width: int, embedding: Tensor | None) -> None:
        """The word vectors, which are not drawn as Gaussians like everything before them."""
        if self.config.initial_std:
            start_as_gaussians(self, self.config.initial_std)
        self.embedding = word_embedding(vocabulary, width, embedding)
        self.embedding.weight.requires_grad_(not self.config.frozen)

    def forward(
        self, tokens: Tensor, mask: Tensor, attention: Tensor | None = None
    ) -> "IRAMOutput":
        """Token ids and mask ``(batch, length)``, real words first; ``attention``
        ``(batch, steps, length + steps − 1)`` replaces the learned one, ``renormalised``
        over what each step can see.

        A document without words attends to nothing; its summaries are those of a zero vector.
        ``ValueError`` for an attention of another shape, or given to a baseline.
        """
        if self.steps is None and attention is not None:
            raise ValueError("an IRAM with steps=0 has no attention to replace")
        h, state, cell = self.encoder(self.dropout(self.embed(tokens)), mask)
        if self.steps is None:  # the baseline
            return IRAMOutput(self.classifier(state), None, mask.new_zeros(len(mask)).float(), None)
        s, a = self.steps(h, self.refine_query(cell), mask, attention)  # (1) to (4)
        gamma = self.config.penalty
        return IRAMOutput(self.classifier(s[:, -1]), a, gamma * step_penalty(a), s)  # (5)

    def embed(self, tokens: Tensor) -> Tensor:
        """Ids ``(batch, length)`` → what the LSTM reads, ``(batch, length, inputs)``."""
        return self.embedding(tokens)


class IRAMOutput(NamedTuple):
    """``logits`` ``(batch, classes)``; ``attention`` ``(batch, steps, length + steps − 1)``: first
    the words, then the summaries; each row sums to 1 over what its step can see; ``penalty``
    ``(batch,)``, L_attn of (5) with its γ, whose mean is added to the loss; ``summaries``
    ``(batch, steps, hidden)``. A baseline has None for attention and summaries."""

    logits: Tensor
    attention: Tensor | None
    penalty: Tensor
    summaries: Tensor | None


def step_penalty(attention: Tensor) -> Tensor:
    """Compute the overlap that γ scales in (5), 1/(2T) Σ_{i≠j} [A Aᵀ]_ij, of each document.

    ``attention`` ``(n, T, columns)`` → ``(n,)``, at most (T − 1)/2.
    """
    overlap = attention @ attention.transpose(1, 2)  # (n, T, T)
    same = overlap.diagonal(dim1=1, dim2=2).sum(1)
    return (overlap.sum((1, 2)) - same) / (2 * attention.shape[1])


def start_as_gaussians(model: nn.Module, std: float) -> None:
    """Draw weights from N(0, std²); set biases to 0, those of highway and forget gates to 1."""
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, 0.0, std)
        else:
            nn.init.zeros_(parameter)
    for module in model.modules():
        if isinstance(module, (Highway, LSTMLayer)):
            module.reset_biases()


class FullIRAM(IRAM):
    """The paper's full network, or one with some of its parts: a word is its vector and the mean of
    its character n-grams' vectors, refined by highways; another highway makes the first query."""

    def __init__(
        self,
        config: "IRAMConfig",
        vocabulary: int,
        classes: int,
        embedding: Tensor | None = None,
        ngrams: Tensor | None = None,
    ) -> None:
        """``ngrams`` ``(vocabulary, most)`` lists each word's n-grams as ids from 1 to
        ``config.ngrams``, then 0. ``ValueError`` if the config has n-grams and these are missing or
        of another vocabulary."""
        nn.Module.__init__(self)  # IRAM's own refuses these parts
        self.config = config
        width = inputs = config.embedding if embedding is None else embedding.shape[-1]
        self.ngrams = None
        if config.ngrams:
            if ngrams is None or len(ngrams) != vocabulary:
                raise ValueError(f"config has n-grams: pass those of all {vocabulary} words")
            self.register_buffer("ngrams_of_word", ngrams)
            self.ngrams = nn.EmbeddingBag(
                config.ngrams + 1, NGRAM_WIDTH, mode="mean", padding_idx=0
            )
            inputs += NGRAM_WIDTH
        self.highway = Highway(inputs, config.embedding_highway)
        self.add_reader(inputs, classes)
        self.add_words(vocabulary, width, embedding)

    def embed(self, tokens: Tensor) -> Tensor:
        """As in ``IRAM``, of words and their n-grams."""
        x = self.embedding(tokens)
        if self.ngrams is not None:
            words, place = tokens.unique(return_inverse=True)  # each word's mean once
            x = torch.cat([x, self.ngrams(self.ngrams_of_word[words])[place]], -1)
        return self.highway(x)


@dataclass(frozen=True)
class IRAMConfig:
    """Sizes and parts of an IRAM, by default the vanilla one; ``ValueError`` for a wrong value."""

    embedding: int = 50  # the width of vectors that start at random
    hidden: int = 200  # the size of a state h_i = [→h_i; ←h_i], of a summary and of a query
    steps: int = 3  # their number T; 0 is the baseline, which classifies the LSTM's last state
    penalty: float = 0.0003  # γ of (5), which scales the overlap of the steps in the loss
    context_layers: int = 1  # the LSTM layer that the states come from
    query_layers: int = 0  # the first query is the last cell state so many layers above
    query_highway: bool = False  # whether that query passes through a highway
    ngrams: int = 0  # vectors that character n-grams share (0: none); their mean joins the word's
    embedding_highway: int = 0  # layers of a highway that refines both
    dropout: float = 0.1  # of that input
    hidden_dropout: float = 0.1  # between LSTM layers and before each layer of the classifier
    initial_std: float = 0.01  # of the weights' Gaussians; 0: each layer's usual initialisation
    frozen: bool = True  # word vectors are not trained

    def __post_init__(self) -> None:
        check_whole(self, "embedding", "hidden", "context_layers")
        check_whole(self, "steps", "query_layers", "ngrams", "embedding_highway", least=0)
        check_even(self, "hidden")
        check_number(self, "penalty", "initial_std")
        check_share(self, "dropout", "hidden_dropout")
        check_flags(self, "query_highway", "frozen")

    @property
    def has_extras(self) -> bool:
        """Whether n-grams or highways of inputs or query are on, which only a ``FullIRAM`` has."""
        return bool(self.ngrams or self.embedding_highway or self.query_highway)

    @classmethod
    def vanilla(cls, **changes: Any) -> "IRAMConfig":
        """The paper's vanilla model with a smaller LSTM; theirs has 400, 500 or 1,000 numbers."""
        return cls(**changes)

    @classmethod
    def full(cls, **changes: Any) -> "IRAMConfig":
        """The paper's full model; LSTM size and number of n-gram vectors are our choice."""
        parts = {"context_layers": 2, "query_layers": 1, "query_highway": True}
        inputs = {"ngrams": 8192, "embedding_highway": 2}
        return cls(**parts | inputs | changes)
