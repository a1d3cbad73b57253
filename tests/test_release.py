"""What a release needs: one version everywhere, licences that are named, forms that can be read."""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from course_kit.publishing.site import conf
from course_lib.files import REPOSITORY

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FILES = ("course_lib", "course_kit", "pyproject.toml", "README.md", "LICENSE", "LICENSE-prose")


def text(name):
    return (REPOSITORY / name).read_text(encoding="utf-8")


def test_the_version_is_one_and_the_changelog_begins_with_it():
    cited, deposited = yaml.safe_load(text("CITATION.cff")), json.loads(text(".zenodo.json"))
    newest = re.search(r"^## (\S+)$", text("CHANGELOG.md"), re.MULTILINE)[1]
    assert {cited["version"], deposited["version"], newest} == {PROJECT["version"]}
    assert cited["title"] == deposited["title"]
    assert [one["name"] for one in cited["authors"]] == [
        one["name"] for one in deposited["creators"]
    ]


def test_both_licences_are_named_where_a_reader_looks():
    assert "creativecommons.org/licenses/by/4.0/" in text("LICENSE-prose")
    assert "[CC BY](LICENSE-prose)" in text("README.md") and "CC BY 4.0" in conf.copyright
    assert {"LICENSE", "LICENSE-prose"} == set(PROJECT["license-files"])


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.full
def test_wheel_and_sdist_hold_everything_and_work_on_their_own(tmp_path, missing):
    """Built and installed without a download: what they depend on is lent by this environment."""
    if not find_spec("build"):
        missing("the package build")
    tracked = run("git", "ls-files", *FILES, cwd=REPOSITORY).split()
    for name in tracked:
        (tmp_path / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, tmp_path / "source" / name)
    build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path / "dist"))
    run(*build, cwd=tmp_path / "source")
    wheel, sdist = (next((tmp_path / "dist").glob(f"*{kind}")) for kind in (".whl", ".tar.gz"))
    code = {name for name in tracked if name.startswith(("course_lib/", "course_kit/"))}
    assert code <= set(zipfile.ZipFile(wheel).namelist())
    for package in (wheel, sdist):
        home = tmp_path / package.suffix
        venv.create(home, symlinks=True)
        python = home / "bin" / "python"
        site = run(python, "-c", "import site; print(site.getsitepackages()[0])").strip()
        Path(site, "lent.pth").write_text(sysconfig.get_path("purelib"))
        offline = ("--no-deps", "--no-index", "--no-build-isolation", "--ignore-installed")
        pip = (sys.executable, "-m", "pip", "--python", str(python), "install", *offline)
        run(*pip, str(package), cwd=tmp_path)
        code = "from course_lib import models, metrics, faithfulness; print(models.__file__)"
        assert run(python, "-I", "-c", code, cwd=tmp_path).startswith(site)
        where = "from course_lib.files import REPOSITORY; print(REPOSITORY)"  # not among packages
        assert run(python, "-I", "-c", where, cwd=tmp_path).strip() == str(tmp_path)
        listed = run(home / "bin" / "attention-course", "--help", cwd=tmp_path).split()
        assert {"audit", "grade,"} <= {*listed}
