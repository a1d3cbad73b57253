"""Lesson 01: a GRU's step, a reader that unrolls it over a padded batch, gates set by hand."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from course_kit.exercises.building import building, network
from course_kit.exercises.case_in_words import number
from course_kit.exercises.cases import Case, CaseResult, generator, masks, named, normal, plural
from course_kit.exercises.judge import Checker, Remark
from course_lib.models.gru import BidirectionalGRU, GRUCell

RECURRENT = (nn.GRU, nn.GRUCell, nn.LSTM, nn.LSTMCell, nn.RNN, nn.RNNCell)


class OurCell(nn.Module):
    """The library's GRU cell with a layer for each matrix, behind the interface of the lesson's
    class."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.U_r, self.W_r = nn.Linear(inputs, hidden), nn.Linear(hidden, hidden, bias=False)
        self.U_z, self.W_z = nn.Linear(inputs, hidden), nn.Linear(hidden, hidden, bias=False)
        self.U_h, self.W_h = nn.Linear(inputs, hidden), nn.Linear(hidden, hidden, bias=False)

    def forward(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        """``x`` ``(batch, inputs)``, ``h`` ``(batch, hidden)`` → next state and update gate, as
        ``h``."""
        return _step(self, x, h)


def _blend(z: Tensor, h: Tensor, candidate: Tensor) -> Tensor:
    return (1 - z) * h + z * candidate


def _step(
    ours: OurCell,
    x: Tensor,
    h: Tensor,
    mix: Callable[[Tensor, Tensor, Tensor], Tensor] = _blend,
    squash: Callable[[Tensor], Tensor] = torch.tanh,
    reset_after: bool = False,
    exchanged: bool = False,
) -> tuple[Tensor, Tensor]:
    """A step, and what becomes of it with one line exchanged."""
    r = torch.sigmoid(ours.U_r(x) + ours.W_r(h))
    z = torch.sigmoid(ours.U_z(x) + ours.W_z(h))
    r, z = (z, r) if exchanged else (r, z)
    past = r * ours.W_h(h) if reset_after else ours.W_h(r * h)
    return mix(z, h, squash(ours.U_h(x) + past)), z


def _cell(inputs: int, hidden: int, scale: float) -> OurCell:
    cell = network(OurCell, inputs, hidden, seed=hidden)
    with torch.no_grad():
        for weights in cell.parameters():
            weights *= scale
    return cell


def _step_cases() -> list[Case]:
    made = []
    for batch, inputs, hidden in ((1, 1, 1), (1, 1, 2), (2, 3, 2), (3, 4, 5), (16, 50, 50)):
        x, h = normal((batch, inputs, hidden), (batch, inputs), (batch, hidden))
        size = f"{plural(batch, 'row')}, {plural(inputs, 'input')}, hidden size {hidden}"
        for kind, scale in (("weights around 1", 2.0), ("gates fully open or shut", 40.0)):
            made.append(Case(f"{size}, {kind}", (_cell(inputs, hidden, scale), x, h.tanh())))
    return made


check_gru_step = building(
    ours=OurCell,
    weights=lambda ours: dict(ours.named_parameters()),
    sizes=lambda ours: (ours.U_r.in_features, ours.U_r.out_features),
    forbidden=(GRUCell, *RECURRENT),
    name="gru_step",
    about="""``f(x, h)``, ``x`` ``(batch, inputs)``, ``h`` ``(batch, hidden)`` → the next state and
    the update gate z, both ``(batch, hidden)``, by equations (1) to (4).""",
    cases=_step_cases,
    returns=("h", "z"),
    start="r = torch.sigmoid(self.U_r(x) + self.W_r(h)), and z in the same way.",
    span="from one unit to 50",
    mistakes=(
        (
            lambda *given: _step(*given, mix=lambda z, h, new: _blend(1 - z, h, new)),
            "z has the opposite sense: in (4) z = 1 takes the candidate (in nn.GRU it keeps the "
            "old state).",
        ),
        (
            lambda *given: _step(*given, reset_after=True),
            "the reset gate acts after the product, r ∘ (W_h h), as in nn.GRU; in (3) it is "
            "W_h (r ∘ h).",
        ),
        (
            lambda *given: _step(*given, exchanged=True),
            "r and z are exchanged: r weighs the past inside the candidate, z the candidate.",
        ),
        (
            lambda *given: _step(*given, mix=lambda z, h, new: h + z * new),
            "the old state is kept whole: weigh it by 1 − z, or the state grows without bound.",
        ),
        (
            lambda *given: _step(*given, mix=lambda z, h, new: (1 - z) * h + new),
            "the candidate is taken whole: weigh it by z.",
        ),
        (
            lambda *given: _step(*given, mix=lambda z, h, new: z * new),
            "nothing of the old state is kept: (1 − z) ∘ h is missing.",
        ),
        (
            lambda *given: _step(*given, squash=torch.sigmoid),
            "the candidate goes through a sigmoid: it is a tanh.",
        ),
        (
            lambda *given: _step(*given, squash=lambda a: a),
            "the candidate is not squashed: it is a tanh.",
        ),
    ),
)


class OurReader(nn.Module):
    """Vectors, a cell that steps through the words, and a linear layer on the last state."""

    def __init__(
        self,
        vocabulary: int,
        width: int,
        hidden: int,
        classes: int,
        cell: Callable[[int, int], nn.Module],
    ) -> None:
        super().__init__()
        self.hidden = hidden
        self.embedding = nn.Embedding(vocabulary, width)
        self.cell = cell(width, hidden)
        self.classifier = nn.Linear(hidden, classes)

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Ids and mask ``(n, words)`` → logits ``(n, classes)`` and the state after each word
        ``(n, words, hidden)``, which stays what it was on padding."""
        return _read(self, tokens, mask)


def _keep(real: Tensor, new: Tensor, h: Tensor) -> Tensor:
    return torch.where(real.unsqueeze(1), new, h)


def _read(
    ours: OurReader,
    tokens: Tensor,
    mask: Tensor,
    choose: Callable[[Tensor, Tensor, Tensor], Tensor] = _keep,
    hand_on: bool = True,
    late: bool = True,
) -> tuple[Tensor, Tensor]:
    """The reader with another way to ``choose`` between the new state and the old; with every word
    read from a zero state; or with states from before each word."""
    x = ours.embedding(tokens)
    h, states = x.new_zeros(len(x), ours.hidden), []
    for t in range(x.shape[1]):
        before = h
        h = choose(mask[:, t], ours.cell(x[:, t], h if hand_on else torch.zeros_like(h))[0], h)
        states.append(h if late else before)
    return ours.classifier(h), torch.stack(states, 1)


def _at_last_place(ours: OurReader, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """States that read the padding; judged by the one at the last real word."""
    _, states = _read(ours, tokens, torch.ones_like(mask))
    return ours.classifier(states[torch.arange(len(states)), mask.sum(1) - 1]), states


def _by_unit(real: Tensor, new: Tensor, h: Tensor) -> Tensor:
    """The mask over the units instead of the rows, where there are as many."""
    return torch.where(real, new, h) if len(real) == h.shape[1] else _keep(real, new, h)


def _about_reader(result: CaseResult) -> str | None:
    ours, tokens, mask = result.case.inputs
    with torch.no_grad():
        wrong = _read(ours, tokens, mask, _by_unit)[1]
    if len(tokens) != ours.hidden or not torch.allclose(result.yours[1], wrong, atol=1e-4):
        return None
    return (
        "mask[:, t] lies over the units, not the rows (there are as many here): give it an axis "
        "at the end, mask[:, t, None]."
    )


def _reader_cases() -> list[Case]:
    found = {}
    for n, words, hidden in ((1, 1, 2), (1, 3, 2), (3, 4, 3), (4, 9, 5)):
        tokens = torch.randint(1, 12, (n, words), generator=generator(n, words))
        ours = network(OurReader, 12, 3, hidden, 2, OurCell, seed=words)
        size = f"{plural(n, 'text')} of {plural(words, 'word')}, hidden size {hidden}"
        kinds = ("all real", "some padded", "the last one empty")[: 2 + (n > 1)]
        for kind, mask in zip(kinds, masks(n, words)):
            found[f"{size}, {kind}, numbers on the padding"] = ours, tokens, mask
    return named(found)


check_gru_reader = building(
    ours=OurReader,
    weights=lambda ours: dict(ours.named_parameters()),
    sizes=lambda ours: (12, 3, ours.hidden, 2, OurCell),
    forbidden=(GRUCell, BidirectionalGRU, *RECURRENT),
    name="gru_reader",
    about="""``f(tokens, mask)``, both ``(n, words)`` → logits ``(n, classes)`` of the state after
    the last real word, and the states ``(n, words, hidden)``, from a zero one on; on padding a
    state stays what it was.""",
    cases=_reader_cases,
    returns=("logits", "states"),
    shapes="logits has a row for each text, states one vector for each word",
    start="h begins as zeros (n, hidden); new, _ = self.cell(x[:, t], h) for each word t.",
    span="up to four texts of nine words",
    mistakes=(
        (
            lambda ours, tokens, mask: _read(ours, tokens, torch.ones_like(mask)),
            "the padding is read: short rows end in a state that saw what is not there.",
        ),
        (
            lambda *given: _read(*given, choose=lambda real, new, h: new * real.unsqueeze(1)),
            "padding wipes the state: where nothing is real, the old state stays.",
        ),
        (
            _at_last_place,
            "the logits are those of the last real word, but the states "
            "after it are not: they should "
            "stay what they were. A row without words keeps its zero state.",
        ),
        (
            lambda *given: _read(*given, hand_on=False),
            "every word is read from a zero state: pass on the state of the last word.",
        ),
        (
            lambda *given: _read(*given, late=False),
            "the states come one word too late: states[:, t] is the one after word t.",
        ),
        (
            lambda ours, tokens, mask: _read(ours, tokens, mask & mask.all(0)),
            "you stop where the shortest row ends: the longer ones are not read to their end.",
        ),
    ),
    diagnoses=(_about_reader,),
)


WITHIN = 0.1  # how far what is kept may be from the name


def _called(words: Tensor) -> Tensor:
    """The name after the last call, ±1, at each word, and 0 before the first: ``(length,)``."""
    kept, held = [], 0.0
    for before, (_, name) in zip([0.0, *words[:-1, 0].tolist()], words.tolist(), strict=True):
        held = name if before else held
        kept.append(held)
    return torch.tensor(kept)


def _second_unit(answer: Callable[[], Any]) -> Callable[[Tensor], Any]:
    """What unit 2 of a cell holds after each word, its gate z and its candidate there, with the
    weights that the ``answer`` returns."""

    def kept(words: Tensor) -> Any:
        weights = answer()
        if weights is None or weights is Ellipsis:
            return weights
        shapes = [tuple(torch.as_tensor(part).shape) for part in weights]
        if shapes != [(2, 2), (2, 2), (2,), (2, 2)]:
            raise Remark(
                f"the shapes are {shapes}: return U_z (2, 2), W_z (2, 2), b_z (2,) and U_h (2, 2)."
            )
        U_z, W_z, b_z, U_h = (torch.as_tensor(part).float() for part in weights)
        h, found = torch.zeros(2), []
        for x in words:
            z, candidate = torch.sigmoid(U_z @ x + W_z @ h + b_z), torch.tanh(U_h @ x)
            h = _blend(z, h, candidate)
            found.append(torch.stack([h[1], z[1], candidate[1]]))
        return tuple(torch.stack(found, 1))

    kept.forward = answer
    return kept


def _latch_weights() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    U_h, W_z = 5 * torch.eye(2), torch.tensor([[0.0, 0.0], [20.0, 0.0]])
    return torch.zeros(2, 2), W_z, torch.tensor([10.0, -10.0]), U_h


def _about_kept(words: Tensor, kept: Tensor, z: Tensor, candidate: Tensor) -> str:
    right = _called(words)
    off = ((kept - right).abs() <= WITHIN).logical_not()  # NaN is off, too
    if not off.any():
        return ""
    t = int(off.nonzero()[0])
    says = f"unit 2 holds {number(kept[t].item())} after word {t + 1}, expected {right[t]:.0f}"
    if t and words[t - 1, 0]:
        says = f"{says}. It is the word after call,"
        if z[t] < 1 - WITHIN:
            return (
                f"{says} at which z of unit 2 should be near 1, and it is {z[t]:.2f}. What can z "
                "of unit 2 know of the word before?"
            )
        if candidate[t] * right[t] <= 0:
            found = number(candidate[t].item())
            return f"{says} and z of unit 2 is open, but the candidate that it takes is {found}."
        return (
            f"{says} and z of unit 2 is open ({z[t]:.2f}), but the candidate that it takes is only "
            f"{candidate[t]:.2f}, too far from {right[t]:.0f}: how large must the input of a tanh "
            "be?"
        )
    if words[t, 0]:
        return f"{says}: this word is call, at which z of unit 2 must still be shut."
    if words[t, 1]:
        return f"{says}: this name does not follow call, so z of unit 2 must be shut: b_z."
    return (
        f"{says}: it fades, because z of unit 2 is not shut enough. σ(−3) still takes 5 % at every "
        "word: use a larger negative bias, and a larger weight to open it."
    )


def _latch_cases() -> list[Case]:
    made = []
    for length, calls in ((2, (0,)), (3, (1,)), (6, (2,)), (30, (3, 17)), (200, (5,))):
        source = generator(length)
        name = torch.randint(-1, 2, (length,), generator=source).float()
        words = torch.stack([torch.zeros(length), name], 1)  # (length, 2)
        for place in calls:
            words[place] = torch.tensor([1.0, 0.0])
            if place + 1 < length:
                words[place + 1, 1] = 1.0 if place % 2 else -1.0
        made.append(
            Case(f"{length} words, call at {' and '.join(str(p + 1) for p in calls)}", (words,))
        )
    return made


check_latch = Checker(
    name="latch",
    about="""``f()`` → ``U_z`` ``(2, 2)``, ``W_z`` ``(2, 2)``, ``b_z`` ``(2,)``, ``U_h`` ``(2, 2)``
    of a GRU with two inputs and two units, all other weights 0, whose unit 2 holds the name (±1,
    input 2) that followed the last call (input 1).""",
    reference=_second_unit(_latch_weights),
    adapt=_second_unit,
    cases=_latch_cases,
    returns=("kept", "z", "candidate"),
    start="unit 1: U_h[0] = [5, 0] and b_z[0] = 10, so that it is near 1 after call, else 0.",
    span="2 to 200 words",
    requirement=_about_kept,
)
