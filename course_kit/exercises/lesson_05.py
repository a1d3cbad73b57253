"""Lesson 05: IRAM's loop of steps."""

from collections.abc import Callable
from copy import deepcopy

import torch
from torch import Tensor, nn

from course_kit.exercises.building import building, network
from course_kit.exercises.cases import CaseResult, Inputs, masked_cases, normal
from course_kit.exercises.comparison import largest, same
from course_lib.models.iram import RecursiveAttention
from course_lib.models.layers import BilinearAttention, Highway, visible


class OurSteps(RecursiveAttention):
    """The library's loop, with the last summary in place of all."""

    def forward(self, h: Tensor, q: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """→ the last summary ``(n, hidden)`` and the attention ``(n, steps, columns)``."""
        summaries, attention = super().forward(h, q, mask)
        return summaries[:, -1], attention


def _take_steps(
    ours: OurSteps,
    h: Tensor,
    q: Tensor,
    mask: Tensor,
    appended: Callable[[Tensor, Tensor], Tensor] = lambda s_hat, s: s,
    asked: Callable[[nn.Module, Tensor, Tensor], Tensor] = lambda control, s, q: control(s, q),
    refine: Callable[[nn.Module, Tensor], Tensor] = lambda highway, s_hat: highway(s_hat),
    grows: bool = True,
    turned: bool = False,
    told: Callable[[Tensor, Tensor], Tensor] = lambda s_hat, s: s,
) -> tuple[Tensor, Tensor]:
    """The loop with another summary to append or tell, next query, highway, no growth, or a Wᵀ."""
    attend = deepcopy(ours.attend)
    attend.weight.data = attend.weight.mT if turned else attend.weight
    rows, columns, real = [], h.shape[1] + ours.steps - 1, mask.any(1, keepdim=True)
    for _ in range(ours.steps):
        a = attend(q.unsqueeze(1), h, mask).squeeze(1)
        rows.append(nn.functional.pad(a, (0, columns - a.shape[1])))
        s_hat = (a.unsqueeze(1) @ h).squeeze(1)
        s = refine(ours.refine, s_hat)
        if grows:
            h = torch.cat([h, appended(s_hat, s).unsqueeze(1)], 1)
            mask = torch.cat([mask, real], 1)
        q = asked(ours.controller, told(s_hat, s), q)
    return s, torch.stack(rows, 1)


def _about_steps(result: CaseResult) -> str | None:
    yours, (_, h, _, mask) = result.yours[1], result.case.inputs
    for said, change in (
        ("W is the wrong way round: the scores are q W Hᵀ.", {"turned": True}),
        ("the controller gets ŝ: it takes the summary s.", {"told": lambda s_hat, s: s_hat}),
    ):
        changed = _take_steps(*result.case.inputs, **change)[1]
        if same(yours, changed) and not same(yours, result.expected[1]):
            return said
    if result.wrong != 1:
        return None
    late = ~visible(mask, yours.shape[1])
    if (yours * late).any():
        text, row, column = (yours * late).nonzero()[0].tolist()
        if column < h.shape[1]:
            return f"in text {text} step {row + 1} attends to position {column}, which is padding."
        return (
            f"step {row + 1} attends to summary {column - h.shape[1] + 1}, which is not written "
            "yet, or belongs to an empty text: there the weight is exactly 0."
        )
    if torch.allclose(yours.sort(2)[0], result.expected[1].sort(2)[0], atol=1e-4):
        return "the weights are right, in other columns: words first, then s1, s2 and so on."
    off = (yours.sum(2) - mask.any(1, keepdim=True).float()).abs()
    if (off > 1e-4).any():
        text, row = largest(off)
        return (
            f"row {row + 1} of text {text} sums to {yours[text, row].sum():.3g}: a softmax over "
            "what exists at that step, then zeros behind it."
        )
    return None


def _steps_inputs(mask: Tensor, n: int, words: int, hidden: int, steps: int) -> Inputs:
    h, q = normal((n, words, hidden), (n, words, hidden), (n, hidden))
    states = h * mask.unsqueeze(2)  # as an LSTM leaves padding
    return network(OurSteps, hidden, steps, seed=words), states, q, mask


check_steps = building(
    ours=OurSteps,
    weights=lambda ours: {
        "bilinear": ours.attend.weight,
        "gate.weight": ours.refine.gates[0].weight,
        "gate.bias": ours.refine.gates[0].bias,
        "transform.weight": ours.refine.transforms[0].weight,
        "transform.bias": ours.refine.transforms[0].bias,
        **{f"controller.{name}": value for name, value in ours.controller.named_parameters()},
    },
    sizes=lambda ours: (len(ours.attend.weight), ours.steps),
    forbidden=(RecursiveAttention, BilinearAttention, Highway),
    name="steps",
    about="""``f(h, q, mask)``, states ``(n, words, hidden)``, first query ``(n, hidden)``, ``mask``
    ``(n, words)`` → the last summary ``(n, hidden)`` and the attention ``(n, steps, words + steps −
    1)``.

    Each step attends by softmax(q W hᵀ), makes its summary with the highway and appends it; the
    next query is the controller's, of the summary and the old query.""",
    cases=masked_cases(
        "{0:text} of {1:word}, {3} steps",
        ((1, 1, 2, 2), (1, 3, 4, 2), (2, 4, 4, 3), (4, 9, 6, 4)),
        _steps_inputs,
    ),
    returns=("summary", "attention"),
    shapes="the last summary is never attended to, so words + steps − 1 columns",
    start="one loop over the steps; each makes a row of the attention, h, q and mask for the next.",
    span="up to four texts and four steps",
    mistakes=(
        (
            lambda *given: _take_steps(*given, appended=lambda s_hat, s: s_hat),
            "what you append is ŝ itself: later steps attend to the refined summary s.",
        ),
        (
            lambda *given: _take_steps(*given, grows=False),
            "the summary is never appended to h, so no step sees what the ones before it found.",
        ),
        (
            lambda *given: _take_steps(*given, asked=lambda control, s, q: q),
            (
                "the query stays the same, so every step asks the same "
                "question: self.controller(s, q)."
            ),
        ),
        (
            lambda *given: _take_steps(*given, asked=lambda control, s, q: control(q, s)),
            "the controller takes the summary first, then the query it replaces.",
        ),
        (
            lambda *given: _take_steps(*given, asked=lambda control, s, q: s),
            "the summary itself becomes the query: it should go through the controller.",
        ),
        (
            lambda *given: _take_steps(*given, refine=lambda highway, s_hat: s_hat),
            "the highway is never used: s is self.highway(s_hat).",
        ),
    ),
    diagnoses=(_about_steps,),
)
