"""Where a command writes: free, taken, a folder, a link, not writable, full. All of it stays."""

import pytest
from custom_files import ROWS, TINY, UNICODE, write

from course_kit.audit import by_name
from course_kit.publishing.site import slides
from course_kit.reading_room import MARK
from course_kit.reading_room.page import assembly
from course_lib import cli
from course_lib.data import custom_texts
from course_lib.files import REPOSITORY, WORKROOM
from course_lib.runs.run import train
from course_lib.runs.spec import RunSpec

pytestmark = pytest.mark.full  # a command for each target

LESSON = REPOSITORY / "notebooks" / "02_attention.ipynb"
FILES = {
    "predict": ("predict {run} {texts} --to {to}", "out.csv"),
    "predict, parquet": ("predict {run} {texts} --to {to}", "out.parquet"),
    "audit": ("audit {run} --texts {texts} --to {to}", "out.html"),
    "audit, JSON": ("audit {run} --texts {texts} --to {to}", "out.json"),
    "room": ("room --to {to}", "out.html"),
}
FOLDERS = {
    "students": (f"author students --to {{to}} {LESSON}", "out"),
    "slides": ("author slides --to {to}", "out"),
}
EVERY = FILES | FOLDERS


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A finished run, and texts for it."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_DATA_DIR", str(folder / "data"))
        patch.setattr("course_lib.data.custom_data.fetch_punkt", lambda: None)
        name = custom_texts(write(folder / "films.csv"), UNICODE)
        spec = RunSpec("han", name, "small", TINY, device="cpu", threads=1)
        train(spec, folder / "run")
        (folder / "texts.txt").write_text("\n".join(text for text, _ in ROWS), encoding="utf-8")
        yield folder


@pytest.fixture(scope="module")
def report(made):
    """An audit of the run."""
    texts = (made / "texts.txt").read_text(encoding="utf-8").split("\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_DATA_DIR", str(made / "data"))
        patch.setattr("course_lib.data.custom_data.fetch_punkt", lambda: None)
        return by_name.audit(by_name.any_model(str(made / "run")), texts)


@pytest.fixture
def carried_out(made, report, monkeypatch, capsys):
    """``carried_out(command, to)``: its exit status, and what it said."""
    monkeypatch.setenv("COURSE_DATA_DIR", str(made / "data"))
    monkeypatch.setattr("course_lib.data.custom_data.fetch_punkt", lambda: None)
    # what is written does not matter here, and takes long: an audit is made once
    monkeypatch.setattr(by_name, "audit", lambda *_, **__: report)
    monkeypatch.setattr(assembly, "page", lambda *_, **__: f"{MARK} a room" + 1000 * " ")
    monkeypatch.setattr(slides, "lesson_paths", lambda: [LESSON], raising=False)

    def carry_out(name, to):
        command = EVERY[name][0]
        words = [
            word.format(run=made / "run", texts=made / "texts.txt", to=to)
            for word in command.split()
        ]
        try:
            status = cli.main(words)
        except SystemExit as stop:
            status = stop.code
        said = capsys.readouterr()
        return status, said.out + said.err

    return carry_out


def contents(folder):
    """Everything below a folder, links unfollowed, and what files hold."""
    found = {}
    for path in sorted(folder.rglob("*")):
        kind = "link" if path.is_symlink() else "folder" if path.is_dir() else path.read_bytes()
        found[path.relative_to(folder).as_posix()] = kind
    return found


def check_refused(result, folder, before, says=""):
    status, said = result
    assert status == 2 and said.count("error: ") == 1 and says in said, said
    assert contents(folder) == before


@pytest.mark.parametrize("name", EVERY)
def test_a_free_place_is_written_with_the_folders_above_it(name, carried_out, tmp_path):
    to = tmp_path / "new" / "folder" / EVERY[name][1]
    status, said = carried_out(name, to)
    assert status == 0 and str(to) in said
    assert to.stat().st_size and not [path for path in contents(tmp_path) if WORKROOM in path]


@pytest.mark.parametrize("name", EVERY)
def test_what_somebody_else_has_written_stays(name, carried_out, tmp_path):
    """A file where a file should be, and where a folder should be."""
    to = tmp_path / EVERY[name][1]
    to.write_text("mine")
    check_refused(carried_out(name, to), tmp_path, {to.name: b"mine"})


@pytest.mark.parametrize("name", FILES)
def test_a_folder_is_no_file(name, carried_out, tmp_path):
    to = tmp_path / FILES[name][1]
    to.mkdir()
    check_refused(carried_out(name, to), tmp_path, {to.name: "folder"}, "exists already")


@pytest.mark.parametrize("name", EVERY)
def test_a_link_stays_and_where_it_leads_is_written(name, carried_out, tmp_path):
    to, there = tmp_path / EVERY[name][1], tmp_path / "there"
    if name in FOLDERS:
        there.mkdir()
    to.symlink_to(there)
    status, said = carried_out(name, to)
    if status == 0:
        assert to.is_symlink() and (any(there.iterdir()) if name in FOLDERS else there.stat())
    else:  # a link is something that stands there, and it is said so
        assert "exists already" in said and to.is_symlink() and not there.exists()


@pytest.mark.parametrize("name", EVERY)
def test_a_link_to_itself_is_refused(name, carried_out, tmp_path):
    to = tmp_path / EVERY[name][1]
    to.symlink_to(to)
    check_refused(carried_out(name, to), tmp_path, {to.name: "link"})


@pytest.mark.parametrize("name", EVERY)
def test_below_a_file_nothing_can_be_written(name, carried_out, tmp_path):
    (tmp_path / "file").write_text("mine")
    to = tmp_path / "file" / EVERY[name][1]
    check_refused(carried_out(name, to), tmp_path, {"file": b"mine"}, "file")


@pytest.mark.parametrize("name", EVERY)
def test_on_a_full_disk_nothing_is_left(name, carried_out, tmp_path, full_disk):
    to = tmp_path / EVERY[name][1]
    with full_disk(100):
        status, said = carried_out(name, to)
    assert status == 2 and f"error: cannot write {to.with_suffix('')}" in said, said
    left = {path: kind for path, kind in contents(tmp_path).items() if kind != "folder"}
    assert left == {} and not [path for path in contents(tmp_path) if WORKROOM in path]
