"""The house keeps its floors, and holds nothing that belongs elsewhere."""

import ast
import re
import subprocess

import pytest

from course_lib.files import REPOSITORY

FLOORS = [  # the door's own modules stand at the ground: any room may use them
    ("checking", "files", "fronts", "profile"),
    ("data", "models", "metrics"),
    ("training", "views"),
    ("experiments",),
    ("explore",),
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
        if room == "data":
            assert other in ("data", "checking", "files", "fronts"), "data knows no models"


def test_the_table_of_rooms_names_exactly_those_there_are():
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `(\w+)/` \|", text, flags=re.MULTILINE)
    rooms = [path.parent.name for path in LIBRARY.glob("*/__init__.py")]
    assert sorted(named) == sorted(rooms) and len(rooms) == 8
    assert [FLOOR[room] for room in named] == sorted(map(FLOOR.get, named), reverse=True)
    thin = re.search(r"(.*) are \*\*the thin part\*\*", text)[1]
    assert sorted(re.findall(r"`(\w+)/`", thin)) == sorted(THIN)


def test_no_tracked_file_names_a_machine_or_a_registry_host():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    hosts = "|".join(("py" + "pi", "npm" + "js", "deb" + "ian", "python" + "hosted"))
    pattern = re.compile(rf"https?://\S*(?:{hosts})|(?<![\w.])/(?:home|root|tmp)/\w")
    found = []
    for name in listed.stdout.split("\n"):
        path = REPOSITORY / name
        if path.is_file() and path.suffix not in (".png", ".safetensors"):
            text = path.read_text(encoding="utf-8")
            found += [f"{name}: {match[0]}" for match in pattern.finditer(text)]
    assert found == []
