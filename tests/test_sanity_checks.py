"""Sanity checks: the texts of which we know what decides, and the networks that read them.

The lessons train on them; ``results/sanity_checks`` holds longer trainings of three seeds, which
the lessons' claims hold to the same findings.
"""

from collections import Counter

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from course_kit.research import sanity_checks
from course_kit.research.sanity_checks.synthetic import (
    FAR,
    FILLERS,
    SYNTHETIC_TASKS,
    Splits,
    encode_texts,
    vocabulary_of,
    write_texts,
)
from course_lib.files import DataError
from course_lib.metrics.invariants import check_padding
from course_lib.models.iram import IRAM, IRAMConfig

pytestmark = pytest.mark.full  # a finished study


@pytest.mark.parametrize("task", SYNTHETIC_TASKS)
def test_texts_repeat_from_their_seed_and_are_balanced(task):
    texts = write_texts(task, 60, seed=3)
    assert texts == write_texts(task, 60, seed=3) != write_texts(task, 60, seed=4)
    assert [text.label for text in texts] == [0, 1] * 30
    assert len({len(text.words) for text in texts}) == 1
    assert all(text.words[place] not in FILLERS for text in texts for place in text.decides)


@pytest.mark.parametrize(("task", "distance"), [("adjacent", 1), ("distant", FAR)])
def test_twins_of_pairs_are_the_same_bag_and_differ_in_what_stands_together(task, distance):
    texts = write_texts(task, 40)
    for other, own in zip(texts[::2], texts[1::2], strict=True):
        assert Counter(other.words) == Counter(own.words)
        for text in (other, own):
            for animal, young in zip(text.decides[::2], text.decides[1::2], strict=True):
                assert young - animal == distance
                together = text.words[young] == f"{text.words[animal]}'s"
                assert together == (text.label == 1)


def test_the_pointers_question_names_the_fact_that_decides():
    for text in write_texts("pointer", 200):
        question, fact = (text.words[place] for place in text.decides)
        assert fact == f"{question[:-1]}={('bad', 'good')[text.label]}"


@pytest.mark.parametrize("task", ["adjacent", "distant", "pointer", "phrase"])
def test_no_sum_of_words_decides(task):
    """A linear classifier of the bag of words, trained to the end, stays at chance."""
    texts = write_texts(task, 3000)
    counts = CountVectorizer(analyzer=lambda text: text.words).fit_transform(texts)
    labels = [text.label for text in texts]
    linear = LogisticRegression(max_iter=1000).fit(counts[:2000], labels[:2000])
    assert linear.score(counts[2000:], labels[2000:]) < 0.55


def test_what_is_no_task_or_no_number_of_twins():
    with pytest.raises(DataError, match="no task 'nope'; there are: adjacent, "):
        write_texts("nope", 10)
    for rows in (0, 7):
        with pytest.raises(DataError, match=f"so rows is an even number, not {rows}"):
            write_texts("phrase", rows)


def test_texts_are_encoded_with_their_labels():
    texts = write_texts("planted", 4)
    vocabulary = vocabulary_of(Splits(texts, [], []))
    encoded = encode_texts(texts, vocabulary)
    assert encoded.labels.tolist() == [0, 1, 0, 1]
    assert tuple(vocabulary.decode(encoded.words[:18])) == texts[0].words
    assert encoded.batch(np.arange(4)).tokens.shape == (4, 18)


def test_a_held_query_asks_the_same_again():
    torch.manual_seed(0)
    iram = IRAM(IRAMConfig(embedding=4, hidden=4, steps=2, initial_std=1.0), 9, 2).eval()
    given = torch.tensor([[3, 4, 5]]), torch.ones(1, 3).bool()
    first, second = sanity_checks.with_held_query(iram)(*given).attention[0, :, :3]
    torch.testing.assert_close(second / second.sum(), first)
    first, second = iram(*given).attention[0, :, :3]
    assert not torch.allclose(second / second.sum(), first, atol=1e-3)


def test_a_word_by_word_encoder_knows_no_neighbours():
    torch.manual_seed(0)
    tokens, mask = torch.randint(1, 9, (3, 5)), torch.ones(3, 5, dtype=torch.bool)
    mask[0, -1] = False
    model = IRAM(IRAMConfig(embedding=4, hidden=4), 9, 2)
    model.encoder = sanity_checks.WordByWordEncoder(4, 4)
    check_padding(model, tokens, mask)
    x = model.embedding(tokens)
    changed = x.clone()
    changed[:, 0] += 1
    (before, query, _), (after, other, _) = (model.encoder(each, mask) for each in (x, changed))
    assert not before[~mask].any() and not torch.equal(before[:, 0], after[:, 0])
    assert torch.equal(before[:, 1:], after[:, 1:]) and torch.equal(query, other)


def test_the_sum_of_words_adds_nothing_for_padding():
    check_padding(sanity_checks.SumOfWords(9, 2), torch.tensor([[3, 4]]), torch.ones(1, 2).bool())
