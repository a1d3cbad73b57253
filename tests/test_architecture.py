"""Packages import only from layers below them, and declare what they import."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest

from course_lib.files import REPOSITORY

PACKAGES = ("course_lib", "course_kit")
LAYERS = [  # from the ground up: a module imports from its own package or a lower layer
    (
        "course_lib.checking",
        "course_lib.files",
        "course_lib.front_end",
        "course_lib.javascript",
        "course_lib.profile",
        "course_lib.terminal",
    ),
    ("course_lib.data", "course_lib.models", "course_lib.metrics"),
    ("course_lib.training", "course_lib.views", "course_lib.faithfulness"),
    ("course_lib.runs",),
    ("course_lib.explore", "course_lib.cli"),
    ("course_kit.research",),
    ("course_kit.reading_room",),
    ("course_kit.exercises",),
    ("course_kit.audit",),  # the site alone imports it
    ("course_kit.publishing",),
    ("course_lib.__main__",),  # started, never imported
]
LAYER = {package: number for number, packages in enumerate(LAYERS) for package in packages}
ROOT = ("course_lib.checking", "course_lib.files", "course_lib.front_end")
THIN = ("course_lib.models", "course_lib.metrics", "course_lib.training")
ONLY = {  # what a package may import beside itself
    "course_lib.views": ("course_lib.files", "course_lib.front_end", "course_lib.javascript"),
    "course_lib.faithfulness": ("course_lib.front_end", "course_lib.models"),
    "course_lib.data": ROOT,
    "course_kit.audit": tuple(name for name in LAYER if name.startswith("course_lib.")),
}
SOURCES = sorted(path for name in PACKAGES for path in (REPOSITORY / name).rglob("*.py"))


def package_of(module):
    return ".".join(module.split(".")[:2])


def module_of(path):
    names = path.relative_to(REPOSITORY).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def imported(path):
    """The modules of ours that a file names in its imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGES):
            deeper = node.module.count(".") > 0
            yield from [node.module] if deeper else [f"{node.module}.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith(PACKAGES))


def test_imports_go_down_only():
    for path in SOURCES:
        package = package_of(module_of(path))
        for module in imported(path):
            other = package_of(module)
            if other == package:
                continue
            assert package in LAYER, f"{package} imports {module}"
            assert LAYER[other] <= LAYER[package], f"{path} imports {module}"
            if package in THIN:
                assert other in (*THIN, *ROOT) or module == "course_lib.data.batches", path
            assert other in ONLY.get(package, LAYER), f"{path} imports {module}"


def test_every_package_has_a_layer():
    fronts = [path for name in PACKAGES for path in REPOSITORY.glob(f"{name}/*/__init__.py")]
    assert {module_of(path) for path in fronts} <= LAYER.keys()


def test_contributing_lists_every_package_above_those_it_imports():
    table = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(course_\w+)/(\w+)/` \|", table, re.MULTILINE)
    packages = [".".join(names) for names in listed]
    fronts = [path for name in PACKAGES for path in REPOSITORY.glob(f"{name}/*/__init__.py")]
    assert sorted(packages) == sorted(map(module_of, fronts))
    layers = [LAYER[package] for package in packages]
    assert layers == sorted(layers, reverse=True)


EXTRA = {  # what brings the packages that a folder imports beside those of its learners
    "course_kit/publishing/site/": "site",
    "course_kit/audit/": "audit",
    "course_kit/research/grid/": "experiments",
}


def requirements(extras, name):
    """The packages of an extra, with those of the extras that it names."""
    for each in extras[name]:
        nested = re.fullmatch(r"attention-course\[([\w,]+)\]", each)
        if nested:
            for other in nested[1].split(","):
                yield from requirements(extras, other)
        else:
            yield re.match(r"[\w.-]+", each)[0].lower().replace("_", "-")


@pytest.mark.full
def test_what_is_imported_is_declared_by_the_extra_that_needs_it():
    """Not only there because another package needs it; pip alone is asked for where it is. What
    learners install holds what learners need, and nothing that only the site's builder imports."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"] | {"": project["dependencies"]}
    brought_by = packages_distributions()
    for path in SOURCES:
        place = path.relative_to(REPOSITORY).as_posix()
        extra = next((EXTRA[folder] for folder in EXTRA if place.startswith(folder)), "course")
        declared = {*requirements(extras, ""), *requirements(extras, extra)}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [each.name for each in node.names]
            else:
                names = [node.module] if isinstance(node, ast.ImportFrom) else []
            for name in {each.partition(".")[0] for each in names} - {*PACKAGES, "pip"}:
                found = {each.lower().replace("_", "-") for each in brought_by.get(name, ())}
                assert name in sys.stdlib_module_names or found & declared, f"{path}: {name}"
    everything = {*requirements(extras, "dev")}
    assert all(everything >= {*requirements(extras, name)} for name in extras if name)
    assert not {*requirements(extras, "course")} & {"sphinx", "myst-nb", "docutils"}


@pytest.mark.full
def test_only_the_site_s_own_folder_is_imported_with_its_packages():
    """Every other module loads where these are not installed."""
    code = (
        "import importlib, sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in BUILDERS:\n"
        "            raise ModuleNotFoundError(f'no {name}', name=name)\n"
        "from course_kit.publishing.commands import BUILDERS\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from course_kit.publishing import contents, executing, lessons, workspace, read_progress\n"
        "from course_kit.reading_room.page import build\n"
        "from course_kit.audit import page\n"
        "from course_lib import cli\n"
        "print(cli.main(['course']))\n"
        "print(cli.main(['author', 'slides']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert done.stdout == "2\n2\n", done.stderr
    course, slides = done.stderr.splitlines()[-2:]
    assert "course needs sphinx, which is not installed" in course
    assert all('pip install --editable ".[site]"' in line for line in (course, slides))


HEAVY = {
    *("datasets", "pyarrow", "nltk", "pooch", "sklearn", "matplotlib", "seaborn", "pandas"),
    *("IPython", "ipywidgets", "anywidget", "notebook", "papermill", "nbformat", "nbconvert"),
    "snakemake",
}


@pytest.mark.full
def test_the_thin_part_imports_alone():
    """In a process of its own, every module of it, and what that leaves in ``sys.modules``."""
    modules = [
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)
        for path in SOURCES
        if package_of(module_of(path)) in THIN and path.stem != "__init__"
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
    ours = {package_of(name) for name in done.stdout.split() if name.startswith("course_lib.")}
    assert ours == {*THIN, *ROOT, "course_lib.data"}
    assert {name for name in done.stdout.split() if name.startswith("course_lib.data.")} == {
        "course_lib.data.batches"
    }


@pytest.mark.full
def test_torch_reads_how_long_a_waiting_thread_spins():
    """GNU's OpenMP says what it read from the environment, once, when torch loads it."""
    code = "import course_lib, sys; assert 'torch' not in sys.modules; import torch"
    environment = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        env=environment | {"OMP_DISPLAY_ENV": "verbose"},
    )
    assert done.returncode == 0, done.stderr
    if "GOMP_" not in done.stderr:
        pytest.skip("torch brings another OpenMP here")
    assert "GOMP_SPINCOUNT = '3000'" in done.stderr


BINARY = (".gif", ".npz", ".parquet", ".png", ".safetensors", ".woff2", ".gz", ".zip")


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
