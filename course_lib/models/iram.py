"""Iterative recursive attention model (Tutek and Šnajder 2018).

Words → bidirectional LSTM → T steps, each of which attends to the words and to what the steps
before it found → the last finding → maxout classifier.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_lib.layers import BilinearAttention, Dropout, Highway, Maxout, word_embedding

NGRAM_WIDTH = 100  # the paper's
CLASSIFIER, POOL = 200, 4  # the classifier's two layers, also the paper's


@dataclass(frozen=True)
class IRAMConfig:
    """Sizes and parts of an IRAM; the defaults are its vanilla form.

    ``hidden`` is the size of a state h_i = [→h_i; ←h_i], of a summary and of a query. ``steps`` 0
    is the baseline: the LSTM's last state alone is classified. ``penalty`` is γ. States come from
    LSTM layer ``context_layers``, the first query from the last cell state ``query_layers`` above
    it, through a highway if ``query_highway``. ``ngrams`` rows (0: none) hold learned vectors of
    character n-grams, whose mean stands beside each word's vector; ``embedding_highway`` layers
    refine both. ``dropout`` acts on that input, ``hidden_dropout`` between LSTM layers and before
    each layer of the classifier. Weights start as Gaussians of deviation ``initial_std``; 0 leaves
    each layer its usual start. ``trainable`` says whether the word vectors learn.
    """

    vocabulary: int
    classes: int = 2
    embedding: int = 50
    hidden: int = 200
    steps: int = 3
    penalty: float = 0.0003
    context_layers: int = 1
    query_layers: int = 0
    query_highway: bool = False
    ngrams: int = 0
    embedding_highway: int = 0
    dropout: float = 0.1
    hidden_dropout: float = 0.1
    initial_std: float = 0.01
    trainable: bool = False

    @classmethod
    def vanilla(cls, vocabulary: int, **overrides: object) -> "IRAMConfig":
        """Word vectors, one LSTM layer, three steps."""
        return cls(vocabulary, **overrides)

    @classmethod
    def full(cls, vocabulary: int, **overrides: object) -> "IRAMConfig":
        """Also character n-grams, highways on the input and on the first query, deeper LSTMs."""
        parts = {
            "ngrams": 8192,
            "embedding_highway": 2,
            "context_layers": 2,
            "query_layers": 1,
            "query_highway": True,
        }
        return cls(vocabulary, **(parts | overrides))

    @classmethod
    def baseline(cls, vocabulary: int, **overrides: object) -> "IRAMConfig":
        """A bidirectional LSTM and the same classifier, without any attention."""
        return cls(vocabulary, **({"steps": 0, "penalty": 0.0} | overrides))


class IRAMOutput(NamedTuple):
    """``logits`` ``(batch, classes)``; ``attention`` ``(batch, steps, length + steps − 1)``: first
    the words, then the summaries, each row sums to 1 over those that exist; ``penalty``, a scalar
    to add to the loss; ``summaries`` ``(batch, steps, hidden)``. A baseline has neither attention
    nor summaries: None."""

    logits: Tensor
    attention: Tensor | None
    penalty: Tensor
    summaries: Tensor | None


class Encoder(nn.Module):
    """Layers of a bidirectional LSTM over packed sequences: padding can neither enter nor change.

    A word of a document without any is read in its stead, so that it has states like the others.
    """

    def __init__(self, inputs: int, hidden: int, layers: int, dropout: float) -> None:
        super().__init__()
        if hidden % 2:
            raise ValueError(f"hidden is shared by two directions: an even number, not {hidden}")
        between = dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(
            inputs, hidden // 2, layers, batch_first=True, dropout=between, bidirectional=True
        )
        with torch.no_grad():
            for name, bias in self.lstm.named_parameters():
                if "bias" in name:
                    bias.zero_()
                if "bias_ih" in name:  # the other of the two biases that are added stays 0
                    bias[hidden // 2 : hidden] = 1  # PyTorch's order of gates: i, f, g, o

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """``x`` ``(n, length, inputs)``, ``mask`` ``(n, length)`` with the real entries first →
        states ``(n, length, hidden)``, and the last state and cell, ``(n, hidden)``: the forward
        direction's at the last word, the backward one's at the first."""
        lengths = mask.sum(1).clamp(min=1).cpu()
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        states, last = self.lstm(packed)
        h, _ = pad_packed_sequence(states, batch_first=True, total_length=mask.shape[1])
        state, cell = (torch.cat([part[-2], part[-1]], 1) for part in last)
        return h, state, cell


class Classifier(nn.Sequential):
    """Two maxout layers and a linear one."""

    def __init__(self, config: IRAMConfig) -> None:
        super().__init__(
            Dropout(config.hidden_dropout),
            Maxout(config.hidden, CLASSIFIER, POOL),
            Dropout(config.hidden_dropout),
            Maxout(CLASSIFIER, CLASSIFIER, POOL),
            Dropout(config.hidden_dropout),
            nn.Linear(CLASSIFIER, config.classes),
        )


class RecursiveAttention(nn.Module):
    """T steps over the states; each step's summary joins what the next ones can attend to."""

    def __init__(self, hidden: int, steps: int) -> None:
        super().__init__()
        self.steps = steps
        self.attend = BilinearAttention(hidden, hidden)
        self.refine = Highway(hidden)
        self.controller = nn.GRUCell(hidden, hidden) if steps > 1 else None

    def forward(self, h: Tensor, q: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """States ``(n, length, hidden)``, first query ``(n, hidden)``, mask ``(n, length)`` →
        summaries ``(n, steps, hidden)`` and attention ``(n, steps, length + steps − 1)``."""
        real = mask.any(1, keepdim=True)
        rows, summaries = [], []
        for step in range(self.steps):
            a = self.attend(q.unsqueeze(1), h, mask).squeeze(1)  # Eq. 1: softmax(q W H)
            found = (a.to(h.dtype).unsqueeze(1) @ h).squeeze(1)  # Eq. 2: ŝ = Σ a_i h_i
            s = self.refine(found)  # s = Highway(ŝ)
            rows.append(nn.functional.pad(a, (0, self.steps - 1 - step)))  # Eq. 4: a row of A
            summaries.append(s)
            if step + 1 < self.steps:
                h = torch.cat([h, s.unsqueeze(1).to(h.dtype)], 1)
                mask = torch.cat([mask, real], 1)
                q = self.controller(s, q)  # q ← GRUCell(s, q)
        return torch.stack(summaries, 1), torch.stack(rows, 1)


def step_penalty(attention: Tensor) -> Tensor:
    """1/(2T) Σ_{i≠j} [A Aᵀ]_ij: how much the steps of each document attend to the same.

    ``attention`` ``(n, T, columns)`` → ``(n,)``, at most (T − 1)/2; IRAM's penalty without its γ.
    """
    overlap = attention @ attention.transpose(1, 2)  # (n, T, T)
    same = overlap.diagonal(dim1=1, dim2=2).sum(1)
    return (overlap.sum((1, 2)) - same) / (2 * attention.shape[1])


class IRAM(nn.Module):
    """Reads a text, then looks at it several times, each time knowing what it has found so far."""

    def __init__(
        self, config: IRAMConfig, embedding: Tensor | None = None, ngrams: Tensor | None = None
    ) -> None:
        """``ngrams`` ``(vocabulary, most)``: rows from 1 of each word's n-grams, 0 for none."""
        super().__init__()
        self.config = config
        inputs = config.embedding + (NGRAM_WIDTH if config.ngrams else 0)
        self.ngrams = None
        if config.ngrams:
            if ngrams is None or len(ngrams) != config.vocabulary:
                raise ValueError(f"config has n-grams: pass those of all {config.vocabulary} words")
            self.register_buffer("ngrams_of_word", ngrams)
            self.ngrams = nn.EmbeddingBag(
                config.ngrams + 1, NGRAM_WIDTH, mode="mean", padding_idx=0
            )
        self.highway = Highway(inputs, config.embedding_highway)
        self.dropout = Dropout(config.dropout)
        self.context = Encoder(inputs, config.hidden, config.context_layers, config.hidden_dropout)
        self.query = None
        if config.query_layers:
            self.query = Encoder(
                config.hidden, config.hidden, config.query_layers, config.hidden_dropout
            )
        self.refine_query = Highway(config.hidden, int(config.query_highway))
        self.steps = RecursiveAttention(config.hidden, config.steps) if config.steps else None
        self.classifier = Classifier(config)
        if config.initial_std:
            for parameter in self.parameters():
                if parameter.dim() > 1:
                    nn.init.normal_(parameter, 0.0, config.initial_std)
        self.embedding = word_embedding(config.vocabulary, config.embedding, embedding)
        self.embedding.weight.requires_grad_(config.trainable)

    def forward(self, tokens: Tensor, mask: Tensor) -> IRAMOutput:
        """Token ids and mask ``(batch, length)``, real words first.

        A document without words attends to nothing; its summaries are those of a zero vector.
        """
        h, state, cell = self.context(self.dropout(self.embed(tokens)), mask)
        if self.query is not None:
            _, state, cell = self.query(h, mask)
        if self.steps is None:
            logits = self.classifier(state)
            return IRAMOutput(logits, None, logits.new_zeros(()), None)
        s, attention = self.steps(h, self.refine_query(cell), mask)
        penalty = self.config.penalty * step_penalty(attention).mean()  # L_attn
        return IRAMOutput(self.classifier(s[:, -1]), attention, penalty, s)

    def embed(self, tokens: Tensor) -> Tensor:
        """Ids ``(batch, length)`` → what the LSTM reads, ``(batch, length, inputs)``."""
        x = self.embedding(tokens)
        if self.ngrams is not None:
            words, place = tokens.unique(return_inverse=True)
            x = torch.cat([x, self.ngrams(self.ngrams_of_word[words])[place]], -1)
        return self.highway(x)
