"""AGT: does a larger bias of the gates encourage composition?

The paper starts the bias of the transform gates at 1 and says that this encourages composition.
Composition here: how much longer a phrase is, on the average, than in a random order of the same
words; and how far the gates are open. All from run records, by bias and seed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from course_kit.research.seed_claims import studied
from course_kit.research.seed_claims.sanet_columns import between
from course_lib.runs.records import load_records
from course_lib.runs.spec import RunSpec

BIASES = (0.0, 1.0, 2.0)
BATCH = {"training.batch_size": 200}
RULES = {"relaxed": "relaxed ", "strict": ""}  # as figures of a record begin


class Composition(NamedTuple):
    """Figures of one run: mean words of a phrase minus those by chance, by the relaxed rule and by
    the paper's threshold, over all layers (None where the record has none); mean of the gates."""

    relaxed: float | None
    strict: float | None
    gate: float
    accuracy: float


def spec_of(bias: float, seed: int) -> RunSpec:
    """The run with that bias."""
    changes = {} if bias == 1 else {"model.gate_bias": bias}
    return RunSpec("agt", "sst5", "paper", BATCH | changes, seed=seed, threads=1)


def longer(attention: Mapping[str, Sequence[float]], rule: str) -> float | None:
    """How many words more than by chance a phrase has: all words that the layers select, over all
    their phrases, minus the same over the phrases expected in a random order; None for a record
    without that rule."""
    begin = RULES[rule]
    if f"{begin}selected" not in attention:
        return None
    words, phrases, chance = (
        sum(attention[f"{begin}{name}"]) for name in ("selected", "phrases", "phrases by chance")
    )
    return words / phrases - words / chance


def composition(record: Mapping[str, Any], network: str = "trained") -> Composition:
    """That of a run, or of its network as it was before training (``"untrained"``)."""
    found = record["attention"][network]
    relaxed, strict = (longer(found, rule) for rule in RULES)
    return Composition(relaxed, strict, float(np.mean(found["gate"])), record["test"]["accuracy"])


def by_bias(
    records: Iterable[Mapping[str, Any]] | None = None, network: str = "trained"
) -> dict[float, dict[int, Composition]]:
    """``composition`` of all recorded runs, by bias and seed; a bias without a run is left out."""
    by_id = {record["id"]: record for record in (load_records() if records is None else records)}
    found: dict[float, dict[int, Composition]] = {}
    for bias in BIASES:
        for seed in studied.SEEDS:
            if record := by_id.get(spec_of(bias, seed).resolve().id):
                found.setdefault(bias, {})[seed] = composition(record, network)
    return found


def figures(found: Mapping[float, Mapping[int, Composition]]) -> dict[str, Any]:
    """By figure: ``by bias``, its mean over seeds with a t interval and the values by seed (as a
    record of ``seed_claims`` has them by network), and ``minus bias 0``, the difference of each
    other bias to 0 with its Welch interval. Ends of a single seed are None; a positive difference
    says that the larger bias goes with longer phrases, or with gates further open."""
    table: dict[str, Any] = {}
    for name in Composition._fields:
        groups = {}
        for bias, of_seed in found.items():
            values = {seed: getattr(one, name) for seed, one in of_seed.items()}
            groups[bias] = studied.over_networks(
                {str(seed): {"mean": v} for seed, v in values.items() if v is not None}
            )
        known = {bias: of for bias, of in groups.items() if of["networks"]}
        table[name] = {
            "by bias": known,
            "minus bias 0": {b: between(known[b], known[0.0]) for b in known if b and 0.0 in known},
        }
    return table
