"""Every reader: the rows of small archives that we write, what is damaged, and the real files."""

import hashlib
import json
import random
import tarfile
from collections import Counter

import pytest
from archives import carriers, tar_of, zip_of
from hypothesis import given
from hypothesis import strategies as st

from course_lib.data import readers
from course_lib.data.catalog import CARDS
from course_lib.data.readers import READERS, ZHANG_SETS, clean, read_tree, unescape
from course_lib.files import DataError

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="<"), min_size=1)


def zhang(name, train=b"", test=b""):
    folder, _ = ZHANG_SETS[name]
    files = {"readme.txt": b"\xff not read", "test.csv": test, "train.csv": train}
    return tar_of({f"{folder}/{file}": data for file, data in files.items()})


def news(*items):
    names = ("category", "headline", "short_description")
    lines = [
        item if isinstance(item, bytes) else json.dumps(dict(zip(names, item))).encode()
        for item in items
    ]
    return zip_of({readers.HUFFPOST_FILE: b"".join(line + b"\n" for line in lines)})


def treebank(*train, dev=(), test=()):
    files = {"train": train, "dev": dev, "test": test}
    return zip_of(
        {
            f"trees/{name}.txt": b"".join(line.encode() + b"\n" for line in lines)
            for name, lines in files.items()
        }
    )


def movies(*lines):
    inner = tar_of({readers.MOVIES_FILE: b"\r\n".join(line.encode() for line in lines)})
    return tar_of({readers.MOVIES_ARCHIVE: inner})


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """``read(reader, *archives)``: the rows of archives given as bytes."""
    folder = tmp_path_factory.mktemp("archives")

    def rows(reader, *archives):
        paths = [folder / f"archive {n}" for n, _ in enumerate(archives)]
        for path, data in zip(paths, archives):
            path.write_bytes(data)
        return list(READERS[reader](*paths))

    return rows


@given(st.lists(WORDS.map(str.strip).filter(bool)), st.data())
def test_clean_makes_texts_equal_that_differ_in_white_space_and_line_breaks_alone(words, data):
    gap = st.text(st.sampled_from(" \t\r\n\u00a0"), min_size=1)
    gaps = gap | st.sampled_from(["<br>", "<br/>", " <br /> ", "<br /><br />"])
    ways = ["".join(part for word in words for part in (data.draw(gaps), word)) for _ in "ab"]
    assert clean(ways[0]) == clean(ways[1]) == " ".join(" ".join(words).split())


GOOD = "(3 (2 It) (4 (2 is) (4 (3 very) (3 good))))"
NEUTRAL = "(2 (2 It) (2 (2 is) (2 (2 a) (2 (2 film) (2 .)))))"
ODD = r"(1 (1 (1 Mr.) (1 8" + "\xa0" + r"1\/2)) (1 (1 -LRB-) (1 (1 x-RRB-) (1 \*\*))))"
TOPICS = [
    *(("WORLD NEWS", 0), ("THE WORLDPOST", 0), ("WORLDPOST", 0), ("SPORTS", 1)),
    *(("BUSINESS", 2), ("MONEY", 2), ("SCIENCE", 3), ("TECH", 3)),
]
SCORES = {
    "-4": (0, 0),
    "-2": (0, 0),
    "-1.999": (1, 0),
    "-0.5": (1, 0),
    "-0.499": (2, 0),
    "0": (2, None),
    "-0.0": (2, None),
    "0.499": (2, 1),
    "0.5": (3, 1),
    "1.999": (3, 1),
    "2": (4, 1),
    "3.875": (4, 1),
    "4": (4, 1),
}
CASES = [
    (
        "acl_imdb",
        [
            tar_of(
                {
                    "aclImdb/README": b"not a review",
                    "aclImdb/train/labeledBow.feat": b"9 0:1",
                    "aclImdb/train/pos/0_9.txt": b"A <br /><br />Good  film.",
                    "aclImdb/train/neg/0_1.txt": "Trist, très triste.".encode(),
                    "aclImdb/train/unsup/0_0.txt": b"no label",
                    "aclImdb/test/neg/0_2.txt": b"",
                    "aclImdb/test/pos/0_10.txt": b"\tFine.\r\n",
                }
            )
        ],
        [
            ("train", "A Good film.", 1),
            ("train", "Trist, très triste.", 0),
            ("test", "", 0),
            ("test", "Fine.", 1),
        ],
    ),
    (
        "acl_imdb_unlabelled",
        [tar_of({"aclImdb/train/unsup/0_0.txt": b"no label"})],
        [("train", "no label", 0)],
    ),
    (
        "imdb_carriers",
        carriers(
            [
                ("Good, really.", 1, "imdb"),
                ("elsewhere", 1, "rotten_tomatoes"),
                ('The "best"\r\nfilm<br />', 0, "imdb"),
            ],
            [
                ('The  "best" film', "negative"),
                ("Left over,\n<br />alone", "positive"),
                ("Good, really.", "positive"),
                ("x" * 10**6, "negative"),
            ],
        ),
        [
            ("train", "Good, really.", 1),
            ("train", 'The "best" film', 0),
            ("test", "Left over, alone", 1),
            ("test", "x" * 10**6, 0),
        ],
    ),
    *(
        (name, [zhang(name, written)], [("train", text, 1)])
        for name, written, text in [
            (
                "amazon_full",
                b'"2","Title","One.\\n\\nTwo, ""quoted"".<br />"\n',
                'Title One. Two, "quoted".',
            ),
            ("amazon_full", b'"2","E:\\ or C:\\dos","\\o/"\n', "E:\\ or C:\\dos \\o/"),
            ("yelp_full", b'"2","He said \\""never\\"".\\nNever!"\n', 'He said "never". Never!'),
            ("yahoo_answers", b'"2","why?","","because\\nit is"\n', "why? because it is"),
            ("dbpedia", '"2","École"," A school in Évry."\n'.encode(), "École A school in Évry."),
            (
                "ag_news",
                b'"2","Stocks","They fell\\near $47 \\""far\\"" a barrel\\\\"\n',
                'Stocks They fell near $47 "far " a barrel',
            ),
            ("ag_news", b'"2","Oil &amp; gas","They\\$ #39;ll"\n', "Oil &amp; gas They $ #39;ll"),
            ("yelp_polarity", b"2,unquoted\n", "unquoted"),
            ("yelp_polarity", b'"2","two\nlines"\n', "two lines"),
            ("yelp_polarity", b'"2","last line without an end"', "last line without an end"),
            ("yelp_polarity", b'"2","carriage return"\r\n', "carriage return"),
            *(
                ("amazon_full", f'"2","{empty}",""\n'.encode(), "")
                for empty in ("", "\\n", "<br />")
            ),
        ]
    ),
    (
        "amazon_polarity",
        [zhang("amazon_polarity", b'"1","a","b"\n"2","c","d"\n', b'"2","e","f"\n')],
        [("test", "e f", 1), ("train", "a b", 0), ("train", "c d", 1)],
    ),
    (
        "huffpost",
        [
            news(
                ("POLITICS", "Vote", "Soon."),
                ("SPORTS", "", "No head."),
                ("TECH", "None", " "),
                ("TECH", "A9", " b  c"),
                ("SPORTS", "A9 b", "c"),
                *((topic, "To", f"be {n}") for n, (topic, _) in enumerate(TOPICS)),
            )
        ],
        [
            ("test", "A9 b c", 3),
            *(
                ("test" if n in (1, 3, 4, 7) else "train", f"To be {n}", label)
                for n, (_, label) in enumerate(TOPICS)
            ),
        ],
    ),
    (
        "sst5",
        [treebank(GOOD, NEUTRAL, GOOD, ODD, dev=["(0 bad)"], test=[NEUTRAL, "(4 good)"])],
        [
            ("train", "It is very good", 3),
            ("train", "is a film .", 2),
            ("train", "It is a film .", 2),
            ("train", "It is very good", 3),
            ("train", "Mr. 8\xa01/2 ( x-RRB- **", 1),
            ("validation", "bad", 0),
            ("test", "It is a film .", 2),
            ("test", "good", 4),
        ],
    ),
    (
        "sst5_all",
        [treebank(GOOD)],
        [
            ("train", "It", 2),
            ("train", "is", 2),
            ("train", "very", 3),
            ("train", "good", 3),
            ("train", "very good", 4),
            ("train", "is very good", 4),
            ("train", "It is very good", 3),
        ],
    ),
    (
        "sst5_all",
        [treebank("(1 (4 (0 So) (3 very)) (2 dull))")],
        [
            ("train", "So", 0),
            ("train", "very", 3),
            ("train", "So very", 4),
            ("train", "dull", 2),
            ("train", "So very dull", 1),
        ],
    ),
    (
        "sst2_sentences",
        [treebank(*(f"({n} (3 the) (1 {w}))" for n, w in enumerate("abcde")))],
        [
            ("train", "the a", 0),
            ("train", "the b", 0),
            ("train", "the d", 1),
            ("train", "the e", 1),
        ],
    ),
    (
        "movies5",
        [movies("1\t2.5\tA fine  film.", "2\t-1\tA fine film. ", "3\t1\tAnother.")],
        [("train", "A fine film.", 4), ("train", "Another.", 3)],
    ),
]


@pytest.mark.parametrize(("reader", "archives", "rows"), CASES)
def test_the_rows_of_an_archive(read, reader, archives, rows):
    assert read(reader, *archives) == rows


def test_scores_are_cut_alike_on_both_sides_of_0(read):
    for score, expected in SCORES.items():
        labels = [
            [row.label for row in read(name, movies(f"1\t{score}\tA film."))]
            for name in ("movies5", "movies2")
        ]
        assert labels == [[expected[0]], [] if expected[1] is None else [expected[1]]]


def test_links_in_an_archive_are_never_followed(tmp_path):
    (tmp_path / "secret").write_text("secret")
    with tarfile.open(tmp_path / "tree.tar.gz", "w:gz") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            entry = tarfile.TarInfo(f"aclImdb/train/pos/{ord(kind)}_9.txt")
            entry.type, entry.linkname = kind, str(tmp_path / "secret")
            archive.addfile(entry)
    assert list(READERS["acl_imdb"](tmp_path / "tree.tar.gz")) == []


@pytest.mark.parametrize(
    "line",
    [
        "",
        "  ",
        "(3 (2 It) (4 works)",
        "(3 (2 It) (4 works)))",
        "(3 good) (1 bad)",
        ")",
        "(3 good) bad",
        "good",
        "(5 good)",
        "(-1 good)",
        "(good)",
        "((3 good))",
        "()",
        "(",
        "(3 )",
        "(3 (2 It) (4))",
        "(٣ good)",
        "(12 good)",
    ],
)
def test_what_is_not_one_tree_is_refused(line):
    with pytest.raises((ValueError, LookupError)):
        read_tree(line)


def test_escapes_of_the_treebank_are_undone_and_nothing_else():
    plain = {
        "-LRB-": "(",
        "-RRB-": ")",
        r"and\/or": "and/or",
        r"\*\*": "**",
        "-lrb-": "-lrb-",
        "x-LRB-": "x-LRB-",
        "André": "André",
        "``": "``",
        "\\": "\\",
    }
    assert {word: unescape(word) for word in plain} == plain


@pytest.mark.parametrize(
    ("reader", "made", "shares"),
    [
        (
            "huffpost",
            lambda n: news(*(("TECH", f"Headline {i}", "Words.") for i in n)),
            {"train": 0.8, "test": 0.2},
        ),
        (
            "movies5",
            lambda n: movies(*(f"{i}\t{(i % 80 - 40) / 10}\tFilm {i}." for i in n)),
            {"train": 0.7, "validation": 0.1, "test": 0.2},
        ),
    ],
)
def test_a_split_of_ours_depends_on_the_text_alone(read, reader, made, shares):
    numbers = range(1, 3000)
    forward, backward = (read(reader, made(order)) for order in (numbers, numbers[::-1]))
    assert Counter(forward) == Counter(backward)
    found = Counter(row.split for row in forward)
    assert {split: rows / 3000 for split, rows in found.items()} == pytest.approx(shares, abs=0.03)
    if reader == "movies5":  # a sentence stands in the same split of both corpora
        assert {row[:2] for row in read("movies2", made(numbers))} < {row[:2] for row in forward}


ITEM = b'{"category": "TECH", "headline": "a", "short_description": "b"}'
BAD = [
    *(
        ("amazon_full", zhang("amazon_full", b'"1","a\nb","b"\n' + row + b'"1","a","b"\n' * 3))
        for row in [
            b"\n",
            b'"a","b","c"\n',
            '"3","a","café"\n'.encode("latin-1"),
            b'"3","a" b,"c"\n',
            b'"3","a","never closed\n',
        ]
    ),
    *(
        ("imdb_carriers", carriers((), b"review,sentiment\r\nfine,positive\r\n" + row))
        for row in [
            b"fine\r\n",
            b"fine,Positive\r\n",
            b'"fine"x,positive\r\n',
            b'"never closed,positive\r\n',
            b"\xe9,negative\r\n",
        ]
    ),
    *(("huffpost", news(ITEM, line, ITEM)) for line in [b"{", b'{"category": "TECH"}', b"caf\xe9"]),
    ("sst5", treebank(GOOD, GOOD, "(3 good", GOOD)),
    ("sst2", treebank(test=(GOOD, GOOD, "(5 good)"))),
    *(
        ("movies5", movies("1\t1\tA film.", "2\t1\tB", line, "3\t1\tC"))
        for line in ["", "7", "7\t1.0", "7\tmuch\tA film.", "7\t1.0\tA\tfilm."]
    ),
]


# an archive's bytes hold the time, and the workers of a parallel run must give a test one name
@pytest.mark.parametrize(
    ("reader", "archives"), BAD, ids=lambda value: value if isinstance(value, str) else "archive"
)
def test_a_bad_line_is_an_error_that_names_the_file(read, reader, archives):
    archives = archives if isinstance(archives, tuple) else (archives,)
    with pytest.raises(DataError, match=r"archive \d: cannot be read, truncated or damaged \("):
        read(reader, *archives)


@pytest.mark.parametrize("line", [b"x" * 200 + b"\n", b"x"])
def test_an_open_quote_does_not_swallow_the_file(read, monkeypatch, line):
    """Whatever follows holds no quote, so nothing but the length tells."""
    monkeypatch.setattr(readers, "LONGEST", 1000)
    rest = line * (100_000 // len(line))
    with pytest.raises(DataError, match=r"archive 0: .*field larger than field limit"):
        read("yelp_full", zhang("yelp_full", b'"1","fine"\n"2","open' + rest))


@pytest.mark.full
@pytest.mark.parametrize("reader", ["acl_imdb", "imdb_carriers", "huffpost", "sst5", "movies5"])
def test_a_damaged_archive_raises_nothing_but_an_error_that_names_the_file(read, reader):
    noise = random.Random(0)
    first, *others = next(archives for name, archives, _ in CASES if name == reader)
    if reader == "imdb_carriers":
        first, *others = carriers([(noise.randbytes(100).hex(), 1, "imdb")])
    with pytest.raises(DataError, match="archive 0: cannot be read"):
        read(reader, b"<html>404</html>" * 100, *others)
    refused = 0
    cut = [first[: int(len(first) * share)] for share in (0, 0.01, 0.3, 0.6, 0.9)]
    flipped = [first[:n] + bytes([first[n] ^ 0x55]) + first[n + 1 :] for n in range(len(first))]
    for data in cut + flipped[:: max(1, len(first) // 300)]:
        try:
            read(reader, data, *others)
        except DataError as error:
            refused += "archive 0: " in str(error)
    assert refused > 20


def test_text_that_is_not_utf8_and_a_missing_member_are_named_with_the_archive(read):
    with pytest.raises(DataError, match=r"archive 0: cannot be read.* can't decode byte 0xe9"):
        read("acl_imdb", tar_of({"aclImdb/test/pos/7_8.txt": b"caf\xe9 noir"}))
    with pytest.raises(DataError, match=r"archive 0: cannot be read.*trees/dev\.txt"):
        read("sst5", zip_of({"trees/train.txt": b""}))


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


SOURCES = [
    (name, number)
    for name, card in CARDS.items()
    if card.kind == "corpus"
    for number, source in enumerate(card.sources)
]


@pytest.mark.full
@pytest.mark.parametrize(("name", "number"), SOURCES)
def test_real_files_have_the_counts_and_the_content_of_the_catalog(real_file, name, number):
    source = CARDS[name].sources[number]
    card = CARDS[name].served_by(source)
    rows = list(READERS[source.reader](*(real_file(item.filename) for item in source.downloads)))
    counts = Counter((row.split, row.label) for row in rows)
    for split, sizes in card.sizes.items():
        assert tuple(counts.pop((split, label)) for label in range(len(card.classes))) == sizes
    assert not counts and card.content in (None, digest_of(rows, card.sizes))
    texts = {split: {row.text for row in rows if row.split == split} for split in card.sizes}
    if name == "imdb":
        assert len(texts["train"] & texts["test"]) == 123
    if name in ("huffpost", "movies2", "movies5"):
        assert len(set.union(*texts.values())) == len(rows)
