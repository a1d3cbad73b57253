"""A HAN whose word attention knows the other sentences (Remy, Tixier and Vazirgiannis 2019, CAHAN).

HAN reads each sentence alone, so a word that stands in several takes the attention every time.
Here the score of a word also depends on c_i, what the sentences before sentence i said:
u_it = tanh(W h_it + λ_it ∘ (W_c c_i) + b). Read in both directions, each sentence has two vectors,
one in the context of the sentences before it and one in that of those after it.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from course_kit.research.extensions.ordered_agt import presets_for
from course_lib.checking import check_flags, refusal
from course_lib.models.han import HAN, AttentiveEncoder, HANConfig
from course_lib.models.layers import masked_softmax
from course_lib.runs.systems.han_system import HANSystem


@dataclass(frozen=True)
class ContextHANConfig(HANConfig):
    """A HAN's sizes, and the paper's variants.

    ``both`` reads the document backwards, too; ``mean`` takes as context the mean of the other
    sentences' vectors and not their sum; ``gated`` learns λ, which is 1 otherwise. ``ValueError``
    for a wrong value, or for several hops.
    """

    both: bool = True
    mean: bool = True
    gated: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flags(self, "both", "mean", "gated")
        if self.hops != 1 or self.penalty:
            raise refusal(self, "hops", "1, with a penalty of 0: each direction has one hop")


class ContextPooling(nn.Module):
    """Attention pooling of one sentence in the context of others."""

    def __init__(self, hidden: int, attention: int, gated: bool) -> None:
        super().__init__()
        self.projection = nn.Linear(hidden, attention)
        self.of_context = nn.Linear(hidden, attention, bias=False)
        self.gate = nn.Linear(2 * hidden, attention) if gated else None
        self.context = nn.Parameter(torch.randn(attention) / attention**0.5)

    def forward(
        self, h: Tensor, mask: Tensor, c: Tensor, attention: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """``h`` ``(n, words, hidden)`` with its ``mask`` and contexts ``c`` ``(n, hidden)`` →
        sentence vectors ``(n, hidden)`` and attention ``(n, words)``."""
        if attention is None:
            c = c.unsqueeze(1).expand_as(h)
            told = self.of_context(c)  # W_c c_i
            if self.gate is not None:  # λ_it = σ(W_λ [h_it; c_i] + b_λ)
                told = torch.sigmoid(self.gate(torch.cat([h, c], 2))) * told
            u = torch.tanh(self.projection(h) + told)
            attention = masked_softmax(u @ self.context, mask)
        return (attention.to(h.dtype).unsqueeze(1) @ h).squeeze(1), attention


class ContextHAN(HAN):
    """A HAN that reads sentence after sentence, each in the context of those read already."""

    def __init__(self, config: ContextHANConfig, *sizes: Any) -> None:
        """As ``HAN``."""
        super().__init__(config, *sizes)
        width, directions = 2 * config.hidden, 1 + config.both
        self.words.pooling = nn.ModuleList(
            ContextPooling(width, config.attention, config.gated) for _ in range(directions)
        )
        self.sentences = AttentiveEncoder(directions * width, config)

    def encode_sentences(
        self, tokens: Tensor, mask: Tensor, attention: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """As ``HAN``; the attention has a row for each direction, and a given one replaces both."""
        real = mask.any(2)
        document = real.nonzero()[:, 0]  # of each real sentence
        before = (real.cumsum(1) - 1)[real]  # how many real sentences stand before it
        after = real.sum(1)[document] - 1 - before
        words = mask[real]
        h = self.words.gru(self.words.dropout(self.embedding(tokens[real])), words)
        read = [
            self._read(pooling, h, words, document, place, len(mask), attention)
            for pooling, place in zip(self.words.pooling, (before, after), strict=False)
        ]
        vectors, weights = zip(*read, strict=True)
        return torch.cat(vectors, 1), torch.stack(weights, 1)

    def _read(
        self, pooling: nn.Module, h: Tensor, mask: Tensor, document: Tensor, place: Tensor,
        documents: int, attention: Tensor | None,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """Sentence vectors and attention of one direction; ``place`` says when each is read."""
        said = h.new_zeros(documents, h.shape[2])  # Σ of a document's sentence vectors so far
        order, vectors, weights = place.argsort(stable=True), [], []
        for step, rows in enumerate(order.split(place.bincount().tolist())):
            c = said[document[rows]] / (max(step, 1) if self.config.mean else 1)
            given = None if attention is None else attention[rows]
            s, alpha = pooling(h[rows], mask[rows], c, given)
            said = said.index_add(0, document[rows], s.to(said.dtype))
            vectors.append(s)
            weights.append(alpha)
        back = order.argsort()
        if not vectors:  # no document of the batch has a word
            return h.new_zeros(0, h.shape[2]), mask.float()
        return torch.cat(vectors)[back], torch.cat(weights)[back]


class ContextHANSystem(HANSystem):
    """Sentences of words, each read in the context of the others."""

    presets: ClassVar = presets_for(HANSystem, ContextHANConfig, *HANSystem.presets)

    def network(self, embedding: Tensor | None) -> ContextHAN:
        """The untrained network over the vocabulary's words."""
        return ContextHAN(self.settings.model, len(self.vocabulary), len(self.classes), embedding)

    def scorers(self, model: ContextHAN) -> list[nn.Module]:
        """What scores the words in each direction, and the sentences."""
        return [*model.words.pooling, model.sentences.pooling]
