"""Sanity checks: networks that must show what the papers claim, on synthetic texts made for it.

A null finding on real text counts only if the same instrument finds the thing where it exists."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "instruments": ["weight_of_step"],
        "sanity_record": ["CHECKS", "RECORDS", "record_checks", "train_check", "train_pointer"],
        "synthetic": ["SYNTHETIC_TASKS", "encode_texts", "write_texts"],
        "trained_control": ["ControlSpec", "ResultRow", "TrainedControl"],
        "word_by_word": ["with_held_query"],
    },
)
