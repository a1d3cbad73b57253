"""How much of a HAN's attention returns to words that were important before, recorded.

``attention-course extensions runs/context_han-imdb-report-s0 --texts 300`` writes
``results/extensions/NAME.json``: means over texts with bootstrap intervals, and no text.
"""

import argparse
from typing import Any

from course_kit.research.faithfulness.faithfulness_run import some_texts, study_path
from course_kit.research.recording import Stopwatch, mean_of
from course_lib.explore.hops import count_repeats
from course_lib.runs.records import write_json
from course_lib.runs.run import Run
from course_lib.runs.settings import SpecError
from course_lib.runs.weights import any_run

KIND = "extensions"
MUCH = 0.1  # a text of which more than this share of attention is on repeats suffers from them
SYSTEMS = ("context_han", "han")


def record_reading(run: Run, texts: int, seed: int = 0) -> dict[str, Any]:
    """The shares of attention on important words and on repeats (``count_repeats``), of test texts
    or, if the run has left the test half unread, of validation texts; ``SpecError`` for a run that
    is of none of ``SYSTEMS``."""
    watch, record = Stopwatch(), run.record
    system = record["spec"]["system"]
    if system not in SYSTEMS:
        raise SpecError(f"extensions reads {', '.join(SYSTEMS)}; {record['id']} is of {system}")
    split = "test" if "test" in record else "validation"
    found = count_repeats(run.system, some_texts(run, split, texts, seed), seed)._asdict()
    found["much"] = (found["repeated"] > MUCH).astype(float)
    return {
        "id": record["id"], "seed": seed, "split": split, "texts": texts,
        "data": record["data"]["content"], "weights": record["weights"], **watch.about(),
        "repeats": {name: mean_of(values, seed) for name, values in found.items()},
    }  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The runs, and which of their texts."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="the folder of a finished run")
    parser.add_argument("--texts", type=int, default=300, help="how many (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample and of what is random")


def command(options: argparse.Namespace) -> int:
    """Record what is asked for; an error leaves the finished records."""
    for name in options.runs:
        record = record_reading(any_run(name), options.texts, options.seed)
        asked = f"attention-course extensions {record['id']} --texts {options.texts}"
        path = study_path(name, KIND)
        write_json(path, {"command": f"{asked} --seed {options.seed}"} | record)
        print(path)
    return 0
