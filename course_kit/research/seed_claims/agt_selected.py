"""AGT: does the relaxed rule add function words, and does layer 8 select whole sentences?"""

from collections.abc import Callable, Mapping

import datasets
import numpy as np
import torch

from course_kit.research.seed_claims import studied
from course_kit.research.seed_claims.lexicon import is_function_word
from course_lib.explore.layers import SELECTION_RULES, Rule
from course_lib.explore.reading import read_rows
from course_lib.views.reading import Reading

PREFIX = "agt-sst5-compact"
TEXTS = 2210
LAYER = 8
STRICT, RELAXED = SELECTION_RULES  # the paper's threshold of 0.95, and above the median


def selections(reading: Reading, rules: Mapping[str, Rule] = SELECTION_RULES) -> dict:
    """Which words each layer selects, bool ``(layers, words)``, by rule."""
    weights = torch.from_numpy(reading.attention["layers"].weights)[None]
    mask = torch.ones(1, weights.shape[2], dtype=torch.bool)
    return {name: select(weights, mask)[0].numpy() for name, select in rules.items()}


def shares(
    tokens: tuple[str, ...],
    strict: np.ndarray,
    relaxed: np.ndarray,
    of: Callable[[str], bool] = is_function_word,
) -> dict[str, float]:
    """Of one sentence, the shares of stop words among its words, among those that a layer selects,
    and among those that only the relaxed rule selects, over all layers together; and of layer
    ``LAYER``, which share of the words it selects and whether it selects all."""
    stop = np.array([of(token) for token in tokens])
    found = {"stop words among all words": float(stop.mean())}
    for name, selected in (
        (STRICT, strict),
        (RELAXED, relaxed),
        ("added by the relaxed rule", relaxed & ~strict),
    ):
        count = selected.sum()
        found[f"stop words, {name}"] = (selected & stop).sum() / count if count else np.nan
    for name, selected in ((STRICT, strict), (RELAXED, relaxed)):
        found[f"layer {LAYER}: words selected, {name}"] = float(selected[LAYER].mean())
        found[f"layer {LAYER}: whole sentences, {name}"] = float(selected[LAYER].all())
    return found


def by_text(system: object, rows: datasets.Dataset) -> dict[str, np.ndarray]:
    """The figures of each sentence of at least two words; NaN for the others."""
    each = []
    for reading in read_rows(system, rows):
        rules = selections(reading)
        found = shares(reading.tokens, rules[STRICT], rules[RELAXED])
        each.append(found if len(reading.tokens) > 1 else dict.fromkeys(found, np.nan))
    values = {name: np.array([one[name] for one in each]) for name in each[0]}
    added = values["stop words, added by the relaxed rule"]
    values["added − all words"] = added - values["stop words among all words"]
    values[f"added − {STRICT}"] = added - values[f"stop words, {STRICT}"]
    return values


def measure(seed: int = 0) -> studied.Claim:
    """The part of the record that is this claim's."""
    networks = studied.group(PREFIX)
    first = next(iter(networks.values()))
    rows = studied.sample(first.run, TEXTS, seed)
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, network in networks.items():
        own = by_text(network.system, rows)
        before = by_text(network.untrained, rows)
        own |= {f"untrained: {n}": values for n, values in before.items()}
        for figure, values in own.items():
            found.setdefault(figure, {})[name] = values
    return {
        "paper": "Guo 2017",
        "says": "The relaxed rule of selection adds function words; at layer 8 whole sentences are "
        "composed.",
        "measured": "The share of stop words among the words that only the relaxed rule (above the "
        "median) selects, in all layers together, beside their share among all words and among "
        "those of the strict rule (scaled weight above 0.95); the share of a sentence's words that "
        f"layer {LAYER} (counted from 0) selects. The relaxed rule can select at most half.",
        "unit": "share of the words; of the sentences for whole sentences",
        "positive": "added − all words: the relaxed rule prefers stop words",
        "networks": studied.about_networks({PREFIX: networks}),
        "texts": {PREFIX: studied.about_texts(first.run, rows, seed)},
        "figures": {PREFIX: studied.figures(found, seed)},
    }
