"""The tool that runs and publishes notebooks, tried on small broken ones."""

import ast
import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields

import nbformat
import papermill
import pytest
import zmq.asyncio
from jupyter_client.session import Session
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_kit.publishing import contents, lessons, preparing, site
from course_lib import cli
from course_lib.data.catalog import CARDS
from course_lib.data.sources import NotObtained
from course_lib.files import REPOSITORY, DataError
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


def execute(path, *cells):
    """The errors of a made-up lesson, and its executed copy or None."""
    nbformat.write(notebook(*cells), path / "01_made.ipynb")
    executed = path / "out" / "01_made.ipynb"
    outcome = lessons.execute(path / "01_made.ipynb", executed, "smoke")
    summary = lessons.summary([outcome])
    assert summary.startswith("01_made") and summary.endswith(" ok") == (not outcome.errors)
    return outcome.errors, nbformat.read(executed, as_version=4) if executed.exists() else None


@pytest.fixture
def prepared(monkeypatch):
    """What was prepared, in order, by one process; a dataset of ``missing`` cannot be had."""
    names, missing = [], {}

    def load(name, first=None):
        if name in missing:
            raise missing[name]
        assert first == CARDS[name].lesson_rows
        names.append(name)

    @contextmanager
    def afterwards(work, *arguments):
        yield
        work(*arguments)

    monkeypatch.setattr(preparing, "beside", afterwards)
    for loader in ("corpus.load_corpus", "vectors.load_vectors", "pretrained.fetch_network"):
        monkeypatch.setattr(f"course_lib.data.{loader}", load)
    return names, missing


def test_every_stand_in_is_prepared_and_has_the_classes_of_what_it_stands_for():
    named = [card for card in CARDS.values() if card.fallback]
    assert {card.name for card in named} == {name for name in CARDS if name.startswith("sst")}
    for card in named:
        other = CARDS[card.fallback]
        assert other.classes == card.classes and other.sizes.keys() == card.sizes.keys()
        assert not other.on_demand and other.sources[0].downloads[0].requirement


def test_only_what_has_a_stand_in_may_be_missing_and_none_damaged(prepared, capsys):
    names, missing = prepared
    missing |= {name: NotObtained(f"{name} cannot be had") for name in ("sst2", "minilm")}
    preparing.prepare_data()
    assert names == [
        "imdb",
        "toy",
        "huffpost",
        "sst5",
        "movies2",
        "movies5",
        "glove.6B.50d",
        "reviews.100d",
    ]
    said = capsys.readouterr().err
    assert "sst2 cannot be had\nThe lessons use movies2 instead." in said
    assert "minilm cannot be had\nThe lessons use a small Transformer instead." in said
    for name, error in (("movies5", NotObtained("not had")), ("sst2", DataError("damaged"))):
        missing[name] = error
        with pytest.raises(type(error), match=str(error)):
            preparing.prepare_data()


QUIET = (  # errors at which no cell stops: the code, and where each is found
    (
        "import logging\ntry:\n    1 / 0\nexcept ZeroDivisionError as error:\n"
        "    logging.getLogger('widget').exception('in a callback')",
        "cell 4: on stderr: ZeroDivisionError: division by zero",
    ),
    (
        "import sys, traceback\ntry:\n    [].pop()\nexcept IndexError:\n    traceback.print_exc()",
        "cell 5: on stderr: IndexError: pop from empty list",
    ),
    (
        "import ipywidgets\nfrom IPython.display import display\nout = ipywidgets.Output()\n"
        "display(out)\nwith out:\n    raise KeyError('only in the widget')",
        "inside a widget: KeyError: 'only in the widget'",
    ),
    (
        "other = ipywidgets.Output()\ndisplay(other)\nwith other:\n    try:\n        int('x')\n"
        "    except ValueError:\n        traceback.print_exc()",
        "inside a widget: on stderr: ValueError: invalid literal for int() with base 10: 'x'",
    ),
    (
        "slider = ipywidgets.IntSlider()\nslider.value = 2\n"
        "ipywidgets.interact(lambda x: {2: 1}[x], x=slider)\nslider.value = 1",
        "inside a widget: KeyError: 1",
    ),
)


@pytest.mark.full
def test_every_error_is_found_that_stops_no_cell_and_no_warning_is_one(tmp_path):
    said = new_code_cell("print(profile, seed)")
    noise = new_code_cell(
        "import sys, warnings\nwarnings.warn('soon')\nprint('50 %', file=sys.stderr)"
    )
    quiet = [new_code_cell(code) for code, _ in QUIET]
    errors, executed = execute(tmp_path, PARAMETERS, said, noise, *quiet)
    assert sorted(errors) == sorted(found for _, found in QUIET)
    assert executed.cells[2].outputs[0].text == "smoke 0\n"  # after papermill's parameters


@pytest.mark.full
def test_joined_notebooks_have_their_folders_and_no_names_of_each_other(tmp_path, monkeypatch):
    monkeypatch.setattr(lessons, "EXECUTED", tmp_path)
    paths = [tmp_path / name / "made.ipynb" for name in ("one", "two")]
    for path in paths:
        path.parent.mkdir()
        asked = new_code_cell(
            "import os\nprint(os.path.basename(os.getcwd()), 'kept' in globals())"
        )
        nbformat.write(notebook(asked, new_code_cell("kept = 1")), path)
    (joined,) = lessons.joined(paths, 1)
    assert not lessons.execute(joined, tmp_path / "out.ipynb", "smoke").errors
    cells = nbformat.read(tmp_path / "out.ipynb", as_version=4).cells
    said = [output.text for cell in cells for output in cell.get("outputs", ())]
    assert said == ["one False\n", "two False\n"] and len(lessons.joined(paths, 4)) == 2
    assert cells[-1].source == "# made.ipynb, cell 1\nkept = 1"  # where a failure is from


@pytest.mark.full
def test_a_dead_kernel_is_reported(tmp_path):
    errors, _ = execute(tmp_path, PARAMETERS, new_code_cell("import os\nos._exit(3)"))
    assert errors == ["DeadKernelError: Kernel died"]


@pytest.mark.full
def test_a_cell_that_never_answers_is_an_error_and_no_endless_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(lessons, "CELL_SECONDS", 1)
    source = "profile = 'lesson'\nimport time\ntime.sleep(120)"
    # the first cell of all: no other one can be late on a busy machine
    endless = new_code_cell(source, metadata={"tags": ["parameters"]})
    (error,), _ = execute(tmp_path, endless)
    assert error.startswith("CellTimeoutError") and "time.sleep(120)" in error


def test_a_reply_that_arrives_while_the_client_sends_is_seen():
    async def talk():
        session, context = Session(), zmq.asyncio.Context.instance()
        client = context.socket(zmq.PAIR)
        kernel = zmq.Context.shadow(context.underlying).socket(zmq.PAIR)
        kernel.bind("inproc://kernel")
        client.connect("inproc://kernel")
        channel = lessons.WatchfulChannel(client, session)
        reply = asyncio.ensure_future(channel.get_msg())
        await asyncio.sleep(0.1)  # it waits now
        session.send(kernel, "execute_reply")  # nobody looks before the client sends
        channel.send(session.msg("comm_msg"))
        try:
            return await asyncio.wait_for(reply, 30)
        finally:
            client.close()
            kernel.close()

    # in a thread of its own: a browser test of the same process leaves its loop running in this one
    with ThreadPoolExecutor(1) as elsewhere:
        assert elsewhere.submit(asyncio.run, talk()).result()["msg_type"] == "execute_reply"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": []}'])
def test_a_file_that_is_no_notebook_is_reported(text, tmp_path):
    (tmp_path / "02_text.ipynb").write_text(text)
    outcome = lessons.execute(tmp_path / "02_text.ipynb", tmp_path / "out.ipynb", "smoke")
    assert len(outcome.errors) == 1 and outcome.lesson == "02_text"
    assert not (tmp_path / "out.ipynb").exists()


def test_every_lesson_has_a_profile_and_the_run_has_its_spec():
    for path in lessons.lesson_paths():  # papermill would only warn
        assert papermill.inspect_notebook(str(path)).keys() >= {"profile", "seed"}
    run = lessons.LESSONS / "experiments" / "run.ipynb"
    assert list(papermill.inspect_notebook(str(run))) == [item.name for item in fields(RunSpec)]


PACKAGES = {
    name: {path.parent.name for path in (REPOSITORY / name).glob("*/__init__.py")}
    for name in ("course_lib", "course_kit")
}
DEEPER = ("course_lib.views", "course_lib.profile", "course_kit.research", "course_kit.exercises")


@pytest.mark.parametrize("path", lessons.lesson_paths(), ids=lambda path: path.stem)
def test_a_lesson_enters_the_library_by_its_packages(path):
    cells = nbformat.read(path, as_version=4).cells
    code = [ast.parse(cell.source) for cell in cells if cell.cell_type == "code"]
    nodes = [node for tree in code for node in ast.walk(tree)]
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    assert imports
    for node in imports:
        module, names = getattr(node, "module", ""), {name.name for name in node.names}
        if module in PACKAGES:
            assert names <= PACKAGES[module], ast.unparse(node)
        elif module.startswith(tuple(PACKAGES)):
            assert module in DEEPER, ast.unparse(node)
        else:
            assert not any(name.startswith("course_") for name in names), ast.unparse(node)


@pytest.mark.full
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


def test_normalise_keeps_what_is_ours_and_drops_the_rest():
    picture = new_output("display_data", {"image/png": PIXEL, "text/html": "its page"})
    picture.metadata["image/png"] = {"alt": "one pixel"}
    bar = new_output("display_data", {lessons.WIDGET: {}, "text/plain": "50%"})
    noise = new_output("stream", name="stderr", text="a warning of this machine")
    result = new_output("execute_result", {"text/plain": "3"}, execution_count=7)
    injected = new_code_cell("profile = 'lesson'", metadata={"tags": ["injected-parameters"]})
    ours = new_code_cell("1 + 2", outputs=[picture, bar, noise, result], execution_count=7)
    ours.metadata |= {"papermill": {"duration": 1.5}, "tags": []}
    secret = new_code_cell("show(review)", outputs=[picture], metadata={"tags": ["corpus-text"]})
    made = notebook(new_markdown_cell("# Title"), injected, ours, secret)
    made.metadata |= {"widgets": {"state": {}}, "papermill": {"input_path": "somewhere"}}

    clean = lessons.normalise(made)

    assert set(clean.metadata) == {"kernelspec", "language_info"}
    assert [cell.source for cell in clean.cells] == ["# Title", "1 + 2", "show(review)"]
    kept = clean.cells[1]
    assert kept.execution_count == 1 and not kept.metadata
    assert [output.output_type for output in kept.outputs] == ["display_data", "execute_result"]
    assert kept.outputs[0].metadata["image/png"]["alt"] == "one pixel"
    assert kept.outputs[0].data == {"image/png": PIXEL}
    assert kept.outputs[1].execution_count == 1
    assert clean.cells[2].outputs == [] and clean.cells[2].metadata.tags == ["corpus-text"]
    assert lessons.normalise(clean) == clean


@pytest.mark.full
def test_the_command_stores_outputs_and_fails_if_a_cell_does(tmp_path, monkeypatch, capsys):
    executed = tmp_path / "runs"
    monkeypatch.setattr(lessons, "EXECUTED", executed)
    monkeypatch.setattr(contents, "write_tables", lambda: None)
    monkeypatch.setenv("COURSE_HEATMAP", "png")
    paths = [tmp_path / "01_bad.ipynb", tmp_path / "02_good.ipynb"]
    for path, code in zip(paths, ("1 / 0", "print(profile)"), strict=True):
        nbformat.write(notebook(PARAMETERS, new_code_cell(code)), path)
    before = paths[0].read_bytes()
    assert cli.main(["notebooks", *map(str, paths)]) == 1
    bad, good = capsys.readouterr().out.splitlines()[-2:]
    assert "01_bad" in bad and "ZeroDivisionError: division by zero" in bad and good.endswith("ok")
    assert paths[0].read_bytes() == before and (executed / "01_bad.ipynb").exists()
    stored = nbformat.read(paths[1], as_version=4)
    assert stored.cells[1].outputs[0].text == "lesson\n" and lessons.normalise(stored) == stored


def test_committed_lessons_are_in_normal_form():
    further = ("run.ipynb", "your_own_text.ipynb")
    paths = [*site.pages(), *(lessons.LESSONS / "experiments" / name for name in further)]
    assert len(paths) >= 3
    for path in paths:
        stored = nbformat.read(path, as_version=4)
        assert lessons.normalise(stored) == stored, f"{path.name}: run `make notebooks`"
        assert lessons.errors_in(stored) == []
