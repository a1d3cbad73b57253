"""Checkers of the exercises that measure attention: shares, heaviest words, Gini, diagonality."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.checks.core import Case, Checker, Trial, check, generator, plural, ragged
from course_lib.metrics import attention as metrics
from course_lib.models.layers import masked_softmax


def check_word_shares(function: Callable[[Tensor, Tensor], Tensor]) -> None:
    """``f(word_attention, sentence_attention)``, ``(batch, sentences, words)`` and ``(batch,
    sentences)`` → each word's share of its whole document, ``(batch, sentences, words)``."""
    check(WORD_SHARES, function)


def check_top_words(function: Callable[[list[str], Tensor, int], list[str]]) -> None:
    """``f(words, weights, k)`` → list of the k heaviest words, the heaviest first.

    Of two that weigh the same the earlier comes first; fewer than k words come all.
    """
    check(TOP_WORDS, function)


def check_gini(function: Callable[[Tensor], Tensor]) -> None:
    """``f(attention)``, ``(n, n)`` of one document → the Gini coefficient of its n² weights."""
    check(GINI, function)


def check_diagonality(function: Callable[[Tensor, int], Tensor]) -> None:
    """``f(attention, bandwidth)``, ``(n, n)`` of one document → its share of weight with
    |i − j| ≤ bandwidth."""
    check(DIAGONALITY, function)


def _shares(word_attention: Tensor, sentence_attention: Tensor) -> Tensor:
    return word_attention * sentence_attention.unsqueeze(-1)


def _share_cases() -> list[Case]:
    cases = []
    for documents, sentences, words in ((1, 1, 1), (1, 1, 3), (1, 2, 2), (1, 2, 3), (2, 3, 3),
                                        (3, 4, 6), (2, 7, 30)):  # fmt: skip
        source = generator(documents, sentences, words)
        for padded in (False, True):
            mask = torch.ones(documents, sentences, words, dtype=torch.bool)
            if padded:
                mask &= ragged(documents * sentences, words).view(mask.shape)
                mask[-1, (sentences + 1) // 2 :] = False
            scores = 2 * torch.randn(mask.shape, generator=source)
            word = masked_softmax(scores, mask)
            sentence = masked_softmax(2 * torch.randn(mask.shape[:2], generator=source),
                                      mask.any(2))  # fmt: skip
            description = (
                f"{plural(documents, 'document')} of {plural(sentences, 'sentence')} of "
                f"{plural(words, 'word')}, {'some padded' if padded else 'all real'}"
            )
            cases.append(Case(description, (word, sentence)))
    return cases


def _about_shares(trial: Trial) -> str | None:
    word, sentence = trial.case.inputs
    if word.shape[1] == word.shape[2]:  # elsewhere the shapes do not fit
        across = word * sentence.unsqueeze(1)
        if torch.allclose(trial.yours[0], across):
            return (
                "sentence i's share is multiplied to word i of every sentence: give "
                "sentence_attention its new axis at the end, unsqueeze(-1)."
            )
    totals = trial.yours[0].sum((1, 2))
    wrong = (totals - trial.expected[0].sum((1, 2))).abs() > 1e-4
    if not wrong.any():
        return None
    row = int(wrong.nonzero()[0])
    return f"the shares of document {row} sum to {totals[row].item():.3g}; a whole document is 1."


WORD_SHARES = Checker(
    name="word_shares",
    reference=_shares,
    cases=_share_cases,
    returns=("shares",),
    start="a word has a share of its sentence, and the sentence a share of the document.",
    span="from one word to seven sentences of 30",
    mistakes=(
        (lambda word, sentence: word,
         "these are shares within the sentence: the sentence's own share of the document is "
         "missing."),
        (lambda word, sentence: word / word.shape[1],
         "every sentence gets the same share: multiply by sentence_attention instead of dividing "
         "by their number."),
        (lambda word, sentence: word + sentence.unsqueeze(-1),
         "you add the two shares; a share of a share is a product."),
        (lambda word, sentence: sentence.unsqueeze(-1).expand_as(word),
         "every word got its whole sentence's share: multiply it by the word's own."),
        (lambda word, sentence: (word + sentence.unsqueeze(-1)) / 2,
         "you take the mean of the two shares; a share of a share is a product."),
        (lambda word, sentence: _shares(word, sentence).flatten(1).softmax(1).view(word.shape),
         "there is one softmax too many: the products sum to 1 already, and words on padding must "
         "keep 0."),
    ),
    diagnoses=(_about_shares,),
)  # fmt: skip


def _top(words: list[str], weights: Tensor, k: int) -> list[str]:
    order = sorted(range(len(words)), key=lambda place: -float(weights[place]))  # stable
    return [words[place] for place in order[:k]]


def _top_cases() -> list[Case]:
    text = ["thin", "plot", "but", "a", "fine", "cast", "and", "a", "fine", "end", "to", "it"]
    cases = []
    for length in (1, 2, 3, 5, 9, len(text)):
        for tied in (False, True):
            weights = torch.rand(length, generator=generator(length))
            if tied:
                weights = weights.mul(3).round()
            for k in sorted({1, 2, length // 2 + 1, length + 2}):
                description = f"{plural(length, 'word')}, k = {k}" + (", some tied" if tied else "")
                cases.append(
                    Case(description, (text[:length], weights / weights.sum().clamp(min=1), k))
                )
    return cases


ASCENDING = "these are the words with the smallest weights; sort in descending order."
PLACES = "these are the places of the words, not the words: give words[place] for each."


def _about_top(trial: Trial) -> str | None:
    (words, weights, k), yours = trial.case.inputs, trial.yours[0]
    if any(isinstance(item, (int, Tensor)) for item in yours):
        return PLACES
    if any(isinstance(item, (tuple, list)) for item in yours):
        return "each item of yours is a pair: give the words alone."
    if any(isinstance(item, float) for item in yours):
        return "these are the weights: give the words that have them."
    weight_of = dict(zip(words, weights.tolist(), strict=True))
    if len(weight_of) < len(words) or not set(yours) <= set(words):
        return None  # a word with two weights, or one that is not among them
    found = [weight_of[word] for word in yours]
    if found == sorted(weights.topk(min(k, len(words))).values.tolist()):
        return "these are the right words, the lightest first: the heaviest should come first."
    return ASCENDING if found == sorted(weight_of.values())[:k] else None


TOP_WORDS = Checker(
    name="top_words",
    reference=_top,
    cases=_top_cases,
    returns=("words",),
    start="sorted(range(len(words)), key=…): by what should a place be sorted?",
    span="from one word to 12",
    mistakes=(
        (lambda words, weights, k: _top(words, -weights, k), ASCENDING),
        (lambda words, weights, k: _top(words[::-1], weights.flip(0), k),
         "of two words that weigh the same, the earlier should come first; yours gives the later."),
        (lambda words, weights, k: [
            words[place] for place in sorted(
                sorted(range(len(words)), key=lambda place: -float(weights[place]))[:k])],
         "these are the right words in the order of the text: the heaviest should come first."),
        (lambda words, weights, k: list(dict.fromkeys(_top(words, weights, len(words))))[:k],
         "a word that stands twice has two weights and may come twice: do not merge equal words."),
        (lambda words, weights, k: _top(words, weights, len(words)),
         "k is not used: you return every word."),
        (lambda words, weights, k: words[:k],
         "these are the first k words of the text: the weights are not used."),
        (lambda words, weights, k: sorted(words)[:k],
         "the words are sorted by the alphabet: sort by their weights."),
        (lambda words, weights, k: _top(words, weights, k + 1),
         "yours has one word too many: order[:k] holds k."),
        (lambda words, weights, k: _top(words, weights, k - 1),
         "yours has one word too few: order[:k] holds k."),
        (lambda words, weights, k: torch.tensor(_top(range(len(words)), weights, k)), PLACES),
    ),
    diagnoses=(_about_top,),
)  # fmt: skip


def _square(kind: str, n: int) -> Tensor:
    place = torch.arange(n)
    scores = {
        "uniform": torch.zeros(n, n),
        "one-hot": 200.0 * torch.eye(n)[place * 3 % n],
        "banded": -1.0 * (place.unsqueeze(1) - place).abs(),
        "random": 2 * torch.randn(n, n, generator=generator(n)),
    }[kind]
    return scores.softmax(-1)


KINDS = ("uniform", "one-hot", "banded", "random")
SIZES = (1, 2, 3, 5, 8, 20, 60)


def _one(metric: Callable, attention: Tensor, *arguments: int, **settings: bool) -> Tensor:
    mask = torch.ones(1, len(attention), dtype=torch.bool)
    return metric(attention.unsqueeze(0), mask, *arguments, **settings)[0]


def _gini_by_ranks(weights: Tensor, first: int = 1) -> Tensor:
    m = weights.numel()
    rank = torch.arange(first, m + first)
    return (weights * (2 * rank - m - 1)).sum() / (m * weights.sum())


def _about_gini(trial: Trial) -> str | None:
    if math.isnan(float(trial.yours[0])) and trial.case.inputs[0].numel() == 1:
        return (
            "a single weight gives NaN: did you divide by n − 1? The plain value, without the "
            "correction n/(n − 1), is asked for."
        )
    return _beyond(trial, "gini")


GINI = Checker(
    name="gini",
    reference=lambda attention: _one(metrics.gini, attention),
    cases=lambda: [
        Case(f"{kind} attention over {plural(n, 'token')}", (_square(kind, n),))
        for n in SIZES for kind in KINDS
    ],
    returns=("gini",),
    shapes="one number for all n² weights together, so flatten first",
    start="w = attention.flatten().sort().values: which rank i does each weight have?",
    span="from one token to 60",
    mistakes=(
        (lambda a: _one(metrics.row_gini, a),
         "that is the mean of each row's own Gini: here all n² weights are sorted together."),
        (lambda a: _one(metrics.gini, a, normalise=True),
         "that is the Gini times n/(n − 1): the plain value, which reaches only 1 − 1/n, is asked "
         "for."),
        (lambda a: _one(metrics.gini, a) * a.numel() / max(1, a.numel() - 1),
         "that is the sample correction m/(m − 1): the plain value over all m = n² is asked for."),
        (lambda a: _gini_by_ranks(a.flatten()),
         "the weights are not sorted: the rank of a weight is its place in rising order."),
        (lambda a: _gini_by_ranks(a.sort().values.flatten()),
         "each row is sorted on its own: flatten first, then sort all weights together."),
        (lambda a: _gini_by_ranks(a.flatten().sort(descending=True).values),
         "it comes out negative: the weights are sorted from the largest down, they should rise."),
        (lambda a: _gini_by_ranks(a.flatten().sort().values, first=0),
         "the ranks start from 0 (uniform attention should give exactly 0): i runs from 1 to n²."),
        (lambda a: 1 - (a / a.sum()).square().sum(),
         "that is Gini's impurity, 1 − Σ p²: another measure with his name. Sort and use ranks."),
        (lambda a: 2 * _one(metrics.gini, a),
         "it is twice too large: the mean difference is divided by 2 × the mean."),
        (lambda a: _one(metrics.gini, a) / 2,
         "it is half of it: the area between the Lorenz curve and the diagonal is counted twice."),
        (lambda a: 1 - _one(metrics.gini, a),
         "that is 1 minus the Gini coefficient: equal weights should give 0."),
        (lambda a: a.std(unbiased=False) / a.mean(),
         "that is the standard deviation over the mean, another measure of inequality: sort and "
         "use ranks."),
    ),
    diagnoses=(_about_gini,),
)  # fmt: skip


def _beyond(trial: Trial, name: str) -> str | None:
    value = float(trial.yours[0])
    return None if -1e-5 <= value <= 1 + 1e-5 else f"{name} is {value:.3g}, but lies in [0, 1]."


def _band(attention: Tensor, bandwidth: int) -> Tensor:
    place = torch.arange(len(attention))
    return (place.unsqueeze(1) - place).abs() <= bandwidth


DIAGONALITY = Checker(
    name="diagonality",
    reference=lambda attention, bandwidth: _one(metrics.diagonality, attention, bandwidth),
    cases=lambda: [
        Case(f"{kind} attention over {plural(n, 'token')}, bandwidth {bandwidth}",
             (_square(kind, n), bandwidth))
        for n in SIZES for bandwidth in (0, 1, 3) for kind in KINDS
    ],
    returns=("diagonality",),
    shapes="one number for the whole matrix, so sum over both axes",
    start="i = torch.arange(n): which pairs have (i[:, None] - i).abs() <= bandwidth?",
    span="from one token to 60, bandwidths 0, 1 and 3",
    mistakes=(
        (lambda a, b: (a * _band(a, b - 1)).sum() / a.sum(),
         "the band is one too narrow: |i − j| = bandwidth belongs to it (≤, not <)."),
        (lambda a, b: (a * _band(a, b).tril()).sum() / a.sum(),
         "only tokens before the diagonal are counted: the band has two sides, |i − j|."),
        (lambda a, b: (a * _band(a, b).triu()).sum() / a.sum(),
         "only tokens after the diagonal are counted: the band has two sides, |i − j|."),
        (lambda a, b: (a * torch.ones_like(a).tril(b)).sum() / a.sum(),
         "j − i ≤ bandwidth takes all tokens before the diagonal: a distance is |i − j|, .abs()."),
        (lambda a, b: (a * torch.ones_like(a).triu(-b)).sum() / a.sum(),
         "i − j ≤ bandwidth takes all tokens after the diagonal: a distance is |i − j|, .abs()."),
        (lambda a, b: _band(a, b).float().mean(),
         "that is the share of places in the band, whatever their weight: sum the weights there."),
        (lambda a, b: (a * _band(a, b)).sum(),
         "the weight in the band is not yet a share: divide by all the weight, which is n."),
        (lambda a, b: (a * _band(a, b)).mean(),
         "you divide by n², the number of places: divide by all the weight, which is n."),
        (lambda a, b: a[_band(a, b)].mean(),
         "that is the mean weight within the band: the share is its sum over all the weight."),
        (lambda a, b: a.diagonal().sum() / a.sum(),
         "only the diagonal itself is counted: bandwidth is not used."),
        (lambda a, b: (a * ~_band(a, b)).sum() / a.sum(),
         "that is the weight outside the band: take what lies within it, |i − j| ≤ bandwidth."),
        (lambda a, b: (a * _band(a, b + 1)).sum() / a.sum(),
         "the band is one too wide: |i − j| = bandwidth + 1 does not belong to it."),
    ),
    diagnoses=(lambda trial: _beyond(trial, "diagonality"),),
)  # fmt: skip
