"""The seven sets of Zhang et al. (2015) and the news topics that stand in for AG News."""

import csv
import hashlib
import io
import json
import tracemalloc
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.data.catalog import CARDS
from course_lib.data.readers import (
    HUFFPOST_FILE,
    LONGEST_RECORD,
    READERS,
    ZHANG_SETS,
    Row,
    read_huffpost,
)
from course_lib.files import DataError

FIELDS = st.text(st.characters(codec="utf-8", exclude_characters='\\<\0"'), max_size=20)
BAD = {
    b'"3"\n': "line 3: 1 columns, not 3",
    b'"3","only a title"\n': "line 3: 2 columns, not 3",
    b'"3","a","b","c"\n': "line 3: 4 columns, not 3",
    b"\n": "line 3: 0 columns, not 3",
    b'"0","a","b"\n': "line 3: class '0' is none of 1 to 5",
    b'"6","a","b"\n': "line 3: class '6' is none of 1 to 5",
    b'"-1","a","b"\n': "line 3: class '-1' is none of",
    b'"two","a","b"\n': "line 3: class 'two' is none of",
    b'"","a","b"\n': "line 3: class '' is none of",
    b'" 2","a","b"\n': "line 3: class ' 2' is none of",
    '"٣","a","b"\n'.encode(): "line 3: class '٣' is none of",
    b'"3","a\0","b"\n': "line 3: a NUL byte",
    '"3","a","b"\n'.encode("utf-16-le"): "line 3: a NUL byte",
    '"3","a","café"\n'.encode("latin-1"): "line 3: not UTF-8 at byte 12 of the line",
    b'"3","a" b,"c"\n': "line 3: ',' expected after '\"'",
    b'"3","a","never closed\n': "line 3: ",
    b'"3","a","never closed\n"4","the next","row"\n': "line 3: ",
}


def zhang_bytes(rows):
    """Rows [(class from 1, fields)] as the authors write them: all quoted, quotes doubled."""
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([str(number), *fields] for number, fields in rows)
    return file.getvalue().encode()


@pytest.fixture(scope="module")
def archive_of(tmp_path_factory, make_tar):
    """Writes the archive of a set from the bytes of its two files (None: leave the file out)."""

    def make(name, train=b"", test=b"", more=None):
        files = {"test": test, "train": train}
        members = {
            f"{ZHANG_SETS[name].folder}/{split}.csv": data
            for split, data in files.items()
            if data is not None
        }
        readme = {f"{ZHANG_SETS[name].folder}/readme.txt": b"\xff not read"}
        return make_tar(tmp_path_factory.mktemp(name) / "set.tgz", readme | members | (more or {}))

    return make


def test_every_card_of_the_seven_has_a_layout_a_reader_and_balanced_classes():
    rows = {card.name: tuple(map(sum, card.sizes.values())) for card in map(CARDS.get, ZHANG_SETS)}
    assert rows == {
        "ag_news": (120_000, 7_600),
        "dbpedia": (560_000, 70_000),
        "yahoo_answers": (1_400_000, 60_000),
        "yelp_polarity": (560_000, 38_000),
        "yelp_full": (650_000, 50_000),
        "amazon_full": (3_000_000, 650_000),
        "amazon_polarity": (3_600_000, 400_000),
    }
    for card in map(CARDS.get, ZHANG_SETS):
        assert len(card.classes) == ZHANG_SETS[card.name].classes
        assert all(len(set(sizes)) == 1 for sizes in card.sizes.values())
        assert {source.reader for source in card.sources} == {card.name}
        (download,) = card.sources[0].downloads
        assert download.filename == f"{ZHANG_SETS[card.name].folder}.tgz"
        assert card.on_demand


@pytest.mark.parametrize("name", ZHANG_SETS)
@given(data=st.data())
def test_rows_come_out_as_they_were_written(archive_of, name, data):
    layout = ZHANG_SETS[name]
    row = st.tuples(
        st.integers(1, layout.classes),
        st.lists(FIELDS, min_size=layout.columns, max_size=layout.columns),
    )
    train, test = (data.draw(st.lists(row, max_size=4)) for _ in "ab")
    rows = READERS[name](archive_of(name, zhang_bytes(train), zhang_bytes(test)))
    assert Counter(rows) == Counter(
        Row(split, " ".join(" ".join(fields).split()), number - 1)
        for split, written in (("train", train), ("test", test))
        for number, fields in written
    )


@pytest.mark.parametrize(
    ("name", "written", "text"),
    [
        ("amazon_full", b'"2","Title","One.\\n\\nTwo, ""quoted"".<br />"\n',
         'Title One. Two, "quoted".'),
        ("amazon_full", b'"2","E:\\ or C:\\dos","\\o/"\n', "E:\\ or C:\\dos \\o/"),
        ("yelp_full", b'"2","He said \\""never\\"".\\nNever!"\n', 'He said "never". Never!'),
        ("yahoo_answers", b'"2","why?","","because\\nit is"\n', "why? because it is"),
        ("dbpedia", '"2","École"," A school in Évry."\n'.encode(), "École A school in Évry."),
        ("ag_news", b'"2","Stocks","They fell\\near $47 \\""far\\"" a barrel\\\\"\n',
         'Stocks They fell near $47 "far " a barrel'),
        ("ag_news", b'"2","Oil &amp; gas","They\\$ #39;ll"\n', "Oil &amp; gas They $ #39;ll"),
        ("yelp_polarity", b"2,unquoted\n", "unquoted"),
        ("yelp_polarity", b'"2","two\nlines"\n', "two lines"),
        ("yelp_polarity", b'"2","last line without an end"', "last line without an end"),
        ("yelp_polarity", b'"2","carriage return"\r\n', "carriage return"),
    ],
)  # fmt: skip
def test_escapes_of_the_canonical_form(archive_of, name, written, text):
    assert list(READERS[name](archive_of(name, written))) == [Row("train", text, 1)]


@pytest.mark.parametrize("fields", ["", " ", "\\n", "<br />"])
def test_row_without_a_word_stays_as_an_empty_text(archive_of, fields):
    written = f'"1","{fields}",""\n"2","a","b"\n'.encode()
    assert list(READERS["amazon_full"](archive_of("amazon_full", written))) == [
        Row("train", "", 0),
        Row("train", "a b", 1),
    ]


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_bad_row_is_named_with_file_and_line(archive_of, bad):
    good = b'"1","a","b"\n'
    archive = archive_of("amazon_full", good * 2 + bad + good * 3)
    with pytest.raises(DataError) as error:
        list(READERS["amazon_full"](archive))
    assert f"{archive}: amazon_review_full_csv/train.csv {BAD[bad]}" in str(error.value)


def test_line_numbers_count_lines_not_records(archive_of):
    written = b'"1","a\nb\nc","d"\n"1","e","f"\n"9","g","h"\n'
    with pytest.raises(DataError, match=r"train\.csv line 5: class '9'"):
        list(READERS["amazon_full"](archive_of("amazon_full", written)))


@pytest.mark.parametrize("line", [b"x" * 200 + b"\n", b"x"])
def test_open_quote_is_named_where_it_begins_before_it_swallows_the_file(archive_of, line):
    """Whatever follows holds no quote, so nothing but the length tells."""
    rest = line * (8 * LONGEST_RECORD // len(line))
    archive = archive_of("yelp_full", b'"1","fine"\n"2","open' + rest)
    tracemalloc.start()
    with pytest.raises(DataError, match=r"train\.csv line 2: the record that begins here .*quote"):
        list(READERS["yelp_full"](archive))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * LONGEST_RECORD  # a piece, its text, and what csv keeps of it


@pytest.mark.parametrize("split", ["train", "test"])
def test_missing_member_is_named(archive_of, split):
    archive = archive_of("dbpedia", **{split: None})
    with pytest.raises(DataError, match=rf"set\.tgz: has no dbpedia_csv/{split}\.csv"):
        list(READERS["dbpedia"](archive))


def test_archive_with_a_member_outside_itself_is_refused(archive_of):
    archive = archive_of("ag_news", more={"ag_news_csv/../../evil.csv": b""})
    with pytest.raises(DataError, match="points outside the archive"):
        list(READERS["ag_news"](archive))


NEWS = [
    ("WORLD NEWS", "Summit ends", "Nobody won."),
    ("THE WORLDPOST", "Talks", "On  again."),
    ("WORLDPOST", "Borders", "Open."),
    ("SPORTS", "Final", "Two to one."),
    ("BUSINESS", "Shares", "Up."),
    ("MONEY", "Savings", "Down."),
    ("SCIENCE", "Comet", "Seen."),
    ("TECH", "Phone", "Sold."),
]


@pytest.fixture(scope="module")
def news_of(tmp_path_factory, make_zip):
    """Writes the package from its items, or from the bytes of its file."""

    def make(items):
        if not isinstance(items, bytes):
            names = ("category", "headline", "short_description")
            lines = (json.dumps(dict(zip(names, item, strict=True))) for item in items)
            items = "".join(f"{line}\n" for line in lines).encode()
        return make_zip(tmp_path_factory.mktemp("news") / "news.whl", {HUFFPOST_FILE: items})

    return make


def test_news_of_four_topics_are_kept_with_headline_and_description(news_of):
    others = [("POLITICS", "Vote", "Soon."), ("SPORTS", "", "No headline."), ("TECH", "None", " ")]
    rows = list(read_huffpost(news_of(others + NEWS)))
    assert [(row.text, row.label) for row in rows] == [
        ("Summit ends Nobody won.", 0), ("Talks On again.", 0), ("Borders Open.", 0),
        ("Final Two to one.", 1), ("Shares Up.", 2), ("Savings Down.", 2), ("Comet Seen.", 3),
        ("Phone Sold.", 3),
    ]  # fmt: skip
    assert CARDS["huffpost"].classes == CARDS["ag_news"].classes


def test_equal_news_are_kept_once_whatever_their_topic_and_white_space(news_of):
    items = [("SPORTS", "A", "b c"), ("TECH", "A b", "c"), ("SPORTS", "A ", " b  c")]
    assert [(row.text, row.label) for row in read_huffpost(news_of(items))] == [("A b c", 1)]


def test_news_split_depends_on_the_text_alone_and_a_fifth_is_test(news_of):
    items = [("TECH", f"Headline {i}", "Words.") for i in range(2000)]
    forward = list(read_huffpost(news_of(items)))
    backward = list(read_huffpost(news_of(items[::-1])))
    assert Counter(forward) == Counter(backward)
    assert 330 < sum(row.split == "test" for row in forward) < 470


@pytest.mark.parametrize(
    "line",
    [b"{", b"[]", b"7", b'{"category": "TECH"}', b"caf\xe9",
     b'{"category": "TECH", "headline": null, "short_description": ""}',
     b'{"category": [], "headline": "", "short_description": ""}'],
)  # fmt: skip
def test_line_that_is_no_news_item_is_named(news_of, line):
    item = b'{"category": "TECH", "headline": "a", "short_description": "b"}\n'
    package = news_of(item * 2 + line + b"\n" + item)
    with pytest.raises(DataError, match=r"news\.whl: .*v3\.json line 3: not a news item"):
        list(read_huffpost(package))


def digest_of(rows, splits):
    """sha256 over all rows in the order of a salted hash of their text, then their label."""
    digest = hashlib.sha256()
    for split in splits:
        chosen = [
            (hashlib.sha256(f"2016:{row.text}".encode()).digest()[:8], row.label, row.text)
            for row in rows
            if row.split == split
        ]
        digest.update(f"{split}:{len(chosen)}\n".encode())
        digest.update("".join(f"{label}\t{text}\n" for _, label, text in sorted(chosen)).encode())
    return digest.hexdigest()


@pytest.mark.parametrize("name", ["ag_news", "amazon_full"])
def test_real_subset_has_the_counts_and_the_content_of_the_catalog(real_file, name):
    card = CARDS[name]
    (subset,) = (source for source in card.sources if source.subset)
    rows = list(READERS[card.name](real_file(subset.downloads[0].filename)))
    counts = Counter((row.split, row.label) for row in rows)
    for split, sizes in subset.sizes.items():
        assert tuple(counts[split, label] for label in range(len(card.classes))) == sizes
    assert digest_of(rows, subset.sizes) == subset.content


def test_real_news_have_the_counts_of_the_catalog_and_no_text_twice(real_file):
    card = CARDS["huffpost"]
    (download,) = card.sources[0].downloads
    rows = list(read_huffpost(real_file(download.filename)))
    counts = Counter((row.split, row.label) for row in rows)
    assert len(rows) == len({row.text for row in rows}) == 23_357
    for split, sizes in card.sizes.items():
        assert tuple(counts[split, label] for label in range(4)) == sizes
    assert digest_of(rows, card.sizes) == card.content
