"""Doors other than a local clone: badges from one setting, and files that others read."""

import json
import os
import re
import shutil

import nbformat
import pytest
import yaml

from course_kit.publishing.doors import MARK, address, badges, write_badges
from course_lib.files import REPOSITORY, DataError

LESSON = "notebooks/01_gru.ipynb"


@pytest.fixture
def clone(tmp_path):
    (tmp_path / "notebooks").mkdir()
    for name in ("README.md", "CITATION.cff", LESSON):
        shutil.copy(REPOSITORY / name, tmp_path / name)
    return tmp_path


def set_address(clone, value):
    lines = (REPOSITORY / "CITATION.cff").read_text()
    (clone / "CITATION.cff").write_text(f"{lines}repository-code: {value}\n")


def test_without_an_address_there_are_no_badges(clone):
    assert address() is None and write_badges(clone) == []
    assert MARK not in (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_a_fork_sets_its_address_once(clone):
    before = {name: (clone / name).read_bytes() for name in ("README.md", LESSON)}
    set_address(clone, "https://github.com/someone/their-course")
    assert write_badges(clone) == [clone / "README.md", clone / LESSON]
    readme = (clone / "README.md").read_text(encoding="utf-8").split("\n")
    assert readme[:4] == [readme[0], "", badges("someone/their-course"), ""]
    cell = nbformat.read(clone / LESSON, as_version=4).cells[0].source
    assert f"/v2/gh/someone/their-course/HEAD?urlpath=lab/tree/{LESSON}" in cell
    assert write_badges(clone) == []
    set_address(clone, "https://github.com/another/fork.git")
    write_badges(clone)
    text = (clone / "README.md").read_text(encoding="utf-8")
    assert "another/fork/HEAD" in text and "someone" not in text and text.count(MARK) == 1
    shutil.copy(REPOSITORY / "CITATION.cff", clone)
    write_badges(clone)
    assert before == {name: (clone / name).read_bytes() for name in before}


@pytest.mark.parametrize("value", ["someone/their-course", "https://example.org/someone/course"])
def test_what_is_no_address_is_refused(value, clone):
    set_address(clone, value)
    with pytest.raises(DataError, match=r"repository-code takes https://github\.com/owner/name"):
        write_badges(clone)


def test_the_workflow_covers_what_it_promises_and_needs_no_secret():
    text = (REPOSITORY / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    tried = {(one["os"], one["python"]) for one in jobs["test"]["strategy"]["matrix"]["include"]}
    assert tried >= {("ubuntu-latest", "3.11"), ("ubuntu-latest", "3.13"), ("macos-latest", "3.11")}
    assert "secrets." not in text
    steps = "\n".join(step.get("run", "") for step in jobs["windows"]["steps"])
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    block = re.search(r"\*\*Without `make`\*\*.*?```\n(.*?)```", readme, re.DOTALL)
    for line in block[1].splitlines()[:2]:
        assert line.replace(".venv/bin/", ".venv\\Scripts\\") in steps
    assert not any("constraint" in str(step) for step in jobs["without-pins"]["steps"])
    assert jobs["pages"]["needs"] == "test"


def test_other_doors_install_what_pyproject_offers():
    container = (REPOSITORY / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8")
    lines = [line for line in container.splitlines() if not line.startswith("//")]
    assert "'.[dev]'" in json.loads("\n".join(lines))["postCreateCommand"]
    build = REPOSITORY / "binder" / "postBuild"
    assert '".[course]"' in build.read_text()
    assert os.name == "nt" or build.stat().st_mode & 0o100
    for text in (container, build.read_text()):
        assert "constraints.txt" in text and "whl/cpu" in text
