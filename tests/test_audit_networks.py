"""Audits of real networks: of one's own, of transformers, and of runs, in Python and by command."""

import inspect
import json
import re

import numpy as np
import pytest
import torch
import transformers
from audited import Known, texts
from custom_files import ROWS, TINY, UNICODE, delimited, write
from test_minilm import network, spec  # noqa: F401

from course_kit.audit import AuditError, HubModel, ModuleModel, auditing
from course_kit.audit.by_name import any_model
from course_kit.audit.run_models import model_of
from course_lib import cli
from course_lib.data import custom_texts
from course_lib.data.vocabulary import Vocabulary
from course_lib.models.bilstm import BiLSTM, BiLSTMConfig
from course_lib.runs.run import train
from course_lib.runs.spec import RunSpec

pytestmark = pytest.mark.full  # whole audits

TEXTS = [text for text, _ in ROWS]
WORDS = sorted({word for text in TEXTS for word in re.findall(r"\w+|\W", text.lower())})
VOCABULARY = Vocabulary(tuple(WORDS), folded=True)


def ask(module, tokens, mask, attention=None):
    output = module(tokens, mask, attention)
    return output.logits, output.attention


@pytest.fixture
def own():
    torch.manual_seed(3)
    return BiLSTM(BiLSTMConfig(embedding=6, hidden=8), len(VOCABULARY), 2)


def test_the_example_of_the_documentation_runs(own, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    block = re.search(r"::\n\n((?: {4}.*\n|\n)+)", inspect.getdoc(auditing))[1]
    code = [line for line in inspect.cleandoc(block).split("\n") if line.strip()]
    assert len(code) <= 10
    names = {"network": own, "vocabulary": VOCABULARY, "texts": TEXTS[:8], "labels": [0, 1] * 4}
    exec("\n".join(code), names)
    report = json.loads((tmp_path / "audit.json").read_text("utf-8"))
    asked = {answer["question"] for answer in report["answers"]}
    assert asked >= {"removal", "order", "weights", "adversary", "labels"}
    assert (tmp_path / "audit.html").stat().st_size < 500_000


def test_a_module_gives_its_own_probabilities_attention_and_gradients(own):
    model = ModuleModel(own, VOCABULARY.encode, ask)
    documents = [["Film", "was", "tender"], ["dull", "grey", ",", "too", "."]]
    for document, shares, weights in zip(
        documents, model.probabilities(documents), model.attention(documents)["attention"]
    ):
        tokens = torch.from_numpy(VOCABULARY.encode(document))[None]
        output = own(tokens, torch.ones_like(tokens, dtype=torch.bool))
        assert shares == pytest.approx(output.logits.softmax(1)[0].tolist(), abs=1e-5)
        assert weights == pytest.approx(output.attention[0].tolist(), abs=1e-5)
    (products, _), _ = model.gradients(documents, np.array([1, 0]))
    x = own.embedding(torch.from_numpy(VOCABULARY.encode(documents[0]))[None])
    x = x.detach().requires_grad_()
    handle = own.embedding.register_forward_hook(lambda *_: x)
    logits = own(torch.ones(1, 3, dtype=torch.int64), torch.ones(1, 3, dtype=torch.bool)).logits
    handle.remove()
    (slope,) = torch.autograd.grad(logits[0, 1] - logits[0, 0], x)
    assert products[:, 0] == pytest.approx((slope * x)[0].sum(1).tolist(), abs=1e-5)
    weights, real, answer = model.attended(documents[0])
    whole, other = answer(np.stack([weights, np.eye(3)[0]]))
    assert whole == pytest.approx(model.probabilities(documents[:1])[0], abs=1e-5)
    assert real.all() and np.abs(other - whole).max() > 1e-4
    with pytest.raises(ValueError, match="detached"):
        model.gradients(documents, np.array([0, 0]), detached=True)
    with pytest.raises(ValueError, match="its words have no vectors"):
        ModuleModel(torch.nn.Linear(2, 2), VOCABULARY.encode, ask)


SIZES = {
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 8,
    "max_position_embeddings": 64,
}


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """The folder of a tiny classifier of transformers, whose pieces are letters of short words."""
    folder = tmp_path_factory.mktemp("classifier")
    letters = sorted({letter for word in WORDS for letter in word if letter.strip()})
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "film", "was", *letters]
    pieces += [f"##{letter}" for letter in letters]
    (folder / "vocab.txt").write_text("\n".join(pieces), encoding="utf-8")
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=64)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    names = {"id2label": {0: "bad", 1: "good"}, "label2id": {"bad": 0, "good": 1}}
    config = transformers.BertConfig(**SIZES, vocab_size=len(pieces), **names)
    made = transformers.BertForSequenceClassification(config)
    for weight in made.parameters():
        weight.data += 0.3 * torch.randn_like(weight)
    made.save_pretrained(folder)
    return folder


def test_a_classifier_of_transformers_is_asked_about_words(hub):
    model = HubModel(str(hub), heads=[(1, 0)])
    assert model.classes == ("bad", "good") and model.unknown == "[MASK]"
    document = model.document(TEXTS[0])
    assert document[:3] == ["Film", "0", "was"] and document[-1] == "."
    views = model.attention([document, document[:3]])
    assert list(views) == ["received", "first piece", "rollout", "layer 1, head 0"]
    assert all(len(view[0]) == len(document) and len(view[1]) == 3 for view in views.values())
    encoded = model.tokenizer(" ".join(document), return_tensors="pt")
    output = model.network(**encoded, output_attentions=True)
    shares = output.logits.softmax(1)[0].tolist()
    model.network.train()  # it is asked without dropout all the same
    assert model.probabilities([document])[0] == pytest.approx(shares, abs=1e-5)
    alone = model.probabilities([document[:3], document])[1]
    assert alone == pytest.approx(shares, abs=1e-5)
    received = torch.stack(output.attentions).detach()[:, 0].mean((0, 1, 2))
    owner = encoded.word_ids()
    dull = document.index("dull")
    mine = sum(float(received[n]) for n, word in enumerate(owner) if word == dull)
    assert owner.count(dull) > 1 and views["received"][0][dull] == pytest.approx(mine, abs=1e-5)
    assert 0 < views["rollout"][0].sum() < 1 and views["first piece"][0].sum() < 1
    long = model.document("dull " * 60)
    assert len(long) == (64 - 2) // 4


def test_a_document_fits_where_positions_begin_behind_the_paddings(hub, tmp_path):
    tokenizer = transformers.BertTokenizerFast.from_pretrained(hub, model_max_length=10**30)
    tokenizer.save_pretrained(tmp_path)
    config = transformers.RobertaConfig(**SIZES, vocab_size=99, pad_token_id=0)
    transformers.RobertaForSequenceClassification(config).save_pretrained(tmp_path)
    model = HubModel(str(tmp_path))
    document = model.document("film " * 99)
    assert len(document) == 64 - 1 - 2 and model.probabilities([document]).shape == (1, 2)


GPT2 = {"n_embd": 8, "n_layer": 2, "n_head": 2, "n_positions": 64}
BART = {
    f"{side}_{name}": number
    for side in ("encoder", "decoder")
    for name, number in {"layers": 2, "attention_heads": 2, "ffn_dim": 8}.items()
}
UNFIT = {
    "multi-label": (
        "Bert",
        SIZES | {"problem_type": "multi_label_classification", "num_labels": 3},
        "its classes do not exclude each other .multi-label.",
    ),
    "regression": ("Bert", SIZES | {"num_labels": 1}, "a number and not one class of several"),
    "encoder-decoder": ("Bart", BART | {"d_model": 8}, "an encoder with a decoder"),
    "permutation": ("XLNet", {"d_model": 8, "n_layer": 2, "n_head": 2, "d_inner": 8}, "permutati"),
    "blocks": ("BigBird", SIZES | {"block_size": 2}, "its attention is sparse, over blocks"),
    "window": ("Longformer", SIZES | {"attention_window": 4}, r"for each head; that of 2 .*, 6\)"),
    "no attention": (
        "FNet",
        {key: SIZES[key] for key in SIZES if key != "num_attention_heads"},
        "for each head; .* has the shapes None",
    ),
}


def saved(hub, folder, kind, sizes):
    """A classifier of transformers, untrained, with the pieces of ``hub``, in a folder."""
    tokenizer = transformers.BertTokenizerFast.from_pretrained(hub)
    tokenizer.save_pretrained(folder)
    ids = {f"{name}_token_id": number for number, name in enumerate(("pad", "bos", "eos"))}
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(vocab_size=99, **ids | sizes)
    made = getattr(transformers, f"{kind}ForSequenceClassification")(config)
    made.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("kind, sizes, says", UNFIT.values(), ids=UNFIT)
def test_a_classifier_that_an_audit_does_not_fit_is_refused_in_our_words(
    hub, tmp_path, kind, sizes, says
):
    folder = saved(hub, tmp_path, kind, sizes)
    with pytest.raises(AuditError, match=f"^{folder} cannot be audited: .*{says}"):
        any_model(str(folder))


@pytest.mark.parametrize("pad", [0, None])
def test_of_a_causal_classifier_the_last_piece_is_looked_at_which_it_reads(hub, tmp_path, pad):
    model = any_model(str(saved(hub, tmp_path, "GPT2", GPT2 | {"pad_token_id": pad})))
    document, short = model.document(TEXTS[0]), ["film", "was"]
    views = model.attention([document, short])
    assert list(views) == ["received", "last piece", "rollout"]
    encoded = model.tokenizer(" ".join(document), return_tensors="pt")
    with torch.no_grad():
        output = model.network(**encoded, output_attentions=True)
    last = output.attentions[-1][0].mean(0)[-1]
    mine = [float(last[encoded.word_ids().index(word)]) for word in (0, 2)]  # of a piece each
    assert [views["last piece"][0][word] for word in (0, 2)] == pytest.approx(mine, abs=1e-5)
    for weights in (*views["last piece"], *views["rollout"]):
        assert (weights > 0).all() and 0 < weights.sum() < 1
    assert model.probabilities([short, document])[1] == pytest.approx(
        output.logits.softmax(1)[0].tolist(), abs=1e-5
    )


def test_a_slow_tokenizer_is_refused_and_its_error_told(tmp_path):
    config = transformers.CanineConfig(**SIZES)
    config.save_pretrained(tmp_path)
    transformers.CanineTokenizer().save_pretrained(tmp_path)
    with pytest.raises(AuditError, match="its tokenizer, CanineTokenizer, is a slow"):
        any_model(str(tmp_path))


def test_the_command_audits_a_folder_of_transformers(hub, tmp_path, capsys, no_network):
    file = write(tmp_path / "films.csv")
    words = ["audit", str(hub), "--texts", str(file), "--view", "rollout", "--to"]
    assert cli.main([*words, str(tmp_path / "a.json")]) == 0
    said = capsys.readouterr().out
    assert (
        f"{tmp_path / 'a.json'}: {len(ROWS)} texts\n" in said
        and "Removing words in its order" in said
    )
    assert "weights" in json.loads((tmp_path / "a.json").read_text("utf-8"))["missing"]


@pytest.fixture
def run(own_cache, tmp_path):
    name = custom_texts(write(tmp_path / "films.csv"), UNICODE)
    return train(RunSpec("han", name, "small", TINY, device="cpu", threads=1), tmp_path / "run")


def test_the_command_audits_a_run_on_its_test_half_or_a_file(run, tmp_path, capsys):
    file = tmp_path / "new.csv"
    rows = [*ROWS[:10], ("", "bad"), ("one", "good")]
    file.write_text(delimited(rows), encoding="utf-8")
    page = tmp_path / "page.html"
    words = ["audit", str(tmp_path / "run"), "--to", str(page)]
    assert cli.main(words) == 0
    assert json.loads(page.with_suffix(".json").read_text("utf-8"))["counts"]["measured"] == 6
    words += ["--texts", str(file), "--label", "label"]
    before = page.read_bytes()
    assert cli.main(words) == 2
    assert "exists already" in capsys.readouterr().err and page.read_bytes() == before
    assert cli.main([*words, "--force"]) == 0
    report = json.loads(page.with_suffix(".json").read_text("utf-8"))
    assert report["counts"]["measured"] == 10 and "labels" not in report["missing"]
    assert "training" not in report["missing"] and "seed" in report["missing"]
    model = model_of(run)
    document = model.document(TEXTS[0])
    assert np.array_equal(model.probabilities([document])[0], model([document])[0])


def test_a_run_of_another_seed_in_the_same_folder_is_the_twin(run, tmp_path):
    assert any_model(str(tmp_path / "run")).twin(1) is None
    spec_of_run = {**run.record["spec"], "seed": 1}
    train(RunSpec(**spec_of_run), tmp_path / "other")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "record.json").write_text("{}")
    twin = any_model(str(tmp_path / "run")).twin(1)
    assert twin.run.record["spec"] == spec_of_run


@pytest.mark.parametrize("name", ["reviews.json", "reviews.html"])
def test_a_file_that_is_no_report_is_never_replaced(tmp_path, capsys, name):
    file = tmp_path / "texts.csv"
    file.write_text(delimited(ROWS), encoding="utf-8")
    (tmp_path / name).write_text("mine")
    words = ["audit", "han-imdb-compact-s0", "--texts", str(file)]
    words += ["--to", str(tmp_path / "reviews.html")]
    assert cli.main([*words, "--force"]) == 2
    assert f"{name} exists already" in capsys.readouterr().err
    assert (tmp_path / name).read_text() == "mine"


def test_words_of_a_network_of_pieces_are_the_sums_of_their_pieces(network, tmp_path):  # noqa: F811
    run = train(spec(**{"training.epochs": 1}), tmp_path / "run")
    model, pieces = model_of(run), run.system.pieces.split(["unplanned wonderful films, too"])[0]
    document = model.document("unplanned wonderful films, too")
    assert len(document) < len(pieces) and "".join(document) == "".join(pieces).replace("##", "")
    assert np.allclose(model.probabilities([document]), model([pieces]))
    (words,) = model.attention([document])["attention"]
    (weights,) = super(type(model), model).attention([pieces])["attention"]
    assert len(words) == len(document) and words.sum() == pytest.approx(weights.sum())
    (products, _), *_ = model.gradients([document], np.array([0]))
    (x, slope), *_ = super(type(model), model).gradients([pieces], np.array([0]))
    assert products.sum() == pytest.approx((x * slope).sum(), abs=1e-6)
    assert model.attended(document).attention.shape[-1] == len(pieces) + 2
    assert model.probabilities([["[UNK]", "films"]]).shape == (1, 2)


def test_what_cannot_be_audited_is_one_line_and_leaves_nothing(tmp_path, capsys, own_cache):
    file, made = write(tmp_path / "films.csv"), tmp_path / "made.py"
    made.write_text(
        "def fails():\n    raise OSError('no\\nnetwork')\n\ndef none():\n    pass\n\nends = exit\n"
    )
    tfidf = RunSpec("tfidf", custom_texts(file, UNICODE), "words", {}, device="cpu", threads=1)
    train(tfidf, tmp_path / "words")
    to = tmp_path / "out" / "audit.html"
    for arguments, says in (
        ([f"{made}:fails", "--texts", file], "made.py:fails raised OSError: no network"),
        ([f"{made}:ends", "--texts", file], "made.py:ends raised SystemExit"),
        ([f"{made}:none", "--texts", file], "NoneType is no model: it has no probabilities()"),
        ([f"{made}:other", "--texts", file], "no function other"),
        (["no.py:other", "--texts", file], "no.py: there is no such file"),
        ([f"{made}:none", "--texts", "no.csv"], "no.csv: No such file"),
        ([f"{made}:none", "--texts", file, "--text", "body"], "no column 'body'; there are: "),
        (
            [str(tmp_path / "nothing"), "--texts", file],
            "no finished run, and no classifier of transformers",
        ),
        ([str(tmp_path / "words"), "--texts", file], "has no attention to audit"),
        ([tmp_path, "--texts", file], f"{tmp_path}: no finished run; attention-course run prints"),
    ):
        assert cli.main(["audit", *map(str, arguments), "--to", str(to)]) == 2
        (line,) = capsys.readouterr().err.splitlines()[-1:]
        assert line.startswith("error: ") and says in line
    assert cli.main(["audit", "x", "--texts", str(file), "--to", str(tmp_path / "a.pdf")]) == 2
    assert not to.parent.exists()


FACTORY = """
from audited import Known as make

class Stopped(make):
    def gradients(self, documents, *rest, asked=[], **options):
        asked.append(documents)  # once for each group of texts
        if len(asked) == {after}:
            raise KeyboardInterrupt
        return super().gradients(documents, *rest, **options)
"""


@pytest.mark.parametrize("after, status", [(1, 130), (3, 0)])
def test_an_interrupted_command_keeps_what_is_done_and_says_so(after, status, tmp_path, capsys):
    (tmp_path / "mine.py").write_text(FACTORY.format(after=after))
    file, to = tmp_path / "texts.csv", tmp_path / "audit.json"
    file.write_text(delimited([(" ".join(words), "") for words in texts(1)]), encoding="utf-8")
    model = f"{tmp_path / 'mine.py'}:Stopped"
    assert cli.main(["audit", model, "--texts", str(file), "--to", str(to)]) == status
    assert to.exists() is (status == 0)
    if status == 0:
        assert "Stopped after 20 of 40 texts" in capsys.readouterr().out
    assert isinstance(any_model(f"{tmp_path / 'mine.py'}:make"), Known)
    with pytest.raises(AuditError, match="only a run has texts"):
        cli.main(["audit", f"{tmp_path / 'mine.py'}:make", "--debug"])
