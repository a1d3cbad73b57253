"""What each dataset is, where it comes from, and how we know that we have the right one."""

from pathlib import Path

from course_lib.data.cards import Card, Download, Source
from course_lib.data.movie_cards import IMDB, IMDB_UNLABELLED, SENTENCE_CARDS
from course_lib.data.own import OWN, own_card
from course_lib.data.vector_cards import VECTOR_CARDS
from course_lib.data.zhang_cards import ZHANG_CARDS
from course_lib.files import DataError

TOY = Card(
    name="toy",
    title="Made-up reviews",
    task="sentiment of a short generated review",
    classes=("negative", "positive"),
    tokeniser="untrained",
    sizes={"train": (300, 300), "test": (100, 100)},
    terms="Written for this course (MIT).",
    citation="course_lib.data.toy",
)

PUNKT = Card(
    name="punkt_tab",
    kind="splitter",
    title="Punkt sentence splitter, English parameters",
    task="where a sentence ends",
    terms="Apache 2.0 (NLTK data).",
    citation="Kiss and Strunk (2006), Unsupervised Multilingual Sentence Boundary Detection.",
    sources=(
        Source(
            "package registry",
            (
                Download(
                    "llama_index_core-0.12.52-py3-none-any.whl",
                    "sha256:c75719bb46a445c2917b1c6631c633247b4a3a0a0b82b8c166df7565bd0ff241",
                    7_649_966,
                    requirement="llama-index-core==0.12.52",
                ),
            ),
            member="llama_index/core/_static/nltk_cache/tokenizers/punkt_tab/english/",
        ),
    ),
)

HUFFPOST = Card(
    name="huffpost",
    title="HuffPost news, in the topics of AG News",
    task="topic of a headline with its short description",
    classes=("World", "Sports", "Business", "Sci/Tech"),
    sizes={"train": (6_592, 3_517, 5_530, 3_071), "test": (1_609, 897, 1_355, 786)},
    content="49097b4b7abfb9f83271d3d26bf5d212155994df62dd01f26b59a98bbf0e460d",
    terms="CC BY 4.0 by its author for the collection; the texts are HuffPost's. Cite it.",
    citation="Misra (2022), News Category Dataset, arXiv:2209.11429.",
    sources=(
        Source(
            "package registry",
            (
                Download(
                    "uconndatascienceclub-2025.1.7-py3-none-any.whl",
                    "sha256:beac1e1522408c114f09ec710fa019bd0a707e7c0693857419a71225ceccf898",
                    27_558_917,
                    requirement="uconndatascienceclub==2025.1.7",
                ),
            ),
            reader="huffpost",
        ),
    ),
)

CARDS = {
    card.name: card
    for card in (
        IMDB,
        TOY,
        HUFFPOST,
        *SENTENCE_CARDS,
        *ZHANG_CARDS,
        IMDB_UNLABELLED,
        *VECTOR_CARDS,
        PUNKT,
    )
}


def card(name: str, kind: str | None = None, root: Path | None = None) -> Card:
    """The card of that name, and of that ``kind``, in the catalog or of texts of one's own;
    ``DataError`` lists the names there are."""
    if kind != "vectors" and OWN.fullmatch(name):
        return own_card(name, root)
    names = names_of(kind) if kind else list(CARDS)
    if name not in names:
        raise DataError(f"no {kind or 'dataset'} {name!r}; the catalog has: {', '.join(names)}")
    return CARDS[name]


def names_of(kind: str) -> list[str]:
    """The names of all cards of that kind, in the order of the catalog."""
    return [card.name for card in CARDS.values() if card.kind == kind]
