"""Lesson 00: a word's share of a text, how many words attention uses, what removing them does."""

import math
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


def _shares(sentence_weights: Tensor, word_weights: list[Tensor]) -> Tensor:
    return torch.cat([s * w for s, w in zip(sentence_weights, word_weights, strict=True)])


def _two_levels(sentences: int) -> Kinds:
    random = generator(sentences)
    lengths = torch.randint(1, 7, (sentences,), generator=random).tolist()
    words = [torch.randn(n, generator=random).mul(2).softmax(0) for n in lengths]
    return {
        "weighed at random": (torch.randn(sentences, generator=random).softmax(0), words),
        "sentences all alike": (torch.full((sentences,), 1 / sentences), words),
        "one sentence has it all": (torch.eye(sentences)[0], words),
    }


def _about_shares(result: CaseResult) -> str | None:
    yours = result.yours[0]
    if abs(total := float(yours.sum())) < 1e6 and abs(total - 1) > 1e-3:
        return f"your shares sum to {total:.3g}, and the shares of all words of a text sum to 1."
    return None


check_text_shares = Checker(
    name="text_shares",
    about="""``f(sentence_weights, word_weights)`` → ``(words,)``, each word's share of the text.

    ``sentence_weights`` is ``(sentences,)`` and sums to 1; ``word_weights`` is a list with a tensor
    ``(words,)`` for each sentence, each of which sums to 1.""",
    reference=_shares,
    cases=cases("{:sentence}", ((1,), (2,), (3,), (5,), (9,)), _two_levels),
    returns=("shares",),
    start="a sentence has a share of 0.4, and a word in it a weight of 0.5: what is left for it?",
    shapes="one number for each word of the text: torch.cat joins the sentences",
    span="up to nine sentences",
    mistakes=(
        (
            lambda sentence_weights, word_weights: torch.cat(word_weights),
            "these are the weights within the sentences, which sum to 1 in each: a word's share of "
            "the text is less, because its sentence has only a part of the attention.",
        ),
        (
            lambda sentence_weights, word_weights: torch.cat(
                [(s + w) / 2 for s, w in zip(sentence_weights, word_weights)]
            ),
            "you take the mean of the two weights: one is a part of the other, so multiply them.",
        ),
        (
            lambda sentence_weights, word_weights: torch.cat(
                [s + w for s, w in zip(sentence_weights, word_weights)]
            ),
            "you add the two weights: one is a part of the other, so multiply them.",
        ),
        (
            lambda sentence_weights, word_weights: torch.cat(
                [torch.full_like(w, s / len(w)) for s, w in zip(sentence_weights, word_weights)]
            ),
            "you spread a sentence's share evenly over its words: the words' own weights are lost.",
        ),
        (
            lambda sentence_weights, word_weights: torch.cat(
                [s * w * len(w) for s, w in zip(sentence_weights, word_weights)]
            ),
            "you also multiply by the number of words in the sentence: that compares a weight with "
            "uniform attention, and here the share itself is asked for.",
        ),
        (
            lambda sentence_weights, word_weights: torch.cat(
                [w / len(word_weights) for w in word_weights]
            ),
            "you give every sentence the same share: use sentence_weights.",
        ),
    ),
    diagnoses=(_about_shares,),
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


def _without(
    predict: Judge, words: list[str], weights: Tensor, keep: Callable[[int, int], bool]
) -> float:
    """P(positive) of the words whose places are kept, beside the place of the heaviest."""
    heaviest = int(weights.argmax())
    return predict([word for place, word in enumerate(words) if keep(place, heaviest)])


def _moved(predict: Judge, words: list[str], weights: Tensor) -> float:
    left = _without(predict, words, weights, lambda place, heaviest: place != heaviest)
    return abs(left - predict(words))


REVIEWS = (
    ["wonderful", "film"],
    ["not", "wonderful", "film"],
    ["fine", "dull", "film", "fine", "fine"],
    ["wonderful", "the", "film", "dull", "awful"],
    ["awful", "but", "the", "wonderful", "fine", "film", "dull", "not"],
)


def _moved_cases() -> list[Case]:
    return [
        Case(
            f"“{' '.join(words)}”, judged by {kind}, the heaviest is word {heaviest + 1}",
            (predict, words, _weights(len(words), heaviest)),
        )
        for words in REVIEWS
        for kind, predict in JUDGES.items()
        for heaviest in range(0, len(words), 2)
    ]


def _weights(words: int, heaviest: int) -> Tensor:
    """Weights ``(words,)`` that sum to 1, no two alike, of which one word has the largest."""
    weights = torch.arange(words) / 50 + 0.05 + torch.eye(words)[heaviest]
    return weights / weights.sum()


def _by_name(predict: Judge, words: list[str], weights: Tensor) -> float:
    name = words[int(weights.argmax())]
    left = [word for word in words if word != name]
    return abs(predict(left) - predict(words)) if left else 0.0


def _first_by_name(predict: Judge, words: list[str], weights: Tensor) -> float:
    left = list(words)
    left.remove(words[int(weights.argmax())])
    return abs(predict(left) - predict(words))


def _in_order_of_weight(predict: Judge, words: list[str], weights: Tensor) -> float:
    order = weights.argsort(descending=True).tolist()[1:]
    return abs(predict([words[place] for place in order]) - predict(words))


def _about_moved(result: CaseResult) -> str | None:
    yours, right = result.yours[0], result.expected[0]
    if yours > 0 and right > 0:
        return (
            f"your change is {yours / right:.3g} times the right one: it is P(positive) of all "
            "words minus that of the words that are left, without its sign."
        )
    return None


check_moved_by_heaviest = Checker(
    name="moved_by_heaviest",
    about="""``f(predict, words, weights)`` → how far ``predict(words)`` moves without one word.

    It is the word with the largest weight; up or down is all one. ``weights`` is ``(words,)``, no
    two alike; ``predict`` takes a list of at least one word.""",
    reference=_moved,
    cases=_moved_cases,
    returns=("change",),
    start="predict all words; then those at every position but that of the largest weight.",
    span="up to eight words, four ways to judge them",
    mistakes=(
        (
            lambda *given: _without(*given, lambda place, heaviest: place != heaviest),
            "this is P(positive) of what is left: how far is it from P(positive) of all words?",
        ),
        (
            lambda *given: (
                _without(*given, lambda place, heaviest: place != heaviest) - given[0](given[1])
            ),
            "you return after − before, which is negative where the answer falls: take abs.",
        ),
        (
            lambda *given: (
                given[0](given[1]) - _without(*given, lambda place, heaviest: place != heaviest)
            ),
            "you return before − after, which is negative where the answer rises: take abs.",
        ),
        (
            lambda *given: abs(
                _without(*given, lambda place, heaviest: place == heaviest) - given[0](given[1])
            ),
            "you keep the heaviest word alone and remove all the others: turn it round.",
        ),
        (
            lambda predict, words, weights: _moved(predict, words, -weights),
            "you remove the word with the smallest weight.",
        ),
        (
            lambda predict, words, weights: abs(predict(words[1:]) - predict(words)),
            "you remove the first word, whatever the weights are.",
        ),
        (
            _by_name,
            "where a word repeats, your code removes all copies: remove a position, not a word.",
        ),
        (
            _first_by_name,
            "if a word occurs twice, your code removes its first copy, whichever is heavier: "
            "remove a position, not a word.",
        ),
        (
            _in_order_of_weight,
            "the words that are left stand in the order of their weights: keep that of the text.",
        ),
    ),
    diagnoses=(_about_moved,),
)


def _flip_cases() -> list[Case]:
    return [
        Case(
            f"“{' '.join(words)}”, judged by {kind}",
            (predict, words, torch.randperm(len(words), generator=generator(place)) / 10 + 0.05),
        )
        for place, words in enumerate([["wonderful", "awful"], *REVIEWS])
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
