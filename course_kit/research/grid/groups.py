"""Groups of runs, read from ``grid.yaml`` and checked before anything starts, and which of them are
done."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from course_lib.data.corpus import load_corpus
from course_lib.data.custom_data import named_texts
from course_lib.data.vector_files import named_vectors
from course_lib.data.vectors import load_vectors
from course_lib.files import REPOSITORY, DataError
from course_lib.runs import folders
from course_lib.runs.records import move_aside, state
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import NAMED_VECTORS, VECTORS, RunSpec
from course_lib.runs.spec import choose as entry_of

GRID = REPOSITORY / "notebooks" / "experiments" / "grid.yaml"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML in which a repeated name is an error; plain YAML silently drops the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        names = Counter(key.value for key, _ in node.value)
        for name in names:
            if names[name] > 1:
                raise SpecError(f"{name!r} occurs twice{node.start_mark}")
        return super().construct_mapping(node, deep)


def read_grid(path: Path = GRID) -> dict[str, list[RunSpec]]:
    """The runs of every group, all of them checked.

    A group is a list of entries, each of which is one run per seed, or ``{groups: [names]}``, the
    runs of other groups. Raises ``SpecError`` naming group and entry for the first mistake, and for
    two runs with the same id.
    """
    try:
        groups = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise SpecError(f"{path.name}: {error}") from error
    if not isinstance(groups, dict):
        raise SpecError(f"{path.name} takes names of groups, got {groups!r}")
    lists: dict[str, list[RunSpec]] = {}
    for name, entries in groups.items():
        where = f"{path.name}, group {name!r}"
        if isinstance(entries, list) and entries:
            numbered = enumerate(entries, start=1)
            lists[name] = [spec for n, it in numbered for spec in _specs(it, f"{where}, entry {n}")]
        elif not isinstance(entries, dict) or not isinstance(entries.get("groups"), list):
            raise SpecError(f"{where} takes a list of entries or {{groups: […]}}, got {entries!r}")
    ids = Counter(spec.id for specs in lists.values() for spec in specs)
    if again := [name for name in ids if ids[name] > 1]:
        raise SpecError(f"{path.name} holds these runs twice: {', '.join(again)}")
    return {
        name: lists[name] if name in lists else choose(entries["groups"], lists)
        for name, entries in groups.items()
    }


def _specs(entry: Any, where: str) -> list[RunSpec]:
    """One run per seed of an entry of the grid."""
    if not isinstance(entry, dict) or not isinstance(entry.get("seeds", []), list):
        raise SpecError(f"{where} takes settings by name, and a list of seeds; got {entry!r}")
    shared = {name: value for name, value in entry.items() if name != "seeds"}
    try:  # jobs run in other folders, so a path is one from the repository
        overrides = shared.get("overrides")
        vectors = overrides.get(VECTORS) if isinstance(overrides, dict) else None
        if isinstance(vectors, str) and vectors not in NAMED_VECTORS:
            shared["overrides"] = overrides | {VECTORS: named_vectors(vectors, REPOSITORY)}
        if isinstance(shared.get("dataset"), str):
            shared["dataset"] = named_texts(shared["dataset"], REPOSITORY)
        specs = [RunSpec(**shared, seed=seed) for seed in entry.get("seeds", [0])]
        for spec in specs:
            spec.validate()
    except (SpecError, DataError, TypeError) as error:  # TypeError: a name that no spec has
        raise SpecError(f"{where}: {error}") from error
    return specs


def choose(groups: Iterable[str], grid: dict[str, list[RunSpec]] | None = None) -> list[RunSpec]:
    """The runs of some groups, each once; ``SpecError`` lists the existing groups."""
    grid = read_grid() if grid is None else grid
    chosen = (entry_of("group", name, grid) for name in groups)
    return list({spec.id: spec for specs in chosen for spec in specs}.values())


def spec_of(name: str) -> RunSpec:
    """The run of that id; ``SpecError`` where the grid has none."""
    found = {spec.id: spec for specs in read_grid().values() for spec in specs}
    if name not in found:
        raise SpecError(f"{GRID.name} has no run {name!r}")
    return found[name]


def missing(specs: Iterable[RunSpec], again: bool = False) -> list[RunSpec]:
    """The runs without a record; with ``again`` only records in ``runs/`` count."""
    return [
        spec
        for spec in specs
        if not (path := state(spec).record) or (again and folders.RESULTS in path.parents)
    ]


def clear_stale(specs: Iterable[RunSpec]) -> list[str]:
    """Move aside the folders of runs with stale records; returns lines that say why and where to.

    Nothing is deleted, since a run may have taken hours."""
    lines = []
    for spec in specs:
        for path, reason in state(spec).stale.items():
            lines.append(reason)
            if folders.RESULTS not in path.parents:
                lines.append(f"  moved to {move_aside(path.parent)}; training again")
    return lines


def prepare_data(specs: Iterable[RunSpec]) -> None:
    """Fetch and prepare the data of runs once, here, since cluster nodes may have no network."""
    specs = list(specs)
    for dataset in sorted({spec.dataset for spec in specs}):
        load_corpus(dataset)
    for vectors in sorted({spec.settings().text.vectors for spec in specs} - {"none"}):
        load_vectors(vectors)


NEEDS = {"papers": "needs larger vectors and whole sets, see data/README.md"}


def describe(grid: dict[str, list[RunSpec]]) -> str:
    """One line per group: how many of its runs are done; then the missing runs of each, with the
    reasons why a record does not count."""
    found = {spec.id: state(spec) for specs in grid.values() for spec in specs}
    lines, counts = [], []
    for name, specs in grid.items():
        absent = [spec.id for spec in specs if not found[spec.id].record]
        needs = f" ({NEEDS[name]})" if absent and name in NEEDS else ""
        counts.append(f"{name}: {len(specs) - len(absent)} of {len(specs)} done{needs}")
        lines += ["", f"{name}:"] if absent else []
        for one in absent:
            reasons = [f"    {reason}" for reason in found[one].stale.values()]
            lines += [f"  missing {one}", *reasons]
    return "\n".join([*counts, *lines])
