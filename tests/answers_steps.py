"""Right and wrong answers to lesson 05's stretch problem, for ``test_checks``."""

import torch
from torch.nn.functional import normalize

from course_kit.exercises.checks.prices import STEP_PRICE
from course_lib.faithfulness.attention import iram_steps
from course_lib.metrics.steps import step_cosine, step_overlap, summary_share
from course_lib.models.iram import step_penalty


def pairs_of(rows):
    unit = normalize(rows, dim=2)
    return [(unit[:, i] * unit[:, j]).sum(1) for i in range(3) for j in range(i)]


def cosine_of_words_read(attention, mask):
    return torch.stack(pairs_of(iram_steps(attention, mask))).mean(0)


def unrolled_by_hand(attention, mask):
    words = mask.shape[1]
    read = []
    for step in range(3):
        row = attention[:, step, :words]
        for before in range(step):
            row = row + attention[:, step, words + before, None] * read[before]
        read.append(row)
    return sum(pairs_of(torch.stack(read, 1))) / 3


def cosine_and_share(attention, mask):
    handed_on = attention[:, 1:, mask.shape[1] :].sum(2).mean(1)
    return 1 - (1 - torch.stack(pairs_of(attention)).mean(0)) * (1 - handed_on)


def lins_of_words_read(attention, mask):
    read = iram_steps(attention, mask)
    return (read @ read.transpose(1, 2) - torch.eye(3)).square().sum((1, 2))


RIGHT = {STEP_PRICE: (cosine_of_words_read, unrolled_by_hand, cosine_and_share)}
WRONG = {
    STEP_PRICE: [
        (lambda a, mask: step_penalty(a), "Small products need not be different rows"),
        (step_cosine, "Which words is each summary made of"),
        (lambda a, mask: summary_share(a, mask)[:, 1:].mean(1), "one and the same word"),
        (lins_of_words_read, "each step reads words of its own, and cost"),
        (lambda a, mask: cosine_of_words_read(a, mask).detach(), "no training can lower it"),
        (lambda a, mask: 1 / step_overlap(a, mask) * 0 + cosine_and_share(a, mask),
         "a price is no number"),
        (lambda a, mask: a.sum((0, 1, 2)), "one price for each document"),
        (lambda a, mask: cosine_and_share(a, mask) / 4, "one and the same word, and cost 0.25"),
    ],
}  # fmt: skip
