"""Lesson 06: the length of phrases beside chance, and the interaction of two words."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.cases import (
    Case,
    CaseResult,
    Kinds,
    cases,
    generator,
    named,
    normal,
    ragged,
)
from course_kit.exercises.comparison import same
from course_kit.exercises.judge import Checker
from course_lib.metrics.composition import expected_phrases, phrase_starts


def _lengths(selected: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    counts = (phrase_starts(selected), expected_phrases(selected, mask))
    words = selected.sum((0, 2))
    return words / counts[0].sum((0, 2)), words / counts[1].sum(0)


def _with_starts(starts: Callable[[Tensor], Tensor]) -> Callable[..., tuple[Tensor, Tensor]]:
    """The lengths if phrases began elsewhere."""

    def lengths(selected: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        words = selected.sum((0, 2))
        return words / starts(selected).sum((0, 2)), _lengths(selected, mask)[1]

    return lengths


def _with_chance(runs: Callable[..., Tensor]) -> Callable[..., tuple[Tensor, Tensor]]:
    """The lengths with ``runs(k, n, positions)`` expected in a random order."""

    def lengths(selected: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        k, n = selected.sum(2), mask.sum(1, keepdim=True)
        expected = runs(k, n, mask.shape[1]).sum(0)
        return _lengths(selected, mask)[0], selected.sum((0, 2)) / expected

    return lengths


def _about_sentences(result: CaseResult) -> str | None:
    """A mean of each sentence's own, also where sentences that select nothing are left out."""
    selected, mask = result.case.inputs
    runs = phrase_starts(selected).sum(2), expected_phrases(selected, mask)
    own = selected.sum(2) / runs[result.wrong]  # 0 / 0 where a sentence selects nothing
    means = own.mean(0), own.nanmean(0), own.nan_to_num().mean(0)
    if any(same(result.yours[result.wrong], mean) for mean in means):
        return "you take the mean of each sentence first: divide all selected words by all phrases."
    return None


def _across_sentences(selected: Tensor) -> Tensor:
    """Starts where a run goes on from the end of a sentence into the next one."""
    joined = phrase_starts(selected.transpose(0, 1).flatten(1))
    return joined.view(selected.shape[1], selected.shape[0], -1).transpose(0, 1)


def _selections(texts: int, layers: int, words: int) -> Kinds:
    source, mask = generator(texts, layers, words), ragged(texts, words)
    chosen = torch.rand(texts, layers, words, generator=source) < 0.5
    chosen[0, :, 0] = True  # so that every layer selects something
    everything = torch.ones_like(mask)
    return {"all real": (chosen, everything), "some padded": (chosen & mask[:, None], mask)}


check_phrase_lengths = Checker(
    name="phrase_lengths",
    about="""``f(selected, mask)``, bool ``(n, layers, words)`` and ``(n, words)`` → the mean length
    of a phrase in each layer, and the length if the same words stood in a random order, both
    ``(layers,)``: all selected words over all phrases, or over the sum of k (n − k + 1) / n.""",
    reference=_lengths,
    cases=cases(
        "{:sentence} in {:layer}, {:word}",
        ((1, 1, 2), (1, 2, 5), (3, 2, 6), (8, 4, 20)),
        _selections,
    ),
    returns=("length", "by chance"),
    shapes="one number for each layer, over all its phrases in all sentences",
    start="a phrase starts at a selected word whose left neighbour is not selected.",
    span="up to eight sentences, four layers and 20 words",
    mistakes=(
        (
            _with_starts(lambda chosen: chosen[:, :, 1:] & ~chosen[:, :, :-1]),
            "a phrase at the start of a sentence is lost: the first word has no left neighbour.",
        ),
        (
            _with_starts(_across_sentences),
            "your phrases run from the end of one sentence into the next.",
        ),
        (
            _with_starts(lambda chosen: chosen),
            "you count selected words, not phrases: neighbours belong to one phrase.",
        ),
        (
            _with_chance(lambda k, n, positions: k * (positions - k + 1) / positions),
            "you take padding for words: n is the number of real words of each sentence.",
        ),
        (
            _with_chance(lambda k, n, positions: k * (n - k) / n),
            "the expected number of phrases is k (n − k + 1) / n: the + 1 is missing.",
        ),
    ),
    diagnoses=(_about_sentences,),
)


Score = Callable[[Tensor], Tensor]  # which words are kept, bool (n, words) → a score (n,)


def _worth(keep: Tensor) -> Tensor:
    """A value for each kept position, ``(n, words)``."""
    return torch.sin(1.7 * torch.arange(keep.shape[1]) + 1) * keep


def _sum(keep: Tensor) -> Tensor:
    return _worth(keep).sum(1)


def _neighbours(keep: Tensor) -> Tensor:
    values = _worth(keep)
    return _sum(keep) + 2 * (values[:, 1:] * values[:, :-1]).sum(1)


SCORES: dict[str, Score] = {
    "a sum of words": _sum,
    "neighbours multiplied": _neighbours,
    "a mean": lambda keep: _sum(keep) / keep.sum(1).clamp(min=1),
    "a squared sum": lambda keep: _sum(keep).square(),
}


def _four(score: Score, mask: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, ...]:
    """The scores with all words, without the first, without the second, and without both."""
    at = torch.arange(mask.shape[1])
    one, two = at != first.unsqueeze(1), at != second.unsqueeze(1)
    return score(mask), score(mask & one), score(mask & two), score(mask & one & two)


def _interaction(score: Score, mask: Tensor, first: Tensor, second: Tensor) -> Tensor:
    whole, one, two, neither = _four(score, mask, first, second)
    return whole - one - two + neither


def _of_these_alone(score: Score, mask: Tensor, first: Tensor, second: Tensor) -> Tensor:
    at = torch.arange(mask.shape[1])
    one, two = at == first.unsqueeze(1), at == second.unsqueeze(1)
    return score(one | two) - score(one) - score(two) + score(one & two & False)


def _combined(how: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda *given: how(*_four(*given))


def _interaction_cases() -> list[Case]:
    made = {}
    for texts, words in ((1, 2), (1, 3), (3, 6), (8, 12)):
        (order,) = normal((texts, words), (texts, words))
        for kind, mask in (
            ("all real", torch.ones(texts, words, dtype=torch.bool)),
            ("some padded", ragged(texts, words)),
        ):
            if mask.sum(1).min() < 2:
                mask[:, :2] = True  # two words to ask about
            first, second = order.masked_fill(~mask, -torch.inf).topk(2, 1).indices.unbind(1)
            for name, score in SCORES.items():
                what = f"{texts} of {words} words, {kind}, {name}"
                made[what] = score, mask, first, second
    return named(made)


check_interaction = Checker(
    name="interaction",
    about="""``f(score, mask, first, second)`` → the score of all words, less that without the
    first, less that without the second, plus that without both, ``(n,)``.""",
    reference=_interaction,
    cases=_interaction_cases,
    returns=("interaction",),
    start="keep = mask.clone(), then keep[torch.arange(len(mask)), first] = False.",
    span="four scores, two words to twelve",
    shapes="one number for each text",
    mistakes=(
        (
            _combined(lambda whole, one, two, neither: whole - one - two),
            "the score without both words is missing: add it.",
        ),
        (
            _combined(lambda whole, one, two, neither: whole - one - two - neither),
            "the score without both comes back with a plus: what both share was taken away twice.",
        ),
        (
            _combined(lambda whole, one, two, neither: whole - neither),
            "that is what both words are worth: subtract what each is worth alone.",
        ),
        (
            _of_these_alone,
            "you keep the two words alone: leave all the other words in, and remove these.",
        ),
    ),
)
