"""The texts of pairs, the scores of heads, and the record of lesson 10's language models."""

import json

import pytest
import torch

from course_kit.exercises import check_induction
from course_kit.research import induction
from course_lib.data.pairs import NAMES, THINGS, WORDS, ids_of, pair_texts

TEXTS = pair_texts(50, torch.Generator().manual_seed(3))


def test_in_a_text_a_name_has_one_thing_and_a_thing_one_name():
    assert len(set(WORDS)) == 24 and TEXTS.tokens.shape == (50, 24)
    for text in TEXTS.tokens:
        names, things = text[::2].tolist(), text[1::2].tolist()
        assert max(names) < len(NAMES) <= min(things) and max(things) < len(NAMES) + len(THINGS)
        pairs = set(zip(names, things, strict=True))
        assert len(pairs) == len(set(names)) == len(set(things)) <= 6


def test_repeated_names_have_stood_before():
    for text, repeated, earlier in zip(TEXTS.tokens, TEXTS.repeated, TEXTS.earlier, strict=True):
        for place in range(24):
            copies = [at for at in range(place) if text[at] == text[place]]
            copies *= int(text[place]) < len(NAMES)
            assert bool(repeated[place]) == bool(copies)
            assert earlier[place].nonzero().flatten().tolist() == copies


def test_a_word_that_is_none_is_named():
    assert ids_of("Ann nuts").tolist() == [[0, 23]]
    with pytest.raises(ValueError, match="unknown word 'Zoe'; the texts have Ann, "):
        ids_of("Ann tea Zoe")


def test_guessing_is_one_over_the_things_that_were_named():
    shares = []
    for text in TEXTS.tokens.tolist():
        for place in range(0, 24, 2):
            if text[place] in text[:place]:
                shares.append(1 / len(set(text[1:place:2])))
    assert induction.guessing(TEXTS) == pytest.approx(sum(shares) / len(shares))


def test_scores_of_perfect_heads_are_1_and_agree_with_the_exercise():
    back = torch.eye(24).roll(-1, 1)  # each row's weight is on the position before
    back[0] = torch.eye(24)[0]
    attention = back.expand(50, 1, 1, 24, 24)
    assert induction.previous_weight(attention) == 1
    after = torch.zeros_like(TEXTS.earlier, dtype=torch.float)
    after[:, :, 1:] = TEXTS.earlier[:, :, :-1]
    perfect = after / after.sum(2, keepdim=True).clamp(min=1)
    found = induction.induction_weight(perfect[:, None, None], TEXTS)
    assert found.shape == (1, 1) and found.item() == pytest.approx(1)
    random = torch.rand(50, 24, 24, generator=torch.Generator().manual_seed(0))
    by_text = [check_induction.reference(a, t) for a, t in zip(random, TEXTS.tokens, strict=True)]
    expected = torch.stack(by_text)[TEXTS.repeated].mean()
    torch.testing.assert_close(
        induction.induction_weight(random[:, None, None], TEXTS)[0, 0], expected
    )


def test_the_record_is_of_the_committed_weights():
    """Accuracies and hidden heads are measured again, by another formula."""
    texts = induction.test_texts()
    right_word = texts.tokens.roll(-1, 1)
    for variant in (induction.ONE, induction.TWO):
        for run in induction.runs_of(variant):
            model = induction.recorded(variant, run["seed"])
            states = [([], run["accuracy"])]
            states += [(list(map(tuple, s["heads"])), s["accuracy"]) for s in run["hidden"]]
            for hidden, recorded in states:
                with torch.no_grad():
                    logits = model(texts.tokens, hidden=hidden).logits
                best = logits == logits.amax(2, keepdim=True)
                hits = best.gather(2, right_word.unsqueeze(2)).squeeze(2)
                found = (hits & texts.repeated).sum() / texts.repeated.sum()
                assert abs(found.item() - recorded) < 0.002, (variant, run["seed"], hidden)


def test_the_record_holds_every_variant_with_every_seed():
    record = json.loads(induction.RECORD.read_text(encoding="utf-8"))
    made = [(run["variant"], run["seed"], run["steps"]) for run in record["runs"]]
    assert made == [(v, s, steps) for v, steps in induction.STEPS.items() for s in induction.SEEDS]
    assert record["settings"] == induction.SIZES
    assert all(len(run["curve"]) == run["steps"] // induction.EVERY for run in record["runs"])
    assert record["environment"]["device"].startswith("cpu")


def test_a_hidden_head_has_no_weight_in_the_table():
    rows = [line.strip("| ").split(" | ") for line in induction.hiding().splitlines()[2:]]
    found = {name: weights for name, *_, back, after in rows for weights in [(back, after)]}
    one, two = "both heads of layer 1", "both heads of layer 2"
    dashes = {name: [weight == "–" for weight in weights] for name, weights in found.items()}
    assert [name for name, (back, _) in dashes.items() if back] == [induction.PREVIOUS, one]
    assert [name for name, (_, after) in dashes.items() if after] == [induction.INDUCTION, two]


@pytest.mark.full  # a network is trained for some seconds
def test_training_repeats():
    torch.set_num_threads(1)
    model, curve = induction.train(induction.TWO, 0, steps=induction.EVERY)
    again, curve_again = induction.train(induction.TWO, 0, steps=induction.EVERY)
    assert curve == curve_again and len(curve) == 1
    for a, b in zip(model.state_dict().values(), again.state_dict().values(), strict=True):
        assert torch.equal(a, b)
