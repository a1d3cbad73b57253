"""Every lesson's solutions, and wrong answers: what is changed in a solution, and what is told."""

import ast
import json
import math
import re
from functools import cache

import torch
from torch import nn
from torch.nn import functional

from course_kit.exercises.judge import NOT_KNOWN
from course_kit.publishing import lessons
from course_lib import models

NAMES = {"math": math, "torch": torch, "nn": nn, "models": models, **vars(functional)}
CHECK = re.compile(r"exercises\.check_(\w+)\((\w+)\)")
OR_OURS = re.compile(r"^(\w+) = exercises\.check_\w+\.or_ours\((\w+)\)", re.M)


@cache
def _solutions():
    """By exercise the source of our solution, what it defines, and the lesson's names."""
    found = {}
    for path in lessons.lesson_paths():
        names = dict(NAMES)
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            code = "".join(cell["source"])
            if cell["metadata"].get("nbgrader", {}).get("solution"):
                exec(source := code, names)
            elif called := CHECK.fullmatch(code.strip()):
                found[called[1]] = source, called[2], names
            elif cell["cell_type"] == "code" and _only_defines(code):
                exec(code, names)
            names |= {taken: names[answer] for taken, answer in OR_OURS.findall(code)}
    return found


def _only_defines(code):
    """Whether a cell is functions that a solution may call, and nothing else."""
    return "%" not in code and all(
        isinstance(node, ast.FunctionDef) for node in ast.parse(code).body
    )


def solution(exercise, before="", after=""):
    """The function or class that solves an exercise, with the only ``before`` in its source turned
    into ``after``."""
    source, name, names = _solutions()[exercise]
    if not before:
        return names[name]
    assert source.count(before) == 1, f"{before!r} is not once in the solution of {exercise}"
    changed = dict(names)
    exec(source.replace(before, after), changed)
    return changed[name]


WRONG = {
    "effective_words": [
        ("weights = weights[weights > 0]", "", "0 · log 0 is NaN"),
        (".sum())", ".sum()) / 3", "between 1 and all"),
        # another measure, between 1 and all as well
        ("torch.exp(-(weights * weights.log()).sum())", "1 / weights.square().sum()", NOT_KNOWN),
    ],
    "text_shares": [
        ("share * weights for", "weights for", "the weights within the sentences"),
        ("cat(parts)", "stack([part.sum() for part in parts])", "torch.cat joins the sentences"),
        ("share * weights for", "share * weights / 3 for", "your shares sum to 0.333"),
        ("cat(parts)", "cat(parts).sqrt().softmax(0)", NOT_KNOWN),  # they sum to 1
    ],
    "moved_by_heaviest": [
        ("place != heaviest", "word != words[heaviest]", "your code removes all copies"),
        ("weights.argmax()", "weights.argmin()", "the word with the smallest weight"),
        ("abs(predict(left) - predict(words))", "predict(words) - predict(left)", "take abs"),
    ],
    "words_to_flip": [
        ("return count", "return count / len(words)", "expected an int"),
        ("return count", "return count + 9", "between 1 and all"),
    ],
    "gru_step": [
        ("self.W_h(r * h)", "r * self.W_h(h)", "the reset gate acts after the product"),
        ("self.W_h(r * h)", "self.W_h(h)", "no gradient reaches U_r.weight"),
    ],
    "gru_reader": [
        ("torch.where(mask[:, t, None], new, h)", "new", "the padding is read"),
        ("mask[:, t, None]", "mask[:, t]", "give it an axis at the end"),
        ("mask[:, t, None]", "~mask[:, t, None]", "mask is used the wrong way round"),
        ("new, h)", "new, torch.zeros_like(h))", "padding wipes the state"),
        (
            "self.hidden = hidden",
            "self.hidden, self.more = hidden, nn.GRU(width, hidden)",
            "the library's GRU does the work",
        ),
    ],
    "latch": [
        ("-10.0", "-3.0", "it fades"),
        ("20.0", "3.0", "at which z of unit 2 should be near 1, and it is 0.00"),
        (
            "[5.0, 0.0], [0.0, 5.0]",
            "[5.0, 0.0], [0.0, 1.0]",
            "the candidate that it takes is only -0.76, too far from -1",
        ),
        (
            "[5.0, 0.0], [0.0, 5.0]",
            "[5.0, 0.0], [0.0, -5.0]",
            "z of unit 2 is open, but the candidate that it takes is 1.00",
        ),
        ("-10.0", "10.0", "this name does not follow call"),
        ("W_z, b_z, U_h", "W_z, b_z + 20, U_h.flip(1)", "this word is call"),
        ("return torch.zeros(2, 2)", "return b_z", "the shapes are [(2,), (2, 2), (2,), (2, 2)]"),
    ],
    "masked_softmax": [
        ("return powers /", "return scores /", "the softmax is missing"),
        ("return powers", "return ~mask * powers", "so hide ~mask"),
        ("hidden.amax(-1, keepdim=True).nan_to_num(neginf=0)", "0", "overflow"),
        (".clamp(min=1e-30)", "", "a fully masked row gives NaN"),
    ],
    "attention_pooling": [
        (
            'torch.einsum("bn,bnh->bh", shares, h)',
            "(shares[..., None] * h).amax(1)",
            "alpha is right, but pooled is off",
        ),
    ],
    "self_attention": [
        ("bid,bjd->bij", "bjd,bid->bij", "q and k are exchanged."),
        (
            "models.masked_softmax(match, mask[:, None, :])",
            "match.softmax(2) * mask[:, None, :]",
            "divide by what is left",
        ),
    ],
    "multi_head": [
        ("self_attention(q, k", "self_attention(q * q.shape[2] ** 0.5, k", "division by the root"),
        (
            "(self.heads, -1)).transpose(1, 2)",
            "(-1, self.heads)).movedim(3, 1)",
            "neighbouring features go to different heads",
        ),
        ("self.output(mixed", "(mixed", "no gradient reaches output.weight"),
        (
            "mask.repeat_interleave(self.heads, 0)",
            "mask.repeat(self.heads, 1)",
            "the heads get masks of other texts: where the heads of a text follow",
        ),
    ],
    "level": [
        ("torch.tanh", "", "the tanh is missing"),
    ],
    "sentences_in_place": [
        ("return placed", "return s.reshape(*real.shape, -1)", "s has a row for each real"),
        ("new_zeros", "new_ones", "a position without a sentence is not zero:"),
    ],
    "han": [
        ("mask), real)", "mask), real | True)", "positions without a sentence"),
        ("in_position(alpha, mask)", "alpha", "goes back to its positions"),
    ],
    "network_defect": [
        ('return "memory"', 'return "forgets"', "is none of the names"),
        ("(0, 3, 0, 2)", "(0, 3, 0, 2), value=2", "what you add must not be part of a text"),
        (
            "if not same(predict(tokens, mask), ",
            "if same(predict(tokens, mask), ",
            "only a network with a memory",
        ),
    ],
    "sanet_block": [
        ("& mask.unsqueeze(2)", "", "rows of padding attend to words"),
        ("models.masked_softmax(scores, pairs)", "scores.sigmoid()", "a row is a softmax over"),
        ("self.norm_1(x + A", "self.norm_1(x - A", "the attention is right, and what becomes of"),
        (
            "x = self.norm_1(x + A @ self.w_v(x))  # (2) and (4)\n        return self.norm_2(x + "
            "self.w_2(self.w_1(x).relu())), A",
            "x = x + self.norm_1(A @ self.w_v(x))\n        "
            "return x + self.norm_2(self.w_2(self.w_1(x).relu())), A",
            "the norm is inside the residual",
        ),
        ("self.w_2(self.w_1(x).relu())", "self.w_2(self.w_1(x)).relu()", "ReLU comes after W_2"),
        ("self.w_2(self.w_1(x).relu())", "self.w_2(self.w_1(x.relu()))", "ReLU comes before W_1"),
        (".relu()))", ".relu())) * mask[..., None]", "only rows of padding are wrong"),
    ],
    "diagonality": [
        ("return (", "return 2 + (", "lies in [0, 1]"),
    ],
    "implied_length": [
        ("(width + root)", "(width - root)", "the smaller of the two solutions"),
        ("width = 2 * bandwidth + 1", "width = 2 * bandwidth", "the words' weight on themselves"),
        ("return (width + root) / (2 * share)", "return width / share", "rows at both ends"),
        ("    width =", "    share = share / 100\n    width =", "do not divide it by 100"),
    ],
    "shifted_attention": [
        ("torch.block_diag(*turns)", "torch.eye(d)", "attends to itself: with W = I"),
        ("angles = k", "angles = -k", "your matrix turns the other way"),
        ("30 *", "1 *", "larger scores make a softmax sharper"),
        ("torch.arange(0, d, 2) / d", "torch.zeros(d // 2)", "is each pair turned by its own"),
    ],
    "steps": [
        (
            "(0, columns - a.shape[1])",
            "(columns - a.shape[1], 0)",
            "step 1 attends to summary 1, which is not written yet",
        ),
        (
            "torch.cat([h, s.unsqueeze(1)], 1), torch.cat([mask, real], 1)",
            "torch.cat([s.unsqueeze(1), h], 1), torch.cat([real, mask], 1)",
            "the weights are right, in other columns",
        ),
        ("self.controller(s, q)", "q + 0 * self.controller(s, q)", "the query stays the same"),
        ("self.bilinear @", "self.bilinear.T @", "W is the wrong way round"),
        ("self.controller(s, q)", "self.controller(s_hat, q)", "the controller gets ŝ"),
    ],
    "step_penalty": [
        (" - same", "", "the diagonal is in it"),
    ],
    "shortcut": [
        ("[0, words, words + 1]", "[0, words, words]", "it costs 0.33: two rows have weight in"),
        ("[0, words, words + 1]", "[0, words - 1, words]", "a later step still reads"),
        ("[0, words, words + 1]", "[words, words + 1, 0]", "not written yet"),
        ("torch.zeros", "torch.ones", "row 1 sums to 4"),
    ],
    "unrolled": [
        ("row = row + weight * read", "pass", "the summaries are left out"),
        ("weight * read", "read", "you add what a summary is made of whole"),
        (
            "weight * read",
            "weight * attention[:, number, :words]",
            "summary 2 is counted as its own words alone",
        ),
        ("enumerate(rows)", "enumerate(rows[:1])", "only summary 1 is unrolled"),
        ("return torch.stack(rows, 1)", "return torch.stack(rows)", "a row for each step"),
    ],
    "gate": [
        ("self.gate(s)", "self.gate(y)", "your gate reads y, as in a highway layer"),
    ],
    "agt": [
        (".expand_as(m))", ".expand_as(m), 1)", "your softmax runs over the layers"),
    ],
    "pair_scores": [
        (".mean()", ".sum()", "take their mean"),
        ("table[i, j] =", "table[j, i] =", "rows and columns are exchanged"),
        ("- (table[1, 0]", "+ (table[1, 0]", "you add the two differences"),
        ("return table,", "return table.flatten(),", "a row for each first word"),
    ],
    "interaction": [
        (" + score(no_first & no_second)", "", "the score without both words is missing"),
    ],
    "erasure": [
        (
            "(whole - without)[predicted], (whole - alone)[predicted]",
            "without[predicted], alone[predicted]",
            "the probabilities that are left",
        ),
    ],
    "fair_pairs": [
        ("scores.abs()", "scores", "the scores still have their sign"),
        ("* scores.sign()", "* scores", "take their sign alone"),
        ("* scores.sign()", "* (scores > 0)", "it must come last, below 0"),
    ],
    "kendall": [
        ("(a.abs().sum() * b.abs().sum()).sqrt()", "len(a)", "you divide by all pairs"),
    ],
    "permutation_change": [
        ("median()", "mean()", "that is the mean over the shuffles"),
    ],
    "adversary_loss": [
        ("tvd - lam * kl", "tvd + lam * kl", "you add λ KL"),
        (".sum(1) / 2", ".sum(1)", "total variation is half the sum"),
        (
            "log_alpha, log_base = (each.clamp(min=1e-8).log() for each in (alpha, alpha_base))",
            "log_alpha, log_base = alpha.log(), alpha_base.log()",
            "nan",
        ),
    ],
    "adversary": [
        ("change > tolerance", "change > 1", "changes too much"),
        (
            "terms.sum(1) / 2",
            "(moved - attention).abs().sum(1)",
            "the largest total variation of the attention",
        ),
    ],
    "guided": [
        (
            "(alpha.unsqueeze(1) @ h).squeeze(1)",
            "(alpha.unsqueeze(1) @ self.words(x)).squeeze(1).tanh()",
            "tanh comes after the sum",
        ),
    ],
    "diagnosis": [
        ('return "over-fitted"', 'return "overfitted"', "'overfitted' is none of the three names"),
    ],
    "constant_answer": [
        ("train.bincount()", "test.bincount()", "seen the training labels alone"),
        (" * (1 - right)", "", "1 − p is missing"),
    ],
    "verdict": [
        ('"size": "open"', '"number": "open"', "nothing is said about 'size'"),
        ('"loading": "convicted"', '"loading": "guilty"', "'guilty' is none of the verdicts"),
        ('"size": "open"', '"size": "open", "files": "convicted"', "6 of 7 agree"),
        ('"size": "open"', '"size": "cleared"', "'size' is not cleared"),
    ],
    "holm": [
        (".cummax(0).values", "", "carry the largest so far along"),
        ("[order.argsort()]", "", "put them back into that of p"),
    ],
    "text_by_text": [
        ("min(1.0,", "max(1.5,", "between 0 and 1"),
    ],
    "heads": [
        (
            "models.masked_softmax(q @ k.mT / q.shape[-1] ** 0.5, pairs)",
            "(q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)",
            "mask is not used",
        ),
    ],
    "block": [
        ("self.norms[0](x + ", "self.norms[0](", "residual connection around attention"),
        ("self.norms[1](x", "self.norms[0](x", "no gradient reaches norms.1"),
    ],
    "causal": [
        (".tril()", ".tril(-1)", "no position sees itself"),
        (".tril()", ".triu()", "each position sees what comes after it"),
        ("return pairs & before", "return pairs", "each position sees the whole text"),
        ("return pairs & before", "return (pairs & before).float()", "return booleans"),
    ],
    "induction": [
        ("copies.roll(1, dims=1)", "copies", "the weights on the copies themselves"),
        ("copies.roll(1, dims=1)", "copies.roll(-1, dims=1)", "the position before a copy"),
        (".sum(1)", ".sum(0)", "you add up columns"),
    ],
    "bert_attention": [
        (".unflatten(1, (heads, -1))", ".unflatten(1, (1, -1))", "all columns are one head"),
    ],
    "bert_block": [
        ("gelu(", "torch.relu(", "yours by ReLU"),
        (
            "x = norm(x + attention_of",
            "def norm(x, layer, name):\n"
            '        both = layer[f"{name}.weight"], layer[f"{name}.bias"]\n'
            "        return layer_norm(x, x.shape[-1:], *both, 1e-5)\n"
            "    x = norm(x + attention_of",
            "your norms add ε = 1e-5",
        ),
        (
            'gelu(dense(x, layer, "intermediate.dense"))\n'
            '    return norm(x + dense(inner, layer, "output.dense"), layer, "output.LayerNorm")',
            'gelu(linear(x, layer["intermediate.dense.weight"]))\n'
            '    change = linear(inner, layer["output.dense.weight"])\n'
            '    return norm(x + change, layer, "output.LayerNorm")',
            "the biases b₁ and b₂",
        ),
        (
            'norm(x + attention_of(x, layer, heads), layer, "attention.output.LayerNorm")\n'
            '    inner = gelu(dense(x, layer, "intermediate.dense"))\n'
            '    return norm(x + dense(inner, layer, "output.dense"), layer, "output.LayerNorm")',
            'x + attention_of(norm(x, layer, "attention.output.LayerNorm"), layer, heads)\n'
            '    inner = dense(norm(x, layer, "output.LayerNorm"), layer, "intermediate.dense")\n'
            '    return x + dense(gelu(inner), layer, "output.dense")',
            "you normalise what attention and the feed-forward layer read",
        ),
    ],
    "special_share": [
        ("[..., special]", "[..., ~special]", "you have measured the opposite"),
        ("[:, ~special]", "", "the special tokens' own rows are in the mean"),
    ],
    "written_norms": [
        (
            "alpha[h].unsqueeze(2) * f.unsqueeze(0)",
            "(alpha[h].unsqueeze(2) * f.unsqueeze(0)).norm(dim=2, keepdim=True)",
            "may cancel: add them first",
        ),
        (
            "w_o[:, h * size : (h + 1) * size].T",
            "w_o[h * size : (h + 1) * size]",
            "you take rows of w_o",
        ),
        ("alpha[h].unsqueeze(2)", "(alpha[h] >= 0).unsqueeze(2)", "the weights are missing"),
    ],
    "restored": [
        (" / (high - low)", "", "divide by the gap"),
    ],
}
