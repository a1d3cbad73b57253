"""HAN: does the word with the most attention in a sentence carry sentiment?"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from course_kit.research.seed_claims import studied
from course_kit.research.seed_claims.lexicon import graded_words, is_word, sentiment_words
from course_lib.explore.reading import read_rows
from course_lib.views.reading import Reading

PREFIX, TEXTS = "han-imdb-compact", 400
ATTENTION, UNTRAINED = "attention", "untrained attention"
RANDOM, RAREST, TFIDF = "random word", "rarest word", "word of most TF-IDF"
MASS, MASS_CHANCE = "weight on sentiment words", "uniform weight on sentiment words"
Sentences = Sequence[Sequence[str]]
Scores = Sequence[np.ndarray]  # of the tokens, sentence by sentence


def told(sentences: Sentences, lexicon: Collection[str]) -> list[np.ndarray]:
    """Which tokens of each sentence are sentiment words, bool ``(tokens,)`` each."""
    return [np.array([token.lower() in lexicon for token in words]) for words in sentences]


def can_choose(words: Sequence[str], sentiment: np.ndarray) -> bool:
    """Whether a sentence has both a sentiment word and another word; punctuation is none."""
    other = np.array([is_word(token) for token in words]) & ~sentiment
    return bool(sentiment.any() and other.any())


def hits(scores: Scores, sentiment: Scores) -> np.ndarray:
    """Whether the token with the largest score is a sentiment word, ``(sentences,)``; the first
    of equals is taken."""
    return np.array([of[np.argmax(s)] for s, of in zip(scores, sentiment, strict=True)], float)


def by_chance(sentences: Sentences, sentiment: Scores) -> np.ndarray:
    """The share of sentiment words among the words of each sentence, ``(sentences,)``; punctuation
    is no word."""
    words = [np.array([is_word(token) for token in tokens]) for tokens in sentences]
    return np.array([of[real].mean() for of, real in zip(sentiment, words, strict=True)])


def rarity(sentences: Sentences, seen: Counter[str], texts: int) -> tuple[Scores, Scores]:
    """How rare each word is among training ``texts``, of which ``seen`` many hold it, and its
    TF-IDF in this review; punctuation scores least."""
    count = Counter(token.lower() for words in sentences for token in words)
    rare, weighted = [], []
    for words in sentences:
        idf = np.array([np.log((1 + texts) / (1 + seen[token.lower()])) for token in words])
        often = np.array([count[token.lower()] for token in words])
        real = np.array([is_word(token) for token in words])
        rare.append(np.where(real, idf, -1))
        weighted.append(np.where(real, often * idf, -1))
    return rare, weighted


def shares(
    trained: Reading, untrained: Reading, lexicon: Collection[str], seen: Counter[str], texts: int
) -> dict[str, float]:
    """The figures of one review, NaN where no sentence has a choice: shares of those sentences
    whose chosen word is a sentiment word; of all its sentences for the attention; and the mean
    share of a sentence's attention that sentiment words have."""
    sentences = trained.sentences
    sentiment = told(sentences, lexicon)
    weights = trained.by_sentence(trained.word_weights())
    rare, weighted = rarity(sentences, seen, texts)
    found = {
        ATTENTION: hits(weights, sentiment),
        UNTRAINED: hits(untrained.by_sentence(untrained.word_weights()), sentiment),
        RAREST: hits(rare, sentiment),
        TFIDF: hits(weighted, sentiment),
        MASS: np.array([w[of].sum() for w, of in zip(weights, sentiment, strict=True)]),
        MASS_CHANCE: np.array([of.mean() for of in sentiment]),
    }
    chosen = np.array([can_choose(w, of) for w, of in zip(sentences, sentiment, strict=True)])
    every = float(found[ATTENTION].mean())
    kept = [[words, of] for words, of, k in zip(sentences, sentiment, chosen, strict=True) if k]
    means = {name: _mean(values[chosen]) for name, values in found.items()}
    return means | {
        RANDOM: _mean(by_chance(*zip(*kept, strict=True))) if kept else np.nan,
        f"{ATTENTION}, all sentences": every,
        "sentences with a choice": float(chosen.mean()),
    }


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else np.nan


def document_frequency(texts: Iterable[Sequence[str]]) -> Counter[str]:
    """In how many texts each word stands, in small letters."""
    return Counter(word for tokens in texts for word in {token.lower() for token in tokens})


def measure(seed: int = 0) -> studied.Claim:
    """The part of the record that is this claim's."""
    networks, graded = studied.group(PREFIX), graded_words()
    lexicon = sentiment_words(graded)
    first = next(iter(networks.values())).run
    rows, training = studied.sample(first, TEXTS, seed), first.corpus.splits["train"]
    seen = document_frequency(training["tokens"])
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, network in networks.items():
        pairs = zip(read_rows(network.system, rows), read_rows(network.untrained, rows))
        each = [shares(one, other, lexicon, seen, len(training)) for one, other in pairs]
        for figure in each[0]:
            found.setdefault(figure, {})[name] = np.array([one[figure] for one in each])
    for other in (UNTRAINED, RANDOM, RAREST, TFIDF):
        found[f"{ATTENTION} − {other}"] = _minus(found[ATTENTION], found[other])
    found[f"{MASS} − {MASS_CHANCE}"] = _minus(found[MASS], found[MASS_CHANCE])
    words = [token for tokens in rows["tokens"] for token in tokens if is_word(token)]
    return {
        "paper": "Bredy-Maux and Robach 2022",
        "says": "The attention selects informative words in most sentences.",
        "measured": "In sentences with at least one sentiment word and another word: is the token "
        "of most attention a sentiment word? A sentiment word is one whose mean grade in the "
        "Stanford Sentiment Treebank, given without context, is at least 0.5 from neutral.",
        "unit": "share of a review's sentences, mean over reviews",
        "positive": "attention − other: the token of most attention is a sentiment word more often "
        "than the other choice",
        "networks": studied.about_networks({PREFIX: networks}),
        "texts": {PREFIX: studied.about_texts(first, rows, seed)},
        "lexicon": {
            "graded": len(graded),
            "sentiment": len(lexicon),
            "share of the sample's words that have a grade": round(
                float(np.mean([word.lower() in graded for word in words])), 4
            ),
        },
        "figures": {PREFIX: studied.figures(found, seed)},
    }


def _minus(first: studied.Values, second: studied.Values) -> dict[str, np.ndarray]:
    return {name: first[name] - second[name] for name in first}
