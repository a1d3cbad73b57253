"""Cards of the seven sets of Zhang, Zhao and LeCun (2015), each with equally frequent classes."""

from typing import Any

from course_lib.data.cards import Card, Download, Source

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
    whole = Source("canonical", (download,), reader=name)
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
    return Source("subset of the canonical archive", (download,), reader, **promised)


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
