"""When is attention faithful: the tests of the study, its records and its paper."""

import json
import subprocess
from itertools import product
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from course_kit.research.crossover_study.corpora import digest_of
from course_kit.research.factorial_study import analysis, design, paper
from course_lib.data.corpus import load_corpus
from course_lib.files import REPOSITORY, data_root
from course_lib.runs.folders import RESULTS

pytestmark = pytest.mark.full  # a finished study

DATA = data_root()  # looked up before a fixture hides it
STUDIES = ("faithfulness", "agreement", "interventions", "levels")


def git(*words):
    call = ["git", *words]
    done = subprocess.run(call, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.skipif(not (DATA / "prepared" / "imdb-v1").exists(), reason="takes the real texts")
def test_nothing_was_measured_before_on_a_held_out_text(monkeypatch):
    """The samples of all records are drawn again; no digest of theirs is held out."""
    monkeypatch.setenv("COURSE_DATA_DIR", str(DATA))
    samples = set()
    for path in (path for study in STUDIES for path in (RESULTS / study).glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        if record.get("test_texts") and (DATA / "prepared" / f"{corpus_of(record)}-v1").exists():
            classes = tuple(record.get("classes", ()))
            samples.add((corpus_of(record), record["seed"], record["texts"], classes))
    held_out = json.loads((design.FOLDER / "held_out.json").read_text(encoding="utf-8"))
    read = {  # words of a text
        record["cell"]["corpus"]: record["settings"]["most"]
        for record in analysis.records().values()
    }
    for corpus, seed, texts, classes in samples:
        opened = load_corpus(corpus)
        rows = np.arange(len(opened.splits["test"]))
        if classes:
            wanted = [opened.card.classes.index(name) for name in classes]
            rows = rows[np.isin(opened.splits["test"]["label"], wanted)]
        drawn = rows[np.random.default_rng(seed).permutation(len(rows))[:texts]]
        measured = opened.splits["test"].select(sorted(drawn))["tokens"]
        for name, digests in held_out.items():
            cut = ([word.lower() for word in words[: read[name]]] for words in measured)
            assert not set(map(digest_of, cut)) & set(digests)


def corpus_of(record):
    return record["id"].split("-")[1]


def test_every_record_names_the_one_commit_of_the_plan():
    commits = git("log", "--format=%H", "--", str(design.PLAN)).split()
    if git("rev-parse", "--is-shallow-repository") == "true":
        pytest.skip("a shallow clone does not know the plan's commit")
    assert len(commits) == 1  # nobody has touched it since
    for name, record in analysis.records().items():
        assert record["plan"] == commits[0][:12], name
        assert "dirty" not in record["environment"]["commit"]
        assert len(json.dumps(record, indent=1, ensure_ascii=False)) < 6000


@pytest.mark.full
def test_the_code_of_the_plans_commit_gives_the_effects_of_today():
    """What the paper says: the analysis was rewritten, and no effect depends on that."""
    if git("rev-parse", "--is-shallow-repository") == "true":
        pytest.skip("a shallow clone does not know the plan's commit")
    commit = next(iter(analysis.records().values()))["plan"]
    planned = ModuleType("planned")
    code = git("show", f"{commit}:course_kit/research/faithful/analysis.py")
    for module in ("cell", "design"):  # both are in one now
        code = code.replace(f"research.faithful.{module} ", "research.factorial_study.design ")
    exec(code, vars(planned))
    found, today = planned.tests(), analysis.results().set_index("test")
    assert len(found) == 11
    for one in found:
        row = today.loc[one.name.replace("seeds' agreement", "agreement of seeds")]
        gain = one.name == "ρ with gain"  # equal gains were not always ties
        assert one.value == pytest.approx(row["value"], abs=0.01 if gain else 1e-9)
        if "ρ" not in one.name:
            assert [one.low, one.high] == pytest.approx([row["low"], row["high"]])
        if one.sign and not gain:
            assert one.p == pytest.approx(row["planned p"], rel=1e-3, abs=5e-3)


def test_a_seed_that_one_encoder_lacks_drops_no_corpus():
    random, attentions = np.random.default_rng(0), ("additive", "dot", "uniform")
    rows = [
        (*setting, 0.5 + 0.2 * random.standard_normal())
        for setting in product(analysis.MAIN, ("projected", "bilstm"), attentions, (0, 1), range(9))
        if setting[0] != "imdb" or setting[1] == "projected" or setting[3] == 0
    ]
    columns = ["corpus", *analysis.NETWORK, "text", "comprehensiveness"]
    table = pd.DataFrame(rows, columns=columns)
    rows = len(analysis.matrix(table[table["corpus"] == "imdb"], "comprehensiveness"))
    assert rows == 9  # six networks of projected words, three of the other encoder
    table = table.assign(**{"comprehensiveness at random": 0.2})
    found = analysis.rankings("", analysis.LINE, table, "comprehensiveness")
    gaps = (table["comprehensiveness"] - 0.2).groupby(table["corpus"]).mean()
    assert found.value == pytest.approx(gaps.mean())


@pytest.mark.full
def test_the_paper_is_what_its_template_makes_of_the_tables(tmp_path):
    made = paper.write(tmp_path / "paper.md").read_text(encoding="utf-8")
    assert made == paper.PAPER.read_text(encoding="utf-8")


def test_power_grows_with_the_effect_and_false_alarms_are_few():
    few = {"studies": 60, "texts": (20, 20)}
    assert analysis.power(0.0, 1, **few) < 0.15 < analysis.power(0.15, 1, **few)
