"""How word vectors are trained."""

from dataclasses import dataclass

from course_lib.checking import check_choice, check_number, check_whole

METHODS = ("cbow", "skipgram", "fasttext")


@dataclass(frozen=True)
class VectorsConfig:
    """How vectors are trained; ``fasttext`` is skip-gram with subwords. ``window`` and ``negative``
    count words, ``least`` is how often a word must occur. Raises ``ValueError`` naming a field.
    """

    method: str = "cbow"
    width: int = 300
    window: int = 8
    negative: int = 10
    least: int = 5
    epochs: int = 8
    sample: float = 1e-4
    seed: int = 0
    threads: int = 2

    def __post_init__(self) -> None:
        check_choice(self, "method", METHODS)
        check_whole(self, "width", "window", "negative", "least", "epochs", "threads")
        check_whole(self, "seed", least=0)
        check_number(self, "sample")
