"""Lesson 03: the search for the defect of a network that cannot be opened."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from course_kit.exercises.cases import Case, CaseResult, generator
from course_kit.exercises.judge import Checker

Predict = Callable[[Tensor, Tensor], Tensor]  # tokens and mask → logits
SOUND, PADDING, MEMORY, NEIGHBOURS, ORDER = "sound", "padding", "memory", "neighbours", "order"
DEFECTS = (SOUND, PADDING, MEMORY, NEIGHBOURS, ORDER)
SMALL = 1e-5  # logits that differ by less are the same


@dataclass
class Network:
    """A small model of documents with at most one defect; padding reaches a network with that
    defect along ``axis``, 1 of sentences or 2 of words."""

    defect: str
    axis: int = 2
    memory: Tensor = field(default_factory=lambda: torch.zeros(2), compare=False)

    def __call__(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Logits ``(documents, 2)``."""
        vectors = torch.randn(10, 2, generator=generator(10))[tokens] * mask.unsqueeze(-1)
        if self.defect != ORDER:
            vectors = vectors * (1 + torch.arange(tokens.shape[2]).unsqueeze(-1))
        logits = vectors.sum((1, 2)) / mask.sum((1, 2)).unsqueeze(1)
        if self.defect == PADDING:
            logits = logits / tokens.shape[self.axis]
        if self.defect == NEIGHBOURS:
            logits = logits - logits.mean(0)
        if self.defect == MEMORY:
            logits, self.memory = logits + self.memory, logits.mean(0)
        return logits


def _network_cases() -> list[Case]:
    tokens = torch.tensor([[[2, 3, 4], [5, 6, 0]], [[7, 3, 0], [8, 9, 2]]])
    large = torch.randint(2, 10, (4, 3, 6), generator=generator(7))
    large[:, 0, :2] = torch.tensor([2, 3])
    mask = torch.ones_like(large, dtype=torch.bool)
    mask[1, 2], mask[2, 1, 4:] = False, False
    batches = {"two documents": (tokens, tokens > 0), "four documents": (large * mask, mask)}
    networks = [(defect, 2) for defect in DEFECTS] + [(PADDING, 1)]
    return [
        Case(f"{what}, a network {_described(defect, axis)}", (Network(defect, axis), *batch))
        for what, batch in batches.items()
        for defect, axis in networks
    ]


def _described(defect: str, axis: int) -> str:
    return {
        SOUND: "that is sound",
        PADDING: f"that padding of {'sentences' if axis == 1 else 'words'} reaches",
        MEMORY: "that remembers the batch before",
        NEIGHBOURS: "that mixes the documents of a batch",
        ORDER: "that is blind to the order of words",
    }[defect]


def _differ(first: Tensor, second: Tensor) -> bool:
    return bool((first - second).abs().max() > SMALL)


def _by_tests(
    order: tuple[str, ...] = (MEMORY, NEIGHBOURS, PADDING, ORDER),
    words: int = 3,
    sentences: int = 2,
) -> Callable[[Predict, Tensor, Tensor], str]:
    """The answer of whoever makes these tests in this order, a call's result never used twice."""

    def swapped(tokens: Tensor) -> Tensor:
        tokens = tokens.clone()
        tokens[:, 0, [0, 1]] = tokens[:, 0, [1, 0]]
        return tokens

    def answer(predict: Any, tokens: Tensor, mask: Tensor) -> str:
        more = (0, words, 0, sentences)
        tests = {
            MEMORY: lambda: _differ(predict(tokens, mask), predict(tokens, mask)),
            NEIGHBOURS: lambda: _differ(predict(tokens[:1], mask[:1]), predict(tokens, mask)[:1]),
            PADDING: lambda: _differ(
                predict(pad(tokens, more), pad(mask, more)), predict(tokens, mask)
            ),
            ORDER: lambda: not _differ(predict(swapped(tokens), mask), predict(tokens, mask)),
        }
        return next((name for name in order if tests[name]()), SOUND)

    return answer


def _about_names(result: CaseResult) -> str | None:
    if result.yours[0] not in DEFECTS:
        return f"{result.yours[0]!r} is none of the names: {', '.join(map(repr, DEFECTS))}."
    return None


def _about_confusions(result: CaseResult) -> str | None:
    yours, expected = result.yours[0], result.expected[0]
    if expected == MEMORY:
        return (
            f"you say {yours!r} of a network with a memory: it answers differently at every call, "
            "so all tests that compare two calls see it. Ask about memory first, with two calls on "
            "the same batch."
        )
    if expected == SOUND:
        return f"you say {yours!r} of a sound network: {SOUND_BUT[yours]}"
    if expected == ORDER and yours in (PADDING, NEIGHBOURS):
        return (
            f"you say {yours!r} where nothing but rounding differs: compare with torch.allclose "
            "and a tolerance such as 1e-5."
        )
    return None


SOUND_BUT = {
    MEMORY: "ask it the same twice; only a network with a memory answers differently.",
    NEIGHBOURS: "compare one document with itself, alone and as a row of its batch.",
    PADDING: "what you add must not be part of a text. Padding stands behind the words, has index "
    "0 and a mask of False.",
    ORDER: "it reads words in order, so it answers differently when two are exchanged. The defect "
    "is that nothing changes.",
}


check_network_defect = Checker(
    name="network_defect",
    about="""``f(predict, tokens, mask)`` → ``"sound"``, or what is wrong with the network:
    ``"padding"``, ``"memory"``, ``"neighbours"`` or ``"order"``.""",
    reference=_by_tests(),
    cases=_network_cases,
    returns=("defect",),
    start='the same batch twice: if predict(tokens, mask) differs from itself, return "memory".',
    span="six networks on two batches",
    mistakes=(
        (
            _by_tests(sentences=0),
            (
                "you pad sentences with words only: padding of whole "
                "sentences can reach a network, too."
            ),
        ),
        (
            _by_tests(words=0),
            "you pad documents with sentences only: padding of words can reach a network, too.",
        ),
        (
            _by_tests(order=(MEMORY, NEIGHBOURS, PADDING)),
            'your function never answered "order" in any case: swap two real words '
            "of a sentence (do "
            "both survive your swap?). A network that reads them in "
            "order answers otherwise, so here "
            "*no* change is the defect.",
        ),
        (
            _by_tests(order=(MEMORY, PADDING, ORDER)),
            'your function never answered "neighbours" in any case: ask for one document '
            "alone, and "
            "in its batch.",
        ),
        (
            lambda predict, tokens, mask: SOUND,
            "you never find anything: five of the six networks have a defect.",
        ),
    ),
    diagnoses=(_about_names, _about_confusions),
)
