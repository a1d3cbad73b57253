"""Attention-gated transformation network (Guo 2017): each layer selects words, a gate composes.

Word vectors → one shared projection B → every layer's own attention over B → a highway stack whose
gates and candidates are fed by what the layers selected → two-layer classifier. Comments in
the code number the equations as here:

(1) B_n = tanh(W x_n + b)                      (4) y_0 = s_0
(2) m_{l,n} = w_l · tanh(W_l B_n)              (5) T_l = σ(W^t_l s_l + b^t_l)
    d_l = softmax_n(m_l) over real words       (6) y_l = f(W^f_l [y_{l−1}; s_l]) ∘ T_l
(3) s_l = Σ_n d_{l,n} B_n                                + y_{l−1} ∘ (1 − T_l)

A word's score in (2) depends on its vector alone, so the model cannot see the order of the words.
``AGT`` is the paper's network, ``AblatedAGT`` lacks some of its attentions or gates. Example::

    model = AGT(AGTConfig.paper(), vocabulary=10_000, classes=5)
    output = model(tokens, mask)  # (batch, length): ids, and True = real
    output.logits, output.attention, output.gates
"""

import math
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from course_lib import checking
from course_lib.models.layers import Dropout, masked_softmax, renormalised, word_embedding


class AttentionStack(nn.Module):
    """Every layer's additive attention over the same vectors; none of them depends on y."""

    def __init__(self, layers: int, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(layers, hidden, hidden))  # W_l
        self.vector = nn.Parameter(torch.randn(layers, hidden) / hidden**0.5)  # w_l
        for matrix in self.weight:
            nn.init.xavier_uniform_(matrix)

    def scores(self, b: Tensor) -> Tensor:
        """m: word vectors ``(batch, length, hidden)`` → ``(batch, layers, length)``."""
        layers = zip(self.weight, self.vector, strict=True)
        scores = [torch.tanh(linear(b, matrix)) @ vector for matrix, vector in layers]  # (2)
        return torch.stack(scores, 1)


class GatedStack(nn.Module):
    """The highway layers l = 1, 2, …, each of which receives its layer's selection s_l."""

    def __init__(self, layers: int, hidden: int, gate_bias: float) -> None:
        super().__init__()
        self.add_gates(layers, hidden, gate_bias)
        self.selected = nn.Parameter(torch.empty(layers, hidden, hidden))  # W^f_l, its half for s_l
        for gate, *halves in zip(self.gate, self.carried, self.selected, strict=True):
            draw_layer(gate, halves)

    def add_gates(self, layers: int, hidden: int, gate_bias: float) -> None:
        """Make the weights that every layer has, still without values."""
        self.gate = nn.Parameter(torch.empty(layers, hidden, hidden))  # W^t_l
        self.gate_bias = nn.Parameter(torch.full((layers, hidden), float(gate_bias)))  # b^t_l
        self.carried = nn.Parameter(torch.empty(layers, hidden, hidden))  # W^f_l, its half for y

    def forward(self, y: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        """``y`` = s_0 ``(batch, hidden)`` and ``s`` = s_1, s_2, … ``(batch, layers, hidden)``
        → the last y ``(batch, hidden)`` and all gates ``(batch, layers, hidden)``."""
        gates = []
        layers = self.gate, self.gate_bias, self.carried, self.selected, s.unbind(1)
        for w_t, b_t, w_y, w_s, s_l in zip(*layers, strict=True):
            gate = torch.sigmoid(linear(s_l, w_t, b_t))  # (5)
            f = torch.tanh(linear(y, w_y) + linear(s_l, w_s))  # f(W^f_l [y; s_l])
            y = f * gate + y * (1 - gate)  # (6)
            gates.append(gate)
        return y, torch.stack(gates, 1)


def draw_layer(gate: Tensor, halves: list[Tensor]) -> None:
    """Draw W^t_l and the halves of W^f_l by Xavier's rule, the halves as one matrix."""
    nn.init.xavier_uniform_(gate)
    limit = (6 / (len(gate) * (len(halves) + 1))) ** 0.5
    for half in halves:
        nn.init.uniform_(half, -limit, limit)


class AGT(nn.Module):
    """Each layer attends to the words anew; gates combine what the layers selected."""

    def __init__(
        self, config: "AGTConfig", vocabulary: int, classes: int, embedding: Tensor | None = None
    ) -> None:
        """``embedding`` ``(vocabulary, any width)`` are pre-trained word vectors. ``ValueError``
        for a config that only an ``AblatedAGT`` takes."""
        if config.ablated:
            raise ValueError("config lacks attentions or gates: pass it to AblatedAGT")
        super().__init__()
        self.config = config
        self.add_words(vocabulary, embedding)
        self.attention = AttentionStack(config.layers, config.hidden)
        self.stack = GatedStack(config.layers - 1, config.hidden, config.gate_bias)
        self.add_classifier(classes)

    def add_words(self, vocabulary: int, embedding: Tensor | None) -> None:
        """The word vectors, and the projection of (1)."""
        config = self.config
        self.embedding = word_embedding(vocabulary, config.embedding, embedding, config.sparse)
        self.embedding.weight.requires_grad_(not config.frozen)
        self.projection = nn.Linear(self.embedding.embedding_dim, config.hidden)

    def add_classifier(self, classes: int) -> None:
        """A hidden layer and the output, with dropout before both, as before the projection."""
        self.word_dropout, dropout = Dropout(self.config.dropout), Dropout(self.config.dropout)
        hidden = self.config.hidden
        self.classifier = nn.Sequential(
            dropout, nn.Linear(hidden, hidden), nn.ReLU(), dropout, nn.Linear(hidden, classes)
        )

    def forward(self, tokens: Tensor, mask: Tensor, attention: Tensor | None = None) -> "AGTOutput":
        """Token ids and mask ``(batch, length)``. A document without words gets zero attention and
        the logits of a zero vector.

        ``attention`` ``(batch, selecting layers, length)`` replaces the learned one; it is
        ``renormalised`` first. ``ValueError`` for another shape.
        """
        b = self.project(tokens, mask)  # (1) (batch, length, hidden)
        real = mask.unsqueeze(1).expand(-1, self.config.selecting, -1)
        d = self.attend(b, real) if attention is None else renormalised(attention, real)  # (2)
        s = d.to(b.dtype) @ b  # (3) (batch, selecting, hidden)
        y, gates = self.compose(s)  # (4), (5), (6)
        return AGTOutput(self.classifier(y), d, gates)

    def project(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """B of (1), ``(batch, length, hidden)``.

        ``mask`` is unused here; variants that read neighbouring words need it
        (``notebooks/experiments/extensions.ipynb``).
        """
        return torch.tanh(self.projection(self.word_dropout(self.embedding(tokens))))

    def attend(self, b: Tensor, real: Tensor) -> Tensor:
        """d of (2): B and the real words ``(batch, layers, length)`` → weights of that shape."""
        return masked_softmax(self.attention.scores(b), real)

    def compose(self, s: Tensor) -> tuple[Tensor, Tensor]:
        """All s ``(batch, selecting layers, hidden)`` → the last y and the gates."""
        return self.stack(s[:, 0], s[:, 1:])  # (4) y_0 = s_0


class AGTOutput(NamedTuple):
    """``logits`` ``(batch, classes)``; ``attention`` ``(batch, selecting layers, length)``, each
    row sums to 1 over real words; ``gates`` ``(batch, layers − 1, hidden)``, each T_l in (0, 1):
    1 takes the layer's new value, 0 keeps the old one."""

    logits: Tensor
    attention: Tensor
    gates: Tensor


class AblatedStack(GatedStack):
    """Only the first layers receive selections; those above them are plain highway layers, with y
    in place of s_l and of [y; s_l]."""

    def __init__(self, layers: int, selecting: int, hidden: int, gate_bias: float) -> None:
        """The first ``selecting`` of the ``layers`` receive a selection."""
        nn.Module.__init__(self)  # GatedStack's own would draw a half for s_l in every layer
        self.add_gates(layers, hidden, gate_bias)
        selected = nn.Parameter(torch.empty(selecting, hidden, hidden))
        self.selected = selected if selecting else None  # None: no layer receives a selection
        for layer, gate in enumerate(self.gate):
            halves = [self.carried[layer]]
            if layer < selecting:
                halves.append(self.selected[layer])
            draw_layer(gate, halves)

    def forward(self, y: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        """As ``GatedStack``, with ``s`` ``(batch, selecting, hidden)``."""
        gates = []
        selected = () if self.selected is None else self.selected
        # zip_longest fills with None where a layer receives no selection
        layers = zip_longest(self.gate, self.gate_bias, self.carried, selected, s.unbind(1))
        for w_t, b_t, w_y, w_s, s_l in layers:
            gate = torch.sigmoid(linear(y if s_l is None else s_l, w_t, b_t))  # (5)
            f = linear(y, w_y) if s_l is None else linear(y, w_y) + linear(s_l, w_s)
            y = torch.tanh(f) * gate + y * (1 - gate)  # (6)
            gates.append(gate)
        return y, torch.stack(gates, 1)


class AblatedAGT(AGT):
    """The paper's ablations: attention in the first ``selection_layers`` alone, a single layer, or
    ``attention=False``, the same weight for all words."""

    def __init__(
        self, config: "AGTConfig", vocabulary: int, classes: int, embedding: Tensor | None = None
    ) -> None:
        """As in ``AGT``; the attentions or gates that the config leaves out are None."""
        nn.Module.__init__(self)  # AGT's own would make all attentions and gates
        self.config = config
        self.add_words(vocabulary, embedding)
        self.attention = self.stack = None
        if config.attention:
            self.attention = AttentionStack(config.selecting, config.hidden)
        if config.layers > 1:
            layers, selecting = config.layers - 1, config.selecting - 1  # above that of s_0
            self.stack = AblatedStack(layers, selecting, config.hidden, config.gate_bias)
        self.add_classifier(classes)

    def attend(self, b: Tensor, real: Tensor) -> Tensor:
        """As in ``AGT``."""
        if self.attention is None:
            return renormalised(real.to(b.dtype), real)
        return super().attend(b, real)

    def compose(self, s: Tensor) -> tuple[Tensor, Tensor]:
        """As in ``AGT``; a single layer has no gates."""
        return (s[:, 0], s[:, :0]) if self.stack is None else super().compose(s)


@dataclass(frozen=True)
class AGTConfig:
    """Sizes of an AGT; ``ValueError`` for a value that a field cannot take.

    The layers above those that select words are plain highway layers, with y_{l−1} in place of s_l
    and of [y_{l−1}; s_l]. The paper's ablations could also mean fewer layers; its 15 layers could
    be 15 above s_0. It does not say where dropout acts (here on the words and before both layers of
    the classifier), how wide the classifier is (here ``hidden``), or whether word vectors are
    trained. f in (6) is tanh, its example.
    """

    embedding: int = 300  # the width of vectors that start at random
    hidden: int = 200
    layers: int = 15  # all attentions, that of s_0 included, so there are 14 gates
    selection_layers: int = 0  # only the first so many select words (0: all)
    attention: bool = True  # whether it is learned; False: all words have the same weight
    gate_bias: float = 1.0
    dropout: float = 0.2
    frozen: bool = False  # word vectors are not trained
    sparse: bool = False  # their gradients for the batch's words alone

    def __post_init__(self) -> None:
        checking.check_whole(self, "embedding", "hidden", "layers")
        checking.check_whole(self, "selection_layers", least=0)
        if self.selection_layers > self.layers:
            raise checking.refusal(self, "selection_layers", f"0 (all) to layers = {self.layers}")
        checking.check_number(self, "gate_bias", least=-math.inf)
        checking.check_share(self, "dropout")
        checking.check_flags(self, "attention", "frozen", "sparse")

    @classmethod
    def paper(cls, **changes: Any) -> "AGTConfig":
        """The paper's network."""
        return cls(**changes)

    @property
    def selecting(self) -> int:
        """Number of layers that select words."""
        return self.selection_layers or self.layers

    @property
    def ablated(self) -> bool:
        """Whether some attentions or all gates are missing, as only an ``AblatedAGT`` takes it."""
        return not self.attention or self.layers == 1 or self.selecting < self.layers
