"""Right answers to lessons 00 to 02, and wrong ones with what they are told."""

import math
from functools import partial

import torch
from torch.nn.functional import scaled_dot_product_attention

from course_kit.exercises import (
    check_attention_pooling,
    check_effective_words,
    check_gru_reader,
    check_gru_step,
    check_latch,
    check_masked_softmax,
    check_multi_head,
    check_self_attention,
    check_top_words,
    check_words_to_flip,
)
from course_lib.models.gru import GRUCell
from course_lib.models.layers import masked_softmax

inf = torch.inf
TURNED_Z = (1, -1, 1)  # of r, z and candidate


def effective_by_loop(weights):
    return math.exp(-sum(w * math.log(w) for w in weights.tolist() if w))


def top_by_argsort(words, weights, k):
    order = torch.argsort(weights, descending=True, stable=True)
    return [words[int(i)] for i in order[:k]]


def flip_by_slices(predict, words, weights):
    order = weights.argsort(descending=True)
    for count in range(1, len(words)):
        kept = order[count:].sort().values.tolist()
        if (predict([words[place] for place in kept]) > 0.5) != (predict(words) > 0.5):
            return count
    return len(words)


def flip_first_copy(predict, words, weights):
    before, left = predict(words) > 0.5, list(words)
    for count, place in enumerate(weights.argsort(descending=True).tolist()[:-1], start=1):
        left.remove(words[place])
        if (predict(left) > 0.5) != before:
            return count
    return len(words)


def cell_with(step):
    """The class of a learner whose ``step`` takes the cell, x and h."""

    class Cell(torch.nn.Module):
        def __init__(self, inputs, hidden):
            super().__init__()
            for gate in "rzh":
                setattr(self, f"U_{gate}", torch.nn.Linear(inputs, hidden))
                setattr(self, f"W_{gate}", torch.nn.Linear(hidden, hidden, bias=False))

        def forward(self, x, h):
            return step(self, x, h)

    return Cell


def lerp_step(cell, x, h, sense=lambda z: z, past=lambda cell, r, h: cell.W_h(r * h)):
    r, z = (torch.sigmoid(u(x) + w(h)) for u, w in ((cell.U_r, cell.W_r), (cell.U_z, cell.W_z)))
    return torch.lerp(h, torch.tanh(cell.U_h(x) + past(cell, r, h)), sense(z)), z


def step_of_torch(cell, x, h):
    """With the report's sense of z, but torch's place for the reset gate."""
    turned = [
        torch.cat([getattr(getattr(cell, f"{kind}_{gate}"), part) * sign
                   for gate, sign in zip("rzh", TURNED_Z)])
        for kind, part in (("U", "weight"), ("W", "weight"), ("U", "bias"))
    ]  # fmt: skip
    z = torch.sigmoid(cell.U_z(x) + cell.W_z(h))
    return torch.gru_cell(x, h, *turned, torch.zeros(3 * h.shape[1])), z


def reader_with(over=lambda real, h: real.unsqueeze(1), module=torch.nn.Identity):
    """The class of a learner who lays the mask ``over`` the states in some way."""

    class Reader(torch.nn.Module):
        def __init__(self, vocabulary, width, hidden, classes, cell):
            super().__init__()
            self.hidden, self.more = hidden, module(width, hidden)
            self.embedding, self.cell = torch.nn.Embedding(vocabulary, width), cell(width, hidden)
            self.classifier = torch.nn.Linear(hidden, classes)

        def forward(self, tokens, mask):
            h, states = torch.zeros(len(tokens), self.hidden), []
            for word, real in zip(self.embedding(tokens).unbind(1), mask.unbind(1)):
                h = torch.lerp(h, self.cell(word, h)[0], over(real, h).float())
                states.append(h)
            return self.classifier(h), torch.stack(states, 1)

    return Reader


def over_units(real, h):
    """The mask without a new axis, where that raises nothing."""
    return real if len(real) == h.shape[1] else real.unsqueeze(1)


def latch(shut=-12.0, open=30.0, first=6.0, start=9.0, reads=1):
    """What unit 2 holds where its gate is opened by unit 1."""
    U_h = torch.zeros(2, 2)
    U_h[0, 0], U_h[1, reads] = first, 4.0
    W_z = torch.tensor([[0.0, 0.0], [open, 0.0]])
    weights = torch.zeros(2, 2), W_z, torch.tensor([start, shut]), U_h
    return check_latch.adapt(lambda: weights)


def softmax_by_log(scores, mask):
    scores = scores.masked_fill(~mask, -1e30)
    return (scores - scores.logsumexp(-1, keepdim=True)).exp() * mask


def pooling_by_einsum(h, mask, context):
    alpha = masked_softmax(torch.einsum("bnd,d->bn", h.tanh(), context), mask)
    return [torch.einsum("bn,bnd->bd", alpha, h), alpha]


def pooling_of_u(h, mask, context):
    u = torch.tanh(h)
    alpha = masked_softmax(u @ context, mask)
    return (alpha[..., None] * u).sum(1), alpha


def pooling_by_maximum(h, mask, context):
    alpha = masked_softmax(h.tanh() @ context, mask)
    return (alpha[..., None] * h).amax(1), alpha


def attend_by_torch(q, k, v, mask, **options):
    n = q.shape[1]
    hidden = mask.unsqueeze(1).expand(-1, n, -1)
    values = (v, torch.eye(n).expand(len(q), n, n))  # over the identity, attention gives itself
    return [
        scaled_dot_product_attention(q, k, value, attn_mask=hidden, **options).nan_to_num(0)
        for value in values
    ]


def attend_zeroed_afterwards(q, k, v, mask):
    alpha = (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1) * mask.unsqueeze(1)
    return alpha @ v, alpha


def cut(features, heads):
    return features.unflatten(2, (heads, -1)).transpose(1, 2)


def heads_with(
    scale=None, hides=True, last=lambda layer, mixed: layer(mixed), cut=cut, turned=True
):  # fmt: skip
    """The class of a learner who leaves the softmax to torch, or part of it out."""

    class Heads(torch.nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            make = partial(torch.nn.Linear, width, width, bias=False)
            self.query, self.key, self.value, self.output = (make() for _ in range(4))
            self.heads = heads

        def forward(self, x, mask):
            n = x.shape[1]
            hidden = mask[:, None, None].expand(-1, self.heads, n, -1) | (not hides)
            q, k, v = (cut(layer(x), self.heads) for layer in (self.query, self.key, self.value))
            values = (v, torch.eye(n).expand(len(x), self.heads, n, n))
            mixed, attention = (
                scaled_dot_product_attention(q, k, value, attn_mask=hidden, scale=scale)
                for value in values
            )
            mixed, attention = mixed.nan_to_num(0), attention.nan_to_num(0)
            mixed = (mixed.transpose(1, 2) if turned else mixed).reshape(x.shape)
            return last(self.output, mixed), attention

    return Heads


RIGHT = {
    check_effective_words: effective_by_loop,
    check_masked_softmax: softmax_by_log,
    check_attention_pooling: pooling_by_einsum,
    check_gru_step: cell_with(lerp_step),
    check_gru_reader: reader_with(),
    check_latch: latch(),
    check_top_words: top_by_argsort,
    check_self_attention: attend_by_torch,
    check_words_to_flip: flip_by_slices,
    check_multi_head: heads_with(),
}
WRONG = {
    check_effective_words: [
        (lambda w: torch.special.entr(w).sum(), "the entropy itself"),
        (lambda w: torch.exp(-(w * w.log()).sum()), "0 · log 0 is NaN"),
        (lambda w: torch.exp(torch.special.entr(w).sum()) / 3, "between 1 and all"),
    ],
    check_masked_softmax: [
        (lambda s, m: s * m / (s * m).sum(-1, keepdim=True).clamp(min=9), "the softmax is missing"),
        (lambda s, m: s.masked_fill(m, -inf).softmax(-1), "so hide ~mask"),
        (lambda s, m: s.sigmoid() * m, "a sigmoid weighs each token alone"),
    ],
    check_attention_pooling: [
        (pooling_of_u, "you pool tanh(h)"),
        (pooling_by_maximum, "alpha is right, but pooled is off"),
        (lambda *given: pooling_by_einsum(*given)[0], "2 results are expected (pooled, alpha),"),
    ],
    check_gru_step: [
        (cell_with(step_of_torch), "the reset gate acts after the product"),
        (cell_with(partial(lerp_step, sense=lambda z: 1 - z)), "z has the opposite sense"),
        (
            cell_with(partial(lerp_step, past=lambda cell, r, h: cell.W_h(h))),
            "no gradient reaches U_r.weight",
        ),
        (cell_with(lambda cell, x, h: lerp_step(cell, x, h)[0]), "2 results are expected (h, z)"),
        (GRUCell, "your network"),
    ],
    check_gru_reader: [
        (reader_with(lambda real, h: real.unsqueeze(1) | True), "the padding is read"),
        (reader_with(over_units), "give it an axis at the end"),
        (reader_with(lambda real, h: ~real.unsqueeze(1)), "mask is used the wrong way round"),
        (reader_with(module=torch.nn.GRU), "the library's GRU does the work"),
    ],
    check_latch: [
        (latch(shut=-3), "it fades"),
        (latch(open=3), "it is the word after call, so z of unit 2 must open there"),
        (latch(shut=12), "this name does not follow call"),
        (latch(reads=0, shut=12), "this word is call"),
        (check_latch.adapt(lambda: (torch.zeros(2),) * 4), "the shapes are [(2,), (2,), (2,),"),
    ],
    check_top_words: [
        (lambda w, a, k: a.argsort(descending=True)[:k].tolist(), "the places of the words"),
        (lambda w, a, k: sorted(zip(w, a.tolist()), key=lambda p: -p[1])[:k], "is a pair"),
        (lambda w, a, k: a.sort(descending=True)[0][:k].tolist(), "these are the weights"),
        (lambda w, a, k: [word for _, word in sorted(zip(a.tolist(), w))[:k]], "the smallest wei"),
        (lambda w, a, k: sorted(w)[:k], "sorted by the alphabet"),
    ],
    check_self_attention: [
        (lambda *given: attend_by_torch(*given, scale=1.0), "not divided by √d"),
        (lambda q, k, *rest: attend_by_torch(k, q, *rest), "q and k are exchanged."),
        (attend_zeroed_afterwards, "divide by what is left"),
    ],
    check_words_to_flip: [
        (lambda f, words, w: flip_by_slices(f, words, w) / len(words), "expected an int"),
        (lambda f, words, w: flip_by_slices(f, words, w) + 9, "between 1 and all"),
        (flip_first_copy, "you remove the first, whichever is heavier"),
    ],
    check_multi_head: [
        (heads_with(scale=1.0), "the division by the root"),
        (heads_with(hides=False), "padding gets weight"),
        (heads_with(turned=False), "the heads stand side by side before their positions"),
        (
            heads_with(cut=lambda x, heads: x.unflatten(2, (-1, heads)).movedim(3, 1)),
            "neighbouring features go to different heads",
        ),
        (heads_with(last=lambda layer, mixed: mixed), "no gradient reaches output.weight"),
        (heads_with(last=lambda layer, mixed: layer(mixed).flip(1)), "output"),
        (torch.nn.MultiheadAttention, "the library's MultiheadAttention does the work"),
    ],
}
