"""Which ruler tells the truth? Planted texts decide, in which we know the deciding words.

Truth is the share of pairs of a deciding and another word that attention ranks right. Over each
encoder, two kinds of attention are compared text by text, in two tests:

- *Equal*: where both have the same truth, the values should be the same. The 95 % interval of the
  difference lies within ±``MARGIN`` for every encoder and every two kinds with at least
  ``LEAST_PAIRS`` such texts. This rule was written before the networks were measured.
- *Sees*: where one has more truth, its value should be larger. Over every encoder, the 95 %
  interval of the mean difference lies above 0. This test was added after planted networks had been
  seen, because a ruler that always says 1 passes the first.

The primary measure is the first of ``COLUMNS`` that passes both. If none does, none is claimed to
tell the truth, and of those that see it the one with most comparisons within the margin is used.

The correlation of a ruler with the truth is taken within encoders: between them, networks differ
in more than attention.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from course_kit.research.crossover_study import ruler
from course_kit.research.crossover_study.corpora import FOLDER
from course_kit.research.crossover_study.intervals import clustered
from course_kit.research.crossover_study.measures import REMOVALS
from course_lib.metrics.statistics import LEVEL, Estimate

TABLE, DECISION = FOLDER / "ruler.parquet", FOLDER / "ruler.json"
MARGIN = 0.1
SAME, APART = 1e-3, 0.05  # two truths are equal below the first, unequal from the second on
LEAST_PAIRS = 30  # of networks and texts with equal truth
SUFFIXES = ("", *(f", {removal}" for removal in REMOVALS))
COLUMNS = [name + suffix for suffix in SUFFIXES for name in ruler.RULERS]
DRAWN = 100  # times that seeds are drawn again


def equal_truth(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """A row for each encoder and two kinds: the difference of their values where their truth is
    the same, its interval, the number of texts of networks, and whether it is within the margin."""
    found = []
    for encoder, part in table.groupby("encoder"):
        for one, other, values, truths in differences(part, column):
            gaps = values[truths.abs() < SAME].dropna()
            mean = mean_of(gaps)
            low, high = mean.interval
            few = len(gaps) < LEAST_PAIRS or not np.isfinite(low)
            within = None if few else bool(low > -MARGIN and high < MARGIN)
            found.append([encoder, one, other, mean.value, low, high, len(gaps), within])
    columns = ["encoder", "one", "other", "difference", "low", "high", "pairs", "within"]
    return pd.DataFrame(found, columns=columns)


def larger_truth(table: pd.DataFrame, column: str) -> dict[str, list[float | None]]:
    """For each encoder, how much larger the value is where the truth is larger: the mean over every
    two kinds and the texts of unequal truth, its 95 % interval, and the number of texts."""
    found = {}
    for encoder, part in table.groupby("encoder"):
        gaps = [
            (values * np.sign(truths).where(truths.abs() >= APART)).dropna()
            for _, _, values, truths in differences(part, column)
        ]
        mean = mean_of(pd.concat(gaps)) if gaps else Estimate(np.nan, np.nan, 2)
        found[str(encoder)] = [*map(_plain, (mean.value, *mean.interval)), sum(map(len, gaps))]
    return found


def differences(part: pd.DataFrame, column: str) -> Iterator[tuple[str, str, pd.Series, pd.Series]]:
    """Every two kinds of attention over one encoder, with the differences of their values and of
    their truths, by corpus, seed and text."""
    keys = ["corpus", "seed", "text"]
    known = part.dropna(subset=[column])
    wide = known.pivot_table(index=keys, columns="attention", values=[column, "truth"])
    for one, other in combinations(sorted(known["attention"].unique()), 2):
        values, truths = (wide[name][one] - wide[name][other] for name in (column, "truth"))
        yield one, other, values, truths


def mean_of(gaps: pd.Series) -> Estimate:
    """The mean of differences by corpus, seed and text, clustered by networks and texts."""
    rows = gaps.rename("gap").reset_index()
    networks = rows["corpus"] + rows["seed"].astype(str)
    return clustered(rows["gap"].to_numpy(), networks, rows["corpus"] + rows["text"])


def stopping(table: pd.DataFrame) -> dict[str, list[float | None]]:
    """What it adds, in one network and with one ranking, to remove no more words than have weight:
    by encoder and kind, the mean of ``OLD`` minus ``EQUAL_SHARES`` and its 95 % interval."""
    indexed = table.set_index(["corpus", "seed", "text"])
    found = {}
    for (encoder, attention), part in indexed.groupby(["encoder", "attention"]):
        mean = mean_of((part[ruler.OLD] - part[ruler.EQUAL_SHARES]).dropna())
        found[f"{encoder}, {attention}"] = list(map(_plain, (mean.value, *mean.interval)))
    return found


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
    """What the two tests say of each ruler, which rulers pass one or both, and the primary measure:
    the first that passes both, else the one that sees the truth over every encoder and has most
    comparisons within the margin, or None."""
    by_ruler = {column: tested(table, column) for column in COLUMNS}
    equal = [name for name in COLUMNS if _all_within(by_ruler[name])]
    sees = [name for name in COLUMNS if _sees(by_ruler[name])]
    both = [name for name in equal if name in sees]
    nearest = max(sees, key=lambda name: by_ruler[name]["within"], default=None)
    return {
        "margin": MARGIN,
        "equal": equal,
        "sees": sees,
        "primary": both[0] if both else nearest,
        "looseness": looseness(table),
        "stopping at the support": stopping(table),
        "rulers": by_ruler,
    }


def tested(table: pd.DataFrame, column: str) -> dict[str, Any]:
    """Both tests of a ruler: of how many comparisons at equal truth, how many lie within the margin
    and how many wholly beyond it; the largest difference; that of additive attention and sparsemax
    by encoder; what is larger where the truth is larger; and the correlations with the truth."""
    every = equal_truth(table, column)
    pairs = every[every["within"].notna()]
    worst = pairs.loc[pairs["difference"].abs().idxmax()] if len(pairs) else {}
    sparse = pairs[(pairs["one"] == "additive") & (pairs["other"] == "sparsemax")]
    ends = sparse[["difference", "low", "high"]].to_numpy().tolist()
    return {
        "within": int(pairs["within"].sum()),
        "tested": len(pairs),
        "beyond": int(((pairs["low"] > MARGIN) | (pairs["high"] < -MARGIN)).sum()),
        "mean size": _plain(float(pairs["difference"].abs().mean())),
        "worst": {name: _plain(value) for name, value in dict(worst).items()},
        "additive − sparsemax": dict(zip(sparse["encoder"], [list(map(_plain, e)) for e in ends])),
        "larger": larger_truth(table, column),
        "without a value": _plain(float(table[column].isna().mean())),
        "rho": {k: list(map(_plain, v)) for k, v in correlations(table, column).items()},
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


def _sees(found: dict[str, Any]) -> bool:
    """Whether the value is larger where the truth is, over every encoder."""
    return all(low is not None and low > 0 for _, low, _, _ in found["larger"].values())


def _all_within(found: dict[str, Any]) -> bool:
    return found["within"] == found["tested"] > 0


def _plain(value: Any) -> Any:
    """A number with four digits, None where it is not one, or what else JSON holds."""
    if isinstance(value, float):
        return round(float(value), 4) if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value
