"""What the reading room packs, and how its worker answers a page, in node instead of a browser."""

import gzip
import json
import struct
import subprocess
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from javascript import TESTS
from networks import bert_ids, save_pieces
from test_room_networks import near, spread_out

from course_kit.reading_room.pack import bundle, front_coded
from course_kit.reading_room.packed import as_text
from course_kit.reading_room.page.readings import reading as page_reading
from course_kit.reading_room.script import engine as script
from course_kit.research.word_vectors.compact_vectors import COMPACT
from course_lib.data.text import TokenisedText
from course_lib.data.vectors import all_but_the_top, common_part
from course_lib.data.vocabulary import Vocabulary
from course_lib.faithfulness import leave_one_out
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.files import DataError
from course_lib.runs.run import Run
from course_lib.runs.systems import known_systems

pytestmark = pytest.mark.full  # the reading room reads hundreds of texts

WORDS = ("the", "film", "was", "not", "good", "bad", "I", "liked", ".", "it", "😀", "שלום")
FAMILIES = ("han", "sanet", "iram", "agt", "transformer")
TEXT = "The film was not good. I liked it, mostly. Zzz 😀 שלום!"
SMALL = {
    **{"han": {"hops": 2}, "sanet": {"blocks": 2}, "iram": {"context_layers": 2}, "agt": {}},
    "transformer": {"heads": 2},
}


def run_of(name, vocabulary=None, vectors=None, system=None, model=None, **text):
    """A network with random weights as a finished run of the toy corpus."""
    kind = known_systems()[name]
    settings = kind.presets["small"]
    settings = replace(
        settings,
        model=replace(settings.model, **(SMALL[name] if model is None else model)),
        text=replace(settings.text, **text),
    )
    made = kind(settings, ("negative", "positive"), tokeniser="untrained")
    made.vocabulary = vocabulary or Vocabulary(WORDS, folded=True)
    if vectors is None:
        vectors = torch.randn(len(made.vocabulary), 6, generator=torch.Generator().manual_seed(1))
    made.model = made.network(vectors)
    spread_out(made.model)
    made.model.embedding.weight.data.copy_(vectors)
    record = {
        "id": name,
        "spec": {"system": system or name, "dataset": "toy"},
        "data": {"source": "generated", "subset": False},
        "test": {"accuracy": 0.75},
    }
    return Run(record, made)


@pytest.fixture(scope="module")
def runs():
    cuts = {"sanet": {"max_tokens": 400}}
    return [run_of(name, **cuts.get(name, {})) for name in FAMILIES]


@pytest.fixture(scope="module")
def minilm(tmp_path_factory):
    """A pre-trained network with adapters, of random weights, as a finished run."""
    kind, folder = known_systems()["minilm"], tmp_path_factory.mktemp("minilm")
    ids = bert_ids(["the", "film", "was", "good", "un", "##watch", "##able", *"'t,?", "it"])
    save_pieces(folder / "tokenizer.json", ids)
    sizes = {"layers": 2, "heads": 2, "width": 8, "feed_forward": 9, "positions": 42}
    settings = kind.presets["adapters"]
    model, text = replace(settings.model, **sizes), replace(settings.text, max_tokens=40)
    system = kind(replace(settings, model=model, text=text), ("negative", "positive"))
    system.folder = folder
    system.vocabulary = system.pieces.vocabulary
    system.model = spread_out(system.network(torch.randn(len(ids), 8)))
    record = {
        "id": "minilm",
        "spec": {"system": "minilm", "dataset": "toy"},
        "data": {"source": "generated", "subset": False},
    }
    return Run(record, system)


@pytest.fixture
def talk(node_program, tmp_path):
    """``talk(bundle, messages)``: what the engine, one script in a worker, posts."""

    def answered(packed, *messages):
        files = {"engine.js": script(), "bundle": as_text(packed)}
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        lines = "".join(json.dumps(message) + "\n" for message in messages)
        done = subprocess.run(
            [node_program, TESTS / "conversation.mjs", *(tmp_path / name for name in files)],
            input=lines,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return answered


LOAD = {"type": "load"}


def read(text, id=1, **options):
    return {"type": "read", "id": id, "text": text, **options}


def by_model(posted, id=1):
    return {one["model"]: one for one in posted if one["type"] == "reading" and one["id"] == id}


def unpacked(packed):
    """The header of a bundle."""
    whole = gzip.decompress(packed)
    (length,) = struct.unpack_from("<I", whole)
    return json.loads(whole[4 : 4 + length])


def test_every_family_reads_a_typed_text_as_pytorch_does(runs, talk):
    posted = talk(bundle(runs, exact=True), LOAD, read(TEXT))
    ready, *readings = posted
    assert ready["models"] == list(FAMILIES)
    for run, found in zip(runs, readings, strict=True):
        expected = run.system.read(TEXT)
        assert [word for sentence in found["tokens"] for word in sentence] == list(expected.tokens)
        assert list(map(len, found["tokens"])) == list(expected.sentence_lengths)
        known = [word.lower() in WORDS or word in WORDS for word in expected.tokens]
        assert [flag for sentence in found["known"] for flag in sentence] == known
        near(found["probabilities"], expected.probabilities)
        shown = [name for name in found["attention"] if "head" not in name]
        assert shown == list(expected.attention)
        for name, attention in expected.attention.items():
            ours = found["attention"][name]
            near(ours["weights"], attention.weights)
            assert (ours["rows"], ours["of"]) == (list(attention.rows), attention.over)
            assert ours["extra"] == list(attention.extra)
        assert sum(found["word"]) == pytest.approx(1)


def test_a_pre_trained_network_reads_pieces_and_shows_words(minilm, talk):
    texts = "The film was unwatchable, wasn't it?", "😀 [SEP] good", "the film " * 30, ""
    posted = talk(bundle([minilm], exact=True), LOAD, *(read(text, id=text) for text in texts))
    for text in texts[:3]:
        expected, found = minilm.system.read(text), by_model(posted, id=text)["minilm"]
        (words,), kept = found["tokens"], len(expected.tokens)
        assert words == [*expected.tokens, *expected.rest]
        assert found["read"] == [[True] * kept + [False] * len(expected.rest)]
        assert found["known"] == [[word != "[UNK]" for word in words]]
        near(found["probabilities"], expected.probabilities)
        at = [*range(kept), *range(len(words), len(words) + 2)]
        for name, attention in expected.attention.items():
            ours = found["attention"][name]
            near(np.array(ours["weights"])[:, at], attention.weights)
            assert (ours["rows"], ours["extra"]) == (list(attention.rows), ["[CLS]", "[SEP]"])
        heads = [found["attention"][f"layer 2 · head {h}"]["weights"] for h in (1, 2)]
        near(np.mean(heads, 0)[:, at], expected.attention["layer 2"].weights)
    near(by_model(posted, id=texts[0])["minilm"]["word"], page_reading(minilm, texts[0])["word"])
    assert by_model(posted, id="")["minilm"]["attention"]["rollout"]["weights"] == []


def test_a_word_is_traced_piece_by_piece_and_its_tint_is_that_of_all_its_pieces(minilm, talk):
    text = "The film was unwatchable"
    message = read(text) | {"type": "trace", "word": 3}
    found, *traces = talk(
        bundle([minilm], exact=True),
        *(LOAD, read(text)),
        *(message | {"choice": {"piece": piece, "layer": 1, "head": 1}} for piece in (0, 1)),
    )[1:]
    (alpha,) = minilm.system.heads(minilm.system.cut(text)[0])[1:]
    for piece, one in enumerate(traces):
        chosen = {each["name"]: each for each in one["trace"]["choices"]}
        assert chosen["piece"]["options"] == ["un", "##watch", "##able"]
        assert chosen["from"]["options"][-1].endswith("[SEP]")
        near(one["trace"]["row"]["weights"], alpha[1, chosen["from"]["value"]])
        assert one["trace"]["row"]["chosen"] == 3 + piece
        tint = one["trace"]["steps"][-1]["symbols"][-1]["value"]
        assert tint == pytest.approx(found["word"][3])


@pytest.mark.parametrize("removal", ["delete", "mask"])
def test_a_word_is_left_out_with_all_its_pieces(minilm, talk, removal):
    text = "The unwatchable film"
    message = read(text) | {"type": "leave_one_out", "removal": removal}
    *partial, _ = talk(bundle([minilm], exact=True), LOAD, message)[1:]
    assert [one["index"] for one in partial] == [0, 1, 2]
    if removal == "delete":
        kept = page_reading(minilm, text)
        near([one["drop"] for one in partial], kept["drops"])
        assert kept["tokens"] == [["the", "unwatchable", "film"]]
        whole, without = (minilm.system.read(each).probabilities for each in (text, "The film"))
        near(kept["drops"][1], (whole - without)[whole.argmax()])


def test_words_and_pieces_do_not_share_a_page(runs, minilm):
    with pytest.raises(DataError, match="need a page of their own: attention-course room --pretr"):
        bundle([*runs, minilm])


def test_adapters_and_bytes_are_packed(minilm, talk):
    header = unpacked(bundle([minilm]))
    weights = header["models"][0]["weights"]
    assert not any(name.endswith((".a", ".b")) for name in weights)
    assert header["tables"][0]["vectors"]["kind"] == "int8"
    (found,) = by_model(talk(bundle([minilm]), LOAD, read("the film"))).values()
    near(found["probabilities"], minilm.system.read("the film").probabilities, 0.02)


def test_the_shipped_form_is_near_and_the_same_bytes_again(runs, talk):
    assert bundle(runs) == bundle(runs)
    exact, shipped = (
        by_model(talk(bundle(runs, exact=exact), LOAD, read(TEXT))) for exact in (True, False)
    )
    for name, one in exact.items():
        difference = np.abs(np.subtract(one["probabilities"], shipped[name]["probabilities"]))
        assert 0 < difference.max() < 0.02, name


def test_large_matrices_take_twelve_bits_a_number_and_small_ones_two(engine):
    header = unpacked(bundle([run_of("agt", model={"hidden": 200, "layers": 2})]))
    kinds = {name: one["kind"] for name, one in header["models"][0]["weights"].items()}
    assert kinds["attention.weight"] == "twelve" and kinds["classifier.4.weight"] == "float16"
    for bits in (0x3C00, 0xC000, 0x3555, 0x0001, 0x7BFF, 0):
        assert engine("weights", "fromHalf", bits) == np.uint16(bits).view(np.float16)


EDGES = {
    "empty": "",
    "blank": " \n\t ",
    "one token": "film",
    "all unknown": "zzz yyy xxx",
    "long": "the film was good . " * 400,
    "right to left": "שלום עולם. مرحبا بالعالم!",
    "emoji": "😀👩‍👩‍👧🏽 😀!",
    "markup": "<script>alert('x')</script> & \"</textarea>\"",
    "lone surrogate": "a \ud800 b",
}


def test_any_text_is_answered(runs, talk):
    messages = [read(text, id=name) for name, text in EDGES.items()]
    posted = talk(bundle(runs), LOAD, *messages)
    assert [one for one in posted if one["type"] == "error"] == []
    for name in EDGES:
        found = by_model(posted, id=name)
        assert len(found) == len(FAMILIES)
        for reading in found.values():
            assert sum(reading["probabilities"]) == pytest.approx(1)
            rows = [row for one in reading["attention"].values() for row in one["weights"]]
            for row in [*rows, reading["word"]]:
                assert None not in row, "no number is missing"
                assert sum(row) == pytest.approx(round(sum(row)))  # HAN: 1 in every sentence
            assert (sum(reading["word"]) == 0) == (reading["tokens"] == [])


def test_what_a_network_does_not_read_is_told_and_does_not_come_in_for_erased_words(talk):
    runs = [run_of("han", max_sentences=2, max_words=3), run_of("sanet", max_tokens=4)]
    text = "The film was bad. It was. I liked it."
    posted = talk(bundle(runs, exact=True), LOAD, read(text), read(text, id=2, erased=[0]))
    found = by_model(posted)
    assert found["han"]["read"] == [[True] * 3 + [False] * 2, [True] * 3, [False] * 4]
    assert found["sanet"]["read"] == [[True] * 4 + [False], [False] * 3, [False] * 4]
    for run in runs:
        name = run.record["id"]
        near(found[name]["probabilities"], run.system.read(text).probabilities)
        assert len(found[name]["word"]) == 12
    left = runs[1].system.read(TokenisedText(["film", "was", "bad"], [3]))
    near(by_model(posted, id=2)["sanet"]["probabilities"], left.probabilities)


@pytest.mark.parametrize("removal", ["delete", "mask"])
def test_erased_words(runs, talk, removal):
    tokens = ["the", "film", "was", "not", "good"]
    deleted = removal == "delete"
    left = [*tokens[:3], "good"] if deleted else [*tokens[:3], "zzz", "good"]
    message = read(" ".join(tokens), erased=[3], removal=removal)
    found = by_model(talk(bundle(runs, exact=True), LOAD, message))
    for run in runs:
        reading = found[run.record["id"]]
        expected = run.system.read(TokenisedText(left, [len(left)]))
        near(reading["probabilities"], expected.probabilities)
        assert reading["tokens"] == [tokens]
        assert (reading["word"][3] == 0) == deleted
        if run.record["id"] == "iram" and deleted:  # its summaries keep their columns behind all
            steps = np.array(reading["attention"]["steps"]["weights"])
            near(np.delete(steps, 3, axis=1), expected.attention["steps"].weights)
    block = found["sanet"]["attention"]["block 1"]
    assert block["rows"] == (left if deleted else tokens)
    assert block["at"] == ([0, 1, 2, 4] if deleted else [0, 1, 2, 3, 4])


def test_uniform_attention(runs, talk):
    posted = talk(bundle(runs), LOAD, read("the film was good", uniform=True))
    views = {name: one["attention"] for name, one in by_model(posted).items()}
    assert views["han"]["words"]["weights"] == [[0.25] * 4]
    assert views["agt"]["layers"]["weights"] == [[0.25] * 4] * 4
    assert views["sanet"]["block 2"]["weights"] == [[0.25] * 4] * 4
    near(views["iram"]["steps"]["weights"][2], [1 / 6] * 6)


@pytest.mark.parametrize("removal", ["delete", "mask"])
def test_leave_one_out_is_the_librarys_and_passes_over_what_is_erased(runs, talk, removal):
    message = read("The film was not good.") | {"type": "leave_one_out", "removal": removal}
    more = message | {"id": 2, "erased": [1]}, read(message["text"], id=3)
    posted = talk(bundle(runs, exact=True), LOAD, message, *more)
    for run in runs:
        own = [one for one in posted if one.get("model") == run.record["id"]]
        partial, done = [one for one in own if one["id"] == 1][:-1], own[6]
        model = DocumentModel(run.system)
        words = ["The", "film", "was", "not", "good", "."]
        document = [words] if run.system.reads_sentences else words
        (expected,) = leave_one_out(model, [document], "zzz" if removal == "mask" else None)
        assert [one["index"] for one in partial] == list(range(6))
        near([one["drop"] for one in partial], expected)
        near(own[-1]["word"], model.attention([document])["attention"][0])
        assert done["type"] == "done"
        second = [one["index"] for one in own if (one["type"], one["id"]) == ("partial", 2)]
        assert second == [0, 2, 3, 4, 5]


def test_a_newer_message_ends_the_work_on_an_older_one(runs, talk):
    long = {"type": "leave_one_out", "id": 1, "text": "the film was good " * 60}
    posted = talk(bundle(runs), LOAD, [long, read("the film", id=2)])
    assert len(by_model(posted, id=2)) == len(FAMILIES)
    assert not any(one["type"] == "done" for one in posted)
    assert sum(one["type"] == "partial" for one in posted) < 200
    same = talk(bundle(runs), LOAD, [long | {"text": "the film"}, read("the film", id=1)])
    assert sum(one["type"] == "done" for one in same) == len(FAMILIES)


@pytest.mark.parametrize(
    "messages, told",
    [
        ([LOAD, read("a", models=["nobody"])], "no model nobody"),
        ([LOAD, read("a", removal="burn")], 'removal takes "delete" or "mask", got "burn"'),
        ([LOAD, {"type": "toString", "id": 1}], 'no message "toString"'),
        ([LOAD, LOAD | {"bundle": "bm8="}], ""),
        ([LOAD, LOAD | {"bundle": "%"}], ""),
        ([read("a")], "no bundle is loaded"),
    ],
    ids=["model", "removal", "message", "no bundle", "no base64", "before"],
)
def test_a_mistake_is_one_message(runs, talk, messages, told):
    *_, last = talk(bundle(runs[:1]), *messages)
    assert last["type"] == "error" and told in last["message"] and last["message"]
    assert last["id"] == messages[-1].get("id")


def test_the_committed_vectors_are_there_once_and_only_models_asked_for_answer(talk):
    with np.load(COMPACT) as file:
        words = tuple(file["words"].tolist())
        vectors = (file["vectors"] * file["scale"][:, None]).astype(np.float32)
    forms = vectors, all_but_the_top(vectors, common_part(vectors))
    vocabulary = Vocabulary(words, folded=True)
    runs = [
        run_of(name, vocabulary, torch.nn.functional.pad(torch.from_numpy(form), (0, 0, 2, 0)))
        for name, form in zip(("agt", "iram"), forms, strict=True)
    ]
    packed = bundle(runs, exact=True)
    header = unpacked(packed)
    assert len(header["tables"]) == 1
    assert [model["common"] is None for model in header["models"]] == [True, False]
    posted = talk(packed, LOAD, read(TEXT), read(TEXT, id=2, models=["agt"]))
    for run in runs:
        found = by_model(posted)[run.record["id"]]
        near(found["probabilities"], run.system.read(TEXT).probabilities, 1e-4)
    assert list(by_model(posted, id=2)) == ["agt"]


def test_words_of_ones_own_vocabulary_keep_their_case(talk):
    run = run_of("agt", Vocabulary(("The", "the", "Σas"), folded=False))
    found = by_model(talk(bundle([run], exact=True), LOAD, read("The THE the Σas σas")))
    assert found["agt"]["known"] == [[True, False, True, True, False]]


words = st.lists(
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\n"), min_size=1, max_size=6
    ),
    min_size=1,
    unique=True,
)


@given(words)
@example(["a" * 300, "a" * 300 + "b", "a😀", "a😀b", "a😁"])
def test_words_are_front_coded_and_back(engine, words):
    shared, endings = front_coded(sorted(words))
    assert engine("weights", "unfolded", list(shared), endings) == sorted(words)


def test_words_fold_as_the_vocabulary_folds(engine):
    for word in ("İstanbul", "ΑΣ", "ǅ", "STRASSE", "ẞ", "𐐀", "É"):
        folded = engine("weights", "lowered", word)
        assert Vocabulary((folded,), folded=True).encode([word])[0] == 2, word


@pytest.mark.parametrize(
    "name, options, told",
    [
        ("agt", {"system": "tfidf"}, "runs HAN, SANet, IRAM, AGT, .*MiniLM, and this is tfidf"),
        ("sanet", {"model": {"attention": False}}, "this network has none"),
        ("agt", {"model": {"attention": False, "layers": 1}}, "this network has none"),
        ("iram", {"model": {"steps": 0}}, "this network has none"),
        ("iram", {"model": {"ngrams": 40}}, "character n-grams"),
    ],
)
def test_what_the_engine_cannot_compute_is_refused(name, options, told):
    with pytest.raises(DataError, match=rf"^{name}: .*{told}"):
        bundle([run_of(name, **options)])
