"""What is measured of one network, text by text: how faithful its attention is, and why.

All columns are ``(texts,)``. Areas are normalised between the least and the largest that rankings
of the same text reach, and 1 is best.
"""

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from course_kit.research.crossover_study.encoders.minilm import MEAN, UNKNOWN
from course_kit.research.factorial_study.corpora import Split
from course_kit.research.factorial_study.network import Reader
from course_kit.research.rankings_study.erasure_record import MEASURES
from course_lib import faithfulness

SHARES = (0.1, 0.2, 0.5)  # of the words, which are removed or kept
SAMPLES = 12  # random rankings among those that bound an area
REMOVALS = {"masking": UNKNOWN, "mean vector": MEAN}
ALSO_BY = ("sst2_sentences", "planted")  # corpora on which the removals are compared


def measure(reader: Reader, split: Split, seed: int, corpus: str) -> dict[str, np.ndarray]:
    """Every column, and ``alpha``, the attention itself, an array per text.

    No ranking removes or keeps more words than have weight; words of equal weight, as those without
    any, come in a random order of the text's own.
    """
    texts, seen = split.words, reader.see(split.words)
    alpha = seen.attention
    rankings = {
        "": alpha,
        " by α‖v‖": [a * np.linalg.norm(h, axis=1) for a, h in zip(alpha, seen.states)],
        " at random": faithfulness.random_importance(texts, seed),
    }
    support = [int((a > 0).sum()) for a in alpha]
    options = {"shares": SHARES, "seed": seed, "most": support}
    found: dict[str, np.ndarray] = {}
    for name, area in MEASURES.items():
        for suffix, share in _normalised(reader, texts, name, rankings, options, None).items():
            found[name + suffix] = share if name == "comprehensiveness" else 1 - share
        found[f"{name}, raw"] = area(reader, texts, alpha, **options).mean(1)
    if corpus in ALSO_BY:
        for removal, filler in REMOVALS.items():
            some = {"": alpha, " at random": rankings[" at random"]}
            by = _normalised(reader, texts, "comprehensiveness", some, options, filler)
            found |= {f"comprehensiveness{s}, {removal}": share for s, share in by.items()}
    sizes = faithfulness.magnitude(faithfulness.leave_one_out(reader, texts))
    found["tau"] = faithfulness.kendall(alpha, sizes)
    found["tau by α‖v‖"] = faithfulness.kendall(rankings[" by α‖v‖"], sizes)
    found["concentration"] = np.array([concentration(a) for a in alpha])
    found["contextuality"] = contextuality(reader, texts, seen.states)
    found["truth"] = np.array([truth(a, place) for a, place in zip(alpha, split.decides)])
    found["words"] = np.array([len(text) for text in texts], dtype=float)
    found["support"] = np.array(support, dtype=float)
    found["confidence"] = seen.probabilities.max(1)
    found["right"] = (seen.probabilities.argmax(1) == split.labels).astype(float)
    return found | {"alpha": np.array(alpha, dtype=object)}


def _normalised(
    reader: Reader,
    texts: Sequence[Sequence[str]],
    measure: str,
    rankings: dict[str, list[np.ndarray]],
    options: dict,
    filler: str | None,
) -> dict[str, np.ndarray]:
    """Each ranking's area between the limits that rankings of the text reach."""
    limits = faithfulness.limits(
        reader,
        texts,
        measure,
        filler=filler,
        rankings=list(rankings.values()),
        beam_up_to=0,
        samples=SAMPLES,
        **options,
    )
    return {
        suffix: faithfulness.normalised_aopc(
            MEASURES[measure](reader, texts, ranking, filler=filler, **options).mean(1), limits
        )
        for suffix, ranking in rankings.items()
    }


def concentration(alpha: np.ndarray) -> float:
    """1 − H(α) / ln n, in [0, 1]: 0 for equal weights, 1 where one word has all."""
    kept = alpha[alpha > 0]
    return float(1 + (kept * np.log(kept)).sum() / np.log(len(alpha)))


def contextuality(
    reader: Reader, texts: Sequence[Sequence[str]], states: Sequence[np.ndarray]
) -> np.ndarray:
    """Mean 1 − cosine of a word's state in the text and of the word alone, both minus the mean
    state of all texts: 0 where no state knows its neighbours."""
    words = sorted({word for text in texts for word in text})
    alone = dict(zip(words, (h[0] for h in reader.see([[word] for word in words]).states)))
    middle = np.concatenate(list(states)).mean(0)
    found = []
    for text, h in zip(texts, states, strict=True):
        one, other = h - middle, np.array([alone[word] for word in text]) - middle
        sizes = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
        found.append(1 - ((one * other).sum(1) / sizes.clip(1e-12)).mean())
    return np.array(found)


def truth(alpha: np.ndarray, place: int) -> float:
    """The share of the other words that have less weight than the one that decides, ties counting
    half; NaN where nobody knows which decides."""
    if place < 0:
        return np.nan
    return float((rankdata(alpha)[place] - 1) / (len(alpha) - 1))
