"""Recorded networks put through the tests of ``course_lib.faithfulness``."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submod_attrs={"ranked_network": ["choose_run"]}
)

ALL, AGREEMENT = "faithfulness", "agreement"  # records' folders
INTERVENTIONS, SIGNS = "interventions", "signs"
TEXTS = 100
