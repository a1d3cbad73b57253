"""What is measured of one network, text by text. All columns are ``(texts,)``."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from course_kit.research.crossover_study import ruler
from course_kit.research.crossover_study.corpora import Split
from course_kit.research.crossover_study.encoders.minilm import MEAN, UNKNOWN
from course_kit.research.crossover_study.network import Reader
from course_lib.faithfulness.rankers import leave_one_out

REMOVALS = {"masking": UNKNOWN, "mean vector": MEAN}  # beside deletion, which has no suffix
STEPS = 16  # points of the integral of integrated gradients
SEARCHED, BEAM_TEXTS = "masking", 10  # by which removal, and on how many texts, a beam searches on
RANKERS = ("leave-one-out", "gradient", "integrated gradient")


def measure(reader: Reader, split: Split, beam: bool = False) -> dict[str, np.ndarray]:
    """Every column. With ``beam`` the first texts have a further upper limit, found by beam search.

    Columns of a ruler are named after it, as ``"equal k"``; ``"equal k, masking"`` and
    ``"equal k, mean vector"`` are by the other removals, ``"equal k of random"`` of the random
    ranking, and ``"equal k of leave-one-out, masking"`` and so on of the other rankings.
    """
    texts, seen = split.words, reader.see(split.words)
    alpha = seen.attention
    support = [int((a > 0).sum()) for a in alpha]
    rankings = {"": alpha} | other_rankings(reader, texts)
    found: dict[str, np.ndarray] = {}
    for removal, filler in {"": None, **REMOVALS}.items():
        suffix = f", {removal}" if removal else ""
        by = ruler.places(reader, texts, rankings, support, filler)
        for (name, ranking), place in by.items():
            if ranking != "limits":
                found[name + (f" of {ranking}" if ranking else "") + suffix] = place.value
        for part in ("loss", "lower", "upper"):
            found[f"{ruler.EQUAL_K}, {part}{suffix}"] = getattr(by[ruler.EQUAL_K, ""], part)
    further = np.full(len(texts), np.nan)
    if beam:
        further[:BEAM_TEXTS] = ruler.beam_limits(reader, texts[:BEAM_TEXTS], REMOVALS[SEARCHED])
    found[f"{ruler.EQUAL_K}, beam, {SEARCHED}"] = further
    found["concentration"] = np.array([concentration(a) for a in alpha])
    found["contextuality"] = contextuality(reader, texts, seen.states)
    found["truth"] = np.array([truth(a, places) for a, places in zip(alpha, split.decides)])
    found["support"] = np.array(support, dtype=float)
    found["words"] = np.array([len(text) for text in texts], dtype=float)
    found["confidence"] = seen.probabilities.max(1)
    found["right"] = (seen.probabilities.argmax(1) == split.labels).astype(float)
    return found


def other_rankings(reader: Reader, texts: Sequence[Sequence[str]]) -> dict[str, list[np.ndarray]]:
    """The magnitudes of leave-one-out, gradient times vector, and integrated gradients."""
    classes = reader(texts).argmax(1)
    nodes, weights = np.polynomial.legendre.leggauss(STEPS)
    total = [np.zeros(len(text)) for text in texts]
    for node, weight in zip((nodes + 1) / 2, weights / 2):  # from [−1, 1] to [0, 1]
        for sums, (x, slope) in zip(total, reader.gradients(texts, classes, float(node))):
            sums += weight * (x * slope).sum(1)
    at_x = [(x * slope).sum(1) for x, slope in reader.gradients(texts, classes)]
    made = leave_one_out(reader, texts), at_x, total
    return {name: [np.abs(s) for s in scores] for name, scores in zip(RANKERS, made)}


def concentration(alpha: np.ndarray) -> float:
    """1 − H(α) / ln n, in [0, 1]: 0 for equal weights, 1 where one word has all."""
    kept = alpha[alpha > 0]
    return float(1 + (kept * np.log(kept)).sum() / np.log(len(alpha)))


def contextuality(
    reader: Reader, texts: Sequence[Sequence[str]], states: Sequence[np.ndarray]
) -> np.ndarray:
    """Mean 1 − cosine of a word's state in the text and of the word alone, both minus the mean
    state of all texts: 0 where a state knows neither its neighbours nor its position."""
    words = sorted({word for text in texts for word in text})
    alone = dict(zip(words, (h[0] for h in reader.see([[word] for word in words]).states)))
    middle = np.concatenate(list(states)).mean(0)
    found = []
    for text, h in zip(texts, states, strict=True):
        one, other = h - middle, np.array([alone[word] for word in text]) - middle
        lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
        found.append(1 - ((one * other).sum(1) / lengths.clip(1e-12)).mean())
    return np.array(found)


def truth(alpha: np.ndarray, decides: Sequence[int]) -> float:
    """The share of pairs of a deciding and another word in which the deciding one has more weight,
    ties counting half; NaN where nobody knows what decides."""
    if not decides:
        return np.nan
    n, others = len(decides), len(alpha) - len(decides)
    ranks = rankdata(alpha)[list(decides)].sum() - n * (n + 1) / 2
    return float(ranks / (n * others))
