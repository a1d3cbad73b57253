"""When is attention faithful: weights, measures, cells and tests of the study."""

import json
from dataclasses import replace
from itertools import product
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
import torch

from course_kit.research.crossover_study.attentions.sparse import entmax15, sparsemax
from course_kit.research.crossover_study.encoders.minilm import MEAN, WordStates
from course_kit.research.factorial_study import analysis, cell, corpora, design, measures, paper
from course_kit.research.factorial_study.network import Pooled, Reader
from course_lib import faithfulness
from course_lib.data.corpus import load_corpus
from course_lib.data.vocabulary import Vocabulary
from course_lib.faithfulness.erasure import orders
from course_lib.files import data_root
from course_lib.runs.folders import RESULTS

pytestmark = pytest.mark.full  # a study

DATA = data_root()  # looked up before a fixture hides it
STUDIES = ("faithfulness", "agreement", "interventions", "levels")
WORDS = ("bad", "dull", "film", "good", MEAN, "the")


def rows_of_scores(scale, texts=40, longest=13):
    torch.manual_seed(0)
    scores = (torch.randn(texts, longest) * scale).double()
    mask = torch.arange(longest) < torch.randint(1, longest + 1, (texts,))[:, None]
    return scores.requires_grad_(), mask


def by_bisection(scores, power):
    """The definition: Σ max(s (α − 1) − τ, 0)^{1 / (α − 1)} = 1, with τ found by halving."""
    s = scores.detach() * (1 / power)
    low, high = s.min() - 2, s.max()
    for _ in range(200):
        tau = (low + high) / 2
        low, high = (tau, high) if (s - tau).clamp(min=0).pow(power).sum() > 1 else (low, tau)
    return (s - tau).clamp(min=0).pow(power)


@pytest.mark.parametrize("weights, power", [(sparsemax, 1), (entmax15, 2)])
@pytest.mark.parametrize("scale", [0.1, 1, 20])
def test_sparse_weights_are_those_of_the_definition(weights, power, scale):
    scores, mask = rows_of_scores(scale)
    found = weights(scores, mask)
    for row, s, real in zip(found, scores, mask):
        assert torch.allclose(row[real], by_bisection(s[real], power), atol=1e-7)
        assert (row[~real] == 0).all()
    loss = (found * torch.randn_like(found)).sum()
    assert torch.autograd.grad(loss, scores)[0].isfinite().all()
    assert weights(scores, torch.zeros_like(mask)).abs().sum() == 0


@pytest.mark.parametrize("weights", [sparsemax, entmax15])
def test_gradients_of_sparse_weights(weights):
    scores, mask = rows_of_scores(1.0, texts=3, longest=5)
    assert torch.autograd.gradcheck(lambda s: weights(s, mask), scores)


def reader_of(attention="additive", encoder="projected", classes=2):
    torch.manual_seed(1)
    table = torch.randn(len(WORDS) + 2, 8)
    table[0] = 0
    return Reader(Pooled(encoder, attention, table, classes), Vocabulary(WORDS), None)


ENCODERS = ("projected", "bilstm", "transformer")
TEXTS = [["the", "film", "good"] * 4, ["bad", "dull", "film", "the", "unheard"] * 2]


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize(
    "attention", ["additive", "dot", "sparsemax", "entmax15", "uniform", "sharp"]
)
def test_neighbours_in_a_batch_change_nothing(encoder, attention):
    reader = reader_of(attention, encoder)
    together, alone = reader.see(TEXTS), [reader.see([text]) for text in TEXTS]
    for n, one in enumerate(alone):
        assert np.allclose(together.probabilities[n], one.probabilities[0], atol=1e-6)
        assert np.allclose(together.attention[n], one.attention[0], atol=1e-6)
        assert together.attention[n].sum() == pytest.approx(1, abs=1e-6)


def test_contextuality_is_zero_word_by_word_only():
    states = [(encoder, reader_of(encoder=encoder)) for encoder in ENCODERS]
    found = {e: measures.contextuality(r, TEXTS, r.see(TEXTS).states).mean() for e, r in states}
    assert found["projected"] == pytest.approx(0, abs=1e-6)
    assert found["bilstm"] > 0.05 and found["transformer"] > 0.05


class MadeUpStates:
    """A frozen network whose states follow from word and text; it counts what it encodes."""

    def __init__(self):
        self.encoded = 0

    def __call__(self, texts, what=""):
        self.encoded += len(texts)
        made = [np.random.default_rng(sum(map(ord, "".join(text)))) for text in texts]
        return [r.normal(size=(len(t), 384)).astype(np.float16) for r, t in zip(made, texts)]


def test_kept_states_are_computed_once(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path))
    states = cell.states.__wrapped__("planted")
    states.network = MadeUpStates()
    texts = corpora.load("planted")["train"]
    assert states.kept("train").shape == (18 * len(texts), 384)
    reduced = states.reduced(np.asarray(states.kept("train")))
    assert reduced.shape[1] == 100 and (reduced.astype(float) ** 2).mean() == pytest.approx(1, 0.1)
    encoded = states.network.encoded
    first, again = states.of(texts.words[:2]), states.of(texts.words[1:3])
    assert states.network.encoded == encoded + 3 and first[1] is again[0]
    assert np.allclose(first[0], reduced[:18], atol=0.01)
    reader = Reader(Pooled("minilm", "dot", torch.zeros(3, 100), 2), None, states)
    assert reader.see(texts.words[:2]).states[1] == pytest.approx(first[1].astype(float))


@pytest.mark.skipif(not (DATA / "prepared" / "minilm").exists(), reason="takes MiniLM's files")
def test_states_of_the_real_network(monkeypatch):
    """Neighbours in a batch change no state; other words in the text do; a rare word has pieces."""
    monkeypatch.setenv("COURSE_DATA_DIR", str(DATA))
    states = WordStates()
    texts = [["a", "tender", "film"], ["unwatchableness"], [], ["a", "tender", "⟨mean⟩", "story"]]
    together = states(texts)
    assert [len(each) for each in together] == [3, 1, 0, 4]
    for text, found in zip(texts, together):
        (alone,) = states([text])
        assert np.allclose(alone, found, atol=0.05)
    assert np.abs(together[0][1] - together[3][1]).max() > 0.2


def test_no_more_words_are_erased_than_have_weight():
    """With a support of two words, half of twelve is still two; the limits know that."""
    asked = []

    def model(documents):
        asked.extend(map(len, documents))
        share = np.array([("good" in d) * 0.4 + 0.3 for d in documents])
        return np.stack([share, 1 - share], 1)

    options = {"shares": (0.1, 0.5), "most": [2]}
    alpha = [np.array([0, 0, 0.9, 0.1] + [0.0] * 8)]
    faithfulness.comprehensiveness(model, TEXTS[:1], alpha, **options)
    assert min(asked) == 10
    faithfulness.limits(model, TEXTS[:1], rankings=[alpha], beam_up_to=0, samples=3, **options)
    assert min(asked) == 10
    faithfulness.comprehensiveness(model, TEXTS[:1], alpha, shares=(0.5,))
    assert min(asked) == 6


def test_concentration_and_truth():
    assert measures.concentration(np.full(5, 0.2)) == pytest.approx(0)
    assert measures.concentration(np.array([0, 1.0, 0])) == pytest.approx(1)
    assert measures.truth(np.array([0.1, 0.7, 0.2]), 1) == 1
    assert measures.truth(np.array([0.7, 0.1, 0.2]), 1) == 0
    assert measures.truth(np.array([0.5, 0.5, 0, 0]), 0) == pytest.approx(5 / 6)
    assert np.isnan(measures.truth(np.ones(3), -1))


def test_a_planted_cell_is_trained_and_measured(monkeypatch, tmp_path):
    """The word that decides is found by attention, and the measures say so."""
    small = replace(cell.TRAINING, epochs=8, learning_rate=0.01)
    monkeypatch.setattr(cell, "TRAINING", small)
    table = torch.randn(200, 32, generator=torch.Generator().manual_seed(0))
    vectors = type("Vectors", (), {"embedding_for": lambda self, v, seed: (table[: len(v)], 1.0)})
    monkeypatch.setattr(cell, "load_vectors", lambda name: vectors())
    monkeypatch.setattr(design, "RUNS", tmp_path)
    monkeypatch.setattr(cell, "plan_commit", lambda: "0" * 12)
    one = design.Cell("planted", "projected", "additive", 0)
    record = cell.run(one)
    written = json.loads(one.run.read_text(encoding="utf-8"))
    assert written["measures"] == record["measures"] and one.run.with_suffix(".parquet").exists()
    means = {name: each["mean"] for name, each in record["measures"].items()}
    assert record["accuracy"] > 0.95 and means["truth"] > 0.95
    assert means["comprehensiveness"] > 0.8 > 0.4 > means["comprehensiveness at random"]
    assert means["support"] == 18 and means["contextuality"] == pytest.approx(0, abs=1e-5)
    assert len(json.dumps(record, indent=1)) < 6000


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
    held_out = json.loads(corpora.HELD_OUT.read_text(encoding="utf-8"))
    for corpus, seed, texts, classes in samples:
        opened = load_corpus(corpus)
        rows = np.arange(len(opened.splits["test"]))
        if classes:
            wanted = [opened.card.classes.index(name) for name in classes]
            rows = rows[np.isin(opened.splits["test"]["label"], wanted)]
        drawn = rows[np.random.default_rng(seed).permutation(len(rows))[:texts]]
        measured = opened.splits["test"].select(sorted(drawn))["tokens"]
        for name, digests in held_out.items():
            most = corpora.MOST[name]
            assert not {corpora.digest_of(words[:most]) for words in measured} & set(digests)


def corpus_of(record):
    return record["id"].split("-")[1]


def test_every_record_names_the_one_commit_of_the_plan():
    commits = cell._git("log", "--format=%H", "--", str(design.PLAN)).split()
    if cell._git("rev-parse", "--is-shallow-repository") == "true":
        pytest.skip("a shallow clone does not know the plan's commit")
    assert len(commits) == 1  # nobody has touched it since
    for name, record in analysis.records().items():
        assert record["plan"] == commits[0][:12], name
        assert "dirty" not in record["environment"]["commit"]
        assert len(json.dumps(record, indent=1, ensure_ascii=False)) < 6000


@pytest.mark.full
def test_the_code_of_the_plans_commit_gives_the_effects_of_today():
    """What the paper says: the analysis was rewritten, and no effect depends on that."""
    if cell._git("rev-parse", "--is-shallow-repository") == "true":
        pytest.skip("a shallow clone does not know the plan's commit")
    commit = next(iter(analysis.records().values()))["plan"]
    planned = ModuleType("planned")
    code = cell._git("show", f"{commit}:course_kit/research/faithful/analysis.py")
    code = code.replace("course_kit.research.faithful.", "course_kit.research.factorial_study.")
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


def test_uniform_attention_is_the_reverse_of_its_random_ranking():
    """A limit that the paper states: ties and the random ranking draw the same numbers."""
    uniform = [np.full(len(text), 1 / len(text)) for text in TEXTS]
    for seed in range(3):
        random = faithfulness.random_importance(TEXTS, seed)
        sides = (orders(TEXTS, ranking, seed) for ranking in (uniform, random))
        for first, second in zip(*sides):
            assert first.tolist() == second.tolist()[::-1]


def test_tables_are_published_once(tmp_path, monkeypatch):
    monkeypatch.setattr(design, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(design, "FOLDER", tmp_path / "results")
    one = design.Cell("planted", "projected", "dot", 0)
    split = corpora.Split([["a", "b"]], np.array([0]), [0])
    found = {"tau": np.array([0.5]), "alpha": np.array([np.array([0.25, 0.75])], dtype=object)}
    one.run.parent.mkdir(parents=True)
    cell.rows_of(one, split, found).to_parquet(one.run.with_suffix(".parquet"))
    one.run.write_text("{}")
    assert cell.publish([one]) == [one.name] and cell.publish([one]) == []
    table = pd.read_parquet(design.rows_path("planted"))
    assert table["cell"].tolist() == [one.name] and table["alpha"][0].tolist() == [0.25, 0.75]
    assert not {"a", "b"} & set(map(str, table.to_numpy().ravel()))


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
