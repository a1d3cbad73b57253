"""Lesson 08: what a replication looks for: unknown words, single changes, defects, pairs."""

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from course_kit.exercises.cases import Case, CaseResult, Inputs, cases, generator, named
from course_kit.exercises.comparison import TOLERANCE
from course_kit.exercises.judge import Checker
from course_kit.exercises.records import committed_record
from course_lib.metrics import mcnemar

Runs = list[dict[str, Any]]  # the settings of each run
Rule = Callable[[list[float], list[float]], bool]  # of training and validation losses
STUCK, OVER, UNDER = "stuck", "over-fitted", "under-trained"
FALL, RISE = 0.05, 0.10  # as shares: a loss that learns falls by more, one that turns rises by more


def _defect(training: list[float], validation: list[float]) -> str:
    if training[-1] > (1 - FALL) * training[0]:
        return STUCK
    return OVER if validation[-1] > (1 + RISE) * min(validation) else UNDER


RECORDED = {
    "a recorded run of AGT": "agt/sst5/agt-sst5-s0-only-epochs30-patience12-s2",
    "a recorded run of IRAM": "iram/sst2/iram-sst2-vanilla-epochs3-notest-s2",
    "a recorded run of SANet": "sanet/ag_news/sanet-ag_news-base-s0",
}


def _curves_of(run: str) -> tuple[list[float], list[float]]:
    epochs = committed_record(f"results/runs/{run}.json")["epochs"]
    return tuple([epoch[f"{part}_loss"] for epoch in epochs] for part in ("train", "validation"))


def _curve_cases() -> list[Case]:
    made_up = {
        "two epochs, both losses fall": ([0.9, 0.7], [0.8, 0.7]),
        "two epochs, neither loss falls": ([0.7, 0.69], [0.69, 0.7]),
        "a validation loss that turns late, below its first value":
            ([1.0, 0.7, 0.5, 0.3], [0.9, 0.6, 0.65, 0.8]),
        "a validation loss that wavers": ([1.0, 0.8, 0.7, 0.65], [0.9, 0.8, 0.75, 0.77]),
        "nothing learned, and the validation loss drifts up":
            ([1.43, 1.42, 1.42, 1.42], [1.6, 1.65, 1.7, 1.9]),
        "nothing learned after a last step up": ([0.70, 0.68, 0.69, 0.70], [0.7, 0.69, 0.7, 0.7]),
        "a gap from the first epoch on, and both fall":
            ([0.5, 0.4, 0.3, 0.25], [1.0, 0.9, 0.85, 0.8]),
        "the training loss has come to rest, the validation loss has turned":
            ([1.0, 0.3, 0.1, 0.1], [0.8, 0.5, 0.6, 0.7]),
        "large losses: a small fall and a small rise": ([4.0, 3.9, 3.85], [3.9, 3.8, 4.1]),
        "large losses: a large fall and a small rise": ([4.0, 3.0, 2.5], [3.2, 3.0, 3.2]),
        "small losses: a large fall and a large rise": ([0.08, 0.05, 0.04], [0.06, 0.05, 0.07]),
        "a validation loss that ends just above 110 % of its smallest value":
            ([1.0, 0.8, 0.6], [0.9, 0.8, 0.885]),
        "learned for a while, and lost again": ([0.7, 0.5, 0.6, 0.69], [0.7, 0.6, 0.65, 0.69]),
        "a training loss that jumps up after the first epoch":
            ([0.6, 0.8, 0.6, 0.59], [0.7, 0.8, 0.7, 0.7]),
    }  # fmt: skip
    return named(made_up | {name: _curves_of(run) for name, run in RECORDED.items()})


def _rule(stuck: Rule, over: Rule) -> Callable[[list[float], list[float]], str]:
    """A wrong answer: stuck is asked first, then over-fitted."""
    return lambda training, validation: (
        STUCK if stuck(training, validation) else OVER if over(training, validation) else UNDER
    )


def _is_stuck(training: list[float], validation: list[float]) -> bool:
    return _defect(training, validation) == STUCK


def _has_turned(training: list[float], validation: list[float]) -> bool:
    return validation[-1] > (1 + RISE) * min(validation)


def _turned_first(training: list[float], validation: list[float]) -> str:
    return OVER if _has_turned(training, validation) else _defect(training, validation)


def _not_fallen(training: list[float], validation: list[float]) -> bool:
    return training[0] - training[-1] < FALL


def _risen(training: list[float], validation: list[float]) -> bool:
    return validation[-1] - min(validation) > RISE


def _about_names(result: CaseResult) -> str | None:
    names = (STUCK, OVER, UNDER)
    if result.yours[0] not in names:
        return f"{result.yours[0]!r} is none of the three names: {', '.join(map(repr, names))}."
    return None


check_defect = Checker(
    name="defect",
    about="""``f(training, validation)``, the losses of each epoch → ``"stuck"``, ``"over-fitted"``
    or ``"under-trained"``.""",
    reference=_defect,
    cases=_curve_cases,
    returns=("defect",),
    start='if training[-1] > 0.95 * training[0]: return "stuck"; then look at the validation loss.',
    span="fourteen made-up pairs of curves and three recorded runs",
    mistakes=(
        (_turned_first,
         "ask first whether anything was learned: where the training loss has not fallen, a rising "
         "validation loss is drift and no over-fitting."),
        (_rule(_is_stuck, lambda t, v: v[-1] > (1 + RISE) * v[0]),
         "you compare the last validation loss with the first: it can turn and still lie below "
         "where it began. Compare with its smallest value."),
        (_rule(_is_stuck, lambda t, v: v[-1] > (1 + RISE) * t[-1]),
         "a gap between training and validation is no defect by itself: over-fitted means that the "
         "validation loss has turned."),
        (_rule(_is_stuck, lambda t, v: v[-1] > min(v)),
         "a validation loss wavers from epoch to epoch: it has turned when it ends more than 10 % "
         "above its smallest value."),
        (_rule(_is_stuck, _risen),
         "10 % is a share of the smallest validation loss, not a difference: multiply "
         "by 1.1."),
        (_rule(_not_fallen, _has_turned),
         "5 % is a share of the first training loss, no difference between losses: multiply by "
         "0.95."),
    ),
    diagnoses=(_about_names,),
)  # fmt: skip


def _unknown(known: set[str], sentences: list[list[str]]) -> Tensor:
    words = [word for sentence in sentences for word in sentence]
    return torch.tensor(sum(word not in known for word in words) / len(words))


def _unknown_cases() -> list[Case]:
    known = {"a", "good", "bad", "film", "with", "heart", "and", "Good"}
    texts = {
        "one word that is known": ["good"],
        "one word that is not": ["dreary"],
        "a word twice": ["a dreary dreary film"],
        "sentences of different lengths": ["dreary", "a good film with heart and a bad film"],
        "a capital letter that the vocabulary has not": ["Bad film", "a Good film with heart"],
        "two unknown words in one sentence": ["a murky plodding film", "a good film"],
        "a sentence without a word": ["a dreary film", "", "good"],
    }
    return named({
        kind: (known, [text.split() for text in sentences]) for kind, sentences in texts.items()
    })  # fmt: skip


def _flags(known: set[str], sentences: list[list[str]]) -> list[Tensor]:
    """Per sentence with words, which of them are unknown."""
    return [torch.tensor([float(w not in known) for w in words]) for words in sentences if words]


check_unknown_share = Checker(
    name="unknown_share",
    about="""``f(known, sentences)`` → the share of the sentences' words that are not ``known``,
    every occurrence counted.""",
    reference=_unknown,
    cases=_unknown_cases,
    returns=("share",),
    start="words = [word for sentence in sentences for word in sentence].",
    span="from one word to three sentences",
    mistakes=(
        (lambda known, sentences: _unknown(
            known, [list(dict.fromkeys(w for words in sentences for w in words))]),
         "you count each word once: a word that occurs twice meets the network twice."),
        (lambda known, sentences: torch.stack([f.mean() for f in _flags(known, sentences)]).mean(),
         "you take the mean over the sentences: a short one then counts as much as a long one. "
         "Count all words together."),
        (lambda known, sentences: torch.stack([f.amax() for f in _flags(known, sentences)]).mean(),
         "that is the share of sentences with an unknown word: count words."),
        (lambda known, sentences: torch.cat(_flags(known, sentences)).sum() / len(sentences),
         "these are unknown words per sentence: divide by the number of words."),
        (lambda known, sentences: torch.cat(_flags(known, sentences)).sum(),
         "that is how many: divide by the number of words."),
        (lambda known, sentences: _unknown(
            {w.lower() for w in known}, [[w.lower() for w in words] for words in sentences]),
         "you put everything into lower case: the vocabulary holds words as they are written, and "
         "\"Bad\" is not \"bad\"."),
    ),
)  # fmt: skip


def _apart(first: dict[str, Any], second: dict[str, Any]) -> set[str]:
    """The settings that two runs do not share; one that a run lacks is one, too."""
    return {name for name in {**first, **second}
            if name not in first or name not in second or first[name] != second[name]}  # fmt: skip


def _pairs(runs: Runs, apart: Callable = _apart, allowed: tuple[int, ...] = (1,)) -> list:
    places = combinations(range(len(runs)), 2)
    return [(i, j) for i, j in places if len(apart(runs[i], runs[j])) in allowed]


def _runs_cases() -> list[Case]:
    base = {"width": 200, "patience": 4, "frozen": False, "seed": 0}
    return named({
        "one run": ([base],),
        "two equal runs": ([base, dict(base)],),
        "two runs, one change": ([base, base | {"patience": 10}],),
        "two runs, two changes": ([base, base | {"patience": 10, "frozen": True}],),
        "a setting that one run lacks": ([base, base | {"vectors": "glove"}],),
        "a setting that the second run lacks": ([base | {"vectors": "glove"}, base],),
        "a setting that is None, absent, or 0": ([
            base | {"limit": None}, base, base | {"limit": 0}],),
        "two runs that differ in their seed": ([base, base | {"seed": 1}],),
        "a chain of changes": ([
            base, base | {"patience": 10}, base | {"patience": 10, "frozen": True}],),
        "a change that is taken back": ([
            base, base | {"width": 50}, base | {"seed": 2}, dict(base)],),
        "six runs": ([
            base, base | {"seed": 1}, base | {"patience": 10},
            base | {"patience": 10, "vectors": "glove"}, base | {"seed": 1, "frozen": True},
            base | {"patience": 10, "frozen": True, "vectors": "glove"}],),
    })  # fmt: skip


def _apart_where_both(first: dict[str, Any], second: dict[str, Any]) -> set[str]:
    return {name for name in first.keys() & second.keys() if first[name] != second[name]}


def _apart_but_the_seed(first: dict[str, Any], second: dict[str, Any]) -> set[str]:
    return _apart(first, second) - {"seed"}


def _about_kinds(result: CaseResult) -> str | None:
    if any(not isinstance(pair, tuple) for pair in result.yours[0]):
        return "a pair is a tuple of two places, (i, j); yours holds something else."
    if sorted(result.yours[0]) == result.expected[0]:
        return "these are the right pairs in another order: begin with those of place 0."
    return None


check_one_change = Checker(
    name="one_change",
    about="""``f(runs)`` → the places ``(i, j)``, i < j, of all pairs that differ in one
    setting.""",
    reference=_pairs,
    cases=_runs_cases,
    returns=("pairs",),
    start="combinations(range(len(runs)), 2) gives all (i, j) with i < j, in order.",
    span="from one run to six",
    mistakes=(
        (lambda runs: _pairs(runs, allowed=(0, 1)),
         "runs that differ in nothing are no comparison: exactly one setting must differ."),
        (lambda runs: _pairs(runs, allowed=(1, 2)),
         "you take pairs that differ in two settings: whatever they show, you cannot say which of "
         "the two did it."),
        (lambda runs: sorted(_pairs(runs) + [(j, i) for i, j in _pairs(runs)]),
         "each pair stands twice: give it once, the smaller place first."),
        (lambda runs: [(j, i) for i, j in _pairs(runs)],
         "the smaller place comes first: (0, 2), not (2, 0)."),
        (lambda runs: _pairs(runs, _apart_where_both),
         "a setting that one run has and the other lacks is a difference, too: go over the names "
         "of both."),
        (lambda runs: _pairs(runs, _apart_but_the_seed),
         "the seed counts like any other setting here: two runs that differ in it alone are a "
         "pair, and one that differs in it besides is none."),
    ),
    diagnoses=(_about_kinds,),
)  # fmt: skip


def _p(first: Tensor, second: Tensor) -> Tensor:
    return torch.tensor(mcnemar(first.numpy(), second.numpy()))


def _pairs_of_answers(both: int, only_first: int, only_second: int, neither: int) -> Inputs:
    counts = torch.tensor([both, only_first, only_second, neither])
    first = torch.tensor([True, True, False, False]).repeat_interleave(counts)
    second = torch.tensor([True, False, True, False]).repeat_interleave(counts)
    order = torch.randperm(len(first), generator=generator(len(first), only_first))
    return first[order], second[order]


def _tail(fewer: int, throws: int) -> float:
    """How often so many throws of a fair coin show heads at most ``fewer`` times."""
    return sum(math.comb(throws, heads) for heads in range(fewer + 1)) / 2**throws


def _alone(first: Tensor, second: Tensor) -> tuple[int, int]:
    return int((first & ~second).sum()), int((second & ~first).sum())


def _like(told: Callable[[int, int], float]) -> Callable[[Tensor, Tensor], Tensor]:
    """A wrong answer made from the numbers of texts that one model alone gets right."""
    return lambda first, second: torch.tensor(float(told(*_alone(first, second))))


def _normal(one: int, other: int) -> float:
    """The normal approximation with its correction."""
    if not one + other:
        return 1.0
    return math.erfc(max(0, abs(one - other) - 1) / math.sqrt(2 * (one + other)))


def _is_probability(result: CaseResult) -> str | None:
    value = result.yours[0]
    if isinstance(value, (int, float)) and not 0 <= value <= 1 + TOLERANCE:
        return "a p-value is a probability: it lies between 0 and 1."
    return None


check_text_by_text = Checker(
    name="text_by_text",
    about="""``f(first, second)``, bool ``(texts,)``: whether each of two models is right → the
    two-sided p-value of McNemar's exact test; 1 where no text tells them apart.""",
    reference=_p,
    cases=cases(
        "{:text} both get right, {} and {} one alone, {} neither",
        (
            (0, 1, 0, 0), (3, 0, 0, 2), (2, 1, 1, 1), (1, 2, 0, 0), (3, 1, 5, 2), (4, 3, 3, 4),
            (30, 9, 2, 9), (400, 20, 41, 239), (500, 35, 34, 131),
        ),
        _pairs_of_answers,
    ),
    returns=("p",),
    start="(first & ~second).sum() texts are the first model's alone.",
    span="from one text to 700",
    shapes="one number for all texts together",
    mistakes=(
        (_like(lambda a, b: _tail(min(a, b), a + b)),
         "that is one tail: a split as uneven the other way would have surprised you as much, so "
         "double it."),
        (_like(lambda a, b: 2 * _tail(min(a, b), a + b)),
         "where both models are right alone equally often, your two tails overlap and their sum is "
         "above 1: take 1 at most."),
        (_like(lambda a, b: min(1.0, 2 * (_tail(min(a, b) - 1, a + b)))),
         "the split that was seen belongs to the tail, too: count heads up to and including the "
         "smaller number."),
        (_like(lambda a, b: min(1.0, 2 * _tail(max(a, b), a + b))),
         "you count up to the larger number: the tail holds splits as uneven or more, so up to the "
         "smaller one."),
        (_like(lambda a, b: min(1.0, 2 * math.comb(a + b, min(a, b)) / 2 ** (a + b))),
         "that is the chance of exactly this split: the tail holds all that are more uneven, too."),
        (_like(lambda a, b: _normal(a, b)),
         "that is the normal approximation with its correction: with few texts it is off, so add "
         "up the binomial coefficients."),
    ),
    diagnoses=(_is_probability,),
)  # fmt: skip
