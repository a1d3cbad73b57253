"""Every checker accepts right answers, however written, and tells wrong ones apart."""

import math
import re
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from answers_composition import RIGHT as COMPOSITION_RIGHT
from answers_composition import WRONG as COMPOSITION_WRONG
from answers_designs import RIGHT as DESIGNS_RIGHT
from answers_designs import WRONG as DESIGNS_WRONG
from answers_encoders import RIGHT as ENCODERS_RIGHT
from answers_encoders import WRONG as ENCODERS_WRONG
from answers_faithfulness import RIGHT as FAITHFULNESS_RIGHT
from answers_faithfulness import WRONG as FAITHFULNESS_WRONG
from answers_replication import RIGHT as REPLICATION_RIGHT
from answers_replication import WRONG as REPLICATION_WRONG
from answers_runs import RIGHT as RUNS_RIGHT
from answers_runs import WRONG as RUNS_WRONG
from answers_steps import RIGHT as STEPS_RIGHT
from answers_steps import WRONG as STEPS_WRONG
from answers_stretch import RIGHT as STRETCH_RIGHT
from answers_stretch import WRONG as STRETCH_WRONG
from torch import nn

from course_kit.exercises import checks
from course_kit.exercises.checks.attention import ATTENTION_POOLING, MASKED_SOFTMAX, REDUNDANCY
from course_kit.exercises.checks.blocks import BLOCK, MASKED_MAXIMUM, POOLED_SHARES, UNTRAINED
from course_kit.exercises.checks.composition import PHRASES
from course_kit.exercises.checks.core import CheckFailed, beside, check, judge
from course_kit.exercises.checks.documents import (
    EFFECTIVE_WORDS,
    PADDING_CHANGE,
    SENTENCES_IN_PLACE,
    SMALLEST_F1,
)
from course_kit.exercises.checks.measures import DIAGONALITY, GINI, TOP_WORDS, WORD_SHARES
from course_kit.exercises.checks.recurrent import (
    BLEND,
    GRU_STEP,
    LAST_STATE,
    REPORT_WEIGHTS,
    REVERSE,
)
from course_kit.exercises.checks.self_attention import ORDER, SELF_ATTENTION, UNIFORM_DIAGONALITY
from course_kit.exercises.checks.steps import HIGHWAY, PASSES_ON, STEP_COSINE, STEP_PENALTY, STEPS
from course_lib.models.gru import GRUCell
from course_lib.models.han import hop_redundancy
from course_lib.models.layers import Highway, masked_softmax
from course_lib.models.sanet import Block, SANetConfig
from course_lib.views.colours import contrast

inf = torch.inf


def effective_by_loop(weights):
    return math.exp(-sum(w * math.log(w) for w in weights.tolist() if w))


def effective_by_product(weights):
    return 1 / (weights**weights).prod()  # exp(−Σ w log w), and 0⁰ is 1


def effective_of_the_real(weights):
    weights = weights[weights > 0]
    return torch.exp(-(weights * weights.log()).sum())


def place_by_loop(s, mask):
    placed, vectors = torch.zeros(*mask.shape[:2], s.shape[1]), iter(s)
    for document, sentences in enumerate(mask):
        for sentence, words in enumerate(sentences):
            if words.any():
                placed[document, sentence] = next(vectors)
    return placed


def place_by_index(s, mask):
    placed = s.new_zeros(mask.shape[0] * mask.shape[1], s.shape[1])
    placed[mask.flatten(0, 1).any(1).nonzero().squeeze(1)] = s
    return placed.unflatten(0, mask.shape[:2])


def place_by_scatter(s, mask):
    real = mask.any(2).unsqueeze(2)
    return torch.zeros(*real.shape[:2], s.shape[1]).masked_scatter(real, s)


def place_from_the_first(s, mask):
    placed = torch.zeros(mask.shape[0] * mask.shape[1], s.shape[1])
    placed[: len(s)] = s
    return placed.view(*mask.shape[:2], -1)


def place_at_the_front(s, mask):
    parts = s.split(mask.any(2).sum(1).tolist())
    return torch.stack(
        [torch.cat([part, torch.zeros(mask.shape[1] - len(part), s.shape[1])]) for part in parts]
    )


def place_by_number(s, mask):
    return place_by_scatter(s, mask.transpose(0, 1)).transpose(0, 1)


def place_into(value):
    def place(s, mask):
        real = mask.any(2).unsqueeze(2)
        return torch.where(real, place_by_scatter(s, mask), value)

    return place


def place_with_the_mean(s, mask):
    return place_into(s.sum())(s, mask)


def place_whole_sentences(s, mask):
    placed = torch.zeros(*mask.shape[:2], s.shape[1])
    placed[mask.all(2)] = s
    return placed


def f1_of(tp, fp, fn):
    return 2 * tp / max(1, 2 * tp + fp + fn)


def f1_by_trying(positive, negative, wrong):
    kinds = [
        (fn, wrong - fn) for fn in range(wrong + 1) if fn <= positive and wrong - fn <= negative
    ]
    return min(f1_of(positive - fn, fp, fn) for fn, fp in kinds)


def f1_by_formula(positive, negative, wrong):
    return max(0.0, 2 * (positive - wrong) / (2 * positive - wrong)) if wrong < positive else 0.0


def f1_by_tensors(positive, negative, wrong):
    fn = torch.arange(max(0, wrong - negative), min(wrong, positive) + 1)
    tp = positive - fn
    return (2 * tp / (2 * tp + wrong).clamp(min=1)).min()


def change_by_pad(predict, tokens, mask):
    wide = torch.nn.functional.pad(tokens, (0, 3, 0, 2))
    wide_mask = torch.nn.functional.pad(mask, (0, 3, 0, 2), value=False)
    return (predict(wide, wide_mask) - predict(tokens, mask)).abs().max()


def change_by_zeros(predict, tokens, mask, sentences=2, words=3, real=False, first=False):
    documents, height, width = tokens.shape
    wide = tokens.new_zeros(documents, height + sentences, width + words)
    wide_mask = torch.full(wide.shape, real)
    place = (
        slice(None),
        slice(sentences, None) if first else slice(height),
        slice(words, None) if first else slice(width),
    )
    wide[place], wide_mask[place] = tokens, mask
    return float((predict(wide, wide_mask) - predict(tokens, mask)).abs().max())


def change_by_cat(predict, tokens, mask):
    wide, wide_mask = tokens, mask
    for axis, size in ((1, 2), (2, 3)):
        more = torch.zeros_like(wide.narrow(axis, 0, 1)).repeat_interleave(size, axis)
        wide, wide_mask = torch.cat([wide, more], axis), torch.cat([wide_mask, more.bool()], axis)
    return torch.dist(predict(wide, wide_mask), predict(tokens, mask), p=inf)


def logit_differences(predict, tokens, mask):
    padding = torch.nn.ConstantPad3d((0, 3, 0, 2, 0, 0), 0)
    return predict(padding(tokens), padding(mask)) - predict(tokens, mask)


def softmax_by_loop(scores, mask):
    weights = torch.zeros_like(scores)
    for row, real in enumerate(mask):
        if real.any():
            weights[row, real] = scores[row, real].softmax(0)
    return weights


def softmax_by_log(scores, mask):
    scores = scores.masked_fill(~mask, -1e30)
    return (scores - scores.logsumexp(-1, keepdim=True)).exp() * mask


def softmax_without_mask(scores, mask):
    return scores.softmax(-1)


def softmax_of_zeros(scores, mask):
    return torch.softmax(scores * mask, dim=-1)


def softmax_zeroed_afterwards(scores, mask):
    return scores.softmax(-1) * mask


def softmax_nan(scores, mask):
    return scores.masked_fill(~mask, -inf).softmax(-1)


def softmax_uniform_where_empty(scores, mask):
    return scores.masked_fill(~mask, -1e9).softmax(-1)


def softmax_down_the_columns(scores, mask):
    scores = scores.masked_fill(~mask, -inf)
    return scores.softmax(0).nan_to_num(0)


def softmax_over_one(scores, mask):
    return scores.unsqueeze(-1).softmax(-1).squeeze(-1) * mask


def softmax_of_tanh(scores, mask):
    return softmax_by_loop(scores.tanh(), mask)


def softmax_overflowing(scores, mask):
    weights = scores.exp() * mask
    total = weights.sum(-1, keepdim=True)
    return weights / torch.where(mask.any(-1, keepdim=True), total, 1.0)


def softmax_minus_the_batch_maximum(scores, mask):
    weights = (scores - scores.max()).exp() * mask
    total = weights.sum(-1, keepdim=True)
    return weights / torch.where(mask.any(-1, keepdim=True), total, 1.0)


def softmax_minus(whose):
    assert whose == "the padding's"

    def softmax(scores, mask):
        powers = (scores - scores.amax(-1, keepdim=True)).exp() * mask
        total = powers.sum(-1, keepdim=True)
        return powers / torch.where(total > 0, total, 1.0)

    return softmax


def softmax_in_place(scores, mask):
    scores[~mask] = -1e30
    return scores.softmax(-1) * mask


def softmax_in_numpy(scores, mask):
    return softmax_by_loop(scores, mask).numpy()


def softmax_in_doubles(scores, mask):
    return softmax_by_loop(scores, mask).double()


def softmax_with_an_axis_left(scores, mask):
    return softmax_by_loop(scores, mask).unsqueeze(-1)


def softmax_that_stumbles(scores, mask):
    return scores[mask].view(7, -1)


def pooling_by_loop(h, mask, context):
    alpha = softmax_by_loop(torch.stack([torch.tanh(row) @ context for row in h]), mask)
    return torch.stack([(a[:, None] * row).sum(0) for a, row in zip(alpha, h)]), alpha


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


def pooling_over_one(h, mask, context):
    scores = h.tanh() @ context.unsqueeze(1)  # (batch, length, 1)
    return pooled(h, scores.softmax(-1).squeeze(-1) * mask)


def pooling_with_tanh_on_the_score(h, mask, context):
    return pooled(h, masked_softmax(torch.tanh(h.tanh() @ context), mask))


def pooling_with_tanh_around_all(h, mask, context):
    return pooled(h, masked_softmax(torch.tanh(h @ context), mask))


def pooling_overflowing(h, mask, context):
    return pooled(h, softmax_overflowing(h.tanh() @ context, mask))


def pooling_minus_the_batch_maximum(h, mask, context):
    return pooled(h, softmax_minus_the_batch_maximum(h.tanh() @ context, mask))


def pooling_of_raw_scores(h, mask, context):
    return pooled(h, masked_softmax(h @ context, mask))


def pooling_by_plain_mean(h, mask, context):
    return pooled(h, masked_softmax(torch.zeros_like(h[..., 0]), mask))


def pooling_by_maximum(h, mask, context):
    alpha = masked_softmax(h.tanh() @ context, mask)
    return (alpha[..., None] * h).amax(1), alpha


def pooling_alone(h, mask, context):
    return pooling_by_einsum(h, mask, context)[0]


def gru_by_loop(x, h, U, W, b):
    new = torch.empty_like(h)
    for row in range(len(x)):
        r, z = (torch.sigmoid(U[g] @ x[row] + W[g] @ h[row] + b[g]) for g in (0, 1))
        candidate = torch.tanh(U[2] @ x[row] + W[2] @ (r * h[row]) + b[2])
        new[row] = (1 - z) * h[row] + z * candidate
    return new


def gru_by_cell(x, h, U, W, b):
    cell = GRUCell(x.shape[1], h.shape[1])
    cell.u.weight.data, cell.u.bias.data = U.reshape(-1, x.shape[1]), b.reshape(-1)
    cell.w.weight.data = W.reshape(-1, h.shape[1])
    return cell(x, h)


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


def gru_turning(*gates):
    def step(x, h, U, W, b):
        turned = [w.T if gate in gates else w for gate, w in enumerate(W)]
        return gru_like()(x, h, U, torch.stack(turned), b)

    return step


def gru_keeping(old, new):
    def step(x, h, U, W, b):
        r, z = (torch.sigmoid(x @ U[g].T + h @ W[g].T + b[g]) for g in (0, 1))
        candidate = torch.tanh(x @ U[2].T + (r * h) @ W[2].T + b[2])
        return (h if old else (1 - z) * h) + (candidate if new else z * candidate)

    return step


def gini_by_differences(attention):
    w = attention.flatten()
    return (w[:, None] - w).abs().mean() / (2 * w.mean())


def gini_by_lorenz(attention):
    w = np.sort(attention.numpy().ravel().astype(float))
    lorenz = np.concatenate([[0], w.cumsum() / w.sum()])
    return float(1 - (lorenz[1:] + lorenz[:-1]).mean())


def gini_by_ranks(attention):
    w = attention.flatten().sort().values
    i = torch.arange(1, len(w) + 1)
    return 2 * (i * w).sum() / (len(w) * w.sum()) - (len(w) + 1) / len(w)


def gini_row_by_row(attention):
    return torch.stack([gini_by_differences(row) for row in attention]).mean()


def gini_normalised(attention):
    n = len(attention)
    return gini_by_ranks(attention) * n / max(1, n - 1)


def gini_unsorted(attention):
    w = attention.flatten()
    i = torch.arange(1, len(w) + 1)
    return ((2 * i - len(w) - 1) * w).sum() / (len(w) * w.sum())


def gini_falling(attention):
    w = attention.flatten().sort(descending=True).values
    i = torch.arange(1, len(w) + 1)
    return ((2 * i - len(w) - 1) * w).sum() / (len(w) * w.sum())


def gini_from_zero(attention):
    w = attention.flatten().sort().values
    i = torch.arange(len(w))
    return ((2 * i - len(w) - 1) * w).sum() / (len(w) * w.sum())


def gini_impurity(attention):
    p = attention.flatten() / attention.sum()
    return 1 - (p**2).sum()


def gini_beyond(attention):
    return 1.5 + gini_by_ranks(attention)


def diagonality_by_loop(attention, bandwidth):
    n, total = len(attention), 0.0
    for i in range(n):
        total += float(attention[i, max(0, i - bandwidth) : i + bandwidth + 1].sum())
    return total / float(attention.sum())


def diagonality_by_tri(attention, bandwidth):
    return attention.tril(bandwidth).triu(-bandwidth).sum() / attention.sum()


def diagonality_by_diagonals(attention, bandwidth):
    n = len(attention)
    return sum(
        attention.diagonal(k).sum() for k in range(-bandwidth, bandwidth + 1) if abs(k) < n
    ) / len(attention)


def distance(attention):
    place = torch.arange(len(attention))
    return (place[:, None] - place).abs()


def reverse_by_gather(x, mask):
    lengths = mask.sum(1, keepdim=True)
    place = (lengths - 1 - torch.arange(x.shape[1])).clamp(min=0)
    return x.gather(1, place.unsqueeze(2).expand_as(x)) * mask.unsqueeze(2)


def reverse_by_index(x, mask):
    turned = torch.zeros_like(x)
    for row in range(len(x)):
        turned[row, mask[row]] = x[row, mask[row]].flip(0)
    return turned


def reverse_by_roll(x, mask):
    shifts = mask.shape[1] - mask.sum(1)
    real = x * mask.unsqueeze(2)
    rows = [row.flip(0).roll(-int(s), 0) for row, s in zip(real, shifts, strict=True)]
    return torch.stack(rows)


def reverse_repeating_the_first(x, mask):
    lengths = mask.sum(1, keepdim=True)
    place = (lengths - 1 - torch.arange(x.shape[1])).clamp(min=0)
    return x.gather(1, place.unsqueeze(2).expand_as(x))


def reverse_one_too_late(x, mask):
    lengths = mask.sum(1, keepdim=True)
    place = (lengths - torch.arange(x.shape[1])).clamp(0, x.shape[1] - 1)
    return x.gather(1, place.unsqueeze(2).expand_as(x)) * mask.unsqueeze(2)


def blend_by_difference(h, candidate, z):
    return h + z * (candidate - h)


def report_weights_by_chunks(weight, bias):
    (r, z, n), (b_r, b_z, b_n) = weight.chunk(3), bias.chunk(3)
    return torch.stack([r, -z, n]), torch.stack([b_r, -b_z, b_n])


def report_weights_by_cell(weight, bias):
    gru = nn.GRU(weight.shape[1], len(bias) // 3)
    gru.weight_ih_l0.data, gru.bias_ih_l0.data = weight, bias
    u = GRUCell.from_torch(gru).u
    return list(part.reshape(3, -1, *part.shape[1:]) for part in (u.weight, u.bias))


def turned_weights(change):
    """A wrong conversion: ``change`` of PyTorch's stacked weights and of its stacked biases."""

    def convert(weight, bias):
        return tuple(change(part.view(3, -1, *part.shape[1:])) for part in (weight, bias))

    return convert


def times(*signs):
    return turned_weights(
        lambda part: part * torch.tensor(signs).view(3, *[1] * (part.dim() - 1)).float()
    )


def every_third_row(weight, bias):
    return tuple(torch.stack([part[0::3], -part[1::3], part[2::3]]) for part in (weight, bias))


def last_state_by_where(x, mask, U, W, b):
    h = torch.zeros(len(x), W.shape[1])
    for step in range(x.shape[1]):
        h = torch.where(mask[:, step, None], gru_by_einsum(x[:, step], h, U, W, b), h)
    return h


def last_state_by_unit(x, mask, U, W, b):
    """As ``last_state_by_where`` without the mask's new axis, where that raises nothing."""
    h = torch.zeros(len(x), W.shape[1])
    for step in range(x.shape[1]):
        real = mask[:, step] if len(x) == W.shape[1] else mask[:, step, None]
        h = torch.where(real, gru_by_einsum(x[:, step], h, U, W, b), h)
    return h


def last_state_row_by_row(x, mask, U, W, b):
    found = []
    for row, real in zip(x, mask, strict=True):
        h = torch.zeros(1, W.shape[1])
        for word in row[real]:
            h = gru_by_loop(word[None], h, U, W, b)
        found.append(h[0])
    return torch.stack(found)


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


def state_at(place):
    """A wrong last state: that after ``place(mask)`` words."""

    def run(x, mask, U, W, b):
        return every_state(x, U, W, b)[torch.arange(len(x)), place(mask)]

    return run


def last_state_of_zeroed_words(x, mask, U, W, b):
    return every_state(x * mask[..., None], U, W, b)[:, -1]


def last_state_wiped_by_padding(x, mask, U, W, b):
    return every_state(x, U, W, b)[:, -1] * mask[:, -1, None]


def last_state_of_the_padding(x, mask, U, W, b):
    h = torch.zeros(len(x), W.shape[1])
    for t in range(x.shape[1]):
        h = torch.where(mask[:, t, None], h, gru_like()(x[:, t], h, U, W, b))
    return h


def last_state_mean(x, mask, U, W, b):
    states = every_state(x, U, W, b)[:, 1:]
    return torch.stack(
        [s[m].mean(0) if m.any() else 0 * s[0] for s, m in zip(states, mask, strict=True)]
    )


def last_state_from_behind(x, mask, U, W, b):
    return last_state_by_where(reverse_by_roll(x, mask), mask, U, W, b)


def redundancy_by_loop(alpha):
    values = []
    for a in alpha:
        difference = a @ a.T - torch.eye(len(a))
        values.append(torch.linalg.matrix_norm(difference) ** 2)
    return torch.stack(values)


def redundancy_by_einsum(alpha):
    overlap = torch.einsum("nhl,nkl->nhk", alpha, alpha)
    overlap.diagonal(dim1=1, dim2=2).sub_(1)
    return torch.einsum("nhk,nhk->n", overlap, overlap)


def overlap(alpha):
    return alpha @ alpha.mT


def eye(alpha):
    return torch.eye(alpha.shape[1])


def shares_by_loop(word, sentence):
    return torch.stack([torch.stack([b * a for a, b in zip(w, s)]) for w, s in zip(word, sentence)])


def shares_by_einsum(word, sentence):
    return torch.einsum("bsw,bs->bsw", word, sentence)


def top_by_argsort(words, weights, k):
    order = torch.argsort(weights, descending=True, stable=True)
    return [words[int(i)] for i in order[:k]]


def top_by_pairs(words, weights, k):
    pairs = [(-w, i, word) for i, (w, word) in enumerate(zip(weights.tolist(), words))]
    return [word for _, _, word in sorted(pairs)[:k]]


def top_one_by_one(words, weights, k):
    weights, found = weights.tolist(), []
    while len(found) < min(k, len(words)):
        best = weights.index(max(weights))
        weights[best] = -1
        found.append(words[best])
    return found


def attend_to_real_queries_alone(q, k, v, mask):
    _, alpha = attend_by_loop(q, k, v, mask)
    alpha = alpha * mask.unsqueeze(2)
    return alpha @ v, alpha


def attend_by_loop(q, k, v, mask):
    alpha = torch.zeros(len(q), q.shape[1], k.shape[1])
    for row, real in enumerate(mask):
        for i in range(q.shape[1]):
            if real.any():
                scores = (k[row, real] * q[row, i]).sum(1) / q.shape[2] ** 0.5
                alpha[row, i, real] = scores.softmax(0)
    return torch.einsum("bij,bjv->biv", alpha, v), alpha


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


def attend_mixing_by_columns(q, k, v, mask):
    alpha = attend()(q, k, v, mask)[1]
    return alpha.mT @ v, alpha


def attend_squeezing(q, k, v, mask):
    alpha = attend()(q, k, v, mask)[1]
    return 2 * (alpha @ v), alpha


def highway_by_layer(x, w_g, b_g, w_f, b_f):
    layer = Highway(x.shape[1])
    weights = {"gates.0.weight": w_g.T, "gates.0.bias": b_g,
               "transforms.0.weight": w_f.T, "transforms.0.bias": b_f}  # fmt: skip
    layer.load_state_dict(weights)
    return layer(x)


def highway_like(carry=True, bend=torch.relu, gate=torch.sigmoid, turned=False):
    def highway(x, w_g, b_g, w_f, b_f):
        if turned:
            w_g, w_f = w_g.T, w_f.T
        g, f = gate(x @ w_g + b_g), bend(x @ w_f + b_f)
        return f + g * (x - f) if carry else x + g * (f - x)

    return highway


def steps_by_list(h, q, w, steps, refine, control):
    entries, rows = list(h), []
    for _ in range(steps):
        scores = torch.stack([q @ w @ entry for entry in entries])
        a = (scores - scores.max()).exp()
        a = a / a.sum()
        s = refine(sum(share * entry for share, entry in zip(a, entries, strict=True)))
        rows.append(torch.nn.functional.pad(a, (0, len(h) + steps - 1 - len(entries))))
        entries, q = [*entries, s], control(s, q)
    return torch.stack(rows)


def steps_summaries_first(h, *rest):
    rows = steps_by_list(h, *rest)
    ends = [len(h) + step for step in range(len(rows))]
    return torch.stack(
        [torch.cat([row[:end].roll(end - len(h)), row[end:]]) for row, end in zip(rows, ends)]
    )


def steps_in_place(written=True, keep=lambda found, s: s, left=lambda w: w, turn=None, scale=1.0):
    """All columns from the start, those of the future masked unless ``written`` is False."""

    def take(h, q, w, steps, refine, control):
        entries = torch.cat([h, h.new_zeros(steps - 1, h.shape[1])])
        rows = []
        for step in range(steps):
            scores = scale * (entries @ (q @ left(w)))
            if written:
                scores[len(h) + step :] = -inf
            rows.append(scores.softmax(0))
            found = rows[-1] @ entries
            s = refine(found)
            if step + 1 < steps:
                entries[len(h) + step] = keep(found, s)
                q = (turn or control)(s, q)
        return torch.stack(rows)

    return take


def alone(h, q, w):
    return torch.softmax(h @ (q @ w), 0)


def queries_without_summaries(h, q, w, steps, refine, control):
    """Of the steps that look at the words alone."""
    for _ in range(steps):
        yield q
        q = control(refine(alone(h, q, w) @ h), q)


def pairs_by_loop(attention, product, both=True):
    """The sum over pairs of steps of each document."""
    found = []
    for rows in attention:
        pairs = [(i, j) for i in range(len(rows)) for j in range(len(rows)) if i != j]
        pairs = pairs if both else [(i, j) for i, j in pairs if i < j]
        found.append(sum((product(rows[i], rows[j]) for i, j in pairs), torch.tensor(0.0)))
    return torch.stack(found)


def penalty_by_loop(attention, gamma):
    return gamma * pairs_by_loop(attention, torch.dot) / (2 * attention.shape[1])


def penalty_by_einsum(attention, gamma):
    overlap = torch.einsum("nic,njc->nij", attention, attention)
    return gamma / attention.shape[1] * overlap.tril(-1).sum((1, 2))


def penalty_by_squares(attention, gamma):
    """(Σ rows)² holds every product, Σ rows² those with themselves."""
    every = attention.sum(1).square().sum(1) - attention.square().sum((1, 2))
    return gamma * every / (2 * attention.shape[1])


def cosine_of_rows(a, b):
    return torch.cosine_similarity(a, b, dim=0)


def cosine_by_loop(attention):
    steps = attention.shape[1]
    return pairs_by_loop(attention, cosine_of_rows) / (steps * (steps - 1))


def cosine_by_numpy(attention):
    rows = attention.numpy() / np.linalg.norm(attention.numpy(), axis=2, keepdims=True)
    upper = np.triu_indices(attention.shape[1], 1)
    return torch.from_numpy((rows @ rows.transpose(0, 2, 1))[:, upper[0], upper[1]].mean(1))


def cosine_by_sum(attention):
    unit = attention / attention.square().sum(2, keepdim=True).sqrt()
    steps = attention.shape[1]
    return (unit.sum(1).square().sum(1) - steps) / (steps * (steps - 1))


def passes_by_loop(attention, mask, threshold):
    words = mask.shape[1]
    return torch.tensor(
        [all(row[words:].sum() >= threshold for row in rows[1:]) for rows in attention]
    )


def passes_by_least(attention, mask, threshold):
    return attention[:, 1:, mask.shape[1] :].sum(2).amin(1) >= threshold


def passes_by_count(attention, mask, threshold):
    steps = attention.shape[1]
    return (attention[:, :, 1 - steps :].sum(2)[:, 1:] >= threshold).sum(1) == steps - 1


def order_by_trying(function, x):
    kinds = {"invariant", "equivariant"}
    before = function(x)
    for _ in range(20):
        order = torch.randperm(len(x))
        after = function(x[order])
        if not torch.allclose(after, before, atol=1e-5):
            kinds.discard("invariant")
        if len(before) != len(x) or not torch.allclose(after, before[order], atol=1e-5):
            kinds.discard("equivariant")
    return kinds.pop() if kinds else "neither"


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


def order_in_doubles(function, x):
    x = x.double()
    before, orders = function(x), [torch.randperm(len(x)) for _ in range(30)]
    if all(torch.allclose(function(x[order]), before, atol=1e-6) for order in orders):
        return "invariant"
    if len(before) == len(x) and all(
        torch.allclose(function(x[order]), before[order], atol=1e-6) for order in orders
    ):
        return "equivariant"
    return "neither"


def order_of_one(order, close=lambda a, b: torch.allclose(a, b, atol=1e-5)):
    def kind(function, x):
        p = order(len(x))
        before, after = function(x), function(x[p])
        if close(after, before):
            return "invariant"
        return "equivariant" if len(before) == len(x) and close(after, before[p]) else "neither"

    return kind


def shuffled(n):
    return torch.randperm(n, generator=torch.Generator().manual_seed(n))


def order_without_shuffling_the_result(function, x):
    same = torch.allclose(function(x[shuffled(len(x))]), function(x), atol=1e-5)
    return "invariant" if same else "neither"


def order_by_sums_of_rows(function, x):
    kind = order_by_swaps(function, x)
    before, after = function(x), function(x.flip(0))
    summed = len(before) == len(x) and torch.allclose(after.sum(0), before.sum(0), atol=1e-4)
    return "equivariant" if kind == "neither" and summed else kind


def order_by_shape(function, x):
    return "equivariant" if function(x).shape == x.shape else "invariant"


def uniform_by_pairs(n, b):
    return sum(abs(i - j) <= b for i in range(n) for j in range(n)) / n**2


def uniform_by_matrix(n, b):
    return diagonality_by_tri(torch.full((n, n), 1 / n), b)


def uniform_by_distances(n, b):
    return (n + sum(2 * (n - k) for k in range(1, min(b, n - 1) + 1))) / n**2


def maximum_by_loop(x, mask):
    values, places = torch.zeros(len(x), x.shape[2]), torch.full((len(x), x.shape[2]), -1)
    for row, real in enumerate(mask):
        if real.any():
            where = real.nonzero().squeeze(1)
            values[row], best = x[row, where].max(0)
            places[row] = where[best]
    return values, places


def maximum_by_filling(x, mask):
    values, places = torch.where(mask[..., None], x, -inf).max(1)
    empty = ~mask.any(1)
    values[empty], places[empty] = 0.0, -1
    return [values, places]


def maximum_by_topk(x, mask):
    values, places = x.masked_fill(~mask[..., None], -inf).topk(1, 1)
    there = mask.any(1)[:, None]
    return torch.where(there, values[:, 0], 0.0), torch.where(there, places[:, 0], -1)


def maximum_filled_with(value, blank=True):
    def maximum(x, mask):
        values, places = x.masked_fill(~mask[..., None], value).max(1)
        if blank:
            empty = ~mask.any(1)
            values[empty], places[empty] = 0.0, -1
        return values, places

    return maximum


def maximum_blanked(empty, value=0.0, place=-1):
    def maximum(x, mask):
        values, places = x.masked_fill(~mask[..., None], -inf).max(1)
        values = values.nan_to_num(neginf=value)
        return values, torch.where(empty(mask).expand_as(places), place, places)

    return maximum


def maximum_of_all(x, mask):
    return tuple(x.max(1))


def maximum_at_the_first_place(x, mask):
    values, places = maximum_by_loop(x, mask)
    return values, places.clamp(min=0)


def maximum_placed_by_size(x, mask):
    values, _ = maximum_by_loop(x, mask)
    return values, maximum_by_loop(x.abs(), mask)[1]


def maximum_of_numbers(x, mask):
    values, places = maximum_by_loop(x, mask)
    return values, places.float()


def shares_by_bincount(places, mask):
    rows = [torch.bincount(row[row >= 0], minlength=mask.shape[1]) for row in places]
    return torch.stack(rows) / places.shape[1]


def shares_by_comparison(places, mask):
    return (places[:, :, None] == torch.arange(mask.shape[1])).float().mean(1)


def shares_counted_one_by_one(places, mask):
    shares = torch.zeros(mask.shape)
    for row, found in enumerate(places.tolist()):
        for place in found:
            if place >= 0:
                shares[row, place] += 1 / len(found)
    return shares


def block_by_layers(x, w_qk, w_v, w_1, b_1, w_2, b_2):
    block = Block(SANetConfig(hidden=x.shape[1], dropout=0.0))
    forward = block.feed_forward
    for layer, weight in (
        (block.mixer.w_qk, w_qk), (block.mixer.w_v, w_v), (forward.w_1, w_1), (forward.w_2, w_2)
    ):  # fmt: skip
        layer.weight.data = weight.T.contiguous()
    forward.w_1.bias.data, forward.w_2.bias.data = b_1, b_2
    return block(x[None], torch.ones(1, len(x), dtype=torch.bool))[0][0]


def normed_in_numpy(x):
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)


def block_in_numpy(*inputs):
    x, w_qk, w_v, w_1, b_1, w_2, b_2 = (value.double().numpy() for value in inputs)
    scores = x @ w_qk @ x.T
    weights = np.exp(scores - scores.max(1, keepdims=True))
    x = normed_in_numpy(x + weights / weights.sum(1, keepdims=True) @ x @ w_v)
    x = normed_in_numpy(x + np.maximum(0, x @ w_1 + b_1) @ w_2 + b_2)
    return torch.from_numpy(x).float()


def block_like(divisor=1.0, axis=1, turned=False, residual=(True, True), norms=(True, True),
               relu=torch.relu, old=False, values=True):  # fmt: skip
    def normed(x, wanted):
        return torch.nn.functional.layer_norm(x, x.shape[1:]) if wanted else x

    def block(x, w_qk, w_v, w_1, b_1, w_2, b_2):
        first = x
        scale = x.shape[1] ** 0.5 if divisor == "root" else divisor
        scores = x @ (w_qk.T if turned else w_qk) @ x.T / scale
        mixed = scores.softmax(axis) @ (x @ w_v if values else x)
        x = normed(residual[0] * x + mixed, norms[0])
        bent = relu(x @ w_1 + b_1) @ w_2 + b_2
        return normed((first if old else residual[1] * x) + bent, norms[1])

    return block


def block_without(*biases):
    def block(*inputs):
        zeroed = [0 * part if place in biases else part for place, part in enumerate(inputs)]
        return block_in_numpy(*zeroed)

    return block


def untrained_by_entropy(attention, mask):
    rows = torch.special.entr(attention).sum(2).sum(1) / mask.sum(1)
    return int((rows / mask.sum(1).log()).argmax())


def blocks_of(attention, mask):
    return [matrix[real][:, real] for matrix, real in zip(attention, mask)]


def untrained_by_gini(attention, mask):
    found = [gini_normalised(block).item() for block in blocks_of(attention, mask)]
    return found.index(min(found))


def place_of(choose, measure, padded=False):
    def untrained(attention, mask):
        parts = list(attention) if padded else blocks_of(attention, mask)
        found = [float(measure(part)) for part in parts]
        return found.index(choose(found))

    return untrained


def entropy_of_rows(entropy):
    return lambda attention: entropy(attention).sum() / len(attention)


RIGHT = {
    EFFECTIVE_WORDS: (effective_of_the_real, effective_by_loop, effective_by_product),
    SENTENCES_IN_PLACE: (place_by_scatter, place_by_loop, place_by_index),
    SMALLEST_F1: (f1_by_trying, f1_by_formula, f1_by_tensors),
    PADDING_CHANGE: (change_by_pad, change_by_zeros, change_by_cat),
    MASKED_SOFTMAX: (masked_softmax, softmax_by_loop, softmax_by_log),
    ATTENTION_POOLING: (ATTENTION_POOLING.reference, pooling_by_loop, pooling_by_einsum),
    BLEND: (BLEND.reference, blend_by_difference, torch.lerp),
    GRU_STEP: (gru_by_cell, gru_by_loop, gru_by_einsum),
    REPORT_WEIGHTS: (
        REPORT_WEIGHTS.reference,
        report_weights_by_chunks,
        report_weights_by_cell,
    ),
    LAST_STATE: (last_state_by_where, last_state_row_by_row, last_state_of_packed),
    GINI: (gini_by_ranks, gini_by_differences, gini_by_lorenz),
    DIAGONALITY: (diagonality_by_tri, diagonality_by_loop, diagonality_by_diagonals),
    REVERSE: (reverse_by_index, reverse_by_gather, reverse_by_roll),
    REDUNDANCY: (hop_redundancy, redundancy_by_loop, redundancy_by_einsum),
    HIGHWAY: (highway_by_layer, highway_like(), HIGHWAY.reference),
    STEPS: (steps_by_list, steps_in_place(), STEPS.reference),
    STEP_PENALTY: (penalty_by_einsum, penalty_by_loop, penalty_by_squares),
    STEP_COSINE: (cosine_by_numpy, cosine_by_loop, cosine_by_sum),
    PASSES_ON: (passes_by_loop, passes_by_least, passes_by_count),
    WORD_SHARES: (shares_by_einsum, shares_by_loop, lambda a, b: a * b[..., None]),
    TOP_WORDS: (top_by_argsort, top_by_pairs, top_one_by_one),
    SELF_ATTENTION: (attend(), attend_by_loop, attend_by_torch),
    ORDER: (order_by_trying, order_by_swaps, order_in_doubles),
    UNIFORM_DIAGONALITY: (uniform_by_distances, uniform_by_pairs, uniform_by_matrix),
    MASKED_MAXIMUM: (maximum_by_filling, maximum_by_loop, maximum_by_topk),
    POOLED_SHARES: (shares_by_comparison, shares_by_bincount, shares_counted_one_by_one),
    BLOCK: (block_like(), block_by_layers, block_in_numpy),
    UNTRAINED: (untrained_by_gini, untrained_by_entropy, place_of(min, gini_by_differences)),
}
WRONG = {
    EFFECTIVE_WORDS: [
        (lambda w: torch.special.entr(w).sum(), "the entropy itself"),
        (lambda w: torch.exp(torch.xlogy(w, w).sum()), "the sign of the entropy is lost"),
        (lambda w: torch.exp(-(w * w.clamp(min=1e-30).log2()).sum()), "base 2"),
        (lambda w: 1 / (w @ w), "1/Σw²"),
        (lambda w: (w > 0).sum().float(), "two of 0.99 and 0.01 are not two"),
        (lambda w: 1 / w.max(), "looks at one word alone"),
        (lambda w: torch.exp(-(w * w.log()).sum()), "0 · log 0 is NaN"),
        (lambda w: torch.exp(torch.special.entr(w).sum()) / 3, "between 1 and all"),
        (lambda w: torch.special.entr(w).exp(), "expected (): one number for the sentence"),
        (lambda w: torch.exp(torch.special.entr(w).sum() / math.log(10)), "has base 10"),
        (lambda w: 2 ** torch.special.entr(w).sum(), "the power base 2"),
        (lambda w: torch.special.entr(w).mean().exp(), "you take the mean over the words"),
        (lambda w: torch.exp(-w * (w + 1e-20).log()).sum(), "sum first, then exp"),
        (lambda w: torch.exp(torch.special.entr(w).sum() / 2), "A place to start: -(weights"),
    ],
    SENTENCES_IN_PLACE: [
        (place_from_the_first, "one after the other from the first place"),
        (place_at_the_front, "moved to its front"),
        (place_by_number, "all first sentences, then to all second"),
        (place_into(torch.nan), "hold NaN"),
        (place_into(1.0), "hold ones"),
        (lambda s, mask: place_by_loop(s.flip(0), mask), "from last to first"),
        (place_with_the_mean, "a place without a sentence is not zero"),
        (place_whole_sentences, "in your line `placed[mask.all(2)] = s`"),
        (lambda s, mask: place_by_loop(s, mask)[mask.any(2)], "expected (1, 1, 2)"),
    ],
    SMALLEST_F1: [
        (
            lambda p, n, e: max(
                f1_of(p - fn, e - fn, fn) for fn in range(min(e, p) + 1) if e - fn <= n
            ),
            "the largest F1",
        ),
        (lambda p, n, e: 1 - e / (p + n), "that is the accuracy"),
        (lambda p, n, e: f1_of(p - e // 2, e - e // 2, e // 2), "equally between the two kinds"),
        (lambda p, n, e: max(0, p - e) / p, "that is the recall"),
        (
            lambda p, n, e: 2 * (p - e) / (2 * (p - e) + e) if e < 2 * p else 0.0,
            "a negative number of true positives",
        ),
        (lambda p, n, e: 0.8235, "f1 is 0.8235, expected 1 (difference 0.176) for p = 1, n = 1"),
        (lambda p, n, e: 100 * f1_by_formula(p, n, e), "in percent"),
        (
            lambda p, n, e: min(
                [f1_of(p - fn, e - 1 - fn, fn) for fn in range(e) if fn <= p], default=1.0
            ),
            "range(wrong) ends at",
        ),
        (
            lambda p, n, e: max(f1_of(p - fn, e - fn, fn) for fn in range(min(e, p) + 1)),
            "1 missed positive and 0 false alarms give 0",
        ),
        (lambda p, n, e: f1_by_formula(p, n, e) ** 2, "no split gives so little"),
        (lambda p, n, e: (f1_by_formula(p, n, e), e), "f1 is a tuple, expected a number"),
    ],
    PADDING_CHANGE: [
        (lambda f, t, m: change_by_zeros(f, t, m, sentences=0), "you add words only"),
        (lambda f, t, m: change_by_zeros(f, t, m, words=0), "you add sentences only"),
        (lambda f, t, m: change_by_zeros(f, t, m, 3, 2), "the words, comes first"),
        (lambda f, t, m: logit_differences(f, t, m).max(), "take the absolute value"),
        (lambda f, t, m: logit_differences(f, t, m).abs().mean(), "you take the mean"),
        (lambda f, t, m: change_by_zeros(f, t, m, real=True), "are marked as real"),
        (lambda f, t, m: change_by_zeros(f, t, m, first=True), "you put the padding in front"),
        (lambda f, t, m: logit_differences(f, t, m).abs(), "shape (1, 2), expected ()"),
        (lambda f, t, m: logit_differences(f, t, m).abs().sum(), "you sum the changes of all"),
        (lambda f, t, m: change_by_pad(f, t, m) ** 2, "the change is squared"),
        (lambda f, t, m: float(change_by_pad(f, t, m) > 0), "is not by how much"),
    ],
    MASKED_SOFTMAX: [
        (softmax_without_mask, "padding gets weight 0."),
        (softmax_of_zeros, "exp(0) is 1"),
        (softmax_zeroed_afterwards, "zero the padding after the softmax, divide by what is left"),
        (softmax_nan, "a fully masked row gives NaN"),
        (softmax_uniform_where_empty, "a fully masked row should be all zeros"),
        (softmax_down_the_columns, "sum to 1 down each column"),
        (softmax_over_one, "an axis of size 1"),
        (softmax_of_tanh, "a tanh around the score"),
        (softmax_overflowing, "overflow: exp(999) is inf"),
        (softmax_minus_the_batch_maximum, "subtract each row's own maximum"),
        (softmax_minus("the padding's"), "Subtract each row's own maximum over its real places"),
        (lambda s, m: s * m / (s * m).sum(-1, keepdim=True).clamp(min=9), "the softmax is missing"),
        (softmax_in_place, "the input scores was changed in place: work on a copy"),
        (softmax_in_numpy, "is a numpy.ndarray, expected a tensor of shape (1, 1)"),
        (softmax_in_doubles, "dtype torch.float64, expected torch.float32"),
        (softmax_with_an_axis_left, "shape (1, 1, 1), expected (1, 1)"),
        (lambda s, m: s.masked_fill(m, -inf).softmax(-1), "so hide ~mask"),
        (lambda s, m: masked_softmax(s, ~m), "no weight: the mask is True on real tokens"),
        (lambda s, m: torch.log_softmax(s.masked_fill(~m, -inf), -1), "not log_softmax"),
        (lambda s, m: s.sigmoid() * m, "a sigmoid weighs each token alone"),
        (
            lambda s, m: softmax_by_loop(s.view(1, -1), m.view(1, -1)).view_as(s),
            "all rows together",
        ),
        (softmax_that_stumbles, "RuntimeError in your line `return scores[mask].view(7, -1)`"),
    ],
    ATTENTION_POOLING: [
        (lambda h, mask, c: pooling_by_loop(h, mask, c)[::-1], "the two results are exchanged"),
        (pooling_of_u, "you pool tanh(h)"),
        (pooling_without_mask, "padding gets weight 0."),
        (pooling_over_one, "an axis of size 1"),
        (pooling_with_tanh_on_the_score, "there is a tanh around the score"),
        (pooling_with_tanh_around_all, "it belongs around h"),
        (pooling_overflowing, "overflow: exp("),
        (pooling_minus_the_batch_maximum, "subtract each row's own maximum"),
        (pooling_of_raw_scores, "you score h itself"),
        (pooling_by_plain_mean, "the context vector does not reach the weights"),
        (pooling_by_maximum, "alpha is right, but pooled is off"),
        (lambda h, mask, c: pooling_by_plain_mean(h, mask | True, c), "padding included"),
        (
            lambda h, mask, c: (
                pooling_by_loop(h, mask, c)[0] / h.shape[1],
                pooling_by_loop(h, mask, c)[1],
            ),
            "you take the mean of α h",
        ),
        (pooling_alone, "2 results are expected (pooled, alpha), you returned 1"),
    ],
    GRU_STEP: [
        (gru_like(gate=lambda a: a), "the gates are not squashed"),
        (gru_turning(2), "wrong way round in the candidate"),
        (gru_turning(0, 1), "wrong way round in the gates"),
        (gru_like(bias=torch.tensor([[1.0], [1.0], [0.0]])), "bias b_h is missing"),
        (gru_like(flip=True), "z has the opposite sense"),
        (gru_like(after=True), "the reset gate acts after the product"),
        (gru_like(gates=(1, 0, 2)), "r and z are exchanged"),
        (gru_like(squash=torch.sigmoid), "goes through a sigmoid"),
        (gru_like(squash=lambda a: a), "the candidate is not squashed"),
        (gru_like(bias=0), "the biases b are not used"),
        (gru_like(turned=True), "W is applied the wrong way round"),
        (gru_keeping(old=True, new=False), "the old state is kept whole"),
        (gru_keeping(old=False, new=True), "the candidate is taken whole"),
        (lambda x, h, U, W, b: h, "you return the old state"),
        (gru_like(gate=torch.tanh), "the gates go through a tanh"),
        (
            lambda x, h, U, W, b: gru_like()(x, h, U, W * torch.tensor([0, 0, 1]).view(3, 1, 1), b),
            "the gates do not see the old state",
        ),
        (lambda x, h, U, W, b: 2 * gru_like()(x, h, U, W, b), "A place to start: U_r, U_z, U_h"),
    ],
    BLEND: [
        (lambda h, new, z: torch.lerp(new, h, z), "z has the opposite sense"),
        (lambda h, new, z: h + z * new, "the old state is kept whole"),
        (lambda h, new, z: (1 - z) * h + new, "the candidate is taken whole"),
        (lambda h, new, z: z * h + z * new, "both are weighed by z"),
        (lambda h, new, z: h - z * h, "the candidate does not enter"),
        (lambda h, new, z: z * new, "the old state does not enter"),
        (lambda h, new, z: torch.where(z > 0.5, new, h), "you switch"),
        (lambda h, new, z: torch.lerp(h, new, z.mean(1, keepdim=True)), "all units share one z"),
        (lambda h, new, z: (h + new) / 2, "a plain mean: z does not enter"),
        (lambda h, new, z: new - z * new, "weighed by z, not by 1 − z"),
        (lambda h, new, z: torch.lerp(h, new, z.sigmoid()), "z is a gate already"),
        (lambda h, new, z: torch.lerp(h, new, z).tanh(), "a tanh around the mixture"),
        (lambda h, new, z: torch.lerp(h, -new, z), "the candidate is subtracted"),
        (lambda h, new, z: 1 + torch.lerp(h, new, z), "your h is "),
    ],
    REPORT_WEIGHTS: [
        (times(1, 1, 1), "z's weights change sign"),
        (times(-1, 1, 1), "r has changed its sign"),
        (times(1, 1, -1), "the candidate has changed its sign"),
        (times(-1, -1, -1), "everything has changed its sign"),
        (times(-1, -1, 1), "r has changed its sign, too"),
        (lambda w, b: (times(1, -1, 1)(w, b)[0], b.view(3, -1)), "z's bias kept its sign"),
        (
            lambda w, b: (times(1, 1, 1)(w, b)[0], times(1, -1, 1)(w, b)[1]),
            "z's weights kept their sign",
        ),
        (turned_weights(lambda part: torch.stack([part[0], 1 - part[1], part[2]])), "1 − weight"),
        (
            turned_weights(lambda part: torch.stack([-part[1], part[0], part[2]])),
            "r and z are exchanged",
        ),
        (every_third_row, "every third row"),
        (lambda w, b: w.view(3, -1, w.shape[1]), "you returned 1"),
    ],
    LAST_STATE: [
        (last_state_by_unit, "give it an axis at the end"),
        (state_at(lambda mask: (mask.sum(1) - 1) % mask.shape[1] + 1), "at place −1"),
        (lambda x, mask, U, W, b: every_state(x, U, W, b)[:, -1], "the padding is read"),
        (last_state_of_zeroed_words, "a padded word of zeros still moves the state"),
        (last_state_wiped_by_padding, "padding wipes the state"),
        (state_at(lambda mask: mask.sum(1).min()), "where the shortest row ends"),
        (state_at(lambda mask: (mask.sum(1) - 1).clamp(min=0)), "n words make n steps"),
        (last_state_from_behind, "from the last word to the first"),
        (last_state_mean, "the mean of the states"),
        (state_at(lambda mask: mask.sum(1).max()), "as far as the longest"),
        (last_state_of_the_padding, "the mask is turned round"),
        (lambda x, mask, U, W, b: every_state(x, U, W, b)[:, 1:], "shape (1, 1, 1), expected"),
    ],
    GINI: [
        (lambda a: gini_by_ranks(a) * len(a) / torch.tensor(len(a) - 1.0), "divide by n − 1"),
        (gini_row_by_row, "the mean of each row's own Gini"),
        (gini_normalised, "times n/(n − 1)"),
        (gini_unsorted, "the weights are not sorted"),
        (lambda a: gini_unsorted(a.sort().values), "each row is sorted on its own"),
        (gini_falling, "sorted from the largest down"),
        (gini_from_zero, "the ranks start from 0"),
        (gini_impurity, "Gini's impurity"),
        (lambda a: gini_by_differences(a) * 2, "twice too large"),
        (gini_beyond, "lies in [0, 1]"),
        (lambda a: gini_by_differences(a) / 2, "it is half of it"),
        (lambda a: 1 - gini_by_differences(a), "1 minus the Gini coefficient"),
        (lambda a: a.std(unbiased=False) / a.mean(), "the standard deviation over the mean"),
        (lambda a: gini_by_differences(a.view(1, -1)).view(1), "so flatten first"),
    ],
    DIAGONALITY: [
        (lambda a, b: a.tril(b).sum() / a.sum(), "j − i ≤ bandwidth takes all"),
        (lambda a, b: a.triu(-b).sum() / a.sum(), "i − j ≤ bandwidth takes all"),
        (lambda a, b: a[distance(a) < b].sum() / a.sum(), "one too narrow"),
        (lambda a, b: a.tril().triu(-b).sum() / a.sum(), "only tokens before the diagonal"),
        (lambda a, b: a.triu().tril(b).sum() / a.sum(), "only tokens after the diagonal"),
        (lambda a, b: (distance(a) <= b).float().mean(), "the share of places"),
        (lambda a, b: a[distance(a) <= b].sum(), "not yet a share"),
        (lambda a, b: a[distance(a) <= b].sum() / len(a) ** 2, "you divide by n²"),
        (lambda a, b: a[distance(a) <= b].mean(), "the mean weight within the band"),
        (lambda a, b: a.trace() / len(a), "bandwidth is not used"),
        (lambda a, b: 1 - diagonality_by_tri(a, b), "the weight outside the band"),
        (lambda a, b: diagonality_by_loop(a, b + 1), "one too wide"),
        (lambda a, b: 1 + a.trace(), "lies in [0, 1]"),
    ],
    REVERSE: [
        (
            lambda x, mask: torch.where(mask.unsqueeze(2), reverse_by_roll(x, mask), x),
            "the padding keeps what stood there",
        ),
        (lambda x, mask: (x * mask.unsqueeze(2)).flip(1), "the zeros of the padding come first"),
        (lambda x, mask: x.flip(1), "now stands before the words"),
        (lambda x, mask: x.flip(1) * mask[..., None], "short rows lose their words"),
        (lambda x, mask: x.flip(2), "each word's numbers"),
        (lambda x, mask: reverse_by_roll(x, mask).flip(2), "numbers are reversed, too"),
        (lambda x, mask: x.flip(0), "the documents of the batch"),
        (lambda x, mask: x.clone(), "in the order they came"),
        (reverse_one_too_late, "one place too late"),
        (reverse_repeating_the_first, "which is padding: it has"),
    ],
    REDUNDANCY: [
        (lambda a: (overlap(a) - 1).pow(2).sum((1, 2)), "1 from every entry"),
        (
            lambda a: torch.linalg.matrix_power(overlap(a) - eye(a), 2).sum((1, 2)),
            "the matrix by itself",
        ),
        (lambda a: overlap(a).pow(2).sum((1, 2)), "the identity is not subtracted"),
        (lambda a: hop_redundancy(a.mT), "you compare places"),
        (lambda a: torch.linalg.matrix_norm(overlap(a) - eye(a)), "without a root"),
        (lambda a: (overlap(a) - eye(a)).pow(2).mean((1, 2)), "the mean over pairs"),
        (lambda a: (overlap(a) - eye(a)).sum((1, 2)), "without being squared"),
        (lambda a: (overlap(a) - eye(a)).sum((1, 2)) ** 2, "you sum, then square"),
        (lambda a: (overlap(a) - eye(a)).abs().sum((1, 2)), "absolute values"),
        (lambda a: (overlap(a) * (1 - eye(a))).pow(2).sum((1, 2)), "the diagonal is left out"),
        (lambda a: hop_redundancy(a).sum(), "shape (), expected (1,): one number for each row"),
    ],
    HIGHWAY: [
        (highway_like(carry=False), "your gate opens the transformation"),
        (highway_like(bend=torch.tanh), "bent by tanh"),
        (highway_like(bend=lambda f: f), "not bent at all"),
        (highway_like(gate=lambda g: g), "no sigmoid"),
        (highway_like(turned=True), "to the right of x"),
        (lambda x, g, bg, f, bf: highway_like()(x, g, torch.zeros(1), f, bf), "b_g is missing"),
        (lambda x, g, bg, f, bf: highway_like()(x, g, bg, f, torch.zeros(1)), "b_f is missing"),
        (lambda x, g, bg, f, bf: x + torch.relu(x @ f + bf), "a residual"),
        (lambda x, g, bg, f, bf: x * torch.sigmoid(x @ g + bg), "the other half is missing"),
        (lambda x, *rest: highway_like()(x, *rest)[0], "expected (1, 1)"),
        (
            lambda x, g, bg, f, bf: torch.sigmoid(x @ g + bg) * x + (x @ f + bf).clamp(min=0),
            "f(x) is added whole",
        ),
        (
            lambda x, g, bg, f, bf: (
                (c := (x @ g + bg).sigmoid()) * x + 1 - c * (x @ f + bf).clamp(min=0)
            ),
            "(1 − g) needs its brackets",
        ),
        (lambda *given: highway_like(bend=lambda f: f)(*given).clamp(min=0), "around the whole"),
        (
            lambda x, g, bg, f, bf: (
                (c := (x @ g).sigmoid() + bg) * x + (1 - c) * (x @ f + bf).clamp(min=0)
            ),
            "b_g is added to the gate",
        ),
        (highway_like(gate=lambda g: g.softmax(1)), "makes the gates share 1"),
    ],
    STEPS: [
        (steps_in_place(written=False), "not written yet"),
        (steps_in_place(keep=lambda found, s: found), "what you append is Σ a h itself"),
        (steps_in_place(left=lambda w: w.T), "the scores are h W q"),
        (steps_in_place(turn=lambda s, q: q), "the query stays the same"),
        (steps_in_place(turn=lambda s, q: s), "the summary itself becomes the query"),
        (
            lambda h, q, w, steps, refine, control: steps_in_place()(
                h, q, w, steps, refine, lambda s, q: control(q, s)
            ),
            "control takes the summary first",
        ),
        (
            lambda h, q, w, steps, refine, control: steps_in_place()(
                h, q, w, steps, lambda found: found, control
            ),
            "refine is never called",
        ),
        (
            lambda h, q, w, *rest: steps_in_place(scale=h.shape[1] ** -0.5)(h, q, w, *rest),
            "you divide the scores by √d",
        ),
        (
            lambda h, *rest: torch.stack(
                [
                    row.roll(len(row) - len(h) - step)
                    for step, row in enumerate(steps_by_list(h, *rest))
                ]
            ),
            "the zeros stand in front",
        ),
        (
            lambda h, q, w, steps, refine, control: torch.stack(
                [
                    torch.nn.functional.pad(alone(h, asked, w), (0, steps - 1))
                    for asked in queries_without_summaries(h, q, w, steps, refine, control)
                ]
            ),
            "the summary is never appended",
        ),
        (lambda h, q, w, steps, *rest: steps_by_list(h, q, w, steps, *rest)[:, : len(h)], "shape"),
        (lambda *given: 2 * steps_by_list(*given), "row 1 sums to 2"),
        (steps_summaries_first, "the weights are right, in other columns"),
        (
            lambda h, q, w, steps, refine, control: steps_in_place(keep=lambda found, s: refine(s))(
                h, q, w, steps, lambda found: found, control
            ),
            "control gets a @ h",
        ),
    ],
    STEP_PENALTY: [
        (lambda a, gamma: gamma * (a @ a.mT).sum((1, 2)) / (2 * a.shape[1]), "the diagonal is in"),
        (lambda a, gamma: penalty_by_loop(a, gamma) / 2, "each pair is counted once"),
        (lambda a, gamma: 2 * penalty_by_loop(a, gamma), "the 2 of 1/(2T)"),
        (lambda a, gamma: a.shape[1] * penalty_by_loop(a, gamma), "the T of 1/(2T)"),
        (lambda a, gamma: penalty_by_loop(a, 1), "γ is missing"),
        (
            lambda a, gamma: gamma * ((a @ a.mT).sum((1, 2)) - a.shape[1]) / (2 * a.shape[1]),
            "you take T off",
        ),
        (
            lambda a, gamma: gamma * ((a @ a.mT) - torch.eye(a.shape[1])).norm(dim=(1, 2)) ** 2,
            "the penalty of lesson 03",
        ),
        (
            lambda a, gamma: (
                gamma * pairs_by_loop(a, torch.dot) / max(1, a.shape[1] * (a.shape[1] - 1))
            ),
            "the number of pairs",
        ),
        (
            lambda a, gamma: (
                gamma * ((a.mT @ a).sum((1, 2)) - a.square().sum((1, 2))) / (2 * a.shape[1])
            ),
            "AᵀA",
        ),
        (lambda a, gamma: penalty_by_loop(a, gamma).mean().expand(len(a)), "its own number"),
        (lambda a, gamma: penalty_by_loop(a, gamma).mean(), "shape (), expected (1,)"),
        (lambda a, gamma: -penalty_by_loop(a, gamma), "the sign is turned round"),
        (
            lambda a, gamma: gamma * pairs_by_loop(a, torch.dot) / 2 * a.shape[1],
            "divides by 2 and multiplies by T",
        ),
        (
            lambda a, gamma: gamma * pairs_by_loop(a, torch.dot) / (2 * a.shape[2]),
            "you divide by the columns",
        ),
    ],
    STEP_COSINE: [
        (
            lambda a: pairs_by_loop(a, torch.dot) / (a.shape[1] * (a.shape[1] - 1)),
            "that is the overlap",
        ),
        (
            lambda a: torch.stack(
                [torch.stack([cosine_of_rows(x, y) for x in r for y in r]).mean() for r in a]
            ),
            "always 1, is in your mean",
        ),
        (
            lambda a: (
                pairs_by_loop(a, cosine_of_rows, both=False) / (a.shape[1] * (a.shape[1] - 1))
            ),
            "halved",
        ),
        (lambda a: pairs_by_loop(a, cosine_of_rows), "the sum over the pairs"),
        (lambda a: pairs_by_loop(a, cosine_of_rows) / a.shape[1] ** 2, "you divide by T²"),
        (lambda a: cosine_of_rows(a[:, 0].mT, a[:, 1].mT), "only the first two steps"),
        (lambda a: torch.cosine_similarity(a[:, :-1], a[:, 1:], -1).mean(1), "only neighbouring"),
        (lambda a: cosine_by_loop(a.mT), "you compare columns"),
        (lambda a: 1 - cosine_by_loop(a), "that is how different the rows are"),
        (lambda a: cosine_by_loop(a).sqrt(), "your cosine is"),
        (
            lambda a: (
                pairs_by_loop(torch.nn.functional.normalize(a), torch.dot)
                / (a.shape[1] * (a.shape[1] - 1))
            ),
            "a row's weights lie along dim=2",
        ),
        (
            lambda a: pairs_by_loop(a, cosine_of_rows, both=False) / a.shape[1] ** 2,
            "the zeros of triu or tril",
        ),
    ],
    PASSES_ON: [
        (lambda a, m, t: (a[:, 1:, m.shape[1] :].sum(2) >= t).any(1), "one step that passes on"),
        (lambda a, m, t: a[:, 1:, m.shape[1] :].sum(2).mean(1) >= t, "you average over the steps"),
        (lambda a, m, t: (a[:, :, m.shape[1] :].sum(2) >= t).all(1), "yours is never true"),
        (lambda a, m, t: (a[:, 1:, m.shape[1] :].sum(2) < t).all(1), "look at words"),
        (lambda a, m, t: (a[:, 1:, m.shape[1] :].sum(2) > t).all(1), "exactly the threshold"),
        (lambda a, m, t: (a[:, 1:, m.shape[1] - 1 :].sum(2) >= t).all(1), "the last word counts"),
        (lambda a, m, t: a[:, -1, m.shape[1] :].sum(1) >= t, "only the last step is asked"),
        (lambda a, m, t: a[:, 1, m.shape[1] :].sum(1) >= t, "only the second step is asked"),
        (
            lambda a, m, t: torch.tensor(
                [all(r[i, m.shape[1] + i - 1] >= t for i in range(1, len(r))) for r in a]
            ),
            "just before",
        ),
        (lambda a, m, t: (a[:, 1:].amax(2) >= t).all(1), "may lie on a word"),
        (
            lambda a, m, t: (a[:, 1:, m.shape[1] :].max(2).values >= t).all(1),
            "only the heaviest summary counts",
        ),
        (lambda a, m, t: a[:, 1:, m.shape[1] :].sum((1, 2)) >= t, "you add the steps up"),
        (lambda a, m, t: (a[:, 1:, m.shape[1] :].sum(2) >= t).all(), ".all(1) goes over its steps"),
    ],
    WORD_SHARES: [
        (lambda a, b: a, "shares within the sentence"),
        (lambda a, b: a / b.shape[1], "every sentence gets the same share"),
        (lambda a, b: a + b[..., None], "a share of a share is a product"),
        (lambda a, b: b[..., None].expand(a.shape), "its whole sentence's share"),
        (lambda a, b: (a * b[..., None]).flatten(1).softmax(1).view(a.shape), "one softmax too"),
        (lambda a, b: a * b[..., None] / b.sum() * 2, "a whole document is 1"),
        (lambda a, b: a * b.unsqueeze(1), "its new axis at the end"),
        (lambda a, b: 0.5 * (a + b[..., None]), "the mean of the two shares"),
    ],
    TOP_WORDS: [
        (
            lambda w, a, k: [w[i] for i in a.argsort(stable=True)[:k]],
            "the words with the smallest weights; sort in descending order.",
        ),
        (lambda w, a, k: top_by_pairs(w[::-1], a.flip(0), k), "yours gives the later"),
        (
            lambda w, a, k: [w[i] for i in sorted(a.argsort(descending=True, stable=True)[:k])],
            "in the order of the text",
        ),
        (lambda w, a, k: list(dict.fromkeys(top_by_pairs(w, a, 99)))[:k], "do not merge"),
        (lambda w, a, k: top_by_pairs(w, a, len(w)), "k is not used"),
        (lambda w, a, k: w[:k], "the weights are not used"),
        (lambda w, a, k: tuple(top_by_pairs(w, a, k)), "is a tuple, expected a list"),
        (lambda w, a, k: a.argsort(descending=True)[:k].tolist(), "the places of the words"),
        (
            lambda w, a, k: [word for _, word in sorted(zip(a.tolist(), w))][-k:],
            "the lightest first",
        ),
        (lambda w, a, k: sorted(zip(w, a.tolist()), key=lambda p: -p[1])[:k], "is a pair"),
        (lambda w, a, k: sorted(a.tolist())[::-1][:k], "these are the weights"),
        (lambda w, a, k: sorted(w)[:k], "sorted by the alphabet"),
        (lambda w, a, k: top_by_pairs(w, a, k + 1), "one word too many"),
        (lambda w, a, k: top_by_pairs(w, a, k - 1), "one word too few"),
        (lambda w, a, k: [w[0].upper()], "the first difference is at place 0: 'THIN' instead of"),
    ],
    SELF_ATTENTION: [
        (attend_to_real_queries_alone, "the rows of padded queries are set to zero"),
        (
            lambda q, k, v, mask: attend_by_loop(q * (q.shape[2] / v.shape[2]) ** 0.5, k, v, mask),
            "the root of the size of v",
        ),
        (attend(scale=lambda q: 1), "not divided by √d"),
        (attend(scale=lambda q: 1 / q.shape[-1]), "you divide by d;"),
        (attend(scale=lambda q: q.shape[1] ** -0.5), "the root of n"),
        (attend(scale=lambda q: q.shape[-1] ** 0.5), "you multiply by √d"),
        (attend(exchange=True), "queries and keys are exchanged"),
        (attend(dim=1), "your columns sum to 1"),
        (attend(axis=2), "the mask is laid over the queries"),
        (attend(weigh=softmax_without_mask), "padding gets weight 0."),
        (attend(weigh=softmax_zeroed_afterwards), "divide by what is left"),
        (attend(weigh=softmax_of_zeros), "exp(0) is 1"),
        (attend(weigh=softmax_nan), "a fully masked row gives NaN"),
        (attend(weigh=softmax_uniform_where_empty), "a fully masked row should be all zeros"),
        (attend(weigh=softmax_overflowing), "overflow: exp("),
        (attend_mixing_by_columns, "not alphaᵀ"),
        (attend_squeezing, "your output is"),
        (attend(weigh=lambda s, m: masked_softmax(s, ~m)), "so hide ~mask"),
        (lambda q, k, v, mask: attend()(q, k, v, mask)[1], "you returned 1"),
        (lambda q, k, v, mask: attend()(q, k, v, mask)[::-1], "the two results are exchanged"),
    ],
    ORDER: [
        (order_of_one(lambda n: torch.arange(n).flip(0)), "reversing is one shuffle of many"),
        (order_of_one(torch.arange), "the identity is no shuffle"),
        (order_without_shuffling_the_result, "function(x)[order], too"),
        (order_by_shape, "the shape decides"),
        (order_of_one(shuffled, torch.equal), "torch.equal is too strict"),
        (
            order_of_one(shuffled, lambda a, b: torch.allclose(a.sum(), b.sum(), atol=1e-4)),
            "you compare sums",
        ),
        (lambda f, x: order_by_swaps(f, x).title(), "the answers are "),
        (lambda f, x: order_by_swaps(f, x) == "invariant", "kind is a bool, expected a str"),
        (
            order_of_one(lambda n: [0, *range(n - 1, 0, -1)]),
            "another shuffle of the rows shows that it is neither",
        ),
        (lambda f, x: "neither", "says 'neither', but it is invariant"),
        (order_by_sums_of_rows, "the rows do not follow every shuffle"),
    ],
    UNIFORM_DIAGONALITY: [
        (
            lambda n, b: (n + sum(2 * (n - k) for k in range(1, min(b, n - 1)))) / n**2,
            "the largest distance is left out",
        ),
        (lambda n, b: (n + sum(2 * (n - k) for k in range(1, b))) / n**2, "two things at the end"),
        (lambda n, b: (2 * b + 1) / n, "a share is never above 1"),
        (lambda n, b: min((2 * b + 1) / n, 1.0), "cut at 1"),
        (lambda n, b: sum(n - k for k in range(b + 1) if k < n) / n**2, "only one side"),
        (lambda n, b: uniform_by_pairs(n, b - 1), "one too narrow"),
        (lambda n, b: uniform_by_pairs(n, b) * n, "there are n² pairs"),
        (
            lambda n, b: (n + sum(4 * (n - k) for k in range(1, b + 1) if k < n)) / n**2,
            "counts every pair beside the diagonal twice",
        ),
        (lambda n, b: (n + 2 * n * b - b * (b + 1)) / n**2, "distances end at n − 1"),
        (lambda n, b: torch.tensor([uniform_by_pairs(n, b)]), "shape (1,), expected ()"),
        (lambda n, b: 0.3, "diagonality is 0.3, expected 1"),
    ],
    MASKED_MAXIMUM: [
        (maximum_of_all, "padding competes"),
        (maximum_filled_with(0), "padding is set to 0"),
        (maximum_filled_with(-inf, blank=False), "gives −∞"),
        (maximum_at_the_first_place, "−1, not 0"),
        (maximum_placed_by_size, "places"),
        (lambda x, mask: tuple((x * mask[..., None]).max(1)), "And a document without words"),
        (
            lambda x, mask: tuple(x.masked_fill(mask[..., None], -inf).max(1)),
            "real words are hidden",
        ),
        (lambda x, mask: maximum_by_loop(x, mask)[::-1], "the two results are exchanged"),
        (maximum_blanked(lambda mask: mask.any(1)[:, None]), "in a document that has words"),
        (maximum_blanked(lambda mask: ~mask.any(1)), "needs a second axis"),
        (
            maximum_blanked(lambda mask: ~mask.any(1)[:, None], -1.0, 0),
            "the values 0 and the places",
        ),
        (maximum_of_numbers, "places has dtype torch.float32"),
        (lambda x, mask: maximum_by_loop(x, mask)[0], "2 results are expected"),
        (lambda x, mask: tuple(x.max(2)), "runs over the words, axis 1"),
    ],
    POOLED_SHARES: [
        (lambda p, m: shares_by_bincount(p, m) * p.shape[1], "you count dimensions"),
        (lambda p, m: shares_by_bincount(p, m) * p.shape[1] / m.shape[1], "number of places"),
        (lambda p, m: shares_by_bincount(p % m.shape[1], m), "−1 is not a place"),
        (lambda p, m: shares_by_bincount(p.clamp(min=0), m), "counted as place 0"),
        (
            lambda p, m: torch.nn.functional.normalize(
                (shares_by_bincount(p, m) > 0).float(), 1, 1
            ),
            "weighs the same",
        ),
        (lambda p, m: m / m.sum(1, keepdim=True).clamp(min=1), "uniform over the words"),
        (lambda p, m: 2 * shares_by_bincount(p, m), "your rows sum to 2"),
        (
            lambda p, m: shares_by_bincount(p, m) / shares_by_bincount(p, m).sum(1, keepdim=True),
            "0 divided by 0 is no number",
        ),
        (lambda p, m: shares_by_bincount(p, m)[:, :-1], "shape"),
    ],
    BLOCK: [
        (block_like(divisor="root"), "divided by √d"),
        (block_like(axis=0), "down the columns"),
        (block_like(turned=True), "w_qk is transposed"),
        (block_like(values=False), "W_V is missing"),
        (block_like(residual=(False, True)), "the first residual is missing"),
        (block_like(residual=(True, False)), "the second residual is missing"),
        (block_like(relu=lambda a: a), "the ReLU is missing"),
        (block_without(4, 6), "both biases are missing"),
        (block_without(4), "b_1 is missing"),
        (block_without(6), "b_2 is missing"),
        (block_like(residual=(False, False)), "both residuals are missing"),
        (block_like(norms=(False, True)), "two LayerNorms"),
        (block_like(old=True), "adds the block's input"),
        (block_like(relu=torch.tanh), "expected"),
        (lambda x, *rest: block_like()(x, *rest)[None], "shape (1, 1, 4), expected (1, 4)"),
    ],
    UNTRAINED: [
        (place_of(max, gini_by_ranks), "training sharpens"),
        (place_of(min, lambda a: diagonality_by_loop(a, 1)), "it is trained"),
        (place_of(max, lambda a: diagonality_by_loop(a, 1)), "had to be learned"),
        (place_of(min, gini_by_ranks, padded=True), "the padding is counted"),
        (
            place_of(min, lambda a: abs(diagonality_by_loop(a, 1) - uniform_by_matrix(len(a), 1))),
            "that of the columns: its diagonality",
        ),
        (place_of(min, lambda a: a.mean(0).max() * len(a)), "that of the band: no word"),
        (place_of(max, entropy_of_rows(torch.special.entr), padded=True), "grows with the number"),
        (
            lambda a, mask: int(
                torch.nansum(-a * a.log(), 2).where(mask, torch.nan).mean(1).argmax()
            ),
            "no number (NaN)",
        ),
        (lambda attention, mask: 0, "always the first"),
        (lambda attention, mask: untrained_by_entropy(attention, mask) + 3, "place is 3, expected"),
        (
            lambda attention, mask: torch.tensor(1),
            "place is a tensor, expected an int. int(…) makes one of it",
        ),
    ],
}
RIGHT |= RUNS_RIGHT
WRONG |= RUNS_WRONG
RIGHT |= COMPOSITION_RIGHT | DESIGNS_RIGHT | FAITHFULNESS_RIGHT | REPLICATION_RIGHT | STRETCH_RIGHT
RIGHT |= STEPS_RIGHT
WRONG |= COMPOSITION_WRONG | DESIGNS_WRONG | FAITHFULNESS_WRONG | REPLICATION_WRONG | STRETCH_WRONG
WRONG |= STEPS_WRONG
RIGHT, WRONG = RIGHT | ENCODERS_RIGHT, WRONG | ENCODERS_WRONG
CHECKERS = pytest.mark.parametrize("checker", list(RIGHT), ids=lambda checker: checker.name)
EVERY_WRONG = [
    pytest.param(checker, wrong, says, id=f"{checker.name}-{says[:24]}")
    for checker, cases in WRONG.items()
    for wrong, says in cases
]


@CHECKERS
def test_right_answers_pass_however_written(checker):
    for right in RIGHT[checker]:
        verdict = judge(checker, right)
        assert verdict.state == "passed", (right.__name__, verdict.sentence)
        assert f"{len(checker.cases())} cases" in verdict.sentence


@pytest.mark.parametrize(("checker", "wrong", "says"), EVERY_WRONG)
def test_a_wrong_answer_is_told_what_is_wrong(checker, wrong, says):
    verdict = judge(checker, wrong)
    assert verdict.state == "wrong"
    assert says in verdict.sentence
    case = f"(of {len(checker.cases())}): {verdict.trial.case.description}."
    assert re.search("(Smallest of [0-9]+ failing cases|The only failing case) ", verdict.sentence)
    assert verdict.sentence.endswith(case)


@CHECKERS
def test_different_wrong_answers_get_different_messages(checker):
    sentences = [
        re.split(" Smallest of| The only", judge(checker, wrong).sentence)[0]
        for wrong, _ in WRONG[checker]
    ]
    assert len(sentences) >= 4 and len(set(sentences)) == len(sentences)


@CHECKERS
def test_every_mistake_of_a_checker_is_wrong_and_known(checker):
    says = [said for _, said in checker.mistakes]
    assert len(set(says)) == len(says)
    for mistake, said in checker.mistakes:
        assert judge(checker, mistake).sentence.startswith(said)


@CHECKERS
def test_an_axis_too_many_is_told_which_axis_to_think_of(checker):
    def with_another_axis(*given):
        answer = checker.reference(*given)
        several = isinstance(answer, tuple)
        return tuple(part[None] for part in answer) if several else answer[None]

    if checker.shapes:
        assert f": {checker.shapes}." in judge(checker, with_another_axis).sentence


@CHECKERS
def test_cases_are_the_same_each_time_and_none_is_changed(checker):
    first, second = checker.cases(), checker.cases()
    assert [case.description for case in first] == [case.description for case in second]
    assert len({case.description for case in first}) == len(first)
    for a, b in zip(first, second):
        for x, y in zip(a.inputs, b.inputs):
            assert torch.equal(x, y) if isinstance(x, torch.Tensor) else x == y


@CHECKERS
@pytest.mark.parametrize("empty", [None, ...])
def test_what_is_not_written_yet_is_open(checker, empty, capsys):
    def unwritten(*given):
        raise NotImplementedError

    check(checker, lambda *given: empty)
    if len(checker.returns) > 1:
        check(checker, lambda *given: (empty, empty))
    check(checker, unwritten)
    said = capsys.readouterr().out
    assert said.count(f"○ {checker.name} is still open") >= 2
    assert said.count("Write your answer in the cell above") == said.count("○")
    assert checker.start[:20] not in said
    assert f"it returned {'None' if empty is None else '...'}" in said


def test_nbgrader_gives_no_points_for_an_open_exercise(monkeypatch, capsys):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(CheckFailed, match="○ masked_softmax is still open: it returned None"):
        check(MASKED_SOFTMAX, lambda scores, mask: None)
    with pytest.raises(CheckFailed, match="○ half is still open"):
        checks.check_number("half", ..., 0.5, "1 / 2")
    check(MASKED_SOFTMAX, masked_softmax)
    assert capsys.readouterr().out.startswith("✓ masked_softmax")


def test_success_is_one_line(capsys):
    assert checks.check_masked_softmax(softmax_by_loop) is None  # a cell shows no Out
    assert capsys.readouterr().out == "✓ masked_softmax: 64 cases, from one token to 200\n"


def test_the_public_checkers_are_those_tested_here(capsys):
    public = {name for name in checks.__all__ if name.startswith("check_")} - {"check_number"}
    assert public == {f"check_{checker.name}" for checker in RIGHT}
    for checker, answers in RIGHT.items():
        getattr(checks, f"check_{checker.name}")(answers[1])
        assert capsys.readouterr().out.startswith(f"✓ {checker.name}: ")


def test_a_wrong_answer_raises_one_sentence_and_no_traceback(monkeypatch):
    shown = []
    monkeypatch.setattr(
        "course_lib.views.plots.show", lambda figure, alt: shown.append((figure, alt))
    )
    with pytest.raises(CheckFailed, match="✗ masked_softmax: padding gets weight 0") as caught:
        checks.check_masked_softmax(softmax_without_mask)
    lines = caught.value._render_traceback_()
    assert " ".join(lines) == str(caught.value)
    ((figure, alt),) = shown
    assert titles(figure) == [
        "input: scores", "input: mask", "yours: weights", "expected: weights"
    ]  # fmt: skip
    assert "padding gets weight" in alt


def titles(figure):
    return [axis.get_title(loc="left") for axis in figure.axes]


def written(axis):
    return [text.get_text() for text in axis.texts]


def outlined(axis):
    """Row and column of the cells with a thick border."""
    found = {
        (round(box.get_y()), round(box.get_x())) for box in axis.patches if box.get_linewidth() > 1
    }
    return sorted((row, column) for row, column in found)


def test_the_drawing_holds_both_answers_on_one_scale():
    trial = judge(MASKED_SOFTMAX, softmax_without_mask).trial
    figure = beside(MASKED_SOFTMAX, trial)
    yours, expected = (axis.images[0] for axis in figure.axes[-2:])
    assert np.allclose(yours.get_array(), trial.yours[0])
    assert np.allclose(expected.get_array(), trial.expected[0])
    assert yours.get_clim() == expected.get_clim()
    for axis, answer in zip(figure.axes[-2:], (trial.yours, trial.expected), strict=True):
        assert written(axis) == [f"{value:.2f}" for value in answer[0].flatten().tolist()]


def test_the_drawing_begins_with_the_inputs_under_the_learners_names():
    def my_shares(of_words, of_sentences):
        return of_words

    trial = judge(WORD_SHARES, my_shares).trial
    assert titles(beside(WORD_SHARES, trial)) == [
        "input: of_words", "input: of_sentences", "yours: shares", "expected: shares"
    ]  # fmt: skip
    trial = judge(PASSES_ON, lambda attention, mask, least: mask.all(1)).trial
    figure = beside(PASSES_ON, trial)
    assert f"least = {trial.case.inputs[2]:g}" in figure.texts[0].get_text()  # needs no panel
    trial = judge(MASKED_SOFTMAX, softmax_without_mask).trial
    scores, mask, *_ = beside(MASKED_SOFTMAX, trial).axes
    assert written(mask) == ["True", "False"]
    assert np.allclose(scores.images[0].get_array(), trial.case.inputs[0])


def test_a_module_and_a_function_of_any_arguments_get_the_references_names():
    class Answer(nn.Module):
        def forward(self, points, real):
            return softmax_without_mask(points, real)

    assert list(judge(MASKED_SOFTMAX, Answer()).trial.given) == ["points", "real"]
    trial = judge(MASKED_SOFTMAX, lambda *given: softmax_without_mask(*given)).trial
    assert list(trial.given) == ["scores", "mask"]


def test_differing_cells_are_outlined_and_show_their_difference():
    def slightly_off(scores, mask):
        return masked_softmax(scores, mask) + 0.0004 * (torch.arange(scores.shape[1]) == 1)

    trial = judge(MASKED_SOFTMAX, slightly_off).trial
    figure = beside(MASKED_SOFTMAX, trial)
    yours, expected = figure.axes[-2:]
    assert outlined(yours) == outlined(expected) == [(0, 1)]
    assert written(yours)[0] == written(expected)[0]
    assert written(yours)[1] != written(expected)[1]
    assert "outlined: where the answers differ" in figure.texts[0].get_text()


def test_whole_numbers_are_drawn_whole():
    trial = judge(MASKED_MAXIMUM, maximum_placed_by_size).trial
    yours, expected = beside(MASKED_MAXIMUM, trial).axes[-2:]
    assert written(expected) == [str(place) for place in trial.expected[1].flatten().tolist()]
    assert outlined(yours) == outlined(expected) != []


def test_words_stand_under_their_numbers():
    trial = judge(TOP_WORDS, lambda words, weights, k: words[:k]).trial
    (weights,) = beside(TOP_WORDS, trial).axes
    assert [text.get_text() for text in weights.get_xticklabels()] == trial.case.inputs[0]


def test_one_number_gets_words_and_no_cell():
    def half(attention):
        return gini_by_differences(attention) / 2

    verdict = judge(GINI, half)
    mine, right = verdict.trial.yours[0].item(), verdict.trial.expected[0].item()
    difference = f"{abs(mine - right):.3g}"
    assert f"Your gini is {mine:.4g}, expected {right:.4g} (difference {difference})" in (
        verdict.sentence
    )
    figure = beside(GINI, verdict.trial)
    assert figure is None or titles(figure) == ["input: attention"]


def test_lists_stand_one_below_the_other_with_their_weights():
    def lightest(words, weights, k):
        return [words[i] for i in weights.argsort()[:k]]

    verdict = judge(TOP_WORDS, lightest)
    words, weights, _ = verdict.trial.case.inputs
    (mine,), (right,) = verdict.trial.yours[0], verdict.trial.expected[0]
    yours, expected = verdict.lists.split("\n")
    assert mine != right
    for line, word in ((yours, mine), (expected, right)):
        assert line.endswith(f"{word!r} ({weights[words.index(word)]:.2f})")
    with pytest.raises(CheckFailed) as caught:
        check(TOP_WORDS, lightest)
    assert caught.value._render_traceback_()[-2:] == [yours, expected]


def test_a_list_of_tensors_is_a_wrong_answer_and_no_accident():
    verdict = judge(PHRASES, lambda words, selected: [torch.ones(2)])
    assert verdict.state == "wrong"
    assert "at place 0: tensor([1., 1.]) instead of 'good'" in verdict.sentence


UNREADABLE = {
    "sparse": lambda answer: answer.to_sparse(),
    "csr": lambda answer: answer.to_sparse_csr(),
    "meta": lambda answer: answer.to("meta"),
    "nested": lambda answer: torch.nested.nested_tensor(list(answer)),
}


def last_part(answer):
    return answer[-1] if isinstance(answer, tuple) else answer


TENSORS = [
    checker
    for checker in RIGHT
    if isinstance(last_part(checker.reference(*checker.cases()[0].inputs)), torch.Tensor)
]


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.parametrize("checker", TENSORS, ids=lambda checker: checker.name)
@pytest.mark.filterwarnings("ignore:.*(Sparse CSR|nested tensors).*:UserWarning")
def test_an_answer_whose_numbers_cannot_be_read_is_named(checker, kind, monkeypatch):
    def answer(*inputs):
        right = checker.reference(*inputs)
        part = last_part(right)
        possible = part.dim() == 2 or (kind != "csr" and part.dim() > 0)
        made = UNREADABLE[kind if possible else "meta"](part)
        return (*right[:-1], made) if isinstance(right, tuple) else made

    monkeypatch.setattr("course_lib.views.plots.show", lambda figure, alt: plt.close(figure))
    with pytest.raises(CheckFailed, match=r"tensor.*, expected a dense tensor on the CPU"):
        check(checker, answer)


@pytest.mark.parametrize("kind", ["sparse", "meta"])
def test_a_list_of_what_cannot_be_read_is_a_wrong_answer_and_no_accident(kind):
    verdict = judge(PHRASES, lambda words, selected: [UNREADABLE[kind](torch.ones(2))])
    assert verdict.state == "wrong" and "instead of 'good'" in verdict.sentence


@pytest.mark.parametrize(("checker", "wrong", "says"), EVERY_WRONG)
def test_every_wrong_answer_can_be_drawn(checker, wrong, says):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trial = judge(checker, wrong).trial
        figure = beside(checker, trial)
        drawn = checks_drawn(trial)
        assert not drawn or titles(figure)[-1].startswith("expected: ")
        if figure:
            figure.canvas.draw()
            assert max(figure.get_size_inches()) <= 10
            for axis in figure.axes:
                assert_readable(axis)
            plt.close(figure)


def checks_drawn(trial):
    """Whether there are two answers of several numbers."""
    both = zip(trial.yours, trial.expected)
    differing = [pair for pair in both if trial.wrong is not None and pair[0] is not None]
    if len(trial.yours) != len(trial.expected) or not differing:
        return False
    return all(isinstance(a, torch.Tensor) and a.numel() > 1 for a in differing[trial.wrong])


def assert_readable(axis):
    image = axis.images[0]
    grounds = image.cmap(image.norm(image.get_array().filled(np.nan)))
    grounds[np.isnan(image.get_array().filled(np.nan))] = 1.0
    rows, columns = image.get_array().shape
    for text, ground in zip(axis.texts, grounds.reshape(rows * columns, 4), strict=True):
        assert contrast(text.get_color(), ground) >= 4.5


def test_a_large_answer_is_drawn_around_its_first_difference():
    def late(scores, mask):
        weights = masked_softmax(scores, mask)
        if weights.shape[1] == 200:
            weights[0, 150] += 1
        return weights

    trial = judge(MASKED_SOFTMAX, late).trial
    figure = beside(MASKED_SOFTMAX, trial)
    for axis in figure.axes:
        assert axis.images[0].get_array().shape == (1, 12)
        assert axis.get_xticklabels()[-1].get_text() == "150"
    assert titles(figure)[0] == "input: scores[:, 139:151]"
    assert figure.axes[-2].images[0].get_array()[0, -1] > 1


def test_a_case_of_many_large_inputs_still_fits_a_page():
    def late(x, *weights):
        return block_like()(x, *weights) + (len(x) == 30) * (torch.arange(x.shape[1]) == 14)

    figure = beside(BLOCK, judge(BLOCK, late).trial)
    assert len(figure.axes) == 9 and max(figure.get_size_inches()) <= 10
    assert figure.axes[-2].get_xticklabels()[-1].get_text() == "14"
    assert outlined(figure.axes[-2])[0] == (0, len(figure.axes[-2].get_xticks()) - 1)


def test_a_module_is_a_function_too():
    class Softmax(nn.Module):
        def forward(self, scores, mask):
            return softmax_by_loop(scores, mask)

    assert judge(MASKED_SOFTMAX, Softmax()).state == "passed"
    assert "not its result (got Tensor)" in judge(MASKED_SOFTMAX, torch.ones(2)).sentence


def test_numbers(capsys):
    known = {0.25: "that is the square"}
    checks.check_number("half", 0.5001, 0.5, "1 / 2", mistakes=known)
    checks.check_number("half", torch.tensor(0.5), 0.5, "1 / 2")
    assert capsys.readouterr().out == "✓ half: 0.5001\n✓ half: 0.5\n"
    for empty in (None, ...):
        checks.check_number("half", empty, 0.5, "1 / 2")
    assert capsys.readouterr().out.count("○ half is still open. Write your answer in the cell") == 2
    with pytest.raises(CheckFailed, match=r"0.25 is not it\. that is the square"):
        checks.check_number("half", 0.25, 0.5, "1 / 2", mistakes=known)
    with pytest.raises(CheckFailed, match=r"0.7 is not it\. Try 1 / 2"):
        checks.check_number("half", 0.7, 0.5, "1 / 2", mistakes=known)
    with pytest.raises(CheckFailed, match="the answer must be a number, got 'x'"):
        checks.check_number("half", "x", 0.5, "1 / 2")
    for answer in (torch.tensor(0.5).to_sparse(), torch.tensor(0.5, device="meta")):
        with pytest.raises(CheckFailed, match=r"half: .*, expected a dense tensor on the CPU"):
            checks.check_number("half", answer, 0.5, "1 / 2")
    with pytest.raises(CheckFailed, match="the answer must be a number, got tensor"):
        checks.check_number("half", torch.ones(2), 0.5, "1 / 2")
    with pytest.raises(CheckFailed, match="nan is not it"):
        checks.check_number("half", float("nan"), 0.5, "1 / 2")
