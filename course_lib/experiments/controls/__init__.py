"""Positive controls: networks that must show what the papers claim, on texts made for it.

A null finding on real text counts only if the same instrument finds the thing where it exists.
"""

from course_lib.fronts import front

__all__, __getattr__ = front(
    __name__,
    {
        "pairs": "pairs",  # SANet: a band for adjacent pairs, none for distant ones
        "steps": "steps",  # IRAM: steps that part, and what they depend on
        "phrases": "phrases",  # AGT: a pair of words, and their order
        "planted": "planted",  # every network: the one word that decides
        "ControlSpec": "trials",  # how much is trained
        "Line": "trials",  # a figure: trained, untrained, with uniform attention
        "Trial": "trials",  # a network trained on a control, its twin, the texts
        "accuracy": "trials",  # the share of texts whose label is predicted
        "networks": "networks",  # encoders that read each word alone, parts switched off
        "record_controls": "record",  # train all controls and return their record
        "RECORDS": "record",  # the folder of the committed records
    },
)
