"""Does a trained network's attention help a network that reads each word alone?

Wiegreffe and Pinter (2019), §3.3: if it does, it says something of the words themselves.
"""

import numpy as np

from course_kit.research.trained_tests.adversary import WEIGHTS, adversary
from course_kit.research.trained_tests.ground import ACCURACY, Ground, Lines
from course_kit.research.trained_tests.networks import Guide, attention_of, uniform

GAIN = "minus the MLP's with uniform attention"


def lines(ground: Ground, seed: int) -> Lines:
    """The accuracy of a BiLSTM, with its own and with uniform attention, and of the word-wise MLP
    with the attention that it learns, with uniform attention, and guided by that of the trained
    BiLSTM, of the untrained one, and of an adversary who predicts as the trained one does."""
    base = ground.fit(ground.untrained(seed), seed)
    other = adversary(ground, base, ground.untrained(seed + 1), WEIGHTS[-1], seed)
    even = ground.fit(ground.untrained(seed, "uniform"), seed)
    right = {
        "BiLSTM": ground.right(base),
        "BiLSTM, uniform attention": ground.right(even),
    }
    guides: dict[str, Guide | None] = {
        "its own attention": None,
        "uniform attention": uniform,
        "the BiLSTM's attention": attention_of(base),
        "an untrained BiLSTM's attention": attention_of(ground.untrained(seed).eval()),
        f"the attention of its adversary, λ = {WEIGHTS[-1]:g}": attention_of(other),
    }
    for name, guide in guides.items():
        right[f"MLP, {name}"] = guided(ground, seed, guide)
    reference = right["MLP, uniform attention"]
    return {
        name: {ACCURACY: values} | ({GAIN: values - reference} if name.startswith("MLP") else {})
        for name, values in right.items()
    }


def guided(ground: Ground, seed: int, guide: Guide | None) -> np.ndarray:
    """Which test texts a word-wise MLP gets right, trained with that guide."""
    return ground.right(ground.fit(ground.word_mlp(seed, guide), seed))
