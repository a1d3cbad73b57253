"""The paper's figures by name: functions from ``Sources`` to a value with its interval, each with
its unit and what a positive value means, made by the report's ``figure``.

Example: ``gain(Sources(), encoder="bilstm")`` is what sparsemax adds to additive softmax over the
BiLSTM. Intervals are of 95 %, clustered by networks and texts, with corpora as fixed levels, unless
a figure says something else. ``measure`` names a ruler with its removal, ``ranking`` what orders
the words if it is not attention.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import chi2

from course_kit.research.crossover_paper.sources import Sources, planned_power
from course_kit.research.crossover_study import (
    analysis,
    cell,
    corpora,
    design,
    measures,
    network,
    planted,
    ruler,
)
from course_kit.research.crossover_study import (
    power as simulated,
)
from course_kit.research.crossover_study.analysis import Contrast, Values
from course_kit.research.crossover_study.intervals import combined
from course_kit.research.crossover_study.training import USUAL as SETTINGS
from course_kit.research.report.named import figure
from course_lib.metrics.statistics import LEVEL, Estimate

PRIMARY, USUAL, SPARSEMAX = analysis.PRIMARY, analysis.USUAL, "sparsemax"
DELETION = ruler.EQUAL_K  # the rulers that can contradict the primary one, as the plan says
CONTRADICTING = (DELETION, ruler.FIRST_WORD)
# below it, the one prediction that the ruler favours may be claimed, as planned
BELOW_ITS_ERROR = -0.01
OTHERS = ("leave-one-out", "gradient", "integrated gradient")
# the contrasts that the ruler underrates; that this limits a claim, the plan does not say
CROSSINGS = (
    "sparsemax, BiLSTM − Transformer",
    "entmax 1.5, BiLSTM − Transformer",
    "sparsemax, BiLSTM − Transformer, trained with deletions",
)
NOTHING = "nothing: "


class Shown(NamedTuple):
    """What a figure found: a number or a text, the ends of its interval, NaN where it has none, and
    what else its label says."""

    value: float | str
    low: float = math.nan
    high: float = math.nan
    words: Mapping[str, str] = {}


def shown(one: Estimate, factor: float = 1.0) -> Shown:
    """An estimate with its interval."""
    return Shown(*(factor * each for each in (one.value, *one.interval)))


def ranked_by(ranking: str) -> str:
    """What names a ranking in a column; nothing for attention."""
    return f" of {ranking}" if ranking else analysis.ATTENTION


def mean_of(
    sources: Sources,
    contrasts: Sequence[Contrast],
    measure: str,
    corpus: str | None = None,
    without: str = "",
) -> Shown:
    """The mean of contrasts in a corpus, or over all, or over all but one; corpora and contrasts
    are fixed levels."""
    parts = []
    for name in [corpus] if corpus else [each for each in sources.by_corpus if each != without]:
        values = sources.values(name, measure)
        gaps = sum(contrast(values) for contrast in contrasts)
        parts.append(analysis.mean_of(gaps / len(contrasts)))
    known = [part for part in parts if math.isfinite(part.value)]
    return shown(combined(known)) if known else Shown(math.nan)


# Predictions


def _row(sources: Sources, name: str) -> pd.Series:
    return sources.results.loc[name]


def _hypothesis(name: str) -> analysis.Hypothesis:
    return next(each for each in analysis.HYPOTHESES if each.name == name)


@figure("", "{name}", "as the name of the contrast says")
def estimate(sources: Sources, name: str) -> Shown:
    """The value of a hypothesis in the primary measure, with corpora and encoders fixed."""
    return Shown(*_row(sources, name)[["value", "low", "high"]])


@figure("", "{name}, corpora and encoders as drawn", "as the name of the contrast says")
def estimate_as_drawn(sources: Sources, name: str) -> Shown:
    """The mean of corpora's and encoders' values, with the interval of levels drawn like them.

    Where values are missing it is not exactly ``estimate``, which takes the texts that all have.
    """
    low, high = _row(sources, name)[["drawn low", "drawn high"]]
    return Shown((low + high) / 2, low, high)


@figure("", "{name}, by {measure}", "as the name of the contrast says")
def estimate_by(sources: Sources, name: str, measure: str) -> Shown:
    """The value of a hypothesis by another ruler, or in the loss itself."""
    return mean_of(sources, _hypothesis(name).contrasts, measure)


@figure("p", "{name}: p-value of the prediction, corrected by Holm's method", "the weaker evidence")
def holm(sources: Sources, name: str) -> Shown:
    """Over all predictions, of which one without networks counts as p = 1."""
    return Shown(_row(sources, name)["holm"])


@figure("text", "{name}: what became of the prediction", "")
def outcome(sources: Sources, name: str) -> Shown:
    """``as predicted``, ``against it``, ``open`` or ``not done``."""
    return Shown(_row(sources, name)["outcome"])


@figure("text", "{name}: prediction", "")
def predicted(sources: Sources, name: str) -> Shown:
    """What the plan predicts."""
    return Shown(_hypothesis(name).predicted)


@figure("predictions", "predictions: {kind}", "more of them")
def outcomes(sources: Sources, kind: str | None = None) -> Shown:
    """How many predictions came out so; all of them without a ``kind``."""
    found = sources.results["outcome"] if kind else analysis.HYPOTHESES
    return Shown(int((found == kind).sum()) if kind else len(found))


@figure("", "{name}: power for an effect of 0.10, or 0 for a margin, at {level}", "the better")
def power(sources: Sources, name: str, level: str = "5 %") -> Shown:
    """The share of simulated studies that the plan gives, at 5 % or at ``"Holm's strictest"``."""
    return Shown(float(planned_power()[name][1 if level == "5 %" else 2]))


@figure("text", "{name}: what may be claimed", "")
def claim(sources: Sources, name: str) -> Shown:
    """The three rules of the plan that limit what is claimed of a prediction, and a fourth.

    Rulers that disagree; the error of the ruler, for the one prediction that it favours; and an
    interval as drawn that does not show what the other one shows. The fourth was added before the
    results were seen: a crossover below 0, which the ruler's error alone could make of none.
    """
    row = _row(sources, name)
    if row["outcome"] == "not done":
        return Shown("–")
    if against := [m for m in CONTRADICTING if _opposed(sources, name, m)]:
        return Shown(f"{NOTHING}by {' and '.join(against)} the sign is the other one")
    if row["outcome"] == "open":
        return Shown("–")
    favoured = row["predicted"] == analysis.AT_MOST and row["outcome"] == "as predicted"
    underrated = name in CROSSINGS and row["outcome"] == "against it"
    if (favoured and row["high"] >= BELOW_ITS_ERROR) or (
        underrated and row["high"] >= crossover_error(sources, measure=PRIMARY).value
    ):
        return Shown(f"{NOTHING}the ruler's error may be the reason")
    kept = "" if len(_hypothesis(name).contrasts) == 1 else " and encoders"
    if not shows(row["predicted"], row["drawn low"], row["drawn high"]):
        return Shown(f"for these corpora{kept}")
    return Shown(f"for corpora{kept} like these")


@figure("predictions", "predictions: {kind}, of which nothing is claimed", "more of them")
def withdrawn(sources: Sources, kind: str) -> Shown:
    """How many predictions that came out so are withdrawn by the rules."""
    names = sources.results.index[sources.results["outcome"] == kind]
    said = [str(claim(sources, name=name).value) for name in names]
    return Shown(sum(each.startswith(NOTHING) for each in said))


@figure("%", "{name}: values that enter", "more of them")
def entering(sources: Sources, name: str) -> Shown:
    """The share of texts and seeds with networks of which every network has a value, a mean over
    corpora."""
    shares = []
    for values in sources.by_corpus.values():
        gaps = sum(contrast(values) for contrast in _hypothesis(name).contrasts)
        by_seed = gaps.notna().groupby("seed").mean()
        shares.append(by_seed[by_seed > 0].mean())
    return Shown(100 * float(np.mean(shares)))


def _opposed(sources: Sources, name: str, measure: str) -> bool:
    """Whether the interval by a ruler lies wholly on the other side of 0 than the primary value."""
    value = _row(sources, name)["value"]
    _, low, high, _ = estimate_by(sources, name=name, measure=measure)
    return bool(low > 0 > value or high < 0 < value)


def shows(prediction: str, low: float, high: float) -> bool:
    """Whether an interval lies on one side of what a prediction compares with: of 0, or of the
    margin."""
    margin = analysis.MARGIN
    return bool(
        {
            analysis.ABOVE: low > 0 or high < 0,
            analysis.BELOW: low > 0 or high < 0,
            analysis.AT_MOST: low > margin or high < margin,
            analysis.WITHIN: -margin < low <= high < margin or low > margin or high < -margin,
        }[prediction]
    )


# Contrasts


@figure(
    "",
    "{attention} minus additive softmax over {encoder}, {training} training{where}",
    "the words that {attention} puts first cost more than those of additive softmax",
)
def gain(
    sources: Sources,
    encoder: str,
    attention: str = SPARSEMAX,
    corpus: str | None = None,
    training: str = USUAL,
    measure: str = PRIMARY,
    ranking: str = "",
) -> Shown:
    """What a kind of attention adds to additive softmax in the same encoder."""
    of = partial(
        analysis.gain,
        encoder=encoder,
        attention=attention,
        training=training,
        ranking=ranked_by(ranking),
    )
    return mean_of(sources, [of], measure, corpus)


@figure(
    "",
    "{attention} minus additive softmax: over the BiLSTM minus over the Transformer{where}",
    "{attention} helps the BiLSTM more than the Transformer",
)
def crossover(
    sources: Sources,
    attention: str = SPARSEMAX,
    corpus: str | None = None,
    training: str = USUAL,
    measure: str = PRIMARY,
    ranking: str = "",
) -> Shown:
    """The difference of two gains."""

    def of(values: Values) -> pd.Series:
        by = ranked_by(ranking)
        one, other = (
            analysis.gain(values, name, attention, training, by)
            for name in ("bilstm", "transformer")
        )
        return one - other

    return mean_of(sources, [of], measure, corpus)


@figure(
    "",
    "{name}, without {corpus}",
    "as the name of the contrast says",
)
def estimate_without(sources: Sources, name: str, corpus: str) -> Shown:
    """The value of a hypothesis in the other corpora."""
    return mean_of(sources, _hypothesis(name).contrasts, PRIMARY, without=corpus)


@figure("p", '{name}: p-value of "the corpora have the same value"', "the weaker evidence")
def corpora_alike(sources: Sources, name: str) -> Shown:
    """Cochran's Q: squared distances to the weighted mean, over the variances of the corpora."""
    contrasts = _hypothesis(name).contrasts
    values, variances = [], []
    for corpus in sources.by_corpus:
        of = sources.values(corpus, PRIMARY)
        one = analysis.mean_of(sum(contrast(of) for contrast in contrasts) / len(contrasts))
        values.append(one.value)
        variances.append(one.by_texts + one.by_seeds)
    mean = np.average(values, weights=1 / np.array(variances))
    q = float((((np.array(values) - mean) ** 2) / variances).sum())
    return Shown(float(chi2.sf(q, len(values) - 1)))


@figure(
    "",
    "{attention} over {encoder}: value of the weights minus that of {ranking}",
    "the weights rank the words better",
)
def ahead_of(sources: Sources, encoder: str, attention: str, ranking: str) -> Shown:
    """Attention beside another ranking of the words in the same networks."""

    def of(values: Values) -> pd.Series:
        own, other = (
            values.of(encoder, attention, USUAL, ranked_by(each)) for each in ("", ranking)
        )
        return own - other

    return mean_of(sources, [of], PRIMARY)


@figure(
    "",
    "the crossover in usual training minus that in training with deletions{where}",
    "the crossover is smaller in networks that were trained on texts with holes",
)
def crossover_lost(sources: Sources, measure: str = PRIMARY) -> Shown:
    """Over the seeds that both have."""

    def of(values: Values) -> pd.Series:
        return analysis.crossing(values) - analysis.crossing(values, training=analysis.DELETIONS)

    return mean_of(sources, [of], measure)


@figure(
    "",
    "value of additive softmax by window, from no neighbour to all, ranked by {ranking}",
    "the ranking is more faithful with wider windows",
)
def window_slope(sources: Sources, ranking: str) -> Shown:
    """The slope of question 2 with the same words ranked otherwise."""

    def level_of(values: Values, encoder: str) -> pd.Series:
        return values.of(encoder, "additive", USUAL, ranked_by(ranking))

    return mean_of(sources, [partial(analysis.over_windows, of=level_of)], PRIMARY)


@figure(
    "",
    "value of additive softmax: projected words minus the Transformer, ranked by {ranking}",
    "the ranking is more faithful over projected words",
)
def words_ahead(sources: Sources, ranking: str = "") -> Shown:
    """How much more faithful a ranking of words is without context."""
    of = partial(analysis.words_ahead, ranking=ranked_by(ranking))
    return mean_of(sources, [of], PRIMARY)


def _beyond(of: Callable[..., pd.Series], ranking: str) -> Contrast:
    return lambda values: of(values, ranking="") - of(values, ranking=ranked_by(ranking))


@figure(
    "",
    "projected words minus the Transformer: of attention minus of {ranking}",
    "attention loses more with context than {ranking} does",
)
def words_ahead_beyond(sources: Sources, ranking: str) -> Shown:
    """The part of the contrast that another ranking of the same words does not show."""
    return mean_of(sources, [_beyond(analysis.words_ahead, ranking)], PRIMARY)


@figure(
    "",
    "sparsemax minus additive softmax over {encoder}: of attention minus of {ranking}",
    "sparsemax adds more to attention than to {ranking}",
)
def gain_beyond(sources: Sources, encoder: str, ranking: str) -> Shown:
    """The part of a gain that another ranking of the same words does not show."""
    of = partial(analysis.gain, encoder=encoder)
    return mean_of(sources, [_beyond(of, ranking)], PRIMARY)


# Settings


def _setting(table: pd.DataFrame, encoder: str, attention: str, training: str) -> pd.DataFrame:
    chosen = (table["encoder"] == encoder) & (table["attention"] == attention)
    return table[chosen & (table["training"] == training)]


def _mean(
    sources: Sources, column: str, encoder: str, attention: str, training: str, factor: float = 1.0
) -> Shown:
    """The mean of a column over corpora, which count equally, and in each over texts."""
    rows = _setting(sources.table, encoder, attention, training)
    return Shown(factor * float(rows.groupby("corpus")[column].mean().mean()))


@figure("", "value of {attention} over {encoder}, {training} training", "more faithful")
def level(sources: Sources, encoder: str, attention: str, training: str = USUAL) -> Shown:
    """The primary measure of a setting."""
    return _mean(sources, PRIMARY, encoder, attention, training)


@figure("%", "accuracy of {attention} over {encoder}, {training} training", "right more often")
def accuracy(sources: Sources, encoder: str, attention: str, training: str = USUAL) -> Shown:
    """On the whole test split; networks that have not learned their task are left out."""
    return _mean(sources, "accuracy", encoder, attention, training, 100)


@figure(
    "points",
    "accuracy over {encoder}: {attention} minus additive softmax",
    "{attention} is right more often",
)
def accuracy_gain(sources: Sources, encoder: str, attention: str = SPARSEMAX) -> Shown:
    """With an interval over networks; corpora are fixed."""
    keys, parts = ["corpus", "seed"], []
    sides = [
        _setting(sources.table, encoder, kind, USUAL).groupby(keys)["accuracy"].first()
        for kind in (attention, "additive")
    ]
    for _, gaps in (sides[0] - sides[1]).dropna().groupby("corpus"):
        n = len(gaps)
        if n > 1:
            parts.append(Estimate(float(gaps.mean()), 0.0, 2, float(gaps.var()) / n, n - 1))
    return shown(combined(parts), 100) if parts else Shown(math.nan)


@figure("", "concentration of {attention} over {encoder}, {training} training", "fewer words count")
def concentration(sources: Sources, encoder: str, attention: str, training: str = USUAL) -> Shown:
    """1 minus the entropy of the weights over that of equal ones."""
    return _mean(sources, "concentration", encoder, attention, training)


@figure("", "contextuality of {encoder}, {attention}, {training} training", "states differ more")
def contextuality(sources: Sources, encoder: str, attention: str, training: str = USUAL) -> Shown:
    """Mean of 1 − cosine of a word's state in the text and of the word alone."""
    return _mean(sources, "contextuality", encoder, attention, training)


@figure("words", "words with weight, {attention} over {encoder}", "more words have weight")
def support(sources: Sources, encoder: str, attention: str, training: str = USUAL) -> Shown:
    """Of a text."""
    return _mean(sources, "support", encoder, attention, training)


@figure("%", "texts without a value, {attention} over {encoder}, {training} training", "more texts")
def without_value(sources: Sources, encoder: str, attention: str, training: str = USUAL) -> Shown:
    """Texts on which no ranking changes the probability by more than ``LEAST_ROOM``."""
    rows = _setting(sources.table, encoder, attention, training)
    empty = rows[PRIMARY].isna().groupby(rows["corpus"]).mean()
    return Shown(100 * float(empty.mean()))


@figure("%", "share of the room that a beam search alone finds, {encoder}", "looser limits")
def beam_room(sources: Sources, encoder: str) -> Shown:
    """The share of the room at equal k; on the first texts of the networks that were searched."""
    upper, lower, beam = (
        f"{ruler.EQUAL_K}, {each}, masking" for each in ("upper", "lower", "beam")
    )
    found = sources.table
    found = found[(found["encoder"] == encoder) & found[beam].notna()]
    room = np.maximum(found[beam], found[upper]) - found[lower]
    missed = (found[beam] - found[upper]).clip(lower=0)[room > ruler.LEAST_ROOM]
    return Shown(100 * float((missed / room[room > ruler.LEAST_ROOM]).mean()))


# What there is


@figure("networks", "networks of the plan, group: {group}", "more networks")
def planned_networks(sources: Sources, group: str | None = None) -> Shown:
    """As the design lists them."""
    return Shown(len(design.cells(*([group] if group else []))))


@figure("networks", "networks with a record", "more networks")
def recorded_networks(sources: Sources) -> Shown:
    """Of the plan."""
    return Shown(len(sources.records))


@figure("networks", "networks left out because they have not learned their task", "more networks")
def left_out(sources: Sources) -> Shown:
    """Below the least accuracy of the plan."""
    key = ["corpus", *analysis.SETTING, "seed"]
    counts = [len(table[key].drop_duplicates()) for table in (sources.rows, sources.table)]
    return Shown(counts[0] - counts[1])


@figure("texts", "measured texts of {corpus}", "more texts")
def measured_texts(sources: Sources, corpus: str) -> Shown:
    """As the list of digests has them."""
    return Shown(len(sources.texts[corpus]["measured"]))


@figure("text", "digest of {corpus}, {split}", "")
def text_digest(sources: Sources, corpus: str, split: str = "test") -> Shown:
    """As the list has it."""
    return Shown(sources.texts[corpus]["splits"][split])


@figure("networks", "records whose texts are those of the list", "more networks")
def records_of_listed_texts(sources: Sources) -> Shown:
    """By the digests of all three splits."""
    every = sources.records.values()
    same = [one["texts"] == sources.texts[one["cell"]["corpus"]]["splits"] for one in every]
    return Shown(sum(same))


@figure("text", "{what} that the records name", "")
def named_in_records(sources: Sources, what: str) -> Shown:
    """``"plan"`` or ``"code"``; several if the records disagree."""
    return Shown(", ".join(sorted({str(one[what]) for one in sources.records.values()})))


@figure("text", "processors that trained the networks", "")
def processors(sources: Sources) -> Shown:
    """As the records name them."""
    devices = {one["environment"]["device"] for one in sources.records.values()}
    return Shown(" and ".join(sorted(devices)))


@figure("core hours", "processor time of all networks", "the longer")
def core_hours(sources: Sources) -> Shown:
    """Training and measures, as the records count them."""
    seconds = [sum(one["processor_seconds"].values()) for one in sources.records.values()]
    return Shown(sum(seconds) / 3600)


def _settings() -> dict[str, Any]:
    """What the code of the study fixes."""
    return {
        "margin": analysis.MARGIN,
        "margin of planted texts": planted.MARGIN,
        "unequal truth": planted.APART,
        "least accuracy": 60,
        "least accuracy on HuffPost": round(100 * analysis.LEAST_ACCURACY["huffpost"]),
        "least room": ruler.LEAST_ROOM,
        "numbers of words": ", ".join(map(str, ruler.SIZES[:-1])) + f" and {ruler.SIZES[-1]}",
        "shares of words": ", ".join(f"{100 * s:.0f}" for s in ruler.SHARES[:-1])
        + f" and {100 * ruler.SHARES[-1]:.0f}",
        "orders of equal words": ruler.DRAWS,
        "random rankings": ruler.RANDOM_RANKINGS,
        "epochs": SETTINGS.epochs,
        "batch": SETTINGS.batch_size,
        "learning rate": SETTINGS.learning_rate,
        "dropout": network.DROPOUT,
        "most words": corpora.MOST_WORDS,
        "least words": corpora.LEAST_WORDS,
        "the ruler's error": BELOW_ITS_ERROR,
        "level": LEVEL,
        "simulated studies": simulated.STUDIES,
        "beam texts": measures.BEAM_TEXTS,
        "beam seeds": cell.BEAM_SEEDS,
    }


@figure("as it is", "setting: {name}", "")
def setting(sources: Sources, name: str) -> Shown:
    """A number that the code of the study fixes."""
    return Shown(_settings()[name])


@figure("texts", "{split} texts of {corpus}", "more texts")
def split_size(sources: Sources, corpus: str, split: str) -> Shown:
    """As the study's code cuts them."""
    sizes = dict(zip(corpora.SPLITS, corpora.CORPORA[corpus].sizes, strict=True))
    return Shown(sizes[split])


# The rulers on planted texts


def _ruler(sources: Sources, measure: str) -> dict[str, Any]:
    return sources.decided["rulers"][measure]


def _ends(numbers: list[float | None], sign: float = 1.0) -> Shown:
    """A value with its interval as JSON holds them, turned round for a negative sign."""
    value, *ends = (math.nan if each is None else sign * each for each in numbers[:3])
    return Shown(value, *sorted(ends)) if ends else Shown(value)


@figure("networks", "planted networks", "more networks")
def planted_networks(sources: Sources) -> Shown:
    """That were measured."""
    return Shown(sources.decided["networks"])


@figure("versions", "versions of the code that trained the planted networks", "more versions")
def planted_versions(sources: Sources) -> Shown:
    """By the digests in their records."""
    return Shown(len(sources.decided["code"]))


@figure("%", "least accuracy of a planted network", "right more often")
def planted_accuracy(sources: Sources) -> Shown:
    """On the test split."""
    return Shown(100 * sources.decided["accuracy"])


@figure("comparisons", "comparisons at equal truth, {measure}: {what}", "more of them")
def ruler_comparisons(sources: Sources, measure: str, what: str = "within") -> Shown:
    """``"within"`` the margin, wholly ``"beyond"`` it, or all that were ``"tested"``."""
    return Shown(_ruler(sources, measure)[what])


@figure("comparisons", "comparisons at equal truth within the margin, {ranking}", "more of them")
def ranking_within(sources: Sources, ranking: str, measure: str = DELETION) -> Shown:
    """The first test for a ranking that attention does not touch, in the same networks."""
    found = planted.equal_truth(sources.planted, measure + ranked_by(ranking))["within"]
    return Shown(int(found.eq(True).sum()))  # None where there are too few texts


@figure("rulers", "rulers that pass the test {test}", "more of them")
def rulers_passing(sources: Sources, test: str) -> Shown:
    """``"equal"`` or ``"sees"``."""
    return Shown(len(sources.decided[test]))


@figure("rulers", "rulers that pass both tests", "more of them")
def rulers_passing_both(sources: Sources) -> Shown:
    """Of all that were compared."""
    return Shown(len({*sources.decided["equal"]} & {*sources.decided["sees"]}))


@figure("rulers", "rulers that were compared", "more of them")
def rulers_compared(sources: Sources) -> Shown:
    """With each removal."""
    return Shown(len(sources.decided["rulers"]))


@figure("text", "the primary measure", "")
def primary(sources: Sources) -> Shown:
    """That the planted texts chose."""
    return Shown(sources.decided["primary"])


@figure("3 digits", "mean size of the differences at equal truth, {measure}", "the worse")
def ruler_size(sources: Sources, measure: str) -> Shown:
    """Without their signs."""
    return Shown(_ruler(sources, measure)["mean size"])


@figure(
    "",
    "value where truth is larger minus where it is smaller, {measure}, {encoder}",
    "the ruler sees the truth",
)
def ruler_sees(sources: Sources, measure: str, encoder: str) -> Shown:
    """Over every two kinds of attention."""
    return _ends(_ruler(sources, measure)["larger"][encoder])


@figure("%", "planted pairs of equal truth of which the truth is 1, {encoder}", "more of them")
def perfect_share(sources: Sources, encoder: str, measure: str = PRIMARY) -> Shown:
    """Of the texts with a value by which the ruler's error is estimated."""
    rows = sources.planted[sources.planted["encoder"] == encoder].dropna(subset=[measure])
    keys = ["corpus", "seed", "text"]
    one, other = (
        rows[rows["attention"] == kind].set_index(keys)["truth"] for kind in ("additive", SPARSEMAX)
    )
    truths = pd.concat([one, other], axis=1, join="inner").to_numpy()
    equal = truths[np.abs(truths[:, 0] - truths[:, 1]) < planted.SAME]
    return Shown(100 * float((equal > 1 - planted.SAME).all(1).mean()))


@figure("%", "planted texts without a value, {measure}", "more texts")
def ruler_blank(sources: Sources, measure: str) -> Shown:
    """Of all networks."""
    return Shown(100 * _ruler(sources, measure)["without a value"])


@figure("%", "planted texts ({corpus}) without a value, {measure}, over {encoder}", "more texts")
def blank_over(
    sources: Sources, measure: str, encoder: str | None = None, corpus: str = "planted"
) -> Shown:
    """Of the networks of one encoder, or of all."""
    rows = sources.planted[sources.planted["corpus"] == corpus]
    rows = rows if encoder is None else rows[rows["encoder"] == encoder]
    return Shown(100 * float(rows[measure].isna().mean()))


@figure("", "correlation of {measure} with the truth, {encoder}", "rulers rank networks as truth")
def ruler_rho(sources: Sources, measure: str, encoder: str) -> Shown:
    """Spearman's ρ over networks, with the interval of drawing the seeds again."""
    return _ends(_ruler(sources, measure)["rho"][encoder])


@figure(
    "",
    "sparsemax minus additive softmax at equal truth, {measure}, {encoder}",
    "the ruler favours sparsemax",
)
def ruler_error(sources: Sources, measure: str, encoder: str) -> Shown:
    """What the ruler itself puts between the two where it should put nothing."""
    return _ends(_ruler(sources, measure)["additive − sparsemax"][encoder], -1)


@figure(
    "",
    "the ruler's error of the BiLSTM minus that of the Transformer, {measure}",
    "the ruler favours the crossover",
)
def crossover_error(sources: Sources, measure: str) -> Shown:
    """Of sparsemax minus additive softmax at equal truth; both intervals as independent."""
    one, other = (ruler_error(sources, measure=measure, encoder=e) for e in _CONTEXTUAL)
    value = one.value - other.value
    below = math.hypot(one.value - one.low, other.high - other.value)
    above = math.hypot(one.high - one.value, other.value - other.low)
    return Shown(value, value - below, value + above)


_CONTEXTUAL = ("bilstm", "transformer")


@figure(
    "",
    "value up to the support minus at equal shares, {attention} over {encoder}",
    "stopping at the support favours the attention",
)
def stopping_gain(sources: Sources, encoder: str, attention: str = SPARSEMAX) -> Shown:
    """In one network and with one ranking."""
    return _ends(sources.decided["stopping at the support"][f"{encoder}, {attention}"])


@figure("%", "room that only a beam search finds over {encoder}, planted, by deletion", "looser")
def planted_beam_room(sources: Sources, encoder: str) -> Shown:
    """The share of the room at equal k."""
    return Shown(100 * sources.decided["looseness"][encoder])
