"""What several test files share: folders of their own, no network, a full disk.

Nothing is imported here that takes time: pytest begins with this file, and its workers wait.
"""

import gc
import hashlib
import http.server
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from javascript import OLDEST, Engine

from course_lib.data.catalog import Download
from course_lib.files import data_root

# no example has a deadline, and drawing one may be slow: a busy machine breaks nothing
settings.register_profile(
    "course", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("course")

# looked up before any test runs, because own_data_folder hides these settings from the tests
REAL_DATA = data_root()
REAL_FOLDERS = [REAL_DATA / "downloads", Path(os.environ.get("COURSE_DATA_MIRROR", os.devnull))]


WHOLLY_FULL = re.compile(r"^pytestmark = .*\bmark\.full\b", re.MULTILINE)


@pytest.fixture(scope="session", autouse=True)
def own_data_folder(tmp_path_factory):
    """No test reads or writes the real cache, unless it asks for a ``real_file``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_DATA_DIR", str(tmp_path_factory.mktemp("data")))
        patch.delenv("COURSE_DATA_MIRROR", raising=False)
        yield


@pytest.fixture(autouse=True)
def own_figure_style():
    """What a test sets of matplotlib's style ends with it: tests run in any order."""
    if "matplotlib" in sys.modules:
        with sys.modules["matplotlib"].rc_context():
            yield
    else:
        yield
        if "matplotlib" in sys.modules:  # imported by this test
            sys.modules["matplotlib"].rcdefaults()


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """An empty data folder for texts of one's own; the English splitter needs no data there."""
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr("course_lib.data.custom_data.fetch_punkt", lambda: None)
    return tmp_path / "data"


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A folder in which ``runs/`` and ``results/`` are empty ones of its own."""
    monkeypatch.setattr("course_lib.runs.folders.RUNS", tmp_path / "runs")
    monkeypatch.setattr("course_lib.runs.folders.RESULTS", tmp_path / "results")
    return tmp_path


@pytest.fixture(scope="session")
def real_file():
    """The path of a real data file by its name; skips the test where it is not present."""

    def find(filename):
        for folder in REAL_FOLDERS:
            if (folder / filename).is_file():
                return folder / filename
        pytest.skip(f"{filename} is neither in data/downloads nor in COURSE_DATA_MIRROR")

    return find


@pytest.fixture(scope="session")
def real_data():
    """The folder of the real cache, which tests otherwise leave alone."""
    return REAL_DATA


@pytest.fixture(scope="session")
def missing():
    """``missing(what)`` skips where a reader runs the tests, and fails in CI, where nobody would
    notice the skip."""

    def skip(what):
        if os.environ.get("CI"):
            pytest.fail(f"{what}: these tests must run in CI")
        pytest.skip(f"{what}: the views are not tested with it")

    return skip


@pytest.fixture(scope="session")
def node_program(missing):
    """Where node is."""
    program = shutil.which("node")
    if program is None:
        missing("node is not installed")
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    if int(re.match(r"v(\d+)", version)[1]) < OLDEST:
        missing(f"node {version.strip()} is older than {OLDEST}")
    return program


@pytest.fixture(scope="session")
def node(node_program):
    """``node(arguments)`` runs node and hands back what it printed and its exit status."""

    def run(*arguments, **variables):
        return subprocess.run(
            [node_program, *map(str, arguments)],
            env=os.environ | variables,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    return run


@pytest.fixture(scope="session")
def engine(node_program):
    """``engine(part, function, *arguments)``: what the reading room's engine answers."""
    engine = Engine(node_program)
    yield engine
    engine.close()


@pytest.fixture
def no_network(monkeypatch):
    """Whatever could reach a network fails, and so does the test, even if the failure is caught."""
    tried = []

    def refuse(*what, **_):
        tried.append(what)
        raise OSError("this must work without a network")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr("pooch.retrieve", refuse)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    yield
    assert tried == []


@pytest.fixture(scope="session")
def full_disk():
    """``with full_disk(size):`` no file can grow beyond ``size`` bytes, in child processes too."""
    resource = pytest.importorskip("resource", reason="file size limits need POSIX")

    @contextmanager
    def limit(size):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limit


@pytest.fixture
def index(tmp_path, monkeypatch):
    """The page of ``tiny-reviews`` in a package index on this machine, the only one that pip is
    configured with: ``index(filename, data)`` puts a file there and says how to ask for it."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    pages = tmp_path / "web" / "simple" / "tiny-reviews"
    pages.mkdir(parents=True)
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "web"))
    monkeypatch.setattr(http.server.SimpleHTTPRequestHandler, "log_message", lambda *_: None)

    def put(filename, data):
        (pages / filename).write_bytes(data)
        link = f'<a href="../../simple/tiny-reviews/{filename}#sha256=0">{filename}</a>'
        (pages / "index.html").write_text(f'<a href="other-1.0.whl">other</a> {link}')
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        return Download(filename, digest, len(data), requirement="tiny.reviews==1.0")

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, args=[0.01], daemon=True).start()
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{running.server_port}/simple")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield put
        running.shutdown()


@pytest.fixture
def wheel(index):
    """A package in the index: what to call it, with its digest."""
    return index("tiny_reviews-1.0-py3-none-any.whl", os.urandom(100_000))


def pytest_ignore_collect(collection_path, config):
    """The quick lane doesn't import a file whose tests all belong to the full one."""
    if config.option.markexpr == "not full" and collection_path.suffix == ".py":
        return WHOLLY_FULL.search(collection_path.read_text(encoding="utf-8")) is not None or None
    return None


def pytest_collection_finish():
    """What was imported stays: the garbage collector need not look through it time and again."""
    gc.freeze()
