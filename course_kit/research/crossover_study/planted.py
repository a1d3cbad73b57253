"""Which ruler tells the truth? Planted texts decide, in which we know the deciding words.

The rule was written before the networks were measured. Over each encoder, two kinds of attention
are compared on the texts on which both have the same truth, that is the share of pairs of a
deciding and another word that attention ranks right. There the values should be the same. A ruler
*passes* if the 95 % interval of the difference lies within ±``MARGIN`` for every encoder and every
two kinds with at least ``LEAST_PAIRS`` such texts. Of several that pass, the first of ``COLUMNS``
is the primary measure. If none passes, none is claimed to tell the truth.

The correlation of a ruler with the truth is taken within encoders: between them, networks differ
in more than attention.
"""

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from course_kit.research.crossover_study import ruler
from course_kit.research.crossover_study.corpora import FOLDER
from course_kit.research.crossover_study.intervals import clustered
from course_kit.research.crossover_study.measures import REMOVALS
from course_lib.metrics.statistics import LEVEL

TABLE, DECISION = FOLDER / "ruler.parquet", FOLDER / "ruler.json"
MARGIN = 0.1
LEAST_PAIRS = 30  # of networks and texts with equal truth
SUFFIXES = ("", *(f", {removal}" for removal in REMOVALS))
COLUMNS = [name + suffix for suffix in SUFFIXES for name in ruler.RULERS]
DRAWN = 100  # times that seeds are drawn again


def equal_truth(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """A row for each encoder and two kinds: the difference of their values where their truth is
    the same, its interval, the number of texts of networks, and whether it is within the margin."""
    found = []
    for encoder, part in table.dropna(subset=[column]).groupby("encoder"):
        keys = ["corpus", "seed", "text"]
        wide = part.pivot_table(index=keys, columns="attention", values=[column, "truth"])
        for one, other in combinations(sorted(part["attention"].unique()), 2):
            same = (wide["truth"][one] - wide["truth"][other]).abs() < 1e-3
            gaps = (wide[column][one] - wide[column][other])[same].dropna().reset_index(name="gap")
            networks = gaps["corpus"] + gaps["seed"].astype(str)
            mean = clustered(gaps["gap"].to_numpy(), networks, gaps["corpus"] + gaps["text"])
            low, high = mean.interval
            few = len(gaps) < LEAST_PAIRS or not np.isfinite(low)
            within = None if few else bool(low > -MARGIN and high < MARGIN)
            found.append([encoder, one, other, mean.value, low, high, len(gaps), within])
    columns = ["encoder", "one", "other", "difference", "low", "high", "pairs", "within"]
    return pd.DataFrame(found, columns=columns)


def correlations(table: pd.DataFrame, column: str) -> dict[str, tuple[float, float, float]]:
    """For each encoder: Spearman's ρ of truth and value over networks, the mean of the planted
    corpora, and its 95 % interval from drawing the seeds again."""
    found = {}
    for encoder, part in table.groupby("encoder"):
        means = part.groupby(["corpus", "seed", "attention"])[["truth", column]].mean()
        corpora = [  # (seeds, kinds, 2)
            np.stack([of_corpus[name].unstack().to_numpy() for name in ("truth", column)], 2)
            for _, of_corpus in means.droplevel("corpus").groupby(means.index.get_level_values(0))
        ]
        source = np.random.default_rng(0)
        again = [
            _rho([each[source.integers(0, len(each), len(each))] for each in corpora])
            for _ in range(DRAWN)
        ]
        known = [rho for rho in again if np.isfinite(rho)] or [np.nan]
        low, high = np.quantile(known, [LEVEL / 2, 1 - LEVEL / 2])
        found[str(encoder)] = (_rho(corpora), float(low), float(high))
    return found


def _rho(corpora: list[np.ndarray]) -> float:
    """The mean over corpora, each ``(seeds, kinds, 2)``; NaN where nothing varies."""
    each = []
    for values in corpora:
        kept = values.reshape(-1, 2)
        kept = kept[np.isfinite(kept).all(1)]
        ranks = rankdata(kept, axis=0)
        if len(kept) > 2 and ranks.std(0).all():
            each.append(np.corrcoef(ranks.T)[0, 1])
    return float(np.mean(each)) if each else np.nan


def decision(table: pd.DataFrame) -> dict[str, Any]:
    """The rule's outcome: of each ruler, how many comparisons lie within the margin, of how many,
    the largest difference and the correlations; and the primary measure, or None."""
    by_ruler = {}
    for column in COLUMNS:
        pairs = equal_truth(table, column)
        tested = pairs[pairs["within"].notna()]
        worst = tested.loc[tested["difference"].abs().idxmax()] if len(tested) else {}
        by_ruler[column] = {
            "within": int(tested["within"].sum()),
            "tested": len(tested),
            "mean size": round(float(tested["difference"].abs().mean()), 4),
            "worst": {name: _plain(value) for name, value in dict(worst).items()},
            "rho": {k: list(map(_plain, v)) for k, v in correlations(table, column).items()},
        }
    passed = [name for name in COLUMNS if _all_within(by_ruler[name])]
    return {
        "margin": MARGIN,
        "primary": passed[0] if passed else None,
        "looseness": looseness(table),
        "rulers": by_ruler,
    }


def looseness(table: pd.DataFrame) -> dict[str, float]:
    """For each encoder, the share of the room at equal k that only the beam search finds.

    The limits of a single word are exact, so they have none.
    """
    known = table.dropna(subset=[f"{ruler.EQUAL_K}, beam"]).reset_index(drop=True)
    upper, lower, beam = (known[f"{ruler.EQUAL_K}, {end}"] for end in ("upper", "lower", "beam"))
    room = np.maximum(beam, upper) - lower
    missed = (beam - upper).clip(lower=0)[room > ruler.LEAST_ROOM] / room[room > ruler.LEAST_ROOM]
    return {str(k): round(float(v), 4) for k, v in missed.groupby(known["encoder"]).mean().items()}


def _all_within(found: dict[str, Any]) -> bool:
    return found["within"] == found["tested"] > 0


def _plain(value: Any) -> Any:
    """A number with four digits, None where it is not one, or what else JSON holds."""
    if isinstance(value, float):
        return round(float(value), 4) if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value
