"""Tables from committed records, beside the papers' numbers. Nothing here is typed in by hand."""

from course_lib.report.costs import throughputs, zhang_costs_table
from course_lib.report.differences import (
    CONTRASTS,
    PAPERS,
    contrasts_table,
    difference,
    papers_table,
)
from course_lib.report.imdb import REPORTED, grouped, imdb_table
from course_lib.report.readme import TABLE, TABLES, write_readme
from course_lib.report.records import made_from, seeds_of, spread, standard_error
from course_lib.report.sst import AGT_MODELS, IRAM_MODELS, PAPER_ACCURACIES, sst_table
from course_lib.report.sweeps import (
    mean_figures,
    of_common_seeds,
    planned_values,
    runs_table,
    steps_figure,
    steps_view,
    sweep,
    sweep_table,
)
from course_lib.report.zhang import (
    OUR_MODELS,
    PAPER_ATTENTION,
    PAPER_ERRORS,
    ZHANG,
    band_by_size,
    sanet_attention_table,
    sanet_error_table,
    sizes_of_training,
)

__all__ = [
    "AGT_MODELS",
    "CONTRASTS",
    "IRAM_MODELS",
    "OUR_MODELS",
    "PAPERS",
    "PAPER_ACCURACIES",
    "PAPER_ATTENTION",
    "PAPER_ERRORS",
    "REPORTED",
    "TABLE",
    "TABLES",
    "ZHANG",
    "band_by_size",
    "contrasts_table",
    "difference",
    "grouped",
    "imdb_table",
    "made_from",
    "mean_figures",
    "of_common_seeds",
    "papers_table",
    "planned_values",
    "runs_table",
    "sanet_attention_table",
    "sanet_error_table",
    "seeds_of",
    "sizes_of_training",
    "spread",
    "sst_table",
    "standard_error",
    "steps_figure",
    "steps_view",
    "sweep",
    "sweep_table",
    "throughputs",
    "write_readme",
    "zhang_costs_table",
]
