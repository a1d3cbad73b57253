"""The tests of the plan, from the committed tables: effects with intervals first, Holm over all.

A contrast is a difference between networks of the same corpus and seed, text by text. Its mean in a
corpus has an interval clustered by networks and texts; corpora have texts of their own and count
equally. A setting is an encoder, a kind of attention and a way of training.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from course_kit.research.crossover_study import planted, ruler
from course_kit.research.crossover_study.corpora import FOLDER, NEW
from course_kit.research.crossover_study.intervals import clustered, combined, drawn
from course_lib import metrics
from course_lib.metrics.statistics import LEVEL, Estimate

PRIMARY = f"{ruler.EQUAL_K}, masking"  # planted texts decide it: results/crossover/ruler.json
RAW = f"{ruler.EQUAL_K}, loss, masking"
MARGIN = 0.05  # a difference that would matter to a reader of attention
ABOVE, BELOW, WITHIN, AT_MOST = "above 0", "below 0", f"within ±{MARGIN}", f"below {MARGIN}"
LEAST_ACCURACY = {"huffpost": 0.4}  # 0.6 elsewhere
USUAL, DELETIONS = "usual", "deletions"
ATTENTION, INTEGRATED = "", " of integrated gradient"  # rankings, as columns name them
WINDOWS = ("blocks2-window0", "blocks2-window1", "blocks2-window4", "transformer")
UNIT = ["corpus", "seed", "text"]
SETTING = ["encoder", "attention", "training"]


class Values:
    """The values of one corpus: rows for seeds and texts, columns for settings.

    ``of(encoder, attention, training, ranking)`` is a column; NaN where there is no such network.
    """

    def __init__(self, part: pd.DataFrame, measure: str = PRIMARY) -> None:
        self.measure = measure
        self.index = pd.MultiIndex.from_frame(part[["seed", "text"]].drop_duplicates())
        self.rows = {name: rows.set_index(["seed", "text"]) for name, rows in part.groupby(SETTING)}

    def of(
        self, encoder: str, attention: str, training: str = USUAL, ranking: str = ATTENTION
    ) -> pd.Series:
        """The values of a setting."""
        rows = self.rows.get((encoder, attention, training))
        name, comma, removal = self.measure.partition(",")
        column = f"{name}{ranking}{comma}{removal}"
        if rows is None or column not in rows:
            return pd.Series(np.nan, self.index)
        return rows[column].reindex(self.index)


Contrast = Callable[[Values], pd.Series]


def gain(
    values: Values,
    encoder: str,
    attention: str = "sparsemax",
    training: str = USUAL,
    ranking: str = ATTENTION,
) -> pd.Series:
    """What a kind of attention adds to additive softmax over an encoder."""
    reference = values.of(encoder, "additive", training, ranking)
    return values.of(encoder, attention, training, ranking) - reference


def crossing(values: Values, attention: str = "sparsemax", training: str = USUAL) -> pd.Series:
    """How much more it adds over the BiLSTM than over the Transformer."""
    first, second = (gain(values, name, attention, training) for name in ("bilstm", "transformer"))
    return first - second


def without_context(values: Values) -> pd.Series:
    """How much more sparsemax adds over projected words than over the two contextual encoders."""
    contextual = [gain(values, name) for name in ("bilstm", "transformer")]
    return gain(values, "projected") - sum(contextual) / 2


def slope(values: Values, of: Contrast, doses: Sequence[tuple[str, float]]) -> pd.Series:
    """The least-squares slope of a contrast over encoders with a dose each."""
    x = np.array([dose for _, dose in doses])
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    return sum(w * of(values, encoder) for w, (encoder, _) in zip(weights, doses, strict=True))


def over_windows(values: Values, of: Contrast) -> pd.Series:
    """The slope of a contrast over the windows as equal steps, from 0 (no neighbour) to 1 (all)."""
    return slope(values, of, list(zip(WINDOWS, np.linspace(0, 1, len(WINDOWS)).tolist())))


def level(values: Values, encoder: str) -> pd.Series:
    """The value of additive attention over an encoder."""
    return values.of(encoder, "additive")


def temperature(values: Values, encoder: str) -> pd.Series:
    """Additive attention at a quarter of the temperature minus at four times."""
    return values.of(encoder, "sharp") - values.of(encoder, "flat")


def query_key(values: Values, encoder: str) -> pd.Series:
    """Dot-product attention with learned query and key minus additive attention."""
    return gain(values, encoder, "query_key")


def beyond_gradients(values: Values, of: Contrast) -> pd.Series:
    """A contrast of attention minus the same contrast of integrated gradients."""
    return of(values, ranking=ATTENTION) - of(values, ranking=INTEGRATED)


def words_ahead(values: Values, ranking: str) -> pd.Series:
    """Projected words minus the Transformer, with additive attention."""
    words, context = (
        values.of(e, "additive", USUAL, ranking) for e in ("projected", "transformer")
    )
    return words - context


def difference(values: Values, first: Contrast, second: Contrast) -> pd.Series:
    """One contrast minus another."""
    return first(values) - second(values)


@dataclass(frozen=True)
class Hypothesis:
    """A prediction about the mean of contrasts, which are its fixed or drawn levels."""

    name: str
    question: int
    predicted: str
    contrasts: tuple[Contrast, ...]


TRAINED = ("projected", "bilstm", "transformer")


def over(of: Callable[..., pd.Series], encoders: Sequence[str]) -> tuple[Contrast, ...]:
    """A contrast for each encoder."""
    return tuple(partial(of, encoder=encoder) for encoder in encoders)


HYPOTHESES = (
    Hypothesis("sparsemax, BiLSTM − Transformer", 1, ABOVE, (crossing,)),
    Hypothesis("sparsemax over the Transformer", 1, BELOW, over(gain, ["transformer"])),
    Hypothesis("sparsemax over the BiLSTM", 1, AT_MOST, over(gain, ["bilstm"])),
    Hypothesis(
        "entmax 1.5, BiLSTM − Transformer", 1, ABOVE, (partial(crossing, attention="entmax15"),)
    ),
    Hypothesis("sparsemax, projected − contextual", 1, ABOVE, (without_context,)),
    Hypothesis("additive, by window", 2, BELOW, (partial(over_windows, of=level),)),
    Hypothesis("sparsemax, by window", 2, BELOW, (partial(over_windows, of=gain),)),
    Hypothesis("sharp − flat", 3, WITHIN, over(temperature, TRAINED)),
    Hypothesis(
        "sharp − flat, BiLSTM − Transformer",
        3,
        ABOVE,
        (
            partial(
                difference,
                first=partial(temperature, encoder="bilstm"),
                second=partial(temperature, encoder="transformer"),
            ),
        ),
    ),
    Hypothesis("query and key − additive", 3, WITHIN, over(query_key, TRAINED)),
    Hypothesis(
        "sparsemax, BiLSTM − Transformer, trained with deletions",
        4,
        ABOVE,
        (partial(crossing, training=DELETIONS),),
    ),
    Hypothesis(
        "projected − Transformer, beyond gradients",
        5,
        ABOVE,
        (partial(beyond_gradients, of=words_ahead),),
    ),
    Hypothesis(
        "sparsemax over the Transformer, beyond gradients",
        5,
        BELOW,
        (partial(beyond_gradients, of=partial(gain, encoder="transformer")),),
    ),
)


def load(folder: Path = FOLDER) -> pd.DataFrame:
    """The measured texts of all networks of the new corpora that have learned their task."""
    paths = [folder / f"{corpus}.parquet" for corpus in NEW]
    table = pd.concat([pd.read_parquet(path) for path in paths if path.exists()])
    least = table["corpus"].map(LEAST_ACCURACY).fillna(0.6)
    return table[table["accuracy"] >= least]


def estimates(
    table: pd.DataFrame, hypothesis: Hypothesis, measure: str = PRIMARY
) -> list[list[Estimate]]:
    """The estimate of every contrast in every corpus: a list for each corpus."""
    found = []
    for _, part in table.groupby("corpus"):
        values = Values(part, measure)
        found.append([mean_of(contrast(values)) for contrast in hypothesis.contrasts])
    return found


def mean_of(gaps: pd.Series) -> Estimate:
    """The mean of a contrast over seeds and texts."""
    kept = gaps.dropna()
    return clustered(
        kept.to_numpy(), kept.index.get_level_values("seed"), kept.index.get_level_values("text")
    )


def fixed(table: pd.DataFrame, hypothesis: Hypothesis, measure: str = PRIMARY) -> Estimate:
    """The mean over contrasts and corpora as fixed levels; not a number without networks."""
    parts = []
    for _, part in table.groupby("corpus"):
        values = Values(part, measure)
        gaps = sum(contrast(values) for contrast in hypothesis.contrasts)
        parts.append(mean_of(gaps / len(hypothesis.contrasts)))
    known = [part for part in parts if np.isfinite(part.value)]
    return combined(known) if known else Estimate(np.nan, np.nan, 2)


def as_drawn(table: pd.DataFrame, hypothesis: Hypothesis, measure: str = PRIMARY) -> Estimate:
    """The mean over corpora, and over contrasts where there are several, as drawn from others like
    them: a *t* interval over all combinations' values."""
    parts = [each for row in estimates(table, hypothesis, measure) for each in row]
    known = [part for part in parts if np.isfinite(part.value)]
    return drawn(known) if len(known) > 1 else Estimate(np.nan, np.nan, 2)


def decisive_p(found: Estimate, predicted: str) -> float:
    """The one-sided p-value of the prediction; of equivalence, the larger of two one-sided ones."""
    if not np.isfinite(found.value):
        return np.nan
    sides = {
        ABOVE: [found.value],
        BELOW: [-found.value],
        AT_MOST: [MARGIN - found.value],
        WITHIN: [MARGIN - found.value, MARGIN + found.value],
    }
    return max(one_sided(found, distance) for distance in sides[predicted])


def one_sided(found: Estimate, distance: float) -> float:
    """The p-value of "the true value lies ``distance`` away, or farther, on that side"."""
    p = found._replace(value=abs(distance)).p / 2
    return p if distance > 0 else 1 - p


def results(table: pd.DataFrame, measure: str = PRIMARY) -> pd.DataFrame:
    """A row for each hypothesis of the plan, in its order.

    ``low`` and ``high`` end the 95 % interval with fixed levels, ``drawn low`` and ``drawn high``
    that with drawn ones; ``p`` decides, and ``holm`` is corrected over all rows, among which one
    without networks counts as p = 1, so the family is the plan's whatever was run.
    """
    found = []
    for hypothesis in HYPOTHESES:
        mean = fixed(table, hypothesis, measure)
        ends = as_drawn(table, hypothesis, measure).interval
        p = decisive_p(mean, hypothesis.predicted)
        start = [hypothesis.question, hypothesis.name, hypothesis.predicted]
        found.append([*start, mean.value, *mean.interval, *ends, p])
    columns = ["question", "hypothesis", "predicted", "value", "low", "high"]
    made = pd.DataFrame(found, columns=[*columns, "drawn low", "drawn high", "p"])
    made["holm"] = metrics.holm(made["p"].fillna(1.0).tolist())
    made["outcome"] = [outcome(row) for _, row in made.iterrows()]
    return made


def by_ruler(table: pd.DataFrame) -> pd.DataFrame:
    """The value of each hypothesis by every ruler and removal, and in the loss itself, which every
    text has, also one without room."""
    found = {
        column: [fixed(table, hypothesis, column).value for hypothesis in HYPOTHESES]
        for column in (*planted.COLUMNS, RAW)
    }
    return pd.DataFrame(found, index=[hypothesis.name for hypothesis in HYPOTHESES])


def outcome(row: pd.Series) -> str:
    """What became of a prediction: ``as predicted`` if Holm's p is below 5 %, ``against it`` if the
    interval lies on the other side, else ``open``; ``not done`` without networks."""
    if np.isnan(row["p"]):
        return "not done"
    if row["holm"] < LEVEL:
        return "as predicted"
    against = {
        ABOVE: row["high"] < 0,
        BELOW: row["low"] > 0,
        AT_MOST: row["low"] > MARGIN,
        WITHIN: row["low"] > MARGIN or row["high"] < -MARGIN,
    }
    return "against it" if against[row["predicted"]] else "open"
