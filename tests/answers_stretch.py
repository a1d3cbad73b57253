"""Right and wrong answers to the stretch problems."""

import torch

from course_lib.teaching.checks.stretch import WORDS_TO_FLIP


def flip_by_slices(predict, words, weights):
    order = weights.argsort(descending=True)
    for count in range(1, len(words)):
        kept = order[count:].sort().values.tolist()
        if (predict([words[place] for place in kept]) > 0.5) != (predict(words) > 0.5):
            return count
    return len(words)


def flip_by_removal(predict, words, weights):
    before, left = predict(words) > 0.5, list(zip(weights.tolist(), words))
    while len(left) > 1:
        left.remove(max(left))
        if (predict([word for _, word in left]) > 0.5) != before:
            break
    else:
        return len(words)
    return len(words) - len(left)


def flip_by_threshold(predict, words, weights):
    before = predict(words)
    for count, least in enumerate(sorted(weights.tolist(), reverse=True)[:-1], start=1):
        kept = [word for word, w in zip(words, weights.tolist()) if w < least]
        if (predict(kept) - 0.5) * (before - 0.5) < 0:
            return count
    return len(words)


def flip_like(order=lambda w: w.argsort(descending=True), side=lambda p, before: (p > 0.5) != (
    before > 0.5), never=0, less=0):  # fmt: skip
    def flip(predict, words, weights):
        places = order(weights).tolist()
        for count in range(1, len(words)):
            left = [words[place] for place in sorted(places[count:])]
            if side(predict(left), predict(words)):
                return count - less
        return never or len(words)

    return flip


def flip_one_by_one(predict, words, weights):
    for count, place in enumerate(weights.argsort(descending=True).tolist(), start=1):
        left = [word for at, word in enumerate(words) if at != place]
        if (predict(left) > 0.5) != (predict(words) > 0.5):
            return count
    return len(words)


RIGHT = {WORDS_TO_FLIP: (flip_by_slices, flip_by_removal, flip_by_threshold)}
WRONG = {
    WORDS_TO_FLIP: [
        (flip_like(order=torch.argsort), "you begin with the lightest"),
        (flip_like(order=lambda w: torch.arange(len(w))), "in reading order"),
        (flip_one_by_one, "they stay away"),
        (flip_like(side=lambda p, before: p < 0.5), "wait for the other side"),
        (lambda f, words, w: flip_like()(f, words, w) - 1, "one too few"),
        (flip_like(side=lambda p, before: abs(p - before) > 0.5), "only the side of 0.5"),
        (lambda f, words, w: flip_by_slices(f, words, w) / len(words), "expected an int"),
        (lambda f, words, w: flip_by_slices(f, words, w) + 9, "between 1 and all"),
        (lambda f, words, w: len(words), "A place to start: remove the heaviest"),
    ],
}
