"""The expected costs of the papers' full experiments, extrapolated from measured throughput."""

import json
from pathlib import Path
from typing import Any

from course_kit.research.report.zhang import ZHANG, words_per_text
from course_lib.data.catalog import CARDS
from course_lib.files import REPOSITORY
from course_lib.runs.systems.sanet import BASE

BENCHMARKS = REPOSITORY / "benchmarks" / "results"
LENGTHS = (48, 256)  # words per text in the measured throughputs


def throughputs(folder: Path = BENCHMARKS) -> dict[str, dict[str, Any]]:
    """The records of ``benchmarks/throughput.py`` by the machine that made them."""
    records = [json.loads(path.read_text()) for path in sorted(folder.glob("throughput_*.json"))]
    return {
        "{processes} × {threads} threads, {device}".format(**record["environment"]): record
        for record in records
    }


def zhang_costs_table(folder: Path = BENCHMARKS) -> str:
    """What SANet base takes on each of Zhang's sets as a markdown table: tokens per epoch, hours of
    preparation, megabytes of word ids in memory, and hours of all epochs on every device measured.

    Tokens follow from the megabytes of text; a set runs at the rate of the first measured length
    that its mean exceeds by at most 30 %, so most are a little faster than shown.
    """
    preparing = json.loads((folder / "prepare.json").read_text())["figures"]["hours_extrapolated"]
    measurements = throughputs(folder)
    heads = ["set", "texts", "words a text", "million words an epoch", "hours to prepare"]
    heads += ["MB of ids", *(f"hours on {name}" for name in measurements)]
    rows = [f"| {' | '.join(heads)} |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    for dataset, title in ZHANG.items():
        texts = sum(map(sum, CARDS[dataset].sizes.values()))
        training = sum(CARDS[dataset].sizes["train"]) * (1 - BASE.text.validation_share)
        mean = words_per_text(dataset)
        epoch = training * mean
        length = next(words for words in LENGTHS if mean <= words * 1.3 or words == LENGTHS[-1])
        hours = []
        for record in measurements.values():
            rate = record["figures"][f"SANet base, {length} words"]["tokens_per_second"]["median"]
            hours.append(f"{BASE.training.epochs * epoch / rate / 3600:,.1f}")
        cells = [f"{texts:,}", f"{mean:.0f}", f"{epoch / 1e6:.0f}", f"{preparing[dataset]:.1f}"]
        cells += [f"{4 * texts * mean / 1e6:,.0f}", *hours]
        rows.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(rows)
