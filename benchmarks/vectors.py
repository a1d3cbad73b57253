"""Memory and speed of converting a file of word vectors, and one ten times as long.

Made-up vectors of 300 numbers in GloVe's text, each conversion in a process of its own that samples
its anonymous resident memory; Linux only. Beside it the obvious way, which fills one array in
memory, as most loaders do.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import PeakMemory, interleave, ratio, show, spread, write
from memory import EVERY, STATUS, anonymous_megabytes

from course_lib.data.vector_store import custom_vectors
from course_lib.files import check_space, data_root
from course_lib.training.devices import use_threads

WIDTH = 300
DISTINCT = 1000  # vectors; the words all differ


def write_text(path: Path, words: int, seed: int) -> None:
    """So many words with vectors like GloVe's, five digits a number."""
    random = np.random.default_rng(seed)
    matrix = random.normal(scale=0.4, size=(DISTINCT, WIDTH))
    rows = [" ".join(f"{value:.5f}" for value in row) for row in matrix]
    with path.open("w") as file:
        file.writelines(f"word{number} {rows[number % DISTINCT]}\n" for number in range(words))


def fill_an_array(path: Path) -> None:
    """The obvious way: one array that grows to the size of the file's numbers."""
    words, rows = [], []
    with path.open() as file:
        for line in file:
            word, *numbers = line.split()
            words.append(word)
            rows.append(np.array(numbers, dtype=np.float32))
    np.savez(path.with_suffix(".npz"), words=np.array(words), vectors=np.stack(rows))


def convert(path: Path, obvious: bool) -> dict[str, float]:
    """Convert here and now: peak and rise of memory, and seconds."""
    began = time.perf_counter()
    with PeakMemory(anonymous_megabytes, EVERY) as memory:
        if obvious:
            fill_an_array(path)
        else:
            custom_vectors(path, path.parent)
    return {
        "peak": memory.peak_megabytes,
        "rise": memory.peak_megabytes - memory.start_megabytes,
        "seconds": time.perf_counter() - began,
    }


def in_a_process(words: int, seed: int, obvious: bool = False) -> dict[str, float]:
    """What ``convert`` needs in a process of its own, the writing of the file left out."""
    with tempfile.TemporaryDirectory(dir=data_root()) as folder:
        path = Path(folder) / "vectors.txt"
        check_space(path, words * WIDTH * 13)
        write_text(path, words, seed)
        command = [sys.executable, __file__, "--child", str(path), *["--obvious"] * obvious]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        return json.loads(output)


def main() -> None:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=20_000)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--full", type=int, default=0, help="words of one more, ours alone")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--obvious", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if not STATUS.exists():
        sys.exit("vectors.py reads RssAnon from /proc/self/status, which only Linux has")
    if chosen.child:
        print(json.dumps(convert(chosen.child, chosen.obvious)))
        return

    many = chosen.words * chosen.times
    few, lots, filled = f"{chosen.words:,} words", f"{many:,} words", f"{many:,} words, one array"
    found = interleave(
        {
            few: lambda _: in_a_process(chosen.words, chosen.seed),
            lots: lambda _: in_a_process(many, chosen.seed),
            filled: lambda _: in_a_process(many, chosen.seed, obvious=True),
        },
        chosen.rounds,
    )
    peaks, rises, seconds = (
        {name: [row[kind] for row in rows] for name, rows in found.items()}
        for kind in ("peak", "rise", "seconds")
    )
    figures = {
        "words": many,
        "width": WIDTH,
        "megabytes_of_numbers": 4 * WIDTH * many / 1e6,
        "peak_megabytes": {name: spread(values) for name, values in peaks.items()},
        "rise_megabytes": {name: spread(values) for name, values in rises.items()},
        "seconds": {name: spread(values) for name, values in seconds.items()},
        "rise_to_one_array": spread(ratio(rises[lots], rises[filled])),
        "seconds_to_one_array": spread(ratio(seconds[lots], seconds[filled])),
        "words_per_second": spread([many / value for value in seconds[lots]]),
    }
    if chosen.full:
        figures["full"] = {"words": chosen.full, **in_a_process(chosen.full, chosen.seed)}
        print(figures["full"])
    table = {f"peak MB, {name}": row for name, row in figures["peak_megabytes"].items()}
    table |= {
        f"of it by converting, {name}": row for name, row in figures["rise_megabytes"].items()
    }
    table |= {f"seconds, {name}": row for name, row in figures["seconds"].items()}
    table |= {"memory, ours ÷ one array": figures["rise_to_one_array"]}
    show(table | {"seconds, ours ÷ one array": figures["seconds_to_one_array"]})
    write("vectors", figures, chosen.seed, "", use_threads(None), "made up")


if __name__ == "__main__":
    main()
