"""Right and wrong answers to the stretch problems."""

import torch
from torch.nn.functional import scaled_dot_product_attention

from course_kit.exercises.checks.stretch import GRU_JACOBIAN, MULTI_HEAD, WORDS_TO_FLIP
from course_lib.models.gru import GRUCell


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


def flip_by_name(predict, words, weights):
    before, left = predict(words) > 0.5, words
    for count, place in enumerate(weights.argsort(descending=True).tolist(), start=1):
        left = [word for word in left if word != words[place]]
        if not left:
            return len(words)
        if (predict(left) > 0.5) != before:
            return count


def flip_first_copy(predict, words, weights):
    before, left = predict(words) > 0.5, list(words)
    for count, place in enumerate(weights.argsort(descending=True).tolist()[:-1], start=1):
        left.remove(words[place])
        if (predict(left) > 0.5) != before:
            return count
    return len(words)


def flip_to_nothing(predict, words, weights):
    before, order = predict(words) > 0.5, weights.argsort(descending=True).tolist()
    for count in range(1, len(words) + 1):
        left = [word for place, word in enumerate(words) if place not in order[:count]]
        if (predict(left) > 0.5) != before:
            return count
    return len(words)


def flip_or_nothing(predict, words, weights):
    count = flip_by_slices(predict, words, weights)
    return count if count < len(words) else None


def heads_by_torch(x, w_q, w_k, w_v, w_o, heads):
    q, k, v = ((x @ w).unflatten(2, (heads, -1)).transpose(1, 2) for w in (w_q, w_k, w_v))
    mixed = scaled_dot_product_attention(q, k, v, is_causal=True)
    return mixed.transpose(1, 2).flatten(2) @ w_o


def heads_by_loop(x, w_q, w_k, w_v, w_o, heads):
    made, width = [], x.shape[2] // heads
    for part in ((x @ w).split(width, 2) for w in (w_q, w_k, w_v)):
        made.append(part)
    mixed = []
    for q, k, v in zip(*made):
        scores = torch.einsum("bid,bjd->bij", q, k) / width**0.5
        hidden = torch.ones(scores.shape[1:]).triu(1).bool()
        mixed.append(scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v)
    return torch.cat(mixed, 2) @ w_o


def heads_place_by_place(x, w_q, w_k, w_v, w_o, heads):
    width, out = x.shape[2] // heads, torch.zeros_like(x)
    for head in range(heads):
        part = slice(head * width, (head + 1) * width)
        q, k, v = ((x @ w)[..., part] for w in (w_q, w_k, w_v))
        for i in range(x.shape[1]):
            alpha = ((k[:, : i + 1] @ q[:, i].unsqueeze(2)) / width**0.5).softmax(1)
            out[:, i, part] = (alpha * v[:, : i + 1]).sum(1)
    return out @ w_o


def heads_like(visible=torch.tril, root=lambda d, heads: (d // heads) ** 0.5, deal=False,
               last=lambda out, w_o: out @ w_o, value=lambda x, w_v: x @ w_v):  # fmt: skip
    def attend(x, w_q, w_k, w_v, w_o, heads):
        n, d = x.shape[1:]
        parts = []
        for head in range(heads):
            take = slice(head, None, heads) if deal else slice(head * d // heads, (head + 1) * d
                                                               // heads)  # fmt: skip
            q, k, v = (part[..., take] for part in (x @ w_q, x @ w_k, value(x, w_v)))
            scores = q @ k.transpose(1, 2) / root(d, heads)
            scores = scores.masked_fill(visible(torch.ones(n, n)) == 0, -torch.inf)
            parts.append(scores.softmax(-1).nan_to_num() @ v)
        return last(torch.cat(parts, 2), w_o)

    return attend


def heads_viewed(early):
    def attend(x, w_q, w_k, w_v, w_o, heads):
        batch, n, _ = x.shape
        shape = (batch, heads, n, -1) if early else (batch, n, heads, -1)
        q, k, v = ((x @ w).reshape(shape) for w in (w_q, w_k, w_v))
        if not early:
            q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        mixed = scaled_dot_product_attention(q, k, v, is_causal=True)
        return (mixed.transpose(1, 2) if early else mixed).reshape(x.shape) @ w_o

    return attend


def turned_weights(x, w_q, w_k, w_v, w_o, heads):
    return heads_by_torch(x, w_q.T, w_k.T, w_v.T, w_o.T, heads)


def next_state(x, h, U, W, b):
    r, z = (torch.sigmoid(U[n] @ x + W[n] @ h + b[n]) for n in (0, 1))
    candidate = torch.tanh(U[2] @ x + W[2] @ (r * h) + b[2])
    return (1 - z) * h + z * candidate


def jacobian_by_autograd(x, h, U, W, b):
    return torch.autograd.functional.jacobian(lambda h: next_state(x, h, U, W, b), h)


def jacobian_of_the_cell(x, h, U, W, b):
    cell = GRUCell(U.shape[2], U.shape[1])
    weights = {"u.weight": U.flatten(0, 1), "u.bias": b.flatten(), "w.weight": W.flatten(0, 1)}
    step = lambda h: torch.func.functional_call(cell, weights, (x[None], h[None]))[0]  # noqa: E731
    return torch.autograd.functional.jacobian(step, h)


def jacobian_by_hand(x, h, U, W, b, kept=1, gate=1, taken=1, reset=1,
                     squash=1, slope=1, old=1, product=1):  # fmt: skip
    r, z = (torch.sigmoid(U[n] @ x + W[n] @ h + b[n]) for n in (0, 1))
    g = torch.tanh(U[2] @ x + W[2] @ (r * h) + b[2])
    by_r = torch.eye(len(h)) * r + reset * (h * r * (1 - r)).unsqueeze(1) * W[0]
    seen, rise = by_r if product else torch.eye(len(h)), z * (1 - z) if slope else 1
    return (
        kept * torch.eye(len(h)) * (1 - z)
        + gate * ((g - old * h) * rise).unsqueeze(1) * W[1]
        + taken * (z * (1 - squash * g * g)).unsqueeze(1) * (W[2] @ seen)
    )


def jacobian_with(**parts):
    return lambda *given: jacobian_by_hand(*given, **parts)


RIGHT = {
    WORDS_TO_FLIP: (flip_by_slices, flip_by_removal, flip_by_threshold),
    MULTI_HEAD: (heads_by_torch, heads_by_loop, heads_place_by_place),
    GRU_JACOBIAN: (jacobian_by_autograd, jacobian_of_the_cell, jacobian_by_hand),
}
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
        (flip_by_name, "goes twice in yours"),
        (flip_first_copy, "you remove the first, whichever is heavier"),
        (flip_to_nothing, "ValueError in your line `if (predict(left) > 0.5) != before:`"),
        (flip_or_nothing, "does every way through your function end in a return?"),
        (lambda f, words, w: len(words), "A place to start: remove the heaviest"),
    ],
    MULTI_HEAD: [
        (heads_like(visible=lambda ones: ones), "sees the places after it"),
        (heads_like(visible=torch.triu), "upside down"),
        (heads_like(visible=lambda ones: ones.tril(-1)), "does not see itself"),
        (heads_like(root=lambda d, heads: d**0.5), "√d of the whole layer"),
        (heads_like(root=lambda d, heads: 1.0), "head's width is missing"),
        (heads_like(deal=True), "one by one"),
        (heads_like(last=lambda out, w_o: out), "w_o is missing"),
        (heads_like(value=lambda x, w_v: x), "you average x itself"),
        (lambda x, q, k, v, o, heads: heads_by_torch(x, q, k, v, o, 1), "one head, whatever"),
        (turned_weights, "the weights are transposed"),
        (heads_like(root=lambda d, heads: heads**0.5), "the number of heads"),
        (heads_like(root=lambda d, heads: d // heads), "the root of it is asked for"),
        (heads_viewed(early=True), "mixes places with features"),
        (heads_viewed(early=False), "joined while their axis"),
        (lambda *given: heads_by_torch(*given)[0], "as many places and features as x"),
    ],
    GRU_JACOBIAN: [
        (jacobian_with(gate=0), "z depends on h, too"),
        (jacobian_with(gate=0, taken=0), "alone: z and the candidate"),
        (jacobian_with(taken=0), "the candidate depends on h, too"),
        (jacobian_with(kept=0), "the old state itself is missing"),
        (jacobian_with(reset=0), "r depends on h, too"),
        (jacobian_with(gate=-1), "wrong sign"),
        (lambda *given: jacobian_by_hand(*given).T, "rows and columns are exchanged"),
        (jacobian_with(squash=0), "the derivative of tanh"),
        (jacobian_with(slope=0), "the derivative of the sigmoid"),
        (jacobian_with(old=0), "z stands twice in h'"),
        (jacobian_with(product=0), "W_h multiplies r ∘ h"),
        (lambda *given: jacobian_by_hand(*given).diagonal(), "a row for each unit"),
    ],
}
