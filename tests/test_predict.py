"""Texts without labels, asked of a finished run: what the table holds, and what is refused."""

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from custom_files import ROWS, TINY, UNICODE, delimited, write

from course_lib import cli
from course_lib.data import UNKNOWN, custom_texts
from course_lib.files import DataError
from course_lib.runs import folders, predict, weights
from course_lib.runs.predict import HEAVIEST, predict_file
from course_lib.runs.run import load_run, train
from course_lib.runs.spec import RunSpec

pytestmark = pytest.mark.usefixtures("own_cache")
TEXTS = [text for text, _ in ROWS] + ["", "Gripping! <b>Tender</b>", "…"]


def trained(system, folder):
    """A small run of a system on a file of texts, in ``folder / "run"``."""
    preset, changes = ("words", {}) if system == "tfidf" else ("small", TINY)
    changes = {"training.epochs": 1} if system == "iram" else changes
    name = custom_texts(write(folder / "films.csv"), UNICODE)
    return train(RunSpec(system, name, preset, changes, device="cpu", threads=1), folder / "run")


def status_of(words):
    """The exit status of a command, whoever refuses it."""
    try:
        return cli.main(words)
    except SystemExit as stop:
        return stop.code


@pytest.fixture
def han(tmp_path):
    return trained("han", tmp_path)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text(delimited([(text,) for text in TEXTS], heading=("text",)), encoding="utf-8")
    return path


def table(path):
    with path.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


@pytest.mark.parametrize("system", ["han", "iram", "tfidf"])
def test_every_text_has_its_class_all_probabilities_and_its_heaviest_words(
    system, file, tmp_path, monkeypatch
):
    run = trained(system, tmp_path)
    monkeypatch.setattr(predict, "AT_ONCE", 10)
    assert predict_file(run, file, tmp_path / "out.csv") == len(TEXTS)
    rows = table(tmp_path / "out.csv")
    assert [int(row["row"]) for row in rows] == list(range(2, 2 + len(TEXTS)))
    for row, text in zip(rows, TEXTS, strict=True):
        reading = run.system.read(text)
        shares = [float(row[f"P({name})"]) for name in ("bad", "fine", "good")]
        assert shares == pytest.approx(reading.probabilities, abs=2e-4)
        assert row["class"] == ("bad", "fine", "good")[int(np.argmax(shares))]
        assert int(row["words"]) == len(reading.tokens)
        if system != "tfidf":  # which counts the words it knows, and no others
            ids = run.vocabulary.encode([*reading.tokens])
            assert int(row["known words"]) == sum(word != UNKNOWN for word in ids)
        words = [row[f"word {n}"] for n in range(1, HEAVIEST + 1) if row[f"word {n}"]]
        weights = [float(row[f"weight {n}"]) for n in range(1, len(words) + 1)]
        assert weights == sorted(weights, reverse=True) and set(words) <= set(reading.tokens)
        read = bool(reading.tokens) and bool(reading.attention)
        assert len(words) == (min(HEAVIEST, len(reading.tokens)) if read else 0)
        if system == "han" and words:
            whole = reading.word_weights() * np.repeat(
                reading.sentence_weights(), reading.sentence_lengths
            )
            assert weights == pytest.approx(np.sort(whole)[::-1][:HEAVIEST], abs=1e-4)
    predict_file(run, file, tmp_path / "out.parquet")
    stored = pq.read_table(tmp_path / "out.parquet").to_pylist()
    for row, same in zip(rows, stored, strict=True):
        assert row["class"] == same["class"] and row["word 1"] == (same["word 1"] or "")
        assert float(row["P(good)"]) == pytest.approx(same["P(good)"], abs=1e-6)


def test_what_is_no_text_is_named_and_nothing_is_overwritten(han, tmp_path):
    path = tmp_path / "new.jsonl"
    path.write_text('{"text": "Good."}\n{"text": null}\n')
    with pytest.raises(DataError, match=r"new.jsonl line 2, column 'text': None is not a text"):
        predict_file(han, path, tmp_path / "out.csv")
    assert not list(tmp_path.glob("*out.csv*"))
    path.write_text(r'{"text": "a \ud800"}')
    with pytest.raises(DataError, match=r"line 1, column 'text': '\\ud800' is half of a character"):
        predict_file(han, path, tmp_path / "again.csv")
    (tmp_path / "out.csv").write_text("mine")
    for name, says in (
        ("out.csv", "exists already: move it, or name another"),
        ("out.xlsx", "predictions are written as .csv or .parquet"),
    ):
        with pytest.raises(DataError, match=f"{name}:? {says}"):
            predict_file(han, path, tmp_path / name)


def test_earlier_predictions_stay_unless_they_may_be_replaced(han, file, tmp_path):
    to = tmp_path / "out.csv"
    predict_file(han, file, to)
    kept = to.read_bytes()
    file.write_text("text\nGripping.\n")
    with pytest.raises(DataError, match=r"out\.csv exists already"):
        predict_file(han, file, to)
    assert to.read_bytes() == kept
    assert predict_file(han, file, to, replace=True) == len(table(to)) == 1


def test_the_command_says_how_many_words_the_network_knows(han, tmp_path, capsys):
    for text, few in ((ROWS[0][0], False), ("Ein ruhiger, langer Abend", True)):
        (tmp_path / f"{few}.txt").write_text(text, encoding="utf-8")
        assert status_of(["predict", str(tmp_path / "run"), str(tmp_path / f"{few}.txt")]) == 0
        (row,) = table(tmp_path / f"{few}.txt.predictions.csv")
        said = capsys.readouterr().out
        assert f"knows {row['known words']} of the {row['words']} words that it read." in said
        assert ("These are few" in said) == few


def test_a_text_file_holds_one_text_a_line(han, tmp_path):
    path = tmp_path / "new.txt"
    path.write_text("A gripping film.\n\nDull, sadly.", encoding="utf-8")
    assert predict_file(han, path, tmp_path / "out.csv") == 2
    rows = table(tmp_path / "out.csv")
    assert [row["row"] for row in rows] == ["1", "3"]
    shares = [float(row["P(good)"]) for row in rows]
    texts = ("A gripping film.", "Dull, sadly.")
    expected = [han.system.read(text).probabilities[2] for text in texts]
    assert shares == pytest.approx(expected, abs=1e-5) and rows[1]["word 1"]


def test_what_is_refused_leaves_no_folder(han, tmp_path):
    (tmp_path / "new.csv").write_text("body\nGood.\n")
    (tmp_path / "new.docx").touch()
    (tmp_path / "new.txt").write_text(" \n\n")
    before = sorted(tmp_path.rglob("*"))
    for name, says in (
        ("new.csv", "no column 'text'"),
        ("new.docx", "not read; .csv, .*, .txt"),
        ("new.txt", "holds no text"),
    ):
        with pytest.raises(DataError, match=says):
            predict_file(han, tmp_path / name, tmp_path / "deep" / "out.csv")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_may_be_told_from_the_repository(han, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setattr(folders, "REPOSITORY", tmp_path)
    assert weights.any_run("run").record == load_run(Path("run")).record == han.record


@pytest.mark.parametrize("form", [".csv", ".parquet"])
def test_force_replaces_earlier_predictions_and_nothing_else(form, han, file, tmp_path, capsys):
    to = tmp_path / f"out{form}"
    words = ["predict", str(tmp_path / "run"), str(file), "--to", str(to)]
    assert status_of(words) == 0
    before = to.read_bytes()
    file.write_text("text\nGripping.\n")
    assert status_of(words) == 2 and to.read_bytes() == before
    assert "--force replaces predictions" in capsys.readouterr().err
    assert status_of([*words, "--force"]) == 0 and to.read_bytes() != before
    rows = pq.read_table(to) if form == ".parquet" else pa.csv.read_csv(to)
    assert rows.num_rows == 1
    for other in (rows.append_column("mine", [["a note"]]), rows.drop_columns("words")):
        write_table = pq.write_table if form == ".parquet" else pa.csv.write_csv
        write_table(other, to)
        kept = to.read_bytes()
        assert status_of([*words, "--force"]) == 2 and to.read_bytes() == kept
        assert "exists already: move it" in capsys.readouterr().err
    to.write_bytes(b"")
    assert status_of([*words, "--force"]) == 2 and to.read_bytes() == b""


@pytest.mark.parametrize("system", ["han", "tfidf"])
def test_one_text_is_answered_at_once_and_nothing_is_written(system, tmp_path, capsys):
    run = trained(system, tmp_path)
    before = sorted(tmp_path.iterdir())
    text = "Gripping, and " + 60 * "very " + "tender."  # longer than a file's name can be
    assert status_of(["predict", str(tmp_path / "run"), text]) == 0
    first, *others = capsys.readouterr().out.splitlines()
    shares = dict(zip(run.system.classes, run.system.read(text).probabilities, strict=True))
    told = [part.rsplit(" ", 1) for part in first.split(", ")]
    assert [name for name, _ in told] == sorted(shares, key=shares.get, reverse=True)
    for name, share in told:
        assert float(share.rstrip("%")) == pytest.approx(100 * shares[name], abs=0.06)
    if system == "han":
        assert others[0].startswith("most weight on ") and others[0].count("(0.") == HEAVIEST
        assert others[1].startswith("The network knows ")
    else:
        assert others == []
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.full
def test_the_command_takes_the_folder_of_a_run(han, file, tmp_path, capsys, monkeypatch):
    assert cli.main(["predict", str(tmp_path / "run"), str(file)]) == 0
    first, *answers, known = capsys.readouterr().out.splitlines()
    assert first == f"{tmp_path / 'new.csv.predictions.csv'}: {len(TEXTS)} texts"
    assert known.startswith("The network knows ")
    rows = table(tmp_path / "new.csv.predictions.csv")[:3]
    for row, said in zip(rows, answers, strict=True):
        share = float(row[f"P({row['class']})"])
        assert said.startswith(f"row {row['row']}: {row['class']} ({share:.0%}), most weight on ")
    for name, texts, says in (
        (str(tmp_path / "run"), "no.csv", "no.csv: No such file or directory"),
        ("nothing", file, "no recorded network 'nothing'"),
        ("runs/nothing", file, "runs/nothing: no finished run; attention-course run"),
    ):
        words = ["predict", name, str(texts), "--to", str(tmp_path / "other.csv")]
        assert status_of(words) == 2
        assert says in capsys.readouterr().err


@pytest.mark.full
@pytest.mark.parametrize("command", ["predict", "audit"])
def test_a_recorded_network_answers_in_an_empty_data_folder_without_a_network(
    command, tmp_path, capsys, no_network
):
    (tmp_path / "new.txt").write_text("A fine film, and I cried.\nIt is dull.", encoding="utf-8")
    name, file = "han-imdb-compact-s0", str(tmp_path / "new.txt")
    if command == "predict":
        assert status_of(["predict", name, file, "--to", str(tmp_path / "out.csv")]) == 0
        assert [row["class"] for row in table(tmp_path / "out.csv")] == ["positive", "negative"]
        assert "knows 12 of the 12 words that it read." in capsys.readouterr().out
    else:
        to = tmp_path / "out.json"
        assert status_of(["audit", name, "--texts", file, "--to", str(to)]) == 0 and to.exists()
    assert {path.name[:12] for path in (tmp_path / "data" / "prepared").iterdir()} == {
        "nltk_data",
        "reviews.100d",
    }
