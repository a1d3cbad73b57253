"""The bug museum: wrong implementations that people published, and what gives each away.

All of them train. Each specimen is the library's HAN with one line as it was found in public code
(the last but one is a plainer network); ``diagnose`` runs the invariants over it, or over any other
model, and says which do not hold.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_kit.exercises import probes
from course_lib.metrics import invariants
from course_lib.metrics.invariants import InvariantError, Model
from course_lib.models.gru import BidirectionalGRU
from course_lib.models.han import HAN, HANConfig, HANOutput
from course_lib.models.layers import AttentionPooling, masked_softmax, word_embedding

Build = Callable[..., nn.Module]
VOCABULARY = 50  # words of the museum's small networks


class Pooling(AttentionPooling):
    """The library's attention pooling in three steps, of which a specimen gets one wrong."""

    def forward(
        self, h: Tensor, mask: Tensor, attention: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """As ``AttentionPooling.forward``, for one hop."""
        u = torch.tanh(self.projection(h))
        alpha = self.weigh(self.score(u), mask) if attention is None else attention
        return self.pool(alpha, h, u), alpha.unsqueeze(1)

    def score(self, u: Tensor) -> Tensor:
        """``(n, length, attention)`` → ``(n, length)``."""
        return u @ self.contexts[0]

    def weigh(self, scores: Tensor, mask: Tensor) -> Tensor:
        """``(n, length)`` → the same, weights."""
        return masked_softmax(scores, mask)

    def pool(self, alpha: Tensor, h: Tensor, u: Tensor) -> Tensor:
        """Weights and states → ``(n, hidden)``."""
        return (alpha.unsqueeze(1) @ h).squeeze(1)


class AxisOfSizeOne(Pooling):
    """The softmax runs over the axis that the product with the context vector left behind."""

    def weigh(self, scores: Tensor, mask: Tensor) -> Tensor:  # noqa: D102
        return scores.unsqueeze(-1).softmax(-1).squeeze(-1) * mask


class TanhOnTheScore(Pooling):
    """One tanh too many keeps every score within ±1."""

    def score(self, u: Tensor) -> Tensor:  # noqa: D102
        return torch.tanh(super().score(u))


class PlainExponential(Pooling):
    """No maximum is subtracted before exp."""

    def weigh(self, scores: Tensor, mask: Tensor) -> Tensor:  # noqa: D102
        return _normalised(scores.exp(), mask)


class MaximumOfTheBatch(Pooling):
    """The maximum that is subtracted is the batch's, not the row's."""

    def weigh(self, scores: Tensor, mask: Tensor) -> Tensor:  # noqa: D102
        top = scores.max() if len(scores) else 0.0
        return _normalised((scores - top).exp(), mask)


class PoolsTheProjection(Pooling):
    """The weighted mean is of u = tanh(W h + b), which should only decide the weights."""

    def pool(self, alpha: Tensor, h: Tensor, u: Tensor) -> Tensor:  # noqa: D102
        return super().pool(alpha, u, u)


def _normalised(weights: Tensor, mask: Tensor) -> Tensor:
    weights = weights.masked_fill(~mask, 0)
    total = weights.sum(-1, keepdim=True)
    return weights / torch.where(mask.any(-1, keepdim=True), total, 1.0)


class ForwardTwice(BidirectionalGRU):
    """The forward states are concatenated with the forward states."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:  # noqa: D102
        forward = super().forward(x, mask).chunk(2, dim=-1)[0]
        return torch.cat([forward, forward], dim=-1)


class Carrying(BidirectionalGRU):
    """Starts each batch in the states in which the batch before ended."""

    state: Tensor | None = None

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:  # noqa: D102
        if not len(x):
            return super().forward(x, mask)
        lengths = mask.sum(1).clamp(min=1).cpu()
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        start = x.new_zeros(2, len(x), self.gru.hidden_size)
        if self.state is not None:
            rows = min(len(x), self.state.shape[1])
            start[:, :rows] = self.state[:, :rows]
        states, last = self.gru(packed, start)
        self.state = last.detach()
        h, _ = pad_packed_sequence(states, batch_first=True, total_length=mask.shape[1])
        return h * mask.unsqueeze(2)


class SharedIndex(HAN):
    """Padding is a word like any other: it shares its index with unknown ones, and has no mask."""

    def forward(self, tokens: Tensor, mask: Tensor, attention: Any = None) -> HANOutput:  # noqa: D102
        unknown_is_padding = tokens.masked_fill(tokens == 1, 0)
        return super().forward(unknown_is_padding, torch.ones_like(mask), attention)


class Logits(NamedTuple):
    """The output of a model without attention: ``logits`` ``(batch, classes)``."""

    logits: Tensor


class MaxPooling(nn.Module):
    """The whole document through one bidirectional GRU, then a maximum over places, padding
    included."""

    def __init__(self, config: HANConfig, vocabulary: int, classes: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = word_embedding(vocabulary, config.embedding)
        self.gru = BidirectionalGRU(config.embedding, config.hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(2 * config.hidden, classes)

    def forward(self, tokens: Tensor, mask: Tensor) -> Logits:
        """``tokens`` and ``mask`` ``(batch, sentences, words)`` → logits."""
        tokens, mask = tokens.flatten(1), mask.flatten(1)
        order = mask.int().argsort(dim=1, descending=True, stable=True)  # real words to the front
        mask = mask.take_along_dim(order, 1)
        h = self.gru(self.dropout(self.embedding(tokens.take_along_dim(order, 1))), mask)
        return Logits(self.classifier(self.dropout(h.amax(1))))


class Call(NamedTuple):
    """A module's name in its model, the module, and what it was called with."""

    name: str
    module: nn.Module
    inputs: tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Specimen:
    """One implementation: a ``name`` that tells nothing, and what is to be found out.

    ``build(config, vocabulary, classes)`` makes the model; ``wrong`` says which line is wrong,
    ``symptom`` what one sees of it, ``caught_by`` which invariants do not hold (all names in
    ``diagnose``), ``reported`` where such code was publicly reported.
    """

    name: str
    wrong: str
    build: Build
    symptom: str
    caught_by: frozenset[str]
    reported: str


def _han_with(
    pooling: type[AttentionPooling] | None = None, gru: type[BidirectionalGRU] | None = None
) -> Build:
    """A HAN whose ``pooling`` or ``gru`` is of another class, on both floors."""

    def build(config: HANConfig, vocabulary: int, classes: int) -> HAN:
        width = 2 * config.hidden
        if pooling is PoolsTheProjection:  # u takes the place of h
            config = replace(config, attention=width)
        model = HAN(config, vocabulary, classes)
        for floor, inputs in ((model.words, config.embedding), (model.sentences, width)):
            with torch.random.fork_rng(devices=[]):  # training draws what the healthy one's does
                if pooling:
                    sick = pooling(width, config.attention, config.hops)
                    floor.pooling = _with_weights_of(floor.pooling, sick)
                if gru:
                    floor.gru = _with_weights_of(floor.gru, gru(inputs, config.hidden))
        return model

    return build


def _with_weights_of(healthy: nn.Module, sick: nn.Module) -> nn.Module:
    sick.load_state_dict(healthy.state_dict())
    return sick


MUSEUM = (
    Specimen(
        "specimen 1",
        "tanh on the score: α = softmax(tanh(u · c))",
        _han_with(pooling=TanhOnTheScore),
        "scores lie between −1 and 1: no word ever weighs more than e² = 7.4 times another",
        frozenset({"concentration"}),
        "richliao/textClassifier issue 24; vietnh1009/Hierarchical-attention-networks-pytorch "
        "issue 13",
    ),
    Specimen(
        "specimen 2",
        "the hidden state is carried over from batch to batch",
        _han_with(gru=Carrying),
        "the same document gets another prediction the second time it is read",
        frozenset({"padding", "neighbours", "stateless"}),
        "from sentence to sentence, in both directions: "
        "EdGENetworks/attention-networks-for-classification issue 15; no report found for batches",
    ),
    Specimen(
        "specimen 3",
        "softmax over an axis of size 1",
        _han_with(pooling=AxisOfSizeOne),
        "every weight is 1: nothing is weighed, the context vector is never trained, and a long "
        "sentence has a long vector",
        frozenset({"attention", "gradients", "concentration"}),
        "in other attention layers: PetrochukM/PyTorch-NLP issue 2; DEEP-PolyU/KEQA_WSDM19 issue 2",
    ),
    Specimen("specimen 4", "nothing", HAN, "this one is healthy", frozenset(), ""),
    Specimen(
        "specimen 5",
        "padding and unknown words share an index, and there is no mask",
        SharedIndex,
        "padding takes attention, and a prediction depends on the longest neighbour in the batch",
        frozenset({"attention", "padding", "neighbours"}),
        "without a mask: ematvey/hierarchical-attention-networks issue 19",
    ),
    Specimen(
        "specimen 6",
        "exp without subtracting the maximum",
        _han_with(pooling=PlainExponential),
        "nothing, until a score passes 88: then the weights are NaN",
        frozenset({"extremes"}),
        "Hsankesara/DeepResearch issue 8",
    ),
    Specimen(
        "specimen 7",
        "forward states concatenated with forward states",
        _han_with(gru=ForwardTwice),
        "a word knows nothing of those after it, and half of the GRU is never trained",
        frozenset({"gradients", "both directions"}),
        "qtuantruong/hierarchical-attention-networks issue 2",
    ),
    Specimen(
        "specimen 8",
        "the maximum that is subtracted is the whole batch's",
        _han_with(pooling=MaximumOfTheBatch),
        "nothing, until a row's scores lie 100 below another's: then its weights are NaN",
        frozenset({"rows"}),
        "seen in public HAN code; no report found",
    ),
    Specimen(
        "specimen 9",
        "max pooling over padding",
        MaxPooling,
        "padding, a state of zeros, wins wherever all words are negative: a short "
        "document gets a different result beside long ones",
        frozenset({"padding", "neighbours"}),
        "in another text classifier: allenai/allennlp issue 4739",
    ),
    Specimen(
        "specimen 10",
        "pools the projection tanh(W h + b) instead of h",
        _han_with(pooling=PoolsTheProjection),
        "the attention is right, but what is passed on is not what was weighed",
        frozenset({"pooling"}),
        "minqi/hnatt issue 5; ematvey/hierarchical-attention-networks issue 9",
    ),
)
HEALTHY = next(specimen for specimen in MUSEUM if not specimen.caught_by)
HOLDS = {  # what the invariants of ``diagnose`` say, in the order of a table
    "stateless": "asked twice, the network gives the same answer",
    "neighbours": "a document gets the same answer alone as in a batch",
    "padding": "more padded words or sentences change nothing",
    "word order": "another order of the words changes the answer",
    "attention": "weights sum to 1, and padding has none",
    "gradients": "they reach every parameter",
    "both directions": "the first state depends on the last word, the last state on the first word",
    "pooling": "the result is the weighted mean of the states",
    "concentration": "a word can weigh more than e² = 7.4 times as much as another",
    "extremes": "very large scores still give finite weights",
    "rows": "no text changes the weights of another",
}


def museum(seed: int = 0) -> dict[str, nn.Module]:
    """All specimens by name, small and untrained, over a vocabulary of ``VOCABULARY`` words."""
    built = {}
    for specimen in MUSEUM:
        torch.manual_seed(seed)
        built[specimen.name] = specimen.build(HANConfig.imdb(hidden=4, attention=6), VOCABULARY, 2)
        built[specimen.name].eval()
    return built


class NamedHAN(nn.Module):
    """A learner's HAN, whose results get the names by which ``diagnose`` finds them."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, tokens: Tensor, mask: Tensor) -> HANOutput:
        """As ``HAN.forward``, without a penalty."""
        return HANOutput(*self.network(tokens, mask), torch.zeros(len(mask)))


def verdict_table(found: Mapping[str, Mapping[str, str | None]]) -> str:
    """What ``diagnose`` found in networks by name, as a Markdown table: ✗ where an invariant does
    not hold, a dot where it does, nothing where it could not be tested."""
    marks = {None: "·", "": ""}  # any other message is a ✗
    names = [name.removeprefix("specimen ") for name in found]
    rows = [["invariant", "what must hold", *names], ["---"] * 2 + [":-:"] * len(names)]
    for invariant, what in HOLDS.items():
        said = (each.get(invariant, "") for each in found.values())
        rows.append([invariant, what, *(marks.get(message, "✗") for message in said)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def diagnose(model: Model, tokens: Tensor, mask: Tensor) -> dict[str, str | None]:
    """Per invariant None if it holds, else the message; only those that apply to the model.

    Attention is looked for in the output's fields, poolings and recurrent encoders among the
    model's modules of the library's kinds. ``tokens`` and ``mask`` should hold documents of
    different lengths, with two words at least.
    """
    messages = {
        "attention": verdict(_check_outputs, model, tokens, mask),
        "padding": verdict(invariants.check_padding, model, tokens, mask),
        "neighbours": verdict(invariants.check_neighbours, model, tokens, mask),
        "stateless": verdict(invariants.check_stateless, model, tokens, mask),
        "word order": verdict(invariants.check_permutation, model, tokens, mask, True),
    }
    if not any(name.endswith("attention") for name in _fields(model, tokens, mask)):
        del messages["attention"]
    if not isinstance(model, nn.Module):
        return messages
    messages["gradients"] = verdict(invariants.check_gradients, model, tokens, mask)
    poolings = _calls(model, AttentionPooling, tokens, mask)
    encoders = _calls(model, BidirectionalGRU, tokens, mask)
    if poolings:
        messages["pooling"] = _first(invariants.check_pooling, poolings)
        messages["concentration"] = _first(
            lambda pooling, h, mask: probes.check_concentration(pooling, h.shape[-1]), poolings
        )
        messages["extremes"] = _first(probes.check_extremes, poolings)
        messages["rows"] = _first(probes.check_rows, poolings)
    if encoders:
        messages["both directions"] = _first(probes.check_both_directions, encoders)
    return messages


def probe(vocabulary: int = VOCABULARY, seed: int = 0) -> tuple[Tensor, Tensor]:
    """A small batch on which sick models show: ``tokens`` and ``mask`` ``(batch, sentences,
    words)`` of one document without any padding, several shorter ones and one without a word."""
    lengths = torch.tensor([[3, 3], [2, 0], [1, 3], [3, 0], [2, 2], [0, 0]])
    mask = torch.arange(3) < lengths.unsqueeze(2)
    source = torch.Generator().manual_seed(seed)
    return torch.randint(1, vocabulary, mask.shape, generator=source) * mask, mask


def verdict(check: Callable, *arguments: object) -> str | None:
    """What an ``InvariantError`` of the check says, None if it raises none."""
    try:
        check(*arguments)
    except InvariantError as error:
        return str(error)
    return None


def _first(check: Callable, calls: list[Call]) -> str | None:
    """What is wrong with the first module that fails, its name before it."""
    for name, module, inputs in calls:
        if message := verdict(check, module, *inputs):
            return f"{name}: {message}"
    return None


def _fields(model: Model, tokens: Tensor, mask: Tensor) -> dict[str, Tensor]:
    with invariants.evaluating(model):
        output = model(tokens, mask)
    return output._asdict() if hasattr(output, "_asdict") else vars(output)


def _check_outputs(model: Model, tokens: Tensor, mask: Tensor) -> None:
    """Every field of the output whose name ends in ``attention`` is attention."""
    for name, value in _fields(model, tokens, mask).items():
        if name.endswith("attention"):
            real = mask
            while real.shape != value.shape and real.dim() > value.dim():
                real = real.any(-1)  # of sentences, those that hold a word
            invariants.check_attention(value, real)


def _calls(model: nn.Module, kind: type[nn.Module], tokens: Tensor, mask: Tensor) -> list[Call]:
    """Every module of a kind that a forward pass calls."""
    calls: list[Call] = []
    hooks = [
        module.register_forward_pre_hook(
            lambda module, inputs, name=name: calls.append(Call(name, module, inputs))
        )
        for name, module in model.named_modules()
        if isinstance(module, kind)
    ]
    try:
        with invariants.evaluating(model):
            model(tokens, mask)
    finally:
        for hook in hooks:
            hook.remove()
    return calls
