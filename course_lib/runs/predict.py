"""A finished run asked about texts without labels: a table of classes, probabilities, and words.

``attention-course predict runs/<id> new.csv`` reads the file from front to back and writes
``new.csv.predictions.csv``, whole or not at all. One text in its place is answered at once.
"""

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from course_lib.data.custom_data import DEFAULT, checked_text
from course_lib.data.tables import encoding_of, read_table, rows_of
from course_lib.data.vocabulary import UNKNOWN
from course_lib.faithfulness import words_of
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.files import DataError, atomic_path
from course_lib.runs.predicted import FORMS, HEAVIEST, check_target, table_schema
from course_lib.runs.predictions import predicted_classes
from course_lib.runs.run import Run
from course_lib.runs.systems import NeuralSystem
from course_lib.runs.weights import any_run
from course_lib.terminal import plain
from course_lib.training.devices import choose_device

AT_ONCE = 1000  # texts
FIRST = 3  # answers that the command prints
MOST_CLASSES = 5  # of one text that it prints
DIGITS = 6
MOSTLY = 0.7  # share of the words, below which answers are said to rest on few
FEW_KNOWN = " These are few: is it the language that it was trained on?"


def predict_file(
    run: Run,
    path: Path,
    to: Path,
    column: str = DEFAULT.text,
    encoding: str | None = None,
    replace: bool = False,
) -> int:
    """Write a row for every text of a file: its number, class, all probabilities, how many words
    were read and how many of them the network knows, and the heaviest words with their weights;
    returns how many texts.

    The words are those within the run's cut, and their weights its attention reduced to words; they
    are missing for a system without attention. The number of known words is missing for a system
    that counts words, which leaves the others out. ``DataError`` names the row of what is no text,
    a file without any, a form that is not written, or a file that exists; with ``replace``, earlier
    predictions there are replaced.
    """
    check_target(to, replace)
    encoding = encoding_of(path, encoding)
    rows = (
        (number, checked_text(value, f"{rows_of(path)} {number}", column))
        for number, (value,) in read_table(path, (column,), encoding)
    )
    schema, count = table_schema(run.system.classes), 0
    chunk = list(islice(rows, AT_ONCE))  # what is refused here leaves no folder, either
    if not chunk:
        raise DataError(f"{path} holds no text: put one in each line of .txt, or in each row")
    with atomic_path(to) as temporary, FORMS[to.suffix.lower()](temporary, schema) as file:
        while chunk:
            file.write_table(pa.Table.from_pylist(list(answers(run.system, chunk)), schema))
            count += len(chunk)
            chunk = list(islice(rows, AT_ONCE))
    return count


def answers(system: Any, chunk: list[tuple[int, str]]) -> Iterator[dict[str, Any]]:
    """The rows of the table for some numbered texts."""
    if isinstance(system, NeuralSystem):
        probabilities, weights, counts = _of_network(system, [text for _, text in chunk])
    else:
        readings = [system.read(text) for _, text in chunk]
        probabilities = np.stack([reading.probabilities for reading in readings])
        weights = [((), ())] * len(chunk)
        counts = [(len(reading.tokens), None) for reading in readings]
    classes = predicted_classes(probabilities)
    for (number, _), row, chosen, (words, shares), (read, known) in zip(
        chunk, probabilities, classes, weights, counts, strict=True
    ):
        answer = {"row": number, "class": system.classes[chosen]}
        answer |= {f"P({name})": p for name, p in zip(system.classes, row.round(DIGITS).tolist())}
        answer |= {"words": read, "known words": known}
        heaviest = np.argsort(-np.asarray(shares), kind="stable")[:HEAVIEST]
        for place, at in enumerate(heaviest, start=1):
            answer |= {f"word {place}": words[at], f"weight {place}": shares[at].round(DIGITS)}
        yield answer


def _of_network(
    system: NeuralSystem, texts: list[str]
) -> tuple[np.ndarray, list[tuple], list[tuple[int, int]]]:
    """Probabilities ``(texts, classes)``, each text's words with their weights, and how many words
    (of a pre-trained network, pieces) it read and knows."""
    model = DocumentModel(system)
    documents = model.documents(texts)
    probabilities, attention = model.answers(documents)
    shares = attention.get("attention", [()] * len(documents))
    read = [words_of(document) for document in documents]
    known = [int((system.vocabulary.encode(words) != UNKNOWN).sum()) for words in read]
    weights = [system.in_words(*pair) for pair in zip(read, shares, strict=True)]
    return probabilities, weights, [*zip(map(len, read), known, strict=True)]


def command(options: argparse.Namespace) -> int:
    """Predict all texts of a file, and say where they are; or say what one text is predicted."""
    run = any_run(options.run)
    if isinstance(run.system, NeuralSystem):
        run.model.to(choose_device("auto"))
    (_of_text if isinstance(options.texts, str) else _of_file)(run, options)
    return 0


def _of_text(run: Run, options: argparse.Namespace) -> None:
    """Print what is predicted for one text."""
    text = checked_text(options.texts, "the text", DEFAULT.text)
    (answer,) = answers(run.system, [(1, text)])
    likely = sorted(run.system.classes, key=lambda name: -answer[f"P({name})"])[:MOST_CLASSES]
    print(plain(", ".join(f"{name} {answer[f'P({name})']:.1%}" for name in likely)))
    places = [place for place in range(1, HEAVIEST + 1) if f"word {place}" in answer]
    words = [f"{answer[f'word {place}']} ({answer[f'weight {place}']:.2f})" for place in places]
    if words:
        print(plain(f"most weight on {', '.join(words)}"))
    if isinstance(run.system, NeuralSystem):
        _say_known(answer["known words"], answer["words"])


def _of_file(run: Run, options: argparse.Namespace) -> None:
    """Write what is predicted for the texts of a file; print where, and the first of it."""
    to = options.to
    count = predict_file(
        run, options.texts, to, options.text, options.encoding, replace=options.force
    )
    print(f"{to}: {count:,} text{'s' * (count > 1)}")
    shares = [f"P({name})" for name in run.system.classes]
    columns = ("row", "class", *shares, "word 1", "word 2", "word 3")
    for _, (row, chosen, *others) in islice(read_table(to, columns, "utf-8"), FIRST):
        share = float(others[run.system.classes.index(chosen)])
        words = [str(word) for word in others[len(shares) :] if word]
        looks = f", most weight on {', '.join(words)}" if words else ""
        print(plain(f"row {row}: {chosen} ({share:.0%}){looks}"))
    if isinstance(run.system, NeuralSystem):
        counts = [values for _, values in read_table(to, ("words", "known words"), "utf-8")]
        read, known = (sum(map(int, column)) for column in zip(*counts))
        _say_known(known, read)


def _say_known(known: int, read: int) -> None:
    """Print how many of the words that were read the network knows."""
    few = FEW_KNOWN if known < MOSTLY * read else ""
    print(f"The network knows {known:,} of the {read:,} words that it read.{few}")
