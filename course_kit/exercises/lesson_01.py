"""Lesson 01: a GRU's step and weights, its Jacobian, words in reverse, and padding."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.func import functional_call

from course_kit.exercises.cases import CaseResult, Inputs, Kinds, cases, masks, normal
from course_kit.exercises.comparison import same
from course_kit.exercises.judge import Checker
from course_lib.models.gru import GRUCell


def _blend(h: Tensor, candidate: Tensor, z: Tensor) -> Tensor:
    return (1 - z) * h + z * candidate


def _blend_inputs(batch: int, hidden: int) -> Kinds:
    h, candidate, z = normal((batch, hidden), *[(batch, hidden)] * 3)
    return {
        kind: (h.tanh(), candidate.tanh(), torch.sigmoid(pull * z))
        for kind, pull in (("gates half open", 1.0), ("gates fully open or shut", 200.0))
    }


check_blend = Checker(
    name="blend",
    about="""``f(h, candidate, z)``, all ``(batch, hidden)`` → ``(1 − z) ∘ h + z ∘ candidate``.""",
    reference=_blend,
    cases=cases(
        "{:row}, hidden size {}", ((1, 1), (1, 2), (2, 3), (4, 5), (16, 50)), _blend_inputs
    ),
    returns=("h",),
    start="where z is 0 the answer is h, where it is 1 the candidate, and in between a mixture.",
    span="from one unit to 50",
    mistakes=(
        (lambda h, new, z: z * h + (1 - z) * new,
         "z has the opposite sense: in the report z = 1 takes the candidate (nn.GRU keeps the old "
         "state)."),
        (lambda h, new, z: h + z * new,
         "the old state is kept whole: it should be weighed by 1 − z, or the state grows without "
         "bound."),
        (lambda h, new, z: (1 - z) * h + new,
         "the candidate is taken whole: it should be weighed by z."),
        (lambda h, new, z: z * (h + new),
         "both are weighed by z: what the candidate does not take, 1 − z, belongs to the old "
         "state."),
    ),
)  # fmt: skip


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
    r, z = (torch.sigmoid(x @ U[k].T + h @ W[k].T + b[k]) for k in (0, 1))
    past = r * h if reset else h
    return mix(z, h, squash(x @ U[2].T + past @ W[2].T + b[2]))


def _step_inputs(batch: int, inputs: int, hidden: int) -> Kinds:
    numbers = batch, inputs, hidden
    x, h, U, W, b = normal(
        numbers, (batch, inputs), (batch, hidden), (3, hidden, inputs), (3, hidden, hidden),
        (3, hidden),
    )  # fmt: skip
    return {
        kind: (x, h.tanh(), scale * U, scale * W, b)
        for kind, scale in (("weights around 1", 1.0), ("gates fully open or shut", 20.0))
    }


check_gru_step = Checker(
    name="gru_step",
    about="""``f(x, h, U, W, b)`` → next state ``(batch, hidden)``, by the report's equations.

    ``x`` ``(batch, inputs)``, ``h`` ``(batch, hidden)``; ``U`` ``(3, hidden, inputs)``, ``W`` ``(3,
    hidden, hidden)`` and ``b`` ``(3, hidden)`` hold r, z and candidate, in that order, so that
    ``U_r, U_z, U_h = U``.""",
    reference=_gru_step,
    cases=cases(
        "{:row}, {:input}, hidden size {}",
        ((1, 1, 1), (1, 1, 2), (1, 2, 2), (2, 3, 2), (3, 4, 5), (5, 8, 6), (16, 50, 50)),
        _step_inputs,
    ),
    returns=("h",),
    start="U_r, U_z, U_h = U, then r = torch.sigmoid(x @ U_r.T + h @ W_r.T + b_r).",
    span="from one unit to 50",
    mistakes=(
        (lambda *arguments: _wrong_step(*arguments, mix=lambda z, h, new: z * h + (1 - z) * new),
         "z has the opposite sense: in the report z = 1 takes the candidate (nn.GRU keeps the old "
         "state)."),
        (lambda *arguments: _gru_step(*arguments, reset_after=True),
         "the reset gate acts after the product, r ∘ (W_h h), as in nn.GRU; the report has "
         "W_h (r ∘ h)."),
        (lambda x, h, U, W, b: _gru_step(x, h, U[[1, 0, 2]], W[[1, 0, 2]], b[[1, 0, 2]]),
         "r and z are exchanged: the weights come in the order r, z, candidate."),
        (lambda *arguments: _wrong_step(*arguments, reset=False),
         "the reset gate is not used: the candidate sees r ∘ h, not h."),
        (lambda *arguments: _wrong_step(*arguments, squash=torch.sigmoid),
         "the candidate goes through a sigmoid: it is a tanh."),
        (lambda *arguments: _wrong_step(*arguments, squash=lambda a: a),
         "the candidate is not squashed: it is a tanh."),
    ),
)  # fmt: skip


def _reverse(x: Tensor, mask: Tensor) -> Tensor:
    turned = torch.zeros_like(x)
    for row, length in enumerate(mask.sum(1).tolist()):
        turned[row, :length] = x[row, :length].flip(0)
    return turned


def _padded(rows: int, length: int) -> dict[str, Tensor]:
    """Masks, of which the first row may have no real word."""
    real, some, empty = masks(rows, length)
    return {"all real": real, "some padded": some,
            "the first row without any real one": some & empty.flip(0)}  # fmt: skip


def _rows_of_words(rows: int, length: int, inputs: int) -> Kinds:
    (x,) = normal((rows, length, inputs), (rows, length, inputs))
    return {f"{kind}, numbers on the padding": (x, mask)
            for kind, mask in _padded(rows, length).items()}  # fmt: skip


def _about_reverse(result: CaseResult) -> str | None:
    mask, turned = result.case.inputs[1], result.yours[0]
    if not turned[~mask].any():
        late, right = turned[:, 1:], result.expected[0][:, :-1]
        shifted = mask[:, 1:].any() and same(late[mask[:, 1:]], right[mask[:, 1:]])
        return SHIFTED if shifted else None
    row, place = (turned.any(2) & ~mask).nonzero()[0].tolist()
    return (
        f"row {row} has a word at place {place}, which is padding: it has {int(mask[row].sum())} "
        "real ones, and zeros after them."
    )


NUMBERS_TURNED = "you reverse each word's numbers (the last axis); reverse the words (axis 1)"
BATCH_TURNED = "you reverse the documents of the batch (axis 0); reverse the words (axis 1)"
SHIFTED = "the words come one place too late: word i is taken from n − 1 − i, not from n − i."
PADDING_LEFT = "and leave zeros on the padding"


check_reverse = Checker(
    name="reverse",
    about="""``f(x, mask)``, ``(batch, length, inputs)`` and ``(batch, length)`` with the real words
    first → the same, the real words of each row in reverse, zeros on padding.""",
    reference=_reverse,
    cases=cases(
        "{:row} of {:word}, {:number} each",
        ((1, 1, 1), (1, 2, 1), (1, 3, 2), (2, 3, 2), (3, 5, 2), (3, 8, 4), (8, 60, 5)),
        _rows_of_words,
    ),
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
        (lambda x, mask: (x * mask.unsqueeze(2)).flip(1),
         "the words are reversed, but the zeros of the padding come first: place 0 holds the last "
         "real word."),
        (lambda x, mask: x.flip(2) * mask.unsqueeze(2), f"{NUMBERS_TURNED}."),
        (lambda x, mask: x.flip(2), f"{NUMBERS_TURNED}, {PADDING_LEFT}."),
        (lambda x, mask: x.flip(0) * mask.unsqueeze(2), f"{BATCH_TURNED}."),
    ),
    diagnoses=(_about_reverse,),
)  # fmt: skip


def _report_weights(weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    sign = torch.tensor([1.0, -1.0, 1.0])
    return _stacked(weight) * sign.view(3, 1, 1), _stacked(bias) * sign.view(3, 1)


def _stacked(weight: Tensor) -> Tensor:
    """PyTorch's three gates, one below the other, with an axis of their own."""
    return weight.unflatten(0, (3, -1))


def _weight_inputs(inputs: int, hidden: int) -> Inputs:
    return tuple(normal((inputs, hidden), (3 * hidden, inputs), (3 * hidden,)))


def _signed(weight: Tensor, bias: Tensor, *sign: float) -> tuple[Tensor, Tensor]:
    signs = torch.tensor(sign)
    return _stacked(weight) * signs.view(3, 1, 1), _stacked(bias) * signs.view(3, 1)


check_report_weights = Checker(
    name="report_weights",
    about="""``f(weight, bias)`` of an ``nn.GRU``, ``(3 · hidden, inputs)`` and ``(3 · hidden,)`` →
    the report's ``U`` ``(3, hidden, inputs)`` and ``b`` ``(3, hidden)``, in whose sense z = 1 takes
    the candidate.""",
    reference=_report_weights,
    cases=cases(
        "{:input}, hidden size {}", ((1, 1), (2, 1), (1, 2), (3, 2), (4, 5), (50, 50)),
        _weight_inputs,
    ),
    returns=("U", "b"),
    start="1 − σ(a) = σ(−a): which of the three gates has to change its sign?",
    span="from one unit to 50",
    mistakes=(
        (lambda weight, bias: _signed(weight, bias, 1, 1, 1),
         "the weights are PyTorch's: its z keeps the old state, the report's takes the new one, so "
         "z's weights change sign."),
        (lambda weight, bias: _signed(weight, bias, -1, 1, 1),
         "r has changed its sign, not z: PyTorch's order is r, z, n."),
        (lambda weight, bias: _signed(weight, bias, 1, 1, -1),
         "the candidate has changed its sign, not z: PyTorch's order is r, z, n."),
        (lambda weight, bias: _signed(weight, bias, -1, -1, -1),
         "everything has changed its sign: z alone is read in the opposite sense."),
        (lambda weight, bias: _signed(weight, bias, -1, -1, 1),
         "r has changed its sign, too: z alone is read in the opposite sense."),
        (lambda weight, bias: (_report_weights(weight, bias)[0], _stacked(bias)),
         "U is right, but z's bias kept its sign: −(U x + b) needs both."),
    ),
)  # fmt: skip


def _states(x: Tensor, U: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """All states ``(batch, length + 1, hidden)`` from a zero one on, padding read like words."""
    states = [x.new_zeros(len(x), W.shape[1])]
    for word in x.unbind(1):
        states.append(_wrong_step(word, states[-1], U, W, b))
    return torch.stack(states, 1)


def _state_after(count: Tensor, x: Tensor, U: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """Each row's state after ``count`` words."""
    return _states(x, U, W, b)[torch.arange(len(x)), count]


def _last_state(x: Tensor, mask: Tensor, U: Tensor, W: Tensor, b: Tensor) -> Tensor:
    return _state_after(mask.sum(1), x, U, W, b)


def _last_state_by_unit(x: Tensor, mask: Tensor, U: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """With a mask that lies over the units instead of the rows, where their number is the same."""
    h = x.new_zeros(len(x), W.shape[1])
    for place in range(x.shape[1]):
        h = torch.where(mask[:, place], _wrong_step(x[:, place], h, U, W, b), h)
    return h


def _about_last_state(result: CaseResult) -> str | None:
    x, _, _, W, _ = result.case.inputs
    if len(x) != W.shape[1]:  # elsewhere the shapes do not fit
        return None
    if not torch.allclose(result.yours[0], _last_state_by_unit(*result.case.inputs), atol=1e-5):
        return None
    return (
        "mask[:, t] lies over the units, not the rows (there are as many here): give it an axis "
        "at the end, mask[:, t].unsqueeze(1)."
    )


def _rows_and_weights(rows: int, length: int, inputs: int, hidden: int) -> Kinds:
    numbers = rows, length, inputs, hidden
    shapes = (rows, length, inputs), (3, hidden, inputs), (3, hidden, hidden), (3, hidden)
    x, *weights = normal(numbers, *shapes)
    return {f"{kind}, numbers on the padding": (x, mask, *weights)
            for kind, mask in _padded(rows, length).items()}  # fmt: skip


check_last_state = Checker(
    name="last_state",
    about="""``f(x, mask, U, W, b)`` → each row's state after its last real word, ``(batch,
    hidden)``.

    ``x`` ``(batch, length, inputs)``, ``mask`` ``(batch, length)`` with the real words first, the
    weights as for ``check_gru_step``; from a zero state, which a row without any word keeps.""",
    reference=_last_state,
    cases=cases(
        "{:row} of {:word}, {:number} each, hidden size {}",
        ((1, 1, 1, 1), (1, 2, 1, 1), (1, 3, 2, 2), (2, 3, 2, 2), (3, 5, 2, 3), (8, 30, 6, 10)),
        _rows_and_weights,
    ),
    returns=("h",),
    shapes="one state for each row, that after its last word",
    start="h = torch.zeros(len(x), W.shape[1]), and a loop over the words, x[:, t] and mask[:, t].",
    span="from one word to 30",
    mistakes=(
        (lambda x, mask, U, W, b: _states(x, U, W, b)[:, -1],
         "the padding is read: short rows end in a state that saw what is not there."),
        (lambda x, mask, U, W, b: _states(x * mask.unsqueeze(2), U, W, b)[:, -1],
         "a padded word of zeros still moves the state, by W h and b: the step must not happen at "
         "all."),
        (lambda x, mask, U, W, b: _states(x, U, W, b)[:, -1] * mask[:, -1:],
         "padding wipes the state: rows that end early come out as zeros. Where nothing is real, "
         "the old state stays."),
        (lambda x, mask, U, W, b: _state_after(mask.sum(1).min().expand(len(x)), x, U, W, b),
         "you stop where the shortest row ends: the longer ones are not read to their end."),
        (lambda x, mask, U, W, b: _state_after((mask.sum(1) - 1).clamp(min=0), x, U, W, b),
         "your state is the one before the last word: n words make n steps."),
        (lambda x, mask, U, W, b: (
            _states(x, U, W, b)[:, 1:][torch.arange(len(x)), mask.sum(1) - 1]
         ),
         "a row without any real word takes its state at place −1, the end of its padding: it "
         "keeps its zero state."),
    ),
    diagnoses=(_about_last_state,),
)  # fmt: skip


def _jacobian(
    x: Tensor, h: Tensor, U: Tensor, W: Tensor, b: Tensor, *,
    kept: bool = True, gate: int = 1, taken: bool = True, reset: bool = True,
) -> Tensor:  # fmt: skip
    """∂h'/∂h of h' = (1 − z) ∘ h + z ∘ tanh(U_h x + W_h (r ∘ h) + b_h), term by term."""
    (U_r, U_z, U_h), (W_r, W_z, W_h), (b_r, b_z, b_h) = U, W, b
    r = torch.sigmoid(U_r @ x + W_r @ h + b_r)
    z = torch.sigmoid(U_z @ x + W_z @ h + b_z)
    candidate = torch.tanh(U_h @ x + W_h @ (r * h) + b_h)
    of_reset = torch.diag(r) + reset * torch.diag(h * r * (1 - r)) @ W_r
    return (
        kept * torch.diag(1 - z)
        + gate * torch.diag((candidate - h) * z * (1 - z)) @ W_z
        + taken * torch.diag(z * (1 - candidate**2)) @ W_h @ of_reset
    )


def _jacobian_inputs(hidden: int, inputs: int) -> Inputs:
    U, W, b, x, h = normal(
        (hidden, inputs, 7),
        (3, hidden, inputs), (3, hidden, hidden), (3, hidden), (inputs,), (hidden,),
    )  # fmt: skip
    return x, h.tanh(), U, W, b


check_gru_jacobian = Checker(
    name="gru_jacobian",
    about="""``f(x, h, U, W, b)``, ``x`` ``(inputs,)``, ``h`` ``(hidden,)``, the weights stacked in
    the order r, z, candidate → ∂h'/∂h of the report's step, ``(hidden, hidden)``, row i being the
    next state's unit i.""",
    reference=_jacobian,
    cases=cases(
        "{:unit}, {:input}", ((1, 1), (2, 1), (2, 3), (3, 2), (5, 4), (20, 10)), _jacobian_inputs
    ),
    returns=("jacobian",),
    start="h' is a sum of two products; differentiate each by the product rule, one factor at a "
    "time.",
    shapes="a row for each unit of the next state, a column for each of the old one",
    span="from one unit to 20",
    mistakes=(
        (lambda *given: _jacobian(*given, gate=0),
         "z depends on h, too: the term with ∂z/∂h = diag(z (1 − z)) W_z is missing."),
        (lambda *given: _jacobian(*given, gate=0, taken=False),
         "that is the way that is kept, diag(1 − z), alone: z and the candidate depend on h, too."),
        (lambda *given: _jacobian(*given, taken=False),
         "the candidate depends on h, too: its term is missing."),
        (lambda *given: _jacobian(*given, kept=False),
         "the old state itself is missing: ∂((1 − z) ∘ h)/∂h begins with diag(1 − z)."),
        (lambda *given: _jacobian(*given, reset=False),
         "r depends on h, too: ∂(r ∘ h)/∂h is diag(r) + diag(h r (1 − r)) W_r."),
        (lambda *given: _jacobian(*given, gate=-1),
         "the term of z has the wrong sign: z moves h' from h towards the candidate, so it is "
         "candidate − h."),
    ),
)  # fmt: skip
