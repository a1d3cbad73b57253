"""Lesson 03: documents of sentences, the redundancy of hops, and the search for defects."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from course_kit.exercises.cases import (
    Case,
    CaseResult,
    Kinds,
    cases,
    generator,
    normal,
    plural,
    ragged,
)
from course_kit.exercises.judge import Checker
from course_lib.models.han import hop_redundancy


def _hops(kind: str, n: int, hops: int, length: int) -> Tensor:
    if kind == "one-hot":
        return torch.eye(length)[torch.arange(hops) % length].expand(n, -1, -1).clone()
    (scores,) = normal((n, hops, length), (n, hops, length))
    return torch.zeros_like(scores).softmax(-1) if kind == "uniform" else (2 * scores).softmax(-1)


def _hops_of_each_kind(n: int, hops: int, length: int) -> Kinds:
    return {kind: (_hops(kind, n, hops, length),) for kind in ("uniform", "one-hot", "random")}


def _overlap(alpha: Tensor) -> Tensor:
    return alpha @ alpha.transpose(1, 2)


def _self_overlap(alpha: Tensor) -> Tensor:
    return _overlap(alpha) - torch.eye(alpha.shape[1])


check_redundancy = Checker(
    name="redundancy",
    about="""``f(alpha)``, ``(n, hops, length)`` → ‖A Aᵀ − I‖²_F of each row's hops, ``(n,)``.""",
    reference=hop_redundancy,
    cases=cases(
        "{:row} of {:hop} over {:token}",
        ((1, 1, 1), (1, 1, 2), (1, 2, 2), (1, 2, 3), (2, 2, 3), (3, 3, 5), (2, 4, 30), (4, 3, 200)),
        _hops_of_each_kind,
    ),
    returns=("redundancy",),
    shapes="one number for each row of the batch, so sum over the hops' two axes, (1, 2)",
    start="A @ A.transpose(1, 2): what is on its diagonal, what beside it?",
    span="from one hop to four",
    mistakes=(
        (lambda alpha: _overlap(alpha).square().sum((1, 2)),
         "the identity is not subtracted: a hop's overlap with itself should cost nothing when it "
         "looks at one place."),
        (lambda alpha: hop_redundancy(alpha.transpose(1, 2)),
         "you compare places, Aᵀ A ``(length, length)``; hops are compared by A Aᵀ "
         "``(hops, hops)``."),
        (lambda alpha: _self_overlap(alpha).square().mean((1, 2)),
         "you take the mean over pairs of hops; the squared norm is their sum."),
        (lambda alpha: _self_overlap(alpha).sum((1, 2)),
         "the entries are summed without being squared, so too little and too much cancel out."),
        (lambda alpha: _self_overlap(alpha).sum((1, 2)).square(),
         "you sum, then square: square each entry first, so that nothing cancels out."),
        (lambda alpha: _self_overlap(alpha).abs().sum((1, 2)),
         "you sum absolute values; the squared Frobenius norm sums squares."),
    ),
)  # fmt: skip


def _sentence_inputs(documents: int, sentences: int, words: int) -> Kinds:
    whole = torch.ones(documents, sentences, words, dtype=torch.bool)
    ended = ragged(documents * sentences, words).view(whole.shape).clone()
    ended[0, sentences // 2 + 1 :] = False
    hollow, empty = ended.clone(), ended.clone()
    hollow[-1, : sentences // 2], empty[-1] = False, False
    kinds = {
        "all real": whole,
        "some padded": ended,
        "an empty sentence before a real one": hollow,
        "the last document without a word": empty,
    }
    return {
        kind: (*normal(mask.shape, (int(mask.any(2).sum()), 2)), mask)
        for kind, mask in kinds.items()
    }


def _in_place(s: Tensor, mask: Tensor) -> Tensor:
    return _filled(s, mask.any(2))


def _filled(s: Tensor, real: Tensor) -> Tensor:
    padded = s.new_zeros(*real.shape, s.shape[1])
    padded[real] = s
    return padded


def _without_gaps(s: Tensor, mask: Tensor) -> Tensor:
    real = mask.any(2).flatten().sort(descending=True, stable=True).values
    return _filled(s, real.view(mask.shape[:2]))


check_sentences_in_place = Checker(
    name="sentences_in_place",
    about="""``f(s, mask)`` with ``s`` ``(real sentences, hidden)``, document after document, and
    ``mask`` ``(documents, sentences, words)`` → ``(documents, sentences, hidden)``, each vector
    where its sentence stands, zeros where none does.""",
    reference=_in_place,
    cases=cases(
        "{:document} of {:sentence}, {:word} each",
        ((1, 1, 1), (1, 2, 1), (2, 2, 2), (2, 3, 3), (4, 7, 30)),
        _sentence_inputs,
    ),
    returns=("sentences",),
    start="real = mask.any(2); a tensor of zeros can be assigned to at [real].",
    span="from one sentence to four documents of seven",
    mistakes=(
        (_without_gaps,
         "the vectors stand one after the other from the first place on: where a document ends "
         "early, its other places stay zero and the next document begins in its own row."),
        (lambda s, mask: _filled(s, mask.any(2).T).transpose(0, 1),
         "the vectors are dealt out to all first sentences, then to all second ones: they come "
         "document after document."),
        (lambda s, mask: _in_place(s.flip(0), mask),
         "the sentences come in the order from last to first: keep the order of s."),
    ),
    diagnoses=(lambda result: _about_empty(result),),
)  # fmt: skip


def _about_empty(result: CaseResult) -> str | None:
    empty = ~result.case.inputs[1].any(2)
    if not result.yours[0][empty].any():
        return None
    return "a place without a sentence is not zero: start from zeros and set the real ones only."


def _f1(true_positive: int, false_positive: int, false_negative: int) -> Tensor:
    twice_true = 2 * true_positive
    return torch.tensor(twice_true / max(1, twice_true + false_positive + false_negative))


def _all_missed(positive: int, negative: int, wrong: int) -> Tensor:
    errors = min(wrong, positive)
    return _f1(positive - errors, wrong - errors, errors)


def _all_false_alarms(positive: int, negative: int, wrong: int) -> Tensor:
    alarms = min(wrong, negative)
    return _f1(positive - (wrong - alarms), alarms, wrong - alarms)


def _about_split(result: CaseResult) -> str | None:
    positive, negative, wrong = result.case.inputs
    if float(result.yours[0]) > float(result.expected[0]):
        missed = min(wrong, positive)
        return (
            f"it can be smaller: {plural(missed, 'missed positive')} and "
            f"{plural(wrong - missed, 'false alarm')} give {result.expected[0]:.4g}."
        )
    return (
        f"no split gives so little: at most {min(wrong, positive)} of the errors can be missed "
        f"positives, and at most {min(wrong, negative)} false alarms."
    )


check_smallest_f1 = Checker(
    name="smallest_f1",
    about="""``f(positive, negative, wrong)`` → the smallest F1 that so many wrong answers allow on
    so many positive and negative documents.""",
    reference=_all_missed,
    cases=lambda: [
        Case(f"{positive} positive, {negative} negative, {wrong} wrong",
             (positive, negative, wrong))
        for positive, negative, wrongs in ((1, 1, (0, 1, 2)), (2, 4, (1, 2, 3)), (6, 3, (1, 4, 7)),
                                           (50, 50, (10, 60)), (12_500, 12_500, (3_750,)))
        for wrong in wrongs
    ],
    returns=("f1",),
    start="try every fn from 0 to wrong: then fp = wrong − fn and tp = positive − fn.",
    span="up to the report's 12,500 and 12,500",
    mistakes=(
        (_all_false_alarms,
         "that is the largest F1: wrong answers that are false alarms cost less than missed "
         "positives."),
        (lambda positive, negative, wrong: torch.tensor(1 - wrong / (positive + negative)),
         "that is the accuracy, which does not care which kind an error is."),
        (lambda positive, negative, wrong: _f1(positive - wrong // 2, wrong - wrong // 2,
                                               wrong // 2),
         "you share the errors equally between the two kinds: one kind lowers F1 more."),
        (lambda positive, negative, wrong: torch.tensor(max(0, positive - wrong) / positive),
         "that is the recall; F1 is 2 tp / (2 tp + fp + fn)."),
        (lambda positive, negative, wrong: torch.tensor(
            2 * (positive - wrong) / (2 * (positive - wrong) + wrong) if wrong < 2 * positive
            else 0.0),
         "with more errors than positives you count a negative number of true positives: fn is at "
         "most positive, the other errors are false alarms."),
        (lambda positive, negative, wrong: _all_missed(positive, negative, max(0, wrong - 1)),
         "one wrong answer is left out: range(wrong) ends at wrong − 1, so range(wrong + 1)."),
    ),
    diagnoses=(_about_split,),
)  # fmt: skip


Predict = Callable[[Tensor, Tensor], Tensor]  # tokens and mask → logits
SOUND, PADDING, MEMORY, NEIGHBOURS, ORDER = "sound", "padding", "memory", "neighbours", "order"
DEFECTS = (SOUND, PADDING, MEMORY, NEIGHBOURS, ORDER)
SMALL = 1e-5  # logits that differ by less are the same


def _odds(share: float, shown: float, words: int, places: int) -> Tensor:
    missing = share - shown
    if missing == 0:
        return torch.tensor(math.inf)
    return torch.tensor((shown / words) / (missing / (places - words)))


def _odds_case(share: float, shown: float, words: int, places: int) -> Case:
    what = f"{plural(words, 'word')} in {places} places, {shown:.2%} of {share:.2%} shown"
    return Case(what, (share, shown, words, places))


def _otherwise(formula: Callable[[float, float, int, int], float]) -> Callable[..., Tensor]:
    """A wrong formula, right only where nothing is missing."""
    return lambda share, shown, words, places: torch.tensor(
        math.inf if shown == share else formula(share, shown, words, places)
    )


def _about_nothing_missing(result: CaseResult) -> str | None:
    share, shown = result.case.inputs[:2]
    if share == shown and not result.remark:
        return "nothing is missing here, so padding weighs nothing: the factor is math.inf."
    return None


check_padding_odds = Checker(
    name="padding_odds",
    about="""``f(share, shown, words, places)`` → by what factor the average of ``words`` words
    outweighs one place of padding, if a softmax without a mask ran over ``places`` places: the
    sentence has ``share`` of the document, its words add up to ``shown``. Infinite if nothing is
    missing.""",
    reference=_odds,
    cases=lambda: [
        _odds_case(*figures)
        for figures in (
            (0.5, 0.25, 1, 2), (0.4, 0.3, 1, 2), (0.4, 0.1, 1, 2), (0.4, 0.3, 2, 3),
            (0.4, 0.3, 1, 3), (0.5, 0.5, 2, 4), (0.2, 0.15, 10, 30), (0.25, 0.05, 4, 50),
            (0.0940, 0.0692, 16, 30),
        )
    ],
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
            PADDING: lambda: _differ(predict(pad(tokens, more), pad(mask, more)),
                                    predict(tokens, mask)),
            ORDER: lambda: not _differ(predict(swapped(tokens), mask), predict(tokens, mask)),
        }  # fmt: skip
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
        (lambda predict, tokens, mask: SOUND,
         "you never find anything: five of the six networks have a defect."),
    ),
    diagnoses=(_about_names, _about_confusions),
)  # fmt: skip
