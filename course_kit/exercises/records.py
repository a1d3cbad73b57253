"""What lessons quote beside the records of runs."""

import json
from typing import Any

from course_lib.files import REPOSITORY


def committed_record(path: str) -> dict[str, Any]:
    """A JSON file of the repository by its path there, as ``benchmarks/results/keras_gru.json``."""
    return json.loads((REPOSITORY / path).read_text(encoding="utf-8"))
