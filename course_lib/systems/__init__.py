"""What can be trained: each system's settings, presets, network and way of reading a document."""

from typing import Any

from accelerate.utils import set_seed
from torch import nn

from course_lib.data.vectors import load_vectors
from course_lib.data.vocabulary import Vocabulary
from course_lib.systems import han, iram, sanet, tfidf

MAY_BE_ZERO = ("dropout", "penalty", "patience", "momentum", "embedding_rate",
               "max_sentences", "max_words", "max_tokens", "steps", "query_layers", "ngrams",
               "embedding_highway", "hidden_dropout", "initial_std",
               "weight_decay")  # fmt: skip  # max 0: no cut

NETWORKS = {"han": han.NETWORK, "iram": iram.NETWORK, "sanet": sanet.NETWORK}
PRESETS: dict[str, dict[str, Any]] = {
    "han": han.PRESETS,
    "iram": iram.PRESETS,
    "sanet": sanet.PRESETS,
    "tfidf": tfidf.PRESETS,
}


def build_network(
    system: str, settings: Any, vocabulary: Vocabulary, classes: int, seed: int
) -> tuple[nn.Module, float | None]:
    """An untrained network, and the share of the vocabulary that has a vector (None without)."""
    set_seed(seed)
    embedding, coverage = None, None
    if settings.vectors != "none":
        embedding, coverage = load_vectors(settings.vectors).embedding_for(vocabulary, seed)
    return NETWORKS[system].build(settings, vocabulary, classes, embedding), coverage
