"""Numbers in prose are bound to records: what README and lessons quote, some record or cell holds.

Strictest first: a paragraph that links to a record may only quote what that record holds; rows of
the benchmarks' table name the key they quote; other prose of the READMEs may quote no result at
all. A lesson's prose must agree with a cell beside it or with some record, which for a number of
two digits is a weak check: the lessons' own assertions are the strong one.
"""

import hashlib
import json
import re
from functools import cache
from itertools import accumulate

import nbformat
import numpy as np
import pytest

from course_kit.research.report import TABLE, study_records, tidy
from course_lib import faithfulness
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.files import REPOSITORY
from course_lib.metrics import sampling_error
from course_lib.runs.weights import load_recorded

pytestmark = pytest.mark.full  # committed prose beside committed records

# a decimal, a percentage, or a whole number of seconds or bytes; not 3.11 in "Python 3.11"
UNIT = r"(?: ?(?:%|s|ms|kB|MB|GB))(?!\w)"
WHOLE = r"\d+(?:,\d{3})*"
QUOTE = re.compile(rf"(?<![\w.,§/-])(?:{WHOLE}\.\d+(?:{UNIT})?|{WHOLE}{UNIT})(?![\w.]\w)")
SCALES = (1, 100, 1e3, 1e-3, 1e-6)  # shares as %, seconds as ms, MB as GB, bytes as MB
LINK = re.compile(r"\]\((?:\.\./)?((?:benchmarks/)?results/[\w./-]+\.json)\)")
NOT_PROSE = re.compile(
    r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$\n]*\$|<!--.*?-->|https?://\S+", re.DOTALL
)
ELSEWHERE = re.compile(r"(?:[Pp]ython|torch|e²) [\d.]+|§\s?[\d.]+|v?\d+\.\d+\.\d+")


def numbers_in(value):
    """All numbers of a record, and the sums of neighbours among them."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        plain = [item for item in value if type(item) in (int, float)]
        if len(plain) <= 10:
            for start in range(len(plain)):
                yield from accumulate(plain[start:])
        else:
            yield from plain
        for item in value:
            yield from numbers_in(item)
    elif type(value) in (int, float):
        yield value


def quotes(text):
    text = ELSEWHERE.sub(" ", NOT_PROSE.sub(" ", text))
    return [found[0].strip() for found in QUOTE.finditer(text)]


def holds(numbers, quote):
    digits = re.match(r"[\d,]+(?:\.\d+)?", quote)[0].replace(",", "")
    shown, half = float(digits), 0.5 * 10.0 ** -len(digits.partition(".")[2])
    return any(
        abs(scale * number - shown) <= half * 1.0001 for number in numbers for scale in SCALES
    )


def paragraphs(path):
    text = path.read_text(encoding="utf-8")
    text = TABLE.sub("", text)
    return [part for part in re.split(r"\n\s*\n", NOT_PROSE.sub(" ", text)) if quotes(part)]


@cache
def records(*folders):
    found = [path for folder in folders for path in sorted((REPOSITORY / folder).rglob("*.json"))]
    paths = [path for path in found if not path.relative_to(REPOSITORY).parts[0].startswith(".")]
    return {path: list(numbers_in(json.loads(path.read_text(encoding="utf-8")))) for path in paths}


KNOWN = {"0.2 points": "imdb", "0.9 points": "sst2", "1.1 points": "sst5"}  # standard errors


def standard_error(dataset):
    """That which the sample of texts leaves to the best accuracy on a complete test set."""
    frame = tidy()
    whole = frame[(frame.dataset == dataset) & ~frame.subset.astype(bool) & frame.accuracy.notna()]
    test = whole.record[whole.accuracy.idxmax()]
    return sampling_error(test["test"]["accuracy"], test["sizes"]["test"])


def test_the_readme_quotes_only_the_records_it_links_to():
    unheld = []
    for part in paragraphs(REPOSITORY / "README.md"):
        for phrase, dataset in KNOWN.items():
            if phrase in part:
                assert f"{100 * standard_error(dataset):.1f} points" == phrase
                part = part.replace(phrase, "")
        links = [REPOSITORY / link for link in LINK.findall(part)]
        linked = [number for link in links for number in records(".")[link]]
        unheld += [quote for quote in quotes(part) if not holds(linked, quote)]
    assert unheld == []


ROW = re.compile(r"^\| (?P<what>[^|]+) \| `(?P<key>[^`]+)` \| [^|]+ \| (?P<shown>.+) \|$", re.M)


def looked_up(key):
    """What the records hold under a key as the table writes it: ``ratio["a, b"]`` or ``a.b``."""
    path = [a or b for a, b in re.findall(r'\["([^"]+)"\]|([\w ]+)', key)]
    for record in (REPOSITORY / "benchmarks" / "results").glob("*.json"):
        value = json.loads(record.read_text(encoding="utf-8")).get("figures")
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            yield list(numbers_in(value))


def test_every_row_of_the_benchmarks_table_is_held_under_the_key_that_it_names():
    text = (REPOSITORY / "benchmarks" / "README.md").read_text(encoding="utf-8")
    rows = list(ROW.finditer(text))
    assert len(rows) >= 8
    for row in rows:
        held = list(looked_up(row["key"]))
        assert held, f"no record has {row['key']}"
        for shown in re.findall(r"\d+\.\d+", row["shown"]):
            assert any(holds(numbers, shown) for numbers in held), (row["what"], shown)


def test_the_prose_of_the_benchmarks_quotes_what_some_benchmark_holds():
    held = [number for numbers in records("benchmarks/results").values() for number in numbers]
    text = (REPOSITORY / "benchmarks" / "README.md").read_text(encoding="utf-8")
    figures = ROW.sub("", text.split("## Figures")[1].split("\n## ")[0])
    figures = figures.replace("0.63 of the obvious way, in the results file of commit", "")
    found = quotes(figures)
    assert len(found) >= 2
    assert [quote for quote in found if not holds(held, quote)] == []


NOTEBOOKS = REPOSITORY / "notebooks"
LESSONS = [*sorted(NOTEBOOKS.glob("[0-9]*.ipynb")), *sorted(NOTEBOOKS.glob("further/*.ipynb"))]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_numbers_in_the_prose_of_a_lesson_are_in_a_cell_of_it_or_in_a_record(lesson):
    notebook = nbformat.read(lesson, as_version=4)
    cells = [
        json.dumps([cell.source, cell.get("outputs")])
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    # pictures are not text, and their bytes hold every number
    shown = re.sub(r'"image/png": "[^"]*"|"text/html": "[^"]*"', "", " ".join(cells))
    near = [float(number) for number in re.findall(r"(?<![\w.])\d+\.?\d*", shown)]
    held = [number for numbers in records("results").values() for number in numbers]
    prose = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    ours = [part for text in prose for part in re.split(r"\n\s*\n", text) if "Paper:" not in part]
    unheld = [q for part in ours for q in quotes(part) if not holds(near + held, q)]
    assert unheld == []


def test_a_number_that_no_record_holds_is_noticed():
    held = list(numbers_in({"a": {"x": 0.8594, "y": [171_452_310]}, "b": [28.1, 19.9]}))
    said = "It reads 85.9 % in 171 MB, together 48.0 s; `0.123` is code, Python 3.11 a version."
    assert quotes(said) == ["85.9 %", "171 MB", "48.0 s"]
    assert all(holds(held, quote) for quote in quotes(said))
    assert not any(holds(held, wrong) for wrong in ("86.0 %", "0.860", "172 MB", "47.9 s"))


def test_two_trainings_of_han_attend_apart_as_lesson_08_says(real_data, monkeypatch):
    if not list((real_data / "prepared").glob("imdb-v*")):
        pytest.skip("all of IMDb is not prepared")
    monkeypatch.setenv("COURSE_DATA_DIR", str(real_data))
    run = load_recorded("han-imdb-compact-s0")
    model, again = (
        DocumentModel(run.system),
        DocumentModel(load_recorded("han-imdb-compact-s1").system),
    )
    texts = run.corpus.splits["test"]
    documents = model.documents(
        texts.select(np.random.default_rng(0).permutation(len(texts))[:100])
    )
    sample = hashlib.sha256(json.dumps(documents, ensure_ascii=False).encode()).hexdigest()
    assert f"sha256:{sample}" == study_records("interventions")["han-imdb-compact-s0"]["sample"]
    moves, first_words = [], []
    for text in documents:
        mine, real, _ = model.attended(text)
        theirs, some, long = again.attended(text)[0], real.any(-1), real.sum(-1) > 1
        moves.append(faithfulness.total_variation(mine, theirs)[some].mean())
        first_words.append((mine.argmax(-1) != theirs.argmax(-1))[long].mean())
    assert np.round([np.mean(moves), np.mean(first_words)], 2).tolist() == [0.17, 0.28]
