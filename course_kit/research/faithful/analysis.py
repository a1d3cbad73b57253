"""The tests of the plan, from the committed tables: effects with intervals first, Holm over all.

A difference between two levels of a factor is taken between networks that share all other levels
and the seed, text by text. These pairs and the texts are crossed, so ``metrics.crossed`` gives the
variance of their mean; corpora have texts of their own and count equally.
"""

import json
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import combinations

import numpy as np
import pandas as pd

from course_kit.research.faithful.cell import rows_path
from course_kit.research.faithful.design import cells
from course_lib import faithfulness, metrics
from course_lib.metrics.statistics import LEVEL, Estimate, welch

MAIN = ("sst2_sentences", "ag_news", "imdb")
NETWORK = ["encoder", "attention", "seed"]
BLOCK = ["corpus", "encoder", "seed"]  # whole if it has a network of every attention
ATTENTIONS = ("additive", "dot", "sparsemax", "entmax15", "uniform")
LEAST_ACCURACY = {"ag_news": 0.4}  # 0.6 elsewhere
PRIMARY = "comprehensiveness"
MARGIN = 0.05  # a difference that would matter to a reader of attention
VALUE, LINE = " by α‖v‖", " at random"
Effect = Callable[[pd.DataFrame, str], Estimate]
NOTHING = Estimate(np.nan, np.nan, 2)


@cache
def rows() -> pd.DataFrame:
    """Every measured text of the networks in whole blocks, with the network's ``accuracy``."""
    tables = [pd.read_parquet(rows_path(corpus)) for corpus in MAIN if rows_path(corpus).exists()]
    found = pd.concat(tables).query("attention in @ATTENTIONS")
    whole = found.groupby(BLOCK)["attention"].transform("nunique") == len(ATTENTIONS)
    accuracy = {name: record["accuracy"] for name, record in records().items()}
    found = found[whole].assign(accuracy=found[whole]["cell"].map(accuracy))
    least = found["corpus"].map(LEAST_ACCURACY).fillna(0.6)
    return found[found["accuracy"] >= least]


@cache
def records() -> dict[str, dict]:
    """Each published record by its cell's name."""
    paths = [cell.record for cell in cells() if cell.record.exists()]
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def learned() -> pd.DataFrame:
    """``rows`` without uniform attention."""
    return rows().query("attention != 'uniform'")


def matrix(part: pd.DataFrame, measure: str) -> pd.DataFrame:
    """A row for each network, a column for each text."""
    table = part.pivot_table(index=NETWORK, columns="text", values=measure, dropna=False)
    return table.dropna(how="all")  # combinations that no network has


def crossed(gaps: pd.DataFrame) -> list[Estimate]:
    """The mean of networks × texts, without texts on which some ranking had no room; none where
    fewer than two texts are left."""
    kept = gaps.loc[:, gaps.notna().all()].to_numpy()
    return [metrics.crossed(kept)] if len(kept) and kept.shape[1] > 1 else []


def combined(parts: Sequence[Estimate], weights: Sequence[float]) -> Estimate:
    """The weighted sum of independent estimates, as the mean of studies with texts of their own."""
    by_seeds = [(w**2 * part.by_seeds, part.freedom) for w, part in zip(weights, parts)]
    return Estimate(
        sum(w * part.value for w, part in zip(weights, parts)),
        sum(w**2 * part.by_texts for w, part in zip(weights, parts)),
        min(part.texts for part in parts),
        *welch([each for each in by_seeds if each[0]]),
    )


def over_corpora(table: pd.DataFrame, gaps: Callable[[pd.DataFrame], pd.DataFrame]) -> Estimate:
    """The mean of ``gaps`` in each corpus that has any, and of these corpora."""
    parts = [each for _, part in table.groupby("corpus") for each in crossed(gaps(part))]
    if not parts:
        return NOTHING
    return combined(parts, [1 / len(parts)] * len(parts))


def levels(factor: str, first: str, second: str, table: pd.DataFrame, measure: str) -> Estimate:
    """The ``first`` minus the ``second`` level of a factor."""

    def gaps(part: pd.DataFrame) -> pd.DataFrame:
        one, other = (part[part[factor] == level] for level in (first, second))
        if not (len(one) and len(other)):
            return pd.DataFrame()
        sides = (matrix(side, measure).droplevel(factor) for side in (one, other))
        return next(sides).sub(next(sides)).dropna(how="all")

    return over_corpora(table, gaps)


def rankings(first: str, second: str, table: pd.DataFrame, measure: str) -> Estimate:
    """One ranking's measure minus another's, in the same network."""
    one, other = with_suffix(measure, first), with_suffix(measure, second)
    if not {one, other} <= set(table):
        return NOTHING
    return over_corpora(table, lambda part: matrix(part, one) - matrix(part, other))


def with_suffix(measure: str, suffix: str) -> str:
    """The column of a measure for another ranking than α's."""
    name, comma, removal = measure.partition(",")
    return f"{name}{suffix}{comma}{removal}"


def corpora(first: str, second: str, table: pd.DataFrame, measure: str) -> Estimate:
    """The mean in one corpus minus that in another."""
    parts = [table[table["corpus"] == corpus] for corpus in (first, second)]
    found = [each for part in parts for each in crossed(matrix(part, measure))]
    return combined(found, [1, -1]) if len(found) == 2 else NOTHING


TESTS: tuple[tuple[str, str, int, Effect], ...] = (  # sign 0: within MARGIN of 0
    ("projected − BiLSTM", "a", 1, partial(levels, "encoder", "projected", "bilstm")),
    ("projected − Transformer", "a", 1, partial(levels, "encoder", "projected", "transformer")),
    ("projected − MiniLM", "a", 1, partial(levels, "encoder", "projected", "minilm")),
    ("sparsemax − softmax", "b", 0, partial(levels, "attention", "sparsemax", "additive")),
    ("entmax 1.5 − softmax", "b", 0, partial(levels, "attention", "entmax15", "additive")),
    ("SST-2 − IMDb", "d", 1, partial(corpora, "sst2_sentences", "imdb")),
    ("α‖v‖ − α", "value", 1, partial(rankings, VALUE, "")),
    ("α − random", "line", 1, partial(rankings, "", LINE)),
)


def grouped_correlation(
    first: Sequence[np.ndarray], second: Sequence[np.ndarray], shuffles: int = 2000
) -> tuple[float, float, float]:
    """The correlation of ranks within groups, one array ``(n,)`` each, over all groups; half the
    width of what shuffling ``second`` within its groups leaves in 95 %, and the p-value of that."""
    from scipy.stats import rankdata

    x, y = (
        [rankdata(a) / len(a) - (len(a) + 1) / (2 * len(a)) for a in s] for s in (first, second)
    )
    flat, random = np.concatenate(x), np.random.default_rng(0)
    rho = np.corrcoef(flat, np.concatenate(y))[0, 1]
    shuffled = [
        np.corrcoef(flat, np.concatenate([random.permutation(part) for part in y]))[0, 1]
        for _ in range(shuffles)
    ]
    beyond = (np.abs(shuffled) >= abs(rho) - 1e-12).sum()
    return float(rho), float(np.quantile(np.abs(shuffled), 0.95)), (1 + beyond) / (1 + shuffles)


def results(measure: str = PRIMARY) -> pd.DataFrame:
    """A row for each planned test: its effect with the 95 % interval, the p-value and Holm's, what
    became of the prediction, and ``least``, the smallest effect that could have been seen."""
    table, found = learned(), []
    for name, question, sign, effect in TESTS:
        one = effect(table, measure)
        if np.isfinite(one.value):
            row = [name, question, sign, one.value, *one.interval, one.p, one.equivalent(MARGIN)]
            found.append(row)
    each = networks(measure)
    pairs = [("concentration", "b", each, measure), ("gain", "c", each, measure)]
    pairs.append(("agreement of seeds", "e", seed_agreement(measure), measure))
    for cause, question, part, outcome in pairs:
        known = part.dropna(subset=[cause, outcome]) if len(part) else part
        groups = [group for _, group in known.groupby(BLOCK[:2]) if len(group) > 1]
        if groups:
            sides = ([group[c].to_numpy() for group in groups] for c in (cause, outcome))
            rho, half, p = grouped_correlation(*sides)
            found.append([f"ρ with {cause}", question, 1, rho, rho - half, rho + half, p, ""])
    columns = ["test", "question", "predicted", "value", "low", "high", "p", "margin"]
    made = pd.DataFrame(found, columns=columns)
    made["holm"] = metrics.holm(made["p"].tolist())
    made["least"] = (made["high"] - made["low"]) / 2
    return made.assign(verdict=made.apply(_verdict, axis=1))


def _verdict(row: pd.Series) -> str:
    """What became of a prediction."""
    if row["predicted"] == 0:
        return {"equivalent": "as predicted", "different": "against it"}.get(row["margin"], "open")
    if row["holm"] >= LEVEL:
        return "open"
    return "as predicted" if row["value"] > 0 else "against it"


def networks(measure: str = PRIMARY) -> pd.DataFrame:
    """A row for each network with learned attention: means over its texts, and the ``gain`` in
    accuracy over uniform weights with the same encoder and seed."""
    names = list(dict.fromkeys([measure, "concentration", "contextuality", "accuracy"]))
    means = rows().groupby(["corpus", *NETWORK])[names].mean().reset_index()
    line = means.query("attention == 'uniform'").set_index(BLOCK)["accuracy"]
    found = means.query("attention != 'uniform'").join(line.rename("line"), on=BLOCK)
    return found.assign(gain=found["accuracy"] - found["line"])


def seed_agreement(measure: str = PRIMARY) -> pd.DataFrame:
    """For each setting with two seeds: the mean τ-b of two seeds' attention over texts and pairs of
    seeds, beside the mean of a measure."""
    found = []
    for setting, part in learned().groupby(["corpus", *NETWORK[:2]]):
        by_seed = [each.set_index("text")["alpha"] for _, each in part.groupby("seed")]
        if len(by_seed) > 1:
            taus = [
                np.nanmean(faithfulness.kendall(list(a), list(b.loc[a.index])))
                for a, b in combinations(by_seed, 2)
            ]
            found.append([*setting, np.mean(taus), part[measure].mean()])
    columns = ["corpus", "encoder", "attention", "agreement of seeds", measure]
    return pd.DataFrame(found, columns=columns)


def components(measure: str = PRIMARY) -> dict[str, float]:
    """Standard deviations of a measure: between settings, between seeds of a setting (means over
    texts; NaN with one seed), and between texts of a network."""
    setting = ["corpus", *NETWORK[:2]]
    by_network = learned().groupby([*setting, "seed"])[measure].agg(["mean", "std"])
    by_setting = by_network["mean"].groupby(setting).agg(["mean", "std"])
    return {
        "settings": float(by_setting["mean"].std()),
        "seeds": float((by_setting["std"] ** 2).mean() ** 0.5),
        "texts": float((by_network["std"] ** 2).mean() ** 0.5),
    }


def planted() -> pd.DataFrame:
    """For each network of the planted corpus, the mean of the truth and of all measures, 1 being
    the best of each but the raw ones."""
    table = pd.read_parquet(rows_path("planted"))
    names = [PRIMARY, "sufficiency", "tau", f"{PRIMARY}, raw", "sufficiency, raw"]
    names += [f"{PRIMARY}, masking", f"{PRIMARY}, mean vector"]
    means = table.groupby(NETWORK)[["truth", *names]].mean()
    return means.assign(**{"sufficiency, raw": -means["sufficiency, raw"]})  # 1 is best elsewhere


def power(
    effect: float, seeds: int, texts: Sequence[int] = (40, 32, 24), studies: int = 400
) -> float:
    """How often a difference of ``effect`` is found, of simulated studies with four pairs of
    networks a seed: its standard deviations are 0.06 of pairs, 0.2 of texts, and 0.2 of both."""
    random, found = np.random.default_rng(35), 0
    for _ in range(studies):
        parts = []
        for count in texts:
            gaps = effect + 0.06 * random.standard_normal((4 * seeds, 1))
            gaps = gaps + 0.2 * random.standard_normal((1, count))
            parts.append(metrics.crossed(gaps + 0.2 * random.standard_normal(gaps.shape)))
        found += combined(parts, [1 / len(parts)] * len(parts)).p < LEVEL
    return found / studies
