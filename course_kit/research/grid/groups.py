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
from course_lib.runs.spec import NAMED_VECTORS, VECTORS, Plan, RunSpec
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


def read_grid(path: Path = GRID) -> dict[str, list[Plan]]:
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
    lists: dict[str, list[Plan]] = {}
    for name, entries in groups.items():
        where = f"{path.name}, group {name!r}"
        if isinstance(entries, list) and entries:
            numbered = enumerate(entries, start=1)
            lists[name] = [plan for n, it in numbered for plan in _plans(it, f"{where}, entry {n}")]
        elif not isinstance(entries, dict) or not isinstance(entries.get("groups"), list):
            raise SpecError(f"{where} takes a list of entries or {{groups: […]}}, got {entries!r}")
    ids = Counter(plan.id for plans in lists.values() for plan in plans)
    if again := [name for name in ids if ids[name] > 1]:
        raise SpecError(f"{path.name} holds these runs twice: {', '.join(again)}")
    return {
        name: lists[name] if name in lists else choose(entries["groups"], lists)
        for name, entries in groups.items()
    }


def _plans(entry: Any, where: str) -> list[Plan]:
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
        return [RunSpec(**shared, seed=seed).resolve() for seed in entry.get("seeds", [0])]
    except (SpecError, DataError, TypeError) as error:  # TypeError: a name that no spec has
        raise SpecError(f"{where}: {error}") from error


def choose(groups: Iterable[str], grid: dict[str, list[Plan]] | None = None) -> list[Plan]:
    """The runs of some groups, each once; ``SpecError`` lists the existing groups."""
    grid = read_grid() if grid is None else grid
    chosen = (entry_of("group", name, grid) for name in groups)
    return list({plan.id: plan for plans in chosen for plan in plans}.values())


def plan_of(name: str) -> Plan:
    """The run of that id; ``SpecError`` where the grid has none."""
    found = {plan.id: plan for plans in read_grid().values() for plan in plans}
    if name not in found:
        raise SpecError(f"{GRID.name} has no run {name!r}")
    return found[name]


def missing(plans: Iterable[Plan], again: bool = False) -> list[Plan]:
    """The runs without a record; with ``again`` only records in ``runs/`` count."""
    return [
        plan
        for plan in plans
        if not (path := state(plan).path) or (again and folders.RESULTS in path.parents)
    ]


def clear_stale(plans: Iterable[Plan]) -> list[str]:
    """Move aside the folders of runs with stale records; returns lines that say why and where to.

    Nothing is deleted, since a run may have taken hours."""
    lines = []
    for plan in plans:
        for path, reason in state(plan).stale.items():
            lines.append(reason)
            if folders.RESULTS not in path.parents:
                lines.append(f"  moved to {move_aside(path.parent)}; training again")
    return lines


def prepare_data(plans: Iterable[Plan]) -> None:
    """Fetch and prepare the data of runs once, here, since cluster nodes may have no network."""
    plans = list(plans)
    for dataset in sorted({plan.spec.dataset for plan in plans}):
        load_corpus(dataset)
    for vectors in sorted({plan.settings.text.vectors for plan in plans} - {"none"}):
        load_vectors(vectors)


NEEDS = {"papers": "needs larger vectors and whole sets, see data/README.md"}


def describe(grid: dict[str, list[Plan]]) -> str:
    """One line per group: how many of its runs are done; then the missing runs of each, with the
    reasons why a record does not count."""
    found = {plan.id: state(plan) for plans in grid.values() for plan in plans}
    lines, counts = [], []
    for name, plans in grid.items():
        absent = [plan.id for plan in plans if not found[plan.id].path]
        needs = f" ({NEEDS[name]})" if absent and name in NEEDS else ""
        counts.append(f"{name}: {len(plans) - len(absent)} of {len(plans)} done{needs}")
        lines += ["", f"{name}:"] if absent else []
        for one in absent:
            reasons = [f"    {reason}" for reason in found[one].stale.values()]
            lines += [f"  missing {one}", *reasons]
    return "\n".join([*counts, *lines])
