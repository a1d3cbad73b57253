"""A spec becomes a run, a run becomes a record; what can be run, and runs loaded again."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "folders": ["recorded_names"],
        "records": ["KEPT_EPOCH", "StaleRun", "kept_accuracy", "load_records", "predictions_of"],
        "run": [
            "REPOSITORY",
            "Run",
            "load_run",
            "note_progress",
            "split_rows",
            "system_of",
            "train",
            "train_or_load",
        ],
        "settings": ["Settings", "SpecError"],
        "spec": ["RunSpec"],
        "systems": ["known_systems", "register"],
        "weights": ["load_recorded"],
    },
)
