"""Right answers to lessons 00 to 02, and wrong ones with what they are told."""

import math

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from course_kit.exercises import (
    check_attention_pooling,
    check_blend,
    check_diagonality,
    check_effective_words,
    check_gini,
    check_gru_jacobian,
    check_gru_step,
    check_last_state,
    check_masked_softmax,
    check_multi_head,
    check_order,
    check_report_weights,
    check_reverse,
    check_self_attention,
    check_top_words,
    check_uniform_diagonality,
    check_words_to_flip,
)
from course_lib.models.gru import GRUCell
from course_lib.models.layers import masked_softmax

inf = torch.inf


def effective_by_loop(weights):
    return math.exp(-sum(w * math.log(w) for w in weights.tolist() if w))


def softmax_zeroed_afterwards(scores, mask):
    return scores.softmax(-1) * mask


def pooling_by_einsum(h, mask, context):
    alpha = masked_softmax(torch.einsum("bnd,d->bn", h.tanh(), context), mask)
    return [torch.einsum("bn,bnd->bd", alpha, h), alpha]


def pooled(h, alpha):
    return torch.einsum("bn,bnd->bd", alpha, h), alpha


def pooling_of_u(h, mask, context):
    u = torch.tanh(h)
    alpha = masked_softmax(u @ context, mask)
    return (alpha[..., None] * u).sum(1), alpha


def pooling_without_mask(h, mask, context):
    return pooled(h, (h.tanh() @ context).softmax(-1))


def pooling_by_maximum(h, mask, context):
    alpha = masked_softmax(h.tanh() @ context, mask)
    return (alpha[..., None] * h).amax(1), alpha


def pooling_alone(h, mask, context):
    return pooling_by_einsum(h, mask, context)[0]


def gru_by_einsum(x, h, U, W, b):
    ux = torch.einsum("ghi,ni->gnh", U, x) + b.unsqueeze(1)
    r, z = torch.sigmoid(ux[:2] + torch.einsum("ghk,nk->gnh", W[:2], h))
    return torch.lerp(h, torch.tanh(ux[2] + torch.einsum("hk,nk->nh", W[2], r * h)), z)


def gru_like(gates=(0, 1, 2), after=False, flip=False, squash=torch.tanh, bias=1.0, turned=False,
             gate=torch.sigmoid):  # fmt: skip
    def step(x, h, U, W, b):
        W = W.transpose(1, 2) if turned else W
        (U_r, U_z, U_h), (W_r, W_z, W_h), (b_r, b_z, b_h) = (
            [w[g] for g in gates] for w in (U, W, bias * b)
        )
        r = gate(x @ U_r.T + h @ W_r.T + b_r)
        z = gate(x @ U_z.T + h @ W_z.T + b_z)
        past = r * (h @ W_h.T) if after else (r * h) @ W_h.T
        candidate = squash(x @ U_h.T + past + b_h)
        return z * h + (1 - z) * candidate if flip else (1 - z) * h + z * candidate

    return step


def gini_by_differences(attention):
    w = attention.flatten()
    return (w[:, None] - w).abs().mean() / (2 * w.mean())


def gini_by_ranks(attention):
    w = attention.flatten().sort().values
    i = torch.arange(1, len(w) + 1)
    return 2 * (i * w).sum() / (len(w) * w.sum()) - (len(w) + 1) / len(w)


def gini_row_by_row(attention):
    return torch.stack([gini_by_differences(row) for row in attention]).mean()


def diagonality_by_tri(attention, bandwidth):
    return attention.tril(bandwidth).triu(-bandwidth).sum() / attention.sum()


def reverse_by_gather(x, mask):
    lengths = mask.sum(1, keepdim=True)
    place = (lengths - 1 - torch.arange(x.shape[1])).clamp(min=0)
    return x.gather(1, place.unsqueeze(2).expand_as(x)) * mask.unsqueeze(2)


def reverse_by_roll(x, mask):
    shifts = mask.shape[1] - mask.sum(1)
    real = x * mask.unsqueeze(2)
    rows = [row.flip(0).roll(-int(s), 0) for row, s in zip(real, shifts, strict=True)]
    return torch.stack(rows)


def reverse_one_too_late(x, mask):
    lengths = mask.sum(1, keepdim=True)
    place = (lengths - torch.arange(x.shape[1])).clamp(0, x.shape[1] - 1)
    return x.gather(1, place.unsqueeze(2).expand_as(x)) * mask.unsqueeze(2)


def report_weights_by_chunks(weight, bias):
    (r, z, n), (b_r, b_z, b_n) = weight.chunk(3), bias.chunk(3)
    return torch.stack([r, -z, n]), torch.stack([b_r, -b_z, b_n])


def turned_weights(change):
    """A wrong conversion: ``change`` of PyTorch's stacked weights and of its stacked biases."""

    def convert(weight, bias):
        return tuple(change(part.view(3, -1, *part.shape[1:])) for part in (weight, bias))

    return convert


def times(*signs):
    return turned_weights(
        lambda part: part * torch.tensor(signs).view(3, *[1] * (part.dim() - 1)).float()
    )


def last_state_by_unit(x, mask, U, W, b):
    """As ``last_state_by_where`` without the mask's new axis, where that raises nothing."""
    h = torch.zeros(len(x), W.shape[1])
    for step in range(x.shape[1]):
        real = mask[:, step] if len(x) == W.shape[1] else mask[:, step, None]
        h = torch.where(real, gru_by_einsum(x[:, step], h, U, W, b), h)
    return h


def last_state_of_packed(x, mask, U, W, b):
    cell = GRUCell(x.shape[2], W.shape[1])
    cell.u.weight.data, cell.u.bias.data = U.reshape(-1, x.shape[2]), b.reshape(-1)
    cell.w.weight.data = W.reshape(-1, W.shape[1])
    h = torch.zeros(len(x), W.shape[1])
    for step in range(x.shape[1]):
        real = mask[:, step]
        if real.any():
            h = h.index_put((real,), cell(x[real, step], h[real]))
    return h


def every_state(x, U, W, b):
    states = [torch.zeros(len(x), W.shape[1])]
    for step in range(x.shape[1]):
        states.append(gru_by_einsum(x[:, step], states[-1], U, W, b))
    return torch.stack(states, 1)


def last_state_of_zeroed_words(x, mask, U, W, b):
    return every_state(x * mask[..., None], U, W, b)[:, -1]


def top_by_argsort(words, weights, k):
    order = torch.argsort(weights, descending=True, stable=True)
    return [words[int(i)] for i in order[:k]]


def attend_by_torch(q, k, v, mask):
    n = q.shape[1]
    hidden = mask.unsqueeze(1).expand(-1, n, -1)
    sdpa = nn.functional.scaled_dot_product_attention
    values = (v, torch.eye(n).expand(len(q), n, n))  # over the identity, attention gives itself
    output, alpha = (sdpa(q, k, value, attn_mask=hidden).nan_to_num(0) for value in values)
    return [output, alpha]


def attend(scale=lambda q: q.shape[-1] ** -0.5, dim=-1, axis=1, exchange=False, weigh=None):
    def function(q, k, v, mask):
        q, k = (k, q) if exchange else (q, k)
        scores = q @ k.mT * scale(q)
        if weigh:
            alpha = weigh(scores, mask.unsqueeze(1).expand_as(scores))
        else:
            alpha = masked_softmax(scores, mask.unsqueeze(axis), dim)
        return alpha @ v, alpha

    return function


def order_by_swaps(function, x):
    """Swaps of neighbours make every order."""
    before, same, along = function(x), True, True
    for i in range(len(x) - 1):
        order = list(range(len(x)))
        order[i], order[i + 1] = order[i + 1], order[i]
        after = function(x[order])
        same &= bool((after - before).abs().max() < 1e-5)
        along &= len(before) == len(x) and bool((after - before[order]).abs().max() < 1e-5)
    return "invariant" if same else "equivariant" if along else "neither"


def order_by_shape(function, x):
    return "equivariant" if function(x).shape == x.shape else "invariant"


def uniform_by_pairs(n, b):
    return sum(abs(i - j) <= b for i in range(n) for j in range(n)) / n**2


def uniform_by_distances(n, b):
    return (n + sum(2 * (n - k) for k in range(1, min(b, n - 1) + 1))) / n**2


def flip_by_slices(predict, words, weights):
    order = weights.argsort(descending=True)
    for count in range(1, len(words)):
        kept = order[count:].sort().values.tolist()
        if (predict([words[place] for place in kept]) > 0.5) != (predict(words) > 0.5):
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


def flip_first_copy(predict, words, weights):
    before, left = predict(words) > 0.5, list(words)
    for count, place in enumerate(weights.argsort(descending=True).tolist()[:-1], start=1):
        left.remove(words[place])
        if (predict(left) > 0.5) != before:
            return count
    return len(words)


def heads_by_torch(x, w_q, w_k, w_v, w_o, heads):
    q, k, v = ((x @ w).unflatten(2, (heads, -1)).transpose(1, 2) for w in (w_q, w_k, w_v))
    mixed = scaled_dot_product_attention(q, k, v, is_causal=True)
    return mixed.transpose(1, 2).flatten(2) @ w_o


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


def softmax_by_log(scores, mask):
    scores = scores.masked_fill(~mask, -1e30)
    return (scores - scores.logsumexp(-1, keepdim=True)).exp() * mask


RIGHT = {
    check_effective_words: (effective_by_loop,),
    check_masked_softmax: (softmax_by_log,),
    check_attention_pooling: (pooling_by_einsum,),
    check_blend: (torch.lerp,),
    check_gru_step: (gru_by_einsum,),
    check_report_weights: (report_weights_by_chunks,),
    check_last_state: (last_state_of_packed,),
    check_gini: (gini_by_differences,),
    check_diagonality: (diagonality_by_tri,),
    check_reverse: (reverse_by_gather,),
    check_top_words: (top_by_argsort,),
    check_self_attention: (attend_by_torch,),
    check_order: (order_by_swaps,),
    check_uniform_diagonality: (uniform_by_distances,),
    check_words_to_flip: (flip_by_slices,),
    check_multi_head: (heads_by_torch,),
    check_gru_jacobian: (jacobian_of_the_cell,),
}
WRONG = {
    check_effective_words: [
        (lambda w: torch.special.entr(w).sum(), "the entropy itself"),
        (lambda w: torch.exp(-(w * w.log()).sum()), "0 · log 0 is NaN"),
        (lambda w: torch.exp(torch.special.entr(w).sum()) / 3, "between 1 and all"),
        (lambda w: torch.special.entr(w).exp(), "expected (): one number for the sentence"),
    ],
    check_masked_softmax: [
        (lambda s, m: s * m / (s * m).sum(-1, keepdim=True).clamp(min=9), "the softmax is missing"),
        (lambda s, m: s.masked_fill(m, -inf).softmax(-1), "so hide ~mask"),
        (lambda s, m: masked_softmax(s, ~m), "m is used the wrong way round: True and"),
        (lambda s, m: s.sigmoid() * m, "a sigmoid weighs each token alone"),
    ],
    check_attention_pooling: [
        (pooling_of_u, "you pool tanh(h)"),
        (pooling_without_mask, "mask is not used, so what it"),
        (pooling_by_maximum, "alpha is right, but pooled is off"),
        (pooling_alone, "2 results are expected (pooled, alpha),"),
    ],
    check_blend: [
        (lambda h, new, z: torch.lerp(new, h, z), "z has the opposite sense"),
        (lambda h, new, z: h + z * new, "the old state is kept whole"),
        (lambda h, new, z: torch.lerp(h, new, z).tanh(), "there is a tanh around h: leave it out"),
        (lambda h, new, z: torch.lerp(h, -new, z), "new enters with the wrong sign: its"),
    ],
    check_gru_step: [
        (gru_like(flip=True), "z has the opposite sense"),
        (gru_like(after=True), "the reset gate acts after the product"),
        (gru_like(bias=0), "b is not used"),
        (gru_like(turned=True), "W is transposed: use W as it is given."),
    ],
    check_report_weights: [
        (times(1, 1, 1), "z's weights change sign"),
        (times(-1, 1, 1), "r has changed its sign"),
        (
            turned_weights(lambda part: torch.stack([part[0], 1 - part[1], part[2]])),
            "b at (1, 0) is 0.7345, expected -0.2655",
        ),
        (lambda w, b: w.view(3, -1, w.shape[1]), "you returned 1"),
    ],
    check_last_state: [
        (last_state_by_unit, "give it an axis at the end"),
        (lambda x, mask, U, W, b: every_state(x, U, W, b)[:, -1], "the padding is read"),
        (last_state_of_zeroed_words, "a padded word of zeros still moves the state"),
        (lambda x, mask, U, W, b: every_state(x, U, W, b)[:, 1:], "shape (1, 1, 1), expected"),
    ],
    check_gini: [
        (lambda a: gini_by_ranks(a) * len(a) / torch.tensor(len(a) - 1.0), "divide by n − 1"),
        (gini_row_by_row, "the mean of each row's own Gini"),
        (lambda a: gini_by_differences(a) * 2, "gini is twice what it should be: is"),
        (lambda a: gini_by_differences(a.view(1, -1)).view(1), "so flatten first"),
    ],
    check_diagonality: [
        (lambda a, b: a.tril(b).sum() / a.sum(), "j − i ≤ bandwidth takes all"),
        (lambda a, b: a.triu(-b).sum() / a.sum(), "i − j ≤ bandwidth takes all"),
        (lambda a, b: 1 - diagonality_by_tri(a, b), "that is 1 − diagonality: you have"),
        (lambda a, b: 1 + a.trace(), "lies in [0, 1]"),
    ],
    check_reverse: [
        (lambda x, mask: (x * mask.unsqueeze(2)).flip(1), "the zeros of the padding come first"),
        (
            lambda x, mask: reverse_by_roll(x, mask).flip(2),
            "x is in reverse order along its last axis.",
        ),
        (lambda x, mask: x.flip(0), "row 0 has a word at place 0, which is"),
        (reverse_one_too_late, "one place too late"),
    ],
    check_top_words: [
        (lambda w, a, k: w[:k], "a is not used"),
        (lambda w, a, k: a.argsort(descending=True)[:k].tolist(), "the places of the words"),
        (lambda w, a, k: sorted(zip(w, a.tolist()), key=lambda p: -p[1])[:k], "is a pair"),
        (lambda w, a, k: sorted(w)[:k], "sorted by the alphabet"),
    ],
    check_self_attention: [
        (attend(scale=lambda q: 1), "not divided by √d"),
        (attend(exchange=True), "q and k are exchanged."),
        (attend(weigh=softmax_zeroed_afterwards), "divide by what is left"),
        (lambda q, k, v, mask: attend()(q, k, v, mask)[1], "you returned 1"),
    ],
    check_order: [
        (order_by_shape, "the shape decides"),
        (lambda f, x: order_by_swaps(f, x).title(), "the answers are "),
        (lambda f, x: order_by_swaps(f, x) == "invariant", "kind is a bool, expected a str"),
        (lambda f, x: "neither", "says 'neither', but it is invariant"),
    ],
    check_uniform_diagonality: [
        (lambda n, b: (n + sum(2 * (n - k) for k in range(1, b))) / n**2, "two things at the end"),
        (lambda n, b: (2 * b + 1) / n, "a share is never above 1"),
        (lambda n, b: uniform_by_pairs(n, b) * n, "your diagonality is 1, expected 0.5"),
        (lambda n, b: torch.tensor([uniform_by_pairs(n, b)]), "shape (1,), expected ()"),
    ],
    check_words_to_flip: [
        (flip_like(order=torch.argsort), "weights enters with the wrong sign: its"),
        (lambda f, words, w: flip_by_slices(f, words, w) / len(words), "expected an int"),
        (lambda f, words, w: flip_by_slices(f, words, w) + 9, "between 1 and all"),
        (flip_first_copy, "you remove the first, whichever is heavier"),
    ],
    check_multi_head: [
        (heads_like(visible=lambda ones: ones), "sees the places after it"),
        (heads_like(visible=lambda ones: ones.tril(-1)), "does not see itself"),
        (heads_like(last=lambda out, w_o: out), "w_o is left out."),
        (lambda *given: heads_by_torch(*given)[0], "as many places and features as x"),
    ],
    check_gru_jacobian: [
        (jacobian_with(gate=0), "z depends on h, too"),
        (jacobian_with(gate=0, taken=0), "alone: z and the candidate"),
        (lambda *given: jacobian_by_hand(*given).T, "rows and columns are exchanged"),
        (lambda *given: jacobian_by_hand(*given).diagonal(), "a row for each unit"),
    ],
}
