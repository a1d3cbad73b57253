"""Checkers of lesson 03's exercises in detection: from published numbers, and from a network that
can only be asked."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from course_kit.exercises.checks.core import Case, Checker, Trial, check, generator, plural

Predict = Callable[[Tensor, Tensor], Tensor]  # tokens and mask → logits
SOUND, PADDING, MEMORY, NEIGHBOURS, ORDER = "sound", "padding", "memory", "neighbours", "order"
DEFECTS = (SOUND, PADDING, MEMORY, NEIGHBOURS, ORDER)
SMALL = 1e-5  # logits that differ by less are the same


def check_padding_odds(function: Callable[[float, float, int, int], float]) -> None:
    """``f(share, shown, words, places)`` → by what factor the average of ``words`` words outweighs
    one place of padding, if a softmax without a mask ran over ``places`` places: the sentence has
    ``share`` of the document, its words add up to ``shown``. Infinite if nothing is missing."""
    check(PADDING_ODDS, function)


def check_network_defect(function: Callable[[Predict, Tensor, Tensor], str]) -> None:
    """``f(predict, tokens, mask)`` → ``"sound"``, or what is wrong with the network: ``"padding"``,
    ``"memory"``, ``"neighbours"`` or ``"order"``."""
    check(NETWORK_DEFECT, function)


def _odds(share: float, shown: float, words: int, places: int) -> Tensor:
    missing = share - shown
    if missing == 0:
        return torch.tensor(math.inf)
    return torch.tensor((shown / words) / (missing / (places - words)))


def _odds_cases() -> list[Case]:
    figures = [
        (0.5, 0.25, 1, 2), (0.4, 0.3, 1, 2), (0.4, 0.1, 1, 2), (0.4, 0.3, 2, 3), (0.4, 0.3, 1, 3),
        (0.5, 0.5, 2, 4), (0.2, 0.15, 10, 30), (0.25, 0.05, 4, 50), (0.0940, 0.0692, 16, 30),
    ]  # fmt: skip
    return [
        Case(
            f"{plural(words, 'word')} in {places} places, {shown:.2%} of {share:.2%} shown", figure
        )
        for figure in figures
        for share, shown, words, places in [figure]
    ]


def _otherwise(formula: Callable[[float, float, int, int], float]) -> Callable[..., Tensor]:
    """A wrong formula, right only where nothing is missing."""
    return lambda share, shown, words, places: torch.tensor(
        math.inf if shown == share else formula(share, shown, words, places)
    )


def _about_nothing_missing(trial: Trial) -> str | None:
    share, shown = trial.case.inputs[:2]
    if share == shown and not trial.remark:
        return "nothing is missing here, so padding weighs nothing: the factor is math.inf."
    return None


PADDING_ODDS = Checker(
    name="padding_odds",
    reference=_odds,
    cases=_odds_cases,
    returns=("factor",),
    start="what one word has on average, and what one place of padding has: divide.",
    span="up to the report's 16 words in 30 places",
    mistakes=(
        (_otherwise(lambda share, shown, words, places: shown / (share - shown)),
         "that compares all words with all padding: divide each by its number of places first."),
        (_otherwise(lambda share, shown, words, places:
                    (share - shown) / (places - words) / (shown / words)),
         "that is the factor upside down: how much heavier is a word than a place of padding?"),
        (_otherwise(lambda share, shown, words, places:
                    (shown / words) / ((share - shown) / places)),
         "only places − words of the places are padding."),
        (_otherwise(lambda share, shown, words, places:
                    (share / words) / ((share - shown) / (places - words))),
         "you give the words the whole share: they have what is shown, padding has the rest."),
        (_otherwise(lambda share, shown, words, places:
                    (shown / words) / (shown / (places - words))),
         "you give padding what the words have: padding has share − shown."),
        (_otherwise(lambda share, shown, words, places:
                    math.log((shown / words) / ((share - shown) / (places - words)))),
         "that is the difference of the scores; the weights differ by the factor, its exp."),
        (_otherwise(lambda share, shown, words, places:
                    (shown / words) - ((share - shown) / (places - words))),
         "that is a difference; a factor is a quotient."),
        (_otherwise(lambda share, shown, words, places:
                    (shown / words) / (share - shown) / (places - words)),
         "a / b / c divides by both: set brackets around what one place of padding has."),
        (_otherwise(lambda share, shown, words, places:
                    (shown / words) / ((1 - shown) / (places - words))),
         "the whole is the sentence's share, not 1: padding has share − shown."),
        (_otherwise(lambda share, shown, words, places:
                    (shown / words) / ((1 - share) / (places - words))),
         "1 − share is what the other sentences have: padding has share − shown."),
    ),
    diagnoses=(_about_nothing_missing,),
)  # fmt: skip


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
    signed: bool = False,
) -> Callable[[Predict, Tensor, Tensor], str]:
    """The answer of whoever makes these tests in this order, a call's result never used twice."""

    def differ(first: Tensor, second: Tensor) -> bool:
        return bool((first - second).max() > SMALL) if signed else _differ(first, second)

    def swapped(tokens: Tensor) -> Tensor:
        tokens = tokens.clone()
        tokens[:, 0, [0, 1]] = tokens[:, 0, [1, 0]]
        return tokens

    def answer(predict: Any, tokens: Tensor, mask: Tensor) -> str:
        more = (0, words, 0, sentences)
        tests = {
            MEMORY: lambda: differ(predict(tokens, mask), predict(tokens, mask)),
            NEIGHBOURS: lambda: differ(predict(tokens[:1], mask[:1]), predict(tokens, mask)[:1]),
            PADDING: lambda: differ(predict(pad(tokens, more), pad(mask, more)),
                                    predict(tokens, mask)),
            ORDER: lambda: not differ(predict(swapped(tokens), mask), predict(tokens, mask)),
        }  # fmt: skip
        return next((name for name in order if tests[name]()), SOUND)

    return answer


def _about_names(trial: Trial) -> str | None:
    if trial.yours[0] not in DEFECTS:
        return f"{trial.yours[0]!r} is none of the names: {', '.join(map(repr, DEFECTS))}."
    return None


def _about_confusions(trial: Trial) -> str | None:
    yours, expected = trial.yours[0], trial.expected[0]
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


NETWORK_DEFECT = Checker(
    name="network_defect",
    reference=_by_tests(),
    cases=_network_cases,
    returns=("defect",),
    start='the same batch twice: if predict(tokens, mask) differs from itself, return "memory".',
    span="six networks on two batches",
    mistakes=(
        (_by_tests(sentences=0),
         "you pad sentences with words only: padding of whole sentences can reach a network, too."),
        (_by_tests(words=0),
         "you pad documents with sentences only: padding of words can reach a network, too."),
        (_by_tests(order=(MEMORY, NEIGHBOURS, PADDING)),
         'nothing you return is "order": swap two real words of a sentence (do both survive your '
         "swap?). A network that reads them in order answers otherwise, so here *no* change is the "
         "defect."),
        (_by_tests(order=(MEMORY, PADDING, ORDER)),
         'nothing you return is "neighbours": ask for one document alone, and in its batch.'),
        (_by_tests(order=(NEIGHBOURS, PADDING, ORDER)),
         "a network with a memory answers differently at every call, so your other tests take it "
         "for something else. Ask about memory first, with the same batch twice."),
        (lambda predict, tokens, mask: SOUND,
         "you never find anything: five of the six networks have a defect."),
    ),
    diagnoses=(_about_names, _about_confusions),
)  # fmt: skip
