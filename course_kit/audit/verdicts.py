"""The three verdicts of an audit, and the numbers that decide them.

They were written down before any network was audited; ``tests/test_audit.py`` asks for them with
models whose right verdict is known. An ``Estimate`` is a mean over texts with its 95 % interval,
turned so that larger is better. The verdict is

* ``shown`` if its lower end reaches ``shown``, and, where there is a best that could be expected
  (leave-one-out, a measure's agreement with itself), the interval of the distance to it stays
  within ``margin``;
* ``partly`` if its lower end reaches ``partly``, and, where it is a difference to a control, the
  p-value is at most 0.05 after Holm's correction for all such questions of the audit;
* ``not shown`` otherwise, and always with fewer than ``LEAST_TEXTS`` texts.

Why these numbers:

* 0.05 of a probability is what a reader rounds away, and Jain and Wallace's tolerance for "the same
  output"; 0.02 is half the width of the interval when 100 differences deviate by 0.1, so a smaller
  one depends on which texts were drawn.
* τ of 0.1 means that 11 pairs of words in 20 are in the same order, by chance 10 are; 0.2 means
  three pairs of five, 0.5 three of four.
* A word against the decision in one text of ten is what a reader may overlook.
* Two attentions differ by at most ln 2 = 0.69; 0.35 is half of it, and 0.1 is what taking
  a quarter of the weight elsewhere gives.
* An area under the curve of 0.6 and 0.8 is what textbooks call poor and good; 0.5 is chance.
* A classifier is worth explaining if it beats the most frequent label; by 0.1, clearly.

The verdict on the whole is the weaker one of ``removal`` and, where it could be asked, ``weights``:
attention that is only beside the point, or that the output ignores, explains nothing.
"""

from typing import NamedTuple

from course_lib.metrics.statistics import LEVEL, Estimate

SHOWN, PARTLY, NOT_SHOWN = VERDICTS = ("shown", "partly", "not shown")
LEAST_TEXTS = 20
DECISIVE = ("removal", "weights")  # whether attention may be believed


class Rule(NamedTuple):
    """What the lower end of an interval must reach for a verdict.

    ``margin`` is how far the best may lead; ``controlled`` whether the estimate is a difference to
    a control, whose p-value is corrected.
    """

    shown: float
    partly: float
    margin: float | None = None
    controlled: bool = True


RULES = {
    "removal": Rule(0.05, 0.02, margin=0.05),  # loss by attention − by random words, at a tenth
    "alone": Rule(0.05, 0.02, margin=0.05),  # what a random tenth alone loses more
    "order": Rule(0.1, 0.1, margin=0.1),  # τ with leave-one-out, minus that of random numbers
    "signs": Rule(0.0, 0.0, margin=0.1),  # share of texts against: a random word's minus the top's
    "weights": Rule(0.05, 0.01, controlled=False),  # change of the output by shuffled weights
    "adversary": Rule(-0.1, -0.35, controlled=False),  # minus the divergence that is found
    "seed": Rule(0.5, 0.2, controlled=False),  # τ with the attention of another seed
    "training": Rule(0.05, 0.02),  # loss by attention − by the untrained network's attention
    "people": Rule(0.3, 0.1),  # area under the curve of marked words − 0.5
    "labels": Rule(0.1, 0.0),  # accuracy − that of the most frequent label
}


def verdict(question: str, estimate: Estimate, p: float, gap: Estimate | None = None) -> str:
    """Decide on one of ``VERDICTS``.

    ``p`` is the corrected p-value of the estimate; ``gap`` is how far it is above (below 0: behind)
    the best that could be expected, for a rule with a margin.
    """
    rule, low = RULES[question], estimate.interval[0]
    if estimate.texts < LEAST_TEXTS:
        return NOT_SHOWN
    near = rule.margin is None or (gap is not None and gap.interval[0] >= -rule.margin)
    if low >= rule.shown and near:
        return SHOWN
    certain = not rule.controlled or p <= LEVEL
    return PARTLY if low >= rule.partly and certain else NOT_SHOWN


def weakest(verdicts: dict[str, str]) -> str:
    """Return the weakest verdict of the decisive questions, by name."""
    return max((verdicts[name] for name in DECISIVE if name in verdicts), key=VERDICTS.index)
