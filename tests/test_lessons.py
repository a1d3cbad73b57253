"""The tool that runs and publishes notebooks, tried on small broken ones."""

import ast
import re
import subprocess
import sys
from dataclasses import fields

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_kit.publishing import lessons, site
from course_lib.data.catalog import CARDS
from course_lib.data.sources import NotObtained
from course_lib.files import REPOSITORY, DataError
from course_lib.profile import profile_from_environment
from course_lib.runs.spec import RunSpec

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


PARAMETERS = new_code_cell("profile = 'lesson'\nseed = 0", metadata={"tags": ["parameters"]})


def notebook(*cells):
    made = new_notebook(cells=list(cells))
    made.metadata["kernelspec"] = {"display_name": "x", "language": "python", "name": "python3"}
    return made


def write(made, path):
    nbformat.write(made, path)
    return path


def widget_state(outputs):
    model = {"model_name": "OutputModel", "state": {"outputs": outputs}}
    return {"application/vnd.jupyter.widget-state+json": {"state": {"abc": model}}}


def test_preparing_everything_leaves_out_what_is_prepared_on_demand(monkeypatch):
    prepared = []
    monkeypatch.setattr(lessons, "load_corpus", prepared.append)
    monkeypatch.setattr(lessons, "load_vectors", prepared.append)
    lessons.prepare_data()
    assert prepared == [
        "imdb", "toy", "huffpost", "sst2", "sst5", "movies2", "movies5", "glove.6B.50d",
        "reviews.100d",
    ]  # fmt: skip


def test_every_stand_in_is_prepared_and_has_the_classes_of_what_it_stands_for():
    named = [card for card in CARDS.values() if card.fallback]
    assert {card.name: card.fallback for card in named} == {
        "sst2": "movies2", "sst5": "movies5", "sst5_all": "movies5",
        "sst2_sentences": "movies2",
    }  # fmt: skip
    for card in named:
        other = CARDS[card.fallback]
        assert other.classes == card.classes and other.sizes.keys() == card.sizes.keys()
        assert not other.on_demand and other.sources[0].downloads[0].requirement


def test_a_corpus_with_a_stand_in_may_be_missing_and_no_other(monkeypatch, capsys):
    missing = {"sst2", "sst5"}

    def load(name):
        if name in missing:
            raise NotObtained(f"{name} cannot be had")

    monkeypatch.setattr(lessons, "load_corpus", load)
    monkeypatch.setattr(lessons, "load_vectors", lambda name: None)
    lessons.prepare_data()
    assert "sst2 cannot be had\nThe lessons use movies2 instead." in capsys.readouterr().err
    missing.add("movies5")
    with pytest.raises(NotObtained, match="movies5 cannot be had"):
        lessons.prepare_data()


def test_a_damaged_corpus_stops_the_preparation_even_if_it_has_a_stand_in(monkeypatch):
    def load(name):
        if name == "sst2":
            raise DataError("sst2: damaged")

    monkeypatch.setattr(lessons, "load_corpus", load)
    with pytest.raises(DataError, match="sst2: damaged"):
        lessons.prepare_data()


def test_profile_comes_from_the_environment_and_an_unknown_one_is_named(monkeypatch):
    monkeypatch.delenv("COURSE_PROFILE", raising=False)
    assert profile_from_environment() == "lesson"
    monkeypatch.setenv("COURSE_PROFILE", "smoke")
    assert profile_from_environment() == "smoke"
    monkeypatch.setenv("COURSE_PROFILE", "quick")
    with pytest.raises(ValueError, match=r"'quick'.*smoke, lesson, full"):
        profile_from_environment()


def test_errors_are_found_in_cells_and_inside_widgets():
    error = new_output("error", ename="KeyError", evalue="'x'", traceback=[])
    assert lessons.errors_in(notebook(new_code_cell("1"))) == []
    assert lessons.errors_in(notebook(new_code_cell("1", outputs=[error]))) == [
        "cell 0: KeyError: 'x'"
    ]
    quiet = notebook(new_code_cell("1"))
    quiet.metadata["widgets"] = widget_state([dict(error)])
    assert lessons.errors_in(quiet) == ["inside a widget: KeyError: 'x'"]


def test_a_failing_lesson_is_reported_and_its_executed_copy_kept(tmp_path):
    source = write(notebook(PARAMETERS, new_code_cell("1 / 0")), tmp_path / "01_broken.ipynb")
    outcome = lessons.execute(source, tmp_path / "out" / source.name, "smoke")
    assert "ZeroDivisionError" in outcome.errors[0]
    assert lessons.errors_in(nbformat.read(tmp_path / "out" / source.name, as_version=4))
    assert "ZeroDivisionError" in lessons.summary([outcome])


def test_an_error_inside_a_widget_callback_fails_the_lesson(tmp_path):
    cell = new_code_cell(
        "import ipywidgets\n"
        "out = ipywidgets.Output()\n"
        "display(out)\n"
        "with out:\n"
        "    raise KeyError('only in the widget')"
    )
    source = write(notebook(PARAMETERS, cell), tmp_path / "02_widget.ipynb")
    outcome = lessons.execute(source, tmp_path / "out.ipynb", "smoke")
    assert any("only in the widget" in error for error in outcome.errors)


@pytest.mark.parametrize(
    "code",
    [
        "import logging\ntry:\n    1 / 0\nexcept ZeroDivisionError as error:\n"
        "    logging.getLogger('widget').exception('in a callback')",
        "import sys, traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n"
        "    traceback.print_exc()",
        "import ipywidgets\nfrom IPython.display import display\nout = ipywidgets.Output()\n"
        "display(out)\nwith out:\n    import traceback\n    try:\n        1 / 0\n"
        "    except ZeroDivisionError:\n        traceback.print_exc()",
    ],
)
def test_a_traceback_that_was_only_printed_is_found(code, tmp_path):
    source = write(notebook(PARAMETERS, new_code_cell(code)), tmp_path / "02_log.ipynb")
    outcome = lessons.execute(source, tmp_path / "out.ipynb", "smoke")
    assert len(outcome.errors) == 1
    assert "on stderr: ZeroDivisionError: division by zero" in outcome.errors[0]


def test_a_callback_that_fails_is_found(tmp_path):
    cell = new_code_cell(
        "import ipywidgets\n"
        "slider = ipywidgets.IntSlider()\n"
        "ipywidgets.interact(lambda x: 1 / (1 - x), x=slider)\n"
        "slider.value = 1"
    )
    source = write(notebook(PARAMETERS, cell), tmp_path / "02_slider.ipynb")
    outcome = lessons.execute(source, tmp_path / "out.ipynb", "smoke")
    assert any("ZeroDivisionError: division by zero" in error for error in outcome.errors)


def test_warnings_and_progress_bars_are_no_errors(tmp_path):
    cell = new_code_cell(
        "import sys, warnings\nwarnings.warn('soon')\nprint('50 %', file=sys.stderr)"
    )
    source = write(notebook(PARAMETERS, cell), tmp_path / "02_noise.ipynb")
    assert lessons.execute(source, tmp_path / "out.ipynb", "smoke").errors == []


def test_a_dead_kernel_is_reported(tmp_path):
    cell = new_code_cell("import os\nos._exit(3)")
    source = write(notebook(PARAMETERS, cell), tmp_path / "02_dead.ipynb")
    outcome = lessons.execute(source, tmp_path / "out.ipynb", "smoke")
    assert outcome.errors == ["DeadKernelError: Kernel died"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": []}'])
def test_a_file_that_is_no_notebook_is_reported(text, tmp_path):
    source = tmp_path / "02_text.ipynb"
    source.write_text(text)
    outcome = lessons.execute(source, tmp_path / "out.ipynb", "smoke")
    assert len(outcome.errors) == 1 and outcome.lesson == "02_text"
    assert not (tmp_path / "out.ipynb").exists()


@pytest.mark.parametrize(
    ("cells", "profile", "further", "says"),
    [
        ([PARAMETERS], "smoke", {"sed": 1}, "02_p.ipynb has no parameter sed; .* profile, seed"),
        ([PARAMETERS], "quick", {}, "no profile 'quick'; there are smoke, lesson, full"),
        ([new_code_cell("profile = 1")], "smoke", {}, "no parameter profile; .* sets none"),
        (
            [new_code_cell("profil = 1", metadata={"tags": ["parameters"]})],
            "smoke",
            {},
            "no parameter profile; its parameters cell sets profil$",
        ),
    ],
)
def test_a_mistyped_parameter_starts_nothing(cells, profile, further, says, tmp_path):
    ran = tmp_path / "ran"
    cells = [*cells, new_code_cell(f"open({str(ran)!r}, 'w')")]
    source = write(notebook(*cells), tmp_path / "02_p.ipynb")
    outcome = lessons.execute(source, tmp_path / "out.ipynb", profile, **further)
    assert len(outcome.errors) == 1 and re.search(says, outcome.errors[0])
    assert not ran.exists() and not (tmp_path / "out.ipynb").exists()


def test_every_lesson_has_a_profile_and_the_run_has_its_spec():
    for path in lessons.lesson_paths():
        lessons.check_parameters(path, {"profile": "smoke", "seed": 0})
    run = lessons.LESSONS / "experiments" / "run.ipynb"
    assert lessons.parameter_names(run) == [item.name for item in fields(RunSpec)]


PACKAGES = {
    name: {path.parent.name for path in (REPOSITORY / name).glob("*/__init__.py")}
    for name in ("course_lib", "course_kit")
}
DEEPER = ("course_lib.views", "course_lib.profile", "course_kit.research", "course_kit.exercises")


def imports_of(lesson):
    """Every import of a lesson, those within functions included."""
    cells = nbformat.read(lesson, as_version=4).cells
    return [
        node
        for cell in cells
        if cell.cell_type == "code"
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]


@pytest.mark.parametrize("path", lessons.lesson_paths(), ids=lambda path: path.stem)
def test_a_lesson_has_at_most_ten_import_lines(path):
    lines = [ast.unparse(node) for node in imports_of(path)]
    assert 0 < len(lines) <= 10, "\n".join(lines)


@pytest.mark.parametrize("path", lessons.lesson_paths(), ids=lambda path: path.stem)
def test_a_lesson_enters_the_library_by_its_rooms(path):
    for node in imports_of(path):
        if isinstance(node, ast.Import):
            ours = [name.name for name in node.names if name.name.startswith("course_")]
            assert ours == [], ast.unparse(node)
        elif node.module in PACKAGES:
            assert {name.name for name in node.names} <= PACKAGES[node.module], ast.unparse(node)
        elif node.module.startswith(tuple(PACKAGES)):
            assert node.module in DEEPER, ast.unparse(node)


def test_what_lessons_import_first_loads_little():
    heavy = {"accelerate", "datasets", "ipywidgets", "pandas", "scipy.stats", "seaborn", "sklearn"}
    code = (
        "import sys, torch\n"
        + "".join(f"from {name} import {', '.join(sorted(p))}\n" for name, p in PACKAGES.items())
        + "from course_lib.views import drawings, plots\nplots.use_course_style()\n"
        f"print(*sorted({heavy!r} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_good_lesson_gets_its_profile(tmp_path):
    cell = new_code_cell("print(profile, seed)")
    source = write(notebook(PARAMETERS, cell), tmp_path / "03_ok.ipynb")
    outcome = lessons.execute(source, tmp_path / "out.ipynb", "smoke", seed=7)
    assert outcome.errors == []
    executed = nbformat.read(tmp_path / "out.ipynb", as_version=4)
    assert executed.cells[-1].outputs[0].text == "smoke 7\n"


def test_normalise_keeps_what_is_ours_and_drops_the_rest():
    picture = new_output("display_data", {"image/png": PIXEL})
    picture.metadata["image/png"] = {"alt": "one pixel"}
    bar = new_output("display_data", {lessons.WIDGET: {}, "text/plain": "50%"})
    noise = new_output("stream", name="stderr", text="a warning of this machine")
    result = new_output("execute_result", {"text/plain": "3"}, execution_count=7)
    injected = new_code_cell("profile = 'lesson'", metadata={"tags": ["injected-parameters"]})
    ours = new_code_cell("1 + 2", outputs=[picture, bar, noise, result], execution_count=7)
    ours.metadata["papermill"] = {"duration": 1.5}
    secret = new_code_cell("show(review)", outputs=[picture], metadata={"tags": ["corpus-text"]})
    made = notebook(new_markdown_cell("# Title"), injected, ours, secret)
    made.metadata["widgets"] = widget_state([])
    made.metadata["papermill"] = {"input_path": "somewhere"}

    clean = lessons.normalise(made)

    assert set(clean.metadata) == {"kernelspec", "language_info"}
    assert [cell.source for cell in clean.cells] == ["# Title", "1 + 2", "show(review)"]
    kept = clean.cells[1]
    assert kept.execution_count == 1 and not kept.metadata
    assert [output.output_type for output in kept.outputs] == ["display_data", "execute_result"]
    assert kept.outputs[0].metadata["image/png"]["alt"] == "one pixel"
    assert kept.outputs[1].execution_count == 1
    assert clean.cells[2].outputs == [] and clean.cells[2].metadata.tags == ["corpus-text"]
    assert lessons.normalise(clean) == clean


def test_committed_lessons_are_in_normal_form():
    further = ("run.ipynb", "your_own_text.ipynb")
    paths = [*site.pages(), *(lessons.LESSONS / "experiments" / name for name in further)]
    assert len(paths) >= 3
    for path in paths:
        stored = nbformat.read(path, as_version=4)
        assert lessons.normalise(stored) == stored, f"{path.name}: run `make notebooks`"
        assert lessons.errors_in(stored) == []


def test_a_cell_that_never_answers_is_an_error_and_no_endless_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(lessons, "CELL_SECONDS", 2)
    parameters = new_code_cell("profile = 'smoke'", metadata={"tags": ["parameters"]})
    stuck = new_code_cell("import time\ntime.sleep(120)")
    made = new_notebook(cells=[parameters, stuck])
    made.metadata["kernelspec"] = {"display_name": "x", "language": "python", "name": "python3"}
    nbformat.write(made, tmp_path / "01_stuck.ipynb")
    outcome = lessons.execute(tmp_path / "01_stuck.ipynb", tmp_path / "out.ipynb", "smoke")
    assert outcome.seconds < 60
    (error,) = outcome.errors
    assert error.startswith("CellTimeoutError") and "time.sleep(120)" in error
