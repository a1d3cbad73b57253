"""MiniLM as a system: its files are a tiny random BERT's, made on the spot."""

import numpy as np
import pytest
import torch
from networks import bert_ids, save_pieces
from safetensors.torch import save_file
from transformers import BertConfig as TheirConfig
from transformers import BertModel

from course_lib.data.corpus import load_corpus
from course_lib.data.pieces import Pieces, whole_words
from course_lib.data.toy import read_toy
from course_lib.explore import explore_erasing, explore_heads, explore_seeds
from course_lib.faithfulness import DocumentModel, leave_one_out
from course_lib.files import prepared_folder
from course_lib.metrics import invariants
from course_lib.models.bert import SPECIAL_IDS, with_special
from course_lib.runs.predict import answers
from course_lib.runs.run import load_run, split_rows, system_of, train
from course_lib.runs.spec import RunSpec

pytestmark = pytest.mark.full  # a network is trained

SIZES = {"layers": 2, "heads": 2, "width": 16, "feed_forward": 24, "positions": 40}
TINY = {f"model.{name}": size for name, size in SIZES.items()} | {"text.max_tokens": 30}
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0]]).bool()
TOKENS = torch.tensor([[110, 111, 112, 113, 114], [115, 116, 110, 0, 0], [0, 0, 0, 0, 0]])


def pieces_of_toy():
    """Whole words but one, which is cut into two, and punctuation."""
    words = {word.lower().strip(".,!") for row in read_toy() for word in row.text.split()}
    return bert_ids((words | {"wonder", "##ful", *".,!'"}) - {"wonderful", ""})


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """A tiny BERT's files as those of MiniLM; returns the BERT, of ``transformers``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_DATA_DIR", str(tmp_path_factory.mktemp("minilm")))
        folder = prepared_folder("minilm")
        folder.mkdir(parents=True)
        ids = pieces_of_toy()
        save_pieces(folder / "tokenizer.json", ids)
        torch.manual_seed(0)
        sizes = {"vocab_size": len(ids), "hidden_size": 16, "intermediate_size": 24}
        sizes |= {"num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 40}
        config = TheirConfig(**sizes, attn_implementation="eager")
        theirs = BertModel(config, add_pooling_layer=False).eval()
        for weight in theirs.parameters():
            weight.data += 0.2 * torch.randn_like(weight)  # theirs start small, without biases
        save_file(theirs.state_dict(), folder / "model.safetensors")
        yield theirs


def spec(preset="whole", **overrides):
    return RunSpec("minilm", "toy", preset, TINY | overrides, device="cpu", threads=1)


@pytest.fixture(scope="module")
def trained(network, tmp_path_factory):
    """Fine-tuned on made-up reviews: its spec, folder and run."""
    rates = {"training.learning_rate": 5e-3, "training.embedding_rate": 1.0}
    rates |= {"training.epochs": 20, "training.patience": 20}
    chosen, folder = spec(**rates), tmp_path_factory.mktemp("run")
    return chosen, folder, train(chosen, folder)


def built(preset="whole", **overrides):
    """The untrained system of ``spec``, ready to read."""
    system = system_of(spec(preset, **overrides), load_corpus("toy"))
    system.build({}, seed=0)
    system.model.eval()
    return system


@torch.inference_mode()
def test_it_is_bert_between_its_special_tokens(network):
    """Of the states and weights, [CLS] and [SEP] are the last two, whatever BERT's order."""
    ours = built().model
    found = ours(TOKENS, MASK, return_attention=True, return_states=True)
    for row, length in enumerate((5, 3)):
        ids = [SPECIAL_IDS[0], *TOKENS[row, :length].tolist(), SPECIAL_IDS[1]]
        theirs = network(torch.tensor([ids]), output_attentions=True)
        order = [*range(1, length + 1), 0, length + 1]  # theirs in our order
        here = [*range(length), 5, 6]
        state = theirs.last_hidden_state[0, order]
        torch.testing.assert_close(found.states[row, -1, here], state, atol=1e-5, rtol=0)
        alpha = torch.cat(theirs.attentions)[:, :, order][..., order]
        ours_alpha = found.attention[row][:, :, here][..., here]
        torch.testing.assert_close(ours_alpha, alpha, atol=1e-5, rtol=0)
        logits = ours.classifier(state.mean(0))
        torch.testing.assert_close(found.logits[row], logits, atol=1e-5, rtol=0)
    real = with_special(MASK)
    assert real.sum(1).tolist() == [7, 5, 0]
    pairs = (real[:, None, :] & real[:, :, None])[:, None, None]
    invariants.check_attention(found.attention, pairs)
    assert torch.equal(found.logits[2], ours.classifier.bias)  # of a text without a word
    assert torch.equal(ours(TOKENS[:, :0], MASK[:, :0]).logits[0], ours.classifier.bias)


def test_it_learns_and_is_loaded_again_as_it_was(trained):
    chosen, folder, run = trained
    assert run.record["test"]["accuracy"] > 0.8
    validation = split_rows(run.corpus)["validation"]
    found = run.system.pieces.split(validation["text"])
    kept = sum(min(30, len(pieces)) for pieces in found) / sum(map(len, found))
    assert run.record["share_of_words_kept"] == pytest.approx(kept) and 0.5 < kept < 1
    (source,) = run.record["vectors"]
    assert source["name"] == "minilm" and source["weights"].startswith("sha256:")
    text = "A wonderful film!"
    again = load_run(folder, chosen).system.read(text)
    assert np.array_equal(again.probabilities, run.system.read(text).probabilities)


def test_a_reading_shows_words_and_both_special_tokens(trained):
    system = trained[2].system
    reading = system.read("A wonderful film [SEP].")
    assert reading.tokens == ("a", "wonderful", "film", "[UNK]", "[UNK]", "[UNK]", ".")
    assert list(reading.attention) == ["rollout", "layer 1", "layer 2"]
    for attention in reading.attention.values():
        assert attention.weights.shape == (9, 9)
        assert attention.rows[-2:] == attention.extra == ("[CLS]", "[SEP]")
        np.testing.assert_allclose(attention.weights.sum(1), 1, atol=1e-5)
    pieces = system.heads(system.cut("A wonderful film [SEP].")[0])[1].mean(0).numpy()
    found = reading.attention["layer 2"].weights
    assert found[0, 1] == pytest.approx(pieces[0, 1:3].sum(), abs=1e-6)  # received
    assert found[1, 0] == pytest.approx(pieces[1:3, 0].mean(), abs=1e-6)  # given
    assert found[1, 1] == pytest.approx(pieces[1:3, 1:3].sum() / 2, abs=1e-6)
    assert system.read("").tokens == ()


def test_views_of_erasing_and_of_two_networks_read_pieces(trained):
    system, text = trained[2].system, "A wonderful film"
    view = explore_erasing(system, text)
    assert view._text.spec["sentences"] == [["a", "wonder", "##ful", "film"]]
    (heatmap,) = explore_seeds({"one": system, "two": system}, text)._stage.children
    assert heatmap.spec["columns"] == ["a", "wonderful", "film"]


@pytest.mark.parametrize(
    ("preset", "rank", "learns"),
    [
        ("frozen", 0, {"classifier"}),
        ("adapters", 2, {"classifier", "a", "b"}),
        ("untrained", 0, {"weight", "bias"}),
    ],
)
def test_only_what_is_not_frozen_learns(network, preset, rank, learns):
    chosen = {"model.rank": rank, "training.learning_rate": 1e-2}
    before = built(preset, **chosen).model.state_dict()
    after = train(spec(preset, **chosen)).model.state_dict()
    changed = {name for name in after if not torch.equal(before[name], after[name])}
    ends = {name.split(".")[0 if name.startswith("classifier") else -1] for name in changed}
    if preset == "untrained":
        assert changed == after.keys()
        assert not torch.equal(before["blocks.0.w_1.weight"], built().model.blocks[0].w_1.weight)
    else:
        assert ends == learns


def test_the_tests_of_faithfulness_take_its_pieces(trained):
    model = DocumentModel(trained[2].system)
    documents = model.documents(trained[2].corpus.splits["test"].select(range(4)))
    classes = model(documents).argmax(1)
    lengths = [len(document) for document in documents]
    (importances,) = [leave_one_out(model, documents)]
    assert list(map(len, importances)) == lengths
    for vectors, slopes in model.gradients(documents, classes):
        assert vectors.shape == slopes.shape == (lengths.pop(0), 16)
    for ranks in model.attention(documents).values():
        assert all(each.sum() == pytest.approx(1, abs=1e-5) for each in ranks)
    attended = model.attended(documents[0])
    n = len(documents[0]) + 2
    assert attended.attention.shape == (2, 2, n, n) and attended.real.all()
    same = attended.answer(attended.attention[None])
    np.testing.assert_allclose(same, model(documents[:1]), atol=1e-6)


def test_the_slope_of_the_top_layer_is_what_scaling_its_weights_alone_changes(trained):
    model = DocumentModel(trained[2].system)
    documents = model.documents(trained[2].corpus.splits["test"].select([0]))
    attended, step, classes = model.attended(documents[0]), 1e-2, model(documents).argmax(1)
    ((alpha, slope),) = model.attention_gradients(documents, classes)
    found = np.split(alpha * slope, len(attended.attention))[-1].sum(0)
    (chosen,) = classes
    for word in range(len(documents[0])):
        odds = []
        for sign in (1, -1):
            scaled = attended.attention.copy()
            scaled[-1, ..., word] *= 1 + sign * step
            scaled /= scaled.sum(-1, keepdims=True)
            p = attended.answer(scaled[None])[0, chosen]
            odds.append(np.log(p / (1 - p)))
        assert found[word] == pytest.approx((odds[0] - odds[1]) / (2 * step), abs=5e-3)
    assert np.ptp(found) > 0.02


def test_a_click_on_a_small_matrix_opens_its_head(trained):
    system, text = trained[2].system, "A wonderful film"
    view, attention = explore_heads(system, text), system.heads(system.cut(text)[0]).numpy()
    side = attention.shape[-1] + 1  # six tokens and a gap
    assert (view.head, side) == ((0, 0), 7)
    tiles = view._all._matrix.reshape(2, side, 2, side)
    np.testing.assert_array_equal(tiles[1, :-1, 0, :-1], attention[1, 0])
    assert not tiles[:, -1].any() and not tiles[..., -1].any()
    drawn = view._all._figure().axes[0]
    for side_of, name in ((drawn.yaxis, "layer"), (drawn.xaxis, "head")):
        assert side_of.get_label_text() == name
        assert [label.get_text() for label in side_of.get_ticklabels()] == ["1", "2"]
        assert side_of.get_ticklocs().tolist() == [3.5, 10.5]
    view._all.selected = [side + 2, 3]
    assert view.head == (1, 0) and view._caption.startswith("Layer 2, head 1")
    (opened,) = view._stage.children
    np.testing.assert_array_equal(opened._matrix, attention[1, 0])
    assert opened.spec["columns"] == ["a", "wonder", "##ful", "film", "[CLS]", "[SEP]"]
    bundle, _ = view._repr_mimebundle_()
    assert "image/png" in bundle and "make lab" in bundle["text/html"]
    with pytest.raises(ValueError, match="no words"):
        explore_heads(system, " ")


def test_predictions_of_a_table_name_words(trained):
    (row,) = answers(trained[2].system, [(1, "A wonderful film")])
    assert {row["word 1"], row["word 2"], row["word 3"]} == {"a", "wonderful", "film"}
    assert row["weight 1"] + row["weight 2"] + row["weight 3"] == pytest.approx(1, abs=1e-5)
    assert "word 4" not in row


def test_an_unknown_word_has_the_vector_of_the_unknown_piece(network):
    system = built()
    tokens, _ = system.batch([[["⟨unknown⟩", "[UNK]"]]])
    first, second = system.model.embedding(tokens)[0]
    assert tokens[0].tolist() == [1, 100] and torch.equal(first, second)


def test_words_are_joined_from_pieces_with_the_sum_of_their_values(network):
    pieces = Pieces(prepared_folder("minilm") / "tokenizer.json")
    (found,) = pieces.split(["Wonderful wonderful film!"])
    assert found == ["wonder", "##ful", "wonder", "##ful", "film", "!"]
    words, values = whole_words(found, np.array([1.0, 2, 3, 4, 5, 6]))
    assert words == ["wonderful", "wonderful", "film", "!"]
    assert values.tolist() == [3, 7, 5, 6]
    rows, summed = whole_words(found, np.ones((6, 2)))
    assert summed.tolist() == [[2, 2], [2, 2], [1, 1], [1, 1]] and rows == words
    assert whole_words([], np.empty(0))[0] == []
