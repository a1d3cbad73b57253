"""What holds for the form of every lesson, and for the tables made from all of them."""

import builtins
import re
import subprocess
import sys
from itertools import pairwise
from unittest.mock import MagicMock

import nbformat
import pytest
import yaml

from course_kit.publishing import contents, lessons, students
from course_lib.data.catalog import CARDS
from course_lib.files import REPOSITORY

PREDICTION, ANSWER = "**Before you ", "<details><summary>Answer"
FIVE_LINES = re.compile(r"^## In five lines\n\n(1\. .*?\n)\n", re.MULTILINE | re.DOTALL)
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


def test_a_lesson_says_in_its_head_how_long_it_takes(path, notebook):
    said = re.search(r"about (\d+) minutes, reading and doing", notebook.cells[0].source)
    assert int(said[1]) == ABOUT[path.stem]["minutes"], "run `attention-course author contents`"


def test_a_lesson_ends_in_five_lines_and_folds_its_answers(path, notebook):
    seen = students.student_copy(notebook, path.name).cells
    for number, cell in enumerate(seen):
        if PREDICTION in cell.source:
            after = (each.source for each in seen[number + 1 :] if each.cell_type == "markdown")
            assert ANSWER in next(after), f"no folded answer follows {cell.source!r}"
    (end,) = (cell.source for cell in seen if FIVE_LINES.search(cell.source))
    lines = re.findall(r"^\d\. ", FIVE_LINES.search(end)[1], re.MULTILINE)
    assert lines == ["1. ", "2. ", "3. ", "4. ", "5. "]
    assert ANSWER in end.partition("**Recall**")[2] and seen[-1].source == end


class Names(dict):
    """Names of a cell run alone: what it takes from cells above is anything at all."""

    def __missing__(self, name):
        if hasattr(builtins, name):
            raise KeyError(name)
        return MagicMock()


def test_a_lesson_reads_no_more_rows_than_are_prepared_for_it(notebook):
    """Others would be tokenised in the middle of the lesson."""

    class Asked(Exception):
        pass

    def load_corpus(name, first=None):
        raise Asked(name, first)

    data = MagicMock(load_corpus=load_corpus)
    for cell in notebook.cells:
        if cell.cell_type == "code" and "load_corpus(" in cell.source:
            with pytest.raises(Asked) as asked:
                exec(cell.source, {}, Names(profile="lesson", small=False, data=data))
            name, first = asked.value.args
            most = CARDS[name].lesson_rows
            assert most is None or (first is not None and first <= most), (name, first)


def test_a_copy_without_claims_misses_no_name(path, notebook):
    cells = students.student_copy(notebook, path.name).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821", "-"]
    done = subprocess.run(command, input=code, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("note", lessons.side_notes(), ids=lambda path: path.stem)
def test_a_side_note_is_one_question_of_a_lesson_that_links_to_it(note):
    notebook = nbformat.read(note, as_version=4)
    assert students.title_of(notebook, "none").endswith("?")
    assert not students.find_exercises(notebook, note.name)
    (origin,) = re.findall(r"\]\(\.\./(\d\d_\w+\.ipynb)", notebook.cells[0].source)
    lesson = students.student_copy(students.read_notebook(lessons.LESSONS / origin), origin)
    assert any(f"](further/{note.name})" in cell.source for cell in lesson.cells)


def test_claims_are_folded_after_their_discussion_and_never_where_a_reader_predicts(notebook):
    claims = 0
    for before, cell in pairwise(notebook.cells):
        if before.cell_type == "markdown" and PREDICTION in before.source:
            assert "assert " not in cell.source and "claim" not in tags(cell), cell.source
        if "claim" in tags(cell):
            claims += 1
            assert "assert" in cell.source and cell.metadata.jupyter.source_hidden
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
    said = re.search(
        r"\*\*You need\*\*(.*?)(\*\*Time\*\*|\n\n)", notebook.cells[0].source, re.DOTALL
    )[1]
    needed, mentioned = (
        set(re.findall(r"\b\d\d\b", part)) for part in (said.partition(";")[0], said)
    )
    assert numbers(path.stem, "needs") <= needed <= needed_by(path.stem)
    assert numbers(path.stem, "helps") <= mentioned


def test_the_tables_of_lessons_are_those_that_the_command_writes(tmp_path):
    """`attention-course author contents` brings them up to date."""
    names = ["README.md", "notebooks/README.md", "notebooks/teaching/README.md"]
    names += [f"notebooks/{path.name}" for path in lessons.lesson_paths()]
    committed = {name: (REPOSITORY / name).read_text(encoding="utf-8") for name in names}
    for name, text in committed.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        stale = re.sub(r"\d+ (?=min:|minutes, reading and)", "99 ", text)  # as if typed
        (tmp_path / name).write_text(stale, encoding="utf-8")
    contents.write_tables(tmp_path)
    for name, text in committed.items():
        written = (tmp_path / name).read_text(encoding="utf-8")
        assert written == text, "out of date: run `attention-course author contents`"
    (tmp_path / "README.md").write_text("no lessons here")
    with pytest.raises(ValueError, match=r"README\.md has no table of lessons"):
        contents.write_tables(tmp_path)
