"""Tests of attention that need a training: guided, adversarial, avoiding, retrained, randomised.

What erasure and gradients cannot tell apart, a network that is trained for it can: whether other
attention would do as well, and whether the words that a ranking names are needed.
"""

from course_lib.fronts import front

__all__, __getattr__ = front(
    __name__,
    {
        "guided": "guided",  # a word-wise MLP fed with a trained network's attention
        "adversary": "adversary",  # taught the same predictions and other attention
        "avoidance": "avoidance",  # attention taught to avoid the words that decide
        "roar": "roar",  # words removed by a ranking, the network trained again, and so on
        "randomisation": "randomisation",  # importances after layers are made anew
        "Ground": "ground",  # texts, and small networks over their words
        "Texts": "ground",  # documents with their labels
        "sentences": "ground",  # SST-2's whole sentences
        "planted": "ground",  # made-up texts of which one word decides
        "made_up": "ground",  # any task of `data.controls`
        "WordMLP": "networks",  # a network that reads each word alone
        "attention_of": "networks",  # a trained network's attention, as a guide
        "TESTS": "record",  # the tests by name
        "record_test": "record",  # make one for some seeds and return its record
    },
)
