"""The house keeps its floors, and holds nothing that belongs elsewhere."""

import ast
import os
import re
import subprocess
import sys

import pytest

from course_lib.files import REPOSITORY

FLOORS = [  # the door's own modules stand at the ground: any room may use them
    ("checking", "files", "fronts", "profile", "terminal"),
    ("data", "models", "metrics"),
    ("training", "views", "faithfulness"),
    ("experiments",),
    ("explore",),
    ("reading_room",),
    ("teaching",),
    ("cli",),
    ("__main__",),  # started, never imported; a room may have one of its own
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
THIN = ("models", "metrics", "training")
LIBRARY = REPOSITORY / "course_lib"
SOURCES = sorted(LIBRARY.rglob("*.py"))


def room_of(path):
    names = path.relative_to(LIBRARY).with_suffix("").parts
    return "__main__" if names[-1] == "__main__" else names[0]


def imported(path):
    """The modules of the library that a file names in its imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("course_lib"):
            deeper = node.module.count(".") > 0
            yield from [node.module] if deeper else [f"course_lib.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith("course_lib."))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(LIBRARY)))
def test_imports_go_down_only(path):
    room = room_of(path)
    if room == "__init__":
        assert list(imported(path)) == []
        return
    for module in imported(path):
        other = module.split(".")[1]
        assert FLOOR[other] <= FLOOR[room], f"{path.name} in {room} imports {module}"
        if room in THIN and other not in THIN:
            assert other in ("checking", "files", "fronts") or module == "course_lib.data.batches"
        if room == "views":
            assert other in ("views", "files", "fronts"), "views draw tokens and arrays, no models"
        if room == "faithfulness":
            others = ("faithfulness", "models", "fronts")
            assert other in others, "it tests any model of documents, of ours or not"
        if room == "data":
            assert other in ("data", "checking", "files", "fronts"), "data knows no models"


def test_the_table_of_rooms_names_exactly_those_there_are():
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `(\w+)/` \|", text, flags=re.MULTILINE)
    rooms = [path.parent.name for path in LIBRARY.glob("*/__init__.py")]
    assert sorted(named) == sorted(rooms) and len(rooms) == 10
    assert [FLOOR[room] for room in named] == sorted(map(FLOOR.get, named), reverse=True)
    thin = re.search(r"(.*) are \*\*the thin part\*\*", text)[1]
    assert sorted(re.findall(r"`(\w+)/`", thin)) == sorted(THIN)


HEAVY = {
    *("datasets", "pyarrow", "nltk", "pooch", "sklearn", "matplotlib", "seaborn", "pandas"),
    *("IPython", "ipywidgets", "anywidget", "notebook", "papermill", "nbformat", "nbconvert"),
    *("snakemake", "torchmetrics"),
}
# 2,800; 125 for a network that a paper names and leaves open; 20 for an encoder; 25 for halved
# rates and Xavier's first weights, which the first author of SANet uses
THIN_LIMIT = 2970
LONGEST = 450


def test_the_thin_part_imports_alone():
    """In a process of its own, every module of it, and what that leaves in ``sys.modules``."""
    modules = [
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)
        for path in SOURCES
        if room_of(path) in THIN and path.stem != "__init__"
    ]
    command = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", command], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert {"course_lib", "torch", "accelerate"} <= loaded
    jupyters = {name for name in loaded if name.startswith("jupyter")}
    assert (loaded & HEAVY) | jupyters == set()
    rooms = {name.split(".")[1] for name in done.stdout.split() if name.startswith("course_lib.")}
    assert rooms == {*THIN, "data", "checking", "files", "fronts"}
    assert {name for name in done.stdout.split() if name.startswith("course_lib.data.")} == {
        "course_lib.data.batches"
    }


def lines_of(path):
    return path.read_text(encoding="utf-8").count("\n")


def test_the_thin_part_is_thin():
    lines = {str(path.relative_to(LIBRARY)): lines_of(path) for path in SOURCES
             if room_of(path) in THIN}  # fmt: skip
    assert sum(lines.values()) <= THIN_LIMIT, lines


@pytest.mark.parametrize(
    "path",
    sorted(
        path
        for path in LIBRARY.rglob("*")
        if path.suffix in (".py", ".js", ".css", ".html", ".j2") and path.parent.name != "vendor"
    ),
    ids=lambda path: str(path.relative_to(LIBRARY)),
)
def test_no_file_of_the_library_is_long(path):
    assert lines_of(path) <= LONGEST


def test_torch_reads_how_long_a_waiting_thread_spins():
    """GNU's OpenMP says what it read from the environment, once, when torch loads it."""
    code = "import course_lib, sys; assert 'torch' not in sys.modules; import torch"
    environment = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True,
        env=environment | {"OMP_DISPLAY_ENV": "verbose"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    if "GOMP_" not in done.stderr:
        pytest.skip("torch brings another OpenMP here")
    assert "GOMP_SPINCOUNT = '3000'" in done.stderr


BINARY = (".gif", ".npz", ".png", ".safetensors", ".woff2")


def test_no_tracked_file_names_a_machine_or_a_registry_host():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    hosts = "|".join(("py" + "pi", "npm" + "js", "deb" + "ian", "python" + "hosted"))
    pattern = re.compile(rf"https?://\S*(?:{hosts})|(?<![\w.])/(?:home|root|tmp)/\w")
    picture = re.compile(r'"image/png": "[\w+/=\\]*"')  # whose base64 may spell anything
    found = []
    for name in listed.stdout.split("\n"):
        path = REPOSITORY / name
        if path.is_file() and path.suffix not in BINARY:
            text = picture.sub("", path.read_text(encoding="utf-8"))
            found += [f"{name}: {match[0]}" for match in pattern.finditer(text)]
    assert found == []
