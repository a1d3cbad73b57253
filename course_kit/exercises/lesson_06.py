"""Lesson 06: AGT's gate and the whole network."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from course_kit.exercises.building import building, network, reading_cases
from course_kit.exercises.cases import named, normal, plural
from course_lib.models.agt import AGT, AblatedAGT, AGTConfig, AttentionStack, GatedStack
from course_lib.models.layers import masked_softmax

LAYERS = 4


class OurGate(nn.Module):
    """A layer of ``GatedStack`` behind the interface of the lesson's class."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.gate = nn.Linear(hidden, hidden)
        nn.init.ones_(self.gate.bias)
        self.value = nn.Linear(2 * hidden, hidden, bias=False)

    def forward(self, y: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        """→ the next y and T, each ``(n, hidden)``."""
        return _pass_gate(self, y, s)


def _blend(new: Tensor, y: Tensor, s: Tensor, t: Tensor) -> Tensor:
    return new * t + y * (1 - t)


def _pass_gate(
    ours: OurGate,
    y: Tensor,
    s: Tensor,
    blend: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor] = _blend,
    bend: Callable[[Tensor], Tensor] = torch.tanh,
    order: int = 1,
    reads_y: bool = False,
) -> tuple[Tensor, Tensor]:
    """The layer with another blend of new, y, s and T, another bend, [s; y], or a gate of y."""
    t = torch.sigmoid(ours.gate(y if reads_y else s))
    new = bend(ours.value(torch.cat([y, s][::order], 1)))
    return blend(new, y, s, t), t


check_gate = building(
    ours=OurGate,
    weights=lambda ours: dict(ours.named_parameters()),
    sizes=lambda ours: (ours.gate.in_features,),
    forbidden=(GatedStack,),
    name="gate",
    about="""``f(y, s)``, both ``(n, hidden)`` → the next y, tanh(W^f [y; s]) ∘ T + y ∘ (1 − T), and
    T = σ(W^t s + b^t), each as ``y``.""",
    cases=lambda: named(
        {
            f"{plural(n, 'text')}, {hidden} wide": (
                network(OurGate, hidden, seed=n),
                *normal((n, hidden), (n, hidden), (n, hidden)),
            )
            for n, hidden in ((1, 1), (1, 2), (2, 3), (8, 30))
        }
    ),
    returns=("y", "gate"),
    start="T = self.gate(s).sigmoid(), and torch.cat([y, s], 1) goes into self.value.",
    span="from one number to 30",
    mistakes=(
        (
            lambda *given: _pass_gate(*given, reads_y=True),
            "your gate reads y, as in a highway layer: here it reads s, what the layer selected.",
        ),
        (
            lambda *given: _pass_gate(*given, order=-1),
            "[y; s] has y first: the left half of W^f belongs to it.",
        ),
        (
            lambda *given: _pass_gate(*given, blend=lambda new, y, s, t: _blend(y, new, s, t)),
            "the gate is the wrong way round: T = 1 takes the layer's new value.",
        ),
        (
            lambda *given: _pass_gate(*given, blend=lambda new, y, s, t: _blend(new, s, s, t)),
            "carry y, the layer below, not s.",
        ),
        (
            lambda *given: _pass_gate(*given, blend=lambda new, y, s, t: new * t),
            "y is not carried on: the part that the gate leaves is y ∘ (1 − T).",
        ),
        (
            lambda *given: _pass_gate(*given, blend=lambda new, y, s, t: y + new * t),
            "y is added whole, as in a residual layer: here it is weighed by 1 − T.",
        ),
        (lambda *given: _pass_gate(*given, bend=lambda new: new), "the new value lacks its tanh."),
    ),
)


class OurAGT(AblatedAGT):
    """The library's network, without dropout; it may have one layer, and another classifier."""

    def __init__(self, vocabulary: int, width: int, hidden: int, layers: int, classes: int) -> None:
        config = AGTConfig(embedding=width, hidden=hidden, layers=layers, dropout=0.0)
        super().__init__(config, vocabulary, classes)

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """→ logits ``(n, classes)`` and the attention ``(n, layers, words)``."""
        return super().forward(tokens, mask)[:2]


def _named_weights(ours: OurAGT) -> dict[str, Tensor]:
    """The library's parameters by the names and in the shapes of the lesson's stub."""
    stack, (_, first, _, _, last) = ours.stack, ours.classifier
    gates = {}
    for layer in range(len(stack.gate)):
        both = torch.cat([stack.carried[layer], stack.selected[layer]], 1)
        values = (stack.gate[layer], stack.gate_bias[layer], both)
        names = ("gate.weight", "gate.bias", "value.weight")
        gates |= {f"gates.{layer}.{name}": value for name, value in zip(names, values)}
    return {
        "W": ours.attention.weight,
        "w": ours.attention.vector,
        "embedding.weight": ours.embedding.weight,
        "projection.weight": ours.projection.weight,
        "projection.bias": ours.projection.bias,
        **gates,
        "classifier.0.weight": first.weight,
        "classifier.0.bias": first.bias,
        "classifier.2.weight": last.weight,
        "classifier.2.bias": last.bias,
    }


def _read(
    ours: OurAGT,
    tokens: Tensor,
    mask: Tensor,
    project: Callable[[Tensor], Tensor] = torch.tanh,
    bend: Callable[[Tensor], Tensor] = torch.tanh,
    turned: bool = False,
    dim: int = 2,
    late: int = 0,
) -> tuple[Tensor, Tensor]:
    """The network with another bend of B or of the scores, W_l turned, a softmax along ``dim``, or
    gates that read the selection of ``late`` layers below."""
    b = project(ours.projection(ours.embedding(tokens)))
    layers = zip(ours.attention.weight, ours.attention.vector)
    scores = [bend(b @ (w if turned else w.T)) @ v for w, v in layers]
    m = torch.stack(scores, 1)
    d = masked_softmax(m, mask.unsqueeze(1).expand_as(m), dim)
    s = d @ b
    y, _ = ours.stack(s[:, 0], s[:, 1 - late : s.shape[1] - late])
    return ours.classifier(y), d


check_agt = building(
    ours=OurAGT,
    weights=_named_weights,
    sizes=lambda ours: (20, 5, 6, LAYERS, 3),
    forbidden=(AGT, AttentionStack, GatedStack),
    name="agt",
    about="""``f(tokens, mask)``, both ``(n, words)`` → logits ``(n, classes)`` and the attention
    ``(n, layers, words)``: the projected words B, in each layer a softmax over them and their
    weighted sum, y_0 = s_0, a gate for each further layer, the classifier of the last y.""",
    cases=reading_cases(OurAGT, 20, 5, 6, LAYERS, 3),
    returns=("logits", "attention"),
    shapes="the attention has an axis of layers after the texts, words last",
    start="B = torch.tanh(self.projection(self.embedding(tokens))), then all scores from B.",
    span="up to four texts of nine words",
    mistakes=(
        (
            lambda *given: _read(*given, dim=1),
            "your softmax runs over the layers: in each layer the weights of the words sum to 1.",
        ),
        (
            lambda *given: _read(*given, turned=True),
            "the matrices W_l are transposed: they are (out, in), so row vectors take B @ W_l.T.",
        ),
        (lambda *given: _read(*given, project=lambda b: b), "B lacks its tanh."),
        (
            lambda *given: _read(*given, bend=lambda m: m),
            "the scores lack their tanh, between W_l and w_l.",
        ),
        (
            lambda *given: _read(*given, late=1),
            "each gate gets the selection of the layer below: gate l reads s_l, and s_0 is y_0.",
        ),
    ),
)
