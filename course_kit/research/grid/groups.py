"""Groups of runs, read from ``grid.yaml`` and checked before anything starts, and the runs that are
missing."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from course_kit.research.grid.estimate import estimate, first_online, unprepared
from course_lib.data.corpus import load_corpus
from course_lib.data.own_text import named_texts
from course_lib.data.sources import NotObtained, obtain
from course_lib.data.vector_store import named_vectors
from course_lib.data.vectors import load_vectors
from course_lib.files import REPOSITORY, DataError, data_root
from course_lib.runs import records
from course_lib.runs.records import move_aside, state
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import NAMED_VECTORS, VECTORS, RunSpec

GRID = REPOSITORY / "notebooks" / "experiments" / "grid.yaml"
ENTRY = {
    "system": str, "dataset": str, "preset": str, "overrides": dict, "seeds": list,
    "device": str, "threads": int, "limit": int, "test": bool,
}  # fmt: skip
GROUP = re.compile(r"\w+")


class _Loader(yaml.SafeLoader):
    """YAML in which a repeated name is an error; plain YAML silently drops the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        names = [key.value for key, _ in node.value]
        for name in names:
            if names.count(name) > 1:
                raise SpecError(f"{name!r} occurs twice{node.start_mark}")
        return super().construct_mapping(node, deep)


def read_grid(path: Path = GRID) -> dict[str, list[RunSpec]]:
    """The runs of every group, all of them checked.

    A group is a list of entries, each of which is one run per seed, or ``{groups: [names]}``, the
    runs of other groups. Raises ``SpecError`` naming group and entry for the first mistake,
    and for two runs with the same id.
    """
    try:
        groups = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except UnicodeDecodeError as error:
        raise SpecError(f"{path.name} is not UTF-8 ({error}); save it as UTF-8") from error
    except yaml.YAMLError as error:
        raise SpecError(f"{path.name}: {error}") from error
    if not isinstance(groups, dict):
        raise SpecError(f"{path.name} takes names of groups, got {groups!r}")
    runs: dict[str, list[RunSpec]] = {}
    places: dict[str, str] = {}
    for name, entries in groups.items():
        where = f"{path.name}, group {name!r}"
        if not isinstance(name, str) or not GROUP.fullmatch(name):
            raise SpecError(f"{where}: a name is letters, digits and _")
        if isinstance(entries, dict):
            continue
        if not isinstance(entries, list) or not entries:
            raise SpecError(f"{where} takes a list of entries or {{groups: […]}}, got {entries!r}")
        runs[name] = []
        for number, entry in enumerate(entries, start=1):
            for spec in _specs(entry, f"{where}, entry {number}"):
                if spec.id in places:
                    raise SpecError(
                        f"{where}, entry {number}: {spec.id} stands in {places[spec.id]} already"
                    )
                places[spec.id] = f"group {name!r}, entry {number}"
                runs[name].append(spec)
    lists = dict(runs)
    for name, entries in groups.items():
        if isinstance(entries, dict):
            where = f"{path.name}, group {name!r}"
            if set(entries) != {"groups"} or not isinstance(entries["groups"], list):
                raise SpecError(f"{where} takes a list of entries or {{groups: […]}}")
            runs[name] = [spec for part in entries["groups"] for spec in _named(lists, part, where)]
    return {name: runs[name] for name in groups}


def _named(groups: dict[str, list[RunSpec]], name: Any, where: str) -> list[RunSpec]:
    if not isinstance(name, str) or name not in groups:
        raise SpecError(f"{where}: no group {name!r}; there are: {', '.join(sorted(groups))}")
    return groups[name]


def _specs(entry: Any, where: str) -> list[RunSpec]:
    """One run per seed of an entry of the grid."""
    if not isinstance(entry, dict):
        raise SpecError(f"{where} takes settings by name, got {entry!r}")
    for name, value in entry.items():
        if name not in ENTRY:
            raise SpecError(f"{where}: no {name!r}; there are: {', '.join(ENTRY)}")
        if type(value) is not ENTRY[name]:
            raise SpecError(f"{where}: {name} takes {ENTRY[name].__name__}, got {value!r}")
    shared = {name: value for name, value in entry.items() if name != "seeds"}
    try:
        vectors = shared.get("overrides", {}).get(VECTORS)
        if isinstance(vectors, str) and vectors not in NAMED_VECTORS:
            # jobs run in other folders, so a path is one from the repository
            named = named_vectors(vectors, REPOSITORY)
            shared["overrides"] = shared["overrides"] | {VECTORS: named}
        if isinstance(shared.get("dataset"), str):
            shared["dataset"] = named_texts(shared["dataset"], REPOSITORY)
        specs = [RunSpec(**shared, seed=seed) for seed in entry.get("seeds", [0])]
        for spec in specs:
            spec.validate()
    except (SpecError, DataError) as error:
        raise SpecError(f"{where}: {error}") from error
    if not specs:
        raise SpecError(f"{where}: seeds is empty")
    return specs


def choose(groups: Iterable[str], grid: dict[str, list[RunSpec]] | None = None) -> list[RunSpec]:
    """The runs of some groups, each once; ``SpecError`` lists the existing groups."""
    grid = read_grid() if grid is None else grid
    specs = {spec.id: spec for name in groups for spec in _named(grid, name, GRID.name)}
    return list(specs.values())


def spec_of(name: str) -> RunSpec:
    """The run of that id; ``SpecError`` where the grid has none."""
    for specs in read_grid().values():
        for spec in specs:
            if spec.id == name:
                return spec
    raise SpecError(f"{GRID.name} has no run {name!r}")


def missing(specs: Iterable[RunSpec], again: bool = False) -> list[RunSpec]:
    """The runs without a record; with ``again`` only records in ``runs/`` count."""
    return [
        spec
        for spec in specs
        if not (path := state(spec).record) or (again and records.RESULTS in path.parents)
    ]


def clear_stale(specs: Iterable[RunSpec]) -> list[str]:
    """Move aside the folders of runs with stale records; returns lines that say why and where to.

    Nothing is deleted, since a run may have taken hours."""
    lines = []
    for spec in specs:
        for path, reason in state(spec).stale.items():
            lines.append(reason)
            if records.RESULTS not in path.parents:  # which holds the records of all others
                lines.append(f"  moved to {move_aside(path.parent)}; training again")
    return lines


def prepare_data(specs: Iterable[RunSpec]) -> None:
    """Fetch and prepare the data of runs once, here, since cluster nodes may have no network.

    Everything is fetched before anything is prepared, which may take hours. Raises ``SpecError``,
    one sentence that names all files that cannot be had and where to put them.
    """
    specs = list(specs)
    absent: dict[str, str] = {}
    for card in unprepared(specs):
        try:
            obtain(card)
        except NotObtained:
            for item in first_online(card).downloads:
                absent.setdefault(item.filename, card.title)
    if absent:
        files = ", ".join(f"{file} ({title})" for file, title in absent.items())
        raise SpecError(
            f"these runs need what cannot be had here: {files}; put them into "
            f"{data_root() / 'downloads'}, or set COURSE_DATA_MIRROR to a folder that holds it"
        )
    for dataset in sorted({spec.dataset for spec in specs}):
        load_corpus(dataset)
    for vectors in sorted({spec.settings().text.vectors for spec in specs} - {"none"}):
        load_vectors(vectors)


def describe(grid: dict[str, list[RunSpec]]) -> str:
    """One line per group: how many of its runs are done and what the rest will cost, then the names
    of the missing ones, each with the reasons why a record of it does not count."""
    lines, finished = [], records.load_records()
    for name, specs in grid.items():
        absent = missing(specs)
        done = f"{name}: {len(specs) - len(absent)} of {len(specs)} done"
        lines.append(f"{done}; {estimate(absent, finished)}" if absent else done)
        for spec in absent:
            lines.append(f"  missing {spec.id}")
            lines += [f"    {reason}" for reason in state(spec).stale.values()]
    return "\n".join(lines)
