"""Groups of runs: read from ``grid.yaml``, checked before anything starts, and only what is missing
is run, by Snakemake: ``attention-course grid run core``."""

import argparse
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, TextIO

import yaml
from tqdm import tqdm

from course_lib.data.catalog import CARDS
from course_lib.data.corpus import load_corpus, prepared_content
from course_lib.data.vectors import load_vectors
from course_lib.experiments.run import RunSpec, SpecError, check_record, execute, load_records
from course_lib.files import REPOSITORY, atomic_path
from course_lib.training.loop import History

EXPERIMENTS = REPOSITORY / "notebooks" / "experiments"
GRID = EXPERIMENTS / "grid.yaml"
RUNS = REPOSITORY / "runs"
RESULTS = REPOSITORY / "results"
MEMORY_MB = 6000  # for each process; SANet on IMDb was seen at 3.9 GB, files in memory included
ENTRY = {
    "system": str, "dataset": str, "preset": str, "overrides": dict, "seeds": list,
    "device": str, "threads": int, "limit": int, "test": bool,
}  # fmt: skip
GROUP = re.compile(r"\w+")


class _Loader(yaml.SafeLoader):
    """YAML in which a name given twice is an error, not a silent loss of the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        names = [key.value for key, _ in node.value]
        for name in names:
            if names.count(name) > 1:
                raise SpecError(f"{name!r} stands twice{node.start_mark}")
        return super().construct_mapping(node, deep)


def read_grid(path: Path = GRID) -> dict[str, list[RunSpec]]:
    """The runs of every group, all of them checked.

    A group is a list of entries, each of which is one run per seed, or ``{groups: [names]}``, the
    runs of other groups. Raises ``SpecError`` naming group and entry for the first that cannot be
    meant, and for two runs of one id.
    """
    try:
        groups = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except yaml.YAMLError as error:
        raise SpecError(f"{path.name}: {error}") from error
    if not isinstance(groups, dict):
        raise SpecError(f"{path.name} takes names of groups, got {groups!r}")
    found: dict[str, list[RunSpec]] = {}
    places: dict[str, str] = {}
    for name, entries in groups.items():
        where = f"{path.name}, group {name!r}"
        if not isinstance(name, str) or not GROUP.fullmatch(name):
            raise SpecError(f"{where}: a name is letters, digits and _")
        if isinstance(entries, dict):
            continue
        if not isinstance(entries, list) or not entries:
            raise SpecError(f"{where} takes a list of entries or {{groups: […]}}, got {entries!r}")
        found[name] = []
        for number, entry in enumerate(entries, start=1):
            for spec in _specs(entry, f"{where}, entry {number}"):
                if spec.id in places:
                    raise SpecError(
                        f"{where}, entry {number}: {spec.id} stands in {places[spec.id]} already"
                    )
                places[spec.id] = f"group {name!r}, entry {number}"
                found[name].append(spec)
    lists = dict(found)
    for name, entries in groups.items():
        if isinstance(entries, dict):
            where = f"{path.name}, group {name!r}"
            if set(entries) != {"groups"} or not isinstance(entries["groups"], list):
                raise SpecError(f"{where} takes a list of entries or {{groups: […]}}")
            found[name] = [
                spec for part in entries["groups"] for spec in _named(lists, part, where)
            ]
    return {name: found[name] for name in groups}


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
    specs = [RunSpec(**shared, seed=seed) for seed in entry.get("seeds", [0])]
    for spec in specs:
        try:
            spec.validate()
        except SpecError as error:
            raise SpecError(f"{where}: {error}") from error
    if not specs:
        raise SpecError(f"{where}: seeds is empty")
    return specs


def choose(groups: Iterable[str], grid: dict[str, list[RunSpec]] | None = None) -> list[RunSpec]:
    """The runs of some groups, each once; ``SpecError`` lists the groups there are."""
    grid = read_grid() if grid is None else grid
    chosen = {spec.id: spec for name in groups for spec in _named(grid, name, GRID.name)}
    return list(chosen.values())


def spec_of(name: str) -> RunSpec:
    """The run of that id; ``SpecError`` where the grid has none."""
    for specs in read_grid().values():
        for spec in specs:
            if spec.id == name:
                return spec
    raise SpecError(f"{GRID.name} has no run {name!r}")


@dataclass(frozen=True)
class State:
    """Where the record of a run is, None where it is missing; ``stale`` says which records that
    were found do not count, and why."""

    record: Path | None
    stale: dict[Path, str]


def state(spec: RunSpec) -> State:
    """Whether a run is done: a whole record in ``runs/`` or ``results/`` whose spec, settings and
    data are what they would be now."""
    stale = {}
    for path in (RUNS / spec.id / "record.json", RESULTS / f"{spec.id}.json"):
        if path.exists():
            try:
                record = json.loads(path.read_text(encoding="utf-8"))
                check_record(record, spec, path)
                check_data(record, spec.dataset, path)
            except SpecError as error:
                stale[path] = str(error)
            except (ValueError, KeyError, TypeError) as error:
                stale[path] = f"{path} is no record ({type(error).__name__}: {error})"
            else:
                return State(path, stale)
    return State(None, stale)


def check_data(record: dict[str, Any], dataset: str, where: Path) -> None:
    """Raise ``SpecError`` if the record was made from other rows than the dataset has now.

    Those are the whole dataset's, or what is prepared here; before anything is prepared, those of
    any source that the catalog knows. Where no digest is known, nothing can be said.
    """
    card, here = CARDS[dataset], prepared_content(dataset)
    parts = {here} if here else {source.content for source in card.sources if source.subset}
    known = {card.content, *parts} - {None}
    if known and record["data"]["content"] not in known:
        raise SpecError(f"{where} was made from other data than {dataset} holds now")


def missing(specs: Iterable[RunSpec], again: bool = False) -> list[RunSpec]:
    """The runs without a record; ``again`` counts only what was run here, in ``runs/``."""
    found = {spec.id: state(spec).record for spec in specs}
    return [
        spec
        for spec in specs
        if not found[spec.id] or (again and RESULTS in found[spec.id].parents)
    ]


def clear_stale(specs: Iterable[RunSpec]) -> list[str]:
    """Move aside the folders of runs whose record does not count; what was found, and where it is
    now. Nothing is deleted: it may have taken hours."""
    said = []
    for spec in specs:
        for path, reason in state(spec).stale.items():
            said.append(reason)
            if path.parent != RESULTS:
                kept = path.parent.with_name(f"{spec.id}.stale-{time.time_ns()}")
                path.parent.rename(kept)
                said.append(f"  moved to {kept}; training again")
    return said


def prepare_data(specs: Iterable[RunSpec]) -> None:
    """Fetch and prepare what runs read, once, where there is a network: nodes may have none."""
    specs = list(specs)
    for dataset in sorted({spec.dataset for spec in specs}):
        load_corpus(dataset)
    for vectors in sorted({getattr(spec.settings(), "vectors", "none") for spec in specs}):
        if vectors != "none":
            load_vectors(vectors)


def note_progress(folder: Path, settings: Any) -> Callable[[History], None]:
    """What a run calls after each epoch, so that whoever waits can see how far it is."""

    def note(history: History) -> None:
        with atomic_path(folder / "progress") as temporary:
            temporary.write_text(str(len(history.epochs) / settings.epochs))

    return note


def progress(name: str) -> float:
    """How much of the run of that id is done, from 0 to 1: by epochs, which may prove fewer."""
    folder = RUNS / name
    if (folder / "record.json").exists():
        return 1.0
    try:
        return float((folder / "progress").read_text())
    except (OSError, ValueError):
        return 0.0


def expected_seconds(specs: list[RunSpec], records: list[dict[str, Any]]) -> dict[str, float]:
    """What each run may take, by the records nearest to it; a minute where nothing is recorded."""
    took: dict[tuple, list[float]] = {}
    for record in records:
        for key in _likeness(RunSpec(**record["spec"])):
            took.setdefault(key, []).append(record["seconds"])
    return {
        spec.id: next((median(took[key]) for key in _likeness(spec) if key in took), 60.0)
        for spec in specs
    }


def _likeness(spec: RunSpec) -> list[tuple]:
    changes = json.dumps(spec.overrides, sort_keys=True)
    alike = spec.system, spec.preset, spec.dataset
    return [(*alike, changes, spec.limit), alike, alike[:2], alike[:1]]


def run_groups(
    groups: list[str], again: bool = False, on: str = "", snakemake: Iterable[str] = ()
) -> list[str]:
    """Run what is missing of some groups, as many at a time as fit; the ids that failed.

    ``on`` names a profile (a folder in ``profiles/``, or any folder) of another place than this
    machine; ``snakemake`` are further arguments for it. One failure does not stop the others.
    Raises ``SpecError`` before anything starts if any entry of the grid is wrong.
    """
    specs, place = choose(groups), _place(on)
    for line in clear_stale(specs):
        print(line, file=sys.stderr)
    wanted = missing(specs, again)
    print(f"{len(specs) - len(wanted)} of {len(specs)} runs are done")
    if not wanted:
        return []
    prepare_data(wanted)
    RUNS.mkdir(exist_ok=True)
    console = RUNS / "snakemake.log"
    succeeded = _snakemake(
        [*place, *snakemake, "--config", f"groups={','.join(groups)}", f"again={again}"],
        console,
        wanted,
    )
    failed = [spec.id for spec in missing(wanted, again)]
    for name in failed:
        print(f"{name} failed: {_last_words(name)}", file=sys.stderr)
    if not failed and not succeeded:
        raise SpecError(f"snakemake failed; {console} says why")
    return failed


def _snakemake(arguments: list[str], console: Path, wanted: list[RunSpec]) -> bool:
    """Whether Snakemake succeeded, its words in ``console`` and the progress on the terminal.

    It runs in this process, so that a kill ends it too: left alone it would start further jobs,
    and remove the records that a restart has made since.
    """
    from snakemake.cli import main as snakemake  # slow to import, and only needed here

    given = [*SNAKEMAKE, "--directory", str(RUNS), "--snakefile", str(EXPERIMENTS / "Snakefile")]
    terminal, ended = sys.stderr, threading.Event()
    watch = threading.Thread(target=_watch, args=(ended, wanted, terminal))
    watch.start()
    try:
        with console.open("w") as log, redirect_stdout(log), redirect_stderr(log):
            snakemake([*given, *arguments])
    except SystemExit as end:
        return not end.code
    finally:
        ended.set()
        watch.join()


# Locks and half-done marks would outlive a kill; records appear whole, so nothing needs them.
SNAKEMAKE = (
    "--keep-going", "--nolock", "--rerun-incomplete", "--rerun-triggers", "mtime",
    "--scheduler", "greedy",
)  # fmt: skip


def _place(on: str) -> list[str]:
    """Snakemake's arguments for where to run: here as the machine allows, or as a profile says."""
    if on:
        known = EXPERIMENTS / "profiles" / on
        folder = known if known.is_dir() else Path(on).resolve()
        if not (folder / "config.yaml").is_file():
            raise SpecError(f"no profile {on!r}: {folder} holds no config.yaml")
        return ["--workflow-profile", str(folder)]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 10**6
    limits = [f"mem_mb={memory}", "gpu=1"]
    return ["--workflow-profile", "none", "--cores", "all", "--resources", *limits]


def _watch(ended: threading.Event, wanted: list[RunSpec], terminal: TextIO) -> None:
    """One line for all runs, with the time left, until they have ended."""
    weights = expected_seconds(wanted, load_records(RESULTS))
    often = 1 if terminal.isatty() else 60  # seconds; a log gets fewer lines
    shown = {"total": 100, "initial": _share(weights), "bar_format": BAR, "mininterval": often}
    with tqdm(file=_Forgiving(terminal), **shown) as bar:
        while not ended.wait(1):
            _show(bar, weights)
        _show(bar, weights)
        bar.refresh()


class _Forgiving:
    """A stream whose other end may go away: an error inside tqdm would keep its lock for ever."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> None:
        """Write what can be written."""
        with suppress(OSError):
            self.stream.write(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        with suppress(OSError):
            self.stream.flush()


def _show(bar: tqdm, weights: dict[str, float]) -> None:
    done = sum(progress(name) == 1 for name in weights)
    bar.set_description_str(f"{done} of {len(weights)} runs", refresh=False)
    bar.update(_share(weights) - bar.n)


BAR = "{desc} {percentage:3.0f}%|{bar:30}| {elapsed}, {remaining} left"


def _share(weights: dict[str, float]) -> float:
    """Percent of all runs that is done, a run counting as long as it takes."""
    done = sum(seconds * progress(name) for name, seconds in weights.items())
    return 100 * done / sum(weights.values())


def _last_words(name: str) -> str:
    """What a failed run said last, and where its notebook is."""
    folder = RUNS / name
    try:
        lines = (folder / "console.log").read_text(encoding="utf-8").strip().splitlines()
    except OSError:
        lines = []
    kept = [path for path in (folder / "run.ipynb", folder / "console.log") if path.exists()]
    return f"{lines[-1] if lines else 'it was not started'}\n  see {' and '.join(map(str, kept))}"


def run_one(name: str) -> int:
    """Execute one run of the grid; what went wrong is the last line it prints."""
    from papermill.exceptions import PapermillExecutionError  # slow to import, and only needed here

    try:
        execute(spec_of(name))
    except PapermillExecutionError as error:
        print(f"cell {error.cell_index}: {error.ename}: {error.evalue}", file=sys.stderr)
        return 1
    return 0


def publish(specs: Iterable[RunSpec]) -> list[Path]:
    """Copy the records of finished runs to ``results/``, where they are committed."""
    written = []
    for spec in specs:
        record = state(spec).record
        if record and record.parent != RESULTS:
            with atomic_path(RESULTS / f"{spec.id}.json") as temporary:
                temporary.write_bytes(record.read_bytes())
            written.append(RESULTS / f"{spec.id}.json")
    return written


def describe(grid: dict[str, list[RunSpec]]) -> str:
    """One line a group: how many of its runs are done, and the names of those that are missing."""
    lines = []
    for name, specs in grid.items():
        left = [spec.id for spec in missing(specs)]
        lines.append(f"{name}: {len(specs) - len(left)} of {len(specs)} done")
        lines += [f"  missing {spec}" for spec in left]
    return "\n".join(lines)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command ``grid`` takes: what to do with which groups."""
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("status", help="what is done and what is missing, group by group")
    several = actions.add_parser(
        "run", help="run what is missing of some groups; further arguments are Snakemake's"
    )
    several.add_argument("groups", nargs="+")
    several.add_argument("--on", default="", metavar="PROFILE", help="elsewhere, e.g. slurm")
    several.add_argument("--again", action="store_true", help="also what only results/ holds")
    several.add_argument("--publish", action="store_true", help="copy the records to results/")
    several.set_defaults(further=[])  # arguments that we do not know are Snakemake's
    one = actions.add_parser("one", help="one run of the grid (what the Snakefile calls)")
    one.add_argument("id")


def command(chosen: argparse.Namespace) -> int:
    """Look at the groups, run what is missing of some, or one run by its id."""
    if chosen.action == "status":
        print(describe(read_grid()))
        return 0
    if chosen.action == "one":
        return run_one(chosen.id)
    failed = run_groups(chosen.groups, chosen.again, chosen.on, chosen.further)
    if chosen.publish:
        print(*(path.relative_to(REPOSITORY) for path in publish(choose(chosen.groups))), sep="\n")
    return 1 if failed else 0
