"""Lesson 07: erasure, fair pairs of rankings, and the agreement of two of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from course_kit.exercises.cases import Case, generator, named
from course_kit.exercises.judge import Checker

Texts = Sequence[Sequence[str]]
Model = Callable[[Texts], Tensor]  # texts → probabilities ``(texts, classes)``
Pair = tuple[Tensor, Tensor]


MOODS = {  # what each word adds to three classes
    "warm": (-1.0, 0.5, 1.6),
    "dull": (1.5, 0.6, -0.8),
    "fine": (-0.4, 1.2, 0.3),
    "not": (1.1, 0.3, -1.0),
    "a": (0.1, 0.0, 0.2),
    "film": (0.0, 0.2, 0.1),
}


def _logits(texts: Texts) -> Tensor:
    return torch.stack(
        [sum((torch.tensor(MOODS[word]) for word in text), torch.zeros(3)) for text in texts]
    )


MODELS: dict[str, Model] = {  # of bags of words; to the third the last word says thrice as much
    "two moods": lambda texts: _logits(texts)[:, [0, 2]].softmax(1),
    "three moods": lambda texts: _logits(texts).softmax(1),
    "hears the end": lambda texts: (
        _logits(texts) + 2 * _logits([text[-1:] for text in texts])
    ).softmax(1),
}


@dataclass(frozen=True)
class Reader:
    """A model with its text fixed: which words stay, bool ``(m, words)`` → probabilities."""

    model: Model
    words: tuple[str, ...]

    def __call__(self, keep: Tensor) -> Tensor:
        """``(m, classes)``."""
        chosen = [zip(self.words, row, strict=True) for row in keep.tolist()]
        return self.model([[word for word, stays in row if stays] for row in chosen])


TEXTS = {
    "warm film": [0.9, 0.1],
    "a dull film": [0.2, 0.5, 0.3],
    "warm not dull": [0.1, 0.3, 0.2],
    "a film not warm": [0.1, 0.2, 0.6, 0.4],
    "warm warm dull film": [0.8, 0.1, 0.5, -0.3],
    "fine film a warm not dull": [0.3, 0.05, -0.7, 0.4, -0.2, 0.9],
}


def _readers() -> list[tuple[str, Reader, Tensor]]:
    return [
        (f"“{text}”, {name}", Reader(model, tuple(text.split())), torch.tensor(scores))
        for text, scores in TEXTS.items()
        for name, model in MODELS.items()
    ]


def _erasure_cases() -> list[Case]:
    return [
        Case(f"{text}, {count} of {len(scores)} words", (model, scores, count))
        for text, model, scores in _readers()
        for count in range(1, len(scores) + 1)
    ]


def _rows(top: Tensor) -> Tensor:
    """All words, the words without the top ones, and the top ones alone."""
    return torch.stack([torch.ones_like(top), ~top, top])


def _top(importance: Tensor, count: int) -> Tensor:
    return importance.argsort(descending=True).argsort() < count


def _losses(model: Reader, top: Tensor) -> Pair:
    whole, without, alone = model(_rows(top))
    j = int(whole.argmax())
    return whole[j] - without[j], whole[j] - alone[j]


def _erasure(model: Reader, importance: Tensor, count: int) -> Pair:
    return _losses(model, _top(importance, count))


def _reading(told: Callable[[Tensor, Tensor, Tensor], Pair]) -> Callable[..., Pair]:
    """The answer that makes something else of the three outputs."""
    return lambda model, importance, count: told(*model(_rows(_top(importance, count))))


check_erasure = Checker(
    name="erasure",
    about="""``f(model, importance, count)`` → comprehensiveness and sufficiency of the ``count``
    most important words, for the class that ``model`` predicts for all of them. ``model`` takes
    which words stay, bool ``(m, words)``, and gives probabilities ``(m, classes)``.""",
    reference=_erasure,
    cases=_erasure_cases,
    returns=("comprehensiveness", "sufficiency"),
    start="top is True at the count most important words; ask for three rows: all, ~top and top.",
    span="texts of two to six words under three small models",
    mistakes=(
        (
            _reading(lambda whole, rest, kept: (whole[1] - rest[1], whole[1] - kept[1])),
            "you look at class 1: take the class that the model predicts for the whole text.",
        ),
        (
            _reading(
                lambda whole, rest, kept: (whole.max() - rest.max(), whole.max() - kept.max())
            ),
            "each text has its own class in yours: keep the class of the whole text, or a decision "
            "that flips looks like no loss.",
        ),
        (
            _reading(lambda whole, rest, kept: (rest[whole.argmax()], kept[whole.argmax()])),
            "these are the probabilities that are left: subtract them from that of the whole text.",
        ),
        (
            lambda model, importance, count: _losses(model, _top(-importance, count)),
            "you take the words of least importance: sort in descending order.",
        ),
        (
            lambda model, importance, count: _losses(
                model, importance.argsort(descending=True) < count
            ),
            "argsort gives positions in order of rank: top[order[:count]] = True marks the words.",
        ),
        (
            _reading(
                lambda whole, rest, kept: (whole.max() - rest[whole.argmax()], kept[whole.argmax()])
            ),
            "comprehensiveness is right, but sufficiency is a loss as well: subtract p of the top "
            "words from p of the whole text.",
        ),
    ),
)


def _score_cases() -> list[Case]:
    pairs = {
        "one word for the decision": ([1.0], [0.5]),
        "two words, one of them against the decision": ([0.6, 0.4], [0.9, -0.2]),
        "three words, the heaviest against it": ([0.5, 0.3, 0.2], [-0.4, 0.1, 0.7]),
        "three words, one of score 0": ([0.5, 0.3, 0.2], [0.0, -1.5, 0.8]),
    }
    for words in (5, 12):
        noise, scores = torch.randn(2, words, generator=generator(words))
        pairs[f"{words} words"] = noise.softmax(0), scores
    return named({kind: tuple(map(torch.as_tensor, pair)) for kind, pair in pairs.items()})


check_fair_pairs = Checker(
    name="fair_pairs",
    about="""``f(attention, scores)``, ``(words,)`` twice, the scores positive where a word speaks
    for the decision → the scores without their sign, and attention with the sign of the scores.""",
    reference=lambda attention, scores: (scores.abs(), attention * scores.sign()),
    cases=_score_cases,
    returns=("magnitude", "signed"),
    start="torch.abs drops a sign, and torch.sign is 1, 0 or -1.",
    span="one word to twelve, for and against the decision",
    mistakes=(
        (
            lambda attention, scores: (attention * scores.sign(), scores.abs()),
            "the two are exchanged: first the scores without their sign, then attention with it.",
        ),
        (
            lambda attention, scores: (scores.abs(), attention * scores),
            "you multiply attention by the sizes of the scores, too: take their sign alone.",
        ),
        (
            lambda attention, scores: (scores.abs(), attention * (scores > 0)),
            "a word against the decision gets 0 in yours, as if it did nothing: it must come last, "
            "below 0.",
        ),
        (
            lambda attention, scores: (scores.clamp(min=0), attention * scores.sign()),
            "a word against the decision gets 0 in your first ranking: a size has no direction, so "
            "take the absolute value.",
        ),
        (
            lambda attention, scores: (scores.abs(), -attention * scores.sign()),
            "your sign is reversed: words against the decision belong below 0.",
        ),
        (
            lambda attention, scores: (scores.abs(), attention),
            "attention is still without a sign: multiply it by that of the scores.",
        ),
        (
            lambda attention, scores: (scores, attention * scores.sign()),
            "the scores still have their sign: take the absolute value.",
        ),
        (
            lambda attention, scores: (scores.abs(), scores.sign()),
            "your second ranking is the sign alone: attention says how large its numbers are.",
        ),
    ),
)


def _rank_cases() -> list[Case]:
    pairs = {
        "two words, one order": ([1.0, 2.0], [3.0, 5.0]),
        "two words, the other order": ([1.0, 2.0], [0.4, 0.1]),
        "three words, one pair apart": ([1.0, 2.0, 3.0], [1.0, 3.0, 2.0]),
        "three words, a tie in the first": ([1.0, 1.0, 2.0], [1.0, 2.0, 3.0]),
        "three words, a tie in the second": ([0.3, 0.1, 0.6], [2.0, 2.0, 3.0]),
        "ties in both": ([1.0, 1.0, 2.0, 3.0], [0.0, 1.0, 1.0, -1.0]),
        "an outlier": ([1.0, 2.0, 3.0, 100.0], [2.0, 1.0, 4.0, 3.0]),
    }
    for words in (8, 30):
        first, noise = torch.randn(2, words, generator=generator(words))
        pairs[f"{words} words"] = first, first + noise
    return named({kind: tuple(map(torch.as_tensor, pair)) for kind, pair in pairs.items()})


def _signs(first: Tensor, second: Tensor) -> Pair:
    """The order of each pair of words in both rankings: −1, 0 or 1."""
    i, j = torch.triu_indices(len(first), len(first), 1)
    return (first[i] - first[j]).sign(), (second[i] - second[j]).sign()


def _of_pairs(tau: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda first, second: tau(*_signs(first, second))


_tau_b = _of_pairs(lambda a, b: (a * b).sum() / (a.abs().sum() * b.abs().sum()).sqrt())


check_kendall = Checker(
    name="kendall",
    about="""``f(first, second)``, ``(words,)`` twice, none of them constant → Kendall's τ-b.""",
    reference=lambda first, second: _tau_b(first, second),
    cases=_rank_cases,
    returns=("tau",),
    start="a = (first[i] - first[j]).sign() for all pairs i < j, and b likewise.",
    span="two words to thirty, with ties",
    mistakes=(
        (
            _of_pairs(lambda a, b: (a * b).mean()),
            "you divide by all pairs (τ-a): a pair that one ranking ties "
            "can agree with nothing, so "
            "two equal rankings with a tie would have less than 1.",
        ),
        (
            _of_pairs(lambda a, b: (a * b).sum() / (a * b).abs().sum()),
            "you leave out every pair that is tied in one of them: then a ranking that is almost "
            "all ties reaches 1.",
        ),
        (
            _of_pairs(lambda a, b: ((a * b) > 0).float().mean()),
            "that is the share of pairs in the same order: pairs in opposite order count −1.",
        ),
        (
            _of_pairs(lambda a, b: (a * b).sum()),
            "that is how many pairs agree less how many do not: divide it.",
        ),
        (
            _of_pairs(lambda a, b: (a * b).sum() / a.abs().sum()),
            "you count the ties of the second ranking as pairs: both rankings have a factor under "
            "the root.",
        ),
        (
            _of_pairs(lambda a, b: (a * b).sum() / b.abs().sum()),
            "you count the ties of the first ranking as pairs: both rankings have a factor under "
            "the root.",
        ),
    ),
)
