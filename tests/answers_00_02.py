"""Right answers to lessons 00 to 02, and wrong ones with what they are told."""

import math
from functools import partial

import torch
from torch.autograd.functional import jacobian
from torch.nn.functional import scaled_dot_product_attention

from course_kit.exercises import (
    check_attention_pooling,
    check_blend,
    check_effective_words,
    check_gru_jacobian,
    check_gru_step,
    check_last_state,
    check_masked_softmax,
    check_multi_head,
    check_report_weights,
    check_reverse,
    check_self_attention,
    check_top_words,
    check_words_to_flip,
)
from course_lib.models.layers import masked_softmax

inf = torch.inf
TURNED_Z = torch.tensor([1.0, -1.0, 1.0])  # of r, z and candidate


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


def gru_by_einsum(x, h, U, W, b):
    ux = torch.einsum("ghi,ni->gnh", U, x) + b.unsqueeze(1)
    r, z = torch.sigmoid(ux[:2] + torch.einsum("ghk,nk->gnh", W[:2], h))
    return torch.lerp(h, torch.tanh(ux[2] + torch.einsum("hk,nk->nh", W[2], r * h)), z)


def turned(part):
    return part * TURNED_Z.view(3, *[1] * (part.dim() - 1))


def gru_of_torch(x, h, U, W, b):
    """With the report's sense of z, but torch's place for the reset gate."""
    weights = turned(U).flatten(0, 1), turned(W).flatten(0, 1), turned(b).flatten()
    return torch.gru_cell(x, h, *weights, torch.zeros(b.numel()))


def report_weights_by_chunks(weight, bias, change=lambda z: -z):
    (r, z, n), (b_r, b_z, b_n) = weight.chunk(3), bias.chunk(3)
    return torch.stack([r, change(z), n]), torch.stack([b_r, change(b_z), b_n])


def last_state(x, mask, U, W, b, over=lambda real, h: real.unsqueeze(1)):
    h = torch.zeros(len(x), W.shape[1])
    for word, real in zip(x.unbind(1), mask.unbind(1)):
        h = torch.where(over(real, h), gru_by_einsum(word, h, U, W, b), h)
    return h


def last_state_by_unit(*given):
    """The mask without a new axis, where that raises nothing."""
    return last_state(
        *given, over=lambda real, h: real if len(real) == h.shape[1] else real.unsqueeze(1)
    )


def last_state_of_zeroed_words(x, mask, *weights):
    return last_state(x * mask[..., None], torch.ones_like(mask), *weights)


def step_jacobian(x, h, U, W, b, held=""):
    """∂h'/∂h where the gates and the candidate that are ``held`` do not move with h."""

    def step(h):
        of_r, of_z, of_g = (h.detach() if name in held else h for name in "rzg")
        r, z = (torch.sigmoid(U[n] @ x + W[n] @ of + b[n]) for n, of in enumerate((of_r, of_z)))
        return (1 - z) * h + z * torch.tanh(U[2] @ x + W[2] @ (r * of_g) + b[2])

    return jacobian(step, h)


def reverse_by_gather(x, mask, last=1):
    place = (mask.sum(1, keepdim=True) - last - torch.arange(x.shape[1])).clamp(0, x.shape[1] - 1)
    return x.gather(1, place.unsqueeze(2).expand_as(x)) * mask.unsqueeze(2)


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


def heads_with(scale=None, hides=True, last=lambda layer, mixed: layer(mixed)):
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
            q, k, v = (
                layer(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
                for layer in (self.query, self.key, self.value)
            )
            values = (v, torch.eye(n).expand(len(x), self.heads, n, n))
            mixed, attention = (
                scaled_dot_product_attention(q, k, value, attn_mask=hidden, scale=scale)
                for value in values
            )
            mixed, attention = mixed.nan_to_num(0), attention.nan_to_num(0)
            return last(self.output, mixed.transpose(1, 2).flatten(2)), attention

    return Heads


RIGHT = {
    check_effective_words: effective_by_loop,
    check_masked_softmax: softmax_by_log,
    check_attention_pooling: pooling_by_einsum,
    check_blend: torch.lerp,
    check_gru_step: gru_by_einsum,
    check_report_weights: report_weights_by_chunks,
    check_last_state: last_state,
    check_reverse: reverse_by_gather,
    check_top_words: top_by_argsort,
    check_self_attention: attend_by_torch,
    check_words_to_flip: flip_by_slices,
    check_multi_head: heads_with(),
    check_gru_jacobian: step_jacobian,
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
    check_blend: [
        (lambda h, new, z: torch.lerp(new, h, z), "z has the opposite sense"),
        (lambda h, new, z: h + z * new, "the old state is kept whole"),
        (lambda h, new, z: torch.lerp(h, new, z).tanh(), "there is a tanh around h: leave it out"),
    ],
    check_gru_step: [
        (gru_of_torch, "the reset gate acts after the product"),
        (lambda x, h, *gates: gru_by_einsum(x, h, *map(turned, gates)), "z has the opposite sense"),
        (lambda x, h, U, W, b: gru_by_einsum(x, h, U, W.mT, b), "W is transposed: use W as it is"),
    ],
    check_report_weights: [
        (lambda w, b: report_weights_by_chunks(w, b, lambda z: z), "z's weights change sign"),
        (
            lambda w, b: report_weights_by_chunks(w, b, lambda z: 1 - z),
            "b at (1, 0) is 0.7345, expected -0.2655",
        ),
        (lambda w, b: w.view(3, -1, w.shape[1]), "you returned 1"),
    ],
    check_last_state: [
        (last_state_by_unit, "give it an axis at the end"),
        (lambda x, mask, *weights: last_state(x, mask | True, *weights), "the padding is read"),
        (last_state_of_zeroed_words, "a padded word of zeros still moves the state"),
    ],
    check_reverse: [
        (lambda x, mask: (x * mask.unsqueeze(2)).flip(1), "the zeros of the padding come first"),
        (lambda x, mask: x.flip(0), "row 0 has a word at place 0, which is"),
        (lambda x, mask: reverse_by_gather(x, mask, last=0), "one place too late"),
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
        (heads_with(last=lambda layer, mixed: mixed), "no gradient reaches output.weight"),
        (heads_with(last=lambda layer, mixed: layer(mixed).flip(1)), "output"),
        (torch.nn.MultiheadAttention, "the library's MultiheadAttention does the work"),
    ],
    check_gru_jacobian: [
        (lambda *given: step_jacobian(*given, held="z"), "z depends on h, too"),
        (lambda *given: step_jacobian(*given, held="rzg"), "alone: z and the candidate"),
        (lambda *given: step_jacobian(*given).T, "rows and columns are exchanged"),
    ],
}
