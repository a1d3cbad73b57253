"""The simple baseline that attention has to beat."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TfidfSettings:
    """TF-IDF over words and word pairs, then logistic regression: what attention has to beat.

    The regularisation was chosen by validation loss among 1, 3, 10, 30 and 100.
    """

    longest: int = 2
    minimum_documents: int = 2
    inverse_regularisation: float = 30.0


PRESETS = {
    "default": TfidfSettings(),
    "words": TfidfSettings(longest=1, inverse_regularisation=10.0),
}
