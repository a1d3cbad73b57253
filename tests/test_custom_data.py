"""A file of one's own as a dataset: every form gives the same rows, and what is wrong is named."""

import json
import os
import subprocess
import sys
from itertools import chain

import datasets
import pytest
from custom_files import ROWS, TINY, UNICODE, delimited, not_utf8, parquet, write
from sweeping import sweep

from course_kit.research import report
from course_kit.research.grid import groups as grid
from course_lib import cli
from course_lib.data import custom_texts, naming, tables
from course_lib.data.corpus import load_corpus
from course_lib.data.custom_data import Columns, checked_text, summary_of
from course_lib.data.readers import order_key
from course_lib.data.tables import read_table
from course_lib.explore import explore_documents, read_text
from course_lib.files import REPOSITORY, DataError, file_digest
from course_lib.runs import folders
from course_lib.runs.run import closing_lines, train
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import RunSpec
from course_lib.views import show_reading
from course_lib.views.reading_view import page

pytestmark = pytest.mark.usefixtures("own_cache")


def prepared(path, columns=UNICODE):
    return load_corpus(custom_texts(path, columns))


def texts_of(corpus):
    return {split: list(rows["text"]) for split, rows in corpus.splits.items()}


@pytest.mark.parametrize(
    "form",
    [
        ".csv",
        *(pytest.param(form, marks=pytest.mark.full) for form in [".tsv", ".jsonl", ".parquet"]),
    ],
)
def test_every_form_and_order_gives_the_same_rows_split_by_class(form, tmp_path, own_cache):
    path = write(tmp_path / f"größe (1){form}", ROWS[::-1])
    name = custom_texts(path, UNICODE)
    assert name.startswith(f"größe__1_{form}@") and name != custom_texts(path)
    first, other = prepared(write(tmp_path / "a.csv")), load_corpus(name)
    about = other.provenance
    assert about.content == first.provenance.content and other.card.name == name
    assert other.card.classes == ("bad", "fine", "good") and other.card.title == path.name
    assert other.card.sizes == {"train": (5, 5, 5), "validation": (1, 1, 1), "test": (2, 2, 2)}
    assert sorted(chain(*texts_of(other).values())) == sorted(text for text, _ in ROWS)
    assert about.files == {path.name: f"sha256:{file_digest(path)}"}
    assert not about.subset  # it is the whole of what somebody brings
    assert about.reading["encoding"] == {path.name: None if form == ".parquet" else "utf-8"}
    assert about.reading["counts"]["test"] == {"bad": 2, "fine": 2, "good": 2}
    assert str(tmp_path) not in json.dumps([about.files, about.reading, about.dataset])
    path.unlink()
    assert load_corpus(name).card.name == name
    (own_cache / "prepared" / f"text-{name[-12:]}-v{naming.FORMAT}" / "card.json").write_text("{}")
    for broken, says in ((name, "text-.*: damaged"), ("a.csv@0123456789ab", "not in the cache")):
        with pytest.raises(DataError, match=says):
            load_corpus(broken)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ({"bad": ("10",), "fine": ("2",), "good": ("-1",)}, ("-1", "2", "10")),
        ({"bad": (1, 1.0), "fine": (2, 2), "good": (2.5, 2.5)}, ("1", "2", "2.5")),
        ({"bad": ("B",), "fine": ("a",), "good": ("b",)}, ("a", "B", "b")),
    ],
)
def test_numbers_are_classes_in_their_order_however_they_are_written(tmp_path, labels, classes):
    rows = [(f"{text} {n}", way) for text, label in ROWS for n, way in enumerate(labels[label])]
    corpus = prepared(write(tmp_path / "a.jsonl", rows))
    assert corpus.card.classes == classes
    assert {sum(sizes) for sizes in zip(*corpus.card.sizes.values())} == {len(rows) // 3}


def test_a_folder_brings_its_own_split_and_holds_what_is_needed(tmp_path):
    def refused(says):
        with pytest.raises(DataError, match=says):
            custom_texts(tmp_path, UNICODE)

    write(tmp_path / "Train.csv", ROWS[:12])
    refused(r"has no file named test \(.csv, .tsv, .jsonl")
    write(tmp_path / "test.csv", [("New.", "new"), ("Newer.", "new"), *ROWS])
    refused(r"test.csv row 2: label 'new' does not occur in train")
    (tmp_path / "test.csv").write_text("text,label\n")
    refused(r": test holds no rows")
    write(tmp_path / "test.csv")
    write(tmp_path / "dev.jsonl", ROWS[12:15])
    (tmp_path / "notes.csv").write_text("not read")
    corpus = prepared(tmp_path)
    sizes = {split: len(rows) for split, rows in corpus.splits.items()}
    assert sizes == {"train": 12, "validation": 3, "test": 24}
    assert corpus.provenance.reading["across_splits"] == 15
    assert "15 texts stand in more than one split" in " ".join(summary_of(corpus))
    assert "split as the files are: 12 train, 3 validation, 24 test" in summary_of(corpus)
    write(tmp_path / "test.jsonl")
    refused(r"test.csv and test.jsonl are both test")


def test_equal_texts_stay_in_one_split_and_are_counted(tmp_path):
    rows = ROWS * 2 + [(ROWS[0][0], "good"), ("", "fine")]
    corpus = prepared(write(tmp_path / "a.csv", rows))
    per_split = [set(texts) for texts in texts_of(corpus).values()]
    assert sum(map(len, per_split)) == len(set.union(*per_split)) == 25
    told = corpus.provenance.reading
    counted = {name: told[name] for name in ("repeated", "two_labels", "across_splits", "empty")}
    assert counted == {"repeated": 25, "two_labels": 1, "across_splits": 0, "empty": 1}
    assert "1 texts occur with more than one label" in summary_of(corpus)
    assert "split by us, at random, by class: 32 train" in summary_of(corpus)[1]


def test_the_split_is_no_end_of_the_stored_order(tmp_path):
    """Rows are stored by a hash of their text; test rows must be spread over all of that order."""
    rows = [(f"Text {n}", "ab"[n % 2]) for n in range(400)]
    texts = texts_of(prepared(write(tmp_path / "a.csv", rows)))
    stored = sorted((order_key(text), split) for split in texts for text in texts[split])
    halves = [[split for _, split in stored[half]] for half in (slice(200), slice(200, 400))]
    assert all(25 < half.count("test") < 55 for half in halves)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_encodings_are_detected_or_given(encoding, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(delimited([(f"{text} Café", label) for text, label in ROWS]), encoding=encoding)
    given = "windows-1252" if encoding == "cp1252" else None
    corpus = prepared(path, Columns(encoding=given, tokeniser="unicode"))
    assert all(text.endswith("Café") for text in texts_of(corpus)["train"])
    assert f"read as {encoding}" in summary_of(corpus)[0]


def test_other_languages_are_told(tmp_path):
    rows = [(f"Фильм номер {n}: {text}", label) for n, (text, label) in enumerate(ROWS)]
    path = write(tmp_path / "a.csv", rows)
    assert "read it with --words unicode" in summary_of(prepared(path, Columns()))[-1]
    assert "--words" not in " ".join(summary_of(prepared(path)))


WITHOUT = delimited([(text, "bad") for text, _ in ROWS])
TRUTHS = [(text, {"bad": "True", "fine": "2", "good": "1"}[label]) for text, label in ROWS]
SAID = [
    (
        "a.csv",
        delimited(ROWS, heading=("review", "label")),
        "a.csv row 1: no column 'text'; there are: 'review', 'label'. Name yours by --text",
    ),
    (
        "a.csv",
        delimited([(*r, "x") for r in ROWS], heading=("text", "label", "text")),
        "a.csv row 1: more than one column 'text'",
    ),
    ("a.csv", "", "a.csv has no first row, in which its columns"),
    ("a.csv", "text,label\n", "a.csv: holds no rows"),
    ("a.csv", WITHOUT, "a.csv, column 'label': every label is 'bad'; a classifier needs two"),
    (
        "a.csv",
        delimited([*ROWS, ("Odd.", "zzz"), ("Odder.", "zzz")]),
        "a.csv row 26, column 'label': 'zzz' has 2 of the 3 different texts that a split takes",
    ),
    ("a.csv", delimited([*ROWS, ("Fair.", " ")]), "a.csv row 26, column 'label': '' is no label"),
    (
        "a.csv",
        delimited(ROWS) + "Well, I do not know,bad\n",
        (
            "a.csv row 26: 3 columns, and the heading has 2; a text that "
            "holds the delimiter needs quot"
        ),
    ),
    (
        "a.csv",
        delimited(ROWS) + '"Well, bad\n',
        "a.csv after row 25: cannot be read (unexpected end of data; is each quote",
    ),
    (
        "a.csv",
        delimited([(t, n) for n in range(300) for t, _ in ROWS]),
        "more than 256 different labels; is it the right column",
    ),
    ("a.csv", delimited(TRUTHS), "a.csv, column 'label': numbers beside True or False"),
    (
        "a.csv",
        delimited([ROWS[0], ("Café", "bad")]).encode("latin-1"),
        "a.csv line 3: is not utf-8; say the file's own by --encoding; old Windows programs wri",
    ),
    ("a.jsonl", '{"text": "a", "label": 1}\n["a"]\n', "a.jsonl line 2: '[\"a\"]' is no object"),
    ("a.jsonl", '{"text": "a", "label": 1}\n\n3', "a.jsonl line 3: '3' is no object"),
    ("a.jsonl", '{"text": 3, "label": 1}\n', "line 1, column 'text': 3 is not a text"),
    ("a.jsonl", '{"text": "a", "label": null}\n', "line 1, column 'label': None is no label"),
    ("a.jsonl", '{"text": "a", "label": 1}\n{', "a.jsonl after row 1: cannot be read (Expecting"),
    ("a.jsonl", 100_000 * "[", "a.jsonl after row 0: cannot be read (maximum recursion depth"),
    ("a.jsonl", r'{"text": "a\ud800", "label": 1}', "line 1, column 'text': '\\ud800' is half"),
    ("a.jsonl", r'{"text": "a", "label": "\ud800"}', "line 1, column 'label': '\\ud800' is half"),
    ("a.parquet", b"PAR1", "a.parquet after row 0: cannot be read (Parquet file size is 4 bytes"),
    (
        "a.parquet",
        parquet(review=["one", "two"], label=["a", "b"]),
        "a.parquet: no column 'text'; there are: 'review', 'label'. Name yours by --text",
    ),
    (
        "a.parquet",
        parquet(text=not_utf8("one\xff", "two"), label=["a", "b"]),
        "a.parquet after row 0: is not utf-8",
    ),
    (
        "a.parquet",
        parquet(text=["one", "two"], label=[1.0, float("nan")]),
        "a.parquet row 2, column 'label': nan is no label",
    ),
    ("a.xlsx", b"PK", "a.xlsx: the form '.xlsx' is not read; .csv, .tsv, .jsonl, .parquet are"),
]


@pytest.mark.parametrize(("name", "content", "says"), SAID, ids=[case[2][:40] for case in SAID])
def test_bad_input_is_one_sentence_with_its_place(name, content, says, tmp_path, own_cache):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError) as error:
        custom_texts(path, UNICODE)
    assert says in str(error.value) and "\n" not in str(error.value)
    assert not list(own_cache.rglob("*.arrow"))


NO_ENCODING = ("klingon", "rot13", "base64", "undefined", "utf-8\0", "")
OTHER = {name: r"a.csv after row \d: is not .*; say the file's" for name in ("ascii", "punycode")}
OTHER |= dict.fromkeys(NO_ENCODING, "is no encoding of text; try utf-8")
OTHER["unicode_escape"] = r"a.csv row 26, column 'text': '\\ud800' is half of a character"


@pytest.mark.parametrize(("encoding", "says"), OTHER.items())
def test_another_encoding_is_told_in_one_sentence(encoding, says, tmp_path):
    (tmp_path / "a.csv").write_text(
        delimited([*ROWS, ("Caf\xe9 \\ud800", "bad")]), encoding="latin-1"
    )
    with pytest.raises(DataError, match=says):
        custom_texts(tmp_path / "a.csv", Columns(encoding=encoding, tokeniser="unicode"))


@pytest.mark.parametrize("damage", [slice(4, 60), slice(-60, -20)])
def test_damaged_parquet_names_its_file(tmp_path, damage):
    path = write(tmp_path / "a.parquet")
    data = bytearray(path.read_bytes())
    data[damage] = bytes(len(data[damage]))
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"a\.parquet after row 0: cannot be read"):
        custom_texts(path, UNICODE)


def test_a_table_is_read_row_by_row(tmp_path, monkeypatch):
    """What stands first is there before what stands last is read, and a field has a limit."""
    path = tmp_path / "a.csv"
    path.write_text(delimited(ROWS * 500) + "a,b,c\n")
    rows = read_table(path, ("text", "label"), "utf-8")
    assert next(rows) == (2, ROWS[0])
    with pytest.raises(DataError, match=r"a.csv row 12002: 3 columns"):
        list(rows)
    monkeypatch.setattr(tables, "LONGEST", 1000)
    path.write_text(delimited(ROWS) + '"An open quote, ' + 500 * "a,b\n")
    with pytest.raises(DataError, match=r"after row 25: .*larger than field limit \(1000\)"):
        custom_texts(path, UNICODE)


@pytest.mark.full
def test_a_run_is_shown_read_in_another_process_and_stands_in_the_table(tmp_path, places):
    """Markup is text, wherever it is shown, and typed texts are split as the file was."""
    rows = [
        (f"<script>alert({n})</script> & <b>{text}</b>", label)
        for n, (text, label) in enumerate(ROWS)
    ]
    name = custom_texts(write(tmp_path / "films.csv", rows), UNICODE)
    spec = RunSpec("han", name, "small", TINY, device="cpu", threads=1)
    assert spec.resolve().id.startswith("han-films.csv_") and "@" not in spec.resolve().id
    folder = folders.RUNS / spec.resolve().id
    run = train(spec, folder)
    assert run.record["data"]["reading"]["counts"]["train"] == {"bad": 5, "fine": 5, "good": 5}
    assert run.record["sizes"] == {"train": 15, "validation": 3, "test": 6}
    test = run.corpus.splits["test"]
    assert all(text.startswith("<script>alert(") for text in test["text"])
    shown = page(show_reading(read_text(run, test[0])))
    assert "script" in shown and "<script>alert(" not in shown
    assert all(f"{label} 0." in shown for label in ("bad", "fine", "good"))
    sweep(explore_documents(run, test))
    tokens = run.system.read("映画は良い。Don't!").tokens
    assert tokens == ("映", "画", "は", "良", "い", "。", "Don't", "!")
    code = (
        "import sys; from pathlib import Path; from course_lib.runs import load_run\n"
        "run = load_run(Path(sys.argv[1])); row = run.corpus.splits['test'][0]\n"
        "print(run.system.read(row).answer, len(run.system.classes))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, folder],
        cwd=REPOSITORY,
        env=os.environ,
        capture_output=True,
        text=True,
    )
    assert told.returncode == 0, told.stderr
    assert told.stdout.split() == [*run.system.read(test[0]).answer.split(), "3"]
    table = report.own_table([run.record])
    assert table.splitlines()[2].startswith("| films.csv | han small, epochs1, hidden4")
    assert "(1 seed)" in table
    assert report.own_table() == table  # of what lies in runs/, and is never published
    counted = train(RunSpec("tfidf", name, "words", device="cpu", threads=1)).record["test"]
    first, second, third, fourth, last = closing_lines(spec, run.record, "runs/mine").splitlines()
    share = run.record["test"]["accuracy"]
    assert first.startswith(f"accuracy: {share:.1%}; a bag of words (TF-IDF) has")
    assert f"has {counted['accuracy']:.1%}, always the most frequent class 33.3%" in first
    assert second.startswith("measured on 6 test texts, ")
    assert f"±{196 * (share * (1 - share) / 6) ** 0.5:.1f} points" in second
    for line, words in ((third, "predict runs/mine new.csv"), (fourth, "audit runs/mine")):
        assert line.endswith(f": attention-course {words}")
    assert last.endswith(": attention-course room runs/mine --to room.html")
    (folder.parent / "damaged").mkdir()
    (folder.parent / "damaged" / "record.json").write_text("{}")
    with pytest.warns(UserWarning, match="left out: .*damaged"):
        assert report.own_table() == table


def test_an_entry_of_the_grid_takes_a_path(tmp_path, monkeypatch):
    write(tmp_path / "films.csv")
    monkeypatch.setattr(grid, "REPOSITORY", tmp_path)
    file = tmp_path / "grid.yaml"
    file.write_text("mine:\n - {system: han, dataset: films.csv, preset: small, seeds: [0, 1]}\n")
    plans = grid.read_grid(file)["mine"]
    assert [plan.spec.seed for plan in plans] == [0, 1]
    assert plans[0].spec.dataset.startswith("films.csv@")
    assert "films.csv" in grid.describe({"g": plans})
    file.write_text("mine:\n - {system: han, dataset: other.csv, preset: small}\n")
    with pytest.raises(SpecError, match=r"group 'mine', entry 1: .*other.csv: no such file of te"):
        grid.read_grid(file)


def test_reading_few_texts_leaves_no_bar_behind(tmp_path, capsys):
    """Of our bars each is gone at its end, and those of ``datasets`` do not appear."""
    custom_texts(write(tmp_path / "films.csv"), UNICODE)
    said = capsys.readouterr().err
    assert "tokenise" not in said and "Saving" not in said and "\n" not in said
    assert not datasets.utils.are_progress_bars_disabled()


def test_the_command_tells_what_it_found(tmp_path, capsys):
    path = write(tmp_path / "films.csv")
    assert cli.main(["data", str(path), "--words", "unicode"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("films.csv@")
    assert "24 texts in 3 classes (bad 8, fine 8, good 8)" in told.err


def test_a_dataset_of_the_hub_is_read_by_its_name(monkeypatch):
    """What the hub sends, without a network: classes by name, its split, unlabelled texts."""
    label = datasets.ClassLabel(names=["bad", "fine", "good"])
    features = datasets.Features(text=datasets.Value("string"), label=label)

    def split(rows):
        texts, labels = zip(*rows)
        return datasets.Dataset.from_dict({"text": texts, "label": labels}, features=features)

    asked = []
    found = {"train": split(ROWS), "test": split(ROWS[:9])}
    monkeypatch.setattr(datasets, "load_dataset", lambda name: asked.append(name) or found)
    corpus = prepared("hf:someone/films")
    assert asked == ["someone/films"] and corpus.card.name.startswith("someone_films@")
    assert corpus.card.classes == ("bad", "fine", "good")
    assert corpus.card.sizes == {"train": (8, 8, 8), "test": (3, 3, 3)}
    found["test"] = split([("Unlabelled.", -1), *ROWS])
    with pytest.raises(DataError, match=r"hf:someone/films test row 1, column 'label': None is no"):
        prepared("hf:someone/films")
    del found["test"]
    assert prepared("hf:someone/films").card.sizes["test"] == (2, 2, 2)
    monkeypatch.setattr(datasets, "load_dataset", lambda name: 1 / 0)
    with pytest.raises(DataError, match=r"hf:someone/films: cannot be had from the Hugging Face h"):
        prepared("hf:someone/films")


def rows_with(labels, texts=None):
    """Three texts of each label, as a table."""
    rows = [(f"text {n} of {label}", label) for label in labels for n in range(3)]
    return delimited([*rows, *(texts or [])], heading=("text", "label"))


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (("nan", "10", "9"), ("10", "9", "nan")),
        (("inf", "2"), ("2", "inf")),
        (("NA", "None", "null"), ("NA", "None", "null")),
    ],
)
def test_labels_are_words_and_their_order_is_the_same_everywhere(tmp_path, labels, classes):
    for some in (labels, labels[::-1]):
        path = tmp_path / "labels.csv"
        path.write_text(rows_with(some), encoding="utf-8")
        assert prepared(path).card.classes == classes


def test_two_normal_forms_of_a_label_are_one_class(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(rows_with(["Caf\u00e9", "Cafe\u0301", "bar"]), encoding="utf-8")
    assert prepared(path).card.classes == ("bar", "Caf\u00e9")


def test_what_spreadsheets_write_is_read(tmp_path):
    """A mark of UTF-8 that is told by --encoding, too, and a blank before a quote."""
    path = tmp_path / "sheet.csv"
    lines = ["text,label", *(f'"A, {n}", "{label}"' for n in range(3) for label in "ab")]
    path.write_bytes(b"\xef\xbb\xbf" + "\n".join(lines).encode())
    for encoding in (None, "utf-8", "utf8"):
        corpus = prepared(path, Columns(encoding=encoding, tokeniser="unicode"))
        assert corpus.card.classes == ("a", "b")
        assert set(chain(*texts_of(corpus).values())) == {"A, 0", "A, 1", "A, 2"}


def test_how_many_texts_were_rewritten_is_said(tmp_path):
    path = tmp_path / "typed.csv"
    typed = [("It doesn\u2019t work", "a"), ("Tom &amp; Ann", "b"), ("plain, isn't it", "a")]
    path.write_text(rows_with("ab", typed), encoding="utf-8")
    corpus = prepared(path)
    assert "It doesn't work" in set(chain(*texts_of(corpus).values()))
    assert any(line.startswith("2 texts hold other apostrophes") for line in summary_of(corpus))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.jsonl", b"5\n", "line 1: '5.*' is no object with names"),
        ("a.jsonl", b'"text label"\n', "line 1: .*is no object with names"),
        ("a.csv", "text,label\nx,y\n".encode("utf-16-le"), "no column|NUL"),
        ("a.csv", b"text,label\nx\0y,a\n", "NUL"),
    ],
)
def test_what_is_no_table_is_named(tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=says):
        prepared(tmp_path / name)


def test_lines_of_utf_16_without_a_mark_are_refused(tmp_path):
    (tmp_path / "a.txt").write_bytes("good\n".encode("utf-16-le"))
    with pytest.raises(DataError, match="utf-16"):
        for number, (text,) in read_table(tmp_path / "a.txt", ("text",), "utf-8"):
            checked_text(text, f"line {number}", "text")
