"""Files of texts as somebody might bring them, for the tests of what reads them."""

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq

from course_lib.data.custom_data import Columns

UNICODE = Columns(tokeniser="unicode")
WORDS = {"bad": "dull grey boring", "fine": "fair plain usual", "good": "bright tender gripping"}
ROWS = [
    (f"Film {n} was {word}, and {other} too. I said so.", label)
    for n in range(8)
    for label, words in WORDS.items()
    for word, other in [(words.split()[n % 3], words.split()[(n + 1) % 3])]
]
TINY = {"training.epochs": 1, "model.hidden": 4, "model.attention": 4}


def delimited(rows, delimiter=",", heading=("text", "label")):
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter).writerows([heading, *rows])
    return file.getvalue()


def write(path, rows=ROWS):
    """A file of the form that its name says."""
    texts, labels = zip(*rows)
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"text": texts, "label": labels}), path)
    elif path.suffix == ".jsonl":
        items = [json.dumps({"label": label, "text": text}) for text, label in rows]
        path.write_text("\n".join(items) + "\n")
    else:
        path.write_text(delimited(rows, "\t" if path.suffix == ".tsv" else ","), encoding="utf-8")
    return path


def parquet(**columns):
    """The bytes of a Parquet file."""
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def not_utf8(*texts):
    """Strings whose characters are bytes, whatever these mean."""
    return pa.array([text.encode("latin-1") for text in texts]).view(pa.string())
