"""Checkers of the exercises on documents: concentration, sentences, padding, what F1 can be."""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import pad

from course_kit.exercises.checks.core import Case, Checker, Trial, check, generator, plural, ragged

Predict = Callable[[Tensor, Tensor], Tensor]  # tokens and mask → logits


def check_effective_words(function: Callable[[Tensor], Tensor]) -> None:
    """``f(weights)``, ``(words,)`` that sum to 1 → exp of their entropy, 0 · log 0 being 0."""
    check(EFFECTIVE_WORDS, function)


def check_sentences_in_place(function: Callable[[Tensor, Tensor], Tensor]) -> None:
    """``f(s, mask)`` with ``s`` ``(real sentences, hidden)``, document after document, and ``mask``
    ``(documents, sentences, words)`` → ``(documents, sentences, hidden)``, each vector where its
    sentence stands, zeros where none does."""
    check(SENTENCES_IN_PLACE, function)


def check_smallest_f1(function: Callable[[int, int, int], float]) -> None:
    """``f(positive, negative, wrong)`` → the smallest F1 that so many wrong answers allow on so
    many positive and negative documents."""
    check(SMALLEST_F1, function)


def check_padding_change(function: Callable[[Predict, Tensor, Tensor], Tensor]) -> None:
    """``f(predict, tokens, mask)`` → how much, at most, any logit of ``predict(tokens, mask)``
    changes when tokens and mask ``(documents, sentences, words)`` get three more words and two
    more sentences of padding behind."""
    check(PADDING_CHANGE, function)


def _entropy(weights: Tensor) -> Tensor:
    return torch.special.entr(weights).sum()


def _weight_cases() -> list[Case]:
    cases = []
    for words in (1, 2, 3, 5, 10, 30, 200):
        random = torch.randn(words, generator=generator(words)).mul(2).softmax(0)
        padded = torch.cat([random, torch.zeros(3)])
        cases += [
            Case(f"{plural(words, 'word')}, all alike", (torch.full((words,), 1 / words),)),
            Case(f"{plural(words, 'word')}, weighed at random", (random,)),
            Case(f"{plural(words, 'word')}, and three of padding", (padded,)),
        ]
    return cases


def _about_concentration(trial: Trial) -> str | None:
    value, weights = float(trial.yours[0]), trial.case.inputs[0]
    if value != value and (weights == 0).any():
        return (
            "a weight of 0 makes it NaN, because 0 · log 0 is NaN in floats: leave such words out "
            "of the sum, or use torch.special.entr."
        )
    if not 0.999 <= value <= len(weights) * 1.001:
        return f"{value:.4g} effective words out of {len(weights)}: it lies between 1 and all."
    return None


EFFECTIVE_WORDS = Checker(
    name="effective_words",
    reference=lambda weights: _entropy(weights).exp(),
    cases=_weight_cases,
    returns=("effective",),
    start="-(weights * weights.log()).sum(): what is that for four words of 0.25?",
    shapes="one number for the sentence, so sum over its words",
    span="from one word to 200",
    mistakes=(
        (_entropy,
         "that is the entropy itself, in nats: its exp is a number of words."),
        (lambda weights: (-_entropy(weights)).exp(),
         "the sign of the entropy is lost: weights below 1 have negative logarithms, so a minus "
         "stands before the sum."),
        (lambda weights: (_entropy(weights) / math.log(2)).exp(),
         "the logarithm has base 2 and the exponential base e: take log and exp of one base."),
        (lambda weights: (_entropy(weights) / math.log(10)).exp(),
         "the logarithm has base 10 and the exponential base e: take log and exp of one base."),
        (lambda weights: 2 ** _entropy(weights),
         "the logarithm has base e and the power base 2: take log and exp of one base."),
        (lambda weights: (_entropy(weights) / len(weights)).exp(),
         "you take the mean over the words: the entropy is their sum."),
        (lambda weights: torch.special.entr(weights).exp().sum(),
         "you take exp of each word's part and sum then: sum first, then exp."),
        (lambda weights: 1 / weights.square().sum(),
         "that is 1/Σw², another effective number, which counts heavy words more: exp of the "
         "entropy is asked for."),
        (lambda weights: (weights > 0).sum().float(),
         "you count the words that weigh anything: two of 0.99 and 0.01 are not two."),
        (lambda weights: 1 / weights.max(),
         "1 over the largest weight looks at one word alone: the entropy takes all of them."),
    ),
    diagnoses=(_about_concentration,),
)  # fmt: skip


def _sentence_cases() -> list[Case]:
    cases = []
    for documents, sentences, words in ((1, 1, 1), (1, 2, 1), (2, 2, 2), (2, 3, 3), (4, 7, 30)):
        whole = torch.ones(documents, sentences, words, dtype=torch.bool)
        ended = ragged(documents * sentences, words).view(whole.shape).clone()
        ended[0, sentences // 2 + 1 :] = False
        hollow = ended.clone()
        hollow[-1, : sentences // 2] = False  # the last document begins without a word
        empty = ended.clone()
        empty[-1] = False
        masks = {
            "all real": whole,
            "some padded": ended,
            "an empty sentence before a real one": hollow,
            "the last document without a word": empty,
        }
        size = f"{plural(documents, 'document')} of {plural(sentences, 'sentence')}"
        for what, mask in masks.items():
            s = torch.randn(int(mask.any(2).sum()), 2, generator=generator(*mask.shape))
            cases.append(Case(f"{size}, {what}", (s, mask)))
    return cases


def _in_place(s: Tensor, mask: Tensor) -> Tensor:
    return _filled(s, mask.any(2))


def _filled(s: Tensor, real: Tensor, where: float = 0.0) -> Tensor:
    padded = s.new_full((*real.shape, s.shape[1]), where)
    padded[real] = s
    return padded


def _without_gaps(s: Tensor, mask: Tensor) -> Tensor:
    real = mask.any(2).flatten().sort(descending=True, stable=True).values
    return _filled(s, real.view(mask.shape[:2]))


def _to_the_front(s: Tensor, mask: Tensor) -> Tensor:
    return _filled(s, mask.any(2).sort(dim=1, descending=True, stable=True).values)


SENTENCES_IN_PLACE = Checker(
    name="sentences_in_place",
    reference=_in_place,
    cases=_sentence_cases,
    returns=("sentences",),
    start="real = mask.any(2); a tensor of zeros can be assigned to at [real].",
    span="from one sentence to four documents of seven",
    mistakes=(
        (_without_gaps,
         "the vectors stand one after the other from the first place on: where a document ends "
         "early, its other places stay zero and the next document begins in its own row."),
        (_to_the_front,
         "each document's sentences are moved to its front: an empty sentence before a real one "
         "keeps its place, with zeros."),
        (lambda s, mask: _filled(s, mask.any(2).T).transpose(0, 1),
         "the vectors are dealt out to all first sentences, then to all second ones: they come "
         "document after document."),
        (lambda s, mask: _filled(s, mask.any(2), torch.nan),
         "places without a sentence hold NaN: they should be zero."),
        (lambda s, mask: _filled(s, mask.any(2), 1.0),
         "places without a sentence hold ones: they should be zero."),
        (lambda s, mask: _in_place(s.flip(0), mask),
         "the sentences come in the order from last to first: keep the order of s."),
    ),
    diagnoses=(lambda trial: _about_empty(trial),),
)  # fmt: skip


def _about_empty(trial: Trial) -> str | None:
    empty = ~trial.case.inputs[1].any(2)
    if not trial.yours[0][empty].any():
        return None
    return "a place without a sentence is not zero: start from zeros and set the real ones only."


def _f1(true_positive: int, false_positive: int, false_negative: int) -> Tensor:
    twice_true = 2 * true_positive
    return torch.tensor(twice_true / max(1, twice_true + false_positive + false_negative))


def _all_missed(positive: int, negative: int, wrong: int) -> Tensor:
    errors = min(wrong, positive)
    return _f1(positive - errors, wrong - errors, errors)


def _all_false_alarms(positive: int, negative: int, wrong: int) -> Tensor:
    alarms = min(wrong, negative)
    return _f1(positive - (wrong - alarms), alarms, wrong - alarms)


def _about_split(trial: Trial) -> str | None:
    positive, negative, wrong = trial.case.inputs
    if float(trial.yours[0]) > float(trial.expected[0]):
        missed = min(wrong, positive)
        return (
            f"it can be smaller: {plural(missed, 'missed positive')} and "
            f"{plural(wrong - missed, 'false alarm')} give {trial.expected[0]:.4g}."
        )
    return (
        f"no split gives so little: at most {min(wrong, positive)} of the errors can be missed "
        f"positives, and at most {min(wrong, negative)} false alarms."
    )


SMALLEST_F1 = Checker(
    name="smallest_f1",
    reference=_all_missed,
    cases=lambda: [
        Case(f"{positive} positive, {negative} negative, {wrong} wrong",
             (positive, negative, wrong))
        for positive, negative, wrongs in ((1, 1, (0, 1, 2)), (2, 4, (1, 2, 3)), (6, 3, (1, 4, 7)),
                                           (50, 50, (10, 60)), (12_500, 12_500, (3_750,)))
        for wrong in wrongs
    ],
    returns=("f1",),
    start="try every fn from 0 to wrong: then fp = wrong − fn and tp = positive − fn.",
    span="up to the report's 12,500 and 12,500",
    mistakes=(
        (_all_false_alarms,
         "that is the largest F1: wrong answers that are false alarms cost less than missed "
         "positives."),
        (lambda positive, negative, wrong: torch.tensor(1 - wrong / (positive + negative)),
         "that is the accuracy, which does not care which kind an error is."),
        (lambda positive, negative, wrong: _f1(positive - wrong // 2, wrong - wrong // 2,
                                               wrong // 2),
         "you share the errors equally between the two kinds: one kind lowers F1 more."),
        (lambda positive, negative, wrong: torch.tensor(max(0, positive - wrong) / positive),
         "that is the recall; F1 is 2 tp / (2 tp + fp + fn)."),
        (lambda positive, negative, wrong: torch.tensor(
            2 * (positive - wrong) / (2 * (positive - wrong) + wrong) if wrong < 2 * positive
            else 0.0),
         "with more errors than positives you count a negative number of true positives: fn is at "
         "most positive, the other errors are false alarms."),
        (lambda positive, negative, wrong: _all_missed(positive, negative, wrong) * 100,
         "that is in percent: an F1 lies in [0, 1]."),
        (lambda positive, negative, wrong: _all_missed(positive, negative, max(0, wrong - 1)),
         "one wrong answer is left out: range(wrong) ends at wrong − 1, so range(wrong + 1)."),
    ),
    diagnoses=(_about_split,),
)  # fmt: skip


def _change(predict: Predict, tokens: Tensor, mask: Tensor, words: int, sentences: int) -> Tensor:
    size = (0, words, 0, sentences)
    return predict(pad(tokens, size), pad(mask, size)) - predict(tokens, mask)


def _padded(predict: Predict, tokens: Tensor, mask: Tensor) -> Tensor:
    return _change(predict, tokens, mask, 3, 2).abs().max()


def blind(tokens: Tensor, mask: Tensor) -> Tensor:
    """A model that padding cannot reach."""
    return torch.stack([(tokens * mask).sum((1, 2)), mask.sum((1, 2))], 1).float()


def counts_columns(tokens: Tensor, mask: Tensor) -> Tensor:
    """A model that padding at the end of sentences takes something from."""
    return blind(tokens, mask) - torch.tensor([0.0, 2.0]) * mask.shape[2]


def counts_rows(tokens: Tensor, mask: Tensor) -> Tensor:
    """A model that a padded sentence gives something to, twice as much to class 0."""
    return blind(tokens, mask) + torch.tensor([2.0, 1.0]) * mask.shape[1]


def averages_places(tokens: Tensor, mask: Tensor) -> Tensor:
    """A model that shares its attention with padding, here all that is not real."""
    return blind(tokens, mask) / mask[0].numel() + (~mask).sum((1, 2)).unsqueeze(1)


def takes_the_last(tokens: Tensor, mask: Tensor) -> Tensor:
    """A model that looks at the last place, whatever stands there."""
    return torch.stack([tokens[:, -1, -1], tokens[:, 0, 0]], 1).float()


def _padding_cases() -> list[Case]:
    cases = []
    for documents, sentences, words in ((1, 1, 1), (1, 2, 3), (2, 3, 4)):
        shape = (documents, sentences, words)
        tokens = torch.randint(2, 9, shape, generator=generator(*shape))
        mask = ragged(documents * sentences, words).view(shape)
        size = (
            f"{plural(documents, 'document')} of {plural(sentences, 'sentence')} of "
            f"{plural(words, 'word')}"
        )
        for predict in (blind, counts_columns, counts_rows, averages_places, takes_the_last):
            what = "is blind" if predict is blind else predict.__name__.replace("_", " ")
            cases.append(Case(f"{size}, a model that {what}", (predict, tokens * mask, mask)))
    return cases


PADDING_CHANGE = Checker(
    name="padding_change",
    reference=_padded,
    cases=_padding_cases,
    returns=("change",),
    start="torch.nn.functional.pad(tokens, (0, 3, 0, 2)) adds three words and two sentences.",
    span="five small models, four of which padding reaches",
    mistakes=(
        (lambda predict, tokens, mask: _change(predict, tokens, mask, 3, 0).abs().max(),
         "you add words only: add two sentences of padding, too."),
        (lambda predict, tokens, mask: _change(predict, tokens, mask, 0, 2).abs().max(),
         "you add sentences only: add three words of padding, too."),
        (lambda predict, tokens, mask: _change(predict, tokens, mask, 2, 3).abs().max(),
         "you add two words and three sentences: in pad the last axis, the words, comes first."),
        (lambda predict, tokens, mask: _change(predict, tokens, mask, 3, 2).max(),
         "a logit that falls has changed as well: take the absolute value before the maximum."),
        (lambda predict, tokens, mask: _change(predict, tokens, mask, 3, 2).abs().mean(),
         "you take the mean: one logit that moves is enough, so the largest change counts."),
        (lambda predict, tokens, mask: _change(predict, tokens, mask, 3, 2).abs().sum(),
         "you sum the changes of all logits: the largest one counts."),
        (lambda predict, tokens, mask: _change(predict, tokens, mask, 3, 2).square().max(),
         "the change is squared: take its absolute value."),
        (lambda predict, tokens, mask: (_padded(predict, tokens, mask) > 1e-6).float(),
         "whether it changes is not by how much: return the largest change itself."),
        (lambda predict, tokens, mask: (
            predict(pad(tokens, (0, 3, 0, 2)), pad(mask, (0, 3, 0, 2), value=True))
            - predict(tokens, mask)).abs().max(),
         "your new places are marked as real: padding has a mask of False."),
        (lambda predict, tokens, mask: (
            predict(pad(tokens, (3, 0, 2, 0)), pad(mask, (3, 0, 2, 0)))
            - predict(tokens, mask)).abs().max(),
         "you put the padding in front: it stands behind the words, pad(…, (0, 3, 0, 2))."),
    ),
)  # fmt: skip
