"""Checkers of the exercises on AGT's gated layers: the highway and the attention gate."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.checks.core import Case, Checker, check, generator, plural


def check_highway(function: Callable[..., Tensor]) -> None:
    """``f(x, w, b, w_t, b_t)``, ``x`` ``(batch, hidden)``, matrices ``(out, in)`` as ``nn.Linear``
    holds them → tanh(W x + b) ∘ T + x ∘ (1 − T) with T = σ(W_t x + b_t), as ``x``."""
    check(HIGHWAY, function)


def check_attention_gate(function: Callable[..., tuple[Tensor, Tensor]]) -> None:
    """``f(y, s, w_t, b_t, w_f)``, ``y`` and ``s`` ``(batch, hidden)``, ``w_t``
    ``(hidden, hidden)``, ``w_f`` ``(hidden, 2 · hidden)`` → the next y and T = σ(W_t s + b_t), both
    as ``y``."""
    check(ATTENTION_GATE, function)


def _random(source: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=source)


def _gated(new: Tensor, old: Tensor, gate: Tensor) -> Tensor:
    return new * gate + old * (1 - gate)


def _highway(x: Tensor, w: Tensor, b: Tensor, w_t: Tensor, b_t: Tensor) -> Tensor:
    return _gated(torch.tanh(x @ w.T + b), x, torch.sigmoid(x @ w_t.T + b_t))


def _highway_cases() -> list[Case]:
    cases = []
    for rows, hidden in ((1, 1), (1, 2), (2, 2), (3, 5), (8, 30)):
        source = generator(rows, hidden)
        x, w, b = (
            _random(source, rows, hidden),
            _random(source, hidden, hidden),
            _random(source, hidden),
        )
        w_t = _random(source, hidden, hidden)
        size = f"{plural(rows, 'vector')} of {hidden}"
        cases += [
            Case(f"{size}, gate bias {bias}", (x, w, b, w_t, torch.full((hidden,), float(bias))))
            for bias in (0, 1, -2)
        ]
    return cases


def _highway_like(kind: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """The layer that makes ``kind(new, x, gate)`` of its new value before the tanh."""

    def layer(x: Tensor, w: Tensor, b: Tensor, w_t: Tensor, b_t: Tensor) -> Tensor:
        return kind(x @ w.T + b, x, torch.sigmoid(x @ w_t.T + b_t))

    return layer


HIGHWAY = Checker(
    name="highway",
    reference=_highway,
    cases=_highway_cases,
    returns=("y",),
    start="gate = torch.sigmoid(x @ w_t.T + b_t): what does a gate of 1 let through?",
    span="from one number to 30, gate biases −2, 0 and 1",
    mistakes=(
        (_highway_like(lambda new, x, gate: _gated(x, torch.tanh(new), gate)),
         "the gate is the wrong way round: T = 1 takes the new value, T = 0 carries the old one."),
        (_highway_like(lambda new, x, gate: torch.tanh(new) * gate),
         "x is not carried on: what the gate does not take of the new value it takes of the old, "
         "x ∘ (1 − T)."),
        (_highway_like(lambda new, x, gate: x + torch.tanh(new) * gate),
         "x is added whole, as in a residual: here it is weighed by 1 − T."),
        (_highway_like(lambda new, x, gate: _gated(new, x, gate)),
         "the tanh of the new value is missing."),
        (lambda x, w, b, w_t, b_t: _highway(x, w, b, w_t, 0 * b_t),
         "the gate's bias b_t is missing."),
        (lambda x, w, b, w_t, b_t: _highway(x, w.T, b, w_t.T, b_t),
         "the matrices are transposed: they are (out, in), so a row vector takes x @ w.T."),
        (lambda x, w, b, w_t, b_t: _highway(x, w.T, b, w_t, b_t),
         "w is transposed: it is (out, in), so a row vector takes x @ w.T."),
        (lambda x, w, b, w_t, b_t: _highway(x, w, b, w_t.T, b_t),
         "w_t is transposed: it is (out, in), so a row vector takes x @ w_t.T."),
        (lambda x, w, b, w_t, b_t: _highway(x, w_t, b_t, w, b),
         "w and b make the new value, w_t and b_t the gate: you have them the other way round."),
        (_highway_like(lambda new, x, gate: torch.tanh(new) + x * (1 - gate)),
         "the new value is added whole: the gate takes a part of it, tanh(…) ∘ T."),
        (_highway_like(lambda new, x, gate: torch.tanh(_gated(new, x, gate))),
         "the tanh goes around the blend: it belongs to the new value alone, and x is carried as "
         "it is."),
        (lambda x, w, b, w_t, b_t: _highway(x, w, 0 * b, w_t, b_t),
         "the bias b of the new value is missing."),
        (lambda x, w, b, w_t, b_t: _gated(
            torch.sigmoid(x @ w.T + b), x, torch.sigmoid(x @ w_t.T + b_t)),
         "the new value goes through a sigmoid: it is a tanh, the gate alone is a sigmoid."),
        (lambda x, w, b, w_t, b_t: _gated(
            torch.tanh(x @ w.T + b), x, torch.tanh(x @ w_t.T + b_t)),
         "the gate goes through a tanh, which can be negative: a share is a sigmoid."),
        (lambda x, w, b, w_t, b_t: _gated(torch.tanh(x @ w.T + b), x, x @ w_t.T + b_t),
         "the gate has no sigmoid, so it is no share between 0 and 1."),
    ),
)  # fmt: skip


def _attention_gate(
    y: Tensor, s: Tensor, w_t: Tensor, b_t: Tensor, w_f: Tensor
) -> tuple[Tensor, Tensor]:
    gate = torch.sigmoid(s @ w_t.T + b_t)
    return _gated(torch.tanh(torch.cat([y, s], 1) @ w_f.T), y, gate), gate


def _gate_cases() -> list[Case]:
    cases = []
    for rows, hidden in ((1, 1), (1, 2), (2, 2), (3, 5), (8, 30)):
        source = generator(rows, hidden, 7)
        y, s = _random(source, rows, hidden), _random(source, rows, hidden)
        w_t, w_f = _random(source, hidden, hidden), _random(source, hidden, 2 * hidden)
        size = f"{plural(rows, 'sentence')}, {hidden} wide"
        cases += [
            Case(f"{size}, gate bias {bias}", (y, s, w_t, torch.full((hidden,), float(bias)), w_f))
            for bias in (0, 1, -2)
        ]
    return cases


def _layer_like(
    new: Callable[[Tensor], Tensor] = torch.tanh,
    gated: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor] = lambda n, y, s, t: _gated(n, y, t),
    swapped: bool = False,
    reads_y: bool = False,
    bend: Callable[[Tensor], Tensor] = torch.sigmoid,
) -> Callable[..., tuple[Tensor, Tensor]]:
    """The layer with another bend of the value or the gate, blend, order of [y; s], or input of
    the gate."""

    def layer(y: Tensor, s: Tensor, w_t: Tensor, b_t: Tensor, w_f: Tensor) -> tuple[Tensor, Tensor]:
        gate = bend((y if reads_y else s) @ w_t.T + b_t)
        both = torch.cat([s, y] if swapped else [y, s], 1)
        return gated(new(both @ w_f.T), y, s, gate), gate

    return layer


ATTENTION_GATE = Checker(
    name="attention_gate",
    reference=_attention_gate,
    cases=_gate_cases,
    returns=("y", "gate"),
    start="gate = torch.sigmoid(s @ w_t.T + b_t), and torch.cat([y, s], 1) for the new value.",
    span="from one number to 30, gate biases −2, 0 and 1",
    mistakes=(
        (_layer_like(reads_y=True),
         "your gate reads y, as in a highway layer: here it reads s, what the layer selected."),
        (_layer_like(swapped=True), "[y; s] has y first: the left half of W^f belongs to it."),
        (_layer_like(gated=lambda new, y, s, gate: _gated(y, new, gate)),
         "the gate is the wrong way round: T = 1 takes the layer's new value."),
        (_layer_like(gated=lambda new, y, s, gate: _gated(new, s, gate)),
         "carry y, the layer below, not s."),
        (_layer_like(gated=lambda new, y, s, gate: new * gate),
         "y is not carried on: the part that the gate leaves is y ∘ (1 − T)."),
        (_layer_like(new=lambda both: both), "the new value lacks its tanh."),
        (lambda y, s, w_t, b_t, w_f: _attention_gate(y, s, w_t, b_t, w_f)[::-1],
         "the two results are exchanged: first the next y, then the gate."),
        (lambda y, s, w_t, b_t, w_f: _attention_gate(y, s, w_t, 0 * b_t, w_f),
         "the gate's bias b_t is missing."),
        (lambda y, s, w_t, b_t, w_f: _attention_gate(y, s, w_t.T, b_t, w_f),
         "w_t is transposed: it is (out, in), so a row vector takes s @ w_t.T."),
        (_layer_like(new=torch.sigmoid),
         "the new value goes through a sigmoid: it is a tanh, the gate alone is a sigmoid."),
        (_layer_like(gated=lambda new, y, s, gate: y + new * gate),
         "y is added whole, as in a residual: here it is weighed by 1 − T."),
        (_layer_like(bend=lambda scores: scores),
         "the gate has no sigmoid, so it is no share between 0 and 1."),
        (_layer_like(bend=torch.tanh),
         "the gate goes through a tanh, which can be negative: a share is a sigmoid."),
        (lambda y, s, w_t, b_t, w_f: (_attention_gate(y, s, w_t, b_t, w_f)[0], s @ w_t.T + b_t),
         "y is right; as the gate you return what stands inside the sigmoid."),
        (lambda y, s, w_t, b_t, w_f: (
            _attention_gate(y, s, w_t, b_t, w_f)[0], torch.sigmoid(-(s @ w_t.T + b_t))),
         "y is right; as the gate you return 1 − T, the part that is carried."),
    ),
)  # fmt: skip
