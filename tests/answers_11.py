"""Right answers to lesson 11, and wrong ones with what they are told."""

import torch
from torch import nn

from course_kit.exercises import (
    check_bert_attention,
    check_bert_block,
    check_low_rank,
    check_restored,
    check_special_share,
    check_written_norms,
)


def filled(module, layer, name):
    """A module of PyTorch's with a layer's weights."""
    parts = {part: layer[f"{name}.{part}"] for part in ("weight", "bias")}
    module.load_state_dict(parts)
    return module


@torch.no_grad()
def attention_by_pytorch(x, layer, heads):
    own = nn.MultiheadAttention(x.shape[1], heads, batch_first=True)
    names = [f"attention.self.{name}" for name in ("query", "key", "value")]
    own.in_proj_weight.copy_(torch.cat([layer[f"{name}.weight"] for name in names]))
    own.in_proj_bias.copy_(torch.cat([layer[f"{name}.bias"] for name in names]))
    filled(own.out_proj, layer, "attention.output.dense")
    return own(x[None], x[None], x[None])[0][0]


def without_w_o(layer):
    d = len(layer["attention.output.dense.bias"])
    name = "attention.output.dense"
    return layer | {f"{name}.weight": torch.eye(d), f"{name}.bias": torch.zeros(d)}


@torch.no_grad()
def block_by_pytorch(x, layer, heads, bend=nn.functional.gelu):
    d, inner = x.shape[1], len(layer["intermediate.dense.bias"])
    first = filled(nn.LayerNorm(d, 1e-12), layer, "attention.output.LayerNorm")
    second = filled(nn.LayerNorm(d, 1e-12), layer, "output.LayerNorm")
    w_1 = filled(nn.Linear(d, inner), layer, "intermediate.dense")
    w_2 = filled(nn.Linear(inner, d), layer, "output.dense")
    x = first(x + attention_by_pytorch(x, layer, heads))
    return second(x + w_2(bend(w_1(x))))


def share_by_loop(attention, special):
    rows = [i for i in range(len(special)) if not special[i]]
    given = [[sum(head[i, special]) for i in rows] for head in attention]
    return torch.stack([torch.stack(each).mean() for each in given])


def norms_by_loop(alpha, v, w_o, summed=True):
    n, size = alpha.shape[1], v.shape[2]
    found = torch.zeros(len(alpha), n, n, len(w_o))
    for h in range(len(alpha)):
        for j in range(n):
            found[h, :, j] = alpha[h, :, j, None] * (w_o[:, h * size : (h + 1) * size] @ v[h, j])
    return found.sum(0).norm(dim=2) if summed else found.norm(dim=3).sum(0)


def restored_by_loop(answer, clean, corrupted, gap=True):
    found = []
    for head in range(len(clean)):
        patched = corrupted.clone()
        patched[head] = clean[head]
        found.append(float(answer(patched) - answer(corrupted)))
    return torch.tensor(found) / float(answer(clean) - answer(corrupted) if gap else 1)


RIGHT = {
    check_bert_attention: attention_by_pytorch,
    check_bert_block: block_by_pytorch,
    check_special_share: share_by_loop,
    check_written_norms: norms_by_loop,
    check_low_rank: lambda x, w, b, a, b_up: torch.stack([(w + b_up @ a) @ row + b for row in x]),
    check_restored: restored_by_loop,
}
WRONG = {
    check_bert_attention: [
        (lambda x, layer, heads: attention_by_pytorch(x, layer, 1), "all columns are one head"),
        (lambda x, layer, heads: attention_by_pytorch(x, layer, heads) + x, "mixed at"),
        (
            lambda x, layer, heads: attention_by_pytorch(x, without_w_o(layer), heads),
            "W_O is missing",
        ),
    ],
    check_bert_block: [
        (lambda *given: block_by_pytorch(*given, bend=torch.relu), "yours by ReLU"),
        (attention_by_pytorch, "that is attention alone"),
        (lambda x, layer, heads: block_by_pytorch(x, layer, 1), "states at"),
    ],
    check_special_share: [
        (lambda attention, special: 1 - share_by_loop(attention, special), "goes to the other"),
        (lambda attention, special: share_by_loop(attention.mT, special), "is transposed"),
        (lambda attention, special: share_by_loop(attention, special) / 2, "you average over"),
    ],
    check_written_norms: [
        (lambda *given: norms_by_loop(*given, summed=False), "may cancel: add them first"),
        (lambda alpha, v, w_o: norms_by_loop(alpha, v, w_o.T.contiguous()), "w_o is transposed"),
        (lambda alpha, v, w_o: norms_by_loop(alpha, v, w_o) ** 2, "square of norms"),
    ],
    check_low_rank: [
        (lambda x, w, b, a, b_up: x @ w.T + b, "the adapter is missing"),
        (lambda x, w, b, a, b_up: x @ w + b + x @ a.T @ b_up.T, "w is transposed"),
        (lambda x, w, b, a, b_up: x @ w.T + b + 2 * (x @ a.T @ b_up.T), "y at"),
    ],
    check_restored: [
        (lambda *given: restored_by_loop(*given, gap=False), "divide by the gap"),
        (lambda answer, clean, corrupted: restored_by_loop(answer, corrupted, clean), "clean"),
        (lambda *given: 1 - restored_by_loop(*given), "what is still missing"),
    ],
}
