"""The house keeps its floors, and holds nothing that belongs elsewhere."""

import ast
import re
import subprocess

import pytest

from course_lib.experiments import REPOSITORY

FLOORS = [
    ("data",),
    ("layers",),
    ("models", "metrics", "invariants"),
    ("heatmap", "plots", "drawings", "colours"),
    ("parallel", "training", "checks", "bugs"),
    ("systems",),
    ("experiments", "grid"),
    ("explore", "report", "students", "lessons", "museum"),
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
SOURCES = sorted((REPOSITORY / "course_lib").rglob("*.py"))


def rooms_imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("course_lib"):
            parts = node.module.split(".")
            yield from [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("course_lib."):
                    yield alias.name.split(".")[1]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_imports_go_down_only(path):
    room = path.relative_to(REPOSITORY / "course_lib").parts[0].removesuffix(".py")
    if room == "__init__":
        assert list(rooms_imported(path)) == []
        return
    for other in rooms_imported(path):
        assert FLOOR[other] <= FLOOR[room], f"{path.name} on floor {FLOOR[room]} imports {other}"
        assert not (room == "models" and other == "data"), "models know tensors, not data"


def test_each_floor_can_be_read_in_an_afternoon():
    lines = [0] * len(FLOORS)
    for path in SOURCES:
        room = path.relative_to(REPOSITORY / "course_lib").parts[0].removesuffix(".py")
        length = len(path.read_text(encoding="utf-8").splitlines())
        assert length < 600, f"{path.name} has {length} lines: too long to take in at once"
        if room in FLOOR and room != "checks":  # as long as there are exercises
            lines[FLOOR[room]] += length
    assert max(lines) < 3000, lines
    assert sum(lines) < 10_000, lines


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
