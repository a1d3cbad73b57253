"""HAN: is the same word important in one sentence and not in another, by its context?

The relative weight of a word is its attention times the number of tokens in its sentence: 1 where
attention is uniform. Its logarithm is score − log mean exp(scores of the sentence), so it varies
between occurrences of one word for two reasons: the score itself depends on the context, through
the GRU; and the other words of the sentence compete. Competition alone would move the weight of a
word even if its score were the same everywhere.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import datasets
import numpy as np
import torch
from scipy.sparse import csr_matrix

from course_kit.research.seed_claims import studied
from course_kit.research.seed_claims.lexicon import is_word
from course_lib.runs.systems import NeuralSystem

PREFIX, TEXTS = "han-imdb-compact", 400
OFTEN = 20  # occurrences of a word type that is measured
HIGH, LOW, SOMETIMES = 2.0, 1.0, 0.1
ALONE = "competition alone"
Sentences = list[list[np.ndarray]]  # by text and sentence, one number a token


class Occurrences(NamedTuple):
    """The words that occur at least ``OFTEN``: ``text`` and ``type`` of each occurrence, and its
    ``place`` among all tokens of all texts, each ``(occurrences,)``; numbers of texts and types."""

    text: np.ndarray
    type: np.ndarray
    place: np.ndarray
    texts: int
    types: int

    def sums(self, values: np.ndarray) -> csr_matrix:
        """The sums of values ``(occurrences,)``, ``(texts, types)``."""
        shape = self.texts, self.types
        return csr_matrix((values.astype(float), (self.text, self.type)), shape=shape)


def occurrences(tokens: Sequence[Sequence[str]], often: int = OFTEN) -> Occurrences:
    """The occurrences of words, in small letters; punctuation is none."""
    ids: dict[str, int] = {}
    text, type_, place, at = [], [], [], 0
    for number, words in enumerate(tokens):
        for word in words:
            if is_word(word):
                text.append(number)
                type_.append(ids.setdefault(word.lower(), len(ids)))
                place.append(at)
            at += 1
    counts = np.bincount(type_, minlength=len(ids))
    kept = counts[type_] >= often
    frequent = np.flatnonzero(counts >= often)
    number = np.full(len(ids), -1)
    number[frequent] = np.arange(len(frequent))
    return Occurrences(
        np.array(text)[kept],
        number[np.array(type_)[kept]],
        np.array(place)[kept],
        len(tokens),
        len(frequent),
    )


class Variance(NamedTuple):
    """Sums over occurrences by text, from which the variance of any sample of texts follows:
    ``counts`` and ``totals`` ``(texts, types)``, ``squares`` ``(texts,)``."""

    counts: csr_matrix
    totals: csr_matrix
    squares: np.ndarray

    def within(self, draws: np.ndarray) -> np.ndarray:
        """Σ (x − mean of its type)² where text t counts ``draws`` ``(…, texts)`` times."""
        n, total = draws @ self.counts, draws @ self.totals
        return draws @ self.squares - (total**2 / np.maximum(n, 1)).sum(-1)

    def whole(self, draws: np.ndarray) -> np.ndarray:
        """Σ (x − mean of all)²."""
        n, total = (draws @ part for part in (self.counts, self.totals))
        return draws @ self.squares - total.sum(-1) ** 2 / n.sum(-1)

    def share_within(self, draws: np.ndarray) -> np.ndarray:
        """The share of the variance that lies within types, in [0, 1]."""
        return self.within(draws) / self.whole(draws)


def variance(of: Occurrences, values: np.ndarray) -> Variance:
    """That of values ``(occurrences,)``; less their mean, which changes nothing but rounding."""
    values = values - values.mean()
    squares = np.bincount(of.text, values**2, of.texts)
    return Variance(of.sums(np.ones(len(values))), of.sums(values), squares)


def mixed(of: Occurrences, relative: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """The share of types that have at least ``HIGH`` times their uniform share in ``SOMETIMES`` of
    their occurrences, and less than ``LOW`` times in as many."""
    n, high, low = (
        draws @ of.sums(part) for part in (np.ones(len(relative)), relative >= HIGH, relative < LOW)
    )
    return ((high >= SOMETIMES * n) & (low >= SOMETIMES * n) & (n > 0)).mean(-1)


def log_relative(scores: Sentences) -> np.ndarray:
    """log(weight × tokens of the sentence) of all tokens, one text after the other."""
    return _flat([[s - np.logaddexp.reduce(s) + np.log(len(s)) for s in text] for text in scores])


def context_free(scores: Sentences, of: Occurrences) -> Sentences:
    """Scores in which each measured word has the mean score of its type everywhere; other tokens
    keep theirs."""
    flat = _flat(scores)
    total = np.bincount(of.type, flat[of.place], of.types)
    flat[of.place] = (total / np.bincount(of.type, minlength=of.types))[of.type]
    return _like(flat, scores)


def shuffled(scores: Sentences, seed: int) -> Sentences:
    """The scores of each sentence in a random order."""
    random = np.random.default_rng(seed)
    return [[random.permutation(sentence) for sentence in text] for text in scores]


def _flat(scores: Sentences) -> np.ndarray:
    return np.concatenate([sentence for text in scores for sentence in text])


def _like(flat: np.ndarray, scores: Sentences) -> Sentences:
    ends = np.cumsum([len(sentence) for text in scores for sentence in text])
    parts = iter(np.split(flat, ends[:-1]))
    return [[next(parts) for _ in text] for text in scores]


@torch.inference_mode()
def read_scores(system: NeuralSystem, rows: datasets.Dataset) -> Sentences:
    """The score of every token that a HAN reads, before the softmax."""
    seen: list[torch.Tensor] = []
    found = []
    with system.see_states(seen.append):
        for row in rows:
            system.read(row)
            scores = system.model.words.pooling.match(seen.pop())[:, :, 0].double().numpy()
            lengths = map(len, system.cut(row))
            found.append([s[:length] for s, length in zip(scores, lengths, strict=True)])
    return found


def explained(of: Occurrences, x: np.ndarray, y: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """The share of the variance of x within types that a straight line in y explains."""
    own, other, both = (variance(of, values).within(draws) for values in (x, y, x + y))
    return ((both - own - other) / 2) ** 2 / (own * other)


def statistics(of: Occurrences, scores: Sentences, seed: int) -> dict[str, dict]:
    """The figures of one network, each with its interval over texts."""
    variants = {
        "": scores,
        f", {ALONE}": context_free(scores, of),
        ", shuffled": shuffled(scores, seed),
    }
    values = {name: log_relative(each)[of.place] for name, each in variants.items()}
    share = {name: variance(of, each).share_within for name, each in values.items()}
    part = {name: partial(mixed, of, np.exp(each)) for name, each in values.items()}
    alone, own = values[f", {ALONE}"], values[""]
    lengths = _flat([[np.full(len(s), len(s)) for s in text] for text in scores])[of.place]
    found = {f"within types{name}": each for name, each in share.items()}
    found |= {f"mixed types{name}": each for name, each in part.items()}
    found |= {
        "scores within types": variance(of, _flat(scores)[of.place]).share_within,
        f"within types − {ALONE}": lambda d: share[""](d) - share[f", {ALONE}"](d),
        f"mixed types − {ALONE}": lambda d: part[""](d) - part[f", {ALONE}"](d),
        f"within types, explained by {ALONE}": partial(explained, of, own, alone),
        "within types, explained by length": partial(explained, of, own, np.log(lengths)),
    }
    return {name: studied.of_all(of_texts, of.texts, seed) for name, of_texts in found.items()}


def measure(seed: int = 0) -> studied.Claim:
    """The part of the record that is this claim's."""
    networks = studied.group(PREFIX)
    first = next(iter(networks.values()))
    rows = studied.sample(first.run, TEXTS, seed)
    tokens = [[w for s in first.system.cut(row) for w in s] for row in rows]
    of = occurrences(tokens)
    found: dict[str, dict[str, dict]] = {}
    for name, network in networks.items():
        untrained = statistics(of, read_scores(network.untrained, rows), seed)
        own = statistics(of, read_scores(network.system, rows), seed)
        own |= {f"untrained: {n}": value for n, value in untrained.items()}
        for figure, value in own.items():
            found.setdefault(figure, {})[name] = value
    return {
        "paper": "Bredy-Maux and Robach 2022",
        "says": "The same word is important in one sentence and not in another.",
        "measured": f"The variance of log(weight × tokens of the sentence) over the occurrences of "
        f"words with at least {OFTEN} of them: the share within words. {ALONE}: each word has the "
        "mean score of all its occurrences, so only the other words of its sentence can move its "
        f"weight. Mixed: words with at least {HIGH:g} times their uniform share in "
        f"{SOMETIMES:.0%} of their occurrences, and less than {LOW:g} times in {SOMETIMES:.0%}. "
        f"Explained: the squared correlation, within words, with the weights by {ALONE}, or with "
        "the logarithm of the sentence's length; the rest is the context's.",
        "unit": "share of the variance; of the words for mixed types",
        "positive": f"− {ALONE}: a word's weight varies more between sentences than the "
        "competition with other words explains",
        "networks": studied.about_networks({PREFIX: networks}),
        "texts": {PREFIX: studied.about_texts(first.run, rows, seed)},
        "words": {"types": of.types, "occurrences": len(of.place)},
        "figures": {PREFIX: {n: studied.over_networks(of_n) for n, of_n in found.items()}},
    }
