"""The tests of the plan, from the committed tables: effects with intervals first, Holm over all.

A difference between two levels of a factor is taken between networks that share all other levels
and the seed, text by text. These pairs and the texts are crossed, so ``metrics.crossed`` gives the
variance of their mean; corpora have texts of their own and count equally. What the plan does not
name is in ``exploratory``.
"""

import json
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np
import pandas as pd

from course_kit.research.factorial_study.design import cells, rows_path
from course_lib import faithfulness, metrics
from course_lib.metrics.statistics import LEVEL, Estimate, welch

MAIN = ("sst2_sentences", "ag_news", "imdb")
NETWORK = ["encoder", "attention", "seed"]
GROUP = ["corpus", "encoder"]
BLOCK = [*GROUP, "seed"]  # whole if it has a network of every attention
ATTENTIONS = ("additive", "dot", "sparsemax", "entmax15", "uniform")
LEAST_ACCURACY = {"ag_news": 0.4}  # 0.6 elsewhere
PRIMARY = "comprehensiveness"
MARGIN = 0.05  # a difference that would matter to a reader of attention
VALUE, LINE = " by α‖v‖", " at random"
ABOVE, WITHIN, BELOW = "above 0", f"within ±{MARGIN}", f"below {MARGIN}"  # what was predicted
QUESTIONS = ("a", "b", "c", "d", "e", "value", "line")  # in the plan's order
DRAWS = 10_000  # of whole groups, for an interval
Effect = Callable[..., Estimate]  # of a table, a measure, and how a corpus's mean is estimated
Mean = Callable[[pd.DataFrame], list[Estimate]]  # of networks × texts
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


def fixed(gaps: pd.DataFrame) -> list[Estimate]:
    """``crossed`` with encoders and kinds of attention as fixed levels: only the seeds of a level
    vary, so what differs between levels is no error."""
    kept = gaps.loc[:, gaps.notna().all()]
    if not len(kept) or kept.shape[1] < 2:
        return []
    names = [name for name in kept.index.names if name != "seed"]
    levels = [level.to_numpy() for _, level in kept.groupby(names)]
    over_texts, errors = [], []
    for level in levels:
        seeds, texts = level.shape
        left = level - level.mean(1, keepdims=True) - level.mean(0) + level.mean()
        errors.append((left**2).sum() / ((seeds - 1) * (texts - 1)) / (seeds * texts))
        variance = level.mean(1).var(ddof=1) / seeds / len(levels) ** 2
        over_texts.append((float(variance), seeds - 1))
    means = np.mean([level.mean(0) for level in levels], axis=0)
    by_texts = means.var(ddof=1) / len(means) - np.mean(errors) / len(levels)
    freedom = welch([each for each in over_texts if each[0]])
    return [Estimate(float(means.mean()), max(float(by_texts), 0.0), len(means), *freedom)]


def combined(parts: Sequence[Estimate], weights: Sequence[float]) -> Estimate:
    """The weighted sum of independent estimates, as the mean of studies with texts of their own."""
    by_seeds = [(w**2 * part.by_seeds, part.freedom) for w, part in zip(weights, parts)]
    return Estimate(
        sum(w * part.value for w, part in zip(weights, parts)),
        sum(w**2 * part.by_texts for w, part in zip(weights, parts)),
        min(part.texts for part in parts),
        *welch([each for each in by_seeds if each[0]]),
    )


def over_corpora(
    table: pd.DataFrame, gaps: Callable[[pd.DataFrame], pd.DataFrame], mean: Mean = crossed
) -> Estimate:
    """The mean of ``gaps`` in each corpus that has any, and of these corpora."""
    parts = [each for _, part in table.groupby("corpus") for each in mean(gaps(part))]
    if not parts:
        return NOTHING
    return combined(parts, [1 / len(parts)] * len(parts))


def gaps(factor: str, first: str, second: str, measure: str, part: pd.DataFrame) -> pd.DataFrame:
    """The ``first`` minus the ``second`` level of a factor: a row for each two networks that share
    all else, a column for each text."""
    one, other = (part[part[factor] == level] for level in (first, second))
    if not (len(one) and len(other)):
        return pd.DataFrame()
    sides = (matrix(side, measure).droplevel(factor) for side in (one, other))
    return next(sides).sub(next(sides)).dropna(how="all")


def levels(
    factor: str,
    first: str,
    second: str,
    table: pd.DataFrame,
    measure: str,
    mean: Mean = crossed,
) -> Estimate:
    """The ``first`` minus the ``second`` level of a factor."""
    return over_corpora(table, partial(gaps, factor, first, second, measure), mean)


def rankings(
    first: str, second: str, table: pd.DataFrame, measure: str, mean: Mean = crossed
) -> Estimate:
    """One ranking's measure minus another's, in the same network."""
    one, other = with_suffix(measure, first), with_suffix(measure, second)
    if not {one, other} <= set(table):
        return NOTHING
    return over_corpora(table, lambda part: matrix(part, one) - matrix(part, other), mean)


def with_suffix(measure: str, suffix: str) -> str:
    """The column of a measure for another ranking than α's."""
    name, comma, removal = measure.partition(",")
    return f"{name}{suffix}{comma}{removal}"


def corpora(
    first: str, second: str, table: pd.DataFrame, measure: str, mean: Mean = crossed
) -> Estimate:
    """The mean in one corpus minus that in another."""
    parts = [table[table["corpus"] == corpus] for corpus in (first, second)]
    found = [each for part in parts for each in mean(matrix(part, measure))]
    return combined(found, [1, -1]) if len(found) == 2 else NOTHING


TESTS: tuple[tuple[str, str, str, Effect], ...] = (
    ("projected − BiLSTM", "a", ABOVE, partial(levels, "encoder", "projected", "bilstm")),
    ("projected − Transformer", "a", ABOVE, partial(levels, "encoder", "projected", "transformer")),
    ("projected − MiniLM", "a", ABOVE, partial(levels, "encoder", "projected", "minilm")),
    ("sparsemax − softmax", "b", WITHIN, partial(levels, "attention", "sparsemax", "additive")),
    ("entmax 1.5 − softmax", "b", WITHIN, partial(levels, "attention", "entmax15", "additive")),
    ("SST-2 − IMDb", "d", ABOVE, partial(corpora, "sst2_sentences", "imdb")),
    ("α‖v‖ − α", "value", ABOVE, partial(rankings, VALUE, "")),
    ("α − random", "line", ABOVE, partial(rankings, "", LINE)),
)


class Correlation(NamedTuple):
    """A correlation of ranks within groups, the ends of its 95 % interval, and two p-values."""

    value: float
    low: float
    high: float
    p: float
    planned_p: float


def grouped_ranks(table: pd.DataFrame, *columns: str) -> list[np.ndarray]:
    """Each column's centred ranks within corpus and encoder, ``(groups, kinds, seeds)`` with one
    "seed" where the table has none. Groups that lack a network are left out."""
    known = table.dropna(subset=list(columns))
    units = [name for name in NETWORK[1:] if name in known]
    whole = known.pivot(index=GROUP, columns=units, values=list(columns)).dropna()
    ranks = [whole[column].rank(axis=1).to_numpy() for column in columns]
    shape = (len(whole), known["attention"].nunique(), -1)
    return [(each - each.mean(1, keepdims=True)).reshape(shape) for each in ranks]


def grouped_correlation(x: np.ndarray, y: np.ndarray) -> Correlation:
    """The correlation of ``grouped_ranks``.

    Its interval is that of drawing whole groups again (percentile bootstrap). ``p`` gives the kinds
    of attention other kinds' outcomes, the same ones in every group: seeds of a kind are no
    replicates of it. ``planned_p`` shuffles all networks within their group, as the plan says.
    """
    sums = np.stack([(x * y).sum((1, 2)), (x * x).sum((1, 2)), (y * y).sum((1, 2))])
    drawn = np.random.default_rng(0).integers(0, len(x), (DRAWS, len(x)))
    low, high = np.quantile(_correlation(sums[:, drawn].sum(2)), [LEVEL / 2, 1 - LEVEL / 2])
    kinds = [(x * y[:, list(order)]).sum() for order in permutations(range(x.shape[1]))]
    found, random = sums[0].sum(), np.random.default_rng(0)
    flat = y.reshape(len(y), -1)
    networks = [(x.reshape(flat.shape) * random.permuted(flat, axis=1)).sum() for _ in range(2000)]
    beyond = [np.abs(sums) >= abs(found) - 1e-9 for sums in (kinds, networks)]
    p, planned = float(beyond[0].mean()), (1 + beyond[1].sum()) / (1 + len(networks))
    return Correlation(float(_correlation(sums.sum(1))), float(low), float(high), p, planned)


def _correlation(sums: np.ndarray) -> np.ndarray:
    """Σxy / √(Σx² Σy²) of the three sums, ``(3, …)``."""
    return sums[0] / np.sqrt(sums[1] * sums[2])


@cache
def results(measure: str = PRIMARY, mean: Mean = crossed) -> pd.DataFrame:
    """A row for each prediction of the plan, in its order: the effect with its 95 % interval, the
    p-value that decides and Holm's, and what became of the prediction.
    A difference within a corpus is estimated by ``mean``.

    ``planned holm`` is Holm's with the correlations tested as the plan says. ``least`` is half the
    width of the interval. The deviation between seeds has no p-value; its interval decides.
    """
    table, each = learned(), networks(measure)
    spread = deviation(seed_variances(measure)["seeds"])
    found = [["SD between seeds", "e", BELOW, *spread, np.nan, np.nan]]
    causes = [("concentration", "b", each), ("gain", "c", each)]
    causes.append(("agreement of seeds", "e", seed_agreement(measure)))
    for cause, question, part in causes:
        one = grouped_correlation(*grouped_ranks(part, cause, measure))
        found.append([f"ρ with {cause}", question, ABOVE, *one])
    for name, question, predicted, effect in TESTS:
        one = effect(table, measure, mean=mean)
        if np.isfinite(one.value):
            p = one.margin_p(MARGIN) if predicted == WITHIN else one.p
            found.append([name, question, predicted, one.value, *one.interval, p, p])
    columns = ["test", "question", "predicted", "value", "low", "high", "p", "planned p"]
    made = pd.DataFrame(found, columns=columns)
    tested = made["p"].notna()
    for p, holm in (("p", "holm"), ("planned p", "planned holm")):
        made.loc[tested, holm] = metrics.holm(made.loc[tested, p].tolist())
    made["least"] = (made["high"] - made["low"]) / 2
    order = made["question"].map(QUESTIONS.index).sort_values(kind="stable").index
    for holm, verdict in (("holm", "verdict"), ("planned holm", "planned verdict")):
        made[verdict] = [_verdict(row, row[holm]) for _, row in made.iterrows()]
    return made.loc[order].reset_index(drop=True)


def _verdict(row: pd.Series, holm: float) -> str:
    """What became of a prediction: ``open`` unless Holm's p, or the interval, decides it."""
    outside = row["high"] < MARGIN or row["low"] > MARGIN
    decided = outside if np.isnan(holm) else holm < LEVEL
    holds = {ABOVE: row["value"] > 0, WITHIN: abs(row["value"]) < MARGIN}
    if not decided:
        return "open"
    return "as predicted" if holds.get(row["predicted"], row["value"] < MARGIN) else "against it"


def networks(measure: str = PRIMARY) -> pd.DataFrame:
    """A row for each network with learned attention: means over its texts, and the ``gain`` in
    accuracy over uniform weights with the same encoder and seed."""
    names = list(dict.fromkeys([measure, "concentration", "contextuality", "accuracy"]))
    means = rows().groupby(["corpus", *NETWORK])[names].mean().reset_index()
    line = means.query("attention == 'uniform'").set_index(BLOCK)["accuracy"]
    found = means.query("attention != 'uniform'").join(line.rename("line"), on=BLOCK)
    gain = (found["accuracy"] - found["line"]).round(4)  # of 600 texts: equal gains are ties
    return found.assign(gain=gain)


@cache
def agreements() -> pd.Series:
    """For each setting with two seeds: the mean τ-b of two seeds' attention over texts and pairs of
    seeds."""
    found = {}
    for setting, part in learned().groupby([*GROUP, "attention"]):
        by_seed = [each.set_index("text")["alpha"] for _, each in part.groupby("seed")]
        if len(by_seed) > 1:
            found[setting] = np.mean(
                [
                    np.nanmean(faithfulness.kendall(list(a), list(b.loc[a.index])))
                    for a, b in combinations(by_seed, 2)
                ]
            )
    return pd.Series(found, name="agreement of seeds").rename_axis([*GROUP, "attention"])


def seed_agreement(measure: str = PRIMARY) -> pd.DataFrame:
    """``agreements`` beside the mean of a measure."""
    means = learned().groupby([*GROUP, "attention"])[measure].mean()
    return pd.concat([agreements(), means], axis=1, join="inner").reset_index()


def seed_variances(measure: str = PRIMARY) -> pd.DataFrame:
    """For each setting: the variance over ``seeds`` of a network's mean over texts, and the part of
    it, ``by texts``, that comes from measuring so few texts (seed × text, over their number)."""
    found = []
    for setting, part in learned().dropna(subset=[measure]).groupby([*GROUP, "attention"]):
        kept = matrix(part, measure)
        kept = kept.loc[:, kept.notna().all()]
        error = kept.sub(kept.mean(axis=1), axis=0).var(ddof=1).sum() / (kept.shape[1] - 1)
        found.append([*setting, kept.mean(axis=1).var(ddof=1), error / kept.shape[1]])
    return pd.DataFrame(found, columns=[*GROUP, "attention", "seeds", "by texts"]).set_index(GROUP)


def deviation(variances: pd.Series) -> tuple[float, float, float]:
    """The root of mean variances by ``GROUP``, and its 95 % interval from drawing groups again."""
    groups = variances.groupby(GROUP).mean().to_numpy()
    drawn = np.random.default_rng(0).integers(0, len(groups), (DRAWS, len(groups)))
    squares = np.quantile(groups[drawn].mean(1), [LEVEL / 2, 1 - LEVEL / 2])
    return tuple(float(max(each, 0) ** 0.5) for each in (groups.mean(), *squares))


def components(measure: str = PRIMARY) -> dict[str, float]:
    """Standard deviations of a measure: between settings, between seeds of a setting (means over
    texts), and between texts of a network."""
    setting = [*GROUP, "attention"]
    by_network = learned().groupby([*setting, "seed"])[measure].agg(["mean", "std"])
    return {
        "settings": float(by_network["mean"].groupby(setting).mean().std()),
        "seeds": deviation(seed_variances(measure)["seeds"])[0],
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
