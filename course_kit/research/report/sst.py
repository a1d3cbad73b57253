"""IRAM and AGT on the treebank: the papers' accuracies, and ours below."""

from typing import Any

from course_kit.research.report.records import SIMPLE, accuracy_of, results_table
from course_lib.runs.records import load_records

DATASETS = {"sst2": "SST-2", "sst5": "SST-5", "imdb": "IMDb"}
# Test accuracy in %. Tutek and Šnajder 2018, Tables 1 and 2; Guo 2017, with the ablations of its
# text. The others as these two papers quote them.
PAPER_ACCURACIES: dict[str, dict[str, float | None]] = {
    "IRAM full": {"sst2": 90.1, "sst5": 53.7, "imdb": 91.2},
    "IRAM vanilla": {"sst2": 88.7},
    "IRAM full − character n-grams": {"sst2": 89.3},
    "IRAM full − query fine-tuning": {"sst2": 89.8},
    "IRAM full − embedding fine-tuning": {"sst2": 89.3},
    "NSE": {"sst2": 89.7},
    "BCN + CoVe": {"sst2": 90.3, "sst5": 53.7},
    "BCN + ELMo": {"sst5": 54.7},
    "bmLSTM": {"sst2": 91.8},
    "TRNN": {"imdb": 93.8},
    "oh-LSTM": {"imdb": 94.1},
    "Virtual": {"imdb": 94.1},
    "AGT": {"sst5": 50.5},
    "AGT, s_0 only": {"sst5": 48.5},
    "AGT, layers ≤ 2": {"sst5": 49.0},
    "high-order CNN": {"sst5": 51.2},
    "tree-LSTM": {"sst5": 51.0},
    "DRNN": {"sst5": 49.8},
    "PVEC": {"sst5": 48.7},
    "DCNN": {"sst5": 48.5},
    "DAN": {"sst5": 48.2},
    "CNN-MC": {"sst5": 47.4},
    "CNN": {"sst5": 47.2},
    "RNTN": {"sst5": 45.7},
    "NBoW": {"sst5": 44.5},
    "RNN": {"sst5": 43.2},
    "SVM": {"sst5": 38.3},
}
IRAM_MODELS = {
    "IRAM full": ("iram", "full", "imdb"),
    "IRAM vanilla": ("iram", "vanilla"),
    "BiLSTM + maxout (IRAM without steps)": ("iram", "baseline"),
    "IRAM full − character n-grams": ("iram", "full-no-ngrams"),
    "IRAM full − query fine-tuning": ("iram", "full-no-query"),
    "IRAM full − embedding fine-tuning": ("iram", "full-no-embedding"),
}
AGT_MODELS = {
    "AGT": ("agt", "paper"),
    "AGT, layers ≤ 2": ("agt", "layers-to-2"),
    "AGT, s_0 only": ("agt", "s0-only"),
    "mean of word vectors, AGT's classifier": ("agt", "mean"),
}
OUR_MODELS = IRAM_MODELS | AGT_MODELS | SIMPLE


def sst_table(
    records: list[dict[str, Any]] | None = None,
    models: dict[str, tuple[str, ...]] = OUR_MODELS,
    compact: bool = False,
) -> str:
    """Test accuracies in % as a markdown table: the papers' rows, then ours for ``models``.

    Ours are means ± standard deviation over the recorded seeds, "–" where a run is missing. A
    ``compact`` table keeps only the papers' rows for the same models.
    """
    records = load_records() if records is None else records
    paper = PAPER_ACCURACIES
    if compact:
        paper = {name: row for name, row in paper.items() if name in models}
    return results_table("accuracy %", DATASETS, paper, models, records, accuracy_of)
