"""What a system reads of a corpus, as settings that check themselves."""

from dataclasses import dataclass

from course_lib.checking import check_choice, check_flags, check_share, check_whole, refusal
from course_lib.data.catalog import names_of
from course_lib.data.naming import CUSTOM
from course_lib.data.vocabulary import RESERVED

SPLITS = ("train", "train+validation", "train+validation+test")
OF_VECTORS = "vectors"  # the words of the vectors file, whatever the corpus
WITHOUT_VECTOR = ("random", "zero")


@dataclass(frozen=True)
class TextConfig:
    """What a system reads of a corpus: its cut, its vocabulary, its word vectors.

    Raises ``ValueError`` that names the field, what it takes and what it got.
    """

    max_tokens: int = 0  # words of a document (0: all); for systems that read one sequence
    max_sentences: int = 0  # sentences of a document, and
    max_words: int = 0  # words of a sentence; for systems that read sentences
    vocabulary_limit: int = 1_000_000  # of a corpus: the most frequent words, with 2 reserved ids
    vocabulary_from: str = SPLITS[0]  # splits whose words count: one of SPLITS; or OF_VECTORS
    vectors: str = "glove.6B.50d"  # see check_vectors; a path where a run is described
    without_vector: str = "random"  # how a word without a vector, and the unknown word, start
    standardise: bool = False  # take from the vectors what all words share (Mu et al. 2017)
    validation_share: float = 0.1  # of the training half, where a corpus has no validation split

    def __post_init__(self) -> None:
        check_whole(self, "max_tokens", "max_sentences", "max_words", least=0)
        check_whole(self, "vocabulary_limit", least=RESERVED + 1)
        check_choice(self, "vocabulary_from", (*SPLITS, OF_VECTORS))
        check_choice(self, "without_vector", WITHOUT_VECTOR)
        check_vectors(self)
        check_flags(self, "standardise")
        check_share(self, "validation_share")
        if self.validation_share == 0:
            raise refusal(self, "validation_share", "a number above 0")


def check_vectors(config: TextConfig) -> None:
    """``ValueError`` unless ``vectors`` names none, some of the catalog, or a file of one's own.

    Several are joined by ``+``. ``vocabulary_from`` may only say ``OF_VECTORS`` where there are
    some, and ``without_vector`` only be changed there. A file is named as ``custom_vectors`` names
    it, since a path says something of one machine alone.
    """
    names, value = names_of("vectors"), config.vectors
    if value == "none" and config.vocabulary_from == OF_VECTORS:
        raise refusal(config, "vocabulary_from", "splits where text.vectors is 'none'")
    if value == "none" and config.without_vector != WITHOUT_VECTOR[0]:
        raise refusal(config, "without_vector", "'random' where text.vectors is 'none'")
    parts = value.split("+") if isinstance(value, str) else [""]
    known = all(part in names or CUSTOM.fullmatch(part) for part in parts)
    if value != "none" and not (known and len(set(parts)) == len(parts)):
        choices = ", ".join(map(repr, ["none", *names]))
        raise refusal(
            config, "vectors", f"one of {choices}, some joined by +, or the path of a file"
        )
