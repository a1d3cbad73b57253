"""The claims measured, and a record of each written."""

import argparse
from collections.abc import Callable

from course_kit.research.recording import Stopwatch
from course_kit.research.seed_claims import (
    agt_selected,
    han_contexts,
    han_erased,
    han_order,
    han_words,
    sanet_columns,
    sanet_lengths,
    sanet_repeats,
)
from course_kit.research.seed_claims.studied import Claim
from course_lib.checking import instead
from course_lib.runs import folders
from course_lib.runs.records import write_json
from course_lib.runs.settings import SpecError

CLAIMS: dict[str, Callable[[int], Claim]] = {
    "han_words": han_words.measure,
    "han_contexts": han_contexts.measure,
    "han_erased": han_erased.measure,
    "han_order": han_order.measure,
    "sanet_columns": sanet_columns.measure,
    "sanet_repeats": sanet_repeats.measure,
    "sanet_lengths": sanet_lengths.measure,
    "agt_selected": agt_selected.measure,
}


def command(options: argparse.Namespace) -> int:
    """Measure some claims, or all; ``SpecError`` for a name that is none."""
    for name in options.names:
        if name not in CLAIMS:
            raise SpecError(f"no claim {name!r}; {instead(name, CLAIMS)}")
    for name in options.names or CLAIMS:
        watch, seed = Stopwatch(1), options.seed
        found = CLAIMS[name](seed)
        path = folders.RESULTS / "seed_claims" / f"{name}.json"
        done = f"attention-course author seed-claims {name} --seed {seed}"
        write_json(path, {"command": done, "seed": seed} | found | watch.about())
        print(f"results in {path}")
    return 0
