"""Lesson 07: erasure and what is made of it, and the agreement of two rankings."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from course_kit.exercises.cases import Case, generator, named
from course_kit.exercises.judge import Checker

Texts = Sequence[Sequence[str]]
Model = Callable[[Texts], Tensor]  # texts → probabilities ``(texts, classes)``
Pair = tuple[Tensor, Tensor]


MOODS = {  # what each word adds to three classes
    "warm": (-1.0, 0.5, 1.6), "dull": (1.5, 0.6, -0.8), "fine": (-0.4, 1.2, 0.3),
    "not": (1.1, 0.3, -1.0), "a": (0.1, 0.0, 0.2), "film": (0.0, 0.2, 0.1),
}  # fmt: skip


def _logits(texts: Texts) -> Tensor:
    return torch.stack([
        sum((torch.tensor(MOODS[word]) for word in text), torch.zeros(3)) for text in texts
    ])  # fmt: skip


def two_moods(texts: Texts) -> Tensor:
    """A model of bags of words with two classes."""
    return _logits(texts)[:, [0, 2]].softmax(1)


def three_moods(texts: Texts) -> Tensor:
    """A model of bags of words with three classes."""
    return _logits(texts).softmax(1)


def hears_the_end(texts: Texts) -> Tensor:
    """A model to which the last word says three times as much."""
    return (_logits(texts) + 2 * _logits([text[-1:] for text in texts])).softmax(1)


def _erasure_cases() -> list[Case]:
    texts = {
        "warm film": [0.9, 0.1],
        "a dull film": [0.2, 0.5, 0.3],
        "warm and dull": [],
        "a film not warm": [0.1, 0.2, 0.6, 0.4],
        "warm warm dull film": [0.8, 0.1, 0.5, -0.3],
        "fine film a warm not dull": [0.3, 0.05, -0.7, 0.4, -0.2, 0.9],
    }
    return [
        Case(
            f"“{text}”, {count} of {len(scores)} words, {model.__name__.replace('_', ' ')}",
            (model, text.split(), torch.tensor(scores), count),
        )
        for text, scores in texts.items()
        for count in range(1, len(scores) + 1)
        for model in (two_moods, three_moods, hears_the_end)
    ]


def _split(words: list[str], top: Sequence[int]) -> tuple[list[str], list[str]]:
    """The words that are left when the top ones go, and the top ones, in reading order."""
    kept = [word for place, word in enumerate(words) if place in top]
    return [word for place, word in enumerate(words) if place not in top], kept


def _top(importance: Tensor, count: int) -> list[int]:
    return importance.argsort(descending=True)[:count].tolist()


def _losses(model: Model, words: list[str], rest: list[str], kept: list[str]) -> Pair:
    whole, without, alone = model([words, rest, kept])
    j = int(whole.argmax())
    return whole[j] - without[j], whole[j] - alone[j]


def _erasure(model: Model, words: list[str], importance: Tensor, count: int) -> Pair:
    return _losses(model, words, *_split(words, _top(importance, count)))


def _erasing(chosen: Callable[[Tensor, int], list[int]]) -> Callable[..., Pair]:
    """The answer that takes other places for the top ones."""
    return lambda model, words, importance, count: _losses(
        model, words, *_split(words, chosen(importance, count))
    )


def _reading(told: Callable[[Tensor, Tensor, Tensor], Pair]) -> Callable[..., Pair]:
    """The answer that makes something else of the three outputs."""
    return lambda model, words, importance, count: told(
        *model([words, *_split(words, _top(importance, count))])
    )


check_erasure = Checker(
    name="erasure",
    about="""``f(model, words, importance, count)`` → comprehensiveness and sufficiency of the
    ``count`` most important words, for the class that ``model`` predicts for all of them.""",
    reference=_erasure,
    cases=_erasure_cases,
    returns=("comprehensiveness", "sufficiency"),
    start="top = set(importance.argsort(descending=True)[:count].tolist()), then two lists of "
    "words, by place.",
    span="texts of two to six words under three small models",
    mistakes=(
        (_reading(lambda whole, rest, kept: (whole[1] - rest[1], whole[1] - kept[1])),
         "you look at class 1: take the class that the model predicts for the whole text."),
        (_reading(lambda whole, rest, kept: (whole.max() - rest.max(), whole.max() - kept.max())),
         "each text has its own class in yours: keep the class of the whole text, or a decision "
         "that flips looks like no loss."),
        (_reading(lambda whole, rest, kept: (rest[whole.argmax()], kept[whole.argmax()])),
         "these are the probabilities that are left: subtract them from that of the whole text."),
        (_erasing(lambda scores, count: _top(scores, count + 1)[1:]),
         "the word that is ranked first is never in your set: places count from 0."),
        (_reading(lambda whole, rest, kept: (whole.max() - rest[whole.argmax()],
                                             kept[whole.argmax()])),
         "comprehensiveness is right, but sufficiency is a loss as well: subtract p of the top "
         "words from p of the whole text."),
    ),
)  # fmt: skip


def _flip(before: int, after: list[int]) -> Tensor:
    changed = [place for place, now in enumerate(after, start=1) if now != before]
    return torch.tensor(changed[0] / len(after) if changed else 1.0)


def _flip_cases() -> list[Case]:
    cases = {
        "one word, and it decides": (1, [0]),
        "one word, which changes nothing": (1, [1]),
        "the first of three": (0, [1, 1, 1]),
        "the last of three": (0, [0, 0, 1]),
        "it changes and comes back": (1, [1, 0, 1, 1]),
        "it never changes": (2, [2, 2, 2, 2]),
        "it changes twice, to other classes": (2, [2, 2, 1, 0, 2]),
        "it wavers": (0, [0, 3, 0, 3, 3, 0, 3, 3]),
    }
    return named(cases)


def _flips(share: Callable[[list[int], int], float], never: float = 1.0) -> Callable[..., Tensor]:
    """An answer made of the numbers of removed words at which the decision is another."""

    def answer(before: int, after: list[int]) -> Tensor:
        changed = [place for place, now in enumerate(after, start=1) if now != before]
        return torch.tensor(float(share(changed, len(after)) if changed else never))

    return answer


check_share_to_flip = Checker(
    name="share_to_flip",
    about="""``f(before, after)``, the predicted class and those after 1, 2, … removed words → the
    share of the words that are removed when the decision first changes, 1 where it never does.""",
    reference=_flip,
    cases=_flip_cases,
    returns=("share",),
    start="go through after and stop at the first class that is not before.",
    span="one word to eight",
    mistakes=(
        (_flips(lambda changed, words: changed[0] / words, never=0.0),
         "a decision that never changes counts as 1: with 0, a ranking that finds nothing would "
         "look like the best."),
        (_flips(lambda changed, words: changed[0] / words, never=torch.nan),
         "a decision that never changes counts as 1: if such texts were left out, a ranking that "
         "flips the easy ones alone would look like the best."),
        (_flips(lambda changed, words: (changed[0] - 1) / words),
         "after[0] is what the model says without one word, so the first place is one word, not "
         "none."),
        (_flips(lambda changed, words: changed[0], never=1.0),
         "that is how many words: divide by the number of words."),
        (_flips(lambda changed, words: changed[-1] / words),
         "you take the last time that the decision is another: the first one counts."),
        (_flips(lambda changed, words: len(changed) / words, never=0.0),
         "you count how often the decision is another: when it is so first is asked for."),
    ),
)  # fmt: skip


def _limit_cases() -> list[Case]:
    kinds = {
        "one document, one threshold": ([[0.4]], [0.0], [0.8]),
        "one document, two thresholds": ([[0.1, 0.5]], [-0.1], [0.5]),
        "two documents": ([[0.1, 0.3], [0.6, 0.8]], [0.0, 0.2], [0.4, 0.7]),
        "a ranking that is the worst": ([[-0.2, 0.0]], [-0.1], [0.6]),
        "no room between the limits": ([[0.3, 0.300001], [0.2, 0.0]], [0.3, 0.0], [0.3, 0.5]),
        "an area beyond a sampled limit": ([[0.5, 0.9], [0.0, 0.2]], [0.0, 0.2], [0.6, 0.6]),
    }
    random = torch.rand(6, 5, generator=generator(6, 5))
    lower = random.mean(1) - torch.rand(6, generator=generator(6))
    kinds["six documents"] = random, lower, lower + 1.5
    return named({kind: tuple(map(torch.as_tensor, given)) for kind, given in kinds.items()})


def _normalised(losses: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    room = upper - lower
    return torch.where(room > 0, (losses.mean(1) - lower) / room, torch.nan)


check_normalised_aopc = Checker(
    name="normalised_aopc",
    about="""``f(losses, lower, upper)``, ``(documents, thresholds)`` and twice ``(documents,)`` →
    where each document's AOPC lies between its limits, ``(documents,)``; NaN where both are
    equal.""",
    reference=_normalised,
    cases=_limit_cases,
    returns=("normalised",),
    start="losses.mean(1) is the AOPC of each document.",
    shapes="one number a document: the mean runs over the thresholds",
    span="one document to six",
    mistakes=(
        (lambda losses, lower, upper: losses.mean(1),
         "that is the raw AOPC: say where it lies between lower and upper."),
        (lambda losses, lower, upper: losses.mean(1) - lower,
         "lower is subtracted, but the room between the limits is not divided by."),
        (lambda losses, lower, upper: losses.mean(1) / (upper - lower),
         "you divide by the room without subtracting lower: the worst ranking must have 0."),
        (lambda losses, lower, upper: (losses.mean(1) - lower) / (upper - lower),
         "where both limits are equal you divide by 0: any rounding makes a huge number of it. "
         "Write NaN there."),
        (lambda losses, lower, upper: _normalised(losses.sum(1, keepdim=True), lower, upper),
         "you sum over the thresholds: AOPC is their mean."),
        (lambda losses, lower, upper: _normalised(
            losses.mean().expand(losses.shape), lower, upper),
         "all documents share one mean in yours: losses.mean(1) has one a document."),
    ),
)  # fmt: skip


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
        (_of_pairs(lambda a, b: (a * b).mean()),
         "you divide by all pairs (τ-a): a pair that one ranking ties can agree with nothing, so "
         "two equal rankings with a tie would have less than 1."),
        (_of_pairs(lambda a, b: (a * b).sum() / (a * b).abs().sum()),
         "you leave out every pair that is tied in one of them: then a ranking that is almost "
         "all ties reaches 1."),
        (_of_pairs(lambda a, b: ((a * b) > 0).float().mean()),
         "that is the share of pairs in the same order: pairs in opposite order count −1."),
        (_of_pairs(lambda a, b: (a * b).sum()),
         "that is how many pairs agree less how many do not: divide it."),
        (_of_pairs(lambda a, b: (a * b).sum() / a.abs().sum()),
         "you count the ties of the second ranking as pairs: both rankings have a factor under "
         "the root."),
        (_of_pairs(lambda a, b: (a * b).sum() / b.abs().sum()),
         "you count the ties of the first ranking as pairs: both rankings have a factor under "
         "the root."),
    ),
)  # fmt: skip
