"""What holds for the form of every lesson, and for the tables made from all of them."""

import re
from itertools import pairwise

import nbformat
import pytest
import yaml
from nbformat.v4 import new_markdown_cell, new_notebook

from course_kit.publishing import contents, lessons, students
from course_lib.files import REPOSITORY

LONGEST_CELL, MOST_LINES, MOST_WORDS = 25, 350, 3500
EXERCISE, HINT = re.compile(r"^### Exercise \d+ (●+○*) ", re.MULTILINE), "<summary>Hint"
NBGRADER = {"grade", "grade_id", "locked", "schema_version", "solution", "task"}
ABOUT = yaml.safe_load(contents.ABOUT.read_text(encoding="utf-8"))


@pytest.fixture(params=lessons.lesson_paths(), ids=lambda path: path.stem)
def path(request):
    return request.param


@pytest.fixture
def notebook(path):
    return nbformat.read(path, as_version=4)


def tags(cell):
    return cell.metadata.get("tags", [])


def test_code_and_prose_stay_short_and_the_head_says_how_long_it_takes(path, notebook):
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert max(len(cell.source.splitlines()) for cell in cells) <= LONGEST_CELL
    # the site leaves claims out and folds imports: what a reader reads is the rest
    read = [cell.source.splitlines() for cell in cells if "claim" not in tags(cell)]
    lines = [line for source in read for line in source if " import " not in line]
    assert len(lines) <= MOST_LINES
    assert contents.words_of(notebook) <= MOST_WORDS
    said = re.search(r"\*\*Reading\*\* (\d+) minutes", notebook.cells[0].source)
    assert int(said[1]) == contents.read_entry(path).minutes


def test_claims_stand_after_their_discussion_and_never_where_a_reader_predicts(notebook):
    claims = 0
    for before, cell in pairwise(notebook.cells):
        if before.cell_type == "markdown" and "**Before you " in before.source:
            assert "assert " not in cell.source and "claim" not in tags(cell), cell.source
        if "claim" in tags(cell):
            claims += 1
            assert "assert" in cell.source
            assert before.cell_type == "markdown", "no discussion before this claim"
    assert claims


def test_hints_come_after_the_stub_and_one_problem_is_a_stretch(path, notebook):
    stretch = 0
    for exercise in students.find_exercises(notebook, path.name):
        asked = notebook.cells[exercise.solution - 1].source
        after = notebook.cells[exercise.check + 1].source
        stretch += EXERCISE.search(asked)[1] == "●●●●"
        solution, check = (notebook.cells[exercise.solution + i].metadata.nbgrader for i in (0, 1))
        assert solution.keys() == check.keys() - {"points"} == NBGRADER and check.points > 0
        assert check.locked and check.schema_version == solution.schema_version == 3
        assert HINT not in asked and HINT in after, asked
    assert stretch == 1


def numbers(stem, *kinds):
    """The lessons that a lesson needs, or that help, by number."""
    return {other[:2] for kind in kinds for other in ABOUT[stem].get(kind, [])}


def needed_by(stem):
    """A lesson's needs and helps, and theirs."""
    direct = numbers(stem, "needs", "helps")
    return direct.union(*(needed_by(each) for each in ABOUT if each[:2] in direct))


def test_the_table_agrees_with_what_a_lesson_says_it_needs(path, notebook):
    said = re.search(r"\*\*You need\*\*(.*?)\n\n", notebook.cells[0].source, re.DOTALL)[1]
    needed, mentioned = (
        set(re.findall(r"\b\d\d\b", part)) for part in (said.partition(";")[0], said)
    )
    assert numbers(path.stem, "needs") <= needed <= needed_by(path.stem)
    assert numbers(path.stem, "helps") <= mentioned


def test_the_tables_of_lessons_are_those_that_the_command_writes(tmp_path):
    """`attention-course contents` brings them up to date."""
    names = ("README.md", "notebooks/README.md", "notebooks/00_start_here.ipynb")
    committed = {name: (REPOSITORY / name).read_text(encoding="utf-8") for name in names}
    for name, text in committed.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        stale = re.sub(r"(\d+) min \|", "99 min |", text)  # as if somebody had typed them
        (tmp_path / name).write_text(stale, encoding="utf-8")
    contents.write_tables(tmp_path)
    for name, text in committed.items():
        written = (tmp_path / name).read_text(encoding="utf-8")
        assert written == text, "out of date: run `attention-course contents`"
    (tmp_path / "README.md").write_text("no lessons here")
    with pytest.raises(ValueError, match=r"README\.md has no table of lessons"):
        contents.write_tables(tmp_path)


def test_the_routes_name_only_lessons_that_there_are():
    entries = [contents.read_entry(path) for path in lessons.lesson_paths()]
    routes = contents.learners_table(entries[:3]).partition("Three ways")[2]
    assert set(re.findall(r"\[(\d\d)\]", routes)) == {entry.number for entry in entries[:3]}


def test_minutes_follow_from_words_and_headings(tmp_path):
    prose = (
        "# 42 · Title\n\n**running** about 3 minutes on\ntwo cores",
        "word " * 1001 + "$x + y$ <details>not these</details>",
        "### Exercise 1 ●●○ · 15 minutes: one",
        "### Exercise 2 ●●●● · 20 minutes: two",
    )
    notebook = new_notebook(cells=list(map(new_markdown_cell, prose)))
    nbformat.write(notebook, tmp_path / "42_title.ipynb")
    entry = contents.read_entry(tmp_path / "42_title.ipynb")
    assert contents.words_of(notebook) == 1001 + 2 + 7 + 5 + 5
    assert (entry.minutes, entry.practice, entry.running) == (10, 35, "about 3 minutes")
    assert (entry.number, entry.title) == ("42", "Title")
