"""The small Transformer of lesson 09: PyTorch's layers under the invariants of this course."""

from itertools import product

import numpy as np
import pytest
import torch
from sweeping import sweep

from course_kit.exercises.records import committed_record
from course_kit.research.small_transformer import transformer as encoder
from course_kit.research.small_transformer import transformer_record
from course_lib import faithfulness
from course_lib.data.corpus import load_corpus
from course_lib.explore import explore_erasing, read_text
from course_lib.faithfulness import DocumentModel
from course_lib.metrics import invariants
from course_lib.runs import split_rows
from course_lib.runs.records import LATER

MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0]]).bool()
TOKENS = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 3, 0, 0], [5, 0, 0, 0, 0]])
OURS = "A tender film. The acting is wonderful!"


def made(seed=0, **settings):
    torch.manual_seed(seed)
    config = encoder.EncoderConfig(width=16, feed_forward=12, **settings)
    return encoder.Encoder(config, vocabulary=10, classes=2).eval()


@pytest.fixture(scope="module")
def rows():
    return split_rows(load_corpus("toy"))


@pytest.fixture(scope="module")
def trained(rows):
    classes = load_corpus("toy").card.classes
    return transformer_record.train_variant("whole", rows, classes, preset="small")


def test_padding_and_neighbours_change_nothing_and_everything_learns():
    network = made()
    invariants.check_padding(network, TOKENS, MASK, tolerance=1e-5)
    invariants.check_neighbours(network, TOKENS, MASK, tolerance=1e-5)
    invariants.check_stateless(network, TOKENS, MASK)
    invariants.check_permutation(network, TOKENS, MASK, matters=True)
    invariants.check_permutation(made(positions=False), TOKENS, MASK, matters=False, tolerance=1e-5)
    network.embedding.requires_grad_(False)  # the row of padding has no gradient
    network.places.requires_grad_(False)
    for layer in network.layers:  # a key's bias adds the same to all scores of a row
        layer.self_attn.in_proj_bias.requires_grad_(False)
    invariants.check_gradients(network, TOKENS, MASK)


def test_attention_is_ours_on_padding_and_in_an_empty_document():
    mask = MASK.clone()
    mask[2] = False
    output = made()(TOKENS, mask)
    assert output.attention.shape == (3, 2, 4, 5, 5)
    pairs = (mask[:, None, :] & mask[:, :, None])[:, None, None]
    invariants.check_attention(output.attention, pairs)
    assert output.attention[2].eq(0).all() and output.logits.isfinite().all()
    assert torch.equal(output.logits[2], made().classifier.bias)


def test_a_block_step_by_step_is_pytorchs_layer():
    """PyTorch's masks say True where a key is hidden; an empty row keeps its first place open."""
    mask = torch.tensor([[True, False], [False, False]])
    assert encoder.hidden_keys(mask).tolist() == [[False, True], [False, True]]
    assert mask.tolist() == [[True, False], [False, False]]  # ours is as it was
    layer = made().layers[0]
    x, hidden = torch.randn(3, 5, 16), encoder.hidden_keys(MASK)
    y, alpha = encoder.block(layer, x, hidden)
    whole = layer(x, src_key_padding_mask=hidden)
    assert torch.allclose(y[MASK], whole[MASK], atol=1e-5)
    given, same = encoder.block(layer, x, hidden, alpha)
    assert torch.allclose(given, y, atol=1e-5) and same is alpha


def test_given_attention_is_used_and_returned():
    network = made()
    own = network(TOKENS, MASK)
    again = network(TOKENS, MASK, own.attention)
    assert torch.allclose(again.logits, own.logits, atol=1e-5)
    other = network(TOKENS, MASK, torch.rand_like(own.attention))
    assert torch.allclose(other.attention[0].sum(-1), torch.ones(2, 4, 5))
    assert not torch.allclose(other.logits[0], own.logits[0], atol=1e-3)
    with pytest.raises(ValueError, match="does not fit this batch"):
        network(TOKENS, MASK, own.attention[:, :1])


def test_more_words_than_places_are_refused_and_padding_is_not():
    tokens = torch.ones(1, encoder.MOST_WORDS + 2, dtype=torch.long)
    mask = torch.arange(tokens.shape[1])[None] < encoder.MOST_WORDS
    assert made()(tokens, mask).logits.isfinite().all()
    with pytest.raises(ValueError, match="real words behind 60: cut the documents"):
        made()(tokens, torch.ones_like(mask))


def test_without_scores_attention_is_uniform_and_stays_so_in_training(rows):
    network = made(uniform=True).train()
    optimizer = torch.optim.Adam(network.parameters(), 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(TOKENS, MASK).logits, torch.tensor([0, 1, 1])
                                          ).backward()  # fmt: skip
        optimizer.step()
    alpha = network.eval()(TOKENS, MASK).attention
    assert torch.allclose(alpha[1, :, :, :3, :3], torch.full((2, 4, 3, 3), 1 / 3), atol=1e-6)


def test_a_head_taken_away_adds_nothing_and_the_others_stay():
    network = made()
    attend, x = network.layers[1].self_attn, torch.randn(1, 5, 16)
    alpha = torch.full((1, 4, 5, 5), 0.2)
    alpha[0, 2] = torch.eye(5)
    before = encoder.weighed(attend, x, alpha)
    other = alpha.clone()
    other[0, 2] = 0.2
    assert not torch.allclose(before, encoder.weighed(attend, x, other), atol=1e-4)
    encoder.without_head(network, 1, 2)
    assert torch.allclose(
        encoder.weighed(attend, x, alpha), encoder.weighed(attend, x, other), atol=1e-6
    )
    assert network.layers[0].self_attn.out_proj.weight.ne(0).all()


def test_it_learns_made_up_reviews_and_is_read_like_every_network(trained, rows):
    model = DocumentModel(trained)
    texts, labels = model.documents(rows["validation"]), rows["validation"]["label"]
    assert transformer_record.hits(trained, texts, labels).mean() > 0.85
    reading = read_text(trained, OURS)
    assert list(reading.attention) == ["rollout", "layer 1", "layer 2"]
    assert all(a.weights.shape == (9, 9) for a in reading.attention.values())
    mean = trained.heads(reading.tokens).mean(1)
    assert np.allclose(reading.attention["layer 2"].weights, mean[1], atol=1e-6)
    eye = torch.eye(9)
    assert np.allclose(
        reading.attention["rollout"].weights, (mean[1] + eye) / 2 @ (mean[0] + eye) / 2, atol=1e-6
    )
    flat = encoder.changed(trained, encoder.without_scores)  # another network, and the first stays
    assert np.allclose(flat.heads(["A", "tender", "film"]), 1 / 3, atol=1e-6)
    assert np.array_equal(read_text(trained, OURS).probabilities, reading.probabilities)
    plain_mean = transformer_record.plain_mean_hits(trained, rows)
    assert plain_mean.shape == (len(labels),) and set(plain_mean) == {0.0, 1.0}
    assert plain_mean.mean() > 0.7


def test_the_view_of_lesson_07_serves_it(trained):
    assert sweep(explore_erasing(trained, "A tender film.")) > 4


def test_a_variant_without_positions_does_not_see_a_shuffle(rows):
    few = {split: part.select(range(min(80, len(part)))) for split, part in rows.items()}
    blind = transformer_record.train_variant("without positions", few, ("a", "b"), preset="small")
    texts = DocumentModel(blind).documents(few["validation"])
    mixed = transformer_record.shuffled(texts, 1)
    assert [sorted(text) for text in mixed] == [sorted(text) for text in texts] and mixed != texts
    one, other = (faithfulness.ask(DocumentModel(blind), list(map(faithfulness.whole, some)))
                  for some in (texts, mixed))  # fmt: skip
    assert np.allclose(one, other, atol=1e-4)


def test_measures_of_a_network(trained, rows, monkeypatch):
    monkeypatch.setattr(transformer_record, "RANKED", 10)
    some = rows["validation"].select(range(60))
    found = transformer_record.measure(trained, some, seed=0)
    assert np.shape(found["without a head"]) == (2, 4)
    assert abs(found["tau"]["random"]) < found["tau"]["gradient × input"] <= 1
    assert set(found["aopc"]) == {*found["tau"], "leave-one-out"}
    texts, labels = DocumentModel(trained).documents(some), some["label"]
    head = encoder.changed(trained, lambda network: encoder.without_head(network, 1, 3))
    expected = transformer_record.hits(head, texts, labels).mean()
    assert found["without a head"][1][3] == pytest.approx(expected)


def test_the_record_is_of_todays_settings():
    record = committed_record("results/encoder/movies2.json")
    preset = encoder.Transformer.presets["lesson"]
    assert record["settings"]["model"] == vars(preset.model)
    younger = {"halve_after": LATER["training.halve_after"]}
    assert younger | record["settings"]["training"] == vars(preset.training)
    planned = list(product(transformer_record.VARIANTS, transformer_record.SEEDS))
    assert [(run["variant"], run["seed"]) for run in record["runs"]] == planned
    assert record["variants"] == transformer_record.VARIANTS


def test_numbers_of_the_record_by_seed_and_their_interval():
    assert transformer_record.over_seeds("whole", "accuracy").shape == (5,)
    assert transformer_record.over_seeds("whole", "without a head").shape == (5, 2, 4)
    run = committed_record("results/encoder/movies2.json")["runs"][1]
    found = transformer_record.over_seeds(run["variant"], "tau", "rollout")
    assert found[run["seed"]] == run["tau"]["rollout"]
    mean, half = transformer_record.seed_interval(np.array([1.0, 2.0, 3.0]))
    assert mean == 2 and half == pytest.approx(4.303 / 3**0.5, abs=1e-3)
