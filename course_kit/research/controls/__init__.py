"""Positive controls: networks that must show what the papers claim, on texts made for it.

A null finding on real text counts only if the same instrument finds the thing where it exists."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["networks", "pairs", "phrases", "planted", "steps"],
    submod_attrs={
        "record": ["RECORDS", "record_controls"],
        "texts": ["CONTROL_TASKS", "encode_texts", "write_texts"],
        "trials": ["ControlSpec", "Line", "Trial", "accuracy"],
    },
)
