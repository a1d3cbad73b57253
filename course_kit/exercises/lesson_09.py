"""Lesson 09: what curves of a loss show, a verdict, and two models compared text by text."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.cases import Case, CaseResult, Inputs, cases, generator, named
from course_kit.exercises.comparison import TOLERANCE
from course_kit.exercises.judge import Checker
from course_kit.exercises.records import committed_record
from course_lib.metrics import holm, mcnemar

Curves = tuple[list[float], list[float], float]  # training and validation losses, the floor
Rule = Callable[[list[float], list[float], float], bool]
STUCK, OVER, NEITHER = "stuck", "over-fitted", "neither"
FALL, RISE = 0.05, 0.10  # a loss that learns is further below the floor; one that turns rises more


def _diagnosis(training: list[float], validation: list[float], floor: float) -> str:
    if training[-1] > (1 - FALL) * floor:
        return STUCK
    return OVER if validation[-1] > (1 + RISE) * min(validation) else NEITHER


RECORDED = {  # and the loss of knowing the shares of the classes
    "a recorded run of AGT": ("agt/sst5/agt-sst5-s0-only-epochs30-patience12-s2", 1.419),
    "a recorded run of IRAM": ("iram/sst2/iram-sst2-vanilla-epochs3-notest-s2", 0.687),
    "a recorded run of SANet": ("sanet/ag_news/sanet-ag_news-base-s0", 1.386),
}


def _curves_of(run: str, floor: float) -> Curves:
    epochs = committed_record(f"results/runs/{run}.json")["epochs"]
    training, validation = (
        [epoch[f"{part}_loss"] for epoch in epochs] for part in ("train", "validation")
    )
    return training, validation, floor


def _curve_cases() -> list[Case]:
    made_up = {
        "two epochs, both losses fall": ([0.9, 0.7], [0.8, 0.7], 1.1),
        "two epochs, neither loss falls": ([0.7, 0.69], [0.69, 0.7], 0.693),
        "a validation loss that turns late, below its first value": (
            [1.0, 0.7, 0.5, 0.3],
            [0.9, 0.6, 0.65, 0.8],
            1.1,
        ),
        "a validation loss that wavers": ([1.0, 0.8, 0.7, 0.65], [0.9, 0.8, 0.75, 0.77], 1.1),
        "the class shares are learned, and the validation loss drifts up": (
            [1.9, 1.5, 1.42, 1.41],
            [1.6, 1.65, 1.7, 1.9],
            1.42,
        ),
        "a training loss that is back at the class shares": ([2.4, 1.0, 1.1], [2, 1.3, 1.1], 1.1),
        "a gap from the first epoch on, and both fall": (
            [0.5, 0.4, 0.3, 0.25],
            [1.0, 0.9, 0.85, 0.8],
            0.693,
        ),
        "the training loss has come to rest, the validation loss has turned": (
            [1.0, 0.3, 0.1, 0.1],
            [0.8, 0.5, 0.6, 0.7],
            1.1,
        ),
        "a training loss just below 95 % of the floor": ([0.99, 0.94], [1.0, 0.95], 1.0),
        "small losses: a large fall, a large rise": ([0.08, 0.05, 0.04], [0.06, 0.05, 0.07], 0.2),
        "large losses: a large fall and a small rise": ([4.0, 3.0, 2.5], [3.2, 3.0, 3.2], 4.6),
        "large losses: close to the floor": ([5.0, 4.6, 4.45], [4.7, 4.6, 4.6], 4.6),
        "a validation loss that ends just above 110 % of its smallest value": (
            [1.0, 0.8, 0.6],
            [0.9, 0.8, 0.885],
            1.1,
        ),
    }
    return named(made_up | {name: _curves_of(*run) for name, run in RECORDED.items()})


def _rule(stuck: Rule, over: Rule) -> Callable[..., str]:
    """A wrong answer: stuck is asked first, then over-fitted."""
    return lambda training, validation, floor: (
        STUCK
        if stuck(training, validation, floor)
        else OVER
        if over(training, validation, floor)
        else NEITHER
    )


def _is_stuck(training: list[float], validation: list[float], floor: float) -> bool:
    return _diagnosis(training, validation, floor) == STUCK


def _has_turned(training: list[float], validation: list[float], floor: float) -> bool:
    return validation[-1] > (1 + RISE) * min(validation)


def _about_names(result: CaseResult) -> str | None:
    names = (STUCK, OVER, NEITHER)
    if result.yours[0] not in names:
        return f"{result.yours[0]!r} is none of the three names: {', '.join(map(repr, names))}."
    return None


check_diagnosis = Checker(
    name="diagnosis",
    about="""``f(training, validation, floor)``, the losses of each epoch and the loss of knowing
    the class shares alone → ``"stuck"``, ``"over-fitted"`` or ``"neither"``.""",
    reference=_diagnosis,
    cases=_curve_cases,
    returns=("diagnosis",),
    start='if training[-1] > 0.95 * floor: return "stuck"; then look at the validation loss.',
    span="thirteen made-up pairs of curves and three recorded runs",
    mistakes=(
        (
            lambda *curves: OVER if _has_turned(*curves) else _diagnosis(*curves),
            "ask first whether anything was learned: where the training "
            "loss has not left the floor, "
            "a rising validation loss is drift and no over-fitting.",
        ),
        (
            _rule(lambda t, v, floor: t[-1] > (1 - FALL) * t[0], _has_turned),
            "you compare the last training loss with the first: a bad "
            "start can fall a long way and "
            "end at the class shares. Compare with the floor.",
        ),
        (
            _rule(_is_stuck, lambda t, v, floor: v[-1] > (1 + RISE) * v[0]),
            "you compare the last validation loss with the first: it can turn and still lie below "
            "where it began. Compare with its smallest value.",
        ),
        (
            _rule(_is_stuck, lambda t, v, floor: v[-1] > (1 + RISE) * t[-1]),
            "a gap between training and validation is no defect by "
            "itself: over-fitted means that the "
            "validation loss has turned.",
        ),
        (
            _rule(_is_stuck, lambda t, v, floor: v[-1] > min(v)),
            "a validation loss wavers from epoch to epoch: it has turned "
            "when it ends more than 10 % "
            "above its smallest value.",
        ),
        (
            _rule(_is_stuck, lambda t, v, floor: v[-1] - min(v) > RISE),
            "10 % is a share of the smallest validation loss, not a difference: multiply by 1.1.",
        ),
        (
            _rule(lambda t, v, floor: floor - t[-1] < FALL, _has_turned),
            "5 % is a share of the floor, no difference between losses: multiply by 0.95.",
        ),
    ),
    diagnoses=(_about_names,),
)


def _pairs_of_answers(both: int, only_first: int, only_second: int, neither: int) -> Inputs:
    counts = torch.tensor([both, only_first, only_second, neither])
    first = torch.tensor([True, True, False, False]).repeat_interleave(counts)
    second = torch.tensor([True, False, True, False]).repeat_interleave(counts)
    order = torch.randperm(len(first), generator=generator(len(first), only_first))
    return first[order], second[order]


def _tail(fewer: int, throws: int) -> float:
    """How often so many throws of a fair coin show heads at most ``fewer`` times."""
    return sum(math.comb(throws, heads) for heads in range(fewer + 1)) / 2**throws


def _like(told: Callable[[int, int], float]) -> Callable[[Tensor, Tensor], Tensor]:
    """A wrong answer made from the numbers of texts that one model alone gets right."""
    return lambda first, second: torch.tensor(
        float(told(int((first & ~second).sum()), int((second & ~first).sum())))
    )


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
    reference=lambda first, second: torch.tensor(mcnemar(first.numpy(), second.numpy())),
    cases=cases(
        "{:text} both get right, {} and {} one alone, {} neither",
        (
            (0, 1, 0, 0),
            (3, 0, 0, 2),
            (2, 1, 1, 1),
            (1, 2, 0, 0),
            (3, 1, 5, 2),
            (4, 3, 3, 4),
            (30, 9, 2, 9),
            (400, 20, 41, 239),
            (500, 35, 34, 131),
        ),
        _pairs_of_answers,
    ),
    returns=("p",),
    start="(first & ~second).sum() texts are the first model's alone.",
    span="from one text to 700",
    shapes="one number for all texts together",
    mistakes=(
        (
            _like(lambda a, b: _tail(min(a, b), a + b)),
            "that is one tail: a split as uneven the other way would "
            "have surprised you as much, so "
            "double it.",
        ),
        (
            _like(lambda a, b: 2 * _tail(min(a, b), a + b)),
            "where both models are right alone equally often, your two "
            "tails overlap and their sum is "
            "above 1: take 1 at most.",
        ),
        (
            _like(lambda a, b: min(1.0, 2 * (_tail(min(a, b) - 1, a + b)))),
            "the split that was seen belongs to the tail, too: count heads up to and including the "
            "smaller number.",
        ),
        (
            _like(lambda a, b: min(1.0, 2 * _tail(max(a, b), a + b))),
            "you count up to the larger number: the tail holds splits as "
            "uneven or more, so up to the "
            "smaller one.",
        ),
        (
            _like(lambda a, b: min(1.0, 2 * math.comb(a + b, min(a, b)) / 2 ** (a + b))),
            (
                "that is the chance of exactly this split: the tail holds "
                "all that are more uneven, too."
            ),
        ),
        (
            _like(lambda a, b: _normal(a, b)),
            "that is the normal approximation with its correction: with "
            "few texts it is off, so add "
            "up the binomial coefficients.",
        ),
    ),
    diagnoses=(_is_probability,),
)


SUSPECTS = ("stopping", "optimiser", "network", "files", "attention", "size", "loading")
CLEARED, CONVICTED, OPEN = "cleared", "convicted", "open"


def _verdict() -> dict[str, str]:
    known = dict.fromkeys(SUSPECTS, CLEARED)
    return known | {"size": OPEN, "loading": CONVICTED}


EVIDENCE = {  # what speaks against another verdict
    "stopping": "the training loss is far below the floor, the validation loss has turned, and a "
    "longer training changed nothing",
    "optimiser": "with this optimiser and this rate the network learned 32 reviews by heart",
    "network": "the network learned 32 reviews by heart, even with random labels",
    "files": "counted words, fitted to the files, are right about every new review",
    "attention": "the run fails in the same way with all the weight on the words that decide",
    "size": "no observation has changed the number of reviews. Counted words need no more than "
    "these 500, but a network may; only the repair will tell",
    "loading": "fit a baseline to run.given, or read run.words(run.given.tokens[0]) beside "
    "run.given.labels[0]",
}


def _about_verdict(verdict: dict[str, str]) -> str:
    """What is wrong with a verdict: names first, then the suspect that the evidence decides."""
    if missing := [name for name in SUSPECTS if name not in verdict]:
        return f"nothing is said about {missing[0]!r}."
    if unknown := [name for name in verdict if name not in SUSPECTS]:
        return f"{unknown[0]!r} is none of the suspects: {', '.join(map(repr, SUSPECTS))}."
    names = (CLEARED, CONVICTED, OPEN)
    if other := [word for word in verdict.values() if word not in names]:
        return f"{other[0]!r} is none of the verdicts: {', '.join(map(repr, names))}."
    right = _verdict()
    wrong = [name for name in SUSPECTS if verdict[name] != right[name]]
    if not wrong:
        return ""
    told = f"{len(SUSPECTS) - len(wrong)} of {len(SUSPECTS)} agree with the evidence. "
    return f"{told}{wrong[0]!r} is not {verdict[wrong[0]]}: {EVIDENCE[wrong[0]]}."


check_verdict = Checker(
    name="verdict",
    about="""``f()`` → a dictionary: each suspect ``"cleared"``, ``"convicted"`` or ``"open"``.""",
    reference=_verdict,
    cases=lambda: named({"the run of section 1": ()}),
    returns=("verdict",),
    start="for each suspect: which observation could have convicted it, and what did you see?",
    span="seven suspects",
    requirement=_about_verdict,
    mistakes=(
        (
            lambda: dict.fromkeys(SUSPECTS, OPEN),
            "all suspects are open in yours, but five of them had an observation that could have "
            "convicted them, and passed it.",
        ),
        (
            lambda: _verdict() | {"loading": OPEN},
            "your six others are right. One is left that no observation has touched: ask the data "
            "at the place where the network gets them, run.given.",
        ),
        (
            lambda: _verdict() | {"size": CLEARED},
            "your six others are right, but 'size' is not cleared before the repair: nothing has "
            "changed the number of reviews. Counted words need no more than these 500, but a "
            "network may.",
        ),
        (
            lambda: _verdict() | {"size": CONVICTED, "loading": CLEARED},
            "you convict 'size' by what the curves look like. Networks that over-fit learn "
            "something about new texts first, and this one never did.",
        ),
        (
            lambda: _verdict() | {"attention": CONVICTED, "loading": CLEARED},
            "you convict the attention by how it looks. With all the weight on the words that "
            "decide the run fails in the same way.",
        ),
    ),
)


def _holm(p: Tensor) -> Tensor:
    return torch.tensor(holm(p.tolist()), dtype=p.dtype)


def _families() -> list[Case]:
    families = {
        "one test": [0.03],
        "two tests": [0.03, 0.01],
        "a larger p that its factor leaves below the one before": [0.02, 0.021, 0.5],
        "equal p-values": [0.02, 0.3, 0.02],
        "four tests, one of them above 1 after its factor": [0.9, 0.004, 0.03, 0.4],
    }
    random = torch.rand(9, generator=generator(9)) ** 3
    return named({name: (torch.tensor(p),) for name, p in families.items()} | {"nine": (random,)})


def _stepwise(
    factors: Callable[[int], Tensor], rising: bool = True, limit: float = 1.0
) -> Callable[[Tensor], Tensor]:
    """A wrong answer: the sorted p-values times ``factors`` of their number."""

    def answer(p: Tensor) -> Tensor:
        order = p.argsort()
        larger = p[order] * factors(len(p))
        larger = larger.cummax(0).values if rising else larger
        return larger.clamp(max=limit)[order.argsort()]

    return answer


def _down(tests: int) -> Tensor:
    return torch.arange(tests, 0, -1)


check_holm = Checker(
    name="holm",
    about="""``f(p)``, the p-values of a family of tests ``(tests,)`` → Holm's corrected p-values,
    ``(tests,)``, in the order of ``p``.""",
    reference=_holm,
    cases=_families,
    returns=("corrected",),
    start="sort; multiply the smallest by the number of tests, the next by one less, and so on.",
    span="one test to nine",
    shapes="one corrected p for each p",
    mistakes=(
        (
            lambda p: (len(p) * p).clamp(max=1),
            "you multiply every p by the number of tests: that is Bonferroni's correction. Holm's "
            "factor falls by one from each p to the next larger one.",
        ),
        (
            _stepwise(_down, rising=False),
            "a corrected p falls below that of a smaller p: carry the largest so far along.",
        ),
        (_stepwise(_down, limit=torch.inf), "a p-value is at most 1."),
        (
            lambda p: (p * _down(len(p))).clamp(max=1),
            "the factors go by rank, and p is not sorted.",
        ),
        (
            lambda p: _holm(p).sort().values,
            "the corrected p-values are in the order of their size: put them back into that of p.",
        ),
        (
            _stepwise(lambda tests: torch.arange(1, tests + 1)),
            "you multiply the smallest p by 1: it gets the largest factor, the number of tests.",
        ),
        (
            _stepwise(lambda tests: tests / torch.arange(1, tests + 1), rising=False),
            "you divide by the rank: that is the step of Benjamini and Hochberg, which limits the "
            "share of false discoveries. Holm's factors are n, n − 1, …, 1.",
        ),
        (
            _stepwise(lambda tests: _down(tests) - 1 + (tests == 1)),
            "your factors begin at n − 1: the smallest p is multiplied by n.",
        ),
    ),
)
