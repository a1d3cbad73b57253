"""What the records of lesson 10's small encoders say, five seeds of each.

Trained on the training part, measured on the test half. The records were made once: their commit
makes them again.
"""

import json
from pathlib import Path

import numpy as np
import scipy.stats

from course_kit.research import report
from course_lib.runs.folders import RESULTS

RECORD, RANKINGS = (RESULTS / "encoder" / f"movies2{end}.json" for end in ("", "-rankings"))


def over_seeds(variant: str, *keys: str, record: Path = RECORD) -> np.ndarray:
    """A number of a record for each seed of a variant, ``(seeds, …)``, found by its ``keys``."""
    runs = [run for run in json.loads(record.read_text())["runs"] if run["variant"] == variant]
    for key in keys:
        runs = [run[key] for run in runs]
    return np.array(runs)


def seed_interval(values: np.ndarray) -> tuple[float, float]:
    """The mean of one number a seed, and half the width of its 95 % interval (Student's t)."""
    wide = scipy.stats.t.ppf(0.975, len(values) - 1)
    return float(values.mean()), float(wide * values.std(ddof=1) / len(values) ** 0.5)


def measured_costs() -> dict[str, tuple[float, float]]:
    """What each change of the encoder costs in points of accuracy, with half its interval."""
    whole = over_seeds("whole", "accuracy")
    changed = {
        "a single head": over_seeds("one head", "accuracy"),
        "no positions": over_seeds("without positions", "accuracy"),
        "shuffled words": over_seeds("whole", "shuffled"),
        "trained with uniform attention": over_seeds("uniform attention", "accuracy"),
        "made uniform after training": over_seeds("whole", "made uniform"),
    }
    return {name: seed_interval(100 * (whole - other)) for name, other in changed.items()}


def costs() -> str:
    """``measured_costs`` as a table."""
    whole = over_seeds("whole", "accuracy")
    rows = [[f"nothing (accuracy {whole.mean():.1%})", "–"]]
    rows += [[name, f"{cost:+.1f} ± {half:.1f}"] for name, (cost, half) in measured_costs().items()]
    return report.to_markdown(
        ["what is changed", "costs, points (95 % over five seeds)"], rows, "lr"
    )
