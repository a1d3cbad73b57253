"""What holds for the form of every lesson, and for the tables made from all of them."""

import re
from itertools import pairwise

import nbformat
import pytest
import yaml

from course_kit.publishing import contents, lessons, students
from course_lib.files import REPOSITORY

# grows with every lesson that is revised
LESSONS = [path.stem for path in lessons.lesson_paths()]
LONGEST_CELL, MOST_LINES, MOST_WORDS = 25, 350, 3500
EXERCISE, HINT = re.compile(r"^### Exercise \d+ (●+○*) ", re.MULTILINE), "<summary>Hint"

every_lesson = pytest.mark.parametrize("stem", LESSONS)


def lesson(stem):
    return nbformat.read(lessons.LESSONS / f"{stem}.ipynb", as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags(cell):
    return cell.metadata.get("tags", [])


@every_lesson
def test_code_stays_short(stem):
    cells = code_cells(lesson(stem))
    assert max(len(cell.source.splitlines()) for cell in cells) <= LONGEST_CELL
    # the site leaves claims out and folds imports: what a reader reads is the rest
    read = [cell.source.splitlines() for cell in cells if "claim" not in tags(cell)]
    lines = [line for source in read for line in source if " import " not in line]
    assert len(lines) <= MOST_LINES


@every_lesson
def test_prose_stays_short_and_the_head_says_how_long_it_takes(stem):
    notebook = lesson(stem)
    assert contents.words_of(notebook) <= MOST_WORDS
    said = re.search(r"\*\*Reading\*\* (\d+) minutes", notebook.cells[0].source)
    assert int(said[1]) == contents.read_entry(lessons.LESSONS / f"{stem}.ipynb").minutes


@every_lesson
def test_what_a_reader_is_asked_to_predict_is_not_asserted_in_the_same_cell(stem):
    cells = lesson(stem).cells
    for before, cell in pairwise(cells):
        if before.cell_type == "markdown" and "**Before you " in before.source:
            assert "assert " not in cell.source, cell.source
            assert "claim" not in tags(cell)


@every_lesson
def test_claims_stand_apart_after_the_discussion(stem):
    cells = lesson(stem).cells
    claims = [place for place, cell in enumerate(cells) if "claim" in tags(cell)]
    assert claims
    for place in claims:
        assert "assert" in cells[place].source
        assert cells[place - 1].cell_type == "markdown", "no discussion before this claim"


@every_lesson
def test_hints_come_after_the_stub_and_one_problem_is_a_stretch(stem):
    notebook = lesson(stem)
    stretch = 0
    for exercise in students.find_exercises(notebook, stem):
        asked = notebook.cells[exercise.solution - 1].source
        after = notebook.cells[exercise.check + 1].source
        stretch += EXERCISE.search(asked)[1] == "●●●●"
        assert HINT not in asked and HINT in after, asked
    assert stretch == 1


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


def test_a_file_without_a_place_for_its_table_is_named(tmp_path):
    (tmp_path / "README.md").write_text("no lessons here")
    with pytest.raises(ValueError, match=r"README\.md has no table of lessons"):
        contents.write_tables(tmp_path)


def test_the_routes_name_only_lessons_that_there_are():
    entries = [contents.read_entry(path) for path in lessons.lesson_paths()]
    routes = contents.learners_table(entries[:3]).partition("Three ways")[2]
    assert set(re.findall(r"\[(\d\d)\]", routes)) == {entry.number for entry in entries[:3]}
    everything = contents.learners_table(entries)
    assert all(f"({entry.stem}.ipynb)" in everything for entry in entries)


def test_minutes_follow_from_words_and_headings(tmp_path):
    cells = [
        nbformat.v4.new_markdown_cell("# 42 · Title\n\n**running** about 3 minutes on\ntwo cores"),
        nbformat.v4.new_markdown_cell("word " * 1001 + "$x + y$ <details>not these</details>"),
        nbformat.v4.new_markdown_cell("### Exercise 1 ●●○ · 15 minutes: one"),
        nbformat.v4.new_markdown_cell("### Exercise 2 ●●●● · 20 minutes: two"),
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbformat.write(notebook, tmp_path / "42_title.ipynb")
    entry = contents.read_entry(tmp_path / "42_title.ipynb")
    assert contents.words_of(notebook) == 1001 + 2 + 7 + 5 + 5
    assert (entry.minutes, entry.practice, entry.running) == (10, 35, "about 3 minutes")
    assert (entry.number, entry.title) == ("42", "Title")


def needed_by(stem, about):
    """A lesson's needs and helps, and theirs, by number."""
    direct = {*about[stem].get("needs", []), *about[stem].get("helps", [])}
    return {other[:2] for other in direct}.union(*(needed_by(each, about) for each in direct))


@every_lesson
def test_the_table_agrees_with_what_a_lesson_says_it_needs(stem):
    about = yaml.safe_load(contents.ABOUT.read_text(encoding="utf-8"))
    said = re.search(r"\*\*You need\*\*(.*?)\n\n", lesson(stem).cells[0].source, re.DOTALL)[1]
    needed, mentioned = (
        set(re.findall(r"\b\d\d\b", part)) for part in (said.partition(";")[0], said)
    )
    assert {other[:2] for other in about[stem].get("needs", [])} <= needed
    assert needed <= needed_by(stem, about)
    assert {other[:2] for other in about[stem].get("helps", [])} <= mentioned
