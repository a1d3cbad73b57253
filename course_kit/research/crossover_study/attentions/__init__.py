"""The kinds of attention, by name. Another kind is a file beside this one and a line below.

Each maker takes the width of the states and returns a module that takes states
``(n, length, width)`` and mask ``(n, length)`` and returns the pooled states ``(n, width)`` and α
``(n, 1, length)``, which sums to 1 over the real words.
"""

from collections.abc import Callable
from functools import partial

from torch import nn

from course_kit.research.crossover_study.attentions.additive import additive
from course_kit.research.crossover_study.attentions.query_key import QueryKey
from course_kit.research.crossover_study.attentions.softmax import softmax_at
from course_kit.research.crossover_study.attentions.sparse import entmax15, sparsemax
from course_kit.research.crossover_study.attentions.uniform import equal

ATTENTIONS: dict[str, Callable[[int], nn.Module]] = {
    "additive": additive,
    "entmax15": partial(additive, weights=entmax15),
    "sparsemax": partial(additive, weights=sparsemax),
    "sharp": partial(additive, weights=softmax_at(1 / 4)),
    "flat": partial(additive, weights=softmax_at(4)),
    "query_key": QueryKey,
    "uniform": partial(additive, weights=equal),
}
SPARSE = ("sparsemax", "entmax15")
