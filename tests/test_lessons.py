"""The tool that runs and publishes notebooks, tried on small broken ones."""

import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_lib import lessons

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


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


def test_profile_comes_from_the_environment_and_an_unknown_one_is_named(monkeypatch):
    monkeypatch.delenv("COURSE_PROFILE", raising=False)
    assert lessons.profile_from_environment() == "lesson"
    monkeypatch.setenv("COURSE_PROFILE", "smoke")
    assert lessons.profile_from_environment() == "smoke"
    monkeypatch.setenv("COURSE_PROFILE", "quick")
    with pytest.raises(ValueError, match=r"'quick'.*smoke, lesson, full"):
        lessons.profile_from_environment()


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
    source = write(notebook(new_code_cell("1 / 0")), tmp_path / "01_broken.ipynb")
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
    source = write(notebook(cell), tmp_path / "02_widget.ipynb")
    outcome = lessons.execute(source, tmp_path / "out.ipynb", "smoke")
    assert any("only in the widget" in error for error in outcome.errors)


def test_a_good_lesson_gets_its_profile(tmp_path):
    parameters = new_code_cell("profile = 'lesson'", metadata={"tags": ["parameters"]})
    source = write(notebook(parameters, new_code_cell("print(profile)")), tmp_path / "03_ok.ipynb")
    outcome = lessons.execute(source, tmp_path / "out.ipynb", "smoke")
    assert outcome.errors == []
    executed = nbformat.read(tmp_path / "out.ipynb", as_version=4)
    assert executed.cells[-1].outputs[0].text == "smoke\n"


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
    paths = [*lessons.lesson_paths(), lessons.LESSONS / "experiments" / "run.ipynb"]
    assert len(paths) >= 3
    for path in paths:
        stored = nbformat.read(path, as_version=4)
        assert lessons.normalise(stored) == stored, f"{path.name}: run `make notebooks`"
        assert lessons.errors_in(stored) == []


def test_exported_lesson_asks_for_nothing_and_draws_formulas(tmp_path):
    picture = new_output("display_data", {"image/png": PIXEL})
    picture.metadata["image/png"] = {"alt": 'a "pixel" <b>'}
    hostile = new_output("stream", name="stdout", text="<script>alert(1)</script>")
    made = notebook(
        new_markdown_cell("# Title\n\nWith $\\alpha_i$ and\n\n$$s = \\sum_i \\alpha_i h_i$$"),
        new_code_cell("x", outputs=[picture, hostile]),
    )
    page = tmp_path / "lesson.html"
    lessons.export_html(write(made, tmp_path / "lesson.ipynb"), page)
    text = page.read_text(encoding="utf-8")
    assert text.count("<math") == 2 and "<msub>" in text
    assert not re.search(r"<script|<link|src=[\"']https?:|url\(https?:|@import", text)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert re.search(
        r'alt="a (&quot;|&#34;)pixel(&quot;|&#34;) &lt;b(&gt;|>)"|alt=\'a "pixel" &lt;b', text
    )
