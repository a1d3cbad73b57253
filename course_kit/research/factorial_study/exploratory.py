"""What the tables show beyond the plan: looked for after all results were known.

Intervals here are of 95 % each and not corrected for their number.
"""

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
import pandas as pd

from course_kit.research.factorial_study import analysis
from course_kit.research.factorial_study.analysis import GROUP, NETWORK, PRIMARY
from course_kit.research.factorial_study.design import rows_path
from course_lib.faithfulness.erasure import counts
from course_lib.metrics.statistics import Estimate

ENCODERS = ("projected", "bilstm", "transformer", "minilm")
SPARSE, USUAL = ("sparsemax", "entmax15"), "additive"
AREAS = ("comprehensiveness", "sufficiency")
SHARES = (0.1, 0.2, 0.5)  # of the words, which were removed or kept
FROM_RANDOM = " above random"  # suffix of a measure minus that of the random ranking


@cache
def rows() -> pd.DataFrame:
    """``analysis.learned`` with columns for how far α lies above the random ranking."""
    found = analysis.learned()
    ahead = {name + FROM_RANDOM: found[name] - found[name + analysis.LINE] for name in AREAS}
    return found.assign(**ahead)


def of_means(values: Iterable[float]) -> Estimate:
    """The mean of independent values as a sample of others like them: a *t* interval."""
    kept = np.array(list(values))
    return Estimate(float(kept.mean()), 0.0, 2, kept.var(ddof=1) / len(kept), len(kept) - 1)


def by_encoder(
    attention: str, measure: str = PRIMARY, corpora: Sequence[str] = analysis.MAIN
) -> dict[str, Estimate]:
    """A kind of attention minus additive softmax, over each encoder, on average over corpora."""
    each = rows().query("corpus in @corpora").groupby("encoder")
    return {
        encoder: analysis.levels("attention", attention, USUAL, each.get_group(encoder), measure)
        for encoder in ENCODERS
    }


def interaction(
    attention: str,
    first: str,
    second: str,
    measure: str = PRIMARY,
    corpora: Sequence[str] = analysis.MAIN,
) -> Estimate:
    """How much more a kind of attention adds to additive softmax over the ``first`` encoder than
    over the ``second``, of networks with the same seed."""

    def gaps(part: pd.DataFrame) -> pd.DataFrame:
        added = analysis.gaps("attention", attention, USUAL, measure, part)
        return added.xs(first, level="encoder") - added.xs(second, level="encoder")

    return analysis.over_corpora(rows().query("corpus in @corpora"), gaps)


def random_level(measure: str) -> pd.Series:
    """Where a random ranking lies, by encoder and attention; corpora count equally."""
    setting = ["encoder", "attention", "corpus"]
    return rows().groupby(setting)[measure + analysis.LINE].mean().groupby(setting[:2]).mean()


def by_kinds(first: str, second: str) -> Estimate:
    """One encoder minus another, with the kinds of attention as units: a *t* interval."""
    each = rows().groupby("attention")
    return of_means(
        analysis.levels("encoder", first, second, part, PRIMARY).value for _, part in each
    )


def settings_not_ahead() -> list[tuple[str, str, str]]:
    """Corpus, encoder and attention where the interval of α minus a random ranking reaches 0."""
    each = rows().groupby([*GROUP, "attention"])
    return [
        name
        for name, part in each
        if analysis.rankings("", analysis.LINE, part, PRIMARY).interval[0] <= 0
    ]


def agreement(condition: str = "") -> tuple[float, float]:
    """The correlation of the agreement of seeds with the measure, over settings that a condition
    may select: of ranks within corpus and encoder, and of ranks over all settings."""
    each = analysis.seed_agreement()
    part = each.query(condition) if condition else each
    names = ["agreement of seeds", PRIMARY]
    within = analysis.grouped_correlation(*analysis.grouped_ranks(part, *names)).value
    return within, part[names].corr("spearman").iloc[0, 1]


def changed(table: pd.DataFrame) -> pd.Series:
    """Whether deleting the words that α puts first changes the probability by 0.01 or more."""
    return table["comprehensiveness, raw"].abs() >= 0.01


def where_changed() -> tuple[float, dict[str, float]]:
    """The correlation of the truth with the measure over planted networks, and projected words
    minus each other encoder, if only ``changed`` texts count."""
    planted, main = (part[changed(part)] for part in (planted_rows(), rows()))
    means = planted.groupby(NETWORK)[["truth", PRIMARY]].mean()
    each = main.groupby(GROUP)[PRIMARY].mean().groupby("encoder").mean()
    gaps = {name: float(each["projected"] - each[name]) for name in ENCODERS[1:]}
    return means.corr("spearman").iloc[0, 1], gaps


def accuracy_by_encoder(attention: str) -> dict[str, Estimate]:
    """A kind's accuracy on all held-out texts minus that of additive softmax, over each encoder;
    the interval is over seeds, for these texts."""
    wide = analysis.networks().pivot(index=[*GROUP, "seed"], columns="attention", values="accuracy")
    added = wide[attention] - wide[USUAL]
    found = {}
    for encoder in ENCODERS:
        corpora = added.xs(encoder, level="encoder").groupby("corpus")
        parts = [of_means(part) for _, part in corpora]
        found[encoder] = analysis.combined(parts, [1 / len(parts)] * len(parts))
    return found


def words_removed() -> pd.DataFrame:
    """How many words are removed at each share, on average over a corpus's texts, and of corpora:
    no more than have weight."""
    rows = analysis.learned()
    removed = [
        counts(int(words), SHARES, int(support))
        for words, support in zip(rows["words"], rows["support"])
    ]
    heads = [f"{share:.0%}" for share in SHARES]
    table = pd.DataFrame(removed, columns=heads).assign(
        corpus=rows["corpus"].to_numpy(), attention=rows["attention"].to_numpy()
    )
    return table.groupby(["attention", "corpus"])[heads].mean().groupby("attention").mean()


def planted_rows() -> pd.DataFrame:
    """Every measured text of the planted corpus with learned attention."""
    return pd.read_parquet(rows_path("planted")).query("attention != 'uniform'")


def found_first(measure: str = PRIMARY) -> pd.DataFrame:
    """The mean of a measure by encoder and attention over planted texts in which no other word has
    as much weight as the deciding one, and how many ``texts`` these are."""
    first = planted_rows().query("truth == 1").groupby(["encoder", "attention"])[measure]
    return first.agg(["mean", "size"]).rename(columns={"size": "texts"})


def found_first_by_both(attention: str, measure: str = PRIMARY) -> dict[str, Estimate]:
    """A kind minus additive softmax over each encoder, in planted texts in which both, with the
    same seed, put the deciding word first: the truth is the same. The interval is over seeds."""
    wide = planted_rows().pivot(
        index=["encoder", "seed", "text"], columns="attention", values=["truth", measure]
    )
    both = wide[(wide["truth", attention] == 1) & (wide["truth", USUAL] == 1)][measure]
    means = (both[attention] - both[USUAL]).groupby(["encoder", "seed"]).mean()
    return {encoder: of_means(means.loc[encoder]) for encoder in ENCODERS}


def found_first_by_encoders(
    first: str, second: str, kinds: Iterable[str] = (USUAL,), measure: str = PRIMARY
) -> Estimate:
    """One encoder minus another with the same kind of attention and seed, in planted texts in which
    both put the deciding word first; the mean over ``kinds``. The interval is over seeds."""
    wide = planted_rows().pivot(
        index=["attention", "seed", "text"], columns="encoder", values=["truth", measure]
    )
    wide = wide[wide.index.get_level_values("attention").isin(list(kinds))]
    both = wide[(wide["truth", first] == 1) & (wide["truth", second] == 1)][measure]
    by_network = (both[first] - both[second]).groupby(["attention", "seed"]).mean()
    return of_means(by_network.groupby("seed").mean())


def texts_found_first_by_both(attention: str, encoder: str) -> tuple[int, int]:
    """How many texts, and seeds, ``found_first_by_both`` compares over an encoder."""
    wide = (
        planted_rows()
        .query("encoder == @encoder")
        .pivot(index=["seed", "text"], columns="attention", values="truth")
    )
    both = wide[(wide[attention] == 1) & (wide[USUAL] == 1)]
    return len(both), both.index.get_level_values("seed").nunique()


def by_corpus(first: str, second: str, measure: str = PRIMARY) -> dict[str, Estimate]:
    """One encoder minus another, in each corpus."""
    each = analysis.learned().groupby("corpus")
    return {
        corpus: analysis.levels("encoder", first, second, each.get_group(corpus), measure)
        for corpus in analysis.MAIN
    }


def value_by_attention(measure: str = PRIMARY) -> dict[str, float]:
    """α‖v‖ minus α by kind of attention."""
    each = analysis.learned().groupby("attention")
    return {kind: analysis.rankings(analysis.VALUE, "", part, measure).value for kind, part in each}


def seed_deviation(condition: str = "") -> tuple[Estimate, float]:
    """The mean variance between seeds as an estimate over groups of corpus and encoder, which a
    condition may select, with a *t* interval; and the p-value of "it is the margin's square"."""
    variances = analysis.seed_variances().reset_index()
    part = variances.query(condition) if condition else variances
    one = of_means(part.groupby(GROUP)["seeds"].mean())
    return one, one._replace(value=one.value - analysis.MARGIN**2).p


def planted_correlation(measure: str) -> tuple[float, float]:
    """The 95 % interval of a measure's correlation with the truth over planted networks, from
    drawing settings of encoder and attention again: seeds of a setting are alike."""
    means = analysis.planted().query("attention != 'uniform'")[["truth", measure]]
    settings = [part for _, part in means.groupby(["encoder", "attention"])]
    random = np.random.default_rng(0)
    drawn = [
        pd.concat([settings[n] for n in random.integers(0, len(settings), len(settings))])
        for _ in range(1000)
    ]
    rhos = [each.corr("spearman").iloc[0, 1] for each in drawn]
    low, high = np.quantile(rhos, [0.025, 0.975])
    return float(low), float(high)


def within_encoders(cause: str, outcome: str) -> tuple[float, dict[str, float]]:
    """The correlation of ranks over the planted networks within encoders, and in each encoder."""
    means = planted_rows().groupby(NETWORK)[[cause, outcome]].mean().reset_index()
    x, y = analysis.grouped_ranks(means.assign(corpus="planted"), cause, outcome)
    names = sorted(ENCODERS)  # the order of the groups
    each = {
        name: analysis.grouped_correlation(x[n : n + 1], y[n : n + 1]).value
        for n, name in enumerate(names)
    }
    return analysis.grouped_correlation(x, y).value, each


def concentration(condition: str) -> analysis.Correlation:
    """The planned correlation with concentration, over the networks of a ``condition`` alone."""
    part = analysis.networks().query(condition)
    return analysis.grouped_correlation(*analysis.grouped_ranks(part, "concentration", PRIMARY))
