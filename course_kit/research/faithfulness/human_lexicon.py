"""Whether rankings put the words first that people call sentiment words.

The treebank's annotators graded every word and phrase from 0 to 4 without its context, 2 being
neutral. So this is agreement with a human lexicon: nobody was asked what decides a sentence.
"""

import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch

from course_kit.research.faithfulness import faithfulness_run as study
from course_kit.research.recording import Stopwatch, mean_of
from course_lib import faithfulness
from course_lib.data.catalog import card
from course_lib.data.readers import SST_FILES, read_tree
from course_lib.data.sources import obtain
from course_lib.data.text import TokenisedText
from course_lib.faithfulness.documents import words_of
from course_lib.faithfulness.erasure import first, orders
from course_lib.metrics.composition import above_median
from course_lib.runs.settings import SpecError
from course_lib.runs.systems import Network

NEUTRAL = 2
RARE, LONG = "rarity in the training sentences", "number of letters"
AUPRC, F1, TAU = "AUPRC", "token F1", "Kendall's τ"
LAYERS = ("layer ", "step ")  # the attention by which AGT and IRAM select words
Importances = list[np.ndarray]
Rankings = dict[str, Importances]


class Graded(NamedTuple):
    """The words of a sentence, their ``strength`` |grade − neutral| in 0 to 2, ``(words,)``, and
    the first and end word of each of its ``phrases`` that is not neutral."""

    words: list[str]
    strength: np.ndarray
    phrases: list[tuple[int, int]]


def graded(nodes: Sequence[tuple[int, list[str]]]) -> Graded:
    """A sentence from its nodes as ``data.readers.read_tree`` gives them."""
    ends = np.cumsum([len(words) == 1 for _, words in nodes]).tolist()  # inner nodes come first
    strength = [abs(grade - NEUTRAL) for grade, words in nodes if len(words) == 1]
    told = [(end - len(words), end) for end, (grade, words) in zip(ends, nodes) if grade != NEUTRAL]
    return Graded(nodes[-1][1], np.array(strength, float), told)


def treebank(split: str) -> list[Graded]:
    """The sentences of a split of the Stanford Sentiment Treebank."""
    _, (archive,) = obtain(card("sst2", "corpus"))
    with zipfile.ZipFile(archive) as trees, trees.open(f"trees/{SST_FILES[split]}.txt") as file:
        return [graded(read_tree(line.decode())) for line in file]


def record_lexicon(
    rank: Callable[..., Rankings], tested: study.FaithfulnessRun, say: Callable[[str], None]
) -> dict[str, Any]:
    """How far every ranking agrees with the grades of words, and the words that AGT or IRAM selects
    with graded phrases; ``rank`` gives rankings. ``SpecError`` for a network of other texts."""
    if not tested.run.record["spec"]["dataset"].startswith("sst"):
        raise SpecError(f"{tested.run.record['id']} does not read the treebank, which has grades")
    watch, documents, seed = Stopwatch(), tested.documents, tested.seed
    say("rankings and leave-one-out")
    left_out = faithfulness.leave_one_out(tested.model, documents)
    rankings = rank(tested) | {
        study.LEFT_OUT: left_out,
        study.unsigned(study.LEFT_OUT): faithfulness.magnitude(left_out),
    }
    by_text = {_read(tested.run.system, one.words): one for one in treebank("test")}
    sentences = [by_text[tuple(words_of(document))] for document in documents]
    texts, strengths, _ = zip(*sentences, strict=True)
    sizes = [[len(_read(tested.run.system, [word])) for word in text] for text in texts]
    rankings = {name: of_words(found, sizes) for name, found in rankings.items()}
    seen = Counter(word.lower() for one in treebank("train") for word in one.words)
    rankings |= {
        study.RANDOM: faithfulness.random_importance(texts, seed),
        RARE: [np.array([-seen[word.lower()] for word in text], float) for text in texts],
        LONG: [np.array([*map(len, text)], float) for text in texts],
    }
    lines = {name: agreement(texts, r, strengths, seed) for name, r in rankings.items()}
    ours = lines[study.ATTENTION]
    return tested.about(watch) | {
        "sentiment_words": mean_of(np.array([(each > 0).mean() for each in strengths]), seed),
        "lines": {
            name: _means(found | {f"attention − it: {n}": ours[n] - found[n] for n in found}, seed)
            for name, found in lines.items()
        },
        "phrases": _selections(tested, sentences),
    }


def _means(columns: dict[str, np.ndarray], seed: int) -> dict[str, Any]:
    return {name: mean_of(values, seed) for name, values in columns.items()}


def _read(system: Network, words: list[str]) -> tuple[str, ...]:
    """What a network reads of some words: themselves, or their pieces."""
    return tuple(words_of(system.cut(TokenisedText(words, [len(words)]))))


def of_words(importances: Importances, sizes: list[list[int]]) -> Importances:
    """Importances of words, each the sum of its pieces', of which there are ``sizes``."""
    pairs = zip(importances, sizes, strict=True)
    return [np.array([part.sum() for part in np.split(of, np.cumsum(n)[:-1])]) for of, n in pairs]


def agreement(
    texts: Sequence[list[str]], found: Importances, strengths: Sequence[np.ndarray], seed: int
) -> dict[str, np.ndarray]:
    """One number a text: the area under precision and recall of the words with a sentiment, the F1
    of as many words as have one (NaN where all or none have), and τ-b with how strong it is."""
    from sklearn.metrics import average_precision_score  # imported here: it takes two seconds

    auprc, f1 = np.full((2, len(texts)), np.nan)
    for place, order in enumerate(orders(texts, found, seed)):
        positive = strengths[place] > 0
        if 0 < positive.sum() < len(positive):
            auprc[place] = average_precision_score(positive, found[place])
            f1[place] = positive[first(order, positive.sum())].mean()
    return {AUPRC: auprc, F1: f1, TAU: faithfulness.kendall(found, strengths)}


def _selections(tested: study.FaithfulnessRun, sentences: list[Graded]) -> dict[str, Any]:
    """How often what each layer or step selects, and all together, is a graded phrase."""
    layers = {n: w for n, w in tested.attention().items() if n.startswith(LAYERS)}
    runs = {n: [selected_runs(weights) for weights in of] for n, of in layers.items()}
    if runs:
        runs["all"] = [list(chain(*of)) for of in zip(*runs.values(), strict=True)]
    lines = {}
    for name, of in runs.items():
        found = np.array([hits(one, some) for one, some in zip(sentences, of, strict=True)])
        told, chance = found.T
        columns = {"graded": told, "by chance": chance, "difference": told - chance}
        lines[name] = _means(columns, tested.seed)
    return lines


def selected_runs(weights: np.ndarray) -> list[tuple[int, int]]:
    """First and end word of each run of two or more words above the median, AGT's relaxed rule."""
    real = torch.ones(1, len(weights), dtype=torch.bool)
    selected = above_median(torch.from_numpy(weights)[None, None], real)[0, 0].numpy()
    edges = np.flatnonzero(np.diff(selected.astype(int), prepend=0, append=0)).tolist()
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a > 1]


def hits(sentence: Graded, runs: list[tuple[int, int]]) -> tuple[float, float]:
    """The share of runs that are phrases with a sentiment, and the share to expect of runs as long
    anywhere in the sentence; NaN without a run."""
    if not runs:
        return np.nan, np.nan
    lengths = Counter(end - start for start, end in sentence.phrases)
    chance = [lengths[b - a] / (len(sentence.words) + 1 - (b - a)) for a, b in runs]
    return float(np.mean([run in sentence.phrases for run in runs])), float(np.mean(chance))
