"""Specs of runs, the runs themselves, their records, and tables made from records."""

from course_lib.fronts import front

__all__, __getattr__ = front(
    __name__,
    {
        "REPOSITORY": "run",  # the folder of the project
        "RunSpec": "spec",  # what to run: system, dataset, preset, overrides, seed
        "SpecError": "settings",  # a spec with a mistake
        "Settings": "settings",  # all settings of a run: text, model, training, control
        "SYSTEMS": "systems",  # what can be run: HAN, SANet, IRAM, AGT, BiLSTM, TF-IDF
        "Run": "run",  # a finished run: its record, its system and its corpus
        "train": "run",  # train and evaluate a spec
        "train_or_load": "run",  # the run of a spec in `runs/`, trained first if it is missing
        "load_run": "run",  # a finished run from its folder
        "load_recorded": "weights",  # a run whose weights are committed, by its id
        "recorded_names": "weights",  # the ids of these runs
        "split_rows": "run",  # training, validation and test rows of a corpus
        "system_of": "run",  # the system of a spec, not built yet
        "StaleRun": "records",  # a folder or record that is damaged or belongs to another run
        "kept_accuracy": "records",  # validation accuracy of a run's best epoch
        "KEPT_EPOCH": "records",  # the caveat of `kept_accuracy`, for tables
        "load_records": "records",  # all committed records
        "DocumentModel": "faithfulness",  # a network as a function of documents, with gradients
        "grid": "grid",  # groups of runs, and which are missing
        "controls": "controls",  # positive controls on made-up texts
        "report": "report",  # tables, sweeps and differences from records
    },
)
