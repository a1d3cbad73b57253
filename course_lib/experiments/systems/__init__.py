"""What can be trained: each system's settings, presets, network and way of reading a document."""

from typing import Any

from accelerate.utils import set_seed
from torch import nn

from course_lib.data.vectors import load_vectors
from course_lib.data.vocabulary import Vocabulary
from course_lib.experiments.systems import agt, han, iram, sanet, tfidf

MAY_BE_ZERO = {
    "max_sentences", "max_words", "max_tokens",  # no cut
    "dropout", "hidden_dropout", "initial_std", "gate_bias", "penalty",
    "steps", "query_layers", "embedding_highway", "ngrams", "selection_layers",
    "patience", "momentum", "weight_decay", "embedding_rate", "epsilon",
}  # fmt: skip

NETWORKS = {
    "agt": agt.NETWORK,
    "han": han.NETWORK,
    "iram": iram.NETWORK,
    "sanet": sanet.NETWORK,
}
PRESETS: dict[str, dict[str, Any]] = {
    "agt": agt.PRESETS,
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
    network = NETWORKS[system]
    embedding, coverage = None, None
    if settings.vectors != "none":
        vectors = load_vectors(settings.vectors)
        embedding, coverage = vectors.embedding_for(
            vocabulary, seed, standardise=network.standardise(settings)
        )
    return network.build(settings, vocabulary, classes, embedding), coverage
