"""What a page needs of trained networks, and the committed files of it.

In ``results/reading_room/`` ``networks.gz`` holds their weights, words and vectors as ``pack``
packs them, 9 MB that change only when a network does. ``readings.json.gz`` holds what the page says
of the networks, what they read in its examples, and the digest of the networks it belongs to. Only
the standard library is imported here.
"""

import base64
import gzip
import hashlib
import json
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from course_lib.files import DAMAGE, REPOSITORY, DataError, atomic_path

COMMITTED = REPOSITORY / "results" / "reading_room"
BUNDLE, TOLD = "networks.gz", "readings.json.gz"


@dataclass(frozen=True)
class Packed:
    """Networks as a page holds them.

    ``pretrained`` ones cut words into pieces.
    """

    bundle: bytes  # their weights, words and vectors for the engine, gzip
    networks: list[dict[str, Any]]  # what the page says of each, in its order
    readings: dict[str, dict[str, Any]]  # what they read, by text and by the network's id
    colours: dict[str, Any]  # the course's, by what they show
    pretrained: bool


def as_text(bundle: bytes) -> str:
    """A bundle as it stands in a page: base64."""
    return base64.b64encode(bundle).decode()


def write_packed(packed: Packed, folder: Path = COMMITTED) -> Path:
    """Write both files; returns the networks' path.

    Equal networks give equal bytes with the same zlib.
    """
    told = asdict(packed)
    bundle = told.pop("bundle")
    told = {BUNDLE: _digest(bundle)} | told
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
    for name, data in ((BUNDLE, bundle), (TOLD, gzip.compress(text, mtime=0))):
        with atomic_path(folder / name) as temporary:
            temporary.write_bytes(data)
    return folder / BUNDLE


def read_packed(folder: Path = COMMITTED) -> Packed:
    """What is in the files; ``DataError`` if one is missing or damaged, or they do not belong
    together."""
    try:
        told = json.loads(gzip.decompress((folder / TOLD).read_bytes()))
        bundle = (folder / BUNDLE).read_bytes()
        if told.pop(BUNDLE) != _digest(bundle):
            raise ValueError(f"{BUNDLE} is not the one that {TOLD} belongs to")
        return Packed(bundle, **told)
    except (*DAMAGE, EOFError, zlib.error) as error:
        raise DataError(
            f"{folder}: missing or damaged ({error}). It is part of the repository: "
            "git checkout brings it back"
        ) from error


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
