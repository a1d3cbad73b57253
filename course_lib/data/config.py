"""What a system reads of a corpus, as settings that check themselves."""

from dataclasses import dataclass

from course_lib.checking import (
    check_choice,
    check_flags,
    check_share,
    check_whole,
    refusal,
)
from course_lib.data.catalog import names_of
from course_lib.data.vocabulary import RESERVED

SPLITS = ("train", "train+validation", "train+validation+test")


@dataclass(frozen=True)
class TextConfig:
    """What a system reads of a corpus: its cut, its vocabulary, its word vectors.

    Raises ``ValueError`` that names the field, what it takes and what it got.
    """

    max_tokens: int = 0  # words of a document (0: all); for systems that read one sequence
    max_sentences: int = 0  # sentences of a document, and
    max_words: int = 0  # words of a sentence; for systems that read sentences
    vocabulary_limit: int = 1_000_000  # the most frequent words, the two reserved ids included
    vocabulary_from: str = SPLITS[0]  # splits whose words count: one of SPLITS
    vectors: str = "glove.6B.50d"  # a name of the catalog, or "none"
    standardise: bool = False  # take from the vectors what all words share (Mu et al. 2017)
    validation_share: float = 0.1  # of the training half, where a corpus has no validation split

    def __post_init__(self) -> None:
        check_whole(self, "max_tokens", "max_sentences", "max_words", least=0)
        check_whole(self, "vocabulary_limit", least=RESERVED + 1)
        check_choice(self, "vocabulary_from", SPLITS)
        check_choice(self, "vectors", ("none", *names_of("vectors")))
        check_flags(self, "standardise")
        check_share(self, "validation_share")
        if self.validation_share == 0:
            raise refusal(self, "validation_share", "a number above 0")
