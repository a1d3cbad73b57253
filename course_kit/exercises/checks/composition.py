"""Checkers of the exercises on what AGT composes: selected words, phrases, and word order."""

from collections.abc import Callable
from itertools import groupby, pairwise, permutations

import torch
from torch import Tensor

from course_kit.exercises.checks.core import Case, Checker, Trial, check, generator, plural, ragged
from course_lib.metrics.composition import ALIKE, selected_words

Predict = Callable[[Tensor], Tensor]  # word ids (words,) → logits (classes,)


def check_selected_words(function: Callable[[Tensor, Tensor, float], Tensor]) -> None:
    """``f(weights, mask, threshold)``, ``(batch, length)`` twice → which words' weights, scaled to
    [0, 1] within their sentence, are above the threshold, bool as ``mask``; none where all words
    weigh alike."""
    check(SELECTED_WORDS, function)


def check_phrases(function: Callable[[list[str], list[bool]], list[str]]) -> None:
    """``f(words, selected)`` → the runs of selected words, each as one string, in order."""
    check(PHRASES, function)


def check_order_change(function: Callable[[Predict, Tensor], Tensor]) -> None:
    """``f(predict, tokens)``, ``tokens`` ``(words,)`` → the largest change of any logit of
    ``predict(tokens)`` over all orders of the words."""
    check(ORDER_CHANGE, function)


def _select(weights: Tensor, mask: Tensor, threshold: float) -> Tensor:
    return selected_words(weights.unsqueeze(1), mask, threshold)[:, 0]


def _selection_cases() -> list[Case]:
    """Ties, sentences that weigh all words alike up to rounding, one word, a weight exactly at the
    threshold, and padding."""
    tie = torch.tensor([[0.25, 0.125, 0.25, 0.125, 0.25]])
    middle = torch.tensor([[0.125, 0.25, 0.375, 0.25]])
    wobble = torch.tensor([[1, 1 + 2e-7, 1, 1 - 1e-7]]) / 4
    rows = {
        "one word": torch.ones(1, 1),
        "two words": torch.tensor([[0.75, 0.25]]),
        "all alike": torch.full((1, 4), 0.25),
        "a tie for the largest weight": tie,
    }
    cases = [
        Case(name, (weights, torch.ones_like(weights, dtype=torch.bool), 0.95))
        for name, weights in rows.items()
    ]
    cases.append(Case("a weight at the threshold", (middle, middle > 0, 0.5)))
    three = torch.tensor([[0.3, 0.4, 0.3, 0.0, 0.0]])
    two = torch.tensor([[0.5, 0.5, 0.0]])
    cases.append(Case("three words and padding, a low threshold", (three, three > 0, 0.1)))
    cases.append(Case("two words alike and padding", (two, two > 0, 0.95)))
    cases.append(Case("all alike but for rounding", (wobble, wobble > 0, 0.95)))
    for rows, length in ((2, 3), (3, 6), (8, 30)):
        mask = ragged(rows, length)
        scores = 2 * torch.randn(rows, length, generator=generator(rows, length, 3))
        weights = scores.masked_fill(~mask, -torch.inf).softmax(1)
        cases += [
            Case(f"{plural(rows, 'sentence')} of up to {length} words, above {threshold}",
                 (weights, mask, threshold))
            for threshold in (0.95, 0.5)
        ]  # fmt: skip
    return cases


def _share(weights: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Scaled between two bounds; 0 / 0 is NaN, which is above nothing."""
    return (weights - low) / (high - low)


def _bounds(weights: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    low = weights.masked_fill(~mask, torch.inf).amin(1, keepdim=True)
    return low, weights.amax(1, keepdim=True)


def _no_tolerance(weights: Tensor, mask: Tensor, threshold: float) -> Tensor:
    return (_share(weights, *_bounds(weights, mask)) > threshold) & mask


def _reaching(weights: Tensor, mask: Tensor, threshold: float) -> Tensor:
    low, high = _bounds(weights, mask)
    return (_share(weights, low, high) >= threshold) & mask & (high - low > ALIKE * high)


def _all_when_alike(weights: Tensor, mask: Tensor, threshold: float) -> Tensor:
    low, high = _bounds(weights, mask)
    return _select(weights, mask, threshold) | (mask & (high - low <= ALIKE * high))


def _over_the_maximum(weights: Tensor, mask: Tensor, threshold: float) -> Tensor:
    return (weights / weights.amax(1, keepdim=True) > threshold) & mask


def _padding_counts(weights: Tensor, mask: Tensor, threshold: float) -> Tensor:
    low, high = weights.amin(1, keepdim=True), weights.amax(1, keepdim=True)
    return (_share(weights, low, high) > threshold) & (high - low > ALIKE * high) & mask


def _over_the_batch(weights: Tensor, mask: Tensor, threshold: float) -> Tensor:
    low, high = weights[mask].min(), weights[mask].max()
    return (_share(weights, low, high) > threshold) & (high - low > ALIKE * high) & mask


def _over_the_sentences(weights: Tensor, mask: Tensor, threshold: float) -> Tensor:
    low = weights.masked_fill(~mask, torch.inf).amin(0, keepdim=True)
    high = weights.amax(0, keepdim=True)
    return (_share(weights, low, high) > threshold) & (high - low > ALIKE * high) & mask


def _only_the_first(weights: Tensor, mask: Tensor, threshold: float) -> Tensor:
    first = torch.nn.functional.one_hot(weights.argmax(1), weights.shape[1]).bool()
    return first & _select(weights, mask, threshold)


SELECTED_WORDS = Checker(
    name="selected_words",
    reference=_select,
    cases=_selection_cases,
    returns=("selected",),
    start="(weights - low) / (high - low) > threshold, low and high over the real words.",
    span="from one word to 30, ties and equal weights among them",
    mistakes=(
        (_all_when_alike,
         "where all words weigh alike (or there is one word) you select them all: a layer that "
         "prefers none selects none."),
        (_no_tolerance,
         "where all words weigh alike, rounding decides for you: call weights alike that differ by "
         "less than a millionth of the largest."),
        (_over_the_maximum,
         "that is weight ÷ largest weight: scaled to [0, 1] here means the smallest becomes 0 and "
         "the largest 1."),
        (_padding_counts,
         "the smallest weight is that of padding, 0: take it over the real words."),
        (_over_the_batch,
         "you scale over the whole batch: each sentence has its own smallest and largest weight."),
        (_over_the_sentences,
         "you scale each place over the sentences: dimension 1 holds the words."),
        (_reaching, "a weight exactly at the threshold is not above it: >, not >=."),
        (lambda weights, mask, threshold: (weights > threshold) & mask,
         "the weights are not scaled: first make each sentence's smallest 0 and its largest 1."),
        (lambda weights, mask, threshold: mask & ~_select(weights, mask, threshold),
         "these are the words at or below the threshold: take those above it."),
        (_only_the_first,
         "two words with the same largest weight are both selected: compare, don't take argmax."),
    ),
)  # fmt: skip


def _runs(words: list[str], selected: list[bool]) -> list[str]:
    runs = groupby(zip(words, selected, strict=True), key=lambda pair: pair[1])
    return [" ".join(word for word, _ in run) for is_selected, run in runs if is_selected]


def _phrase_cases() -> list[Case]:
    sentences = {
        "one word, selected": ("good", "1"),
        "one word, not selected": ("good", "0"),
        "two words apart": ("very good fun", "101"),
        "a run at the start": ("not good but short", "1100"),
        "a run at the end": ("short but not good", "0011"),
        "two runs, one of a single word": ("not very good but so short", "111010"),
        "all selected": ("never a dull moment", "1111"),
        "none selected": ("never a dull moment", "0000"),
        "the same phrase twice": ("so bad , so bad , it is bad", "110110001"),
        "ten words": ("the plot is thin but the two leads are charming", "0101100101"),
    }
    return [
        Case(description, (text.split(), [mark == "1" for mark in marks]))
        for description, (text, marks) in sentences.items()
    ]


def _unclosed(words: list[str], selected: list[bool]) -> list[str]:
    """A run is written down only when a word that is not selected ends it."""
    return _runs(words, selected)[: -1 if selected[-1] else None]


def _joined_across(words: list[str], selected: list[bool]) -> list[str]:
    return [" ".join(_runs(words, selected))] * any(selected)


PHRASES = Checker(
    name="phrases",
    reference=_runs,
    cases=_phrase_cases,
    returns=("phrases",),
    start="groupby(zip(words, selected), key=lambda pair: pair[1]).",
    span="sentences of one word to ten",
    mistakes=(
        (_unclosed,
         "a phrase that ends with the sentence is lost: nothing comes after it to close it."),
        (lambda words, selected: [phrase for phrase in _runs(words, selected) if " " in phrase],
         "one word standing alone is a phrase, too, of length 1."),
        (lambda words, selected: [word for word, flag in zip(words, selected) if flag],
         "these are the selected words one by one: neighbours belong to one phrase."),
        (_joined_across,
         "a word that is not selected ends a phrase: you join across the gaps."),
        (lambda words, selected: list(dict.fromkeys(_runs(words, selected))),
         "the same words twice are two phrases: keep both."),
        (lambda words, selected: _runs(words, [not flag for flag in selected]),
         "these are the words that were left out."),
        (lambda words, selected: [phrase.split() for phrase in _runs(words, selected)],
         "a phrase is one string, its words joined by blanks; yours is a list of words."),
        (lambda words, selected: sorted(_runs(words, selected)),
         "the phrases are in alphabetical order: keep the order of the sentence."),
        (lambda words, selected: ["".join(phrase.split()) for phrase in _runs(words, selected)],
         "the words of a phrase run together: join them with a blank, \" \".join(…)."),
        (lambda words, selected: [phrase + " " for phrase in _runs(words, selected)],
         "each phrase ends in a blank: join its words with \" \".join(…), or strip it."),
        (lambda words, selected: [place for place, flag in enumerate(selected) if flag],
         "these are the places of the selected words: take words[place], and join neighbours."),
        (lambda words, selected: [
            " ".join(phrase.split()[:-1]) for phrase in _runs(words, selected)],
         "each phrase lacks its last word: a slice words[a:b] ends before place b."),
        (lambda words, selected: [
            " ".join(phrase.split()[1:]) for phrase in _runs(words, selected)],
         "each phrase lacks its first word, the one that begins the run."),
    ),
)  # fmt: skip


def _values(tokens: Tensor) -> Tensor:
    return torch.sin(tokens.double() * 1.7).float()


def _bag(tokens: Tensor) -> Tensor:
    total = _values(tokens).sum()
    return torch.stack([total, -total])


def _reading_the_last(tokens: Tensor) -> Tensor:
    return _bag(tokens) + torch.stack([_values(tokens[-1]), torch.tensor(0.0)])


def _reading_the_middle(tokens: Tensor) -> Tensor:
    return _bag(tokens) + torch.stack([torch.tensor(0.0), _values(tokens[(len(tokens) - 1) // 2])])


def _reading_neighbours(tokens: Tensor) -> Tensor:
    values = _values(tokens)
    pairs = [left * right for left, right in pairwise(values)]
    total = sum(pairs, torch.tensor(0.0))
    return _bag(tokens) + torch.stack([total, -total])


MODELS = {
    "that adds its words up": _bag,
    "that reads the last word twice": _reading_the_last,
    "that reads the middle word twice": _reading_the_middle,
    "that multiplies neighbours": _reading_neighbours,
}


def _changes(predict: Predict, tokens: Tensor, orders: list[Tensor]) -> Tensor:
    """How each logit changes, ``(orders, classes)``."""
    return torch.stack([predict(order) for order in orders]) - predict(tokens)


def _every_order(tokens: Tensor) -> list[Tensor]:
    return [tokens[list(order)] for order in permutations(range(len(tokens)))]


def _order_change(predict: Predict, tokens: Tensor) -> Tensor:
    return _changes(predict, tokens, _every_order(tokens)).abs().max()


def _range_over_orders(predict: Predict, tokens: Tensor) -> Tensor:
    changes = _changes(predict, tokens, _every_order(tokens))
    return (changes.amax(0) - changes.amin(0)).max()


def _order_cases() -> list[Case]:
    sentences = {
        "one word": [3],
        "two words": [3, 8],
        "three words": [3, 8, 5],
        "three words, the first again at the end": [3, 8, 3],
        "four words": [2, 9, 4, 7],
        "five words": [6, 2, 9, 4, 7],
    }
    return [
        Case(f"{description}, a model {name}", (model, torch.tensor(ids)))
        for description, ids in sentences.items()
        for name, model in MODELS.items()
    ]


def _about_order_change(trial: Trial) -> str | None:
    yours, expected = float(trial.yours[0]), float(trial.expected[0])
    if 0 <= yours < expected:
        return (
            f"you find a change of {yours:.3g}, but some order gives {expected:.3g}: n words have "
            "n! orders, and a model can be blind to some of them and not to others."
        )
    return None


ORDER_CHANGE = Checker(
    name="order_change",
    reference=_order_change,
    cases=_order_cases,
    returns=("change",),
    start="permutations(range(len(tokens))) gives each order as a tuple of places.",
    span="four models, sentences of one word to five",
    mistakes=(
        (lambda predict, tokens: _changes(predict, tokens, [tokens.flip(0)]).abs().max(),
         "you try the reversed sentence alone: a model that reads the middle word twice does not "
         "notice it."),
        (lambda predict, tokens: _changes(
            predict, tokens, [tokens.roll(shift) for shift in range(len(tokens))]).abs().max(),
         "you try rotations alone, n of the n! orders."),
        (lambda predict, tokens: _changes(predict, tokens, _every_order(tokens)).max(),
         "take the absolute change: a logit that only falls changes, too."),
        (lambda predict, tokens: _changes(predict, tokens, _every_order(tokens)).abs().mean(),
         "the mean hides a change that few orders make: blindness asks for the largest."),
        (lambda predict, tokens: torch.tensor(
            0.0 if _order_change(predict, tokens) < 1e-6 else 1.0),
         "whether it changes is not how much: return the largest change itself."),
        (lambda predict, tokens: _changes(predict, tokens, _every_order(tokens)).abs().sum(),
         "you sum the changes of all orders: the largest one is asked for."),
        (_range_over_orders,
         "you compare the orders with each other: each is compared with the order given."),
        (lambda predict, tokens: _changes(
            predict, tokens, _every_order(tokens)).norm(dim=1).max(),
         "you take the length of an order's change, which mixes the logits: the largest change of "
         "any single logit is asked for."),
        (lambda predict, tokens: _changes(
            predict, tokens, _every_order(tokens)).abs().sum(1).max(),
         "you add up the changes of an order's logits: the largest change of any single logit is "
         "asked for."),
        (lambda predict, tokens: _changes(
            lambda order: predict(order).softmax(0), tokens, _every_order(tokens)).abs().max(),
         "these are changes of probabilities: compare the logits that predict returns."),
    ),
    diagnoses=(_about_order_change,),
)  # fmt: skip
