"""Lesson 00: how many words attention uses, which ones, and how many turn a decision."""

import math
import operator
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from course_kit.exercises.cases import Case, CaseResult, Kinds, cases, generator, plural
from course_kit.exercises.judge import Checker


def _entropy(weights: Tensor) -> Tensor:
    return torch.special.entr(weights).sum()


def _weights(words: int) -> Kinds:
    random = torch.randn(words, generator=generator(words)).mul(2).softmax(0)
    return {
        "all alike": (torch.full((words,), 1 / words),),
        "weighed at random": (random,),
        "and three of padding": (torch.cat([random, torch.zeros(3)]),),
    }


def _about_concentration(result: CaseResult) -> str | None:
    value, weights = float(result.yours[0]), result.case.inputs[0]
    if value != value and (weights == 0).any():
        return (
            "a weight of 0 makes it NaN, because 0 · log 0 is NaN in floats: leave such words out "
            "of the sum, or use torch.special.entr."
        )
    if not 0.999 <= value <= len(weights) * 1.001:
        return f"{value:.4g} effective words out of {len(weights)}: it lies between 1 and all."
    return None


check_effective_words = Checker(
    name="effective_words",
    about="""``f(weights)``, ``(words,)`` that sum to 1 → exp of their entropy, 0 · log 0 being
    0.""",
    reference=lambda weights: _entropy(weights).exp(),
    cases=cases("{:word}", ((1,), (2,), (3,), (5,), (10,), (30,), (200,)), _weights),
    returns=("effective",),
    start="-(weights * weights.log()).sum(): what is that for four words of 0.25?",
    shapes="one number for the sentence, so sum over its words",
    span="from one word to 200",
    mistakes=(
        (
            lambda weights: (-_entropy(weights)).exp(),
            "the sign of the entropy is lost: weights below 1 have negative logarithms, so a minus "
            "stands before the sum.",
        ),
        (
            lambda weights: (_entropy(weights) / math.log(2)).exp(),
            "the logarithm has base 2 and the exponential base e: take log and exp of one base.",
        ),
        (
            lambda weights: (_entropy(weights) / math.log(10)).exp(),
            "the logarithm has base 10 and the exponential base e: take log and exp of one base.",
        ),
        (
            lambda weights: 2 ** _entropy(weights),
            "the logarithm has base e and the power base 2: take log and exp of one base.",
        ),
        (
            lambda weights: (_entropy(weights) / len(weights)).exp(),
            "you take the mean over the words: the entropy is their sum.",
        ),
    ),
    diagnoses=(_about_concentration,),
)


def _top(words: list[str], weights: Tensor, k: int) -> list[str]:
    order = sorted(range(len(words)), key=lambda place: -float(weights[place]))  # stable
    return [words[place] for place in order[:k]]


def _merged(
    words: list[str], weights: Tensor, k: int, join: Callable[[float, float], float]
) -> list[str]:
    """The heaviest words where each has one weight, made of the weights of its positions."""
    found: dict[str, float] = {}
    for word, weight in zip(words, weights.tolist(), strict=True):
        found[word] = join(found.get(word, 0.0), weight)
    return sorted(found, key=lambda word: -found[word])[:k]


TEXT = ["thin", "plot", "but", "a", "fine", "cast", "and", "a", "fine", "end", "to", "it"]


def _weighed_words(length: int) -> Kinds:
    weights = torch.rand(length, generator=generator(length))
    return {
        f"k = {k}{some}": (TEXT[:length], values / values.sum().clamp(min=1), k)
        for some, values in (("", weights), (", some tied", weights.mul(3).round()))
        for k in sorted({1, 2, length // 2 + 1, length + 2})
    }


def _about_top(result: CaseResult) -> str | None:
    (words, weights, k), yours = result.case.inputs, result.yours[0]
    if any(isinstance(item, (int, Tensor)) for item in yours):
        return "these are the places of the words, not the words: give words[place] for each."
    if any(isinstance(item, (tuple, list)) for item in yours):
        return "each item of yours is a pair: give the words alone."
    if any(isinstance(item, float) for item in yours):
        return "these are the weights: give the words that have them."
    weight_of = dict(zip(words, weights.tolist(), strict=True))
    if len(weight_of) < len(words) or not set(yours) <= set(words):
        return None  # a word with two weights, or one that is not among them
    found = [weight_of[word] for word in yours]
    if found == sorted(weight_of.values())[:k]:
        return "these are the words with the smallest weights; sort in descending order."
    return None


check_top_words = Checker(
    name="top_words",
    about="""``f(words, weights, k)`` → list of the k heaviest words, the heaviest first.

    Of two that weigh the same the earlier comes first; fewer than k words come all.""",
    reference=_top,
    cases=cases("{:word}", ((1,), (2,), (3,), (5,), (9,), (12,)), _weighed_words),
    returns=("words",),
    start="sorted(range(len(words)), key=…): by what should a place be sorted?",
    span="from one word to 12",
    mistakes=(
        (
            lambda words, weights, k: _top(words[::-1], weights.flip(0), k),
            (
                "of two words that weigh the same, the earlier should come "
                "first; yours gives the later."
            ),
        ),
        (
            lambda words, weights, k: [
                words[place]
                for place in sorted(
                    sorted(range(len(words)), key=lambda place: -float(weights[place]))[:k]
                )
            ],
            "these are the right words in the order of the text: the heaviest should come first.",
        ),
        (
            lambda words, weights, k: list(dict.fromkeys(_top(words, weights, len(words))))[:k],
            (
                "a word that occurs twice has two weights and may come "
                "twice: do not merge equal words."
            ),
        ),
        (
            lambda words, weights, k: _merged(words, weights, k, lambda before, weight: weight),
            "a dict keeps one weight for each word, the last, so a word "
            "that occurs twice is merged "
            "into one: sort positions, not words.",
        ),
        (
            lambda words, weights, k: _merged(words, weights, k, operator.add),
            "the weights of a word that occurs twice are added up: it has two positions, each with "
            "a weight of its own.",
        ),
        (
            lambda words, weights, k: _top(words, weights, len(words)),
            "k is not used: you return every word.",
        ),
        (
            lambda words, weights, k: sorted(words)[:k],
            "the words are sorted by the alphabet: sort by their weights.",
        ),
    ),
    diagnoses=(_about_top,),
)


Judge = Callable[[list[str]], float]  # words → P(positive)
SCORES = {"wonderful": 3.0, "fine": 0.8, "dull": -1.0, "awful": -3.0, "not": -1.5}


def _judging(score: Callable[[list[str]], float]) -> Judge:
    def predict(words: list[str]) -> float:
        if not words:
            raise ValueError("predict was asked about a text without a word: stop one word before")
        return torch.tensor(score(words) + 0.1).sigmoid().item()  # never 0.5, which is on no side

    return predict


def _sum(words: list[str]) -> float:
    return sum(SCORES.get(word, 0.0) for word in words)


JUDGES = {
    "scores that add up": _judging(_sum),
    "the mean score": _judging(lambda words: 4 * _sum(words) / len(words)),
    "a not that turns the sign": _judging(
        lambda words: (-1) ** ("not" in words) * _sum([word for word in words if word != "not"])
    ),
    "the first word alone": _judging(lambda words: SCORES.get(words[0], 0.2)),
}


def _flip_cases() -> list[Case]:
    texts = (
        ["wonderful", "awful"],
        ["wonderful", "film"],
        ["not", "wonderful", "film"],
        ["fine", "dull", "film", "fine", "fine"],
        ["wonderful", "the", "film", "dull", "awful"],
        ["awful", "but", "the", "wonderful", "fine", "film", "dull", "not"],
    )
    return [
        Case(
            f"“{' '.join(words)}”, judged by {kind}",
            (predict, words, torch.randperm(len(words), generator=generator(place)) / 10 + 0.05),
        )
        for place, words in enumerate(texts)
        for kind, predict in JUDGES.items()
    ]


def _flip(
    predict: Judge,
    words: list[str],
    order: Sequence[int],
    never: int = 0,
    changed: Callable[[float, float], bool] = lambda now, before: (now > 0.5) != (before > 0.5),
) -> int:
    before = predict(words)
    for count in range(1, len(words)):
        gone = set(order[:count])
        if changed(predict([w for place, w in enumerate(words) if place not in gone]), before):
            return count
    return never or len(words)


def _heaviest_first(weights: Tensor) -> list[int]:
    return weights.argsort(descending=True).tolist()


def _words_gone(
    predict: Judge, words: list[str], weights: Tensor, copies: int | None = None
) -> int:
    """Words are taken out by name: ``copies`` of each, or all."""
    before, left = predict(words) > 0.5, list(words)
    for count, place in enumerate(_heaviest_first(weights)[:-1], start=1):
        if copies:
            left.remove(words[place])
        else:
            left = [word for word in left if word != words[place]]
        if not left or (predict(left) > 0.5) != before:
            return count if left else len(words)
    return len(words)


def _about_flip(result: CaseResult) -> str | None:
    yours, words = result.yours[0], result.case.inputs[1]
    if not 1 <= yours <= len(words):
        return f"{yours} of {plural(len(words), 'word')}: it lies between 1 and all of them."
    return None


check_words_to_flip = Checker(
    name="words_to_flip",
    about="""``f(predict, words, weights)`` → how many words, the heaviest first, must go until
    ``predict(words)`` is on the other side of 0.5; all of them if that never happens.

    ``weights`` is ``(words,)``, no two alike; ``predict`` takes a list of at least one word.""",
    reference=lambda predict, words, weights: _flip(predict, words, _heaviest_first(weights)),
    cases=_flip_cases,
    returns=("count",),
    start="remove the heaviest word, predict, then the two heaviest, and so on.",
    span="up to eight words, four ways to judge them",
    mistakes=(
        (
            lambda predict, words, weights: _flip(
                predict, words, _heaviest_first(weights), changed=lambda now, before: now <= 0.5
            ),
            (
                "you wait until P falls below 0.5, but a text may begin "
                "there: wait for the other side."
            ),
        ),
        (
            lambda predict, words, weights: _flip(
                predict,
                words,
                _heaviest_first(weights),
                changed=lambda now, before: abs(now - before) > 0.5,
            ),
            "you wait until P has moved by 0.5: only the side of 0.5 counts.",
        ),
        (
            lambda predict, words, weights: _flip(
                predict, words, _heaviest_first(weights), never=len(words) - 1
            ),
            "where nothing turns it, the answer is the number of all words.",
        ),
        (
            _words_gone,
            "if a word occurs twice, your code removes both copies: remove positions, not words.",
        ),
        (
            lambda *given: _words_gone(*given, copies=1),
            "if a word occurs twice, your code removes its first copy, "
            "whichever is heavier: remove "
            "positions, not words.",
        ),
    ),
    diagnoses=(_about_flip,),
)
