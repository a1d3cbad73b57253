"""A spec becomes a run, a run a record, records a table."""

from course_lib.fronts import front

__all__, __getattr__ = front(
    __name__,
    {
        "REPOSITORY": "run",  # the folder of the project
        "RunSpec": "run",  # what to run: system, dataset, preset, overrides, seed
        "Run": "run",  # a finished run: its record and its system
        "SpecError": "run",  # a run that cannot be meant
        "train": "run",  # train and evaluate a spec
        "train_or_load": "run",  # the run of a spec in `runs/`, trained unless it is there
        "load_run": "run",  # a finished run from its folder
        "split_rows": "run",  # training, validation and test rows of a corpus
        "kept_accuracy": "run",  # validation accuracy of the epoch that a run kept
        "load_records": "run",  # all committed records
        "grid": "grid",  # groups of runs: what is missing, and running it
        "systems": "systems",  # what can be run: HAN, SANet, IRAM, AGT, TF-IDF
        "report": "report",  # tables, sweeps and differences from records
    },
)
