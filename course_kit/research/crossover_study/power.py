"""How often the plan's tests find what is there, simulated before the first run.

The standard deviations of a contrast come from networks of the first edition and of the pilot,
never from the new corpora.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from course_kit.research.crossover_study.analysis import HYPOTHESES, Hypothesis, decisive_p
from course_kit.research.crossover_study.intervals import combined
from course_lib import metrics
from course_lib.metrics.statistics import LEVEL

STUDIES = 300


class Spread(NamedTuple):
    """The standard deviations of a contrast between ``networks``, between ``texts``, and of what is
    ``left``."""

    networks: float
    texts: float
    left: float


def spread(gaps: pd.Series) -> Spread:
    """The three of a contrast over seeds and texts, by mean squares, from texts without a gap."""
    table = gaps.unstack("text").dropna(axis=1).dropna().to_numpy()
    seeds, texts = table.shape
    rows, columns = table.mean(1), table.mean(0)
    rest = table - rows[:, None] - columns + table.mean()
    left = (rest**2).sum() / ((seeds - 1) * (texts - 1))
    networks = rows.var(ddof=1) - left / texts
    variances = networks, columns.var(ddof=1) - left / seeds, left
    return Spread(*(float(max(each, 0.0)) ** 0.5 for each in variances))


def power(
    predicted: str, effect: float, seeds: int, each: Spread, texts: int = 100, corpora: int = 3
) -> tuple[float, float]:
    """The shares of simulated studies in which a true ``effect`` is found at 5 %, and at the
    strictest level of Holm's method."""
    source, found = np.random.default_rng(56), []
    for _ in range(STUDIES):
        parts = []
        for _ in range(corpora):
            gaps = effect + each.left * source.standard_normal((seeds, texts))
            gaps += each.networks * source.standard_normal((seeds, 1))
            gaps += each.texts * source.standard_normal((1, texts))
            parts.append(metrics.crossed(gaps))  # what ``clustered`` gives without gaps
        found.append(decisive_p(combined(parts), predicted))
    strictest = LEVEL / len(HYPOTHESES)
    return float(np.mean(np.array(found) < LEVEL)), float(np.mean(np.array(found) < strictest))


def of_hypothesis(
    hypothesis: Hypothesis, effect: float, seeds: int, each: Spread
) -> tuple[float, float]:
    """``power`` of a hypothesis of the plan."""
    return power(hypothesis.predicted, effect, seeds, each)
