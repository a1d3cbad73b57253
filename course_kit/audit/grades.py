"""The verdicts of an audit, from the numbers in ``grades.yaml``.

A verdict is ``shown``, ``partly`` or ``not shown``, or ``not applicable`` where no ranking of the
words could pass. The whole has one more, ``carrier``: the attention rests where the network keeps
its summary of other words.
"""

from pathlib import Path
from typing import Any, NamedTuple

import yaml

from course_kit.audit.intervals import Mean
from course_lib.metrics.statistics import LEVEL

GRADES: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("grades.yaml").read_text("utf-8"))
VERSION, LEAST_TEXTS = GRADES["version"], GRADES["least_texts"]
LEAST_OF_CLASS, MOST_OF_CLASS = GRADES["least_of_class"], GRADES["most_of_class"]
DECISIVE = tuple(GRADES["decisive"])
SHOWN, PARTLY, CARRIER, NOT_SHOWN = VERDICTS = ("shown", "partly", "carrier", "not shown")
NOT_APPLICABLE = "not applicable"


class Grade(NamedTuple):
    """What the lower end of an interval must reach for a verdict.

    ``margin`` is how far the best may lead; ``floor`` what the value itself must reach for
    ``shown``; ``carrier`` the share of the best below which words that must stay are carriers;
    ``along`` the share of what removal costs that the words must take along;
    ``controlled`` says whether the estimate is a difference to a control, whose p-value is
    corrected. ``why`` gives the reason for the numbers.
    """

    shown: float
    partly: float
    controlled: bool
    why: str
    margin: float | None = None
    floor: float | None = None
    carrier: float | None = None
    along: float | None = None

    def verdict(
        self,
        estimate: Mean,
        p: float = 0.0,
        gap: Mean | None = None,
        value: Mean | None = None,
    ) -> str:
        """Decide on ``SHOWN``, ``PARTLY`` or ``NOT_SHOWN``.

        Parameters
        ----------
        p: the corrected p-value of the estimate
        gap: how far it is above (below 0: behind) the best that could be expected
        value: what has to reach the ``floor``
        """
        if estimate.texts < LEAST_TEXTS:
            return NOT_SHOWN
        near = self.margin is None or (gap is not None and gap.low >= -self.margin)
        high = self.floor is None or (value is not None and value.low >= self.floor)
        if estimate.low >= self.shown and near and high:
            return SHOWN
        certain = not self.controlled or p <= LEVEL
        return PARTLY if estimate.low >= self.partly and certain else NOT_SHOWN


BY_QUESTION = {name: Grade(**numbers) for name, numbers in GRADES["questions"].items()}


def weakest(verdicts: list[str]) -> str:
    """Return the weakest of some verdicts; ``NOT_APPLICABLE`` if none applies."""
    applied = [one for one in verdicts if one != NOT_APPLICABLE]
    return max(applied, key=VERDICTS.index) if applied else NOT_APPLICABLE
