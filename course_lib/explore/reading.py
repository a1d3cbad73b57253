"""One document or many: what a trained system predicts, and what it attended to."""

from collections import defaultdict
from typing import Any

import datasets

from course_lib.runs.systems.network import Network
from course_lib.runs.systems.system import System, Text, as_tokens
from course_lib.views.reading import Reading

AT_ONCE = 100  # documents in a batch of read_rows


def system_of(source: Any) -> System:
    """The system of a run; anything else is taken as a system itself."""
    return getattr(source, "system", source)


def read_text(source: Any, text: Text) -> Reading:
    """What a run or a system makes of a text: as typed, as ``TokenisedText``, or a corpus row."""
    return system_of(source).read(text)


def read_rows(source: Any, rows: datasets.Dataset) -> list[Reading]:
    """``read_text`` of every row, in their order, and much sooner: a network reads documents that
    are equally long together, so that none of them is padded."""
    system = system_of(source)
    if not isinstance(system, Network):
        return [system.read(row) for row in rows]
    readings: dict[int, Reading] = {}
    alike = defaultdict(list)
    texts = [as_tokens(row) for row in rows]
    for place, text in enumerate(texts):
        lengths = tuple(map(len, system.cut(text)))
        alike[lengths if system.reads_sentences else sum(lengths)].append(place)
    for places in alike.values():
        for start in range(0, len(places), AT_ONCE):
            some = places[start : start + AT_ONCE]
            read = system.read_together([texts[place] for place in some])
            readings.update(zip(some, read, strict=True))
    return [readings[place] for place in range(len(texts))]
