"""Recorded runs that differ in one setting alone, which is what a comparison needs."""

from collections.abc import Iterable
from itertools import combinations
from typing import Any, NamedTuple

from course_lib.runs.records import flat_settings


class SingleChange(NamedTuple):
    """Two recorded runs that differ in nothing but the setting at this ``address``."""

    address: str
    first: dict[str, Any]
    second: dict[str, Any]


def single_changes(records: Iterable[dict[str, Any]]) -> list[SingleChange]:
    """All pairs of these runs that differ in exactly one setting, the seed among them.

    Presets count by the settings that they stand for, not by their names.
    """
    described = [(record, _described(record)) for record in records]
    found = []
    for (first, of_first), (second, of_second) in combinations(described, 2):
        apart = [
            key for key in {**of_first, **of_second} if of_first.get(key) != of_second.get(key)
        ]
        if len(apart) == 1:
            found.append(SingleChange(apart[0], first, second))
    return found


def _described(record: dict[str, Any]) -> dict[str, Any]:
    spec = {name: record["spec"][name] for name in ("system", "limit", "seed")}
    data = {"dataset": (record["spec"]["dataset"], record["data"]["content"])}
    return flat_settings(record["settings"]) | spec | data
