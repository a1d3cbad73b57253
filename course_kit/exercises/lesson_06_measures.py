"""Lesson 06: the four scores of a pair of words, and the interaction of any two."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.cases import Case, generator, named, normal, ragged
from course_kit.exercises.judge import Checker


def _tables(
    scores: Tensor,
    first: Tensor,
    second: Tensor,
    cell: Callable[[Tensor, Tensor], Tensor] = lambda scores, chosen: scores[chosen].mean(),
) -> tuple[Tensor, Tensor]:
    """The table of cells and its double difference."""
    cells = [[cell(scores, (first == i) & (second == j)) for j in (0, 1)] for i in (0, 1)]
    table = torch.stack([torch.stack(row) for row in cells])
    return table, (table[0, 0] - table[0, 1]) - (table[1, 0] - table[1, 1])


def _with_double(how: Callable[[Tensor], Tensor]) -> Callable[..., tuple[Tensor, Tensor]]:
    """The right table with another second result."""

    def tables(*given: Tensor) -> tuple[Tensor, Tensor]:
        table = _tables(*given)[0]
        return table, how(table)

    return tables


def _pair_cases() -> list[Case]:
    made = {}
    for texts in (4, 9, 60):
        (scores,) = normal((texts,), (texts,))
        kinds = torch.randperm(texts, generator=generator(texts)) % 4
        made[f"{texts} texts"] = scores, kinds // 2, kinds % 2
    return named(made)


check_pair_scores = Checker(
    name="pair_scores",
    about="""``f(scores, first, second)``: scores ``(n,)``, which first and which second word each
    text has, 0 or 1, ``(n,)`` → the mean score of each kind of pair, ``(2, 2)``, first words down,
    and the double difference (t00 − t01) − (t10 − t11).""",
    reference=_tables,
    cases=_pair_cases,
    returns=("table", "double difference"),
    shapes="a table with a row for each first word, and one number",
    start="scores[(first == 0) & (second == 1)] are those of one kind of pair.",
    span="four texts to 60",
    mistakes=(
        (
            lambda *given: _tables(*given, cell=lambda scores, chosen: scores[chosen].sum()),
            "you sum the scores of a kind: take their mean, for the kinds have different numbers "
            "of texts.",
        ),
        (
            lambda *given: _tables(*given, cell=lambda scores, chosen: (scores * chosen).mean()),
            "you divide by the number of all texts: choose the texts of a kind first, then take "
            "their mean.",
        ),
        (
            lambda scores, first, second: _tables(scores, second, first),
            "rows and columns are exchanged: first words go down, second words across.",
        ),
        (
            _with_double(lambda t: (t[0, 0] - t[0, 1]) + (t[1, 0] - t[1, 1])),
            "you add the two differences: subtract the second from the first.",
        ),
        (
            _with_double(lambda t: (t[1, 0] - t[1, 1]) - (t[0, 0] - t[0, 1])),
            "your double difference has the other sign: the first row comes first.",
        ),
        (
            _with_double(lambda t: t.sum()),
            "the double difference is no sum: two of the four cells are subtracted.",
        ),
    ),
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
