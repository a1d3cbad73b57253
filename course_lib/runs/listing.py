"""The recorded networks as a table, from files of this repository; nothing here imports torch."""

import argparse
import json
from collections.abc import Iterator

from course_lib.data.catalog import CARDS, names_of
from course_lib.runs.folders import recorded_names, recorded_path, weights_path

HEADS = ("network", "reads", "accuracy", "MB")
EXAMPLE = 'example: attention-course predict han-imdb-compact-s0 "A fine film, and I cried."'
FETCHED = "* also needs the pre-trained network, fetched once: attention-course data {}"


def command(options: argparse.Namespace) -> int:
    """List the recorded networks, and say what may be asked of them."""
    rows = [HEADS, *_rows()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, reads, *numbers in rows:
        aligned = (text.rjust(width) for text, width in zip(numbers, widths[2:], strict=True))
        print(f"{name:<{widths[0]}}", f"{reads:<{widths[1]}}", *aligned, sep="  ")
    print("\nAccuracy is on the test texts of what it reads. None of them needs these texts.")
    needed = {_network_of(name) for name in recorded_names()} - {None}
    print(*(FETCHED.format(network) for network in sorted(needed)), sep="\n")
    print(f"\n{EXAMPLE}")
    return 0


def _rows() -> Iterator[tuple[str, ...]]:
    for name in recorded_names():
        record = json.loads(recorded_path(name).read_bytes())
        card = CARDS[record["spec"]["dataset"]]
        accuracy = f"{record['test']['accuracy']:.1%}" if "test" in record else "not tested"
        size = weights_path(name).stat().st_size / 1e6
        yield name + "*" * bool(_network_of(name)), card.title, accuracy, f"{size:.1f}"


def _network_of(name: str) -> str | None:
    """The pre-trained network on which a recorded one stands, by its name in the catalog."""
    system = json.loads(recorded_path(name).read_bytes())["spec"]["system"]
    return system if system in names_of("network") else None
