"""From rows to a prepared corpus: its order, what is verified, and what a failure leaves behind."""

import hashlib
import json
import random
import shutil
from collections import Counter

import pytest
from archives import carriers, saved, tar_of
from strategies import ORIGIN, files_below, made_up_card

from course_lib.data import catalog, corpus
from course_lib.data.catalog import CARDS, Card, Download, Source
from course_lib.data.readers import Row
from course_lib.data.sources import NotObtained
from course_lib.files import WORKROOM, DataError


def key_of(text):
    return hashlib.sha256(f"2016:{text}".encode()).digest()[:8]


def in_order(rows):
    """Texts and labels of each split in the order of a corpus, and the digest of them all."""
    splits = {split: [] for split in ("train", "validation", "test")}
    for split, text, label in sorted(rows, key=lambda row: (key_of(row[1]), row[2])):
        splits[split].append((text, label))
    splits = {split: pairs for split, pairs in splits.items() if pairs}
    lines = []
    for split, pairs in splits.items():
        lines += [f"{split}:{len(pairs)}\n", *(f"{label}\t{text}\n" for text, label in pairs)]
    return splits, hashlib.sha256("".join(lines).encode()).hexdigest()


def rows_of(splits):
    return {
        split: list(zip(rows["text"], rows["label"], strict=True)) for split, rows in splits.items()
    }


@pytest.fixture
def prepared_from(tmp_path):
    """``prepared_from(rows, **card)``: the splits of rows that are prepared in a new folder."""

    def prepared(rows, workers=None, **card):
        folder = tmp_path / "p" / str(sum(1 for _ in tmp_path.glob("p/*")))
        card = made_up_card(rows, **card)
        corpus.prepare(card, lambda: iter(rows), ORIGIN, folder, workers=workers)
        return dict(corpus.datasets.load_from_disk(str(folder / "splits")))

    return prepared


@pytest.mark.parametrize(("part", "workers"), [(1000, 1), (7, 1), (1000, 2)])
def test_the_order_depends_on_the_rows_alone(prepared_from, monkeypatch, part, workers):
    rows = [Row("train", f"Review {i % 40}. Good.", (i // 40) % 2) for i in range(100)]
    rows += [Row(split, f"Other {i}.", i % 2) for i in range(6) for split in ("validation", "test")]
    monkeypatch.setattr(corpus, "READ", part)
    monkeypatch.setattr(corpus, "CHUNK", 50)
    splits = prepared_from(random.Random(part).sample(rows, len(rows)), workers)
    expected, digest = in_order(rows)
    assert rows_of(splits) == expected and [*splits["train"]["text"]] != sorted(
        splits["train"]["text"]
    )
    assert corpus.content_digest({split: splits[split] for split in expected}) == digest
    number = splits["train"][0]["text"].split()[1]
    assert splits["train"][0]["tokens"] == ["Review", number[:-1], ".", "Good", "."]
    assert splits["train"][0]["sentence_lengths"] == [3, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sizes": {"train": (2, 1)}}, "made-up: train has 1 rows of class 0, the catalog says 2"),
        ({"sizes": {"train": (1, 1), "test": (1, 0)}}, "test has 0 rows of class 0, .*says 1"),
        ({"sizes": {"test": (1, 1)}}, "made-up: test has 0 rows"),
        ({"sizes": {"train": (1,)}}, "made-up: train has 1 rows of class 1, the catalog says 0"),
        ({"content": "0" * 64}, f"made-up from a list: the rows hash to .*says {'0' * 64}"),
    ],
)
def test_rows_other_than_promised_are_refused_and_leave_nothing(
    prepared_from, tmp_path, change, message
):
    with pytest.raises(DataError, match=message):
        prepared_from([Row("train", "a", 0), Row("train", "b", 1)], **change)
    assert files_below(tmp_path) == []


@pytest.mark.parametrize("stop", [DataError("line 7"), KeyboardInterrupt(), MemoryError()])
def test_reading_that_stops_leaves_nothing_and_lies_under_one_temporary_name(tmp_path, stop):
    """So a run that is killed leaves nothing but what ``clear_leftovers`` removes."""
    names = []

    def read():
        yield from (Row("train", str(i), 0) for i in range(2 * corpus.READ))
        names.extend(path.name for path in tmp_path.iterdir())
        raise stop

    with pytest.raises(type(stop)):
        corpus.prepare(made_up_card([Row("train", "x", 0)]), read, ORIGIN, tmp_path / "made-up")
    assert len(names) == 1 and names[0].startswith(WORKROOM)
    assert list(tmp_path.iterdir()) == []


# text as the archive of IMDb writes it, as the packages write it, label; the first stands in both
# halves, the second twice in its half
ACROSS = ('Seen <br /><br />twice, "liked" once.', 'Seen twice,\n"liked"  once.', 1)
TRAIN = [
    ACROSS,
    ("Dull.  Dull!", "Dull. Dull!", 0),
    ("Dull.  Dull!", " Dull. Dull!<br />", 0),
    ("Très <br /> bien. I mean it.", "Très bien. I mean it.\r\n", 1),
]
TEST = [
    ACROSS,
    ("No.", "No.", 0),
    ("No.", "No.", 0),
    ('Yes, "yes".\n', 'Yes,<br/>"yes".', 1),
    ("", "", 0),
]
PLAIN = [
    Row(split, " ".join(text.replace("<br />", " ").split()), label)
    for split, rows in (("train", TRAIN), ("test", TEST))
    for text, _, label in rows
]


@pytest.fixture
def mirrors(tmp_path, monkeypatch):
    """A mirror folder for each of a card's sources: the archive of IMDb, the two packages of the
    same reviews, and a subset that holds two of the test half."""
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path / "root"))
    monkeypatch.setattr(corpus, "fetch_punkt", lambda: None)
    whole, part = (
        tar_of(
            {
                f"aclImdb/{split}/{('neg', 'pos')[label]}/{number}_5.txt": text.encode()
                for split, reviews in (("test", test), ("train", TRAIN))
                for number, (text, _, label) in enumerate(reviews)
            }
        )
        for test in (TEST, TEST[:2])
    )
    everything = [[text, ("negative", "positive")[label]] for _, text, label in TRAIN + TEST]
    training = [*([text, label, "imdb"] for _, text, label in TRAIN), ["else", 0, "elsewhere"]]
    one, two = carriers(training, everything[::-1])
    packages = (
        saved(tmp_path / "packages/one.whl", one),
        saved(tmp_path / "packages/two.whl", two),
    )
    sizes = {"train": (2, 2), "test": (1, 1)}
    sources = (
        Source("archive", (saved(tmp_path / "archive/tree.tar.gz", whole),), "acl_imdb"),
        Source("packages", packages, "imdb_carriers"),
        Source("subset", (saved(tmp_path / "subset/part.tar.gz", part),), "acl_imdb", sizes=sizes),
    )
    card = made_up_card(PLAIN, sources=sources, content=in_order(PLAIN)[1])
    monkeypatch.setitem(catalog.CARDS, "made-up", card)
    return tmp_path


@pytest.fixture
def load(mirrors, monkeypatch):
    """``load(mirror)``: the corpus, where nothing but that mirror folder is in reach."""

    def loaded(mirror, first=None, test=corpus.TEST_ROWS):
        monkeypatch.setenv("COURSE_DATA_MIRROR", str(mirrors / mirror))
        return corpus.load_corpus("made-up", first, test)

    return loaded


@pytest.mark.parametrize("mirror", ["archive", "packages"])
def test_every_source_leads_to_the_same_rows_and_is_needed_only_once(
    load, mirrors, no_network, mirror
):
    first = load(mirror)
    expected, digest = in_order(PLAIN)
    assert rows_of(first.splits) == expected
    assert first.provenance.content == corpus.prepared_content("made-up") == digest
    assert (first.provenance.source, first.provenance.subset) == (mirror, False)
    assert set(first.provenance.files) == {path.name for path in (mirrors / mirror).iterdir()}
    shutil.rmtree(mirrors / "root" / "downloads")
    again = load("nowhere")
    assert again.provenance == first.provenance
    assert {split: rows.to_dict() for split, rows in again.splits.items()} == {
        split: rows.to_dict() for split, rows in first.splits.items()
    }


def test_a_subset_is_recorded_as_one_and_the_whole_dataset_goes_before_it(load, mirrors):
    for _ in range(2):  # prepared, then opened
        part = load("subset")
        assert part.provenance.subset and rows_of(part.splits) == in_order(PLAIN[:6])[0]
    assert files_below(mirrors / "root/prepared")[0].startswith("made-up-subset-v1/")
    shutil.rmtree(mirrors / "root/downloads")
    shutil.move(mirrors / "root/prepared/made-up-subset-v1", mirrors / "kept")
    load("archive")
    shutil.move(mirrors / "kept", mirrors / "root/prepared/made-up-subset-v1")
    assert not load("subset").provenance.subset


def test_the_first_rows_are_those_of_the_whole_and_alone_are_tokenised(load, mirrors, monkeypatch):
    tokenised, real = [], corpus.tokeniser
    monkeypatch.setattr(
        corpus,
        "tokeniser",
        lambda *given: lambda text: tokenised.append(text) or real(*given)(text),
    )
    alone = load("packages", first=1)
    expected, digest = in_order(PLAIN)
    assert rows_of(alone.splits) == {split: pairs[:1] for split, pairs in expected.items()}
    assert {*tokenised} == {pairs[0][0] for pairs in expected.values()}
    assert alone.provenance.subset and alone.provenance.content == digest
    assert corpus.prepared_content("made-up") is None  # the whole is not there
    count = len(tokenised)
    assert load("nowhere", first=1).provenance == alone.provenance and len(tokenised) == count
    two = load("packages", first=2)
    shutil.rmtree(mirrors / "root/prepared/made-up-first-1-1-v1")
    assert rows_of(load("nowhere", first=1).splits) == rows_of(alone.splits)  # of the two
    assert rows_of(two.splits) == {split: pairs[:2] for split, pairs in expected.items()}
    whole = load("packages")
    assert not whole.provenance.subset and rows_of(whole.splits) == expected
    shutil.rmtree(mirrors / "root/downloads")
    cut = load("nowhere", first=1)  # from the whole, which is prepared now
    assert cut.provenance == alone.provenance
    assert {split: rows.to_dict() for split, rows in cut.splits.items()} == {
        split: rows.to_dict() for split, rows in alone.splits.items()
    }
    many = load("nowhere", first=99)
    assert rows_of(many.splits) == expected
    with pytest.raises(ValueError, match="first takes a number of rows from 1, got 0"):
        load("nowhere", first=0)


def test_the_first_rows_of_the_halves_leave_validation_whole():
    rows = corpus.datasets.Dataset.from_dict({"text": ["a", "b", "c"]})
    first = {"train": 2, "test": 1}
    lengths = {
        split: len(corpus._first_rows(rows, split, first))
        for split in ("train", "validation", "test")
    }
    assert lengths == {"train": 2, "validation": 3, "test": 1}


def test_a_part_is_opened_that_has_enough_of_both_halves(load, mirrors):
    def parts():
        return sorted(path.name for path in (mirrors / "root/prepared").glob("made-up-first-*"))

    def sizes(**asked):
        return {split: len(rows) for split, rows in load("packages", **asked).splits.items()}

    assert sizes(first=2, test=1) == {"train": 2, "test": 1}
    assert sizes(first=1, test=5) == {"train": 1, "test": 1} and len(parts()) == 1
    assert sizes(first=2, test=5) == {"train": 2, "test": 2}  # the part has too few of one half
    (mirrors / "root/prepared/made-up-first-2-v1").mkdir()  # of an earlier version
    assert sizes(first=2) == {"train": 2, "test": 2}
    assert parts() == ["made-up-first-2-1-v1", "made-up-first-2-2-v1", "made-up-first-2-v1"]
    with pytest.raises(ValueError, match="test takes a number of rows from 1, got 0"):
        load("packages", first=1, test=0)


@pytest.mark.parametrize("name", ["imbd", "punkt_tab", "glove.6B.50d"])
def test_what_is_no_corpus_is_refused_before_any_download(tmp_path, no_network, monkeypatch, name):
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path))
    with pytest.raises(DataError, match=f"no corpus '{name}'; the catalog has: imdb, ") as error:
        corpus.load_corpus(name)
    assert "glove" not in str(error.value).split(";")[1]
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def prepared(tmp_path, monkeypatch):
    """A prepared folder of two splits."""
    rows = [
        Row(split, f"Review {i}. Good.", i % 2) for split in ("train", "test") for i in range(20)
    ]
    card = made_up_card(rows)
    corpus.prepare(card, lambda: iter(rows), ORIGIN, tmp_path / "made-up-v1")
    monkeypatch.setitem(catalog.CARDS, "made-up", card)
    return tmp_path / "made-up-v1"


def rewrite(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def without_tokens(folder):
    rows = corpus.datasets.load_from_disk(str(folder)).remove_columns("tokens")
    rows = corpus.datasets.Dataset.from_dict(rows.to_dict())
    shutil.rmtree(folder)
    rows.save_to_disk(str(folder))


def zero(path):
    """Bytes within a text in the file."""
    data = path.read_bytes()
    place = data.index(b"Review ")
    path.write_bytes(data[: place + 3] + bytes(3) + data[place + 6 :])


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "provenance.json").unlink(),
        lambda folder: rewrite(folder / "provenance.json", dataset="imbd"),
        lambda folder: rewrite(folder / "splits/dataset_dict.json", splits=["train"]),
        lambda folder: rewrite(folder / "splits/train/state.json", _data_files=[]),
        lambda folder: without_tokens(folder / "splits/train"),
        lambda folder: zero(next(folder.glob("splits/train/*.arrow"))),
        lambda folder: (folder / corpus.TABLES).unlink(),
    ],
)
def test_a_damaged_folder_is_named(prepared, damage):
    assert len(corpus.open_corpus(prepared).splits["train"]) == 20
    damage(prepared)
    with pytest.raises(DataError) as error:
        corpus.open_corpus(prepared)
    assert str(error.value).startswith(f"{prepared}: damaged (")
    assert "Delete it and run again" in str(error.value)


@pytest.mark.full
def test_the_toy_corpus_works_offline_and_is_made_alike_each_time(
    tmp_path, no_network, monkeypatch
):
    made = []
    for name in "ab":
        monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path / name))
        made.append(corpus.load_corpus("toy"))
    toy, again = made
    for split, sizes in CARDS["toy"].sizes.items():
        assert Counter(toy.splits[split]["label"]) == dict(enumerate(sizes))
    assert toy.provenance == again.provenance
    assert toy.provenance.content == corpus.content_digest(again.splits)


@pytest.fixture
def choice(monkeypatch, tmp_path):
    """``choice(first=…, second=…)``: which of two corpora is opened, and in which order they were
    asked for; each of them is described by its size in MB and where it can be had."""
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path / "root"))
    monkeypatch.setenv("COURSE_DATA_MIRROR", str(tmp_path / "mirror"))
    (tmp_path / "mirror").mkdir()
    asked = []

    def chosen(**given):
        asked.clear()
        cards = {}
        for name, (megabytes, where) in given.items():
            url = None if where == "mirror alone" else f"https://host.invalid/{name}"
            files = (Download(f"{name}.tgz", None, int(megabytes * 1e6), url=url),)
            cards[name] = Card(name, name, "", "", "", (Source(name, files),), ("a", "b"))
            if where.startswith("mirror"):
                (tmp_path / "mirror" / f"{name}.tgz").touch()
        monkeypatch.setattr(catalog, "CARDS", cards)

        def load(name, first, test):
            asked.append(name)
            if given[name][1] == "unreachable":
                raise NotObtained(f"{name} cannot be had")
            return name

        monkeypatch.setattr(corpus, "load_corpus", load)
        return corpus.load_first_at_hand(list(given), 30_000_000, 7, 5), list(asked)

    return chosen


@pytest.mark.parametrize(
    ("first", "opened", "asked"),
    [
        ((12, "reachable"), "first", ["first"]),
        ((644, "reachable"), "second", ["second"]),  # too large: not even asked for
        ((644, "mirror"), "first", ["first"]),
        ((0, "mirror alone"), "first", ["first"]),
        ((12, "unreachable"), "second", ["first", "second"]),
    ],
)
def test_the_first_corpus_at_hand_is_opened_and_no_large_one_is_fetched(
    choice, first, opened, asked
):
    assert choice(first=first, second=(28, "reachable")) == (opened, asked)


def test_where_no_corpus_can_be_had_the_error_names_them_all(choice):
    with pytest.raises(NotObtained, match=r"none of first, second .* at most 30 MB"):
        choice(first=(644, "reachable"), second=(3, "unreachable"))
