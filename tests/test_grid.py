"""The grid: what it may hold, which of its runs are done, what is said of those that are not."""

import io
import json
import re
import threading
from dataclasses import asdict, replace

import pytest
from tqdm import tqdm

from course_kit.research.grid import groups as grid
from course_kit.research.grid import scheduler
from course_lib import cli
from course_lib.data.catalog import CARDS
from course_lib.data.corpus import load_corpus
from course_lib.runs import folders, records
from course_lib.runs.records import StaleRun, check_data, load_records, state
from course_lib.runs.run import note_progress
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import RunSpec
from course_lib.training.history import Epoch, History

SMALL = "{system: han, dataset: toy, preset: small}"


@pytest.fixture
def written(tmp_path):
    """``written(text)`` is a grid read from that text."""

    def write(text):
        (tmp_path / "grid.yaml").write_text(text)
        return grid.read_grid(tmp_path / "grid.yaml")

    return write


def test_a_group_is_each_entry_once_per_seed_or_other_groups(written):
    small = RunSpec("han", "toy", "small")
    found = written(
        "both: {groups: [pair, one]}\n"
        "pair: [{system: han, dataset: toy, preset: small, seeds: [3, 5]}]\n"
        "one: [{dataset: toy, limit: 40, test: false, overrides: {model.hidden: 3}, threads: 1}]\n"
    )
    pair = [replace(small, seed=3), replace(small, seed=5)]
    one = [RunSpec(dataset="toy", limit=40, test=False, overrides={"model.hidden": 3}, threads=1)]
    pair, one = ([spec.resolve() for spec in specs] for specs in (pair, one))
    assert found == {"both": pair + one, "pair": pair, "one": one}
    assert grid.choose(["one", "both"], found) == one + pair


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [{hidden: 3}]", "group 'a', entry 1: RunSpec.__init__() got an unexpected"),
        (f"a: [{SMALL}, {{seed: 3}}]", "group 'a', entry 2: "),
        ("a: [{seeds: 3}]", "entry 1 takes settings by name, and a list of seeds"),
        ("a: [{seeds: [0, x]}]", "entry 1: seed takes a whole number from 0 to 2³² − 1, got 'x'"),
        ("a: [han]", "entry 1 takes settings by name"),
        ("a: []", "group 'a' takes a list of entries"),
        ("a: {group: [b]}", "group 'a' takes a list of entries or {groups: […]}"),
        ("a: {groups: [b]}", "no group 'b'; there are:"),
        ("- {}", "grid.yaml takes names of groups"),
        ("a: [{}", "grid.yaml: "),
        (f"a: [{SMALL}]\nb: [{SMALL}]", "holds these runs twice: han-toy-small-s0"),
        ("a: [{seeds: [1, 1]}]", "holds these runs twice: han-imdb-report-s1"),
        ("a: [{}]\na: [{}]", "'a' occurs twice"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(written, text, says):
    with pytest.raises(SpecError) as raised:
        written(text)
    assert says in str(raised.value)


def test_a_path_of_vectors_is_one_from_the_repository_and_becomes_a_name(
    written, tmp_path, monkeypatch
):
    monkeypatch.setattr(grid, "REPOSITORY", tmp_path)
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path / "cache"))
    (tmp_path / "mine.txt").write_text("the 1 2\n")
    text = "a: [{dataset: toy, overrides: {text.vectors: %s}, seeds: [0, 1]}]"
    first, second = written(text % "mine.txt")["a"]
    name = first.spec.overrides["text.vectors"]
    assert name.startswith("mine.txt@") and second.settings == first.settings
    assert written(text % name)["a"] == [first, second]
    with pytest.raises(SpecError, match=r"'a', entry 1: .*absent\.txt: no such file of vectors"):
        written(text % "./absent.txt")
    (tmp_path / "mine.txt").write_text("the 1 2\nfilm 1\n")
    with pytest.raises(SpecError, match=r"'a', entry 1: .*mine\.txt: line 2: 1 numbers"):
        written(text % "mine.txt")


def test_the_committed_grid_is_valid_and_holds_every_committed_record(monkeypatch, tmp_path):
    """Whoever adds a record adds the entry that made it, and both agree to the last setting."""
    monkeypatch.setattr(folders, "RUNS", tmp_path)  # what was run here must not count
    plans = {plan.id: plan for plan in grid.choose(grid.read_grid())}
    committed = [record for record in load_records() if "finished" not in record]
    assert {record["id"] for record in committed} <= plans.keys() and len(committed) > 300
    for record in committed:
        plan = plans[record["id"]]
        found = state(plan)
        assert found.path == records.published_record(plan.spec, plan.id), found.stale


SPEC = RunSpec("han", "toy", "small")
PLAN, OTHER = SPEC.resolve(), replace(SPEC, seed=1).resolve()


@pytest.fixture
def place(places):
    """``place(where, **changes)`` puts a record of SPEC into ``runs/`` or ``results/``."""
    (folder := records.published_record(SPEC, PLAN.id).parent).mkdir(parents=True)
    (folders.RUNS / PLAN.id).mkdir(parents=True)
    content = load_corpus("toy").provenance.content

    def put(where, **changes):
        record = {
            "version": records.VERSION,
            "id": PLAN.id,
            "spec": asdict(SPEC),
            "settings": asdict(PLAN.settings),
        }
        record |= {"data": {"content": content}, "seconds": 2.0, "test": {"accuracy": 0.5}}
        record |= {"validation": {"accuracy": 0.5}} | changes
        path = folder / f"{PLAN.id}.json"
        if where == "runs":
            path = folders.RUNS / PLAN.id / "record.json"
        path.write_text(json.dumps(record))
        return path

    return put


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"spec": asdict(replace(SPEC, seed=1))}, "holds another run"),
        (
            {"settings": asdict(replace(SPEC, overrides={"model.hidden": 99}).resolve().settings)},
            "holds another run",
        ),
        ({"data": {"content": "0" * 64}}, "made from other data than toy holds now"),
        ({"spec": {}, "data": None}, "is no record"),
        ({"spec": {"colour": 1}}, "is no record"),
    ],
)
def test_a_record_of_anything_else_does_not_count_and_says_why(place, change, says):
    path = place("runs", **change)
    found = state(PLAN)
    assert found.path is None and says in found.stale[path] and str(path) in found.stale[path]
    committed = place("results")
    assert state(PLAN).path == committed and path in state(PLAN).stale


def test_a_record_of_rows_that_the_catalog_does_not_know_does_not_count(place, monkeypatch):
    """The catalog knows IMDb's digest, AG News' of a subset alone, and none of DBPedia."""
    made = {"data": {"content": "0" * 64}}
    with pytest.raises(StaleRun, match="other data than imdb"):
        check_data(made, "imdb", folders.RESULTS)
    assert check_data({"data": {"content": CARDS["imdb"].content}}, "imdb", folders.RESULTS) is None
    assert check_data(made, "dbpedia", folders.RESULTS) is None
    spec = replace(SPEC, dataset="ag_news")
    (subset,) = (source for source in CARDS["ag_news"].sources if source.subset)
    made = {"spec": asdict(spec), "data": {"content": subset.content}}
    assert check_data(made, "ag_news", folders.RESULTS) is None
    monkeypatch.setattr(records, "prepared_content", lambda name: "f" * 64)
    with pytest.raises(SpecError, match="other data than ag_news"):
        check_data(made, "ag_news", folders.RESULTS)


def test_a_stale_run_is_moved_aside_and_nothing_is_lost(place):
    path = place("runs", settings={})
    weights = path.with_name("model.safetensors")
    weights.write_bytes(b"a night of training")
    said = "\n".join(grid.clear_stale([PLAN]))
    assert "holds another run" in said and "training again" in said
    assert folders.RESULTS.is_dir()
    (kept,) = folders.RUNS.iterdir()
    assert kept.name.startswith(f"{PLAN.id}.stale-") and str(kept) in said
    assert (kept / "model.safetensors").read_bytes() == b"a night of training"
    assert grid.clear_stale([PLAN]) == []


def test_missing_is_what_neither_runs_nor_results_hold(place):
    both = [PLAN, OTHER]
    assert grid.missing(iter(both)) == both
    place("results")
    assert grid.missing(both) == [OTHER]
    assert grid.missing(both, again=True) == both
    place("runs")
    assert grid.missing(both, again=True) == [OTHER]


def test_progress_is_that_of_the_epochs_and_one_with_a_record(place):
    assert scheduler.progress(PLAN.id) == 0
    note = note_progress(folders.RUNS / PLAN.id, 4)
    note(History(epochs=[Epoch(0.5, 0.7, 0.5, 0.7, 1.0)]))
    assert scheduler.progress(PLAN.id) == 0.25
    place("runs")
    assert scheduler.progress(PLAN.id) == 1


class Gone(io.StringIO):
    def write(self, text):
        raise BrokenPipeError


@pytest.mark.parametrize("terminal", [io.StringIO(), Gone()])
def test_the_bar_counts_runs_and_a_terminal_that_goes_away_stops_none(place, terminal):
    place("runs")
    (ended := threading.Event()).set()
    bar = tqdm(total=2, file=io.StringIO(), disable=False)
    bar.fp = terminal
    scheduler._watch(bar, ended, [PLAN, OTHER])
    assert bar.n == 1


def test_a_stale_record_in_results_is_told_and_left_where_it_is(place):
    """results/ holds the records of all runs: moving its folder aside would lose them."""
    path = place("results", settings={})
    (line,) = grid.clear_stale([PLAN])
    assert str(path) in line and "holds another run" in line
    assert path.exists() and grid.missing([PLAN]) == [PLAN]


def test_runs_at_the_same_time_have_gpus_of_their_own(place, monkeypatch):
    monkeypatch.setattr(scheduler.torch.cuda, "device_count", lambda: 2)
    with (
        scheduler.free_device(PLAN) as first,
        scheduler.free_device(PLAN) as second,
        scheduler.free_device(PLAN) as third,
        scheduler.free_device(replace(SPEC, device="cpu").resolve()) as named,
    ):
        assert [plan.spec.device for plan in (first, second, third, named)] == [
            "cuda:0",
            "cuda:1",
            "auto",
            "cpu",
        ]
    with scheduler.free_device(PLAN) as again:
        assert again.spec.device == "cuda:0"
    monkeypatch.setattr(scheduler.torch.cuda, "device_count", lambda: 1)
    with scheduler.free_device(PLAN) as only:
        assert only is PLAN


def test_the_status_says_which_run_is_missing_and_why_its_record_does_not_count(place):
    place("results", data={"content": "0" * 64})
    lines = grid.describe({"small": [PLAN, OTHER]}).split("\n")
    assert lines[:3] == ["small: 0 of 2 done", "", "small:"]
    assert lines[3] == f"  missing {PLAN.id}" and "made from other data than toy" in lines[4]
    assert lines[5:] == [f"  missing {OTHER.id}"]
    assert grid.describe({"papers": [PLAN]}).startswith("papers: 0 of 1 done (needs larger")


def test_the_status_is_of_all_groups_or_of_those_named(capsys):
    assert cli.main(["grid", "status", "compact", "agt"]) == 0
    said = re.findall(r"^(\w+): \d+ of \d+ done$", capsys.readouterr().out, re.M)
    assert said == ["compact", "agt"]
