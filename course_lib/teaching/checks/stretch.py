"""Checkers of the stretch problems (●●●●): lessons 00, 01 and 02."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from course_lib.teaching.checks.core import Case, Checker, Trial, check, generator, plural

Judge = Callable[[list[str]], float]  # words → P(positive)


def check_words_to_flip(function: Callable[[Judge, list[str], Tensor], int]) -> None:
    """``f(predict, words, weights)`` → how many words, the heaviest first, must go until
    ``predict(words)`` is on the other side of 0.5; all of them if that never happens.

    ``weights`` is ``(words,)``, no two alike; ``predict`` takes a list of at least one word.
    """
    check(WORDS_TO_FLIP, function)


SCORES = {"wonderful": 3.0, "fine": 0.8, "dull": -1.0, "awful": -3.0, "not": -1.5}


def _adds_up(words: list[str]) -> float:
    """A bag of words: their scores, summed."""
    return _probability(sum(SCORES.get(word, 0.0) for word in words))


def _on_average(words: list[str]) -> float:
    """The mean score, as attention with equal weights would have it."""
    return _probability(4 * sum(SCORES.get(word, 0.0) for word in words) / len(words))


def _turned_by_not(words: list[str]) -> float:
    """A "not" turns the sign of the whole."""
    total = sum(SCORES.get(word, 0.0) for word in words if word != "not")
    return _probability(-total if "not" in words else total)


def _by_its_first(words: list[str]) -> float:
    """Whatever stands first."""
    return _probability(SCORES.get(words[0], 0.2))


def _probability(score: float) -> float:
    return torch.tensor(score + 0.1).sigmoid().item()  # never 0.5, which is on no side


JUDGES = {
    "scores that add up": _adds_up,
    "the mean score": _on_average,
    "a not that turns the sign": _turned_by_not,
    "the first word alone": _by_its_first,
}


def _flip_cases() -> list[Case]:
    texts = (
        ["wonderful", "awful"],
        ["wonderful", "film"],
        ["not", "wonderful", "film"],
        ["fine", "fine", "dull", "film", "fine"],
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
    predict: Judge, words: list[str], order: Sequence[int], start: int = 1, never: int = 0,
    changed: Callable[[float, float], bool] = lambda now, before: (now > 0.5) != (before > 0.5),
) -> int:  # fmt: skip
    before = predict(words)
    for count in range(start, len(words)):
        gone = set(order[:count])
        if changed(predict([w for place, w in enumerate(words) if place not in gone]), before):
            return count
    return never or len(words)


def _heaviest_first(weights: Tensor) -> list[int]:
    return weights.argsort(descending=True).tolist()


def _one_at_a_time(predict: Judge, words: list[str], weights: Tensor) -> int:
    before = predict(words) > 0.5
    for count, place in enumerate(_heaviest_first(weights), start=1):
        left = words[:place] + words[place + 1 :]
        if (predict(left) > 0.5) != before:
            return count
    return len(words)


def _weighed(predict: Judge, words: list[str], weights: Tensor) -> Tensor:
    """The words by their own effect when each is taken out."""
    before = predict(words)
    left = [words[:place] + words[place + 1 :] for place in range(len(words))]
    return torch.tensor([abs(before - predict(some)) for some in left])


def _about_flip(trial: Trial) -> str | None:
    yours, words = trial.yours[0], trial.case.inputs[1]
    if not 1 <= yours <= len(words):
        return f"{yours} of {plural(len(words), 'word')}: it lies between 1 and all of them."
    return None


WORDS_TO_FLIP = Checker(
    name="words_to_flip",
    reference=lambda predict, words, weights: _flip(predict, words, _heaviest_first(weights)),
    cases=_flip_cases,
    returns=("count",),
    start="remove the heaviest word, predict, then the two heaviest, and so on.",
    span="up to eight words, four ways to judge them",
    mistakes=(
        (lambda predict, words, weights: _flip(predict, words, weights.argsort().tolist()),
         "you begin with the lightest word: the heaviest goes first."),
        (lambda predict, words, weights: _flip(predict, words, range(len(words))),
         "you remove the words in reading order: the weights say which goes first."),
        (_one_at_a_time,
         "each time you put the words removed before back: they stay away."),
        (lambda predict, words, weights: _flip(predict, words, _heaviest_first(weights),
                                               changed=lambda now, before: now <= 0.5),
         "you wait until P falls below 0.5, but a text may begin there: wait for the other side."),
        (lambda predict, words, weights: _flip(predict, words, _heaviest_first(weights)) - 1,
         "you count one too few: the word whose removal turns the prediction counts, too."),
        (lambda predict, words, weights: _flip(
            predict, words, _heaviest_first(weights),
            changed=lambda now, before: abs(now - before) > 0.5),
         "you wait until P has moved by 0.5: only the side of 0.5 counts."),
        (lambda predict, words, weights: _flip(predict, words, _heaviest_first(weights),
                                               never=len(words) - 1),
         "where nothing turns it, the answer is the number of all words."),
        (lambda predict, words, weights: _flip(predict, words, _heaviest_first(
            _weighed(predict, words, weights))),
         "you remove the most effective word first: the heaviest one is asked for."),
    ),
    diagnoses=(_about_flip,),
)  # fmt: skip
