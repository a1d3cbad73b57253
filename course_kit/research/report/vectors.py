"""Word vectors compared: what they cover, what stands beside what, and what they are worth."""

import json
from pathlib import Path
from typing import Any

from course_kit.research.word_vectors.film_vectors import RECORD


def vectors_record(path: Path = RECORD) -> dict[str, Any]:
    """The committed comparison; ``ValueError`` if there is none."""
    if not path.exists():
        raise ValueError(f"{path} is missing; `attention-course vectors --compare` makes it")
    return json.loads(path.read_text(encoding="utf-8"))


def vectors_table(record: dict[str, Any] | None = None) -> str:
    """For each corpus and all vectors, as a markdown table: the share in % of its validation words
    (occurrences) that have a vector, and the validation accuracy in % of a linear classifier of
    mean vectors."""
    corpora = (vectors_record() if record is None else record)["corpora"]
    names = next(iter(corpora.values()))
    rows = [f"| vectors | {' | '.join(corpora)} |", "|---" + "|---:" * len(corpora) + "|"]
    for name in names:
        cells = [
            f"{100 * of[name]['accuracy']:.1f} ({100 * of[name]['occurrences']:.0f} % covered)"
            for of in corpora.values()
        ]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def neighbours_table(record: dict[str, Any] | None = None) -> str:
    """The nearest words of the words asked, by vectors, as a markdown table."""
    found = (vectors_record() if record is None else record)["neighbours"]
    rows = [f"| word | {' | '.join(found)} |", "|---" * (len(found) + 1) + "|"]
    for word in next(iter(found.values())):
        rows.append(f"| {word} | {' | '.join(', '.join(of[word]) for of in found.values())} |")
    return "\n".join(rows)
