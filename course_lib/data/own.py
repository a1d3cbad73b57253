"""What is not in the catalog but on somebody's disk: how settings name it, and its card.

A name holds nothing of one machine: the file's own name and the beginning of a sha256, such as
``reviews.csv@0123456789ab``.
"""

import json
import re
from dataclasses import asdict
from functools import cache
from pathlib import Path

from course_lib.data.cards import Card
from course_lib.files import DataError, data_root, file_digest

OWN = re.compile(r"[\w.-]{1,60}@[0-9a-f]{12}")
NOT_IN_NAMES = re.compile(r"[^\w.-]")
TEXT_FORMAT = 1  # of a prepared file of texts; raise it when reading one changes
CARD = "card.json"


def own_name(file: str, digest: str) -> str:
    """The name that settings give a file of that name and sha256."""
    return f"{NOT_IN_NAMES.sub('_', file)[-60:]}@{digest[:12]}"


def unchanged_digest(path: Path) -> str:
    """The file's sha256, computed once in a process as long as its size and time stay."""
    about = path.stat()
    return _digest(str(path.resolve()), about.st_size, about.st_mtime_ns)


@cache
def _digest(path: str, size: int, modified: int) -> str:
    return file_digest(Path(path))


def texts_folder(name: str, root: Path | None = None) -> Path:
    """Where the prepared texts of that name are or will be in the cache."""
    digest = name.partition("@")[2]
    return (root or data_root()) / "prepared" / f"text-{digest}-v{TEXT_FORMAT}"


def own_card(name: str, root: Path | None = None) -> Card:
    """The card of prepared texts; ``DataError`` where this machine has not got them."""
    folder = texts_folder(name, root)
    if not folder.exists():
        file = name.partition("@")[0]
        raise DataError(
            f"{name}: not in the cache here; give the path of {file} as the dataset once, with the "
            "same columns, and a file of the same content gets the same name"
        )
    return read_card(folder)


def read_card(folder: Path) -> Card:
    """The card in a folder of prepared texts; ``DataError`` names the folder if it is damaged."""
    try:
        values = json.loads((folder / CARD).read_text(encoding="utf-8"))
        sizes = {split: tuple(counts) for split, counts in values.pop("sizes").items()}
        lists = {"classes": tuple(values.pop("classes")), "sources": ()}
        return Card(**values | lists, sizes=sizes)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{folder}: damaged ({error}). Delete it and run again.") from error


def write_card(card: Card, folder: Path) -> None:
    """Write the card of texts of one's own beside them."""
    text = json.dumps(asdict(card), indent=1, ensure_ascii=False)
    (folder / CARD).write_text(f"{text}\n", encoding="utf-8")
