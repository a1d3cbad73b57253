import errno
import hashlib
import http.server
import io
import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from strategies import DATA, card_of, download, files_below, sha256

from course_lib.data import sources
from course_lib.data.catalog import CARDS, CATALOG, Card, Download, Source, read_catalog
from course_lib.data.readers import READERS
from course_lib.data.sources import obtain, verify
from course_lib.files import DataError


def folder_with(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name.replace("_", ".")).write_bytes(data)
    return folder


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
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: io.BytesIO())
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}", pages, asked
        running.shutdown()


@pytest.fixture
def unreachable(monkeypatch):
    """No host answers; returns the hosts that were tried."""
    tried = []

    def refuse(address, *_, **__):
        if address[0] == "127.0.0.1":  # of the fixture index
            return io.BytesIO()
        tried.append(address[0])
        raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))

    monkeypatch.setattr(sources, "getproxies", dict)
    monkeypatch.setattr(socket, "create_connection", refuse)
    return tried


def test_cached_file_is_used_without_any_network(tmp_path, no_network):
    folder_with(tmp_path / "downloads", reviews_bin=DATA)
    wanted = download(url="https://host.invalid/reviews.bin")
    obtained = obtain(card_of(wanted), tmp_path)
    assert obtained.paths == (tmp_path / "downloads" / "reviews.bin",)
    assert obtained.source.name == "source 1"


def test_cached_file_of_a_later_source_comes_before_fetching_an_earlier_one(
    tmp_path, mirror, no_network
):
    folder_with(tmp_path / "downloads", other_bin=b"other")
    obtained = obtain(card_of(download(), download("other.bin", b"other")), tmp_path)
    assert obtained.source.name == "source 2"
    assert files_below(tmp_path / "downloads") == ["other.bin"]


def test_cached_file_with_wrong_digest_is_an_error_even_if_a_mirror_has_the_right_one(
    tmp_path, mirror
):
    folder_with(tmp_path / "downloads", reviews_bin=b"not it")
    with pytest.raises(DataError) as error:
        obtain(card_of(download()), tmp_path)
    assert str(tmp_path / "downloads" / "reviews.bin") in str(error.value)
    assert sha256(b"not it").removeprefix("sha256:") in str(error.value)
    assert sha256(DATA).removeprefix("sha256:") in str(error.value)
    assert (tmp_path / "downloads" / "reviews.bin").read_bytes() == b"not it"


@pytest.mark.parametrize("algorithm", ["sha256", "md5"])
def test_verify_uses_the_algorithm_of_the_digest(tmp_path, algorithm):
    (tmp_path / "file").write_bytes(DATA)
    right = hashlib.new(algorithm, DATA).hexdigest()
    wrong = hashlib.new(algorithm, b"").hexdigest()
    verify(tmp_path / "file", f"{algorithm}:{right}")
    with pytest.raises(DataError, match=f"{algorithm} is {right}, expected {wrong}"):
        verify(tmp_path / "file", f"{algorithm}:{wrong}")


def test_mirror_file_is_copied_and_then_cached(tmp_path, mirror, monkeypatch, no_network):
    wanted = card_of(download(url="https://host.invalid/reviews.bin"))
    (path,) = obtain(wanted, tmp_path).paths
    assert path.read_bytes() == DATA
    assert files_below(tmp_path / "downloads") == ["reviews.bin"]
    monkeypatch.delenv("COURSE_DATA_MIRROR")
    assert obtain(wanted, tmp_path).paths == (path,)


def test_mirror_of_a_later_source_comes_before_the_network(tmp_path, mirror, no_network):
    first = download("other.bin", url="https://host.invalid/other.bin")
    assert obtain(card_of(first, download()), tmp_path).source.name == "source 2"


@pytest.mark.parametrize("damaged", [b"not it", DATA[:-1], DATA + b"x", b""])
def test_mirror_file_with_wrong_digest_is_named_and_not_copied(tmp_path, mirror, damaged):
    (mirror / "reviews.bin").write_bytes(damaged)
    with pytest.raises(DataError, match=r"mirror.reviews\.bin"):
        obtain(card_of(download()), tmp_path / "root")
    assert files_below(tmp_path / "root") == []


@pytest.mark.parametrize("digest", [sha256(DATA), None])
@pytest.mark.parametrize("place", ["mirror", "root/downloads"])
def test_folder_named_like_the_file_is_named(tmp_path, monkeypatch, place, digest):
    (tmp_path / place / "reviews.bin").mkdir(parents=True)
    monkeypatch.setenv("COURSE_DATA_MIRROR", str(tmp_path / "mirror"))
    wanted = card_of(Download("reviews.bin", digest, len(DATA)))
    with pytest.raises(DataError, match=f"^{tmp_path / place / 'reviews.bin'}: cannot be read"):
        obtain(wanted, tmp_path / "root")
    assert files_below(tmp_path) == []


def test_all_files_of_a_source_are_needed(tmp_path, mirror):
    (mirror / "single.bin").write_bytes(b"single")
    pair = Source("pair", (download(), download("missing.bin", b"missing")))
    single = Source("single", (download("single.bin", b"single"),))
    both = Card("made-up", "", "", "", "", sources=(pair, single))
    assert obtain(both, tmp_path).source is single


def test_file_is_downloaded_from_its_address(tmp_path, server):
    address, pages, asked = server
    pages["/reviews.bin"] = DATA
    (path,) = obtain(card_of(download(url=f"{address}/reviews.bin")), tmp_path).paths
    assert path.read_bytes() == DATA
    assert asked == ["/reviews.bin"]
    assert files_below(tmp_path) == ["downloads/reviews.bin"]


@pytest.mark.parametrize("sent", [None, DATA[:-9] + b"tampered\n", DATA[:1000]])
def test_missing_changed_or_truncated_download_leaves_nothing(tmp_path, server, sent):
    address, pages, asked = server
    if sent:
        pages["/reviews.bin"] = sent
    with pytest.raises(DataError, match=f"{address}/reviews.bin failed"):
        obtain(card_of(download(url=f"{address}/reviews.bin")), tmp_path)
    assert "/reviews.bin" in asked
    assert files_below(tmp_path) == []


def test_changed_download_makes_the_next_source_serve(tmp_path, server, wheel):
    address, pages, _ = server
    pages["/reviews.bin"] = bytes(len(DATA))
    first = download(url=f"{address}/reviews.bin")
    obtained = obtain(card_of(first, wheel), tmp_path / "root")
    assert obtained.source.name == "source 2"
    assert files_below(tmp_path / "root") == [f"downloads/{wheel.filename}"]


def test_unreachable_host_makes_the_next_source_serve(tmp_path, unreachable, wheel):
    first = download(url="https://host.invalid/reviews.bin")
    obtained = obtain(card_of(first, wheel), tmp_path)
    assert unreachable == ["host.invalid"]
    assert obtained.source.name == "source 2"
    assert obtained.paths == (tmp_path / "downloads" / wheel.filename,)


def test_when_all_fails_the_error_lists_what_was_tried_and_what_to_do(
    tmp_path, unreachable, index, monkeypatch
):
    monkeypatch.setenv("COURSE_DATA_MIRROR", str(folder_with(tmp_path / "mirror")))
    with pytest.raises(DataError) as error:
        obtain(
            card_of(
                download(url="https://host.invalid/reviews.bin"),
                download("by-hand.bin"),
                download("tiny_reviews-1.0-py3-none-any.whl", requirement="tiny-reviews==1.0"),
            ),
            tmp_path / "root",
        )
    message = str(error.value)
    assert message.startswith("made-up: could not get Made-up files")
    assert "host.invalid cannot be reached" in message
    assert "by-hand.bin: has no address" in message
    assert "/simple/tiny-reviews/ does not list it" in message
    for filename in ("reviews.bin", "by-hand.bin", "tiny_reviews-1.0-py3-none-any.whl"):
        assert f"{filename}: not in {tmp_path / 'root' / 'downloads'}" in message
        assert f"{filename}: not in the mirror folder {tmp_path / 'mirror'}" in message
    assert f"needs tiny_reviews-1.0-py3-none-any.whl in {tmp_path / 'root'}" in message
    assert "COURSE_DATA_MIRROR" in message
    assert files_below(tmp_path / "root") == []


def test_error_says_when_no_mirror_is_set(tmp_path):
    with pytest.raises(DataError, match="COURSE_DATA_MIRROR is not set"):
        obtain(card_of(download()), tmp_path)


def test_obtain_uses_the_environments_folder_when_no_root_is_given(tmp_path, mirror, monkeypatch):
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path / "chosen"))
    assert obtain(card_of(download())).paths == (tmp_path / "chosen/downloads/reviews.bin",)


def test_every_download_in_the_catalog_can_be_verified_and_placed():
    for entry in CARDS.values():
        for source in entry.sources:
            if entry.kind == "corpus":
                assert source.reader in READERS and source.member is None
            else:
                committed = all(item.committed for item in source.downloads)
                assert source.reader is None and bool(source.member) != committed
            for item in source.downloads:
                if item.digest is None:  # then what is read out of it must be known
                    assert entry.content or entry.name == "charngram.100d"  # of which nobody knows
                    assert item.url
                    continue
                algorithm, _, value = item.digest.partition(":")
                assert len(bytes.fromhex(value)) == hashlib.new(algorithm).digest_size
                assert Path(item.filename).name == item.filename
                assert not item.requirement or algorithm == "sha256", "pip knows no md5 hashes"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("title: IMDb", "named: IMDb", "catalog.yaml: imdb: 'named' is no field of it"),
        ("title: Made-up reviews", "", "catalog.yaml: toy: missing 1 required positional argument"),
        ("train: [300, 300]", "train: [300, many]", "toy.sizes.train 2: takes int, got 'many'"),
        ("on_demand: true", "on_demand: 1", "catalog.yaml: sst5_all.on_demand: takes bool, got 1"),
        (
            "size: 28378568",
            "size: 28 MB",
            "imdb.sources 2.downloads 1.size: takes int, got '28 MB'",
        ),
        (
            "[trainDevTestTrees_PTB.zip]",
            "[trees.zip]",
            "sst2.sources: 'trees.zip' is none of the d",
        ),
        ("entries:", "names:", "catalog.yaml: is no catalog of downloads and entries ('entries')"),
        ("downloads:", "downloads: [", "catalog.yaml: is no catalog of downloads and entries"),
    ],
)
def test_a_mistake_in_the_catalog_is_named_with_entry_and_field(tmp_path, old, new, says):
    written = CATALOG.read_text(encoding="utf-8")
    (tmp_path / "catalog.yaml").write_text(written.replace(old, new), encoding="utf-8")
    assert old in written and read_catalog() == CARDS
    with pytest.raises(DataError, match=re.escape(says)):
        read_catalog(tmp_path / "catalog.yaml")


def test_importing_the_data_floor_needs_no_network():
    code = (
        "import socket\n"
        "def refuse(*_, **__): raise SystemExit('network')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "import course_lib.data.sources, course_lib.data.readers\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_download_without_a_digest_of_its_own_is_not_refused(tmp_path):
    path = tmp_path / "archive.zip"
    path.write_bytes(b"known by its content alone")
    assert verify(path, None) is None
