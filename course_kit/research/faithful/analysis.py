"""The tests of the plan, from the committed tables: effects with intervals first, Holm over all.

A difference between two levels of a factor is taken between networks that share all other levels
and the seed, text by text. These pairs and the texts are crossed, so ``metrics.crossed`` gives the
variance of their mean; corpora have texts of their own and count equally.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import rankdata, spearmanr

from course_kit.research.faithful.cell import rows_path
from course_kit.research.faithful.design import Cell, cells
from course_lib import faithfulness, metrics
from course_lib.metrics.statistics import Estimate, welch

CORPORA = ("sst2_sentences", "ag_news", "imdb")
FACTORS = ["encoder", "attention", "seed"]
PRIMARY = "comprehensiveness"
OUTCOMES = (PRIMARY, "sufficiency", "tau")
MARGIN = 0.05  # a difference that would matter to a reader of attention
SHUFFLES = 2000
VALUE, LINE = " by α‖v‖", " at random"


@dataclass(frozen=True)
class Test:
    """A hypothesis: what its effect is, which sign it predicts (0: within ``MARGIN`` of 0)."""

    name: str
    question: str
    sign: int
    effect: Callable[[pd.DataFrame, str], Estimate]


@dataclass(frozen=True)
class Result:
    """A test's ``value`` with its 95 % interval, its p-value and Holm's, and what became of the
    prediction; ``least`` is the smallest effect that the interval's width could have shown."""

    name: str
    question: str
    sign: int
    value: float
    low: float
    high: float
    p: float
    holm: float
    verdict: str

    @property
    def least(self) -> float:
        """Half the width of the interval: a smaller effect would not have been seen."""
        return (self.high - self.low) / 2


@cache
def rows(seeds: tuple[int, ...] | None = None) -> pd.DataFrame:
    """The measured texts of the three corpora, of all whole designs or of these ``seeds``."""
    found = pd.concat([pd.read_parquet(rows_path(corpus)) for corpus in CORPORA])
    chosen = whole_seeds() if seeds is None else seeds
    return found[found["seed"].isin(chosen) & (found["attention"] != "sharp")]


def whole_seeds() -> tuple[int, ...]:
    """The seeds of which every cell of the three corpora has a record."""
    main = [c for c in cells() if c.corpus in CORPORA and c.attention != "sharp"]
    gone = {cell.seed for cell in main if not cell.record.exists()}
    return tuple(sorted({cell.seed for cell in main} - gone))


def records() -> dict[str, dict]:
    """Each published record by its cell's name."""
    paths = [cell.record for cell in cells() if cell.record.exists()]
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def matrix(part: pd.DataFrame, measure: str) -> pd.DataFrame:
    """A row for each network, a column for each text."""
    return part.pivot_table(index=FACTORS, columns="text", values=measure, dropna=False)


def combined(parts: Sequence[Estimate], weights: Sequence[float]) -> Estimate:
    """A weighted sum of independent estimates."""
    by_seeds = [(w**2 * e.by_seeds, e.freedom) for w, e in zip(weights, parts) if e.by_seeds]
    return Estimate(
        sum(w * e.value for w, e in zip(weights, parts)),
        sum(w**2 * e.by_texts for w, e in zip(weights, parts)),
        min(e.texts for e in parts),
        *welch(by_seeds),
    )


def over_corpora(table: pd.DataFrame, gaps: Callable[[pd.DataFrame], pd.DataFrame]) -> Estimate:
    """The mean of ``gaps`` (networks × texts) in each corpus, and of the corpora."""
    parts = []
    for corpus in CORPORA:
        found = gaps(table[table["corpus"] == corpus])
        found = found.loc[:, found.notna().all()]  # texts without room for any ranking are left out
        parts.append(metrics.crossed(found.to_numpy()))
    return combined(parts, [1 / len(parts)] * len(parts))


def levels(factor: str, first: str, second: str) -> Callable[[pd.DataFrame, str], Estimate]:
    """``first`` minus ``second`` level of a factor, learned attention only."""

    def effect(table: pd.DataFrame, measure: str) -> Estimate:
        def gaps(part: pd.DataFrame) -> pd.DataFrame:
            learned = matrix(part[part["attention"] != "uniform"], measure)
            return learned.xs(first, level=factor) - learned.xs(second, level=factor)

        return over_corpora(table, gaps)

    return effect


def rankings(first: str, second: str) -> Callable[[pd.DataFrame, str], Estimate]:
    """One ranking's measure minus another's, in the same network with learned attention."""

    def effect(table: pd.DataFrame, measure: str) -> Estimate:
        learned = table[table["attention"] != "uniform"]
        one, other = measure + first, measure + second
        return over_corpora(learned, lambda part: matrix(part, one) - matrix(part, other))

    return effect


def corpora(first: str, second: str) -> Callable[[pd.DataFrame, str], Estimate]:
    """The mean in one corpus minus that in another."""

    def effect(table: pd.DataFrame, measure: str) -> Estimate:
        learned = table[table["attention"] != "uniform"]
        parts = [matrix(learned[learned["corpus"] == c], measure) for c in (first, second)]
        parts = [metrics.crossed(p.loc[:, p.notna().all()].to_numpy()) for p in parts]
        return combined(parts, [1, -1])

    return effect


def networks(table: pd.DataFrame, measure: str) -> pd.DataFrame:
    """A row for each network with learned attention: means over its texts, and what its attention
    gains in accuracy over uniform weights with the same encoder and seed."""
    keys = ["corpus", *FACTORS]
    means = table.groupby(keys)[[measure, "concentration", "contextuality"]].mean().reset_index()
    known = records()
    names = [Cell(*row).name for row in means[keys].itertuples(index=False)]
    means["accuracy"] = [known[name]["accuracy"] for name in names]
    line = means[means["attention"] == "uniform"].set_index(["corpus", "encoder", "seed"])
    learned = means[means["attention"] != "uniform"]
    places = pd.MultiIndex.from_frame(learned[["corpus", "encoder", "seed"]])
    return learned.assign(gain=learned["accuracy"].to_numpy() - line.loc[places, "accuracy"].values)


def correlation(table: pd.DataFrame, cause: str, measure: str, within: Sequence[str]) -> dict:
    """Spearman's ρ of a cause and a measure over networks, ranks within groups centred, and the
    two-sided p-value of shuffling the measure within the groups."""
    groups = [part for _, part in table.groupby(list(within))]
    x, y = (
        [rankdata(part[name]) / len(part) - (len(part) + 1) / (2 * len(part)) for part in groups]
        for name in (cause, measure)
    )
    random, flat = np.random.default_rng(0), np.concatenate(x)
    rho = np.corrcoef(flat, np.concatenate(y))[0, 1]
    shuffled = [
        np.corrcoef(flat, np.concatenate([random.permutation(part) for part in y]))[0, 1]
        for _ in range(SHUFFLES)
    ]
    low, high = rho + np.quantile(shuffled, [0.025, 0.975])
    p = (1 + (np.abs(shuffled) >= abs(rho)).sum()) / (1 + SHUFFLES)
    return {"value": float(rho), "low": float(low), "high": float(high), "p": float(p)}


def seed_agreement(table: pd.DataFrame) -> pd.DataFrame:
    """For each setting: the mean τ-b of two seeds' attention over texts and pairs of seeds, and the
    mean of the primary measure."""
    found = []
    for keys, part in table[table["attention"] != "uniform"].groupby(["corpus", *FACTORS[:2]]):
        by_seed = [each.set_index("text")["alpha"] for _, each in part.groupby("seed")]
        taus = [
            np.nanmean(faithfulness.kendall(list(a), list(b.loc[a.index])))
            for a, b in combinations(by_seed, 2)
        ]
        found.append([*keys, np.mean(taus) if taus else np.nan, part[PRIMARY].mean()])
    return pd.DataFrame(found, columns=["corpus", "encoder", "attention", "agreement", PRIMARY])


TESTS = (
    Test("projected − BiLSTM", "a", 1, levels("encoder", "projected", "bilstm")),
    Test("projected − Transformer", "a", 1, levels("encoder", "projected", "transformer")),
    Test("projected − MiniLM", "a", 1, levels("encoder", "projected", "minilm")),
    Test("sparsemax − softmax", "b", 0, levels("attention", "sparsemax", "additive")),
    Test("entmax 1.5 − softmax", "b", 0, levels("attention", "entmax15", "additive")),
    Test("α‖v‖ − α", "value", 1, rankings(VALUE, "")),
    Test("α − random", "line", 1, rankings("", LINE)),
    Test("SST-2 − IMDb", "d", 1, corpora("sst2_sentences", "imdb")),
)
CORRELATIONS = (
    ("concentration", "b", 1, ("corpus", "encoder")),
    ("gain", "c", 1, ("corpus", "encoder")),
)


def tests(measure: str = PRIMARY, seeds: tuple[int, ...] | None = None) -> list[Result]:
    """All planned tests of one measure, with Holm's correction over them."""
    table, found = rows(seeds), []
    for test in TESTS:
        if measure == "tau" and LINE in (getattr(test, "name", ""), " at random"):
            continue
        if measure + LINE not in table and test.question == "line":
            continue
        estimate = test.effect(table, measure)
        low, high = estimate.interval
        found.append([test.name, test.question, test.sign, estimate.value, low, high, estimate.p,
                      estimate.equivalent(MARGIN)])  # fmt: skip
    each = networks(table, measure)
    for cause, question, sign, within in CORRELATIONS:
        one = correlation(each, cause, measure, within)
        found.append([f"ρ with {cause}", question, sign, *one.values(), ""])
    if len(whole_seeds() if seeds is None else seeds) > 1:
        one = correlation(seed_agreement(table), "agreement", PRIMARY, ("corpus", "encoder"))
        found.append(["ρ with seeds' agreement", "e", 1, *one.values(), ""])
    corrected = metrics.holm([each[6] for each in found])
    return [Result(*f[:7], p, _verdict(f[2], f[3], p, f[7])) for f, p in zip(found, corrected)]


def _verdict(sign: int, value: float, p: float, equivalence: str) -> str:
    """What became of a prediction."""
    if sign == 0:
        return {"equivalent": "as predicted", "different": "against it"}.get(equivalence, "open")
    if p >= metrics.statistics.LEVEL:
        return "open"
    return "as predicted" if np.sign(value) == sign else "against it"


def components(table: pd.DataFrame, measure: str) -> dict[str, float]:
    """Standard deviations of learned attention's measure in one number each: between settings,
    between seeds of a setting (means over texts), between texts of a network."""
    learned = table[table["attention"] != "uniform"]
    keys = ["corpus", "encoder", "attention"]
    by_network = learned.groupby([*keys, "seed"])[measure].agg(["mean", "std"])
    by_setting = by_network["mean"].groupby(keys).agg(["mean", "std"])
    return {
        "settings": float(by_setting["mean"].std()),
        "seeds": float(np.sqrt((by_setting["std"] ** 2).mean())),
        "texts": float(np.sqrt((by_network["std"] ** 2).mean())),
    }


def planted() -> pd.DataFrame:
    """For each network of the planted corpus the mean of every measure, and the truth."""
    table = pd.read_parquet(rows_path("planted"))
    columns = ["truth", *(f"{m}{s}" for m in OUTCOMES[:2] for s in ("", ", raw")), "tau"]
    columns += [c for c in table if c.startswith(f"{PRIMARY}, m")]
    return table.groupby(FACTORS)[list(dict.fromkeys(columns))].mean()


def ranks_of_truth() -> dict[str, float]:
    """Spearman's ρ over the networks with learned attention of each measure and the truth."""
    table = planted().query("attention != 'uniform'")
    return {
        name: float(spearmanr(table["truth"], table[name], nan_policy="omit").statistic)
        for name in table
        if name != "truth"
    }


def power(
    effect: float, seeds: int, texts: Sequence[int] = (40, 32, 24), pairs: int = 4,
    level: float = 0.05, of_pairs: float = 0.06, of_texts: float = 0.2, both: float = 0.2,
    studies: int = 400,
) -> float:  # fmt: skip
    """How often a difference of ``effect`` is found, of simulated studies: its standard deviations
    are ``of_pairs`` of networks (``pairs`` a seed), ``of_texts``, and ``both`` together."""
    random, found = np.random.default_rng(35), 0
    for _ in range(studies):
        parts = []
        for count in texts:
            gaps = effect + of_pairs * random.standard_normal((pairs * seeds, 1))
            gaps = gaps + of_texts * random.standard_normal((1, count))
            parts.append(metrics.crossed(gaps + both * random.standard_normal(gaps.shape)))
        found += combined(parts, [1 / len(parts)] * len(parts)).p < level
    return found / studies
