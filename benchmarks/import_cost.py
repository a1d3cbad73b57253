"""What it costs to import the thin part: every module of models, metrics and training.

Each import runs in a process of its own, in turns with ``import torch`` alone, which is most of it.
The aim is a median ratio of at most 1.5.
"""

import json
import subprocess
import sys

from common import arguments, interleave, ratio, show, spread, write

from course_lib.files import REPOSITORY
from course_lib.training.devices import use_threads

AIM = 1.5
PACKAGES = ("models", "metrics", "training")
TORCH, THIN = "import torch", "import the thin part"
CHILD = """
import time
began = time.perf_counter()
import {modules}
seconds = time.perf_counter() - began
import json, sys
print(json.dumps([seconds, len(sys.modules)]))
"""


def modules() -> list[str]:
    """Every module of the thin part, by its full name."""
    files = [path for name in PACKAGES for path in REPOSITORY.glob(f"course_lib/{name}/[!_]*.py")]
    return sorted(".".join(path.relative_to(REPOSITORY).with_suffix("").parts) for path in files)


def import_in_a_process(names: list[str]) -> tuple[float, int]:
    """Seconds for the imports, and how many modules the process holds then."""
    command = [sys.executable, "-c", CHILD.format(modules=", ".join(names))]
    done = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True)
    return tuple(json.loads(done.stdout))


def main() -> None:
    """Measure, show, write."""
    parser = arguments(__doc__, rounds=9)
    parser.add_argument("--no-write", action="store_true", help="leave results/ as it is")
    chosen = parser.parse_args()
    ways = {TORCH: ["torch"], THIN: modules()}
    loaded = {name: import_in_a_process(names)[1] for name, names in ways.items()}  # and a warm-up
    seconds = interleave(
        {
            name: lambda _, names=names: import_in_a_process(names)[0]
            for name, names in ways.items()
        },
        chosen.rounds,
    )
    figures = {
        "seconds": {name: spread(values) for name, values in seconds.items()},
        "modules": loaded,
        "ratio_to_torch": spread(ratio(seconds[THIN], seconds[TORCH])),
        "aim": AIM,
    }
    table = {f"seconds, {name}": row for name, row in figures["seconds"].items()}
    show(table | {f"{THIN} / {TORCH}": figures["ratio_to_torch"]})
    if not chosen.no_write:
        write("import_cost", figures, 0, "", use_threads(None), "none")


if __name__ == "__main__":
    main()
