"""Tables from committed records, beside the papers' numbers. Nothing here is typed in by hand."""

from course_lib.fronts import front

__all__, __getattr__ = front(
    __name__,
    {
        "throughputs": "costs",  # the records of ``benchmarks/throughput.py`` by what made them
        "zhang_costs_table": "costs",  # what SANet base takes on each of Zhang's sets as a
        "CONTRASTS": "differences",
        "PAPERS": "differences",
        "contrasts_table": "differences",  # differences in test accuracy between two models of
        "difference": "differences",  # mean test accuracy of runs minus that of others, or of a
        "papers_table": "differences",  # our accuracies in % beside those of the papers, each
        "REPORTED": "imdb",
        "grouped": "imdb",  # IMDb's records of HAN and TF-IDF that differ in their seed alone
        "imdb_table": "imdb",  # the results on the complete IMDb test half as a markdown table
        "TABLE": "readme",
        "TABLES": "readme",
        "write_readme": "readme",  # put the current tables between their markers
        "SIMPLE": "records",  # the baselines that every table has
        "made_from": "records",  # ``(3 seeds, subset)``
        "seeds_of": "records",  # the records of a preset on a dataset, one per seed
        "spread": "records",  # mean ± standard deviation over seeds
        "standard_error": "records",  # of an accuracy on the complete test set
        "AGT_MODELS": "sst",
        "IRAM_MODELS": "sst",
        "PAPER_ACCURACIES": "sst",
        "sst_table": "sst",  # test accuracies in % as a markdown table
        "mean_figures": "sweeps",  # means over the seeds
        "of_common_seeds": "sweeps",  # those of seeds that every value was run with, since means
        "planned_values": "sweeps",  # the values of a setting that a group of the grid means to
        "runs_table": "sweeps",  # how many runs of each group of the grid are recorded, and which
        "steps_figure": "sweeps",  # IRAM's accuracy, a point a run, beside what describes its
        "steps_view": "sweeps",  # IRAM's attention on words and on summaries, step by step, with
        "sweep": "sweeps",  # the records of a model, (system, preset), by the value of a setting
        "sweep_table": "sweeps",  # accuracies in % by the value of a setting as a markdown table
        "OUR_MODELS": "zhang",
        "PAPER_ATTENTION": "zhang",
        "PAPER_ERRORS": "zhang",
        "ZHANG": "zhang",
        "band_by_size": "zhang",  # diagonality in [0, 1] by number of training texts
        "sanet_attention_table": "zhang",  # gini and diagonality of the base model in % as a
        "sanet_error_table": "zhang",  # test errors in % as a markdown table
        "sizes_of_training": "zhang",  # the base model's records with attention by the number of
    },
)
