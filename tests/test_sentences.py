"""The Stanford Sentiment Treebank, and the scored movie sentences that stand in for it."""

import io
import tarfile
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.data import catalog
from course_lib.data.catalog import CARDS
from course_lib.data.corpus import load_corpus
from course_lib.data.readers import MOVIES_ARCHIVE, MOVIES_FILE, READERS, Row, read_movies, read_sst
from course_lib.data.trees import Phrase, read_tree, unescape
from course_lib.files import DataError

SST_ARCHIVE = CARDS["sst2"].sources[0].downloads[0]
SENTENCES = ("sst2", "sst5", "sst5_all", "sst2_sentences", "movies2", "movies5")
GOOD = "(3 (2 It) (4 (2 is) (4 (3 very) (3 good))))"
NEUTRAL = "(2 (2 It) (2 (2 is) (2 (2 a) (2 (2 film) (2 .)))))"
BAD = {
    "": "no tree; is the line empty?",
    "  ": "no tree; is the line empty?",
    "(3 (2 It) (4 works)": "unbalanced bracket: 1 are not closed",
    "(3 (2 It) (4 works": "unbalanced bracket: 2 are not closed",
    "(3 (2 It) (4 works)))": "unbalanced bracket: ')' follows the end",
    "(3 good) (1 bad)": "unbalanced bracket: '(' follows the end",
    "(3 good) bad": "unbalanced bracket: 'bad' follows the end",
    ")": "begins with a bracket, not with ')'",
    "good": "begins with a bracket, not with 'good'",
    "(5 good)": "label '5' is none of 0 to 4",
    "(-1 good)": "label '-1' is none of",
    "(٣ good)": "label '٣' is none of",
    "(good)": "label 'good' is none of",
    "((3 good))": "label '(' is none of",
    "()": "label ')' is none of",
    "(": "label 'nothing' is none of",
    "(3 )": "a node without a word",
    "(3 (2 It) (4))": "a node without a word",
}
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="()\\", exclude_categories=["Cc"]))
LEAVES = st.tuples(
    st.integers(0, 4),
    WORDS.filter(lambda word: word and " " not in word and word not in ("-LRB-", "-RRB-")),
)
TREES = st.recursive(
    LEAVES, lambda trees: st.tuples(st.integers(0, 4), trees, trees), max_leaves=12
)


def written(tree):
    label, *parts = tree
    inner = parts[0] if isinstance(parts[0], str) else " ".join(map(written, parts))
    return f"({label} {inner})"


def phrases(tree):
    """All nodes by recursion: the last one is the whole tree."""
    label, *parts = tree
    if isinstance(parts[0], str):
        return [Phrase(label, parts)]
    left, right = map(phrases, parts)
    return [*left, *right, Phrase(label, left[-1].words + right[-1].words)]


@given(TREES)
def test_every_node_has_its_label_and_its_words(tree):
    assert read_tree(written(tree)) == phrases(tree)


def test_inner_phrases_come_first_and_the_sentence_last():
    assert read_tree(GOOD) == [
        (2, ["It"]), (2, ["is"]), (3, ["very"]), (3, ["good"]), (4, ["very", "good"]),
        (4, ["is", "very", "good"]), (3, ["It", "is", "very", "good"]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("word", "plain"),
    [
        ("-LRB-", "("), ("-RRB-", ")"), (r"and\/or", "and/or"), (r"\*\*", "**"), (r"9\/11", "9/11"),
        ("-lrb-", "-lrb-"), ("x-LRB-", "x-LRB-"), ("André", "André"), ("``", "``"), ("\\", "\\"),
        ("8\xa01\\/2", "8\xa01/2"),
    ],
)  # fmt: skip
def test_escapes_of_the_treebank_are_undone_and_nothing_else(word, plain):
    assert unescape(word) == plain
    assert read_tree(f"(2 (1 {word}) (3 is))")[-1] == (2, [plain, "is"])


@pytest.mark.parametrize("line", BAD)
def test_what_is_not_one_tree_is_refused_with_its_reason(line):
    with pytest.raises(ValueError) as error:
        read_tree(line)
    assert BAD[line] in str(error.value)


@pytest.fixture
def archive_of(tmp_path, make_zip):
    """Writes the archive from the bytes or lines of its files (None: leave the file out)."""

    def make(train=(GOOD,), dev=(GOOD,), test=(GOOD,)):
        files = {"train": train, "dev": dev, "test": test}
        return make_zip(
            tmp_path / "trees.zip",
            {
                f"trees/{name}.txt": lines
                if isinstance(lines, bytes)
                else "".join(f"{line}\n" for line in lines).encode()
                for name, lines in files.items()
                if lines is not None
            },
        )

    return make


def test_phrases_are_for_training_and_sentences_for_everything(archive_of):
    archive = archive_of(train=(GOOD, NEUTRAL, GOOD), dev=("(0 bad)",), test=(NEUTRAL, "(4 good)"))
    rows = list(read_sst(archive, classes=5, shortest=3))
    assert rows == [
        Row("train", "is very good", 4), Row("train", "It is very good", 3),
        Row("train", "a film .", 2), Row("train", "is a film .", 2),
        Row("train", "It is a film .", 2),
        Row("train", "is very good", 4), Row("train", "It is very good", 3),
        Row("validation", "bad", 0),
        Row("test", "It is a film .", 2), Row("test", "good", 4),
    ]  # fmt: skip


def test_training_phrases_have_four_words_unless_told_otherwise(archive_of):
    lengths = [len(row.text.split()) for row in read_sst(archive_of(("(1 bad)", NEUTRAL)), 5)]
    assert lengths[:3] == [1, 4, 5]


def test_two_classes_leave_neutral_phrases_and_sentences_out(archive_of):
    trees = [f"({label} (3 the) (1 {word}))" for label, word in enumerate("abcde")]
    rows = list(read_sst(archive_of(trees, trees, trees), classes=2, shortest=1))
    whole = [("the a", 0), ("the b", 0), ("the d", 1), ("the e", 1)]
    for split in ("validation", "test"):
        assert [(row.text, row.label) for row in rows if row.split == split] == whole
    train = Counter((row.text, row.label) for row in rows if row.split == "train")
    leaves = {("the", 1): 5} | {(word, 0): 1 for word in "abcde"}
    assert train == Counter(leaves) + Counter(whole)


@pytest.mark.parametrize("line", BAD)
@pytest.mark.parametrize("name", ["train", "dev", "test"])
def test_bad_line_is_named_with_file_and_line(archive_of, name, line):
    archive = archive_of(**{name: (GOOD, GOOD, line, GOOD)})
    with pytest.raises(DataError) as error:
        list(read_sst(archive, 5))
    assert str(error.value).startswith(f"{archive}: trees/{name}.txt line 3: ")
    assert BAD[line] in str(error.value)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_last_line_may_end_in_any_way(archive_of, end):
    assert len(list(read_sst(archive_of(GOOD.encode() + end), 5))) == 3


def test_missing_file_is_named(archive_of):
    with pytest.raises(DataError, match=r"trees\.zip: cannot be read.*trees/test\.txt"):
        list(read_sst(archive_of(test=None), 5))


def test_tokens_are_the_trees_own_and_need_no_splitter(
    archive_of, tmp_path, monkeypatch, no_network
):
    odd = r"(1 (1 (1 Mr.) (1 8" + "\xa0" + r"1\/2)) (1 (1 ca) (1 (1 n't) (1 (1 -LRB-) (1 ``)))))"
    archive = archive_of((odd,), (odd,), (odd,))
    sizes = {"train": (2, 0), "validation": (1, 0), "test": (1, 0)}
    card = replace(CARDS["sst2"], sizes=sizes, content=None)
    monkeypatch.setitem(catalog.CARDS, "sst2", card)
    monkeypatch.setenv("COURSE_DATA_MIRROR", str(archive.parent))
    archive.rename(archive.parent / SST_ARCHIVE.filename)
    corpus = load_corpus("sst2", root=tmp_path / "root")
    (row,) = corpus.splits["test"]
    assert row["tokens"] == ["Mr.", "8\xa01/2", "ca", "n't", "(", "``"]
    assert row["sentence_lengths"] == [6]
    assert sorted(map(len, corpus.splits["train"]["tokens"])) == [4, 6]
    assert corpus.provenance.files[SST_ARCHIVE.filename].startswith("sha256:")


def counts_of(name, path):
    """Class counts of every split, as the card writes them."""
    counts = Counter((row.split, row.label) for row in READERS[name](path))
    card = CARDS[name]
    labels = range(len(card.classes))
    return {split: tuple(counts[split, label] for label in labels) for split in card.sizes}


@pytest.mark.parametrize("name", SENTENCES)
def test_real_files_have_the_counts_of_the_catalog(real_file, name):
    card = CARDS[name]
    (download,) = card.sources[0].downloads
    assert counts_of(card.name, real_file(download.filename)) == card.sizes


def test_treebank_has_the_published_sizes():
    sentences = {"sst2": (872, 1_821), "sst5": (1_101, 2_210), "sst5_all": (1_101, 2_210)}
    for name, sizes in sentences.items():
        assert tuple(sum(CARDS[name].sizes[split]) for split in ("validation", "test")) == sizes
    assert sum(CARDS["sst5_all"].sizes["train"]) == 318_582
    assert sum(CARDS["sst2_sentences"].sizes["train"]) == 6_920


@pytest.mark.parametrize(
    ("shortest", "classes", "rows", "distinct"),
    [
        (1000, 5, 8_544, 8_534), (1000, 2, 6_920, 6_911),
        (5, 5, 79_239, 79_111), (5, 2, 49_982, 49_933),
        (4, 5, 93_703, 93_296), (4, 2, 56_405, 56_283),
        (3, 5, 116_688, 114_443), (3, 2, 64_910, 64_446),
        (2, 5, 155_019, 140_994), (2, 2, 75_646, 72_904),
        (1, 5, 318_582, 159_274), (1, 2, 98_794, 77_616),
    ],
)  # fmt: skip
def test_training_rows_by_their_shortest_phrase_are_those_of_the_data_card(
    real_file, shortest, classes, rows, distinct
):
    found = list(read_sst(real_file(SST_ARCHIVE.filename), classes, shortest))
    train = [row for row in found if row.split == "train"]
    assert (len(train), len(set(train))) == (rows, distinct)


def test_real_corpora_hold_the_rows_that_the_catalog_promises(real_file, tmp_path, monkeypatch):
    """Preparing verifies counts and content; the tokens joined by blanks are the text."""
    monkeypatch.setenv("COURSE_DATA_MIRROR", str(real_file(SST_ARCHIVE.filename).parent))
    corpus = load_corpus("sst2", workers=1, root=tmp_path)
    rows = corpus.splits["validation"]
    assert corpus.provenance.content == CARDS["sst2"].content
    assert [" ".join(tokens) for tokens in rows["tokens"]] == rows["text"][:]


@pytest.fixture
def package_of(tmp_path):
    """Writes the package from its lines, or from the bytes of its file."""

    def make(lines):
        data = lines if isinstance(lines, bytes) else "\r\n".join(lines).encode()
        inner = tar_of(MOVIES_FILE, data)
        (tmp_path / "movies.tar.gz").write_bytes(tar_of(MOVIES_ARCHIVE, inner))
        return tmp_path / "movies.tar.gz"

    return make


def tar_of(name, data):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return file.getvalue()


@pytest.mark.parametrize(
    ("score", "five", "two"),
    [
        ("-4", 0, 0), ("-2", 0, 0), ("-1.999", 1, 0), ("-0.5", 1, 0), ("-0.499", 2, 0),
        ("0", 2, None), ("-0.0", 2, None), ("0.499", 2, 1), ("0.5", 3, 1), ("1.999", 3, 1),
        ("2", 4, 1), ("3.875", 4, 1), ("4", 4, 1),
    ],
)  # fmt: skip
def test_scores_are_cut_alike_on_both_sides_of_0(package_of, score, five, two):
    package = package_of([f"1\t{score}\tA film."])
    assert [row.label for row in read_movies(package, 5)] == [five]
    assert [row.label for row in read_movies(package, 2)] == ([] if two is None else [two])


def test_equal_sentences_are_kept_once_whatever_their_score_and_white_space(package_of):
    package = package_of(["1\t2.5\tA fine  film.", "2\t-1\tA fine film. ", "3\t1\tAnother."])
    assert [(row.text, row.label) for row in read_movies(package, 5)] == [
        ("A fine film.", 4),
        ("Another.", 3),
    ]


def test_movie_split_depends_on_the_text_alone(package_of):
    lines = [f"{i}\t{(i % 81 - 40) / 10}\tFilm number {i}." for i in range(1, 3000)]
    forward, backward, two = (
        {row.text: row.split for row in read_movies(package_of(chosen), classes)}
        for chosen, classes in ((lines, 5), (lines[::-1], 5), (lines, 2))
    )
    assert forward == backward
    assert two.items() < forward.items()  # a sentence stands in the same split of both corpora
    shares = {split: count / 3000 for split, count in Counter(forward.values()).items()}
    assert shares == pytest.approx({"train": 0.7, "validation": 0.1, "test": 0.2}, abs=0.03)


@pytest.mark.parametrize(
    "line", ["", "7", "7\t1.0", "7\tmuch\tA film.", "7\tnan\tA film.", "7\t4.1\tA film.",
             "7\t1.0\t ", "7\t1.0\tA\tfilm."],
)  # fmt: skip
def test_line_that_is_no_scored_sentence_is_named(package_of, line):
    package = package_of(["1\t1.0\tA film.", line, "3\t1.0\tAnother."])
    with pytest.raises(DataError, match=r"movies\.tar\.gz: .*line 2: not a scored sentence"):
        list(read_movies(package, 5))


def test_real_movie_sentences_stand_in_one_split_each(real_file):
    package = real_file(CARDS["movies2"].sources[0].downloads[0].filename)
    for name, total in (("movies2", 10_566), ("movies5", 10_603)):
        rows = list(READERS[name](package))
        assert len(rows) == len({row.text for row in rows}) == total
