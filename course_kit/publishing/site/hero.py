"""The first thing on the index: one sentence as three readers weigh its words."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from course_lib.files import REPOSITORY
from course_lib.views.heatmap import AttentionText

READINGS = REPOSITORY / "results" / "hero" / "readings.json"
NAMES = {
    "trained": "Trained",
    "untrained": "Before training",
    "uniform": "Trained, equal weights",
}


def hero(path: Path = READINGS) -> dict[str, Any] | None:
    """The readers of the committed readings, each with its view and its answer; None where there
    are none."""
    if not path.exists():
        return None
    kept = json.loads(path.read_text(encoding="utf-8"))
    return {
        "run": kept["run"],
        "readers": [
            {
                "name": NAMES[reader["name"]],
                "answer": _answer(reader, kept["classes"]),
                "view": AttentionText(
                    [kept["words"]], [reader["attention"]], unit="text"
                ).to_html(),
            }
            for reader in kept["readers"]
        ],
    }


def _answer(reader: dict[str, Any], classes: list[str]) -> str:
    """The most probable class and its probability in percent."""
    best = int(np.argmax(reader["probabilities"]))
    return f"{classes[best]}, {100 * reader['probabilities'][best]:.0f} %"
