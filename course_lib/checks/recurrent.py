"""Checkers of the exercises on recurrent networks: one step of a GRU, reading backwards."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.func import functional_call

from course_lib.checks.core import Case, Checker, Trial, check, generator, plural, ragged
from course_lib.models.gru import GRUCell


def check_gru_step(function: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]) -> None:
    """``f(x, h, U, W, b)`` → next state ``(batch, hidden)``, by the report's equations.

    ``x`` ``(batch, inputs)``, ``h`` ``(batch, hidden)``; ``U`` ``(3, hidden, inputs)``, ``W``
    ``(3, hidden, hidden)`` and ``b`` ``(3, hidden)`` hold r, z and candidate, in that order, so
    that ``U_r, U_z, U_h = U``.
    """
    check(GRU_STEP, function)


def check_reverse(function: Callable[[Tensor, Tensor], Tensor]) -> None:
    """``f(x, mask)``, ``(batch, length, inputs)`` and ``(batch, length)`` with the real words first
    → the same, the real words of each row in reverse, zeros on padding."""
    check(REVERSE, function)


def _gru_step(
    x: Tensor, h: Tensor, U: Tensor, W: Tensor, b: Tensor, reset_after: bool = False
) -> Tensor:
    cell = GRUCell(x.shape[1], h.shape[1], reset_after)
    weights = {"u.weight": U.flatten(0, 1), "u.bias": b.flatten(), "w.weight": W.flatten(0, 1)}
    if reset_after:
        weights["w.bias"] = torch.zeros(b.numel())
    return functional_call(cell, weights, (x, h))


def _wrong_step(
    x: Tensor,
    h: Tensor,
    U: Tensor,
    W: Tensor,
    b: Tensor,
    squash: Callable[[Tensor], Tensor] = torch.tanh,
    mix: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda z, h, new: (1 - z) * h + z * new,
    reset: bool = True,
) -> Tensor:
    """A step with one line exchanged."""
    r, z = (torch.sigmoid(x @ U[gate].T + h @ W[gate].T + b[gate]) for gate in (0, 1))
    past = r * h if reset else h
    return mix(z, h, squash(x @ U[2].T + past @ W[2].T + b[2]))


def _step_cases() -> list[Case]:
    cases = []
    for batch, inputs, hidden in ((1, 1, 1), (1, 1, 2), (1, 2, 2), (2, 3, 2), (3, 4, 5), (5, 8, 6),
                                  (16, 50, 50)):  # fmt: skip
        for scale, says in ((1.0, "weights around 1"), (20.0, "gates fully open or shut")):
            source = generator(batch, inputs, hidden)
            shapes = ((batch, inputs), (batch, hidden), (3, hidden, inputs), (3, hidden, hidden),
                      (3, hidden))  # fmt: skip
            x, h, U, W, b = (torch.randn(shape, generator=source) for shape in shapes)
            size = f"{plural(batch, 'row')}, {plural(inputs, 'input')}, hidden size {hidden}"
            cases.append(Case(f"{size}, {says}", (x, h.tanh(), scale * U, scale * W, b)))
    return cases


GRU_STEP = Checker(
    name="gru_step",
    reference=_gru_step,
    cases=_step_cases,
    returns=("h",),
    start="U_r, U_z, U_h = U, then r = torch.sigmoid(x @ U_r.T + h @ W_r.T + b_r).",
    span="from one unit to 50",
    mistakes=(
        (lambda *given: _wrong_step(*given, mix=lambda z, h, new: z * h + (1 - z) * new),
         "z has the opposite sense: in the report z = 1 takes the candidate (nn.GRU keeps the old "
         "state)."),
        (lambda *given: _gru_step(*given, reset_after=True),
         "the reset gate acts after the product, r ∘ (W_h h), as in nn.GRU; the report has "
         "W_h (r ∘ h)."),
        (lambda x, h, U, W, b: _gru_step(x, h, U[[1, 0, 2]], W[[1, 0, 2]], b[[1, 0, 2]]),
         "r and z are exchanged: the weights come in the order r, z, candidate."),
        (lambda *given: _wrong_step(*given, reset=False),
         "the reset gate is not used: the candidate sees r ∘ h, not h."),
        (lambda *given: _wrong_step(*given, squash=torch.sigmoid),
         "the candidate goes through a sigmoid: it is a tanh."),
        (lambda *given: _wrong_step(*given, squash=lambda a: a),
         "the candidate is not squashed: it is a tanh."),
        (lambda *given: _wrong_step(*given, mix=lambda z, h, new: new),
         "you return the candidate: the new state is (1 − z) ∘ h + z ∘ candidate."),
        (lambda *given: _wrong_step(*given, mix=lambda z, h, new: h + z * new),
         "the old state is kept whole: it should be weighed by 1 − z."),
        (lambda *given: _wrong_step(*given, mix=lambda z, h, new: (1 - z) * h + new),
         "the candidate is taken whole: it should be weighed by z."),
        (lambda x, h, U, W, b: _gru_step(x, h, U, W, 0 * b),
         "the biases b are not used."),
        (lambda x, h, U, W, b: _gru_step(x, h, U, W.transpose(1, 2), b),
         "W is applied the wrong way round: W h for a batch of rows is h @ W.T."),
    ),
)  # fmt: skip


def _reverse(x: Tensor, mask: Tensor) -> Tensor:
    turned = torch.zeros_like(x)
    for row, length in enumerate(mask.sum(1).tolist()):
        turned[row, :length] = x[row, :length].flip(0)
    return turned


def _reverse_cases() -> list[Case]:
    cases = []
    for rows, length, inputs in ((1, 1, 1), (1, 2, 1), (1, 3, 2), (2, 3, 2), (3, 5, 2), (3, 8, 4),
                                 (8, 60, 5)):  # fmt: skip
        source = generator(rows, length, inputs)
        full = torch.ones(rows, length, dtype=torch.bool)
        empty = ragged(rows, length) & (torch.arange(rows) != 0).unsqueeze(1)
        size = f"{plural(rows, 'row')} of {plural(length, 'word')}"
        for says, mask in (("all real", full), ("some padded", ragged(rows, length)),
                           ("the first row without any real one", empty)):  # fmt: skip
            x = torch.randn(rows, length, inputs, generator=source) * mask.unsqueeze(2)
            cases.append(Case(f"{size}, {says}", (x, mask)))
    return cases


def _about_reverse(trial: Trial) -> str | None:
    mask, turned = trial.case.inputs[1], trial.yours[0]
    padded = turned[~mask]
    if not padded.any():
        return None
    row, place = (turned.any(2) & ~mask).nonzero()[0].tolist()
    return (
        f"row {row} has a word at place {place}, which is padding: it has {int(mask[row].sum())} "
        "real ones, and zeros after them."
    )


REVERSE = Checker(
    name="reverse",
    reference=_reverse,
    cases=_reverse_cases,
    returns=("x",),
    start="a row of n real words takes its word i from place n − 1 − i.",
    span="from one word to 60",
    mistakes=(
        (lambda x, mask: x.flip(1),
         "the padding is reversed, too, and now stands before the words: turn each row's real "
         "words alone."),
        (lambda x, mask: x.flip(1) * mask.unsqueeze(2),
         "you reverse the padded row and mask what comes out: short rows lose their words. Turn "
         "each row's real words alone."),
        (lambda x, mask: x.flip(2),
         "you reverse each word's numbers (the last axis); reverse the words (axis 1)."),
        (lambda x, mask: x.flip(0),
         "you reverse the documents of the batch (axis 0); reverse the words (axis 1)."),
        (lambda x, mask: x,
         "the words come back in the order they came."),
    ),
    diagnoses=(_about_reverse,),
)  # fmt: skip
